#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files that the command writes: reports in JSON, and traces.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from test_cli import COMMAND, ENVIRONMENT, SMALL, Case, run, run_apart, shell

FIELDS = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reading-the-numbers.md")


class Json(Case):
    FIELDS = {
        "schema": str, "benchmark": str, "version": str, "revision": str, "date": str,
        "hosts": list, "command_line": str, "n": int, "nb": int, "nprow": int, "npcol": int,
        "matrix": str, "seed": int, "precision": str, "device": str, "threads": int,
        "time_seconds": float, "gflops": float, "scaled_residual": float, "passed": bool,
        "admissible": bool, "notes": list,
        "lu": {"seconds": float, "gflops": float},
        "refinement": {"seconds": float, "method": str, "iterations": int, "history": list},
        "norms": {"A_inf": float, "x_inf": float, "b_inf": float, "residual_inf": float},
        "phases": {phase: {"average": float, "maximum": float, "slowest_rank": int,
                           "slowest_host": str}
                   for phase in ("panel", "rows", "broadcast_exposed", "update", "solves", "residuals")},
        "runs": list,
    }

    def check_fields(self, document, fields):
        for name, kind in fields.items():
            self.assertIn(name, document)
            if isinstance(kind, dict):
                self.check_fields(document[name], kind)
            else:
                self.assertIs(type(document[name]), kind, name)

    def test_fields(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/with space.json"
            outcome = run("mxp", "-N", "200", "--nb", "32", "--repeat", "3", "--seed", "7",
                          "--precision", "fp16", "--json", path, ranks=2)
            self.assert_status(outcome, 0)
            self.assertEqual(os.listdir(folder), ["with space.json"])
            with open(path) as file:
                result = json.load(file)
        self.check_fields(result, self.FIELDS)
        expected = {"schema": "speedwell/1", "benchmark": "hpl-mxp", "n": 200, "nb": 32, "nprow": 1,
                    "npcol": 2, "matrix": "scaled-diagonal", "seed": 7, "precision": "fp16",
                    "device": "cpu", "threads": 1, "passed": True, "admissible": True}
        self.assertEqual({name: result[name] for name in expected}, expected)
        self.assertRegex(result["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn(f"'{path}'", result["command_line"])
        self.assertEqual(len(result["runs"]), 3)
        self.assertEqual(len(result["refinement"]["history"]), result["refinement"]["iterations"])
        self.assertEqual(result["time_seconds"], min(r["time_seconds"] for r in result["runs"]))
        flops = 2 / 3 * 200**3 + 3 / 2 * 200**2
        self.assertAlmostEqual(result["gflops"], flops / result["time_seconds"] / 1e9)
        norms = result["norms"]
        scaled = norms["residual_inf"] / (
            200 * 2**-53 * (norms["A_inf"] * norms["x_inf"] + norms["b_inf"]))
        self.assertAlmostEqual(result["scaled_residual"], scaled)

    def test_fields_of_a_solution_are_those_of_the_docs(self):
        listed = {"solution": set(), "step": set(), "column": set()}
        with open(FIELDS, encoding="utf-8") as page:
            for names, of in re.findall(r"^\| (`.*?`) \| (solution|step|column) \|", page.read(), re.M):
                listed[of].update(re.findall(r"`(\w+)`", names))
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/A.mtx", "w") as file:
                file.write("%%MatrixMarket matrix array real general\n1 1\n2\n")
            outcome = run("solve", folder + "/A.mtx", "--json", folder + "/a.json")
            self.assert_status(outcome, 0)
            with open(folder + "/a.json") as file:
                document = json.load(file)
        self.assertGreater(len(listed["solution"]), 10)
        self.assertEqual(listed["solution"] - set(document), set())
        self.assertEqual(set(document["steps"][0]), listed["step"] | {"fp64"})
        self.assertEqual(set(document["columns"][0]), listed["column"])
        self.assertIsNone(document["steps"][0]["why"])
        self.assertIsNone(document["asked"]["tolerance"])

    def test_old_file_is_replaced_only_by_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/a.json"
            with open(path, "w") as file:
                file.write("old")
            self.assert_refused(run("mxp", "-N", "100000000", "--json", path), "does not fit")
            with open(path) as file:
                self.assertEqual(file.read(), "old")
            self.assertEqual(os.listdir(folder), ["a.json"])
            self.assert_status(run(*SMALL, "--json", path), 0)
            with open(path) as file:
                self.assertTrue(json.load(file)["passed"])

    def test_standard_output(self):
        """The document alone; the report goes to standard error."""
        for words, ranks, label in ((("mxp", "-N", "64", "--repeat", "2"), 0, "The same run again"),
                                    (("bench", "-N", "64"), 2, "The same run again"),
                                    (("compare", "-N", "64", "--solvers", "mxp", "--repeat", "1"), 0, "GFLOP/s"),
                                    (("check", "--seconds", "1"), 0, "memory")):
            with self.subTest(words), tempfile.TemporaryDirectory() as folder:
                outcome = run(*words, "--json", "-", ranks=ranks, folder=folder)
                self.assertEqual(outcome.complaints, [])
                self.assertEqual(json.loads(outcome.out)["schema"], "speedwell/1")
                self.assertIn(label, outcome.err)
                self.assertEqual(os.listdir(folder), [])
        self.assertEqual(len(json.loads(run("mxp", "-N", "64", "--repeat", "2", "--json=-").out)["runs"]), 2)
        with open("/dev/full", "w") as full:
            outcome = run("mxp", "-N", "64", "--json", "-", stdout=full)
        self.assert_refused(outcome, "standard output", "No space left", status=3)
        self.assertIn("The same run again", outcome.err)

    def test_info(self):
        text = run("info").out
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/info.json"
            for ranks in 0, 2:
                outcome = run("info", "--json", path, ranks=ranks)
                self.assert_status(outcome, 0)
                self.assertIn("\ndevice cuda ", outcome.out)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["ranks"], max(ranks, 1))
        document = json.loads(run("info", "--json").out)
        self.assertEqual((document["schema"], document["benchmark"]), ("speedwell/1", "info"))
        for key in ("version", "revision", "mpi", "host", "blas", "onednn", "processor", "large_pages"):
            self.assertIn(document[key], text)
        self.assertIn(" ".join(document["instruction_sets"]), text)
        self.assertIn(document["device_cpu"]["description"], text)
        self.assertEqual(bool(document["devices_cuda"]), document["why_no_gpus"] is None)

    def test_pipe(self):
        # Standard error is read until cat, which writes to it, has closed it too.
        outcome = shell('"$speedwell" mxp -N 64 --json >(cat >&2) > /dev/null')
        self.assertIn('"schema": "speedwell/1"', outcome.err)


class Kept(Case):
    """What is measured is kept, whatever becomes of standard output, of the run or of a disk."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.matrix = self.at("A.mtx")
        with open(self.matrix, "w") as file:
            file.write("%%MatrixMarket matrix array real general\n1 1\n2\n")

    def at(self, name):
        return os.path.join(self.folder, name)

    def document(self, name="a.json"):
        with open(self.at(name), encoding="utf-8") as file:
            return json.load(file)

    def test_without_standard_output(self):
        lists = ("hpl", "-N", "60,70", "--nb", "16", "--json", self.at("a.json"), "--trace", self.at("a.trace"))
        with open("/dev/full", "w") as full:
            self.assert_refused(run(*lists, stdout=full), "standard output", "No space left", status=3)
            self.assertEqual([one["n"] for one in self.document()["runs"]], [60, 70])
            self.assertEqual(len(self.document("a.trace")["otherData"]["runs"]), 2)
            outcome = run("bench", "-N", "60", "--submission", self.at("sub"), stdout=full)
            self.assert_refused(outcome, "standard output", status=3)
            self.assert_status(run("verify", self.at("sub")), 0)
            outcome = run("solve", self.matrix, "-o", self.at("x.mtx"), "--report", self.at("r.txt"),
                          "--json", self.at("s.json"), stdout=full)
            self.assert_refused(outcome, "standard output", status=3)
            self.assertTrue(self.document("s.json")["solved"])
            self.assertGreater(os.path.getsize(self.at("r.txt")), 100)
            self.assertTrue(os.path.exists(self.at("x.mtx")))

    def test_a_full_disk_costs_the_files_on_it_alone(self):
        outcome = run(*SMALL, "--trace", "/dev/full", "--json", self.at("a.json"), ranks=2)
        self.assert_refused(outcome, "/dev/full", "No space left", printed=True)
        self.assertTrue(self.document()["passed"])
        outcome = run("solve", self.matrix, "-o", "/dev/full", "--report", self.at("r.txt"),
                      "--json", self.at("a.json"), ranks=2)
        self.assert_refused(outcome, "/dev/full", "No space left", printed=True)
        self.assertIn("x is not kept: '/dev/full' could not be written", outcome.out)
        self.assertIsNone(self.document()["x"])
        self.assertTrue(os.path.exists(self.at("r.txt")))
        outcome = run(*SMALL, "--trace", "/dev/full", "--json", "/dev/full")
        self.assert_status(outcome, 2)
        self.assertEqual(len(outcome.complaints), 1)  # one path

    def test_a_killed_campaign_keeps_its_runs(self):
        path, trace = self.at("a.json"), self.at("a.trace")
        line = [COMMAND, "hpl", "-N", "50,60", "--nb", "16", "--repeat", "100000", "--json", path,
                "--trace", trace]
        with subprocess.Popen(line, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not (os.path.exists(trace)
                                                  and len(self.document()["runs"]) > 2):
                time.sleep(0.05)
            process.kill()
        document = self.document()
        self.assertGreater(len(document["runs"]), 2)
        self.assertEqual(document["runs_planned"], 200000)
        self.assertGreaterEqual(len(self.document("a.trace")["otherData"]["runs"]), 1)

    def test_hpl_out_has_all_that_was_printed(self):
        dat = ["", "", self.at("HPL.out"), "0", "2", "50 60", "1", "16", "0", "1", "1", "1", "16",
               *"1 2 1 4 1 2 1 2 1 1 1 0 2 64 0 0 1 8".split()]
        with open(self.at("HPL.dat"), "w") as file:
            file.write("\n".join(dat) + "\n")
        with open("/dev/full", "w") as full:
            outcome = run("hpl", "-i", self.at("HPL.dat"), stdout=full)
        self.assert_refused(outcome, "standard output", status=3)
        with open(self.at("HPL.out"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("PASSED"), 2)
        self.assertIn("The same run again:", text)


class NamedPipe(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.pipe = folder.name + "/pipe"
        os.mkfifo(self.pipe)
        self.matrix = folder.name + "/A.mtx"
        with open(self.matrix, "w") as file:
            file.write("%%MatrixMarket matrix array real general\n1 1\n2\n")

    def lines(self, pipe):
        """Commands that write to the pipe, and what its reader finds."""
        return [((*SMALL, "--json", pipe), '"schema": "speedwell/1"'), ((*SMALL, "--trace", pipe), '"ph"'),
                (("solve", self.matrix, "-o", pipe), "array real general"),
                (("solve", self.matrix, "--report", pipe), "Speedwell")]

    def test_without_a_reader(self):
        for words, _ in self.lines(self.pipe):
            with self.subTest(words=words):
                self.assert_refused(run(*words, patience=60), f"cannot write '{self.pipe}'",
                                    "nobody reads", words[-2])
        self.assert_refused(run(*SMALL, "--json", self.pipe, ranks=2, patience=60), "nobody reads")

    def test_with_a_reader(self):
        for pause, (words, found) in zip((0, 0.3, 0, 0), self.lines('"$PIPE"')):
            outcome = shell(f'(sleep {pause}; cat "$PIPE" >&2) & "$speedwell" {" ".join(words)} '
                            "> /dev/null; wait", {"PIPE": self.pipe})
            self.assertIn(found, outcome.err, words)
            self.assertEqual(outcome.complaints, [])

    def test_a_reader_that_never_reads(self):
        # 100 runs are more than the 64 KiB that a pipe holds.
        outcome = shell('sleep 20 < "$PIPE" & "$speedwell" mxp -N 64 --repeat 100 --stall-timeout 1 '
                        '--json "$PIPE" > /dev/null; status=$?; kill $!; exit $status', {"PIPE": self.pipe})
        self.assert_refused(outcome, f"cannot write '{self.pipe}'", "whose reader has read nothing for 1 s")

    def test_a_reader_that_goes_away(self):
        outcome = shell('head -c 1 < "$PIPE" & "$speedwell" mxp -N 64 --json "$PIPE"; status=$?; wait;'
                        ' exit $status', {"PIPE": self.pipe})
        self.assert_status(outcome, 0)  # the pipe holds all of it
        outcome = shell('"$speedwell" mxp -N 64 --repeat 20 --json "$PIPE" > /dev/null & true < "$PIPE"; wait $!',
                        {"PIPE": self.pipe})
        self.assert_refused(outcome, f"cannot write '{self.pipe}'", "Broken pipe")


class TraceFile(Case):
    def traced(self, *words, ranks, status=0):
        """Runs a command and returns its trace and its JSON report."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [folder + "/a.trace", folder + "/a.json"]
            outcome = run(*words, "--trace", paths[0], "--json", paths[1], ranks=ranks)
            self.assert_status(outcome, status)
            self.assertEqual(sorted(os.listdir(folder)), ["a.json", "a.trace"])
            documents = []
            for path in paths:
                with open(path) as file:
                    documents.append(json.load(file, parse_constant=self.fail))
        return documents

    @staticmethod
    def events(trace, kind):
        return [event for event in trace["traceEvents"] if event["ph"] == kind]

    def seconds(self, spans, ranks):
        """The seconds of every phase: average and maximum over the ranks."""
        sums = {}
        for span in spans:
            of_rank = sums.setdefault(span.get("cat"), [0] * ranks)
            of_rank[span["pid"]] += span["dur"] / 1e6
        return {phase: (sum(of_rank) / ranks, max(of_rank)) for phase, of_rank in sums.items()}

    def check_phases(self, spans, phases, ranks):
        seconds = self.seconds(spans, ranks)
        for phase, times in phases.items():
            average, maximum = seconds.get(phase, (0, 0))
            self.assertAlmostEqual(average, times["average"], delta=2e-6, msg=phase)
            self.assertAlmostEqual(maximum, times["maximum"], delta=2e-6, msg=phase)

    def test_runs_one_after_the_other(self):
        trace, report = self.traced("mxp", "-N", "300", "--nb", "32", "-P", "2", "-Q", "1",
                                    "--repeat", "2", ranks=2)
        runs = self.events(trace, "i")
        self.assertEqual([run["name"].split(", ")[1] for run in runs], ["run 1 of 2", "run 2 of 2"])
        second = runs[1]["ts"]
        self.assertGreater(second, runs[0]["ts"])
        spans = self.events(trace, "X")
        for part, run in ((lambda ts: ts < second, 0), (lambda ts: ts >= second, 1)):
            own = [span for span in spans if part(span["ts"])]
            self.check_phases(own, report["runs"][run]["phases"], 2)
            stages = [span["name"] for span in own
                      if span["name"] in ("generation", "factorization", "refinement",
                                          "verification") and span["pid"] == 1]
            self.assertEqual(stages, ["generation", "factorization", "refinement", "verification"])
        names = {(event["pid"], event["args"]["name"]) for event in self.events(trace, "M")
                 if event["name"] in ("process_name", "thread_name")}
        for rank in 0, 1:
            for track in "stages", "host", "panels", "updates", "solves":
                self.assertIn((rank, track), names)
            self.assertTrue(any(re.fullmatch(rf"rank {rank} on \S+ \({rank},0\)", name)
                                for _, name in names), names)
        other = trace["otherData"]
        self.assertEqual((other["version"], other["revision"], other["command_line"]),
                         tuple(report[key] for key in ("version", "revision", "command_line")))
        expected = {"benchmark": "hpl-mxp", "n": 300, "nb": 32, "P": 2, "Q": 1,
                    "precision": report["precision"], "spans_left_out": 0}
        for one in other["runs"]:
            self.assertEqual({key: one[key] for key in expected}, expected)

    def test_both_benchmarks(self):
        trace, report = self.traced("bench", "-N", "120", "--nb", "32", ranks=0)
        self.assertEqual([run["benchmark"] for run in trace["otherData"]["runs"]],
                         ["hpl-mxp", "hpl"])
        border = self.events(trace, "i")[1]["ts"]
        spans = self.events(trace, "X")
        self.check_phases([s for s in spans if s["ts"] < border], report["mxp"]["phases"], 1)
        self.check_phases([s for s in spans if s["ts"] >= border], report["hpl"]["phases"], 1)
        self.assertIn("panel", {s["name"] for s in spans if s["ts"] >= border})

    def test_grids_of_several_sizes(self):
        trace, _ = self.traced("hpl", "-N", "60", "--nb", "16", "-P", "1,1,2", "-Q", "1,2,1",
                               ranks=2)
        names = {event["args"]["name"].split(" on ")[0]: event["args"]["name"]
                 for event in self.events(trace, "M") if event["name"] == "process_name"}
        self.assertIn("(0,0)", names["rank 0"])
        self.assertNotIn("(", names["rank 1"])
        self.assertEqual([(run["P"], run["Q"]) for run in trace["otherData"]["runs"]],
                         [(1, 1), (1, 2), (2, 1)])

    def test_run_without_factors(self):
        trace, _ = self.traced("mxp", "-N", "1", "--matrix", "dominant", ranks=0, status=1)
        names = [span["name"] for span in self.events(trace, "X")]
        self.assertIn("factorization", names)
        self.assertNotIn("refinement", names)

    def test_full_disk(self):
        outcome = run(*SMALL, "--trace", "/dev/full")
        self.assert_refused(outcome, "/dev/full", "No space left", printed=True)

    def test_only_some_ranks_trace(self):
        words = [COMMAND, *SMALL]
        self.assert_refused(run_apart(words, words + ["--trace", "/dev/null"]), "--trace")


if __name__ == "__main__":
    unittest.main()
