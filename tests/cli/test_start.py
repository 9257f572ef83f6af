#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how the command starts: without a launcher no daemon of Open MPI, info at once, and one line and
status 3 where MPI cannot start.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import socket
import subprocess
import unittest

from test_cli import COMMAND, ENVIRONMENT, MPIEXEC, PREDICTS, SMALL, Case, run, run_apart, shell

IS_MPICH = "mpich" in MPIEXEC[0]
BROKEN = {"OMPI_MCA_pml": "nothing"}


@unittest.skipIf(IS_MPICH, "the variables are Open MPI's")
class WithoutMpi(Case):
    def test_a_failure_is_no_outlier(self):
        """Status 1 of check means that a place is out of line."""
        calibrates = [("predict", "--calibrate", "m.json")] if PREDICTS else []
        for words in (SMALL, ("hpl", "-N", "96"), ("check", "--seconds", "1"), ("compare", "-N", "64"),
                      ("tune", "--budget", "1", "--profile", "none"), ("solve", "A.mtx"), *calibrates):
            with self.subTest(words):
                outcome = run(*words, environment=BROKEN)
                self.assert_refused(outcome, "MPI_Init has failed on", status=3)
                self.assertIn("pml", outcome.err)

    def test_every_rank_that_cannot_start_says_so(self):
        outcome = run_apart(*[["env", "OMPI_MCA_pml=nothing", COMMAND, *SMALL]] * 2, patience=120)
        self.assertNotEqual(outcome.status, 0)
        self.assertIn("MPI_Init has failed on", outcome.err)

    def test_without_any_variable(self):
        """As the prolog of a batch system starts it: Open MPI's daemon would not start here."""
        outcome = shell("exec env -i OMP_NUM_THREADS=1 $speedwell mxp -N 96 --profile none")
        self.assert_status(outcome, 0)

    def test_it_makes_no_folder(self):
        """Processes alone would have one together, which the first that ends takes from the others."""
        self.assert_status(run(*SMALL, environment={"TMPDIR": "/proc"}), 0)

    def test_what_the_user_has_set_stays(self):
        if "Open MPI v4" not in run("info").out:
            self.skipTest("a later Open MPI has no daemon for a process alone")
        outcome = shell("exec env -i OMPI_MCA_ess_singleton_isolated=0 $speedwell mxp -N 96 --profile none")
        self.assert_refused(outcome, "MPI_Init has failed on", status=3)


class Info(Case):
    def test_each_line_is_written_at_once(self):
        """A socket of packets keeps the writes apart."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with here, there, subprocess.Popen([COMMAND, "info"], stdout=there, env=ENVIRONMENT) as process:
            there.close()
            writes = list(iter(lambda: here.recv(1 << 16).decode(), ""))
        self.assertEqual(process.returncode, 0)
        self.assertTrue(writes[0].startswith("Speedwell "))
        self.assertGreater(len(writes), 12)
        for text in writes:
            self.assertEqual(text.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
