#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests runs in which one rank stops: the others say for which rank they wait, and all are ended; and
runs that cannot start.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py. SPEEDWELL_STOP_RANK: a library to preload, which
stops one rank in the middle of its work.
"""

import concurrent.futures
import os
import signal
import tempfile
import unittest

from processes import all_end
from test_cli import COMMAND, SMALL, Case, run, run_apart, shell
from test_solve import matrix, numpy_bytes, write

STOPPER = os.environ["SPEEDWELL_STOP_RANK"]
# Long enough that a slow rank on a busy machine is not taken for a stopped one.
TIMEOUT = ("--stall-timeout", "5")
# Seconds after which a run, and the launcher behind it, have hung.
PATIENCE = 90


class Start(Case):
    def test_ranks_with_different_commands(self):
        for other in (["mxp", "--help"], ["--version"], ["hpl", "-N", "96"]):
            with self.subTest(other):
                done = run_apart([COMMAND, "mxp", "-N", "96"], [COMMAND, *other], patience=120)
                self.assert_refused(done, "rank 1", "command", "mxp")

    def test_one_rank_with_an_unknown_option(self):
        for ranks, named in (1, "rank 1: "), (2, "rank 1 and 1 more: "):
            done = run_apart([COMMAND, *SMALL], *[[COMMAND, *SMALL, "--none"]] * ranks, patience=120)
            self.assert_refused(done, named + "unknown option '--none'")

    def test_one_rank_with_an_unknown_instruction_set(self):
        wrong = ["env", "SPEEDWELL_MAX_CPU_ISA=sse9"]
        for before, named in ([], "rank 1: "), (wrong, "speedwell: "):
            done = run_apart([*before, COMMAND, *SMALL], [*wrong, COMMAND, *SMALL], patience=120)
            self.assert_refused(done, named + "SPEEDWELL_MAX_CPU_ISA 'sse9'")

    @unittest.skipIf("TSAN_OPTIONS" in os.environ, "the sanitizer takes terabytes of addresses")
    def test_no_memory_for_the_libraries(self):
        outcome = shell("ulimit -v 150000; exec timeout 60 $speedwell --version")
        self.assert_refused(outcome, "ulimit -v")


class Stopped(Case):
    def assert_status(self, outcome):
        """Open MPI 4.1's mpiexec may crash or hang in PMIx_server_finalize, but all its processes have
        ended then, and it has printed their status."""
        words = outcome.out + outcome.err
        crashed = outcome.status == -signal.SIGSEGV and "PMIx_server_finalize" in words
        if crashed or outcome.status in (124, -signal.SIGKILL):
            self.assertRegex(words, r"exited with non-zero status, thus causing\nthe job to be "
                                    r"terminated[^-]*Exit code: +3\n")
        elif "BAD TERMINATION OF ONE OF YOUR" in words:
            # MPICH's mpiexec may report the rank that it killed.
            self.assertIn(outcome.status, (3, signal.SIGKILL), words)
        else:
            self.assertEqual(outcome.status, 3, words)

    def assert_ends(self, outcome, rank):
        self.assert_status(outcome)
        lines = [line for line in outcome.complaints if " has waited " in line]
        for line in lines:
            self.assertRegex(line, r"rank \d+ on \S+ has waited [\d.]+ s for rank \d+ on \S+")
            self.assertNotRegex(line, rf"speedwell: rank {rank} ")
        # The launcher may have ended the stopped rank before later ranks write their lines.
        named = [line for line in lines if f"; rank {rank} on " in line]
        self.assertTrue(named, outcome.err)
        self.assertRegex(named[0], rf"; rank {rank} on \S+ is stopped \(process \d+\)")
        # The line names the step or the activity of the rank.
        self.assertRegex(named[0], r"\((wait for|share|compare|agree|solve|residual|MPI_).*\)")
        process = int(named[0].rpartition("process ")[2].split(")")[0])
        self.assertTrue(all_end([process]), f"process {process} is still there")

    def assert_end_in_all_gather(self, calls, *words):
        """A rank stops in each of these calls of MPI_Allgather, and every run is ended."""
        def stopped(call):
            return run(*words, *TIMEOUT, ranks=2, patience=PATIENCE,
                       environment={"LD_PRELOAD": STOPPER, "SPEEDWELL_STOP": f"1:{-1 - call}"})

        with concurrent.futures.ThreadPoolExecutor() as pool:
            for call, outcome in zip(calls, pool.map(stopped, calls)):
                with self.subTest(call):
                    self.assert_status(outcome)
                    self.assertRegex(outcome.err, r"speedwell: (rank|process) \d+ on \S+ has waited .* is "
                                                  r"stopped")

    def outcomes(self, *runs):
        """The outcomes of runs, each on so many ranks, of which one stops. They run side by side,
        since they only wait for most of their time."""
        def stopped(ranks, rank, *words):
            environment = {"LD_PRELOAD": STOPPER, "SPEEDWELL_STOP": f"{rank}:12"}
            outcome = run(*words, *TIMEOUT, ranks=ranks, patience=PATIENCE,
                          environment=environment)
            self.assert_ends(outcome, rank)
            return outcome

        with concurrent.futures.ThreadPoolExecutor() as pool:
            return list(pool.map(lambda words: stopped(*words), runs))

    def test_mxp(self):
        words = ("mxp", "-N", "600", "--nb", "64")
        for outcome in self.outcomes((2, 1, *words), (2, 0, *words), (4, 3, *words)):
            self.assertRegex(outcome.err, "step [0-9]+")

    def test_where_the_ranks_meet_and_part(self):
        for call, words in (0, r"to start \(MPI_Init\)"), (-1, r"to end \(MPI_Finalize\)"):
            with self.subTest(words):
                environment = {"LD_PRELOAD": STOPPER, "SPEEDWELL_STOP": f"1:{call}"}
                outcome = run("mxp", "-N", "64", *TIMEOUT, ranks=3, environment=environment,
                              patience=PATIENCE)
                self.assert_status(outcome)
                self.assertRegex(outcome.err, r"speedwell: process \d+ on \S+ has waited [\d.]+ s for "
                                              rf"other ranks {words}; process \d+ is stopped")

    def test_between_the_start_and_the_run(self):
        """The first calls of MPI_Allgather: the ranks learn their hosts, agree on the command, compare
        its options, and meet in the run."""
        self.assert_end_in_all_gather(range(1, 6), "mxp", "-N", "64")

    def test_between_the_files_and_the_solution(self):
        """The ranks open files, where waits are paused, compare their calls, and meet in the solution."""
        with tempfile.TemporaryDirectory() as folder:
            a = write(os.path.join(folder, "A.npy"), numpy_bytes(matrix(100)))
            self.assert_end_in_all_gather(range(6, 12), "solve", a, "--nb", "32")

    def test_hpl(self):
        words = ("hpl", "-N", "500", "--nb", "64", "-P")
        self.outcomes((2, 1, *words, "1"), (2, 1, *words, "2"), (4, 2, *words, "2"))

    def test_bench_and_tune(self):
        self.outcomes((2, 1, "bench", "-N", "400", "--nb", "64"),
                      (2, 1, "tune", "-N", "2000", "--budget", "30"))

    def test_solve(self):
        with tempfile.TemporaryDirectory() as folder:
            a = write(os.path.join(folder, "A.npy"), numpy_bytes(matrix(400)))
            self.outcomes((2, 1, "solve", a, "--nb", "32"), (4, 1, "solve", a, "--nb", "32"))

    def test_without_a_limit_it_is_waited_for(self):
        environment = {"LD_PRELOAD": STOPPER, "SPEEDWELL_STOP": "1:12"}
        outcome = run("mxp", "-N", "600", "--nb", "64", "--stall-timeout", "0", ranks=2, patience=15,
                      environment=environment)
        self.assertIn(outcome.status, (124, -signal.SIGKILL), outcome.err)
        self.assertNotIn("has waited", outcome.err)


class Patience(Case):
    """Waits that may take long and are no stall."""

    def test_ranks_that_are_in_no_grid_wait_as_long_as_it_takes(self):
        # The rank in the grid waits for no other rank; the other ranks wait longer than this limit.
        outcome = run("mxp", "-N", "1500", "-P", "1", "-Q", "1", "--stall-timeout", "0.001", ranks=3)
        self.assert_status(outcome, 0)
        self.assertIn("ranks that are not in a grid wait", outcome.out)


class Option(Case):
    def test_what_is_not_allowed(self):
        for command in (("mxp",), ("hpl",), ("bench",), ("compare",), ("tune",), ("solve", "A.npy")):
            for value in ("-1", "x", "", "inf", "nan", "1s", "1e999"):
                outcome = run(*command, f"--stall-timeout={value}")
                self.assert_refused(outcome, "--stall-timeout", "at least 0")

    def test_ranks_agree_on_it(self):
        outcome = run("mxp", "-N", "200", "--stall-timeout", "7.5", ranks=2)
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"STALLS +: ended after 7.5 s of waiting")
        self.assertRegex(run("mxp", "-N", "200").out, r"STALLS +: ended after 300 s of waiting")
        self.assertRegex(run("mxp", "-N", "200", "--stall-timeout", "0").out,
                         r"STALLS +: waited for without end")


if __name__ == "__main__":
    unittest.main(verbosity=1)
