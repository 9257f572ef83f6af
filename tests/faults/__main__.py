# SPDX-License-Identifier: BSD-3-Clause
"""The command of the faults; run/faults starts it with the program."""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import injection, runs

_COMMANDS = ("mxp", "hpl", "solve")
_RANKS = (2, 3, 4, 5, 6)  # of runs that a signal befalls
_RANKS_OF_MEMORY = (1, 2, 3, 4)
_ORDERS = {"mxp": 1500, "hpl": 900, "solve": 700}
_OPTIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "mxp": (
        (),
        ("--pivot", "partial"),
        ("--refine", "gmres"),
        ("--lookahead", "1", "--chunk", "256"),
        ("--matrix", "fasi-higham"),
        ("--precision", "bf16"),
    ),
    "hpl": ((), ("--lookahead", "0"), ("--bcast", "long", "--chunk", "128")),
    "solve": (
        (),
        ("--accuracy", "forward"),
        ("--accuracy", "certified"),
        ("--precision", "bf16"),
        ("--precision", "fp64"),
        ("--equilibrate", "off"),
        ("--strict",),
        ("--condition", "full"),
    ),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run/faults")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=injection.KINDS)
    parser.add_argument("--targets", type=lambda text: text.split(","), default=injection.TARGETS)
    parser.add_argument("--json")
    parser.add_argument("--program", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--launcher", type=shlex.split, required=True, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if (given.runs is not None and given.runs < 1) or given.seed < 0 or given.first < 0:
        parser.error("--runs, --seed and --from are whole numbers of at least 1, 0 and 0")
    if given.minutes is not None and not given.minutes > 0:
        parser.error("--minutes is a number above 0")
    for kind in given.kinds:
        if kind not in injection.KINDS:
            parser.error(f"--kinds {kind}; allowed: {', '.join(injection.KINDS)}")
    for target in given.targets:
        if target not in injection.TARGETS:
            parser.error(f"--targets {target}; allowed: {', '.join(injection.TARGETS)}")
    if given.runs is None and given.minutes is None:
        given.runs = 10
    return given


def _command(given: argparse.Namespace, first: int, count: int) -> str:
    kinds = "" if tuple(given.kinds) == injection.KINDS else f" --kinds {','.join(given.kinds)}"
    if tuple(given.targets) != injection.TARGETS:
        kinds += f" --targets {','.join(given.targets)}"
    return f"run/faults --seed {given.seed} --from {first} --runs {count}{kinds}"


def _one(given: argparse.Namespace, index: int, runner: runs.Runner, folder: Path) -> runs.Verdict:
    draw = random.Random(f"{given.seed}:{index}")
    kind = given.kinds[index % len(given.kinds)]
    command = draw.choice(_COMMANDS)
    in_memory = kind in injection.MEMORY
    ranks = draw.choice(_RANKS_OF_MEMORY if in_memory else _RANKS)
    options = draw.choice(_OPTIONS[command]) if in_memory else ()
    target = draw.choice(given.targets) if in_memory else "any"
    scenario = runs.Scenario(command, ranks, _ORDERS[command], options)
    x = runs.write_system(scenario.n, draw, folder) if command == "solve" else None
    where = runs.place_in(target, scenario, folder, x)
    healthy = runner.healthy(scenario, folder)
    # A process has its numbers in memory after its start.
    moment = draw.uniform(0.15 if in_memory else 0.0, 1.0) * healthy.seconds
    patience = runs.patience(kind, healthy.seconds)
    ended = runner.start(scenario, folder, kind, moment, patience, draw, where)
    verdict = runs.judge(scenario, kind, ended, folder, x, healthy)
    print(
        f"{index}: {kind}, {' '.join([command, *options])} on {scenario.ranks} ranks, "
        f"after {moment:.2f} s of {healthy.seconds:.2f}: {verdict.outcome}, {verdict.words}, "
        f"{ended.seconds_after:.1f} s later",
        flush=True,
    )
    if verdict.failed:
        print(f"  failed: {ended.fault}; again: {_command(given, index, 1)}")
        print("  " + "\n  ".join(ended.text.strip().splitlines()[-12:]), flush=True)
    return verdict


def _record(
    given: argparse.Namespace,
    counts: dict[str, collections.Counter[str]],
    seconds: float,
    failed: int,
) -> dict[str, object]:
    total = sum(sum(counter.values()) for counter in counts.values())
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "schema": "speedwell-faults/1",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit,
        "processor": model.group(1) if model else "unknown",
        "cores": os.cpu_count(),
        "command": _command(given, given.first, total),
        "seconds": round(seconds, 1),
        "runs": total,
        "failed": failed,
        "kinds": {kind: dict(sorted(counter.items())) for kind, counter in sorted(counts.items())},
    }


def main() -> int:
    given = _arguments()
    runner = runs.Runner(given.program, given.launcher)
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    failed = done = 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="speedwell-faults-") as folder:
        while (given.runs is None or done < given.runs) and (
            given.minutes is None or time.monotonic() - begin < 60 * given.minutes
        ):
            index = given.first + done
            verdict = _one(given, index, runner, Path(folder))
            counts[given.kinds[index % len(given.kinds)]][verdict.outcome] += 1
            failed += verdict.failed
            done += 1
    for kind, counter in sorted(counts.items()):
        print(f"{kind:>10}: " + ", ".join(f"{n} {what}" for what, n in counter.most_common()))
    if given.json is not None:
        record = _record(given, counts, time.monotonic() - begin, failed)
        Path(given.json).write_text(json.dumps(record, indent=2) + "\n")
    print(f"{done - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
