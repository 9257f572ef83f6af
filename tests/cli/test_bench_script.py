#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how many ranks run/bench starts, and what run/setup builds, with copies of them in a folder
where cmake and mpirun are fakes. `speedwell info` is that of the command, which has emulated GPUs; any other command of speedwell is
a fake that prints its arguments.

SPEEDWELL_COMMAND: the command with emulated GPUs.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from test_cli import COMMAND, PATIENCE
from test_launchers import ROOT, executable

# ssh: without it Open MPI does not start.
TOOLS = ("bash", "basename", "dirname", "env", "grep", "id", "nproc", "ssh")
CMAKE = """#!/usr/bin/env bash
echo "$*" >>"$SPEEDWELL_CALLS"
"""
MPIRUN = """#!/usr/bin/env bash
[ "$1" != --version ] || exit 0
echo "ranks $2"
shift 2
exec "$@"
"""
SPEEDWELL = f"""#!/usr/bin/env bash
[ "$1" != info ] || exec {COMMAND} info
printf 'argument %s\\n' "$@"
"""
NO_LAUNCHER = r"OMPI_.*|PMI.*|SLURM_.*|SPEEDWELL_EMULATED_.*|CUDA_.*"


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name).resolve()
        (self.home / "run").mkdir()
        for name in ("bench", "setup", "lib.sh"):
            shutil.copy(ROOT / "run" / name, self.home / "run")
        self.tools = self.home / "tools"
        self.tools.mkdir()
        for tool in TOOLS:
            (self.tools / tool).symlink_to(shutil.which(tool))
        executable(self.tools / "cmake", CMAKE)
        executable(self.tools / "mpirun", MPIRUN)
        self.speedwell = executable(self.home / "build/release/speedwell", SPEEDWELL)

    def script(self, name, *words, **environment):
        """The end of a script, with what it says."""
        clean = {k: v for k, v in os.environ.items() if not re.fullmatch(NO_LAUNCHER, k)}
        done = subprocess.run([self.home / "run" / name, *words], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE, cwd=self.home,
                              env=clean | {"PATH": str(self.tools),
                                           "SPEEDWELL_CALLS": str(self.home / "calls"), **environment})
        done.said = [line for line in done.stderr.splitlines() if "Debian" not in line]
        return done


class Ranks(Scripts):
    def bench(self, *words, gpus=0, **environment):
        """The end of run/bench, with the ranks it starts (None: by no mpirun)."""
        done = self.script("bench", *words, SPEEDWELL_EMULATED_GPUS=str(gpus),
                           SPEEDWELL_EMULATED_MEMORY=str(1 << 30), **environment)
        ranks = re.search(r"^ranks (\d+)$", done.stdout, re.M)
        done.ranks = int(ranks.group(1)) if ranks else None
        done.arguments = re.findall(r"^argument (.*)$", done.stdout, re.M)
        return done

    def assert_starts(self, ranks, done, *needles):
        self.assertEqual((done.returncode, done.ranks), (0, ranks), done.stdout + done.stderr)
        self.assertEqual(done.arguments[0], "bench")
        self.assertEqual(len(done.said), 1 if needles else 0, done.stderr)
        for needle in needles:
            self.assertIn(needle, done.said[0])

    def test_a_rank_for_each_gpu(self):
        self.assert_starts(3, self.bench(gpus=3), "a rank for each of the 3 GPUs", "--ranks N")
        self.assert_starts(1, self.bench(gpus=1))
        self.assert_starts(1, self.bench(gpus=0))

    def test_what_was_asked_for(self):
        for words in ("--ranks", "2"), ("-np", "2"):
            self.assert_starts(2, self.bench(*words, gpus=3))
        for words in ("--gpus", "1,2"), ("--gpus=1,2",):
            self.assert_starts(2, self.bench(*words, gpus=3), "each GPU of --gpus: 2")
        for words in ("--device", "cpu"), ("--device=cpu",):
            self.assert_starts(1, self.bench(*words, gpus=3))
        self.assertEqual(self.bench("--nb", "64").arguments,
                         ["bench", "--nb", "64", "--time-target", "60"])

    def test_tasks_of_a_slurm_job(self):
        for tasks in (1, 2):
            self.assert_starts(tasks, self.bench(gpus=3, SLURM_NTASKS=str(tasks)),
                               f"{tasks} ranks, as SLURM_NTASKS says")
        self.assert_starts(4, self.bench("--ranks", "4", gpus=3, SLURM_NTASKS="2"))

    def test_a_rank_of_a_launcher(self):
        for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
            self.assert_starts(None, self.bench(gpus=3, **{variable: "2"}))
            refused = self.bench("--ranks", "2", **{variable: "2"})
            self.assertEqual((refused.returncode, len(refused.said)), (2, 1), refused.stderr)
        self.speedwell.unlink()
        refused = self.bench(OMPI_COMM_WORLD_SIZE="2")
        self.assertEqual((refused.returncode, len(refused.said)), (2, 1), refused.stderr)
        self.assertIn("run/setup", refused.said[0])


class Setup(Scripts):
    def calls(self, *words):
        """The presets or folders that run/setup configures, builds and installs."""
        done = self.script("setup", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = self.home / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def test_the_library_alone(self):
        configured, built, installed = self.calls("--library", "/somewhere")
        self.assertIn("--preset library ", configured)
        self.assertIn(f"--build {self.home}/build/library ", built)
        self.assertEqual(installed, f"--install {self.home}/build/library --prefix /somewhere")

    def test_everything_and_nothing(self):
        self.assertEqual(self.calls("--packages"), [])
        configured, built = self.calls()
        self.assertIn("--preset release ", configured)
        self.assertIn(f"--build {self.home}/build/release ", built)

    def test_refusals(self):
        for words in ("--library",), ("--library", "here"), ("--libary", "/somewhere"):
            refused = self.script("setup", *words)
            self.assertEqual((refused.returncode, len(refused.said)), (2, 1), refused.stderr)
        refused = self.script("setup", "--library", "/somewhere", SPEEDWELL_MPI="mpich")
        self.assertEqual((refused.returncode, len(refused.said)), (2, 1), refused.stderr)
        self.assertFalse((self.home / "calls").exists())


if __name__ == "__main__":
    unittest.main()
