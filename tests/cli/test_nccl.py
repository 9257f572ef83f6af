#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests an NCCL that is missing, differs between ranks, fails, or hangs. All of it is emulated.

SPEEDWELL_COMMAND: the command with emulated GPUs. SPEEDWELL_MPIEXEC: launcher with its options.
"""

import concurrent.futures
import unittest

from test_cli import COMMAND, Case, run, run_apart
from test_gpus import SMALL, gpus


def run_in_each(*words, each, seconds=100):
    """Runs a rank with each of these environments, as if the ranks were on different nodes."""
    lines = [["env", *(f"{name}={value}" for name, value in more.items()), COMMAND, *words]
             for more in each]
    return run_apart(*lines, environment=gpus(len(each)), patience=seconds)


def nccl(what):
    return {"SPEEDWELL_EMULATED_NCCL": what}


class Nccl(Case):
    """An NCCL that is missing, differs between ranks, fails, or hangs."""
    MISSING = "NCCL cannot be loaded: libnccl.so.2: "

    def assert_comm(self, outcome, method, reason):
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, rf"COMM +: {method} +chosen: {reason}")

    def test_the_reason_why_it_is_not_used(self):
        for what, reason in (("none", self.MISSING), ("lacks:ncclSend", "NCCL lacks ncclSend"),
                             ("version:2604", "NCCL 2.6.4 is too old, 2.7.0 is needed")):
            environment = gpus(2, **nccl(what))
            self.assert_comm(run(*SMALL, ranks=2, environment=environment), "staged", reason)
            outcome = run(*SMALL, "--comm", "nccl", ranks=2, environment=environment)
            self.assert_refused(outcome, f"--comm nccl is not allowed: {reason}", "staged")

    def test_one_rank_without_it(self):
        for each, reason in (
                (({}, nccl("none"), {}), rf"rank 1 on \S+: {self.MISSING}"),
                ((nccl("lacks:ncclRecv"), {}), r"rank 0 on \S+: NCCL lacks ncclRecv"),
                (({}, nccl("version:22005")),
                 r"rank 0 on \S+ has NCCL 2.28.9, rank 1 on \S+ has NCCL 2.20.5")):
            self.assert_comm(run_in_each(*SMALL, each=each), "staged", reason)
            outcome = run_in_each(*SMALL, "--comm", "nccl", each=each)
            self.assert_refused(outcome, "--comm nccl")
            self.assertRegex(outcome.complaints[0], reason)

    def test_a_version_that_is_not_told(self):
        environment = gpus(2, SPEEDWELL_EMULATED_FAILURE="ncclGetVersion:1:2")
        self.assert_comm(run(*SMALL, ranks=2, environment=environment), "staged",
                         "NCCL does not tell its version: unhandled")

    def test_a_failing_call_is_named(self):
        # Only this call fails: the calls that clean up succeed.
        for command, call in (("mxp", "ncclGetUniqueId:1"), ("mxp", "ncclCommInitRank:1"),
                              ("mxp", "ncclBroadcast:3"), ("mxp", "ncclCommGetAsyncError:5"),
                              ("hpl", "ncclGroupStart:2"), ("hpl", "ncclSend:2"),
                              ("hpl", "ncclRecv:2"), ("hpl", "ncclGroupEnd:2")):
            environment = gpus(2, SPEEDWELL_EMULATED_FAILURE=call + ":2")
            grid = ("-P", "2") if command == "hpl" else ("-P", "1")
            outcome = run(command, "-N", "300", "--nb", "64", *grid, "--stall-timeout", "0",
                          ranks=2, environment=environment)
            self.assert_status(outcome, 3)
            name = call.split(":")[0]
            self.assertRegex(outcome.complaints[0], rf"rank \d on \S+: {name} failed on GPU \d: ")

    def test_failures_in_cleaning_up_change_nothing(self):
        environment = gpus(2, SPEEDWELL_EMULATED_FAILURE="ncclCommDestroy:1:2")
        self.assert_status(run(*SMALL, ranks=2, environment=environment), 0)

    def test_a_peer_that_hangs(self):
        def hang(call, **how):
            each = ({}, dict(nccl(f"hang:{call}"), SPEEDWELL_EMULATION_SEED=str(call), **how))
            outcome = run_in_each("mxp", "-N", "300", "--nb", "64", "--stall-timeout", "5", each=each)
            self.assert_status(outcome, 3)
            self.assertTrue(outcome.complaints, outcome.err)
            for line in outcome.complaints:
                self.assertRegex(line, r"rank \d on \S+ has waited [\d.]+ s for (rank|the GPU)")

        # They run side by side, since they only wait for most of their time.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = [pool.submit(hang, call, **how) for call in (2, 9, 20)
                    for how in ({}, {"SPEEDWELL_EMULATED_FAILURE": "ncclCommAbort:1:2"})]
        for done in runs:
            done.result()

    def test_an_asynchronous_error_ends_the_run_at_once(self):
        for call in (2, 5, 9, 20):
            each = ({}, dict(nccl(f"error:{call}"), SPEEDWELL_EMULATION_SEED=str(call)))
            outcome = run_in_each("mxp", "-N", "300", "--nb", "64", "--stall-timeout", "0", each=each)
            self.assert_status(outcome, 3)
            self.assertRegex(outcome.complaints[0], r"rank 1 on \S+: an earlier call of NCCL failed "
                             r"on GPU 1: remote process exited")


if __name__ == "__main__":
    unittest.main(verbosity=1)
