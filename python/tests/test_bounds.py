# SPDX-License-Identifier: BSD-3-Clause
"""No bound and no error that is reported may be less than the true one, by exact solutions."""

import ctypes
import itertools
import platform
import warnings
from fractions import Fraction

import numpy as np
import pytest

import speedwell

EPS = 2.0**-53


def real_system(a, b):
    """That of the real and imaginary parts, which follow each other."""
    if not np.iscomplexobj(a):
        return a, b
    n = len(a)
    real = np.empty((2 * n, 2 * n))
    real[::2, ::2] = real[1::2, 1::2] = a.real
    real[::2, 1::2], real[1::2, ::2] = -a.imag, a.imag
    return real, parts(b)


def parts(v):
    return np.ascontiguousarray(v).view(np.float64) if np.iscomplexobj(v) else v


def solved(a, b):
    """The exact solution of a real system."""
    n = len(a)
    rows = [[Fraction(float(v)) for v in a[i]] + [Fraction(float(b[i]))] for i in range(n)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [u - factor * v for u, v in zip(rows[i], rows[k], strict=True)]
    x = [Fraction(0)] * n
    for k in reversed(range(n)):
        known = sum(rows[k][j] * x[j] for j in range(k + 1, n))
        x[k] = (rows[k][n] - known) / rows[k][k]
    return x


def ratio(numerator, denominator):
    return float("inf") if numerator > 0 == denominator else float(numerator / (denominator or 1))


def true_errors(a, b, x):
    """Of x as it was returned: in norm and of its entries; backward in norm and of entries."""
    a, b = real_system(a, b)
    x = [Fraction(float(v)) for v in parts(x)]
    off = [abs(u - v) for u, v in zip(x, solved(a, b), strict=True)]
    norm = ratio(max(off), max(map(abs, x)))
    entries = max(ratio(e, abs(v)) for e, v in zip(off, x, strict=True))
    rows = [[Fraction(float(v)) for v in row] for row in a]
    sides = [Fraction(float(v)) for v in b]
    r = [
        abs(s - sum(u * v for u, v in zip(row, x, strict=True)))
        for s, row in zip(sides, rows, strict=True)
    ]
    sums = [
        abs(s) + sum(abs(u * v) for u, v in zip(row, x, strict=True))
        for s, row in zip(sides, rows, strict=True)
    ]
    size = max(sum(map(abs, row)) for row in rows) * max(map(abs, x)) + max(map(abs, sides))
    backward = max(ratio(u, v) for u, v in zip(r, sums, strict=True))
    return norm, entries, ratio(max(r), size), backward


def quietly(*args, **kwargs):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x, info = speedwell.solve(*args, return_info=True, **kwargs)
    return x, info, [str(warning.message) for warning in seen]


@pytest.mark.parametrize("accuracy", ["backward", "forward", "certified"])
@pytest.mark.parametrize("size", [1e-30, 1e-21, 1e-18, 1e-12, 1e-9, 1.0])
@pytest.mark.parametrize("count", [1, 12])
def test_errors_are_those_of_an_x_that_underflows(accuracy, size, count):
    a = np.array([[2.0, 1], [1, 3]]) * 1e300
    b = np.outer([1.0, 3.3], 1 + np.arange(count) / 16) * size
    x, info, seen = quietly(a, b[:, 0] if count == 1 else b, accuracy=accuracy)
    x = x.reshape(2, count)
    for k, column in enumerate(info.columns):
        norm, entries, normwise, backward = true_errors(a, b[:, k], x[:, k])
        lost = np.abs(x[:, k]).min() < 2.0**-1022
        assert not (lost and column.accurate)
        if not np.isnan(column.componentwise_error):
            assert column.componentwise_error == pytest.approx(backward, rel=0.01, abs=4 * EPS)
            assert column.backward_error == pytest.approx(normwise, rel=0.01, abs=4 * EPS)
        if not np.isnan(column.forward_bound):
            assert norm <= column.forward_bound
            assert norm > 0.5 or column.forward_bound < 3 * norm + 1e-14
        if not np.isnan(column.componentwise_bound):
            assert entries <= column.componentwise_bound
        if norm > 0.5:
            assert seen


def test_proofs_of_entries_that_underflow():
    """An x_i that is subnormal may be smaller than the one that was proven."""
    proven = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        a = rng.integers(-9, 10, (n, n)) + 12 * np.eye(n)
        x = rng.integers(1, 4, n) * 2.0**-1074 * 2.0 ** rng.integers(0, 60, n)
        b = a @ x + rng.integers(0, 3, n) * 2.0**-1074
        x, info, _ = quietly(a * 2.0**40, b, accuracy="certified")
        norm, entries, _, _ = true_errors(a * 2.0**40, b, x)
        column = info.columns[0]
        if column.certified:
            proven += 1
            assert norm <= column.forward_bound
            assert entries <= column.componentwise_bound
    assert proven > 20


def coupled(seed, n, coupling):
    """Two systems that hardly know each other, as one."""
    rng = np.random.default_rng(seed)
    p, q = rng.standard_normal((2, n, n))
    return p, q * coupling, p @ np.ones(n), q @ np.ones(n) * coupling


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16", "fp16x3", "fp64"])
@pytest.mark.parametrize("coupling", [1e-55, 1e-30, 1e-14, 1e-8])
@pytest.mark.parametrize("field", ["real", "complex"])
def test_bounds_count_what_factors_cannot_hold(precision, coupling, field):
    for seed in range(3):
        p, q, left, right = coupled(seed, 5, coupling)
        if field == "complex":
            a, b = p + 1j * q, left + 1j * right
        else:
            a, b = np.block([[p, -q], [q, p]]), np.r_[left, right]
        for accuracy in ("forward", "certified"):
            options = {"precision": precision} if accuracy == "forward" else {}
            x, info, _ = quietly(a, b, accuracy=accuracy, nb=2, **options)
            norm, entries, _, _ = true_errors(a, b, x)
            column = info.columns[0]
            if not np.isnan(column.forward_bound):
                assert norm <= column.forward_bound
                assert entries <= column.componentwise_bound


def test_a_chain_of_entries_within_range_whose_products_are_not():
    """No entry of A is below FP32's range, but y_3 is what a product of two of them gives."""
    a = np.eye(3)
    a[1, 0] = a[2, 1] = 1e-30
    b = np.array([1.0, 0, 0])
    x, info, _ = quietly(a, b, accuracy="forward", precision="fp32")
    assert true_errors(a, b, x)[1] <= info.columns[0].componentwise_bound
    assert x[2] == pytest.approx(1e-60)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp16x3", "fp32"])
def test_bounds_count_the_error_of_factors_where_a_tolerance_is_given(precision):
    bounded = 0
    # Of 263, the estimated norm is 8 % too small.
    for seed in (*range(60), 263):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        a = rng.standard_normal((n, n)) + 2 * np.eye(n)
        b = rng.standard_normal((n, 1))[:, 0]
        for options in (
            {"tolerance": 1e-4},
            {"tolerance": 1e-2},
            {"tolerance": 1e-6, "max_iterations": 1},
        ):
            try:
                x, info, _ = quietly(a, b, precision=precision, nb=1, **options)
            except speedwell.AccuracyError:
                continue
            bounded += 1
            assert true_errors(a, b, x)[0] <= info.columns[0].forward_bound
    assert bounded > 60


@pytest.mark.parametrize("first", ["fp16", "fp32"])
def test_a_step_that_shows_no_digit_is_not_the_last(first):
    """With scales so far apart, the bound of the first step's factors says nothing of x."""
    a = np.array([[0.0, 0, -1], [1, 0, 0], [0, -1, -4e78]])
    x, info, warned = quietly(a, np.array([0.0, -1, 0]), first=first)
    assert np.array_equal(x, [-1, 0, 0]) and not warned
    assert [step.precision for step in info.steps] == [first, "fp64"]


@pytest.mark.parametrize("n", [3, 4, 6, 10])
@pytest.mark.parametrize("accuracy", ["forward", "certified"])
def test_an_accurate_x_is_rounded_once(n, accuracy):
    """Where its entries cancel too: x is the last unit vector."""
    nodes = np.exp(2j * np.pi * np.arange(n) / n * (1 + 1e-9))
    x, info, _ = quietly(np.vander(nodes), np.ones(n), accuracy=accuracy)
    assert info.columns[0].accurate
    off = parts(x - np.eye(n)[-1])
    assert np.abs(off).max() <= EPS


ROUNDINGS = {"x86_64": (0x400, 0x800, 0xC00), "aarch64": (0x400000, 0x800000, 0xC00000)}


@pytest.mark.parametrize("accuracy", ["auto", "backward", "forward", "certified"])
@pytest.mark.parametrize("n", [5, 300])
def test_a_call_rounds_to_nearest_whatever_its_caller_does(accuracy, n):
    libm = ctypes.CDLL("libm.so.6")
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    gram = a @ a.T
    forms = [
        lambda: speedwell.solve(a, b, accuracy=accuracy),
        lambda: speedwell.solve(a.astype(complex), b),
        lambda: speedwell.factor(a).solve(b),
        lambda: speedwell.solve(gram, b, assume_a="pos"),
        lambda: speedwell.solve(np.array([a[:2, :2]] * 3), b[:2, np.newaxis])[0],
    ]
    expected = [form() for form in forms]
    for mode, (form, known) in itertools.product(
        ROUNDINGS[platform.machine()], zip(forms, expected, strict=True)
    ):
        libm.fesetround(mode)
        try:
            x = form()
            kept = libm.fegetround()
        finally:
            libm.fesetround(0)
        assert kept == mode
        assert np.array_equal(x, known)
