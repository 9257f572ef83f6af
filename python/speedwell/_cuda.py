# SPDX-License-Identifier: BSD-3-Clause
"""Finds CUDA's libraries in Python's ``nvidia`` packages, where the loader does not."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

# In the order in which they need each other. NCCL is for several GPUs.
_LIBRARIES = ("libcublasLt.so.*", "libcublas.so.*", "libnccl.so.*")


def load_libraries(driver: Path = Path("/proc/driver/nvidia/version")) -> list[str]:
    """Loads those that are there, on a machine with NVIDIA's driver. Returns their paths."""
    if not driver.exists() or not (Path(__file__).parent / "libspeedwell_cuda.so").exists():
        return []
    loaded = []
    for pattern in _LIBRARIES:
        for folder in map(Path, sys.path):
            found = sorted(folder.glob(f"nvidia/*/lib/{pattern}"))
            if not found:
                continue
            try:
                ctypes.CDLL(str(found[-1]), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
            loaded.append(str(found[-1]))
            break
    return loaded
