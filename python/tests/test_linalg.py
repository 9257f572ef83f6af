# SPDX-License-Identifier: BSD-3-Clause
"""Inverses, determinants, and the factors of stacks."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.linalg.tests import test_linalg

import speedwell


def random(shape, complex_, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return a + 1j * rng.standard_normal(shape) if complex_ else a


def exact_determinant(rows):
    """By elimination over the rational complex numbers, as pairs of fractions."""

    def times(p, q):
        return (p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0])

    def over(p, q):
        size = q[0] ** 2 + q[1] ** 2
        return times(p, (q[0] / size, -q[1] / size))

    a = [[(Fraction(complex(v).real), Fraction(complex(v).imag)) for v in row] for row in rows]
    result = (Fraction(1), Fraction(0))
    for k in range(len(a)):
        pivot = next((i for i in range(k, len(a)) if a[i][k] != (0, 0)), None)
        if pivot is None:
            return 0j
        if pivot != k:
            a[k], a[pivot] = a[pivot], a[k]
            result = (-result[0], -result[1])
        result = times(result, a[k][k])
        for i in range(k + 1, len(a)):
            factor = over(a[i][k], a[k][k])
            for j in range(k, len(a)):
                p = times(factor, a[k][j])
                a[i][j] = (a[i][j][0] - p[0], a[i][j][1] - p[1])
    return complex(float(result[0]), float(result[1]))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_determinants_are_exact_ones(n, complex_):
    a = np.round(8 * random((n, n), complex_)) / 4
    expected = exact_determinant(a.tolist())
    for form in (a, np.asfortranarray(a)):
        with speedwell.factor(form) as factors:
            sign, logarithm = factors.slogdet()
            assert abs(factors.det() - expected) <= 1e-12 * abs(expected)
        assert speedwell.det(form) == pytest.approx(expected, rel=1e-12)
        assert abs(sign) == pytest.approx(1) and logarithm == pytest.approx(np.log(abs(expected)))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("n", [700, 641])
def test_determinants_of_large_matrices_are_of_factors_in_fp64(n, complex_):
    a = random((n, n), complex_) * np.logspace(0, 20, n)[:, None]
    expected = np.linalg.slogdet(a)
    with speedwell.factor(a, first="fp32") as factors:
        assert factors.precision == "fp32"
        found = factors.slogdet()
        assert factors.precision == "fp64"
        assert np.isinf(factors.det())
    for sign, logarithm in (found, speedwell.slogdet(a)):
        assert abs(sign - expected.sign) < 1e-9
        assert logarithm == pytest.approx(expected.logabsdet, rel=1e-12)
    with (
        speedwell.factor(a, precision="fp32", condition=False) as factors,
        pytest.raises(ValueError, match="factors in FP64"),
    ):
        factors.det()


def test_singular_and_empty_matrices():
    a = np.stack([np.eye(3), np.zeros((3, 3))])
    assert speedwell.det(a).tolist() == [1, 0]
    assert speedwell.slogdet(a).logabsdet.tolist() == [0, -np.inf]
    assert speedwell.det(np.empty((0, 0))) == 1 and speedwell.det(np.empty((2, 0, 0))).tolist() == [
        1,
        1,
    ]
    with pytest.raises(np.linalg.LinAlgError, match="allowed"):
        speedwell.det(np.ones((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="allowed"):
        speedwell.inv(np.ones(3))
    with pytest.raises(speedwell.SingularMatrixError, match=r"at \(1,\)"):
        speedwell.factor(a)


@pytest.mark.parametrize("complex_", [False, True])
def test_factors_of_stacks(complex_):
    a = random((2, 3, 5, 5), complex_)
    with speedwell.factor(a) as factors:
        assert factors.shape == a.shape
        for shape in ((5,), (5, 2), (3, 5, 1), (2, 3, 5, 4)):
            b = random(shape, True, 2)
            for trans, op in (
                (0, a),
                (1, np.swapaxes(a, -1, -2)),
                (2, np.swapaxes(a, -1, -2).conj()),
            ):
                x = factors.solve(b, trans)
                expected = (
                    np.linalg.solve(op, b)
                    if b.ndim > 1
                    else np.linalg.solve(op, b[:, None])[..., 0]
                )
                assert x.shape == expected.shape and np.allclose(x, expected)
                told, info = factors.solve(b, trans, return_info=True)
                assert (told == x).all() and info.shape == (2, 3)
                assert all(isinstance(each, speedwell.SolveInfo) for each in info.flat)
        assert np.allclose(factors.inv() @ a, np.eye(5))
        assert np.allclose(factors.det(), np.linalg.det(a))
        with pytest.raises(ValueError, match="broadcasts"):
            factors.solve(np.ones((7, 5, 1)))
        with pytest.raises(ValueError, match="the order of a"):
            factors.solve(np.ones((4, 1)))
    assert np.allclose(speedwell.inv(a) @ a, np.eye(5))
    with speedwell.factor(a[0, 0]) as factors:
        assert np.allclose(factors.inv() @ a[0, 0], np.eye(5))


def test_factors_of_no_matrix():
    with speedwell.factor(np.empty((0, 5, 5))) as factors:
        x, info = factors.solve(np.ones((5, 2)), return_info=True)
        assert x.shape == (0, 5, 2) and info.shape == (0,)


class TestNumPyInv(test_linalg.TestInv):
    @pytest.fixture(autouse=True)
    def _in_its_place(self, monkeypatch):
        monkeypatch.setattr(np.linalg, "inv", speedwell.inv)
        monkeypatch.setattr(test_linalg.linalg, "inv", speedwell.inv)


class TestNumPyDet(test_linalg.TestDet):
    @pytest.fixture(autouse=True)
    def _in_its_place(self, monkeypatch):
        monkeypatch.setattr(test_linalg.linalg, "det", speedwell.det)
        monkeypatch.setattr(test_linalg.linalg, "slogdet", speedwell.slogdet)
