# SPDX-License-Identifier: BSD-3-Clause
"""Determinants as signs and logarithms, and as mantissas and exponents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Communicator
from ._results import SlogdetResult

_BEYOND = 5000  # an exponent beyond FP64's range


@dataclass
class Determinants:
    """Those of the matrices of a stack, in FP64: sign exp(logabsdet) = mantissa 2^exponent."""

    mantissa: NDArray[Any]
    exponent: NDArray[np.int64]
    sign: NDArray[Any]
    logabsdet: NDArray[np.float64]
    known: NDArray[np.bool_]  #: where they are beyond doubt

    @classmethod
    def unknown(cls, count: int, is_complex: bool) -> Determinants:
        numbers = np.complex128 if is_complex else np.float64
        return cls(
            np.zeros(count, dtype=numbers),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=numbers),
            np.zeros(count),
            np.zeros(count, dtype=np.bool_),
        )

    def put(self, k: int, found: tuple[complex, float, complex, int]) -> None:
        """Sets one: its sign, its logarithm, its mantissa and its exponent."""
        sign, logarithm, mantissa, exponent = found
        is_complex = self.sign.dtype.kind == "c"
        self.sign[k], self.mantissa[k] = (z if is_complex else z.real for z in (sign, mantissa))
        self.logabsdet[k], self.exponent[k] = logarithm, exponent

    def slogdet(self, stack: tuple[int, ...], type_: np.dtype[Any]) -> SlogdetResult:
        """Rounded to this type, each once."""
        real = np.zeros(0, dtype=type_).real.dtype
        return SlogdetResult(
            self.sign.astype(type_).reshape(stack)[()],
            self.logabsdet.astype(real).reshape(stack)[()],
        )

    def det(self, stack: tuple[int, ...], type_: np.dtype[Any]) -> Any:
        """The determinants, rounded to this type; infinite where they are beyond its range."""
        exponent = np.clip(self.exponent, -_BEYOND, _BEYOND).astype(np.intc)
        result = np.empty_like(self.mantissa)
        with np.errstate(over="ignore", under="ignore"):
            result.real = np.ldexp(self.mantissa.real, exponent)
            if result.dtype.kind == "c":
                result.imag = np.ldexp(self.mantissa.imag, exponent)
            return result.astype(type_).reshape(stack)[()]


def of_stack(
    matrices: NDArray[Any] | None, type_: np.dtype[Any], count: int, threads: int = 0
) -> Determinants:
    """Of matrices (count, n, n) of this type, as far as they are known beyond doubt by an LU of
    each as it is. Of larger ones, those with an Inf or NaN, and None, nothing is known."""
    found = Determinants.unknown(count, type_.kind == "c")
    if matrices is None or count == 0:
        return found
    n = matrices.shape[-1]
    if n == 0:
        found.sign[:] = found.mantissa[:] = 1
        found.known[:] = True
        return found
    module = Communicator(None).module
    if n > module.small_limit:
        return found
    given = np.ascontiguousarray(matrices, dtype=found.sign.dtype)
    arrays = (found.mantissa, found.exponent, found.sign, found.logabsdet, found.known)
    with _core.lock:
        module.stack_determinants(
            given.ctypes.data,
            found.sign.dtype.kind == "c",
            count,
            n,
            [array.ctypes.data for array in arrays],
            threads,
        )
    return found


def zero() -> tuple[complex, float, complex, int]:
    """A determinant of 0, as Determinants.put() takes it."""
    return 0j, -math.inf, 0j, 0
