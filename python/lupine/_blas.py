# SPDX-License-Identifier: BSD-3-Clause
"""Loads a compiled module with the OpenBLAS kernels that suit the processor.

OpenBLAS chooses its kernels when it is loaded, and an older one takes slow kernels on a processor
that it does not know. Where Lupine has an OpenBLAS of its own, it can still be told what to take:
this is done here, before the module loads it. An OpenBLAS that the process had loaded before, such
as that of a NumPy of the Linux distribution, stays as it is, and so do its threads.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

_VARIABLE = "OPENBLAS_CORETYPE"


def best_kernels(flags: set[str]) -> str | None:
    """The kernels to ask for on a processor with these flags of /proc/cpuinfo."""
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "SkylakeX"
    if {"avx2", "fma"} <= flags:
        return "Haswell"
    return None


def _flags() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def load_with_best_kernels(name: str) -> ModuleType:
    """Imports the module. A choice that the user has made by OPENBLAS_CORETYPE stays."""
    wanted = best_kernels(_flags())
    if _VARIABLE in os.environ or wanted is None:
        return importlib.import_module(name)
    os.environ[_VARIABLE] = wanted
    try:
        return importlib.import_module(name)
    finally:
        del os.environ[_VARIABLE]
