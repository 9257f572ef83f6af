# SPDX-License-Identifier: BSD-3-Clause
"""Systems of orders up to 720: A and x are whole numbers, and so is b = A x, without rounding.
Powers of two then scale rows and columns. Orders beyond 640 are those of the stepped solver."""

from __future__ import annotations

import numpy as np

from . import matrices
from .system import Generator, Matrix, System, exactly_shifted, product


def _whole(rng: Generator, shape: tuple[int, ...], bits: int) -> Matrix:
    return rng.integers(-(2**bits), 2**bits + 1, shape).astype(np.float64)


def _duplicates(rng: Generator, n: int) -> Matrix:
    """Columns that differ by few units of their last digits."""
    bits = int(rng.integers(4, 32))
    a = _whole(rng, (n, n), bits)
    for _ in range(int(rng.choice([1, 2, n // 2]))):
        i, j = rng.choice(n, 2, replace=False)
        a[:, j] = a[:, i] + _whole(rng, (n,), 1)
    return a


def _triangular(rng: Generator, n: int) -> Matrix:
    if rng.random() < 0.5:
        return np.eye(n) - np.triu(np.ones((n, n)), 1)
    return np.triu(_whole(rng, (n, n), 3), 1) + np.eye(n)


def _arrow(rng: Generator, n: int) -> Matrix:
    a = np.diag(_whole(rng, (n,), int(rng.integers(1, 20))))
    a[-1, :] = _whole(rng, (n,), 20)
    a[:, -1] = _whole(rng, (n,), 20)
    return a


def _blocks(rng: Generator, n: int) -> Matrix:
    a = _whole(rng, (n, n), 10)
    bad = matrices.rump(rng, 40)
    m = bad.shape[0]
    a[:m, :m], a[:m, m:], a[m:, :m] = bad, 0, 0
    return a


def _matrix(rng: Generator, n: int) -> Matrix:
    kind = rng.integers(7)
    if kind == 0:
        return _whole(rng, (n, n), int(rng.integers(1, 21)))
    if kind == 1:
        return matrices.wilkinson(n)
    if kind == 2:
        return _triangular(rng, n)
    if kind == 3:
        return _arrow(rng, n)
    if kind == 4:
        return _blocks(rng, n)
    return _duplicates(rng, n)


def _changed(rng: Generator, a: Matrix) -> Matrix:
    n = a.shape[0]
    if rng.random() < 0.4:
        a = a.T.copy()
    if rng.random() < 0.4:
        a = a[rng.permutation(n), :][:, rng.permutation(n)]
    return np.ascontiguousarray(a)


def _scaled(rng: Generator, system: System) -> System:
    n = system.n
    reach = int(rng.choice([4, 40, 400]))
    rows = rng.integers(-reach, reach + 1, n)
    columns = rng.integers(-reach, reach + 1, n)
    none = np.zeros(system.count, dtype=np.int64)
    assert system.x is not None
    a = exactly_shifted(system.a, rows, columns)
    b = exactly_shifted(system.b, rows, none)
    x = exactly_shifted(system.x, -columns, none)
    if a is None or b is None or x is None:
        return system
    return System(a, b, x)


def draw(rng: Generator) -> System:
    n = int(rng.integers(200, 641)) if rng.random() < 0.5 else int(rng.integers(641, 721))
    a = _changed(rng, _matrix(rng, n))
    count = int(rng.choice([1, 1, 1, 1, 1, 9]))
    b = None
    bits = 21
    while b is None:  # fewer digits of x where A has many
        bits -= 3
        if bits < 1:
            a = _whole(rng, (n, n), 10)
            bits = 18
        x = _whole(rng, (n, count), bits)
        b = product(a, x)
    system = System(a, b, x)
    return _scaled(rng, system) if rng.random() < 0.4 else system
