# SPDX-License-Identifier: BSD-3-Clause
"""Makes tables of the runs, their phases beside lower bounds of their times (floors), and the
verdicts on the goals from the records of the steps."""

import math

from products import products_of
from reports import cell, fastest, line_of, measured

OUTSIDE = "LU outside the update"
CEILINGS = ("copy", "read", "multiply_generated")  # in 1e9 bytes or entries a second
# Of the printed table: head, width, field, and for figures the digits and the unit.
COLUMNS = (
    ("benchmark", 9, "benchmark"),
    ("n", 8, "n"),
    ("nb", 6, "nb"),
    ("reserve", 8, "reserve"),
    ("TFLOP/s", 9, "score_tflops", 2),
    ("LU", 9, "lu_tflops", 2),
    ("SM MHz", 7, "sm_mhz", 0),
    ("refinement %", 12, "refinement_share", 2, 100),
    ("of product", 10, "share_of_product", 3),
    ("at clock", 9, "share_of_product_at_clock", 3),
    ("x IRSXgesv", 10, "ratio_to_irs", 2),
)
# A negative bound is the most that is allowed.
GOALS = (
    ("score at least 0.88 of the FP16 product rate of the same run", 0.88),
    ("at least 600 TFLOP/s at n >= 165000", 600),
    ("refinement at most 0.02 of the time at the largest n", -0.02),
    ("at least 2 times IRSXgesv at its largest n", 2),
    ("FP64 HPL at least 50 TFLOP/s", 50),
    ("HPL-MxP at least 11 times FP64 HPL", 11),
)
BELOW = (
    "of product: score over the fastest FP16 (HPL: FP64) product; at clock: LU over that product "
    "at the clock of the run\n"
)


def conclusions(steps):
    """What all runs so far show."""
    rows = table(steps)
    found = {"table": rows, "phases": phases(steps), "goals": goals(rows)}
    return {**found, "products": products_of(steps)}


def results_of(steps, name):
    """The reports of the runs that passed."""
    return [step["result"] for step in steps if (step["step"], step["verdict"]) == (name, "passed")]


def median_mhz(report):
    """The median clock of a report or line; None if it is not known."""
    return ((report.get("clocks") or {}).get("sm_mhz") or {}).get("median")


def row_of(run, benchmark, product, irs):
    score, lu, mhz = run["gflops"] / 1e3, run["lu"]["gflops"] / 1e3, median_mhz(run)
    is_mxp, rate, rate_mhz = benchmark == "mxp", product.get("rate"), median_mhz(product)
    has_irs = is_mxp and irs.get("n") == run["n"]
    # The rate of LU over that of the product, scaled to the clock of the run.
    at_clock = lu / (rate * mhz / rate_mhz) if rate and mhz and rate_mhz else None
    return {
        "benchmark": benchmark,
        "n": run["n"],
        "nb": run["nb"],
        "reserve": run.get("reserved_multiprocessors"),
        "score_tflops": score,
        "lu_tflops": lu,
        "sm_mhz": mhz,
        "refinement_share": run["refinement"]["seconds"] / run["time_seconds"] if is_mxp else None,
        "share_of_product": score / rate if rate else None,
        "share_of_product_at_clock": at_clock,
        "ratio_to_irs": score / irs["tflops"] if has_irs else None,
    }


def table(steps):
    """One row for each run of HPL-MxP and HPL that passed."""
    all_irs = [result for result in results_of(steps, "cusolver") if result.get("method") == "irs"]
    irs = max(all_irs, key=lambda result: result["n"], default={})
    rows = []
    for benchmark, precision in (("mxp", "fp16"), ("hpl", "fp64")):
        product = fastest(measured(steps, "product", precision=precision))
        rows += [row_of(run, benchmark, product, irs) for run in results_of(steps, benchmark)]
    return rows


def goals(rows):
    """Each with "goal", "value" and "verdict" (reached, not reached or not measured)."""

    def best(benchmark, column, least_n=0, of=max):
        chosen = [row for row in rows if row["benchmark"] == benchmark and row["n"] >= least_n]
        return of((row[column] for row in chosen if row[column] is not None), default=None)

    share, ratio = best("mxp", "share_of_product"), best("mxp", "ratio_to_irs")
    score, hpl = best("mxp", "score_tflops"), best("hpl", "score_tflops")
    large = best("mxp", "score_tflops", 165000)
    refinement = best("mxp", "refinement_share", best("mxp", "n") or 0, of=min)
    values = (share, large, refinement, ratio, hpl, score / hpl if score and hpl else None)
    found = []
    for (goal, bound), value in zip(GOALS, values):
        verdict = "not measured"
        if value is not None:
            is_reached = value >= bound if bound > 0 else value <= -bound
            verdict = "reached" if is_reached else "not reached"
        found.append({"goal": goal, "value": value, "verdict": verdict})
    return found


def phases(steps):
    """The phases of the fastest run of the largest n of each benchmark."""
    found = []
    for benchmark in ("mxp", "hpl"):
        runs = results_of(steps, benchmark)
        best = max(runs, key=lambda run: (run["n"], run["gflops"]), default={})
        found += [phases_of(best, benchmark == "hpl", steps)] if "phases" in best else []
    return found


def factorization_floors(n, nb, product, copy, is_hpl):
    """Seconds of update, panels and rows in all steps of the right-looking order with look-ahead
    1. The update of the next panel's own column counts as part of the panel."""
    # Bytes of one entry: an entry is read for the largest magnitude, then read and rounded; in
    # FP64 it is copied. Each pivot exchanges two rows, whose entries are read and written.
    cast, exchange = (16, 32) if is_hpl else (10, 0)
    update = panel = rows = 0.0
    for left in range(n, 0, -nb):
        w = min(nb, left)
        trailing = left - w
        own = min(nb, trailing)
        solve_and_cast = trailing * w * w / product + cast * trailing * w / copy
        update += 2 * trailing * (trailing - own) * w / product
        panel += (2 / 3 * w**3 + 2 * trailing * own * w) / product + solve_and_cast
        rows += solve_and_cast + exchange * w * trailing / copy
    return {"update": update, "panel": panel, "rows": rows}


def excess(line):
    return line["seconds"] - (line["floor_seconds"] or 0)


def look_first(lines):
    """The phase with the largest excess over its floor. Panels and rows run beside the update, so
    they matter only by the time that they take outside of it."""

    def most_of(*names):
        line = max((line for line in lines if line["phase"] in names), key=excess)
        floor = line["floor_seconds"]
        over = f" over its floor of {floor:.2f} s" if floor else ""
        return f"{line['phase']}, {excess(line):.2f} s{over}"

    most = most_of("update", OUTSIDE, "solves", "residuals")
    there = most_of("panel", "rows", "broadcast_exposed")
    return f"{most}; there: {there}" if most.startswith(OUTSIDE) else most


def phases_of(run, is_hpl, steps):
    """The phases of one run on one GPU, each with its floor (None where a ceiling is missing), and
    in words what to look at first."""
    # Of a ceiling that was not measured, and so of what follows from it, nothing is known (NaN).
    ceilings = [fastest(measured(steps, part)) for part in CEILINGS]
    copy, read, generate = (1e9 * ceiling.get("rate", math.nan) for ceiling in ceilings)
    product = fastest(measured(steps, "product", precision="fp64" if is_hpl else "fp16"))
    product = 1e12 * product.get("rate", math.nan)
    entries = run["n"] ** 2 * (1 if is_hpl else run["refinement"]["iterations"])
    floors = factorization_floors(run["n"], run["nb"], product, copy, is_hpl)
    # Every run has some time outside of the update: the first panel and the last ones.
    floors.update({"broadcast_exposed": 0, OUTSIDE: 0})
    floors["solves"] = (8 if is_hpl else 4) * entries / read
    if not is_hpl:
        floors["residuals"] = entries / generate
    times = {phase: time["average"] for phase, time in run["phases"].items()}
    times[OUTSIDE] = max(run["lu"]["seconds"] - times.get("update", 0), 0)
    lines = []
    for phase, floor in floors.items():
        seconds, floor = times.get(phase, 0.0), floor if floor > 0 else None
        ratio = seconds / floor if floor else None
        line = {"phase": phase, "seconds": seconds, "floor_seconds": floor, "ratio": ratio}
        lines.append(line)
    return {
        "name": "HPL" if is_hpl else "HPL-MxP",
        "n": run["n"],
        "nb": run["nb"],
        "reserve": run.get("reserved_multiprocessors"),
        "time_seconds": run["time_seconds"],
        "phases": lines,
        "look_first": look_first(lines),
    }


def table_text(rows):
    widths = [column[1] for column in COLUMNS]
    lines = [line_of(widths, [column[0] for column in COLUMNS])]
    for row in rows:
        lines.append(line_of(widths, [cell(row[of], *form) for _, _, of, *form in COLUMNS]))
    return "".join(lines) + BELOW


def phases_text(runs):
    text, widths = "", (24, 9, 9, 7)
    for run in runs:
        seconds = cell(run["time_seconds"], 2)
        text += f"{run['name']}, n = {run['n']}, nb {run['nb']}: {seconds} s\n"
        text += line_of(widths, ("", "s", "floor", "ratio"))
        for line in run["phases"]:
            figures = [cell(line[of], 3) for of in ("seconds", "floor_seconds")]
            text += line_of(widths, (line["phase"], *figures, cell(line["ratio"], 2)))
        text += f"look first at: {run['look_first']}\n"
    return text


def goals_text(all_goals):
    lines = ((one["verdict"], one["goal"], cell(one["value"], 3)) for one in all_goals)
    return "".join(f"{verdict:<12}  {words} ({value})\n" for verdict, words, value in lines)
