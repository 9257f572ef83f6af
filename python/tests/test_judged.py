# SPDX-License-Identifier: BSD-3-Clause
"""Forms and stacks say what a general system says: x is right, or there is a word."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import speedwell

FORMS = ["sym", "her", "pos", "diagonal", "tridiagonal", "banded"]
TRIANGLES = ["upper triangular", "lower triangular"]


def outcome(*arguments, **options):
    """x, or the exception, and the texts of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = speedwell.solve(*arguments, **options)
        except (ValueError, np.linalg.LinAlgError) as error:
            result = error
    return result, [str(one.message) for one in caught]


def exact(a, b):
    """x by Gauss's elimination in fractions; None for a singular a."""
    n = len(a)
    rows = [[Fraction(v) for v in [*a[i].tolist(), float(b[i])]] for i in range(n)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [v - factor * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


def is_true(a, b, found):
    """Whether what was found is a word, or an x with a digit."""
    x, words = found
    if isinstance(x, Exception) or words:
        return True
    solution = exact(a, b)
    if solution is None or not np.isfinite(x).all():
        return False
    most = max(map(abs, solution))
    return all(abs(Fraction(v) - w) <= most / 10**4 for v, w in zip(x.tolist(), solution))


BADLY_SCALED = np.array([[7e-14, -8e21, 2e-7], [-8e21, 9e30, 1e31], [2e-7, 1e31, 8e-15]])


@pytest.mark.parametrize("form", ["sym", "her"])
def test_a_badly_scaled_symmetric_matrix(form):
    b = np.array([7.0, 6, 2])
    x, words = outcome(BADLY_SCALED, b, assume_a=form)
    assert all("singular to working precision" in one for one in words)
    expected = np.array([float(v) for v in exact(BADLY_SCALED, b)])
    np.testing.assert_allclose(x, expected, rtol=1e-12)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("form", ["sym", "her"])
@pytest.mark.parametrize(
    "a",
    [
        [[2, 0.7, 2.1], [0.7, 0, 0], [2.1, 0, 0]],  # a constraint that is there twice
        [[0, 1, 0], [1, 2, 1e-9], [0, 1e-9, 0]],
        [[0, 0.3, 0], [0.3, -14, 0.1], [0, 0.1, 0]],
    ],
)
def test_singular_saddle_points(a, form, strict):
    with pytest.raises(speedwell.SingularMatrixError):
        speedwell.solve(a, [1.0, 1, 1], assume_a=form, strict=strict)
    stack = np.array([np.eye(3), a])
    with pytest.raises(speedwell.SingularMatrixError, match=r"at \(1,\) of the stack"):
        speedwell.solve(stack, [1.0, 1, 1], assume_a=form, strict=strict)


def test_a_symmetric_matrix_of_rank_n_minus_1():
    # Its last row and column are the sums of the others: whole numbers, so that it is exactly so.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        m = rng.integers(-9, 10, (32, 32))
        m = m + m.T
        border = m.sum(axis=0)
        a = np.block([[m, border[:, None]], [border[None, :], np.array([[border.sum()]])]])
        b = rng.standard_normal(33)
        for form in ("sym", "her"):
            for lower in (False, True):
                found, words = outcome(a.astype(float), b, assume_a=form, lower=lower)
                assert isinstance(found, speedwell.SingularMatrixError) or words


# x is beyond FP64 at both ends, or below it.
FAR = [
    (np.array([[4e-295, -2e-295], [-3e-295, 8e-295]]), np.array([8e78, 2e78])),
    (np.diag([1.1e-298, 5e-299]), np.array([5e148, 2e148])),
    (np.array([[1.7e-297, 2e-297], [2e-297, 2.7e-297]]), np.array([2e101, 1e101])),
    (np.eye(3) * 1e-300, np.ones(3) * 1e300),
    (np.diag([1e-300, 1.0]), np.array([1e300, 1.0])),
    (np.array([[5e-324]]), np.array([1.0])),
    (np.array([[4e-303]]), np.array([4e81])),
    (np.eye(2) * 1e300, np.ones(2) * 1e-300),
]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("form", [None, *FORMS, *TRIANGLES])
def test_an_x_beyond_fp64(form, transposed):
    for a, b in FAR:
        if form in ("sym", "her", "pos"):
            a = (a + a.T) / 2
        if form in TRIANGLES:
            a = np.triu(a) if form == "upper triangular" else np.tril(a)
        if form == "diagonal":
            a = np.diag(np.diag(a))
        for given in (a, a[np.newaxis], a.astype(complex)):
            x, words = outcome(given, b, assume_a=form, transposed=transposed)
            assert isinstance(x, speedwell.AccuracyError) or words, (form, a, x)
            assert not any("ill-conditioned" in one or "condition" in one for one in words)


def test_a_stack_near_the_end_of_fp64():
    stack = np.array([[[1.5e308, 1e307], [1e307, 5e307]], [[1e-308, 0], [1e-309, 3e-308]]])
    b = np.array([[1e307, 2e307], [1e-308, 1e-308]])[..., np.newaxis]
    for form in (None, "sym", "pos", "banded"):
        x, words = outcome(stack[:1], b[:1], assume_a=form)
        assert words == []
        np.testing.assert_allclose(x[0, :, 0], np.linalg.solve(stack[0] / 2, b[0, :, 0] / 2))
    x, words = outcome(stack, b)
    assert words == []
    solution = [float(v) for v in exact(stack[1], b[1, :, 0])]
    np.testing.assert_allclose(x[1, :, 0], solution, rtol=1e-12)


@pytest.mark.parametrize("form", [None, *FORMS, *TRIANGLES])
def test_hostile_systems(form):
    """Small systems with numbers of all sizes, often singular."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        n = int(rng.integers(1, 5))
        a = rng.integers(-3, 4, (n, n)) * 10.0 ** rng.integers(-1, 2, (n, n))
        reach = int(rng.choice([0, 20, 150, 300]))
        scales = 10.0 ** rng.integers(-reach // 2, reach // 2 + 1, n)
        a = scales[:, None] * a * scales
        if form in ("sym", "her", "pos"):
            a = np.triu(a) + np.triu(a, 1).T
        if form == "pos":
            a = np.diag(np.abs(np.diag(a)) + 4 * np.abs(a).sum(axis=0))
        if form in TRIANGLES:
            a = np.triu(a) if form == "upper triangular" else np.tril(a)
        if form in ("diagonal", "tridiagonal"):
            a = np.triu(np.tril(a, form == "tridiagonal"), -(form == "tridiagonal"))
        b = rng.standard_normal(n) * 10.0 ** rng.integers(-reach, reach + 1)
        assert is_true(a, b, outcome(a, b, assume_a=form)), (form, a, b)
        x, words = outcome(a[np.newaxis], b, assume_a=form)
        x = x if isinstance(x, Exception) else x[0]
        assert is_true(a, b, (x, words)), (form, a, b)


def test_growth_in_a_stack():
    n = 64
    a = np.tril(-np.ones((n, n)), -1) + np.eye(n)
    a[:, -1] = 1  # Wilkinson's: entries of U grow to 2^63
    b = np.random.default_rng(1).standard_normal((n, 2))
    x, words = outcome(np.array([np.eye(n), a]), b)
    assert words == []
    solution = np.array([[float(v) for v in exact(a, column)] for column in b.T]).T
    np.testing.assert_allclose(x[1], solution, atol=1e-11)


def ill_conditioned(n):
    return 1.0 / (1 + np.add.outer(np.arange(n), np.arange(n)))


@pytest.mark.parametrize("form", [None, "sym", "pos"])
def test_places(form):
    stack = np.array([[np.eye(14), ill_conditioned(14)], [ill_conditioned(14), np.eye(14)]])
    if form == "pos":
        stack[1, 0] = np.diag([-1.0, *np.ones(13)])
        with pytest.raises(
            speedwell.SingularMatrixError, match=r"not positive .*\(0, 0\).*order 1"
        ):
            speedwell.solve(stack[1:], np.ones(14), assume_a="pos", strict=True)
        return
    with pytest.warns(speedwell.AccuracyWarning, match=r"\(0, 1\) of the stack\); and 1 more"):
        speedwell.solve(stack, np.ones(14), assume_a=form)
    with pytest.raises(speedwell.AccuracyError, match=r"\(0, 1\) of the stack") as raised:
        speedwell.solve(stack, np.ones(14), assume_a=form, strict=True)
    assert raised.value.best.shape == (14, 1) and raised.value.info.doubt


@pytest.mark.parametrize("n", [3, 650])
def test_places_of_singular_matrices(n):
    stack = np.array([np.eye(n), np.ones((n, n))])
    for call in (lambda: speedwell.solve(stack, np.ones(n)), lambda: speedwell.factor(stack)):
        with pytest.raises(
            speedwell.SingularMatrixError, match=r"at \(1,\) of the stack"
        ) as raised:
            result = call()
            result.solve(np.ones(n))
        assert raised.value.pivot == 1


@pytest.mark.parametrize("form", [None, "sym", "banded"])
def test_without_right_hand_sides(form):
    singular = np.ones((2, 2))
    for a in (singular, np.array([np.eye(2), singular])):
        with pytest.raises(speedwell.SingularMatrixError):
            speedwell.solve(a, np.empty((2, 0)), assume_a=form)
    with pytest.raises(ValueError, match="nan"):
        speedwell.solve(np.array([np.eye(2), np.nan * singular]), np.empty((2, 0)), assume_a=form)
    assert speedwell.solve(np.array([np.eye(2)] * 3), np.empty((2, 0)), assume_a=form).shape == (
        3,
        2,
        0,
    )


@pytest.mark.parametrize("form", [None, "pos", "lower triangular"])
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((2, 0, 0), (0,)),
        ((2, 0, 0), (0, 3)),
        ((0, 3, 3), (3,)),
        ((0, 3, 3), (3, 0)),
        ((0, 3, 3), (0, 3, 2)),
        ((3, 3), (0, 3, 2)),
        ((3, 3), (4, 3, 0)),
        ((4, 0, 0), (4, 0, 2)),
        ((0, 0), (2, 0, 1)),
    ],
)
def test_zero_sizes(a_shape, b_shape, form):
    a = np.zeros(a_shape) + np.eye(a_shape[-1])
    b = np.empty(b_shape)
    expected = np.linalg.solve(a, b)
    x = speedwell.solve(a, b, assume_a=form)
    assert x.shape == expected.shape and x.dtype == expected.dtype
    if len(a_shape) > 2 and len(b_shape) < 3:
        with speedwell.factor(a) as factors:
            assert factors.solve(b).shape == expected.shape
            assert factors.inv().shape == a_shape
            assert factors.solve(b, return_info=True)[1].shape == a_shape[:-2]


@pytest.mark.parametrize(
    ("a", "b"), [(5e-324, 1.0), (1.7e308, 1.0), (2.0, 5e-324), (0.0, 1.0), (-2.0, 1.0), (3.0, 6.0)]
)
def test_one_element(a, b):
    def told(x):
        if isinstance(x[0], Exception):
            return type(x[0])
        return float(f"{np.asarray(x[0]).ravel()[0]:.14g}"), bool(x[1])

    doors = [
        told(outcome([[a]], [b])),
        told(outcome([[a]], b)),
        told(outcome([[[a]]], [b])),
        told(outcome([[a]], [b], assume_a="sym")),
        told(outcome([[a]], [[b]], assume_a="diagonal")),
    ]
    assert len(set(doors)) == 1, doors
    assert told(outcome([[a]], [b, b])) == doors[0]
    if a != -2:
        assert told(outcome([[a]], [b], assume_a="pos")) == doors[0]
    else:
        for given in ([[a]], [[[a]]]):
            with pytest.raises(speedwell.SingularMatrixError, match="not positive definite"):
                speedwell.solve(given, [b], assume_a="pos")


@pytest.mark.parametrize("door", ["general", "stack", "form", "factor"])
@pytest.mark.parametrize("type_", [np.float32, np.complex64])
def test_results_beyond_fp32(door, type_):
    def solve(a, b, **options):
        a, b = np.array(a, type_), np.array(b, type_)
        if door == "stack":
            return speedwell.solve(np.array([np.eye(2), a], type_), b, **options)[1]
        if door == "factor":
            with speedwell.factor(a, **options) as factors:
                return factors.solve(b)
        return speedwell.solve(a, b, assume_a="sym" if door == "form" else None, **options)

    with np.errstate(all="raise"):
        for a, b in (
            ([[1e-38, 0], [0, 1]], [1e10, 1]),
            ([[1e38, 0], [0, 1e38]], [1e-20, 1e-20]),
        ):
            with pytest.warns(
                speedwell.AccuracyWarning, match=r"beyond the range of (float|compl)"
            ):
                x = solve(a, b)
            assert x.dtype == type_
            with pytest.raises(speedwell.AccuracyError, match="beyond the range of"):
                solve(a, b, strict=True)
        # An entry that is nothing beside the largest one is no doubt.
        x = solve([[1, 0], [0, 1e38]], [1, 1e-20], strict=True)
        np.testing.assert_array_equal(x, np.array([1, 0], type_))


def test_bounds_of_results_in_fp32():
    a, b = np.array([[3, 1], [1, 3]], np.float32), np.array([1, 0], np.float32)
    x, info = speedwell.solve(a, b, return_info=True)
    true = np.array([3 / 8, -1 / 8])
    assert 0 <= np.abs(x - true).max() / np.abs(true).max() <= info.forward_bounds[0] < 1e-6
    with pytest.warns(speedwell.AccuracyWarning):
        x, info = speedwell.solve(a * np.float32(1e-38), 100 * b, return_info=True)
    assert np.isinf(info.forward_bounds[0]) and "float32" in info.doubt


@pytest.mark.parametrize("type_", ["<f4", ">f4", "<c8", ">c8", "<f8", ">f8"])
def test_byte_orders(type_):
    a, b = (np.eye(2) * 2).astype(type_), np.ones(2).astype(type_)
    native = np.dtype(type_).newbyteorder("=")
    assert speedwell.solve(a, b).dtype == speedwell.inv(a).dtype == native
    assert speedwell.solve(np.array([a, a]), b).dtype == native
    with speedwell.factor(a) as factors:
        assert factors.solve(b).dtype == factors.inv().dtype == native


def test_masks():
    hidden = np.ma.masked_equal([[2.0, 99], [1, 3]], 99)
    plain = np.ma.masked_equal([[2.0, 5], [1, 3]], 99)
    for a in (lambda i, j: hidden[i, j], lambda i, j: plain[i, j]):
        for call in (speedwell.solve, lambda a, b: speedwell.factor(a, n=2)):
            with pytest.raises(ValueError, match="masked"):
                call(a, np.ones(2))
    for b in (hidden[0], [hidden[0], hidden[1]], [np.ma.masked, 1.0]):
        for a in (np.eye(2), np.array([np.eye(2)] * 2)):
            with pytest.raises(ValueError, match="b is a masked array"):
                speedwell.solve(a, b)
            with speedwell.factor(a) as factors, pytest.raises(ValueError, match="b is a masked"):
                factors.solve(b)
    with pytest.raises(ValueError, match="a is a masked array"):
        speedwell.solve(np.array([np.eye(2)] * 2).view(np.ma.MaskedArray), np.ones(2))


class Length(np.ndarray):
    """Has a unit that follows its arrays about."""

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)


class Quantity(np.ndarray):
    """Knows the units of what numpy.linalg does."""

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", 0)

    def __array_function__(self, function, types, arguments, options):
        plain = [np.asarray(v) for v in arguments]
        result = function(*plain, **options).view(Quantity)
        units = [getattr(v, "unit", 0) for v in arguments]
        if function is np.linalg.solve:
            result.unit = units[1] - units[0]
        elif function is np.linalg.inv:
            result.unit = -units[0]
        else:
            result.unit = units[0]
        return result

    def __rmul__(self, other):
        result = np.multiply(np.asarray(other), np.asarray(self)).view(Quantity)
        result.unit = self.unit + getattr(other, "unit", 0)
        return result

    __mul__ = __rmul__
    __array_priority__ = 10


def of_type(type_, values, unit):
    array = np.array(values).view(type_)
    array.unit = unit
    return array


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2)])
def test_units(shape):
    values = np.broadcast_to(np.diag([2.0, 4]), shape)
    a, b = of_type(Length, values, "m"), of_type(Length, np.ones(2), "s")

    def results(a, b):
        yield speedwell.solve(a, b)
        yield speedwell.solve(a, b, assume_a="sym")
        with speedwell.factor(a) as factors:
            yield factors.solve(b)

    for x in results(a, b):
        assert type(x) is Length and x.unit is None
    assert getattr(speedwell.inv(a), "unit", None) is None
    a, b = of_type(Quantity, values, 1), of_type(Quantity, np.ones(2), 5)
    for x in results(a, b):
        assert x.unit == 4
        np.testing.assert_allclose(np.asarray(x), np.linalg.solve(values, np.ones(2)))
    for x in results(a, np.ones(2)):
        assert x.unit == -1
    assert speedwell.inv(a).unit == -1
    with speedwell.factor(a) as factors:
        assert factors.inv().unit == -1


@pytest.mark.parametrize("form", ["pos", "sym", "her", "banded", "upper triangular"])
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_many_right_hand_sides(form, complex_, order):
    rng = np.random.default_rng(3)
    n = 120
    a = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if complex_ else 0)
    if form == "banded":
        a = np.triu(np.tril(a, 2), -5)
    a = a + n * np.eye(n)
    if form in ("pos", "her"):
        a = a + a.T.conj()
    if form == "sym":
        a = a + a.T
    if form == "upper triangular":
        a = np.triu(a)
    a = np.array(a, order=order)
    x = rng.standard_normal((n, 300))
    found, words = outcome(a, a @ x, assume_a=form)
    assert words == []
    np.testing.assert_allclose(found, x, atol=1e-12)
