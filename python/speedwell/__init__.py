# SPDX-License-Identifier: BSD-3-Clause
"""Speedwell: dense linear systems at the speed of low precision, to the accuracy of FP64.

>>> import numpy as np
>>> import speedwell
>>> a = np.array([[4.0, 2.0], [1.0, 3.0]])
>>> speedwell.solve(a, np.array([8.0, 7.0]))
array([1., 2.])
"""

from typing import TYPE_CHECKING, Any

# First _blas, which looks at the limit of the address space before NumPy is there.
from . import _blas, _errors
from ._benchmark import hpl, mxp, predict
from ._core import describe, release
from ._distributed import BlockCyclic, BlockCyclicArray
from ._errors import AccuracyError, Fault, Interrupted, SingularMatrixError
from ._linalg import FactorizationStack, det, inv, lu_factor, lu_solve, slogdet
from ._linalg import factor_any as factor
from ._results import BenchmarkResult, SolveColumn, SolveInfo, SolveStep
from ._solve import Factorization, aslinearoperator, solve
from ._version import __version__

_blas.require_space()  # beside NumPy

if TYPE_CHECKING:
    from ._errors import AccuracyWarning

__all__ = [
    "AccuracyError",
    "AccuracyWarning",
    "BenchmarkResult",
    "BlockCyclic",
    "BlockCyclicArray",
    "Factorization",
    "FactorizationStack",
    "Fault",
    "Interrupted",
    "SingularMatrixError",
    "SolveColumn",
    "SolveInfo",
    "SolveStep",
    "__version__",
    "aslinearoperator",
    "describe",
    "det",
    "factor",
    "hpl",
    "inv",
    "lu_factor",
    "lu_solve",
    "mxp",
    "predict",
    "release",
    "slogdet",
    "solve",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "AccuracyWarning":  # which is made when it is first asked for
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _errors.AccuracyWarning


def __dir__() -> list[str]:
    return sorted(__all__)
