# SPDX-License-Identifier: BSD-3-Clause
"""Type checkers accept what the pages show, and find wrong names, values and attributes."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import speedwell
from speedwell import _options

ROOT = Path(__file__).parents[2]

GIVEN = """
import numpy as np
import speedwell
a, b, stack = np.eye(3), np.ones(3), np.zeros((2, 3, 3))
def kernel(i: object, j: object) -> float:
    return 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One for all checks, since mypy's cache saves most of their time."""
    return tmp_path_factory.mktemp("typing")


def complaints(folder, source, *options):
    """What mypy --strict says of a program: (line, words)."""
    pytest.importorskip("mypy")
    program = folder / "program.py"
    program.write_text(source, encoding="utf-8")
    package = Path(speedwell.__file__).parents[1]
    environment = dict(os.environ)
    if package.name != "site-packages":
        environment["MYPYPATH"] = str(package)
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
        + ["--cache-dir", str(folder / "cache"), "--hide-error-context", *options, str(program)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    said = re.findall(r"^program.py:(\d+): (?:error|note): (.*)$", ran.stdout, re.MULTILINE)
    return [(int(line), words) for line, words in said]


def test_page(folder):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    lines = "".join(example.source for example in doctest.DocTestParser().get_examples(page))
    assert "speedwell.factor(a)" in lines
    # The page's own function has no types.
    allowed = ["--allow-untyped-defs", "--allow-untyped-calls"]
    assert complaints(folder, lines, *allowed) == []


def test_types(folder):
    calls = {
        "speedwell.solve(a, b)": "ndarray",
        "speedwell.solve([[2.0]], [1.0])": "ndarray",
        "speedwell.solve(kernel, b)": "ndarray",
        "speedwell.solve(a, b, overwrite_a=1, check_finite=0)": "ndarray",
        "speedwell.solve(a, b, return_info=True)": "tuple[ndarray, SolveInfo]",
        "speedwell.solve(object(), b, return_info=True)": "tuple[Any, SolveInfo]",
        "speedwell.factor(a)": "Factorization",
        "speedwell.factor(a).solve(b, return_info=True)": "tuple[Any, SolveInfo]",
        "speedwell.factor(kernel, n=3)": "Factorization",
        "speedwell.factor(stack)": "FactorizationStack",
        "speedwell.factor(np.asarray(object()))": "Any",  # one matrix or a stack
        "speedwell.inv(a, strict=True)": "ndarray",
        "speedwell.lu_factor(a)[0]": "Factorization",
        "speedwell.mxp(n=[100, 200], nb=[8, 16], threads=None)": "BenchmarkResult",
    }
    source = GIVEN + "".join(f"reveal_type({call})\n" for call in calls)
    found = []
    for _, line in complaints(folder, source):
        type_ = re.sub(r"numpy\.ndarray\[tuple\[.*?\], numpy\.dtype\[\w+\]\]", "ndarray", line)
        found.append(re.sub(r"speedwell\.\w+\.", "", type_))
    assert found == [f'Revealed type is "{type_}"' for type_ in calls.values()]


def test_mistakes(folder):
    mistakes = {
        'speedwell.solve(a, b, precison="fp32")': 'did you mean "precision"',
        'speedwell.factor(a, precison="fp32")': 'did you mean "precision"',
        'speedwell.inv(a, precison="fp32")': 'did you mean "precision"',
        'speedwell.det(a, precison="fp32")': 'did you mean "precision"',
        'speedwell.mxp(100, precison="fp32")': 'did you mean "precision"',
        'speedwell.solve(a, b, precision="fp8")': "No overload",
        'speedwell.factor(a, assume_a="pos")': "assume_a",
        'speedwell.predict("mpx")': "incompatible type",
        'speedwell.factor(a).solve(b, "U")': "No overload",
        "speedwell.factor(stack).condition": '"FactorizationStack" has no attribute',
        "speedwell.solve(a, b, return_info=True)[1].iterationz": '"SolveInfo" has no attribute',
    }
    source = GIVEN + "".join(f"{mistake}\n" for mistake in mistakes)
    found = complaints(folder, source)
    first_line = 1 + GIVEN.count("\n")
    for line, (mistake, words) in enumerate(mistakes.items(), first_line):
        assert any(words in text for at, text in found if at == line), (mistake, found)


def keys(options):
    return set(options.__annotations__)


def test_names_of_options():
    for call, declared in (
        (lambda: speedwell.solve(np.eye(3), np.ones(3), precison=1), _options.SystemOptions),
        (lambda: speedwell.mxp(100, precison=1), _options.BenchmarkOptions),
    ):
        with pytest.raises(ValueError, match="'precison' is not known") as raised:
            call()
        known = set(str(raised.value).partition("allowed: ")[2].split(", "))
        assert known - {"comm", "n", "benchmark"} == keys(declared) - {
            "comm",
            "overwrite_a",
            "check_finite",
            "progress",
        }


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("precision", "Precision"),
        ("refine", "Refine"),
        ("device", "Device"),
        ("bcast", "Broadcast"),
    ],
)
def test_values_of_options(name, type_):
    with pytest.raises(ValueError, match="allowed: ") as raised:
        speedwell.solve(np.eye(3), np.ones(3), **{name: "no such"})
    allowed = str(raised.value).partition("allowed: ")[2].split(", ")
    assert sorted(get_args(getattr(_options, type_))) == sorted(allowed)


def test_forms():
    with pytest.raises(ValueError, match="allowed: ") as raised:
        speedwell.solve(np.eye(3), np.ones(3), assume_a="no such")
    allowed = re.findall(r"'(.+?)'", str(raised.value).partition("allowed: ")[2])
    assert sorted(get_args(_options.Form)) == sorted(allowed)
