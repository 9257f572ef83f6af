#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of run/gpu-check with fake programs: steps that are named, failures that are repeated, and
tools of CUDA."""

import ast
import unittest

from gpu_check_case import NAMES, PACKAGE, STEPS, Case, ends_of


class Only(Case):
    def test_the_named_steps_run_and_share_the_budget(self):
        done = self.check("--only", "mpi,device,big", "--budget", 300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = self.document()
        self.assertEqual(document["only"], ["mpi", "device", "big"])
        self.assertEqual([step["name"] for step in document["steps"] if step["step"] != "facts"],
                         ["device conformance", "device conformance, by many kernels",
                          "update of a big shape", "MPI suite, 1 rank",
                          "MPI suite, 2 ranks", "MPI suite, 4 ranks"])
        # The clock stands still, so each has until the end of its step.
        ends = ends_of(["device", "big", "mpi"], 300)
        self.assertAlmostEqual(self.step("device conformance")["limit_seconds"], 90)
        self.check("--only=device,mpi,big", "--budget", 100)
        ends = ends_of(["device", "big", "mpi"], 100)
        self.assertAlmostEqual(self.step("device conformance")["limit_seconds"], ends["device"])

    def test_every_step_runs_alone(self):
        seen = []
        for step in STEPS:
            done = self.check("--only", step)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            seen += [one["name"] for one in self.document()["steps"] if one["step"] != "facts"]
        missing = ["first steps: nb, chunk", *(f"first steps: nb 3072, reserve {r}" for r in (0, 8, 16))]
        self.assertEqual([name for name in seen if name != "first steps"],
                         [name for name in NAMES[3:] if name not in missing])

    def test_unknown_steps_are_refused(self):
        for words in ("speed", "", "mpi,", "MPI", "mpi,,big"):
            done = self.check("--only", words, output=False)
            self.assert_refused(done, 2, "--only: there is no step '", ", ".join(STEPS))
        self.assertFalse((self.programs / "calls").exists())


class Repeated(Case):
    def test_a_failure_is_repeated_with_the_log_of_cublaslt(self):
        done = self.check(FAKE="speedwell_device_tests:1 mxp-60000:oncecrash",
                          FAKE_LOGS="speedwell_device_tests speedwell_mpi_tests")
        self.assertEqual(done.returncode, 1, done.stdout)
        device = self.step("device conformance")
        self.assertEqual((device["verdict"], device["repeated"]["ending"]), ("failed", "status 1"))
        self.assertIn("env CUDA_LAUNCH_BLOCKING=1 CUBLASLT_LOG_LEVEL=5 CUBLASLT_LOG_FILE=",
                      device["repeated"]["command"])
        self.assertTrue(device["repeated"]["command"].endswith(device["command"]))
        log = self.output / device["repeated"]["cublaslt_log"]
        self.assertRegex(log.read_text(), r"===== process-\d+\.log, the last of \d+ bytes\n"
                                          r"\[cublasLtMatmul\] of speedwell_device_tests\n")
        self.assertRegex(done.stdout, rf"device conformance, repeated +status 1: it went wrong; {log.name}\n")
        self.assertIn(": device conformance, repeated\n$ ", self.log())
        # What passes with one kernel after the other still has failed.
        crashed = self.step("HPL-MxP, n = 60000")
        self.assertEqual(crashed["verdict"], "failed")
        self.assertEqual((crashed["repeated"]["ending"], crashed["repeated"]["cublaslt_log"]),
                         ("status 0", None))
        self.assertIn("passed, with one kernel after the other; cuBLASLt logged nothing", done.stdout)
        calls = (self.programs / "calls").read_text().splitlines()
        self.assertEqual(sum(call.startswith("speedwell_device_tests --device cuda --dur") for call in calls), 2)
        self.assertNotIn("repeated", self.step("MPI suite, 4 ranks"))

    def test_logs_of_all_ranks_are_kept_and_long_ones_shortened(self):
        path = self.programs / "speedwell_mpi_tests"
        path.write_text("#!/bin/sh\n[ -z \"$CUBLASLT_LOG_FILE\" ] || for i in 1 2; do\n"
                        "{ echo first; head -c 1048576 /dev/zero | tr '\\0' x; echo last; } "
                        ">$(dirname $CUBLASLT_LOG_FILE)/process-$i.log\ndone\nexit 1\n")
        self.check("--only", "mpi")
        text = (self.output / self.step("MPI suite, 1 rank")["repeated"]["cublaslt_log"]).read_text()
        self.assertEqual([text.count(word) for word in ("===== process-", "xlast\n", "first")], [2, 2, 0])
        self.assertLess(len(text), (2 << 20) + 1000)

    def test_repetitions_have_a_limited_time_of_their_own(self):
        # Each takes 50 s; there are 84 for all of them.
        done = self.check(FAKE="speedwell_mpi_tests:take50 speedwell_mpi_tests:1")
        self.assertEqual(done.returncode, 1)
        first, second = (self.step(f"MPI suite, {ranks}") for ranks in ("1 rank", "2 ranks"))
        self.assertEqual(first["repeated"]["ending"], "status 1")
        self.assertIsNone(self.step("users' systems, 1 rank").get("repeated"))
        self.assertTrue(second["verdict"] in ("not run", "failed"))
        self.assertLess(done.stdout.count("repeated  "), 4)

    def test_a_hang_is_repeated_for_half_a_minute(self):
        self.check("--only", "device", FAKE="speedwell_device_tests:overdue100")
        step = self.step("device conformance")
        self.assertEqual(step["verdict"], "failed")
        self.assertEqual(step["repeated"]["ending"], "not through after 100 s")
        self.assert_nothing_left()

    def test_a_processor(self):
        """Nothing is repeated, and there is no machine file."""
        self.check("--device", "cpu", FAKE="speedwell_device_tests:1")
        self.assertEqual(self.step("machine file")["verdict"], "absent")
        self.assertEqual(self.step("device conformance")["verdict"], "failed")
        self.assertNotIn("repeated", self.step("device conformance"))


class Unexpected(Case):
    def failed(self):
        self.assertTrue(self.document()["finished"])
        self.assertIn("Traceback", self.log())
        self.assertEqual(self.step("machine file")["verdict"], "passed")
        return [step["name"] for step in self.document()["steps"] if step["verdict"] == "failed"]

    def test_a_strange_report_costs_nothing_else(self):
        done = self.check(FAKE="mxp-largest:strange")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(self.failed(), ["first_steps, the check itself"])
        rows = self.document()["table"]
        self.assertEqual([row["n"] for row in rows],
                         [20000, 60000, 100000, 120000, 120000, 100000, 100000])
        self.assertTrue(done.stdout.endswith("\nFAILED\n"))

    def test_a_report_that_lacks_its_score_fails(self):
        self.assertEqual(self.check(FAKE="mxp-60000:poor").returncode, 1)
        self.assertEqual(self.failed(), ["HPL-MxP, n = 60000"])
        self.assertEqual(self.step("HPL-MxP, n = 60000")["words"], "its report is not as expected, see log.txt")


class Sources(unittest.TestCase):
    def test_python_3_9_reads_them(self):
        paths = list(PACKAGE.glob("*.py"))
        self.assertGreater(len(paths), 3)
        for path in paths:
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))


class Tools(Case):
    def test_a_finding_names_its_line_and_is_not_repeated(self):
        words = "Invalid __global__ read of size 4 bytes in solve.cu:42"
        done = self.check("--only", "sanitizer", FAKE="compute-sanitizer:finding")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.step("initcheck: speedwell")["words"], "status 9: " + words)
        self.assertIn("env CUDA_MODULE_LOADING=LAZY ", self.step("initcheck: speedwell")["command"])
        self.assertNotIn("repeated", self.step("initcheck: speedwell"))
        done = self.check("--only", "sanitizer", FAKE="compute-sanitizer:finding61")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.step("memcheck: speedwell")["verdict"], "cut off")
        self.assertEqual(self.step("memcheck: speedwell, before it was cut off")["words"], words)

    def test_the_tools_share_the_time_of_their_step(self):
        self.check("--only", "sanitizer", "--budget", 80, FAKE="compute-sanitizer:slow5")
        steps = [step for step in self.document()["steps"] if step["step"] == "sanitizer"]
        self.assertEqual({step["verdict"] for step in steps}, {"passed"})
        for i, step in enumerate(steps):
            self.assertAlmostEqual(step["limit_seconds"], (80 - 5 * i) / (8 - i))

    def test_wrong_entries_of_the_big_shape_fail(self):
        done = self.check("--only", "big", FAKE="speedwell_gpu_big_update:1")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.step("update of a big shape")["words"], "status 1: it went wrong")

    def test_profiles_are_read(self):
        self.check("--only", "profile")
        step = self.step("profile by ncu")
        self.assertEqual(step["words"], "2 launches, the longest 1.25 ms: gemm(int, int)")
        self.assertEqual(step["result"][0]["metrics"]["Memory Throughput"], {"value": "31.5", "unit": "%"})
        self.assertEqual(step["result"][1]["grid"], "(16, 1, 1)")
        self.assertIn(f" {self.programs}/speedwell_gpu_big_update --profile", step["command"])

    def test_without_counters_or_ncu_nothing_fails(self):
        done = self.check("--only", "profile", FAKE="ncu:forbidden")
        self.assertEqual((done.returncode, self.step("profile by ncu")["verdict"]), (0, "not available"))
        (self.programs / "ncu").unlink()
        done = self.check("--only", "profile", CUDA_HOME="/nonexistent")
        self.assertEqual((done.returncode, self.step("profile by ncu")["verdict"]), (0, "absent"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
