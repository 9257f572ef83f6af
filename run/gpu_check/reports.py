# SPDX-License-Identifier: BSD-3-Clause
"""Reads what programs print, and says it in a few words."""

import calendar
import contextlib
import csv
import json
import re
import time


def cell(value, digits=None, unit=1):
    """A cell of a printed table: a figure with so many digits, or else a text or JSON."""
    if digits is not None:
        return "-" if value is None else f"{value * unit:.{digits}f}"
    return value if isinstance(value, str) else json.dumps(value)


def line_of(widths, cells, end="\n"):
    return " ".join(f"{cell:>{width}}" for width, cell in zip(widths, cells)) + end


def object_of(text):
    """The JSON object that a text is; None for any other text, such as a line of a library."""

    def refuse(constant):
        raise ValueError(f"{constant} is no JSON")

    with contextlib.suppress(ValueError):
        value = json.loads(text, parse_constant=refuse)
        return value if isinstance(value, dict) else None


def objects_in(outcome):
    """Those that a program has printed, one on a line."""
    return [value for value in map(object_of, outcome.out.split("\n")) if value is not None]


def last_object(outcome):
    return (objects_in(outcome) or [None])[-1]


def object_in(file):
    return object_of(file.read_text("utf-8", "replace")) if file.exists() else None


def seconds_of(text):
    """A time such as "2026-11-22T02:36:13Z" in seconds since 1970; 0 for any other text."""
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
    except (TypeError, ValueError):
        return 0


def with_clocks(s, report):
    """The report with the GPU's clocks during its timed part, whose times are whole seconds."""
    if report:
        begin, end = seconds_of(report.get("start")), seconds_of(report.get("end")) + 1
        report["clocks"] = s.monitor.between(begin, end)
    return report


def lines_with_clocks(s, outcome):
    """The lines of a program that measures, each with the GPU's clocks meanwhile."""
    lines = objects_in(outcome)
    for line in lines:
        if "ended" in line:
            begin = line["ended"] - line.get("seconds", 0)
            line["clocks"] = s.monitor.between(begin, line["ended"])
    return lines


def measured(steps, part, **fields):
    """The lines of a part of the ceilings. A run that was cut off counts with what it measured."""
    results = [step.get("result") or [] for step in steps if step["step"] == "ceilings"]
    return parts(sum(results, []), part, **fields)


def parts(lines, part, **fields):
    wanted = {"part": part, **fields}.items()
    return [line for line in lines if wanted <= line.items()]


def fastest(lines):
    """Empty if there are none."""
    return max(lines, key=lambda line: line.get("rate", 0), default={})


def tflops(gflops):
    return f"{gflops / 1e3:.4g} TFLOP/s"


def words_of_clocks(report):
    """The medians, such as ", 1755 MHz, 640 W"; empty if there are no samples."""
    clocks = report.get("clocks") or {}
    known = [(clocks.get(field), unit) for field, unit in (("sm_mhz", "MHz"), ("power_watts", "W"))]
    return "".join(f", {spread['median']:.0f} {unit}" for spread, unit in known if spread)


def words_of_benchmark(result):
    rates = f"{tflops(result['gflops'])}, LU {tflops(result['lu']['gflops'])}"
    residual = f"scaled residual {result['scaled_residual']:.2g}"
    return f"n = {result['n']}, {rates}, {residual}{words_of_clocks(result)}"


def words_of_variants(lines):
    return "; ".join(
        f"{line['operation']} {line['size']}: {cell(line['few_milliseconds'], 2)} ms by few "
        f"kernels, {cell(line['many_milliseconds'], 2)} by many"
        for line in parts(lines, "variants")
    )


def words_of_products(lines):
    best = fastest(parts(lines, "product", precision="fp16"))
    words = best and f"FP16 product {tflops(1e3 * best['rate'])}{words_of_clocks(best)}"
    return words or "no FP16 product"


def words_of_trials(result):
    return "; ".join(
        f"nb {trial['nb']} chunk {trial['chunk']}: {tflops(trial['gflops'])}"
        for trial in result["trials"]
    )


def first_finding(text):
    """The first error that compute-sanitizer reports, with the line of the source where it has
    one: it stands below, as "    at kernel(int)+0x50 in file.cu:12"."""
    kinds = ("Invalid", "Error", "Race", "Uninitialized", "Barrier")
    found = ""
    for line in text.split("\n"):
        before, mark, words = line.partition("========= ")
        if before or not mark:
            continue
        if not found:
            found = words if words.startswith(kinds) else ""
        elif " in " in words:
            return found + words[words.index(" in ") :]
        elif not words.startswith("  "):
            return found  # the next report
    return found


def profiled_kernels(outcome):
    """Each launch that ncu profiled (--csv --page details), with its metrics by their names."""
    head, launches = [], {}
    for cells in csv.reader(line for line in outcome.out.splitlines() if line.startswith('"')):
        if cells[:1] == ["ID"]:
            head = cells
        elif head and len(cells) == len(head):
            row = dict(zip(head, cells))
            columns = {"kernel": "Kernel Name", "grid": "Grid Size", "block": "Block Size"}
            launch = {name: row.get(column, "") for name, column in columns.items()}
            launch = launches.setdefault(row["ID"], {**launch, "metrics": {}})
            value = {"value": row.get("Metric Value", ""), "unit": row.get("Metric Unit", "")}
            if row.get("Metric Name"):
                launch["metrics"][row["Metric Name"]] = value
    return list(launches.values())


def launch_seconds(kernel):
    """0 if they were not measured. Numbers may have commas: "1,234.56"."""
    duration = kernel["metrics"].get("Duration", {"value": "", "unit": ""})
    number = re.match(r"[\d.]*\d|$", duration["value"].replace(",", "")).group()
    scale = {"n": 1e-9, "u": 1e-6, "m": 1e-3}.get(duration["unit"][:1], 1)
    return scale * float(number or 0)


def words_of_profile(kernels):
    longest = max(kernels, key=launch_seconds)
    milliseconds = 1e3 * launch_seconds(longest)
    return f"{len(kernels)} launches, the longest {milliseconds:.3g} ms: {longest['kernel']}"
