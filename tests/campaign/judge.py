# SPDX-License-Identifier: BSD-3-Clause
"""What is a failure, and what is not."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from . import exact
from .system import Indices, Matrix, System, shifted

NO_DIGIT = 0.5  # relative error from which on x has no correct digit
SOLVED = 1e-6  # relative error with which LAPACK solves a system
RIGHT = 1e-8  # relative error of LAPACK's x up to which an alarm may be false
_EPS = 2.0**-53
_FAR = 1e12  # condition numbers up to here are far from 1 / eps
_CLEAR = 1e-2  # a bound of the error that leaves digits, by whatever estimate of it
_RANGE = 500  # powers of two between rows, or columns, beside which nothing that underflows counts

# Outcomes that are none of Speedwell's faults.
FINE = ("solved", "warned", "refused", "undecided")


@dataclass(frozen=True)
class Outcome:
    """What a door said of a system."""

    status: str  #: "solved", "refused", "crashed" or "hung"
    x: Matrix | None = None
    bounds: list[float] = field(default_factory=list)  #: printed ones, NaN where there is none
    doubt: str | None = None  #: a warning
    words: str = ""  #: of a refusal or a crash
    kind: str = ""  #: the exception, or the value of info
    #: whether the bounds of each column are proven, and that of its entries; empty: not told
    proofs: list[tuple[bool, float]] = field(default_factory=list)
    #: sign and logarithm of each determinant that was asked for
    determinants: list[tuple[complex, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Rules:
    """What a door may do."""

    may_refuse: bool = False  #: the options forbid the step that would solve
    as_numpy: bool = False  #: it raises LinAlgError only where numpy.linalg.solve does
    transposed: bool = False  #: A^T is given and factored
    certified: bool = False  #: bounds are to be proven: without a doubt, all are


@dataclass(frozen=True)
class Verdict:
    """`what` is one of FINE, or a failure."""

    what: str
    words: str = ""
    column: int = 0
    ratio: float = 0.0  #: largest ratio of true error and printed bound, where nothing was doubted

    @property
    def failed(self) -> bool:
        return self.what not in FINE


def judge(
    system: System, reference: exact.Reference, outcome: Outcome, rules: Rules | None = None
) -> Verdict:
    """The verdict on what a door said."""
    if outcome.status in ("crashed", "hung"):
        return Verdict(outcome.status, outcome.words)
    if not reference.decided:
        return Verdict("undecided")
    if outcome.status == "refused":
        return _of_refusal(system, reference, outcome, rules or Rules())
    rules = rules or Rules()
    if rules.certified:
        proven = _of_proofs(reference, outcome)
        if proven.failed:
            return proven
    if outcome.doubt is not None:
        if _is_false_alarm(system, reference, rules):
            return Verdict("false alarm", outcome.doubt)
        return Verdict("warned", outcome.doubt)
    if reference.singular:
        return Verdict("singular, not said", "solved without a warning, and A is exactly singular")
    return _of_solution(reference, outcome)


def _of_proofs(reference: exact.Reference, outcome: Outcome) -> Verdict:
    """What is proven holds, whatever the system: nothing excuses it."""
    assert outcome.x is not None
    unsaid = (outcome.doubt is None, float("nan"))
    for k in range(outcome.x.shape[1]):
        certified, of_entries = outcome.proofs[k] if outcome.proofs else unsaid
        if certified and reference.singular:
            return Verdict("proof of a singular A", "a bound is proven, and A is singular", k)
        if outcome.proofs and outcome.doubt is None and not certified:
            return Verdict("no proof, not said", "neither a proof nor a warning", k)
        if not certified or k >= len(outcome.bounds):
            continue
        if not outcome.bounds[k] < float("inf"):
            return Verdict("proof", f"a proof of the bound {outcome.bounds[k]}", k)
        x = outcome.x[:, k]
        error = exact.errors(x, reference.columns[k]).of_x
        entry = exact.error_of_entries(x, reference.columns[k])
        if error > outcome.bounds[k] or entry > of_entries:
            words = (
                f"||x - x*|| / ||x|| = {error:.17g}, proven {outcome.bounds[k]:.17g}; of entries "
                f"{entry:.17g}, proven {of_entries:.17g}"
            )
            return Verdict("proof", words, k, _over(error, outcome.bounds[k]))
    return Verdict("solved")


def _of_solution(reference: exact.Reference, outcome: Outcome) -> Verdict:
    assert outcome.x is not None
    if outcome.x.shape != (len(reference.columns[0]), len(reference.columns)):
        return Verdict("shape", f"x has the shape {outcome.x.shape}")
    worst = Verdict("solved")
    for k, solution in enumerate(reference.columns):
        x = outcome.x[:, k]
        if not np.isfinite(x).all():
            return Verdict("not finite", "x has an Inf or NaN, without a warning", k)
        errors = exact.errors(x, solution)
        bound = outcome.bounds[k] if k < len(outcome.bounds) else float("nan")
        ratio = _over(errors.of_x, bound)
        if errors.of_solution > NO_DIGIT and not errors.rounded:
            words = f"||x - x*|| / ||x*|| = {errors.of_solution:.3g}, forward bound {bound:.3g}"
            return Verdict("no digit", words, k, ratio)
        if ratio > max(1.0, worst.ratio):
            words = f"||x - x*|| / ||x|| = {errors.of_x:.3g}, forward bound {bound:.3g}"
            # What rounding to subnormal numbers costs is a defect of its own.
            worst = Verdict(
                "bound" if errors.representable else "bound, x is subnormal", words, k, ratio
            )
        elif ratio > worst.ratio:
            worst = Verdict("solved", "", k, ratio)
    return worst


def _over(error: float, bound: float) -> float:
    """Error over bound; 0 without a bound, or with one that says nothing."""
    if np.isnan(bound) or np.isinf(bound) or error == 0:
        return 0.0
    return error / bound if bound > 0 else float("inf")


def _by_lu(system: System, transposed: bool) -> Matrix:
    """x of numpy.linalg.solve, or by the LU of A^T."""
    a, b = system.given()
    if not transposed:
        return system.taken(np.linalg.solve(a, b))
    getrf, getrs = scipy.linalg.get_lapack_funcs(("getrf", "getrs"), (a, b))
    lu, pivots, info = getrf(a.T)
    if info > 0:
        raise np.linalg.LinAlgError(f"pivot {info} is zero")
    return system.taken(getrs(lu, pivots, b, trans=1)[0])


def _lapack(system: System, transposed: bool) -> tuple[Matrix | None, list[Matrix]]:
    """x by LAPACK's LU, None where a pivot is zero; and those of LAPACK's other ways."""
    first: Matrix | None = None
    others: list[Matrix] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            first = _by_lu(system, transposed)
        except np.linalg.LinAlgError:
            pass
        # QR needs no luck with the growth of pivots.
        try:
            q, r = scipy.linalg.qr(system.a)
            others.append(scipy.linalg.solve_triangular(r, q.T @ system.b))
        except (np.linalg.LinAlgError, ValueError):
            pass
        # It scales rows and columns, and refines x.
        *_, x, _, _, _, info = scipy.linalg.lapack.dgesvx(system.a, system.b, fact="E")
        if info in (0, system.n + 1):
            others.append(x)
    return first, others


def _solves(x: Matrix, reference: exact.Reference, limit: float = SOLVED) -> bool:
    return all(
        bool(np.isfinite(x[:, k]).all()) and exact.errors(x[:, k], solution).of_solution <= limit
        for k, solution in enumerate(reference.columns)
    )


def _is_false_alarm(system: System, reference: exact.Reference, rules: Rules) -> bool:
    """Whether a doubt about x has no reason: LAPACK's x is right, and not by luck."""
    # With weak factors alone, or without a proof, a doubt says what was asked for.
    if reference.singular or rules.may_refuse or rules.certified or not _is_easy(system, reference):
        return False
    first, _ = _lapack(system, rules.transposed)
    return first is not None and _solves(first, reference, RIGHT)


def _scales(a: Matrix) -> tuple[Indices, Indices]:
    """The exponents of the rows of A, and of its columns after these are divided out."""

    def largest(values: Matrix, axis: int) -> Indices:
        return np.asarray(np.frexp(np.abs(values).max(axis=axis))[1], dtype=np.int64)

    rows = largest(a, 1)
    return rows, largest(shifted(a, -rows, np.zeros_like(rows)), 0)


def _is_easy(system: System, reference: exact.Reference) -> bool:
    """Whether A is far from singular, and x from uncertain, whichever of rows and columns is scaled
    first, as Speedwell does by the order of A in memory."""
    rows_first = _scales(system.a)
    columns, rows = _scales(system.a.T)
    return all(_is_easy_scaled(system, reference, *s) for s in (rows_first, (rows, columns)))


def _is_easy_scaled(
    system: System, reference: exact.Reference, rows: Indices, columns: Indices
) -> bool:
    """Whether the condition number of the scaled A is far from 1 / eps, and the roundings of A and
    b alone leave digits of x: dgerfs's bound, by the inverse itself. Not so where numbers may
    underflow beside others."""
    if max(np.ptp(rows), np.ptp(columns)) > _RANGE:
        return False
    a = shifted(system.a, -rows, -columns)
    u, s, v = np.linalg.svd(a)  # whose errors do not depend on the growth of pivots
    if not s[0] < _FAR * s[-1]:
        return False
    inverse = np.abs((v.T / s) @ u.T)
    for k, solution in enumerate(reference.columns):
        if not exact.representable(solution):
            return False
        x = np.array([float(value.mid()) for value in solution])
        if not x.any():
            continue
        # y = C^-1 x and R b, divided by 2^top: neither overflows.
        top = int((np.frexp(x)[1] + columns)[x != 0].max())
        y = np.ldexp(x, columns - top)
        with np.errstate(all="ignore"):
            f = np.abs(a) @ np.abs(y) + np.abs(np.ldexp(system.b[:, k], -rows - top))
            largest = np.ldexp(inverse @ f, top - columns).max()
            bound = (system.n + 1) * _EPS * largest / np.abs(x).max()
        if not bound < _CLEAR:
            return False
    return True


def _lapack_solves(system: System, reference: exact.Reference, transposed: bool) -> bool:
    if not system.b.any():
        return False  # any factors solve it
    first, others = _lapack(system, transposed)
    return any(x is not None and _solves(x, reference) for x in [first, *others])


def _of_refusal(
    system: System, reference: exact.Reference, outcome: Outcome, rules: Rules
) -> Verdict:
    if rules.may_refuse:
        return Verdict("refused", outcome.words)
    if not reference.singular and _lapack_solves(system, reference, rules.transposed):
        return Verdict("refused, LAPACK solves", f"{outcome.kind}: {outcome.words}")
    first, _ = _lapack(system, rules.transposed)
    if not rules.as_numpy or first is None:
        return Verdict("refused", outcome.words)
    if not np.isfinite(first).all():  # as good as a refusal
        return Verdict("refused", outcome.words)
    # True, whichever roundings have spared NumPy a zero pivot.
    if reference.singular and outcome.kind == "SingularMatrixError":
        return Verdict("refused", outcome.words)
    if not reference.singular and not all(map(exact.representable, reference.columns)):
        return Verdict("refused", outcome.words)
    which = "exactly singular" if reference.singular else "not exactly singular"
    return Verdict("raised, NumPy does not", f"{outcome.kind}, A is {which}: {outcome.words}")
