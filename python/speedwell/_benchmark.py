# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks HPL-MxP and HPL, run here or predicted for a simulated machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _core
from ._core import Communicator
from ._errors import in_keywords
from ._results import BenchmarkResult
from ._solve import _progress, _whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import BenchmarkOptions

_LISTS = ("n", "nb", "nprow", "npcol", "lookahead", "bcast", "nbmin", "ndiv")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, range, np.ndarray)) and np.ndim(value) > 0


def _order(n: int | None) -> int | None:
    return None if n is None else _whole("n", n, "1 or more, or None for the largest that fits")


def _path(name: str, given: Any) -> str:
    """A path that the option names; empty for None."""
    if given is None:
        return ""
    try:
        path = os.fsdecode(given)
    except TypeError:
        path = ""
    if not path:
        raise ValueError(f"{name} is {given!r}; allowed: a path, or None")
    return path


def _run(
    which: str,
    n: Any,
    comm: Any,
    progress: Any,
    repeat: int,
    trace: Any,
    profile: Any,
    given: dict[str, Any],
) -> BenchmarkResult:
    if isinstance(comm, str):  # the option --comm of the command
        comm, given = None, {**given, "comm": comm}
    ranks = Communicator(comm)

    def read() -> tuple[dict[str, Any], dict[str, list[Any]], int, str, str]:
        options = {name: value for name, value in given.items() if value is not None}
        lists = {name: list(options.pop(name)) for name in _LISTS if _is_list(options.get(name))}
        if _is_list(n):
            lists["n"] = [_order(order) for order in n]
        else:
            options["n"] = _order(n) or 0
        place = "" if profile == "none" else _path("profile", profile)
        return options, lists, _whole("repeat", repeat), place, _path("trace", trace)

    options, lists, times, place, traced = ranks.agreed(read)
    with _core.lock:
        text = ranks.module.benchmark(
            ranks.address, which, options, lists, times, place, traced, _progress(progress)
        )
    return BenchmarkResult(json.loads(text))


def mxp(
    n: Any = None,
    *,
    comm: Any = None,
    progress: Any = None,
    repeat: int = 1,
    trace: Any = None,
    profile: Any = None,
    **options: Unpack[BenchmarkOptions],
) -> BenchmarkResult:
    """Runs HPL-MxP: LU in low precision, refined to FP64.

    Parameters
    ----------
    n : int or list of int, optional
        order of the matrix; None: the largest that fits
    comm : mpi4py communicator, optional
        the ranks that run it together; this process alone by default. A text is the command's
        option ``--comm``, as ``result.asked`` has it.
    progress : function or tqdm bar, optional
        see :func:`speedwell.solve`
    repeat : int
        runs of each configuration; ``result.runs`` has all of them
    trace : path, optional
        file for a Chrome trace of what every rank did when
    profile : path, optional
        a profile of ``speedwell tune``, which is read; none by default
    **options
        the options of ``speedwell mxp``, with ``_`` for ``-``: nb, precision, time_target ...; None
        leaves one to Speedwell. Of n, nb, nprow, npcol, lookahead, bcast, nbmin and ndiv a list may
        be given, as in HPL.dat: every combination runs. ``mxp(**result.asked)`` is the same run
        again.
    """
    return _run("hpl-mxp", n, comm, progress, repeat, trace, profile, {**options})


def hpl(
    n: Any = None,
    *,
    comm: Any = None,
    progress: Any = None,
    repeat: int = 1,
    trace: Any = None,
    profile: Any = None,
    **options: Unpack[BenchmarkOptions],
) -> BenchmarkResult:
    """Runs HPL: LU in FP64 with partial pivoting, and one solve; parameters as for :func:`mxp`."""
    return _run("hpl", n, comm, progress, repeat, trace, profile, {**options})


def _words(name: str, value: Any) -> list[str]:
    """An option of the command: True gives it without a value, None and False leave it out, a list
    becomes its values with commas between them."""
    if value is None or value is False:
        return []
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    return [option, ",".join(map(str, value)) if _is_list(value) else str(value)]


def _program() -> str:
    """The program that predicts: that of the package, else one in PATH."""
    own = Path(__file__).parent / "bin" / "speedwell-predict"
    found = str(own) if own.exists() else shutil.which("speedwell-predict")
    if found is None:
        raise RuntimeError(
            "this build of speedwell has no predictions; allowed: one with SimGrid 3.32 or later "
            "(Debian: libsimgrid-dev), by pip install . --config-settings "
            "cmake.define.SPEEDWELL_PREDICT=ON, or a speedwell-predict in PATH"
        )
    return found


def predict(
    benchmark: Literal["mxp", "hpl", "solve"] = "mxp",
    machine: str = "h200",
    n: Any = None,
    **options: Any,
) -> BenchmarkResult:
    """Predicts HPL-MxP ("mxp"), HPL ("hpl"), or the steps of a system of your own ("solve") on a
    machine that is not here.

    Parameters
    ----------
    benchmark : {"mxp", "hpl", "solve"}
    machine : str
        a shipped machine, such as "h200", "h200-x8", "h200-cluster", or a path to a machine file
    n : int or list of int, optional
        order of the matrix; by default the largest that fits ("solve": it must be given)
    **options
        the options of ``speedwell predict``, with ``_`` for ``-``: ranks, nb, precision ...; True
        for an option without a value, such as ``complex=True``, and a list for one of several
        values, such as ``nb=[1024, 2048]``
    """
    if benchmark not in ("mxp", "hpl", "solve"):
        raise ValueError(f"benchmark is {benchmark!r}; allowed: 'mxp', 'hpl', 'solve'")
    orders = [_order(order) for order in n] if _is_list(n) else _order(n)
    words = [_program(), "predict", benchmark, "--machine", str(machine), *_words("n", orders)]
    for name, value in options.items():
        words += _words(name, value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predicted.json"
        ran = subprocess.run(
            [*words, "--json", str(path)], capture_output=True, text=True, check=False
        )
        if ran.returncode == 2:
            raise ValueError(in_keywords(ran.stderr.strip().splitlines()[-1]))
        if ran.returncode != 0 or not path.exists():
            raise RuntimeError(f"speedwell-predict failed: {ran.stderr.strip()}")
        return BenchmarkResult(json.loads(path.read_text(encoding="utf-8")))
