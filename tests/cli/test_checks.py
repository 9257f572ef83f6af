#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests run/check-layers, run/check-files, run/check-pages and run/check-kernels: each rule is broken once in a copy of the
tree, or in a library made for it. And run/record, which makes the records that run/check-pages reads."""

import json
import pathlib
import shutil
import struct
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

    def run_check(self, name, *words):
        return subprocess.run([str(self.tree / "run" / name), *words], stdin=subprocess.DEVNULL,
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
                ("src/source/source.hpp", "#include <cuda_runtime.h>",
                 "<cuda_runtime.h> is for device/cuda and kernels/cuda"),
                ("src/refine/system.hpp", "#ifdef NDEBUG",
                 "refine has no preprocessor conditionals"),
                ("src/setup/plan.cpp", 'void f() { std::printf("x"); }',
                 "setup may not print, programs alone do"),
                ("src/matrix/panel_ring.hpp", "inline void f() { MPI_Barrier(MPI_COMM_WORLD); }",
                 "matrix may not call MPI, comm alone does"),
                *((path, f"#include {include}", f"{include[1:-1]} leads to mpi.h, which comm and "
                   "src/api/c_interface.cpp and src/api/speedwell.cpp and src/bench/benchmark.cpp and "
                   "src/solve/factorization.cpp and src/solve/one_process.cpp alone know")
                  for path, include in (("src/app/main.cpp", "<mpi.h>"),
                                        ("src/solve/solver.hpp", "<speedwell/solve.hpp>"),
                                        ("src/api/c_errors.hpp", "<speedwell/speedwell.hpp>"),
                                        ("src/setup/machine.hpp", '"comm/requests.hpp"'))),
                ("src/host/processor.cpp", 'auto* f() { return std::getenv("HOME"); }',
                 "host may not touch the environment, programs and kernels/cpu/isa.cpp and src/host/blas_kernels.cpp and src/host/blas_library.cpp and src/host/core_waits.cpp and src/host/process_seed.cpp and src/device/cuda/variants.cpp alone do"),
                ("kernels/cpu/loops.cpp", 'int f() { return setenv("A", "1", 1); }',
                 "kernels may not touch the environment, programs and kernels/cpu/isa.cpp and src/host/blas_kernels.cpp and src/host/blas_library.cpp and src/host/core_waits.cpp and src/host/process_seed.cpp and src/device/cuda/variants.cpp alone do")):
            with self.subTest(line=line):
                before = (self.tree / path).read_text()
                number = self.append(path, line)
                self.assertEqual(self.said(), [f"{path}:{number}: {words}"])
                (self.tree / path).write_text(before)

    def test_where_it_may_be_said(self):
        self.append("src/app/main.cpp", '// \nauto* f() { return std::getenv("HOME"); }')
        self.append("kernels/cpu/isa.cpp", 'auto* f() { return std::getenv("HOME"); }')
        self.append("src/app/main.cpp", 'void f() { std::printf("x"); }')
        self.append("src/comm/process_grid.cpp", "#include <mpi.h>")
        self.append("src/solve/factorization.cpp", "#include <mpi.h>")
        self.append("src/source/source.hpp", '// as std::getenv("HOME") and MPI_Barrier() do')
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

    def link(self, layer, old, new, quick=False):
        start = f"speedwell_layer({layer}{' QUICKLY' if quick else ''} DEPENDS "
        self.replace(LINKS, start + old, start + new)

    def test_an_edge_that_is_reached_by_another(self):
        self.replace(GRAPH, "\ndevice <- matrix\n", "\ndevice, core <- matrix\n")
        self.link("matrix", "speedwell_device", "speedwell_core speedwell_device")
        self.assertEqual(self.said(), [f"{GRAPH}: core <- matrix is an edge that no #include needs"])

    def test_an_edge_that_nobody_uses(self):
        self.replace(GRAPH, "\ncore <- io\n", "\ncore, grid <- io\n")
        self.link("io", "speedwell_core", "speedwell_grid speedwell_core", quick=True)
        # With the new edge, the one to core is not needed either, but core is included and so kept.
        self.assertEqual(self.said(), [f"{GRAPH}: grid <- io is an edge that no #include needs"])

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
                ("speedwell_layer(io QUICKLY DEPENDS speedwell_core", "speedwell_layer(io QUICKLY DEPENDS speedwell_grid",
                 "speedwell_io links to ['grid'], io knows ['core']"),
                ("setup QUICKLY DEPENDS speedwell_factor speedwell_refine", "setup QUICKLY DEPENDS speedwell_refine",
                 "speedwell_setup links to ['refine', 'sensors', 'source'], setup knows "
                 "['factor', 'refine', 'sensors', 'source']"),
                ("PRIVATE speedwell_bench fmt::fmt", "PRIVATE speedwell_bench speedwell_io fmt::fmt",
                 "speedwell_library links to ['bench', 'io'], api knows ['bench']"),
                ("speedwell_command_objects PUBLIC speedwell_calibrate", "speedwell_command_objects PUBLIC speedwell_report",
                 "speedwell_command_objects links to ['report'], app knows ['calibrate', 'report']")):
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
        for path, limit in (("include/speedwell/long.hpp", 500), ("include/long.h", 500),
                            ("src/grid/long.cpp", 500), ("kernels/cuda/long.cu", 500),
                            ("tests/unit/long.cpp", 600), ("tests/unit/long.py", 600),
                            ("tests/unit/long.c", 600), ("run/gpu_check/long.py", 500)):
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
        for name in ("include", "kernels", "run/gpu_check", "src", "tests"):
            shutil.rmtree(self.tree / name)
        self.assertEqual(self.said("check-files"), ["run/check-files: no files found"])


def machine_code(architecture, kernels):
    """A library with machine code of kernels: {mangled name: (registers, threads, shared, stack)}. A number
    of threads of 0 is no bound."""
    names = b"\0"
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    info, sections = b"", []
    for index, (name, (registers, threads, shared, stack)) in enumerate(kernels.items(), 1):
        symbols += struct.pack("<IBBHQQ", len(names), 0, 0, 0, 0, 0)
        names += name.encode() + b"\0"
        info += struct.pack("<BBHII", 4, 0x2F, 8, index, registers)
        info += struct.pack("<BBHII", 4, 0x12, 8, index, stack)
        bound = struct.pack("<BBHIII", 4, 0x05, 12, threads, 1, 1) if threads else b""
        sections += [(f".nv.info.{name}", b"\3\x1b\x80\0" + bound, None), (f".text.{name}", b"code", None)]
        if shared:
            sections.append((f".nv.shared.{name}", b"", shared + (1024 if architecture >= 90 else 0)))
    sections = [("", b"", None), (".symtab", symbols, None), (".nv.info", info, None), *sections]
    texts = {}
    for name in [name for name, _, _ in sections] + [".strtab"]:
        texts[name] = len(names)
        names += name.encode() + b"\0"
    sections.append((".strtab", names, None))
    body, headers = b"", b""
    for name, content, size in sections:
        headers += struct.pack("<IIQQQQIIQQ", texts[name], 0, 0, 0, 64 + len(body),
                               len(content) if size is None else size, 0, 0, 0, 0)
        body += content
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<Q", head, 0x28, 64 + len(body))
    struct.pack_into("<HHH", head, 0x3A, 64, len(sections), len(sections) - 1)
    code = bytes(head) + body + headers
    entry = struct.pack("<HHIQIIHHI", 2, 0, 64, len(code), 0, 0, 0, 0, architecture).ljust(64, b"\0")
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry + code)) + entry + code


class Pages(Case):
    """A small tree, in which all is right."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        for path, text in (
                ("README.md", "# Top\n[a](docs/a.md#one-two) [b](docs) `[code](nowhere)` [c](#top)\n"),
                ("docs/README.md", "[a](a.md) [out](https://example.org/x)\n"),
                ("docs/a.md", "# One: *two*\n## Same\n## Same\n[s](#same-1)\n"),
                ("src/ARCHITECTURE.md", "word\n" * 4000),
                ("results/README.md", "| [r](r.json) | |\n"),
                ("results/r.json", '{"revision": "abc", "runs": [{"revision": "abc"}]}')):
            (self.tree / path).parent.mkdir(exist_ok=True)
            (self.tree / path).write_text(text)
        (self.tree / "run").mkdir()
        shutil.copy(ROOT / "run/check-pages", self.tree / "run")

    def test_trees_without_a_problem(self):
        done = self.run_check("check-pages")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        done = subprocess.run([ROOT / "run/check-pages"], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_each_problem(self):
        for path, text, problem in (
                ("README.md", "[x](docs/b.md)", "README.md: docs/b.md is not there"),
                ("README.md", "[x](docs/a.md#three)", "README.md: docs/a.md#three has no such heading"),
                ("docs/a.md", "[s](#same-2)", "docs/a.md: #same-2 has no such heading"),
                ("docs/b.md", "# B", "docs/README.md does not name b.md"),
                ("src/ARCHITECTURE.md", "word", "src/ARCHITECTURE.md: 4001 words; allowed: 4000"),
                ("results/s.json", "{}", "results/README.md does not name s.json")):
            with self.subTest(problem=problem):
                file = self.tree / path
                before = file.read_text() if file.exists() else None
                self.append(path, text)
                self.assertEqual(self.said("check-pages"), [problem])
                file.write_text(before) if before is not None else file.unlink()

    def test_records_of_changed_sources(self):
        self.replace("results/r.json", '[{"revision": "abc"}]', '[{"revision": "abc-dirty"}]')
        self.assertEqual(self.said("check-pages"),
                         ["results/r.json: abc-dirty: no clean revision, and its line does not say "
                          "'uncommitted changes'"])
        self.replace("results/README.md", "| |", "| uncommitted changes |")
        self.assertEqual(self.run_check("check-pages").returncode, 0)


class Kernels(Case):
    NAME = "_ZN9speedwell4cuda12_GLOBAL__N_114example_kernelIfEEvPT_"

    def setUp(self):
        super().setUp()
        (self.tree / "docs").mkdir()
        shutil.copy(ROOT / "docs/kernels.md", self.tree / "docs")
        self.library = self.tree / "library.so"

    def write(self, uses, version="12.0.1"):
        """Machine code of one kernel, with a use for each architecture."""
        self.library.write_bytes(b"library\0Cuda compilation tools, release 12.0, V" + version.encode() + b"\0" +
                                 b"".join(machine_code(a, {self.NAME: use}) for a, use in uses.items()))

    def outcome(self, *words):
        done = self.run_check("check-kernels", *words, str(self.library))
        return done.returncode, done.stdout + done.stderr

    def test_each_limit(self):
        for use, words in (((64, 1024, 48 << 10, 0), None),
                           ((65, 1024, 0, 0), "65 registers of 1024 threads; a block may have 65536"),
                           ((32, 1025, 0, 0), "1025 threads of a block; allowed: 1024"),
                           ((32, 256, (48 << 10) + 8, 0), "49160 bytes of static shared memory; allowed: 49152"),
                           ((32, 256, 0, 8), "a stack of 8 bytes: spilled registers, or arrays in local memory"),
                           ((32, 0, 0, 0), "no __launch_bounds__")):
            self.write({80: (16, 32, 0, 0), 90: use})
            status, said = self.outcome()
            if words is None:
                self.assertEqual(status, 0, said)
                self.assertIn("docs/kernels.md is not compared", said)
            else:
                self.assertEqual((status, said), (1, f"example_kernel<float>, sm_90: {words}\n"))

    def test_the_table(self):
        # 48 registers: 10 warps in each of 4 partitions, 5 blocks of 8 warps. 33280 + 1024 bytes: 4 blocks in
        # 164 KiB, 6 in 228. 3 warps: 21 blocks in 64 warps.
        uses = {80: (48, 256, 33280, 0), 90: (48, 256, 33280, 0), 100: (32, 96, 0, 0)}
        self.write(uses)
        self.assertEqual(self.outcome("--update"), (0, ""))
        self.assertEqual((self.tree / "docs/kernels.md").read_text().splitlines()[-1],
                         "| `example_kernel<float>` | 256 | 33280 | 48: 4, 50 % | 48: 5, 62 % | 32: 21, 98 % |")
        self.assertEqual(self.outcome(), (0, ""))
        self.write({**uses, 100: (33, 96, 0, 0)})
        status, said = self.outcome()
        self.assertEqual((status, len(said.splitlines())), (1, 3), said)
        self.write({**uses, 100: (33, 96, 0, 0)}, version="12.0.2")
        self.assertEqual(self.outcome()[0], 0)

    def test_launches(self):
        self.write({80: (16, 32, 0, 0)})
        self.replace("kernels/cuda/panel.cu", "launch(stream, 1, scale_threads, inverse", "launch(stream, 1, 1, inverse")
        status, said = self.outcome()
        self.assertEqual(status, 1)
        self.assertRegex(said, r"^kernels/cuda/panel.cu:\d+: 1 threads for inverse_scale_kernel, whose "
                               r"__launch_bounds__ has scale_threads$")

    def test_what_cannot_be_read(self):
        self.library.write_bytes(b"nothing")
        self.assertEqual(self.outcome(), (1, f"no kernel in {self.library}\n"))
        self.write({80: (16, 32, 0, 0)})
        self.library.write_bytes(self.library.read_bytes().replace(b"\x7fELF", b"\x28\xb5\x2f\xfd"))
        status, said = self.outcome()
        self.assertEqual(status, 2)
        self.assertIn("machine code for sm_80 is compressed", said)
        self.library.unlink()
        self.assertEqual(self.outcome()[0], 2)
        self.assertEqual(self.outcome("--all")[0], 2)


class Records(unittest.TestCase):
    """run/record: figures stay, and what a comparison does not need goes."""

    def summary(self, document):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as raw:
            json.dump(document, raw)
            raw.flush()
            done = subprocess.run([ROOT / "run/record", raw.name], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(max(map(len, done.stdout.splitlines())), 121)
        return json.loads(done.stdout)

    def test_a_comparison(self):
        row = {"solver": "mxp", "precision": "bf16", "nb": 64, "ranks": 1, "gflops": {"best": 90.978814, "median": 80.5},
               "seconds": 1.0 / 3, "median_seconds": 0.5, "over_dgesv": None, "error": 1e-15, "passed": True,
               "turns": [{"seconds": 0.5, "error": 1e-15, "matrix": {"overflowed": 0}}]}
        ceiling = {"name": "dgemm", "rate": {"best": 10.0, "median": 9.0}, "threads": 2}
        result = {"schema": "speedwell/1", "revision": "abc", "date": "2026-11-21", "matrix": "shifted", "ranks": 1, "nprow": 1,
                  "passed": True, "orders": [{"n": 500, "solvers": [row, row | {"passed": False}], "ceilings": [ceiling]}]}
        record = {"revision": "abc", "note": "n",
                  "runs": [{"command": "/a/b/speedwell compare --json /a/c.json", "result": result}]}
        kept = {"solver": "mxp", "precision": "bf16", "nb": 64, "gflops": {"best": 90.979, "median": 80.5},
                "seconds": 0.33333, "error": 1e-15}
        self.assertEqual(self.summary(record), {
            "revision": "abc", "note": "n",
            "runs": [{"command": "speedwell compare --json c.json", "result": {
                "matrix": "shifted", "ranks": 1, "passed": True,
                "orders": [{"n": 500, "solvers": [kept, kept | {"passed": False}],
                            "ceilings": [{"name": "dgemm", "rate": 10.0}]}]}}]})
        result["revision"] = "abc-dirty"
        self.assertEqual(self.summary(record)["runs"][0]["result"]["revision"], "abc-dirty")

    def test_a_run(self):
        phase = {"average": 1.5, "maximum": 2.0, "slowest_rank": 0, "slowest_host": "h"}
        self.assertEqual(
            self.summary({"n": 8, "nprow": 1, "ranks": 2, "time_seconds": 3.0, "gflops": 0.9999999999, "passed": False,
                          "phases": {"panel": phase}, "norms": {"A_inf": 1.0}, "runs": [{"time_seconds": 3.0}], "failure": None,
                          "notes": ["the profile is '/h/p.json'"], "errors": "a\nb\nc", "clocks": {
                              "sm_mhz": {"min": 1.0, "median": 2.0, "max": 3.0}}}),
            {"n": 8, "nprow": 1, "ranks": 2, "time_seconds": 3.0, "gflops": 0.9999999999, "passed": False,
             "phases": {"panel": 1.5}, "notes": ["the profile is 'p.json'"], "clocks": {"sm_mhz": 2.0}})


if __name__ == "__main__":
    unittest.main()
