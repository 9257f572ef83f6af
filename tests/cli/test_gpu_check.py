#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests run/gpu-check with fake programs in place of those that it starts.

SPEEDWELL_FAKE_NVML, if set: a library that imitates NVML. SPEEDWELL_EMULATED, if set: paths of
speedwell, speedwell_gpu_ceilings, speedwell_gpu_big_update and speedwell_gpu_kernels for emulated GPUs,
with colons between them; a test runs these programs.
"""

import json
import os
import signal
import subprocess
import time
import unittest

from gpu_check_case import NAMES, PACKAGE, PATIENCE, ROOT, STEPS, Case, ends_of

NVML = os.environ.get("SPEEDWELL_FAKE_NVML", "")
EMULATED = os.environ.get("SPEEDWELL_EMULATED", "")


class Passing(Case):
    def test_one_check_of_all_programs(self):
        done = self.check()
        for judge in (self.everything_runs_in_order, self.the_folder_holds_everything,
                      self.table_and_goals, self.phases_stand_beside_their_floors,
                      self.products_stand_beside_their_limits, self.every_command_ends_its_own_stalls):
            with self.subTest(judge.__name__):
                judge(done)

    def everything_runs_in_order(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = self.document()
        self.assertTrue(document["finished"])
        self.assertEqual((document["version"], document["revision"]), ("0.1.0", "abc"))
        self.assertEqual([step["name"] for step in document["steps"]], NAMES)
        self.assertEqual({step["verdict"] for step in document["steps"]}, {"passed"})
        calls = (self.programs / "calls").read_text()
        for call in ("speedwell_device_tests --device cuda --durations yes\n",
                     f"mpirun --oversubscribe --bind-to none -n 4 {self.programs}/speedwell_mpi_tests "
                     "--device cuda --comm staged ~[solve] --durations yes\n",
                     f"mpirun --oversubscribe --bind-to none -n 1 {self.programs}/speedwell_mpi_tests "
                     "--device cuda [solve] --durations yes\n",
                     "speedwell_gpu_ceilings --json --seconds 3.00 --n 180000\n",
                     "speedwell tune -N 180000 --budget", " --try-nb 3072 --reserve 16 --device cuda ",
                     "compute-sanitizer --tool racecheck --target-processes all --error-exitcode 9 "
                     f"{self.programs}/speedwell_device_tests --device cuda [small]\n"):
            self.assertIn(call, calls)

    def the_folder_holds_everything(self, done):
        names = sorted(path.name for path in self.output.iterdir())
        self.assertLessEqual(len(names), 9)
        date = time.strftime("%Y-%m-%d", time.gmtime())
        self.assertEqual(names, ["clocks.csv", "log.txt", "machine.json",
                                 f"nvidia-h200-{date}.json", "products.txt", "trace-hpl-largest.json", "trace-mxp-60000.json",
                                 "trace-mxp-largest-reserve-0.json", "trace-mxp-largest.json"])
        self.assertEqual(list(self.folder.glob("speedwell-gpu-check.*")), [])
        machine = json.loads((self.output / "machine.json").read_text())
        self.assertEqual(machine, self.step("machine file")["result"])
        self.assertEqual(self.step("machine file")["words"], "machine.json, FP16 product 680 TFLOP/s")
        log = self.log()
        for line in done.stdout.splitlines():
            self.assertIn(line, log)
        # The log has the output of a program on both streams below its command.
        self.assertRegex(log, r"=====.*memcheck: speedwell\n\$ .*compute-sanitizer .*\n"
                              r"========= ERROR SUMMARY: 0 errors\n===== status 0 after")

    def table_and_goals(self, done):
        document = self.document()
        self.assertEqual([goal["verdict"] for goal in document["goals"]], ["reached"] * 6)
        self.assertAlmostEqual(document["goals"][0]["value"], 651 / 700)
        self.assertAlmostEqual(document["goals"][2]["value"], 0.01)
        self.assertAlmostEqual(document["goals"][4]["value"], 56)
        self.assertAlmostEqual(document["goals"][5]["value"], 651 / 56)
        rows = document["table"]
        self.assertEqual([(row["benchmark"], row["n"]) for row in rows],
                         [("mxp", 20000), ("mxp", 60000), ("mxp", 180000), ("mxp", 180000),
                          ("mxp", 100000), ("hpl", 120000), ("hpl", 120000), ("hpl", 100000),
                          ("hpl", 100000)])
        self.assertAlmostEqual(rows[4]["ratio_to_irs"], 650 / 200)
        self.assertAlmostEqual(rows[5]["share_of_product"], 56 / 60)
        self.assertIn("reached       at least 600 TFLOP/s", done.stdout)
        self.assertTrue(done.stdout.endswith("\nPASSED\n"), done.stdout)

    def phases_stand_beside_their_floors(self, done):
        mxp, hpl = self.document()["phases"]
        self.assertEqual((mxp["n"], mxp["reserve"], hpl["n"]), (180000, 0, 120000))
        phases = {phase["phase"]: phase for phase in mxp["phases"]}
        n, nb = 180000, 2048
        left = range(n, 0, -nb)
        update = sum(2 * (m - min(nb, m)) * max(m - 2 * nb, 0) * min(nb, m) for m in left) / 700e12
        self.assertAlmostEqual(phases["update"]["floor_seconds"], update, places=6)
        self.assertAlmostEqual(phases["update"]["ratio"], 6 / update, places=6)
        self.assertAlmostEqual(phases["solves"]["floor_seconds"], 2 * 4 * n * n / 4200e9)
        self.assertAlmostEqual(phases["residuals"]["floor_seconds"], 2 * n * n / 300e9)
        width = [(m - min(nb, m), min(nb, m)) for m in left]
        rows = sum(t * w * w / 700e12 + 10 * t * w / 4000e9 for t, w in width)
        self.assertAlmostEqual(phases["rows"]["floor_seconds"], rows)
        own = sum(2 * t * min(nb, t) * w / 700e12 + 2 / 3 * w ** 3 / 700e12 for t, w in width)
        self.assertAlmostEqual(phases["panel"]["floor_seconds"], rows + own)
        # LU takes 9 s and its update 6 s; other phases are at most 1 s over their floors.
        self.assertAlmostEqual(phases["LU outside the update"]["seconds"], 3)
        self.assertTrue(mxp["look_first"].startswith("LU outside the update, 3.00 s; there: panel, "),
                        mxp["look_first"])
        self.assertIn("look first at: " + mxp["look_first"], done.stdout)

    def products_stand_beside_their_limits(self, done):
        rows = self.document()["products"]
        self.assertEqual(len(rows), 5 * 8)  # five runs of HPL-MxP
        largest = [row for row in rows if row["run"] == "HPL-MxP, the largest n"]
        self.assertEqual([row["first"] for row in largest], [True, False, False, True, False, True, True, True])
        self.assertEqual([row["over"] for row in largest], [None, None, True, True, False, False, None, False])
        # Four kinds of classes at each of four n.
        self.assertIn("\nlimited products: 16 classes, 4 launch more blocks than their limit\n"
                      "fp16 100000 x 8192, K = 2048, 124 multiprocessors: 140 blocks, gemm\n", done.stdout)
        self.assertIn("\nfp16 180000 x 8192, K = 2048, 100 multiprocessors: its blocks are not known\n",
                      done.stdout)
        self.assertIn("\nrefused in a run: fp16 180000 x 8192, K = 2048, algorithm 7 2\n", done.stdout)
        text = (self.output / "products.txt").read_text()
        self.assertRegex(text, r"\n +fp16 +180000 +8192 +2048 +124 +140 +first +over +1\.5000  7 1 gemm\n")
        self.assertEqual(text.count("HPL-MxP"), 5)

    def every_command_ends_its_own_stalls(self, _done):
        calls = [call for call in (self.programs / "calls").read_text().splitlines()
                 if call.startswith("speedwell ") and call != "speedwell info" or " mxp " in call]
        self.assertGreater(len(calls), 12)
        for call in calls:
            self.assertIn(" --stall-timeout 15", call)

    def test_a_new_folder_is_named_first(self):
        first = self.check(output=False).stdout.splitlines()[0]
        self.assertRegex(first, r"^gpu-check-\d{4}-\d\d-\d\d-\d{6}$")
        self.assertTrue((self.folder / first / "log.txt").exists())
        self.assertEqual(len(list((self.folder / first).glob("nvidia-h200-*.json"))), 1)

    def test_sanitizers_take_small_tests(self):
        self.check(FAKE_TAGS="[queues]  3  [fp64]  1  [cast]")
        self.assertIn("speedwell_device_tests --device cuda [cast],[fp64]",
                      self.step("memcheck: speedwell_device_tests")["command"])

    def test_settings_of_the_programs(self):
        (self.programs / "speedwell_device_tests").write_text(
            "#!/bin/sh\necho $OMPI_MCA_btl_vader_single_copy_mechanism $SPEEDWELL_PROFILE\n")
        self.check()
        self.assertEqual(self.step("device conformance")["words"], "none none")
        self.check(OMPI_MCA_btl_vader_single_copy_mechanism="cma")
        self.assertEqual(self.step("device conformance")["words"], "cma none")


class Conclusions(Case):
    def test_a_block_stands_beside_an_update(self):
        done = self.check("--only", "ceilings")
        self.assertRegex(done.stdout, r"\n +share +block +beside +update +beside +both\n"
                                      r" +8 +4\.000 +5\.500 +18\.250 +19\.500 +19\.750\n")
        self.assertFalse((self.output / "products.txt").exists())

    def test_without_ceilings_there_are_times_alone(self):
        (self.programs / "speedwell_gpu_ceilings").unlink()
        self.assertEqual(self.check().returncode, 0)
        for run in self.document()["phases"]:
            self.assertEqual({phase["floor_seconds"] for phase in run["phases"]}, {None})
        self.assertEqual(self.document()["table"][0]["share_of_product"], None)


class Clocks(Case):
    def median(self, record):
        return record["clocks"]["sm_mhz"]["median"]

    def test_every_figure_stands_beside_its_clock(self):
        done = self.check(FAKE_PAUSE="1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = self.document()
        self.assertEqual(document["clocks"]["source"], "nvidia-smi")
        largest = self.step("HPL-MxP, the largest n")
        for record in (largest, largest["result"]):
            self.assertGreater(record["clocks"]["samples"], 1)
            self.assertEqual(record["clocks"]["sm_mhz"], {"min": 1500, "median": 1500, "max": 1500})
            self.assertEqual(record["clocks"]["power_watts"]["median"], 650.25)
            self.assertEqual(record["clocks"]["temperature_c"]["max"], 61)
            self.assertEqual(record["clocks"]["reasons"], {"sw_power_cap": 1, "sw_thermal_slowdown": 1})
        self.assertIn(", 1500 MHz, 650 W", largest["words"])
        products = [line for line in self.step("ceilings")["result"] if line["part"] == "product"]
        self.assertEqual({self.median(line) for line in products}, {1750})
        row = document["table"][2]
        self.assertEqual(row["sm_mhz"], 1500)
        self.assertAlmostEqual(row["share_of_product_at_clock"], 650 * 1.01 / (700 * 1500 / 1750))
        lines = (self.output / "clocks.csv").read_text().splitlines()
        self.assertEqual(lines[0], "unix_time,sm_mhz,power_watts,temperature_c,reasons")
        self.assertRegex(lines[1], r"^\d+\.\d{3},1500,650.25,61,sw_power_cap sw_thermal_slowdown$")
        self.assertGreaterEqual(len(lines), document["clocks"]["samples"])

    def test_earlier_drivers_call_the_reasons_otherwise(self):
        self.check(FAKE_PAUSE="0.5", FAKE_SMI="clocks_throttle_reasons.active")
        self.assertEqual(self.step("HPL, the largest n")["clocks"]["sm_mhz"]["median"], 1500)

    def test_without_any_source_there_are_none(self):
        (self.programs / "nvidia-smi").unlink()
        self.assertEqual(self.check().returncode, 0)
        self.assertIsNone(self.document()["clocks"])
        self.assertIsNone(self.step("HPL-MxP, the largest n")["clocks"])
        self.assertFalse((self.output / "clocks.csv").exists())

    @unittest.skipUnless(NVML, "no library in the place of NVML")
    def test_nvml_comes_first(self):
        (self.folder / "libnvidia-ml.so.1").symlink_to(NVML)
        self.check(FAKE_PAUSE="0.5", LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(self.document()["clocks"]["source"], "NVML")
        clocks = self.step("HPL-MxP, the largest n")["clocks"]
        self.assertEqual(clocks["sm_mhz"]["median"], 1234)  # the clock of the GPU in speedwell info
        self.assertEqual(clocks["power_watts"]["median"], 650.5)
        self.assertEqual(clocks["reasons"], {"sw_power_cap": 1, "sw_thermal_slowdown": 1})
        calls = (self.programs / "calls").read_text()
        self.assertNotIn("--loop-ms", calls)


class Failing(Case):
    def test_missing_programs_are_absent_and_fail_nothing(self):
        for name in ("speedwell_device_tests", "speedwell_cusolver_bench", "compute-sanitizer",
                     "nvidia-smi", "speedwell_mpi_tests"):
            (self.programs / name).unlink()
        done = self.check(PATH=f"{self.programs}:/usr/bin:/bin")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.step("device conformance")["verdict"], "absent")
        self.assertEqual(self.step("MPI suite, 2 ranks")["verdict"], "absent")
        self.assertEqual(self.document()["goals"][3]["verdict"], "not measured")

    def test_failures_and_crashes_stop_nothing(self):
        done = self.check(FAKE="speedwell_mpi_tests:1 mxp-60000:crash speedwell_gpu_ceilings:3")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.step("MPI suite, 4 ranks")["verdict"], "failed")
        self.assertIn("it went wrong", self.step("MPI suite, 4 ranks")["words"])
        self.assertIn("it went wrong", self.log())
        crashed = self.step("HPL-MxP, n = 60000")
        self.assertEqual((crashed["verdict"], crashed["ending"]), ("failed", "killed by signal 11"))
        self.assertEqual(self.step("HPL-MxP, the largest n")["verdict"], "passed")
        self.assertFalse((self.output / "trace-mxp-60000.json").exists())
        self.assertTrue(self.document()["finished"])

    def test_what_does_not_fit_is_left_out(self):
        done = self.check(FAKE="mxp-60000:large mxp-largest:large")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("HPL-MxP, n = 60000")["verdict"], "not run")
        self.assertIn("does not fit", self.step("HPL-MxP, n = 60000")["words"])
        self.assertEqual(self.step("first steps")["verdict"], "not run")

    def test_a_program_whose_libraries_are_missing_is_absent(self):
        done = self.check(FAKE="speedwell_cusolver_bench:unloadable")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("cuSOLVER Xgetrf, the largest n")["verdict"], "absent")

    def test_a_sanitizer_that_is_not_allowed_is_not_available(self):
        for status in (0, 1, 9):
            done = self.check(FAKE=f"compute-sanitizer:unsupported{status}")
            self.assertEqual(done.returncode, 0, done.stdout)
            found = [step for step in self.document()["steps"] if step["step"] == "sanitizer"]
            self.assertEqual([step["verdict"] for step in found], ["not available"])
        # An error that the tool has found is a failure, whatever else the tool prints.
        self.assertEqual(self.check(FAKE="compute-sanitizer:9").returncode, 1)

    def test_facts_that_cannot_be_had_fail_nothing(self):
        done = self.check(FAKE="nvidia-smi:9")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("nvidia-smi")["verdict"], "not available")

    def test_what_is_no_json_is_kept_out(self):
        done = self.check(FAKE="speedwell_gpu_ceilings:garbage speedwell_cusolver_bench:garbage mxp:garbage")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(self.document()["finished"])
        for name in ("ceilings", "HPL-MxP, n = 20000", "cuSOLVER IRSXgesv, the largest n"):
            self.assertEqual(self.step(name)["verdict"], "failed")
        self.assertEqual({row["benchmark"] for row in self.document()["table"]}, {"hpl"})
        self.assertGreater(len(self.log()), 900000)

    def test_a_folder_that_goes_away_stops_nothing_and_fails(self):
        done = self.check(FAKE="mxp-60000:remove")
        self.assert_refused(done, 1, str(self.output))
        self.assertIn("MPI suite, 4 ranks", done.stdout)


class Limits(Case):
    def test_a_hanging_child_is_killed_with_all_that_it_started(self):
        done = self.check("--limit", 12, FAKE="speedwell_accuracy_tests:overdue13")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("not through after 13 s", self.step("accuracy against LAPACK, 1 rank")["words"])
        self.assertEqual(self.step("users' systems, 1 rank")["verdict"], "passed")
        self.assertIn("about to hang\n===== not through after", self.log())
        self.assert_nothing_left()

    def test_nothing_eats_the_time_of_what_comes_later(self):
        budget = 100
        ends = ends_of(STEPS, budget)
        done = self.check("--trial", "--budget", budget, FAKE="speedwell_device_tests:overdue14 mxp-500:overdue29")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("\ncut off: device conformance; HPL-MxP, the largest n; HPL-MxP, the largest n, "
                      "reserve 0\n", done.stdout)
        self.assertEqual([step["name"] for step in self.document()["steps"] if step["verdict"] == "not run"],
                         ["device conformance, by many kernels", "first steps"])
        for step in self.document()["steps"]:
            if step["step"] in ends and "limit_seconds" in step and step["step"] not in ("mxp", "hpl"):
                latest = step["begun_seconds"] + step["limit_seconds"]
                self.assertLessEqual(latest, ends[step["step"]] + 1e-6, step["name"])
        self.assert_nothing_left()

    def test_a_hang_fails_however_little_time_its_step_has(self):
        for program, name, only, budget in (("speedwell_device_tests", "device conformance", "device", 560),
                                            ("speedwell_mpi_tests", "MPI suite, 1 rank", "mpi", 80),
                                            ("speedwell_gpu_ceilings", "ceilings", "ceilings", 560)):
            for how, verdict in (("overdue150", "failed"), ("slow150", "cut off")):
                done = self.check("--only", only, "--budget", budget, FAKE=f"{program}:{how}")
                step = self.step(name)
                self.assertEqual(step["verdict"], verdict, name)
                self.assertEqual(done.returncode, int(verdict == "failed"), done.stdout)
                if verdict == "failed":
                    self.assertIn("the last 150 s without output: about to hang", step["words"])

    def test_runs_that_every_gpu_passes_must_end(self):
        for n in (20000, 60000):
            for how in ("overdue100", "slow100"):
                done = self.check(FAKE=f"mxp-{n}:{how}")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(self.step(f"HPL-MxP, n = {n}")["verdict"], "failed")
        # Nor may there be no time for them.
        done = self.check(FAKE="speedwell_device_tests:take350")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual((self.step("HPL-MxP, n = 60000")["verdict"],
                          self.step("HPL-MxP, n = 60000")["words"]), ("failed", "no time left"))

    def test_what_was_measured_before_it_was_cut_off_counts(self):
        done = self.check(FAKE="speedwell_gpu_ceilings-fp64:slow200")
        ceilings = self.step("ceilings")
        self.assertEqual(ceilings["verdict"], "cut off", done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual([line["precision"] for line in ceilings["result"]], ["", "fp16", "fp16", "bf16"])
        self.assertAlmostEqual(self.document()["goals"][0]["value"], 651 / 700)
        self.assertIsNone(self.document()["table"][-1]["share_of_product"])  # the row of HPL

    def test_a_sanitizer_that_is_cut_off_fails_nothing(self):
        (self.programs / "speedwell_device_tests").unlink()
        done = self.check(FAKE="compute-sanitizer:overdue61")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.step("memcheck: speedwell")["verdict"], "cut off")

    def test_no_time_left(self):
        done = self.check(FAKE="speedwell_gpu_ceilings:take500")
        self.assertEqual(done.returncode, 0, done.stdout)
        verdicts = {step["name"]: step["verdict"] for step in self.document()["steps"]}
        self.assertEqual(verdicts["HPL, the largest n"], "not run")
        self.assertEqual(verdicts["MPI suite, 1 rank"], "passed")
        self.assertIn("not run: no time left", done.stdout)
        self.assertRegex(done.stdout, r"\nnot run: HPL, the largest n; HPL, .*\n")
        self.assertTrue(self.document()["finished"])


class Interrupted(Case):
    def hang_in(self, fake):
        child = self.start(FAKE=fake)
        for _ in range(20 * PATIENCE):
            if self.pids.exists() and len(self.pids.read_text().split()) > 1:
                return child
            time.sleep(0.05)
        child.kill()
        self.fail("the child did not start")

    def end_what_is_left(self):
        for pid in self.pids.read_text().split() if self.pids.exists() else ():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def assert_whole(self, running):
        document = self.document()
        self.assertFalse(document["finished"])
        self.assertEqual(document["running"], running)
        self.assertIn(f": {running}\n$ ", self.log())
        self.assertTrue(self.log().endswith("about to hang\n"), self.log()[-200:])

    def test_terminated_it_ends_its_child_and_the_files_are_whole(self):
        child = self.hang_in("speedwell_mpi_tests:hang")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(PATIENCE), 143)
        self.assert_nothing_left()
        self.assert_whole("MPI suite, 1 rank")
        self.assertEqual([path.name for path in self.output.glob(".*.tmp")], [])

    def test_killed_the_files_are_whole(self):
        child = self.hang_in("mxp-largest:hang")
        child.kill()
        child.wait(PATIENCE)
        self.end_what_is_left()
        self.assert_whole("HPL-MxP, the largest n")
        self.assertEqual([row["n"] for row in self.document()["table"]], [20000, 60000])

    def test_killed_at_any_moment_what_is_there_can_be_read(self):
        calls = self.programs / "calls"
        for count in (1, 3, 5, 8, 12, 17, 24):
            with self.subTest(count=count):
                calls.unlink(missing_ok=True)
                self.output = self.folder / f"out{count}"
                child = self.start()
                while child.poll() is None:
                    if calls.exists() and calls.read_text().count("\n") >= count:
                        break
                    time.sleep(0.002)
                child.kill()
                child.wait(PATIENCE)
                self.assertRegex(self.log(), r"=====.*: speedwell info\n")
                for path in self.output.glob("*.json"):
                    json.loads(path.read_text())
                if count > 3:
                    self.assertGreater(len(self.document()["steps"]), count / 4)

    def test_the_file_is_whole_at_every_moment(self):
        child = self.start()
        counts = []
        while child.poll() is None:
            if self.output.exists() and self.documents():
                counts.append(len(self.document()["steps"]))
            time.sleep(0.005)
        self.assertEqual(child.wait(), 0)
        self.assertEqual(counts, sorted(counts))
        self.assertGreater(len(set(counts)), 5)


class Refused(Case):
    def test_usage(self):
        for words, needle in ((["--budget", "soon"], "--budget"), (["--budget", "-1"], "--budget"),
                              (["--budget"], "--budget"), (["--fast", "1"], "--fast"),
                              (["--limit", "0"], "--limit"), (["--output", ""], "--output"),
                              (["--device", "tpu"], "--device")):
            self.assert_refused(self.check(*words, output=False), 2, needle)
        self.assertEqual(list(self.folder.glob("gpu-check-*")), [])

    def test_help(self):
        done = self.check("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("usage: gpu-check", done.stdout)

    def test_no_gpu(self):
        done = self.check(FAKE_GPU="none: no driver is loaded")
        self.assert_refused(done, 3, "no GPU", "no driver is loaded")
        # The files that are kept may show why there is no GPU.
        self.assertRegex(self.documents()[0].name, r"^no-gpu-\d{4}-\d\d-\d\d\.json$")
        self.assertIn("no driver is loaded", self.log())
        self.assertIn("NVIDIA H200, 580", self.log())

    def test_no_speedwell(self):
        (self.programs / "speedwell").unlink()
        self.assert_refused(self.check(), 3, "there is no", "/speedwell")

    def test_output_that_cannot_be_made(self):
        (self.folder / "file").touch()
        for path in (self.folder / "file", self.folder / "file/out"):
            done = self.check("--output", path, output=False)
            self.assert_refused(done, 2, "--output", str(path))
        self.assertFalse((self.programs / "calls").exists())
        self.assertEqual(list(self.folder.glob("speedwell-gpu-check.*")), [])


class Script(Case):
    def arrange(self, script):
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_bytes((ROOT / "run/gpu-check").read_bytes())
        script.chmod(0o755)
        return script

    def launch(self, script, *options):
        return subprocess.run([str(script), *options], stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              capture_output=True, text=True, cwd=self.folder,
                              env=self.environment)

    def test_checkout(self):
        script = self.arrange(self.folder / "tree/run/gpu-check")
        (script.parent / "gpu_check").symlink_to(PACKAGE)
        self.assert_refused(self.launch(script), 3, "build/release/speedwell is not there")
        build = self.folder / "tree/build/release"
        build.parent.mkdir()
        self.programs.rename(build)
        self.environment["PATH"] = f"{build}:/usr/bin:/bin"
        done = self.launch(script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(self.folder.glob("gpu-check-*/nvidia-h200-*.json"))), 1)
        for folder in ("tools", "old"):
            (self.folder / folder).mkdir()
            (self.folder / folder / "readlink").symlink_to("/usr/bin/readlink")
        (self.folder / "old/python3").symlink_to("/bin/false")
        for folder in ("tools", "old"):
            self.environment["PATH"] = str(self.folder / folder)
            self.assert_refused(self.launch(script), 3, "python3 of version 3.9 or later is not in PATH")

    def test_bundle(self):
        script = self.arrange(self.folder / "speedwell-1/bin/gpu-check")
        launcher = self.folder / "speedwell-1/libexec/launcher"
        launcher.parent.mkdir()
        launcher.write_text("#!/bin/sh\n")
        launcher.chmod(0o755)
        for path in list(self.programs.iterdir()):
            path.rename(script.parent / path.name)
        package = self.folder / "speedwell-1/share/speedwell/gpu_check"
        package.parent.mkdir(parents=True)
        package.symlink_to(PACKAGE)
        environment = script.parent / "speedwell-environment"
        environment.write_text("#!/bin/sh\necho '# a word'\n"
                               "printf '%s\\n' \"export FAKE_GPU='GPU 0 (It'\\\\''s, GPU-1), 9 GiB'\"\n")
        environment.chmod(0o755)
        self.environment["PATH"] = "/usr/bin:/bin"
        link = self.folder / "check"
        link.symlink_to(script)
        self.output = self.folder / "found"
        done = self.launch(link, "--budget", "400", "--output", "found")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("bin/mpirun --oversubscribe", self.step("MPI suite, 1 rank")["command"])
        self.assertIn("bin/speedwell-environment", self.step("libraries")["command"])
        # What it exports is in the environment of all programs.
        self.assertEqual(self.document()["gpu"], "GPU 0 (It's, GPU-1), 9 GiB")


@unittest.skipUnless(EMULATED, "no emulated GPUs")
class Emulated(Case):
    def test_the_programs_say_what_the_check_reads(self):
        names = ("speedwell", "speedwell_gpu_ceilings", "speedwell_gpu_big_update", "speedwell_gpu_kernels")
        for name, path in zip(names, EMULATED.split(":")):
            (self.programs / name).unlink()
            (self.programs / name).symlink_to(path)
        done = self.check("--trial")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = self.document()
        self.assertGreaterEqual(len(document["table"]), 7)
        for row in document["table"]:
            self.assertGreater(row["share_of_product"], 0)
            self.assertGreaterEqual(row["lu_tflops"], row["score_tflops"])
        for run in document["phases"]:
            for phase in run["phases"]:
                if phase["phase"] not in ("broadcast_exposed", "LU outside the update"):
                    self.assertGreater(phase["floor_seconds"], 0, phase)
        self.assertGreater(len(self.step("first steps: nb, chunk")["result"]["trials"]), 2)
        big = self.step("update of a big shape")["result"]
        self.assertEqual((sum(big["compared"]), big["wrong"]), (1000, [0, 0]))
        self.assertGreater(min(big["compared"]), 400)
        beside = [line for line in self.step("ceilings")["result"] if line["part"] == "diagonal_beside_update"]
        self.assertEqual([line["reserved"] for line in beside], [0, 1, 2])
        for line in beside:
            for what in ("block_alone", "block_beside", "update_alone", "update_beside", "both"):
                self.assertGreater(line[what + "_milliseconds"], 0)
        kernels = self.step("Speedwell's kernels")["result"]
        self.assertEqual({line["verdict"] for line in kernels if "verdict" in line}, {"right"})
        parts = [line["part"] for line in kernels]
        for part in ("variants", "diagonal_bits", "diagonal_time", "host_time",
                     "diagonal_beside_update", "cast"):
            self.assertIn(part, parts)
        self.assertTrue(document["products"])
        self.assertIn("\nlimited products: ", done.stdout)
        machine = json.loads((self.output / "machine.json").read_text())
        self.assertEqual((machine["kind"], machine["ranks"][0]["bandwidth"]["origin"]),
                         ("gpu", "measured"))
        for name in ("trace-mxp-largest.json", "trace-hpl-largest.json"):
            self.assertTrue(json.loads((self.output / name).read_text())["traceEvents"])
        self.assertEqual([step["name"] for step in document["steps"]
                          if step["verdict"] not in ("passed", "absent")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
