#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files that `speedwell solve` reads and writes.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import os
import re
import shutil
import struct
import unittest
import zipfile

from test_cli import run
from test_solve import (N, Folder, at_once, market_array, market_coordinate, matrix, npz_bytes,
                        numpy_bytes, product, read_market, read_numpy, solution)


class Files(Folder):
    def solve_all(self, cases, ranks):
        """Solves all cases. A case is the name of A's file, of b's file or None, and the function
        that reads x."""
        def one(case):
            a, b, _ = case
            words = [self.at(a)] + ([self.at(b)] if b else [])
            return run("solve", *words, "-o", self.at(f"x-{a}-{b}"), "--nb", "8", ranks=ranks)
        return zip(cases, at_once([lambda case=case: one(case) for case in cases], 2))

    def test_every_kind(self):
        general, symmetric = matrix(N), matrix(N, symmetric=True)
        single = [[struct.unpack("f", struct.pack("f", v))[0] for v in row] for row in general]
        x = solution(N, 3)
        systems = {"general": general, "symmetric": symmetric, "single": single}
        for name, a in systems.items():
            b = product(a, x)
            self.put(f"{name}-b.mtx", market_array(b))
            self.put(f"{name}-b-c.npy", numpy_bytes(b))
            self.put(f"{name}-b-f.npy", numpy_bytes(b, fortran=True))
            self.put(f"{name}-b-1.npy", numpy_bytes([row[:1] for row in b], vector=True))
        self.put("array.mtx", market_array(general))
        self.put("coordinate.mtx", market_coordinate(general))
        self.put("symmetric.mtx", market_coordinate(symmetric, symmetric=True))
        self.put("c.npy", numpy_bytes(general))
        self.put("f.npy", numpy_bytes(general, fortran=True))
        self.put("f4.npy", numpy_bytes(single, kind="<f4"))
        cases = [("array.mtx", "general-b.mtx", x), ("coordinate.mtx", "general-b-f.npy", x),
                 ("symmetric.mtx", "symmetric-b.mtx", x), ("c.npy", "general-b-1.npy", x),
                 ("f.npy", "general-b-c.npy", x), ("f4.npy", "single-b.mtx", x),
                 ("c.npy", None, None), ("array.mtx", None, None)]
        for ranks in 0, 4:
            for (a, b, expected), outcome in self.solve_all(cases, ranks):
                with self.subTest(ranks=ranks, a=a, b=b):
                    self.assert_status(outcome, 0)
                    self.check(self.at(f"x-{a}-{b}"), a, b, expected)

    def check(self, path, a, b, expected):
        expected = expected or [[1]] * N
        kind = b or a
        if kind.endswith(".mtx"):
            self.assert_near(read_market(path), expected)
            return
        found, header = read_numpy(path)
        vector = b is None or b.endswith("-1.npy")
        self.assertEqual(len(header["shape"]), 1 if vector else 2)
        self.assertEqual(header["fortran_order"], kind.endswith("f.npy"))
        self.assert_near(found, [row[:1] for row in expected] if vector else expected)

    def test_types_and_archives(self):
        whole = [[int(20 * v) % 100 for v in row] for row in matrix(N)]
        for j in range(N):
            whole[j][j] = 127
        x = solution(N, 2)
        b = product(whole, x)
        self.put("i2-b.mtx", "".join(re.sub(r"e([+-])", r"D\1", line) for line in
                                     market_array(b).splitlines(keepends=True)))
        big = numpy_bytes(whole, kind=">i2")
        self.put("u1.npy", numpy_bytes(whole, kind="|u1"))
        self.put("i2.npy", big)
        self.put("f2.npy", numpy_bytes(whole, kind="<f2", fortran=True))
        self.put("i8.npy", numpy_bytes(whole, kind="<i8", fortran=True))
        arrays = {"A": numpy_bytes(whole, kind="<u4"), "b": numpy_bytes(b), "i2": big}
        self.put("two.npz", npz_bytes(arrays))
        self.put("one.npz", npz_bytes({"arr_0": big}))
        self.put("two:b", npz_bytes({"arr_0": numpy_bytes(b, fortran=True)}))
        cases = [("u1.npy", "i2-b.mtx", x), ("i2.npy", "two.npz:b", x), ("f2.npy", "two.npz:b.npy", x),
                 ("two.npz:A", "two:b", x), ("two.npz:i2", "two:b:arr_0", x),
                 ("one.npz", None, None), ("i8.npy", "i2-b.mtx", x)]
        self.put("small.npz", npz_bytes(arrays, zipfile.ZIP_DEFLATED))
        cases += [("small.npz:A", "small.npz:b", x), ("one.npz", "small.npz:b", x)]
        for ranks in 0, 3:
            for (a, name, expected), outcome in self.solve_all(cases, ranks):
                with self.subTest(ranks=ranks, a=a, b=name):
                    self.assert_status(outcome, 0)
                    path = self.at(f"x-{a}-{name}")
                    if name and name.endswith(".mtx"):
                        self.assert_near(read_market(path), expected, 1e-11)
                    else:
                        found, header = read_numpy(path)
                        self.assertEqual(header["fortran_order"], bool(name) and "two:" in name)
                        self.assert_near(found, expected or [[1]] * N, 1e-11)

    def test_the_name_of_x_chooses_the_kind(self):
        a = self.put("A.mtx", market_array(matrix(N)))
        b = self.put("b.npy", numpy_bytes(product(matrix(N), solution(N, 3)), fortran=True))
        for name in ("x.mtx", "X.MTX", "x.npy", "x.npz", "x.txt"):
            with self.subTest(name=name):
                self.assert_status(run("solve", a, b, "-o", self.at(name)), 0)
                path = self.at(name)
                if name == "x.npz":
                    with zipfile.ZipFile(path) as archive:
                        self.assertIsNone(archive.testzip())
                        self.assertEqual(archive.namelist(), ["x.npy"])
                        path = archive.extract("x.npy", self.at("unpacked"))
                if name.lower().endswith(".mtx"):
                    found = read_market(path)
                else:
                    found, header = read_numpy(path)
                    self.assertTrue(header["fortran_order"])
                self.assert_near(found, solution(N, 3))
        self.assert_status(run("solve", a, "-o", self.at("ones.npy")), 0)
        self.assertEqual(read_numpy(self.at("ones.npy"))[1]["shape"], (N,))

    def test_order_1_and_more_ranks_than_blocks(self):
        self.put("A.mtx", market_array([[-4.0]]))
        self.put("b.mtx", market_array([[6.0, 0.0]]))
        for ranks in 0, 3:
            outcome = run("solve", self.at("A.mtx"), self.at("b.mtx"), "-o", self.at("x.mtx"),
                          ranks=ranks)
            self.assert_status(outcome, 0)
            self.assertEqual(read_market(self.at("x.mtx")), [[-1.5, 0.0]])

    def test_an_old_x_is_replaced_and_a_command_is_no_file_name(self):
        shutil.copy(self.put("info", market_array(matrix(4))), self.at("x"))
        outcome = run("solve", "info", "-o", "x", folder=self.folder)
        self.assert_status(outcome, 0)
        self.assert_near(read_market(self.at("x")), [[1]] * 4)
        self.assertEqual(sorted(os.listdir(self.folder)), ["info", "x"])


if __name__ == "__main__":
    unittest.main()
