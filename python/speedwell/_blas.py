# SPDX-License-Identifier: BSD-3-Clause
"""Loads a compiled module, and shares NumPy's LAPACK with it.

While it is loaded, OpenBLAS takes memory for each of its threads. Where the address space is
limited (``ulimit -v``) to less, it asks again and again without end, so the limit is looked at
before.
"""

from __future__ import annotations

import importlib
import mmap
import os
import re
import resource
import sys
from types import ModuleType

from ._version import BLAS_BUFFER_MIB

# MiB that the modules and their libraries map beside OpenBLAS's buffers, with some room.
_LIBRARIES_MIB = 96
_MODULES = ("speedwell._alone", "speedwell._mpi")


def _threads() -> int:
    """The threads for which OpenBLAS takes memory as it is loaded."""
    cores = len(os.sched_getaffinity(0))
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        asked = re.match(r"\d+", os.environ.get(name, ""))
        if asked and int(asked[0]) > 0:
            return min(int(asked[0]), cores)
    return cores


def require_space() -> None:
    """Raises ImportError where a limit of the address space leaves too little for a module."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    if any(name in sys.modules for name in _MODULES):
        return
    threads = _threads()
    needed = threads * BLAS_BUFFER_MIB + _LIBRARIES_MIB
    try:
        mmap.mmap(-1, needed << 20, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ).close()
    except (OSError, MemoryError):
        raise ImportError(
            "the limit of the address space (ulimit -v) leaves no memory for Speedwell's "
            f"libraries: they need {needed} MiB with {threads} thread{'' if threads == 1 else 's'} "
            "of OpenBLAS; allowed: a larger one, or fewer threads (OMP_NUM_THREADS)"
        ) from None


def numpy_lapack() -> tuple[list[int], list[int], list[int], int] | None:
    """The addresses of gemm, getrf and getrs for the letters s, d, c and z, and of the function
    that tells the number of threads, of the OpenBLAS with threads of its own and integers of 64
    bits that NumPy's wheels hold. None where NumPy has another library, and where the address space
    is limited: at its first call, this OpenBLAS ends a process that has no room for its buffers."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return None
    import ctypes

    from numpy.linalg import _umath_linalg

    library = ctypes.CDLL(_umath_linalg.__file__)
    for prefix in ("scipy_", ""):

        def address(name: str) -> int:
            found = library[f"{prefix}{name}64_"]  # noqa: B023, which is called in this turn
            return ctypes.cast(found, ctypes.c_void_p).value or 0

        try:
            if library[f"{prefix}openblas_get_parallel64_"]() != 1:
                continue
            gemm, getrf, getrs = (
                [address(f"{t}{r}_") for t in "sdcz"] for r in ("gemm", "getrf", "getrs")
            )
            return gemm, getrf, getrs, address("openblas_get_num_threads")
        except AttributeError:
            continue
    return None


def load(name: str) -> ModuleType:
    """Imports the module, and shares NumPy's LAPACK with it: so the threads that NumPy's calls have
    left spinning have work. Raises ImportError where a limit leaves no memory for it."""
    require_space()
    module = importlib.import_module(name)
    routines = numpy_lapack()
    if routines is not None:
        module.share_lapack(*routines)
    return module


# As Speedwell is imported, and before NumPy, whose own OpenBLAS ends the process where it gets too
# little.
require_space()
