#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that another library's BLAS is called where --blas or SPEEDWELL_BLAS names one, and that a library
that cannot serve is refused.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py. SPEEDWELL_BLIS: Debian's BLIS, which has CBLAS and no
LAPACK; SPEEDWELL_LONG_BLAS: a library with integers of 64 bits; SPEEDWELL_DEFAULT_BLAS: a program of a build
with -DSPEEDWELL_BLAS, which says what it calls; SPEEDWELL_SLOW_KERNELS as in test_cli.py.
"""

import json
import os
import subprocess
import unittest

from test_cli import needs_predictions, run
from test_predict import Folder
from test_solve import matrix, numpy_bytes, write

BLIS = os.environ["SPEEDWELL_BLIS"]
LONG_BLAS = os.environ["SPEEDWELL_LONG_BLAS"]
DEFAULT_BLAS = os.environ["SPEEDWELL_DEFAULT_BLAS"]
SLOW_KERNELS = os.environ["SPEEDWELL_SLOW_KERNELS"]
SMALL = ("-N", "300", "--nb", "64", "--device", "cpu")


class Other(Folder):
    def test_info_names_it(self):
        outcome = run("info", environment={"SPEEDWELL_BLAS": BLIS})
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, rf"(?m)^BLAS +BLIS [\d.]+ \({BLIS}\)$")

    def test_benchmarks_pass_with_it(self):
        for command, ranks in (("mxp", 1), ("mxp", 2), ("hpl", 2), ("bench", 1)):
            with self.subTest(command=command, ranks=ranks):
                outcome = run(command, *SMALL, "--blas", BLIS, ranks=ranks)
                self.assert_status(outcome, 0)
                self.assertIn(" PASSED\n", outcome.out)
                self.assertNotIn("OpenBLAS", outcome.out)
                self.assertRegex(outcome.out, rf"(?m)^DEVICE +: cpu: .* BLIS [\d.]+ \({BLIS}\)")
                self.assertIn(f" --blas {BLIS}", outcome.out.splitlines()[-1])

    def test_nothing_is_said_of_kernels_that_are_not_used(self):
        slow = {"LD_PRELOAD": SLOW_KERNELS, "OPENBLAS_CORETYPE": None}
        outcome = run("mxp", *SMALL, "--blas", BLIS, environment=slow)
        self.assert_status(outcome, 0)
        self.assertNotIn("OpenBLAS", outcome.out)

    def test_the_option_stands_above_the_variable(self):
        outcome = run("mxp", *SMALL, "--blas", BLIS, environment={"SPEEDWELL_BLAS": "/none"})
        self.assert_status(outcome, 0)

    def test_a_build_names_one(self):
        def said(**variables):
            return subprocess.run([DEFAULT_BLAS], env=dict(os.environ, **variables), text=True,
                                  capture_output=True, check=True).stdout
        self.assertRegex(said(), rf"^BLIS [\d.]+ \({BLIS}\)$")
        self.assertRegex(said(SPEEDWELL_BLAS="openblas"), r"^OpenBLAS [\d.]+, ")

    def test_the_linked_one_by_its_name(self):
        outcome = run("info", environment={"SPEEDWELL_BLAS": "openblas"})
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"(?m)^BLAS +OpenBLAS [\d.]+, ")

    def test_the_same_run_again_names_it(self):
        outcome = run("hpl", *SMALL, "--blas", BLIS)
        self.assert_status(outcome, 0)
        self.assertTrue(outcome.out.endswith(f" --blas {BLIS}\n"))

    def test_systems_are_solved_and_compared(self):
        a = write(self.at("A.npy"), numpy_bytes(matrix(200)))
        outcome = run("solve", a, "--blas", BLIS, "--device", "cpu")
        self.assert_status(outcome, 0)
        self.assertIn("BLIS", outcome.out)
        report = self.at("report.json")
        for kind in "gaussian", "complex-gaussian":
            outcome = run("compare", "-N", "200", "--matrix", kind, "--repeat", "1", "--blas", BLIS,
                          "--json", report, "--device", "cpu", patience=120)
            self.assert_status(outcome, 0)
            with open(report, encoding="utf-8") as file:
                self.assertIn("BLIS", json.load(file)["blas"])


class Refused(Folder):
    def refused(self, path, *said):
        for words, environment in ((("--blas", path), {}), ((), {"SPEEDWELL_BLAS": path})):
            outcome = run("mxp", *SMALL, *words, environment=environment)
            self.assert_refused(outcome, path, *said, "allowed: a library with CBLAS")

    def test_no_library(self):
        self.refused(self.at("none.so"), "cannot be loaded")
        self.refused(write(self.at("text.so"), b"no library\n"), "cannot be loaded")

    def test_a_library_without_blas(self):
        self.refused("libm.so.6", "has no cblas_sgemm")

    def test_integers_of_64_bits(self):
        self.refused(LONG_BLAS, "has integers of 64 bits")

    def test_one_rank_alone_refuses_for_all(self):
        outcome = run("mxp", *SMALL, "--blas", "libm.so.6", ranks=2)
        self.assert_refused(outcome, "has no cblas_sgemm")

    @needs_predictions
    def test_predictions_call_none(self):
        self.assert_refused(run("predict", "mxp", "--machine", "h200", "--blas", BLIS), "--blas")


if __name__ == "__main__":
    unittest.main()
