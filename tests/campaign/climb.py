# SPDX-License-Identifier: BSD-3-Clause
"""A search that climbs towards the largest ratio of true error and printed bound: small changes of
a system are kept where the ratio grows."""

from __future__ import annotations

import numpy as np

from . import exact
from .doors import Doors, How
from .judge import Verdict, judge
from .system import Generator, Matrix, System, finite

_STEPS = 60
HOW = How("python", "solve info", "F")


def _nudged(rng: Generator, values: Matrix) -> Matrix:
    """One entry changed: by a small factor, to a neighbour, to zero, by a power of two."""
    result = values.copy()
    place = tuple(int(rng.integers(size)) for size in values.shape)
    kind = rng.integers(6)
    with np.errstate(all="ignore"):
        if kind <= 2:
            result[place] *= 1 + rng.standard_normal() * 10.0 ** -float(rng.integers(0, 16))
        elif kind == 3:
            result[place] = np.nextafter(result[place], rng.choice([-np.inf, np.inf]))
        elif kind == 4:
            result[place] *= 2.0 ** float(rng.integers(-40, 41))
        else:
            result[place] = 0 if result[place] != 0 else 1
    return finite(result)


def _changed(rng: Generator, system: System) -> System:
    if rng.random() < 0.7:
        return System(_nudged(rng, system.a), system.b)
    return System(system.a, _nudged(rng, system.b))


def _height(verdict: Verdict) -> float:
    return float("inf") if verdict.failed else verdict.ratio


def climb(rng: Generator, system: System, doors: Doors) -> System:
    """The system with the largest ratio that was found, or the first failure."""

    def height_of(one: System) -> float:
        return _height(judge(one, exact.solve(one), doors.solve(one, HOW)))

    best, height = system, height_of(system)
    for _ in range(_STEPS):
        if np.isinf(height):
            break
        other = _changed(rng, best)
        found = height_of(other)
        if found >= height:
            best, height = other, found
    return best
