# SPDX-License-Identifier: BSD-3-Clause
"""Draws systems: a matrix of a family, permuted, transposed and scaled by powers of two, and
right-hand sides."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from . import attacks, draws, known, large, matrices
from .system import LARGEST, Generator, Indices, Matrix, System, blocks_of, finite, shifted

CLIMB = "climb"  # the family that searches, campaign/climb.py
ATTACK = "attack"  # those of one who knows the code
SYMMETRIC = "symmetric"  # matrices of the other families, the upper triangle mirrored
COMPLEX = "complex"  # complex matrices, whose parts are of the other families

# The matrices of each family, and how often it is drawn.
_MATRICES: dict[str, tuple[Callable[[Generator, int], Matrix], float]] = {
    "gaussian": (matrices.gaussian, 6),
    "scaled": (matrices.scaled, 10),
    "exponents": (matrices.exponents, 10),
    "ends": (matrices.ends, 6),
    "growth": (matrices.growth, 8),
    "bordered": (matrices.bordered, 5),
    "triangular": (matrices.triangular, 7),
    "classical": (matrices.classical, 7),
    "blocks": (matrices.blocks, 7),
    "duplicates": (matrices.duplicates, 8),
    "arrow": (matrices.arrow, 4),
    "rump": (matrices.rump, 6),
    "unimodular": (matrices.unimodular, 4),
    "condition": (matrices.with_condition, 7),
    "singular": (matrices.singular, 3),
    "tiny": (matrices.tiny, 8),
}
_WEIGHTS = {name: weight for name, (_, weight) in _MATRICES.items()} | {
    "large": 2.0,
    ATTACK: 3.0,
    CLIMB: 3.0,
    SYMMETRIC: 6.0,
    COMPLEX: 16.0,
}
NAMES = ("known", *_WEIGHTS)


def generator(name: str, seed: int, index: int) -> Generator:
    """The random numbers of one run: they depend on nothing else."""
    return np.random.default_rng([seed, index, zlib.crc32(name.encode())])


def family_of(seed: int, index: int) -> str:
    """The family of a run of a campaign. It begins with the systems that are known to be
    hard, in all ways of draws.known()."""
    if index < len(known.SYSTEMS) * draws.KNOWN_WAYS:
        return "known"
    weights = np.array(list(_WEIGHTS.values()))
    rng = np.random.default_rng([seed, index])
    return str(rng.choice(list(_WEIGHTS), p=weights / weights.sum()))


def order(rng: Generator) -> int:
    kind = rng.random()
    if kind < 0.3:
        return int(rng.integers(1, 9))
    if kind < 0.78:
        return int(rng.integers(9, 61))
    if kind < 0.995:
        return int(rng.integers(61, 131))
    return int(rng.integers(131, 201))


def _changed(rng: Generator, a: Matrix) -> Matrix:
    """Rows and columns permuted, transposed, scaled by powers of two, or as it is."""
    n = a.shape[0]
    if rng.random() < 0.4:
        return a
    if rng.random() < 0.4:
        a = a[rng.permutation(n), :]
    if rng.random() < 0.4:
        a = a[:, rng.permutation(n)]
    if rng.random() < 0.4:
        a = a.T.copy()
    if rng.random() < 0.3:
        reach = int(rng.choice([3, 30, 300]))
        none = np.zeros(n, dtype=np.int64)
        rows: Indices = np.asarray(rng.integers(-reach, reach + 1, (n,)))
        columns: Indices = np.asarray(rng.integers(-reach, reach + 1, (n,)))
        changed = shifted(
            a, rows if rng.random() < 0.7 else none, columns if rng.random() < 0.7 else none
        )
        if np.abs(changed).max() < LARGEST:
            a = changed
    return np.ascontiguousarray(a)


def _right_hand_side(rng: Generator, a: Matrix) -> Matrix:
    n = a.shape[0]
    kind = rng.integers(9)
    with np.errstate(all="ignore"):
        if kind <= 1:
            return rng.standard_normal((n,))
        if kind == 2:
            return finite(a @ np.ones(n))
        if kind <= 4:
            return finite(a @ rng.standard_normal(n))
        if kind == 5:
            unit = np.zeros(n)
            unit[rng.choice([0, n - 1, rng.integers(n)])] = 1
            return unit
        if kind == 6:
            return np.zeros(n) if rng.random() < 0.2 else np.diag(a).copy()
        if kind == 7:
            return finite(np.ldexp(rng.standard_normal((n,)), int(rng.integers(-1074, 1023))))
        # One whose x has the size of b: no overflow where a is tiny or huge.
        return finite(rng.standard_normal(n) * np.abs(a).max(axis=1))


def _count(rng: Generator, n: int) -> int:
    kind = rng.random()
    if kind < 0.9:
        return 1
    return 9 if kind < 0.975 or n > 48 else 300


def _complex(rng: Generator) -> Matrix:
    """The real matrix of a complex one: of two families, of one part alone or much smaller than the
    other, or of a real matrix turned by an angle."""
    n = min(order(rng), int(rng.choice([12, 40, 60])))
    names = [name for name in _MATRICES if name not in ("bordered", "singular")]
    one = _changed(rng, _MATRICES[str(rng.choice([*names, "singular"]))][0](rng, n))
    kind = rng.integers(6)
    none = np.zeros_like(one)
    if kind == 0:
        return blocks_of(one, none) if rng.random() < 0.5 else blocks_of(none, one)
    if kind == 1:
        cosine, sine = np.array([[3, 4], [5, 12], [1, 1]])[rng.integers(3)] / 16
        return blocks_of(finite(one * cosine), finite(one * sine))
    other = _changed(rng, _MATRICES[str(rng.choice(names))][0](rng, one.shape[0]))
    m = min(one.shape[0], other.shape[0])
    one, other = one[:m, :m], other[:m, :m]
    if kind == 2:
        other = finite(np.ldexp(other, -int(rng.integers(1, 60))))
    return blocks_of(one, other)


def draw(name: str, rng: Generator, index: int) -> System:
    """A system of a family; of CLIMB, the one from which the search begins."""
    if name == "known":
        return known.SYSTEMS[index % len(known.SYSTEMS)]()
    if name == "large":
        return large.draw(rng)
    if name == ATTACK:
        return attacks.draw(rng)
    if name == COMPLEX:
        a = _complex(rng)
        count = _count(rng, a.shape[0])
        b = np.column_stack([_right_hand_side(rng, a) for _ in range(count)])
        if not a.any():
            a[0, 0] = a[1, 1] = 1
        return System(a, b, is_complex=True)
    n = order(rng)
    is_symmetric = name == SYMMETRIC
    if name == CLIMB or is_symmetric:
        name = str(rng.choice([other for other in _MATRICES if other != "singular"]))
        n = int(rng.integers(1, 9)) if not is_symmetric or rng.random() < 0.5 else n
    a = _changed(rng, _MATRICES[name][0](rng, n))
    if is_symmetric:
        a = np.triu(a) + np.triu(a, 1).T
    if not a.any():
        a[0, 0] = 1
    count = _count(rng, a.shape[0])
    return System(a, np.column_stack([_right_hand_side(rng, a) for _ in range(count)]))
