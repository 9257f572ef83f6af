#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell solve` with complex systems: their files, reports and refusals.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py. SPEEDWELL_EXPECTED_DEVICE: on which the command has
to solve without being told; not set: on any.
"""

import itertools
import json
import os
import struct
import unittest

from test_cli import run
from test_solve import Folder, market_array, npz_bytes, numpy_bytes

N = 23


def entry(i, j):
    """Of few bits, so that b is exact."""
    return complex((i * 7 + j * 3) % 11 - 5, (i * 5 + j * 2) % 7 - 3) / 8 + (
        complex(N, N // 2) if (i + 3) % N == j else 0)


def matrix(hermitian=False):
    full = [[entry(i, j) for j in range(N)] for i in range(N)]
    if not hermitian:
        return full
    return [[2 * N + i if i == j else full[i][j] if i > j else full[j][i].conjugate()
             for j in range(N)] for i in range(N)]


def solution(count):
    return [[complex((i * 7 + k) % 13 - 6, (i * 5 + 3 * k) % 9 - 4) for k in range(count)]
            for i in range(N)]


def product(a, x):
    return [[sum(row[j] * x[j][k] for j in range(N)) for k in range(len(x[0]))] for row in a]


def complex_numpy(rows, fortran=False, kind="<c16", vector=False):
    values = [rows[i][j] for j in range(len(rows[0])) for i in range(len(rows))] if fortran else [
        value for row in rows for value in row]
    header = numpy_bytes([[0.0] * len(rows[0])] * len(rows), fortran, kind, vector)
    start = len(header) - 8 * len(values)
    letter = "f" if kind.endswith("c8") else "d"
    order = ">" if kind[0] == ">" else "<"
    pairs = [part for value in values for part in (value.real, value.imag)]
    return header[:start] + struct.pack(f"{order}{len(pairs)}{letter}", *pairs)


def market(rows, symmetry="general", coordinate=False):
    lower = symmetry != "general"
    entries = [(i, j, rows[i][j]) for j in range(len(rows[0])) for i in range(len(rows))
               if not lower or i >= j]
    form = "coordinate" if coordinate else "array"
    sizes = f"{len(rows)} {len(rows[0])}" + (f" {len(entries)}" if coordinate else "")
    lines = [(f"{i + 1} {j + 1} " if coordinate else "") + f"{complex(v).real!r} {complex(v).imag!r}"
             for i, j, v in entries]
    return "\n".join([f"%%MatrixMarket matrix {form} complex {symmetry}", sizes, *lines, ""])


def read_market(path):
    with open(path, encoding="ascii") as file:
        banner, sizes, *lines = file.read().splitlines()
    assert banner == "%%MatrixMarket matrix array complex general", banner
    rows, columns = map(int, sizes.split())
    values = [complex(*map(float, line.split())) for line in lines]
    assert len(values) == rows * columns
    return [[values[i + k * rows] for k in range(columns)] for i in range(rows)]


def read_numpy(path):
    with open(path, "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end].decode())
    assert header["descr"] == "<c16", header
    pairs = struct.unpack(f"<{(len(data) - end) // 8}d", data[end:])
    values = [complex(*pair) for pair in zip(pairs[::2], pairs[1::2])]
    shape = header["shape"]
    rows, columns = shape[0], shape[1] if len(shape) == 2 else 1
    at = (lambda i, k: i + k * rows) if header["fortran_order"] else (lambda i, k: i * columns + k)
    return [[values[at(i, k)] for k in range(columns)] for i in range(rows)]


class Files(Folder):
    def check(self, a, b, x, read, expected, *words, ranks=0):
        outcome = run("solve", a, *b, "-o", self.at(x), "--json", self.at("a.json"), *words,
                      ranks=ranks)
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, rf"(?m)^A +: .*, {N} x {N}, complex$")
        document = self.load("a.json")
        self.assertTrue(document["solved"] and document["complex"])
        device = document["device"]
        self.assertEqual(device, os.environ.get("SPEEDWELL_EXPECTED_DEVICE", device))
        self.assert_near(read(self.at(x)), expected)

    def test_every_form_of_a_and_b(self):
        x = solution(2)
        for hermitian in (False, True):
            a, b = matrix(hermitian), product(matrix(hermitian), x)
            forms = [("A.npy", complex_numpy(a, fortran, kind)) for fortran, kind in
                     itertools.product((False, True), ("<c16", ">c16", "<c8"))]
            forms += [("A.npz", npz_bytes({"a": complex_numpy(a)})),
                      ("A.mtx", market(a)), ("A.mtx", market(a, coordinate=True))]
            if hermitian:
                forms = [("A.mtx", market(a, "hermitian", coordinate)) for coordinate in (False, True)]
            for number, (name, content) in enumerate(forms):
                with self.subTest(name=name, number=number):
                    path = self.put(name, content)
                    self.check(path, [self.put("b.npy", complex_numpy(b))], "x.npy", read_numpy, x,
                               ranks=4 if number % 2 else 0)
        self.check(self.put("A.mtx", market(matrix())), [self.put("b.mtx", market(product(matrix(), x)))],
                   "x.mtx", read_market, x, "--precision", "bf16", "-P", "2", "-Q", "2", ranks=4)
        self.check(self.at("A.mtx"),
                   [self.put("b.npy", complex_numpy(product(matrix(), x), fortran=True))], "x.npy",
                   read_numpy, x)

    def test_without_b_x_is_ones(self):
        path = self.put("A.npy", complex_numpy(matrix()))
        self.check(path, [], "x.npy", read_numpy, [[1]] * N)

    def test_a_real_b_is_taken_for_a_complex_one(self):
        a = [[value * 1j for value in row] for row in
             [[float(entry(i, j).real) for j in range(N)] for i in range(N)]]
        x = [[-1j * value.real] for (value,) in solution(1)]
        b = [[value.real for value in row] for row in product(a, x)]
        path = self.put("A.npy", complex_numpy(a))
        for name, content in (("b.npy", numpy_bytes(b)), ("b.mtx", market_array(b))):
            self.check(path, [self.put(name, content)], "x.npy", read_numpy, x, ranks=2)


class Refusals(Folder):
    def refused(self, words, *arguments, status=2):
        outcome = run("solve", *arguments)
        self.assert_status(outcome, status)
        self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err)
        for word in words:
            self.assertIn(word, outcome.err)

    def test_bad_numbers_and_fields(self):
        rows = matrix()
        rows[4][2] = complex(1, float("nan"))
        self.refused(["the imaginary part of A(5, 3) is nan"], self.put("A.npy", complex_numpy(rows)))
        b = [[value] for (value,) in solution(1)]
        b[6][0] = complex(float("inf"), 0)
        a = self.put("B.npy", complex_numpy(matrix()))
        self.refused(["the real part of b(7, 1) is inf"], a, self.put("b.npy", complex_numpy(b)))
        real = self.put("R.mtx", market_array([[float(i == j) for j in range(N)] for i in range(N)]))
        self.refused(["A is real and b is complex", "allowed"], real,
                     self.put("c.npy", complex_numpy(solution(1))))

    def test_singular(self):
        rows = [[0 if j == 9 else value for j, value in enumerate(row)] for row in matrix()]
        self.refused(["A is singular: pivot 10 of 23"], self.put("A.npy", complex_numpy(rows)), status=1)


if __name__ == "__main__":
    unittest.main()
