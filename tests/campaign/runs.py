# SPDX-License-Identifier: BSD-3-Clause
"""One run of a campaign, and what all runs came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import climb, determinants, draws, exact, families, known
from .doors import Doors, How
from .judge import Verdict, judge
from .reduction import reduce
from .system import Matrix, System

_SHOWN = 36  # numbers of a matrix that a line can show
_REDUCED = 2  # failures of one kind, family and door that are reduced


@dataclass(frozen=True)
class Run:
    """A system, its way through a door, and the verdict."""

    family: str
    seed: int
    index: int
    system: System
    how: How
    verdict: Verdict

    @property
    def name(self) -> str:
        return f"{self.family}:{self.seed}:{self.index}"


def draw(family: str, seed: int, index: int, doors: Doors) -> tuple[System, How]:
    """What a run does; it depends on family, seed and index alone, and CLIMB on Speedwell."""
    rng = families.generator(family, seed, index)
    system = families.draw(family, rng, index)
    if family == families.CLIMB and "python" in doors.names:
        return climb.climb(rng, system, doors), climb.HOW
    if family == "known":
        return system, draws.known(index // len(known.SYSTEMS), doors.names)
    return system, draws.draw(rng, system, doors.names)


def run(family: str, seed: int, index: int, doors: Doors) -> Run:
    """Draws, solves and judges."""
    system, how = draw(family, seed, index, doors)
    return Run(family, seed, index, system, how, verdict_on(system, how, doors))


def verdict_on(system: System, how: How, doors: Doors) -> Verdict:
    """What the judge says of a system that goes through a door."""
    outcome = doors.solve(system, how)
    if how.method == determinants.METHOD:
        return determinants.judge(system, outcome)
    return judge(system, exact.solve(system), outcome, how.rules())


def reduced(one: Run, doors: Doors, seconds: float) -> System:
    """A smaller system that fails in the same way through the same door."""

    def fails(system: System) -> bool:
        return verdict_on(system, one.how, doors).what == one.verdict.what

    return reduce(one.system, one.verdict.column, fails, seconds)


def _numbers(values: Matrix) -> str:
    return " ".join(value.hex() for value in values.ravel().tolist())


def _python_line(system: System, how: How) -> str:
    """A command that needs nothing but the package."""
    options = "".join(f", {name}={value!r}" for name, value in how.options.items())
    order = "C" if how.order == "C" else "F"
    if how.method.startswith("solve"):
        info = ", return_info=True" if how.method.endswith("info") else ""
        call = f"speedwell.solve(a, b{info}{options})"
    else:
        transposed = how.method.startswith("transposed")
        given = f"numpy.array(a.T, order='{order}')" if transposed else "a"
        call = f"speedwell.factor({given}{options}).solve(b, {transposed}, return_info=True)"
    return (
        'python -c "import numpy, speedwell; '
        "numbers = lambda text: numpy.array([float.fromhex(one) for one in text.split()]); "
        f"a = numbers('{_numbers(system.a)}').reshape({system.n}, -1).copy('{order}'); "
        f"b = numbers('{_numbers(system.b[:, 0])}'); print({call})\""
    )


def _shown(values: Matrix) -> str:
    return str(values.tolist())


def words_of(one: Run, small: System | None, folder: Path) -> list[str]:
    """A failure in lines: what it is, and how to see it again."""
    size = f"n = {one.system.n}, {one.system.count} right-hand sides"
    lines = [
        f"FAILED {one.name} ({one.how}; {size}): {one.verdict.what}: {one.verdict.words}",
        f"  run/campaign --replay {one.name}",
    ]
    if small is None:
        return lines
    if small.a.size <= _SHOWN and small.count == 1 and not small.is_complex:
        lines.append(f"  reduced: A = {_shown(small.a)}, b = {_shown(small.b[:, 0])}")
        if one.how.door == "python":
            lines.append(f"  {_python_line(small, one.how)}")
        return lines
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{one.name.replace(':', '-')}.npz"
    a, b = small.given()
    np.savez(file, a=a, b=b)
    lines.append(f"  reduced to n = {small.n}, {small.count} right-hand sides: {file}")
    return lines


@dataclass
class Count:
    """The outcomes of one family."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    ratio: float = 0.0  #: the largest of true error and printed bound that was no failure
    worst: float = 0.0  #: the largest of all
    at: str = ""

    def add(self, one: Run) -> None:
        verdict = one.verdict
        self.runs += 1
        self.outcomes[verdict.what if not verdict.failed else "failed"] += 1
        if verdict.failed:
            self.outcomes[f"failed: {verdict.what}"] += 1
        else:
            self.ratio = max(self.ratio, verdict.ratio)
        if verdict.ratio > self.worst:
            self.worst, self.at = verdict.ratio, one.name

    def to_dict(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            **dict(sorted(self.outcomes.items())),
            "largest_ratio": self.worst if np.isfinite(self.worst) else None,
            "largest_ratio_at": self.at or None,
        }


class Tally:
    """The outcomes of all runs, by family and by door, and which failures are worth reducing."""

    def __init__(self) -> None:
        self.families: dict[str, Count] = {}
        self.doors: dict[str, Count] = {}
        self._kinds: Counter[tuple[str, str, str]] = Counter()

    def add(self, one: Run) -> bool:
        """Whether a failure is among the first of its kind."""
        self.families.setdefault(one.family, Count()).add(one)
        self.doors.setdefault(one.how.door, Count()).add(one)
        key = (one.family, one.how.door, one.verdict.what)
        self._kinds[key] += 1
        return one.verdict.failed and self._kinds[key] <= _REDUCED

    @property
    def runs(self) -> int:
        return sum(count.runs for count in self.families.values())

    @property
    def failures(self) -> int:
        return sum(count.outcomes["failed"] for count in self.families.values())

    def lines(self) -> list[str]:
        """A table."""
        heads = ["runs", "solved", "warned", "refused", "undecided", "failed"]
        lines = [f"{'':12}" + "".join(f"{head:>10}" for head in heads) + "  largest error/bound"]
        for title, counts in (("family", self.families), ("door", self.doors)):
            lines.append(title)
            for name, count in sorted(counts.items()):
                numbers = [count.runs, *(count.outcomes[head] for head in heads[1:])]
                cells = "".join(f"{number:>10}" for number in numbers)
                lines.append(f"  {name:10}{cells}  {count.worst:.3g} {count.at}".rstrip())
                for what, number in sorted(count.outcomes.items()):
                    if what.startswith("failed: "):
                        lines.append(f"    {number} {what}")
        return lines
