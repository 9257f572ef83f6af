# SPDX-License-Identifier: BSD-3-Clause
"""A linear system that was drawn, and what is done with it without rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Generator = np.random.Generator

LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 5e-324


@dataclass(frozen=True)
class System:
    """A x = b. `x` is the exact solution where b was computed from it without rounding.

    A complex system is drawn and judged as the real one of twice the order, whose matrix has the
    block [re, -im; im, re] for each element; doors get it as it is."""

    a: Matrix
    b: Matrix
    x: Matrix | None = None
    is_complex: bool = False

    @property
    def n(self) -> int:
        return int(self.a.shape[0])

    @property
    def count(self) -> int:
        return int(self.b.shape[1])

    def given(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """A and b as a door gets them."""
        if not self.is_complex:
            return self.a, self.b
        return self.a[::2, ::2] + 1j * self.a[1::2, ::2], self.b[::2] + 1j * self.b[1::2]

    def taken(self, x: NDArray[Any]) -> Matrix:
        """The solution from a door, as one of this system."""
        return in_pairs(x) if self.is_complex else np.asarray(x, dtype=np.float64)

    def columns(self, chosen: list[int]) -> System:
        """The same matrix with some of the right-hand sides."""
        x = None if self.x is None else self.x[:, chosen]
        return replace(self, b=self.b[:, chosen], x=x)


def in_pairs(values: NDArray[Any]) -> Matrix:
    """The real and the imaginary part of each row of complex numbers under each other."""
    return np.stack([values.real, values.imag], axis=1).reshape(2 * values.shape[0], -1)


def blocks_of(re: Matrix, im: Matrix) -> Matrix:
    """The matrix with a block for each element of re + i im."""
    n = re.shape[0]
    a = np.zeros((2 * n, 2 * n))
    a[::2, ::2] = a[1::2, 1::2] = re
    a[1::2, ::2] = im
    a[::2, 1::2] = -im
    return a


def finite(a: Matrix) -> Matrix:
    """The matrix with what overflowed replaced by the largest number of FP64."""
    return np.clip(np.nan_to_num(a, nan=1.0), -LARGEST, LARGEST)


def shifted(a: Matrix, rows: Indices, columns: Indices) -> Matrix:
    """2^rows a 2^columns, exact but for overflow and underflow."""
    # One factor after the other would overflow on the way where the product does not.
    with np.errstate(over="ignore", under="ignore"):
        return finite(np.ldexp(a, rows[:, np.newaxis] + columns[np.newaxis, :]))


def exactly_shifted(a: Matrix, rows: Indices, columns: Indices) -> Matrix | None:
    """The same, or None where a number would not be exact."""
    with np.errstate(over="ignore", under="ignore"):
        exponents = rows[:, np.newaxis] + columns[np.newaxis, :]
        result = np.ldexp(a, exponents)
        back = np.ldexp(result, -exponents)
    return result if np.array_equal(back, a) else None


def product(a: Matrix, x: Matrix) -> Matrix | None:
    """a x of matrices of whole numbers, or None where FP64 may not hold it."""
    bound = float((np.abs(a) @ np.abs(x)).max(initial=0.0))
    if not bound < 2.0**53:
        return None
    return np.asarray(a.astype(np.int64) @ x.astype(np.int64), dtype=np.float64)
