# SPDX-License-Identifier: BSD-3-Clause
"""One run of `speedwell` with a fault, and the judgement of its end."""

from __future__ import annotations

import array
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import injection

# Seconds from the fault to the run's end; and those of --stall-timeout, which is a part of them.
END_SECONDS = 10.0
STALL_SECONDS = 4
# A run that a fault does not end may take longer than a healthy one: by more corrections, by
# pauses, or since it factors again in FP64.
_TIMES_HEALTHY = 5
_LARGEST_RESIDUAL = 16.0
# What Open MPI prints when a fault of memory has befallen it in MPI_Init.
_START_FAILED = "No components were able to be opened"


@dataclass(frozen=True)
class Scenario:
    """A command on some ranks, which ends well if nothing befalls it."""

    command: str
    ranks: int
    n: int
    options: tuple[str, ...] = ()

    def words(self, folder: Path) -> list[str]:
        own = ["--nb", "64", "--stall-timeout", str(STALL_SECONDS), "--profile", "none"]
        own += ["--json", str(folder / "report.json"), *self.options]
        if self.command == "solve":
            files = [str(folder / name) for name in ("A.npy", "b.npy", "x.npy")]
            return ["solve", *files[:2], "-o", files[2], *own]
        return [self.command, "-N", str(self.n), *own]


@dataclass
class Verdict:
    outcome: str
    words: str = ""
    failed: bool = False


@dataclass
class Ended:
    """A run that has ended, or that was ended because it took too long."""

    status: int
    text: str
    fault: str = ""  # empty: the run ended before its fault
    rank: int = -1  # that the fault befell
    seconds_after: float = 0.0
    seconds: float = 0.0
    in_time: bool = True
    launcher_alone: bool = False  # not ended in time, though every rank has
    left: list[int] = field(default_factory=list)


def _npy(path: Path, shape: tuple[int, ...], values: array.array[float]) -> None:
    header = str({"descr": "<f8", "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    size = len(header).to_bytes(2, "little")
    path.write_bytes(b"\x93NUMPY\x01\x00" + size + header.encode() + values.tobytes())


def write_system(n: int, draw: random.Random, folder: Path) -> list[int]:
    """Writes A and b of whole numbers, for which b = A x holds exactly. Returns x."""
    x = [draw.randrange(-9, 10) or 1 for _ in range(n)]
    rows = array.array("d")
    b = array.array("d")
    for _ in range(n):
        row = [byte - 128 for byte in draw.randbytes(n)]
        rows.extend(row)
        b.append(sum(a * v for a, v in zip(row, x)))
    _npy(folder / "A.npy", (n, n), rows)
    _npy(folder / "b.npy", (n,), b)
    return x


def place_in(target: str, scenario: Scenario, folder: Path, x: list[int] | None) -> injection.Where:
    """The target, with the vectors of the scenario's system."""
    if x is None or scenario.command != "solve":
        return injection.Where(target)
    return injection.Where(target, _read_vector(folder / "b.npy"), array.array("d", x))


def _read_vector(path: Path) -> array.array[float]:
    data = path.read_bytes()
    values = array.array("d")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little") :])
    return values


def _end_all(run: str) -> None:
    for process in injection.processes(run):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


@dataclass
class Healthy:
    """A scenario without a fault: how long it takes, and the norms of a benchmark."""

    seconds: float
    norms: dict[str, float]


_NORMS = ("A_inf", "x_inf", "b_inf")


class Runner:
    def __init__(self, program: Path, launcher: list[str]) -> None:
        self._program = program
        self._launcher = launcher
        self._healthy: dict[Scenario, Healthy] = {}
        self._started = 0

    def healthy(self, scenario: Scenario, folder: Path) -> Healthy:
        """Runs the scenario without a fault, once."""
        if scenario not in self._healthy:
            ended = self.start(scenario, folder, None, 0.0, 300.0, random.Random(0))
            if ended.status != 0:
                raise RuntimeError(f"{scenario} fails without a fault:\n{ended.text}")
            norms = {} if scenario.command == "solve" else _norms(folder)
            self._healthy[scenario] = Healthy(ended.seconds, norms)
        return self._healthy[scenario]

    def start(
        self,
        scenario: Scenario,
        folder: Path,
        kind: str | None,
        moment: float,
        patience: float,
        draw: random.Random,
        where: injection.Where | None = None,
    ) -> Ended:
        """Runs the scenario, with a fault `moment` seconds after its start, of memory in this
        place. It is ended if it has not ended `patience` seconds after that."""
        for name in ("report.json", "x.npy"):
            (folder / name).unlink(missing_ok=True)
        self._started += 1
        run = f"{os.getpid()}-{self._started}"
        words = [*self._launcher, "-n", str(scenario.ranks), str(self._program)]
        begin = time.monotonic()
        process = subprocess.Popen(
            words + scenario.words(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=dict(os.environ, **{injection.MARK: run}),
            start_new_session=True,
        )
        text: list[str] = []
        reader = threading.Thread(target=lambda: text.append(process.stdout.read()))  # type: ignore
        reader.start()
        ended = Ended(0, "")
        if kind is not None:
            ended.rank = rank = draw.randrange(scenario.ranks)
            ended.fault = _harm(run, kind, rank, begin + moment, process, draw, where)
        after = time.monotonic()
        try:
            ended.status = process.wait(patience)
        except subprocess.TimeoutExpired:
            ended.in_time = self._went_on_alone(run, process, ended)
        now = time.monotonic()
        ended.seconds_after, ended.seconds = now - after, now - begin
        while (left := injection.processes(run)) and time.monotonic() - now < 2.0 and ended.in_time:
            time.sleep(0.05)
        ended.left = sorted(left)
        _end_all(run)
        process.wait()
        reader.join()
        ended.text = "".join(text)
        return ended

    @staticmethod
    def _went_on_alone(run: str, process: subprocess.Popen[str], ended: Ended) -> bool:
        """Whether a stopped rank was the last one: the others had parted from it and ended, so that
        only the launcher waits for it. It goes on then."""
        left = injection.processes(run)
        ranks = {one: rank for one, rank in left.items() if rank >= 0}  # not the launcher
        ended.launcher_alone = not ranks
        if set(ranks.values()) != {ended.rank}:
            return False
        for one in ranks:
            os.kill(one, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            ended.status = process.wait(2.0)
            return True
        return False


def _harm(
    run: str,
    kind: str,
    rank: int,
    when: float,
    process: subprocess.Popen[str],
    draw: random.Random,
    where: injection.Where | None,
) -> str:
    """Waits for the moment, and for the rank to be there, and harms it. Empty if the run ended."""
    time.sleep(max(0.0, when - time.monotonic()))
    while process.poll() is None:
        there = [found for found, its in injection.processes(run).items() if its == rank]
        if not there:
            time.sleep(0.005)
            continue
        try:
            place = () if where is None else (where,)
            return f"rank {rank}: {injection.inject(kind, there[0], draw, *place)}"
        except (OSError, IndexError):  # the process ends just now, or has no page yet
            continue
    return ""


def _report(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def _norms(folder: Path) -> dict[str, float]:
    """The norms that a benchmark reports; those of its last run."""
    fields = _fields(_report(folder))
    return {name: v for name, v in fields if name in _NORMS and isinstance(v, float)}


def _is_right(folder: Path, x: list[int] | None, healthy: Healthy | None) -> tuple[bool, str]:
    """Judges what status 0 came with: x by the exact one, a benchmark by its scaled residuals, and
    by norms that no fault may change."""
    report = _report(folder)
    if x is None:
        norms = _norms(folder)
        for name, norm in healthy.norms.items() if healthy else ():
            if not abs(norms.get(name, 0.0) - norm) <= 1e-6 * abs(norm):
                return False, f"{name} {norms.get(name)} instead of {norm}"
        residuals = [value for name, value in _fields(report) if name == "scaled_residual"]
        right = bool(residuals) and all(
            isinstance(value, float) and value < _LARGEST_RESIDUAL for value in residuals
        )
        return right, f"scaled residual {residuals}"
    found = _read_vector(folder / "x.npy")
    error = max(abs(a - v) for a, v in zip(found, x)) / max(map(abs, x))
    bounds = [value for name, value in _fields(report) if name == "forward_bound"]
    bound = max((value for value in bounds if isinstance(value, float)), default=0.0)
    right = len(found) == len(x) and error <= bound
    return right, f"error {error:.2g}, bound {bound:.2g}"


def _fields(value: Any) -> list[tuple[str, Any]]:
    """The names and values of all fields of a JSON document."""
    if isinstance(value, list):
        return [pair for one in value for pair in _fields(one)]
    if not isinstance(value, dict):
        return []
    return [*value.items(), *(pair for one in value.values() for pair in _fields(one))]


def judge(
    scenario: Scenario,
    kind: str,
    ended: Ended,
    folder: Path,
    x: list[int] | None,
    healthy: Healthy | None = None,
) -> Verdict:
    """Whether the run ended in time, in true words, and left nothing behind."""
    # Open MPI's launcher may lose a rank that ends while it is about to meet the launcher.
    if ended.launcher_alone and "PMIX ERROR: UNREACHABLE" in ended.text:
        return Verdict("launcher hangs", "all ranks have ended")
    if not ended.in_time:
        return Verdict("hang", f"not ended {ended.seconds_after:.1f} s after the fault", True)
    if ended.left:
        return Verdict("left", f"processes {ended.left} are still there", True)
    if ended.status == 0:
        try:
            right, words = _is_right(folder, x, healthy)
        except (OSError, ValueError) as error:
            return Verdict("wrong", f"status 0, but no result: {error}", True)
        if right:
            return Verdict("right" if ended.fault else "too late", words)
        doubtful = any(name == "doubt" and value for name, value in _fields(_report(folder)))
        return Verdict("doubtful" if doubtful else "wrong", words, not doubtful)
    if not ended.fault:
        return Verdict("failed", f"status {ended.status} before the fault", True)
    # A launcher names the ranks that a signal has ended, the command all others.
    named = re.search(r"\brank \d+\b|\bprocess \d+ on \S+ has waited", ended.text)
    # What memory has made of the numbers, all ranks say together.
    said = kind in injection.MEMORY and re.search(r"^speedwell: |FAILED", ended.text, re.MULTILINE)
    # Open MPI names no rank that ends before it has started MPI, by a signal or as its start fails:
    # none of our lines either, since that may be before main().
    unstarted = "Primary job  terminated normally" in ended.text or _START_FAILED in ended.text
    if unstarted and not (named or said):
        return Verdict("before MPI", f"status {ended.status}")
    if not (named or said):
        return Verdict("silent", f"status {ended.status} without a line that names a rank", True)
    if kind == "slow":
        return Verdict("ended", f"status {ended.status}, though the rank was slow only", True)
    return Verdict("said", f"status {ended.status}")


def patience(kind: str, healthy: float) -> float:
    """Seconds after a fault after which a run has hung."""
    return END_SECONDS + (_TIMES_HEALTHY * healthy if kind in ("slow", *injection.MEMORY) else 0.0)
