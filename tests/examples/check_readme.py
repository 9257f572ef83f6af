#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""README's programs are the examples that are compiled and run here, to the letter."""

import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
README = FOLDER.parent.parent / "README.md"
EXAMPLES = ["function.cpp", "block_cyclic.cpp", "factor_once.cpp", "solve.c"]

blocks = re.findall(r"^```(?:cpp|c)\n(.*?)^```$", README.read_text(), re.M | re.S)
programs = [block for block in blocks if "int main(" in block]
# Without the line of the licence.
files = {name: (FOLDER / name).read_text().split("\n", 1)[1] for name in EXAMPLES}
missing = [name for name, text in files.items() if text not in programs]
unknown = [block.splitlines()[0] for block in programs if block not in files.values()]
for name in missing:
    print(f"README.md does not show tests/examples/{name} as it is")
for line in unknown:
    print(f"README.md has a program that is in no file of tests/examples: {line}")
sys.exit(1 if missing or unknown else 0)
