#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests run/many-cores, which predicts how many ranks a node of many cores should have. Variables and
machines as in test_predict.py."""

import copy
import json
import pathlib
import subprocess
import unittest

from test_cli import COMMAND
from test_predict import CLUSTER, Folder, HAVE_SIMGRID

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "run/many-cores"
needs_simgrid = unittest.skipUnless(HAVE_SIMGRID, "speedwell-predict is not built without SimGrid")


def calibrated():
    """A file such as `predict --calibrate` writes: ranks of 1 and 2 threads, and messages between them."""
    machine = json.loads(pathlib.Path(CLUSTER).read_text(encoding="utf-8"))
    whole = machine["ranks"][0]
    machine["ranks"] = []
    for threads in 1, 2:
        team = copy.deepcopy(whole)
        for figure, value in (("threads", threads), ("bandwidth", 8e9 * threads), ("start", 1e-6 * threads)):
            team[figure]["value"] = value
        for operation in team["operations"].values():
            operation["rate"] *= threads / 32
        machine["ranks"].append(team)
    machine["link"] = copy.deepcopy(machine["port"])
    return machine


class ManyCores(Folder):
    def setUp(self):
        super().setUp()
        self.file = pathlib.Path(self.folder) / "calibrated.json"
        self.file.write_text(json.dumps(calibrated()), encoding="utf-8")

    def script(self, *words):
        return subprocess.run([SCRIPT, "--speedwell", COMMAND, self.file, *words], capture_output=True, text=True,
                              timeout=100)

    def rates(self, *words):
        """Threads of a rank, and its prediction in GFLOP/s."""
        done = self.script("--cores", "16", "--domains", "4", "--mxp", "4000", "--nb", "128,256",
                           "--bandwidth", "1.28e11", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        self.assertEqual(max(float(row[-1]) for row in rows), 1)
        return {int(row[3]): float(row[-2]) for row in rows}

    @needs_simgrid
    def test_layouts(self):
        rates = self.rates()
        self.assertEqual(list(rates), [16, 8, 4])  # of the node, of a socket, of a domain
        # Only a team on both sockets waits for remote memory, and only teams wait for forks.
        remote = self.rates("--remote", "0.05", "--threads", "16,8")
        self.assertEqual(list(remote), [16, 8])
        self.assertLess(remote[16], 0.9 * rates[16])
        self.assertEqual(remote[8], rates[8])
        self.assertLess(self.rates("--fork", "1000", "--threads", "16")[16], 0.9 * rates[16])

    def test_bad_input(self):
        for words, needle in ((("--cores", "0"), "--cores"), (("--cores", "10"), "10 cores, 8 domains"),
                              (("--threads", "3"), "--threads 3; allowed: numbers that divide 128"),
                              (("--remote", "2"), "--remote 2; allowed: above 0, at most 1"),
                              (("--mxp", "many"), "--mxp")):
            with self.subTest(words):
                done = self.script(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(needle, done.stderr)
        for text, needle in (("{}", "is no machine file"), ("no JSON", "is no machine file"),
                             (json.dumps({**calibrated(), "ranks": []}), "lacks ranks of 1 or of 2 threads")):
            with self.subTest(text[:10]):
                self.file.write_text(text, encoding="utf-8")
                done = self.script()
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn(needle, done.stderr)


if __name__ == "__main__":
    unittest.main()
