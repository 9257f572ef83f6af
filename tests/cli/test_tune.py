#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell tune`, and the profile that later runs read, as users use them.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import array
import concurrent.futures
import json
import math
import os
import re
import struct
import tempfile
import unittest

from test_cli import Case, run

# The problem is so small that a comparison takes milliseconds and the search ends by itself.
TUNE = ("tune", "-N", "300", "--budget", "3600", "--device", "cpu", "--precision", "fp32")
MXP = ("mxp", "-N", "300", "--device", "cpu", "--precision", "fp32")


def at_once(calls):
    """The results of calls that run side by side, since the start of a run uses no core."""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


class Folder(Case):
    """A user with a home folder of their own, and no other profile in the environment."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.environment = {"SPEEDWELL_PROFILE": "", "XDG_CONFIG_HOME": "", "HOME": self.folder.name}
        self.path = self.at(".config/speedwell/profile.json")

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def run(self, *words, **more):
        if not words or not isinstance(words[0], str):  # a call from unittest
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

    tuned = None

    def mark(self):
        """Writes a profile as tuning does, with values that no default has."""
        if not Folder.tuned:
            self.assert_status(self.run(*TUNE), 0)
            Folder.tuned = self.read()
        document = json.loads(json.dumps(Folder.tuned))
        document["entries"][0].update({"nb": 37, "lookahead": 1, "chunk": 111})
        self.write(json.dumps(document))
        return document

    def chosen(self, outcome):
        """NB, look-ahead and chunk in a report, each with its source."""
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
                self.assertGreater(len(tuning["trials"]), 1)
                self.assertIsNone(tuning["trials"][0]["against_gflops"])
                lines = re.findall(r"^ *(\d+) +(\d) +(all|\d+) +[\d.]+ ", outcome.out, re.M)
                self.assertEqual(len(lines), len(tuning["trials"]))
                self.assertIn(f"best: nb {entry['nb']}, look-ahead {entry['lookahead']}", outcome.out)
                self.assertIn(f"written to '{self.path}'", outcome.out)
                later = self.chosen(self.run(*MXP, ranks=ranks))
                self.assertEqual([source for _, source in later], ["profile"] * 3)

    def test_both_benchmarks(self):
        self.assert_status(self.run(*TUNE, "--benchmark", "both"), 0)
        self.assertEqual([(e["benchmark"], e["precision"], e["pivoting"])
                          for e in self.read()["entries"]],
                         [("hpl-mxp", "fp32", "none"), ("hpl", "fp64", "partial")])

    def test_a_list_is_timed_instead_and_no_profile_written(self):
        outcome = self.run(*TUNE, "--try-nb", "16,32", "--try-chunk", "100", "--json", self.at("tune.json"))
        self.assert_status(outcome, 0)
        tuning, = self.read(self.at("tune.json"))["tunings"]
        trials = [(trial["nb"], trial["chunk"]) for trial in tuning["trials"]]
        start = trials[0]
        expected = [(nb, start[1]) for nb in (16, 32) if nb != start[0]]
        self.assertEqual(trials[1:], expected + [(trials[-1][0], 100)])
        self.assertIn("no profile was written", outcome.out)
        self.assertFalse(os.path.exists(self.path))
        self.assert_refused(self.run(*TUNE, "--try-nb", "16,x"), "--try-nb", "'16,x'", "separated by commas")

    def test_elsewhere(self):
        path = self.at("my.json")
        outcomes = at_once([
            lambda: self.run(*TUNE, "--profile", path, environment={"HOME": ""}),
            lambda: self.run(*TUNE, environment={"SPEEDWELL_PROFILE": path + "2", "HOME": ""}),
            lambda: self.run(*TUNE, environment={"XDG_CONFIG_HOME": self.at("xdg")}),
            lambda: self.run(*TUNE, "--profile", "none", environment={"HOME": ""})])
        for outcome in outcomes:
            self.assert_status(outcome, 0)
        self.assertIn("no profile was written", outcomes[-1].out)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["my.json", "my.json2", "xdg"])
        for written in path, path + "2", self.at("xdg/speedwell/profile.json"):
            self.assertEqual(len(self.read(written)["entries"]), 1)

    def test_what_cannot_be_is_refused_before_it_begins(self):
        bad = [(("--budget", "0"), {}, ["--budget", "'0'", "above 0"]),
               (("--budget", "x"), {}, ["--budget", "'x'"]),
               (("--benchmark", "linpack"), {}, ["--benchmark", "linpack", "mxp, hpl, both"]),
               (("--nb", "32"), {}, ["unknown option", "--nb"]),
               (("--profile", ""), {}, ["--profile", "''"]),
               (("--profile", "/nowhere/at/all.json"), {}, ["--profile", "/nowhere/at/all.json"]),
               ((), {"SPEEDWELL_PROFILE": "/nowhere/at/all.json"}, ["SPEEDWELL_PROFILE", "/nowhere/at"]),
               ((), {"HOME": ""}, ["neither XDG_CONFIG_HOME nor HOME", "--profile FILE"]),
               ((), {"HOME": "/dev/null"}, ["cannot", "/dev/null/.config/speedwell/profile.json"]),
               (("-P", "3", "-Q", "5"), {}, ["15 ranks"]),
               (("-N", "1000000000"), {}, ["does not fit"])]
        def attempt(words, environment):
            rest = ["tune"] if "-N" in words or "--budget" in words else TUNE
            return self.run(*rest, *words, environment=environment)

        outcomes = at_once([lambda w=words, e=environment: attempt(w, e)
                            for words, environment, _ in bad])
        for (words, environment, needles), outcome in zip(bad, outcomes):
            with self.subTest(words=words, environment=environment):
                self.assert_status(outcome, 2)
                self.assertEqual(len(outcome.complaints), 1, outcome.err)
                for needle in needles:
                    self.assertIn(needle, outcome.complaints[0])

    def test_what_cannot_be_compared_writes_nothing(self):
        for words, needles in ((("-N", "300", "--budget", "0.000001"), ["--budget 1e-06", "-N 300"]),
                               (("-N", "1", "--budget", "1"), ["-N 1", "too small"])):
            with self.subTest(words=words):
                outcome = self.run("tune", "--device", "cpu", *words)
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
        outcome = self.run(*MXP)
        self.assertEqual(self.chosen(outcome),
                         [("37", "profile"), ("1", "profile"), ("111", "profile")])
        self.assertIn(f"- the profile is '{self.path}'", outcome.out)
        path = self.at("run.json")
        outcome = self.run("mxp", "-N", "599", "--precision", "fp32", "--device", "cpu", "--json", path)
        self.assert_status(outcome, 0)
        report = self.read(path)
        self.assertEqual((report["nb"], report["lookahead"], report["chunk"]), (37, 1, 111))
        self.assertRegex(report["sources"]["nb"], r"^profile \(\d{4}-\S+ at N = 300\)$")

    def test_take_the_table_for_what_was_not_tuned(self):
        self.mark()
        for outcome in at_once([
                lambda: self.run(*MXP, "--profile", "none"),
                lambda: self.run(*MXP, environment={"SPEEDWELL_PROFILE": "none"}),
                lambda: self.run(*MXP, environment={"HOME": self.at("nobody")}),
                lambda: self.run(*MXP, environment={"HOME": ""}),
                lambda: self.run(*MXP, ranks=2),
                lambda: self.run("hpl", "-N", "300", "--device", "cpu"),
                lambda: self.run("mxp", "-N", "1201", "--precision", "fp32", "--device", "cpu")]):
            self.assertEqual([source for _, source in self.chosen(outcome)], ["table"] * 3)

    def test_options_come_first(self):
        self.mark()
        empty = {"schema": "speedwell-profile/1", "entries": [], "rates": []}
        other = self.write(json.dumps(empty), self.at("e.json"))
        outcomes = at_once([
            lambda: self.run(*MXP, "--nb", "50"),
            lambda: self.run(*MXP, "--lookahead", "0", "--chunk", "77"),
            lambda: self.run(*MXP, "--profile", other, environment={"SPEEDWELL_PROFILE": self.path})])
        self.assertEqual([self.chosen(outcome) for outcome in outcomes[:2]],
                         [[("50", ""), ("1", "profile"), ("111", "profile")],
                          [("37", "profile"), ("0", ""), ("77", "")]])
        self.assertEqual(self.chosen(outcomes[2])[0][1], "table")

    def test_a_profile_that_cannot_be_used_is_a_warning(self):
        newer = json.dumps({"schema": "speedwell-profile/2", "entries": []})
        deep = self.mark()
        deep["entries"][0]["lookahead"] = 2
        paths = [self.write(text, self.at(f"{i}.json"))
                 for i, text in enumerate(("", "{", newer, json.dumps(deep)))]
        paths.append(self.folder.name)
        implied = at_once([lambda p=path: self.run(*MXP, environment={"SPEEDWELL_PROFILE": p})
                           for path in paths])
        named = at_once([lambda p=path: self.run(*MXP, "--profile", p) for path in paths])
        for path, warned, refused in zip(paths, implied, named):
            with self.subTest(path=path):
                self.assertEqual([source for _, source in self.chosen(warned)], ["table"] * 3)
                # Where speedwell may not use all cores, there is a warning about that too.
                warnings = re.findall(r"^speedwell: warning: .*profile.*$", warned.err, re.M)
                self.assertEqual(len(warnings), 1, warned.err)
                self.assertIn(path, warnings[0])
                self.assert_refused(refused, path)

    def test_a_profile_that_is_not_there(self):
        missing = self.at("missing.json")
        for by, outcome in (("--profile", self.run(*MXP, "--profile", missing)),
                            ("SPEEDWELL_PROFILE", self.run(*MXP, environment={"SPEEDWELL_PROFILE": missing}))):
            self.assertEqual(self.chosen(outcome)[0][1], "table")
            self.assertIn(f"- {by}: there is no '{missing}' yet", outcome.out)
            self.assertNotIn("profile", outcome.err)
        nowhere = self.at("no/where.json")
        self.assert_refused(self.run(*MXP, "--profile", nowhere), "--profile: ", nowhere, "folder")
        outcome = self.run(*MXP, environment={"SPEEDWELL_PROFILE": nowhere})
        self.assertEqual(self.chosen(outcome)[0][1], "table")
        self.assertIn("speedwell: warning: SPEEDWELL_PROFILE: there is no folder", outcome.err)
        outcome = self.run(*MXP)
        self.assert_status(outcome, 0)
        self.assertNotIn("profile", outcome.out + outcome.err)


class RatesOfUpdates(Folder):
    """Rates are measured where N is large enough, and a profile remembers them for any N."""

    LARGE = ("mxp", "-N", "2500", "--device", "cpu", "--threads", "1")
    SMALL = ("mxp", "-N", "300", "--device", "cpu", "--threads", "1")
    measured = None

    def choice(self, *words, **more):
        """Precision of a run, and how it was chosen."""
        path = self.at("run.json")
        self.assert_status(self.run(*words, "--json", path, **more), 0)
        report = self.read(path)
        return report["precision"], report["sources"]["precision"]

    def remembered(self):
        """The profile of a first run, which has measured rates."""
        if not RatesOfUpdates.measured:
            path = self.at("first.json")
            chosen, why = self.measured_choice(path, 3, "--profile", path)
            self.assertRegex(why, r"^[\d.]+ GFLOP/s; \w+ [\d.]+, \w+ [\d.]+ \(measured( [\d-]+)?\)$")
            RatesOfUpdates.measured = chosen, self.read(path)
        return json.loads(json.dumps(RatesOfUpdates.measured))

    def measured_choice(self, path, count, *words):
        """The choice of the run after which the profile has so many rates. Where other programs
        disturb a rate, it is not kept, and the next run measures it again."""
        for _ in range(20):
            choice = self.choice(*self.LARGE, *words)
            if os.path.exists(path) and len(self.read(path)["rates"]) == count:
                return choice
        self.fail("no steady rates in 20 runs")

    def plant(self, **gflops):
        """Writes a profile with these rates."""
        _, document = self.remembered()
        like = document["rates"][0]
        document["rates"] = [dict(like, precision=precision, gflops=rate, date="2026-01-02T03:04:05Z")
                             for precision, rate in gflops.items()]
        return self.write(json.dumps(document))

    def test_a_later_run_chooses_by_the_same_rates(self):
        chosen, document = self.remembered()
        self.assertEqual(sorted(rate["precision"] for rate in document["rates"]),
                         ["bf16", "fp16", "fp32"])
        for rate in document["rates"]:
            self.assertGreater(rate["gflops"], 0)
            self.assertRegex(rate["date"], r"^20\d\d-\d\d-\d\dT")
            self.assertTrue(rate["revision"])
        path = self.write(json.dumps(document))
        self.assertEqual(self.choice(*self.LARGE)[0], chosen)
        for words in self.LARGE, self.SMALL:
            why = self.choice(*words)[1]
            self.assertRegex(why, r"\(measured 20\d\d-\d\d-\d\d\)$")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), json.dumps(document))  # nothing new: not written
        self.assertEqual(self.choice(*self.SMALL, "--profile", "none")[1],
                         "N is too small to measure rates")

    def test_what_is_written_and_where(self):
        self.choice(*self.LARGE, environment={"SPEEDWELL_PROFILE": "none"})
        self.choice(*self.SMALL)
        self.assertEqual(os.listdir(self.folder.name), ["run.json"])
        tunings = dict(self.plant(fp64=1) and self.read(), entries=self.mark()["entries"])
        self.write(json.dumps(tunings))
        self.measured_choice(self.path, 4)  # the default place; entries and the rates of others stay
        self.assertEqual(self.read()["entries"], tunings["entries"])
        self.assertEqual(sorted(rate["precision"] for rate in self.read()["rates"]),
                         ["bf16", "fp16", "fp32", "fp64"])
        os.remove(self.path)
        os.rmdir(os.path.dirname(self.path))
        self.measured_choice(self.path, 3)
        self.assertEqual(len(self.read()["rates"]), 3)

    def test_a_place_that_cannot_be_written_does_no_harm(self):
        for words, environment in ((("--profile", "/proc/x"), {}), ((), {"SPEEDWELL_PROFILE": "/proc/x"}),
                                   ((), {"HOME": "/proc"}), ((), {"HOME": "/dev/null"}), ((), {"HOME": ""})):
            with self.subTest(words=words, environment=environment):
                outcome = self.run(*self.LARGE, *words, environment=environment)
                self.assert_status(outcome, 0)
                self.assertRegex(outcome.out, r"PRECISION +: \w+ +chosen: .* \(measured\)\n")
                self.assertNotIn("profile", outcome.err)
        self.write("precious")
        outcome = self.run(*self.LARGE)
        self.assert_status(outcome, 0)
        self.assertEqual(outcome.err.count("cannot use the profile"), 1)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_rates_decide(self):
        for fastest in "bf16", "fp16", "fp32":
            self.plant(**{"bf16": 10, "fp16": 10, "fp32": 10, fastest: 1e6})
            for ranks in 0, 2:
                chosen, why = self.choice(*self.SMALL, ranks=ranks)
                self.assertEqual(chosen, fastest)
                self.assertRegex(why, rf"^{ranks or 1}000000 GFLOP/s; .* \(measured 2026-01-02\)$")

    def test_tuning_renews_them(self):
        planted = {"bf16": 1e6, "fp16": 1e6, "fp32": 1}
        for _ in range(3):  # one on which no two rounds agreed is not kept: on a busy machine, none
            self.plant(**planted)
            self.assert_status(self.run("tune", "-N", "2500", "--budget", "15", "--device", "cpu"), 0)
            rates = [rate["gflops"] for rate in self.read()["rates"]]
            self.assertEqual(len(rates), 3)
            if not set(rates) <= set(planted.values()):
                return
        self.fail(f"no rate was renewed: {rates}")

    def test_rates_plan_the_steps_of_solve(self):
        n = 1500
        row = array.array("d", [math.sin(k * k) for k in range(n)] * 2)
        row[0] = row[n] = n
        text = str({"descr": "<f8", "fortran_order": False, "shape": (n, n)}).ljust(117) + "\n"
        with open(self.at("A.npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
            for i in range(n):
                file.write(row[n - i:2 * n - i].tobytes())

        def steps(*words):
            path = self.at("solve.json")
            outcome = self.run("solve", self.at("A.npy"), "--threads", "1", "--json", path, *words)
            self.assert_status(outcome, 0)
            report = self.read(path)
            return [step["precision"] for step in report["steps"]], report["reason"], outcome

        for first, rates in (("bf16", (1e6, 100, 50, 10)), ("fp16", (100, 1e6, 50, 10)),
                             ("fp32", (60, 60, 50, 10)), ("fp64", (12, 12, 11, 10))):
            self.plant(**dict(zip(("bf16", "fp16", "fp32", "fp64"), rates)))
            tried, reason, outcome = steps()
            self.assertEqual(tried[0], first)
            self.assertIn("(measured 2026-01-02)", reason)
            self.assertRegex(outcome.out, rf"PRECISION +: auto, {first} first +chosen: [\d]+ GFLOP/s; ")
            self.assertNotRegex(outcome.out, r"(?m)^FIRST ")
        tried, reason, outcome = steps("--first", "fp32")
        self.assertEqual((tried[0], reason), ("fp32", None))
        self.assertRegex(outcome.out, r"(?m)^FIRST +: fp32$")
        # Without a profile solve measures its own rates.
        self.assertRegex(steps("--profile", "none")[1], r"N is too small")


if __name__ == "__main__":
    unittest.main()
