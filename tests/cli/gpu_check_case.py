# SPDX-License-Identifier: BSD-3-Clause
"""A test case with a folder of fake programs, which run/gpu-check starts instead of real ones."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from processes import is_alive

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "run/gpu_check"
PROGRAMS = ["speedwell", "speedwell_device_tests", "speedwell_mpi_tests", "speedwell_accuracy_tests",
            "speedwell_gpu_ceilings", "speedwell_gpu_big_update", "speedwell_gpu_kernels",
            "speedwell_cusolver_bench"]
TOOLS = ["mpirun", "nvidia-smi", "compute-sanitizer", "ncu"]
PATIENCE = 900  # seconds; a program that must end by itself has hung if it takes longer
UUID = "GPU-01234567-89ab-cdef-0123-456789abcdef"

# The names of all runs, in their order.
NAMES = ["speedwell info", "nvidia-smi", "nvidia-smi, all", "device conformance",
         "device conformance, by many kernels", "Speedwell's kernels",
         *(f"{tool}: {program}" for tool in ("memcheck", "racecheck", "synccheck", "initcheck")
           for program in ("speedwell", "speedwell_device_tests")), "update of a big shape",
         "MPI suite, 1 rank", "MPI suite, 2 ranks", "MPI suite, 4 ranks",
         "accuracy against LAPACK, 1 rank", "accuracy against LAPACK, 4 ranks",
         "users' systems, 1 rank", "users' systems, 4 ranks", "HPL-MxP, n = 20000",
         "HPL-MxP, n = 60000", "HPL-MxP, the largest n", "HPL-MxP, the largest n, reserve 0",
         "ceilings", "HPL, the largest n", "HPL, the largest n, nb 512", "first steps: nb, chunk",
         "first steps: nb 3072, reserve 0", "first steps: nb 3072, reserve 8",
         "first steps: nb 3072, reserve 16", "cuSOLVER IRSXgesv, the largest n",
         "HPL-MxP at IRSXgesv's largest n", "cuSOLVER Xgetrf, the largest n", "HPL at Xgetrf's n",
         "HPL at Xgetrf's n, reserve 0",
         "profile by ncu", "machine file"]
STEPS = ["device", "kernels", "sanitizer", "big", "mpi", "accuracy", "systems", "mxp", "ceilings", "hpl",
         "first_steps", "cusolver", "profile", "machine"]
SECONDS = dict(zip(STEPS, (70, 30, 65, 20, 30, 15, 15, 100, 80, 55, 20, 30, 20, 10)))


def ends_of(steps, budget):
    """When each step must have ended, in seconds."""
    total = sum(SECONDS[step] for step in steps)
    return {step: budget * sum(SECONDS[one] for one in steps[:i + 1]) / total
            for i, step in enumerate(steps)}


# One script imitates all programs, by the name that it is called by. The variable FAKE has rules
# "what:how", such as "speedwell_mpi_tests:hang". The check's clock stands still, except that the rules
# take9, overdue9 and slow9 advance it by 9 s: slow9 by 5 at a time, with a line before each.
FAKE = """#!%s -SE
import json, os, sys, time
name = os.path.basename(sys.argv[0])
here = os.path.dirname(sys.argv[0])
words = sys.argv[1:]
with open(os.path.join(here, "calls"), "a") as calls:
    calls.write(" ".join([name] + words) + "\\n")
repeated = "CUBLASLT_LOG_FILE" in os.environ
if repeated:
    assert os.environ["CUDA_LAUNCH_BLOCKING"] == "1" and os.environ["CUBLASLT_LOG_LEVEL"] == "5"
    if name in os.environ.get("FAKE_LOGS", "").split():
        with open(os.environ["CUBLASLT_LOG_FILE"].replace("%%i", str(os.getpid())), "w") as log:
            log.write("[cublasLtMatmul] of " + name + "\\n")

def value(option, otherwise):
    return words[words.index(option) + 1] if option in words else otherwise

def clock():
    try:
        return open(os.path.join(here, "clock")).read()
    except OSError:
        return "1500"

def set_clock(megahertz):
    path = os.path.join(here, "clock")
    open(path + ".new", "w").write(megahertz)
    os.rename(path + ".new", path)

def utc():
    return time.strftime("%%Y-%%m-%%dT%%H:%%M:%%SZ", time.gmtime())

# Until the check has read what was printed: time that passes before that is not silence.
def wait_until_read(text):
    path = os.path.join(os.environ["FAKE_OUTPUT"], "log.txt")
    for _ in range(1000):
        if os.path.exists(path) and text in open(path, errors="replace").read()[-100:]:
            return
        time.sleep(0.01)

def take(seconds):
    with open(os.environ["SPEEDWELL_GPU_CHECK_CLOCK"], "a") as clock:
        clock.write("." * int(seconds))

spoiled = []

def behave(as_name):
    for rule in os.environ.get("FAKE", "").split():
        what, how = rule.split(":")
        if what != as_name:
            continue
        if how.startswith("once"):
            if repeated:
                continue
            how = how[4:]
        if how == "hang" or how.startswith("overdue"):
            import signal, subprocess
            print("about to hang", flush=True)
            with open(os.environ["FAKE_PIDS"], "a") as pids:
                pids.write("%%d\\n" %% os.getpid())
                child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
                pids.write("%%d\\n" %% child.pid)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            wait_until_read("about to hang")
            take(how[7:] or 0)
            time.sleep(1000)
        elif how.startswith("take"):
            take(how[4:])
        elif how.startswith("slow"):
            for second in range(0, int(how[4:]), 5):
                print("second %%d" %% second, flush=True)
                wait_until_read("second %%d" %% second)
                take(5)
        elif how == "large":
            print("speedwell: -N 120000 does not fit: it needs 60 GiB", file=sys.stderr)
            sys.exit(2)
        elif how == "unloadable":
            print(name + ": not found: libcusolver.so.12; looked in PATH", file=sys.stderr)
            sys.exit(3)
        elif how.startswith("unsupported"):
            print("========= Error: Device not supported. Please refer to the documentation")
            sys.exit(int(how[-1]))
        elif how.startswith("finding"):
            print("========= COMPUTE-SANITIZER\\n========= Invalid __global__ read of size 4 bytes")
            print("=========     at void speedwell::cuda::scale(float *)+0x50 in solve.cu:42", flush=True)
            wait_until_read("solve.cu:42")
            take(how[7:] or 0)
            time.sleep(1000 if how[7:] else 0)
            sys.exit(9)
        elif how == "forbidden":
            print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters")
            sys.exit(1)
        elif how in ("strange", "poor"):
            spoiled.append(how)
        elif how == "crash":
            os.kill(os.getpid(), 11)
        elif how == "remove":
            import shutil
            shutil.rmtree(os.environ["FAKE_OUTPUT"])
        elif how == "garbage":
            print("\\x00\\xff{not JSON", "x" * 300000)
            sys.exit(0)
        else:
            print("it went wrong", file=sys.stderr)
            sys.exit(int(how))

if "--version" in words or "--list-tags" in words:
    print("mpirun (Open MPI) 4.1.4\\n  2  " + os.environ.get("FAKE_TAGS", "[small]"))
    sys.exit(0)
if name == "mpirun":
    import subprocess
    program = next(i for i, word in enumerate(words) if "/" in word)
    sys.exit(subprocess.call(words[program:], start_new_session=True))
command = words[0] if name == "speedwell" and words else name
behave(command)
pause = float(os.environ.get("FAKE_PAUSE", "0"))

def phase(seconds):
    return {"average": seconds}

def report(n, nb, gflops, iterations):
    begin = utc()
    time.sleep(pause)
    all = {"n": None if spoiled else n, "nb": nb, "chunk": 8192, "reserved_multiprocessors": int(value("--reserve", "-1")),
           "gflops": gflops, "time_seconds": 10.0, "start": begin, "end": utc(),
           "lu": {"gflops": gflops * 1.01, "seconds": 9.0}, "scaled_residual": 1e-4, "passed": True,
           "phases": {"update": phase(6.0), "panel": phase(1.0), "rows": phase(0.5),
                      "broadcast_exposed": phase(0.0), "solves": phase(0.1)}}
    if iterations:
        all["refinement"] = {"seconds": 0.1, "iterations": iterations}
        all["phases"]["residuals"] = phase(0.05)
    if name == "speedwell" and iterations:
        one = {"reading": "fp16", "m": n, "n": 8192, "k": nb, "multiprocessors": None,
               "algorithm": "7 1", "kernel": "gemm", "blocks": 132, "milliseconds": 1.5, "refused": None}
        all["products"] = [dict(one), dict(one, algorithm="7 2", refused="in a run"),
                           dict(one, multiprocessors=124, refused="in a trial"),
                           dict(one, multiprocessors=124, blocks=140), dict(one, multiprocessors=124, blocks=124),
                           dict(one, multiprocessors=116, blocks=116, n=4096),
                           dict(one, multiprocessors=100, blocks=None, milliseconds=None, kernel=None),
                           dict(one, multiprocessors=92, blocks=140, confined=True)]
    if "poor" in spoiled:
        del all["gflops"]
    if "--json" in words:
        json.dump(all, open(value("--json", ""), "w"))
    if "--trace" in words:
        json.dump({"traceEvents": []}, open(value("--trace", ""), "w"))

if command in ("mxp", "hpl"):
    behave(command + "-" + value("-N", "largest"))
if command == "info":
    print("Speedwell             0.1.0\\nrevision           abc")
    print("device cuda        " + os.environ.get("FAKE_GPU",
          "GPU 0 (NVIDIA H200, GPU-01234567), 138.0 GiB free: NVIDIA H200, CUDA 13.0"))
elif command == "mxp":
    n = int(value("-N", "180000"))
    report(n, 2048, (400e3 if n < 90000 else 650e3) + ("--reserve" in words) * 1000, 2)
elif command == "hpl":
    nb = int(value("--nb", "1024"))
    report(int(value("-N", "120000")), nb, 55e3 + (nb == 1024) * 1000, 0)
elif command == "tune":
    trials = [{"nb": nb, "chunk": 8192, "gflops": 600e3 + (nb == 3072) * 9e3}
              for nb in [2048] + [int(nb) for nb in value("--try-nb", "").split(",")]]
    best = max(trials, key=lambda trial: trial["gflops"])
    json.dump({"tunings": [dict(best, trials=trials)]}, open(value("--json", ""), "w"))
elif command == "predict":
    rate = {"product fp16": {"rate": 680e12}}
    json.dump({"ranks": [{"operations": rate}]}, open(value("--calibrate", ""), "w"))
elif command == "speedwell_gpu_ceilings":
    set_clock("1750")
    for part, precision, rate in (("copy", "", 4000.0), ("product", "fp16", 690.0),
                                  ("product", "fp16", 700.0), ("product", "bf16", 350.0),
                                  ("product", "fp64", 60.0), ("read", "", 4200.0),
                                  ("multiply_generated", "", 300.0)):
        time.sleep(pause / 2)
        behave(name + "-" + precision)
        print(json.dumps({"part": part, "precision": precision, "rate": rate, "seconds": pause / 4,
                          "ended": time.time()}), flush=True)
    print(json.dumps({"part": "diagonal_beside_update", "reserved": 8, "block_alone_milliseconds": 4.0,
                      "block_beside_milliseconds": 5.5, "update_alone_milliseconds": 18.25,
                      "update_beside_milliseconds": 19.5, "both_milliseconds": 19.75}))
    set_clock("1500")
elif command == "speedwell_gpu_kernels":
    print(json.dumps({"part": "variants", "operation": "diagonal block", "size": 2048,
                      "few_milliseconds": 0.6, "many_milliseconds": 2.5, "verdict": "right"}))
elif command == "speedwell_gpu_big_update":
    print(json.dumps({"name": "update fp16, 180000 x 16384", "worst": 0.03}))
elif command == "ncu":
    print("==PROF== Connected to process 1\\n" + '"ID","Kernel Name","Block Size","Grid Size",'
          '"Metric Name","Metric Unit","Metric Value"')
    for row in ('"0","gemm(int, int)","(256, 1, 1)","(132, 1, 1)","Duration","us","1,250.50"',
                '"0","gemm(int, int)","(256, 1, 1)","(132, 1, 1)","Memory Throughput","%%","31.5"',
                '"1","solve(float)","(128, 1, 1)","(16, 1, 1)","Duration","us","12.50"'):
        print(row)
elif command == "speedwell_cusolver_bench":
    n = int(value("--n", "100000"))
    print(json.dumps({"method": value("--method", ""), "n": n, "tflops": 200.0,
                      "scaled_residual": 1e-3}))
elif command == "nvidia-smi" and any(word.startswith("--loop-ms") for word in words):
    if os.environ.get("FAKE_SMI", "") in " ".join(words):
        while True:
            print("GPU-99999999-0000-0000-0000-000000000000, 99, 9, 9, 0x0000000000000000")
            print("%s, " + clock() + ", 650.25, 61, 0x0000000000000024", flush=True)
            time.sleep(0.05)
    print("Field is not a valid field to query.")
    sys.exit(2)
elif command == "nvidia-smi":
    print("name, driver\\nNVIDIA H200, 580")
elif command == "compute-sanitizer":
    print("========= ERROR SUMMARY: 0 errors")
""" % (sys.executable, UUID)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        for name in PROGRAMS + TOOLS:
            self.install(name)
        self.output = self.folder / "out"
        self.pids = self.folder / "pids"
        # This clock advances only when a program tells it to.
        self.clock = self.folder / "clock"
        self.clock.touch()
        self.environment = {"SPEEDWELL_GPU_CHECK_CLOCK": str(self.clock), "PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.folder), "FAKE_PIDS": str(self.pids),
                            "FAKE_OUTPUT": str(self.output), "TMPDIR": str(self.folder)}

    def install(self, name):
        path = self.programs / name
        path.write_text(FAKE)
        path.chmod(0o755)

    def command(self, *options, output=True):
        words = [sys.executable, "-B", str(PACKAGE), "--programs", str(self.programs), *map(str, options)]
        return words + (["--output", str(self.output)] if output else [])

    def check(self, *options, output=True, **environment):
        return subprocess.run(self.command(*options, output=output), stdin=subprocess.DEVNULL,
                              timeout=PATIENCE, capture_output=True, text=True, errors="replace",
                              cwd=self.folder, env=dict(self.environment, **environment))

    def start(self, *options, **environment):
        return subprocess.Popen(self.command(*options), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                cwd=self.folder, env=dict(self.environment, **environment))

    def documents(self):
        """The JSON files of the check itself, without its traces and the machine file."""
        return [path for path in self.output.glob("*.json")
                if not path.name.startswith("trace-") and path.name != "machine.json"]

    def document(self):
        path, = self.documents()
        return json.loads(path.read_text())

    def log(self):
        return (self.output / "log.txt").read_text(errors="replace")

    def step(self, name):
        found = [step for step in self.document()["steps"] if step["name"] == name]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def assert_refused(self, done, status, *needles):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for needle in needles:
            self.assertIn(needle, done.stderr)

    def assert_nothing_left(self):
        for pid in self.pids.read_text().split():
            self.assertFalse(is_alive(int(pid)), f"{pid} still runs")
