#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell hpl` and `speedwell bench`, HPL.dat, lists of values, and pivoting, as users use them.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import concurrent.futures
import json
import os
import re
import tempfile
import unittest

from test_cli import (COMMAND, HPCBENCH_HEADER, HPCBENCH_RESIDUAL, HPL_TIME, PLAIN_ROW, RAMBLE_MXP,
                      RAMBLE_ROW, REFRAME_ROW, Case, find_in_lines, run, run_apart)

# An HPL.dat with several values in every list: 2 grids, 2 N, 2 NB, 3 PFACT, 2 NBMIN, 2 NDIV,
# 2 RFACT, 2 BCAST and 2 DEPTH.
LINES = ["a title", "a place", "HPL.out  output file name", "6  device out", "2  Ns", "30 41",
         "2  NBs", "8 16", "0  PMAP", "2  grids", "1 2  Ps", "1 1  Qs", "16.0  threshold",
         "3  PFACTs", "0 1 2", "2  NBMINs", "2 4", "2  NDIVs", "2 3", "2  RFACTs", "0 2",
         "2  BCASTs", "0 6", "2  DEPTHs", "0 1", "2  SWAP", "64  threshold", "0  L1", "0  U",
         "1  equilibration", "8  alignment"]
# Changes to LINES that leave one run, of N = 30.
ONE_RUN = {5: "1", 7: "1", 10: "1", 16: "1", 18: "1", 22: "1", 24: "1"}
ROW = re.compile(r"^(W\S+) +(\d+) +(\d+) +(\d+) +(\d+) +[\d.]+ +\S+$", re.M)
# A seed with which the first entry of A is 0.
ZERO_SEED = "13792291969850005339"


def dat(changes=None):
    """An HPL.dat in which some lines, counted from 1, are changed."""
    lines = list(LINES)
    for number, line in (changes or {}).items():
        lines[number - 1] = line
    return "\n".join(lines) + "\n"


def rows(text):
    return [(row[0], *map(int, row[1:])) for row in ROW.findall(text)]


class InFolder(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, changes=None, name="HPL.dat"):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(dat(changes))

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def result(self, name="a.json"):
        return json.loads(self.read(name), parse_constant=self.fail)

    def run_here(self, *words, **more):
        return run(*words, folder=self.folder, **more)


class Dat(InFolder):
    def test_all_combinations_in_the_order_of_hpl(self):
        self.write()
        for command, inner in (("hpl", [f"R{ndiv}R{nbmin}" for nbmin in (2, 4) for ndiv in (2, 3)]),
                               ("mxp", ["R1R1"])):
            with self.subTest(command=command):
                outcome = self.run_here(command, "--json", "a.json", ranks=2)
                self.assert_status(outcome, 0)
                expected = [(f"WR{depth}{bcast}{end}", n, nb, p, 1)
                            for p in (1, 2) for n in (30, 41) for nb in (8, 16) for depth in (0, 1)
                            for bcast in (0, 6) for end in inner]
                self.assertEqual(rows(outcome.out), expected)
                self.assertEqual(outcome.out.count("...... PASSED"),
                                 len(expected) * (2 if command == "mxp" else 1))
                self.assertRegex(outcome.out, r"\nN +: +30 +41 *\nNB +: +8 +16 *\n")
                self.assertRegex(outcome.out, r"\nP +: +1 +2 *\nQ +: +1 +1 *\n")
                self.assertIn("- options are those of HPL.dat in the current folder\n", outcome.out)
                self.assertEqual(outcome.out.count("without a meaning here: 14-15 (PFACT)"), 1)
                self.assertIn("ranks that are not in a grid wait: 1 of 2 at most", outcome.out)
                runs = self.result()["runs"]
                self.assertEqual([(r["variant"], r["n"], r["nb"], r["nprow"], r["npcol"])
                                  for r in runs], expected)

    def test_options_that_it_gives_keep_it_away(self):
        self.write({1: "x", 5: "broken"})
        for words in (("hpl", "-N", "30"), ("hpl", "-N", "30", "--nbmin", "4"),
                      ("mxp", "--time-target", "0.01")):
            with self.subTest(words=words):
                outcome = self.run_here(*words)
                self.assert_status(outcome, 0)
                self.assertEqual(len(rows(outcome.out)), 1)
                self.assertNotIn("HPL.dat", outcome.out)
        self.assert_refused(self.run_here("hpl", "--seed", "2"), "HPL.dat line 5", "'broken'")

    def test_output_file_and_standard_error(self):
        self.write({**ONE_RUN, 4: "8"}, "a.dat")
        outcome = self.run_here("hpl", "-i", "a.dat")
        self.assert_status(outcome, 0)
        self.assertIn("End of Tests.", outcome.out)
        self.assertEqual(self.read("HPL.out"), outcome.out)
        self.write({**ONE_RUN, 4: "7"}, "a.dat")
        outcome = self.run_here("hpl", "--dat=a.dat")
        self.assert_status(outcome, 0)
        self.assertEqual(outcome.out, "")
        self.assertIn("End of Tests.", outcome.err)
        self.write({**ONE_RUN, 3: "/dev/full", 4: "8"}, "a.dat")
        self.assert_refused(self.run_here("hpl", "-ia.dat", ranks=2), "/dev/full", "No space left",
                            printed=True)

    def test_deep_look_ahead(self):
        self.write({**ONE_RUN, 24: "2", 25: "0 28"})
        outcome = self.run_here("hpl")
        self.assert_status(outcome, 0)
        self.assertEqual([row[0][:3] for row in rows(outcome.out)], ["WR0", "WR1"])
        self.assertIn("- depths of the look-ahead above 1 are taken as 1: HPL.dat line 25\n",
                      outcome.out)

    def test_threshold(self):
        for threshold, status in (("-1.0", 0), ("0", 0), ("1e-9", 1)):
            with self.subTest(threshold=threshold):
                self.write({**ONE_RUN, 13: threshold})
                outcome = self.run_here("hpl", "--json", "a.json")
                self.assert_status(outcome, status)
                self.assertEqual(self.result()["passed"], status == 0)
                self.assertFalse(self.result()["admissible"])
                if status == 1:
                    self.assertEqual(find_in_lines(HPCBENCH_RESIDUAL, outcome.out)[0][1], "FAILED")
                    continue
                self.assertIn("- Residuals are not checked", outcome.out)
                self.assertRegex(outcome.out, r"\n +1 tests completed without checking,\n")
                self.assertNotIn("Ax-b||_oo/(eps", outcome.out)
                self.assertIsNone(self.result()["scaled_residual"])

    def test_refusals(self):
        cases = [({6: "30 x"}, (), ["{} line 6", "'x'"]),
                 ({31: "no"}, (), ["{} line 31", "'no'"]),
                 ({11: "1 4", 12: "1 4"}, (), ["{} lines 11-12", "16 ranks, but 4 run"]),
                 ({6: "30 100000000"}, (), ["-N 100000000", "does not fit"]),
                 ({3: "no/folder/out", 4: "8"}, (), ["no/folder/out", "line 3"]),
                 ({}, ("--nb", "8"), ["--nb", "-i,--dat", "one of them"]),
                 ({}, ("-P", "1"), ["--nprow", "-i,--dat"]),
                 ({}, ("--threshold", "1"), ["--threshold", "-i,--dat"]),
                 ({}, ("-i", "none.dat"), ["none.dat", "No such file"]),
                 ({}, ("-i", "."), ["'.'", "it is a folder"])]
        for at, (changes, _, _) in enumerate(cases):
            self.write({11: "1 1", **changes}, f"{at}.dat")

        def refused(at):
            words = cases[at][1]
            given = () if "none.dat" in words or "." in words else ("-i", f"{at}.dat")
            # Only one case runs on several ranks, since a launcher takes seconds to end.
            return self.run_here("hpl", *given, *words, ranks=4 if at == 2 else 0)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for at, outcome in enumerate(pool.map(refused, range(len(cases)))):
                changes, words, needles = cases[at]
                with self.subTest(changes=changes, words=words):
                    self.assert_refused(outcome, *[needle.format(f"{at}.dat") for needle in needles])
        self.write({**ONE_RUN, 17: "4097"})
        self.assert_refused(self.run_here("hpl"), "HPL.dat line 17", "4096")
        self.assert_status(self.run_here("mxp"), 0)


class Lists(Case):
    def test_runs(self):
        outcome = run("hpl", "-N", "40,30", "-NB", "8,16", "-P1,2", "-Q", "3,2", "--nporder",
                      "column", "--lookahead", "0,1", "--bcast", "1ring,long", "--nbmin", "4",
                      "--ndiv", "2,3", "--repeat", "2", ranks=4)
        self.assert_status(outcome, 0)
        self.assertEqual(rows(outcome.out),
                         [(f"WC{depth}{bcast}R{ndiv}R4", n, nb, p, q)
                          for p, q in ((1, 3), (2, 2)) for n in (40, 30) for nb in (8, 16)
                          for depth in (0, 1) for bcast in (0, 4) for ndiv in (2, 3)
                          for _ in range(2)])
        self.assertRegex(outcome.out, r"Finished +128 tests")
        self.assertIn("wait: 1 of 4 at most", outcome.out)

    def test_fewer_ranks_than_run(self):
        outcome = run("bench", "-N", "60", "-P", "1", "-Q", "2", ranks=4)
        self.assert_status(outcome, 0)
        self.assertEqual([row[3:] for row in rows(outcome.out)], [(1, 2)] * 2)
        self.assertEqual(outcome.out.count("ranks that are not in a grid wait: 2 of 4\n"), 2)

    def test_pivoting_of_hpl_mxp(self):
        outcome = run("mxp", "-N", "120", "--nb", "16", "--pivot", "partial", "--nbmin", "4,8",
                      "--matrix", "hpl", "--precision", "fp32", ranks=2)
        self.assert_status(outcome, 0)
        self.assertEqual([row[0] for row in rows(outcome.out)], ["WR11R2R4", "WR11R2R8"])
        self.assertRegex(outcome.out, r"\nPIVOT +: partial\n")
        self.assertIn("not admissible for a submission: HPL's matrix", outcome.out)

    def test_refusals(self):
        cases = [(("hpl", "-N", "30,x"), ["--n", "'30,x'", "separated by commas"]),
                 (("hpl", "-N", "30,"), ["--n", "'30,'"]),
                 (("hpl", "--nb", "8,0"), ["--nb", "'8,0'", "from 1"]),
                 (("hpl", "--bcast", "1ring,pigeon"), ["--bcast", "1ring,pigeon", "long"]),
                 (("hpl", "--nbmin", "4097"), ["--nbmin", "1 to 4096"]),
                 (("hpl", "--ndiv", "1"), ["--ndiv", "2 to 64"]),
                 (("hpl", "--threshold", "nan"), ["--threshold", "nan"]),
                 (("hpl", "-P", "1,1", "-Q", "1"), ["-P,--nprow has 2", "-Q,--npcol 1", "pairs"]),
                 (("hpl", "-P", "1,3", "-Q", "1,5"), ["-P 3 x -Q 5 is 15 ranks, but 1 run"]),
                 (("hpl", "-N", "30,100000000"), ["-N 100000000", "does not fit"]),
                 (("hpl", "--precision", "fp32"), ["unknown option", "--precision", "speedwell hpl"]),
                 (("mxp", "--nbmin", "4"), ["--nbmin", "--pivot partial"]),
                 (("mxp", "--ndiv", "4", "--pivot", "none"), ["--ndiv", "--pivot partial"]),
                 (("mxp", "--pivot", "full"), ["--pivot", "full", "none, partial"]),
                 (("mxp", "--matrix", "hpl"), ["--matrix hpl", "--pivot partial"]),
                 (("mxp", "--precision", "fp64"), ["fp64", "auto, fp16, bf16, fp16x3, fp32"]),
                 (("mxp", "--threshold", "1"), ["unknown option", "--threshold"]),
                 (("bench", "-N", "30,40"), ["--n", "'30,40'", "a whole number"]),
                 (("bench", "--bcast", "1ring,long"), ["--bcast", "1ring,long"]),
                 (("bench", "-i", "HPL.dat"), ["unknown option", "speedwell bench"]),
                 (("bench", "--hpl-n", "0"), ["--hpl-n", "'0'"]),
                 (("bench", "-N", "30", "--hpl-n", "100000000"), ["-N 100000000", "does not fit"])]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            outcomes = pool.map(lambda case: run(*case[0]), cases)
            for (words, needles), outcome in zip(cases, outcomes):
                with self.subTest(words=words):
                    self.assert_refused(outcome, *needles)
        self.assert_refused(run("hpl", "-N", "30,100000000", ranks=4), "does not fit")


class Unequal(InFolder):
    def test_ranks_with_different_lists(self):
        self.write()
        for words, others in ((("hpl", "-N", "30,40"), ("hpl", "-N", "30")),
                              (("hpl", "-i", "HPL.dat"), ("hpl",))):
            with self.subTest(words=words, others=others):
                self.assert_refused(run_apart([COMMAND, *words], [COMMAND, *others], folder=self.folder),
                                    "rank 1 has other options")


class Report(Case):
    def test_lines_that_scripts_read(self):
        outcome = run("hpl", "-N", "100", "-NB", "16", "-P", "2", "-Q", "1", ranks=2)
        self.assert_status(outcome, 0)
        text = outcome.out
        for pattern in RAMBLE_ROW, PLAIN_ROW:
            self.assertEqual([row[:4] for row in re.findall(pattern, text, re.M)],
                             [("100", "16", "2", "1")])
        self.assertEqual(len(re.findall(REFRAME_ROW, text, re.M)), 1)
        lines = text.splitlines()
        at = lines.index(HPCBENCH_HEADER)
        self.assertEqual(lines[at + 2][:9 + 12], "WR11R2R16" + f"{100:12}")
        (residual, verdict), = find_in_lines(HPCBENCH_RESIDUAL, text)
        self.assertEqual(verdict, "PASSED")
        self.assertLess(float(residual), 16)
        for moment in "start time", "end time  ":
            self.assertEqual(len(re.findall(rf"^HPL_pdgesv\(\) {moment} {HPL_TIME}", text, re.M)), 1)
        self.assertNotRegex(text, RAMBLE_MXP)
        self.assertEqual(text.count("End of Tests."), 1)

    def test_failed_residual(self):
        outcome = run("hpl", "-N", "60,61", "--threshold", "1e-9", ranks=2)
        self.assert_status(outcome, 1)
        self.assertEqual(outcome.complaints, [])
        self.assertEqual([verdict for _, verdict in find_in_lines(HPCBENCH_RESIDUAL, outcome.out)],
                         ["FAILED"] * 2)
        self.assertEqual(len(re.findall(r"^\|\|A\|\|_oo (\. ){19}= +\d+\.\d{6}$", outcome.out, re.M)),
                         2)
        self.assertRegex(outcome.out, r"\n +2 tests completed and failed residual checks,")

    def test_singular_matrix(self):
        cases = [(("hpl", "-N", "1", "--seed", ZERO_SEED), 0, 0),
                 (("mxp", "-N", "2", "--nb", "1", "--matrix", "dominant", "--precision", "fp32",
                   "--pivot", "partial"), 4, 1)]
        for words, ranks, pivot in cases:
            with self.subTest(words=words, ranks=ranks), tempfile.TemporaryDirectory() as folder:
                outcome = run(*words, "--json", folder + "/a.json", ranks=ranks)
                self.assert_status(outcome, 1)
                self.assertEqual(outcome.complaints, [])
                self.assertIn(f"\npivot {pivot} (from 0) is zero, A is singular (info = {pivot + 1}) "
                              "...... FAILED\n", outcome.out)
                self.assertNotRegex(outcome.out, r"\b(nan|NaN|PASSED)\b|\|\|Ax-b\|\|_oo */ *\(eps\*")
                with open(folder + "/a.json", encoding="utf-8") as file:
                    result = json.load(file, parse_constant=self.fail)
                self.assertEqual(result["bad_pivot"], pivot)
                self.assertIsNone(result["scaled_residual"])
                self.assertEqual(set(result["norms"].values()), {None})
                self.assertFalse(result["passed"])


class Bench(InFolder):
    SCORE = r"^  {} GFLOPS +=  +(\S+)   N = (\d+), NB = (\d+), P = (\d+), Q = (\d+), (\w+)$"

    def summary(self, text):
        return {what: re.search(self.SCORE.format(what), text, re.M).groups()
                for what in ("HPL-MxP", "HPL")}

    def test_both(self):
        outcome = self.run_here("bench", "-N", "200", "--nb", "32", "--hpl-n", "150", "--hpl-nb",
                                "16", "--nbmin", "8", "--precision", "fp16", "--json", "a.json",
                                "--repeat", "2", ranks=2)
        self.assert_status(outcome, 0)
        self.assertEqual(rows(outcome.out),
                         [("WR11R1R1", 200, 32, 1, 2)] * 2 + [("WR11R2R8", 150, 16, 1, 2)] * 2)
        scores = self.summary(outcome.out)
        self.assertEqual(scores["HPL-MxP"][1:], ("200", "32", "1", "2", "fp16"))
        self.assertEqual(scores["HPL"][1:], ("150", "16", "1", "2", "fp64"))
        for what in "HPL-MxP", "HPL":
            self.assertRegex(outcome.out, rf"(?m)^  {what} residual +=  +\S+ \.\.\.\.\.\. PASSED$")
        result = self.result()
        self.assertEqual((result["benchmark"], result["passed"]), ("bench", True))
        self.assertEqual((result["mxp"]["benchmark"], result["hpl"]["benchmark"]), ("hpl-mxp", "hpl"))
        self.assertEqual((result["mxp"]["n"], result["hpl"]["n"]), (200, 150))
        self.assertAlmostEqual(result["speedup"],
                               result["mxp"]["gflops"] / result["hpl"]["gflops"])
        printed = float(re.search(r"^  Speedup +=  +(\S+)$", outcome.out, re.M).group(1))
        self.assertAlmostEqual(printed, result["speedup"], delta=0.006)

    def test_sizes_that_are_chosen(self):
        outcome = self.run_here("bench", "-N", "77")
        self.assert_status(outcome, 0)
        self.assertEqual([row[1] for row in rows(outcome.out)], [77, 77])
        outcome = self.run_here("bench", "--time-target", "0.02")
        self.assert_status(outcome, 0)
        # Where BF16 is slow, HPL's own choice of n would be larger; it then takes the n of HPL-MxP.
        mxp, hpl = (row[1] for row in rows(outcome.out))
        reasons = re.findall(r"^N +: \d+ +chosen: (for about 0.01 s|no larger than the other)",
                             outcome.out, re.M)
        self.assertEqual(reasons, ["for about 0.01 s",
                                   "for about 0.01 s" if hpl < mxp else "no larger than the other"])
        self.assertLessEqual(hpl, mxp)

    def test_one_that_fails(self):
        outcome = self.run_here("bench", "-N", "100", "--matrix", "fasi-higham", "--kappa", "1e8",
                                "--refine", "ir", "--max-iterations", "1", "--json", "a.json")
        self.assert_status(outcome, 1)
        self.assertRegex(outcome.out, r"(?m)^  HPL-MxP residual .* FAILED$")
        self.assertRegex(outcome.out, r"(?m)^  HPL residual .* PASSED$")
        self.assertFalse(self.result()["passed"])


if __name__ == "__main__":
    unittest.main()
