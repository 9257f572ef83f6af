# SPDX-License-Identifier: BSD-3-Clause
"""Systems made by one who knows Speedwell's code: each hides what is wrong with it from the random
vectors of a seed that he guesses, or from those that were constants once. The vectors are those of
docs/numerics.md, 5.4 and 5.6, by the numbers of src/core/random.hpp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .system import Generator, Indices, Matrix, System, blocks_of, in_pairs

_OWN = 0x6A09E667F3BCC909
_USES = ("quick", "inverse", "norm", "sketch", "rotations", "sample")
_MASK = 2**64 - 1
_COMBINATIONS = 16  # of rows, in a sketch of residuals
_LOST = 0.9 * 2.0**-54  # of a number, at most, where a larger one is added


def _mixed(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _numbers(state: int, places: Indices) -> Matrix:
    """Random numbers of a sequence, in [-1, 1)."""
    found = [_mixed((state + (int(i) + 1) * 0x9E3779B97F4A7C15) & _MASK) for i in places.ravel()]
    return np.array([float(bits >> 11) * 2.0**-52 - 1 for bits in found]).reshape(places.shape)


@dataclass(frozen=True)
class Guess:
    """The vectors of a seed; None: the constants."""

    seed: int | None

    def _of(self, use: str, constant: int, places: Indices) -> Matrix:
        if self.seed is None:
            return _numbers(_mixed((_OWN + constant) & _MASK), places)
        return _numbers(_mixed(self.seed ^ _mixed(_OWN + _USES.index(use))), places)

    def quick(self, count: int, n: int) -> Matrix:
        """Vectors that show a large inverse on the shortest way."""
        return self._of("quick", 0, np.arange(count * n)).reshape(count, n)

    def starts(self, n: int) -> Matrix:
        """Those with which an estimate of a norm begins."""
        found = [np.ones(n)]
        for k in range(1, 4):
            if self.seed is None:
                found.append(_numbers(k, np.arange(n)))
            else:
                found.append(self._of("norm", 0, k * n + np.arange(n)))
        return np.array([v / np.abs(v).sum() for v in found])

    def sketches(self, rows: Indices, n: int) -> Matrix:
        """Those of residuals, in all ways."""
        c = np.arange(_COMBINATIONS)[:, np.newaxis]
        return np.vstack(
            [
                self._of("sketch", 0, rows[np.newaxis, :] * _COMBINATIONS + c),
                self._of("sketch", 1, c * n + rows[np.newaxis, :]),
            ]
        )


def _orthogonal(v: Matrix, to: Matrix) -> Matrix:
    """A part of v of length 1 that is orthogonal to all rows."""
    q, _ = np.linalg.qr(to.T)
    for _ in range(3):
        v = v - q @ (q.conj().T @ v)
    return np.asarray(v / np.linalg.norm(v))


def singular(rng: Generator, guess: Guess, n: int) -> System:
    """u^T A = 0 but for roundings, with u orthogonal to the vectors of the shortest way."""
    u = _orthogonal(rng.standard_normal(n), guess.quick(2, n))
    a = rng.standard_normal((n, n))
    a -= np.outer(u, u @ a)
    b = rng.standard_normal(n)
    if rng.random() < 0.5:
        b -= u * (u @ b)
    return System(np.ascontiguousarray(a), b[:, np.newaxis])


def complex_singular(rng: Generator, guess: Guess, n: int) -> System:
    """The same of a complex A, which has one such vector."""
    numbers = guess.quick(1, 2 * n)[0]
    # u^H A = 0: a row of the inverse is a multiple of u^H.
    u = _orthogonal(
        rng.standard_normal(n) + 1j * rng.standard_normal(n),
        (numbers[::2] + 1j * numbers[1::2])[np.newaxis, :],
    )
    a = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    a -= np.outer(u, u.conj() @ a)
    b = rng.standard_normal((n, 1)) + 1j * rng.standard_normal((n, 1))
    return System(blocks_of(a.real, a.imag), in_pairs(b), is_complex=True)


def _seen(inverse: Matrix, guess: Guess, rounds: int = 5) -> tuple[Matrix, Matrix]:
    """The vectors that an estimate of the 1-norm of `inverse` multiplies it by, and its transpose
    (N. J. Higham, F. Tisseur, 2000, Algorithm 2.4)."""
    n = len(inverse)
    x = guess.starts(n)
    seen, signs_seen = [x], [np.zeros((0, n))]
    tried: set[int] = set()
    units: list[int] = []
    best, best_unit = 0.0, n
    before_signs: list[bytes] = []
    for k in range(1, rounds + 1):
        products = x @ inverse.T
        sizes = np.abs(products).sum(axis=1)
        gained = bool(sizes.max() > best) or not units
        if sizes.max() > best:
            best, best_unit = float(sizes.max()), units[int(sizes.argmax())] if units else n
        now = [row.tobytes() for row in products < 0]
        if not gained or all(row in before_signs for row in now) or k == rounds:
            break
        before_signs = now
        signs = np.where(products < 0, -1.0, 1.0)
        signs_seen.append(signs)
        largest = np.abs(signs @ inverse).max(axis=0)
        order = np.argsort(-largest, kind="stable")
        if best_unit < n and largest[order[0]] <= largest[best_unit]:
            break
        units = [int(j) for j in order[:20] if int(j) not in tried][:4]
        tried |= set(units)
        x = np.eye(n)[units]
        seen.append(x)
    return np.vstack(seen), np.vstack(signs_seen)


def _scales(a: Matrix) -> tuple[Matrix, Matrix]:
    rows = 2.0 ** -(np.floor(np.log2(np.abs(a).max(axis=1))) + 1)
    columns = 2.0 ** -(np.floor(np.log2((rows[:, np.newaxis] * np.abs(a)).max(axis=0))) + 1)
    return rows, columns


def ill_conditioned(rng: Generator, guess: Guess, n: int) -> System:
    """A large part of A^-1 that no vector of the norm's estimate sees."""
    z = rng.choice([-1.0, 1.0], (n, n)) * rng.uniform(0.55, 0.9, (n, n))
    of_z = np.linalg.inv(z)
    size = 10.0 ** rng.uniform(6, 13)
    a, rows, columns = z, np.ones(n), np.ones(n)
    for _ in range(60):
        x, signs = _seen((of_z / columns[:, np.newaxis] / rows[np.newaxis, :]).T, guess)
        w = _orthogonal(rng.standard_normal(n), x) * columns
        u = _orthogonal(rng.standard_normal(n), signs) * rows
        w, u = w / np.linalg.norm(w), u / np.linalg.norm(u)
        p, q = z @ w, u @ z
        a = z - np.outer(p, q) * (size / (1 + size * (u @ p)))
        before = rows, columns
        rows, columns = _scales(a)
        if np.array_equal(before, (rows, columns)):
            break
    return System(np.ascontiguousarray(a), rng.standard_normal((n, int(rng.choice([1, 9])))))


def growing(rng: Generator, guess: Guess, n: int) -> System:
    """Wilkinson's matrix, whose entries grow by 2^g: the bits that they lose are orthogonal to the
    random combinations of rows by which the residuals of many right-hand sides are estimated."""
    g = int(rng.integers(30, 51))
    rows = np.arange(g + 1, n)
    lost = rng.standard_normal(len(rows))
    lost[-1] += 20
    lost = _orthogonal(lost, guess.sketches(rows, n))
    a = np.eye(n)
    a[:, :g] -= np.tril(np.ones((n, n)), -1)[:, :g]
    a[:, -1] = 1
    a[rows, -1] += lost * (_LOST * 2.0**g / np.abs(lost).max())
    count = int(rng.choice([1, 9, 20]))
    return System(a, np.outer(np.ones(n), 2.0 ** np.arange(count)))


def draw(rng: Generator) -> System:
    """One of these attacks."""
    guess = Guess(None if rng.random() < 0.5 else int(rng.integers(1, 2**53)))
    kind = rng.integers(4)
    if kind == 0:
        large = rng.random() < 0.05  # factors in FP32
        return singular(rng, guess, int(rng.integers(200, 215) if large else rng.integers(3, 80)))
    if kind == 1:
        return complex_singular(rng, guess, int(rng.integers(2, 40)))
    if kind == 2:
        return ill_conditioned(rng, guess, int(rng.integers(12, 60)))
    return growing(rng, guess, int(rng.integers(100, 140)))
