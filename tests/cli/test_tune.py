#!/usr/bin/env python3
"""`lupine tune` and the profile that later runs take, as users meet them.

LUPINE_COMMAND and LUPINE_MPIEXEC as in test_cli.py.
"""

import json
import os
import re
import tempfile
import unittest

from test_cli import Case, run

# So small that a comparison takes milliseconds.
TUNE = ("tune", "-N", "300", "--budget", "0.3", "--device", "cpu", "--precision", "fp32")
MXP = ("mxp", "-N", "300", "--device", "cpu", "--precision", "fp32")


class Folder(Case):
    """A user with a folder of their own, and nothing else in the environment."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {"LUPINE_PROFILE": "", "XDG_CONFIG_HOME": "", "HOME": self.folder.name}
        self.path = self.at(".config/lupine/profile.json")

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, *words, **more):
        if not words or not isinstance(words[0], str):  # unittest's own
            return super().run(*words)
        environment = dict(self.environment, **more.pop("environment", {}))
        return run(*words, environment=environment, **more)

    def read(self, path=None):
        with open(path or self.path, encoding="utf-8") as file:
            return json.load(file)

    def write(self, text, path=None):
        path = path or self.path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def mark(self):
        """Tunes, and makes what was found one that nobody else would choose."""
        self.assert_status(self.run(*TUNE), 0)
        document = self.read()
        document["entries"][0].update({"nb": 37, "lookahead": 2, "chunk": 111})
        self.write(json.dumps(document))

    def chosen(self, outcome):
        """NB, look-ahead and chunk of a report, each with where it is from."""
        self.assert_status(outcome, 0)
        found = re.findall(r"^(?:NB|DEPTH|CHUNK) +: (\w+).*?(?: chosen: (\w+).*)?$",
                           outcome.out.partition("will be used:")[2], re.M)
        self.assertEqual(len(found), 3, outcome.out)
        return found


class Tuning(Folder):
    def test_writes_what_it_prints(self):
        for ranks in 1, 2:
            with self.subTest(ranks=ranks):
                outcome = self.run(*TUNE, "--json", self.at("tune.json"), ranks=ranks)
                self.assert_status(outcome, 0)
                report = self.read(self.at("tune.json"))
                entry = self.read()["entries"][ranks - 1]
                tuning, = report["tunings"]
                for name in "benchmark", "n", "nb", "lookahead", "chunk", "nprow", "npcol", "gflops":
                    self.assertEqual(tuning[name], entry[name], name)
                self.assertEqual((entry["n"], entry["nprow"] * entry["npcol"]), (300, ranks))
                self.assertEqual(entry["revision"], report["revision"])
                self.assertGreaterEqual(tuning["gflops"], tuning["default_gflops"])
                self.assertGreater(len(tuning["comparisons"]), 1)
                self.assertIsNone(tuning["comparisons"][0]["against_gflops"])
                lines = re.findall(r"^ *(\d+) +(\d) +(all|\d+) +[\d.]+ ", outcome.out, re.M)
                self.assertEqual(len(lines), len(tuning["comparisons"]))
                self.assertIn(f"best: nb {entry['nb']}, look-ahead {entry['lookahead']}", outcome.out)
                self.assertIn(f"written to '{self.path}'", outcome.out)

    def test_both_benchmarks(self):
        self.assert_status(self.run(*TUNE, "--benchmark", "both"), 0)
        self.assertEqual([(e["benchmark"], e["precision"], e["pivoting"])
                          for e in self.read()["entries"]],
                         [("hpl-mxp", "fp32", "none"), ("hpl", "fp64", "partial")])

    def test_entries_of_others_are_kept(self):
        self.assert_status(self.run(*TUNE), 0)
        document = self.read()
        document["entries"][0]["device"] = "another"
        self.write(json.dumps(document))
        self.assert_status(self.run(*TUNE), 0)
        self.assert_status(self.run(*TUNE), 0)
        entries = self.read()["entries"]
        self.assertEqual(len(entries), 2)
        self.assertEqual(entries[0], document["entries"][0])

    def test_elsewhere(self):
        path = self.at("my.json")
        self.assert_status(self.run(*TUNE, "--profile", path), 0)
        self.assertEqual(len(self.read(path)["entries"]), 1)
        self.assert_status(self.run(*TUNE, environment={"LUPINE_PROFILE": path, "HOME": ""}), 0)
        self.assert_status(self.run(*TUNE, environment={"XDG_CONFIG_HOME": self.at("xdg")}), 0)
        self.assertEqual(len(self.read(self.at("xdg/lupine/profile.json"))["entries"]), 1)
        outcome = self.run(*TUNE, "--profile", "none", environment={"HOME": ""})
        self.assert_status(outcome, 0)
        self.assertIn("no profile was written", outcome.out)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["my.json", "xdg"])

    def test_what_cannot_be_is_refused_before_it_begins(self):
        bad = [(("--budget", "0"), {}, ["--budget", "'0'", "above 0"]),
               (("--budget", "x"), {}, ["--budget", "'x'"]),
               (("--benchmark", "linpack"), {}, ["--benchmark", "linpack", "mxp, hpl, both"]),
               (("--nb", "32"), {}, ["unknown option", "--nb"]),
               (("--profile", ""), {}, ["--profile", "''"]),
               (("--profile", "/nowhere/at/all.json"), {}, ["--profile", "/nowhere/at/all.json"]),
               ((), {"LUPINE_PROFILE": "/nowhere/at/all.json"}, ["LUPINE_PROFILE", "/nowhere/at"]),
               ((), {"HOME": ""}, ["neither XDG_CONFIG_HOME nor HOME", "--profile FILE"]),
               ((), {"HOME": "/dev/null"}, ["cannot", "/dev/null/.config/lupine/profile.json"]),
               (("-P", "3", "-Q", "5"), {}, ["15 ranks"]),
               (("-N", "1000000000"), {}, ["does not fit"])]
        for words, environment, needles in bad:
            with self.subTest(words=words, environment=environment):
                rest = [*TUNE] if "-N" not in words and "--budget" not in words else ["tune"]
                outcome = self.run(*rest, *words, environment=environment)
                self.assert_status(outcome, 2)
                self.assertEqual(len(outcome.complaints), 1, outcome.err)
                for needle in needles:
                    self.assertIn(needle, outcome.complaints[0])

    def test_what_cannot_be_compared_writes_nothing(self):
        for words, needles in ((("-N", "300", "--budget", "0.000001"), ["--budget 1e-06", "-N 300"]),
                               (("-N", "1", "--budget", "1"), ["-N 1", "too small"])):
            for ranks in 0, 2:
                with self.subTest(words=words, ranks=ranks):
                    outcome = self.run("tune", "--device", "cpu", *words, ranks=ranks)
                    self.assert_status(outcome, 2)
                    self.assertEqual(len(outcome.complaints), 1, outcome.err)
                    for needle in needles + ["allowed"]:
                        self.assertIn(needle, outcome.complaints[0])
                    self.assertFalse(os.path.exists(self.path))

    def test_a_damaged_profile_is_not_written_over(self):
        self.write("precious")
        outcome = self.run(*TUNE)
        self.assert_refused(outcome, "cannot use the profile", self.path)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")


class LaterRuns(Folder):
    def test_take_what_was_found(self):
        self.mark()
        self.assertEqual(self.chosen(self.run(*MXP)),
                         [("37", "profile"), ("2", "profile"), ("111", "profile")])
        self.assertIn(f"- the profile is '{self.path}'", self.run(*MXP).out)
        path = self.at("run.json")
        outcome = self.run("mxp", "-N", "599", "--precision", "fp32", "--device", "cpu", "--json", path)
        self.assert_status(outcome, 0)
        report = self.read(path)
        self.assertEqual((report["nb"], report["lookahead"], report["chunk"]), (37, 2, 111))
        self.assertRegex(report["sources"]["nb"], r"^profile \(\d{4}-\S+ at N = 300\)$")

    def test_take_the_table_for_what_was_not_tuned(self):
        self.mark()
        for outcome in (self.run(*MXP, "--profile", "none"),
                        self.run(*MXP, environment={"LUPINE_PROFILE": "none"}),
                        self.run(*MXP, environment={"HOME": self.at("nobody")}),
                        self.run(*MXP, environment={"HOME": ""}),
                        self.run(*MXP, ranks=2),
                        self.run("hpl", "-N", "300", "--device", "cpu"),
                        self.run("mxp", "-N", "3000", "--precision", "fp32", "--device", "cpu")):
            self.assertEqual([source for _, source in self.chosen(outcome)], ["table"] * 3)

    def test_options_come_first(self):
        self.mark()
        self.assertEqual(self.chosen(self.run(*MXP, "--nb", "50")),
                         [("50", ""), ("2", "profile"), ("111", "profile")])
        self.assertEqual(self.chosen(self.run(*MXP, "--lookahead", "0", "--chunk", "77")),
                         [("37", "profile"), ("0", ""), ("77", "")])
        other = self.write(json.dumps({"schema": "lupine-profile/1", "entries": []}), self.at("e.json"))
        outcome = self.run(*MXP, "--profile", other, environment={"LUPINE_PROFILE": self.path})
        self.assertEqual(self.chosen(outcome)[0][1], "table")

    def test_rank_0_reads_for_all(self):
        self.assert_status(self.run(*TUNE, ranks=2), 0)
        self.assertEqual([source for _, source in self.chosen(self.run(*MXP, ranks=2))],
                         ["profile"] * 3)

    def test_a_profile_that_cannot_be_used_is_a_warning(self):
        newer = json.dumps({"schema": "lupine-profile/2", "entries": []})
        self.mark()
        document = self.read()
        document["entries"][0]["lookahead"] = 1000
        for text in "", "{", "[1]", newer, json.dumps(document):
            with self.subTest(text=text):
                self.write(text)
                outcome = self.run(*MXP)
                self.assertEqual([source for _, source in self.chosen(outcome)], ["table"] * 3)
                self.assertEqual(outcome.err.count("lupine: warning:"), 1, outcome.err)
                self.assertIn(self.path, outcome.err)
                self.assert_refused(self.run(*MXP, "--profile", self.path), self.path)
        os.remove(self.path)
        os.mkdir(self.path)
        self.assertIn("Is a directory", self.run(*MXP).err)

    def test_a_profile_that_is_not_there(self):
        missing = self.at("missing.json")
        self.assert_refused(self.run(*MXP, "--profile", missing, ranks=2), "--profile", missing)
        outcome = self.run(*MXP, environment={"LUPINE_PROFILE": missing})
        self.assertEqual(self.chosen(outcome)[0][1], "table")
        self.assertIn("LUPINE_PROFILE", outcome.err)
        self.assertEqual(self.run(*MXP).err.count("warning: cannot"), 0)


if __name__ == "__main__":
    unittest.main()
