#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what the speedwell command says of energy, and `--monitor`, on an emulated GPU whose NVML is an
imitation.

SPEEDWELL_COMMAND: the command with emulated GPUs. SPEEDWELL_FAKE_NVML: a library that imitates NVML.
SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import json
import os
import re
import tempfile
import unittest

from test_cli import Case, needs_predictions, run
from test_memory import write_matrix

MXP = ("mxp", "-N", "300", "--nb", "64", "--profile", "none")
SCOPE = "GPUs and CPU packages only; not a Green500 measurement"


class Watching(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.symlink(os.environ["SPEEDWELL_FAKE_NVML"], self.at("libnvidia-ml.so.1"))

    def at(self, name):
        return os.path.join(self.folder, name)

    def run_on_gpu(self, *words, gpus=1, **variables):
        """The outcome and its JSON, with NVML's answers in these variables."""
        path = self.at("run.json")
        environment = {"SPEEDWELL_EMULATED_GPUS": str(gpus), "SPEEDWELL_EMULATED_MEMORY": str(16 << 30),
                       "LD_LIBRARY_PATH": self.folder}
        environment.update({f"SPEEDWELL_FAKE_NVML_{name}": text for name, text in variables.items()})
        outcome = run(*words, "--json", path, environment=environment)
        self.assert_status(outcome, 0)
        with open(path, encoding="utf-8") as file:
            return outcome, json.load(file)

    def gpu_of(self, energy):
        (gpu,) = [domain for domain in energy["domains"] if domain["kind"] == "GPU"]
        return gpu

    def test_energy_of_a_gpu(self):
        # The marks around a phase are made beside the clock, which another program may come between:
        # in one of three runs none does.
        for _ in range(3):
            outcome, document = self.run_on_gpu(*MXP, WATTS="500")
            (one,) = document["runs"]
            energy = one["energy"]
            gpu = self.gpu_of(energy)
            phases = (("lu", one["lu"]["seconds"]),
                      ("refinement", one["time_seconds"] - one["lu"]["seconds"]))
            if all(gpu["joules"][phase] > 500 * seconds - 0.1 for phase, seconds in phases):
                break
        self.assertEqual(energy["scope"], SCOPE)
        self.assertEqual(gpu["source"], "NVML energy counter")
        # 500 W, in steps of a thousandth of a joule, and in the time between marks around each phase.
        for phase, seconds in phases:
            self.assertGreater(gpu["joules"][phase], 500 * seconds - 0.1)
            self.assertLess(gpu["joules"][phase], 500 * (seconds + 0.5))
        self.assertLess(energy["begin"], energy["end"])
        if energy["missing"]:  # the packages of this machine
            self.assertIsNone(energy["joules"])
            self.assertIsNone(energy["gflops_per_watt"])
            self.assertIn(f"Energy: not known: {energy['missing'][0]}", outcome.out)
        else:
            self.assertIn(f"GFLOPS/W ({SCOPE})", outcome.out)

    def test_energy_that_cannot_be_read(self):
        outcome, document = self.run_on_gpu(*MXP, INIT="error 9")
        energy = document["runs"][0]["energy"]
        gpu = self.gpu_of(energy)
        self.assertEqual(gpu["joules"], {"lu": None, "refinement": None})
        self.assertTrue(gpu["why_null"])
        self.assertIsNone(energy["joules"])
        self.assertIn("Energy: not known: ", outcome.out)

    def test_energy_of_each_command(self):
        matrix = self.at("a.npy")
        write_matrix(matrix, 250)
        for words in (("hpl", *MXP[1:]), ("solve", matrix, "--device", "cuda"),
                      ("compare", "-N", "300", "--repeat", "1", "--solvers", "mxp,solve,dgesv",
                       "--precision", "fp16")):
            with self.subTest(words[0]):
                outcome, document = self.run_on_gpu(*words, WATTS="500")
                self.assertRegex(outcome.out.lower(), r"energy *:")
                if words[0] == "compare":
                    for one in document["orders"][0]["solvers"]:
                        energy = one["turns"][0]["energy"]
                        self.assertEqual(energy["scope"], SCOPE)
                        if one["solver"] == "mxp":
                            self.assertGreater(self.gpu_of(energy)["joules"]["lu"], 0)
                        if one["solver"] == "dgesv":  # of a processor
                            self.assertEqual([domain["kind"] for domain in energy["domains"]
                                              if domain["kind"] == "GPU"], [])
                else:
                    energy = document["runs"][0]["energy"] if "runs" in document else \
                        document["energy"]
                    self.assertGreater(self.gpu_of(energy)["joules"]["lu"], 0)
                    self.assertGreater(self.gpu_of(energy)["joules"]["refinement"], 0)

    def test_samples(self):
        trace = self.at("trace.json")
        outcome, document = self.run_on_gpu(*MXP, "--monitor", "0.05", "--trace", trace)
        (rank,) = document["runs"][0]["monitor"]
        self.assertEqual((rank["rank"], rank["interval_seconds"]), (0, 0.05))
        self.assertGreaterEqual(rank["samples_taken"], 1)
        series = {(one["device"].split(" (")[0], one["quantity"]): one for one in rank["series"]}
        temperature = series["GPU 0", "temperature_c"]
        self.assertEqual(temperature["values"], [61] * len(rank["times"]))
        self.assertEqual((temperature["minimum"], temperature["mean"], temperature["maximum"]),
                         (61, 61, 61))
        self.assertIn(("CPUs", "cpu_load"), series)
        (gpu,) = rank["gpus"]
        self.assertEqual(gpu["throttled_samples"]["sw_thermal_slowdown"], rank["samples_taken"])
        self.assertEqual(gpu["before"]["pcie_replays"], 3)
        self.assertRegex(outcome.out, r"(?m)^temperature_c +61 +61 +61  rank 0 on \S+, GPU 0.*; rank 0")
        self.assertRegex(outcome.out, r"throttled: rank 0 on .*: power limit in \d+ of \d+ samples, "
                                      r"thermal throttling")
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        counters = [one for one in events if one["ph"] == "C" and "temperature_c" in one["name"]]
        # The trace ends before the last samples of the report may be taken.
        times = rank["times"][:len(counters)]
        self.assertEqual(len(counters), len(times))
        for counter, time in zip(counters, times):
            self.assertAlmostEqual((counter["ts"] - counters[0]["ts"]) / 1e6, time - times[0],
                                   delta=1e-3)
        self.assertEqual(set(counters[0]["args"].values()), {61})

    def test_a_monitor_without_a_number(self):
        for words in (*MXP, "--monitor"), ("mxp", "--monitor", *MXP[1:]):
            _, document = self.run_on_gpu(*words)
            self.assertEqual(document["runs"][0]["monitor"][0]["interval_seconds"], 1)

    def test_nothing_is_sampled_by_default(self):
        outcome, document = self.run_on_gpu(*MXP)
        self.assertIsNone(document["runs"][0]["monitor"])
        self.assertNotIn("Monitor", outcome.out)

    def test_warnings_come_once(self):
        outcome, _ = self.run_on_gpu(*MXP, "--monitor", "0.05", "--monitor-temperature", "60",
                                     "--monitor-power", "600", "--monitor-clock", "1000",
                                     "--repeat", "1")
        warnings = [line for line in outcome.err.splitlines() if "GPU 0" in line]
        for quantity in "temperature 61 C, above 60 C", "SM clock 1 MHz, below 1000 MHz":
            self.assertEqual(len([one for one in warnings if quantity in one]), 1, outcome.err)
        self.assertEqual(len(warnings), 3, outcome.err)
        for one in warnings:
            self.assertRegex(one, r"^speedwell: warning: rank 0 on \S+, GPU 0")

    def test_a_solve(self):
        matrix = self.at("a.npy")
        write_matrix(matrix, 250)
        outcome, document = self.run_on_gpu("solve", matrix, "--device", "cuda", "--monitor", "0.05")
        self.assertEqual(document["monitor"][0]["rank"], 0)
        self.assertIn("temperature_c", outcome.out)

    def test_a_check_of_all_gpus_by_a_process_alone(self):
        path = self.at("check.json")
        environment = {"SPEEDWELL_EMULATED_GPUS": "2", "SPEEDWELL_EMULATED_MEMORY": str(4 << 30),
                       "LD_LIBRARY_PATH": self.folder}
        outcome = run("check", "--seconds", "1", "--json", path, environment=environment)
        self.assert_status(outcome, 1)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual([place["device"].split(" (")[0] for place in document["places"]],
                         ["GPU 0", "GPU 1"])
        # NVML knows the first one alone: what it does not say of the other is no outlier.
        words = {place: [one["words"] for one in document["outliers"] if one["place"] == place]
                 for place in (0, 1)}
        self.assertTrue(any("memory, not corrected: 1, rows" in one for one in words[0]), words)
        self.assertFalse(any("memory, not" in one or "PCIe" in one for one in words[1]), words)
        clock = next(one for one in document["figures"] if one["name"] == "SM clock")
        self.assertEqual(clock["values"], [1, None])
        self.assertIn("GPU 0", outcome.out)
        self.assertNotIn("nan", outcome.out)

    def test_bad_input(self):
        for words, needle in ((("--monitor", "0"), "--monitor"), (("--monitor=0.01"), "at least 0.05"),
                              (("--monitor-temperature", "hot"), "--monitor-temperature"),
                              (("--monitor-clock", "0"), "above 0"),
                              (("--monitor-power",), "value is missing")):
            words = (words,) if isinstance(words, str) else words
            self.assert_refused(run(*MXP, *words), needle)
        self.assert_refused(run("mxp", "--monitor", "1", "--monitor", "2"), "more than once")

    @needs_predictions
    def test_nothing_to_watch_in_a_prediction(self):
        self.assert_refused(run("predict", "mxp", "--machine", "h200", "--monitor"), "--monitor")


if __name__ == "__main__":
    unittest.main()
