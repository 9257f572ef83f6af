#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell solve --accuracy`.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import re
import unittest

from test_cli import run
from test_solve import Folder, N, hilbert, market_array, matrix, numpy_bytes, product, solution


class Accuracy(Folder):
    def test_report_and_json(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        b = self.put("b.mtx", market_array(product(matrix(N), solution(N, 2))))
        for ranks in 1, 4:
            outcome = run("solve", a, b, "--accuracy", "forward", "--json", self.at("a.json"),
                          ranks=ranks)
            self.assert_status(outcome, 0)
            self.assertRegex(outcome.out, re.compile(r"ACCURACY +: forward: x to its last digit", re.M))
            self.assertRegex(outcome.out, re.compile(
                r"^x +: 15\.[789] digits in norm, 15\.[789] in the worst component$", re.M))
            document = self.load("a.json")
            self.assertEqual((document["accuracy"], document["asked"]["accuracy"]),
                             ("forward", "forward"))
            for column in document["columns"]:
                self.assertIs(column["accurate"], True)
                self.assertLessEqual(column["forward_bound"], 4 * 2**-53)
                self.assertLessEqual(column["componentwise_bound"], 4 * 2**-53)
        outcome = run("solve", a, b, "--json", self.at("a.json"))
        self.assertNotRegex(outcome.out, re.compile("digits in norm", re.M))
        document = self.load("a.json")
        self.assertEqual(document["accuracy"], "backward")
        self.assertIs(document["columns"][0]["accurate"], False)
        self.assertIsNone(document["columns"][0]["componentwise_bound"])

    def test_auto_of_a_small_system(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        outcome = run("solve", a, "--accuracy", "auto", "--json", self.at("a.json"))
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, re.compile(r"^ACCURACY +: backward$", re.M))
        document = self.load("a.json")
        self.assertEqual((document["accuracy"], document["accuracy_reason"], document["asked"]["accuracy"]),
                         ("backward", None, "auto"))

    def test_not_certain(self):
        a = self.put("A.npy", numpy_bytes(hilbert(11)))
        b = self.put("b.npy", numpy_bytes([[1.0]] * 11))
        outcome = run("solve", a, b, "--accuracy", "forward", "--json", self.at("a.json"))
        self.assertRegex(outcome.out, re.compile(
            r"^x +: \d+\.\d digits in norm; not certain to the last one$", re.M))
        column = self.load("a.json")["columns"][0]
        self.assertIs(column["accurate"], False)
        self.assertGreater(column["forward_bound"], 4 * 2**-53)

    def test_certified(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        b = self.put("b.mtx", market_array(product(matrix(N), solution(N, 2))))
        outcome = run("solve", a, b, "--accuracy", "certified", "--json", self.at("a.json"))
        self.assert_status(outcome, 0)
        for line in (
            r"^ACCURACY +: certified: x to its last digit, .*; a proof of "
            + re.escape(f"{4 * N**3:.2g}"),
            r"^x +: 15\.[789] digits in norm, 15\.[789] in the worst component, proven$",
            r"^PROOF +: \|\|I - R A\|\| <= \d\.\d\de-\d\d, R by fp32 factors, products in fp32; "
            r"\d+\.\d+ s of the checks$",
        ):
            self.assertRegex(outcome.out, re.compile(line, re.M))
        document = self.load("a.json")
        self.assertEqual(document["accuracy"], "certified")
        self.assertLess(document["proof"]["norm"], 1e-3)
        self.assertEqual(document["proof"]["operations"], 4 * N**3)
        self.assertIsNone(document["proof"]["why_none"])
        for column in document["columns"]:
            self.assertIs(column["certified"], True)
            self.assertLessEqual(column["forward_bound"], 4 * 2**-53)

    def test_no_proof(self):
        a = self.put("A.npy", numpy_bytes(hilbert(14)))
        b = self.put("b.npy", numpy_bytes([[1.0]] * 14))
        arguments = "solve", a, b, "--accuracy", "certified", "--json", self.at("a.json")
        outcome = run(*arguments)
        self.assert_status(outcome, 0)
        words = "no proof of the error of x: ||I - R A|| could not be shown to be below 1: "
        self.assertIn("WARNING: " + words, outcome.out)
        document = self.load("a.json")
        self.assertTrue(document["doubt"].startswith(words))
        self.assertIs(document["columns"][0]["certified"], False)
        self.assertIsNone(document["columns"][0]["forward_bound"])
        self.assert_status(run(*arguments, "--strict"), 1)

    def test_ranks(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        self.assert_status(
            run("solve", a, "--accuracy", "certified", "--json", self.at("a.json"), ranks=2), 0)
        document = self.load("a.json")
        self.assertEqual(document["proof"]["operations"], 6 * N**3)
        self.assertIsNone(document["proof"]["expected_seconds"])  # N is too small to measure rates
        self.assertIs(document["columns"][0]["certified"], True)
        self.assertLessEqual(document["columns"][0]["forward_bound"], 4 * 2**-53)


if __name__ == "__main__":
    unittest.main()
