# SPDX-License-Identifier: BSD-3-Clause
"""Solutions, their errors, and what is raised where there are none."""

import copy
import inspect
import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg

import speedwell
from speedwell._errors import in_keywords

SIZES = [1, 3, 200, 641, 1100]


def system(n, count=None, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n))
    return a, rng.standard_normal(n if count is None else (n, count))


def conditioned(n, kappa, seed=1):
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return (u * np.logspace(0, -np.log10(kappa), n)) @ v


def backward_error(a, x, b):
    r = np.abs(a @ x - b).max(axis=0)
    return (r / (np.abs(a).sum(axis=1).max() * np.abs(x).max(axis=0) + np.abs(b).max(axis=0))).max()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("count", [None, 1, 3, 20])
@pytest.mark.parametrize("order", ["C", "F"])
def test_is_as_accurate_as_numpy(n, count, order):
    a, b = system(n, count)
    a = np.array(a, order=order)
    x, info = speedwell.solve(a, b, return_info=True)
    assert x.shape == b.shape
    assert backward_error(a, x, b) <= max(4, n**0.5) * 2**-53
    exact = np.linalg.solve(a.astype(np.longdouble).astype(np.float64), b)
    assert np.abs(x - exact).max() <= 1e3 * 2**-53 * np.linalg.cond(a) * np.abs(exact).max()
    assert info.converged and info.n == n and len(info.columns) == (count or 1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [100, 900])
@pytest.mark.parametrize("count", [1, 12])
def test_info_tells_the_truth(order, n, count):
    a, b = system(n, count)
    a = np.array(a * np.logspace(0, 5, n)[:, None], order=order)
    x, info = speedwell.solve(a, b, return_info=True, condition="full")
    assert info.norm_a == pytest.approx(np.abs(a).sum(axis=1).max(), rel=1e-12)
    assert info.equilibrated
    true = np.abs(x - scipy.linalg.solve(a, b)).max(axis=0) / np.abs(x).max(axis=0)
    assert (true <= info.forward_bounds + 1e3 * 2**-53 * info.condition).all()
    componentwise = (np.abs(b - a @ x) / (np.abs(a) @ np.abs(x) + np.abs(b))).max(axis=0)
    assert (info.componentwise_errors <= max(4, n**0.5) * 2**-53).all()
    assert (componentwise <= info.componentwise_errors + n * 2**-53).all()
    assert info.iterations == sum(step.iterations for step in info.steps)
    json.dumps(info.to_dict())
    assert "backward error" in info._repr_html_()


def test_condition_number():
    for kappa in (1e2, 1e8):
        a = conditioned(300, kappa)
        _, info = speedwell.solve(a, np.ones(300), return_info=True, equilibrate=False)
        exact = np.linalg.norm(a, np.inf) * np.linalg.norm(np.linalg.inv(a), np.inf)
        assert exact / 5 <= info.condition <= exact * 1.01
    _, info = speedwell.solve(a, np.ones(300), return_info=True, condition=False)
    assert np.isnan(info.condition)


@pytest.mark.parametrize("n", [300, 800])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ill_conditioned(n, order):
    a = np.array(conditioned(n, 1e12), order=order)
    b = a @ np.ones(n)
    x, info = speedwell.solve(a, b, return_info=True)
    assert info.precision == "fp64"
    assert backward_error(a, x, b) <= n**0.5 * 2**-53
    assert np.abs(x - 1).max() <= info.forward_bounds.max() + 1e-3


@pytest.mark.parametrize("n", [2, 60, 900])
@pytest.mark.parametrize("order", ["C", "F"])
def test_singular(n, order):
    a = np.array(system(n)[0], order=order)
    a[:, n // 2] = 0
    with pytest.raises(speedwell.SingularMatrixError, match="singular") as raised:
        speedwell.solve(a, np.ones(n))
    assert isinstance(raised.value, np.linalg.LinAlgError)
    # As LAPACK's getrf counts: a column of a, however it lies in memory.
    assert raised.value.pivot == n // 2
    assert f"pivot {n // 2 + 1} of {n} is" in str(raised.value)


@pytest.mark.parametrize("n", [60, 900])
def test_singular_to_working_precision(n):
    a = conditioned(n, 1e18)
    with pytest.warns(speedwell.AccuracyWarning):
        speedwell.solve(a, np.ones(n))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        speedwell.solve(conditioned(n, 1e6), np.ones(n))


def hilbert(n):
    return 1 / (1 + np.add.outer(np.arange(n), np.arange(n)))


DOUBTFUL = {
    "hilbert": hilbert(13),
    # Pivots of 1 and no growth; only the inverse is large.
    "triangular": np.eye(60) - np.triu(np.ones((60, 60)), 1),
    # Rank 3 but for roundings.
    "rank": system(10, 3)[1] @ system(10, 3, seed=2)[1].T,
}


@pytest.mark.parametrize("name", DOUBTFUL)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("return_info", [False, True])
def test_a_doubt_is_a_warning(name, order, return_info):
    a = np.array(DOUBTFUL[name], order=order)
    b = a @ np.ones(len(a))
    with pytest.warns(speedwell.AccuracyWarning) as caught:
        found = speedwell.solve(a, b, return_info=return_info)
    assert len(caught) == 1 and caught[0].filename == __file__
    x = found[0] if return_info else found
    assert backward_error(a, x, b) <= 30 * 2**-53
    if return_info:
        info = found[1]
        assert info.converged and info.doubt == str(caught[0].message)
        assert info.doubt in info._repr_html_() and info.doubt not in info.notes
        json.dumps(info.to_dict())


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubt_is_an_error_if_strict(name):
    a = DOUBTFUL[name]
    b = a @ np.ones((len(a), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(speedwell.AccuracyError) as raised:
            speedwell.solve(a, b, strict=True)
        error = raised.value
        assert error.info.doubt and error.info.doubt in str(error)
        assert error.info.converged and all(column.converged for column in error.info.columns)
        assert error.best.shape == b.shape and backward_error(a, error.best, b) <= 30 * 2**-53
        with speedwell.factor(a, strict=True) as f, pytest.raises(speedwell.AccuracyError):
            f.solve(b)


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("order", ["C", "F"])
def test_integers_of_rank_2_are_singular_only_for_numpy_too(n, order):
    a = np.array(np.arange(1.0, n * n + 1).reshape(n, n), order=order)
    b = a @ np.ones(n)
    try:
        np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        with warnings.catch_warnings(), pytest.raises((np.linalg.LinAlgError, Warning)):
            warnings.simplefilter("error")
            speedwell.solve(a, b)
    else:
        with pytest.warns(speedwell.AccuracyWarning):
            x = speedwell.solve(a, b)
        assert backward_error(a, x, b) <= 30 * 2**-53


def test_no_doubt():
    a, b = system(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, info = speedwell.solve(a, b, strict=True, return_info=True)
    assert info.doubt is None
    assert [step.rotated for step in info.steps] == [False] * len(info.steps)
    assert all(np.isnan(step.growth) or step.growth > 0 for step in info.steps)


def test_a_warning_names_the_line_of_its_call():
    a = hilbert(13)
    b = np.ones(13)
    with speedwell.factor(a) as f:
        lu = speedwell.lu_factor(a)
        for call in (
            lambda: speedwell.solve(a, b),
            lambda: f.solve(b),
            lambda: f.solve(b, trans=True),
            lambda: speedwell.lu_solve(lu, b),
            lambda: speedwell.aslinearoperator(f) @ b,
        ):
            with pytest.warns(speedwell.AccuracyWarning) as caught:
                call()
            assert caught[0].filename == __file__
            assert caught[0].lineno == inspect.getsourcelines(call)[1]


def test_a_warning_is_that_of_scipy():
    assert issubclass(speedwell.AccuracyWarning, scipy.linalg.LinAlgWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
        with pytest.raises(speedwell.AccuracyWarning) as raised:
            speedwell.solve(hilbert(13), np.ones(13))
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is speedwell.AccuracyWarning and again.args == raised.value.args
    assert "AccuracyWarning" in dir(speedwell)
    with pytest.raises(AttributeError, match="no attribute 'AccuracyWorning'"):
        speedwell.AccuracyWorning


@pytest.mark.parametrize("n", [60, 900])
def test_best_of_an_x_that_is_not_accurate(n):
    a = conditioned(n, 1e14)
    b = np.ones((n, 2))
    with pytest.raises(speedwell.AccuracyError) as raised:
        speedwell.solve(a, b, precision="fp32", refine="ir")
    error = raised.value
    assert error.best.shape == (n, 2)
    assert not error.info.converged and error.info.precision == "fp32"


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("order", ["C", "F"])
def test_some_right_hand_sides_with_nan(n, order):
    a, b = system(n, 3)
    a = np.array(a, order=order)
    b[4, 1] = np.nan
    with pytest.raises(speedwell.AccuracyError, match=r"b\(5, 2\) is nan") as raised:
        speedwell.solve(a, b)
    best, info = raised.value.best, raised.value.info
    assert np.isnan(best[:, 1]).all() and np.isfinite(best[:, [0, 2]]).all()
    assert [column.converged for column in info.columns] == [True, False, True]
    assert backward_error(a, best[:, [0, 2]], b[:, [0, 2]]) <= n**0.5 * 2**-53


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inf_and_nan(n, bad):
    a, b = system(n)
    with pytest.raises(ValueError, match="b"):
        speedwell.solve(a, np.full(n, bad))
    a[n // 2, 1] = bad
    with pytest.raises(ValueError, match="A"):
        speedwell.solve(a, b)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "fp8"}, "precision 'fp8' is not allowed; allowed: auto"),
        ({"refine": "cg"}, "allowed: auto, ir, gmres"),
        ({"tolerance": -1}, "tolerance -1 is not allowed"),
        ({"tolerance": "small"}, "tolerance 'small' is not allowed; allowed: a number"),
        ({"threads": -1}, "threads"),
        ({"threads": 1.5}, "threads 1.5 is not allowed; allowed: a whole number"),
        ({"device": "tpu"}, "allowed: auto, cpu, cuda"),
        ({"presision": "fp32"}, "option 'presision' is not known; allowed: nb,"),
        ({"nb": -3}, "^nb -3 is not allowed"),
        ({"nprow": 2}, "^nprow 2 does not divide"),
        ({"condition": "maybe"}, "allowed: off, on, full"),
        ({"accuracy": "perfect"}, "allowed: auto, backward, forward, certified"),
        ({"comm": "world"}, "communicator"),
    ],
)
def test_options_that_are_not_allowed(options, words):
    if "comm" in options:
        pytest.importorskip("mpi4py")
    with pytest.raises(ValueError, match=words):
        speedwell.solve(np.eye(900), np.ones(900), **options)


@pytest.mark.parametrize("n", [60, 700])
def test_accuracy(n):
    """b = a x is exact for a of few bits, and x has 53: what is left of b beside it is known."""
    rng = np.random.default_rng(3)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    a = np.round((q * np.logspace(0, -7, n)) @ q.T * 2**30) * 2.0**-30
    x_true = (np.round(rng.standard_normal(n) * 2**8) + 0.5) * 2.0**-8  # no zeros
    b = a @ x_true
    assert (np.abs(a) @ np.abs(x_true) < 2.0**53 * 2.0**-39).all()  # sums of multiples of 2^-39
    x, info = speedwell.solve(a, b, accuracy="forward", return_info=True)
    assert info.accuracy == "forward" and info.columns[0].accurate
    assert info.forward_bounds[0] <= 4 * 2**-53
    assert (x == x_true).all()
    with speedwell.factor(a.T, accuracy="forward") as f:
        assert (f.solve(b, trans=True) == x_true).all()
    plain, info = speedwell.solve(a, b, return_info=True)
    assert info.accuracy == "backward" and not info.columns[0].accurate
    assert (plain != x_true).any()


def test_accuracy_of_stacks():
    with pytest.raises(ValueError, match="accuracy='forward'"):
        speedwell.solve(np.stack([np.eye(3)] * 2), np.ones((2, 3)), accuracy="forward")


def test_what_does_not_fit():
    with pytest.raises(MemoryError, match="does not fit"):
        speedwell.factor(lambda i, j: i - j, n=10**7)


def test_release_leaves_factors_and_later_solves():
    a = np.eye(700) + np.ones((700, 700)) / 700
    factors = speedwell.factor(a)
    speedwell.release()
    x = factors.solve(np.ones(700))
    speedwell.release()
    assert np.array_equal(speedwell.factor(a).solve(np.ones(700)), x)


@pytest.mark.skipif(speedwell.describe()["gpus"] > 0, reason="there is a GPU")
def test_no_gpu():
    with pytest.raises(ValueError, match="cuda"):
        speedwell.solve(np.eye(900), np.ones(900), device="cuda")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [90, 1000])
def test_factorization(order, n):
    a, b = system(n, 4)
    a = np.array(a, order=order)
    with speedwell.factor(a, equilibrate=False) as f:
        assert f.shape == (n, n)
        for trans, matrix in ((False, a), (True, a.T), (False, a)):
            x, info = f.solve(b, trans=trans, return_info=True)
            assert backward_error(matrix, x, b) <= n**0.5 * 2**-53
            assert info.norm_a == pytest.approx(np.abs(matrix).sum(axis=1).max(), rel=1e-12)
        assert f.precision in ("fp16", "bf16", "fp32", "fp64")
        exact = np.linalg.cond(a, np.inf)
        assert exact / 5 <= f.condition <= 1.01 * exact
        assert f.precision in repr(f)
    with pytest.raises(ValueError, match="closed"):
        f.solve(b)
    assert "closed" in repr(f)
    f.close()


def test_a_factorization_is_not_copied():
    with speedwell.factor(np.eye(3)) as f:
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="^a Factorization cannot be copied or pickled"):
                call(f)


def test_what_the_module_is_asked_of_a_closed_factorization():
    f = speedwell.factor(np.eye(3))
    f.close()
    for call in (lambda: f.solve(np.ones(3)), lambda: f.condition, lambda: f.precision):
        with pytest.raises(ValueError, match="^the Factorization is closed$"):
            call()


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("change", ["all", "row", "column", "beside"])
def test_a_changed_after_factor(n, change):
    a, b = system(n)
    where = {
        "all": np.s_[:],
        "row": np.s_[n // 2],
        "column": np.s_[:, 3],
        "beside": (np.arange(n - 1), np.arange(1, n)),
    }[change]
    with speedwell.factor(a) as f:
        f.solve(b)
        a[where] *= 1.5
        with pytest.raises(
            ValueError, match=r"^a was changed after factor\(\); allowed: to factor"
        ):
            f.solve(b)
    with speedwell.factor(a.astype(np.float32)) as f:  # of a copy
        f.solve(b)


@pytest.mark.parametrize("n", [30, 900])
def test_without_columns_a_is_checked_all_the_same(n):
    none = np.empty((n, 0))
    x, info = speedwell.solve(np.eye(n), none, return_info=True)
    assert x.shape == (n, 0) and info.columns == [] and info.n == n
    with speedwell.factor(np.eye(n)) as f:
        assert f.solve(none).shape == (n, 0)
        with pytest.raises(ValueError, match="allowed: False, True"):
            f.solve(none, trans="x")
    with pytest.raises(speedwell.SingularMatrixError):
        speedwell.solve(np.zeros((n, n)), none)
    with pytest.raises(ValueError, match="A"):
        speedwell.solve(np.full((n, n), np.nan), none)
    with pytest.raises(ValueError, match="precision 'fp8'"):
        speedwell.solve(np.eye(n), none, precision="fp8")


@pytest.mark.parametrize("name", ["equilibrate", "strict", "return_info", "overwrite_a"])
def test_booleans(name):
    for good in (np.False_, 0, np.int64(1)):
        speedwell.solve(np.eye(3), np.ones(3), **{name: good})
    for bad in ("no", 2, 1.0, None):
        with pytest.raises(ValueError, match=f"^{name} is {bad!r}; allowed: True or False$"):
            speedwell.solve(np.eye(3), np.ones(3), **{name: bad})


def test_booleans_of_the_other_functions():
    lu = speedwell.lu_factor(np.eye(3))
    for name, call in {
        "return_info": lambda: lu[0].solve(np.ones(3), return_info=2),
        "overwrite_a": lambda: speedwell.lu_factor(np.eye(3), overwrite_a=2),
        "overwrite_b": lambda: speedwell.lu_solve(lu, np.ones(3), overwrite_b=2),
        "check_finite": lambda: speedwell.lu_solve(lu, np.ones(3), check_finite=2),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} is 2; allowed: True or False$"):
            call()


def test_orders():
    def eye(i, j):
        return 1.0 * (i == j)

    assert speedwell.factor(eye, n=np.int32(4)).shape == (4, 4)
    for n in (1.5, 0, -1, "4"):
        with pytest.raises(ValueError, match=f"^n is {n!r}; allowed: a whole number of 1 or more$"):
            speedwell.factor(eye, n=n)


def test_a_function_may_keep_its_arguments():
    kept = []

    def function(i, j):
        kept.append((i, j, i.copy(), j.copy()))
        return np.sin(i * j) + 30.0 * (i == j)

    speedwell.solve(function, np.ones(900))
    np.ones((3000, 300)).sum()  # takes memory that is free
    for i, j, i_then, j_then in kept:
        np.testing.assert_array_equal(i, i_then)
        np.testing.assert_array_equal(j, j_then)


def test_exceptions_are_pickled_with_their_attributes():
    for a, b in ((conditioned(60, 1e14), np.ones(60)), (hilbert(13), np.ones(13))):
        with pytest.raises(speedwell.AccuracyError) as raised:
            speedwell.solve(
                a, b, precision="fp32" if len(a) == 60 else "auto", refine="ir", strict=True
            )
        error = raised.value
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is speedwell.AccuracyError and str(again) == str(error)
        np.testing.assert_array_equal(again.best, error.best)
        assert repr(again.info) == repr(error.info)
    again = pickle.loads(pickle.dumps(speedwell.SingularMatrixError("words", 7)))
    assert (str(again), again.pivot) == ("words", 7)
    again = pickle.loads(pickle.dumps(speedwell.Fault("words", 2)))
    assert (str(again), again.rank) == ("words", 2)
    assert str(pickle.loads(pickle.dumps(speedwell.Interrupted("words")))) == "words"


@pytest.mark.parametrize(
    ("words", "in_python"),
    [
        ("-N/--n -1 is not allowed", "n -1 is not allowed"),
        ("-P 2 x -Q 3 is 6 ranks", "nprow 2 x npcol 3 is 6 ranks"),
        ("-P,--nprow has 2, -Q,--npcol 1", "nprow has 2, npcol 1"),
        ("--stall-timeout -1 (--gpus and -NB/--nb)", "stall_timeout -1 (gpus and nb)"),
        ("--matrix hpl without --pivot partial", "matrix hpl without pivoting partial"),
        ("b(5, 2) is nan, 1e-5, '--nb' - P, x--y", "b(5, 2) is nan, 1e-5, '--nb' - P, x--y"),
    ],
)
def test_messages_name_keywords(words, in_python):
    assert in_keywords(words) == in_python


def test_factorization_in_later_steps():
    a = conditioned(900, 1e12)
    with speedwell.factor(a, first="fp32") as f:
        f.solve(np.ones(900))
        assert f.precision == "fp64"
        x = f.solve(np.ones(900), trans=True)
        assert backward_error(a.T, x, np.ones(900)) <= 30 * 2**-53


def test_as_scipy():
    a, b = system(200, 2)
    lu = speedwell.lu_factor(a)
    for trans, matrix in ((0, a), (1, a.T), (2, a.T)):
        np.testing.assert_allclose(
            speedwell.lu_solve(lu, b, trans=trans), scipy.linalg.solve(matrix, b), rtol=1e-8
        )
    for trans, matrix in ((False, a), (True, a.T), ("N", a), ("T", a.T), ("C", a.T)):
        for x in (speedwell.lu_solve(lu, b, trans), lu[0].solve(b, trans)):
            assert backward_error(matrix, x, b) <= 30 * 2**-53
    for trans in (3, "n", None, [1]):
        for call in (lambda: speedwell.lu_solve(lu, b, trans), lambda: lu[0].solve(b, trans)):
            with pytest.raises(
                ValueError, match="^trans is .*; allowed: False, True, 0, 1, 2, 'N'"
            ):
                call()
    with pytest.raises(ValueError, match="^lu_and_piv has a ndarray for factors; allowed: .*lu_f"):
        speedwell.lu_solve(scipy.linalg.lu_factor(a), b)
    given = speedwell.lu_factor(a, overwrite_a=1, check_finite=0)
    x = speedwell.lu_solve(given, b, overwrite_b=1, check_finite=0)
    np.testing.assert_array_equal(x, speedwell.lu_solve(lu, b))
    np.testing.assert_array_equal(x, speedwell.lu_solve(speedwell.factor(a), b))
    np.testing.assert_array_equal(x, speedwell.lu_solve(list(lu), b))
    with pytest.raises(ValueError, match="^lu_and_piv has a tuple for factors; allowed"):
        speedwell.lu_solve((), b)
    assert speedwell.det(a, overwrite_a=1, check_finite=0) == speedwell.det(a)
    with pytest.raises(ValueError, match="^check_finite is 2; allowed"):
        speedwell.factor(a, check_finite=2)


def test_stacks_as_scipy():
    stack = np.stack([system(20, 1)[0] for _ in range(3)])
    b = np.ones(20)
    expected = speedwell.solve(stack, b)
    for given in (speedwell.lu_factor(stack), speedwell.factor(stack)):
        np.testing.assert_allclose(speedwell.lu_solve(given, b), expected, rtol=1e-9)


def test_preconditioner():
    a, b = system(700)
    changed = a + 1e-3 * system(700, seed=2)[0]
    with speedwell.factor(a) as f:
        inverse = speedwell.aslinearoperator(f)
        found, status = scipy.sparse.linalg.gmres(changed, b, M=inverse, rtol=1e-10, maxiter=20)
        assert status == 0
        assert np.abs(changed @ found - b).max() <= 1e-8 * np.abs(b).max()
        v = np.ones((700, 2))
        np.testing.assert_allclose(a.T @ (inverse.H @ v), v, atol=1e-9)
        assert scipy.sparse.linalg.eigs(inverse, k=1)[0].shape == (1,)


def test_threads_and_precisions():
    a, b = system(1000)
    for precision in ("fp16", "bf16", "fp32", "fp64"):
        x, info = speedwell.solve(a, b, precision=precision, threads=1, return_info=True)
        assert info.precision == precision and info.chosen["threads"] == 1
        assert backward_error(a, x, b) <= 1000**0.5 * 2**-53


def test_functions():
    n = 900
    points = np.random.default_rng(3).random((n, 2))

    def kernel(i, j):
        assert i.shape[1] == 1 and j.shape[0] == 1
        return np.exp(-((points[i[:, 0], None] - points[None, j[0]]) ** 2).sum(axis=2)) + (i == j)

    whole = kernel(np.arange(n)[:, None], np.arange(n)[None, :])
    b = np.arange(1.0, n + 1)
    np.testing.assert_allclose(speedwell.solve(kernel, b), np.linalg.solve(whole, b), rtol=1e-9)
    with speedwell.factor(lambda i, j: 1.0 * (i == j) + (j == 0), n=5) as f:
        np.testing.assert_allclose(f.solve(np.arange(5.0)), [0, 1, 2, 3, 4])
        np.testing.assert_allclose(f.solve(np.ones(5), trans=True), [-1.5, 1, 1, 1, 1])


def test_functions_that_fail():
    class Mine(Exception):
        pass

    def fails(i, j):
        raise Mine("here")

    with pytest.raises(Mine, match="here"):
        speedwell.solve(fails, np.ones(800))
    with pytest.raises(ValueError, match=r"gives the shape \(\d+,\)"):
        speedwell.solve(lambda i, j: np.ones(i.size), np.ones(800))
    with pytest.raises(ValueError, match="its first element is real"):
        speedwell.solve(lambda i, j: 1j * i + j if i.size > 1 else i + j, np.ones(800))
    with pytest.raises(ValueError, match="its order"):
        speedwell.factor(lambda i, j: i + j)
    assert speedwell.solve(np.eye(800), np.ones(800)).sum() == 800


def test_progress():
    seen = []
    a, b = system(1500)
    speedwell.solve(a, b, progress=lambda *now: seen.append(now))
    done = [now[0] for now in seen]
    assert seen and seen[-1][0] == seen[-1][1] == 1500
    assert done == sorted(done) and all(now[2] >= 0 for now in seen)

    def stops(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        speedwell.solve(a, b, progress=stops)
    np.testing.assert_allclose(a @ speedwell.solve(a, b), b, atol=1e-8)


def test_tqdm():
    tqdm = pytest.importorskip("tqdm")
    a, b = system(1500)
    with tqdm.tqdm(disable=False, file=open("/dev/null", "w")) as bar:
        speedwell.solve(a, b, progress=bar)
        assert bar.n == bar.total == 1500
