# SPDX-License-Identifier: BSD-3-Clause
"""Inverses and determinants, the factors of stacks, and what scipy.linalg calls lu_factor() and
lu_solve()."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _determinants, _errors, _stacks
from ._determinants import Determinants
from ._results import SlogdetResult
from ._solve import Factorization, _boolean, _warn, factor, solve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._distributed import BlockCyclicArray
    from ._options import (
        FactorOptions,
        Flag,
        Function,
        Matrix,
        One,
        SolveOptions,
        Stack,
        Trans,
    )

_SMALL = 32  #: the order up to which an LU takes less time than the objects around it


class FactorizationStack:
    """The factors of a stack of matrices, as :class:`Factorization` has those of one.

    Of small matrices, the LU of all is made at once, and shows which are beyond doubt. Those get
    factors of their own only where more than a determinant is asked for: an LU of so small a matrix
    takes less time than the objects around it.
    """

    def __init__(self, a: Any, whole: NDArray[Any], options: dict[str, Any]) -> None:
        self.shape: tuple[int, ...] = tuple(a.shape)
        self._given = a
        self._stack = self.shape[:-2]
        self._type = _arrays.result_type(whole.dtype)
        self._options = options
        self._is_open = True
        count, n = math.prod(self._stack), self.shape[-1]
        at_once = n <= _SMALL and _are_plain(options)
        # Factors that are made later are those of a as it is now.
        matrices = whole.reshape(count, n, n)
        self._matrices = matrices.copy() if at_once else matrices
        self._known = _determinants.of_stack(self._matrices if at_once else None, self._type, count)
        self._factors: dict[int, Factorization] = {}
        doubts = _stacks.Doubts(self._stack)
        try:
            for k in np.flatnonzero(~self._known.known | (self._known.mantissa == 0)):
                with doubts.of(int(k)):
                    self._one(int(k))
        except BaseException:
            self.close()
            raise

    def _require_open(self) -> None:
        if not self._is_open:
            raise ValueError("the Factorization is closed")

    def _one(self, k: int) -> Factorization:
        self._require_open()
        if k not in self._factors:
            self._factors[k] = factor(self._matrices[k], **self._options)
        return self._factors[k]

    @overload
    def solve(
        self, b: Any, trans: Trans = ..., *, return_info: Literal[True]
    ) -> tuple[Any, NDArray[Any]]: ...
    @overload
    def solve(self, b: Any, trans: Trans = ..., *, return_info: Flag = ...) -> Any: ...
    def solve(self, b: Any, trans: Any = False, *, return_info: Any = False) -> Any:
        """x of each matrix, where b broadcasts as in :func:`solve`; with `return_info` also an
        array of the stack's shape that holds what :func:`solve` tells of each system."""
        return self._solve(b, trans, return_info, _arrays.like(self._given, b))

    def _solve(self, b: Any, trans: Any, return_info: bool, back: Callable[[Any], Any]) -> Any:
        right = _arrays.as_numpy(b, "b")
        is_vector = right.ndim == 1
        columns = right[:, np.newaxis] if is_vector else right
        n = self.shape[-1]
        if columns.ndim < 2 or columns.shape[-2] != n:
            raise ValueError(
                f"b has the shape {right.shape}; allowed: ({n},), or (..., {n}, k), with the order "
                "of a"
            )
        try:
            shape = np.broadcast_shapes(self._stack, columns.shape[:-2])
        except ValueError:
            shape = ()
        if shape != self._stack:
            raise ValueError(
                f"the stack of b has the shape {columns.shape[:-2]}; allowed: one that broadcasts "
                f"to {self._stack}, that of a"
            )
        sides = np.broadcast_to(columns, (*shape, *columns.shape[-2:]))
        every = np.empty(sides.shape, dtype=_arrays.result_type(self._type, right.dtype))
        info = np.empty(shape, dtype=object)
        doubts = _stacks.Doubts(shape)
        for k, place in enumerate(np.ndindex(*shape) if n > 0 else ()):
            with doubts.of(k):
                solved = self._one(k)._solve(sides[place], trans, True, np.asarray, doubts.add)
            every[place], info[place] = solved
        if doubts.words:
            _warn(doubts.words)
        x = back(every[..., 0] if is_vector else every)
        return (x, info) if return_info else x

    def inv(self) -> Any:
        """The inverses."""
        one = np.eye(self.shape[-1], dtype=self._type)
        return self._solve(one, False, False, _arrays.like(self._given, function=np.linalg.inv))

    def slogdet(self) -> SlogdetResult:
        """The signs and the logarithms of the determinants."""
        found = self._determinants().slogdet(self._stack, self._type)
        return SlogdetResult(*map(_arrays.of_library(self._given), found))

    def det(self) -> Any:
        """The determinants."""
        return _arrays.of_library(self._given)(self._determinants().det(self._stack, self._type))

    def _determinants(self) -> Determinants:
        self._require_open()
        doubts = _stacks.Doubts(self._stack)
        for k in np.flatnonzero(~self._known.known):
            with doubts.of(int(k)):
                value, doubt = self._one(int(k))._judged_determinant()
                self._known.put(int(k), value)
                if doubt:
                    doubts.add(doubt)
        if doubts.words:
            _warn(doubts.words)
        return self._known

    def close(self) -> None:
        """Releases the memory of the factors."""
        self._is_open = False
        for one in self._factors.values():
            one.close()
        self._factors.clear()

    def __enter__(self) -> FactorizationStack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<FactorizationStack of the shape {self.shape}>"


@overload
def factor_any(
    a: One | Sequence[Any] | Function | BlockCyclicArray, **options: Unpack[FactorOptions]
) -> Factorization: ...
@overload
def factor_any(a: Stack, **options: Unpack[FactorOptions]) -> FactorizationStack: ...
@overload
def factor_any(a: Any, **options: Unpack[FactorOptions]) -> Any: ...
def factor_any(a: Any, **options: Any) -> Any:
    """Factors a once for many solves; the parameters are those of :func:`solve`.

    `n` is the order of a function ``a(i, j)``. A stack (..., n, n) of arrays is factored one after
    the other, into a :class:`FactorizationStack`.
    """
    shape = getattr(a, "shape", ())
    if len(shape) < 3 or options.get("comm") is not None:
        return factor(a, **options)
    whole = _arrays.as_numpy(a, "a")
    if whole.shape[-1] != whole.shape[-2]:
        raise np.linalg.LinAlgError(f"a has the shape {whole.shape}; allowed: (..., n, n)")
    return FactorizationStack(a, whole, options)


@overload
def lu_factor(
    a: Stack, overwrite_a: Flag = ..., check_finite: Flag = ...
) -> tuple[FactorizationStack, None]: ...
@overload
def lu_factor(
    a: Any, overwrite_a: Flag = ..., check_finite: Flag = ...
) -> tuple[Factorization, None]: ...
def lu_factor(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """As scipy.linalg.lu_factor, for :func:`lu_solve`: what :func:`factor` gives, and None for the
    pivots, which that holds. Inf and NaN are always looked for."""
    return factor_any(a, overwrite_a=overwrite_a, check_finite=check_finite), None


def lu_solve(
    lu_and_piv: Factorization
    | FactorizationStack
    | tuple[Factorization | FactorizationStack, None],
    b: Any,
    trans: Trans = 0,
    overwrite_b: Flag = False,
    check_finite: Flag = True,
) -> Any:
    """As scipy.linalg.lu_solve, with what :func:`lu_factor` or :func:`factor` returned; `trans` as
    in :meth:`Factorization.solve`."""
    _boolean("overwrite_b", overwrite_b)
    _boolean("check_finite", check_finite)
    factors: Any = lu_and_piv
    if isinstance(factors, (tuple, list)) and len(factors) == 2:
        factors = factors[0]
    if not isinstance(factors, (Factorization, FactorizationStack)):
        raise ValueError(
            f"lu_and_piv has a {type(factors).__name__} for factors; allowed: what "
            "speedwell.lu_factor or speedwell.factor returned"
        )
    return factors.solve(b, trans)


def _are_plain(options: dict[str, Any]) -> bool:
    """Whether these options change nothing of a determinant that is beyond doubt."""
    return all(
        name in ("strict", "overwrite_a", "check_finite")
        and type(value) is bool
        or name == "threads"
        and type(value) is int
        and value > 0
        for name, value in options.items()
    )


@overload
def inv(a: Matrix, **options: Unpack[SolveOptions]) -> NDArray[Any]: ...
@overload
def inv(a: Any, **options: Unpack[SolveOptions]) -> Any: ...
def inv(a: Any, **options: Any) -> Any:
    """The inverse, or those of a stack, as numpy.linalg.inv: x with a x = 1, refined as that of any
    other right-hand sides. The parameters are those of :func:`solve`."""
    there = a if hasattr(a, "shape") and _arrays.is_on_gpu(a) else _arrays.as_numpy(a, "a")
    shape = tuple(there.shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"a has the shape {shape}; allowed: (..., n, n)")
    of_numpy = isinstance(there, np.ndarray)
    dtype = _arrays.result_type(there.dtype) if of_numpy else there.dtype
    single = str(dtype).endswith(("float32", "complex64"))
    one = np.eye(shape[-1], dtype=np.float32 if single else np.float64)
    x = solve(there, one, **options)
    return x if there is a else _arrays.like(a, function=np.linalg.inv)(x)


def _judged(
    matrix: NDArray[Any], options: dict[str, Any]
) -> tuple[tuple[complex, float, complex, int], str]:
    """As Factorization._judged_determinant() has it."""
    try:
        only = {} if "first" in options else {"precision": "fp64"}
        with factor(matrix, **{**only, **options}) as factors:
            return factors._judged_determinant()
    except _errors.SingularMatrixError as error:
        type_ = _arrays.result_type(matrix.dtype)
        if _determinants.of_stack(matrix[np.newaxis], type_, 1).known.all():
            return _determinants.zero(), ""
        doubt = f"the determinant is 0 to working precision, but no digit is certain: {error}"
        if _boolean("strict", options.get("strict", False)):
            raise _errors.AccuracyError(doubt) from None
        return _determinants.zero(), doubt


def _determinants_of(
    a: Any, options: dict[str, Any]
) -> tuple[Determinants, tuple[int, ...], np.dtype[Any]]:
    whole = _arrays.as_numpy(a, "a")
    if whole.ndim < 2 or whole.shape[-1] != whole.shape[-2]:
        raise np.linalg.LinAlgError(f"a has the shape {whole.shape}; allowed: (..., n, n)")
    stack, n = whole.shape[:-2], whole.shape[-1]
    type_ = _arrays.result_type(whole.dtype)
    count = math.prod(stack)
    matrices = whole.reshape(count, n, n)
    at_once = n == 0 or _are_plain(options)
    found = _determinants.of_stack(
        matrices if at_once else None, type_, count, options.get("threads", 0)
    )
    doubts = _stacks.Doubts(stack)
    for k in np.flatnonzero(~found.known):
        with doubts.of(int(k)):
            value, doubt = _judged(matrices[k], options)
            found.put(int(k), value)
            if doubt:
                doubts.add(doubt)
    if doubts.words:
        _warn(doubts.words)
    return found, stack, type_


def slogdet(a: Any, **options: Unpack[FactorOptions]) -> SlogdetResult:
    """The sign and the logarithm of the determinant, or those of a stack, as numpy.linalg.slogdet:
    by the pivots of an LU in FP64. The options are those of :func:`factor`.

    A determinant of which no digit is certain, nor the sign, gets a warning, with ``strict`` an
    AccuracyError. That it is exactly 0 is found up to n = 512.
    """
    found, stack, type_ = _determinants_of(a, {**options})
    return SlogdetResult(*map(_arrays.of_library(a), found.slogdet(stack, type_)))


def det(a: Any, **options: Unpack[FactorOptions]) -> Any:
    """The determinant, or those of a stack, as numpy.linalg.det; see :func:`slogdet`."""
    found, stack, type_ = _determinants_of(a, {**options})
    return _arrays.of_library(a)(found.det(stack, type_))
