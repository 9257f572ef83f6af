# SPDX-License-Identifier: BSD-3-Clause
"""Reads what programs print, and says it in a few words."""

import csv
import json

from children import Outcome


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def json_object(text):
    """The object that a text is; None for any other text, such as a line of a library."""

    def refuse(constant):
        raise ValueError(f"{constant} is no JSON")

    try:
        value = json.loads(text, parse_constant=refuse)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def json_lines(outcome):
    return [found for found in map(json_object, outcome.out.split("\n")) if found is not None]


def only_line(outcome):
    """The last line that is an object; None if there is none."""
    return (json_lines(outcome) or [None])[-1]


def json_file(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return json_object(file.read())
    except OSError:
        return None


def tflops(gflops):
    return f"{gflops / 1e3:.4g} TFLOP/s"


def words_of_clocks(measured):
    """The medians, such as ", 1755 MHz, 640 W"; empty if there are no samples."""
    clocks = measured.get("clocks") or {}
    known = [(clocks.get(field), unit) for field, unit in (("sm_mhz", "MHz"), ("power_watts", "W"))]
    return "".join(f", {spread['median']:.0f} {unit}" for spread, unit in known if spread)


def words_of_benchmark(result):
    return (
        f"n = {result['n']}, {tflops(result['gflops'])}, LU {tflops(result['lu']['gflops'])}, "
        f"scaled residual {result['scaled_residual']:.2g}{words_of_clocks(result)}"
    )


def words_of_solver(result):
    return (
        f"n = {result['n']}, {result['tflops']:.4g} TFLOP/s, "
        f"scaled residual {result['scaled_residual']:.2g}"
    )


def words_of_update(result):
    return f"{result['name']}, worst error {result['worst']:.2g} of its bound"


def words_of_variants(lines):
    return "; ".join(
        f"{line.get('operation', '')} {line['size']}: {line.get('few_milliseconds', 0):.2f} ms by "
        f"few kernels, {line.get('many_milliseconds', 0):.2f} by many"
        for line in lines
        if line.get("part") == "variants"
    )


def words_of_ceilings(lines):
    products = [
        line for line in lines if line.get("part") == "product" and line.get("precision") == "fp16"
    ]
    if not products:
        return "no FP16 product"
    best = max(products, key=lambda line: line.get("rate", 0))
    return f"FP16 product {best.get('rate', 0):.4g} TFLOP/s{words_of_clocks(best)}"


def words_of_trials(result):
    return "; ".join(
        f"nb {trial['nb']} chunk {trial['chunk']}: {tflops(trial['gflops'])}"
        for trial in result["trials"]
    )


def words_of_machine(result):
    rate = result["ranks"][0]["operations"].get("product fp16", {}).get("rate", 0)
    return f"machine.json, FP16 product {tflops(rate / 1e9)}"


def first_finding(outcome):
    """The first error that compute-sanitizer reports, with the line of the source where it has
    one: it stands below, as "    at kernel(int)+0x50 in file.cu:12"."""
    mark = "========= "
    kinds = ("Invalid", "Error", "Race", "Uninitialized", "Barrier")
    found = ""
    for line in (outcome.out + outcome.err).split("\n"):
        if not line.startswith(mark):
            continue
        words = line[len(mark) :]
        if not found:
            found = words if words.startswith(kinds) else ""
        elif " in " in words:
            return found + words[words.index(" in ") :]
        elif not words.startswith("  "):
            return found  # the next report
    return found


def finding_in(record):
    return first_finding(Outcome(out=record.get("output", ""), err=record.get("errors", "")))


def profiled_kernels(outcome):
    """Each launch that ncu profiled (--csv --page details), with its metrics by their names."""
    head, launches = [], {}
    for cells in csv.reader(outcome.out.split("\n")):
        if cells[:1] == ["ID"]:
            head = cells
        elif head and len(cells) == len(head):
            row = dict(zip(head, cells))
            launch = launches.setdefault(
                row["ID"],
                {
                    "kernel": row.get("Kernel Name", ""),
                    "grid": row.get("Grid Size", ""),
                    "block": row.get("Block Size", ""),
                    "metrics": {},
                },
            )
            if row.get("Metric Name"):
                values = {"value": row.get("Metric Value", ""), "unit": row.get("Metric Unit", "")}
                launch["metrics"][row["Metric Name"]] = values
    return list(launches.values())


def launch_seconds(kernel):
    """0 if they were not measured. Numbers may have commas: "1,234.56"."""
    duration = kernel["metrics"].get("Duration", {"value": "", "unit": ""})
    try:
        number = float(duration["value"].replace(",", ""))
    except ValueError:
        return 0.0
    return number * {"n": 1e-9, "u": 1e-6, "m": 1e-3}.get(duration["unit"][:1], 1)


def words_of_profile(kernels):
    longest = max(kernels, key=launch_seconds)
    milliseconds = 1e3 * launch_seconds(longest)
    return f"{len(kernels)} launches, the longest {milliseconds:.3g} ms: {longest['kernel']}"
