#!/usr/bin/env python3
"""run/gpu-check, with programs of the test's own in place of those that it starts.

LUPINE_GPU_CHECK is the driver. LUPINE_EMULATED, if set: lupine and lupine_gpu_ceilings on emulated
GPUs, with a colon between their paths, which are then run for real.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from test_cli import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DRIVER = os.environ.get("LUPINE_GPU_CHECK", str(ROOT / "build/release/lupine_gpu_check"))
EMULATED = os.environ.get("LUPINE_EMULATED", "")
PROGRAMS = ["lupine", "lupine_device_tests", "lupine_mpi_tests", "lupine_accuracy_tests",
            "lupine_gpu_ceilings", "lupine_cusolver_bench"]
TOOLS = ["mpirun", "nvidia-smi", "compute-sanitizer"]

# All programs in one: its name says which. FAKE is "what:how", such as "lupine_mpi_tests:hang".
FAKE = """#!%s
import json, os, signal, subprocess, sys, time
name = os.path.basename(sys.argv[0])
result = os.environ.get("FAKE_RESULT", "")
if os.path.exists(result):
    steps = json.load(open(result))["steps"]
    open(result + ".counts", "a").write("%%d\\n" %% len(steps))
words = sys.argv[1:]
with open(os.path.join(os.path.dirname(sys.argv[0]), "calls"), "a") as calls:
    calls.write(" ".join([name] + words) + "\\n")

def value(option, otherwise):
    return words[words.index(option) + 1] if option in words else otherwise

def take(seconds):
    with open(os.environ["LUPINE_GPU_CHECK_CLOCK"], "a") as clock:
        clock.write("." * seconds)

def behave(as_name):
    for rule in os.environ.get("FAKE", "").split():
        what, how = rule.split(":")
        if what != as_name:
            continue
        if how in ("hang", "overdue"):
            with open(os.environ["FAKE_PIDS"], "a") as pids:
                pids.write("%%d\\n" %% os.getpid())
                child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
                pids.write("%%d\\n" %% child.pid)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if how == "overdue":
                take(20)
            time.sleep(1000)
        elif how == "large":
            print("lupine: -N 120000 does not fit: it needs 60 GiB", file=sys.stderr)
            sys.exit(2)
        elif how == "unloadable":
            print(name + ": not found: libcusolver.so.12; looked in PATH", file=sys.stderr)
            sys.exit(3)
        elif how == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == "slow":
            take(4)
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
    program = next(i for i, word in enumerate(words) if "/" in word)
    sys.exit(subprocess.call(words[program:], start_new_session=True))
command = words[0] if name == "lupine" and words else name
behave(command)
if command == "mxp":
    behave("mxp-" + value("-N", "largest"))
if command == "info":
    print("Lupine             0.1.0\\nrevision           abc")
    print("device cuda        " + os.environ.get("FAKE_GPU",
          "GPU 0 (NVIDIA H200, GPU-01234567), 138.0 GiB free: NVIDIA H200, CUDA 13.0"))
elif command == "mxp":
    n = int(value("-N", "180000"))
    nb = int(value("--nb", "2048"))
    gflops = (400e3 if n < 100000 else 650e3) + (nb == 3072) * 1000 + (value("--reserve", "") == "4")
    report = {"n": n, "nb": nb, "reserved_multiprocessors": int(value("--reserve", "-1")),
              "gflops": gflops, "time_seconds": 10.0, "lu": {"gflops": gflops * 1.01},
              "refinement": {"seconds": 0.1}, "scaled_residual": 1e-4, "passed": True}
    if "--json" in words:
        json.dump(report, open(value("--json", ""), "w"))
elif command == "hpl":
    gflops = 55e3 + (value("--nb", "") == "1024") * 1000
    json.dump({"n": int(value("-N", "120000")), "nb": int(value("--nb", "1024")), "gflops": gflops,
               "lu": {"gflops": gflops}, "scaled_residual": 1e-3, "passed": True},
              open(value("--json", ""), "w"))
elif command == "lupine_gpu_ceilings":
    for k, rate in ((1024, 690.0), (2048, 700.0)):
        print(json.dumps({"part": "product", "precision": "fp16", "k": k, "rate": rate}))
elif command == "lupine_cusolver_bench":
    n = int(value("--n", "100000"))
    print(json.dumps({"method": value("--method", ""), "n": n, "tflops": 200.0,
                      "scaled_residual": 1e-3}))
elif command == "nvidia-smi":
    print("name, driver\\nNVIDIA H200, 580")
elif command == "compute-sanitizer":
    print("========= ERROR SUMMARY: 0 errors")
""" % sys.executable


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        for name in PROGRAMS + TOOLS:
            self.install(name)
        self.file = self.folder / "result.json"
        self.pids = self.folder / "pids"
        # It goes on when a program says so.
        self.clock = self.folder / "clock"
        self.clock.touch()
        self.environment = {"PATH": f"{self.programs}:/usr/bin:/bin", "FAKE_PIDS": str(self.pids),
                            "LUPINE_GPU_CHECK_CLOCK": str(self.clock), "TMPDIR": str(self.folder)}

    def install(self, name):
        path = self.programs / name
        path.write_text(FAKE)
        path.chmod(0o755)

    def command(self, *options, output=True):
        words = [DRIVER, "--programs", str(self.programs), *map(str, options)]
        return words + (["--output", str(self.file)] if output else [])

    def check(self, *options, output=True, **environment):
        return subprocess.run(self.command(*options, output=output), stdin=subprocess.DEVNULL,
                              timeout=PATIENCE, capture_output=True, text=True, cwd=self.folder,
                              env=dict(self.environment, **environment))

    def document(self):
        return json.loads(self.file.read_text())

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
            self.assertFalse(alive(int(pid)), f"{pid} still runs")


class Passing(Case):
    def test_everything_runs_in_order(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = self.document()
        self.assertTrue(document["finished"])
        self.assertEqual((document["version"], document["revision"]), ("0.1.0", "abc"))
        verdicts = {step["verdict"] for step in document["steps"]}
        self.assertEqual(verdicts, {"passed"})
        order = list(dict.fromkeys(step["step"] for step in document["steps"]))
        self.assertEqual(order, ["facts", "device", "mpi", "accuracy", "sanitizer", "ceilings",
                                 "mxp", "pivoted", "hpl", "sweep", "cusolver"])
        calls = (self.programs / "calls").read_text()
        for call in ("lupine_device_tests --device cuda\n",
                     f"mpirun --oversubscribe --bind-to none -n 4 {self.programs}/lupine_mpi_tests "
                     "--device cuda --comm staged\n",
                     f"mpirun --oversubscribe --bind-to none -n 1 {self.programs}/lupine_mpi_tests "
                     "--device cuda\n",
                     "--tool racecheck --target-processes all --report-api-errors no --error-exitcode 9 "
                     f"{self.programs}/lupine_device_tests --device cuda [small]\n"):
            self.assertIn(call, calls)

    def test_sanitizers_take_small_tests(self):
        self.check(FAKE_TAGS="[queues]  3  [fp64]  1  [cast]")
        self.assertIn("lupine_device_tests --device cuda [cast],[fp64]",
                      self.step("memcheck: lupine_device_tests")["command"])

    def test_table_and_goals(self):
        done = self.check()
        document = self.document()
        self.assertEqual(document["best"], {"n": 60000, "nb": 3072, "reserve": "4"})
        verdicts = [goal["verdict"] for goal in document["goals"]]
        self.assertEqual(verdicts, ["reached"] * 6)
        self.assertAlmostEqual(document["goals"][4]["value"], 56)
        self.assertAlmostEqual(document["goals"][5]["value"], 651.001 / 56)
        self.assertIn("hpl --nb 1024", self.step("HPL, the largest n, nb 1024")["command"])
        self.assertAlmostEqual(document["goals"][0]["value"], 651.001 / 700)
        at_irs = [row for row in document["table"] if row["n"] == 100000]
        self.assertAlmostEqual(at_irs[0]["ratio_to_irs"], 650 / 200)
        self.assertIn("reached       at least 600 TFLOP/s", done.stdout)
        self.assertIn("\nPASSED\n", done.stdout)

    def test_file_is_named_after_gpu_and_date(self):
        self.assertEqual(self.check(output=False).returncode, 0)
        names = [path.name for path in self.folder.glob("*.json")]
        self.assertEqual(len(names), 1, names)
        self.assertRegex(names[0], r"^nvidia-h200-\d{4}-\d\d-\d\d\.json$")


class Failing(Case):
    def test_missing_programs_are_absent_and_fail_nothing(self):
        for name in ("lupine_device_tests", "lupine_cusolver_bench", "compute-sanitizer",
                     "nvidia-smi", "lupine_mpi_tests"):
            (self.programs / name).unlink()
        done = self.check(PATH=f"{self.programs}:/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.step("device conformance")["verdict"], "absent")
        self.assertEqual(self.step("MPI suite, 2 ranks")["verdict"], "absent")
        self.assertEqual(self.document()["goals"][3]["verdict"], "not measured")

    def test_failures_and_crashes_stop_nothing(self):
        done = self.check(FAKE="lupine_mpi_tests:1 mxp-60000:crash lupine_gpu_ceilings:3")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.step("MPI suite, 4 ranks")["verdict"], "failed")
        self.assertIn("it went wrong", self.step("MPI suite, 4 ranks")["words"])
        crashed = self.step("HPL-MxP, n = 60000")
        self.assertEqual((crashed["verdict"], crashed["ending"]), ("failed", "killed by signal 11"))
        self.assertEqual(self.step("HPL-MxP, the largest n")["verdict"], "passed")
        self.assertTrue(self.document()["finished"])

    def test_what_does_not_fit_is_left_out(self):
        done = self.check(FAKE="mxp-120000:large")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("HPL-MxP, n = 120000")["verdict"], "not run")
        self.assertIn("does not fit", self.step("HPL-MxP, n = 120000")["words"])

    def test_a_program_whose_libraries_are_missing_is_absent(self):
        done = self.check(FAKE="lupine_cusolver_bench:unloadable")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("cuSOLVER Xgetrf, the largest n")["verdict"], "absent")

    def test_what_is_no_json_is_kept_out(self):
        done = self.check(FAKE="lupine_gpu_ceilings:garbage lupine_cusolver_bench:garbage mxp:garbage")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(self.document()["finished"])
        for name in ("ceilings", "HPL-MxP, n = 20000", "cuSOLVER IRSXgesv, the largest n"):
            self.assertEqual(self.step(name)["verdict"], "failed")
        self.assertEqual(self.document()["table"], [])

    def test_a_hanging_child_is_killed_with_all_that_it_started(self):
        done = self.check("--budget", 16, FAKE="lupine_mpi_tests:overdue")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not through after", self.step("MPI suite, 1 rank")["words"])
        self.assert_nothing_left()

    def test_a_sanitizer_that_is_cut_off_fails_nothing(self):
        for name in ("lupine_mpi_tests", "lupine_accuracy_tests"):
            (self.programs / name).unlink()
        done = self.check("--budget", 16, FAKE="compute-sanitizer:overdue")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("memcheck: lupine_device_tests")["verdict"], "cut off")

    def test_no_time_left(self):
        done = self.check("--budget", 6.5, FAKE="lupine_device_tests:slow mxp:slow")
        verdicts = [step["verdict"] for step in self.document()["steps"]]
        self.assertIn("not run", verdicts)
        self.assertIn("not run: no time left", done.stdout)
        self.assertTrue(self.document()["finished"])


class Interrupted(Case):
    def start(self, fake):
        child = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, cwd=self.folder,
                                 env=dict(self.environment, FAKE=fake))
        self.addCleanup(child.stdout.close)
        for _ in range(20 * PATIENCE):
            if self.pids.exists() and len(self.pids.read_text().split()) > 1:
                return child
            time.sleep(0.05)
        self.fail("the child did not start")

    def test_terminated_it_ends_its_child_and_the_file_is_whole(self):
        child = self.start("lupine_mpi_tests:hang")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(PATIENCE), 143)
        self.assert_nothing_left()
        self.assert_whole("MPI suite, 1 rank")

    def test_killed_the_file_is_whole(self):
        child = self.start("mxp-120000:hang")
        child.kill()
        child.wait(PATIENCE)
        for pid in self.pids.read_text().split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.assert_whole("HPL-MxP, n = 120000")
        self.assertEqual([row["n"] for row in self.document()["table"]], [20000, 60000])

    def assert_whole(self, running):
        document = self.document()
        self.assertFalse(document["finished"])
        self.assertEqual(document["running"], running)
        self.assertEqual([path.name for path in self.folder.glob(".*.tmp")], [])

    def test_the_file_is_whole_at_every_moment(self):
        child = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, cwd=self.folder,
                                 env=dict(self.environment, FAKE_RESULT=str(self.file)))
        counts = []
        while child.poll() is None:
            if self.file.exists():
                counts.append(len(self.document()["steps"]))
            time.sleep(0.005)
        self.assertEqual(child.wait(), 0)
        self.assertEqual(counts, sorted(counts))
        # What the programs saw when they began: all steps before.
        seen = list(map(int, (self.folder / "result.json.counts").read_text().split()))
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(set(seen), set(range(len(self.document()["steps"]))))


class Refused(Case):
    def test_usage(self):
        for words, needle in ((["--budget", "soon"], "--budget"), (["--budget", "-1"], "--budget"),
                              (["--budget"], "--budget"), (["--fast", "1"], "--fast"),
                              (["--device", "tpu"], "--device")):
            self.assert_refused(self.check(*words, output=False), 2, needle)
        self.assertFalse(self.file.exists())

    def test_help(self):
        done = self.check("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: gpu-check", done.stdout)

    def test_no_gpu(self):
        self.assert_refused(self.check(FAKE_GPU="none: no driver is loaded"), 3, "no GPU",
                            "no driver is loaded")
        self.assertFalse(self.file.exists())

    def test_no_lupine(self):
        (self.programs / "lupine").unlink()
        self.assert_refused(self.check(), 3, "there is no", "/lupine")

    def test_output_that_cannot_be_written(self):
        done = self.check("--output", self.folder / "none/result.json", output=False)
        self.assert_refused(done, 2, "--output", "none/result.json")
        self.assertFalse((self.programs / "calls").exists())

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk_stops_nothing_and_fails(self):
        done = self.check("--output", "/dev/full", output=False)
        self.assert_refused(done, 1, "/dev/full", "No space left")
        self.assertIn("cuSOLVER Xgetrf, the largest n", done.stdout)


class Script(Case):
    def arrange(self, script):
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_bytes((ROOT / "run/gpu-check").read_bytes())
        script.chmod(0o755)
        return script

    def start(self, script, *options):
        return subprocess.run([str(script), *options], stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              capture_output=True, text=True, cwd=self.folder,
                              env=self.environment)

    def test_checkout(self):
        script = self.arrange(self.folder / "tree/run/gpu-check")
        self.assert_refused(self.start(script), 3, "lupine_gpu_check is not there")
        build = self.folder / "tree/build/release"
        build.parent.mkdir()
        self.programs.rename(build)
        self.environment["PATH"] = f"{build}:/usr/bin:/bin"
        (build / "lupine_gpu_check").symlink_to(DRIVER)
        (self.folder / "tree/results").mkdir()
        done = self.start(script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.folder / "tree/results").glob("nvidia-h200-*.json"))), 1)

    def test_bundle(self):
        script = self.arrange(self.folder / "lupine-1/bin/gpu-check")
        launcher = self.folder / "lupine-1/libexec/launcher"
        launcher.parent.mkdir()
        launcher.write_text("#!/bin/sh\n")
        launcher.chmod(0o755)
        for path in list(self.programs.iterdir()):
            path.rename(script.parent / path.name)
        (script.parent / "lupine_gpu_check").symlink_to(DRIVER)
        self.environment["PATH"] = "/usr/bin:/bin"
        link = self.folder / "check"
        link.symlink_to(script)
        done = self.start(link, "--budget", "400")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(list(self.folder.glob("nvidia-h200-*.json"))), 1)
        self.assertIn("bin/mpirun --oversubscribe",
                      json.loads(next(self.folder.glob("nvidia*")).read_text())["steps"][2]["command"])


@unittest.skipUnless(EMULATED, "no emulated GPUs")
class Emulated(Case):
    def test_the_programs_say_what_the_check_reads(self):
        for name, path in zip(("lupine", "lupine_gpu_ceilings"), EMULATED.split(":")):
            (self.programs / name).unlink()
            (self.programs / name).symlink_to(path)
        done = self.check("--trial")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = self.document()
        self.assertGreaterEqual(len(document["table"]), 4)
        for row in document["table"]:
            self.assertGreater(row["share_of_fp16_product"], 0)
            self.assertGreaterEqual(row["lu_tflops"], row["score_tflops"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
