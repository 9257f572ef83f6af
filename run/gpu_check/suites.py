# SPDX-License-Identifier: BSD-3-Clause
"""Runs all of Speedwell's tests on this GPU, and tools of CUDA over small runs."""

import os

import reports
from children import find_program, find_tool, run_child
from session import Task, with_variables

SILENCE_OF_A_HANG = 15  # seconds, of a program that prints a line for each of its parts
# Catch2 then prints a line at the end of each test, so that silence shows a hang.
SHOW_DURATIONS = ["--durations", "yes"]
SMALL_TESTS = ("[small]", "[cast]", "[fp64]", "[generate]", "[factor]", "[solve]")


def ending_stalls(*command):
    """A command of Speedwell that ends a stalled run itself, with a line that names the cause,
    before the check kills it."""
    return [*command, "--stall-timeout", "15"]


def device(s):
    program = s.program("speedwell_device_tests")
    command = [program, "--device", s.options.device]
    # 31 s on an H200; other GPUs may take longer. The summary says if it was cut off.
    rules = {"limit": 90, "may_be_cut": True, "most_silent": SILENCE_OF_A_HANG}
    s.run(Task("device", "device conformance", command + SHOW_DURATIONS, **rules))
    command = with_variables(["SPEEDWELL_GPU_KERNELS=many"], [*command, "[factor]"])
    name = "device conformance, by many kernels"
    s.run(Task("device", name, command + SHOW_DURATIONS, needs=[program], **rules))


def on_ranks(s, step, what, name, counts, *choice):
    """Runs a suite on each number of ranks."""
    mpirun = find_program(s.options.mpirun) or s.options.mpirun
    version = run_child([mpirun, "--version"], 10).out
    is_open_mpi = "Open MPI" in version or "OpenRTE" in version
    options = ["--oversubscribe", "--bind-to", "none"] if is_open_mpi else []
    program = s.program(name)
    for count in counts:
        # Ranks that are bound to no cores would each start a thread on every core, and wait for
        # them.
        threads = max(len(os.sched_getaffinity(0)) // count, 1)
        variables = [f"OMP_NUM_THREADS={threads}", "OMP_WAIT_POLICY=passive"]
        command = [mpirun, *options, "-n", str(count), program, "--device", s.options.device]
        # Several ranks share one GPU, which NCCL does not allow.
        command += ["--comm", "staged"] if count > 1 else []
        task = Task(
            step,
            f"{what}, {count} rank{'s' if count > 1 else ''}",
            with_variables(variables, [*command, *choice, *SHOW_DURATIONS]),
            needs=[program, mpirun],
            limit=90,
            most_silent=SILENCE_OF_A_HANG,
        )
        s.run(task)


def mpi(s):
    on_ranks(s, "mpi", "MPI suite", "speedwell_mpi_tests", (1, 2, 4), "~[solve]")


def accuracy(s):
    on_ranks(s, "accuracy", "accuracy against LAPACK", "speedwell_accuracy_tests", (1, 4))


def systems(s):
    on_ranks(s, "systems", "users' systems", "speedwell_mpi_tests", (1, 4), "[solve]")


def small_tests(s):
    """The device tests for slow tools: those with the tag [small], or, if there are none, the
    tests of Speedwell's own kernels."""
    command = [s.program("speedwell_device_tests"), "--device", s.options.device]
    if not find_program(command[0]):
        return command
    tags = run_child([command[0], "--list-tags"], 20).out
    found = [tag for tag in SMALL_TESTS if tag in tags]
    choice = found[:1] if found[:1] == ["[small]"] else found
    return [*command, ",".join(choice)] if choice else command


def sanitize(s, sanitizer, tool, small, later):
    """Runs a program under a tool of compute-sanitizer, with as much time as each of those that
    come later. Returns the verdict."""
    command = [sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"]
    # Speedwell makes CUDA calls that may fail by design (queries) and checks each, so memcheck,
    # which alone knows errors of the API, does not report them.
    command += ["--report-api-errors", "no"] if tool == "memcheck" else []
    task = Task(
        "sanitizer",
        f"{tool}: {os.path.basename(small[0])}",
        # To instrument all kernels of cuBLAS, where the program loads them at its start, takes
        # minutes.
        with_variables(["CUDA_MODULE_LOADING=LAZY"], command + small),
        needs=[small[0]],
        least=1,  # a tool that starts at all is worth its small part
        reserve=s.remaining() * later / (later + 1),
        may_be_cut=True,  # the tool makes a program hundreds of times slower
        repeat=False,  # the tool has named the kernel and the line
        finding=reports.first_finding,
        not_available=(
            "Device not supported",
            "device is not supported",
            "Initialization failed",
            "InitializeInjection",
            "ERR_NVGPUCTRPERM",
        ),
    )
    record = s.run(task)
    found = reports.finding_in(record)
    if record["verdict"] == "cut off" and found:
        s.note(task.step, task.name + ", before it was cut off", "failed", found)
    return record["verdict"]


def sanitizers(s):
    sanitizer = find_tool("compute-sanitizer", "/usr/local/cuda/compute-sanitizer")
    if not sanitizer or s.options.device != "cuda":
        words = "there is no compute-sanitizer in PATH or CUDA's folders"
        s.note("sanitizer", "compute-sanitizer", "absent", words)
        return
    size = ["-N", "600", "--nb", "128", "--device", s.options.device]
    both = (ending_stalls(s.program("speedwell"), "mxp", *size), small_tests(s))
    tools = ("memcheck", "racecheck", "synccheck", "initcheck")
    runs = [(tool, small) for tool in tools for small in both]
    for later, (tool, small) in zip(reversed(range(len(runs))), runs):
        if sanitize(s, sanitizer, tool, small, later) == "not available":
            return


def big(s):
    """Compares sampled entries of a product that spans 2^31 elements with sums in FP64."""
    smoke = ["--smoke"] if s.options.trial else []
    options = ["--json", "--device", s.options.device, *smoke]
    task = Task(
        "big",
        "update of a big shape",
        [s.program("speedwell_gpu_big_update"), *options],
        result=reports.only_line,
        words=reports.words_of_update,
    )
    s.run(task)


def profile(s):
    """Profiles the kernels of one step of the factorization."""
    name, program = "profile by ncu", s.program("speedwell_gpu_big_update")
    ncu = find_tool("ncu", "/usr/local/cuda/nsight-compute")
    if not ncu or s.options.device != "cuda":
        s.note("profile", name, "absent", "there is no ncu in PATH or CUDA's folders")
        return
    options = ["--target-processes", "all", "--launch-count", "60", "--csv", "--page", "details"]
    smoke = ["--smoke"] if s.options.trial else []
    task = Task(
        "profile",
        name,
        [ncu, *options, program, "--profile", *smoke],
        needs=[program],
        may_be_cut=True,  # what a counter costs is not known
        may_fail=True,  # the machine may forbid counters, and a tool may not know its GPU
        not_available=("ERR_NVGPUCTRPERM", "No kernels were profiled", "not supported"),
        result=reports.profiled_kernels,
        words=reports.words_of_profile,
    )
    s.run(task)
