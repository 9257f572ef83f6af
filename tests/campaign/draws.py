# SPDX-License-Identifier: BSD-3-Clause
"""Draws the door of a run, and its options."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import determinants
from .doors import PRECISIONS, CDoor, How
from .system import Generator, System

# How often each door is used. A command starts a process, and an emulated GPU is slow.
_WEIGHTS = {"python": 0.89, "c": 0.08, "command": 0.022, "emulated": 0.008}


def _add_accuracy(rng: Generator, options: dict[str, Any]) -> None:
    kind = rng.random()
    if kind < 0.4:
        options["accuracy"] = "forward" if kind < 0.2 else "certified"


def _options(rng: Generator, count: int) -> dict[str, Any]:
    kind = rng.random()
    if kind < 0.55:
        options: dict[str, Any] = {}
    elif kind < 0.75:
        options = {"first": str(rng.choice(PRECISIONS))}
    elif kind < 0.85:
        options = {"precision": str(rng.choice(PRECISIONS))}
    elif kind < 0.93:
        options = {"nb": int(rng.choice([1, 7, 16, 64]))}
    elif kind < 0.97:
        options = {"refine": "gmres", "first": str(rng.choice(PRECISIONS))}
    else:
        options = {"precision": "fp64", "nb": 16}
    if count > 8 and rng.random() < 0.4:
        options["condition"] = "full"
    _add_accuracy(rng, options)
    return options


def _form(rng: Generator, system: System) -> str:
    """A form that the matrix has."""
    a, _ = system.given()
    forms = ["banded"]
    if np.array_equal(a, a.T):
        forms += 3 * ["sym"]
    if np.array_equal(a, a.T.conj()):
        forms += 3 * ["her"]
        forms += ["pos"] if (a.diagonal().real > 0).all() else []
    if not np.tril(a, -1).any():
        forms.append("upper triangular")
    if not np.triu(a, 1).any():
        forms.append("lower triangular")
    return str(rng.choice(forms))


def _python(rng: Generator, system: System) -> How:
    if rng.random() < 0.15:
        order = str(rng.choice(["C", "F", "strided"]))
        if rng.random() < 0.4:
            return How("python", "stack", order)
        given = {"assume_a": _form(rng, system), "lower": bool(rng.random() < 0.5)}
        return How("python", "solve", order, options=given)
    methods = ["solve", "solve info", "factor", "factor info", "transposed", "transposed info"]
    methods.append(determinants.METHOD)
    method = str(rng.choice(methods, p=[0.35, 0.35, 0.05, 0.1, 0.05, 0.05, 0.05]))
    order = str(rng.choice(["C", "F", "strided"], p=[0.5, 0.45, 0.05]))
    return How("python", method, order, options=_options(rng, system.count))


def _c(rng: Generator, system: System) -> How:
    ranks = int(rng.choice([1, 2, 3, 4], p=[0.8, 0.08, 0.06, 0.06]))
    method = str(rng.choice(CDoor.METHODS[: 4 if ranks == 1 else 3]))
    options = _options(rng, system.count)
    options.pop("refine", None)
    if method == "dgesv":
        options = {}
    return How("c", method, ranks=ranks, options=options)


def _command(rng: Generator, system: System, door: str) -> How:
    ranks = [1, 2, 4, 6, 8] if door == "command" else [1, 2]
    shares = [0.6, 0.2, 0.1, 0.05, 0.05] if door == "command" else [0.8, 0.2]
    options: dict[str, Any] = {"first": str(rng.choice(["auto", *PRECISIONS]))}
    if rng.random() < 0.3:
        options["nb"] = int(rng.choice([7, 16, 64]))
    if system.count > 8 and rng.random() < 0.4:
        options["condition"] = "full"
    if door == "command":
        _add_accuracy(rng, options)
    order = str(rng.choice(["C", "F"]))
    count = int(rng.choice(ranks, p=shares))
    return How(door, "", order, count, options)


_KNOWN_WAYS = (
    How("python", "solve", "C"),
    How("python", "solve", "F"),
    How("python", "solve info", "C"),
    How("python", "transposed info", "C"),
    How("python", "solve info", "F", options={"first": "fp16"}),
    How("c", "dgesvx"),
    How("c", "dgesv"),
    How("command", ranks=2),
)
KNOWN_WAYS = len(_KNOWN_WAYS)


def known(way: int, doors: tuple[str, ...]) -> How:
    """The systems that begin a campaign go the ways that most programs do."""
    how = _KNOWN_WAYS[way % KNOWN_WAYS]
    if how.door in doors:
        return how
    return _KNOWN_WAYS[0] if "python" in doors else How(doors[0], "dgesvx")


def draw(rng: Generator, system: System, doors: tuple[str, ...]) -> How:
    """A door, and how the system goes through it. Where the door is not there, another takes its
    place, so that the rest of a campaign does not depend on what is built."""
    names = list(_WEIGHTS)
    door = str(rng.choice(names, p=list(_WEIGHTS.values())))
    unfit = door == "emulated" and (system.n > 130 or system.is_complex)
    if door not in doors or unfit:
        door = doors[0]
    if door == "python":
        return _python(rng, system)
    return _c(rng, system) if door == "c" else _command(rng, system, door)
