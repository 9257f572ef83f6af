# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions and warnings. The compiled modules raise them by name."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._results import SolveInfo

    class AccuracyWarning(RuntimeWarning): ...


__all__ = ["AccuracyError", "AccuracyWarning", "Fault", "Interrupted", "SingularMatrixError"]


class SingularMatrixError(np.linalg.LinAlgError):
    """A is singular: a pivot of its FP64 LU is exactly zero.

    ``pivot`` is the index of that pivot, counted from 0: a column of A, as LAPACK counts. Several
    ranks count columns of A^T where A is in C order, and the text then says so.
    """

    def __init__(self, words: str, pivot: int = -1) -> None:
        super().__init__(words)
        self.pivot = pivot


class AccuracyError(np.linalg.LinAlgError):
    """No x as accurate as asked for was found, or some right-hand sides have an Inf or NaN; with
    ``strict``, also an x that may have no correct digit (``info.doubt``).

    ``best`` is the best x that was found, NaN in columns without any, or None without usable
    factors. ``info`` has its errors, and says which columns are solved.
    """

    best: Any = None
    info: SolveInfo | Any = None  # None: of a stack, a form or a determinant
    _solution: Any = None  # of the compiled module, until `best` and `info` are made of it


class Fault(RuntimeError):
    """Memory, MPI, a GPU or a file system failed.

    ``rank`` is the only rank that knows of it, or -1 where all ranks do. Other ranks may wait for
    that rank for ever, so the program should end them all (``comm.Abort()``).
    """

    def __init__(self, words: str, rank: int = -1) -> None:
        super().__init__(words)
        self.rank = rank


class Interrupted(RuntimeError):
    """Another rank was interrupted, or its progress function raised an exception."""


def _accuracy_warning() -> type[Warning]:
    from . import _core

    base: type[Warning] = RuntimeWarning
    # A SciPy that is not there or cannot be imported must not keep anybody from a solution.
    with contextlib.suppress(Exception), _core.loading:
        from scipy.linalg import LinAlgWarning

        base = LinAlgWarning
    words = """x may have no correct digit: the text says why.

    A scipy.linalg.LinAlgWarning where SciPy is installed, otherwise a RuntimeWarning.
    """
    return type("AccuracyWarning", (base,), {"__doc__": words, "__module__": __name__})


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """AccuracyWarning, made when it is first asked for, since SciPy takes long to import."""
        if name != "AccuracyWarning":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Of several threads, the first one's class is that of all.
        return globals().setdefault(name, _accuracy_warning())


_KEYWORDS = {"N": "n", "NB": "nb", "P": "nprow", "Q": "npcol", "pivot": "pivoting"}
_OPTION = re.compile(r"(?<![^\s(])(?:-[A-Z]+[/,])?(?:-([A-Z]+)|--([a-z][a-z-]*))(?![\w-])")


def in_keywords(words: str) -> str:
    """These words, with Python's keywords in the place of the command's options."""

    def keyword(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return _KEYWORDS.get(name, name.replace("-", "_"))

    return _OPTION.sub(keyword, words)


def inaccurate(words: str, solution: Any) -> AccuracyError:
    """The AccuracyError of a solve. The caller gives it its ``best`` and ``info``."""
    error = AccuracyError(words)
    error._solution = solution
    return error
