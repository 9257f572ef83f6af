# SPDX-License-Identifier: BSD-3-Clause
"""The judge's command; run/campaign starts it with the package and the programs."""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import speedwell

from . import families, runs, self_test
from .doors import Doors, Programs

_REDUCE_SECONDS = 8.0
_DOORS = ("python", "c", "command", "emulated")


def _program(folder: str | None, name: str) -> Path | None:
    if folder is None:
        return None
    path = Path(folder) / name
    return path if path.exists() else None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run/campaign")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--families", type=lambda text: text.split(","))
    parser.add_argument("--doors", type=lambda text: text.split(","))
    parser.add_argument("--replay")
    parser.add_argument("--json")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--programs", help=argparse.SUPPRESS)
    parser.add_argument("--output", default="failures", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.doors = _named(parser, "--doors", given.doors, _DOORS)
    given.families = _named(parser, "--families", given.families, families.NAMES)
    if (given.runs is not None and given.runs < 1) or given.seed < 0 or given.first < 0:
        parser.error("--runs, --seed and --from are whole numbers of at least 1, 0 and 0")
    if given.minutes is not None and not given.minutes > 0:
        parser.error("--minutes is a number above 0")
    if given.replay is not None:
        given.replay = _replayed(parser, given.replay)
    return given


def _named(
    parser: argparse.ArgumentParser, option: str, asked: list[str] | None, known: tuple[str, ...]
) -> tuple[str, ...]:
    for name in asked or ():
        if name not in known:
            parser.error(f"{option} {name}; allowed: {', '.join(known)}")
    return known if asked is None else tuple(name for name in known if name in asked)


def _replayed(parser: argparse.ArgumentParser, text: str) -> tuple[str, int, int]:
    parts = text.split(":")
    if len(parts) == 3 and parts[0] in families.NAMES and parts[1].isdigit() and parts[2].isdigit():
        return parts[0], int(parts[1]), int(parts[2])
    parser.error(f"--replay {text}; allowed: FAMILY:SEED:INDEX, as a failure prints it")


def _printed(lines: list[str]) -> None:
    print("\n".join(lines), flush=True)


def _replay(name: tuple[str, int, int], doors: Doors, output: Path) -> int:
    one = runs.run(*name, doors)
    if not one.verdict.failed:
        print(f"{one.name} ({one.how}; n = {one.system.n}): {one.verdict.what} {one.verdict.words}")
        print(f"largest ratio of error and bound: {one.verdict.ratio:.3g}")
        return 0
    _printed(runs.words_of(one, runs.reduced(one, doors, 6 * _REDUCE_SECONDS), output))
    return 1


def _campaign(given: argparse.Namespace, doors: Doors, output: Path) -> runs.Tally:
    tally = runs.Tally()
    begin = shown = time.monotonic()
    wanted = given.runs if given.runs is not None else 300 if given.minutes is None else None
    for index in itertools.count(given.first):
        if wanted is not None and tally.runs >= wanted:
            break
        if given.minutes is not None and time.monotonic() - begin > 60 * given.minutes:
            break
        family = families.family_of(given.seed, index)
        if family not in given.families:
            continue
        one = runs.run(family, given.seed, index, doors)
        if tally.add(one):
            small = runs.reduced(one, doors, _REDUCE_SECONDS)
            _printed(runs.words_of(one, small, output))
        elif one.verdict.failed:
            _printed(runs.words_of(one, None, output))
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"{tally.runs} runs, {tally.failures} failed", file=sys.stderr, flush=True)
    return tally


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def _commit() -> str:
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _record(given: argparse.Namespace, tally: runs.Tally, seconds: float) -> dict[str, Any]:
    words = [f"--seed {given.seed}", f"--runs {tally.runs}"]
    words += [f"--from {given.first}"] if given.first else []
    for name, known in (("families", families.NAMES), ("doors", _DOORS)):
        asked = getattr(given, name)
        words += [f"--{name} {','.join(asked)}"] if asked != known else []
    return {
        "schema": "speedwell-campaign/1",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _commit(),
        "version": speedwell.__version__,
        "processor": _processor(),
        "command": "run/campaign " + " ".join(words),
        "seconds": round(seconds, 1),
        "runs": tally.runs,
        "passed": tally.runs - tally.failures,
        "failed": tally.failures,
        "families": {name: count.to_dict() for name, count in sorted(tally.families.items())},
        "doors": {name: count.to_dict() for name, count in sorted(tally.doors.items())},
    }


def main() -> int:
    given = _arguments()
    programs = Programs(
        _program(given.programs, "speedwell"),
        _program(given.programs, "speedwell_command_emulated"),
        _program(given.programs, "speedwell_served"),
    )
    if given.self_test:
        return self_test.main(programs)
    # A run can be repeated, and each campaign has random vectors of its own.
    seed = given.seed if given.replay is None else given.replay[1]
    os.environ["SPEEDWELL_PROBE_SEED"] = str(seed + 1)
    doors = Doors(programs, given.doors)
    begin = time.monotonic()
    try:
        if given.replay is not None:
            return _replay(given.replay, doors, Path(given.output))
        tally = _campaign(given, doors, Path(given.output))
    finally:
        doors.close()
    _printed(tally.lines())
    if given.json is not None:
        record = _record(given, tally, time.monotonic() - begin)
        Path(given.json).write_text(json.dumps(record, indent=2) + "\n")
    print(f"{tally.runs - tally.failures} passed, {tally.failures} failed")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
