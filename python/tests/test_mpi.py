# SPDX-License-Identifier: BSD-3-Clause
"""Several ranks of mpi4py: each test is a program that mpirun starts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
PROGRAM = Path(__file__).parent / "mpi_program.py"
CASES = [
    "function",
    "dense",
    "block_cyclic",
    "other_blocks",
    "complex_systems",
    "factorization",
    "errors",
    "progress",
    "interrupted",
    "alone_beside",
    "benchmark",
    "parts_of_world",
]


def launched(ranks, *words):
    launcher = shutil.which("mpirun")
    if launcher is None:
        pytest.skip("no mpirun")
    command = [launcher, "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    return subprocess.run(
        [*command, sys.executable, "-m", "mpi4py", str(PROGRAM), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", CASES)
def test_ranks(ranks, case):
    ran = launched(ranks, case)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("done") == ranks


def test_mpi_is_initialized_once():
    program = """
from mpi4py import MPI
import numpy as np, speedwell
assert MPI.Is_initialized() and not MPI.Is_finalized()
a = np.eye(800) + 1e-3
x = speedwell.solve(a, np.ones(800), comm=MPI.COMM_WORLD)
y = speedwell.solve(a, np.ones(800), comm=MPI.COMM_SELF)
assert np.allclose(x, y)
assert not MPI.Is_finalized()
f = speedwell.factor(a, comm=MPI.COMM_WORLD)
MPI.Finalize()
for call in (
    lambda: f.solve(np.ones(800)),
    lambda: f.condition,
    lambda: speedwell.solve(a, np.ones(800), comm=MPI.COMM_WORLD),
):
    try:
        call()
    except ValueError as error:
        assert str(error).startswith("MPI has ended; allowed: "), error
    else:
        raise AssertionError
f.close()
z = speedwell.solve(a, np.ones(800))  # a process alone needs no MPI
assert np.allclose(x, z)
print("done")
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0 and "done" in ran.stdout, ran.stderr
