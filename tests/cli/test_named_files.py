#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files that a command line names: one file for two things, files that cannot be read or
written, and names that are no names of files.

Variables as in test_cli.py.
"""

import os
import pathlib
import shutil
import struct
import unittest

from test_cli import COMMAND, PREDICTS, SMALL, needs_predictions, run, run_apart, shell
from test_hpl import ONE_RUN, InFolder
from test_predict import H200
from test_solve import N, SYSTEM, matrix, npz_bytes, numpy_bytes

ONE_TO_FILE = {**ONE_RUN, 4: "8"}
PREDICT = ("predict", "mxp", "-N", "1000")


class InFolderOfFiles(InFolder):
    def at(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, content):
        with open(self.at(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def contents(self):
        """Every file of the folder, and whether it is a link."""
        found = {}
        for name in os.listdir(self.folder):
            path = pathlib.Path(self.at(name))
            found[name] = (path.is_symlink(), path.read_bytes() if path.is_file() else None)
        return found

    def assert_kept(self, words, *needles, ranks=0, **arguments):
        """A refusal that leaves all files as they are."""
        before = self.contents()
        outcome = run(*words, ranks=ranks, folder=self.folder, patience=120, **arguments)
        self.assert_refused(outcome, *needles)
        self.assertLess(len(outcome.complaints[0]), 1000)
        self.assertEqual(self.contents(), before)


class OneFileTwice(InFolderOfFiles):
    def links(self, name):
        os.symlink(name, self.at("symbolic"))
        os.link(self.at(name), self.at("hard"))
        os.symlink("missing", self.at("dangling"))

    def test_hpl_dat(self):
        for line_3 in "HPL.dat", "./HPL.dat", "symbolic", "hard":
            with self.subTest(line_3=line_3):
                self.setUp()
                self.write({**ONE_TO_FILE, 3: line_3})
                self.links("HPL.dat")
                for words in ("hpl",), ("mxp", "-i", "HPL.dat"):
                    self.assert_kept(words, "both name", line_3, "line 3 of HPL.dat", "-i,--dat")
        for option in "--json", "--trace":
            for name in "HPL.dat", "symbolic", "hard":
                self.assert_kept(("hpl", option, name, "-i", "HPL.dat"), "both name", option, "--dat")
        self.assert_kept(("hpl", "--json", "HPL.dat"), "both name", "--json", "-i,--dat")

    def test_line_3_and_an_option(self):
        self.write({**ONE_TO_FILE, 3: "out"})
        os.symlink("out", self.at("to-out"))
        for name in "out", "to-out":
            for option in "--json", "--trace":
                self.assert_kept(("hpl", option, name), "both name", option, "line 3 of HPL.dat",
                                 ranks=2 * (option == "--json"))
        self.put("profile.json", "{}")
        self.write({**ONE_TO_FILE, 3: "profile.json"})
        self.assert_kept(("hpl", "--profile", "profile.json"), "both name", "--profile", "line 3")

    def test_line_3_is_no_file_where_the_report_goes_to_a_stream(self):
        self.write({**ONE_RUN, 3: "HPL.dat"})
        before = self.contents()
        outcome = run("hpl", folder=self.folder)
        self.assert_status(outcome, 0)
        self.assertEqual(self.contents(), before)

    def test_standard_streams(self):
        for stream, name in ("1", "standard output"), ("2", "standard error"):
            for file in "x", f"/dev/fd/{stream}":
                script = (f'cd {self.folder}; "$speedwell" mxp -N 32 --json {file} {stream}> x; status=$?; '
                          f"[ {stream} = 1 ] || cat x >&2; exit $status")
                self.assert_refused(shell(script), f"{name} and --json both name '{file}'")

    def test_standard_output_is_the_file_of_json_alone(self):
        self.put("A.mtx", SYSTEM)
        for words in (("solve", "A.mtx", "-o", "-"), ("solve", "A.mtx", "--report", "-"),
                      (*SMALL, "--trace", "-")):
            self.assert_kept(words, words[-2], "only --json writes", "./-")

    def test_options(self):
        self.put("A.mtx", SYSTEM)
        self.put("profile.json", "")
        self.links("A.mtx")
        for name in "A.mtx", "symbolic", "hard":
            for option in "-o", "--json", "--report":
                self.assert_kept(("solve", "A.mtx", option, name), "both name", "A and", option)
                self.assert_kept(("solve", "A.mtx", "hard", option, name), "both name", option)
        self.assert_kept(("solve", "A.mtx", "--json", "missing", "--report", "dangling"), "both name")
        self.assert_kept(("tune", "--profile", "profile.json", "--json", "./profile.json"), "both name",
                         "--profile", "--json")
        self.assert_kept((*SMALL, "--json", "missing", "--trace", "dangling"), "both name", "--trace")

    @needs_predictions
    def test_machine(self):
        shutil.copy(H200, self.at("m.json"))
        self.links("m.json")
        for name in "m.json", "symbolic", "hard":
            for option in "--json", "--trace":
                self.assert_kept((*PREDICT, "--machine", "m.json", option, name), "both name",
                                 "--machine", option)


class Unreadable(InFolderOfFiles):
    def setUp(self):
        super().setUp()
        os.mkfifo(self.at("pipe"))
        os.symlink("loop", self.at("loop"))
        with open(self.at("sparse.json"), "wb") as file:
            file.truncate(2**40)
        os.rename(self.at("sparse.json"), self.at("sparse"))

    # No FIFO may be waited for, and no content compared: the folder has a file of 1 TiB.
    def contents(self):
        return sorted(os.listdir(self.folder))

    def test_small_files(self):
        names = {"./pipe": "no regular file", "/dev/zero": "no regular file", "./sparse": "64 MiB",
                 "./loop": "symbolic links", "./" + "n" * 300: "name too long", ".": "folder"}
        for name, reason in names.items():
            with self.subTest(name=name):
                self.assert_kept(("hpl", "-i", name), "cannot read", "HPL.dat of 31 lines", reason)
                self.assert_kept((*SMALL, "--profile", name), "cannot read", "or none", reason)

    @needs_predictions
    def test_machine(self):
        for name, reason in {"./pipe": "no regular file", "/dev/zero": "no regular file",
                             "./sparse": "64 MiB"}.items():
            self.assert_kept((*PREDICT, "--machine", name), "cannot read the machine", reason)

    def test_a_pipe_in_the_default_places(self):
        os.rename(self.at("pipe"), self.at("HPL.dat"))
        self.assert_kept(("hpl",), "cannot read 'HPL.dat'", "no regular file")
        self.assertEqual(run(*SMALL, folder=self.folder, patience=120,
                             environment={"SPEEDWELL_PROFILE": self.at("HPL.dat")}).status, 0)

    def test_systems(self):
        self.put("A.mtx", SYSTEM)
        for name in "pipe", "/dev/zero", "sparse", "loop", "n" * 300:
            self.assert_kept(("solve", name), name[:300])
            self.assert_kept(("solve", "A.mtx", name), name[:300])

    def test_sizes_are_compared_first(self):
        """Right-hand sides that no memory holds, beside a small A."""
        self.put("A.npy", numpy_bytes(matrix(20)))
        size = 370000
        text = str({"descr": "<f8", "fortran_order": False, "shape": (size, size)}).ljust(117) + "\n"
        header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
        with open(self.at("b.npy"), "wb") as file:
            file.write(header)
            file.truncate(len(header) + 8 * size * size)
        self.put("b.mtx", f"%%MatrixMarket matrix coordinate real general\n{size} {size} 1\n1 1 1.0\n")
        for name in "b.npy", "b.mtx":
            for ranks in 0, 2:
                self.assert_kept(("solve", "A.npy", name), f"{size} rows", "allowed: 20 rows",
                                 ranks=ranks)

    def test_damaged_array(self):
        arrays = npz_bytes({"A": numpy_bytes(matrix(400)), "b": numpy_bytes([[1.0]] * 400)})
        self.put("whole.npz", arrays)
        self.assertEqual(run("solve", "whole.npz:A", "whole.npz:b", folder=self.folder,
                             patience=120).status, 0)
        place = {"A": arrays.index(b"\x93NUMPY") + 400 * 400 * 4,
                 "b": arrays.rindex(b"\x93NUMPY") + 400 * 4}
        for name, at in place.items():
            self.put("A.npz", arrays[:at] + bytes([arrays[at] ^ 1]) + arrays[at + 1:])
            for ranks in 0, 3:
                self.assert_kept(("solve", "A.npz:A", "A.npz:b"), f"'A.npz:{name}' cannot be unpacked",
                                 "CRC error", ranks=ranks)

    def solve_on_two_nodes(self, *files):
        """The outcome of two ranks, each with a folder of its own; None: without a file A.npy."""
        lines = []
        for rank, file in enumerate(files):
            node = self.at(f"node{rank}")
            os.makedirs(node, exist_ok=True)
            if file is not None:
                self.put(f"node{rank}/A.npy", numpy_bytes(file))
            lines.append(["env", "-C", node, COMMAND, "solve", "A.npy"])
        return run_apart(*lines, patience=120)

    def test_ranks_with_other_files_of_the_same_name(self):
        other = matrix(N)
        other[N - 1][0] += 1
        for file in other, matrix(N + 1):
            self.assert_refused(self.solve_on_two_nodes(matrix(N), file),
                                "'A.npy'", "another file on rank 1", "than on rank 0")

    def test_a_file_that_one_rank_does_not_have(self):
        self.assert_refused(self.solve_on_two_nodes(matrix(N), None),
                            "rank 1: cannot read 'A.npy'", "No such file")


class Unwritable(InFolderOfFiles):
    def test_names(self):
        self.put("A.mtx", SYSTEM)
        os.symlink("loop", self.at("loop"))
        os.symlink("b", self.at("a"))
        os.symlink("a", self.at("b"))
        for name, reason in {"loop": "symbolic links", "a": "symbolic links", "loop/x": "symbolic links",
                             "n" * 300: "name too long", "n" * 5000: "name too long",
                             ".": "Is a directory", "no/x": "No such file"}.items():
            with self.subTest(name=name[:20]):
                for option in "-o", "--json", "--report":
                    self.assert_kept(("solve", "A.mtx", option, name), option, "cannot write", reason)
                for option in "--json", "--trace":
                    self.assert_kept((*SMALL, option, name), option, "cannot write", reason)
                if len(name) > 1000:
                    continue
                self.write({**ONE_TO_FILE, 3: name})
                self.assert_kept(("hpl",), "line 3 of HPL.dat", "cannot write", reason)
                os.remove(self.at("HPL.dat"))

    def test_the_longest_name(self):
        name = "n" * 255
        self.assert_status(run(*SMALL, "--json", name, folder=self.folder), 0)
        self.assertEqual(os.listdir(self.folder), [name])

    def test_links_stay(self):
        self.write({**ONE_TO_FILE, 3: "to-out"})
        os.mkdir(self.at("folder"))
        for link, target in {"to-out": "folder/out", "to-json": "to-to-json", "to-to-json": "folder/json",
                             "to-trace": self.at("folder/trace")}.items():
            os.symlink(target, self.at(link))
        self.put("folder/json", "old")
        outcome = run("hpl", "--json", "to-json", "--trace", "to-trace", folder=self.folder)
        self.assert_status(outcome, 0)
        for link in "to-out", "to-json", "to-to-json", "to-trace":
            self.assertTrue(os.path.islink(self.at(link)), link)
        self.assertEqual(sorted(os.listdir(self.at("folder"))), ["json", "out", "trace"])
        self.assertEqual(self.read("folder/out"), outcome.out)

    def test_full_file_system(self):
        """On a full disk every file ends a command in the same way, and the old file stays."""
        self.put("A.mtx", SYSTEM)
        os.mkdir(self.at("small"))
        self.write({**ONE_TO_FILE, 3: "small/x"})
        for words in ("solve A.mtx -o small/x", "solve A.mtx --json small/x",
                      "solve A.mtx --report small/x", "mxp -N 32 --json small/x",
                      "mxp -N 32 --trace small/x", "hpl", "mxp"):
            with self.subTest(words=words):
                script = (f"cd {self.folder} && mount -t tmpfs -o size=8k none small || exit 77; "
                          "echo old > small/x; cat /dev/zero > small/fill; "
                          f'"$speedwell" {words} > printed; status=$?; ls -A small; cat small/x; '
                          "exit $status")
                outcome = shell(f"unshare -m bash -c '{script}'")
                if outcome.status == 77 or "unshare" in outcome.err:
                    self.skipTest("needs to be allowed to mount")
                self.assert_status(outcome, 2)
                self.assertEqual(len(outcome.complaints), 1, outcome.err)
                for needle in "cannot write 'small/x'", "No space left", "allowed: ":
                    self.assertIn(needle, outcome.complaints[0])
                self.assertEqual(outcome.out, "fill\nx\nold\n")
                self.assertNotEqual(self.read("printed"), "")


class Words(InFolderOfFiles):
    def test_values_are_shown_in_one_short_line(self):
        odd = "a\x1b[31m\x07\nb\x7f"
        shown = r"a\x1b[31m\x07\nb\x7f"
        for words in (("mxp", "-N", odd), ("mxp", "--device", odd), ("mxp", "--gpus", odd), (odd,),
                      ("mxp", odd), ("mxp", "--" + odd), ("solve", odd), *[("predict", odd)] * PREDICTS,
                      ("hpl", "-i", odd), ("mxp", "--json", odd + "/x"), ("mxp", "--profile", odd + "/x")):
            with self.subTest(words=words):
                self.assert_kept(words, shown)
        long = "x" * 5000
        for words in (("mxp", "-N", long), ("mxp", "--gpus", long), (long,), ("mxp", long),
                      ("mxp", "--" + long), ("solve", long), ("hpl", "-i", long), *[("predict", long)] * PREDICTS,
                      ("solve", long + ".npz:a"), ("mxp", "--json", long), ("mxp", "--profile", long)):
            self.assert_kept(words, "x" * 20 + "x...")


if __name__ == "__main__":
    unittest.main()
