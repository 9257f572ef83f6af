# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of any library as Speedwell takes them, and its results as arrays of that library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

_ALLOWED = "real or complex numbers in FP64 or FP32, whole numbers or bools"


@dataclass
class HostMatrix:
    """An n x n matrix of doubles, or of complex doubles, in host memory: column-major, or
    row-major."""

    array: NDArray[Any]  #: keeps the memory alive
    ld: int  #: leading dimension
    row_major: bool

    @property
    def address(self) -> int:
        return int(self.array.__array_interface__["data"][0])


@dataclass
class GpuMatrix:
    """An n x n matrix of doubles in the memory of a GPU."""

    owner: Any  #: keeps the memory alive
    address: int
    ld: int
    row_major: bool
    gpu: int  #: ordinal


def library_of(array: Any) -> str:
    """The library of an array: "numpy", "torch", "cupy", "jax", or "" for anything else."""
    if isinstance(array, np.ndarray):
        return "numpy"
    for cls in type(array).__mro__:
        root = cls.__module__.partition(".")[0]
        if root in ("torch", "cupy"):
            return root
        if root in ("jax", "jaxlib"):
            return "jax"
    return ""


def is_on_gpu(array: Any) -> bool:
    library = library_of(array)
    if library == "torch":
        return bool(array.is_cuda)
    return library != "numpy" and hasattr(array, "__cuda_array_interface__")


def _of_torch(tensor: Any) -> Any:
    """Its numbers, also of a view as a conjugate or with other signs, which NumPy does not know."""
    return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()


def _to_host(array: Any) -> Any:
    """A copy of a GPU's array in host memory."""
    library = library_of(array)
    if library == "torch":
        return _of_torch(array)
    if library == "cupy":
        return array.get()
    if library == "jax" or hasattr(array, "__array__"):
        return np.asarray(array)
    if hasattr(array, "copy_to_host"):
        return array.copy_to_host()  # Numba's
    raise ValueError(
        "it is in the memory of a GPU, and its type copies nothing to the host; allowed here: an "
        "array in host memory, or one of PyTorch, JAX, CuPy or Numba"
    )


#: Methods that are called with a vector.
_OF_VECTORS = ("dot", "matmul", "__matmul__", "matvec", "matmat", "mv", "mm", "solve")


def is_operator(array: Any) -> bool:
    """Whether it is a linear operator, such as SciPy's or a method of an array: products with
    vectors, without elements."""
    if hasattr(array, "__array__"):
        return False
    owner = getattr(array, "__self__", None)
    of_vectors = getattr(array, "__name__", "") in _OF_VECTORS
    is_method = owner is not None and not isinstance(owner, ModuleType)
    return hasattr(array, "matvec") or (is_method and of_vectors)


def _is_masked(array: Any) -> bool:
    """Whether it is a masked array, or a list that holds one: NumPy would drop the mask."""
    if isinstance(array, (list, tuple)):
        return any(_is_masked(v) for v in array if not isinstance(v, (int, float, complex)))
    masked = sys.modules.get("numpy.ma")  # which NumPy loads when it is first asked for
    return masked is not None and bool(masked.isMaskedArray(array))


def require_no_mask(array: Any, name: str) -> None:
    """Raises ValueError for a masked array."""
    if _is_masked(array):
        raise ValueError(f"{name} is a masked array; allowed: an array without a mask")


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def as_numpy(array: Any, name: str) -> NDArray[Any]:
    """The array in host memory: a view where its library gives one. ValueError by its type."""
    require_no_mask(array, name)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(array):
        raise ValueError(
            f"{name} is sparse; allowed: a dense array, such as {name}.toarray(). Sparse systems "
            "are those of scipy.sparse.linalg.spsolve"
        )
    if is_operator(array):
        raise ValueError(
            f"{name} is an operator ({_name_of(array)}), which has no elements; allowed: an "
            "array, or for a also a function of two index arrays. Operators are solved by "
            "scipy.sparse.linalg.gmres"
        )
    if callable(array) and not hasattr(array, "__array__"):
        raise ValueError(f"{name} is a function ({_name_of(array)}); allowed here: an array")
    try:
        if is_on_gpu(array):
            array = _to_host(array)
        elif library_of(array) == "torch":
            array = _of_torch(array)
        elif not hasattr(array, "__array__") and hasattr(array, "__dlpack__"):
            array = np.from_dlpack(array)
        found = np.asarray(array)
    except (TypeError, ValueError, BufferError) as error:
        raise ValueError(f"{name} cannot be made an array: {error}") from None
    kind, size = found.dtype.kind, found.dtype.itemsize
    if kind == "O" and found.ndim == 0:
        raise ValueError(
            f"{name} is of type {type(array).__name__}; allowed: an array of {_ALLOWED}"
        )
    if kind not in "biufc" or (kind, size) not in _SIZES and kind in "fc":
        raise ValueError(f"{name} has elements of type {found.dtype}; allowed: {_ALLOWED}")
    return found


#: Kinds and bytes of the floating-point numbers that are taken.
_SIZES = (("f", 4), ("f", 8), ("c", 8), ("c", 16))


def element_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What the compiled module takes for elements of this type: FP64, real or complex."""
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


def _leading_dimension(
    shape: tuple[int, ...], strides: tuple[int, ...], size: int
) -> tuple[int, bool] | None:
    """The leading dimension in elements and whether rows are contiguous, for strides and the size
    of an element in bytes; None where neither rows nor columns are contiguous."""
    m, n = shape
    for inner, outer, across, row_major in ((0, 1, m, False), (1, 0, n, True)):
        along = strides[inner] if shape[inner] > 1 else size
        ahead = strides[outer] if shape[outer] > 1 else size * max(across, 1)
        if along == size and ahead % size == 0 and ahead >= size * across:
            return ahead // size, row_major
    return None


def _is_ready(array: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether the elements can be read as they are."""
    return array.dtype == dtype and array.dtype.isnative and array.flags.aligned


def _require_square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise np.linalg.LinAlgError(f"a has the shape {tuple(shape)}; allowed: (n, n)")


def host_matrix(a: Any) -> tuple[HostMatrix, np.dtype[Any]]:
    """A as a matrix of (complex) doubles in host memory: in place where its rows or columns are
    contiguous, otherwise a copy. Also the type of its elements."""
    found = as_numpy(a, "a")
    _require_square(found.shape)
    n = found.shape[0]
    dtype = element_type(found.dtype)
    if _is_ready(found, dtype):
        there = _leading_dimension((n, n), found.strides, dtype.itemsize)
        if there is not None:
            return HostMatrix(found, *there), found.dtype
    copy = np.array(found, dtype=dtype, order="K", copy=True)
    there = _leading_dimension((n, n), copy.strides, dtype.itemsize)
    if there is None:  # strides that NumPy keeps, such as those of a broadcast array
        copy = np.array(found, dtype=dtype, order="C", copy=True)
        there = n, True
    return HostMatrix(copy, *there), found.dtype


def gpu_matrix(a: Any) -> GpuMatrix | None:
    """A matrix in a GPU's memory as it lies there; None where it has to be copied."""
    if library_of(a) == "torch":
        a = a.detach()  # the interface is not that of a tensor with a gradient
    interface = a.__cuda_array_interface__
    shape = tuple(interface["shape"])
    _require_square(shape)
    if interface["typestr"] != "<f8" or interface.get("mask") is not None or shape[0] == 0:
        return None
    strides = interface.get("strides") or (8 * shape[1], 8)
    there = _leading_dimension(shape, tuple(strides), 8)
    if there is None:
        return None
    device = getattr(a, "device", None)
    gpu = getattr(device, "id", getattr(device, "index", 0))
    return GpuMatrix(a, int(interface["data"][0]), *there, gpu=int(gpu or 0))


@dataclass
class Columns:
    """Right-hand sides as the compiled module takes them."""

    array: NDArray[Any]  #: (n, k), each column contiguous, of the numbers of a
    dtype: np.dtype[Any]  #: of b
    is_vector: bool  #: whether b has one dimension
    are_parts: (
        bool  #: whether they are the real parts and then the imaginary parts of k / 2 columns
    )


def right_hand_sides(b: Any, n: int | None, complex_: bool) -> Columns:
    """b for a matrix that is complex or is not. Of a real one, complex right-hand sides are two."""
    found = as_numpy(b, "b")
    if found.ndim not in (1, 2) or (n is not None and found.shape[0] != n):
        rows = "n" if n is None else n
        raise ValueError(f"b has the shape {found.shape}; allowed: ({rows},) or ({rows}, k)")
    is_vector = found.ndim == 1
    columns = found[:, np.newaxis] if is_vector else found
    dtype = np.dtype(np.complex128 if complex_ else np.float64)
    are_parts = found.dtype.kind == "c" and not complex_
    if are_parts:
        columns = np.concatenate([columns.real, columns.imag], axis=1)
    there = _leading_dimension(columns.shape, columns.strides, dtype.itemsize)
    in_place = (
        _is_ready(columns, dtype)
        and there is not None
        and (not there[1] or columns.shape[1] <= 1)
        and columns.strides[0] == dtype.itemsize
    )
    if not in_place:
        columns = np.array(columns, dtype=dtype, order="F", copy=True)
    return Columns(columns, found.dtype, is_vector, are_parts)


def column_stride(columns: NDArray[Any]) -> int:
    """The leading dimension of an array whose columns are contiguous."""
    rows, count = columns.shape
    return columns.strides[1] // columns.itemsize if count > 1 else max(rows, 1)


def result_type(*types: np.dtype[Any]) -> np.dtype[Any]:
    """FP32 where all are FP32, otherwise FP64; complex where one is; in native order."""
    single = all((t.kind, t.itemsize) in (("f", 4), ("c", 8)) for t in types)
    if any(t.kind == "c" for t in types):
        return np.dtype(np.complex64 if single else np.complex128)
    return np.dtype(np.float32 if single else np.float64)


@dataclass
class Rounded:
    """x in the type in which it is returned."""

    array: NDArray[Any]
    #: of each column (or of all together) the error of that, as a part of its largest number; and
    #: the largest error of an entry, as a part of that. None: there is none.
    errors: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def doubtful(self) -> list[int]:
        """Columns that may have no correct digit for it."""
        return [] if self.errors is None else np.flatnonzero(~(self.errors[0] < 0.5)).tolist()

    @property
    def doubt(self) -> str | None:
        return self.words(self.doubtful[0]) if self.doubtful else None

    def words(self, k: int) -> str:
        return (
            f"x may have no correct digit: that of right-hand side {k + 1} is beyond the range of "
            f"{self.array.dtype}, in which it is returned since a and b are of it"
        )


def _numbers(x: NDArray[Any]) -> NDArray[np.float64]:
    """The real and the imaginary parts of complex columns under each other."""
    parts = np.concatenate([x.real, x.imag]) if x.dtype.kind == "c" else x
    return parts.astype(np.float64)


def rounded(
    x: NDArray[Any],
    type_: np.dtype[Any],
    agreed: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
) -> Rounded:
    """x of shape (n, k) in another type.

    `agreed` gives the largest of the numbers that each rank has, where x is distributed.
    """
    if x.dtype.itemsize <= type_.itemsize or (x.size == 0 and agreed is None):
        return Rounded(x.astype(type_, copy=False))
    with np.errstate(all="ignore"):
        found = x.astype(type_)
        exact, seen = _numbers(x), _numbers(found)
        lost = np.where(exact == seen, 0.0, np.abs(exact - seen))
        of_entries = np.where(lost == 0, 0.0, lost / np.abs(seen))
        axis = 0 if agreed is None else None
        most = np.array([v.max(axis=axis, initial=0) for v in (lost, np.abs(seen), of_entries)])
        if agreed is not None:
            most = agreed(most).reshape(3, 1)
        of_x = np.where(most[0] == 0, 0.0, most[0] / most[1])
        # An x that is infinite is so in both.
        errors = [np.where(np.isnan(e), np.inf, e) for e in (of_x, most[2])]
    return Rounded(found, (errors[0], errors[1]))


def _knows_functions(array: Any) -> bool:
    """Whether its type has answers of its own to NumPy's functions, such as one with units."""
    of_numpy = np.ndarray.__array_function__
    return isinstance(array, np.ndarray) and type(array).__array_function__ is not of_numpy


def _of_subclass(
    x: NDArray[Any], given: tuple[Any, ...], function: Callable[..., Any]
) -> NDArray[Any]:
    """x as an array of the last one's subclass, but without anything that this one holds beside its
    numbers, such as a unit: that of x is another one. A type that has an answer of its own to
    `function` gets the unit of that answer: the one for a system of order one whose numbers are 1.
    """
    last = given[-1]
    if any(map(_knows_functions, given)):
        ones = []
        for v in given:
            dimensions = v.ndim if isinstance(v, np.ndarray) else np.ndim(v)
            ones.append(np.ones_like(v, dtype=x.dtype, shape=(1, 1)[:dimensions]))
        try:
            one = function(*ones)
        except TypeError:  # it has no such answer
            return x
        return cast("NDArray[Any]", x * one.reshape(()))
    kind = type(last)
    if not isinstance(last, np.ndarray) or kind in (np.ndarray, np.memmap):
        return x
    return x.view(kind)


def like(
    *arrays: Any, function: Callable[..., Any] = np.linalg.solve
) -> Callable[[NDArray[Any]], Any]:
    """A function that makes an array of NumPy one of the first library among these arrays that is
    not NumPy, on the same device. Where all are NumPy's, see _of_subclass(): `function` is that of
    NumPy that x comes of."""
    for array in arrays:
        library = library_of(array)
        if library == "torch":
            torch = sys.modules["torch"]
            return lambda x: torch.from_numpy(x).to(array.device)
        if library == "cupy":
            cupy = sys.modules["cupy"]

            def to_cupy(x: NDArray[Any]) -> Any:
                with array.device:
                    return cupy.asarray(x)

            return to_cupy
        if library == "jax":
            jax = sys.modules["jax"]
            return lambda x: jax.device_put(x, array.device)
    return lambda x: _of_subclass(x, arrays, function)


def of_library(given: Any) -> Callable[[Any], Any]:
    """A function that makes numbers of NumPy those of the library of `given`."""
    if library_of(given) in ("", "numpy"):
        return lambda x: x
    back = like(given)
    return lambda x: back(np.asarray(x))
