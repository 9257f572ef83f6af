# SPDX-License-Identifier: BSD-3-Clause
"""Measures how fast Speedwell is on this GPU, what the GPU can do at most, how fast cuSOLVER is,
and the machine file for `speedwell predict`."""

import reports
from suites import ENDING_STALLS

START = 5  # seconds that the driver, libraries and memory take
LARGEST = "the largest n"


def clamp(value, least, most):
    return max(least, min(value, most))


def result_of(record):
    """The report of a run that passed, else nothing."""
    return record["result"] if record["verdict"] == "passed" else {}


def benchmark(s, step, name, n=0, *words, trace="", **rules):
    """One run of `speedwell mxp` or `speedwell hpl`, of order n or the largest that fits. Returns
    its report, which is empty unless it passed."""
    file = s.scratch / f"{step}-{len(s.steps)}.json"
    command = [s.programs / "speedwell", step, *ENDING_STALLS, *(["-N", n] if n else []), *words]
    command += ["--device", s.options.device, "--json", file, "--no-progress"]
    command += ["--trace", s.scratch / trace] if trace else []
    rules = {"limit": 120, "least": 10, "may_not_fit": True, **rules}
    rules["result"] = lambda outcome: reports.with_clocks(s, reports.object_in(file))
    record = s.run(name, command, step=step, words=reports.words_of_benchmark, **rules)
    if trace:
        s.keep(s.scratch / trace)
    return result_of(record)


def mxp(s):
    small, middle, largest = (200, 300, 500) if s.options.trial else (20000, 60000, 0)
    must = {"limit": 60, "least": 5, "must_end": True}
    benchmark(s, "mxp", f"HPL-MxP, n = {small}", small, may_not_fit=False, **must)
    # The part of this step's time for each of the two runs of the largest n.
    each = 0.4 * s.remaining()
    trace = f"trace-mxp-{middle}.json"
    benchmark(s, "mxp", f"HPL-MxP, n = {middle}", middle, trace=trace, reserve=2 * each, **must)
    name, rules = f"HPL-MxP, {LARGEST}", {"trace": "trace-mxp-largest.json", "least": 20}
    s.largest = benchmark(s, "mxp", name, largest, reserve=each, **rules)
    rules["trace"] = "trace-mxp-largest-reserve-0.json"
    n = s.largest.get("n", largest)
    benchmark(s, "mxp", name + ", reserve 0", n, "--reserve", 0, **rules)


def measure(s, name, command, limit, words):
    """Runs a program that prints each measurement; those before it was cut off count."""
    rules = {"limit": limit, "may_be_cut": True, "most_silent": 30, "words": words}
    rules["result"] = lambda outcome: reports.lines_with_clocks(s, outcome)
    s.run(name, command + s.smoke, **rules)


def kernels(s):
    """Speedwell's own kernels: whether they are right, and their times."""
    seconds = clamp(s.remaining() - START, 1, 455)
    command = [s.programs / "speedwell_gpu_kernels", "--json", "--budget", f"{seconds:.0f}"]
    limit, words = seconds + 2 * START, reports.words_of_variants
    measure(s, "Speedwell's kernels", command, limit, words)


def ceilings(s):
    # Its share of the time must suffice for some 27 products and parts of 3 s, one of 10 s, and
    # 10 s to allocate and fill memory.
    seconds = clamp((s.remaining() - 10) / 37, 0.1, 3)
    command = [s.programs / "speedwell_gpu_ceilings", "--json", "--seconds", f"{seconds:.2f}"]
    command += ["--n", s.largest["n"]] if s.largest else []
    measure(s, "ceilings", command, 150, reports.words_of_products)


def hpl(s):
    n = 400 if s.options.trial else 0
    name, rules = f"HPL, {LARGEST}", {"limit": 150, "least": 20}
    reserve, trace = 0.4 * s.remaining(), "trace-hpl-largest.json"
    report = benchmark(s, "hpl", name, n, trace=trace, reserve=reserve, **rules)
    other = 512 if report.get("nb") == 1024 else 1024
    nb = 32 if s.options.trial else other
    benchmark(s, "hpl", f"{name}, nb {nb}", report.get("n", n), "--nb", nb, **rules)


def time_first_steps(s, name, seconds, *words):
    """Times the first steps of runs of the largest n. Returns what was found best."""
    file = s.scratch / f"first-steps-{len(s.steps)}.json"
    command = [s.programs / "speedwell", "tune", "-N", s.largest["n"], "--budget"]
    command += [f"{max(seconds, 1):.1f}", *words, "--device", s.options.device]
    command += ["--profile", "none", "--json", file, *ENDING_STALLS]
    rules = {"limit": seconds + 40, "least": 8, "may_not_fit": True}
    rules["result"] = lambda outcome: (reports.object_in(file) or {"tunings": [None]})["tunings"][0]
    return result_of(s.run(name, command, words=reports.words_of_trials, **rules))


def first_steps(s):
    """One program tries values of nb and chunk, then one program for each number of reserved
    multiprocessors."""
    if not s.largest:
        s.note("first steps", "not run", "no run of the largest n passed")
        return
    n = s.largest["n"]
    blocks = "16,32" if s.options.trial else "1024,1536,3072,4096"
    chunk = s.largest.get("chunk") or n
    chunks = f"{max(chunk // 2, 1)},{2 * chunk if 2 * chunk < n else chunk // 4 + 1}"
    seconds = 0.55 * s.remaining() - (0 if s.options.trial else 8)
    words = ["--try-nb", blocks, "--try-chunk", chunks]
    found = time_first_steps(s, "first steps: nb, chunk", seconds, *words)
    nb = (found or s.largest)["nb"]
    for reserve in (0, 8, 16):
        # Each program times a first run, the table's values, and these values.
        words = ["--try-nb", nb, "--reserve", reserve]
        time_first_steps(s, f"first steps: nb {nb}, reserve {reserve}", 12, *words)


def words_of_solver(result):
    residual = f"scaled residual {result['scaled_residual']:.2g}"
    return f"n = {result['n']}, {reports.tflops(1e3 * result['tflops'])}, {residual}"


def solve(s, method, name, n):
    command = [s.programs / "speedwell_cusolver_bench", "--method", method, "--json"]
    command += ["--n", n] if n else []
    rules = {"limit": 90, "least": 10, "may_not_fit": True, "may_not_load": True}
    rules["not_available"] = ["cusolverDnIRSXgesv failed: cuSOLVER's status"]
    rules.update({"result": reports.last_object, "words": words_of_solver})
    size = f"n = {n}" if n else LARGEST
    return result_of(s.run(f"cuSOLVER {name}, {size}", command, **rules))


def cusolver(s):
    """Runs cuSOLVER's two methods, each followed by Speedwell at the same n."""
    irs = solve(s, "irs", "IRSXgesv", 300 if s.options.trial else 0)
    if irs:
        benchmark(s, "mxp", "HPL-MxP at IRSXgesv's largest n", irs["n"])
    # Xgetrf takes half a minute at its largest n, and Speedwell's HPL as long.
    n = 0 if s.remaining() > 100 else 60000
    getrf = solve(s, "getrf", "Xgetrf", 300 if s.options.trial else n)
    if getrf:
        name, n = "HPL at Xgetrf's n", getrf["n"]
        benchmark(s, "hpl", name, n)
        benchmark(s, "hpl", name + ", reserve 0", n, "--reserve", 0)


def words_of_machine(result):
    rate = result["ranks"][0]["operations"].get("product fp16", {}).get("rate", 0)
    return f"machine.json, FP16 product {reports.tflops(rate / 1e9)}"


def machine(s):
    """Writes the machine file of this GPU, with which `speedwell predict` predicts runs on it."""
    if s.options.device == "cpu":
        return s.note("machine file", "absent", "machine files are of GPUs")
    file = s.scratch / "machine.json"
    seconds = 0.02 if s.options.trial else clamp(0.8 * (s.remaining() - START), 2, 60)
    command = [s.programs / "speedwell", "predict", "--calibrate", file]
    command += ["--budget", f"{seconds:g}", "--device", s.options.device, *ENDING_STALLS]
    rules = {"limit": 2 * seconds + 30, "least": 8, "words": words_of_machine}
    rules["result"] = lambda outcome: reports.object_in(file)
    s.run("machine file", command, **rules)
    s.keep(file)
