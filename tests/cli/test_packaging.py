#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files of packaging/ as far as that needs none of their tools: what Ramble and ReFrame
find in reports of the program, and the options, versions and files that are named there.

SPEEDWELL_COMMAND as in test_cli.py.
"""

import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

from test_cli import Case, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
VERSION = re.search(r"project\(Speedwell VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def load(path, **stand_ins):
    """A module of packaging/, with these in the places of the modules that it imports."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    modules = {name.replace("__", "."): stand_in for name, stand_in in stand_ins.items()}
    with mock.patch.dict(sys.modules, modules):
        spec.loader.exec_module(module)
    return module


class Directives(types.ModuleType):
    """ramble.appkit: keeps what its directives are called with, by their names."""

    __all__ = ["ExecutableApplication", "executable", "figure_of_merit", "figure_of_merit_context",
               "required_package", "software_spec", "success_criteria", "tags", "workload",
               "workload_variable"]
    ExecutableApplication = object

    def __init__(self):
        super().__init__("ramble.appkit")
        self.calls = {}
        for name in self.__all__[1:]:
            setattr(self, name, self.keep(name))

    def keep(self, name):
        kept = self.calls.setdefault(name, {})
        return lambda first, *words, **named: kept.setdefault(first, named)


def ramble():
    directives = Directives()
    load(PACKAGING / "ramble/application.py", ramble=types.ModuleType("ramble"),
         ramble__appkit=directives)
    return directives.calls


def reframe():
    anything = mock.MagicMock()
    anything.RunOnlyRegressionTest = object
    anything.simple_test = lambda test: test
    return load(PACKAGING / "reframe/speedwell_check.py", reframe=anything, reframe__core=anything,
                reframe__core__builtins=anything, reframe__utility=anything,
                reframe__utility__sanity=anything, reframe__utility__typecheck=anything)


class Reports(Case):
    """What the patterns find is what the program's JSON says."""

    @classmethod
    def setUpClass(cls):
        cls.reports = {}
        with tempfile.TemporaryDirectory() as folder:
            for command in ("mxp", "hpl"):
                file = pathlib.Path(folder) / command
                outcome = run(command, "-N", "300,400", "--json", str(file), ranks=2)
                runs = json.loads(file.read_text())["runs"]
                cls.reports[command] = outcome.out.splitlines(), runs

    def found(self, pattern, lines, group, kind=float):
        """As Ramble looks: at the beginning of each line."""
        return [kind(match[group]) for match in map(re.compile(pattern).match, lines) if match]

    def assert_close(self, found, expected, relative, absolute=0):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=relative * other + absolute)

    def assert_parsed(self, lines, runs, run_line, residual):
        self.assertEqual(self.found(run_line, lines, "order", int), [300, 400])
        self.assert_close(self.found(run_line, lines, "gflops"),
                          [one["gflops"] for one in runs], 1e-3)
        self.assert_close(self.found(run_line, lines, "time"),
                          [one["time_seconds"] for one in runs], 0, absolute=0.0051)
        self.assert_close(self.found(residual, lines, "residual"),
                          [one["scaled_residual"] for one in runs], 1e-6)

    def test_reframe(self):
        check = reframe()
        for command, (lines, runs) in self.reports.items():
            with self.subTest(command=command):
                self.assert_parsed(lines, runs, check.RUN, check.RESIDUAL)
                for pattern, group, count in ((check.PASSED, "passed", 2),
                                              (check.FAILED, "failed", 0),
                                              (check.SKIPPED, "skipped", 0)):
                    self.assertEqual(self.found(pattern, lines, group, int), [count])

    def test_ramble(self):
        calls = ramble()
        figures = {name: figure["fom_regex"] for name, figure in calls["figure_of_merit"].items()}
        context = calls["figure_of_merit_context"]["run"]
        for command, (lines, runs) in self.reports.items():
            with self.subTest(command=command):
                self.assert_parsed(lines, runs, figures["Performance"], figures["Scaled residual"])
                contexts = [context["output_format"].format(**match.groupdict())
                            for match in map(re.compile(context["regex"]).match, lines) if match]
                self.assertEqual(len(set(contexts)), 2)
                self.assertRegex(contexts[0], r"^WR\w+ N=300 NB=\d+ 1x2$")
                factorizations = self.found(figures["Performance of the LU"], lines, "gflops")
                self.assertEqual(len(factorizations), 2 if command == "mxp" else 0)

    def test_success(self):
        criteria = ramble()["success_criteria"]
        patterns = [criteria[name]["match"] for name in ("a run passed", "no run failed")]
        for command, (lines, runs) in self.reports.items():
            with self.subTest(command=command):
                failed = [re.sub(r"^( +)0( tests completed and failed)", r"\g<1>1\2", line)
                          for line in lines]
                none_passed = [re.sub(r"^( +)2( tests completed and passed)", r"\g<1>0\2", line)
                               for line in lines]
                for text, outcome in ((lines, [True, True]), (failed, [True, False]),
                                      (none_passed, [False, True]), ([], [False, False])):
                    self.assertEqual([any(map(re.compile(pattern).match, text))
                                      for pattern in patterns], outcome)


class Names(unittest.TestCase):
    """What the files say of the tree."""

    def files(self):
        for path in sorted(PACKAGING.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path, path.read_text()

    def test_options(self):
        cmake = (ROOT / "CMakeLists.txt").read_text()
        known = set(re.findall(r"^(?:option|set)\((SPEEDWELL_\w+)", cmake, re.M))
        named = {name for _, text in self.files()
                 for name in re.findall(r"\bSPEEDWELL_[A-Z]+\b", text)}
        self.assertIn("SPEEDWELL_TESTS", named)
        self.assertLessEqual(named, known)

    def test_versions(self):
        self.assertEqual([path.name for path in (PACKAGING / "easybuild").glob("*.eb")],
                         [f"speedwell-{VERSION}-foss-2025b.eb"])
        easyconfig = (PACKAGING / "easybuild" / f"speedwell-{VERSION}-foss-2025b.eb").read_text()
        self.assertIn(f"\nversion = '{VERSION}'\n", easyconfig)
        self.assertIn(f"\n  version: {VERSION}\n", (PACKAGING / "conda/recipe.yaml").read_text())

    def test_files(self):
        text = (PACKAGING / "Containerfile").read_text()
        named = re.findall(r"^COPY (?!--from)(\S+)", text, re.M)
        self.assertIn("run/lib.sh", named)
        self.assertEqual([name for name in named if not (ROOT / name).exists()], [])

    def test_page(self):
        """packaging/README.md has a row for every file."""
        page = (PACKAGING / "README.md").read_text()
        for path, _ in self.files():
            if path.name != "README.md":
                self.assertIn(f"]({path.relative_to(PACKAGING)})", page)


if __name__ == "__main__":
    unittest.main()
