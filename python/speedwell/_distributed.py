# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that are distributed over the ranks of MPI as ScaLAPACK does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import element_type


def _indices(size: int, block: int, processes: int, first: int, me: int) -> NDArray[np.int64]:
    """The global indices of a process's rows or columns, in their local order."""
    blocks = np.arange((me - first) % processes, -(-size // block), processes, dtype=np.int64)
    indices = (blocks[:, np.newaxis] * block + np.arange(block, dtype=np.int64)).ravel()
    return indices[indices < size]


class BlockCyclic:
    """The block-cyclic distribution of a matrix over a P x Q grid of ranks, as in ScaLAPACK.

    Parameters
    ----------
    n : int
        rows
    nb : int or (int, int)
        rows and columns of a block
    grid : (int, int)
        P and Q; P Q is the number of ranks
    columns : int, optional
        columns of the matrix; n where it is not given
    order : {"row", "column"}
        whether consecutive ranks lie in a row or a column of the grid
    source : (int, int)
        process row and column that have the first block
    """

    def __init__(
        self,
        n: int,
        nb: int | tuple[int, int],
        grid: tuple[int, int],
        *,
        columns: int | None = None,
        order: str = "row",
        source: tuple[int, int] = (0, 0),
    ) -> None:
        blocks = (nb, nb) if isinstance(nb, (int, np.integer)) else tuple(nb)
        self.shape = (int(n), int(n if columns is None else columns))
        self.blocks = (int(blocks[0]), int(blocks[1]))
        self.grid = (int(grid[0]), int(grid[1]))
        self.order = order
        self.source = (int(source[0]), int(source[1]))
        if min(self.shape) < 0 or min(self.blocks) < 1 or min(self.grid) < 1:
            raise ValueError(
                f"BlockCyclic of shape {self.shape}, blocks {self.blocks}, grid {self.grid}; "
                "allowed: shape of 0 or more, blocks and grid of 1 or more"
            )
        if order not in ("row", "column"):
            raise ValueError(f"order is {order!r}; allowed: 'row', 'column'")
        if not all(0 <= s < p for s, p in zip(self.source, self.grid)):
            raise ValueError(f"source is {self.source}; allowed: a place in the grid {self.grid}")

    def __repr__(self) -> str:
        return f"BlockCyclic(shape={self.shape}, blocks={self.blocks}, grid={self.grid})"

    def position(self, rank: int) -> tuple[int, int]:
        """The row and the column of a rank in the grid."""
        p, q = self.grid
        if not 0 <= rank < p * q:
            raise ValueError(f"rank {rank} is not in the grid {self.grid}")
        return (rank // q, rank % q) if self.order == "row" else (rank % p, rank // p)

    def indices(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The global indices of a rank's rows and of its columns."""
        at = self.position(rank)
        rows, columns = (
            _indices(self.shape[d], self.blocks[d], self.grid[d], self.source[d], at[d])
            for d in (0, 1)
        )
        return rows, columns

    def local_shape(self, rank: int) -> tuple[int, int]:
        """The shape of a rank's part."""
        rows, columns = self.indices(rank)
        return rows.size, columns.size

    def local(self, whole: ArrayLike, rank: int) -> NDArray[Any]:
        """A rank's part of a matrix that this rank has whole."""
        rows, columns = self.indices(rank)
        part = np.asarray(whole)[np.ix_(rows, columns)]
        return np.asfortranarray(part, dtype=element_type(part.dtype))

    def array(self, local: ArrayLike) -> BlockCyclicArray:
        """The distributed matrix of which this rank's part is `local`."""
        return BlockCyclicArray(self, np.asarray(local))

    def descriptor(self, ld: int) -> list[int]:
        """ScaLAPACK's array descriptor."""
        return [1, 0, *self.shape, *self.blocks, *self.source, ld]


@dataclass(frozen=True)
class BlockCyclicArray:
    """A matrix that is distributed over the ranks: its distribution and this rank's part."""

    distribution: BlockCyclic
    local: NDArray[Any]

    def checked(self, rank: int, name: str) -> NDArray[Any]:
        """The part as (complex) doubles, column-major: in place where it is that already."""
        shape = self.distribution.local_shape(rank)
        if self.local.shape != shape or self.local.dtype.kind not in "biufc":
            raise ValueError(
                f"the part of {name} on rank {rank} has the shape {self.local.shape} and type "
                f"{self.local.dtype}; allowed: {shape}, real or complex numbers"
            )
        return np.asfortranarray(self.local, dtype=element_type(self.local.dtype))
