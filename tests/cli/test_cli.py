#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the speedwell command as users and scripts use it.

SPEEDWELL_COMMAND: path of the command. SPEEDWELL_MPIEXEC: launcher with its options (default: mpirun).
SPEEDWELL_BUILT_WITH_CUDA: ON or OFF. SPEEDWELL_PREDICT: OFF where `speedwell predict` is not built.
SPEEDWELL_SLOW_KERNELS: a library to preload, with which OpenBLAS seems to have chosen slow kernels.
"""

import concurrent.futures
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import unittest

from processes import all_end, descendants

COMMAND = os.environ.get("SPEEDWELL_COMMAND", "speedwell")
MPIEXEC = shlex.split(os.environ.get("SPEEDWELL_MPIEXEC", "mpirun --oversubscribe --bind-to none"))
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
SMALL = ("mxp", "-N", "96", "--nb", "32")
PATIENCE = 900  # seconds after which a command has hung, even on a slow and busy machine
PREDICTS = os.environ.get("SPEEDWELL_PREDICT", "ON") == "ON"
needs_predictions = unittest.skipUnless(PREDICTS, "this build has no predictions")


class Outcome:
    def __init__(self, process):
        self.status = process.returncode
        self.out = process.stdout or ""
        self.err = process.stderr or ""
        own = [line for line in self.err.splitlines() if line.startswith("speedwell:")]
        self.complaints = [line for line in own if not line.startswith("speedwell: warning:")]


def command_line(ranks, *words):
    """The command line for so many ranks; 0: without a launcher."""
    launcher = MPIEXEC + ["-n", str(ranks)] if ranks else []
    return launcher + [COMMAND, *words]


def run(*words, ranks=0, stdout=subprocess.PIPE, environment=None, folder=None,
        patience=PATIENCE):
    """Runs the command. A variable of `environment` that is None is unset."""
    variables = {**ENVIRONMENT, **(environment or {})}
    limited = ["timeout", "-k", "5", str(patience)] + command_line(ranks, *words)
    return Outcome(subprocess.run(limited, stdin=subprocess.DEVNULL, stdout=stdout,
                                  stderr=subprocess.PIPE, text=True, cwd=folder,
                                  env={name: value for name, value in variables.items()
                                       if value is not None}))


def run_apart(*lines, environment=None, folder=None, patience=PATIENCE):
    """Runs a rank for each of these lines. With colons between them mpirun of Open MPI 5.0.7 crashes."""
    cases = " ".join(f"{rank}) exec {shlex.join(line)};;" for rank, line in enumerate(lines))
    words = ["timeout", "-k", "5", str(patience), *MPIEXEC, "-n", str(len(lines)), "sh", "-c",
             f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in {cases} esac']
    return Outcome(subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  cwd=folder, env={**ENVIRONMENT, **(environment or {})}))


def shell(script, environment=None):
    """Runs a shell script, in which `$speedwell` is the command."""
    return Outcome(subprocess.run(["timeout", "-k", "5", str(PATIENCE), "bash", "-c", script],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env=dict(ENVIRONMENT, speedwell=COMMAND, **(environment or {}))))


class Case(unittest.TestCase):
    def assert_status(self, outcome, status):
        self.assertEqual(outcome.status, status, outcome.out + outcome.err)

    def assert_refused(self, outcome, *needles, status=2, printed=False):
        """One line of complaint with these words. Status 2 comes before anything is printed, or with
        `printed` after the report."""
        self.assert_status(outcome, status)
        self.assertEqual(len(outcome.complaints), 1, outcome.err)
        for needle in needles:
            self.assertIn(needle, outcome.complaints[0])
        if status == 2 and not printed:
            self.assertEqual(outcome.out, "")


# Command lines, and words that the one line of the refusal must contain.
BAD_INPUT = [
    ((), ["no command", "solve, mxp, hpl, bench, compare, tune, check, predict, info"]),
    (("frobnicate",), ["unknown command", "frobnicate", "mxp, hpl"]),
    (("--frobnicate",), ["frobnicate"]),
    (("info", "extra"), ["extra", "speedwell info --help"]),
    (("info", "mxp"), ["mxp"]),
    (("mxp", "info"), ["info"]),
    (("mxp", "--frobnicate"), ["unknown option", "--frobnicate", "--help"]),
    (("mxp", "--frobnicate=1"), ["unknown option", "--frobnicate"]),
    (("mxp", "-z"), ["unknown option", "-z"]),
    (("mxp", "-o", "x"), ["unknown option", "-o"]),
    (("bench", "-i", "x"), ["unknown option", "-i"]),
    (("tune", "-NB", "3"), ["unknown option", "--nb"]),
    (("mxp", "12"), ["12"]),
    (("mxp", "--", "-z"), ["unknown argument", "-z"]),
    (("mxp", "-N", "100", "-N", "200"), ["--n", "more than once"]),
    (("mxp", "-N", "100", "--n=100"), ["--n", "more than once"]),
    (("mxp", "-NB", "32", "--nb", "32"), ["--nb", "more than once"]),
    (("mxp", "--precision", "fp16", "--sloppy-type", "2"), ["--precision", "more than once"]),
    (("mxp", "--progress", "--no-progress"), ["--progress", "more than once"]),
    (("mxp", "--progress=maybe"), ["--progress=maybe", "no value"]),
    (("mxp", "-N"), ["--n", "value is missing", "whole number"]),
    (("mxp", "-N", "--nb", "32"), ["--n", "value is missing"]),
    (("mxp", "-N", "-P", "1"), ["--n", "value is missing"]),
    (("mxp", "-N", ""), ["--n", "''", "whole number from 1"]),
    (("mxp", "-N="), ["--n", "''"]),
    (("mxp", "--n="), ["--n", "''"]),
    (("mxp", "--nb="), ["--nb", "''"]),
    (("mxp", "-N", "ten"), ["--n", "ten", "whole number from 1"]),
    (("mxp", "-N", "0"), ["--n", "'0'", "from 1"]),
    (("mxp", "-N", "-5"), ["--n", "'-5'", "from 1"]),
    (("mxp", "-N-5"), ["--n", "'-5'"]),
    (("mxp", "-N", "12x"), ["--n", "12x"]),
    (("mxp", "-N", " 12"), ["--n", "' 12'"]),
    (("mxp", "-N", "1e3"), ["--n", "1e3"]),
    (("mxp", "-N", "1.5"), ["--n", "1.5"]),
    (("mxp", "-N", "9223372036854775808"), ["--n", "9223372036854775808", "9223372036854775807"]),
    (("mxp", "-N", "1" * 100), ["--n"]),
    (("mxp", "-NB", "0"), ["--nb", "'0'"]),
    (("mxp", "-NB=-3"), ["--nb", "'-3'"]),
    (("mxp", "--nb", "99999999999999999999"), ["--nb", "99999999999999999999"]),
    (("mxp", "-P", "0"), ["--nprow", "'0'"]),
    (("mxp", "-P", "2147483648"), ["--nprow", "2147483648"]),
    (("mxp", "-Q", "-1"), ["--npcol", "'-1'"]),
    (("mxp", "-P", "3", "-Q", "5"), ["-P 3", "-Q 5", "15 ranks", "but {ranks} run"]),
    (("mxp", "-P", "46341", "-Q", "46341"), ["2147488281"]),
    (("mxp", "-P", "3"), ["-P 3", "divide the {ranks} ranks"]),
    (("mxp", "-Q", "3"), ["-Q 3", "divide the {ranks} ranks"]),
    (("mxp", "--nporder", "diagonal"), ["--nporder", "diagonal", "row, column"]),
    (("mxp", "--precision", "fp8"), ["--precision", "fp8", "auto, fp16, bf16, fp16x3, fp32"]),
    (("mxp", "--matrix", "hilbert"), ["--matrix", "hilbert", "fasi-higham", "dominant"]),
    (("mxp", "--matrix", "fasi-higham", "--kappa", "1"), ["--kappa", "'1'", "above 1"]),
    (("mxp", "--matrix", "fasi-higham", "--kappa", "nan"), ["--kappa", "nan"]),
    (("mxp", "--matrix", "fasi-higham", "--kappa", "1e999"), ["--kappa", "1e999"]),
    (("mxp", "--matrix", "fasi-higham", "--rho", "0"), ["--rho", "'0'"]),
    (("mxp", "--matrix", "fasi-higham", "--rho", "1.5"), ["--rho", "1.5"]),
    (("mxp", "--kappa", "10"), ["--kappa", "fasi-higham"]),
    (("mxp", "--seed", "-1"), ["--seed", "'-1'"]),
    (("mxp", "--seed", "18446744073709551616"), ["--seed", "18446744073709551615"]),
    (("mxp", "--refine", "jacobi"), ["--refine", "jacobi", "auto, ir, gmres"]),
    (("mxp", "--max-iterations", "0"), ["--max-iterations", "'0'"]),
    (("mxp", "--lookahead", "-1"), ["--lookahead", "'-1'"]),
    (("mxp", "--lookahead", "2"), ["--lookahead", "'2'", "0 to 1"]),
    (("mxp", "--chunk", "0"), ["--chunk", "'0'", "from 1"]),
    (("mxp", "--bcast", "pigeon"), ["--bcast", "pigeon", "1ring-modified", "long"]),
    (("mxp", "--device", "abacus"), ["--device", "abacus", "auto, cpu"]),
    (("mxp", "--threads", "0"), ["--threads", "'0'"]),
    (("mxp", "--threads", "1000000"), ["--threads", "1000000"]),
    (("mxp", "--memory-fraction", "0"), ["--memory-fraction", "'0'"]),
    (("mxp", "--memory-fraction", "1.01"), ["--memory-fraction", "1.01"]),
    (("mxp", "--time-target", "0"), ["--time-target", "'0'"]),
    (("mxp", "--time-target", "-3"), ["--time-target", "'-3'"]),
    (("mxp", "--repeat", "0"), ["--repeat", "'0'"]),
    (("mxp", "--json"), ["--json", "value is missing"]),
    (("mxp", "--json", ""), ["--json", "''"]),
    ((*SMALL, "--json", "/nowhere/at/all.json"), ["--json", "/nowhere/at/all.json"]),
    ((*SMALL, "--json", "/"), ["--json", "'/'", "directory"]),
    ((*SMALL, "--json", "/proc/speedwell.json"), ["--json", "/proc/speedwell.json"]),
    (("mxp", "--trace"), ["--trace", "value is missing"]),
    ((*SMALL, "--trace", "/nowhere/at/all.json"), ["--trace", "/nowhere/at/all.json"]),
    ((*SMALL, "--trace", "/"), ["--trace", "'/'", "directory"]),
    ((*SMALL, "--json", "/tmp/speedwell-both", "--trace", "/tmp/../tmp/speedwell-both"),
     ["--json and --trace", "a file for each"]),
    (("mxp", "-N", "100000000"), ["-N 100000000", "does not fit", "GiB", "at most -N"]),
    (("mxp", "-N", "9223372036854775807"), ["-N 9223372036854775807", "does not fit"]),
    (("mxp", "-N", "9223372036854775807", "--nb", "9223372036854775807"), ["does not fit"]),
    (("mxp", "--memory-fraction", "1e-15"), ["no problem fits", "--memory-fraction"]),
]


class BadInput(Case):
    def check(self, launched, count, cases):
        # The commands run side by side, since a launcher sleeps most of its time.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            outcomes = pool.map(lambda case: run(*case[0], ranks=launched), cases)
            for (words, needles), outcome in zip(cases, outcomes):
                with self.subTest(words=words, ranks=count):
                    self.assert_refused(outcome, *[n.format(ranks=count) for n in needles])

    def test_one_rank(self):
        self.check(0, 1, BAD_INPUT)

    def test_two_ranks(self):
        # Every rank checks the words in the same way, so some cases of each kind suffice, and all
        # cases that concern ranks.
        self.check(2, 2, [case for at, case in enumerate(BAD_INPUT)
                          if at % 5 == 0 or "{ranks}" in "".join(case[1])])

    def test_json_in_a_file_that_is_no_folder(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assert_refused(run(*SMALL, "--json", file.name + "/a.json"), "--json", file.name)

    def test_ranks_with_different_options(self):
        self.assert_refused(run_apart([COMMAND, "mxp", "-N", "96"], [COMMAND, "mxp", "-N", "97"]),
                            "rank 1", "-N 97 and not 96")

    def test_one_rank_with_bad_input(self):
        self.assert_refused(run_apart([COMMAND, "mxp", "-N", "96"], [COMMAND, "mxp", "-N", "x"]),
                            "rank 1: ", "--n", "'x'")


class Help(Case):
    def test_printed_once(self):
        for ranks in 0, 2:
            for words in (("--help",), ("-h",), ("help",), ("mxp", "--help"), ("hpl", "--help"),
                          ("bench", "--help"), ("tune", "--help"), ("solve", "--help"),
                          ("info", "--help")):
                with self.subTest(ranks=ranks, words=words):
                    outcome = run(*words, ranks=ranks)
                    self.assert_status(outcome, 0)
                    self.assertEqual(outcome.out.count("Usage:"), 1)
                    self.assertEqual(outcome.complaints, [])

    def test_every_option_is_listed(self):
        common = ("-N --n -NB --nb -P --nprow -Q --npcol --nporder --seed --lookahead --bcast --nbmin "
                  "--ndiv --device --repeat --json --trace --progress --no-progress --threads "
                  "--memory-fraction --time-target --chunk --profile").split()
        low = "--precision --sloppy-type --matrix --kappa --rho --pivot --refine --max-iterations"
        for command, own in (("mxp", "-i --dat " + low), ("hpl", "-i --dat --threshold"),
                             ("bench", "--hpl-n --hpl-nb " + low)):
            text = run(command, "--help").out
            for option in common + own.split():
                self.assertRegex(text, rf"(^|[\s,]){option}\b")

    def test_version(self):
        outcome = run("--version", ranks=2)
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"\Aspeedwell \d+\.\d+\.\d+ \(\S+\)\n\Z")

    def test_info(self):
        outcome = run("info", ranks=2)
        self.assert_status(outcome, 0)
        for label in ("Speedwell", "revision", "MPI", "BLAS", "oneDNN", "libzip", "instruction sets", "cores",
                      "memory", "device cpu", "device cuda", "update precisions"):
            self.assertEqual(len(re.findall(rf"^{label}  ", outcome.out, re.M)), 1, label)

    def test_info_shows_the_threads_that_a_rank_would_have(self):
        outcome = run("info")
        cores = int(re.search(r"^cores .*this rank may use (\d+) ", outcome.out, re.M).group(1))
        threads = re.compile(r"^device cpu .*, (\d+) threads?,", re.M)
        self.assertEqual(int(threads.search(outcome.out).group(1)), cores)
        shared = run("info", ranks=2)  # ranks that may use all cores
        self.assertEqual(int(threads.search(shared.out).group(1)), max(1, cores // 2))

    def test_the_cuda_device_is_there_where_it_was_built(self):
        outcome = run("info")
        self.assert_status(outcome, 0)
        if os.environ["SPEEDWELL_BUILT_WITH_CUDA"] == "ON":
            self.assertNotIn("not built with CUDA", outcome.out)
            self.assertNotIn("CUDA cannot be loaded", outcome.out)
            for library in ("libspeedwell_cuda.so", "libspeedwell.so"):  # in the same folder
                path = os.path.join(os.path.dirname(COMMAND), library)
                self.assertTrue(os.path.exists(path), path)
        else:
            self.assertRegex(outcome.out, "device cuda +none: not built with CUDA")


# Patterns of scripts that read reports: Ramble (hpl, nvidia-hpl-mxp), ReFrame, hpcbench, awk.
RAMBLE_ROW = (r".*\s+(?P<N>[0-9]+)\s+(?P<NB>[0-9]+)\s+(?P<P>[0-9]+)\s+(?P<Q>[0-9]+)"
              r"\s+(?P<time>[0-9]+\.[0-9]+)\s+(?P<gflops>[0-9].*)\n")
RAMBLE_MXP = r"\s+GFLOPS = (?P<gflops>\S+), per GPU =\s+(?P<per_gflops>\S+)"
RAMBLE_LU = r"\s+LU GFLOPS = (?P<gflops>\S+), per GPU =\s+(?P<per_gflops>\S+)"
REFRAME_ROW = r"^W[R|C]\S+\s+\d+\s+\d+\s+\d+\s+\d+\s+(\d[\d.]+)\s+(\d[\d.eE+-]+)"
PLAIN_ROW = r"^W[RC]\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.eE+-]+)$"
HPCBENCH_HEADER = ("T/V                N    NB     P     Q               Time"
                   "                 Gflops")
HPCBENCH_RESIDUAL = (re.escape("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)")
                     + r"=\s*(\S*)\s.*\s([A-Z]*)")
MXP_RESIDUAL = (re.escape("||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N)")
                + r" =\s+(\S+) \.\.\.\.\.\. (PASSED|FAILED)")
MXP_SIZES = (r"N = (\d+), NB = (\d+), NPROW = (\d+), NPCOL = (\d+), SLOPPY-TYPE = (\S+)")
HPL_TIME = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$"


def find_in_lines(pattern, text):
    found = [re.search(pattern, line) for line in text.splitlines()]
    return [match.groups() for match in found if match]


class SlowKernels(Case):
    """Slow kernels, as Debian's OpenBLAS chooses them on processors that are newer than itself. A
    preloaded library has it take such ones."""

    def setUp(self):
        self.library = os.environ.get("SPEEDWELL_SLOW_KERNELS")
        sets = re.search(r"^instruction sets (.*)$", run("info").out, re.M).group(1).split()
        self.corrected = "SkylakeX" if "avx512vl" in sets else "Haswell"
        if "avx2" not in sets:
            self.skipTest("needs a processor with AVX2")
        self.assertTrue(self.library, "SPEEDWELL_SLOW_KERNELS is not set")

    def test_they_are_corrected_and_that_is_said(self):
        slow = {"LD_PRELOAD": self.library, "OPENBLAS_CORETYPE": None}
        for outcome in (run("info", environment=slow), run(*SMALL, ranks=2, environment=slow)):
            self.assert_status(outcome, 0)
            self.assertIn(f"{self.corrected} kernels", outcome.out)
            self.assertIn(f"kernels for {self.corrected}; by itself it chose Prescott", outcome.out)

    def test_what_the_user_asked_for_is_left_alone(self):
        out = run("info", environment={"LD_PRELOAD": self.library,
                                       "OPENBLAS_CORETYPE": "Nehalem"}).out
        self.assertIn("Nehalem kernels", out)
        self.assertNotIn("Prescott", out)
        self.assertNotIn("OpenBLAS has kernels", out)


class Processor(Case):
    def test_what_is_allowed_is_used(self):
        out = run("info", environment={"SPEEDWELL_MAX_CPU_ISA": "portable"}).out
        self.assertRegex(out, r"\ninstruction sets  *(sse4.2)?\n")
        self.assertRegex(out, r"\ndevice cpu .*, loops portable\n")
        self.assertRegex(out, r"\nupdate precisions  native fp32;.* auto is the fastest, as measured\n")

    def test_numa_domains_that_hwloc_is_told(self):
        for synthetic, said in (("numa:2 core:2 pu:1", "0-1: .* spread over them"),
                                ("core:2 pu:1", "one for this rank")):
            with self.subTest(synthetic):
                environment = {"HWLOC_SYNTHETIC": synthetic}
                self.assertRegex(run("info", environment=environment).out, rf"\nNUMA domains  *{said}")
                self.assert_status(run("mxp", "-N", "1200", environment=environment), 0)

    def test_a_name_that_is_none(self):
        self.assert_refused(run("info", environment={"SPEEDWELL_MAX_CPU_ISA": "sse9"}),
                            "SPEEDWELL_MAX_CPU_ISA", "'sse9'", "portable, avx2, avx512, avx512_bf16")


class Report(Case):
    @classmethod
    def setUpClass(cls):
        cls.outcome = run("mxp", "-N", "300", "-NB", "32", "-P", "2", "-Q", "1", "--repeat", "2",
                          "--precision", "fp16", ranks=2)
        cls.text = cls.outcome.out

    def setUp(self):
        self.assert_status(self.outcome, 0)

    def test_row(self):
        for pattern in RAMBLE_ROW, PLAIN_ROW:
            rows = re.findall(pattern, self.text, re.M)
            self.assertEqual([row[:4] for row in rows], [("300", "32", "2", "1")] * 2, pattern)
            for row in rows:
                self.assertGreaterEqual(float(row[4]), 0)
                self.assertGreater(float(row[5]), 0)
        self.assertEqual(len(re.findall(REFRAME_ROW, self.text, re.M)), 2)
        row = re.search(r"^W.*$", self.text, re.M).group()
        self.assertEqual(row[:8], "WR11R1R1")
        self.assertEqual(len(row), 8 + 12 + 3 * 6 + 19 + 5 + 18)

    def test_row_follows_the_header(self):
        lines = self.text.splitlines()
        for at in [i for i, line in enumerate(lines) if re.search("Time *Gflops", line)]:
            self.assertEqual(lines[at], HPCBENCH_HEADER)
            self.assertTrue(lines[at + 2].startswith("WR"))

    def test_residual(self):
        for pattern in HPCBENCH_RESIDUAL, MXP_RESIDUAL:
            found = find_in_lines(pattern, self.text)
            self.assertEqual([verdict for _, verdict in found], ["PASSED"] * 2)
            for value, _ in found:
                self.assertLess(float(value), 16)
        # grep '_oo/' | awk '{print $4}'
        words = [line.split() for line in self.text.splitlines() if "_oo/" in line]
        self.assertEqual([w[3] for w in words], ["PASSED"] * 2)

    def test_times(self):
        for moment in "start time", "end time  ":
            found = re.findall(rf"^HPL_pdgesv\(\) {moment} {HPL_TIME}", self.text, re.M)
            self.assertEqual(len(found), 2)

    def test_summary(self):
        self.assertRegex(self.text, r"Finished\s+2 tests with the following results:")
        self.assertRegex(self.text, r"\s2 tests completed and passed residual checks,")
        self.assertRegex(self.text, r"\s0 tests completed and failed residual checks,")
        self.assertRegex(self.text, r"\s0 tests skipped because of illegal input values\.")
        self.assertEqual(self.text.count("End of Tests."), 1)

    def test_mxp_block(self):
        self.assertEqual(re.findall(MXP_SIZES, self.text), [("300", "32", "2", "1", "FP16")] * 2)
        self.assertRegex(self.text, r"EPS\s+=\s+1\.110223e-16")
        self.assertRegex(self.text, r"Threshold\s+=\s+1\.600000e\+01")
        for norm in "||Ax-b||_oo", "||A||_oo", "||x||_oo", "||b||_oo":
            self.assertEqual(len(re.findall(rf"^\s*{re.escape(norm)}\s+=\s+[\d.e+-]+$", self.text,
                                            re.M)), 2, norm)
        for lines in zip(re.finditer("(?m)^" + RAMBLE_MXP, self.text),
                         re.finditer(RAMBLE_LU, self.text)):
            total, lu = (float(match["gflops"]) for match in lines)
            self.assertGreater(total, 0)
            self.assertGreaterEqual(lu, total)  # the same operations in a part of the time
            for match in lines:
                self.assertAlmostEqual(float(match["per_gflops"]), float(match["gflops"]) / 2,
                                       delta=0.006 + 1e-4 * float(match["gflops"]))

    def test_phases(self):
        for phase in "panel", "rows", "broadcast (exposed)", "update", "solves", "residuals":
            found = re.findall(rf"^{re.escape(phase)}\s+([\d.]+)\s+([\d.]+)\s+(\d) on \S+$",
                               self.text, re.M)
            self.assertEqual(len(found), 2, phase)
            for average, maximum, _ in found:
                self.assertLessEqual(float(average), float(maximum))

    def test_choices_are_printed(self):
        choices = self.text.partition("parameter values will be used:")[2]
        for label in ("N", "NB", "PMAP", "P", "Q", "RANKS", "PRECISION", "MATRIX", "REFINE",
                      "DEPTH", "BCAST", "PANEL", "CHUNK", "DEVICE", "THREADS", "MEMORY"):
            self.assertEqual(len(re.findall(rf"^{label}\s+: \S", choices, re.M)), 1, label)
        self.assertRegex(self.text, r"MEMORY\s+: [\d.]+ GiB needed a rank, [\d.]+ GiB free")


class Runs(Case):
    def passes(self, *words, ranks=0, **more):
        outcome = run("mxp", *words, ranks=ranks, **more)
        self.assert_status(outcome, 0)
        self.assertEqual(outcome.complaints, [])
        self.assertIn("...... PASSED", outcome.out)
        return outcome

    def test_spellings(self):
        for words in (("-N=96", "-NB=32"), ("-N96", "-NB32"), ("--n", "96", "--nb", "32"),
                      ("--n=96", "--nb=32"), ("-N", "96", "-NB", "32", "-P1", "-Q=1")):
            with self.subTest(words=words):
                self.assertRegex(self.passes(*words).out, r"W\S+ +96 +32 +1 +1 ")

    def test_names(self):
        for words in (("--precision", "FP16"), ("--sloppy-type", "2"), ("--precision=bf16",),
                      ("--precision", "fp32"), ("--precision", "fp16x3"), ("--matrix", "dominant"),
                      ("--matrix", "fasi-higham", "--kappa", "100", "--rho", "0.25"),
                      ("--refine", "gmres"), ("--refine", "ir"), ("--bcast", "ibcast"),
                      ("--bcast", "1ring"), ("--bcast", "long"), ("--lookahead", "0"),
                      ("--lookahead", "1"), ("--nporder", "column"), ("--device", "cpu"),
                      ("--seed", "18446744073709551615")):
            with self.subTest(words=words):
                self.passes("-N", "96", "--nb", "16", *words, ranks=2)

    def test_small_and_odd(self):
        for ranks, n, nb in ((0, 1, 1), (3, 1, 1), (4, 10, 8), (3, 7, 100), (4, 97, 13), (2, 2, 1)):
            with self.subTest(ranks=ranks, n=n, nb=nb):
                out = self.passes("-N", str(n), "--nb", str(nb), ranks=ranks).out
                self.assertRegex(out, rf"W\S+ +{n} +{nb} ")

    def test_grid_from_one_side(self):
        self.assertRegex(self.passes("-N", "64", "-P", "3", ranks=3).out, r"W\S+ +64 +\d+ +3 +1 ")
        self.assertRegex(self.passes("-N", "64", "-Q", "2", ranks=4).out, r"W\S+ +64 +\d+ +2 +2 ")

    def test_column_order(self):
        self.assertRegex(self.passes("-N", "64", "--nporder", "column", ranks=2).out, r"\nWC11R1R1")

    def test_size_is_chosen(self):
        out = self.passes("--time-target", "0.05").out
        self.assertRegex(out, r"\nN +: \d+ +chosen: for about 0.05 s")
        self.assertRegex(out, r"\nNB +: \d+ +chosen:")

    def test_dominant_is_not_admissible(self):
        self.assertIn("not admissible", self.passes("-N", "96", "--matrix", "dominant").out)
        self.assertNotIn("not admissible", self.passes("-N", "96").out)

    def test_threads_of_the_environment(self):
        out = self.passes("-N", "64", environment={"OMP_NUM_THREADS": "2"}).out
        self.assertRegex(out, r"THREADS +: 2 a rank")
        self.assertIn("OMP_NUM_THREADS=2", out)
        out = self.passes("-N", "64", "--threads", "1", environment={"OMP_NUM_THREADS": "2"}).out
        self.assertRegex(out, r"THREADS +: 1 a rank")

    def test_fewer_threads_than_were_asked_for(self):
        # OpenBLAS waits without end for threads that OpenMP does not give.
        for name, value in (("DYNAMIC", "true"), ("THREAD_LIMIT", "1"), ("MAX_ACTIVE_LEVELS", "0")):
            with self.subTest(name):
                self.passes("-N", "700", "--threads", "2", patience=120,
                            environment={"OMP_" + name: value, "OMP_NUM_THREADS": None})

    def test_too_many_threads_are_warned_about(self):
        outcome = self.passes("-N", "64", "--threads", "4096")
        self.assertRegex(outcome.err, "speedwell: warning: .*4096 threads")
        self.assertRegex(outcome.out, "- .*4096 threads")

    def test_progress(self):
        words = ("-N", "4500", "--precision", "fp32", "--threads", "1")
        self.assertNotIn("% done", self.passes(*words).err)
        self.assertNotIn("% done", self.passes(*words, "--no-progress").err)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/a.json"
            outcome = self.passes(*words, "--progress", "--json", path)
            with open(path) as file:
                seconds = json.load(file)["lu"]["seconds"]
        lines = re.findall(r"^ *([\d.]+) % done, (\d+) columns left, (\d+) s, (\d+) s left, "
                           r"now [\d.]+ GFLOP/s, average [\d.]+ GFLOP/s$", outcome.err, re.M)
        self.assertEqual(len(lines), outcome.err.count("% done"))
        times = [int(line[2]) for line in lines]
        self.assertEqual(times, sorted(set(times)))  # at most one line a second
        if seconds > 3:
            self.assertGreater(len(lines), 0)
        self.assertEqual(lines, sorted(lines, key=lambda line: float(line[0])))


class Failures(Case):
    WORDS = ("mxp", "-N", "400", "--nb", "32", "--matrix", "fasi-higham", "--kappa", "1e8",
             "--refine", "ir", "--max-iterations", "1")

    def test_residual_fails(self):
        for ranks in 0, 2:
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                path = folder + "/a.json"
                outcome = run(*self.WORDS, "--json", path, ranks=ranks)
                self.assert_status(outcome, 1)
                self.assertEqual(outcome.complaints, [])
                self.assertEqual(find_in_lines(HPCBENCH_RESIDUAL, outcome.out)[0][1], "FAILED")
                self.assertRegex(outcome.out, r"\s1 tests completed and failed residual checks,")
                self.assertIn("End of Tests.", outcome.out)
                with open(path) as file:
                    result = json.load(file)
                self.assertFalse(result["passed"])
                self.assertFalse(result["admissible"])
                self.assertTrue(result["notes"])

    def test_zero_pivot(self):
        # The dominant matrix of order 1 is 0, the sum of no other magnitudes.
        for ranks in 0, 2:
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                path = folder + "/a.json"
                outcome = run("mxp", "-N", "1", "--matrix", "dominant", "--json", path,
                              ranks=ranks)
                self.assert_status(outcome, 1)
                self.assertEqual(outcome.complaints, [])
                self.assertIn("pivot 0 (from 0) is zero", outcome.out)
                self.assertIn("FAILED", outcome.out)
                self.assertNotRegex(outcome.out, r"PASSED|\bnan\b|HPL-MxP result")
                with open(path) as file:
                    result = json.load(file, parse_constant=self.fail)
                self.assertEqual(result["bad_pivot"], 0)
                self.assertIsNone(result["scaled_residual"])
                self.assertFalse(result["passed"])

    def test_full_disk(self):
        outcome = shell('"$speedwell" mxp -N 64 > /dev/full')
        self.assert_refused(outcome, "standard output", "No space left", status=3)
        self.assert_refused(shell('"$speedwell" --help > /dev/full'), "standard output", status=3)

    def test_full_disk_of_json(self):
        outcome = run(*SMALL, "--json", "/dev/full", ranks=2)
        self.assert_refused(outcome, "/dev/full", "No space left", printed=True)

    def test_closed_output(self):
        self.assert_refused(shell('"$speedwell" mxp -N 64 >&-'), "standard output", status=3)
        self.assert_refused(shell('"$speedwell" --version >&-'), "standard output", status=3)

    def test_closed_pipe(self):
        script = 'set -o pipefail; "$speedwell" mxp -N 64 --repeat 100 | head -n 1 > /dev/null'
        self.assert_refused(shell(script), "standard output", status=3)

    def test_closed_error_stream(self):
        outcome = shell('"$speedwell" mxp -N 64 2>&-')
        self.assert_status(outcome, 0)

    def after_harm(self, harm):
        """The outcome of a run on three ranks that would not end by itself, after `harm` has been
        done to one rank."""
        process = subprocess.Popen(command_line(3, "mxp", "-N", "2400", "--nb", "64", "--repeat",
                                                "1000000"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT, start_new_session=True)
        try:
            while "PASSED" not in process.stdout.readline():
                self.assertIsNone(process.poll())
            ranks = descendants(process.pid, COMMAND)
            self.assertEqual(len(ranks), 3)
            harm(ranks[1])
            out, err = process.communicate(timeout=PATIENCE)
            self.assertTrue(all_end(ranks), "a rank outlives mpirun")
            return Outcome(subprocess.CompletedProcess([], process.returncode, out, err))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def test_killed_rank_ends_all(self):
        outcome = self.after_harm(lambda rank: os.kill(rank, signal.SIGKILL))
        self.assertNotEqual(outcome.status, 0)

    def test_fault_of_one_rank_ends_all(self):
        def take_memory(rank):
            # The limit allows less than the rank's part of the matrix, but enough for MPI to end
            # the job.
            with open(f"/proc/{rank}/status") as file:
                peak = int(re.search(r"VmPeak:\s+(\d+) kB", file.read()).group(1)) * 1024
            resource.prlimit(rank, resource.RLIMIT_AS, (peak - 2**22, peak - 2**22))

        outcome = self.after_harm(take_memory)
        self.assert_refused(outcome, "rank 1 on ", "memory", status=3)


if __name__ == "__main__":
    unittest.main()
