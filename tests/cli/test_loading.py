#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests how the command finds the library for GPUs, which lies beside it.

SPEEDWELL_COMMAND as in test_cli.py. SPEEDWELL_BUILT_WITH_CUDA: ON or OFF."""

import glob
import os
import shutil
import tempfile
import unittest

from test_cli import COMMAND, Case, shell


@unittest.skipUnless(os.environ.get("SPEEDWELL_BUILT_WITH_CUDA") == "ON", "built without CUDA")
class Loading(Case):
    """A library of another kind plays libcuda.so.1, without which none is looked for."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        any_library = next(iter(sorted(glob.glob("/lib/*/libm.so.6") + glob.glob("/lib*/libm.so.6"))))
        shutil.copy(any_library, os.path.join(self.folder, "libcuda.so.1"))
        os.symlink(COMMAND, os.path.join(self.folder, "speedwell"))

    def assert_found(self, start):
        outcome = shell(f"cd {self.folder}; {start} info",
                        environment={"LD_LIBRARY_PATH": self.folder})
        self.assert_status(outcome, 0)
        self.assertIn("device cuda", outcome.out)
        self.assertNotIn("cannot be loaded", outcome.out)

    def test_by_its_path(self):
        self.assert_found("$speedwell")

    def test_through_the_search_path(self):
        self.assert_found('cd /; PATH="${speedwell%/*}:$PATH" speedwell')

    def test_through_a_link(self):
        self.assert_found("./speedwell")

    def test_through_a_link_in_the_search_path(self):
        self.assert_found(f'cd /; PATH="{self.folder}:$PATH" speedwell')


if __name__ == "__main__":
    unittest.main()
