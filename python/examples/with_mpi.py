# SPDX-License-Identifier: BSD-3-Clause
"""One system on several ranks of mpi4py, each of which computes its part of the matrix.

    mpirun -n 4 python -m mpi4py with_mpi.py [N]

`-m mpi4py` ends all ranks where one of them fails.
"""

import sys

import numpy as np
from mpi4py import MPI

import speedwell


def main(n: int = 2000) -> None:
    world = MPI.COMM_WORLD

    def element(i, j):
        return 1 / (1 + np.abs(i - j)) + (i == j)

    x, info = speedwell.solve(element, np.ones(n), comm=world, return_info=True)
    if world.rank == 0:
        grid = f"{info.chosen['nprow']} x {info.chosen['npcol']}"
        print(f"n = {n} on a {grid} grid: backward error {info.backward_errors[0]:.1e}")
    assert info.converged and x.shape == (n,)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
