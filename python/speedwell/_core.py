# SPDX-License-Identifier: BSD-3-Clause
"""The compiled modules, and which of them serves a call.

``_alone`` is for a process alone: it holds no MPI library and needs none. ``_mpi`` is linked with
the MPI library that the package was built with. It is loaded when a communicator of mpi4py is
given, so MPI is there and initialized by then.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from types import ModuleType

T = TypeVar("T")

# One thread of a process at a time may call the library. A child of fork() has another lock, since
# it does not have the thread that held this one: users read it as an attribute of this module.
lock = threading.RLock()


def _renew_lock() -> None:
    global lock
    lock = threading.RLock()


# A fork waits while a module is loaded: the child would wait for the thread that has begun it. So a
# call asks for no module that NumPy loads when it is first asked for, such as numpy.ma.
loading = threading.RLock()
os.register_at_fork(
    before=loading.acquire, after_in_parent=loading.release, after_in_child=loading.release
)
os.register_at_fork(after_in_child=_renew_lock)


def _once(load: Callable[[], ModuleType]) -> Callable[[], ModuleType]:
    """`load`, called once in a process."""
    cached = functools.cache(load)

    @functools.wraps(load)
    def loaded() -> ModuleType:
        with loading:
            return cached()

    return functools.cache(loaded)


@_once
def alone() -> ModuleType:
    """The module of a process alone."""
    from ._blas import load
    from ._cuda import load_libraries

    load_libraries()
    module = load("speedwell._alone")
    atexit.register(_end, module)
    return module


@_once
def with_mpi() -> ModuleType:
    """The module that is linked with MPI. Raises ImportError with what to do about it."""
    from mpi4py import MPI

    from ._blas import load
    from ._cuda import load_libraries

    load_libraries()
    try:
        module = load("speedwell._mpi")
    except ImportError as error:
        raise ImportError(
            f"this speedwell cannot use {MPI.get_vendor()[0]}, the MPI of mpi4py ({error}); "
            "build it with that MPI: pip install --no-binary speedwell speedwell"
        ) from error
    built_with = module.describe()["mpi"]
    if not module.is_started():
        raise ImportError(
            f"mpi4py uses {MPI.get_vendor()[0]}, but speedwell was built with {built_with}; "
            "build it with the MPI of mpi4py: pip install --no-binary speedwell speedwell"
        )
    atexit.register(_end, module)
    return module


def _require_mpi() -> None:
    if importlib.import_module("mpi4py.MPI").Is_finalized():
        raise ValueError("MPI has ended; allowed: calls with a communicator before MPI.Finalize()")


@functools.cache
def gpus(module: ModuleType) -> int:
    """The GPUs that this process sees."""
    return int(module.describe()["gpus"])


class Communicator:
    """The ranks of a call: None for this process alone, or a communicator of mpi4py."""

    def __init__(self, comm: Any) -> None:
        if comm is None:
            self.module, self.address = alone(), 0
        else:
            MPI = importlib.import_module("mpi4py.MPI")
            if not isinstance(comm, MPI.Comm) or comm == MPI.COMM_NULL:
                raise ValueError(
                    f"comm is {comm!r}; allowed: None or a communicator of mpi4py that this "
                    "rank belongs to"
                )
            _require_mpi()
            self.module, self.address = with_mpi(), MPI._addressof(comm)
        self.of_mpi4py = comm
        self.rank: int = self.module.rank(self.address)
        self.size: int = self.module.ranks(self.address)

    def require_use(self) -> None:
        """Raises ValueError where these ranks can communicate no longer."""
        if self.of_mpi4py is not None:
            _require_mpi()

    def agreed(self, make: Callable[[], T]) -> T:
        """What `make` returns, which does not communicate. An exception that it raises on one rank
        is raised on all of them, so that none waits for a rank that has given up."""
        if self.size == 1:
            return make()
        made, error = None, None
        try:
            made = make()
        except Exception as raised:  # whatever a user's object raises
            error = raised
        words = self.of_mpi4py.allgather(None if error is None else str(error) or repr(error))
        if error is not None:
            raise error
        for rank, why in enumerate(words):
            if why is not None:
                raise ValueError(f"rank {rank}: {why}")
        return cast("T", made)

    def require_same(self, what: str, mine: str) -> None:
        """Raises ValueError on all ranks where `mine` is not the same on all. Collective."""
        if self.size == 1:
            return
        texts = self.of_mpi4py.allgather(mine)
        for rank, text in enumerate(texts):
            if text != texts[0]:
                raise ValueError(
                    f"{what} is {text} on rank {rank} and {texts[0]} on rank 0; allowed: the same "
                    "on all"
                )


def _end(module: ModuleType) -> None:
    """Ends a call of another thread and waits for it, before the interpreter ends: that would end
    the thread in the middle of C++, which ends the process with words about it."""
    module.end_calls(True)
    if lock.acquire(timeout=10):
        module.end_calls(False)


def release() -> None:
    """Gives back what solves have kept on GPUs for later ones: streams, handles, and at most an
    eighth of each GPU's memory. The next solve makes them anew."""
    with lock:
        alone().release()


def describe() -> dict[str, Any]:
    """What Speedwell finds on this machine: versions, processor, kernels of BLAS, GPUs."""
    return dict(alone().describe())
