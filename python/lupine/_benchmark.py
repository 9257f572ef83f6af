# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks HPL-MxP and HPL, run here or predicted for a simulated machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ._core import Communicator, lock
from ._errors import in_keywords
from ._results import BenchmarkResult
from ._solve import _progress, _whole


def _order(n: int | None) -> int | None:
    return None if n is None else _whole("n", n, "1 or more, or None for the largest that fits")


def _run(
    which: str, n: int | None, comm: Any, progress: Any, given: dict[str, Any]
) -> BenchmarkResult:
    ranks = Communicator(comm)
    order = ranks.agreed(lambda: _order(n))
    options = {**given, "n": order or 0}
    with lock:
        text = ranks.module.benchmark(ranks.address, which, options, _progress(progress))
    return BenchmarkResult(json.loads(text))


def mxp(
    n: int | None = None, *, comm: Any = None, progress: Any = None, **options: Any
) -> BenchmarkResult:
    """Runs HPL-MxP: LU in low precision, refined to FP64.

    Parameters
    ----------
    n : int, optional
        order of the matrix; None: the largest that fits
    comm : mpi4py communicator, optional
        the ranks that run it together; this process alone by default
    progress : function or tqdm bar, optional
        see :func:`lupine.solve`
    **options
        the options of ``lupine mxp``, with ``_`` for ``-``: nb, precision, time_target ...
    """
    return _run("hpl-mxp", n, comm, progress, options)


def hpl(
    n: int | None = None, *, comm: Any = None, progress: Any = None, **options: Any
) -> BenchmarkResult:
    """Runs HPL: LU in FP64 with partial pivoting, and one solve; parameters as for :func:`mxp`."""
    return _run("hpl", n, comm, progress, options)


def _program() -> str:
    """The program that predicts: that of the package, else one in PATH."""
    own = Path(__file__).parent / "bin" / "lupine-predict"
    found = str(own) if own.exists() else shutil.which("lupine-predict")
    if found is None:
        raise RuntimeError(
            "this build of lupine has no predictions: they need SimGrid 3.32 or later when it is "
            "built (Debian: libsimgrid-dev)"
        )
    return found


def predict(
    benchmark: str = "mxp", machine: str = "h200", n: int | None = None, **options: Any
) -> BenchmarkResult:
    """Predicts HPL-MxP ("mxp") or HPL ("hpl") on a machine that is not here.

    Parameters
    ----------
    benchmark : {"mxp", "hpl"}
    machine : str
        a shipped machine, such as "h200", "h200-x8", "h200-cluster", or a path to a machine file
    n : int, optional
        order of the matrix; by default the largest that fits
    **options
        the options of ``lupine predict``, with ``_`` for ``-``: ranks, nb, precision ...
    """
    if benchmark not in ("mxp", "hpl"):
        raise ValueError(f"benchmark is {benchmark!r}; allowed: 'mxp', 'hpl'")
    order = _order(n)
    words = [_program(), "predict", benchmark, "--machine", str(machine)]
    if order is not None:
        words += ["-N", str(order)]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predicted.json"
        ran = subprocess.run(
            [*words, "--json", str(path)], capture_output=True, text=True, check=False
        )
        if ran.returncode == 2:
            raise ValueError(in_keywords(ran.stderr.strip().splitlines()[-1]))
        if ran.returncode != 0 or not path.exists():
            raise RuntimeError(f"lupine-predict failed: {ran.stderr.strip()}")
        return BenchmarkResult(json.loads(path.read_text(encoding="utf-8")))
