# SPDX-License-Identifier: BSD-3-Clause
"""solve() and factor()."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import operator
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, overload

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _core, _errors, _stacks
from ._core import Communicator, alone, gpus
from ._determinants import Determinants
from ._distributed import BlockCyclicArray
from ._results import SlogdetResult, SolveInfo

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Columns, Flag, Matrix, SolveOptions, Trans


def _boolean(name: str, value: Any) -> bool:
    """A bool, also one that is written 0 or 1, as SciPy's users do."""
    known = isinstance(value, (bool, np.bool_, int, np.integer)) and value in (0, 1)
    if not known:
        raise ValueError(f"{name} is {value!r}; allowed: True or False")
    return bool(value)


def _whole(name: str, value: Any, allowed: str = "1 or more") -> int:
    """A whole number of 1 or more, of Python or NumPy."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} is {value!r}; allowed: a whole number of {allowed}")
    return number


_TRANS = {False: "no", True: "yes", 2: "conjugate", "N": "no", "T": "yes", "C": "conjugate"}


def _transpose(trans: Any) -> str:
    """a, a.T or its conjugate: by a bool, a number of SciPy, or a letter of LAPACK."""
    try:
        return _TRANS[trans]
    except (KeyError, TypeError):
        raise ValueError(
            f"trans is {trans!r}; allowed: False, True, 0, 1, 2, 'N', 'T' or 'C'"
        ) from None


def _progress(given: Any) -> Callable[[int, int, float], None] | None:
    """A function of (columns done, n, seconds) from such a function, or from a bar of tqdm."""
    if given is None:
        return None
    if not hasattr(given, "update"):
        return cast("Callable[[int, int, float], None]", given)
    bar, last = given, 0

    def show(done: int, n: int, _seconds: float) -> None:
        nonlocal last
        if done < last:  # a later step begins again
            bar.reset(n)
            last = 0
        bar.total = n
        bar.update(done - last)
        last = done

    return show


def _filler(function: Callable[..., Any], name: str) -> Callable[..., None]:
    """Fills a block by a function of two index arrays that broadcast against each other."""

    def fill(i: NDArray[np.int64], j: NDArray[np.int64], out: NDArray[Any]) -> None:
        given = function(i[:, np.newaxis], j[np.newaxis, :])
        _arrays.require_no_mask(given, f"{name}(i, j)")
        values = np.asarray(given)
        if values.dtype.kind not in ("biufc" if out.dtype.kind == "c" else "biuf"):
            first = "; its first element is real" if values.dtype.kind == "c" else ""
            raise ValueError(
                f"{name}(i, j) gives type {values.dtype}{first}; allowed: numbers of one kind, "
                "real or complex"
            )
        if values.shape not in (out.shape, ()):
            raise ValueError(
                f"{name}(i, j) gives the shape {values.shape} for i of shape {(i.size, 1)} and j "
                f"of shape {(1, j.size)}; allowed: {out.shape}"
            )
        out[...] = values

    return fill


def _type_of(function: Callable[..., Any], ranks: Communicator) -> np.dtype[Any]:
    """The type of a function's elements, by the first one; a shape that is not allowed shows later.
    What the function raises is raised here, and it is not called again; but of several ranks, one
    raises where all of them learn of it, when its elements are asked for."""
    first = np.zeros((1, 1), dtype=np.int64)
    try:
        return _arrays.element_type(np.asarray(function(first, first)).dtype)
    except Exception:
        if ranks.size == 1:
            raise
        return np.dtype(np.float64)


class _Matrix:
    """A as the compiled module takes it, with the options that follow from where it lies.

    Made without communication. With several ranks, an array is that of rank 0, and `complete` tells
    the other ranks its form.
    """

    def __init__(self, ranks: Communicator, a: Any, n: int | None, options: dict[str, Any]) -> None:
        self.ranks = ranks
        self.owner: Any = a  # of the memory
        self.options: dict[str, Any] = {}
        self.type = np.dtype(np.float64)
        self.n = n
        self.source: Any = None
        self.array: _arrays.HostMatrix | None = None  # where it lies on this rank
        self.is_array = False
        make = ranks.module.Matrix
        if isinstance(a, BlockCyclicArray):
            self.n = _order(a.distribution.shape[0], n)
            local = a.checked(ranks.rank, "a")
            self.owner = local
            self.type = local.dtype
            self.options = _grid_options(a)
            self.source = make.block_cyclic(_descriptor(a, local), _address(local), self.is_complex)
        elif _is_function(a):
            if n is None:
                raise ValueError("a is a function; needed: its order, by b or by n=")
            _require_two_arguments(a)
            self.owner = _filler(a, "a")
            self.type = _type_of(a, ranks) if n > 0 else self.type
            self.source = make.function(n, self.owner, self.is_complex)
        elif ranks.size > 1 and ranks.rank > 0:
            self.is_array = True
        elif (gpu := self._on_gpu(a, options)) is not None:
            self.n = _order(a.shape[0], n)
            self.options = {"device": "cuda", "gpus": [gpu.gpu]}
            self.source = make.dense(self.n, gpu.address, gpu.ld, gpu.row_major, False)
        else:
            self.is_array = True
            self.array, self.type = _arrays.host_matrix(a)
            self.n = _order(self.array.array.shape[0], n)

    def _on_gpu(self, a: Any, options: dict[str, Any]) -> _arrays.GpuMatrix | None:
        """A where it lies in a GPU's memory, if it is to be solved there."""
        if not _arrays.is_on_gpu(a) or self.ranks.size > 1 or options["device"] == "cpu":
            return None
        if options["device"] == "auto" and (
            len(a) <= self.ranks.module.small_limit or gpus(self.ranks.module) == 0
        ):
            return None
        return _arrays.gpu_matrix(a)

    @property
    def is_complex(self) -> bool:
        """Of an array on rank 0, on other ranks after complete()."""
        return bool(self.type.kind == "c")

    @property
    def kind(self) -> str:
        """What has to be the same on all ranks."""
        if self.is_array:
            return "an array"
        form = "a BlockCyclicArray" if isinstance(self.owner, np.ndarray) else "a function"
        return f"{form} of type {self.type}"

    def complete(self) -> None:
        """Collective."""
        if self.source is not None:
            return
        there = self.array
        row_major = there is not None and there.row_major
        if self.ranks.size > 1:
            self.n, self.type, row_major = self.ranks.of_mpi4py.bcast(
                (self.n, self.type, row_major)
            )
        address, ld = (there.address, there.ld) if there else (0, self.order)
        self.source = self.ranks.module.Matrix.dense(
            self.order, address, max(ld, 1), row_major, self.is_complex
        )

    def sample(self) -> NDArray[Any]:
        """Elements of all rows and columns, beside the diagonal and far from it, of an array that
        lies on this rank."""
        if self.array is None:
            return np.empty(0)
        a = self.array.array
        i, n = np.arange(len(a)), len(a)
        return np.stack([a[i, (i + shift) % n] for shift in (0, 1, n // 3, n - 1)])

    @property
    def order(self) -> int:
        """The order of A, after complete()."""
        return cast("int", self.n)


def _require_two_arguments(function: Callable[..., Any]) -> None:
    """Raises ValueError for a function that cannot be called with two index arrays, as far as
    Python knows, such as one of a vector."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise ValueError(
            f"a cannot be called as a(i, j): {error}; allowed: an array, or a function of two "
            "index arrays"
        ) from None
    except ValueError:  # one of a compiled module
        return


def _is_array(a: Any) -> bool:
    return not (_is_function(a) or isinstance(a, BlockCyclicArray))


def _shared(ranks: Communicator, b: Any) -> Any:
    """b of rank 0 on every rank, where the others have None. Collective."""
    if ranks.size == 1:
        return b
    missing = ranks.of_mpi4py.allgather(b is None)
    if not any(missing):
        return b
    if missing[0]:
        raise ValueError("b is None on rank 0; allowed: an array there, and None on other ranks")

    def there() -> Any:
        return _arrays.as_numpy(b, "b") if ranks.rank == 0 else None

    return ranks.of_mpi4py.bcast(ranks.agreed(there))


def _rows(b: Any) -> int:
    """The rows of b, which are checked later."""
    shape = np.shape(b) if not hasattr(b, "shape") else b.shape
    if len(shape) not in (1, 2):
        raise ValueError(f"b has the shape {tuple(shape)}; allowed: (n,) or (n, k)")
    return int(shape[0])


def _is_function(a: Any) -> bool:
    """Whether it is one of indices. An operator is called with a vector."""
    return callable(a) and not hasattr(a, "__array__") and not _arrays.is_operator(a)


def _order(found: int, asked: int | None) -> int:
    if asked is not None and asked != found:
        raise ValueError(f"a is of order {found}; allowed: {asked}, the order by b or by n=")
    return found


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _descriptor(a: BlockCyclicArray, local: NDArray[Any]) -> list[int]:
    ld = local.strides[1] // local.itemsize if min(local.shape) > 1 else max(local.shape[0], 1)
    return a.distribution.descriptor(max(ld, 1))


def _grid_options(a: BlockCyclicArray) -> dict[str, Any]:
    p, q = a.distribution.grid
    return {"nprow": p, "npcol": q, "nporder": a.distribution.order}


class _RightHandSide:
    """b as the compiled module takes it, and x in the form of b."""

    def __init__(self, ranks: Communicator, b: Any, n: int | None, complex_: bool) -> None:
        make = ranks.module.RightHandSide
        self.ranks = ranks
        self.type = np.dtype(np.float64)
        self.is_vector = False
        self.are_parts = False
        self.is_complex = complex_
        self.distribution = None
        if isinstance(b, BlockCyclicArray):
            self.columns = b.checked(ranks.rank, "b")
            self.type = self.columns.dtype
            if (self.type.kind == "c") != complex_:
                if not complex_:
                    raise ValueError(
                        "the parts of b are complex and a is real; allowed: real parts and "
                        "imaginary parts as two right-hand sides"
                    )
                self.columns = self.columns.astype(np.complex128)
            self.distribution = b.distribution
            self.n, self.count = b.distribution.shape
            descriptor = _descriptor(b, self.columns)
            self.rows, self.ld = self.columns.shape[0], descriptor[8]
            self.source = make.block_cyclic(descriptor, _address(self.columns), complex_)
        else:
            given = _arrays.right_hand_sides(b, n, complex_)
            self.columns, self.type = given.array, given.dtype
            self.is_vector, self.are_parts = given.is_vector, given.are_parts
            self.n, self.count = self.columns.shape
            self.rows = self.ld = self.n
        if n is not None and self.n != n:
            raise ValueError(f"b has {self.n} rows; allowed: {n}, the order of a")
        if self.distribution is None or self.count == 0:
            # Without columns, one of zeros: a and the options are checked all the same.
            self.read = (
                self.columns
                if self.count
                else np.zeros((self.n, 1), dtype=self.columns.dtype, order="F")
            )
            one = make.dense if ranks.size == 1 else make.on_every_rank
            self.source = one(
                self.read.shape[1],
                _address(self.read),
                _arrays.column_stride(self.read),
                complex_,
            )

    @property
    def kind(self) -> str:
        """What has to be the same on all ranks."""
        form = "an array" if self.distribution is None else "a BlockCyclicArray"
        return f"{form} of {self.count} columns"

    def x(self, solution: Any, type_: np.dtype[Any]) -> _arrays.Rounded:
        """The columns of x."""
        if self.n == 0 or self.count == 0:
            x = np.empty_like(self.columns)
        elif self.is_complex:  # pairs of numbers
            x = solution.take_x(2 * self.rows, 2 * self.ld).T.view(np.complex128).T
        else:
            x = solution.take_x(self.rows, self.ld)
        if self.are_parts:
            half = self.count // 2
            x = x[:, :half] + 1j * x[:, half:]
        shared = self.distribution is not None and self.ranks.size > 1
        return _arrays.rounded(x, type_, self._largest if shared else None)

    def _largest(self, mine: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.max(self.ranks.of_mpi4py.allgather(mine), axis=0))

    def like_b(self, x: NDArray[Any]) -> Any:
        """x in the form of b."""
        if self.distribution is not None:
            return BlockCyclicArray(self.distribution, x)
        return x[:, 0] if self.is_vector else x


def _type_of_x(solution: Any, type_: np.dtype[Any]) -> np.dtype[Any]:
    """FP64 with proven bounds, which do not hold for an x that is rounded once more."""
    if type_.char in "fF" and solution.info()["accuracy"] == "certified":
        return np.promote_types(type_, np.float64)
    return type_


def _warn(words: str) -> None:
    """Warns in the name of the line that called the package, also where SciPy is between."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and _root(frame) in ("speedwell", "scipy", "numpy"):
        level, frame = level + 1, frame.f_back
    warnings.warn(words, _errors.AccuracyWarning, stacklevel=level)


def _root(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).split(".")[0]


def _options(
    ranks: Communicator,
    precision: str,
    refine: str,
    tolerance: float | None,
    equilibrate: bool,
    condition: bool | str,
    strict: bool,
    accuracy: str,
    device: str,
    threads: int | None,
    further: dict[str, Any],
) -> dict[str, Any]:
    """The options as the compiled module takes them. Raises ValueError where it does not."""
    if isinstance(condition, (bool, np.bool_)):
        condition = "on" if condition else "off"
    options = {
        "precision": precision,
        "refine": refine,
        "equilibrate": _boolean("equilibrate", equilibrate),
        "condition": condition,
        "strict": _boolean("strict", strict),
        "accuracy": accuracy,
        "device": device,
        **further,
    }
    if tolerance is not None:
        options["tolerance"] = tolerance
    if threads is not None:
        options["threads"] = threads
    ranks.module.check_options(options)
    return options


def _solved(
    call: Callable[[], Any],
    b: _RightHandSide,
    type_: np.dtype[Any],
    back: Callable[[Any], Any],
    return_info: bool,
    strict: bool,
    warn: Callable[[str], None],
) -> Any:
    """x of one call of the compiled module, as its caller wants it."""
    with _core.lock:
        try:
            solution = call()
        except _errors.AccuracyError as error:
            found, error._solution = error._solution, None
            if found.has_x or not b.columns.size:
                x = b.x(found, _type_of_x(found, type_))
                error.best, error.info = back(b.like_b(x.array)), _info(found, b, x)
            else:
                error.best, error.info = None, _info(found, b)
            raise
        x = b.x(solution, _type_of_x(solution, type_))
        doubt = "; ".join(words for words in (solution.doubt, x.doubt) if words)
        if x.doubt and strict:
            beyond = _errors.AccuracyError(x.doubt)
            beyond.best, beyond.info = back(b.like_b(x.array)), _info(solution, b, x)
            raise beyond
        if doubt:
            warn(doubt)
        if return_info:
            return back(b.like_b(x.array)), _info(solution, b, x)
        return back(b.like_b(x.array))


def _info(solution: Any, b: _RightHandSide, x: _arrays.Rounded | None = None) -> SolveInfo:
    """With the errors of an x that was rounded once more."""
    info = SolveInfo._from(solution.info())
    info = dataclasses.replace(info, columns=info.columns[: b.count])
    if x is None or x.errors is None:
        return info
    of_x, of_entries = (np.resize(errors, len(info.columns)) for errors in x.errors)
    columns = [
        dataclasses.replace(
            column,
            forward_bound=column.forward_bound + float(of_x[k]),
            componentwise_bound=column.componentwise_bound + float(of_entries[k]),
        )
        for k, column in enumerate(info.columns)
    ]
    doubt = "; ".join(words for words in (info.doubt, x.doubt) if words) or None
    return dataclasses.replace(info, columns=columns, doubt=doubt)


def _solve(
    a: Any,
    b: Any,
    *,
    precision: str = "auto",
    refine: str = "auto",
    tolerance: float | None = None,
    equilibrate: bool = True,
    condition: bool | str = True,
    strict: bool = False,
    accuracy: str = "auto",
    comm: Any = None,
    device: str = "auto",
    threads: int | None = None,
    assume_a: str | None = None,
    lower: bool = False,
    transposed: bool = False,
    check_finite: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    return_info: bool = False,
    progress: Any = None,
    **options: Any,
) -> Any:
    """Solves a x = b: LU in low precision, refined until x is as accurate as one of FP64.

    Stacks of small systems and matrices of a form that `assume_a` names are solved with LAPACK's
    factors in FP64, refined too; those of which there is anything to say once more as general ones.

    Parameters
    ----------
    a : (n, n) or (..., n, n) array, function, or BlockCyclicArray
        An array of NumPy, or of another library with DLPack or ``__cuda_array_interface__``, of
        FP64 or FP32 numbers, real or complex, with any strides; it is not changed. A stack of
        matrices, (..., n, n), is solved as numpy.linalg.solve does it. A function ``a(i, j)`` gets
        index arrays of shape (m, 1) and (1, k) and returns the (m, k) elements. With `comm`, an
        array is that of rank 0, and None on other ranks.
    b : (n,) or (n, k) or (..., n, k) array, or BlockCyclicArray
        The right-hand sides; a stack broadcasts against that of a. With `comm`, an array is the
        same on every rank, or None on all ranks but 0.
    precision : {"auto", "fp16", "bf16", "fp16x3", "fp32", "fp64"}
        of the LU. "auto": steps of increasing precision, as far as the measured errors ask for.
    refine : {"auto", "ir", "gmres"}
        how x is refined. "auto": iterative refinement, then GMRES.
    tolerance : float, optional
        largest componentwise backward error; max(4, sqrt(n)) 2**-53 by default.
    equilibrate : bool
        whether rows and columns are scaled by powers of two.
    condition : bool or "full"
        whether the condition number (in the infinity norm) and bounds of the errors are
        estimated; "full": bounds from each residual, also for more than 8 right-hand sides.
    strict : bool
        whether an x that may have no correct digit is an AccuracyError, not an AccuracyWarning.
    accuracy : {"auto", "backward", "forward", "certified"}
        what is refined: the backward error, or, with "forward", x itself to its last digit, by
        residuals in twice FP64's precision, for one general system. "certified": with proven bounds
        of its errors, by an approximate inverse; x is then FP64.
        "auto": as with "forward", where that is measured to be cheap.
    comm : mpi4py communicator, optional
        the ranks that solve together; this process alone by default.
    device : {"auto", "cpu", "cuda"}
    threads : int, optional
        threads of this process; as many as OpenMP would use, at most one a core, by default.
    assume_a : str, optional
        a form as in scipy.linalg.solve: "sym", "her", "pos" (of which the upper triangle is read,
        or with `lower` the lower one), "diagonal", "tridiagonal", "banded", "upper triangular",
        "lower triangular"; None and "gen": general.
    transposed : bool
        whether a.T x = b is solved.
    overwrite_a, overwrite_b, check_finite : bool
        accepted as in scipy.linalg.solve, without effect: the refinement reads a and b, and Inf and
        NaN are always looked for.
    return_info : bool
        whether to return (x, SolveInfo) in place of x.
    progress : function or tqdm bar, optional
        called with (columns done, n, seconds) while a is factored, on rank 0.
    **options
        further options of a run, such as nb, lookahead, max_iterations, first: docs/options.md.

    Returns
    -------
    x : array of the library, the shape and the device of the input, FP32 where a and b both are

    Raises
    ------
    LinAlgError
        a is not square
    ValueError
        shapes, types, options, Inf or NaN that are not allowed
    SingularMatrixError
        a pivot is exactly zero
    AccuracyError
        no x is accurate enough; the best one is its attribute ``best``
    MemoryError
        the system does not fit

    Warns
    -----
    AccuracyWarning
        x may have no correct digit
    """
    ranks = Communicator(comm)
    by_itself = comm is None and _is_array(a) and _is_array(b)

    def take_form() -> str:
        for name, value in (
            ("lower", lower),
            ("transposed", transposed),
            ("overwrite_a", overwrite_a),
            ("overwrite_b", overwrite_b),
            ("check_finite", check_finite),
            ("return_info", return_info),
        ):
            _boolean(name, value)
        named = _stacks.form_of(assume_a)
        if not by_itself and (transposed or named != "general"):
            raise ValueError(
                "transposed and assume_a are for arrays of one process; allowed: neither of them"
            )
        return named

    def checked() -> dict[str, Any]:
        return _options(
            ranks,
            precision,
            refine,
            tolerance,
            equilibrate,
            condition,
            strict,
            accuracy,
            device,
            threads,
            options,
        )

    form = ranks.agreed(take_form)
    if by_itself and (form != "general" or not _stacks.is_plain(a, b)):
        if (
            precision not in ("auto", "fp64")
            or device == "cuda"
            or accuracy in ("forward", "certified")
            or return_info
        ):
            raise ValueError(
                "return_info, a device, accuracy='forward' or 'certified', and a precision below "
                "FP64 are for one general system; allowed for stacks and assume_a: none of them"
            )
        given = checked()
        x, doubt = _stacks.solve(
            ranks,
            a,
            b,
            form,
            lower=bool(lower),
            transposed=bool(transposed),
            options=given,
            one=functools.partial(_one, ranks, given, progress),
        )
        if doubt and strict:
            raise _errors.AccuracyError(doubt)
        if doubt:
            _warn(doubt)
        return _arrays.like(a, b)(x)
    if transposed:
        a = _arrays.as_numpy(a, "a").T if _arrays.library_of(a) == "" else a.T
    return _solve_one(ranks, a, _shared(ranks, b), checked, progress, return_info, _warn)


def _one(
    ranks: Communicator,
    options: dict[str, Any],
    progress: Any,
    a: NDArray[Any],
    b: NDArray[Any],
    warn: Callable[[str], None],
) -> NDArray[Any]:
    """x of one system of a stack, and what a warning would say of it."""
    x = _quickly(a, b) if {**options, "strict": False} == _PLAIN else None
    if x is None:
        x = _solve_one(ranks, a, b, options.copy, progress, False, warn)
    return cast("NDArray[Any]", x)


def _solve_one(
    ranks: Communicator,
    a: Any,
    b: Any,
    options: Callable[[], dict[str, Any]],
    progress: Any,
    return_info: bool,
    warn: Callable[[str], None],
) -> Any:
    """x of one general system. `options` are those that the compiled module takes."""

    def take() -> tuple[dict[str, Any], _Matrix]:
        given = options()
        order = None
        if _is_function(a):
            order = b.distribution.shape[0] if isinstance(b, BlockCyclicArray) else _rows(b)
        return given, _Matrix(ranks, a, order, given)

    given, matrix = ranks.agreed(take)
    ranks.require_same("the system", matrix.kind)
    matrix.complete()
    right = ranks.agreed(lambda: _RightHandSide(ranks, b, matrix.n, matrix.is_complex))
    ranks.require_same("the system", f"{matrix.kind} with {right.kind}")
    type_ = _arrays.result_type(matrix.type, right.type)
    back = _arrays.like(a, b)
    if right.n == 0:
        x = back(right.like_b(right.x(None, type_).array))
        return (x, None) if return_info else x
    given.update(matrix.options)
    return _solved(
        lambda: ranks.module.solve(
            ranks.address,
            matrix.source,
            right.source,
            given,
            _progress(progress),
        ),
        right,
        type_,
        back,
        return_info,
        given["strict"],
        warn,
    )


#: What solve() takes where nothing else is asked for, by name.
_DEFAULTS = {name: one.default for name, one in inspect.signature(_solve).parameters.items()}
#: The same as the compiled module takes it.
_PLAIN = {
    **{n: _DEFAULTS[n] for n in ("precision", "refine", "equilibrate", "accuracy", "device")},
    "condition": "on",
    "strict": False,
}
#: Options that change no x that quick_solve() gives.
_OF_NO_EFFECT = {"strict", "check_finite", "overwrite_a", "overwrite_b"}


def _is_default(name: str, value: Any) -> bool:
    return value is _DEFAULTS.get(name, inspect.Parameter.empty) or (
        name in _OF_NO_EFFECT and type(value) in (bool, int) and 0 <= value <= 1
    )


def _quickly(a: Any, b: Any) -> Any:
    """x of a small system of which there is nothing to say but x; None for all others."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        return None
    x = np.empty_like(b, order="F")
    with _core.lock:
        return x if alone().quick_solve(a, b, x) else None


@overload
def solve(
    a: Matrix, b: Columns, *, return_info: Literal[False] = ..., **options: Unpack[SolveOptions]
) -> NDArray[Any]: ...
@overload
def solve(
    a: Matrix, b: Columns, *, return_info: Literal[True], **options: Unpack[SolveOptions]
) -> tuple[NDArray[Any], SolveInfo]: ...
@overload
def solve(
    a: Any, b: Any, *, return_info: Literal[True], **options: Unpack[SolveOptions]
) -> tuple[Any, SolveInfo]: ...
@overload
def solve(a: Any, b: Any, *, return_info: Flag = ..., **options: Unpack[SolveOptions]) -> Any: ...
@functools.wraps(_solve, assigned=("__doc__",))
def solve(a: Any, b: Any, **options: Any) -> Any:
    if not options or all(itertools.starmap(_is_default, options.items())):
        x = _quickly(a, b)
        if x is not None:
            return x
    return _solve(a, b, **options)


class Factorization:
    """The factors of a matrix, which solve for many right-hand sides.

    Made by :func:`factor`. Where the factors are too weak for a right-hand side, a is factored in
    a higher precision, and those factors are kept. The array a must stay as it is meanwhile;
    `solve` compares a sample of its elements, and raises ValueError where they have changed. With
    several ranks, all methods are collective, and `close` has to be called by all of them.
    """

    def __init__(
        self, ranks: Communicator, a: Any, matrix: _Matrix, factors: Any, strict: bool
    ) -> None:
        self._ranks = ranks
        self._given = a
        self._matrix = matrix
        self._factors = factors
        self._strict = strict
        self._sample = matrix.sample()

    def _open(self) -> Any:
        self._ranks.require_use()
        return self._factors

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Factorization cannot be copied or pickled, since its factors are memory of this "
            "process; allowed: to use it in several places, or to factor again"
        )

    def _require_same(self) -> None:
        if not np.array_equal(self._sample, self._matrix.sample()):
            raise ValueError(
                "a was changed after factor(); allowed: to factor again, or to change a copy"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)"""
        return (self._matrix.order, self._matrix.order)

    @property
    def precision(self) -> str:
        """What the update of the present factors' LU read: "bf16", "fp32", "fp64" ..."""
        with _core.lock:
            return str(self._open().precision())

    @property
    def condition(self) -> float:
        """The condition number of the scaled matrix in the infinity norm, estimated when it is
        first asked for; infinity where the factors tell no more than that it is large."""
        with _core.lock:
            value, at_least = self._open().condition(False)
            return float("inf") if at_least else float(value)

    @overload
    def solve(
        self, b: Any, trans: Trans = ..., *, return_info: Literal[True]
    ) -> tuple[Any, SolveInfo]: ...
    @overload
    def solve(self, b: Any, trans: Trans = ..., *, return_info: Flag = ...) -> Any: ...
    def solve(self, b: Any, trans: Any = False, *, return_info: Any = False) -> Any:
        """x with a x = b; with a.T x = b where `trans` is True, 1 or "T"; with a.conj().T x = b
        where it is 2 or "C". See :func:`solve`."""
        return self._solve(b, trans, return_info, _arrays.like(self._given, b), _warn)

    def _solve(
        self,
        b: Any,
        trans: Any,
        return_info: bool,
        back: Callable[[NDArray[Any]], Any],
        warn: Callable[[str], None],
    ) -> Any:
        factors = self._open()
        b = _shared(self._ranks, b)

        def take() -> tuple[str, _RightHandSide]:
            _boolean("return_info", return_info)
            self._require_same()
            right = _RightHandSide(self._ranks, b, self._matrix.n, self._matrix.is_complex)
            return _transpose(trans), right

        transpose, right = self._ranks.agreed(take)
        self._ranks.require_same("b", right.kind)
        type_ = _arrays.result_type(self._matrix.type, right.type)
        return _solved(
            lambda: factors.solve(right.source, transpose),
            right,
            type_,
            back,
            return_info,
            self._strict,
            warn,
        )

    def inv(self) -> Any:
        """The inverse: x for the columns of the identity, refined."""
        one = np.eye(self._matrix.order, dtype=_arrays.result_type(self._matrix.type))
        back = _arrays.like(self._given, function=np.linalg.inv)
        return self._solve(one, False, False, back, _warn)

    def slogdet(self) -> SlogdetResult:
        """The sign of the determinant and the logarithm of its magnitude, as numpy.linalg.slogdet:
        by the pivots of factors in FP64, which are made, and kept, where there are none yet."""
        found = self._determinant().slogdet((), _arrays.result_type(self._matrix.type))
        return SlogdetResult(*map(_arrays.of_library(self._given), found))

    def det(self) -> Any:
        """The determinant; infinite where it is beyond the range of its type."""
        found = self._determinant().det((), _arrays.result_type(self._matrix.type))
        return _arrays.of_library(self._given)(found)

    def _determinant(self) -> Determinants:
        found = Determinants.unknown(1, self._matrix.is_complex)
        value, doubt = self._judged_determinant()
        found.put(0, value)
        if doubt:
            _warn(doubt)
        return found

    def _judged_determinant(self) -> tuple[tuple[complex, float, complex, int], str]:
        """As Determinants.put() takes it, and why no digit may be certain."""
        with _core.lock:
            try:
                *value, doubt = self._open().determinant()
            except _errors.AccuracyError as error:
                error._solution = None
                raise
        return tuple(value), doubt

    def close(self) -> None:
        """Releases the memory of the factors."""
        with _core.lock:
            self._factors.close()

    def __enter__(self) -> Factorization:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        with _core.lock:
            state = ", closed" if self._factors.is_closed else f" in {self.precision}"
        return f"<Factorization of a {self.shape[0]} x {self.shape[1]} matrix{state}>"


def factor(
    a: Any,
    *,
    n: int | None = None,
    precision: str = "auto",
    refine: str = "auto",
    tolerance: float | None = None,
    equilibrate: bool = True,
    condition: bool | str = True,
    strict: bool = False,
    accuracy: str = "auto",
    comm: Any = None,
    device: str = "auto",
    threads: int | None = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    progress: Any = None,
    **options: Any,
) -> Factorization:
    """Factors a once for many solves; the parameters are those of :func:`solve`.

    `n` is the order of a function ``a(i, j)``.
    """
    ranks = Communicator(comm)

    def take() -> tuple[dict[str, Any], _Matrix]:
        _boolean("overwrite_a", overwrite_a)
        _boolean("check_finite", check_finite)
        given = _options(
            ranks,
            precision,
            refine,
            tolerance,
            equilibrate,
            condition,
            strict,
            accuracy,
            device,
            threads,
            options,
        )
        order = None if n is None else _whole("n", n)
        return given, _Matrix(ranks, a, order, given)

    given, matrix = ranks.agreed(take)
    ranks.require_same("a", matrix.kind)
    matrix.complete()
    given.update(matrix.options)
    with _core.lock:
        factors = ranks.module.Factors(ranks.address, matrix.source, given, _progress(progress))
    return Factorization(ranks, a, matrix, factors, given["strict"])


def aslinearoperator(factors: Factorization) -> Any:
    """The inverse as a scipy.sparse.linalg.LinearOperator, such as a preconditioner needs it."""
    from scipy.sparse.linalg import LinearOperator

    dtype = factors._matrix.type

    def apply(v: NDArray[Any], trans: Trans) -> NDArray[Any]:
        return np.asarray(factors.solve(np.asarray(v), trans=trans))

    return LinearOperator(
        shape=factors.shape,
        dtype=_arrays.element_type(dtype),
        matvec=lambda v: apply(v, "N"),
        rmatvec=lambda v: apply(v, "C"),
        matmat=lambda v: apply(v, "N"),
        rmatmat=lambda v: apply(v, "C"),
    )
