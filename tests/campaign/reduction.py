# SPDX-License-Identifier: BSD-3-Clause
"""Makes the system of a failure as small and simple as it can in limited time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .system import Matrix, System

Fails = Callable[[System], bool]


def _without(system: System, rows: list[int], columns: list[int]) -> System:
    a = np.delete(np.delete(system.a, rows, axis=0), columns, axis=1)
    return System(np.ascontiguousarray(a), np.delete(system.b, rows, axis=0))


def _partners(a: Matrix) -> list[int]:
    """For each row the column that is taken away with it: that of a permuted triangle or diagonal,
    so far as rows and columns with a single entry tell; the others in their order."""
    there = a != 0
    rows, columns = set(range(len(a))), set(range(len(a)))
    found: dict[int, int] = {}
    for _ in range(len(a)):
        single = None
        for i in rows:
            left = [j for j in np.flatnonzero(there[i]).tolist() if j in columns]
            if len(left) == 1:
                single = (i, left[0])
                break
        if single is None:
            break
        found[single[0]] = single[1]
        rows.discard(single[0])
        columns.discard(single[1])
    found |= dict(zip(sorted(rows), sorted(columns), strict=True))
    return [found[i] for i in range(len(a))]


def _smaller(system: System) -> Iterator[System]:
    """Systems without some rows and columns, many first."""
    n = system.n
    size = n // 2
    while size >= 1:
        for pairing in (list(range(n)), _partners(system.a)):
            for start in range(0, n, size):
                rows = list(range(start, min(start + size, n)))
                if len(rows) < n:
                    yield _without(system, rows, [pairing[i] for i in rows])
            if pairing == list(range(n)) == _partners(system.a):
                break
        size //= 2


def _rounded(value: float) -> list[float]:
    """Simpler numbers near a number."""
    sign = -1.0 if value < 0 else 1.0
    power = math.ldexp(sign, math.frexp(value)[1] - 1)
    simple = [0.0, sign, power, float(f"{value:.1g}"), float(f"{value:.3g}")]
    return [one for one in simple if one != value and np.isfinite(one)]


def _with(values: Matrix, place: tuple[int, ...], value: float) -> Matrix:
    result = values.copy()
    result[place] = value
    return result


def _simpler(system: System) -> Iterator[System]:
    for place in np.ndindex(system.b.shape):
        if (value := float(system.b[place])) != 0:
            for other in _rounded(value):
                yield System(system.a, _with(system.b, place, other))
    for place in np.ndindex(system.a.shape):
        if (value := float(system.a[place])) != 0:
            for other in _rounded(value):
                yield System(_with(system.a, place, other), system.b)


def _complexity(system: System) -> int:
    """Digits of all numbers, roughly; lower is simpler."""
    digits = 0
    for values in (system.a, system.b):
        for value in values.ravel().tolist():
            digits += 0 if value == 0 else 1 if abs(value) == 1 else 2 + len(f"{value:.17g}")
    return digits


def _first(candidates: Iterator[System], accept: Fails, end: float) -> System | None:
    for candidate in candidates:
        if time.monotonic() > end:
            return None
        if accept(candidate):
            return candidate
    return None


def reduce(system: System, column: int, fails: Fails, seconds: float) -> System:
    """A smaller system that fails in the same way."""
    end = time.monotonic() + seconds
    one = system.columns([column])
    if system.count > 1 and fails(one):
        system = one
    if time.monotonic() < end:
        free = replace(system, x=None)  # without the solution that is known by construction
        system = free if system.n <= 260 else system
    if system.x is not None or system.is_complex:
        return system
    while (found := _first(_smaller(system), fails, end)) is not None:
        system = found
    if system.n > 12:
        return system

    def simpler(candidate: System) -> bool:
        return _complexity(candidate) < _complexity(system) and fails(candidate)

    while (found := _first(_simpler(system), simpler, end)) is not None:
        system = found
    return system
