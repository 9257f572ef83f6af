#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what the speedwell command says of itself: help, suggestions, examples, completions, man pages.

SPEEDWELL_COMMAND as in test_cli.py.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from test_cli import COMMAND, MPIEXEC, Case, needs_predictions, run

COMMANDS = ("solve mxp hpl bench compare tune check predict info verify examples completion help man").split()
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
                (("--vresion",), "--version"),
                (("completion", "bsh"), "bash"),
                (("man", "predict-mpx"), "predict-mxp")):
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
        for words in (("--help",), ("--version",), ("examples",), ("man",), ("completion", "bash"), ("info",)):
            self.assert_status(run(*words, environment=broken), 0)
        for words in (("frobnicate",), ("verify", "/nowhere"), ("mxp", "-z")):
            self.assert_refused(run(*words, environment=broken), words[-1])

    def test_rank_0_prints(self):
        self.assertEqual(run("examples", ranks=2).out, run("examples").out)

    def test_topics(self):
        self.assert_refused(run("completion"), "SHELL", "bash, zsh")
        self.assert_refused(run("completion", "fish"), "'fish'", "bash, zsh")
        self.assert_refused(run("man", "frobnicate"), "'frobnicate'", "solve, mxp")
        self.assert_refused(run("man", "mxp", "hpl"), "hpl")


class Bash(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.script = cls.folder / "speedwell.bash"
        cls.script.write_text(run("completion", "bash").out)
        (cls.folder / "matrix.npy").touch()

    def bash(self, text):
        return subprocess.run(["bash", "--norc", "-c", f"source {self.script}\n{text}"], check=True,
                              cwd=self.folder, capture_output=True, text=True, timeout=60).stdout

    def completed(self, *words):
        """What Tab offers at the end of these words; the last one is begun."""
        quoted = " ".join(f"'{word}'" for word in words)
        return self.bash(f"COMP_WORDS=(speedwell {quoted}); COMP_CWORD={len(words)}\n"
                         f"_speedwell speedwell '{words[-1]}' '{words[-2] if len(words) > 1 else 'speedwell'}'\n"
                         'printf "%s\\n" "${COMPREPLY[@]}"').split()

    def test_script(self):
        subprocess.run(["bash", "-n", str(self.script)], check=True)
        self.assertIn("-F _speedwell speedwell", self.bash("complete -p speedwell"))
        if shutil.which("shellcheck"):
            done = subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", str(self.script)],
                                  capture_output=True, text=True)
            self.assertEqual(done.stdout, "")

    def test_commands(self):
        self.assertEqual(self.completed(""), [*COMMANDS, "--help", "--version"])
        self.assertEqual(self.completed("so"), ["solve"])
        self.assertEqual(self.completed("predict", "h"), ["hpl"])
        self.assertEqual(self.completed("completion", ""), ["--help", "bash", "zsh"])

    def test_options(self):
        for words in (["mxp"], ["solve"], ["predict", "mxp"], ["predict"]):
            offered = set(self.completed(*words, "--"))
            self.assertEqual(offered, names_in_help(*words))
        self.assertEqual(self.completed("mxp", "-N", "100", "--looka"), ["--lookahead"])

    def test_values(self):
        self.assertEqual(self.completed("mxp", "--device", ""), ["auto", "cpu", "cuda"])
        self.assertEqual(self.completed("mxp", "--device", "=", "c"), ["cpu", "cuda"])
        self.assertEqual(self.completed("mxp", "--device", "="), ["auto", "cpu", "cuda"])
        self.assertEqual(self.completed("predict", "hpl", "--nporder", "r"), ["row"])
        self.assertEqual(self.completed("mxp", "--nb", ""), [])
        self.assertEqual(self.completed("mxp", "--json", "mat"), ["matrix.npy"])
        self.assertEqual(self.completed("solve", "mat"), ["matrix.npy"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not here")
    def test_zsh(self):
        script = self.folder / "_speedwell"
        script.write_text(run("completion", "zsh").out)
        subprocess.run(["zsh", "-n", str(script)], check=True)
        done = subprocess.run(
            ["zsh", "-f", "-c", f"fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -u -D; "
                                f"source {script}; print $_comps[speedwell]; whence -w _speedwell_predict"],
            capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(done.stdout.split(), ["_speedwell", "_speedwell_predict:", "function"])


class Man(Case):
    def test_every_option_has_an_entry(self):
        for page in PAGES:
            text = run("man", page).out
            self.assertTrue(text.startswith(f'.TH SPEEDWELL\\-{page.upper().replace("-", chr(92) + "-")} 1'))
            bold = set(re.findall(r"\\fB(\\-\\-[\w\\-]+)\\fR", text))
            self.assertEqual({name.replace("\\", "") for name in bold} | {"--help"},
                             names_in_help(*page.split("-")))

    @unittest.skipUnless(shutil.which("groff"), "groff is not here")
    def test_groff_has_no_warning(self):
        for page in ("", *PAGES):
            text = run("man", *([page] if page else [])).out
            done = subprocess.run(["groff", "-man", "-ww", "-Tascii"], input=text,
                                  capture_output=True, text=True, check=True, timeout=60)
            self.assertEqual(done.stderr, "")
            self.assertIn("SYNOPSIS", re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout))


if __name__ == "__main__":
    unittest.main()
