# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that are hard to solve with: each function draws one of order n, or of about n."""

from __future__ import annotations

from math import comb

import numpy as np

from .system import LARGEST, SMALLEST, Generator, Indices, Matrix, finite, shifted


def gaussian(rng: Generator, n: int) -> Matrix:
    return rng.standard_normal((n, n))


def _exponents(rng: Generator, n: int) -> Indices:
    """Exponents of rows or columns: none, few, or over the whole range."""
    reach = int(rng.choice([0, 8, 60, 400, 1000]))
    if rng.random() < 0.3:  # one that stands out
        result = np.zeros(n, dtype=np.int64)
        result[rng.integers(n)] = rng.integers(-reach, reach + 1)
        return result
    return rng.integers(-reach, reach + 1, n)


def scaled(rng: Generator, n: int) -> Matrix:
    """Rows and columns of any scales, subnormal numbers included."""
    rows, columns = _exponents(rng, n), _exponents(rng, n)
    most = int(rows.max() + columns.max())
    if most > 1000:
        rows = rows - (most - 1000)
    return shifted(gaussian(rng, n), rows, columns)


def exponents(rng: Generator, n: int) -> Matrix:
    """Every entry of its own scale, many of them zero."""
    n = min(n, int(rng.integers(1, 24)))
    reach = rng.choice([20, 100, 300, 323])
    with np.errstate(over="ignore", under="ignore"):
        a = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-reach, min(reach, 308), (n, n))
    a[rng.random((n, n)) < rng.choice([0.0, 0.4, 0.8])] = 0
    a[np.diag_indices(n)] = np.where(np.diag(a) == 0, 1.0, np.diag(a))
    return finite(np.triu(a) if rng.random() < 0.4 else a)


def ends(rng: Generator, n: int) -> Matrix:
    """Numbers at the ends of FP64."""
    numbers = [LARGEST, -LARGEST, 1e308, SMALLEST, -SMALLEST, 1e-310, 2.0**-1022, 1.0, 0.0]
    kind = rng.integers(4)
    if kind == 0:
        n = min(n, int(rng.integers(1, 9)))
        return np.asarray(rng.choice(np.array(numbers), (n, n)))
    if kind == 1:
        return np.asarray(np.eye(n) * float(rng.choice(np.array(numbers[:7]))))
    if kind == 2:
        a = gaussian(rng, n)
        return np.asarray(a / np.abs(a).max() * LARGEST)
    # Subnormal numbers have few digits: their matrix is a matrix of small whole numbers.
    return np.asarray(np.rint(gaussian(rng, n) * 2.0 ** rng.integers(2, 40)) * SMALLEST)


def wilkinson(n: int) -> Matrix:
    """Partial pivoting lets the last column grow to 2^(n - 1)."""
    a = np.eye(n) - np.tril(np.ones((n, n)), -1)
    a[:, -1] = 1
    return a


def _wright(rng: Generator, n: int) -> Matrix:
    """A two-point boundary problem by multiple shooting (Wright 1993)."""
    blocks = max(n // 2, 2)
    step = rng.choice([0.1, 0.3, 0.6])
    m = np.array([[-1 / 6, 1.0], [1.0, -1 / 6]]) * step
    e = np.eye(2) + m + m @ m / 2 + m @ m @ m / 6
    a = np.eye(2 * blocks)
    for k in range(1, blocks):
        a[2 * k : 2 * k + 2, 2 * k - 2 : 2 * k] = -e
    a[:2, -2:] = np.eye(2)
    return a


def _foster(rng: Generator, n: int) -> Matrix:
    """A Volterra integral equation by quadrature (Foster 1994)."""
    n = max(n, 2)
    h, c = rng.choice([0.4, 0.9, 1.0]), rng.choice([1.0, 0.5])
    a = np.eye(n) - np.tril(np.full((n, n), h), -1)
    a[1:, 0] = -h / 2
    a[np.arange(1, n), np.arange(1, n)] = 1 - h / 2
    a[:, -1] -= 1 / c
    return a


def growth(rng: Generator, n: int) -> Matrix:
    """Matrices whose pivots grow by partial pivoting."""
    kind = rng.integers(4)
    if kind == 0:
        return wilkinson(n)
    if kind == 1:
        return _wright(rng, n)
    if kind == 2:
        return _foster(rng, n)
    a = wilkinson(n)
    a += 10.0 ** -float(rng.integers(1, 16)) * gaussian(rng, n)
    return a


def bordered(rng: Generator, n: int) -> Matrix:
    """[[W, D], [B, C]] with a growing W and C = B W^-1 D, rounded: singular, or nearly so. What
    growth leaves of the last pivots is noise, which looks like a good pivot."""
    m = int(rng.choice([20, 40, 55, 60, 60, 80, 110]))
    width = int(rng.integers(1, 5))
    w = wilkinson(m)
    d, b = rng.standard_normal((m, width)), rng.standard_normal((width, m))
    q, r = np.linalg.qr(w)  # W is well-conditioned: QR has all digits of W^-1 D
    c = b @ np.linalg.solve(r, q.T @ d)
    if rng.random() < 0.3:
        c += 10.0 ** -float(rng.integers(4, 15)) * rng.standard_normal(c.shape)
    return np.block([[w, d], [b, c]])


def triangular(rng: Generator, n: int) -> Matrix:
    """Triangular matrices whose inverses are large."""
    kind = rng.integers(4)
    if kind == 0:
        a = np.eye(n) - np.triu(np.ones((n, n)), 1)
    elif kind == 1:
        angle = rng.uniform(0.2, 1.4)
        row = np.sin(angle) ** np.arange(n)
        a = row[:, np.newaxis] * (np.eye(n) - np.cos(angle) * np.triu(np.ones((n, n)), 1))
    elif kind == 2:
        a = np.triu(gaussian(rng, n))
    else:
        a = np.triu(rng.choice([-1.0, 0.0, 1.0], (n, n)), 1) + np.eye(n)
    return a


def _vandermonde(rng: Generator, n: int) -> Matrix:
    points = np.sort(rng.uniform(-1, 1, n)) if rng.random() < 0.5 else np.arange(1.0, n + 1)
    with np.errstate(over="ignore"):
        return finite(np.vander(points))


def _pascal(n: int) -> Matrix:
    return np.array([[float(comb(i + j, i)) for j in range(n)] for i in range(n)])


def classical(rng: Generator, n: int) -> Matrix:
    """Hilbert, Cauchy, Vandermonde, Pascal, Lotkin, Moler, Frank."""
    n = min(n, int(rng.integers(2, 41)))
    i, j = np.indices((n, n))
    kind = rng.integers(7)
    if kind == 0:
        return 1 / (i + j + 1.0)
    if kind == 1:
        points = np.sort(rng.uniform(0, n, 2 * n))
        return 1 / (points[:n, np.newaxis] + points[np.newaxis, n:] + 0.5)
    if kind == 2:
        return _vandermonde(rng, n)
    if kind == 3:
        return _pascal(min(n, 30))
    if kind == 4:
        a = 1 / (i + j + 1.0)
        a[0, :] = 1
        return a
    if kind == 5:
        low = np.eye(n) - np.tril(np.ones((n, n)), -1)
        return low @ low.T
    return np.where(i <= j + 1, n - np.maximum(i, j), 0).astype(np.float64)


def with_condition(rng: Generator, n: int) -> Matrix:
    """U S V^T with a given condition number: one tiny singular value, several, or a slope."""
    u, _ = np.linalg.qr(gaussian(rng, n))
    v, _ = np.linalg.qr(gaussian(rng, n))
    exponent = rng.uniform(0, 20)
    kind = rng.integers(3)
    if kind == 0:
        s = 10.0 ** -np.linspace(0, exponent, n)
    else:
        s = np.ones(n)
        few = 1 if kind == 1 else int(rng.integers(1, max(n // 2, 2)))
        s[n - min(few, n) :] = 10.0**-exponent * rng.uniform(0.1, 1, min(few, n))
    return np.asarray((u * s) @ v.T)


def rump(rng: Generator, n: int) -> Matrix:
    """Matrices of whole numbers with condition numbers up to 1e40 and determinant 1 (Rump 1991):
    the digits of a solution of Pell's equation p^2 - 2 q^2 = 1 to a large base."""
    base_bits = int(rng.integers(3, 27))
    p, q = 3, 2
    size = int(rng.integers(4, 68))
    while p.bit_length() < size:
        p, q = 3 * p + 4 * q, 2 * p + 3 * q
    digits = max(-(-p.bit_length() // base_bits), 1)
    while 2 * digits > max(n, 8):
        base_bits += 1
        digits = max(-(-p.bit_length() // base_bits), 1)
    base = 2**base_bits
    of = [[(value // base**k) % base for k in reversed(range(digits))] for value in (p, q, 2 * q)]
    a = np.zeros((2 * digits, 2 * digits))
    a[0, :digits], a[0, digits:] = of[0], of[2]
    a[digits, :digits], a[digits, digits:] = of[1], of[0]
    for k in range(1, digits):
        for start in (0, digits):
            a[start + k, start + k - 1], a[start + k, start + k] = 1, -float(base)
    return a


def unimodular(rng: Generator, n: int) -> Matrix:
    """Products of triangular matrices of whole numbers with determinant 1."""
    n = min(n, int(rng.integers(2, 25)))
    reach = int(rng.integers(1, 4))
    a = np.eye(n)
    for _ in range(int(rng.integers(1, 4))):
        low = np.tril(rng.integers(-reach, reach + 1, (n, n)).astype(np.float64), -1) + np.eye(n)
        high = np.triu(rng.integers(-reach, reach + 1, (n, n)).astype(np.float64), 1) + np.eye(n)
        following = a @ low @ high
        if np.abs(following).max() >= 2.0**53:
            break
        a = following
    return a


def blocks(rng: Generator, n: int) -> Matrix:
    """Blocks on the diagonal, one of them bad."""
    bad = [classical, triangular, rump, with_condition, singular][rng.integers(5)]
    one = bad(rng, max(min(n // 2, 20), 2))
    if rng.random() < 0.3:
        one = finite(one * 10.0 ** float(rng.integers(-200, 200)))
    rest = max(n - one.shape[0], 1)
    other = np.eye(rest) if rng.random() < 0.3 else gaussian(rng, rest)
    empty = np.zeros((one.shape[0], rest))
    return np.block([[one, empty], [empty.T, other]])


def duplicates(rng: Generator, n: int) -> Matrix:
    """Columns that nearly equal others, or do."""
    n = max(n, 2)
    a = gaussian(rng, n)
    few = int(rng.choice([1, 2, 3, max(n // 2, 1)]))
    exact = rng.random() < 0.1
    for _ in range(few):
        i, j = rng.choice(n, 2, replace=False)
        size = 0.0 if exact else 10.0 ** -rng.uniform(6, 16.3)
        if rng.random() < 0.5:
            a[:, j] = a[:, i] * (1 + size * rng.standard_normal(n))
        else:
            a[:, j] = a[:, i] + size * rng.standard_normal(n)
    return a


def arrow(rng: Generator, n: int) -> Matrix:
    a = np.diag(rng.standard_normal(n) * 10.0 ** rng.uniform(-rng.choice([0, 8, 16]), 0, n))
    a[-1, :] = rng.standard_normal(n)
    a[:, -1] = rng.standard_normal(n)
    return a if rng.random() < 0.5 else a[::-1, ::-1].copy()


def singular(rng: Generator, n: int) -> Matrix:
    """Exactly singular: a column of zeros or one twice, a sum of rows, a product of low rank."""
    n = max(n, 2)
    kind = rng.integers(4)
    a = gaussian(rng, n)
    i, j = rng.choice(n, 2, replace=False)
    if kind == 0:
        a[:, j] = 0
    elif kind == 1:
        a[:, j] = a[:, i]
    else:
        rank = n - 1 if kind == 2 else int(rng.integers(1, n))
        left, right = rng.integers(-9, 10, (n, rank)), rng.integers(-9, 10, (rank, n))
        a = np.asarray(left @ right, dtype=np.float64)
    return a


def tiny(rng: Generator, n: int) -> Matrix:
    """Small orders, and entries of few digits beside entries that differ by the last digits."""
    n = min(n, int(rng.integers(1, 5)))
    a = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 1.0, 3.0], (n, n))
    nudged = rng.random((n, n)) < 0.4
    a = np.where(nudged, a + 2.0 ** -rng.integers(1, 60, (n, n)).astype(np.float64), a)
    return np.asarray(np.where(nudged & (rng.random((n, n)) < 0.3), a * 2.0**-200, a))
