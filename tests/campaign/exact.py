# SPDX-License-Identifier: BSD-3-Clause
"""Solutions that are exact, or enclosed by balls so tight that they judge every digit of FP64.

A and b are FP64 numbers, so scaling by powers of two makes them whole numbers. Where these are
short, the system is solved over the rational numbers; where the exponents of the entries differ too
much for that, by ball arithmetic of a precision that rises until the enclosure is tight."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat, nmod_mat

from .system import Indices, Matrix, System

BITS = 256  # of the balls that errors are computed with
_TIGHT = 110  # bits: radius of an enclosure, relative to the norm of x
_TIGHT_ENTRY = 60  # of an entry, relative to itself
_DOUBLINGS = 3  # of the precision at most, until every entry is as tight as that
_LARGEST_PRECISION = 6144
_PRIMES = (4611686018427387847, 9223372036854775783)
_LONG = 20000  # n times the bits of an entry, beyond which rational numbers take too long
_SMALL = 30  # order up to which rational numbers of any length are tried in the end
_LARGEST_ORDER = 260  # without a solution that is known by construction


@dataclass(frozen=True)
class Reference:
    """The solution of a system: its columns, or that A is singular, or that it was not found."""

    columns: list[list[arb]] = field(default_factory=list)
    singular: bool = False
    decided: bool = True


@dataclass(frozen=True)
class _Whole:
    """a = 2^rows entries 2^columns, entries whole numbers: `mantissas` times 2^`shifts`."""

    mantissas: Indices
    shifts: Indices
    rows: Indices
    columns: Indices

    def entries(self) -> list[int]:
        pairs = zip(self.mantissas.ravel().tolist(), self.shifts.ravel().tolist(), strict=True)
        return [m << s if s > 0 else m >> -s for m, s in pairs]

    @property
    def bits(self) -> int:
        return 53 + max(int(self.shifts.max(initial=0)), -53)


def _parts(a: Matrix) -> tuple[Indices, Indices, Indices]:
    """Mantissas of at most 53 bits, their exponents, and how many bits at their ends are zero."""
    fractions, exponents = np.frexp(a)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    lowest = mantissas & -mantissas
    zeros = np.where(mantissas == 0, 0, np.frexp(lowest.astype(np.float64))[1] - 1)
    return mantissas, exponents.astype(np.int64) - 53, zeros.astype(np.int64)


def _whole(a: Matrix) -> _Whole:
    """Balances the exponents, so that the whole numbers are short whatever the scales of a are."""
    mantissas, exponents, zeros = _parts(a)
    there = mantissas != 0
    none = np.int64(-(2**40))
    rows = np.where(there, exponents, none).max(axis=1, initial=none)
    rows = np.where(rows == none, 0, rows)
    rest = exponents - rows[:, np.newaxis]
    columns = np.where(there, rest, none).max(axis=0, initial=none)
    columns = np.where(columns == none, 0, columns)
    rest = rest - columns[np.newaxis, :]
    lowest = int((rest + zeros)[there].min()) if there.any() else 0
    shifts = np.where(there, rest - lowest, 0)
    return _Whole(mantissas, shifts, rows + lowest, columns)


def singular(a: Matrix) -> bool:
    """Whether the determinant is zero modulo two primes of 62 and 63 bits: a matrix that is not
    singular is taken for one with a probability of about 2^-110."""
    return _singular(_whole(a), a.shape[0])


def _singular(whole: _Whole, n: int) -> bool:
    entries = fmpz_mat(n, n, whole.entries())
    return all(int(nmod_mat(entries, prime).det()) == 0 for prime in _PRIMES)


def _right(b: Matrix, rows: Indices) -> tuple[Indices, Indices, list[int]]:
    """b without the scales of the rows: mantissas, shifts, and the exponent of each column."""
    mantissas, exponents, zeros = _parts(b)
    rest = exponents - rows[:, np.newaxis]
    there = mantissas != 0
    lowest = np.where(there, rest + zeros, 2**40).min(axis=0, initial=2**40)
    lowest = np.where(lowest == 2**40, 0, lowest)
    return mantissas, np.where(there, rest - lowest, 0), [int(e) for e in lowest]


def _rational(whole: _Whole, system: System) -> Reference:
    n, count = system.n, system.count
    mantissas, shifts, exponents = _right(system.b, whole.rows)
    right = _Whole(mantissas, shifts, whole.rows, whole.columns)
    try:
        y = fmpz_mat(n, n, whole.entries()).solve(fmpz_mat(n, count, right.entries()))
    except ZeroDivisionError:
        return Reference(singular=True)
    found = []
    for k, exponent in enumerate(exponents):
        scales = [arb((1, exponent - int(c))) for c in whole.columns]
        found.append([arb(y[j, k]) * scales[j] for j in range(n)])
    return Reference(found)


def _balls(mantissas: Indices, shifts: Indices) -> list[arb]:
    pairs = zip(mantissas.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    return [arb(pair) for pair in pairs]


def norm(x: list[arb]) -> arb:
    """The largest absolute value."""
    largest = arb(0)
    for value in x:
        largest = largest.max(abs(value))
    return largest


def _tight(x: list[arb]) -> bool:
    limit = norm(x).abs_lower() * arb((1, -_TIGHT))
    return all(value.is_finite() and value.rad() <= limit for value in x)


def _enclosed(whole: _Whole, system: System) -> Reference:
    n, count = system.n, system.count
    mantissas, shifts, exponents = _right(system.b, whole.rows)
    a = arb_mat(n, n, _balls(whole.mantissas, whole.shifts))
    b = arb_mat(n, count, _balls(mantissas, shifts))
    bits = BITS
    best = Reference(decided=False)
    more = _DOUBLINGS
    while bits <= _LARGEST_PRECISION and more > 0:
        ctx.prec = bits
        bits *= 2
        y = a.solve(b, nonstop=True)
        if not y[0, 0].is_finite():
            continue
        found = []
        for k, exponent in enumerate(exponents):
            scales = [arb((1, exponent - int(c))) for c in whole.columns]
            found.append([y[j, k] * scales[j] for j in range(n)])
        if all(_tight(column) for column in found):
            best = Reference(found)
            values = [value for column in found for value in column]
            done = all(value.rel_accuracy_bits() >= _TIGHT_ENTRY for value in values)
            more = 0 if done else more - 1
    return best


def solve(system: System) -> Reference:
    """The solution, exact or enclosed."""
    ctx.prec = BITS
    try:
        return _solve(system)
    finally:
        ctx.prec = BITS


def _solve(system: System) -> Reference:
    whole = _whole(system.a)
    if system.x is not None:
        if _singular(whole, system.n):
            return Reference(singular=True)
        return Reference([[arb(value) for value in column] for column in system.x.T.tolist()])
    if system.n > _LARGEST_ORDER:
        return Reference(decided=False)
    if whole.bits * system.n <= _LONG:
        return _rational(whole, system)
    if _singular(whole, system.n):
        return Reference(singular=True)
    found = _enclosed(whole, system)
    return found if found.decided or system.n > _SMALL else _rational(whole, system)


@dataclass(frozen=True)
class Errors:
    """How far x is from the solution x*, in the infinity norm."""

    of_x: float  #: ||x - x*|| / ||x||
    of_solution: float  #: ||x - x*|| / ||x*||
    rounded: bool  #: whether x is the solution, rounded to FP64
    representable: bool  #: whether the solution neither overflows nor falls below normal numbers


def _ratio(above: arb, below: arb) -> float:
    if above == 0:
        return 0.0
    return float(above / below) if below != 0 else float("inf")


def errors(x: Matrix, solution: list[arb]) -> Errors:
    """The errors of one column of finite numbers."""
    values = [arb(value) for value in x.tolist()]
    difference = norm([v - s for v, s in zip(values, solution, strict=True)])
    largest = norm(solution)
    rounded = all(float(s.mid()) == v for s, v in zip(solution, x.tolist(), strict=True))
    return Errors(
        _ratio(difference, norm(values)),
        _ratio(difference, largest),
        rounded,
        representable(solution),
    )


def error_of_entries(x: Matrix, solution: list[arb]) -> float:
    """max_i |x_i - x*_i| / |x_i|: 0 / 0 is 0. Of an entry that the enclosure does not know, what
    the error is at least."""
    pairs = zip(map(arb, x.tolist()), solution, strict=True)
    return max(_ratio((value - exact).abs_lower(), abs(value)) for value, exact in pairs)


def representable(solution: list[arb]) -> bool:
    """Whether the norm of the solution is within the normal numbers of FP64, or zero."""
    largest = norm(solution)
    return bool(largest == 0 or arb((1, -1022)) <= largest < arb((1, 1024)))
