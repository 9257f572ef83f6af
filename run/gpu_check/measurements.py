# SPDX-License-Identifier: BSD-3-Clause
"""Measures how fast Speedwell is on this GPU, what the GPU can do at most, how fast cuSOLVER is,
and the machine file for `speedwell predict`."""

import calendar
import time

import reports
from session import Task
from suites import SILENCE_OF_A_HANG, ending_stalls

START = 5  # seconds that the driver, libraries and memory take


def clamp(value, least, most):
    return max(least, min(value, most))


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
        report["clocks"] = s.clocks(begin, end)
    return report


def lines_with_clocks(s, outcome):
    """The lines of a program, each with the GPU's clocks while it was measured."""
    lines = reports.json_lines(outcome)
    for line in lines:
        if "ended" in line:
            line["clocks"] = s.clocks(line["ended"] - line.get("seconds", 0), line["ended"])
    return lines


def result_of(record):
    """The report of a run that passed, else nothing."""
    return record["result"] if record["verdict"] == "passed" else {}


def benchmark(s, step, name, n=0, words=(), trace="", least=10, **rules):
    """One run of `speedwell mxp` or `speedwell hpl`, of order n or the largest that fits. Returns
    its report, which is empty unless it passed."""
    file = s.scratch(f"{step}-{len(s.steps)}.json")
    command = ending_stalls(s.program("speedwell"), step)
    command += ["-N", str(n)] if n else []
    command += [*words, "--device", s.options.device, "--json", file, "--no-progress"]
    command += ["--trace", s.scratch(trace)] if trace else []
    rules = {"limit": 120, "may_not_fit": True, **rules}
    task = Task(
        step,
        name,
        command,
        least=s.least(least),
        result=lambda outcome: with_clocks(s, reports.json_file(file)),
        words=reports.words_of_benchmark,
        **rules,
    )
    record = s.run(task)
    if trace:
        s.keep(s.scratch(trace), trace)
    return result_of(record)


def mxp(s):
    trial = s.options.trial
    small, middle, largest = (200, 300, 500) if trial else (20000, 60000, 0)
    must = {"limit": 60, "least": 5, "must_end": True}
    benchmark(s, "mxp", f"HPL-MxP, n = {small}", small, may_not_fit=False, **must)
    # The part of this step's time for each of the two runs of the largest n.
    each = 0.4 * s.remaining()
    trace = f"trace-mxp-{middle}.json"
    benchmark(s, "mxp", f"HPL-MxP, n = {middle}", middle, trace=trace, reserve=2 * each, **must)
    name, trace = "HPL-MxP, the largest n", "trace-mxp-largest"
    s.largest = benchmark(s, "mxp", name, largest, trace=trace + ".json", reserve=each, least=20)
    n = s.largest.get("n", largest)
    reserve, name, trace = ("--reserve", "0"), name + ", reserve 0", trace + "-reserve-0.json"
    benchmark(s, "mxp", name, n, reserve, trace=trace, least=20)


def kernels(s):
    """Speedwell's own kernels: whether they are right, and their times. What was printed before
    the end of the step's time counts."""
    seconds = clamp(s.remaining() - START, 1, 455)
    smoke = ["--smoke"] if s.options.trial else []
    options = ["--json", "--budget", f"{seconds:.0f}", *smoke]
    task = Task(
        "kernels",
        "Speedwell's kernels",
        [s.program("speedwell_gpu_kernels"), *options],
        limit=seconds + 2 * START,
        may_be_cut=True,
        most_silent=2 * SILENCE_OF_A_HANG,
        result=lambda outcome: lines_with_clocks(s, outcome),
        words=reports.words_of_variants,
    )
    s.run(task)


def ceilings(s):
    # Its share of the time must suffice for some 27 products and parts of 3 s, one of 10 s, and
    # 10 s to allocate and fill memory.
    seconds = clamp((s.remaining() - 10) / 37, 0.1, 3)
    command = [s.program("speedwell_gpu_ceilings"), "--json", "--seconds", f"{seconds:.2f}"]
    command += ["--n", str(s.largest["n"])] if s.largest else []
    command += ["--smoke"] if s.options.trial else []
    task = Task(
        "ceilings",
        "ceilings",
        command,
        limit=150,
        may_be_cut=True,  # it prints each measurement, and those before it was cut off count
        most_silent=2 * SILENCE_OF_A_HANG,
        result=lambda outcome: lines_with_clocks(s, outcome),
        words=reports.words_of_ceilings,
    )
    s.run(task)


def hpl(s):
    half = 0.5 * s.remaining()
    n = 400 if s.options.trial else 0
    name, rules = "HPL, the largest n", {"limit": 150, "least": 20}
    trace = "trace-hpl-largest.json"
    report = benchmark(s, "hpl", name, n, trace=trace, reserve=0.8 * half, **rules)
    other = 512 if report.get("nb") == 1024 else 1024
    nb = 32 if s.options.trial else other
    benchmark(s, "hpl", f"{name}, nb {nb}", report.get("n", n), ("--nb", str(nb)), **rules)


def time_first_steps(s, name, words, seconds):
    """Times the first steps of runs of the largest n. Returns what was found best."""
    file = s.scratch(f"first-steps-{len(s.steps)}.json")
    budget = ["--budget", f"{max(seconds, 1):.1f}"]
    command = [s.program("speedwell"), "tune", "-N", str(s.largest["n"]), *budget, *words]
    command += ["--device", s.options.device, "--profile", "none", "--json", file]

    def tuning(_):
        report = reports.json_file(file)
        return report and report["tunings"][0]

    task = Task(
        "first_steps",
        name,
        ending_stalls(*command),
        limit=seconds + 40,
        least=s.least(8),
        may_not_fit=True,
        result=tuning,
        words=reports.words_of_trials,
    )
    return result_of(s.run(task))


def first_steps(s):
    """One program tries values of nb and chunk, then one program for each number of reserved
    multiprocessors."""
    if not s.largest:
        s.note("first_steps", "first steps", "not run", "no run of the largest n passed")
        return
    n = s.largest["n"]
    blocks = "16,32" if s.options.trial else "1024,1536,3072,4096"
    chunk = s.largest.get("chunk") or n
    chunks = f"{max(chunk // 2, 1)},{2 * chunk if 2 * chunk < n else chunk // 4 + 1}"
    seconds = 0.55 * s.remaining() - (0 if s.options.trial else 8)
    words = ["--try-nb", blocks, "--try-chunk", chunks]
    found = time_first_steps(s, "first steps: nb, chunk", words, seconds)
    nb = (found or s.largest)["nb"]
    for reserve in (0, 8, 16):
        # Each program times a first run, the table's values, and these values.
        words = ["--try-nb", str(nb), "--reserve", str(reserve)]
        time_first_steps(s, f"first steps: nb {nb}, reserve {reserve}", words, 12)


def solve(s, method, name, n):
    size = f"n = {n}" if n else "the largest n"
    command = [s.program("speedwell_cusolver_bench"), "--method", method, "--json"]
    task = Task(
        "cusolver",
        f"cuSOLVER {name}, {size}",
        command + (["--n", str(n)] if n else []),
        limit=90,
        least=s.least(10),
        may_not_fit=True,
        may_not_load=True,
        not_available=["cusolverDnIRSXgesv failed: cuSOLVER's status"],
        result=reports.only_line,
        words=reports.words_of_solver,
    )
    return result_of(s.run(task))


def cusolver(s):
    """Runs cuSOLVER's two methods, each followed by Speedwell at the same n."""
    irs = solve(s, "irs", "IRSXgesv", 300 if s.options.trial else 0)
    if irs:
        benchmark(s, "mxp", "HPL-MxP at IRSXgesv's largest n", irs["n"])
    # Xgetrf takes half a minute at its largest n, and Speedwell's HPL as long.
    n = 0 if s.remaining() > 100 else 60000
    getrf = solve(s, "getrf", "Xgetrf", 300 if s.options.trial else n)
    if getrf:
        benchmark(s, "hpl", "HPL at Xgetrf's n", getrf["n"])
        reserve = ("--reserve", "0")
        benchmark(s, "hpl", "HPL at Xgetrf's n, reserve 0", getrf["n"], reserve)


def machine(s):
    """Writes the machine file of this GPU, with which `speedwell predict` predicts runs on it."""
    file = s.scratch("machine.json")
    seconds = 0.02 if s.options.trial else clamp(0.8 * (s.remaining() - START), 2, 60)
    options = ["--budget", f"{seconds:g}", "--device", s.options.device]
    task = Task(
        "machine",
        "machine file",
        ending_stalls(s.program("speedwell"), "predict", "--calibrate", file, *options),
        limit=2 * seconds + 30,
        least=s.least(8),
        result=lambda outcome: reports.json_file(file),
        words=reports.words_of_machine,
    )
    s.run(task)
    s.keep(file, "machine.json")
