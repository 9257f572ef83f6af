#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that a report ends with the command line of the same run.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import json
import pathlib
import re
import shlex
import unittest

from test_cli import COMMAND, run, run_apart
from test_predict import HERE, Folder

SMALL = ("-N", "200", "--nb", "32", "--seed", "5")
# What differs between two runs of the same options, in any document.
MEASURED = re.compile("seconds|gflops|start|end|phases|memory|rates|energy|date|command_line|speedup|"
                      "sources|asked|products|monitor|notes|history")


def chosen(document):
    """Everything in it that is no measurement. Of several configurations, the fastest stands at the
    top, which may be another one each time."""
    if isinstance(document, dict) and "variant" in document.get("runs", [{}])[0]:
        return chosen(document["runs"])
    if isinstance(document, dict):
        return {name: chosen(value) for name, value in document.items() if not MEASURED.search(name)}
    if isinstance(document, list):
        return [chosen(value) for value in document]
    return document


class SameRun(Folder):
    def outcome(self, *words, **how):
        path = self.at("run.json")
        outcome = run(*words, "--json", path, **how)
        self.assert_status(outcome, 0)
        with open(path, encoding="utf-8") as file:
            return outcome, json.load(file)

    def again(self, outcome):
        """The words of the last line of the report."""
        lines = outcome.out.splitlines()
        self.assertEqual(lines[-2], "The same run again:")
        return shlex.split(lines[-1])

    def test_the_last_line_gives_the_same_run(self):
        for command, *words in (("mxp",), ("mxp", "--pivot", "partial", "--precision", "fp32"), ("hpl",),
                                ("mxp", "--matrix", "fasi-higham", "--kappa", "50"), ("bench",),
                                ("hpl", "-N", "100,200", "--bcast", "long,2ring"),
                                ("mxp", "--repeat", "2")):
            size = SMALL if "-N" not in words else SMALL[2:]
            with self.subTest(command=command, words=words):
                first, document = self.outcome(command, *size, *words)
                program, *again = self.again(first)
                self.assertEqual(program, COMMAND)
                second, other = self.outcome(*again, "--profile", "none")
                self.assertEqual(chosen(document), chosen(other))
                self.assertEqual(self.again(second)[1:], again)

    def test_what_is_chosen_is_in_it(self):
        again = self.again(run("mxp", *SMALL))
        for option in ("--nprow", "--npcol", "--lookahead", "--chunk", "--precision", "--threads", "--n"):
            value = again[again.index(option) + 1]
            self.assertNotIn(value, ("auto", "0" if option != "--lookahead" else "auto"), option)

    def test_ranks(self):
        first, document = self.outcome("mxp", *SMALL, ranks=2)
        words = self.again(first)
        self.assertEqual(words[:4], ["mpirun", "-n", "2", COMMAND])
        _, other = self.outcome(*words[4:], ranks=2)
        self.assertEqual(chosen(document), chosen(other))

    def test_an_hpl_dat(self):
        text = (HERE / "../../run/HPL.dat").read_text(encoding="utf-8")
        text = text.replace("2000 4000", "100 150").replace("128 256", "32 48")
        pathlib.Path(self.at("HPL.dat")).write_text(text, encoding="utf-8")
        first, document = self.outcome("hpl", "-i", self.at("HPL.dat"))
        _, other = self.outcome(*self.again(first)[1:])
        self.assertEqual(chosen(document), chosen(other))

    def test_ranks_of_other_environments(self):
        done = run_apart(["env", "OMP_WAIT_POLICY=active", "NCCL_DEBUG=WARN", COMMAND, "mxp", *SMALL],
                         ["env", "OMP_WAIT_POLICY=passive", COMMAND, "mxp", *SMALL], patience=300)
        self.assertEqual(done.status, 0, done.out + done.err)
        lines = [line for line in done.err.splitlines() if "warning: rank" in line]
        self.assertEqual(len(lines), 2, done.err)
        self.assertRegex(lines[0], r"rank 1 on \S+: NCCL_DEBUG is not there, but 'WARN' on rank 0 on")
        self.assertRegex(lines[1], r"rank 1 on \S+: OMP_WAIT_POLICY is 'passive', but 'active' on rank 0")
        self.assertIn("OMP_WAIT_POLICY is 'passive'", done.out)


if __name__ == "__main__":
    unittest.main()
