# SPDX-License-Identifier: BSD-3-Clause
"""Determinants beside exact ones, enclosed by balls."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import acb, acb_mat, arb, ctx
from numpy.typing import NDArray

from . import exact
from .judge import NO_DIGIT, Outcome, Verdict
from .system import System

METHOD = "determinant"  #: of the Python door
_CERTAIN = 1e-8  # an error of LAPACK's below which a warning is a false alarm
_ILL = 1e12  # a condition number with which no LU promises many digits
_TIGHT = 80  # bits
_LARGEST_PRECISION = 8192
_LARGEST_ORDER = 120


def _exact(a: NDArray[Any]) -> acb | None:
    """The determinant in a tight ball; None where none was found."""
    before, precision = ctx.prec, 256
    try:
        while precision <= _LARGEST_PRECISION:
            ctx.prec = precision
            found = acb_mat([[acb(z.real, z.imag) for z in row] for row in a.tolist()]).det()
            if found.rel_accuracy_bits() >= _TIGHT:
                return found
            precision *= 2
        return None
    finally:
        ctx.prec = before


def _error(found: tuple[complex, float], truth: acb) -> float:
    """|d / det - 1| of d = sign exp(logarithm), which FP64 may not hold. The logarithm is rounded,
    to its last digits."""
    sign, logarithm = found
    if not np.isfinite(logarithm):
        return 1.0
    before, ctx.prec = ctx.prec, exact.BITS
    try:
        quotient = acb(sign.real, sign.imag) * arb(logarithm).exp() / truth
        error = float(abs(quotient - 1).upper())
    finally:
        ctx.prec = before
    return max(error - 2.0**-52 * abs(logarithm), 0.0)


def _condition(a: NDArray[Any]) -> float:
    """With rows and then columns scaled."""
    with np.errstate(all="ignore"):
        for axis in (1, 0):
            exponents = np.frexp(abs(a).max(axis=axis, keepdims=True))[1]
            a = np.ldexp(1.0, -(exponents // 2)) * a * np.ldexp(1.0, exponents // 2 - exponents)
        return float(np.linalg.cond(a)) if np.isfinite(a).all() else float("inf")


def judge(system: System, outcome: Outcome) -> Verdict:
    """Whether the determinants of all ways that the door tried are right, or in doubt."""
    if outcome.status != "solved":
        return Verdict(outcome.status, outcome.words)
    a, _ = system.given()
    if len(a) > _LARGEST_ORDER:
        return Verdict("undecided")
    singular = exact.singular(system.a)
    truth = None if singular else _exact(a)
    if truth is None and not singular:
        return Verdict("undecided")
    for found in outcome.determinants:
        wrong = found[0] != 0 if truth is None else _error(found, truth) > NO_DIGIT
        if wrong and outcome.doubt is None:
            return Verdict("determinant", f"{found}, exactly {truth or 0}")
    if outcome.doubt is None:
        return Verdict("solved")
    with np.errstate(all="ignore"):
        lapack = np.linalg.slogdet(a)
    certain = truth is not None and _error((complex(lapack[0]), float(lapack[1])), truth) < _CERTAIN
    # An LU with hardly any roundings may be right where the condition number says nothing.
    if certain and _condition(a) < _ILL:
        return Verdict("false alarm", outcome.doubt)
    return Verdict("warned", outcome.doubt)
