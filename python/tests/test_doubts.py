# SPDX-License-Identifier: BSD-3-Clause
"""Systems that mislead: a doubt where there is a reason, and none where there is not."""

import warnings

import numpy as np
import pytest

import speedwell


def warned(call):
    """What a call returns, and whether it has warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return call(), bool(caught)


def sparse(seed):
    """A matrix of few entries, and 20 solutions."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((16, 16)) * (rng.random((16, 16)) < 3 / 16) + 1e-8 * np.eye(16)
    return a, rng.standard_normal((16, 20))


# Their condition numbers are below 1e11, those of their scaled transposes below 1e16, and bounds by
# norms leave no digit of some of their solutions.
@pytest.mark.parametrize("seed", [50, 54, 74, 76, 138, 173, 180, 303])
@pytest.mark.parametrize("accuracy", ["backward", "forward"])
def test_nine_right_hand_sides_say_what_eight_do(seed, accuracy):
    a, x = sparse(seed)
    b = a.T @ x
    with speedwell.factor(a, accuracy=accuracy) as f:
        for count in (8, 9, 20):
            (found, info), doubtful = warned(
                lambda k=count: f.solve(b[:, :k], trans=1, return_info=True)
            )
            errors = np.abs(found - x[:, :count]).max(axis=0) / np.abs(found).max(axis=0)
            assert not doubtful and (info.forward_bounds < 0.5).all()
            # To its last digit, x is the solution for b, which is rounded.
            assert accuracy == "forward" or (errors <= info.forward_bounds).all()


def test_many_right_hand_sides_of_a_hopeless_system_are_a_doubt():
    rng = np.random.default_rng(1)
    u, v = (np.linalg.qr(rng.standard_normal((60, 60)))[0] for _ in range(2))
    for smallest in (1e-15, 1e-17):
        a = (u * np.geomspace(1, smallest, 60)) @ v
        (_, info), doubtful = warned(
            lambda a=a: speedwell.solve(a, rng.standard_normal((60, 30)), return_info=True)
        )
        assert doubtful and info.doubt


def growing(n, g):
    """Wilkinson's matrix, of which the entries grow by 2^g where it is not factored as its
    transpose, by columns."""
    a = np.eye(n, order="F")
    a[:, :g] -= np.tril(np.ones((n, n)), -1)[:, :g]
    a[:, -1] = 1
    return a


@pytest.mark.parametrize("g", [4, 12])
def test_residuals_are_measured_where_entries_have_grown(g):
    a = growing(64, g)
    x = np.arange(64.0 * 20).reshape(64, 20)
    found, info = speedwell.solve(a, a @ x, return_info=True, accuracy="backward")
    assert np.abs(found - x).max() <= 1e-10 * x.max()
    assert info.steps[-1].growth >= 2.0 ** (g - 2)
    assert np.isfinite(info.componentwise_errors).all() == (2**g > 128)


@pytest.mark.parametrize("count", [9, 30])
@pytest.mark.parametrize("return_info", [False, True])
def test_bits_that_growth_has_lost_are_found(count, return_info):
    rng = np.random.default_rng(count)
    a = growing(128, 44)
    a[45:, -1] += rng.uniform(-1, 1, 83) * 2.0**-10
    x = rng.integers(-99, 99, (128, count)).astype(float)
    result = speedwell.solve(a, a @ x, return_info=return_info)
    found = result[0] if return_info else result
    assert np.abs(found - x).max() <= 1e-10 * 99


def test_a_seed_repeats_a_call():
    a = growing(100, 99)  # it is rotated at random
    b = a @ np.ones(100)

    def solved(seed):
        return speedwell.solve(a, b, probe_seed=seed, return_info=True)

    (x, info), (again, _), (other, _) = solved(7), solved(7), solved(8)
    assert info.probe_seed == 7 and info.steps[-1].rotated
    assert np.array_equal(x, again) and not np.array_equal(x, other)
    assert speedwell.solve(a, b, return_info=True)[1].probe_seed > 0
    for seed in (-1, 1.5, "x"):
        with pytest.raises((ValueError, TypeError), match=r"probe.seed"):
            solved(seed)
