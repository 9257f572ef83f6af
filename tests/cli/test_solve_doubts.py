#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what `speedwell solve` says and does where an x may have no correct digit, with and without
--strict, and the seed by which it judges.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import os
import unittest

from test_cli import run
from test_solve import Folder, N, hilbert, matrix, numpy_bytes


class Doubts(Folder):
    """x is solved, but may have no correct digit."""

    # The triangular one has pivots of 1 and no growth; only its inverse is large.
    MATRICES = (hilbert(13), [[float(i == j) - float(j > i) for j in range(60)] for i in range(60)])

    def solve(self, a, *words, ranks=0, status=0):
        self.x = self.at("x.npy")
        if os.path.exists(self.x):
            os.remove(self.x)
        outcome = run("solve", self.put("A.npy", numpy_bytes(a)),
                      self.put("b.npy", numpy_bytes([[1.0, 2.0]] * len(a))), "-o", self.x,
                      "--json", self.at("a.json"), *words, ranks=ranks)
        self.assert_status(outcome, status)
        return outcome, self.load("a.json")

    def test_they_are_told(self):
        for a in self.MATRICES:
            for ranks in 0, 2:
                with self.subTest(n=len(a), ranks=ranks):
                    outcome, document = self.solve(a, ranks=ranks)
                    doubt = document["doubt"]
                    self.assertTrue(doubt)
                    self.assertIn(f"\nWARNING: {doubt}\n", outcome.out)
                    self.assertEqual(outcome.err.count(f"speedwell: warning: {doubt}\n"), 1)
                    self.assertEqual(outcome.complaints, [])
                    self.assertEqual(outcome.out.splitlines()[-1],
                                     f"solved, with a doubt; x is in '{self.x}'")
                    self.assertEqual((document["solved"], document["x"]), (True, self.x))
                    self.assertTrue(os.path.exists(self.x))

    def test_they_are_failures_if_strict(self):
        for a in self.MATRICES:
            for ranks in 0, 2:
                with self.subTest(n=len(a), ranks=ranks):
                    outcome, document = self.solve(a, "--strict", ranks=ranks, status=1)
                    doubt = document["doubt"]
                    self.assertTrue(doubt)
                    self.assert_refused(outcome, doubt, status=1)
                    self.assertIn(f"\nWARNING: {doubt}\n", outcome.out)
                    self.assertRegex(outcome.out, "(?m)^STRICT +: on")
                    self.assertEqual(outcome.out.splitlines()[-1],
                                     f"NOT solved, x is not written: {document['failure']}")
                    self.assertEqual((document["solved"], document["x"]), (False, None))
                    self.assertEqual([c["converged"] for c in document["columns"]], [True] * 2)
                    self.assertFalse(os.path.exists(self.x))

    def test_without_a_doubt(self):
        for words in (), ("--strict",):
            outcome, document = self.solve(matrix(N), *words)
            self.assertIsNone(document["doubt"])
            self.assertEqual(document["asked"]["strict"], bool(words))
            self.assertNotIn("WARNING", outcome.out)
            self.assertEqual(outcome.complaints, [])
            self.assertEqual(outcome.out.splitlines()[-1], f"solved; x is in '{self.x}'")
            for step in document["steps"]:
                self.assertIs(step["rotated"], False)
                self.assertTrue(step["growth"] is None or step["growth"] > 0)


class Seeds(Folder):
    """The seed of the random vectors that judge A and x."""

    def test_of_a_process(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        drawn = set()
        for given in "12", None, None:
            outcome = run("solve", a, "--json", self.at("a.json"), ranks=2,
                          environment={"SPEEDWELL_PROBE_SEED": given})
            self.assert_status(outcome, 0)
            document = self.load("a.json")
            seed = document["probe_seed"]
            drawn.add(seed)
            self.assertIsNone(document["asked"]["probe_seed"])
            self.assertTrue(seed == 12 if given else 0 < seed < 2**53)
            self.assertRegex(outcome.out,
                             rf"(?m)^SEED +: {seed} of random vectors: --probe-seed$")
        self.assertEqual(len(drawn), 3)

    def test_refusals(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        for given in "0", "x", "1.5", "":
            self.assert_refused(run("solve", a, environment={"SPEEDWELL_PROBE_SEED": given}),
                                "SPEEDWELL_PROBE_SEED", "allowed: a whole number from 1")
        for given in "0", "-1", "x":
            self.assert_refused(run("solve", a, "--probe-seed", given), "--probe-seed", given,
                                "a whole number from 1")


if __name__ == "__main__":
    unittest.main()
