#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `lupine solve --accuracy`.

LUPINE_COMMAND and LUPINE_MPIEXEC as in test_cli.py.
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

    def test_not_certain(self):
        a = self.put("A.npy", numpy_bytes(hilbert(11)))
        b = self.put("b.npy", numpy_bytes([[1.0]] * 11))
        outcome = run("solve", a, b, "--accuracy", "forward", "--json", self.at("a.json"))
        self.assertRegex(outcome.out, re.compile(
            r"^x +: \d+\.\d digits in norm; not certain to the last one$", re.M))
        column = self.load("a.json")["columns"][0]
        self.assertIs(column["accurate"], False)
        self.assertGreater(column["forward_bound"], 4 * 2**-53)


if __name__ == "__main__":
    unittest.main()
