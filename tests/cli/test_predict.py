#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell predict`: runs on simulated machines.

Variables as in test_cli.py. The machines are copies in machines/, which do not change when the shipped
ones do. The recorded predictions are renewed by
    SPEEDWELL_COMMAND=build/speedwell python3 tests/cli/test_predict.py --record
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_cli import COMMAND, PREDICTS, Case, Outcome, needs_predictions, run

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "predictions.json"
H200, H200_X8, CLUSTER = (str(HERE / "machines" / f"{name}.json")
                          for name in ("h200", "h200-x8", "h200-cluster"))
FP16_RATE = 7.4e14  # of the update's products in machines/h200-x8.json, operations a second
RECORDED_CASES = (
    ("mxp", "h200", "-N", "40000"),
    ("hpl", "h200-x8", "-N", "20000", "-P", "2", "-Q", "4"),
    ("mxp", "h200-cluster", "--ranks", "16", "-N", "40000"),
)
# The exposed part of an LU, in percent: what its time is longer than that of the updates' products, at
# the rate that the first of them has.
EXPOSED = {
    ("mxp", H200, "-N", "65536"): 30.4,
    ("hpl", H200, "-N", "49152"): 16.3,
    ("mxp", H200_X8, "-N", "131072"): 37.4,
}


def at_once(calls):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def digits_of(words, json_path):
    """The times of a recorded case, as text with all digits."""
    benchmark, machine, *rest = words
    outcome = run("predict", benchmark, "--machine", str(HERE / "machines" / f"{machine}.json"), *rest,
                  "--json", json_path)
    if outcome.status != 0:
        raise AssertionError(outcome.out + outcome.err)
    with open(json_path, encoding="utf-8") as file:
        # Sums of simulated times may differ in their last bits, by the order of addresses.
        report = json.load(file, parse_float=lambda text: f"{float(text):.9g}")
    last = "refinement" if benchmark == "mxp" else "solve"
    return {"time_seconds": report["time_seconds"], "lu": report["lu"]["seconds"],
            last: report[last]["seconds"],
            "phases": {phase: {key: times[key] for key in ("average", "maximum")}
                       for phase, times in report["phases"].items()}}


class Folder(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.at(name), encoding="utf-8") as file:
            return json.load(file)

    def machine(self, path, change):
        """A machine file that is a changed copy of another one."""
        with open(path, encoding="utf-8") as file:
            machine = json.load(file)
        change(machine)
        copy = tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".json", delete=False)
        with copy:
            json.dump(machine, copy)
        return copy.name

    def predict(self, *words):
        """The JSON report of a prediction."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.json")
            outcome = run("predict", *words, "--json", path)
            self.assert_status(outcome, 0)
            self.assertEqual(outcome.complaints, [])
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def predictions(self, *commands):
        return at_once([lambda words=words: self.predict(*words) for words in commands])


def with_values(device, values):
    for key, value in values.items():
        device[key]["value"] = value


def ideal(machine):
    """Nothing takes time but products in FP16: an infinitely fast network, no launch costs."""
    with_values(machine["link"], {"bandwidth": 1e18, "latency": 1e-12})
    with_values(machine, {"collective": 1e-12, "message": 1e-12, "test": 1e-12})
    gpu, = machine["ranks"]
    with_values(gpu, {"start": 0, "launch": 0, "synchronize": 0, "tile": 0, "bandwidth": 1e30,
                      "host_bandwidth": 1e30})
    for name, operation in gpu["operations"].items():
        operation["rate"] = FP16_RATE if name == "product fp16" else 1e30
        for half in "half_rows", "half_columns", "half_width":
            operation.pop(half, None)


def shares(n, nb, begin, count):
    """The rows or columns from `begin` on that each of `count` ranks has."""
    blocks = range(begin // nb, -(-n // nb))
    return [sum(min(n, (b + 1) * nb) - max(begin, b * nb) for b in blocks if b % count == p)
            for p in range(count)]


def product_bounds(n, nb, nprow, npcol):
    """Seconds of the products in FP16: those of the updates of the rank with most work; and all, with
    those inside solves, if all ranks wait in every step for the one with most work in it."""
    sums = [[0.0] * npcol for _ in range(nprow)]
    in_step = 0.0
    for begin in range(0, n, nb):
        end = min(n, begin + nb)
        rows, columns = shares(n, nb, end, nprow), shares(n, nb, end, npcol)
        seconds = 2 * (end - begin) / FP16_RATE
        for p in range(nprow):
            for q in range(npcol):
                sums[p][q] += seconds * rows[p] * columns[q]
        in_step += seconds * max(rows) * max(columns)
        strips = range(0, end - begin, 256)  # each is solved for by a product with those before it
        in_step += sum(2 * 256 * s for s in strips) * (max(rows) + max(columns)) / FP16_RATE
    return max(map(max, sums)), in_step


def lu_efficiency(report, path):
    """The rate of a predicted LU over that of its first update's product, m x n x k on each rank."""
    with open(path, encoding="utf-8") as file:
        operations = json.load(file)["ranks"][0]["operations"]
    product = operations[f"product {report.get('precision', 'fp64')}"]
    n = report["n"]
    sizes = {"half_rows": -(-n // report["nprow"]), "half_columns": -(-n // report["npcol"]),
             "half_width": report["panel_width"]}
    rate = report["ranks"] * product["rate"]
    for half, size in sizes.items():
        rate /= 1 + product.get(half, 0) / size
    return (2 / 3 * n**3 + 3 / 2 * n**2) / report["lu"]["seconds"] / rate


@needs_predictions
class Recorded(Folder):
    def test_to_the_digit(self):
        with open(RECORDED, encoding="utf-8") as file:
            recorded = json.load(file)
        self.assertEqual(sorted(recorded), sorted(" ".join(words) for words in RECORDED_CASES))
        again = RECORDED_CASES[-1]
        found = at_once([lambda words=words, i=i: digits_of(words, self.at(f"{i}.json"))
                         for i, words in enumerate((*RECORDED_CASES, again))])
        for words, digits in zip(RECORDED_CASES, found):
            self.assertEqual(digits, recorded[" ".join(words)], words)
        self.assertEqual(found[-1], found[-2])

    def test_exposed_time_does_not_grow(self):
        for words, report in zip(EXPOSED, self.predictions(*[(w[0], "--machine", *w[1:]) for w in EXPOSED])):
            exposed = 100 * (1 - lu_efficiency(report, words[1]))
            self.assertLess(exposed, EXPOSED[words] + 2, words)

    def test_several_configurations_are_as_each_alone(self):
        # Each of them starts after another one has made its communicators and streams.
        both = self.predict("bench", "--machine", H200_X8, "-N", "3000", "-P", "2", "-Q", "2")
        alone = self.predict("mxp", "--machine", H200_X8, "-N", "3000", "-P", "2", "-Q", "2")
        self.assertAlmostEqual(both["mxp"]["lu"]["seconds"] / alone["lu"]["seconds"], 1, delta=1e-6)
        self.assertGreater(both["hpl"]["lu"]["seconds"], both["mxp"]["lu"]["seconds"])
        outcome = run("predict", "hpl", "--machine", H200_X8, "-N", "500,1000", "--nb", "128",
                      "-P", "1,2", "-Q", "2,2", "--repeat", "2")
        self.assert_status(outcome, 0)
        self.assertEqual(outcome.out.count(" PREDICTED\n"), 8, outcome.out)


@needs_predictions
class Report(Folder):
    def test_predicted_stands_in_every_block(self):
        for command, blocks in (("mxp", 5), ("hpl", 4), ("bench", 5 + 4 + 1)):
            outcome = run("predict", command, "--machine", H200, "-N", "2000", "--json", self.at("a.json"))
            self.assert_status(outcome, 0)
            self.assertNotIn("PASSED", outcome.out)
            self.assertNotIn("FAILED", outcome.out)
            heading = "PREDICTED for h200 (not validated on a GPU): nothing was run"
            self.assertEqual(outcome.out.count(f"\n{heading}\n"), blocks, outcome.out)
            report = self.read("a.json")
            for part in (report["mxp"], report["hpl"]) if command == "bench" else (report,):
                for said in part["predicted"], part["runs"][0]["predicted"]:
                    self.assertRegex(said.pop("numbers"), r"^\d+ datasheet, \d+ assumed$")
                    self.assertEqual(said, {"machine": "h200", "corrections": 3,
                                            "validation": "not validated on a GPU"})
                self.assertFalse(part["admissible"])
                self.assertIsNone(part["scaled_residual"])

    def test_trace(self):
        words = ("hpl", "--machine", H200_X8, "-N", "2000", "-P", "2", "-Q", "2", "--repeat", "2")
        report = self.predict(*words, "--trace", self.at("a.trace"))
        trace = self.read("a.trace")
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual({span["pid"] for span in spans}, {0, 1, 2, 3})
        self.assertEqual(len(trace["otherData"]["runs"]), 2)
        for rank in range(4):
            factorizations = [span for span in spans
                              if span["pid"] == rank and span["name"] == "factorization"]
            self.assertEqual(len(factorizations), 2)
            for span, one in zip(factorizations, report["runs"]):
                self.assertAlmostEqual(span["dur"] / 1e6, one["lu"]["seconds"], delta=1e-4)

    def test_what_cannot_be_written(self):
        words = ("predict", "mxp", "--machine", H200, "-N", "1000")
        for option in "--json", "--trace":
            self.assert_refused(run(*words, option, "/dev/full"), "/dev/full", "No space left",
                                printed=True)
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assert_refused(run(*words, stdout=full), "standard output", status=3)


@needs_predictions
class Floors(Folder):
    def test_no_prediction_is_below_operations_over_rate(self):
        cases = [(H200, 5.2e13, 1, ("mxp", "-N", "30000", "--precision", "fp32")),
                 (H200, FP16_RATE, 1, ("mxp", "-N", "60000", "--precision", "fp16")),
                 (H200_X8, FP16_RATE, 8, ("mxp", "-N", "90000", "--precision", "fp16")),
                 (H200_X8, 6e13, 4, ("hpl", "-N", "20000", "-P", "1", "-Q", "4")),
                 (CLUSTER, FP16_RATE, 16, ("mxp", "-N", "60000", "--precision", "fp16", "-P", "4",
                                           "-Q", "4"))]
        found = self.predictions(*[(words[0], "--machine", machine, *words[1:])
                                   for machine, _, _, words in cases])
        for (_, rate, ranks, words), report in zip(cases, found):
            self.assertEqual(report["ranks"], ranks)
            self.assertGreaterEqual(report["lu"]["seconds"], 2 / 3 * report["n"]**3 / (rate * ranks),
                                    words)

    def test_an_ideal_machine_takes_the_time_of_the_products(self):
        # Where nothing but the updates' products takes time, LU takes at least the products of the
        # rank that has most of them, and at most the sum over the steps of the longest product in
        # each: a panel waits for no more than its columns' part of the update before it. What the
        # ranks have differs from step to step, and cannot overlap. With a look-ahead, all
        # multiprocessors are left to the products (--reserve 0). Beyond one step, a rank's panels
        # may delay its products, since a stream's order is fixed: so look-ahead 0 and 1 alone.
        machine = self.machine(H200_X8, ideal)
        cases = [(n, p, q, ahead) for n, p, q in ((30000, 1, 1), (50001, 1, 4), (50001, 4, 1),
                                                  (50001, 2, 4)) for ahead in (0, 1)]
        found = self.predictions(*[("mxp", "--machine", machine, "-N", str(n), "--nb", "1024",
                                    "--precision", "fp16", "-P", str(p), "-Q", str(q), "--lookahead",
                                    str(ahead), "--reserve", "0") for n, p, q, ahead in cases])
        for (n, p, q, ahead), report in zip(cases, found):
            self.assertEqual(report["panel_width"], 1024)
            most_loaded, in_step = product_bounds(n, 1024, p, q)
            self.assertGreaterEqual(report["lu"]["seconds"], most_loaded * (1 - 1e-9), (p, q, ahead))
            self.assertLessEqual(report["lu"]["seconds"], in_step * (1 + 1e-4), (p, q, ahead))

    def test_panels_hide_behind_updates(self):
        words = ("mxp", "--machine", H200_X8, "-N", "120000", "-P", "2", "-Q", "4", "--reserve", "0")
        none, one = self.predictions(*[(*words, "--lookahead", ahead) for ahead in ("0", "1")])
        self.assertLess(one["lu"]["seconds"], none["lu"]["seconds"])

    def test_more_ranks_are_faster(self):
        reports = self.predictions(*[("mxp", "--machine", CLUSTER, "-N", "120000", "--ranks", ranks)
                                     for ranks in ("1", "2", "4", "8", "16")])
        seconds = [report["time_seconds"] for report in reports]
        self.assertEqual(seconds, sorted(seconds, reverse=True))
        self.assertEqual(len(set(seconds)), 5)

    def test_products_that_hold_their_multiprocessors(self):
        machines = [self.machine(H200_X8, lambda m, holds=holds: m["ranks"][0]["holds"].update(value=holds))
                    for holds in (True, False)]
        words = ("mxp", "-N", "60001", "-P", "2", "-Q", "2", "--reserve", "0", "--precision", "fp16")
        found = self.predictions(*[(*words, "--machine", machine, "--lookahead", ahead)
                                   for ahead in ("0", "1") for machine in machines])
        seconds = [report["lu"]["seconds"] for report in found]
        self.assertAlmostEqual(seconds[0], seconds[1], delta=1e-6 * seconds[1])  # nothing runs side by side
        self.assertNotEqual(seconds[2], seconds[3])
        self.assertGreater(min(seconds), 2 / 3 * 60001**3 / (4 * FP16_RATE))

    def test_updates_beside_panels_run_in_green_contexts_or_follow_a_hint(self):
        def with_unit(unit):
            def change(machine):
                gpu, = machine["ranks"]
                gpu["bandwidth_part"]["value"] = 1  # a part of the GPU slows whatever moves bytes
                if unit:
                    gpu["part_unit"] = {"value": unit, "origin": "assumed", "source": "a test"}
            return self.machine(H200, change)

        # 72 multiprocessors are left to updates, with and without parts of 4 of them.
        words = ("mxp", "-N", "60000", "--precision", "fp16", "--lookahead", "1", "--reserve", "60")
        hint, parts, no_room = (report["lu"]["seconds"] for report in self.predictions(
            *[(*words, "--machine", with_unit(unit)) for unit in (None, 4, 200)]))
        self.assertEqual(no_room, hint)
        self.assertGreater(parts, 1.005 * hint)  # not products alone are slowed there
        self.assertLess(parts, 1.05 * hint)


@needs_predictions
class EveryKindOfRun(Folder):
    def check(self, *cases):
        for words, report in zip(cases, self.predictions(*cases)):
            with self.subTest(words=words):
                seconds = report["time_seconds"]
                self.assertTrue(0 < report["lu"]["seconds"] < seconds < 60, seconds)

    def test_pivoting_on_several_gpus(self):
        self.check(*[(command, "--machine", H200_X8, "-N", "1501", "--nb", "128", "-P", p, "-Q", q,
                      "--comm", comm, *more)
                     for command, more in (("hpl", ()), ("mxp", ("--pivot", "partial")))
                     for comm in ("nccl", "mpi", "staged") for p, q in (("1", "4"), ("2", "2"), ("3", "1"))])

    def test_look_ahead(self):
        self.check(*[(command, "--machine", H200_X8, "-N", "3000", "--nb", "256", "-P", "2", "-Q", "2",
                      "--lookahead", ahead)
                     for command in ("mxp", "hpl") for ahead in ("0", "1")])

    def test_broadcasts(self):
        kinds = ("1ring", "1ring-modified", "2ring", "2ring-modified", "long", "long-modified", "ibcast")
        self.check(*[("mxp", "--machine", CLUSTER, "-N", "2000", "--nb", "128", "-P", "2", "-Q", "5",
                      "--bcast", kind, "--comm", "staged") for kind in kinds],
                   *[("hpl", "--machine", H200_X8, "-N", "500", "--nb", "64", "-P", "2", "-Q", "4",
                      "--bcast", kind, "--comm", "staged") for kind in kinds])

    def test_shapes(self):
        self.check(*[(command, "--machine", H200_X8, "-N", n, "--nb", "64", "-P", p, "-Q", q)
                     for command in ("mxp", "hpl")
                     for n, p, q in (("1", "1", "1"), ("1", "2", "4"), ("100", "2", "4"), ("999", "1", "7"),
                                     ("999", "7", "1"), ("1025", "1", "1"))])

    def test_precisions_and_methods(self):
        self.check(*[("mxp", "--machine", H200_X8, "-N", "1999", "-P", "2", "-Q", "2", *words)
                     for words in (("--precision", "fp16"), ("--precision", "bf16"),
                                   ("--precision", "fp16x3"), ("--precision", "fp32"), ("--refine", "gmres"),
                                   ("--matrix", "fasi-higham"), ("--corrections", "1"))])


class Help(Case):
    def test_says_what_predict_reads(self):
        for command in "mxp", "hpl", "bench":
            outcome = run("predict", command, "--help")
            self.assert_status(outcome, 0)
            self.assertIn("--machine", outcome.out)
            self.assertNotIn("OMP_NUM_THREADS", outcome.out)
        self.assertIn("--calibrate", run("predict", "--help").out)


# Words behind `predict`, and what the one line of the refusal must contain.
BAD_WORDS = [
    ((), ["predict what?", "mxp|hpl|bench", "--calibrate FILE"]),
    (("solve",), ["--machine", "missing"]),
    (("compare",), ["'compare'", "mxp, hpl, bench, solve"]),
    (("info",), ["'info'", "mxp, hpl, bench"]),
    (("--machine", "h200"), ["unknown option '--machine'"]),
    (("mxp", "hpl"), ["unknown argument 'hpl'"]),
    (("mxp",), ["--machine is missing", "a machine file, or the name of a machine"]),
    (("mxp", "--machine"), ["--machine", "value is missing"]),
    (("mxp", "--machine", H200, "--machine", H200), ["--machine", "more than once"]),
    (("mxp", "--machine", H200, "-N", "x"), ["--n", "'x'", "whole number"]),
    (("mxp", "--machine", H200, "--ranks", "0"), ["--ranks", "'0'", "from 1"]),
    (("mxp", "--machine", H200, "--corrections", "0"), ["--corrections", "'0'"]),
    (("mxp", "--machine", H200, "--matrix", "dominant"), ["--matrix dominant", "scaled-diagonal"]),
    (("mxp", "--machine", H200, "--profile", "a"), ["--profile", "without predict"]),
    (("mxp", "--machine", H200, "--budget", "1"), ["unknown option '--budget'"]),
    (("mxp", "--calibrate", "a"), ["unknown option '--calibrate'"]),
    (("--calibrate", "/nowhere/at/all.json"), ["--calibrate", "/nowhere/at/all.json"]),
    (("--calibrate", "a", "--device", "cpu"), ["measures GPUs", "allowed: on machines with GPUs", "shipped machine files"]),
    (("--calibrate", "a", "--budget", "0"), ["--budget", "'0'"]),
]

# The same, of the machine and what does not fit it.
BAD_FOR_MACHINE = [
    (("mxp", "--machine", "h201"), ["'h201'", "a100-x4, b200, b200-cluster, gh200, h100-cluster, h100-x8, h200, h200-cluster, h200-x8"]),
    (("mxp", "--machine", "/nowhere.json"), ["'/nowhere.json'", "No such file"]),
    (("mxp", "--machine", H200, "--ranks", "2"), ["2 ranks", "h200", "1 to 1"]),
    (("mxp", "--machine", CLUSTER, "-P", "41", "-Q", "25"), ["1025 ranks", "h200-cluster", "1 to 1024"]),
    (("mxp", "--machine", H200_X8, "--ranks", "4", "-P", "1", "-Q", "8"), ["-Q 8", "8 ranks", "4 run"]),
    (("mxp", "--machine", H200_X8, "--ranks", "8", "-P", "3"), ["-P 3", "8 ranks"]),
    (("mxp", "--machine", H200, "-N", "1000000"), ["-N 1000000 does not fit", "GiB", "at most -N"]),
    (("hpl", "--machine", CLUSTER, "-N", "900000", "--ranks", "16"), ["-N 900000 does not fit", "at most -N"]),
    (("mxp", "--machine", H200, "--device", "cpu"), ["--device cpu", "--device cuda"]),
    (("mxp", "--machine", H200, "--gpus", "5"), ["--gpus 5", "0 to 0"]),
    (("mxp", "--machine", H200, "-N", "99", "--json", "/nowhere/a.json"), ["--json", "/nowhere/a.json"]),
    (("mxp", "--machine", H200, "-N", "99", "--trace", "/nowhere/a"), ["--trace", "/nowhere/a"]),
]


@unittest.skipIf(PREDICTS, "this build has predictions")
class WithoutPredictions(Case):
    def test_one_line(self):
        for words in ("mxp", "--machine", "h200"), ("mxp",), ("solve", "-x"), ("--calibrate", "a"), ():
            for ranks in 0, 2:
                self.assert_refused(run("predict", *words, ranks=ranks), "this build has no predictions",
                                    "allowed: one by cmake -DSPEEDWELL_PREDICT=ON", "libsimgrid-dev")

    def test_help(self):
        for words in ("help", "predict"), ("predict", "--help"), ("predict", "mxp", "--help"):
            outcome = run(*words)
            self.assert_status(outcome, 0)
            self.assertTrue(outcome.out.endswith("(Debian: libsimgrid-dev)\n"), outcome.out)


@needs_predictions
class Refusals(Folder):
    def check(self, cases):
        calls = [lambda words=words: run("predict", *words, folder=self.folder) for words, _ in cases]
        for (words, needles), outcome in zip(cases, at_once(calls)):
            with self.subTest(words=words):
                self.assert_refused(outcome, *needles)
                self.assertEqual(outcome.err.count("\n"), 1, outcome.err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_words(self):
        self.check(BAD_WORDS)

    def test_machines(self):
        self.check(BAD_FOR_MACHINE)

    def test_machine_files(self):
        def misspell(machine):
            machine["mesage"] = machine.pop("message")

        def add(machine):
            machine["ranks"][0]["lunch"] = machine["ranks"][0]["launch"]

        cases = [(lambda m: m["ranks"][0]["start"].update(value=-1), ["ranks[0].start.value is -1", "from 0"]),
                 (lambda m: m["ranks"][0]["start"].pop("value"), ["ranks[0].start.value is missing"]),
                 (lambda m: m["ranks"][0].pop("tile"), ["ranks[0].tile is missing"]),
                 (lambda m: m["ranks"][0]["operations"].pop("product fp64"), ["product fp64 is missing"]),
                 (lambda m: m.update(kind="cpu"), ["kind is 'cpu'; allowed: gpu"]),
                 (misspell, ["message is missing"]), (add, ["ranks[0].lunch", "no key", "launch"])]
        paths = [self.machine(H200, change) for change, _ in cases]
        for path, (_, needles) in zip(paths, cases):
            outcome = run("predict", "mxp", "--machine", path, "-N", "100", "--json", self.at("a"))
            self.assert_refused(outcome, path, *needles)
        self.assertFalse(os.path.exists(self.at("a")))

    def test_several_ranks(self):
        for words in (("mxp", "--machine", H200, "-N", "100"), ("compare",)):
            self.assert_refused(run("predict", *words, ranks=2), "predict")
        for words in ("mxp", "--machine", H200), ("solve", "--machine", H200, "-N", "100"):
            self.assert_refused(run("predict", *words, ranks=2), "without mpirun")

    def test_without_the_program_that_simulates(self):
        alone = shutil.copy(COMMAND, self.at("speedwell"))
        process = subprocess.run([alone, "predict", "mxp", "--machine", "h200"], text=True,
                                 capture_output=True, check=False)
        self.assert_refused(Outcome(process), "speedwell-predict", "allowed: where it is beside speedwell")


def record():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.json")
        text = json.dumps({" ".join(words): digits_of(words, path) for words in RECORDED_CASES}, indent=2)
    RECORDED.write_text(text + "\n", encoding="utf-8")


@needs_predictions
class Truth(Folder):
    """What a report says of nodes, and of where numbers are from."""

    def test_nodes_are_those_of_the_machine(self):
        eight, sixteen = self.predictions(
            ("mxp", "--machine", "h200-x8", "-N", "30000"),
            ("mxp", "--machine", "h200-cluster", "-N", "30000", "--ranks", "16"))
        self.assertEqual(eight["hosts"], ["node0"])
        self.assertEqual(sixteen["hosts"], ["node0", "node1"])
        text = run("predict", "mxp", "--machine", "h200-x8", "-N", "30000").out
        self.assertIn(": 8 on 1 node, the first node0\n", text)

    def test_origins_are_those_of_the_file(self):
        def measured(machine):
            machine["ranks"][0]["operations"]["product fp16"]["origin"] = "measured"

        shipped, own = self.predictions(*(
            ("mxp", "--machine", path, "-N", "30000")
            for path in (H200, self.machine(H200, measured))))
        self.assertRegex(shipped["sources"]["precision"], r"\(by the machine file: assumed\)$")
        self.assertRegex(own["sources"]["precision"],
                         r"\(by the machine file: bf16 assumed, fp16 measured, fp32 assumed\)$")
        shares = [{word: int(count) for count, word in
                   (one.split() for one in report["predicted"]["numbers"].split(", "))}
                  for report in (shipped, own)]
        # A rate and three half sizes have one origin.
        self.assertEqual(shares[1]["measured"] - shares[0].get("measured", 0), 4)
        self.assertEqual(shares[0]["assumed"] - shares[1]["assumed"], 4)
        text = run("predict", "mxp", "--machine", H200, "-N", "30000").out
        self.assertIn(f"NUMBERS    : of the machine file: {shipped['predicted']['numbers']}\n", text)
        self.assertNotIn("(measured)", text)


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    else:
        unittest.main()
