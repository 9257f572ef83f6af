# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of small systems, and matrices whose form makes them cheaper than an LU. Each system of
which there is anything to say but x is solved once more as a general one, which has the words."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _errors
from ._core import Communicator

#: What SciPy calls the forms of a matrix, and their names here; None: general.
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


#: Solves one general system, and calls a function with what a warning would say of x.
One = Callable[[NDArray[Any], NDArray[Any], Callable[[str], None]], NDArray[Any]]


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
    i = np.arange(n)
    first = np.where(present.any(axis=1), present.argmax(axis=1), i)
    last = np.where(present.any(axis=1), n - 1 - present[:, ::-1].argmax(axis=1), i)
    return int(max((i - first).max(initial=0), 0)), int(max((last - i).max(initial=0), 0))


def _flipped(form: str) -> str:
    """The form of the transpose."""
    return {
        "upper triangular": "lower triangular",
        "lower triangular": "upper triangular",
    }.get(form, form)


def _bandwidths(form: str, a: NDArray[Any]) -> tuple[str, tuple[int, int]]:
    """The form by which LAPACK solves, and the diagonals of a banded one."""
    if form not in ("diagonal", "tridiagonal", "banded"):
        return form, (0, 0)
    below, above = _bands(form, a)
    # The LU of a wide band takes longer than a whole one.
    return ("general" if 3 * (below + above) > 2 * a.shape[-1] else "banded"), (below, above)


class Doubts:
    """What errors and warnings say of the systems of a stack: where they are."""

    def __init__(self, stack: tuple[int, ...]) -> None:
        self._stack = stack
        self._first: str | None = None
        self._count = 0
        self._present = 0

    def place(self, k: int) -> str:
        """That of system k, for a text."""
        if not self._stack:
            return ""
        return f" (at {tuple(int(i) for i in np.unravel_index(k, self._stack))} of the stack)"

    @contextlib.contextmanager
    def of(self, k: int) -> Iterator[None]:
        """In it, system k is solved."""
        self._present = k
        try:
            yield
        except (_errors.SingularMatrixError, _errors.AccuracyError) as error:
            error.args = (f"{error}{self.place(k)}",)
            raise

    def add(self, words: str) -> None:
        """Of the present system."""
        self._first = self._first or words + self.place(self._present)
        self._count += 1

    @property
    def words(self) -> str | None:
        """Those of a warning."""
        if self._first is None:
            return None
        more = self._count - 1
        return self._first + (f"; and {more} more of the stack" if more > 0 else "")


def _by_form(
    module: Any,
    a: NDArray[Any],
    columns: NDArray[Any],
    form: str,
    lower: bool,
    options: dict[str, Any],
    one: One,
    doubts: Doubts,
) -> NDArray[Any]:
    """x of a stack whose matrices have a form, or are small."""
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    complex_ = a.dtype.kind == "c" or columns.dtype.kind == "c"
    dtype = np.complex128 if complex_ else np.float64
    n, k, count = a.shape[-1], columns.shape[-1], math.prod(stack)
    left = _column_major(a, stack, dtype)
    right = _column_major(columns, stack, dtype)
    x = np.empty((count, k, n), dtype=dtype)
    found = np.zeros(count, dtype=np.intc)
    kind, bands = _bandwidths(form, a)
    with _core.lock:
        module.solve_by_form(
            [count, n, k],
            [_address(array) for array in (left, right, x, found)],
            complex_,
            kind,
            lower,
            list(bands),
            options.get("tolerance", 0.0),
            options.get("probe_seed", 0),
            options.get("threads", 0),
        )
    for at in np.flatnonzero(found).tolist():
        if found[at] > 0:
            raise _errors.SingularMatrixError(
                f"a is not positive definite, or singular in FP64{doubts.place(at)}: the leading "
                f"minor of order {found[at]} is not positive",
                int(found[at]) - 1,
            )
        with doubts.of(at):
            x[at] = one(left[at].T, right[at].T, doubts.add).T
    return np.swapaxes(x, -1, -2).reshape(*stack, n, k)


def solve(
    ranks: Communicator,
    a: Any,
    b: Any,
    form: str,
    *,
    lower: bool,
    transposed: bool,
    options: dict[str, Any],
    one: One,
) -> tuple[Any, str | None]:
    """x of shape (..., n, k) or, where b is a vector, (..., n); and why it may have no correct
    digit.

    `options` are those that the compiled module takes. `one` solves one general system: by it
    larger systems of a stack are solved one after the other.
    """
    left, right = (_arrays.as_numpy(array, name) for array, name in ((a, "a"), (b, "b")))
    is_row = left.size == 1 and left.ndim in (0, 2) and right.ndim <= 1
    if is_row:  # x = b / a for a b of any length, as SciPy has it
        left, right = left.reshape(1, 1), right.reshape(1, -1)
    columns, is_vector = _columns(left, right)
    type_ = _arrays.result_type(left.dtype, columns.dtype)
    of_b = (*columns.shape[:-2], columns.shape[-1])
    if left.ndim == 2:  # one matrix for all right-hand sides
        columns = np.moveaxis(columns, -2, 0).reshape(len(left), math.prod(of_b))
    n, k = columns.shape[-2:]
    stack = np.broadcast_shapes(left.shape[:-2], columns.shape[:-2])
    doubts = Doubts(stack)
    x = np.empty((*stack, n, k), dtype=type_)
    if n > 0 and math.prod(stack) > 0:
        _require_finite(left, "a")
        _require_finite(columns, "b")
        if transposed:
            left, form, lower = np.swapaxes(left, -1, -2), _flipped(form), not lower
        if k == 0:  # a column of zeros: a is looked at all the same
            columns = np.zeros((*columns.shape[:-1], 1), dtype=columns.dtype)
        if form == "general" and (left.ndim == 2 or n > ranks.module.small_limit):
            found = _by_one(left, columns, stack, one, doubts)
        else:
            found = _by_form(ranks.module, left, columns, form, lower, options, one, doubts)
        x = _in_type(found[..., :k], type_, doubts)
    if left.ndim == 2:
        x = np.moveaxis(x.reshape(n, *of_b), 0, -2)
    return (x[0] if is_row else x[..., 0] if is_vector else x), doubts.words


def _in_type(x: NDArray[Any], type_: np.dtype[Any], doubts: Doubts) -> NDArray[Any]:
    """Every x in another type, and doubts about that."""
    if x.dtype.itemsize <= type_.itemsize:
        return x.astype(type_, copy=False)
    n, k = x.shape[-2:]
    found = _arrays.rounded(np.moveaxis(x, -2, 0).reshape(n, -1), type_)
    for column in found.doubtful:
        with doubts.of(column // k):
            doubts.add(found.words(column % k))
    return np.moveaxis(found.array.reshape(n, *x.shape[:-2], k), 0, -2)


def _by_one(
    a: NDArray[Any],
    columns: NDArray[Any],
    stack: tuple[int, ...],
    one: One,
    doubts: Doubts,
) -> NDArray[Any]:
    """x of one general system after the other."""
    dtype = np.result_type(a.dtype, columns.dtype, np.float64)
    x = np.empty((*stack, *columns.shape[-2:]), dtype=dtype)
    whole, sides = (np.broadcast_to(v, stack + v.shape[-2:]) for v in (a, columns))
    for at, place in enumerate(np.ndindex(*stack)):
        with doubts.of(at):
            x[place] = one(whole[place], sides[place], doubts.add)
    return x
