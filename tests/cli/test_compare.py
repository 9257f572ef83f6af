#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell compare` as users use it.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import concurrent.futures
import re
import unittest

from test_hpl import InFolder, ZERO_SEED

ROW = re.compile(r"^(mxp|solve|hpl|dgesvx|dgesv|dsgesv) +(\w+) +(?:(\d+|-) +)?(\d+ x \d+) .*?(PASSED|FAILED|skipped)$",
                 re.M)
ALL = [("mxp", "bf16"), ("mxp", "fp16"), ("mxp", "fp32"), ("solve", "fp32"), ("hpl", "fp64"),
       ("dgesv", "fp64"), ("dsgesv", "fp32")]


GALLERY = ["gaussian", "uniform", "kernel", "boundary", "toeplitz", "graded", "shifted", "large"]
USERS_ROW = re.compile(r"^(solve|dgesvx|dgesv|dsgesv) +(\w+) +(?:\d+|-) +(\d+ x \d+) +(\S+) +(\S+) .*?"
                       r"(PASSED|FAILED|skipped)$", re.M)


def rows(text):
    """The rows of the table."""
    return ROW.findall(text)


class Compare(InFolder):
    def test_everybody_on_one_rank(self):
        outcome = self.run_here("compare", "-N", "100,1", "--repeat", "2", "--progress", "--json",
                                "a.json")
        self.assert_status(outcome, 0)
        self.assertEqual([(row[0], row[1], row[4]) for row in rows(outcome.out)],
                         [(*one, "PASSED") for one in ALL] * 2)
        self.assertEqual({row[3] for row in rows(outcome.out)}, {"1 x 1"})
        document = self.result()
        self.assertEqual(document["benchmark"], "compare")
        self.assertTrue(document["passed"])
        self.assertEqual([order["n"] for order in document["orders"]], [100, 1])
        for order in document["orders"]:
            for one in order["solvers"]:
                self.assertEqual(len(one["turns"]), 2)
                self.assertLess(one["scaled_residual"], 16)
                self.assertGreaterEqual(one["gflops"]["best"], one["gflops"]["median"])
                self.assertGreater(one["share_of_ceiling"], 0)
            names = [one["name"] for one in order["ceilings"]]
            for name in ("dgemm", "sgemm", "update bf16", "memory read", "memory triad"):
                self.assertIn(name, names)
        # Each round has every solver once.
        turns = re.findall(r"n = 100, round (\d) of 2: (\S+)", outcome.err)
        self.assertEqual(turns, [(str(i), one[0]) for i in (1, 2) for one in ALL])

    def test_two_ranks(self):
        outcome = self.run_here("compare", "-N", "90", "--nb", "16", "--hpl-nb", "8", "--repeat", "1",
                                "--precision", "fp32", "--matrix", "dominant", ranks=2)
        self.assert_status(outcome, 0)
        self.assertEqual(rows(outcome.out),
                         [("mxp", "fp32", "16", "2 x 1", "PASSED"),
                          ("solve", "fp32", "16", "2 x 1", "PASSED"),
                          ("hpl", "fp64", "8", "2 x 1", "PASSED"),
                          ("dgesv", "fp64", "-", "1 x 1", "PASSED"),
                          ("dsgesv", "fp32", "-", "1 x 1", "PASSED")])

    def test_failures_are_no_successes(self):
        # The matrix is too ill-conditioned for FP32 factors, so dsgesv starts again in FP64.
        outcome = self.run_here("compare", "-N", "100", "--solvers", "dsgesv,dgesv", "--matrix",
                                "fasi-higham", "--kappa", "1e13", "--repeat", "1", "--json", "a.json")
        self.assert_status(outcome, 1)
        self.assertEqual([row[4] for row in rows(outcome.out)], ["FAILED", "PASSED"])
        self.assertRegex(outcome.out, r"- dsgesv: FAILED in round 1: gave up its refinement.*iter = -")
        dsgesv, dgesv = self.result()["orders"][0]["solvers"]
        self.assertFalse(self.result()["passed"])
        self.assertIsNone(dsgesv["gflops"]["best"])
        self.assertEqual(dgesv["over_dgesv"], 1)

    def test_all_have_the_same_matrix(self):
        # With this seed the first entry is 0 unless the matrix adds to its diagonal.
        same = ("compare", "-N", "1", "--seed", ZERO_SEED, "--repeat", "1", "--precision", "fp32")
        self.assert_status(self.run_here(*same), 0)
        outcome = self.run_here(*same, "--matrix", "hpl", "--pivot", "partial")
        self.assert_status(outcome, 1)
        self.assertEqual([row[4] for row in rows(outcome.out)], ["FAILED"] * 5)
        self.assertEqual(outcome.out.count("info = 1)"), 4)

    def test_users_systems(self):
        for matrix in GALLERY:
            for ranks in (1, 2):
                with self.subTest(matrix=matrix, ranks=ranks):
                    outcome = self.run_here("compare", "--matrix", matrix, "-N", "61,1", "--repeat",
                                            "2", "--json", "a.json", ranks=ranks)
                    self.assert_status(outcome, 0)
                    found = USERS_ROW.findall(outcome.out)
                    self.assertEqual([(row[0], row[2], row[5]) for row in found],
                                     [("solve", f"{ranks} x 1", "PASSED"), ("dgesv", "1 x 1", "PASSED"),
                                      ("dsgesv", "1 x 1", "PASSED"),
                                      ("dgesvx", "1 x 1", "PASSED")] * 2)
                    self.check_users_system(self.result(), matrix, ranks)
                    self.assertRegex(outcome.out, r"(?m)^- solve: .*solved in (bf16|fp16|fp32|fp64), ")

    def check_users_system(self, document, matrix, ranks):
        self.assertEqual((document["matrix"], document["ranks"]), (matrix, ranks))
        self.assertEqual([order["n"] for order in document["orders"]], [61, 1])
        for order in document["orders"]:
            self.assertEqual(order["ceilings"], [])
            dgesv = order["solvers"][1]["seconds"]
            for one in order["solvers"]:
                self.assertEqual(len(one["turns"]), 2)
                self.assertLess(one["scaled_residual"], 16)
                self.assertAlmostEqual(one["over_dgesv"], dgesv / one["seconds"])
                self.assertGreaterEqual(one["median_seconds"], one["seconds"])
            solve = order["solvers"][0]
            for turn in solve["turns"]:
                self.assertEqual([step["solved"] for step in turn["steps"]],
                                 [False] * (len(turn["steps"]) - 1) + [True])
                parts = sum(step["factor_seconds"] + step["refine_seconds"] for step in turn["steps"])
                self.assertGreater(turn["check_seconds"], 0)
                self.assertGreater(turn["seconds"], parts + turn["check_seconds"])
            self.assertEqual(solve["precision"], turn["steps"][-1]["precision"])
        if matrix == "graded":  # no FP32 factors refine it to FP64
            solve, _, dsgesv, _ = document["orders"][0]["solvers"]
            self.assertEqual(solve["precision"], "fp64")
            self.assertIn("iter = -", dsgesv["turns"][0]["note"])

    def test_options_of_users_systems(self):
        words = ("compare", "--matrix", "uniform", "-N", "50", "--repeat", "1", "--seed", "3",
                 "--solvers", "dgesvx,solve", "--progress")
        outcome = self.run_here(*words)
        self.assert_status(outcome, 0)
        self.assertEqual([row[0] for row in USERS_ROW.findall(outcome.out)], ["dgesvx", "solve"])
        self.assertIn("MATRIX     : uniform, seed 3, for all of them\n", outcome.out)
        self.assertEqual(re.findall(r"n = 50, round 1 of 1: (\w+) [\d.e-]+ s, ", outcome.err), ["dgesvx", "solve"])
        # Options of the solver are those of speedwell solve: one correction is not enough for FP32 factors.
        outcome = self.run_here("compare", "--matrix", "gaussian", "-N", "200", "--repeat", "1",
                                "--solvers", "solve", "--refine", "ir", "--max-iterations", "1")
        self.assertRegex(outcome.out, r"failed in fp32")

    LEVELS = [("fp64", "fp64"), ("O0", "fp32"), ("O1", "bf16"), ("O2", "bf16"), ("O3", "bf16"), ("O1", "fp16"),
              ("O2", "fp16"), ("O3", "fp16")]
    LEVEL_ROW = re.compile(r"^(fp64|O\d) +(\w+) +\S+ +(\d+) +(\d+ x \d+) .*?(PASSED|FAILED|no x)$", re.M)

    def test_levels_of_precision(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                outcome = self.run_here("compare", "--levels", "-N", "90,1", "--nb", "16", "--repeat", "2",
                                        "--json", "a.json", "--progress", ranks=ranks)
                self.assert_status(outcome, 0)
                found = self.LEVEL_ROW.findall(outcome.out)
                self.assertEqual([row[:2] for row in found], self.LEVELS * 2)
                self.assertEqual({row[3] for row in found}, {f"{ranks} x 1"})
                self.assertIn("levels of precision, shifted in turns\n", outcome.out)
                self.assertNotIn("residual", outcome.out)
                self.assertEqual(re.findall(r"n = 90, round 2 of 2: (\w+)", outcome.err),
                                 [level for level, _ in self.LEVELS])
                self.check_levels(self.result(), ranks)

    def check_levels(self, document, ranks):
        self.assertTrue(document["passed"])
        self.assertEqual(document["matrix"], "shifted")
        for order in document["orders"]:
            for one, names in zip(order["solvers"], self.LEVELS, strict=True):
                self.assertEqual((one["level"], one["precision"], one["ranks"]), (*names, ranks))
                self.assertGreater(one["lu_bytes"], 0)
                self.assertEqual(len(one["turns"]), 2)
                for turn in one["turns"]:
                    self.assertTrue(turn["passed"])
                    self.assertGreater(turn["seconds"], turn["refine_seconds"])
                    self.assertEqual(turn["matrix"]["overflowed"], 0)
                    self.assertEqual(turn["factors"]["overflowed"], 0)
                    self.assertIsNotNone(turn["energy"])
                    self.assertIsNotNone(turn["monitor"])
                    self.assertEqual(turn["corrections"] == 0, one["level"] == "O3")
                    self.assertLess(turn["error"], 0.3 if one["level"] == "O3" else 1e-13)
                self.assertIn(one["error"], [turn["error"] for turn in one["turns"]])

    def test_the_worth_of_scaling(self):
        outcome = self.run_here("compare", "--levels", "--matrix", "large", "-N", "90", "--precision", "fp16",
                                "--repeat", "1", "--json", "a.json", "--progress")
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"(?m)^- O3 fp16: \d+ of A overflowed\n- O3 fp16: no x in round 1: no factors: ")
        self.assertIn("round 1 of 1: O3 fp16 no x: ", outcome.err)
        document = self.result()
        self.assertTrue(document["passed"])
        o1, o2, o3 = document["orders"][0]["solvers"][2:]
        for one in (o1, o2):
            self.assertLess(one["error"], 1e-13)
        self.assertFalse(o3["passed"])
        self.assertIsNone(o3["seconds"])
        self.assertIsNone(o3["error"])
        self.assertIsNone(o3["turns"][0]["factors"])
        self.assertGreater(o3["turns"][0]["matrix"]["overflowed"], 90 * 90 / 2)

    def test_refusals_of_levels(self):
        for words, complaint in (
                (("--solvers", "hpl"), "--solvers: not allowed with --levels"),
                (("--rhs", "3"), "--rhs: not allowed with --levels"),
                (("--pivot", "partial"), "--pivot,--pivoting: not allowed with --levels"),
                (("--matrix", "dominant"), "--matrix: with --levels a matrix that a user may have; allowed: gaussian"),
                (("--precision", "fp16,fp32"), "--precision: with --levels that of the 16 bits; allowed: fp16, bf16"),
                (("--levels=3",), "--levels=3: takes no value; allowed: --levels"),
                (("-N", "4000000"), "-N 4000000: no solver can run")):
            with self.subTest(words=words):
                outcome = self.run_here("compare", *([] if words[0] == "--levels=3" else ["--levels"]), *words)
                self.assert_status(outcome, 2)
                self.assertIn(complaint, outcome.err)

    ACCURACIES = ["solve backward", "solve forward", "dgesv", "dsgesv", "dgesvx", "dgesvxx"]

    def test_accuracy_against_time(self):
        for matrix, ranks in (("gaussian", 1), ("gaussian", 2), ("complex-shifted", 1)):
            with self.subTest(matrix=matrix, ranks=ranks):
                outcome = self.run_here("compare", "--accuracy", "--matrix", matrix, "-N", "190,1", "--repeat", "2",
                                        "--json", "a.json", "--progress", ranks=ranks)
                self.assert_status(outcome, 0)
                self.assertIn(f"accuracy against time, {matrix} in turns\n", outcome.out)
                self.assertNotIn("residual", outcome.out)
                document = self.result()
                self.assertTrue(document["passed"])
                self.check_accuracies(document, matrix == "gaussian")
                row = re.search(r"(?m)^solve forward +\w+ +\d+ +(\d) x 1 .*? +(\S+) +(\S+) +(\S+) +(\S+) +PASSED$",
                                outcome.out)
                self.assertEqual(row[1], str(ranks))
                self.assertLess(float(row[2]), 1.2e-16)
                self.assertGreater(float(row[4]), 15.9)

    def check_accuracies(self, document, real):
        for order in document["orders"]:
            names = [" ".join(filter(None, (one["solver"], one["accuracy"]))) for one in order["solvers"]]
            self.assertEqual(names, [name if real else name.replace("ds", "zc").replace("dg", "zg")
                                     for name in self.ACCURACIES])
            backward, forward, plain, mixed, expert, extended = order["solvers"]
            if extended["skipped"]:
                self.assertIn("XBLAS", extended["skipped"])
            for one in (backward, forward, plain, mixed, expert):
                for turn in one["turns"]:
                    self.assertTrue(turn["passed"])
                    self.assertLess(turn["error"], 1e-11)
                    self.assertGreater(turn["digits"], 11)
                    self.assertEqual(turn["bound"] is None, one in (plain, mixed))
                    if turn["bound"]:
                        self.assertLessEqual(turn["error"], turn["bound"])
            for turn in forward["turns"]:
                self.assertLess(turn["error"], 1.2e-16)

    def test_refusals_of_accuracy(self):
        for words, complaint in (
                (("--rhs", "3"), "--rhs: not allowed with --accuracy"),
                (("--levels",), "--accuracy and --levels are two comparisons; allowed: one of them"),
                (("--matrix", "dominant"), "--matrix: with --accuracy a matrix that a user may have; allowed: gaussian"),
                (("--precision", "fp16"), "--precision,--sloppy-type: not allowed with --matrix gaussian"),
                (("--solvers", "hpl"), "--solvers hpl: not allowed with --matrix gaussian"),
                (("--solvers", "dgesvxx"), "dgesvxx: it is not in this OpenBLAS"),
                (("--accuracy=forward",), "--accuracy=forward: takes no value; allowed: --accuracy")):
            with self.subTest(words=words):
                flag = [] if words[0].startswith("--accuracy") else ["--accuracy"]
                outcome = self.run_here("compare", *flag, "-N", "10", "--repeat", "1", *words)
                if words[1:] == ("dgesvxx",) and outcome.status == 0:
                    continue  # this OpenBLAS has it
                self.assert_status(outcome, 2)
                self.assertIn(complaint, outcome.err)

    def test_several_right_hand_sides(self):
        cases = [("gaussian", "3", {61: 3, 1: 3}, 1), ("kernel", "n", {61: 61, 1: 1}, 2),
                 ("toeplitz", "300", {61: 300, 1: 300}, 2), ("graded", "300", {61: 300, 1: 300}, 1)]
        for matrix, asked, counts, ranks in cases:
            with self.subTest(matrix=matrix, asked=asked, ranks=ranks):
                outcome = self.run_here("compare", "--matrix", matrix, "-N", "61,1", "--repeat", "1",
                                        "--rhs", asked, "--json", "a.json", ranks=ranks)
                self.assert_status(outcome, 0)
                self.assertEqual([row[5] for row in USERS_ROW.findall(outcome.out)], ["PASSED"] * 8)
                self.assertIn(f"RHS        : {asked.upper()}\n", outcome.out)
                self.assertIn(f"N = 61, {counts[61]} right-hand sides\n", outcome.out)
                orders = self.result()["orders"]
                self.assertEqual({order["n"]: order["right_hand_sides"] for order in orders}, counts)
                for order in orders:
                    self.check_rates(order)

    def check_rates(self, order):
        n, rhs = order["n"], order["right_hand_sides"]
        for one in order["solvers"]:
            self.assertLess(one["scaled_residual"], 16)
            self.assertAlmostEqual(one["gflops"]["best"] * one["seconds"] * 1e9,
                                   2 / 3 * n**3 + (2 * rhs - 0.5) * n**2, delta=1e-6 * n**3 * rhs)
        solve = order["solvers"][0]
        self.assertAlmostEqual(solve["check_share"],
                               solve["turns"][0]["check_seconds"] / solve["seconds"])

    def test_dgesvx_with_a_benchmarks_matrix(self):
        outcome = self.run_here("compare", "-N", "50", "--solvers", "dgesvx", "--repeat", "1")
        self.assert_status(outcome, 0)
        self.assertEqual(rows(outcome.out), [("dgesvx", "fp64", "", "1 x 1", "PASSED")])

    def test_refusals(self):
        cases = [(("--solvers", "mxp,cramer"), ["--solvers", "cramer", "solve, hpl, dgesv, dsgesv, dgesvx"]),
                 (("--solvers", ""), ["--solvers", "''"]),
                 (("--precision", "auto"), ["--precision", "auto", "fp16, bf16, fp16x3, fp32"]),
                 (("--precision", "fp64"), ["--precision", "fp64"]),
                 (("-N", "0"), ["--n", "'0'"]),
                 (("-N", "8,x"), ["--n", "8,x"]),
                 (("-N", "20,100000000"), ["-N 100000000", "does not fit"]),
                 (("--nb", "8,16"), ["--nb", "8,16"]),
                 (("--repeat", "0"), ["--repeat", "'0'"]),
                 (("--hpl-nb", "0"), ["--hpl-nb", "'0'"]),
                 (("--matrix", "kernel", "--rhs", "0"), ["--rhs", "'0'", "from 1 to", "or n"]),
                 (("--matrix", "kernel", "--rhs", "-1"), ["--rhs", "'-1'"]),
                 (("--matrix", "kernel", "--rhs", "all"), ["--rhs", "'all'"]),
                 (("--matrix", "kernel", "--rhs", "2,3"), ["--rhs", "'2,3'"]),
                 (("--matrix", "kernel", "--rhs", "1.5"), ["--rhs", "'1.5'"]),
                 (("--matrix", "kernel", "--rhs", ""), ["--rhs", "''"]),
                 (("--matrix", "kernel", "--rhs", "2147483648"), ["--rhs", "to 2147483647"]),
                 (("--matrix", "kernel", "-N", "5000", "--rhs", "2147483647"), ["-N 5000", "b and x", "GiB"]),
                 (("--rhs", "2", "-N", "9"), ["--rhs", "--matrix " + ", ".join(GALLERY)]),
                 (("--rhs", "n", "--matrix", "dominant"), ["--rhs", "--matrix gaussian"]),
                 (("--plot", "a.svg"), ["unknown option", "--plot"]),
                 (("--matrix", "hpl"), ["--matrix hpl", "--pivot partial"]),
                 (("--matrix", "hilbert"), ["--matrix", "hilbert", "scaled-diagonal", ", ".join(GALLERY)]),
                 (("--matrix", ""), ["--matrix", "''"]),
                 (("--matrix", "gaussian", "--solvers", "solve,mxp"),
                  ["--solvers mxp", "--matrix gaussian", "solve, dgesv, dsgesv, dgesvx"]),
                 (("-N", "9", "--solvers", "hpl", "--matrix", "graded"), ["--solvers hpl", "--matrix graded"]),
                 (("-N", "9", "--matrix", "kernel", "--precision", "fp32"), ["--precision", "--matrix kernel"]),
                 (("-N", "9", "--matrix", "kernel", "--pivot", "partial"), ["--pivot", "--matrix kernel"]),
                 (("-N", "9", "--matrix", "kernel", "--hpl-nb", "8"), ["--hpl-nb", "--matrix kernel"]),
                 (("-N", "9", "--matrix", "kernel", "--profile", "/nowhere/p"), ["--profile", "/nowhere/p"]),
                 (("--matrix", "kernel", "--kappa", "8"), ["--kappa", "--matrix fasi-higham"]),
                 (("--matrix", "kernel", "-N", "100000000"), ["-N 100000000", "does not fit"]),
                 (("--matrix", "toeplitz", "-N", "9000000000000000000"), ["-N 9000000000000000000"]),
                 (("--matrix", "kernel", "-P", "2"), ["-P 2", "1 ranks"]),
                 (("-P", "2", "-Q", "1"), ["-P 2", "1 run"]),
                 (("--hpl-n", "3"), ["unknown option", "--hpl-n"]),
                 (("--json", "no/folder/a"), ["--json", "no/folder/a", "No such file"]),
                 (("--time-target", "3"), ["unknown option", "--time-target"]),
                 (("--memory-fraction", "0.5"), ["unknown option", "--memory-fraction"]),
                 (("--device", "abacus"), ["--device", "abacus"])]

        def refused(words):
            return self.run_here("compare", *words)

        with concurrent.futures.ThreadPoolExecutor(4) as several:
            outcomes = several.map(refused, [words for words, _ in cases])
        for (words, needles), outcome in zip(cases, outcomes):
            with self.subTest(words=words):
                self.assert_refused(outcome, *needles)


if __name__ == "__main__":
    unittest.main(verbosity=2)
