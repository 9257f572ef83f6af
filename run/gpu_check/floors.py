# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds (floors) of the times of a run's phases, from the measured ceilings of this GPU."""

import math
from collections import namedtuple

OUTSIDE = "LU outside the update"

# The fastest measurement of a kind (0: none), and the GPU's clock during it (None: not known).
Rate = namedtuple("Rate", "value sm_mhz")


def median_mhz(measured):
    """The median clock of a report or line; None if it is not known."""
    return ((measured.get("clocks") or {}).get("sm_mhz") or {}).get("median")


def fastest_rate(steps, part, precision=""):
    """The fastest rate of a part among the lines of `speedwell_gpu_ceilings`. A run that was cut
    off counts with the measurements that it had made."""
    lines = [
        line
        for step in steps
        if step["step"] == "ceilings"
        for line in step.get("result") or []
        if line.get("part") == part and precision in ("", line.get("precision"))
    ]
    best = max(lines, key=lambda line: line.get("rate", 0), default={})
    return Rate(best.get("rate", 0), median_mhz(best))


def seconds_at(work, rate):
    """Infinite where the rate was not measured."""
    return work / rate if rate else math.inf


def factorization_floors(n, nb, product, copy, is_hpl):
    """Seconds of update, panels and rows in all steps of the right-looking order with look-ahead
    1. The update of the next panel's own column counts as part of the panel."""
    # Bytes of one entry: an entry is read for the largest magnitude, then read and rounded; in
    # FP64 it is copied. Each pivot exchanges two rows, whose entries are read and written.
    cast, exchange = (16, 32) if is_hpl else (10, 0)
    update = panel = rows = 0.0
    left = n
    while left > 0:
        w = min(nb, left)
        trailing = left - w
        own = min(nb, trailing)
        solve = seconds_at(trailing * w * w, product)
        cast_time = seconds_at(cast * trailing * w, copy)
        update += seconds_at(2 * trailing * (trailing - own) * w, product)
        panel += seconds_at(2 / 3 * w**3 + 2 * trailing * own * w, product) + solve + cast_time
        rows += solve + cast_time + seconds_at(exchange * w * trailing, copy)
        left -= nb
    return update, panel, rows


def line_of(phase, seconds, floor):
    known = 0 < floor < math.inf
    return {
        "phase": phase,
        "seconds": seconds,
        "floor_seconds": floor if known else None,
        "ratio": seconds / floor if known else None,
    }


def excess(line):
    return line["seconds"] - (line["floor_seconds"] or 0)


def words_of(line):
    if line["floor_seconds"] is None:
        return f"{line['phase']}, {line['seconds']:.2f} s"
    floor = line["floor_seconds"]
    return f"{line['phase']}, {excess(line):.2f} s over its floor of {floor:.2f} s"


def look_first(lines):
    """The phase with the largest excess over its floor. Panels and rows run beside the update, so
    they matter only by the time that they take outside of it."""

    def most_of(*names):
        return max((line for line in lines if line["phase"] in names), key=excess)

    most = most_of("update", OUTSIDE, "solves", "residuals")
    if most["phase"] != OUTSIDE:
        return words_of(most)
    return f"{words_of(most)}; there: {words_of(most_of('panel', 'rows', 'broadcast_exposed'))}"


def phases_of(run, is_hpl, steps):
    """The phases of one run on one GPU, each with its floor (None where a ceiling is missing), and
    in words what to look at first."""
    n, nb = run["n"], run["nb"]
    product = 1e12 * fastest_rate(steps, "product", "fp64" if is_hpl else "fp16").value
    copy, read, generate = (
        1e9 * fastest_rate(steps, part).value for part in ("copy", "read", "multiply_generated")
    )
    update, panel, rows = factorization_floors(n, nb, product, copy, is_hpl)
    # Every run has some time outside of the update: the first panel and the last ones.
    times = {phase: time["average"] for phase, time in run["phases"].items()}
    times[OUTSIDE] = max(run["lu"]["seconds"] - times.get("update", 0), 0)
    solves = 1 if is_hpl else run["refinement"]["iterations"]
    floors = {
        "update": update,
        "panel": panel,
        "rows": rows,
        "broadcast_exposed": 0,
        OUTSIDE: 0,
        "solves": seconds_at(solves * n * n * (8 if is_hpl else 4), read),
    }
    if not is_hpl:
        floors["residuals"] = seconds_at(solves * n * n, generate)
    lines = [line_of(phase, times.get(phase, 0.0), floor) for phase, floor in floors.items()]
    return {
        "name": "HPL" if is_hpl else "HPL-MxP",
        "n": n,
        "nb": nb,
        "reserve": run.get("reserved_multiprocessors"),
        "time_seconds": run["time_seconds"],
        "phases": lines,
        "look_first": look_first(lines),
    }
