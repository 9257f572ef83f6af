#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every program that README.md and docs/ show is one of examples/, to the letter, and each of those
is shown."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# Without the line of the licence.
examples = {
    path.name: path.read_text().split("\n", 1)[1]
    for pattern in ("*.c", "*.cpp")
    for path in sorted((ROOT / "examples").glob(pattern))
}
shown = [
    (page.name, block)
    for page in PAGES
    for block in re.findall(r"^```(?:cpp|c)\n(.*?)^```$", page.read_text(), re.M | re.S)
    if "int main(" in block
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
if not examples:
    errors.append("examples/ holds no program")
print(*errors, sep="\n")
sys.exit(1 if errors else 0)
