# SPDX-License-Identifier: BSD-3-Clause
"""Outcomes of calls, as objects with attributes."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _table(rows: list[tuple[str, Any]]) -> str:
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(_short(value))}</td></tr>"
        for name, value in rows
    )
    return f"<table>{cells}</table>"


@dataclass(frozen=True)
class SolveStep:
    """One step of a solve: factors of one precision, and the refinement with them."""

    precision: str  #: what the update of the LU read: "fp16", "bf16", "fp16x3", "fp32" or "fp64"
    solved: bool  #: whether it solved all right-hand sides that were left
    why: str | None  #: why it did not
    factor_seconds: float  #: of scaling and rounding A, and LU
    refine_seconds: float  #: of the refinement of all right-hand sides
    iterations: int  #: corrections of all right-hand sides
    bad_pivot: int | None  #: index of a pivot that is zero or not finite
    growth: float  #: max |u_ij| / max |a_ij| of the scaled matrix; NaN where it was not measured
    rotated: bool  #: whether random rotations mixed A before the LU, against such a growth


@dataclass(frozen=True)
class SolveColumn:
    """The errors of one right-hand side's x. Norms are infinity norms, r = b - A x."""

    precision: str  #: of the step that gave x
    method: str  #: "ir" or "gmres", which ended its refinement
    iterations: int  #: corrections in that step
    converged: bool  #: whether x was accepted
    componentwise_error: float  #: max |r| / (|A||x| + |b|); NaN where it was not measured
    backward_error: float  #: ||r|| / (||A|| ||x|| + ||b||)
    hpl_residual: float  #: backward_error / (n 2^-53); NaN where it was not measured
    forward_bound: float  #: estimated bound of ||x - x*|| / ||x||; NaN: not asked for, inf: unknown
    why: str | None  #: why x was not accepted, where b is the reason
    accurate: bool  #: whether x was refined to its last digit (``accuracy="forward"``)
    componentwise_bound: float  #: of max |x - x*| / |x| of an accurate x; NaN: no bound of entries
    certified: bool  #: whether the two bounds are proven (``accuracy="certified"``)


@dataclass(frozen=True)
class SolveInfo:
    """How a system was solved, and how accurate x is."""

    n: int  #: order of A
    precision: str | None  #: of the last step, which gave the answer
    converged: bool  #: whether every x was accepted
    condition: float  #: of the scaled A in the infinity norm, estimated; NaN: not asked for
    condition_at_least: bool  #: whether ``condition`` is a lower bound only
    equilibrated: bool  #: whether scales other than 1 were used
    norm_a: float  #: infinity norm of A
    seconds: float  #: of scales, factors and refinement of all steps
    load_seconds: float  #: of getting A
    check_seconds: float  #: of errors, condition number and bounds
    steps: list[SolveStep]
    columns: list[SolveColumn]
    doubt: str | None  #: why x may have no correct digit
    accuracy: str  #: what was refined: "backward", "forward" or "certified"
    accuracy_reason: str | None  #: of "auto": the measured cost by which it was chosen
    probe_seed: int  #: of the random vectors that judged a and x: given again, it repeats the bits
    notes: list[str]  #: other warnings
    reason: str | None  #: why the first step's precision was chosen
    device_description: str  #: of the device
    fp64_products: str | None  #: of a GPU: native or emulated, and by which settings
    panel_width: int | None  #: columns of a step of the factorization
    memory: dict[str, int | None]  #: bytes that each rank was planned to need, and had free
    proof: dict[str, Any]  #: with ``accuracy="certified"``: its cost, and what it has shown
    chosen: dict[str, Any] = field(repr=False)  #: options of the run, with Speedwell's choices

    @classmethod
    def _from(cls, given: dict[str, Any]) -> SolveInfo:
        given["steps"] = [SolveStep(**step) for step in given["steps"]]
        given["columns"] = [SolveColumn(**column) for column in given["columns"]]
        return cls(**given)

    def _of_columns(self, name: str) -> NDArray[np.float64]:
        return np.array([getattr(column, name) for column in self.columns], dtype=np.float64)

    @property
    def iterations(self) -> int:
        """Corrections of all right-hand sides in all steps."""
        return sum(step.iterations for step in self.steps)

    @property
    def backward_errors(self) -> NDArray[np.float64]:
        """The normwise backward error of each right-hand side's x."""
        return self._of_columns("backward_error")

    @property
    def componentwise_errors(self) -> NDArray[np.float64]:
        """The componentwise backward error of each right-hand side's x."""
        return self._of_columns("componentwise_error")

    @property
    def forward_bounds(self) -> NDArray[np.float64]:
        """An estimated bound of the relative error of each right-hand side's x."""
        return self._of_columns("forward_bound")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as dicts, lists, texts and numbers."""
        return asdict(self)

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("solved", self.converged),
            ("n", self.n),
            ("right-hand sides", len(self.columns)),
            ("precision", " → ".join(step.precision for step in self.steps)),
            ("iterations", self.iterations),
            ("backward error", float(np.max(self.backward_errors, initial=0.0))),
            ("forward bound", float(np.max(self.forward_bounds, initial=0.0))),
            ("condition", self.condition),
            ("seconds", self.seconds),
        ]
        if self.doubt is not None:
            rows.append(("doubt", self.doubt))
        return _table(rows + [("note", note) for note in self.notes])


class BenchmarkResult:
    """The outcome of HPL-MxP or HPL, run or predicted: what ``speedwell --json`` writes.

    The names at the top of that document are attributes: ``result.gflops``,
    ``result.scaled_residual``, ``result.lu["seconds"]``.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_document"][name]
        except KeyError:
            raise AttributeError(f"a benchmark's result has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted(set(super().__dir__()) | set(self._document))

    @property
    def seconds(self) -> float:
        """Seconds of factorization and refinement, of the slowest rank."""
        return float(self.time_seconds)

    def to_dict(self) -> dict[str, Any]:
        """The whole document."""
        return dict(self._document)

    def _rows(self) -> list[tuple[str, Any]]:
        d = self._document
        names = ["benchmark", "n", "nb", "nprow", "npcol", "precision", "time_seconds", "gflops"]
        rows = [(name, d[name]) for name in names if name in d]
        if "predicted" in d:
            return [*rows, ("predicted for", d["predicted"]["machine"])]
        return [*rows, *((name, d[name]) for name in ("scaled_residual", "passed") if name in d)]

    def __repr__(self) -> str:
        return "BenchmarkResult(" + ", ".join(f"{k}={_short(v)}" for k, v in self._rows()) + ")"

    def _repr_html_(self) -> str:
        return _table(self._rows())


class SlogdetResult(NamedTuple):
    """As numpy.linalg.slogdet has it: det(a) = sign * exp(logabsdet)."""

    sign: Any
    logabsdet: Any
