#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how cmake/Cuda.cmake finds CUDA's compiler, and what it says where there is none."""

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest

CUDA_CMAKE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../cmake/Cuda.cmake")
USUAL = "/usr/local/cuda/bin/nvcc"
PROJECT = f"""\
    cmake_minimum_required(VERSION 3.22)
    project(Probe LANGUAGES CXX)
    set(CMAKE_CXX_STANDARD 20)
    if(NOT DEFINED SPEEDWELL_CUDA)
      set(SPEEDWELL_CUDA AUTO)
    endif()
    include({CUDA_CMAKE})
    message(STATUS "outcome: ${{SPEEDWELL_HAVE_CUDA}} ${{CMAKE_CUDA_COMPILER}}")
"""


class FindCuda(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        os.mkdir(self.path("project"))
        with open(self.path("project/CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(PROJECT))

    def path(self, name):
        return os.path.join(self.folder, name)

    def configure(self, *options, **environment):
        """Configures with only the given options and variables that concern CUDA."""
        known = {name: value for name, value in os.environ.items() if not name.startswith("CUDA")}
        known["PATH"] = ":".join(p for p in os.environ["PATH"].split(":")
                                 if not os.path.exists(os.path.join(p, "nvcc")))
        done = subprocess.run(["cmake", "-S", "project", "-B", "build", *options], text=True,
                              capture_output=True, cwd=self.folder, env=dict(known, **environment))
        return done.returncode, done.stdout + done.stderr

    @unittest.skipUnless(os.path.exists(USUAL), "no " + USUAL)
    def test_the_usual_place_need_not_be_in_path(self):
        status, said = self.configure("-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF")  # no /usr/local/bin
        self.assertEqual(status, 0, said)
        self.assertIn("outcome: ON " + USUAL, said)

    @unittest.skipUnless(os.path.exists(USUAL), "no " + USUAL)
    def test_what_was_not_there_before(self):
        self.assertIn("outcome: OFF", self.configure(CUDACXX=self.path("nowhere/nvcc"))[1])
        self.assertIn("outcome: ON", self.configure()[1])

    @unittest.skipUnless(os.path.exists(USUAL), "no " + USUAL)
    def test_variables_name_the_toolkit(self):
        os.symlink("/usr/local/cuda", self.path("mine"))
        for variable in ("CUDA_HOME", "CUDA_PATH"):
            subprocess.run(["rm", "-rf", self.path("build")], check=True)
            said = self.configure(**{variable: self.path("mine")})[1]
            self.assertIn("outcome: ON " + self.path("mine/bin/nvcc"), said)

    def test_a_driver_without_a_compiler(self):
        with open(self.path("version"), "w", encoding="utf-8") as file:
            file.write("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06\n")
        driver = "-DSPEEDWELL_NVIDIA_DRIVER=" + self.path("version")
        nowhere = self.path("nowhere/nvcc")
        status, said = self.configure(driver, CUDACXX=nowhere)
        self.assertEqual(status, 0, said)
        lines = [line for line in said.splitlines() if "NVIDIA's driver" in line]
        self.assertEqual(len(lines), 1, said)
        self.assertIn("no nvcc that works", lines[0])
        self.assertIn("on the CPU alone", lines[0])
        self.assertNotIn("NVIDIA's driver", self.configure("-DSPEEDWELL_NVIDIA_DRIVER=" + nowhere,
                                                           CUDACXX=nowhere)[1])
        self.assertNotIn("NVIDIA's driver", self.configure(driver, "-DSPEEDWELL_CUDA=OFF")[1])

    def test_cuda_that_is_asked_for_and_not_there(self):
        status, said = self.configure("-DSPEEDWELL_CUDA=ON", CUDACXX=self.path("nowhere/nvcc"))
        self.assertNotEqual(status, 0)
        self.assertIn("SPEEDWELL_CUDA=ON, but no nvcc", said)

    def architectures(self, gpus, seen):
        """What CMake chooses with these lines of an nvidia-smi (None: there is none)."""
        with open(self.path("probe.cmake"), "w", encoding="utf-8") as file:
            file.write(f"""include({os.path.dirname(CUDA_CMAKE)}/Architectures.cmake)
speedwell_cuda_architectures("compute_75\ncompute_80\ncompute_86\ncompute_90\ncompute_100\n" {gpus} found)
message("${{found}}")
""")
        os.makedirs(self.path("bin"), exist_ok=True)
        if seen is not None:
            with open(self.path("bin/nvidia-smi"), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\nprintf '{seen}'\n")
            os.chmod(self.path("bin/nvidia-smi"), 0o755)
        done = subprocess.run([shutil.which("cmake"), "-P", "probe.cmake"], text=True,
                              capture_output=True, cwd=self.folder, env={"PATH": self.path("bin")})
        return done.stderr.strip()

    def test_architectures(self):
        self.assertEqual(self.architectures("HERE", None), "80")
        self.assertEqual(self.architectures("ALL", "9.0\\n"), "80-real;90-real;100")
        for seen, chosen in (("9.0\\n9.0\\n", "90-real"), ("8.0\\n10.0\\n", "80-real;100-real"),
                             ("8.6\\n", "86-real"), ("12.0\\n", "80"), ("7.5\\n", "80"),
                             ("9.0\\n12.0\\n", "80"), ("No devices were found\\n", "80")):
            self.assertEqual(self.architectures("HERE", seen), chosen, seen)
        self.assertIn("SPEEDWELL_GPUS is here; allowed: ALL, HERE", self.architectures("here", ""))


if __name__ == "__main__":
    unittest.main(verbosity=1)
