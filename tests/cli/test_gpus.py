#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the speedwell command on emulated GPUs (tests/cuda_emulation).

SPEEDWELL_COMMAND: the command with emulated GPUs. SPEEDWELL_MPIEXEC: launcher with its options.
"""

import json
import os
import re
import tempfile
import unittest

from test_cli import COMMAND, Case, needs_predictions, run, run_apart, shell
from test_complex import complex_numpy
from test_memory import write_matrix

SMALL = ("mxp", "-N", "200", "--nb", "64")
ROOMY = {"SPEEDWELL_EMULATED_MEMORY": str(16 << 30)}


def gpus(count, **more):
    return dict(ROOMY, SPEEDWELL_EMULATED_GPUS=str(count), **more)


def outcome_as_json(*words, **how):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        outcome = run(*words, "--json", path, **how)
        with open(path, encoding="utf-8") as file:
            return outcome, json.load(file)


@needs_predictions
class Calibration(Case):
    def test_the_file_of_a_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "here.json")
            words = ("predict", "--calibrate", path, "--budget", "0.01")
            for _ in range(2):  # a file that is there is measured once more
                outcome = run(*words, environment=gpus(1))
                self.assert_status(outcome, 0)
                self.assertRegex(outcome.out, r"product +fp16 ")
                with open(path, encoding="utf-8") as file:
                    machine = json.load(file)
            self.assertEqual(machine["kind"], "gpu")
            gpu, = machine["ranks"]
            self.assertIn("Emulated GPU", gpu["name"])
            self.assertEqual(gpu["operations"]["product fp16"]["origin"], "measured")

    def test_a_machine_without_gpus(self):
        outcome = run("predict", "--calibrate", "m.json", environment=gpus(0))
        self.assert_refused(outcome, "measures GPUs", "on machines with GPUs", "shipped machine files")


class Choice(Case):
    def test_gpus_are_taken_where_every_rank_sees_one(self):
        outcome, document = outcome_as_json(*SMALL, environment=gpus(1))
        self.assert_status(outcome, 0)
        self.assertEqual(document["device"], "cuda")
        self.assertIn("Emulated GPU", document["device_description"])

    def test_without_a_gpu_the_cpu_computes(self):
        outcome, document = outcome_as_json(*SMALL, environment=gpus(0))
        self.assert_status(outcome, 0)
        self.assertEqual(document["device"], "cpu")
        self.assertNotIn("gpus", document)

    def test_a_gpu_that_is_asked_for_and_not_there(self):
        outcome = run(*SMALL, "--device", "cuda", environment=gpus(0))
        self.assert_refused(outcome, "--device cuda", "there is no GPU", "allowed: cpu")

    def test_options_of_gpus_without_gpus(self):
        for option in (("--gpus", "0"), ("--reserve", "4")):
            outcome = run(*SMALL, "--device", "cpu", *option, ranks=2, environment=gpus(1))
            self.assert_refused(outcome, "--gpus", "only with GPUs")

    def test_emulated_fp64_without_gpus(self):
        for words in ("hpl", "-N", "200"), ("hpl", "-N", "200", "--device", "cpu"):
            outcome = run(*words, "--fp64", "emulated", ranks=2, environment=gpus(0))
            self.assert_refused(outcome, "--fp64 emulated needs a GPU", "allowed: native")

    def test_emulated_fp64_where_it_would_be_read_as_fp64(self):
        for command in "mxp", "bench":
            outcome = run(command, "-N", "200", "--fp64", "emulated", environment=gpus(1))
            self.assert_refused(outcome, "--fp64 emulated for HPL-MxP or in a comparison", "native")
        for words in ("--solvers", "hpl,dgesv"), ("--solvers", "mxp,dgesv"):
            outcome = run("compare", "-N", "200", "--repeat", "1", *words, "--fp64", "emulated",
                          environment=gpus(1))
            self.assert_refused(outcome, "--fp64 emulated for HPL-MxP or in a comparison", "native")

    def test_emulated_fp64_by_a_library_that_cannot(self):
        for function in ("cublasSetEmulationStrategy",
                         "cublasSetFixedPointEmulationMaxMantissaBitCount"):
            older = gpus(1, SPEEDWELL_EMULATED_CUBLAS=f"lacks:{function}")
            outcome = run("hpl", "-N", "200", "--fp64", "emulated", environment=older)
            self.assert_refused(outcome, f"cuBLAS 13.1.0 lacks {function}", "update 2", "native")
            outcome, document = outcome_as_json("hpl", "-N", "200", environment=older)
            self.assert_status(outcome, 0)
            self.assertEqual(document["fp64_products"],
                             "native (cuBLAS: CUBLAS_DEFAULT_MATH, no emulation)")

    def test_bad_lists(self):
        for words in ("x", "0,", ",", "-1", "0;1", "1.5", "99999999999"):
            outcome = run(*SMALL, f"--gpus={words}", environment=gpus(2))
            self.assert_refused(outcome, "--gpus")
        self.assert_refused(run(*SMALL, "--gpus", "2", environment=gpus(2)), "--gpus 2", "0 to 1")
        self.assert_refused(run(*SMALL, "--reserve", "65", environment=gpus(2)), "--reserve", "64")
        self.assert_refused(run(*SMALL, "--comm", "pigeon", environment=gpus(2)), "--comm", "nccl")

    def test_native_fp64_is_told_to_cublas(self):
        emulate = {"CUBLAS_EMULATE_DOUBLE_PRECISION": "1", "CUBLAS_EMULATION_STRATEGY": "eager"}
        hpl = ("hpl", "-N", "300", "--nb", "40")
        plain, before = outcome_as_json(*hpl, environment=gpus(1))
        told, after = outcome_as_json(*hpl, environment=gpus(1, **emulate))
        for outcome, document in (plain, before), (told, after):
            self.assert_status(outcome, 0)
            self.assertRegex(outcome.out, r"(?m)^FP64 +: native \(cuBLAS: CUBLAS_DEFAULT_MATH, "
                                          r"CUBLAS_EMULATION_STRATEGY_PERFORMANT\)$")
            self.assertNotIn("mulated FP64", outcome.out)
            self.assertEqual((document["fp64"], document["admissible"]), ("native", True))
            self.assertIn("CUBLAS_DEFAULT_MATH", document["fp64_products"])
        for key in "scaled_residual", "norms":
            self.assertEqual(before[key], after[key])

    def test_emulated_fp64_says_so_everywhere(self):
        outcome, document = outcome_as_json("hpl", "-N", "300", "--nb", "40", "--fp64", "emulated",
                                            environment=gpus(1))
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"(?m)^FP64 +: emulated by integers .*EAGER")
        self.assertIn("HPL with FP64 products emulated by integers", outcome.out)
        self.assertNotIn("FP64 LU", outcome.out)
        self.assertRegex(outcome.out, r"(?m)^W.* 300 .*  EMULATED FP64$")
        self.assertIn("not a plain FP64 HPL: FP64 products are emulated by integers", outcome.out)
        self.assertEqual(
            (document["fp64"], document["passed"], document["admissible"]), ("emulated", True, False))
        self.assertIn("CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH", document["fp64_products"])
        self.assertIn("FP64 products emulated", document["device_description"])
        self.assertIn("not a plain FP64 HPL", " ".join(document["notes"]))

    def test_emulated_fp64_in_a_solve(self):
        with tempfile.TemporaryDirectory() as folder:
            a = os.path.join(folder, "A.npy")
            write_matrix(a, 200)
            for precision, fp64 in ("fp64", "emulated"), ("fp32", None):
                outcome, document = outcome_as_json("solve", a, "--precision", precision, "--fp64",
                                                    "emulated", environment=gpus(1))
                self.assert_status(outcome, 0)
                self.assertRegex(outcome.out, r"(?m)^FP64 +: emulated by integers")
                self.assertEqual("emulated FP64, solved" in outcome.out, precision == "fp64")
                self.assertEqual([step["fp64"] for step in document["steps"]], [fp64])
                self.assertEqual(document["fp64"], "emulated")

    def test_info_names_every_gpu(self):
        outcome = run("info", environment=gpus(3))
        self.assert_status(outcome, 0)
        for gpu in range(3):
            self.assertIn(f"GPU {gpu} (Emulated GPU", outcome.out)


# Errors of the function that finds GPUs, and the words that must be said about each.
UNUSABLE = {
    100: ["there is no GPU", "CUDA_VISIBLE_DEVICES"],
    34: ["libcuda.so.1 is a stub", "needs driver 580 or later"],
    802: ["the GPUs are not ready", "nvidia-fabricmanager"],
    803: ["libcuda.so.1 is of another version", "restart"],
    804: ["compatibility package", "CUDA 13.0 needs driver 580 or later"],
    46: ["no GPU can be used", "cudaErrorDevicesUnavailable"],
}


class Driver(Case):
    def assert_said(self, environment, *words):
        """Checks that `info`, a run that insists on a GPU, and a run that does not all say these
        words."""
        outcome = run("info", environment=environment)
        self.assert_status(outcome, 0)
        said = re.findall("^device cuda +none: (.*)$", outcome.out, re.M)
        self.assertEqual(len(said), 1, outcome.out)
        for word in words:
            self.assertIn(word, said[0])
        refused = run(*SMALL, "--device", "cuda", ranks=2, environment=environment)
        self.assert_refused(refused, "--device cuda is not allowed", said[0], "allowed: cpu")
        other = run(*SMALL, ranks=2, environment=environment)
        self.assert_status(other, 0)
        self.assertRegex(other.out, r"DEVICE +: cpu: .* chosen: " + re.escape(said[0]))

    def test_drivers_that_are_too_old_or_missing(self):
        self.assert_said(gpus(1, SPEEDWELL_EMULATED_DRIVER="12020"), "CUDA 12.2", "too old",
                         "CUDA 13.0 needs driver 580 or later")
        self.assert_said(gpus(1, SPEEDWELL_EMULATED_DRIVER="0"), "580 or later"
                         if not os.path.exists("/proc/driver/nvidia/version") else "libcuda.so.1")

    def test_newer_drivers_serve(self):
        outcome = run("info", environment=gpus(1, SPEEDWELL_EMULATED_DRIVER="14010"))
        self.assertIn("driver for 14.1", outcome.out)

    def test_what_else_stands_between_speedwell_and_a_gpu(self):
        for error, words in UNUSABLE.items():
            failure = f"cudaGetDeviceCount:1:{error}"
            self.assert_said(gpus(1, SPEEDWELL_EMULATED_FAILURE=failure), *words)

    def test_a_gpu_that_is_busy_hides_nothing_else(self):
        failure = "cudaSetDevice:1:46"
        outcome = run("info", environment=gpus(2, SPEEDWELL_EMULATED_FAILURE=failure))
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, "device cuda +GPU 0 cannot be used: .*busy or unavailable")

    def test_one_rank_without_a_gpu_is_named(self):
        words = [COMMAND, *SMALL, "-P", "1", "-Q", "2"]
        done = run_apart(words, ["env", "SPEEDWELL_EMULATED_DRIVER=12020", *words], environment=gpus(1),
                         patience=60)
        self.assert_status(done, 0)
        self.assertRegex(done.out, r"DEVICE .* chosen: rank 1 on \S+ sees no GPU: .*too old")


class Placement(Case):
    def placed(self, ranks, count, *options):
        outcome, document = outcome_as_json(*SMALL, *options, ranks=ranks, environment=gpus(count))
        self.assert_status(outcome, 0)
        self.assertTrue(document["passed"])
        ordinals = [int(text.split()[1]) for text in document["gpus"]]
        for rank, ordinal in enumerate(ordinals):
            self.assertRegex(outcome.out, rf"rank {rank} +: GPU {ordinal} ")
        return ordinals, document["comm"]

    def test_ranks_take_gpus_in_turn(self):
        self.assertEqual(self.placed(4, 4), ([0, 1, 2, 3], "nccl"))
        self.assertEqual(self.placed(4, 4, "--gpus", "3,1,2,0"), ([3, 1, 2, 0], "nccl"))

    def test_ranks_that_share_gpus_never_use_nccl(self):
        self.assertEqual(self.placed(3, 1), ([0, 0, 0], "staged"))
        self.assertEqual(self.placed(4, 2), ([0, 1, 0, 1], "staged"))
        outcome = run(*SMALL, "--comm", "nccl", ranks=2, environment=gpus(1))
        self.assert_refused(outcome, "--comm nccl", "share a GPU")

    def test_every_way_gives_the_same_answer(self):
        answers = set()
        ways = ((1, ()), (4, ("--comm", "nccl")), (4, ("--comm", "staged")), (3, ("--comm", "mpi")),
                (4, ("--comm", "staged", "--bcast", "ibcast", "--lookahead", "1")), (2, ("--lookahead", "0")))
        for seed, (ranks, options) in enumerate(ways, 1):
            environment = gpus(4, SPEEDWELL_EMULATION_SEED=str(seed))
            outcome, document = outcome_as_json("mxp", "-N", "180", "--nb", "32", *options,
                                                ranks=ranks, environment=environment)
            self.assert_status(outcome, 0)
            self.assertGreater(document["refinement"]["iterations"], 1)
            answers.add(round(document["norms"]["x_inf"], 12))
        self.assertEqual(len(answers), 1, answers)


class Memory(Case):
    def test_what_does_not_fit_is_refused_with_what_does(self):
        outcome = run("mxp", "-N", "100000", ranks=2, environment=gpus(1))
        self.assert_refused(outcome, "-N 100000 does not fit", "2 ranks on GPU 0", "at most -N")

    def test_where_nothing_fits(self):
        outcome = run(*SMALL, environment=gpus(1, SPEEDWELL_EMULATED_MEMORY=str(1 << 26)))
        self.assert_refused(outcome, "does not fit", "no -N fits")

    def test_a_users_system_whose_pieces_the_host_cannot_hold(self):
        """The memory grows until the system is solved; the last refusal is one line."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "A.mtx")
            with open(path, "w", encoding="utf-8") as file:
                file.write("%%MatrixMarket matrix array real general\n2 2\n2\n1\n1\n3\n")
            refusal = None
            for megabytes in range(400, 12000, 200):
                outcome = shell(f"ulimit -v {megabytes * 1024}; $speedwell solve {path} "
                                f"--device cuda -o {path}.x", environment=gpus(1))
                if outcome.status == 0:
                    break
                refusal = outcome
        self.assert_status(outcome, 0)
        self.assert_refused(refusal, "does not fit", "pieces of A on their way", "a rank in the memory")

    def test_the_peak_is_that_of_the_devices_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "A.npy")
            write_matrix(path, 504)
            complex_path = os.path.join(folder, "Z.npy")
            with open(complex_path, "wb") as file:
                file.write(complex_numpy([[complex(i % 5 - j % 7, (i + j) % 3) + 1004 * (i == j)
                                           for j in range(252)] for i in range(252)]))
            for words, size in ((("mxp", "-N", "504"), 4 * 504 * 504),
                                (("solve", path), 12 * 504 * 504),
                                (("solve", complex_path, "--first", "fp32"), 24 * 252 * 252)):
                outcome, document = outcome_as_json(*words, environment=gpus(1))
                self.assert_status(outcome, 0)
                peak = document["memory_peak"]["device"]["bytes"]
                self.assertGreater(peak, size)
                self.assertLess(peak, document["memory"]["needed_per_rank_bytes"])
                self.assertGreater(document["memory_peak"]["resident"]["bytes"], 0)
                self.assertRegex(outcome.out, r"at most [\d.]+ GiB allocated \(rank 0 on ")

    def test_memory_that_is_gone_when_asked_for(self):
        failure = "cudaMalloc:12:2"  # the twelfth call fails: out of memory
        outcome = run(*SMALL, ranks=2, environment=gpus(2, SPEEDWELL_EMULATED_FAILURE=failure))
        self.assertEqual(outcome.status, 3, outcome.err)
        self.assertIn("out of memory", outcome.complaints[0])


class Failure(Case):
    def test_a_refused_algorithm_is_said(self):
        for ranks in 1, 2:
            environment = gpus(2, SPEEDWELL_EMULATED_ALGORITHMS="x0,0")
            outcome, document = outcome_as_json("mxp", "-N", "300", "--nb", "64", ranks=ranks,
                                                environment=environment)
            self.assert_status(outcome, 0)
            self.assertRegex(outcome.out, rf"cuBLASLt refused \d+ of .* on {ranks} of {ranks} ranks")
            self.assertTrue(any("cuBLASLt refused" in note for note in document["notes"]))
            refused = [one["algorithm"] for one in document["products"] if one["refused"] == "in a run"]
            self.assertTrue(refused)
            self.assertEqual({words.partition(":")[0] for words in refused}, {"0"})
        outcome, document = outcome_as_json(*SMALL, environment=gpus(1))
        self.assertNotIn("refused", outcome.out)
        self.assertTrue(document["products"])

    def test_a_failing_call_is_named(self):
        for call in ("cudaMemcpyAsync:17", "cudaLaunchKernelEx:40", "cublasLtMatmul:3",
                     "cudaEventRecord:9", "cudaStreamSynchronize:5", "cublasStrmm_64:2"):
            environment = gpus(1, SPEEDWELL_EMULATED_FAILURE=call)
            outcome = run("mxp", "-N", "300", "--nb", "150", environment=environment)
            self.assertEqual(outcome.status, 3, (call, outcome.err))
            line = outcome.complaints[0]
            self.assertRegex(line, r"rank 0 on \S+: .* failed on GPU 0: .*\(\w+\.cpp:\d+\)", call)

    def test_one_rank_that_fails_ends_all(self):
        environment = gpus(2, SPEEDWELL_EMULATED_FAILURE="cublasLtMatmul:5")
        outcome = run("mxp", "-N", "300", "--nb", "64", ranks=2, environment=environment)
        self.assertNotIn(outcome.status, (0, 124, 137), outcome.err)
        self.assertTrue(any("cublasLtMatmul failed" in line for line in outcome.complaints))


if __name__ == "__main__":
    unittest.main(verbosity=1)
