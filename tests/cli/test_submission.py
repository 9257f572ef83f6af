#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell bench --submission` and `speedwell verify`.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from test_cli import Case, run

SMALL = ("bench", "-N", "300", "--nb", "32", "--hpl-nb", "48", "--precision", "fp32")
FILES = {"HPL.dat", "SUBMISSION.md", "report.json", "report.txt", "system.json",
         *(f"cert-1-{one}.{kind}" for one in ("mxphpl", "hpl")
           for kind in ("rslts", "input", "run", "tstamps"))}


class Submission(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.made = cls.root / "made"
        cls.outcome = run(*SMALL, "--submission", cls.made, ranks=2)

    def copy(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "copy"
        shutil.copytree(self.made, folder)
        return folder

    def text(self, name):
        return (self.made / name).read_text(encoding="utf-8")

    def test_files(self):
        self.assert_status(self.outcome, 0)
        self.assertEqual({path.name for path in self.made.iterdir()}, FILES)
        self.assertEqual(self.text("report.txt"), self.outcome.out)
        self.assertIn("HPL-MxP: low-precision LU", self.text("cert-1-mxphpl.rslts"))
        self.assertNotIn("HPL: FP64 LU", self.text("cert-1-mxphpl.rslts"))
        self.assertIn("HPL: FP64 LU", self.text("cert-1-hpl.rslts"))
        for one, command in (("mxphpl", "mxp"), ("hpl", "hpl")):
            self.assertRegex(self.text(f"cert-1-{one}.run"),
                             rf"^#!/bin/sh\nmpirun -n 2 \S+ {command} .*--n 300 ")
            self.assertRegex(self.text(f"cert-1-{one}.tstamps"), r"^(20\d\d-\S+Z\n){2}$")
        self.assertEqual(json.loads(self.text("cert-1-mxphpl.input"))["command"], "mxp")
        self.assertEqual(self.text("cert-1-hpl.input"), self.text("HPL.dat"))

    def test_what_it_says(self):
        document, system = (json.loads(self.text(name)) for name in ("report.json", "system.json"))
        self.assertEqual(sum(node["ranks"] for node in system["nodes"]), 2)
        text = self.text("SUBMISSION.md")
        for words in (system["implementation"], system["compiler"], system["mpi"], system["blas"],
                      system["nodes"][0]["processor"], system["nodes"][0]["operating_system"],
                      f"{document['mxp']['gflops']:.4g} GFLOP/s", "| name of the system | **missing",
                      "generated in FP32 storage, outside of the time", "admissible: yes",
                      "| at most 50 iterations of the refinement | "):
            self.assertIn(words, text)

    def test_hpl_dat_is_read_again(self):
        outcome = run("hpl", "-i", self.made / "HPL.dat", "--json", self.root / "again.json", ranks=2)
        self.assert_status(outcome, 0)
        again = json.loads((self.root / "again.json").read_text(encoding="utf-8"))
        hpl = json.loads(self.text("report.json"))["hpl"]
        for key in ("n", "nb", "nprow", "npcol", "lookahead", "bcast", "nbmin", "ndiv", "scaled_residual"):
            self.assertEqual(again[key], hpl[key], key)

    def test_verified(self):
        outcome = run("verify", self.made)
        self.assert_status(outcome, 0)
        self.assertNotIn("WRONG", outcome.out)
        self.assertTrue(outcome.out.endswith("The submission holds.\n"))

    def test_wrong_ones(self):
        def times(factor, *path):
            def change(document):
                for key in path[:-1]:
                    document = document[key]
                document[path[-1]] *= factor
            return change

        def put(value, *path):
            def change(document):
                for key in path[:-1]:
                    document = document[key]
                document[path[-1]] = value
            return change

        for change, words in (
                (times(1.001, "mxp", "gflops"), "mxp: the score is"),
                (times(0.999, "hpl", "time_seconds"), "hpl: the score is"),
                (times(0.5, "mxp", "norms", "residual_inf"), "mxp: the scaled residual is that"),
                (put(100.0, "mxp", "scaled_residual"), "mxp: the residual is below"),
                (put(51, "mxp", "refinement", "iterations"), "51 iterations, allowed are 50"),
                (put("dominant", "mxp", "matrix"), "a diagonally dominant matrix is for testing"),
                (put("emulated", "hpl", "fp64"), "emulated by integers"),
                (put(False, "mxp", "admissible"), "says admissible: false"),
                (times(2, "speedup"), "the speedup is the quotient"),
                (put(64, "hpl", "nb"), "it asks for nb = 48")):
            with self.subTest(words=words):
                folder = self.copy()
                document = json.loads(self.text("report.json"))
                change(document)
                (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
                outcome = run("verify", folder)
                self.assert_status(outcome, 1)
                self.assertRegex(outcome.out, rf"(?m)^WRONG .*{words}")
        for name in FILES - {"report.json", "system.json"}:
            folder = self.copy()
            (folder / name).unlink()
            self.assert_status(run("verify", folder), 1)
        for name, old, new, words in (
                ("cert-1-mxphpl.rslts", "GFLOPS = ", "GFLOPS = 9", "has the score of report.json"),
                ("SUBMISSION.md", "GFLOP/s", "TFLOP/s", "says what report.json and system.json say"),
                ("system.json", '"compiler": "', '"compiler": "another ', "says what report.json and system.json say")):
            with self.subTest(name=name):
                folder = self.copy()
                path = folder / name
                text = path.read_text(encoding="utf-8")
                self.assertIn(old, text)
                path.write_text(text.replace(old, new), encoding="utf-8")
                outcome = run("verify", folder)
                self.assert_status(outcome, 1)
                self.assertRegex(outcome.out, rf"(?m)^WRONG .*{words}")

    def test_fields_that_were_filled_in(self):
        folder = self.copy()
        path = folder / "SUBMISSION.md"
        path.write_text(re.sub(r"\*\*missing: fill in\*\*", "known", path.read_text(encoding="utf-8")),
                        encoding="utf-8")
        self.assert_status(run("verify", folder), 0)

    def test_what_is_no_submission(self):
        self.assert_refused(run("verify", self.root / "nowhere"), "report.json", "allowed")
        self.assert_refused(run("verify"), "FOLDER")
        folder = self.copy()
        (folder / "report.json").write_text("{}", encoding="utf-8")
        self.assert_refused(run("verify", folder), "no 'mxp'")

    def test_refused_before_a_run(self):
        full, file, closed = self.copy(), self.root / "file", self.root / "closed"
        file.touch()
        closed.mkdir(exist_ok=True)
        for folder, words in ((full, "is not empty"), (file, "is no folder"),
                              (self.root / "a/b", "cannot be made")):
            self.assert_refused(run(*SMALL, "--submission", folder, ranks=2), "--submission", words)
        self.assertEqual({path.name for path in full.iterdir()}, FILES)
        if os.geteuid() != 0:  # root may write everywhere
            closed.chmod(0o500)
            self.assert_refused(run(*SMALL, "--submission", closed), "--submission")

    def test_inadmissible(self):
        folder = self.root / "dominant"
        self.assert_status(run(*SMALL, "--matrix", "dominant", "--submission", folder), 0)
        self.assertIn("admissible: no; a diagonally dominant matrix is for testing",
                      (folder / "SUBMISSION.md").read_text(encoding="utf-8"))
        self.assert_status(run("verify", folder), 1)


if __name__ == "__main__":
    unittest.main()
