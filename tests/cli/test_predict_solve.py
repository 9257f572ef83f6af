#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell predict solve`: what the LU and the corrections of a user's system cost on a simulated
machine. Variables and machines as in test_predict.py."""

import json
import unittest

from test_cli import needs_predictions, run
from test_predict import CLUSTER, FP16_RATE, H200, H200_X8, Folder, ideal, with_values


def steps_of(report):
    return {step["precision"]: step for step in report["steps"]}


@needs_predictions
class Solve(Folder):
    def test_products_alone(self):
        """On an ideal machine an LU takes the time of its products; a complex product is four real
        ones."""
        n = 16384
        machine = self.machine(H200_X8, ideal)
        words = ("solve", "--machine", machine, "-N", str(n), "--ranks", "1",
                 "--precision", "fp16")
        real, complex_ = (report["steps"][0] for report in
                          self.predictions(words, (*words, "--complex")))
        for step, products in (real, 1), (complex_, 4):
            flops = products * 2 / 3 * n**3
            self.assertGreater(step["lu_seconds"], 0.95 * flops / FP16_RATE)
            self.assertLess(step["lu_seconds"], 1.25 * flops / FP16_RATE)
            self.assertAlmostEqual(step["lu_gflops"] * step["lu_seconds"] * 1e9, flops, delta=0.01 * flops)

    def test_corrections_read_matrix_and_factors(self):
        """A residual reads A in FP64 once, and a solve the factors once: on a machine where only reading
        matrices takes time."""
        n = 30000

        def memory_alone(machine):
            ideal(machine)
            gpu, = machine["ranks"]
            with_values(gpu, {"bandwidth": 4e12})
            for name, size in ("fp32", 4), ("fp64", 8):
                gpu["operations"]["vector-product " + name]["rate"] = 4e12 / size

        machine = self.machine(H200_X8, memory_alone)
        words = ("solve", "--machine", machine, "-N", str(n), "--ranks", "1",
                 "--precision", "fp32,fp64")
        for parts, report in enumerate(self.predictions(words, (*words, "--complex")), 1):
            for name, factor in ("fp32", 4), ("fp64", 8):
                floor = parts * (8 + factor) * n * n / 4e12
                seconds = steps_of(report)[name]["correction_seconds"]
                with self.subTest(parts=parts, precision=name):
                    self.assertGreater(seconds, 0.95 * floor)
                    self.assertLess(seconds, 4 * floor)

    def test_sum(self):
        report = self.predict("solve", "--machine", H200, "-N", "3000", "--corrections", "5")
        for step in report["steps"]:
            self.assertAlmostEqual(step["time_seconds"],
                                   step["lu_seconds"] + 5 * step["correction_seconds"])
        self.assertEqual([report["n"], report["complex"], report["right_hand_sides"], report["ranks"],
                          report["benchmark"], report["predicted"]["corrections"]],
                         [3000, False, 1, 1, "solve", 5])

    def test_grids(self):
        """Odd orders on several grids, in a node and in several; more ranks than blocks."""
        cases = [("solve", "--machine", machine, "-N", str(n), "-P", str(p), "-Q", str(q), *field)
                 for machine, n, p, q in ((H200_X8, 2311, 1, 2), (H200_X8, 4099, 2, 2), (H200_X8, 100, 2, 4),
                                          (CLUSTER, 4099, 3, 4))
                 for field in ((), ("--complex",))]
        for words, report in zip(cases, self.predictions(*cases)):
            with self.subTest(words):
                self.assertEqual(report["ranks"], int(words[6]) * int(words[8]))
                for step in report["steps"]:
                    self.assertIsNone(step["refusal"])
                    self.assertGreater(step["lu_seconds"], 0)
                    self.assertGreater(step["correction_seconds"], 0)

    def test_complex_takes_longer(self):
        """Four times the products; columns of panels, whose latencies count, are as many."""
        words = ("solve", "--machine", H200, "-N", "60000")
        real, complex_ = map(steps_of, self.predictions(words, (*words, "--complex")))
        for precision, step in real.items():
            ratio = complex_[precision]["lu_seconds"] / step["lu_seconds"]
            with self.subTest(precision=precision, ratio=ratio):
                self.assertTrue(1.7 < ratio < 4.6)

    def test_right_hand_sides(self):
        """Each more costs; many together cost less than one after the other; 1024 are refined in four
        blocks of 256."""
        words = ("solve", "--machine", H200, "-N", "4000", "--precision", "fp32")
        one, many, blocks, all_ = (
            report["steps"][0]["correction_seconds"]
            for report in self.predictions(words, *((*words, "--rhs", k) for k in ("256", "1024", "n"))))
        self.assertTrue(one < many < 256 * one)
        self.assertAlmostEqual(blocks / many, 4, places=3)
        self.assertLess(blocks, all_)

    def test_precisions(self):
        """Those for which the machine has rates, or those that are asked for."""
        found = self.predictions(("solve", "--machine", H200, "-N", "2000"),
                                 ("solve", "--machine", H200, "-N", "2000", "--precision", "fp16,fp32"))
        self.assertEqual([list(steps_of(report)) for report in found],
                         [["bf16", "fp16", "fp16x3", "fp32", "fp64"], ["fp16", "fp32"]])

    def test_memory(self):
        """What does not fit is refused in its line; where nothing fits, the command ends."""
        outcome = run("predict", "solve", "--machine", H200, "-N", "95000", "--json", self.at("a.json"))
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"\nfp64 +refused: -N 95000 does not fit.* allowed is at most -N 9\d+\n")
        with open(self.at("a.json"), encoding="utf-8") as file:
            steps = steps_of(json.load(file))
        self.assertIn("does not fit", steps["fp64"]["refusal"])
        self.assertGreater(steps["bf16"]["memory_bytes"], 12 * 95000**2)
        self.assert_refused(run("predict", "solve", "--machine", H200, "-N", "1000000"), "does not fit")

    def test_bad_input(self):
        words = ("predict", "solve", "--machine", H200)
        for more, needles in (((), ["-N", "missing", "whole number from 1"]),
                              (("-N", "0"), ["--n", "'0'"]),
                              (("-N", "100", "--precision", "auto"), ["--precision", "auto", "bf16"]),
                              (("-N", "100", "--rhs", "0"), ["--rhs", "'0'", "or n"]),
                              (("-N", "100", "--search"), ["unknown option", "--search"]),
                              (("-N", "100", "A.npy"), ["unknown argument", "A.npy"]),
                              (("-N", "100", "--device", "cpu"), ["--device cpu", "cuda"]),
                              (("-N", "100", "--ranks", "2"), ["2 ranks", "allowed: 1"]),
                              (("-N", "100", "--json", "/nowhere/a.json"), ["/nowhere/a.json"])):
            with self.subTest(more):
                self.assert_refused(run(*words, *more), *needles)


if __name__ == "__main__":
    unittest.main()
