#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests run/check-symbols on the libraries of the build, with their lists and with other lists.

SPEEDWELL_LIBRARIES: the paths of the libraries, with colons between them.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARIES = os.environ.get("SPEEDWELL_LIBRARIES", str(ROOT / "build/release/libspeedwell.so")).split(":")
API = "src/api/symbols.txt"


def check(root, *words):
    return subprocess.run([str(root / "run/check-symbols"), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


class Libraries(unittest.TestCase):
    def test_they_show_what_the_lists_say(self):
        done = check(ROOT, *LIBRARIES)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Lists(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        for name in ("run/check-symbols", API, "src/device/cuda/symbols.txt"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        self.list = self.tree / API
        self.assertEqual(check(self.tree, "--update", LIBRARIES[0]).returncode, 0)
        self.names = self.list.read_text().splitlines()

    def assert_found(self, names, *lines):
        """Checks that run/check-symbols finds these differences from a list of these names, and
        that --update removes them."""
        self.list.write_text("".join(name + "\n" for name in names))
        done = check(self.tree, LIBRARIES[0])
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        *found, advice = done.stdout.splitlines()
        self.assertEqual(found, list(lines))
        self.assertIn("run/check-symbols --update", advice)
        done = check(self.tree, "--update", LIBRARIES[0])
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.list.read_text().splitlines(), self.names)
        self.assertEqual(check(self.tree, LIBRARIES[0]).returncode, 0)

    def test_what_came(self):
        self.assertIn("speedwell_dgesv", self.names)
        self.assert_found([name for name in self.names if name != "speedwell_dgesv"],
                          f"libspeedwell.so shows, and {API} does not have: speedwell_dgesv")

    def test_what_went(self):
        self.assert_found(sorted(self.names + ["speedwell_forgotten"]),
                          f"libspeedwell.so does not show what {API} has: speedwell_forgotten")

    def test_no_list(self):
        self.assert_found([], *(f"libspeedwell.so shows, and {API} does not have: {name}"
                                for name in self.names))

    def test_names_have_one_spelling(self):
        self.assertIn("speedwell::Factorization::n() const", self.names)
        for name in self.names:
            self.assertRegex(name, r"\bspeedwell(::|_)")
            self.assertNotRegex(name, r"__cxx11|ompi_|std::allocator|> >|Implementation|::detail")
        self.assertEqual(self.names, sorted(set(self.names)))

    def test_libraries_that_are_not_there(self):
        for words in (["build/libspeedwell.so"], [str(self.list)], []):
            done = check(self.tree, *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
