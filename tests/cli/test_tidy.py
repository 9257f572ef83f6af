#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests which sources run/tidy reads after a change, in a small repository of its own."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = {
    "src/core/index.hpp": "#pragma once\nint index();  // where\n",
    "src/grid/step.hpp": '#pragma once\n#include "core/index.hpp"\n',
    "src/grid/step.cpp": '#include "grid/step.hpp"\n',
    "src/other/index.hpp": "#pragma once\n",
    "src/other/other.cpp": '#include "other/index.hpp"\n',
    "kernels/cuda/panel.cu": '#include <core/index.hpp>\n',
    "tests/unit/test_index.cpp": '#include "core/index.hpp"\nconst char* text = "// no comment";\n',
    "README.md": "read me\n",
    ".clang-tidy": "Checks: '*'\n",
}
SOURCES = ["kernels/cuda/panel.cu", "src/grid/step.cpp", "src/other/other.cpp",
           "tests/unit/test_index.cpp"]


class Tidy(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.tree = pathlib.Path(place.name).resolve()
        for name, text in FILES.items():
            self.write(name, text)
        (self.tree / "run").mkdir()
        shutil.copy(ROOT / "run/tidy", self.tree / "run/tidy")
        commands = [{"directory": str(self.tree), "command": f"c++ -c {name}", "file": name}
                    for name in [*SOURCES, *SOURCES]]
        commands.append({"directory": str(self.tree), "command": "nvcc -c x.cu", "file": "src/x.cu"})
        self.write("build/compile_commands.json", json.dumps(commands))
        self.write(".gitignore", "/build/\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()
        self.commit()

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.tree,
                              check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a change")

    def run_tidy(self, *options, database=("build",), **environment):
        known = {name: value for name, value in os.environ.items() if name != "SPEEDWELL_BASE"}
        return subprocess.run([str(self.tree / "run/tidy"), *database, *options], cwd=self.tree,
                              capture_output=True, text=True, env=dict(known, **environment))

    def listed(self, *options, **environment):
        done = self.run_tidy("--list", *options, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_nothing_has_changed(self):
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.listed("--all"), SOURCES)

    def test_a_header_and_all_that_include_it(self):
        self.write("src/core/index.hpp", "#pragma once\nint index(int);\n")
        changed = [name for name in SOURCES if name != "src/other/other.cpp"]
        self.assertEqual(self.listed(), changed)
        self.commit()
        self.assertEqual(self.listed(), changed)
        self.commit()
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.listed(SPEEDWELL_BASE="HEAD~2"), changed)

    def test_comments_are_no_change(self):
        self.write("src/core/index.hpp", "#pragma once\n/* there */ int index();\n")
        self.assertEqual(self.listed(), [])
        self.write("tests/unit/test_index.cpp",
                   FILES["tests/unit/test_index.cpp"].replace("no comment", "other text"))
        self.assertEqual(self.listed(), ["tests/unit/test_index.cpp"])

    def test_other_files(self):
        self.write("README.md", "read it again\n")
        self.assertEqual(self.listed(), [])
        self.write(".clang-tidy", "Checks: 'bugprone-*'\n")
        self.assertEqual(self.listed(), SOURCES)

    def test_the_branch_that_it_left(self):
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.write("src/other/other.cpp", "int other;\n")
        self.commit()
        self.commit()
        self.assertEqual(self.listed(), ["src/other/other.cpp"])

    def test_the_base_alone(self):
        commits = self.git("rev-list", "HEAD").split()
        for environment, base in (({}, commits[1]), ({"SPEEDWELL_BASE": "HEAD"}, commits[0])):
            self.assertEqual(self.run_tidy("--base", database=(), **environment).stdout, base + "\n")
        shutil.rmtree(self.tree / ".git")
        self.git("init", "--quiet")
        self.assertEqual(self.run_tidy("--base", database=()).stdout, "\n")

    def test_refusals(self):
        for words, environment, status, needle in (
                ((), {"SPEEDWELL_BASE": "nowhere"}, 2, "SPEEDWELL_BASE is 'nowhere'"),
                (("--some",), {}, 2, "usage: run/tidy DATABASE"),
                (("more",), {}, 2, "usage: run/tidy DATABASE")):
            done = self.run_tidy(*words, **environment)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(needle, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
