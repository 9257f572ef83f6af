#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell check` with ranks that are slowed on purpose, and with baselines.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py. Its measurements need the cores for themselves.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from test_cli import COMMAND, Case, run, run_apart

CHECK = ("check", "--device", "cpu")


def rank_of(process):
    """The rank of a process of the command; None if it is another process, or gone."""
    try:
        if os.readlink(f"/proc/{process}/exe") != os.path.realpath(COMMAND):
            return None
        text = pathlib.Path(f"/proc/{process}/environ").read_text(encoding="utf-8")
    except OSError:
        return None
    variables = dict(one.partition("=")[::2] for one in text.split("\0"))
    return int(variables.get("OMPI_COMM_WORLD_RANK", variables.get("PMI_RANK", -1)))


@contextlib.contextmanager
def beside(work):
    """Calls work() again and again on a thread."""
    done = threading.Event()

    def loop():
        while not done.is_set():
            work()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def stop_in_bursts(rank):
    """Stops the rank for nine tenths of 50 ms."""
    found = [int(one) for one in os.listdir("/proc") if one.isdigit() and rank_of(one) == rank]
    for act, seconds in (signal.SIGSTOP, 0.045), (signal.SIGCONT, 0.005):
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, act)
        time.sleep(seconds)


class Check(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, name):
        return os.path.join(self.folder, name)

    def measured(self, *parts, more=("--seconds", "3")):
        """The JSON of a check, whose status agrees with its outliers. A part of the job is a number
        of ranks, and words before the command."""
        path = self.at("check.json")
        lines = []
        for ranks, *before in parts:
            lines += [[*before, COMMAND, *CHECK, *more, "--json", path]] * ranks
        done = run_apart(*lines, patience=300)
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        self.assert_status(done, 1 if found["outliers"] else 0)
        for outlier in found["outliers"]:
            self.assertIn(f"rank {outlier['rank']} on {outlier['host']}: {outlier['words']}",
                          done.out)
        return found

    def assert_slow(self, measure, rank, figure):
        """The rank stands out in this figure, and no other one is slower: in one of five checks,
        since whatever else this machine does spreads the figures of all ranks."""
        for _ in range(5):
            found = measure()
            if any(one["rank"] == rank and one["words"].startswith(figure)
                   for one in found["outliers"]):
                break
        named = [one for one in found["outliers"] if one["words"].startswith(figure)]
        self.assertIn(rank, [one["rank"] for one in named], found)
        values = next(one["values"] for one in found["figures"] if one["name"].startswith(figure))
        self.assertEqual(values.index(min(values)), rank, values)

    def test_a_rank_that_stops_now_and_then(self):
        with beside(lambda: stop_in_bursts(2)):
            self.assert_slow(lambda: self.measured((4,)), 2, "update")

    def test_a_busy_neighbour(self):
        """The last rank shares its core with seven others, the first three share one."""
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            self.skipTest("needs two cores")
        pinned = [["taskset", "-c", str(core)] for core in cores[:2]]
        busy = [subprocess.Popen([*pinned[1], "sh", "-c", "while :; do :; done"],
                                 start_new_session=True)
                for _ in range(7)]
        try:
            self.assert_slow(lambda: self.measured((3, *pinned[0]), (1, *pinned[1])), 3, "update")
        finally:
            for process in busy:
                process.kill()
                process.wait()

    def test_fewer_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            self.skipTest("needs two cores")
        found = self.measured((2,), (1, "taskset", "-c", str(cores[0])), more=("--seconds", "1"))
        (words,) = [one["words"] for one in found["outliers"] if one["words"].startswith("cores")]
        self.assertRegex(words, r"^cores is 1 of (\d+), and \d+ of \1 at 2 of 3 places$")

    def test_figures(self):
        found = self.measured((6,), more=("--seconds", "2", "-P", "3", "-Q", "2"))
        self.assertEqual((found["nprow"], found["npcol"]), (3, 2))
        names = [one["name"].split()[0] for one in found["figures"]]
        self.assertEqual(names, ["update", "product", "memory", "free", "latency", "bandwidth",
                                 "latency", "bandwidth"])
        for figure in found["figures"]:
            self.assertEqual(len(figure["values"]), 6)
            self.assertGreater(min(figure["values"]), 0, figure)
        self.assertLess(found["seconds"], 60)

    def test_a_baseline(self):
        path = self.at("earlier.json")
        words = ("check", "--device", "cpu", "--seconds", "1")
        self.assert_status(run(*words, "--json", path), 0)
        with open(path, encoding="utf-8") as file:
            text = file.read()

        def again(change):
            """The check beside the earlier one, after a change of that."""
            document = json.loads(text)
            change(document, {figure["name"]: figure for figure in document["figures"]})
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file)
            return run(*words, "--baseline", path)

        slower = again(lambda _, figures: figures["memory bandwidth"].update(values=[1e6], deviations=[1]))
        self.assert_status(slower, 1)
        self.assertRegex(slower.out, r"rank 0 on .*: memory bandwidth (99|100)\.\d % below the baseline of")
        self.assertIn("it has 1 of 1 nodes", slower.out)
        moved = again(lambda document, _: document["places"][0].update(host="elsewhere"))
        self.assert_status(moved, 0)
        self.assertIn("it has 0 of 1 nodes", moved.out)
        self.assert_refused(again(lambda document, _: document.update(device_description="Intel 80486")),
                            "another machine", "device is Intel 80486", "allowed:")
        self.assert_refused(again(lambda document, _: document["places"].append(document["places"][0])),
                            "2 ranks or GPUs", "and this check 1", "allowed: as many")
        self.assert_refused(run(*words, "--json", path, "--baseline", path), "both name")

    def test_what_is_no_baseline(self):
        for text in "", "[]", "{}", "{", '{"benchmark": "mxp"}', "[" * 100, '{"benchmark": "check"}':
            path = self.at("baseline.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.subTest(text):
                self.assert_refused(run(*CHECK, "--baseline", path), "--baseline",
                                    "allowed: a file that speedwell check --json")
        for path in self.at("none.json"), self.folder:
            self.assert_refused(run(*CHECK, "--baseline", path), "--baseline", path)

    def test_bad_input(self):
        for words, needle in ((("--seconds", "0"), "--seconds"), (("--seconds", "61"), "at most 60"),
                              (("--limit", "0"), "--limit"), (("-P", "2"), "1 rank"),
                              (("-N", "5"), "unknown option '-N'"), (("extra",), "'extra'")):
            self.assert_refused(run("check", *words), needle)


if __name__ == "__main__":
    unittest.main()
