# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of systems, complex systems, and matrices of a form."""

import warnings

import numpy as np
import pytest

import speedwell

FORMS = [
    "sym",
    "her",
    "pos",
    "diagonal",
    "tridiagonal",
    "banded",
    "upper triangular",
    "lower triangular",
]


def random(shape, complex_, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return a + 1j * rng.standard_normal(shape) if complex_ else a


def of_form(form, a):
    at = np.swapaxes(a, -1, -2)
    n = a.shape[-1]
    if form == "sym":
        return a + at
    if form == "her":
        return a + at.conj()
    if form == "pos":
        return a @ at.conj() + np.eye(n)
    if form == "upper triangular":
        return np.triu(a) + n * np.eye(n)
    if form == "lower triangular":
        return np.tril(a) + n * np.eye(n)
    below, above = {"diagonal": (0, 0), "tridiagonal": (1, 1), "banded": (2, 1)}[form]
    return np.triu(np.tril(a, above), -below) + 4 * np.eye(n)


def error_of(a, x, b):
    """The largest componentwise backward error of a stack of solutions."""
    if b.ndim == 1:
        x, b = x[..., np.newaxis], b[:, np.newaxis]
    bound = np.abs(a) @ np.abs(x) + np.abs(b)
    return (np.abs(a @ x - b) / np.where(bound == 0, 1, bound)).max(initial=0)


@pytest.mark.parametrize("complex_a", [False, True])
@pytest.mark.parametrize("complex_b", [False, True])
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((5, 5), (5,)),
        ((1, 1), (1, 3)),
        ((40, 40), (40, 3)),
        ((7, 6, 6), (6,)),
        ((7, 6, 6), (7, 6, 2)),
        ((2, 1, 4, 4), (3, 4, 1)),
        ((6, 6), (3, 6, 2)),
        ((300, 3, 3), (3, 2)),
        ((2, 650, 650), (650,)),  # larger than what is solved side by side
    ],
)
def test_stacks_and_complex_numbers(a_shape, b_shape, complex_a, complex_b):
    a, b = random(a_shape, complex_a), random(b_shape, complex_b, 2)
    kept = a.copy(), b.copy()
    x = speedwell.solve(a, b)
    expected = np.linalg.solve(a, b)
    assert x.shape == expected.shape and x.dtype == expected.dtype
    assert error_of(a, x, b) <= 8 * np.sqrt(a_shape[-1]) * 2**-53
    assert np.array_equal(a, kept[0]) and np.array_equal(b, kept[1])


def test_types_and_layouts():
    a, b = random((3, 8, 8), True), random((8, 2), True)
    x = speedwell.solve(a, b)
    assert speedwell.solve(a.astype(np.complex64), b.astype(np.complex64)).dtype == np.complex64
    assert speedwell.solve(a.astype(np.complex64), b.real).dtype == np.complex128
    assert speedwell.solve(np.ones((2, 1, 1), dtype=int), [1]).dtype == np.float64
    transposed = np.ascontiguousarray(np.swapaxes(a, -1, -2))
    assert np.array_equal(
        speedwell.solve(np.swapaxes(transposed, -1, -2), b[:, ::-1])[..., ::-1], x
    )
    assert np.array_equal(speedwell.solve(a[::-1], b)[::-1], x)
    assert np.array_equal(speedwell.solve(np.broadcast_to(a[0], (4, 8, 8)), b)[3], x[0])


@pytest.mark.parametrize("complex_", [False, True])
def test_a_complex_matrix_without_imaginary_part(complex_):
    a = random((30, 30), False)
    b = random(30, complex_)
    assert np.allclose(speedwell.solve(a + 0j, b), speedwell.solve(a, b), rtol=1e-11)
    assert np.allclose(speedwell.solve(1j * a, b), -1j * speedwell.solve(a, b), rtol=1e-11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(12, 12), (3, 12, 12), (1, 1)])
def test_forms(form, complex_, transposed, shape):
    a = of_form(form, random(shape, complex_))
    b = random((shape[-1], 2), complex_, 2)
    x = speedwell.solve(a, b, assume_a=form, transposed=transposed)
    whole = np.swapaxes(a, -1, -2) if transposed else a
    assert np.allclose(x, np.linalg.solve(whole, b), rtol=1e-9)
    if form in ("sym", "her", "pos"):
        for lower, part in ((True, np.tril), (False, np.triu)):
            half = speedwell.solve(part(a), b, assume_a=form, lower=lower, transposed=transposed)
            assert np.allclose(half, x, rtol=1e-9)


def test_a_transposed_system():
    a, b = random((50, 50), False), random(50, False)
    x, info = speedwell.solve(a, b, transposed=True, return_info=True)
    assert error_of(a.T, x, b) < 1e-14 and info.converged
    a = random((2, 50, 50), True)
    assert error_of(np.swapaxes(a, -1, -2), speedwell.solve(a, b, transposed=True), b) < 1e-14


@pytest.mark.parametrize("form", [None, *FORMS])
def test_singular_systems(form):
    a = of_form(form or "sym", random((3, 4, 4), True))
    a[1] = 0
    with pytest.raises(speedwell.SingularMatrixError, match=r"at \(1,\)"):
        speedwell.solve(a, np.ones(4), assume_a=form)


def test_doubts():
    rng = np.random.default_rng(1)
    u, v = (np.linalg.qr(random((20, 20), True, seed))[0] for seed in (1, 2))
    a = (u * np.logspace(0, -17, 20)) @ v
    b = rng.standard_normal(20)
    with pytest.warns(speedwell.AccuracyWarning, match="singular to working precision"):
        speedwell.solve(a, b)
    with pytest.raises(speedwell.AccuracyError, match="singular to working precision"):
        speedwell.solve(a, b, strict=True)
    with pytest.warns(
        speedwell.AccuracyWarning, match=r"precision \(at \(0,\) of the stack\); and 1"
    ):
        speedwell.solve(np.stack([a, a]), b)
    # Badly scaled is not ill-conditioned.
    a = random((20, 20), True) * np.logspace(0, 200, 20)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            error_of(
                a, speedwell.solve(a, b * np.logspace(0, 200, 20)), b * np.logspace(0, 200, 20)
            )
            < 1e-14
        )


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.ones((2, 2, 3)), np.ones(2), r"a has the shape \(2, 2, 3\)"),
        (np.ones((2, 3, 3)), np.ones(2), r"b has the shape \(2,\); allowed: \(3,\)"),
        (np.ones((2, 3, 3)), np.ones((4, 3, 1)), "the stacks of a and b have the shapes"),
        (np.full((2, 3, 3), np.nan), np.ones(3), r"a has nan at \(0, 0, 0\)"),
        (
            np.eye(3) + 0j,
            [1, 2, complex(0, np.inf)],
            r"the imaginary part of b\(3, 1\) is inf",
        ),
        (np.eye(3) + 0j, np.array(["x"] * 3), "b has elements of type"),
    ],
)
def test_refusals(a, b, words):
    with pytest.raises(ValueError, match=words):
        speedwell.solve(a, b)


def test_refused_options():
    a = np.stack([np.eye(2) + 0j] * 2)
    for options in ({"return_info": True}, {"precision": "bf16"}, {"device": "cuda"}):
        with pytest.raises(ValueError, match="for one general system"):
            speedwell.solve(a, [1, 2], **options)
    with pytest.raises(ValueError, match="assume_a is 'round'; allowed: None, 'gen'"):
        speedwell.solve(a, [1, 2], assume_a="round")
    with pytest.raises(ValueError, match="refine"):
        speedwell.solve(a, [1, 2], refine="never")
    with pytest.raises(ValueError, match="arrays of one process"):
        speedwell.solve(lambda i, j: 1.0 * (i == j), [1, 2], transposed=True)


def test_subclasses_of_numpy_arrays():
    class Own(np.ndarray):
        pass

    b = np.ones(3).view(Own)
    for a in (np.eye(3), np.eye(3) + 0j, np.stack([np.eye(3)] * 2)):
        assert type(speedwell.solve(a, b)) is Own
    assert type(speedwell.solve(np.eye(3).view(Own), np.ones(3))) is np.ndarray
