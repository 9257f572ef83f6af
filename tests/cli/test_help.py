#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what the speedwell command says of itself: help, suggestions, examples, the man page.

SPEEDWELL_COMMAND as in test_cli.py.
"""

import re
import shutil
import subprocess
import unittest

from test_cli import COMMAND, MPIEXEC, Case, needs_predictions, run

COMMANDS = ("solve mxp hpl bench compare tune check predict info verify examples help man").split()
PAGES = [*COMMANDS, "predict-mxp", "predict-hpl", "predict-bench", "predict-solve"]


def names_in_help(*words):
    """The long options that the help of a command shows."""
    text = run(*words, "--help").out
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)) | set(
        re.findall(r"^  --[\w-]+,(--[\w-]+)", text, re.M))


class Help(Case):
    def test_order_of_commands(self):
        text = run("--help").out
        self.assertEqual(re.findall(r"^  (\w+) ", text.partition("Subcommands:\n")[2], re.M), COMMANDS)
        self.assertIn("Solves dense linear systems", text.splitlines()[0])

    def test_compare_names_its_solvers(self):
        self.assertIn("HPL-MxP, HPL, solve and LAPACK", run("compare", "--help").out)

    def test_help_of_a_command(self):
        for words in ((), ("mxp",), ("predict",), ("predict", "hpl"), ("help",)):
            outcome = run("help", *words)
            self.assert_status(outcome, 0)
            self.assertEqual(outcome.out, run(*words, "--help").out)
        self.assert_refused(run("help", "mpx"), "unknown command 'mpx'", "did you mean 'mxp'?")
        self.assert_refused(run("help", "mxp", "hpl"), "unknown argument 'hpl'")
        self.assertEqual(run("help", "mxp", ranks=2).out, run("mxp", "--help").out)

    def test_version_by_a_letter(self):
        self.assertEqual(run("-V").out, run("--version").out)
        self.assertRegex(run("-V").out, r"\Aspeedwell \d")

    def test_nothing_unreadable(self):
        for command in PAGES:
            self.assertNotRegex(run(*command.split("-"), "--help").out, r"[{}]")


class Suggestions(Case):
    def test_the_nearest_word(self):
        for words, meant in (
                (("mxp", "--look-ahead", "1"), "--lookahead"),
                (("mxp", "--presicion=fp16"), "--precision"),
                (("hpl", "--hepl"), "--help"),
                (("solve", "a.npy", "--strickt"), "--strict"),
                (("sovle", "a.npy"), "solve"),
                (("benhc",), "bench"),
                (("--vresion",), "--version")):
            with self.subTest(words=words):
                self.assert_refused(run(*words), f"did you mean '{meant}'?", "allowed")

    @needs_predictions
    def test_the_nearest_word_behind_predict(self):
        for words, meant in ((("mxp", "--machin", "h200"), "--machine"), (("mpx",), "mxp")):
            self.assert_refused(run("predict", *words), f"did you mean '{meant}'?", "allowed")

    def test_no_word_is_near(self):
        for words in (("mxp", "--frobnicate"), ("frobnicate",), ("mxp", "-z")):
            outcome = run(*words)
            self.assert_refused(outcome, "allowed")
            self.assertNotIn("did you mean", outcome.err)


class Printing(Case):
    @unittest.skipIf("mpich" in MPIEXEC[0], "the variables are Open MPI's")
    def test_without_mpi(self):
        """Where no launcher has started ranks, what is only printed needs no MPI."""
        broken = {"OMPI_MCA_btl": "nothing", "OMPI_MCA_pml": "nothing"}
        self.assertNotEqual(run("mxp", "-N", "96", environment=broken).status, 0)
        for words in (("--help",), ("--version",), ("examples",), ("man",), ("info",)):
            self.assert_status(run(*words, environment=broken), 0)
        for words in (("frobnicate",), ("verify", "/nowhere"), ("mxp", "-z")):
            self.assert_refused(run(*words, environment=broken), words[-1])

    def test_rank_0_prints(self):
        self.assertEqual(run("examples", ranks=2).out, run("examples").out)


class Man(Case):
    def test_every_option_has_an_entry(self):
        commands = re.split(r'^\.SS "speedwell ', run("man").out, flags=re.M)[1:]
        self.assertEqual(len(commands), len(PAGES))
        for text in commands:
            words = [word for word in text.partition('"')[0].split() if word.islower() and word.isalpha()]
            bold = re.findall(r"\\fB(\\-\\-[\w\\-]+)\\fR", text)
            self.assertEqual({name.replace("\\", "") for name in bold} | {"--help"}, names_in_help(*words))

    @unittest.skipUnless(shutil.which("groff"), "groff is not here")
    def test_groff_has_no_warning(self):
        done = subprocess.run(["groff", "-man", "-ww", "-Tascii"], input=run("man").out,
                              capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(done.stderr, "")
        self.assertIn("SYNOPSIS", re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout))


if __name__ == "__main__":
    unittest.main()
