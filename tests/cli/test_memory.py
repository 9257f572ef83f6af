#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the memory of runs: the peak beside what was announced, and limits around what a run needs,
below which it is refused in one line.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
SPEEDWELL_EVERY_LIMIT=1: steps of 5 %, for every command, with ranks and threads.
"""

import contextlib
import errno
import json
import os
import struct
import subprocess
import tempfile
import time
import unittest

from test_cli import COMMAND, ENVIRONMENT, Case, Outcome, command_line, run

EVERY = os.environ.get("SPEEDWELL_EVERY_LIMIT") == "1"
MIB = 1 << 20
# Seconds after which a run of less than one has hung.
PATIENCE = 120
N = 1504
SYSTEMS = {"mxp": ("mxp", "-N", str(N)), "hpl": ("hpl", "-N", str(N)),
           "solve": ("solve", "A.npy", "-o", "x.npy")}


def write_matrix(path, n):
    """A diagonally dominant matrix as a file of NumPy."""
    header = str({"descr": "<f8", "fortran_order": False, "shape": (n, n)}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    rows = [struct.pack("<16d", *((j + i) % 7 / 7 for j in range(16))) * (n // 16) for i in range(7)]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for i in range(n):
            row = bytearray(rows[i % 7].ljust(8 * n, b"\0"))
            row[8 * i:8 * i + 8] = struct.pack("<d", n)
            file.write(row)


def new_group():
    """A new control group whose memory can be limited, and the file of its limit; nothing where
    none can be made."""
    for root, limit in ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup",
                                                                            "memory.max"):
        group = os.path.join(root, f"speedwell-test-{os.getpid()}")
        with contextlib.suppress(OSError):
            os.mkdir(group)
            path = os.path.join(group, limit)
            if os.access(path, os.W_OK):
                return group, path
            os.rmdir(group)
    return None


def remove_group(group):
    """Removes a control group whose last process has just ended: the kernel may still count it."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return os.rmdir(group)
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
        time.sleep(0.05)


def document_of(*words, **how):
    """The outcome of a run, and its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        outcome = run(*words, "--json", path, **how)
        with open(path, encoding="utf-8") as file:
            return outcome, json.load(file)


class WithMatrix(Case):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.folder = place.name
        write_matrix(os.path.join(cls.folder, "A.npy"), N)


class Peak(WithMatrix):
    def assert_plausible(self, document, matrix_bytes):
        """The peak is that of a run which has the matrix, and of no more than was announced."""
        peak = document["memory_peak"]["resident"]
        self.assertGreater(peak["bytes"], matrix_bytes)
        self.assertLess(peak["bytes"], document["memory"]["needed_per_rank_bytes"])
        self.assertEqual(peak["host"], document["hosts"][0])

    def test_of_benchmarks(self):
        for command, size in ("mxp", 4), ("hpl", 8):
            outcome, document = document_of(*SYSTEMS[command])
            self.assert_status(outcome, 0)
            self.assert_plausible(document, size * N * N)
            self.assertIsNone(document["memory_peak"]["device"])
            self.assertRegex(outcome.out, r"\nMemory: [\d.]+ GiB needed a rank, at most [\d.]+ GiB "
                             r"resident \(rank 0 on \S+\)(; [\d.]+ GiB of all ranks in large pages)?\n")
            pages = document["large_pages_bytes"]
            self.assertEqual(pages is not None, "in large pages" in outcome.out)
            self.assertLessEqual(pages or 0, document["memory_peak"]["resident"]["bytes"])

    def test_of_both_benchmarks(self):
        _, document = document_of("bench", "-N", str(N))
        for command, size in ("mxp", 4), ("hpl", 8):
            self.assert_plausible(document[command], size * N * N)

    def test_of_a_solve(self):
        outcome, document = document_of(*SYSTEMS["solve"], folder=self.folder)
        self.assert_status(outcome, 0)
        self.assert_plausible(document, (8 + 4) * N * N)
        self.assertRegex(outcome.out, r"\nMEMORY +: [\d.]+ GiB needed a rank, [\d.]+ GiB free; at "
                         r"most [\d.]+ GiB resident \(rank 0 on ")

    def test_later_steps_are_announced(self):
        """A that was read for FP32 factors is there beside those of FP64."""
        _, low = document_of(*SYSTEMS["solve"], "--precision", "fp32", folder=self.folder)
        _, high = document_of(*SYSTEMS["solve"], "--precision", "fp64", folder=self.folder)
        more = (high["memory"]["needed_per_rank_bytes"] - low["memory"]["needed_per_rank_bytes"])
        self.assertGreater(more, 0.9 * 4 * N * N)

    def test_each_run_has_its_own(self):
        _, document = document_of("hpl", "-N", "2400,200")
        large, small = (one["memory_peak"]["resident"]["bytes"] for one in document["runs"])
        self.assertGreater(large - small, 0.9 * 8 * 2400 * 2400)

    def test_the_rank_with_the_most_is_named(self):
        """Of three blocks, rank 0 has two."""
        _, document = document_of("hpl", "-N", "2400", "--nb", "800", "-P", "1", "-Q", "2", ranks=2)
        self.assertEqual(document["memory_peak"]["resident"]["rank"], 0)
        self.assert_plausible(document, 8 * 2400 * 1600)


class Limits(WithMatrix):
    def limited(self, prefix, words, ranks=0, threads=1):
        """The outcome of a run, each rank of which begins with these words of a shell."""
        own = command_line(ranks, *words)
        at = own.index(COMMAND)
        line = ["timeout", "-k", "5", str(PATIENCE), *own[:at], "bash", "-c",
                f'{prefix} && exec "$@"', "-", *own[at:]]
        process = subprocess.run(line, cwd=self.folder, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True,
                                 env=dict(ENVIRONMENT, OMP_NUM_THREADS=str(threads)))
        return Outcome(process)

    def ran(self, outcome, ranks=0):
        """Whether it ran. Otherwise one line says why not; or one of each rank, where they have not
        met."""
        text = outcome.out + outcome.err
        self.assertIn(outcome.status, (0, 2, 3), text)
        if outcome.status == 0:
            self.assertRegex(outcome.out, "PASSED|solved; x is in")
            self.assertNotRegex(outcome.out, "FAILED|NOT")
            self.assertRegex(outcome.err, r"\A(speedwell: warning: .* share \d+ cores\n)?\Z")
            return True
        self.assertEqual(len(set(outcome.complaints)), 1, text)
        if ranks == 0:
            self.assertEqual(len(outcome.err.splitlines()), 1, text)
        self.assertRegex(outcome.complaints[0], "memory|does not fit")
        return False

    def in_space(self, mebibytes, name, ranks, threads):
        prefix = f"ulimit -v {mebibytes * 1024}"
        return self.ran(self.limited(prefix, SYSTEMS[name], ranks, threads), ranks)

    def test_address_space(self):
        """Around the smallest limit under which it runs, which bisection finds: refusals begin and
        end there. Where a limit leaves room for less than OpenBLAS's buffers, it used to hang."""
        few = (("mxp", 0, 2), ("solve", 0, 1))
        all_of_them = [(name, ranks, threads) for name in SYSTEMS for ranks in (0, 2)
                       for threads in (1, 2)]
        for case in all_of_them if EVERY else few:
            with self.subTest(case):
                low, high = 64, 2048
                while high - low > (2 if EVERY else 16):
                    middle = (low + high) // 2
                    low, high = (low, middle) if self.in_space(middle, *case) else (middle, high)
                for percent in range(20, 145, 5) if EVERY else (80, 95, 105):
                    self.assertEqual(self.in_space(high * percent // 100, *case), percent >= 100,
                                     percent)

    def test_control_group(self):
        found = new_group()
        if not found:
            self.skipTest("no control group can be made here")
        group, limit = found
        self.addCleanup(remove_group, group)
        for name in SYSTEMS if EVERY else ("hpl",):
            _, document = document_of(*SYSTEMS[name], folder=self.folder)
            needed = document["memory"]["needed_per_rank_bytes"]
            ran = []
            for percent in range(50, 185, 5) if EVERY else (60, 100, 180):
                with open(limit, "w", encoding="utf-8") as file:
                    file.write(str(needed * percent // 100))
                outcome = self.limited(f"echo $$ > {group}/cgroup.procs", SYSTEMS[name])
                ran.append(self.ran(outcome))
            self.assertFalse(ran[0])
            self.assertTrue(ran[-1])
            self.assertEqual(ran, sorted(ran))


if __name__ == "__main__":
    unittest.main()
