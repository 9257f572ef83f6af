# SPDX-License-Identifier: BSD-3-Clause
"""Inverses and determinants, and the factors of stacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _errors, _stacks
from ._results import SlogdetResult
from ._solve import Factorization, _warn, factor, solve


class FactorizationStack:
    """The factors of a stack of matrices, as :class:`Factorization` has those of one."""

    def __init__(self, a: Any, dtype: np.dtype[Any], factors: list[Factorization]) -> None:
        self.shape: tuple[int, ...] = tuple(a.shape)
        self._given = a
        self._dtype = dtype
        self._stack = self.shape[:-2]
        self._factors = factors

    def solve(self, b: Any, trans: bool | int | str = False, *, return_info: bool = False) -> Any:
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
        every = np.empty(sides.shape, dtype=_arrays.result_type(self._dtype, right.dtype))
        info = np.empty(shape, dtype=object)
        doubts = _stacks.Doubts(shape)
        for k, (one, place) in enumerate(zip(self._factors, np.ndindex(*shape))):
            with doubts.of(k):
                solved = one._solve(sides[place], trans, True, np.asarray, doubts.add)
            every[place], info[place] = solved
        if doubts.words:
            _warn(doubts.words)
        x = back(every[..., 0] if is_vector else every)
        return (x, info) if return_info else x

    def inv(self) -> Any:
        """The inverses."""
        one = np.eye(self.shape[-1], dtype=_arrays.result_type(self._dtype))
        return self._solve(one, False, False, _arrays.like(self._given, function=np.linalg.inv))

    def slogdet(self) -> SlogdetResult:
        """The signs and the logarithms of the determinants."""
        found = [one.slogdet() for one in self._factors]
        return SlogdetResult(
            np.array([one.sign for one in found]).reshape(self._stack),
            np.array([one.logabsdet for one in found]).reshape(self._stack),
        )

    def det(self) -> Any:
        """The determinants."""
        return _product(self.slogdet())

    def close(self) -> None:
        """Releases the memory of the factors."""
        for one in self._factors:
            one.close()

    def __enter__(self) -> FactorizationStack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<FactorizationStack of the shape {self.shape}>"


def factor_any(a: Any, **options: Any) -> Factorization | FactorizationStack:
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
    stack = whole.shape[:-2]
    doubts = _stacks.Doubts(stack)
    made: list[Factorization] = []
    try:
        for k, place in enumerate(np.ndindex(*stack) if whole.shape[-1] else ()):
            with doubts.of(k):
                made.append(factor(whole[place], **options))
    except BaseException:
        for one in made:
            one.close()
        raise
    return FactorizationStack(a, whole.dtype, made)


def _product(found: SlogdetResult) -> Any:
    with np.errstate(over="ignore"):
        return found.sign * np.exp(found.logabsdet)


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


def _slogdet_of(matrix: NDArray[Any], options: dict[str, Any]) -> SlogdetResult:
    try:
        with factor(matrix, **{"first": "fp64", "condition": False, **options}) as factors:
            return factors.slogdet()
    except _errors.SingularMatrixError:
        type_ = _arrays.result_type(matrix.dtype)
        return SlogdetResult(type_.type(0), np.real(type_.type(0)) - math.inf)


def slogdet(a: Any, **options: Any) -> SlogdetResult:
    """The sign and the logarithm of the determinant, or those of a stack, as numpy.linalg.slogdet:
    by the pivots of an LU in FP64. The options are those of :func:`factor`."""
    whole = _arrays.as_numpy(a, "a")
    if whole.ndim < 2 or whole.shape[-1] != whole.shape[-2]:
        raise np.linalg.LinAlgError(f"a has the shape {whole.shape}; allowed: (..., n, n)")
    stack, n = whole.shape[:-2], whole.shape[-1]
    type_ = _arrays.result_type(whole.dtype)
    count = math.prod(stack)
    signs = np.ones(count, dtype=type_)
    logarithms = np.zeros(count, dtype=np.real(signs).dtype)
    if n > 0:
        for k, matrix in enumerate(whole.reshape(count, n, n)):
            signs[k], logarithms[k] = _slogdet_of(matrix, options)
    return SlogdetResult(signs.reshape(stack)[()], logarithms.reshape(stack)[()])


def det(a: Any, **options: Any) -> Any:
    """The determinant, or those of a stack, as numpy.linalg.det; see :func:`slogdet`."""
    return _product(slogdet(a, **options))
