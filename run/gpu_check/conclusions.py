# SPDX-License-Identifier: BSD-3-Clause
"""Makes a table of the runs and the verdicts on the goals from the records of the steps."""

import json

from floors import fastest_rate, median_mhz, phases_of
from products import line_of, products_of
from reports import is_number


def results_of(steps, name):
    """The reports of the runs that passed."""
    return [
        step["result"]
        for step in steps
        if step["step"] == name and step["verdict"] == "passed" and step.get("result")
    ]


def conclusions(steps):
    """What all runs so far show."""
    rows = table(steps)
    return {
        "table": rows,
        "phases": phases(steps),
        "goals": goals(rows),
        "products": products_of(steps),
    }


def share_at_clock(lu, product, mhz):
    """The rate of LU as a share of the product's rate, scaled to the clock of the run."""
    if not (product.value and product.sm_mhz and mhz):
        return None
    return lu / (product.value * mhz / product.sm_mhz)


def row_of(run, benchmark, product, irs):
    score, lu, mhz = run["gflops"] / 1e3, run["lu"]["gflops"] / 1e3, median_mhz(run)
    is_mxp = benchmark == "mxp"
    has_irs = is_mxp and irs and irs["n"] == run["n"]
    return {
        "benchmark": benchmark,
        "n": run["n"],
        "nb": run["nb"],
        "reserve": run.get("reserved_multiprocessors"),
        "score_tflops": score,
        "lu_tflops": lu,
        "sm_mhz": mhz,
        "refinement_share": run["refinement"]["seconds"] / run["time_seconds"] if is_mxp else None,
        "share_of_product": score / product.value if product.value else None,
        "share_of_product_at_clock": share_at_clock(lu, product, mhz),
        "ratio_to_irs": score / irs["tflops"] if has_irs else None,
    }


def table(steps):
    """One row for each run of HPL-MxP and HPL that passed."""
    all_irs = [result for result in results_of(steps, "cusolver") if result.get("method") == "irs"]
    irs = max(all_irs, key=lambda result: result["n"], default=None)
    rows = []
    for benchmark, precision in (("mxp", "fp16"), ("hpl", "fp64")):
        product = fastest_rate(steps, "product", precision)
        rows += [row_of(run, benchmark, product, irs) for run in results_of(steps, benchmark)]
    return rows


def phases(steps):
    """The phases of the fastest run of the largest n of each benchmark."""
    best = {}
    for benchmark in ("mxp", "hpl"):
        runs = results_of(steps, benchmark)
        best[benchmark] = max(runs, key=lambda run: (run["n"], run["gflops"]), default={})
    return [phases_of(run, name == "hpl", steps) for name, run in best.items() if "phases" in run]


def goals(rows):
    """Each with "goal", "value" and "verdict" (reached, not reached or not measured)."""

    def best_of(benchmark, column, least_n=0):
        values = [
            row[column] for row in rows if row["benchmark"] == benchmark and row["n"] >= least_n
        ]
        return max(filter(is_number, values), default=None)

    def goal(words, value, bound, at_most=False):
        if value is None:
            verdict = "not measured"
        else:
            verdict = (
                "reached" if (value <= bound if at_most else value >= bound) else "not reached"
            )
        return {"goal": words, "value": value, "verdict": verdict}

    mxp = [row for row in rows if row["benchmark"] == "mxp"]
    largest = max((row["n"] for row in mxp), default=0)
    refinement = min((row["refinement_share"] for row in mxp if row["n"] == largest), default=None)
    share, ratio = best_of("mxp", "share_of_product"), best_of("mxp", "ratio_to_irs")
    score, hpl = best_of("mxp", "score_tflops"), best_of("hpl", "score_tflops")
    large = best_of("mxp", "score_tflops", 165000)
    speedup = score / hpl if score and hpl else None
    return [
        goal("score at least 0.88 of the FP16 product rate of the same run", share, 0.88),
        goal("at least 600 TFLOP/s at n >= 165000", large, 600),
        goal(
            "refinement at most 0.02 of the time at the largest n", refinement, 0.02, at_most=True
        ),
        goal("at least 2 times IRSXgesv at its largest n", ratio, 2),
        goal("FP64 HPL at least 50 TFLOP/s", hpl, 50),
        goal("HPL-MxP at least 11 times FP64 HPL", speedup, 11),
    ]


def number(value, digits, unit=1):
    return f"{value * unit:.{digits}f}" if is_number(value) else "-"


def table_text(rows):
    heads = {
        "benchmark": 9,
        "n": 8,
        "nb": 6,
        "reserve": 8,
        "TFLOP/s": 9,
        "LU": 9,
        "SM MHz": 7,
        "refinement %": 12,
        "of product": 10,
        "at clock": 9,
        "x IRSXgesv": 10,
    }
    text = line_of(heads.values(), heads) + "\n"
    for row in rows:
        cells = [row["benchmark"], *(json.dumps(row[field]) for field in ("n", "nb", "reserve"))]
        for field, digits, unit in (
            ("score_tflops", 2, 1),
            ("lu_tflops", 2, 1),
            ("sm_mhz", 0, 1),
            ("refinement_share", 2, 100),
            ("share_of_product", 3, 1),
            ("share_of_product_at_clock", 3, 1),
            ("ratio_to_irs", 2, 1),
        ):
            cells.append(number(row[field], digits, unit))
        text += line_of(heads.values(), cells) + "\n"
    return (
        text + "of product: score over the fastest FP16 (HPL: FP64) product; at clock: LU over "
        "that product at the clock of the run\n"
    )


def phases_text(runs):
    text, widths = "", (24, 9, 9, 7)
    for run in runs:
        seconds = number(run["time_seconds"], 2)
        text += f"{run['name']}, n = {run['n']}, nb {run['nb']}: {seconds} s\n"
        text += line_of(widths, ("", "s", "floor", "ratio")) + "\n"
        for line in run["phases"]:
            values = number(line["seconds"], 3), number(line["floor_seconds"], 3)
            text += line_of(widths, (line["phase"], *values, number(line["ratio"], 2))) + "\n"
        text += f"look first at: {run['look_first']}\n"
    return text


def goals_text(goals):
    return "".join(
        f"{one['verdict']:<12}  {one['goal']} ({number(one['value'], 3)})\n" for one in goals
    )
