# SPDX-License-Identifier: BSD-3-Clause
"""Systems of which Speedwell has said something false, or which are the simplest of their kind:
every campaign begins with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .matrices import bordered, wilkinson
from .system import Matrix, System


def _of(a: Matrix, b: Matrix | list[float]) -> Callable[[], System]:
    return lambda: System(a, np.asarray(b, dtype=np.float64).reshape(a.shape[0], -1))


def _bordered() -> System:
    rng = np.random.default_rng(1)
    while (a := bordered(rng, 61)).shape != (61, 61):
        pass
    return System(a, rng.standard_normal((61, 1)))


def _triangular(n: int) -> Matrix:
    return np.eye(n) - np.triu(np.ones((n, n)), 1)


_random = np.random.default_rng(2)

SYSTEMS: tuple[Callable[[], System], ...] = (
    _of(1e308 * np.eye(4), [1e308] * 4),
    _of(np.array([[1e-200, 0.0], [1.0, 1e-220]]), [1e-200, 2.0]),
    _of(np.diag([1e200, 1e-200]), [1e200, 1e-200]),
    _of(5e-324 * np.eye(4), [5e-324] * 4),
    _of(5e-324 * np.eye(4), [1.0] * 4),
    _bordered,
    _of(_triangular(60), _random.standard_normal(60)),
    _of(_triangular(60), _triangular(60) @ _random.standard_normal(60)),
    _of(_triangular(60), np.ones(60)),
    _of(_triangular(60), np.eye(60)[59]),
    _of(wilkinson(100), _random.standard_normal(100)),
    _of(wilkinson(100), np.ones(100)),
    _of(wilkinson(100), wilkinson(100) @ np.ones(100)),
    _of(wilkinson(60), _random.standard_normal(60)),
    _of(np.array([[1.0, 1.0], [1.0, 1.0]]), [1.0, 1.0]),
    _of(np.array([[1.0]]), [0.0]),
)
