# SPDX-License-Identifier: BSD-3-Clause
"""Systems for LAPACK's expert drivers: stacks of small systems, and matrices whose form makes them
cheaper than an LU."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _errors
from ._core import Communicator

#: What SciPy calls the forms of a matrix, and LAPACK's drivers; None: general.
_FORMS = {
    None: "general",
    "gen": "general",
    "general": "general",
    "sym": "symmetric",
    "symmetric": "symmetric",
    "her": "hermitian",
    "hermitian": "hermitian",
    "pos": "positive definite",
    "positive definite": "positive definite",
    "diagonal": "diagonal",
    "tridiagonal": "tridiagonal",
    "banded": "banded",
    "upper triangular": "upper triangular",
    "lower triangular": "lower triangular",
}


def form_of(assume_a: Any) -> str:
    """The form by a name of SciPy. ValueError for another one."""
    try:
        return _FORMS[assume_a]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in _FORMS)
        raise ValueError(f"assume_a is {assume_a!r}; allowed: {names}") from None


def _shape(array: Any) -> tuple[int, ...] | None:
    """The shape; None where it cannot be made an array."""
    try:
        return tuple(array.shape) if hasattr(array, "shape") else np.shape(array)
    except (TypeError, ValueError):
        return None


def is_plain(a: Any, b: Any) -> bool:
    """Whether this is one system, or nothing that is known here."""
    left, right = _shape(a), _shape(b)
    if left is None or right is None:
        return True
    if len(left) != 2 or not 1 <= len(right) <= 2:
        return False
    return left != (1, 1) or len(right) == 2 or right == (1,)  # see _of_number()


@dataclass
class Outcome:
    """What a driver says of each system, and of each right-hand side."""

    info: NDArray[np.intc]
    rcond: NDArray[np.float64]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]


def _columns(left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """The right-hand sides as columns, and whether b is a vector. Their stack broadcasts against
    that of a."""
    if left.ndim < 2 or left.shape[-1] != left.shape[-2]:
        raise np.linalg.LinAlgError(
            f"a has the shape {left.shape}; allowed: (n, n), or (..., n, n) for a stack"
        )
    n = left.shape[-1]
    is_vector = right.ndim == 1
    columns = right[:, np.newaxis] if is_vector else right
    if columns.ndim < 2 or columns.shape[-2] != n:
        raise ValueError(
            f"b has the shape {right.shape}; allowed: ({n},), or (..., {n}, k), with the order of a"
        )
    try:
        np.broadcast_shapes(left.shape[:-2], columns.shape[:-2])
    except ValueError:
        raise ValueError(
            f"the stacks of a and b have the shapes {left.shape[:-2]} and {columns.shape[:-2]}; "
            "allowed: shapes that broadcast against each other"
        ) from None
    return columns, is_vector


def _of_number(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """x = b / a for an a of one element and a b of any length, as SciPy has it."""
    _require_finite(a, "a")
    _require_finite(b, "b")
    type_ = _arrays.result_type(a.dtype, b.dtype)
    divisor = a.reshape(()).astype(np.result_type(type_, np.float64))
    if divisor == 0:
        raise _errors.SingularMatrixError("a is singular: it is 0", 0)
    return np.asarray(np.atleast_1d(b) / divisor, dtype=type_)


def _require_finite(array: NDArray[Any], name: str) -> None:
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.unravel_index(np.argmin(good), array.shape))
        raise ValueError(f"{name} has {array[where]} at {where}; allowed: finite numbers")


def _column_major(array: NDArray[Any], stack: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """A copy with the stack's axes broadcast and made one, each matrix column-major."""
    whole = np.broadcast_to(array, stack + array.shape[-2:])
    count = math.prod(stack)
    copy = np.array(np.swapaxes(whole, -1, -2), dtype=dtype, order="C", copy=True)
    return copy.reshape(count, array.shape[-1], array.shape[-2])


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _bands(form: str, a: NDArray[Any]) -> tuple[int, int]:
    """The diagonals that a banded form has below and above the main one."""
    n = a.shape[-1]
    if form == "diagonal":
        return 0, 0
    if form == "tridiagonal":
        return min(1, n - 1), min(1, n - 1)
    present = (a != 0).reshape(-1, n, n).any(axis=0)
    i, j = np.nonzero(present)
    distance = i - j
    return int(max(distance.max(initial=0), 0)), int(max((-distance).max(initial=0), 0))


def by_expert(
    module: Any,
    a: NDArray[Any],
    columns: NDArray[Any],
    form: str,
    lower: bool,
    transposed: bool,
    threads: int,
) -> tuple[NDArray[Any], Outcome]:
    """x and what the driver says of it, for a of shape (..., n, n) and b of shape (..., n, k)."""
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    complex_ = a.dtype.kind == "c" or columns.dtype.kind == "c"
    dtype = np.complex128 if complex_ else np.float64
    n, k, count = a.shape[-1], columns.shape[-1], math.prod(stack)
    # Of a hermitian a, the transpose is the conjugate: conj(a) x = b is a conj(x) = conj(b).
    conjugate = transposed and complex_ and form in ("hermitian", "positive definite")
    left = _column_major(a, stack, dtype)
    right = _column_major(columns.conj() if conjugate else columns, stack, dtype)
    x = np.empty((count, k, n), dtype=dtype)
    outcome = Outcome(
        np.zeros(count, dtype=np.intc),
        np.full(count, np.nan),
        np.full((count, k), np.nan),
        np.full((count, k), np.nan),
    )
    banded = form in ("diagonal", "tridiagonal", "banded")
    with _core.lock:
        module.solve_by_expert(
            [count, n, k],
            [
                _address(array)
                for array in (
                    left,
                    right,
                    x,
                    outcome.info,
                    outcome.rcond,
                    outcome.forward,
                    outcome.backward,
                )
            ],
            complex_,
            "banded" if banded else form,
            lower,
            transposed and not conjugate,
            list(_bands(form, a)) if banded else [0, 0],
            threads,
        )
    found = np.swapaxes(x, -1, -2).reshape(*stack, n, k)
    return (found.conj() if conjugate else found), outcome


def _words_of_singular(form: str, info: int, where: str) -> str:
    if form == "positive definite":
        return (
            f"a is not positive definite{where}: the leading minor of order {info} is not positive "
            "(a may be singular)"
        )
    return f"a is singular{where}: pivot {info - 1} (from 0) is exactly zero"


def require_solved(
    outcome: Outcome,
    stack: tuple[int, ...],
    n: int,
    form: str,
    strict: bool,
    warn: Callable[[str], None],
) -> None:
    """Raises SingularMatrixError where a system has no x, and warns where one may have no correct
    digit; with `strict`, that is an AccuracyError."""
    if outcome.info.size == 0:
        return

    def where(k: int) -> str:
        place = tuple(int(i) for i in np.unravel_index(k, stack)) if stack else ()
        return f" at {place}" if stack else ""

    singular = (outcome.info > 0) & (outcome.info <= n)
    if singular.any():
        k = int(np.argmax(singular))
        info = int(outcome.info[k])
        raise _errors.SingularMatrixError(_words_of_singular(form, info, where(k)), info - 1)
    doubtful = (
        ~(outcome.forward < 1).all(axis=-1) if outcome.forward.shape[-1] else outcome.info < 0
    )
    if not doubtful.any():
        return
    k = int(np.argmax(doubtful))
    words = (
        f"An ill-conditioned matrix{where(k)}: x may have no correct digit (the condition number "
        f"is about {1 / max(outcome.rcond[k], 1e-300):.1e})"
    )
    if strict:
        raise _errors.AccuracyError(words)
    warn(words)


def solve(
    ranks: Communicator,
    a: Any,
    b: Any,
    form: str,
    *,
    lower: bool,
    transposed: bool,
    strict: bool,
    threads: int,
    one: Callable[[Any, Any], Any],
    warn: Callable[[str], None],
) -> Any:
    """x of shape (..., n, k) or, where b is a vector, (..., n).

    `one` solves one general system: by it larger systems of a stack are solved one after the
    other, and all right-hand sides of a stack for one matrix together.
    """
    left, right = (_arrays.as_numpy(array, name) for array, name in ((a, "a"), (b, "b")))
    if left.size == 1 and left.ndim in (0, 2) and right.ndim <= 1:
        return _of_number(left, right)
    columns, is_vector = _columns(left, right)
    type_ = _arrays.result_type(left.dtype, columns.dtype)
    n = left.shape[-1]
    stack = np.broadcast_shapes(left.shape[:-2], columns.shape[:-2])
    shape = (*stack, n, columns.shape[-1])
    if math.prod(shape) == 0:
        x = np.empty(shape, dtype=type_)
    else:
        _require_finite(left, "a")
        _require_finite(columns, "b")
        if form == "general" and (left.ndim == 2 or n > ranks.module.small_limit):
            if transposed:
                left = np.swapaxes(left, -1, -2)
            x = _by_one(left, columns, stack, one)
        else:
            x, outcome = by_expert(ranks.module, left, columns, form, lower, transposed, threads)
            require_solved(outcome, stack, n, form, strict, warn)
        x = x.astype(type_, copy=False)
    return x[..., 0] if is_vector else x


def _by_one(
    a: NDArray[Any], columns: NDArray[Any], stack: tuple[int, ...], one: Callable[[Any, Any], Any]
) -> NDArray[Any]:
    """One matrix after the other; one matrix for a whole stack of right-hand sides once."""
    n, k = columns.shape[-2:]
    if a.ndim == 2:
        together = np.moveaxis(columns, -2, 0).reshape(n, -1)
        return np.asarray(np.moveaxis(one(a, together).reshape(n, *stack, k), 0, -2))
    x = np.empty((*stack, n, k), dtype=np.result_type(a.dtype, columns.dtype, np.float64))
    whole, sides = (np.broadcast_to(v, stack + v.shape[-2:]) for v in (a, columns))
    for place in np.ndindex(*stack):
        x[place] = one(whole[place], sides[place])
    return x
