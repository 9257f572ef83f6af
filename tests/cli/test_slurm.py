#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the batch scripts of run/slurm. Fake scripts take the place of speedwell and srun, and report how
they were called."""

import re
import shutil
import unittest

from test_launchers import SPEEDWELL, SLURM, Case, executable

SRUN = """#!/usr/bin/env bash
if [ "$*" = --mpi=list ]; then
  printf 'MPI plugin types are...\\n\\tnone\\n\\t%s\\n' "${SRUN_MPI-pmix}" >&2
  exit "${SRUN_LIST_STATUS:-0}"
fi
printf '%s\\n' "$@" >"$SRUN_RECORD"
for score in 1.5e+05 9.0e+04; do
  printf '       GFLOPS = %s, per GPU = 1 --- the score\\n    LU GFLOPS = 9e+09, per GPU = 2\\n' $score
done
exit "${SRUN_STATUS:-0}"
"""
GPU_SCRIPTS = ["one-node-8-gpus.sbatch", "many-nodes.sbatch"]
SCRIPTS = [*GPU_SCRIPTS, "cpu-nodes.sbatch"]


class Slurm(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "house"
        self.speedwell = executable(self.home / "bin/speedwell", SPEEDWELL)
        (self.home / "run/slurm").mkdir(parents=True)
        shutil.copy(SLURM / "job.sh", self.home / "run/slurm")
        executable(self.tools / "srun", SRUN)

    def submit(self, name, *words, edits=None, nodes=1, **environment):
        """Runs a copy of the script in another folder, as sbatch does. `edits` changes the settings
        in its top block."""
        text = (SLURM / name).read_text()
        for variable, value in (edits or {}).items():
            text, count = re.subn(rf"^{variable}=.*$", f"{variable}={value}", text, flags=re.M)
            self.assertEqual(count, 1, variable)
        script = executable(self.folder / "spool/slurm_script", text)
        record = self.folder / "record"
        record.unlink(missing_ok=True)
        per_node = re.search(r"^#SBATCH --ntasks-per-node=(\d+)$", text, re.M).group(1)
        variables = {"SLURM_JOB_ID": "42", "SLURM_JOB_NUM_NODES": str(nodes), "SRUN_RECORD": str(record),
                     "SLURM_NTASKS_PER_NODE": per_node, "SLURM_CPUS_ON_NODE": "96",
                     "SLURM_SUBMIT_DIR": str(self.home), **environment}
        if name in GPU_SCRIPTS:
            variables.setdefault("SLURM_GPUS_ON_NODE", "8")
        done = self.start([script, *words], {k: v for k, v in variables.items() if v is not None})
        done.arguments = record.read_text().splitlines() if record.exists() else []
        return done

    def launched(self, *arguments, **keywords):
        done = self.submit(*arguments, **keywords)
        self.assertEqual(done.returncode, 0, done.stderr)
        at = done.arguments.index(str(self.speedwell))
        return done.arguments[:at], done.arguments[at + 1:]

    def test_one_node(self):
        srun, speedwell = self.launched("one-node-8-gpus.sbatch")
        self.assertEqual(srun, [
            "--mpi=pmix", "--nodes=1", "--ntasks=8", "--ntasks-per-node=8", "--cpus-per-task=12",
            "--cpu-bind=cores", "--mem-bind=local", "--distribution=block:block",
            "--kill-on-bad-exit=1", "--gpus-per-node=8", "--gpu-bind=none"])
        self.assertEqual(speedwell, [
            "mxp", "-P", "2", "-Q", "4", "--json", f"{self.home}/speedwell-42.json", "--progress",
            "--device", "cuda", "--time-target", "300"])

    def test_cpu_nodes(self):
        srun, speedwell = self.launched("cpu-nodes.sbatch", nodes=4)
        self.assertEqual(srun, [
            "--mpi=pmix", "--nodes=4", "--ntasks=8", "--ntasks-per-node=2", "--cpus-per-task=48",
            "--cpu-bind=cores", "--mem-bind=local", "--distribution=block:block",
            "--kill-on-bad-exit=1"])
        self.assertEqual(speedwell, [
            "mxp", "-P", "2", "-Q", "4", "--json", f"{self.home}/speedwell-42.json", "--progress",
            "--time-target", "300", "--device", "cpu"])

    def test_grid(self):
        for nodes, grid in ((1, "2x4"), (2, "4x4"), (3, "4x6"), (4, "4x8"), (16, "8x16"), (18, "12x12")):
            with self.subTest(nodes=nodes):
                srun, speedwell = self.launched("many-nodes.sbatch", nodes=nodes)
                self.assertIn(f"--ntasks={8 * nodes}", srun)
                self.assertEqual(speedwell[1:5], ["-P", grid.split("x")[0], "-Q", grid.split("x")[1]])
        for edits, grid in (({"p": 8}, ["8", "4"]), ({"q": 16}, ["2", "16"]),
                            ({"p": 32, "q": 1}, ["32", "1"])):
            with self.subTest(edits=edits):
                speedwell = self.launched("many-nodes.sbatch", nodes=4, edits=edits)[1]
                self.assertEqual([speedwell[2], speedwell[4]], grid)
        seven = self.launched("one-node-8-gpus.sbatch", edits={"gpus_per_node": 7},
                              SLURM_NTASKS_PER_NODE=None)[1]
        self.assertEqual(seven[1:5], ["-P", "1", "-Q", "7"])

    def test_top_block(self):
        results = self.folder / "new/results"
        srun, speedwell = self.launched(
            "many-nodes.sbatch", "--seed", "7", nodes=4,
            edits={"nodes": 2, "gpus": "7,6,5,4,3,2,1,0", "cpus_per_rank": 6, "n": 300000, "nb": 3072,
                   "cpu_bind": "map_ldom:1,1,1,1,0,0,0,0", "mem_bind": "none", "mpi": "pmix_v4",
                   "options": "(--lookahead 1)", "results": results}, SRUN_MPI="pmix_v4")
        for option in ("--mpi=pmix_v4", "--nodes=2", "--ntasks=16", "--cpus-per-task=6",
                       "--cpu-bind=map_ldom:1,1,1,1,0,0,0,0", "--mem-bind=none"):
            self.assertIn(option, srun)
        self.assertEqual(speedwell, [
            "mxp", "-P", "4", "-Q", "4", "--json", f"{results}/speedwell-42.json", "--progress",
            "--device", "cuda", "--gpus", "7,6,5,4,3,2,1,0", "-N", "300000", "-NB", "3072",
            "--lookahead", "1", "--seed", "7"])
        self.assertTrue((results / "speedwell-42.txt").exists())

    def test_size_from_the_command_line(self):
        for words in (("-N", "1000"), ("-N1000",), ("--n=1000",), ("--time-target", "60")):
            with self.subTest(words=words):
                speedwell = self.launched("one-node-8-gpus.sbatch", *words)[1]
                self.assertNotIn("300", speedwell)
                self.assertEqual(speedwell[-len(words):], list(words))

    def test_what_to_submit(self):
        for name in SCRIPTS:
            with self.subTest(name=name):
                done = self.submit(name)
                self.assertEqual(done.lines[-1], (
                    "speedwell job: PASSED. To submit: score 1.5e+05 GFLOP/s, "
                    f"report {self.home}/speedwell-42.txt, result {self.home}/speedwell-42.json"))
                self.assertTrue(done.lines[0].startswith("speedwell job: srun --mpi=pmix "), done.lines[0])
                self.assertEqual((self.home / "speedwell-42.txt").read_text(), done.stdout)

    def test_both_benchmarks(self):
        for name in SCRIPTS:
            with self.subTest(name=name):
                done = self.submit(name, edits={"benchmark": "bench"})
                folder = f"{self.home}/speedwell-42-submission"
                self.assertTrue(done.lines[-1].endswith(f", folder {folder} (speedwell verify checks it)"),
                                done.lines[-1])
                speedwell = done.arguments[done.arguments.index(str(self.speedwell)) + 1:]
                self.assertEqual(speedwell[0], "bench")
                self.assertEqual(speedwell[speedwell.index("--submission") + 1], folder)
        self.assert_refused(self.submit(SCRIPTS[0], edits={"benchmark": "hpl"}), "benchmark='hpl'",
                            "allowed: mxp, bench")

    def test_failed_run(self):
        for status in (1, 2, 3, 137):
            done = self.submit("one-node-8-gpus.sbatch", SRUN_STATUS=str(status))
            self.assertEqual(done.returncode, status)
            self.assertIn(f"nothing to submit: speedwell ended with status {status}", done.lines[-1])

    def test_where_speedwell_is(self):
        built = executable(self.home / "build/release/speedwell", SPEEDWELL)
        self.assertIn(str(built), self.submit("cpu-nodes.sbatch").arguments)
        other = executable(self.folder / "other/speedwell", SPEEDWELL)
        self.assertIn(str(other), self.submit("cpu-nodes.sbatch", SPEEDWELL=str(other)).arguments)
        done = self.submit("cpu-nodes.sbatch", SLURM_SUBMIT_DIR=str(self.folder),
                           SPEEDWELL_HOME=str(self.home))
        self.assertIn(str(built), done.arguments)
        built.unlink()
        self.speedwell.unlink()
        self.assert_refused(self.submit("cpu-nodes.sbatch"), "no speedwell command", "run/setup")

    def test_refused(self):
        many, one, cpu = "many-nodes.sbatch", "one-node-8-gpus.sbatch", "cpu-nodes.sbatch"
        blocked = self.folder / "file"
        blocked.write_text("")
        for name, edits, environment, needles in (
                (one, {}, {"SLURM_JOB_ID": None}, ["not in a Slurm job", "sbatch"]),
                (one, {}, {"SRUN_MPI": "pmi2"}, ["no 'pmix'", "srun --mpi=list"]),
                (one, {}, {"SRUN_MPI": "pmix_v4"}, ["no 'pmix'"]),
                (one, {}, {"SRUN_LIST_STATUS": "1"}, ["'srun --mpi=list' failed"]),
                (one, {}, {"SPEEDWELL_HOME": "/nowhere"}, ["no run/slurm/job.sh in /nowhere"]),
                (one, {}, {"SLURM_GPUS_ON_NODE": "4"}, ["gpus_per_node=8", "has 4"]),
                (one, {"gpus_per_node": 4}, {}, ["4 ranks", "--ntasks-per-node=8"]),
                (one, {"gpus": "0,1"}, {}, ["gpus='0,1'", "2 GPUs for 8 ranks"]),
                (one, {"p": 3}, {}, ["p=3", "8 ranks"]),
                (one, {"p": "x"}, {}, ["p='x'", "whole number"]),
                (one, {"q": 0}, {}, ["q='0'", "whole number"]),
                (one, {"results": blocked / "a"}, {}, ["results=", "cannot be written"]),
                (many, {"nodes": 3}, {}, ["nodes=3", "has 2"]),
                (many, {"nodes": "two"}, {}, ["nodes='two'"]),
                (cpu, {"ranks_per_node": "0"}, {}, ["ranks_per_node='0'"]),
                (cpu, {}, {"SLURM_CPUS_ON_NODE": "1"}, ["cpus_per_rank='0'"])):
            with self.subTest(name=name, edits=edits, environment=environment):
                done = self.submit(name, edits=edits, nodes=2, **environment)
                self.assert_refused(done, "speedwell job: ", *needles)
                self.assertEqual(done.arguments, [])
        (self.tools / "srun").unlink()
        self.assert_refused(self.submit(one), "srun is not in PATH")

    def test_sbatch_reads_the_head(self):
        """sbatch reads #SBATCH lines only before the first command."""
        self.assertEqual({path.name for path in SLURM.iterdir()}, {"job.sh", *SCRIPTS})
        for name in SCRIPTS:
            lines = (SLURM / name).read_text().splitlines()
            command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
            last = max(i for i, line in enumerate(lines) if line.startswith("#SBATCH"))
            self.assertLess(last, command, name)


if __name__ == "__main__":
    unittest.main()
