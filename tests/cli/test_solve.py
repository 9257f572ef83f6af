#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests `speedwell solve` as users use it: options, refusals, failures, and reports. test_solve_files.py
has input and output files.

SPEEDWELL_COMMAND and SPEEDWELL_MPIEXEC as in test_cli.py.
"""

import array
import ast
import concurrent.futures
import io
import json
import math
import os
import re
import struct
import tempfile
import unittest
import zipfile

from test_cli import COMMAND, Case, run, run_apart, shell

N = 45
NO_SUCH = "/nowhere/at/all"


def matrix(n, symmetric=False):
    """A well-conditioned matrix. Its pivots lie off the diagonal unless it is symmetric."""
    shift = 0 if symmetric else 3
    wave = (lambda i, j: math.sin(1 + i * j + i + j)) if symmetric else (
        lambda i, j: math.sin(1 + 5 * i + 3 * j))
    return [[(3 * n if (i + shift) % n == j else 0) + wave(i, j) for j in range(n)]
            for i in range(n)]


def hilbert(n):
    return [[1 / (1 + i + j) for j in range(n)] for i in range(n)]


def solution(n, count):
    """The solution by rows. Its second column, if there is one, is zero."""
    return [[0 if k == 1 else math.cos(i + 7 * k) for k in range(count)] for i in range(n)]


def product(a, x):
    return [[math.fsum(r[j] * x[j][k] for j in range(len(x))) for k in range(len(x[0]))] for r in a]


def write(path, data):
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def market_array(rows):
    text = f"%%MatrixMarket matrix array real general\n% a comment\n{len(rows)} {len(rows[0])}\n"
    return text + "".join(f"{row[j]!r}\n" for j in range(len(rows[0])) for row in rows)


def market_coordinate(rows, symmetric=False):
    entries = [(i + 1, j + 1, v) for i, row in enumerate(rows) for j, v in enumerate(row)
               if v and (j <= i or not symmetric)]
    kind = "symmetric" if symmetric else "general"
    return (f"%%MatrixMarket matrix coordinate real {kind}\n{len(rows)} {len(rows[0])} "
            f"{len(entries)}\n" + "".join(f"{i} {j} {v!r}\n" for i, j, v in reversed(entries)))


def numpy_bytes(rows, fortran=False, kind="<f8", vector=False):
    values = ([row[j] for j in range(len(rows[0])) for row in rows] if fortran
              else [v for row in rows for v in row])
    shape = (len(rows),) if vector else (len(rows), len(rows[0]))
    text = str({"descr": kind, "fortran_order": fortran, "shape": shape})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    letter = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u8": "Q",
              "u4": "I", "u2": "H", "u1": "B", "b1": "?"}.get(kind[1:], "d")
    order = ">" if kind[0] == ">" else "<"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
            + struct.pack(f"{order}{len(values)}{letter}", *values))


def npz_bytes(arrays, method=zipfile.ZIP_STORED):
    """A .npz file as numpy.savez writes it; ZIP_DEFLATED as numpy.savez_compressed. The arrays are
    bytes of .npy files."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(content)
    return data.getvalue()


def read_market(path):
    with open(path, encoding="ascii") as file:
        lines = [line for line in file.read().splitlines() if not line.startswith("%")]
    rows, columns = map(int, lines[0].split())
    values = [float(line) for line in lines[1:]]
    assert len(values) == rows * columns
    return [[values[i + k * rows] for k in range(columns)] for i in range(rows)]


def read_numpy(path):
    """The rows and the header of a .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    end = 10 + struct.unpack("<H", data[8:10])[0]
    assert end % 64 == 0
    header = ast.literal_eval(data[10:end].decode())
    assert header["descr"] == "<f8"
    values = array.array("d", data[end:])
    shape = header["shape"]
    rows, columns = shape[0], shape[1] if len(shape) == 2 else 1
    assert len(values) == rows * columns
    at = (lambda i, k: i + k * rows) if header["fortran_order"] else (lambda i, k: i * columns + k)
    return [[values[at(i, k)] for k in range(columns)] for i in range(rows)], header


def at_once(calls, workers=4):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


class Folder(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, data):
        return write(self.at(name), data)

    def load(self, name):
        with open(self.at(name), encoding="utf-8") as file:
            return json.load(file, parse_constant=self.fail)

    def assert_near(self, x, expected, tolerance=1e-13):
        self.assertEqual((len(x), len(x[0])), (len(expected), len(expected[0])))
        for i, row in enumerate(expected):
            for k, value in enumerate(row):
                self.assertLess(abs(x[i][k] - value), tolerance, (i, k))


class Options(Folder):
    def setUp(self):
        super().setUp()
        self.a = self.put("A.mtx", market_array(matrix(N)))

    def solve(self, *words, ranks=0, status=0):
        outcome = run("solve", self.a, *words, "--json", self.at("a.json"), ranks=ranks)
        self.assert_status(outcome, status)
        return outcome, self.load("a.json")

    def test_they_reach_the_run(self):
        _, document = self.solve(
            "--precision", "fp32", "--refine", "gmres", "--max-iterations", "30", "--tolerance",
            "1e-12", "--equilibrate", "off", "-NB", "8", "-P", "2", "-Q", "2", "--nporder", "column",
            "--probe-seed", "7", "--lookahead", "0", "--bcast", "long", "--chunk", "16", "--device", "cpu", "--threads",
            "1", ranks=4)
        expected = {"nb": 8, "nprow": 2, "npcol": 2, "nporder": "column", "lookahead": 0,
                    "bcast": "long", "chunk": 16, "device": "cpu", "threads": 1, "ranks": 4,
                    "precision": "fp32", "equilibrated": False, "solved": True}
        self.assertEqual({key: document[key] for key in expected}, expected)
        self.assertEqual(document["asked"], {
            "nb": 8, "nporder": "column", "nprow": 2, "npcol": 2, "lookahead": 0, "bcast": "long",
            "chunk": 16, "device": "cpu", "comm": "auto", "gpus": None, "reserve": None, "fp64": "native",
            "threads": 1,
            "stall_timeout": 300, "precision": "fp32", "first": "auto", "refine": "gmres",
            "tolerance": 1e-12,
            "max_iterations": 30, "equilibrate": False, "condition": "on", "strict": False,
            "accuracy": "auto", "probe_seed": 7})
        self.assertEqual(document["probe_seed"], 7)
        self.assertEqual([column["method"] for column in document["columns"]], ["gmres"])
        self.assertLessEqual(document["columns"][0]["componentwise_error"], 1e-12)

    def test_each_precision_alone(self):
        for precision in "fp16", "bf16", "fp16x3", "fp32", "fp64":
            _, document = self.solve("--precision", precision)
            self.assertEqual([step["precision"] for step in document["steps"]], [precision])
            self.assertTrue(document["steps"][0]["solved"])
            self.assertEqual(document["precision"], precision)

    def test_first(self):
        for first in "fp16", "bf16", "fp16x3", "fp32", "fp64":
            outcome, document = self.solve("--first", first)
            self.assertEqual([step["precision"] for step in document["steps"]], [first])
            self.assertEqual((document["asked"]["precision"], document["asked"]["first"]),
                             ("auto", first))
            self.assertRegex(outcome.out, rf"(?m)^PRECISION +: auto$\nFIRST +: {first}$")
        outcome, document = self.solve("--first", "auto")
        self.assertEqual(document["asked"]["first"], "auto")
        self.assertNotRegex(outcome.out, "(?m)^FIRST ")

    def test_without_condition(self):
        outcome, document = self.solve("--condition", "off")
        self.assertIsNone(document["condition"])
        self.assertIsNone(document["columns"][0]["forward_bound"])
        self.assertNotIn("CONDITION", outcome.out)
        self.assertNotRegex(outcome.out, r"\bnan\b")
        outcome, document = self.solve()
        self.assertGreaterEqual(document["condition"], 1)
        self.assertGreater(document["columns"][0]["forward_bound"], 0)
        self.assertIn("CONDITION", outcome.out)

    def test_progress_is_asked_for(self):
        outcome, _ = self.solve("--progress")
        self.assertEqual(outcome.complaints, [])

    def test_help(self):
        outcome = run("solve", "--help", ranks=2)
        self.assert_status(outcome, 0)
        self.assertEqual(outcome.out.count("Usage:"), 1)
        for option in ("-o --output --precision --refine --tolerance --max-iterations --equilibrate "
                       "--first --condition --strict --accuracy --probe-seed --nb -P --nprow -Q --npcol --nporder "
                       "--lookahead --bcast --chunk --device --comm --gpus --reserve --fp64 --threads --json --report --profile "
                       "--progress --no-progress A b").split():
            self.assertRegex(outcome.out, rf"(^|[\s,]){option}\b")
        self.assertIn("SPEEDWELL_PROFILE", outcome.out)
        self.assertIn("full: with all errors of each of many right-hand sides", " ".join(outcome.out.split()))


class Report(Folder):
    def test_text_and_json(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        b = self.put("b.mtx", market_array(product(matrix(N), solution(N, 2))))
        outcome = run("solve", a, b, "-o", self.at("x"), "--report", self.at("r.txt"), "--json",
                      self.at("a.json"), ranks=2)
        self.assert_status(outcome, 0)
        with open(self.at("r.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), outcome.out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.npy", "a.json", "b.mtx", "r.txt", "x"])
        for line in (rf"A +: {re.escape(a)}, {N} x {N}$", rf"b +: {re.escape(b)}, 2 right-hand sides$",
                     r"RANKS +: 2 on 1 node", r"^1 +fp32 .* solved$", r"^2 +fp32 +ir ",
                     r"CONDITION +: \d\.\d\de\+\d\d, estimated in the infinity norm", r"TIME +: "):
            self.assertRegex(outcome.out, re.compile(line, re.M))
        self.assertEqual(outcome.out.splitlines()[-1], f"solved; x is in '{self.at('x')}'")
        document = self.load("a.json")
        expected = {"schema": "speedwell/1", "benchmark": "solve", "A": a, "b": b, "x": self.at("x"),
                    "n": N, "right_hand_sides": 2, "ranks": 2, "solved": True, "failure": None,
                    "bad_pivot": None}
        self.assertEqual({key: document[key] for key in expected}, expected)
        for key in "version revision date hosts command_line start end seconds norm_a".split():
            self.assertTrue(document[key], key)
        self.assertEqual(len(document["columns"]), 2)
        errors = document["columns"][0]
        self.assertLessEqual(errors["componentwise_error"], document["tolerance"])
        self.assertAlmostEqual(errors["hpl_residual"] * N * 2**-53, errors["backward_error"])
        self.assertEqual(document["columns"][1]["backward_error"], 0)  # b and x are zero

    def test_many_right_hand_sides_are_summed_up(self):
        a = self.put("A.mtx", market_array(matrix(N)))
        b = self.put("b.mtx", market_array(product(matrix(N), solution(N, 17))))
        outcome = run("solve", a, b, "--precision", "fp32", "--json", self.at("a.json"))
        self.assert_status(outcome, 0)
        self.assertIn("the worst of 17; 17 meet the tolerance", outcome.out)
        errors = [column["componentwise_error"] for column in self.load("a.json")["columns"]]
        self.assertEqual(len(errors), 17)
        worst = errors.index(max(errors)) + 1
        self.assertRegex(outcome.out, re.compile(rf"^{worst} +fp32 +ir .* {max(errors):.2e} ", re.M))
        self.assertEqual(outcome.out.splitlines()[-1], "solved; x is not kept: no -o")

    def test_without_b(self):
        a = self.put("A.mtx", market_array(matrix(N)))
        outcome = run("solve", a, "--json", self.at("a.json"), ranks=2)
        self.assert_status(outcome, 0)
        self.assertRegex(outcome.out, r"b +: none given: A times ones")
        difference = self.load("a.json")["difference_from_ones"]
        self.assertLess(difference, 1e-13)
        self.assertRegex(outcome.out, rf"ONES +: x differs from them by at most {difference:.2e}")

    def test_a_step_before_the_last_is_left(self):
        outcome = run("solve", self.put("A.mtx", market_array(hilbert(14))), "--json",
                      self.at("a.json"))
        self.assert_status(outcome, 0)
        document = self.load("a.json")
        self.assertGreater(len(document["steps"]), 1)
        self.assertFalse(document["steps"][0]["solved"])
        self.assertTrue(document["steps"][0]["why"])
        self.assertRegex(outcome.out, re.compile(r"^1 .* left: ", re.M))


class SeveralRightHandSides(Folder):
    """Some are solved, others are not."""

    def solve(self, n, count, bad, *words, ranks=0, status=1, a=None):
        """Solves for so many right-hand sides, of which those of `bad`, from 0, have a NaN. Returns
        the outcome, the JSON, the solution by rows, and what it should be."""
        a = a or matrix(n)
        expected = solution(n, count)
        b = product(a, expected)
        for k in bad:
            b[1][k] = math.nan
        name, self.x = self.put("A.npy", numpy_bytes(a)), self.at("x.npy")
        outcome = run("solve", name, self.put("b.npy", numpy_bytes(b)), "-o", self.x, "--json",
                      self.at("a.json"), *words, ranks=ranks)
        self.assert_status(outcome, status)
        x = read_numpy(self.x)[0] if os.path.exists(self.x) else None
        return outcome, self.load("a.json"), x, expected

    def test_one_with_a_nan(self):
        for n, ranks, words in ((20, 0, ()), (20, 2, ()), (20, 1, ("--nb", "8")),
                                (20, 5, ("--nb", "8")), (20, 2, ("--precision", "fp64")),
                                (700, 1, ()), (700, 2, ())):
            with self.subTest(n=n, ranks=ranks, words=words):
                outcome, document, x, expected = self.solve(n, 3, [1], *words, ranks=ranks)
                verdict = f"1 of 3 right-hand sides NOT solved (2); its column in '{self.x}' is NaN"
                self.assert_refused(outcome, verdict, "b(2, 2) is nan", status=1)
                self.assertEqual(outcome.out.splitlines()[-1], verdict)
                self.assertRegex(outcome.out, re.compile(r"^2 .*  not met: b\(2, 2\) is nan", re.M))
                self.assertTrue(all(math.isnan(row[1]) for row in x))
                self.assert_near([row[::2] for row in x], [row[::2] for row in expected], 1e-12)
                self.assertEqual((document["solved"], document["x"]), (False, self.x))
                self.assertIn("b(2, 2) is nan", document["failure"])
                columns = document["columns"]
                self.assertEqual([c["converged"] for c in columns], [True, False, True])
                self.assertEqual([c["why"] is None for c in columns], [True, False, True])
                self.assertIn("b(2, 2) is nan", columns[1]["why"])
                self.assertIsNone(columns[1]["componentwise_error"])

    def test_a_nan_in_several_steps(self):
        for ranks in 0, 2:
            _, document, x, _ = self.solve(14, 3, [0], "--first", "bf16", ranks=ranks, a=hilbert(14))
            self.assertGreater(len(document["steps"]), 1)
            self.assertEqual([c["converged"] for c in document["columns"]], [False, True, True])
            self.assertIn("b(2, 1) is nan", document["columns"][0]["why"])
            for row in x:
                self.assertEqual([math.isnan(v) for v in row], [True, False, False])

    def test_some_that_do_not_converge(self):
        for ranks in 0, 2:  # the second right-hand side is zero
            outcome, document, x, _ = self.solve(20, 3, [], "--precision", "fp16", "--refine", "ir",
                                                 ranks=ranks, a=hilbert(20))
            verdict = f"2 of 3 right-hand sides NOT solved (1, 3); their columns in '{self.x}' are NaN"
            self.assert_refused(outcome, verdict, "fp16: componentwise", status=1)
            self.assertEqual(outcome.out.splitlines()[-1], verdict)
            self.assertEqual(re.findall(r"(?m)^(\d) .*  not met$", outcome.out), ["1", "3"])
            self.assertEqual([c["converged"] for c in document["columns"]], [False, True, False])
            for row in x:
                self.assertEqual([math.isnan(v) for v in row], [True, False, True])
                self.assertEqual(row[1], 0)

    def test_matrix_market_and_no_file(self):
        a = self.put("A.mtx", market_array(matrix(N)))
        b = product(matrix(N), solution(N, 2))
        b[3][0] = math.inf
        b = self.put("b.mtx", market_array(b))
        self.assert_status(run("solve", a, b, "-o", self.at("x.mtx")), 1)
        x = read_market(self.at("x.mtx"))
        self.assertTrue(all(math.isnan(row[0]) and row[1] == 0 for row in x))
        outcome = run("solve", a, b, "--json", self.at("a.json"))
        self.assertEqual(outcome.out.splitlines()[-1],
                         "1 of 2 right-hand sides NOT solved (1); x is not kept: no -o")
        self.assertIsNone(self.load("a.json")["x"])

    def test_all_with_a_nan(self):
        a = self.put("A.npy", numpy_bytes(matrix(N)))
        b = self.put("b.npy", numpy_bytes([[math.nan] * 3] * N))
        for ranks, words in (0, ()), (2, ()), (1, ("--nb", "8")):
            outcome = run("solve", a, b, "-o", self.at("x"), *words, ranks=ranks)
            self.assert_refused(outcome, "b(1, 1) is nan", "allowed are finite numbers")
            self.assertFalse(os.path.exists(self.at("x")))

    def test_at_most_ten_are_named(self):
        bad = list(range(12))
        outcome, document, x, expected = self.solve(N, 20, bad, ranks=2)
        verdict = (f"12 of 20 right-hand sides NOT solved ({', '.join(str(k + 1) for k in bad[:10])} "
                   f"and 2 more); their columns in '{self.x}' are NaN")
        self.assert_refused(outcome, verdict, "b(2, 1) is nan", "; 11 more right-hand sides", status=1)
        self.assertEqual(outcome.out.splitlines()[-1], verdict)
        self.assertIn("12 of 20 do not meet the tolerance; the first 10 of them", outcome.out)
        self.assertEqual(len(re.findall(r"(?m)^\d+ .* not met: b\(2, ", outcome.out)), 10)
        self.assertEqual([c["converged"] for c in document["columns"]], [False] * 12 + [True] * 8)
        self.assert_near([row[12:] for row in x], [row[12:] for row in expected])

    def test_errors_that_are_not_measured(self):
        note = "componentwise -: not measured"
        for ranks, words in (0, ()), (1, ("--nb", "8")), (2, ()):
            with self.subTest(ranks=ranks, words=words):
                outcome, document, *_ = self.solve(N, 20, [], "--precision", "fp64", *words,
                                                   ranks=ranks, status=0)
                columns = document["columns"]
                self.assertEqual([c["componentwise_error"] for c in columns], [None] * 20)
                errors = [c["backward_error"] for c in columns]
                self.assertLessEqual(max(errors), document["tolerance"])
                worst = errors.index(max(errors)) + 1
                self.assertRegex(outcome.out,
                                 re.compile(rf"^{worst} +fp64 .* - +{max(errors):.2e} ", re.M))
                self.assertIn("the worst of 20; 20 meet the tolerance", outcome.out)
                self.assertIn(note, outcome.out)
                self.assertRegex(outcome.out, "(?m)^TOLERANCE .*componentwise backward error$")
                self.assertNotRegex(outcome.out, r"\bnan\b")
        outcome, document, *_ = self.solve(N, 20, [], "--precision", "fp64", "--condition", "full",
                                           status=0)
        self.assertNotIn(None, [c["componentwise_error"] for c in document["columns"]])
        self.assertNotIn(note, outcome.out)


SYSTEM = market_array(matrix(4))
HEADER = "%%MatrixMarket matrix array real general\n"

# A's file, b's file or None, and words that the one line of the refusal must contain.
BAD_FILES = [
    ("", None, ["A", "empty"]),
    ("nonsense\n", None, ["A", "Matrix Market"]),
    (HEADER, None, ["A", "ends"]),
    (HEADER + "2\n", None, ["line 2", "sizes"]),
    (HEADER + "0 0\n", None, ["line 2", "from 1"]),
    (HEADER + "2 3\n1\n2\n3\n4\n5\n6\n", None, ["2 x 3", "square"]),
    (HEADER + "2 2\n1\n2\n3\n", None, ["A"]),
    (HEADER + "2 2\n1\n2\n3\n4\n5\n", None, ["A"]),
    (HEADER + "2 2\n1\ntwo\n3\n4\n", None, ["line 4", "two"]),
    (HEADER + "2 2\n1\n2 2\n3\n4\n", None, ["5 entries", "4"]),
    (HEADER + "2 2\n1\nnan\n3\n4\n", None, ["A(2, 1)", "nan"]),
    (HEADER + "2 2\n1\n2\ninf\n4\n", None, ["A(1, 2)", "inf"]),
    (HEADER.replace("real", "complex") + "1 1\n1\n", None, ["line 3", "ends too early"]),
    (HEADER.replace("general", "hermitian") + "1 1\n1\n", None, ["hermitian", "symmetric"]),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", None, ["line 3", "3"]),
    (numpy_bytes(matrix(4), kind="<c32"), None, ["complex numbers", "<c32", "allowed: real numbers"]),
    (numpy_bytes(matrix(4), kind="<c16"), None, ["128 bytes", "16 bytes each", "more"]),
    (numpy_bytes(matrix(4), kind="<U2"), None, ["strings", "<U2", "<f8"]),
    (numpy_bytes(matrix(4), kind=">f16"), None, [">f16", "<f8"]),
    (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 100, None, ["header"]),
    (npz_bytes({}), None, ["without arrays"]),
    (npz_bytes({"p": b"", "q": b""}), None, ["holds 2 arrays", "names p, q"]),
    (npz_bytes({"p": numpy_bytes(matrix(4))})[:-9], None, ["A", "damaged zip archive"]),
    # The method of compression is 77 in both headers.
    (npz_bytes({"p": numpy_bytes(matrix(4))}).replace(b"-\0\0\0\0\0", b"-\0\0\0M\0"), None,
     [":p", "Compression method not supported"]),
    (npz_bytes({"p": numpy_bytes(matrix(4), kind="<c32")}), None, [":p", "complex numbers"]),
    (npz_bytes({"p": numpy_bytes(matrix(4))[:-8]}), None, [":p", "120 bytes", "more"]),
    (numpy_bytes(matrix(4))[:-1], None, ["bytes"]),
    (numpy_bytes(matrix(4)) + b"\0", None, ["bytes"]),
    (numpy_bytes(matrix(4))[:40], None, ["header"]),
    (numpy_bytes([[1.0]] * 4, vector=True), None, ["vector", "square"]),
    (SYSTEM, "", ["b", "empty"]),
    (SYSTEM, market_array([[1.0]] * 5), ["5 rows", "4"]),
    (SYSTEM, HEADER + "4 1\n1\n2\ninf\n4\n", ["b(3, 1)", "inf"]),
    (SYSTEM, numpy_bytes([[1.0]] * 4, kind="<i7"), ["<i7"]),
    (SYSTEM, npz_bytes({"p": numpy_bytes([[1.0]] * 5)}), ["5 rows", "4"]),
]

# Command lines, and words that the one line of the refusal must contain. {A} is a good file,
# {folder} its folder.
BAD_WORDS = [
    ((), ["A", "missing", "speedwell solve A [b]"]),
    (("",), ["A", "no name"]),
    (("{A}", ""), ["b", "no name"]),
    (("{A}", "{A}", "more"), ["unknown argument", "more"]),
    (("{A}", "--frobnicate"), ["unknown option", "--frobnicate"]),
    (("{A}", "-N", "5"), ["unknown option", "-N"]),
    (("{A}", "--profile", "{folder}/no/p.json"), ["--profile", "{folder}/no/p.json", "folder"]),
    (("{A}", "--first", "fp8"), ["--first", "fp8", "auto, fp16, bf16, fp16x3, fp32, fp64"]),
    (("{A}", "--first", "fp32", "--precision", "fp64"), ["--first fp32", "--precision fp64"]),
    (("{folder}/none.mtx",), ["{folder}/none.mtx", "No such file"]),
    (("{folder}",), ["{folder}", "folder"]),
    (("{A}", "{folder}/none.mtx"), ["{folder}/none.mtx"]),
    (("{A}", "-o"), ["--output", "value is missing"]),
    (("{A}", "-o", ""), ["--output", "''"]),
    (("{A}", "-o", NO_SUCH), ["-o", NO_SUCH]),
    ((NO_SUCH, "-o", NO_SUCH + "/x"), ["-o", NO_SUCH + "/x"]),  # refused before A is opened
    (("{A}", "-o", "{folder}"), ["-o", "{folder}", "directory"]),
    (("{A}", "-o", "{A}"), ["A and -o", "a file for each"]),
    (("{A}:x",), ["{A}", "no .npz file", "'x'"]),
    (("{A}:x", "-o", "{A}"), ["A and -o", "a file for each"]),
    (("{folder}/none.npz:x",), ["{folder}/none.npz:x", "No such file"]),
    (("{A}", "{A}", "-o", "{folder}/./A.mtx"), ["A and -o"]),
    (("{A}", "--report", "{folder}/r", "--json", "{folder}/./r"), ["--json and --report"]),
    (("{A}", "-o", "{folder}/r", "--report", "{folder}/r"), ["-o and --report"]),
    (("{A}", "--report", NO_SUCH), ["--report", NO_SUCH]),
    (("{A}", "--json", "{folder}"), ["--json", "directory"]),
    (("{A}", "--precision", "fp8"), ["--precision", "fp8", "auto, fp16, bf16, fp16x3, fp32, fp64"]),
    (("{A}", "--refine", "jacobi"), ["--refine", "jacobi"]),
    (("{A}", "--tolerance", "0"), ["--tolerance", "'0'", "above 0"]),
    (("{A}", "--tolerance", "nan"), ["--tolerance", "nan"]),
    (("{A}", "--tolerance", "1"), ["--tolerance", "'1'", "below 1"]),
    (("{A}", "--equilibrate", "perhaps"), ["--equilibrate", "perhaps", "on, off"]),
    (("{A}", "--condition="), ["--condition", "allowed: off, on, full"]),
    (("{A}", "--strict=on"), ["--strict=on", "no value"]),
    (("{A}", "--strict", "--strict"), ["--strict", "more than once"]),
    (("{A}", "--accuracy", "perfect"), ["--accuracy", "perfect",
                                          "allowed: auto, backward, forward"]),
    (("{A}", "--condition", "half"), ["--condition", "half", "allowed: off, on, full"]),
    (("{A}", "-P", "3", "-Q", "5"), ["-P 3", "-Q 5", "15 ranks"]),
    (("{A}", "--nb", "1,2"), ["--nb", "1,2"]),
]


class Refusals(Folder):
    def test_files(self):
        cases = []
        for index, (a, b, needles) in enumerate(BAD_FILES):
            words = [self.put(f"A{index}", a)] + ([] if b is None else [self.put(f"b{index}", b)])
            for ranks in (0, 3) if index % 3 == 0 else (0,):
                x = self.at(f"x{index}-{ranks}")
                cases.append((index, ranks, needles, x, [*words, "-o", x]))
        outcomes = at_once([lambda c=c: run("solve", *c[4], ranks=c[1]) for c in cases])
        for (index, ranks, needles, x, _), outcome in zip(cases, outcomes):
            with self.subTest(a=BAD_FILES[index][0][:60], b=BAD_FILES[index][1], ranks=ranks):
                self.assert_refused(outcome, *needles)
                self.assertFalse(os.path.exists(x))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def test_words(self):
        names = {"A": self.put("A.mtx", SYSTEM), "folder": self.folder}
        cases = [(ranks, [word.format(**names) for word in words],
                  [needle.format(**names) for needle in needles])
                 for index, (words, needles) in enumerate(BAD_WORDS)
                 for ranks in ((0, 2) if index % 4 == 0 else (0,))]
        outcomes = at_once([lambda c=c: run("solve", *c[1], ranks=c[0]) for c in cases])
        for (ranks, words, needles), outcome in zip(cases, outcomes):
            with self.subTest(words=words, ranks=ranks):
                self.assert_refused(outcome, *needles)
        self.assertEqual(os.listdir(self.folder), ["A.mtx"])
        with open(names["A"], encoding="ascii") as file:
            self.assertEqual(file.read(), SYSTEM)

    def test_unreadable(self):
        # root may read any file, but nobody can open a path below a file
        a = self.put("A.mtx", SYSTEM)
        self.assert_refused(run("solve", a, a + "/b.mtx"), a + "/b.mtx", "Not a directory")

    def test_ranks_with_other_words(self):
        a = self.put("A.mtx", SYSTEM)
        words = [COMMAND, "solve", a]
        self.assert_refused(run_apart(words, words + ["--tolerance", "1e-10"]), "rank 1",
                            "--tolerance 1e-10 and not ''")


class Failures(Folder):
    def test_singular(self):
        rows = matrix(N)
        for row in rows:
            row[30] = 0.0
        a = self.put("A.mtx", market_array(rows))
        for ranks in 0, 4:
            outcome = run("solve", a, "-o", self.at("x"), "--nb", "8", "--json", self.at("a.json"),
                          "--report", self.at("r.txt"), ranks=ranks)
            self.assert_refused(outcome, "singular", "pivot 31 of 45", status=1)
            self.assertEqual(outcome.out, "")
            document = self.load("a.json")
            self.assertEqual((document["solved"], document["bad_pivot"]), (False, 30))
            with open(self.at("r.txt"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"\nNOT solved, x is not written: A is singular.*\n\Z")
            self.assertFalse(os.path.exists(self.at("x")))

    def test_a_precision_alone_that_is_not_enough(self):
        a = self.put("A.mtx", market_array(hilbert(20)))
        old = self.put("x", "old")
        for ranks in 0, 2:
            outcome = run("solve", a, "-o", old, "--precision", "fp16", "--refine", "ir", "--json",
                          self.at("a.json"), ranks=ranks)
            self.assert_refused(outcome, "fp16", status=1)
            self.assertRegex(outcome.out, r"\nNOT solved, x is not written: .*fp16.*\n\Z")
            document = self.load("a.json")
            self.assertEqual((document["solved"], document["x"]), (False, None))
            self.assertEqual([step["precision"] for step in document["steps"]], ["fp16"])
            with open(old, encoding="utf-8") as file:
                self.assertEqual(file.read(), "old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.mtx", "a.json", "x"])

    def test_no_factors_by_a_precision_alone(self):
        a = self.put("A.mtx", market_array([[1.0, 2.0], [2.0, 4.0]]))
        outcome = run("solve", a, "--precision", "fp32", "--json", self.at("a.json"))
        self.assert_refused(outcome, "fp32", "pivot 2 of 2", status=1)
        self.assertRegex(outcome.out, re.compile(r"^1 +fp32 .* left: pivot 2 of 2", re.M))
        self.assertNotIn("GRID", outcome.out.replace("GRID       : 1 x 1", ""))
        self.assertEqual(self.load("a.json")["steps"][0]["bad_pivot"], 1)

    def test_full_disk(self):
        a = self.put("A.mtx", SYSTEM)
        self.assert_refused(run("solve", a, "-o", "/dev/full", ranks=2), "/dev/full", "No space left",
                            printed=True)
        for option in "--json", "--report":
            outcome = run("solve", a, option, "/dev/full")
            self.assert_refused(outcome, "/dev/full", "No space left", printed=True)
        outcome = shell(f'"$speedwell" solve {a} > /dev/full')
        self.assert_refused(outcome, "standard output", status=3)

    def test_full_file_system(self):
        a = self.put("A.npy", numpy_bytes(matrix(90)))
        b = self.put("b.npy", numpy_bytes(solution(90, 40)))
        mount = self.at("small")
        os.mkdir(mount)
        script = (f"mount -t tmpfs -o size=16k none {mount} || exit 77; echo old > {mount}/x; "
                  f'"$speedwell" solve {a} {b} -o {mount}/x; status=$?; ls -A {mount}; cat {mount}/x; '
                  "exit $status")
        outcome = shell(f"unshare -m bash -c '{script}'")
        if outcome.status == 77 or "unshare" in outcome.err:
            self.skipTest("needs to be allowed to mount")
        self.assert_refused(outcome, "No space left", printed=True)
        self.assertIn(f"x is not kept: '{mount}/x' could not be written", outcome.out)
        self.assertTrue(outcome.out.endswith("x\nold\n"))


if __name__ == "__main__":
    unittest.main()
