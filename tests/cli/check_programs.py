#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every program in README.md and docs/ is equal to a file of examples/, that each of these
files is shown there, and that the lines of C++ in README.md stand in one of them in this order."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# The texts of the examples without their first line, which is the licence.
examples = {
    path.name: path.read_text().split("\n", 1)[1]
    for pattern in ("*.c", "*.cpp", "*.f90")
    for path in sorted((ROOT / "examples").glob(pattern))
}
shown = [
    (page.name, block)
    for page in PAGES
    for block in re.findall(r"^```(?:cpp|c|fortran)\n(.*?)^```$", page.read_text(), re.M | re.S)
    if re.search(r"int main\(|^program ", block, re.M)
]
errors = [
    f"{page} shows a program that is in no file of examples/: {block.splitlines()[0]}"
    for page, block in shown
    if block not in examples.values()
]
programs = {block for _, block in shown}
errors += [
    f"examples/{name} is shown as it is in neither README.md nor docs/"
    for name, text in examples.items()
    if text not in programs
]


def stand_in(block, text):
    """Whether the lines of the block are lines of the text in the same order, indented in any way."""
    lines = iter([line.strip() for line in text.splitlines()])
    return all(line.strip() in lines for line in block.splitlines())


pieces = re.findall(r"^```cpp\n(.*?)^```$", PAGES[0].read_text(), re.M | re.S)
errors += [
    f"README.md has lines of C++ that are in no file of examples/: {block.splitlines()[0]}"
    for block in pieces
    if not any(stand_in(block, text) for text in examples.values())
]
if not pieces:
    errors.append("README.md has no C++")
if not examples:
    errors.append("examples/ holds no program")
print(*errors, sep="\n")
sys.exit(1 if errors else 0)
