# SPDX-License-Identifier: BSD-3-Clause
"""The keywords of calls and their types, for type checkers. The names are those of
core/option_fields.hpp, which checks them when a call is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

#: True and False, also as SciPy's users write them.
Flag = bool | np.bool_ | Literal[0, 1]
Function = Callable[[Any, Any], Any]
#: What gives x as an array of NumPy.
Matrix = NDArray[Any] | Sequence[Any] | Function
Columns = NDArray[Any] | Sequence[Any]

#: One matrix, and a stack, as far as NumPy's types tell.
One = np.ndarray[tuple[int, int], Any]
Stack = np.ndarray[tuple[int, int, int], Any] | np.ndarray[tuple[int, int, int, int], Any]

Precision = Literal["auto", "fp16", "bf16", "fp16x3", "fp32", "fp64"]
Refine = Literal["auto", "ir", "gmres"]
Device = Literal["auto", "cpu", "cuda"]
Broadcast = Literal[
    "ibcast", "1ring", "1ring-modified", "2ring", "2ring-modified", "long", "long-modified"
]
Form = Literal[
    "gen",
    "general",
    "sym",
    "symmetric",
    "her",
    "hermitian",
    "pos",
    "positive definite",
    "diagonal",
    "tridiagonal",
    "banded",
    "upper triangular",
    "lower triangular",
]
Trans = Literal[False, True, 0, 1, 2, "N", "T", "C"]


class SystemOptions(TypedDict, total=False):
    """Those of solve() and of factor()."""

    precision: Precision
    first: Precision
    refine: Refine
    tolerance: float | None
    max_iterations: int
    equilibrate: Flag
    condition: Flag | Literal["off", "on", "full"]
    strict: Flag
    accuracy: Literal["auto", "backward", "forward", "certified"]
    probe_seed: int
    comm: Any  # of mpi4py
    overwrite_a: Flag
    check_finite: Flag
    progress: Any  # a function or a bar of tqdm
    device: Device
    threads: int | None
    nb: int
    nporder: Literal["row", "column"]
    nprow: int
    npcol: int
    lookahead: int
    bcast: Broadcast
    chunk: int
    gpus: Sequence[int]
    reserve: int
    fp64: Literal["native", "emulated"]
    stall_timeout: float


class SolveOptions(SystemOptions, total=False):
    assume_a: Form | None
    lower: Flag
    transposed: Flag
    overwrite_b: Flag


class FactorOptions(SystemOptions, total=False):
    n: int | None


class BenchmarkOptions(TypedDict, total=False):
    """Those of mxp() and hpl(); None leaves one to Speedwell."""

    nb: int | Sequence[int] | None
    nporder: Literal["row", "column"] | None
    nprow: int | Sequence[int] | None
    npcol: int | Sequence[int] | None
    lookahead: int | Sequence[int] | None
    bcast: Broadcast | Sequence[Broadcast] | None
    chunk: int | None
    device: Device | None
    gpus: Sequence[int] | None
    reserve: int | None
    fp64: Literal["native", "emulated"] | None
    threads: int | None
    stall_timeout: float | None
    precision: Precision | None
    pivoting: Literal["none", "partial"] | None
    nbmin: int | Sequence[int] | None
    ndiv: int | Sequence[int] | None
    matrix: Literal["scaled-diagonal", "fasi-higham", "dominant", "hpl"] | None
    kappa: float | None
    rho: float | None
    seed: int | None
    refine: Refine | None
    max_iterations: int | None
    threshold: float | None
    memory_fraction: float | None
    time_target: float | None
