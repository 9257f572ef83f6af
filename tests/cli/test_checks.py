#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests run/check-layers and run/check-files: each rule is broken once in a copy of the tree."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GRAPH = "src/ARCHITECTURE.md"
LINKS = "src/CMakeLists.txt"
LICENCE = "// SPDX-License-Identifier: BSD-3-Clause"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        for name in ("include", "kernels", "run", "src"):
            shutil.copytree(ROOT / name, self.tree / name)

    def run_check(self, name):
        return subprocess.run([str(self.tree / "run" / name)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)

    def said(self, name="check-layers"):
        """The lines that a check prints. It must find a problem."""
        done = self.run_check(name)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        return done.stdout.splitlines()

    def append(self, path, text):
        with open(self.tree / path, "a") as file:
            file.write(text + "\n")
        return len((self.tree / path).read_text().splitlines())

    def replace(self, path, old, new):
        text = (self.tree / path).read_text()
        self.assertEqual(text.count(old), 1, f"'{old}' in {path}")
        (self.tree / path).write_text(text.replace(old, new))


class Layers(Case):
    def test_the_tree_as_it_is(self):
        done = self.run_check("check-layers")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_a_line_may_not_say(self):
        for path, line, words in (
                ("src/grid/step.hpp", '#include "comm/communicator.hpp"',
                 'grid may not know comm: includes "comm/communicator.hpp"'),
                ("src/io/json.cpp", '#include "cpu/isa.hpp"',
                 'io may not know kernels: includes "cpu/isa.hpp"'),
                ("src/bench/tune.cpp", '#include "report/tune_report.hpp"',
                 'bench may not know report: includes "report/tune_report.hpp"'),
                ("src/grid/step.hpp", '#include "../core/index.hpp"',
                 'names "../core/index.hpp" by a relative path'),
                ("src/grid/step.hpp", '#include "nowhere/index.hpp"',
                 'includes "nowhere/index.hpp", which is in no layer'),
                ("src/factor/lu.cpp", "#include <cblas.h>",
                 "factor may not know a vendor: includes <cblas.h>"),
                ("src/solve/source.hpp", "#include <cuda_runtime.h>",
                 "<cuda_runtime.h> is for device/cuda and kernels/cuda"),
                ("src/refine/system.hpp", "#ifdef NDEBUG",
                 "refine has no preprocessor conditionals"),
                ("src/setup/plan.cpp", 'void f() { std::printf("x"); }',
                 "setup may not print, app alone does"),
                ("src/matrix/panel_ring.hpp", "inline void f() { MPI_Barrier(MPI_COMM_WORLD); }",
                 "matrix may not call MPI, comm alone does"),
                ("src/device/cpu/processor.cpp", 'auto* f() { return std::getenv("HOME"); }',
                 "device may not touch the environment, app and kernels/cpu/isa.cpp alone do"),
                ("kernels/cpu/loops.cpp", 'int f() { return setenv("A", "1", 1); }',
                 "kernels may not touch the environment, app and kernels/cpu/isa.cpp alone do")):
            with self.subTest(line=line):
                before = (self.tree / path).read_text()
                number = self.append(path, line)
                self.assertEqual(self.said(), [f"{path}:{number}: {words}"])
                (self.tree / path).write_text(before)

    def test_where_it_may_be_said(self):
        self.append("src/app/main.cpp", '// \nauto* f() { return std::getenv("HOME"); }')
        self.append("kernels/cpu/isa.cpp", 'auto* f() { return std::getenv("HOME"); }')
        self.append("src/app/main.cpp", 'void f() { std::printf("x"); }')
        self.append("src/solve/source.hpp", '// as std::getenv("HOME") and MPI_Barrier() do')
        self.append("src/bench/tune.cpp", '#include "core/clock.hpp"')  # known indirectly
        self.assertEqual(self.run_check("check-layers").returncode, 0)

    def test_a_folder_that_is_no_layer(self):
        (self.tree / "src/attic").mkdir()
        self.append("src/attic/old.cpp", "int x;")
        self.assertEqual(self.said(), [f"src/attic/old.cpp: attic/ is no layer of {GRAPH}"])

    def test_no_sources(self):
        for path in [*self.tree.rglob("*.[ch]pp"), *self.tree.rglob("*.cu")]:
            path.unlink()
        self.assertIn("run/check-layers: no source files found", self.said())


class Graph(Case):
    """The graph must be readable, and its edges must be used and agree with the links."""

    def link(self, layer, old, new):
        self.replace(LINKS, f"lupine_layer({layer} DEPENDS {old}", f"lupine_layer({layer} DEPENDS {new}")

    def test_an_edge_that_is_reached_by_another(self):
        self.replace(GRAPH, "\ndevice <- matrix\n", "\ndevice, core <- matrix\n")
        self.link("matrix", "lupine_device", "lupine_core lupine_device")
        self.assertEqual(self.said(), [f"{GRAPH}: core <- matrix is an edge that no #include needs"])

    def test_an_edge_that_nobody_uses(self):
        self.replace(GRAPH, "\ncore <- io\n", "\ncore, comm <- io\n")
        self.link("io", "lupine_core", "lupine_comm lupine_core")
        # With the new edge, the one to core is not needed either, but core is included and so kept.
        self.assertEqual(self.said(), [f"{GRAPH}: comm <- io is an edge that no #include needs"])

    def test_an_edge_without_its_last_include(self):
        for path in (self.tree / "src/bench").iterdir():
            path.write_text(path.read_text().replace('#include "generate/', '// "generate/'))
        self.assertEqual(self.said(),
                         [f"{GRAPH}: generate <- bench is an edge that no #include needs"])

    def test_an_edge_that_is_needed_for_what_lies_below_it(self):
        # api includes comm and grid, which it knows through bench.
        self.replace(GRAPH, "\nbench <- api\n", "\ncore <- api\n")
        said = self.said()
        self.assertTrue(any("api may not know comm" in line for line in said), said)

    def test_links_that_differ(self):
        for old, new, words in (
                ("lupine_layer(io DEPENDS lupine_core", "lupine_layer(io DEPENDS lupine_grid",
                 "lupine_io links to ['grid'], io knows ['core']"),
                ("lupine_layer(setup DEPENDS lupine_factor lupine_io", "lupine_layer(setup DEPENDS lupine_io",
                 "lupine_setup links to ['io'], setup knows ['factor', 'io']"),
                ("PRIVATE lupine_bench fmt::fmt", "PRIVATE lupine_bench lupine_io fmt::fmt",
                 "lupine_library links to ['bench', 'io'], api knows ['bench']"),
                ("PUBLIC lupine_report fmt::fmt", "PUBLIC lupine_bench fmt::fmt",
                 "lupine_command_objects links to ['bench'], app knows ['report']")):
            with self.subTest(new=new):
                before = (self.tree / LINKS).read_text()
                self.replace(LINKS, old, new)
                self.assertEqual(self.said(), [f"CMakeLists.txt: {words} by {GRAPH}"])
                (self.tree / LINKS).write_text(before)

    def test_a_graph_that_cannot_be_read(self):
        self.replace(GRAPH, "## Who may know whom", "## Who knows whom")
        self.assertIn(f"{GRAPH}: no graph below 'Who may know whom'", self.said())

    def test_a_circle(self):
        self.replace(GRAPH, "\ncore <- io\n", "\ncore <- io\nbench <- setup\n")
        said = self.said()
        for layer in ("setup", "solve", "bench"):
            self.assertIn(f"{GRAPH}: {layer} knows itself, by way of others", said)

    def test_a_layer_that_is_no_folder(self):
        self.replace(GRAPH, "\ncore <- io\n", "\ncore <- io\ncore <- attic\n")
        self.assertIn(f"{GRAPH}: attic is no folder", self.said())


class Files(Case):
    def setUp(self):
        super().setUp()
        self.tests = self.tree / "tests/unit"
        self.tests.mkdir(parents=True)

    def test_the_tree_as_it_is(self):
        shutil.copytree(ROOT / "tests", self.tree / "tests", dirs_exist_ok=True)
        done = self.run_check("check-files")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_limits(self):
        for path, limit in (("include/lupine/long.hpp", 500), ("include/long.h", 500),
                            ("src/grid/long.cpp", 500), ("kernels/cuda/long.cu", 500),
                            ("tests/unit/long.cpp", 600), ("tests/unit/long.py", 600),
                            ("tests/unit/long.c", 600)):
            with self.subTest(path=path):
                (self.tree / path).write_text(LICENCE + "\n" * limit)
                self.assertEqual(self.run_check("check-files").returncode, 0)
                self.append(path, "")
                self.assertEqual(self.said("check-files"),
                                 [f"{path}: {limit + 1} lines; allowed: {limit}"])
                (self.tree / path).unlink()

    def test_licences(self):
        path = "src/grid/new.cpp"
        for text, allowed in ((LICENCE + "\n", True), ("#!/bin/sh\n" + LICENCE + "\n", True),
                              ("\n\n" + LICENCE + "\n", False), ("int i;\n", False)):
            with self.subTest(text=text):
                (self.tree / path).write_text(text)
                expected = [] if allowed else [
                    f"{path}: no '{LICENCE[3:]}' in its first two lines"]
                self.assertEqual(self.run_check("check-files").stdout.splitlines(), expected)

    def test_no_files(self):
        for name in ("include", "kernels", "src", "tests"):
            shutil.rmtree(self.tree / name)
        self.assertEqual(self.said("check-files"), ["run/check-files: no files found"])


if __name__ == "__main__":
    unittest.main()
