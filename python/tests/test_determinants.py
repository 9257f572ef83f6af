# SPDX-License-Identifier: BSD-3-Clause
"""Determinants beside exact ones: their digits, their signs, and what is said where none is
certain."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import speedwell

EPS = 2.0**-53


def exact(a):
    """The determinant as a fraction, by Bareiss's elimination of whole numbers."""
    rows = [[Fraction(v) for v in row] for row in np.asarray(a).tolist()]
    scale = math.lcm(*(v.denominator for row in rows for v in row))
    m = [[int(v * scale) for v in row] for row in rows]
    n, sign, before = len(m), 1, 1
    for k in range(n - 1):
        pivot = next((i for i in range(k, n) if m[i][k]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            m[k], m[pivot], sign = m[pivot], m[k], -sign
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                m[i][j] = (m[i][j] * m[k][k] - m[i][k] * m[k][j]) // before
        before = m[k][k]
    return Fraction(sign * m[-1][-1], scale**n)


def log_of(value):
    """ln |value| of a fraction, in FP64."""
    value = abs(value)
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    return math.log(value / Fraction(2) ** shift) + shift * math.log(2)


def in_both_orders(a):
    return [np.ascontiguousarray(a), np.asfortranarray(a)]


def in_every_door(a):
    """slogdet and det of each way to ask for them, in both orders of memory."""
    for form in in_both_orders(a):
        yield speedwell.slogdet(form), speedwell.det(form)
        yield speedwell.slogdet(form, precision="fp64"), speedwell.det(form, precision="fp64")
        with speedwell.factor(form) as factors:
            yield factors.slogdet(), factors.det()
            factors.solve(np.ones(len(form)))
            yield factors.slogdet(), factors.det()
        both = np.stack([form, form.T])
        found, product = speedwell.slogdet(both), speedwell.det(both)
        for k in range(2):
            yield (found.sign[k], found.logabsdet[k]), product[k]
        with speedwell.factor(both) as factors:
            found, product = factors.slogdet(), factors.det()
            yield (found.sign[1], found.logabsdet[1]), product[1]


def fast_growing(seed=686):
    """Of condition number 100, whose entries grow by 2^60 to 2^80 in an LU with partial pivoting,
    and leave nothing of the last pivot."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([50, 64, 80]))
    m = n - 1
    c = rng.uniform(0.5, 1)
    w = np.eye(m) - c * np.tril(np.ones((m, m)), -1)
    w[:, -1] = 1
    d = rng.standard_normal(m)
    b = rng.uniform(-c, c, m) * 0.9
    a = np.zeros((n, n))
    a[:m, :m], a[:m, -1], a[-1, :m] = w, d, b
    a[-1, -1] = b @ np.linalg.solve(w, d) + rng.choice([1e-2, 1])
    return a


def wright(n, h=0.3):
    """Of multiple shooting (S. J. Wright, SIAM J. Sci. Comput. 14, 1993): its condition number is
    8, and its entries grow exponentially. Its determinant is det(1 + E^(n/2 - 1))."""
    values, vectors = np.linalg.eig(np.array([[-1 / 6, 1], [1, -1 / 6]]) * h)
    e = (vectors * np.exp(values)) @ np.linalg.inv(vectors)
    a = np.eye(n)
    for i in range(1, n // 2):
        a[2 * i : 2 * i + 2, 2 * i - 2 : 2 * i] = -e
    a[:2, -2:] = np.eye(2)
    power = [[Fraction(i == j) for j in range(2)] for i in range(2)]
    e = [[Fraction(v) for v in row] for row in e.tolist()]
    for _ in range(n // 2 - 1):
        power = [[sum(power[i][k] * e[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
    (p, q), (r, s) = power
    return a, (1 + p) * (1 + s) - q * r


@pytest.mark.parametrize("n", [1, 2, 10, 101, 301, 550])
@pytest.mark.parametrize("complex_", [False, True])
def test_permutations_and_powers_of_two_are_exact(n, complex_):
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    sign = round(np.linalg.det(np.eye(n)[order]))
    exponents = rng.integers(-500, 501, n)
    exponents[-1] -= exponents.sum()
    exponents = np.clip(exponents, -900, 900)
    for p, e in ((np.eye(n)[order], 0), (np.diag(2.0**exponents)[order], int(exponents.sum()))):
        a = p.astype(complex) * 1j if complex_ else p
        unit = ((1, 1j, -1, -1j)[n % 4] if complex_ else 1) * sign
        for form in in_both_orders(a):
            for (found, logarithm), product in (
                (speedwell.slogdet(form), speedwell.det(form)),
                (speedwell.slogdet(form, precision="fp64"), speedwell.det(form, precision="fp64")),
            ):
                assert found == unit
                assert logarithm == (0 if e == 0 else pytest.approx(e * math.log(2), rel=2 * EPS))
                if abs(e) < 1000:
                    assert product == unit * 2.0**e


@pytest.mark.parametrize("n", [1, 2, 3, 10, 33])
@pytest.mark.parametrize("scale", [2.0**-700, 1.0, 1e150, 1e-40])
def test_random_ones_have_the_error_of_the_factors_alone(n, scale):
    a = scale * np.random.default_rng(n).standard_normal((n, n))
    truth = exact(a)
    bound = 20 * n * np.linalg.cond(a, np.inf) * EPS
    for (sign, logarithm), product in in_every_door(a):
        assert sign == (1 if truth > 0 else -1)
        assert abs(logarithm - log_of(truth)) <= bound + 2 * EPS * abs(logarithm)
        if 1e-300 < abs(truth) < 1e300:
            assert abs(Fraction(float(product)) / truth - 1) <= bound
        elif abs(truth) > 1e309:
            assert product == sign * math.inf


@pytest.mark.parametrize("transposed", [False, True])
def test_growing_entries_are_seen(transposed):
    for seed in (686, 12):
        a = fast_growing(seed)
        a = a.T if transposed else a
        truth = exact(a)
        for (sign, logarithm), product in in_every_door(a):
            assert sign == (1 if truth > 0 else -1)
            assert abs(logarithm - log_of(truth)) < 1e-10
            assert abs(Fraction(float(product)) / truth - 1) < 1e-10


@pytest.mark.parametrize("n", [160, 200, 300])
def test_growing_entries_of_multiple_shooting(n):
    a, truth = wright(n)
    for unit in (1, 1j):
        for form in (a, a.T):
            for given in in_both_orders(unit * form):
                sign, logarithm = speedwell.slogdet(given)
                assert abs(sign - unit**n) < 1e-13 * n
                assert abs(logarithm - log_of(truth)) < 1e-10


def test_fp32_is_rounded_once():
    a = np.array([[-6, -9, 7], [-6, 4, 4], [6, 3, 0]], dtype=np.float32)
    for (sign, logarithm), product in in_every_door(a):
        assert sign.dtype == logarithm.dtype == product.dtype == np.float32
        assert product == -438 and sign == -1 and logarithm == np.float32(math.log(438))
    large = np.float32(1e3) * np.eye(12, dtype=np.float32)
    assert speedwell.det(large) == np.float32(1e36)
    assert speedwell.det(np.stack([large, 1e4 * large]))[1] == np.inf
    for n in (4, 40, 200):
        a = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
        expected = np.linalg.slogdet(a.astype(float))
        found = speedwell.slogdet(a)
        assert found.sign == expected.sign
        assert found.logabsdet == np.float32(expected.logabsdet)
        assert speedwell.slogdet(a.astype(np.complex64)).logabsdet == found.logabsdet


def test_exact_zeros_are_zero_without_a_word():
    rng = np.random.default_rng(1)
    whole = rng.integers(-9, 10, (40, 40)).astype(float)
    whole[-1] = whole[0] - 2 * whole[1]
    product = rng.integers(-3, 4, (9, 4)) @ rng.integers(-3, 4, (4, 9))
    repeated = rng.standard_normal((50, 50))
    repeated[:, 7] = repeated[:, 31]
    for a in (
        np.ones((2, 2)),
        np.arange(1.0, 10).reshape(3, 3),
        whole,
        product,
        repeated,
        repeated * (1 + 2j),
        1e-300 * repeated,
        np.array([[1, 1j], [1j, -1]]),
        np.zeros((3, 3)),
        np.zeros((1, 1)),
        np.full((3, 3), 5e-324),
        np.diag([1.0, 0, 2.0**1000]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for form in in_both_orders(a):
                assert speedwell.det(form) == 0 and speedwell.slogdet(form) == (0, -np.inf)
                assert speedwell.det(form, precision="fp64") == 0
            assert speedwell.det(np.stack([a, a])).tolist() == [0, 0]


def test_doubts_are_warnings():
    third = np.array([[3, 1], [1, 1 / 3]])  # its determinant is -2^-54
    near = np.arange(1.0, 10).reshape(3, 3)
    near[2, 2] += 2.0**-49
    hilbert = 1 / (1.0 + np.arange(20)[:, None] + np.arange(20))
    for a in (third, near, hilbert, hilbert * (2 + 1j)):
        for form in in_both_orders(a):
            for ask in (speedwell.det, speedwell.slogdet):
                with pytest.warns(speedwell.AccuracyWarning, match="no digit|no bound"):
                    ask(form)
                with pytest.raises(speedwell.AccuracyError, match="no digit|no bound"):
                    ask(form, strict=True)
                with pytest.raises(speedwell.AccuracyError, match=r"at \(1,\) of the stack"):
                    ask(np.stack([np.eye(len(form)), form]), strict=True)
        with pytest.warns(
            speedwell.AccuracyWarning, match=r"\(at \(1,\) of the stack\); and 1 more"
        ) as told:
            speedwell.det(np.stack([np.eye(len(a)), a, a]))
        assert len(told) == 1
    with (
        speedwell.factor(hilbert) as factors,
        pytest.warns(speedwell.AccuracyWarning, match="no digit|no bound"),
    ):
        factors.det()
    with speedwell.factor(hilbert, strict=True) as factors, pytest.raises(speedwell.AccuracyError):
        factors.slogdet()


def test_what_is_certain_gets_no_word():
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (1, 2, 3, 20, 100, 300):
            speedwell.det(rng.standard_normal((n, n)))
            q, _ = np.linalg.qr(rng.standard_normal((n, n)))
            a = (q * np.geomspace(1, 1e-10, n)) @ q.T
            assert abs(speedwell.slogdet(a)[1] - np.linalg.slogdet(a)[1]) < 1e-4
            even = rng.standard_normal((n, n))
            expected = np.linalg.slogdet(even)
            exponents = rng.integers(-900, 901, n)
            for graded in (even * 2.0 ** exponents[:, None], even * 2.0**exponents):
                sign, logarithm = speedwell.slogdet(graded)
                of_scales = float(exponents.sum()) * math.log(2)
                assert sign == expected[0]
                assert logarithm - of_scales == pytest.approx(expected[1], abs=1e-9)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("n", [1, 3, 8, 40])
def test_stacks_of_every_kind(n, complex_):
    rng = np.random.default_rng(n)
    a = rng.standard_normal((4, 5, n, n)) + (1j * rng.standard_normal((4, 5, n, n)) * complex_)
    a[0, 1] = 0
    a[1, 2] *= 2.0**-500
    a[2, 3] = np.eye(n) * 3
    with np.errstate(all="ignore"):
        expected, product = np.linalg.slogdet(a), np.linalg.det(a)
    for form in (a, np.asfortranarray(a), a[:, ::-1][:, ::-1], np.swapaxes(a, 0, 1)):
        swapped = form.shape[0] == 5
        found = speedwell.slogdet(form)
        for mine, theirs in zip((*found, speedwell.det(form)), (*expected, product)):
            assert mine.shape == form.shape[:2] and mine.dtype == theirs.dtype
            theirs = theirs.T if swapped else theirs
            assert np.allclose(mine, theirs, rtol=1e-9, atol=0)
    b = a[1:, 3:]
    with speedwell.factor(b) as factors:
        assert np.allclose(factors.slogdet().logabsdet, expected.logabsdet[1:, 3:])
        assert np.allclose(factors.det(), product[1:, 3:], rtol=1e-9)
        b[...] = 0  # the factors are those of a as it was, or they say so
        if n <= 8:
            assert np.allclose(factors.det(), product[1:, 3:], rtol=1e-9)
            assert np.isfinite(factors.solve(np.ones(n))).all()
    for ask in (factors.det, lambda: factors.solve(np.ones(n))):
        with pytest.raises(ValueError, match="closed"):
            ask()


def test_what_is_no_matrix_of_numbers():
    for n in (2, 3, 40):
        bad = np.eye(n)
        bad[1, 0] = np.nan
        for a in (bad, np.stack([np.eye(n), bad]), np.where(np.isnan(bad), np.inf, bad)):
            with pytest.raises(ValueError, match="nan|inf"):
                speedwell.det(a)
    assert speedwell.det(np.empty((0, 0))) == 1 and speedwell.slogdet(np.empty((0, 0))) == (1, 0)
    assert speedwell.det(np.empty((0, 3, 3))).shape == (0,)
    assert speedwell.det(np.empty((2, 0, 0), dtype=np.complex64)).dtype == np.complex64
    with pytest.raises(ValueError, match="threads"):
        speedwell.det(np.eye(2), threads=-1)
    with pytest.raises(ValueError, match="strict"):
        speedwell.det(np.eye(2), strict=3)


def test_small_ones_of_a_stack_take_little_time():
    import time

    a = np.random.default_rng(0).standard_normal((5000, 3, 3))

    def seconds(f):
        best = math.inf
        for _ in range(9):
            begin = time.process_time()
            f(a)
            best = min(best, time.process_time() - begin)
        return best

    numpys = seconds(np.linalg.inv) + seconds(np.linalg.det)
    assert seconds(speedwell.det) < 20 * numpys  # it had been 100; other programs run here, too
    assert seconds(lambda a: speedwell.factor(a).close()) < 20 * numpys
