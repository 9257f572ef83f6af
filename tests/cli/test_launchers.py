#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the scripts that start speedwell in other places: run/hpl-mxp.sh, and the launcher in an archive
of run/bundle. test_slurm.py tests the batch scripts of run/slurm.

A fake script takes the place of speedwell and numactl, and reports how it was called.
SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC are as in test_cli.py, for runs of the real command.
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

from test_cli import COMMAND, MPIEXEC, PATIENCE

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HPL_MXP = ROOT / "run/hpl-mxp.sh"
SLURM = ROOT / "run/slurm"
BUNDLE_LAUNCHER = ROOT / "run/bundle-launcher.sh"
TOOLS = ["bash", "dirname", "env", "grep", "mkdir", "readlink", "sed", "sleep", "sort", "tail", "tee",
         "true", "uname"]
KEPT = ("CUDA_VISIBLE_DEVICES", "UCX_NET_DEVICES", "UCX_TLS", "BOUND")

SPEEDWELL = """#!/usr/bin/env bash
printf 'argument %%s\\n' "$@"
for name in %s; do [ -z "${!name+set}" ] || echo "variable $name=${!name}"; done
""" % " ".join(KEPT)
NUMACTL = """#!/usr/bin/env bash
BOUND=
while [[ $1 == --* ]]; do BOUND+="$1 "; shift; done
[ "$BOUND" != "${NUMACTL_REFUSES:-none}" ] || { echo "<63> is invalid"; exit 1; }
export BOUND
exec "$@"
"""


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        for tool in TOOLS:
            (self.tools / tool).symlink_to(shutil.which(tool))

    def start(self, command, environment):
        """Starts a command with only these variables, and with a PATH that has only a few tools."""
        done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              capture_output=True, text=True, cwd=self.folder,
                              env=dict({"PATH": str(self.tools)}, **environment))
        done.arguments = re.findall(r"^argument (.*)$", done.stdout, re.M)
        done.variables = dict(re.findall(r"^variable (\w+)=(.*)$", done.stdout, re.M))
        done.lines = done.stderr.splitlines()
        return done

    def assert_refused(self, done, *needles):
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(len(done.lines), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        for needle in needles:
            self.assertIn(needle, done.lines[0])


class Archive(Case):
    """An archive whose only program prints its environment variables."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "speedwell-1"
        executable(self.root / "libexec/launcher", BUNDLE_LAUNCHER.read_text())
        program = "#!/usr/bin/env bash\n"
        for name in ("LD_LIBRARY_PATH", "OMPI_MCA_btl_vader_single_copy_mechanism"):
            program += f'echo "variable {name}=${name}"\n'
        executable(self.root / "libexec/speedwell", program)
        (self.root / "share/speedwell").mkdir(parents=True)
        (self.root / "share/speedwell/cuda-libraries").write_text("libcudart.so.13\n")
        (self.root / "share/speedwell/architecture").write_text(f"{os.uname().machine}\n")
        (self.root / "bin").mkdir()
        for name in ("speedwell", "speedwell-environment"):
            (self.root / "bin" / name).symlink_to("../libexec/launcher")
        self.home = self.folder / "home"
        self.nccl = self.home / ".local/lib/python3.12/site-packages/nvidia/nccl/lib"

    def launch(self, name, **environment):
        done = self.start([self.root / "bin" / name], dict({"HOME": str(self.home)}, **environment))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_nccl_of_a_python_environment_is_found(self):
        self.nccl.mkdir(parents=True)
        (self.nccl / "libnccl.so.2").touch()
        # An NCCL that is installed on this machine may be found first.
        report = self.launch("speedwell-environment").stdout
        place = re.search(r"^# libnccl\.so\.2: (/\S+)", report, re.M).group(1)
        if place == str(self.nccl):
            self.assertIn(place, self.launch("speedwell").variables["LD_LIBRARY_PATH"].split(":"))
        first = self.folder / "first"
        first.mkdir()
        (first / "libnccl.so.2").touch()
        self.assertIn(f"# libnccl.so.2: {first}\n",
                      self.launch("speedwell-environment", LD_LIBRARY_PATH=str(first)).stdout)

    def test_nccl_is_optional(self):
        report = self.launch("speedwell-environment").stdout
        self.assertRegex(report, r"# libnccl\.so\.2: (not found|/)")
        self.launch("speedwell")

    def test_another_processor_is_refused(self):
        (self.root / "share/speedwell/architecture").write_text("riscv64")
        done = self.start([self.root / "bin/speedwell"], {})
        self.assertRegex(f"{done.returncode} {done.stderr}", "^3 speedwell: this archive is for .*\n$")

    def test_ranks_read_no_memory_of_others_unless_told(self):
        name = "OMPI_MCA_btl_vader_single_copy_mechanism"
        self.assertEqual(self.launch("speedwell").variables[name], "none")
        self.assertEqual(self.launch("speedwell", **{name: "cma"}).variables[name], "cma")
        self.assertIn(f"export {name}='none'", self.launch("speedwell-environment").stdout)


# A flag, its value, and the options of `speedwell mxp` into which they are translated.
TRANSLATED = [
    ("--n", "380000", ["--n", "380000"]),
    ("--nb", "4096", ["--nb", "4096"]),
    ("--nprow", "4", ["--nprow", "4"]),
    ("--npcol", "2", ["--npcol", "2"]),
    ("--nporder", "row", ["--nporder", "row"]),
    ("--nporder", "column", ["--nporder", "column"]),
    ("--sloppy-type", "2", ["--precision", "fp16"]),
    ("--sloppy-type", "FP16", ["--precision", "fp16"]),
    ("--test-loop", "3", ["--repeat", "3"]),
    ("--use-mpi-panel-broadcast", "0", ["--comm", "nccl"]),
    ("--use-mpi-panel-broadcast", "100", ["--comm", "mpi"]),
    ("--use-host-mpi", "1", ["--comm", "staged"]),
    ("--use-host-mpi", "0", []),
]
# A flag, its value, and the environment variables into which they are translated.
ENVIRONMENT = [
    ("--gpu-affinity", "3:1", {"CUDA_VISIBLE_DEVICES": "3"}),
    ("--gpu-affinity", "GPU-0a1b-2c:GPU-3d", {"CUDA_VISIBLE_DEVICES": "GPU-0a1b-2c"}),
    ("--cpu-affinity", "0-13,56-69:14-27", {"BOUND": "--physcpubind=0-13,56-69 "}),
    ("--mem-affinity", "1:0", {"BOUND": "--membind=1 "}),
    ("--ucx-affinity", "mlx5_4:mlx5_5", {"UCX_NET_DEVICES": "mlx5_4:1"}),
    ("--ucx-tls", "rc,sm,cuda_copy", {"UCX_TLS": "rc,sm,cuda_copy"}),
]
IGNORED = [
    ("--use-mpi-panel-broadcast", "50"), ("--mpi-use-mpi", "1"), ("--mpi-use-host-threads", "1"),
    ("--tolerance", "1e-12"), ("--preset-gemm-kernel", "80"), ("--u-panel-chunk-nbs", "16"),
    ("--call-dgemv-with-multiple-threads", "0"), ("--prioritize-trsm", "0"),
    ("--prioritize-factorization", "1"), ("--use-separate-stream-for-gemm", "1"),
    ("--Anq-device", "0"), ("--fill-device", "1"), ("--fill-device-buffer-size", "3048"),
    ("--cuda-host-register-step", "2048"), ("--fp4-scaling-factor-a", "1.000000e-05"),
    ("--skip-tests", "1"), ("--gemm-iterations", "100"), ("--monitor-gpu", "1"),
    ("--monitor-gpu-interval", "0.5"), ("--monitor-gpu-clock-warning", "1000"),
    ("--monitor-gpu-power-warning", "700"), ("--monitor-gpu-temp-warning", "80"),
    ("--monitor-gpu-pcie-width-warning", "16"), ("--monitor-gpu-pcie-gen-warning", "5"),
]
WITHOUT_VALUE = ["--cuda-compat", "--no-multinode", "--mpi-use-mpi", "--skip-tests"]

# Command lines, and words that the one line of the refusal must contain.
BAD_FLAGS = [
    (("--frobnicate", "1"), ["unknown flag '--frobnicate'", "--nprow", "--no-multinode", "after --"]),
    (("-N", "100"), ["unknown flag '-N'", "--n "]),
    (("100",), ["unknown flag '100'"]),
    (("",), ["unknown flag ''"]),
    (("--=1",), ["unknown flag '--'"]),
    (("--n*=1",), ["unknown flag '--n*'"]),
    (("--n",), ["--n", "missing", "whole number from 1"]),
    (("--n", "--nb", "32"), ["--n:", "missing"]),
    (("--n", "--", "--seed", "2"), ["--n:", "missing"]),
    (("--n", "1", "--n=1"), ["--n", "more than once"]),
    (("--n", "0"), ["--n", "'0'"]),
    (("--n", "-1"), ["--n", "'-1'"]),
    (("--n=",), ["--n", "''"]),
    (("--n", "1e5"), ["--n", "1e5"]),
    (("--nb", "1 2"), ["--nb", "'1 2'"]),
    (("--nb", "1\n2"), ["--nb"]),
    (("--nporder", "diagonal"), ["--nporder", "diagonal", "row or column"]),
    (("--sloppy-type", "1"), ["--sloppy-type", "'1'", "FP16 or 2"]),
    (("--sloppy-type", "FP8"), ["--sloppy-type", "FP8", "FP16 or 2"]),
    (("--gpu-affinity", "0,1"), ["--gpu-affinity", "'0,1'", "0:1:2:3"]),
    (("--gpu-affinity", "0:"), ["--gpu-affinity", "'0:'"]),
    (("--gpu-affinity", "0::1"), ["--gpu-affinity", "'0::1'"]),
    (("--gpu-affinity=",), ["--gpu-affinity", "''"]),
    (("--cpu-affinity", "0-:1"), ["--cpu-affinity", "'0-:1'"]),
    (("--mem-affinity", "a"), ["--mem-affinity", "'a'"]),
    (("--ucx-affinity", "mlx5 0"), ["--ucx-affinity", "'mlx5 0'"]),
    (("--use-mpi-panel-broadcast", "101"), ["--use-mpi-panel-broadcast", "'101'", "0 to 100"]),
    (("--use-host-mpi", "2"), ["--use-host-mpi", "'2'", "0 or 1"]),
    (("--Anq-device", "x"), ["--Anq-device", "'x'"]),
    (("--tolerance", "small"), ["--tolerance", "small"]),
    (("--monitor-gpu-interval", "."), ["--monitor-gpu-interval", "'.'"]),
    (("--no-multinode=1",), ["--no-multinode", "no value"]),
    (("--no-multinode", "1"), ["unknown flag '1'"]),
    (("--exec-name", "/nowhere/xhpl_mxp"), ["/nowhere/xhpl_mxp", "--exec-name"]),
]

# The variables in which launchers give the rank and the node-local rank.
LAUNCHERS = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMIX_RANK", "PMIX_LOCAL_RANK"),
    ("PMI_RANK", "MPI_LOCALRANKID"),
    ("PMIX_RANK", "SLURM_LOCALID"),
    ("SLURM_PROCID", "SLURM_LOCALID"),
]


class HplMxp(Case):
    def setUp(self):
        super().setUp()
        self.speedwell = executable(self.folder / "fake/speedwell", SPEEDWELL)
        executable(self.tools / "numactl", NUMACTL)

    def launch(self, *words, **environment):
        return self.start([HPL_MXP, *words], dict({"SPEEDWELL": str(self.speedwell)}, **environment))

    def assert_started(self, done, *options):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.arguments, ["mxp", *options])

    def test_translated(self):
        for flag, value, options in TRANSLATED:
            for words in ((flag, value), (f"{flag}={value}",)):
                with self.subTest(words=words):
                    done = self.launch(*words)
                    self.assert_started(done, *options)
                    self.assertEqual(done.stderr, "")
                    self.assertEqual(done.variables, {})

    def test_environment(self):
        for flag, value, variables in ENVIRONMENT:
            with self.subTest(flag=flag, value=value):
                done = self.launch(flag, value)
                self.assert_started(done)
                self.assertEqual(done.stderr, "")
                self.assertEqual(done.variables, variables)

    def test_ignored(self):
        for words in IGNORED + [(flag,) for flag in WITHOUT_VALUE]:
            with self.subTest(words=words):
                done = self.launch(*words, "--nb", "64")
                self.assert_started(done, "--nb", "64")
                self.assertEqual(done.lines, [f"hpl-mxp.sh: ignored: {words[0]}"])

    def test_host_mpi_stands_above_the_share_of_mpi(self):
        done = self.launch("--use-mpi-panel-broadcast", "0", "--use-host-mpi")
        self.assert_started(done, "--comm", "staged")
        self.assertEqual(done.lines, ["hpl-mxp.sh: ignored: --use-mpi-panel-broadcast"])

    def test_help_names_every_flag(self):
        known = {flag for flag, *_ in TRANSLATED + ENVIRONMENT + IGNORED}
        known |= {"--exec-name", *WITHOUT_VALUE}
        for word in ("-h", "--help"):
            done = self.launch("--n", "1", word)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(set(re.findall(r"^  (--\S+)", done.stdout, re.M)), known)
            self.assertEqual(self.launch(word, PMIX_RANK="1").stdout, "")

    def test_a_whole_command_line(self):
        done = self.launch(
            "--gpu-affinity", "0:1:2:3", "--mem-affinity", "0:0:1:1", "--cpu-affinity",
            "0-7:8-15:16-23:24-31", "--n", "90000", "--nb", "2048", "--nprow", "2", "--npcol", "2",
            "--nporder", "row", "--u-panel-chunk-nbs", "8", "--use-mpi-panel-broadcast", "50",
            "--sloppy-type", "2", "--Anq-device", "0", "--mpi-use-mpi", "1", "--",
            "--json", "a b.json", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_LOCAL_RANK="0",
            OMPI_COMM_WORLD_LOCAL_SIZE="4")
        self.assert_started(done, "--n", "90000", "--nb", "2048", "--nprow", "2", "--npcol", "2",
                            "--nporder", "row", "--precision", "fp16", "--json", "a b.json")
        self.assertEqual(done.lines, ["hpl-mxp.sh: ignored: --mpi-use-mpi, --u-panel-chunk-nbs, "
                                      "--Anq-device, --use-mpi-panel-broadcast"])
        self.assertEqual(done.variables, {"CUDA_VISIBLE_DEVICES": "0",
                                          "BOUND": "--physcpubind=0-7 --membind=0 "})

    def test_options_of_speedwell_pass_unread(self):
        self.assert_started(self.launch("--", "--frobnicate", "-N", "1", "--"),
                            "--frobnicate", "-N", "1", "--")
        self.assert_started(self.launch("--"))

    def test_affinity_by_local_rank(self):
        lists = ("--gpu-affinity", "4:5:6:7", "--cpu-affinity", "0-1:2-3:4-5:6-7",
                 "--mem-affinity", "0:0:1:1", "--ucx-affinity", "a:b:c:d", "--Anq-device", "0")
        for rank_name, local_name in LAUNCHERS:
            for local in range(4):
                with self.subTest(local_name=local_name, local=local):
                    done = self.launch(*lists, **{rank_name: str(local + 8), local_name: str(local)})
                    self.assert_started(done)
                    self.assertEqual(done.stderr, "")  # only rank 0 names ignored flags
                    self.assertEqual(done.variables, {
                        "CUDA_VISIBLE_DEVICES": str(4 + local),
                        "UCX_NET_DEVICES": "abcd"[local] + ":1",
                        "BOUND": f"--physcpubind={2 * local}-{2 * local + 1} --membind={local // 2} "})

    def test_mpirun_inside_a_slurm_job(self):
        done = self.launch("--gpu-affinity", "0:1", OMPI_COMM_WORLD_RANK="1",
                           OMPI_COMM_WORLD_LOCAL_RANK="1", SLURM_PROCID="0", SLURM_LOCALID="0")
        self.assertEqual(done.variables, {"CUDA_VISIBLE_DEVICES": "1"})

    def test_list_that_is_too_short(self):
        ranks = [dict(OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_LOCAL_RANK=str(rank),
                      OMPI_COMM_WORLD_LOCAL_SIZE="3") for rank in range(3)]
        needles = ["--gpu-affinity is for 2 ranks a node, but 3 run"]
        self.assert_refused(self.launch("--gpu-affinity", "0:1", **ranks[0]), *needles)
        for rank in ranks[1:]:
            begin = time.monotonic()
            done = self.launch("--gpu-affinity", "0:1", **rank)
            self.assertEqual((done.returncode, done.stderr, done.stdout), (2, "", ""))
            self.assertGreater(time.monotonic() - begin, 0.9)  # it waits while rank 0 says why
        done = self.launch("--cpu-affinity", "0:1", SLURM_PROCID="6", SLURM_LOCALID="2")
        self.assert_refused(done, "rank 6", "--cpu-affinity is for 2 ranks", "number 2")

    def test_local_rank_unknown(self):
        self.assert_refused(self.launch("--gpu-affinity", "0:1", PMI_RANK="0"), "--gpu-affinity",
                            "number on its node")
        self.assert_started(self.launch("--n", "100", PMI_RANK="0"), "--n", "100")
        done = self.launch("--gpu-affinity", "0:1", SLURM_PROCID="0", SLURM_LOCALID="x")
        self.assert_refused(done, "'x'")

    def test_numactl(self):
        done = self.launch("--cpu-affinity", "63", NUMACTL_REFUSES="--physcpubind=63 ",
                           SLURM_PROCID="5", SLURM_LOCALID="0")
        self.assert_refused(done, "rank 5", "numactl --physcpubind=63")
        (self.tools / "numactl").unlink()
        done = self.launch("--cpu-affinity", "0", "--mem-affinity", "0", "--fill-device", "0")
        self.assert_started(done)
        self.assertEqual(done.variables, {})
        self.assertEqual(done.lines, ["hpl-mxp.sh: ignored: --fill-device, --cpu-affinity (no numactl "
                                      "here), --mem-affinity (no numactl here)"])

    def test_bad_flags(self):
        for words, needles in BAD_FLAGS:
            with self.subTest(words=words):
                self.assert_refused(self.launch(*words), "hpl-mxp.sh: ", *needles)

    def test_status_of_speedwell(self):
        self.speedwell.write_text("#!/usr/bin/env bash\nexit 3\n")
        self.assertEqual(self.launch().returncode, 3)

    def test_which_speedwell(self):
        def place(folder):
            return executable(folder / "speedwell", f"#!/usr/bin/env bash\necho {folder.name}\n")

        def found(script, *words, **environment):
            done = self.start([script, *words], environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout.strip()

        script = executable(self.folder / "house/bin/hpl-mxp.sh", HPL_MXP.read_text())
        self.assert_refused(self.start([script], {}), "no speedwell command", "run/setup", "SPEEDWELL")
        place(self.tools)
        self.assertEqual(found(script), "tools")
        place(script.parent)
        self.assertEqual(found(script), "bin")
        place(self.folder / "house/build/release")
        self.assertEqual(found(script), "release")
        link = self.folder / "link"
        link.symlink_to(script)
        self.assertEqual(found(link), "release")
        other = str(place(self.folder / "other"))
        self.assertEqual(found(script, SPEEDWELL=other), "other")
        self.assertEqual(found(script, SPEEDWELL="speedwell"), "tools")
        self.assertEqual(found(script, "--exec-name", other, SPEEDWELL="/nowhere"), "other")
        self.assert_refused(self.start([script], {"SPEEDWELL": "/nowhere"}), "/nowhere", "SPEEDWELL")


class RealRun(Case):
    def mpirun(self, *words):
        done = subprocess.run(["timeout", "-k", "5", str(PATIENCE), *MPIEXEC, "-n", "2", str(HPL_MXP), *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=dict(os.environ, SPEEDWELL=COMMAND, OMP_NUM_THREADS="1",
                                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        done.own = [line for line in done.stderr.splitlines() if line.startswith("hpl-mxp.sh:")]
        return done

    def test_two_ranks(self):
        result = self.folder / "result.json"
        done = self.mpirun("--n", "200", "--nb", "32", "--nprow", "1", "--npcol=2", "--nporder", "row",
                           "--gpu-affinity", "0:1", "--sloppy-type", "FP16", "--test-loop", "2",
                           "--Anq-device", "0", "--", "--device", "cpu", "--json", str(result))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("N = 200, NB = 32, NPROW = 1, NPCOL = 2, SLOPPY-TYPE = FP16", done.stdout)
        self.assertEqual(done.own, ["hpl-mxp.sh: ignored: --Anq-device"])
        self.assertEqual(len(json.loads(result.read_text())["runs"]), 2)

    def test_errors_end_all_ranks(self):
        for words, needle in (
                (("--n", "200", "--frobnicate"), "unknown flag '--frobnicate'"),
                (("--n", "200", "--gpu-affinity", "0"), "--gpu-affinity is for 1 ranks a node")):
            with self.subTest(words=words):
                done = self.mpirun(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.own), 1, done.stderr)
                self.assertIn(needle, done.own[0])
        done = self.mpirun("--n", "200", "--nprow", "3", "--npcol", "1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("3 ranks", done.stderr)


class Text(unittest.TestCase):
    FILES = [HPL_MXP, *sorted(SLURM.iterdir())]

    def test_syntax(self):
        for path in self.FILES:
            subprocess.run(["bash", "-n", str(path)], check=True)

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not here")
    def test_shellcheck(self):
        done = subprocess.run(["shellcheck", "-x", "-S", "warning", *map(str, self.FILES)], cwd=ROOT,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout + done.stderr, "")


if __name__ == "__main__":
    unittest.main()
