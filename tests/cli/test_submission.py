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
import subprocess
import tempfile
import time
import unittest

from test_cli import COMMAND, ENVIRONMENT, Case, run

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
        self.assertEqual(self.text("cert-1-mxphpl.input").splitlines()[-1], "--max-iterations 50")
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
        self.assertIn("Not known: that the runs were made", outcome.out)
        self.assertTrue(outcome.out.endswith("The submission holds.\n"))

    def test_verified_after_several_runs_and_in_another_zone(self):
        folder = self.root / "repeated"
        self.assert_status(run(*SMALL, "--repeat", "2", "--submission", folder,
                               environment={"TZ": "Asia/Kathmandu"}), 0)
        (folder / "photo.png").touch()
        outcome = run("verify", folder)
        self.assert_status(outcome, 0)
        self.assertIn("photo.png", outcome.out)
        self.assertIn("mxp, run 2: the score is", outcome.out)
        for path in folder / "cert-1-hpl.rslts", folder / "report.txt":
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(" --repeat 2\n", " --repeat 2; rm -rf x\n"), encoding="utf-8")
        self.assertIn("WRONG  cert-1-hpl.rslts", run("verify", folder).out)

    def test_two_jobs_and_one_folder(self):
        folder = self.root / "shared"
        folder.mkdir()
        unfinished = folder / "UNFINISHED"
        with subprocess.Popen([COMMAND, *SMALL[:2], "800", "--hpl-n", "800", "--repeat", "100000",
                               "--submission", folder], env=ENVIRONMENT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
            while not unfinished.exists() and first.poll() is None:
                time.sleep(0.01)
            self.assert_refused(run(*SMALL, "--submission", folder), "--submission", "UNFINISHED")
            first.kill()
        self.assertEqual(os.listdir(folder), ["UNFINISHED"])
        unfinished.unlink()
        self.assert_status(run(*SMALL, "--submission", folder), 0)
        self.assertEqual({path.name for path in folder.iterdir()}, FILES)

    def test_wrong_ones(self):
        def change_at(path, new):
            """Changes a value at the top and in the run, where it has it."""
            def change(document):
                part = document[path[0]] if len(path) > 1 else document
                for here in (part, *part.get("runs", ())):
                    for key in path[1:-1]:
                        here = here.get(key, {})
                    if path[-1] in here:
                        here[path[-1]] = new(here[path[-1]])
            return change

        def times(factor, *path):
            return change_at(path, lambda old: old * factor)

        def put(value, *path):
            return change_at(path, lambda _: value)

        def at_the_top(document):
            document["mxp"]["gflops"] *= 2

        def negative(document):
            times(-1, "hpl", "norms", "residual_inf")(document)
            times(-1, "hpl", "scaled_residual")(document)

        def longer_by_the_meter(document):
            change_at(("mxp", "energy", "begin"), lambda old: re.sub("T..:", "T00:", old))(document)
            change_at(("mxp", "energy", "end"), lambda old: re.sub("T..:..", "T00:59", old))(document)

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
                (times(2, "mxp", "lu", "gflops"), "mxp: the rate of the LU"),
                (times(1000, "mxp", "lu", "seconds"), "mxp: the time holds"),
                (put(False, "hpl", "passed"), "hpl: it is said to have passed"),
                (put("1969-12-31T23:59:59Z", "mxp", "start"), "mxp: it began and ended after 2020"),
                (put("2100-01-01T00:00:00Z", "hpl", "end"), "hpl: it began and ended after 2020"),
                (put("2021-01-01T00:00:00Z", "hpl", "start"), "hpl: its time is that from its start"),
                (put("2021-01-01T00:00:00Z", "hpl", "start"), "each run began after the one before"),
                (at_the_top, "mxp: its figures are those of its fastest run: not so: gflops"),
                (put(3, "mxp", "nprow"), "mxp: there is a rank for each place"),
                (put("another", "command_line"), "they have the same command_line"),
                (negative, "hpl: its figures are possible: norms.residual_inf is -"),
                (put(-1.0, "mxp", "norms", "b_inf"), "mxp: its figures are possible: norms.b_inf is -1"),
                (put(1 << 10, "hpl", "memory", "needed_per_rank_bytes"), "hpl: the memory of a rank is that"),
                (change_at(("mxp", "refinement", "history"), lambda old: old[1:]),
                 "mxp: its refinement has an error for each iteration: the number of entries"),
                (change_at(("mxp", "refinement", "history"), lambda old: [10 * one for one in old]),
                 "mxp: its refinement has an error for each iteration: scaled_residual"),
                (times(1e6, "hpl", "phases", "panel", "maximum"), "hpl: its phases are .* phases.panel"),
                (change_at(("hpl", "update_rates"), lambda old: [2 * one for one in old]),
                 "hpl: its updates took the time of their rates: phases.update.average"),
                (longer_by_the_meter, "mxp: its time is that of the energy meter's clock: energy.end - "),
                (put(64, "hpl", "nb"), "HPL.dat says what report.json records")):
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
                ("cert-1-mxphpl.rslts", "GFLOPS = ", "GFLOPS = 9", "but the record gives"),
                ("cert-1-mxphpl.rslts", "       GFLOPS = ", "       GFLOPS = 9.9e9\n       GFLOPS = ",
                 "cert-1-mxphpl.rslts .*9.9e9"),
                ("cert-1-hpl.rslts", "PASSED", "FAILED", "cert-1-hpl.rslts .*FAILED.*PASSED"),
                ("cert-1-hpl.rslts", "N          : 300", "N          : 150000", "cert-1-hpl.rslts .*150000"),
                ("cert-1-hpl.rslts", "start time", "start time Mon Jan  1 00:00:00 2018", "start time Mon"),
                ("cert-1-hpl.rslts", "Memory: ", "HPL GFLOPS = 1e9\nMemory: ", "HPL GFLOPS = 1e9"),
                ("cert-1-hpl.rslts", "tests completed and passed", "tests completed and lost", "lost"),
                ("cert-1-mxphpl.rslts", "Speedwell 0", "Speedwell 9 GFLOPS 0", "mxphpl.rslts .*9 GFLOPS 0"),
                ("cert-1-hpl.rslts", "T/V    : W", "At most: 9.9e9\nT/V    : W", "1-hpl.rslts .*At most: 9.9e9"),
                ("cert-1-hpl.rslts", "Memory: ", "9 Gflops\nMemory: ", "1-hpl.rslts .*9 Gflops.*Memory: "),
                ("cert-1-mxphpl.rslts", "Energy: ", "Energy: 9e9 flop/s ", "mxphpl.rslts .*9e9 flop/s"),
                ("cert-1-mxphpl.rslts", " chosen: ", " chosen: 9e9 GFLOP/s of ", "mxphpl.rslts .*9e9 GFLOP"),
                ("cert-1-mxphpl.rslts", "\nNotes:\n", "\nNotes:\n- 9 GFLOP/s later\n", "mxphpl.rslts .*9 GFLOP/s"),
                ("cert-1-hpl.rslts", "DEVICE     : ", "DEVICE     : 8 x ", "1-hpl.rslts .*: 8 x "),
                ("report.json", "--hpl-nb 48", "--hpl-nb 48; rm -rf x", "the command line .*not one"),
                ("report.json", "--hpl-nb 48", "--hpl-nb 48 | tee x", "the command line .*not one"),
                ("report.json", "--hpl-nb 48", "--hpl-nb 48 && true", "the command line .*not one"),
                ("report.json", "--hpl-nb 48", "--hpl-nb 48\\nx", "the command line .*not one"),
                ("report.json", "--hpl-nb 48", "--hpl-nb 64", "the command line .*nb is 64 there"),
                ("report.json", "-N 300", "-N 3000", "the command line .*n is 3000 there"),
                ("report.json", "-N 300", "-N 300 --blocks 3", "the command does not take it: .*--blocks"),
                ("report.txt", "PASSED", "FAILED", "report.txt .*FAILED"),
                ("report.txt", "N          : 300", "N          : 150000", "report.txt .*150000"),
                ("cert-1-hpl.tstamps", "Z\n", "Z\n2030-01-01T00:00:00Z\n", "cert-1-hpl.tstamps .*line 2"),
                ("cert-1-mxphpl.tstamps", "20", "19", "cert-1-mxphpl.tstamps .*line 1"),
                ("cert-1-hpl.run", "--n 300", "--n 3000", "cert-1-hpl.run .*it is '3000 --nbmin"),
                ("cert-1-mxphpl.run", "#!/bin/sh\n", "#!/bin/sh\nrm -rf x\n", "cert-1-mxphpl.run .*two lines"),
                ("cert-1-mxphpl.input", "--n 300", "--n 3000", "cert-1-mxphpl.input .*3000"),
                ("cert-1-hpl.input", "300", "3000", "cert-1-hpl.input .*3000"),
                ("HPL.dat", "300", "3000", "HPL.dat .*3000"),
                ("SUBMISSION.md", "GFLOP/s", "TFLOP/s", "SUBMISSION.md .*TFLOP/s"),
                ("SUBMISSION.md", "| date |", "| HPL score | 9 |\n| date |", "SUBMISSION.md .*HPL score . 9"),
                ("system.json", '"compiler": "', '"compiler": "another ', "SUBMISSION.md .*another")):
            with self.subTest(name=name, new=new):
                folder = self.copy()
                path = folder / name
                text = path.read_text(encoding="utf-8")
                self.assertIn(old, text)
                path.write_text(text.replace(old, new), encoding="utf-8")
                outcome = run("verify", folder)
                self.assert_status(outcome, 1)
                self.assertRegex(outcome.out, rf"(?m)^WRONG .*{words}")

    def test_a_key_given_twice(self):
        for name in "report.json", "system.json":
            folder = self.copy()
            text = (folder / name).read_text(encoding="utf-8")
            self.assertTrue(text.endswith("\n}\n"))
            key = next(iter(json.loads(text)))
            (folder / name).write_text(text[:-3] + f',\n  "{key}": 9e9\n}}\n', encoding="utf-8")
            self.assert_refused(run("verify", folder), name, f"key '{key}' given more than once")

    def test_runs_of_all_kinds_are_accepted(self):
        for ranks, words in ((1, ("-N", "1")), (0, ("-N", "97", "--nb", "8")),
                             (4, ("-N", "200", "-P", "4", "-Q", "1", "--seed", "7")),
                             (4, ("-N", "333", "--nb", "400", "--monitor", "0.05", "--repeat", "2")),
                             (2, ("-N", "150", "--pivot", "partial", "--refine", "gmres", "--chunk", "64"))):
            with self.subTest(words):
                folder = pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "it's; a folder"
                self.assert_status(run("bench", *words, "--submission", folder, ranks=ranks), 0)
                outcome = run("verify", folder)
                self.assertNotIn("WRONG", outcome.out)
                self.assert_status(outcome, 0)

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
        document = json.loads(self.text("report.json"))
        document["mxp"]["runs"][0]["monitor"] = [{"rank": 0, "times": ["noon"]}]
        (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
        self.assert_refused(run("verify", folder), "report.json is none of Speedwell's")

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
