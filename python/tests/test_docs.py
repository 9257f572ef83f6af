# SPDX-License-Identifier: BSD-3-Clause
"""The examples of the documents and the scripts do what they say."""

import doctest
import os
import re
import runpy
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import speedwell

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "python" / "examples"


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_page(page):
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False)
    assert tried > 0 and failed == 0


def test_module():
    failed, tried = doctest.testmod(speedwell)
    assert tried > 0 and failed == 0


def test_names_of_the_module():
    assert dir(speedwell) == sorted(speedwell.__all__)
    assert all(getattr(speedwell, name) is not None for name in dir(speedwell))


def test_fields_of_a_solution():
    listed = {}
    for names, of in re.findall(
        r"^\| (`.*?`) \| (solution|step|column) \|",
        (ROOT / "docs" / "reading-the-numbers.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    ):
        listed.setdefault(of, []).extend(re.findall(r"`(\w+)`", names))
    _, info = speedwell.solve([[2.0]], [1.0], return_info=True)
    there = {"solution": info, "step": info.steps[0], "column": info.columns[0]}
    for of, result in there.items():
        assert sorted(listed[of]) == sorted({f.name for f in fields(result)} - {"chosen"})


@pytest.mark.parametrize(
    ("script", "size"),
    [
        ("gaussian_process", 1000),
        ("boundary_elements", 14),
        ("inverse_iteration", 700),
        ("acoustic_scattering", 500),
    ],
)
def test_script(script, size):
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{script}.py"), str(size)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) >= 2


def test_script_with_mpi(monkeypatch):
    pytest.importorskip("mpi4py")
    monkeypatch.setattr(sys, "argv", ["with_mpi.py", "400"])
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "1")
    runpy.run_path(str(EXAMPLES / "with_mpi.py"), run_name="__main__")
