# SPDX-License-Identifier: BSD-3-Clause
"""Runs all of Speedwell's tests on this GPU, and tools of CUDA over small runs."""

import os

import reports
from children import find_program, run_child
from session import with_variables

# Catch2 prints a line at the end of each test, so that silence (in seconds) shows a hang.
SHOW_DURATIONS = ["--durations", "yes"]
SUITE = {"limit": 90, "most_silent": 15}
# A command of Speedwell ends a stalled run itself, with a line that names the cause, before the
# check kills it.
ENDING_STALLS = ["--stall-timeout", "15"]
SMALL_TESTS = ("[small]", "[cast]", "[fp64]", "[generate]", "[factor]", "[solve]")
# What tools of CUDA print where a machine does not allow them.
NO_COUNTERS = "ERR_NVGPUCTRPERM"
NO_PROFILE = (NO_COUNTERS, "No kernels were profiled", "not supported")
NO_DEVICE = ("Device not supported", "device is not supported")
NO_SANITIZER = (*NO_DEVICE, "Initialization failed", "InitializeInjection", NO_COUNTERS)


def device(s):
    program = s.programs / "speedwell_device_tests"
    command = [program, "--device", s.options.device]
    many = with_variables([*command, "[factor]", *SHOW_DURATIONS], "SPEEDWELL_GPU_KERNELS=many")
    # 31 s on an H200; other GPUs may take longer. The summary says if it was cut off.
    rules = {**SUITE, "may_be_cut": True, "needs": [program]}
    s.run("device conformance", command + SHOW_DURATIONS, **rules)
    s.run("device conformance, by many kernels", many, **rules)


def on_ranks(what, program, counts, *choice):
    """A step that runs a suite on each number of ranks."""

    def step(s):
        suite, mpirun = s.programs / program, find_program(s.options.mpirun) or s.options.mpirun
        version = run_child([mpirun, "--version"], 10).out
        is_open_mpi = "Open MPI" in version or "OpenRTE" in version
        options = ["--oversubscribe", "--bind-to", "none"] if is_open_mpi else []
        for count in counts:
            command = [mpirun, *options, "-n", count, suite, "--device", s.options.device]
            # Several ranks share one GPU, which NCCL does not allow.
            command += ["--comm", "staged"] if count > 1 else []
            command += [*choice, *SHOW_DURATIONS]
            # Ranks bound to no cores would each start a thread on every core, and wait for them.
            threads = f"OMP_NUM_THREADS={max(len(os.sched_getaffinity(0)) // count, 1)}"
            command = with_variables(command, threads, "OMP_WAIT_POLICY=passive")
            name = f"{what}, {count} rank{'s' if count > 1 else ''}"
            s.run(name, command, needs=[suite, mpirun], **SUITE)

    return step


def tool_of_cuda(s, name, tool, folder):
    """Its path. None, with a record, where it is neither in PATH nor in CUDA's folders."""
    homes = [os.environ[home] + "/bin" for home in ("CUDA_HOME", "CUDA_PATH") if home in os.environ]
    path = find_program(tool, f"/usr/local/cuda/{folder}", *homes, "/usr/local/cuda/bin")
    if path and s.options.device == "cuda":
        return path
    s.note(name, "absent", f"there is no {tool} in PATH or CUDA's folders")
    return None


def small_tests(s):
    """The device tests for slow tools: those with the tag [small], or, if there are none, the
    tests of Speedwell's own kernels."""
    program = s.programs / "speedwell_device_tests"
    tags = run_child([program, "--list-tags"], 20).out
    found = [tag for tag in SMALL_TESTS if tag in tags]
    choice = ",".join(found[:1] if "[small]" in found else found)
    return [program, "--device", s.options.device, *filter(None, [choice])]


def sanitize(s, sanitizer, tool, small, later):
    """Runs a program under a tool of compute-sanitizer, with as much time as each of those that
    come later. Returns the verdict."""
    command = [sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"]
    # Speedwell makes CUDA calls that may fail by design (queries) and checks each, so memcheck,
    # which alone knows errors of the API, does not report them.
    command += ["--report-api-errors", "no"] if tool == "memcheck" else []
    # To instrument all kernels of cuBLAS, if the program loads them at its start, takes minutes.
    command = with_variables(command + small, "CUDA_MODULE_LOADING=LAZY")
    # A tool makes a program hundreds of times slower. One that starts at all is worth its small
    # part. It has named the kernel and the line, so that nothing has to be repeated.
    rules = {"may_be_cut": True, "least": 1, "repeat": False, "needs": small[:1]}
    rules["reserve"] = s.remaining() * later / (later + 1)
    rules["finding"] = lambda outcome: reports.first_finding(outcome.out + outcome.err)
    name = f"{tool}: {small[0].name}"
    record = s.run(name, command, not_available=NO_SANITIZER, **rules)
    found = reports.first_finding(record.get("output", "") + record.get("errors", ""))
    if record["verdict"] == "cut off" and found:
        s.note(name + ", before it was cut off", "failed", found)
    return record["verdict"]


def sanitizers(s):
    sanitizer = tool_of_cuda(s, *3 * ["compute-sanitizer"])
    if not sanitizer:
        return
    benchmark = [s.programs / "speedwell", "mxp", "-N", 600, "--nb", 128]
    benchmark += ["--device", s.options.device, *ENDING_STALLS]
    both = (benchmark, small_tests(s))
    tools = ("memcheck", "racecheck", "synccheck", "initcheck")
    runs = [(tool, small) for tool in tools for small in both]
    for number, run in enumerate(runs):
        if sanitize(s, sanitizer, *run, len(runs) - number - 1) == "not available":
            return


def big(s):
    """Compares sampled entries of a product that spans 2^31 elements with sums in FP64."""
    command = [s.programs / "speedwell_gpu_big_update", "--json", "--device", s.options.device]
    s.run(
        "update of a big shape",
        command + s.smoke,
        result=reports.last_object,
        words=lambda found: f"{found['name']}, worst error {found['worst']:.2g} of its bound",
    )


def profile(s):
    """Profiles the kernels of one step of the factorization."""
    name, program = "profile by ncu", s.programs / "speedwell_gpu_big_update"
    ncu = tool_of_cuda(s, name, "ncu", "nsight-compute")
    if not ncu:
        return
    command = [ncu, "--target-processes", "all", "--launch-count", 60, "--csv"]
    command += ["--page", "details", program, "--profile", *s.smoke]
    # What a counter costs is not known, the machine may forbid counters, and a tool may not know
    # its GPU.
    rules = {"needs": [program], "may_be_cut": True, "may_fail": True, "not_available": NO_PROFILE}
    read, words = reports.profiled_kernels, reports.words_of_profile
    s.run(name, command, result=read, words=words, **rules)
