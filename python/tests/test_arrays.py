# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of every type, order and library go in; x comes back in the same library."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse

import speedwell

TYPES = [np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_, ">f8", ">f4"]


def matrix(n, seed=0, dtype=np.float64):
    """Whole numbers, which every type holds; well conditioned."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype) == np.bool_:
        return np.eye(n, dtype=bool) | np.eye(n, k=-(n // 2), dtype=bool)
    a = rng.integers(0, 3, (n, n)) + 3 * n % 100 * np.eye(n, dtype=np.int64)
    return a.astype(dtype)


def assert_solves(a, x, b, factor=100.0):
    """The normwise backward error is that of a solve in the precision of x."""
    eps = np.finfo(np.float32).eps if x.dtype == np.float32 else 2.0**-53
    a, x, b = (np.asarray(v, dtype=np.float64) for v in (a, x, b))
    assert x.shape == b.shape
    error = np.abs(a @ x - b).max(initial=0)
    size = np.abs(a).sum(axis=1).max(initial=0) * np.abs(x).max(initial=0) + np.abs(b).max(
        initial=0
    )
    assert error <= factor * eps * size


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 37, 700])
def test_types(dtype, n):
    a = matrix(n, dtype=dtype)
    b = np.arange(n).astype(np.int64)
    assert_solves(a, speedwell.solve(a, b), b)


def test_type_of_x():
    a, b = matrix(9), np.ones(9)
    f4 = np.float32
    assert speedwell.solve(a, b).dtype == np.float64
    assert speedwell.solve(a.astype(f4), b.astype(f4)).dtype == np.float32
    assert speedwell.solve(a.astype(f4), b).dtype == np.float64
    assert speedwell.solve(a, b.astype(f4)).dtype == np.float64
    assert speedwell.solve(a.astype(int), b.astype(int)).dtype == np.float64


@st.composite
def views(draw, dimensions, rows):
    """A view of `rows` rows (and as many columns) into a larger array, with any strides."""
    order = draw(st.sampled_from("CF"))
    steps = [draw(st.sampled_from([-3, -2, -1, 1, 2, 3])) for _ in range(dimensions)]
    extra = [draw(st.integers(0, 2)) for _ in range(dimensions)]
    columns = [rows] * dimensions
    if dimensions == 2 and draw(st.booleans()):
        columns[1] = draw(st.integers(0, 12))
    shape = [abs(s) * (k + e) + 1 for s, k, e in zip(steps, columns, extra)]
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    return order, tuple(steps), tuple(columns), tuple(shape), dtype


def cut(description, values):
    """The view of the description, holding `values`."""
    order, steps, columns, shape, dtype = description
    base = np.zeros(shape, dtype=dtype, order=order)
    index = tuple(
        slice(None, None, step) if step > 0 else slice(None, None, step) for step in steps
    )
    view = base[index][tuple(slice(0, k) for k in columns)]
    view[...] = values
    assert view.shape == tuple(columns)
    return view


@hypothesis.settings(deadline=None, max_examples=150)
@hypothesis.given(st.data())
def test_any_strides(data):
    n = data.draw(st.integers(1, 40))
    order, steps, _, shape, dtype = data.draw(views(2, n))
    shape = (abs(steps[0]) * n + 1, abs(steps[1]) * n + 1)
    a = cut((order, steps, (n, n), shape, dtype), matrix(n, seed=n))
    dimensions = data.draw(st.sampled_from([1, 2]))
    description = data.draw(views(dimensions, n))
    count = description[2][1:]
    b = cut(description, np.arange(n * int(np.prod(count))).reshape(n, *count) % 7 - 3)
    before = a.copy(), b.copy()
    x = speedwell.solve(a, b)
    assert_solves(a, x, b)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [50, 800])
def test_read_only(order, n):
    a, b = np.array(matrix(n), order=order), np.ones((n, 3), order=order)
    a.flags.writeable = b.flags.writeable = False
    assert_solves(a, speedwell.solve(a, b), b)


@pytest.mark.parametrize("n", [5, 800])
def test_rows_and_columns_are_not_mixed_up(n):
    a = np.triu(np.ones((n, n))) + np.eye(n)
    b = a @ np.arange(1.0, n + 1)
    for array in (a, np.asfortranarray(a), a.T.copy().T, a[:, ::-1][:, ::-1]):
        np.testing.assert_allclose(speedwell.solve(array, b), np.arange(1.0, n + 1), rtol=1e-12)


def test_leading_dimension():
    base = np.zeros((800, 900))
    base[:700, :700] = matrix(700)
    b = np.ones(700)
    assert_solves(base[:700, :700], speedwell.solve(base[:700, :700], b), b)
    assert_solves(base.T[:700, :700], speedwell.solve(base.T[:700, :700], b), b)


def test_lists_and_subclasses():
    assert speedwell.solve([[2, 0], [0, 4]], [2, 4]).tolist() == [1, 1]
    x = speedwell.solve(np.matrix([[2, 0], [0, 4]]), np.array([2, 4]))
    assert type(x) is np.ndarray
    broadcast = np.broadcast_to(np.float64(1), (3, 3))
    with pytest.raises(speedwell.SingularMatrixError):
        speedwell.solve(broadcast, np.ones(3))


def test_empty():
    assert speedwell.solve(np.empty((0, 0)), np.empty(0)).shape == (0,)
    assert speedwell.solve(np.empty((0, 0)), np.empty((0, 4))).shape == (0, 4)
    assert speedwell.solve(np.eye(3), np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.eye(3), np.ones(2), r"b has the shape \(2,\); allowed: \(3,\) or \(3, k\)"),
        (np.ones((3, 2)), np.ones(3), r"a has the shape \(3, 2\); allowed: \(n, n\)"),
        (np.ones(3), np.ones(3), "allowed: \\(n, n\\)"),
        (np.eye(3), np.ones((3, 1, 1)), "b has the shape"),
        (np.eye(3), 1.0, "b has the shape"),
        (np.eye(3, dtype=np.clongdouble), np.ones(3), "clongdouble|complex256"),
        (np.eye(3, dtype=np.float16), np.ones(3), "float16"),
        (np.eye(3, dtype=np.longdouble), np.ones(3), "longdouble|float128"),
        (np.eye(3), np.ones(3, dtype=object), "object"),
        (np.eye(3), ["a", "b", "c"], "type <U1"),
        (np.eye(3), [1, [2], 3], "b cannot be made an array"),
        (np.ma.masked_array(np.eye(3)), np.ones(3), "masked"),
        (None, np.ones(3), "a is of type NoneType"),
        (scipy.sparse.eye(3), np.ones(3), r"^a is sparse; allowed: .*a\.toarray\(\).*spsolve$"),
        (np.eye(3), scipy.sparse.eye(3), "^b is sparse"),
    ],
)
def test_what_is_not_allowed(a, b, words):
    with pytest.raises(ValueError, match=words):
        speedwell.solve(a, b)


class Exported:
    """An array of a library that knows DLPack alone."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    a, b = matrix(60), np.ones(60)
    assert_solves(a, speedwell.solve(Exported(a), Exported(b)), b)


class OnGpu:
    """An array that says that it lies on a GPU, and can be copied to the host as Numba's can."""

    def __init__(self, array):
        self.array = array
        self.copies = 0
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (0, False),
            "version": 3,
        }

    @property
    def shape(self):
        return self.array.shape

    def __len__(self):
        return len(self.array)

    def copy_to_host(self):
        self.copies += 1
        return self.array


@pytest.mark.skipif(speedwell.describe()["gpus"] > 0, reason="there is a GPU")
def test_arrays_of_a_gpu_are_copied_where_none_can_be_used():
    a, b = OnGpu(matrix(700)), OnGpu(np.ones(700))
    assert_solves(a.array, speedwell.solve(a, b), b.array)
    assert (a.copies, b.copies) == (1, 1)


class OfNoLibrary:
    __cuda_array_interface__ = {"shape": (4, 4), "typestr": "<f8", "data": (8, False), "version": 3}


@pytest.mark.skipif(speedwell.describe()["gpus"] > 0, reason="there is a GPU")
def test_arrays_of_a_gpu_that_cannot_be_copied():
    with pytest.raises(
        ValueError, match="^a .* in the memory of a GPU.*; allowed here: an array in"
    ):
        speedwell.solve(OfNoLibrary(), np.ones(4))


@pytest.mark.parametrize(
    "call",
    [
        lambda operator: speedwell.solve(operator, np.ones(3)),
        lambda operator: speedwell.solve(operator, np.ones(3), assume_a="sym"),
        lambda operator: speedwell.factor(operator),
        lambda operator: speedwell.factor(operator, n=3),
        lambda operator: speedwell.inv(operator),
        lambda operator: speedwell.det(operator),
    ],
)
def test_operators_and_sparse_matrices_are_refused(call):
    operator = pytest.importorskip("scipy.sparse.linalg").aslinearoperator(np.eye(3))
    with pytest.raises(ValueError, match=r"^a is an operator \(\w+\), .*; allowed: an array"):
        call(operator)
    with pytest.raises(ValueError, match="^a is sparse; allowed: a dense array"):
        call(pytest.importorskip("scipy.sparse").eye_array(3).tocsr())


def test_operators_that_are_functions_are_refused():
    eye = np.eye(3)
    functions = [eye.dot, eye.__matmul__, speedwell.factor(eye).solve]
    if sparse := pytest.importorskip("scipy.sparse"):
        functions.append(sparse.eye_array(3).tocsr().dot)
    for function in functions:
        for call in (speedwell.solve, lambda a, b: speedwell.factor(a, n=3)):
            with pytest.raises(ValueError, match=r"^a is an operator \([\w.]+\), .*; allowed: an"):
                call(function, np.ones(3))
    with pytest.raises(
        ValueError, match=r"^a cannot be called as a\(i, j\): .*; allowed: an array"
    ):
        speedwell.solve(lambda v: eye @ v, np.ones(3))
    outer = speedwell.solve(lambda i, j: np.dot(i, j) + 1.0 * (i == j), np.ones(3))
    np.testing.assert_allclose(
        outer, np.linalg.solve(np.outer([0, 1, 2], [0, 1, 2]) + eye, [1] * 3)
    )


def test_what_is_no_array_is_named():
    for call in (speedwell.inv, speedwell.det, lambda f: speedwell.solve(np.eye(3), f)):
        with pytest.raises(
            ValueError, match=r"^. is a function \(.*lambda.*\); allowed here: an array"
        ):
            call(lambda i, j: 1.0 * (i == j))
    for given in (None, speedwell.factor(np.eye(3))):
        with pytest.raises(
            ValueError, match="^a is of type (NoneType|Factorization); allowed: an array"
        ):
            speedwell.solve(given, np.ones(3))

    class Empty:
        def __dlpack__(self, **_):
            raise BufferError("not there")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(ValueError, match="^a cannot be made an array: not there"):
        speedwell.solve(Empty(), np.ones(3))


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
@pytest.mark.parametrize("type_", ["float32", "complex64"])
def test_stacks_of_libraries(library, type_):
    xp = pytest.importorskip(library)
    a = xp.asarray(np.stack([2 * np.eye(3), 4 * np.eye(3)]).astype(type_))
    b = xp.asarray(np.ones(3, dtype=type_))
    with speedwell.factor(a) as stack, speedwell.factor(a[0]) as one:
        found = [speedwell.solve(a, b), stack.solve(b), one.solve(b)]
        found += [speedwell.inv(a), stack.inv(), one.inv()]
        found += [speedwell.det(a), stack.det(), one.det(), speedwell.det(a[0])]
        found += [speedwell.slogdet(a).sign, stack.slogdet().sign, one.slogdet().sign]
    for x in found:
        assert type(x) is type(a)
        assert str(x.dtype).endswith(type_)
    assert [float(d.real) for d in speedwell.det(a)] == [8, 64]


@pytest.mark.parametrize("library", ["torch", "jax.numpy", "cupy"])
@pytest.mark.parametrize("n", [30, 1500])
def test_libraries(library, n):
    xp = pytest.importorskip(library)
    if library == "cupy" and speedwell.describe()["gpus"] == 0:
        pytest.skip("no GPU")
    if library == "jax.numpy":
        import jax

        jax.config.update("jax_enable_x64", True)
    a, b = xp.asarray(matrix(n)), xp.asarray(np.ones(n))
    x = speedwell.solve(a, b)
    assert type(x) is type(b)
    host = x.get() if library == "cupy" else np.asarray(x)
    assert_solves(matrix(n), host, np.ones(n))
