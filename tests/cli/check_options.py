#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/options.md have every option that `speedwell COMMAND --help` prints, and no other:
names, commands, lists, values to choose from, and defaults. `speedwell predict COMMAND` has the options
of COMMAND too, but for `predict solve`. One line for each difference; exit status 1 if there is one. SPEEDWELL_COMMAND is the
command's program."""

import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "options.md"
NEVER_IN_TABLE = frozenset({"-h", "--help"})
MARKS = {"": None, "x": False, "L": True}  # whether the command takes a list; None: not the option


@dataclass(frozen=True)
class Option:
    """An option of one command, as its help or the table describes it."""

    names: frozenset
    takes_list: bool
    choices: tuple  # empty: not said
    default: str  # empty: not said


def shown(option):
    return ", ".join(sorted(option.names))


def help_of(*words):
    done = subprocess.run(
        [os.environ["SPEEDWELL_COMMAND"], *words, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def inside_parentheses(text):
    """The text up to the parenthesis that closes one opened before it."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return text[:i]
    raise ValueError(f"no closing parenthesis: {text}")


def default_in(description):
    """'(default 300; 0: no limit)' has the default 300, '(default: by size)' has 'by size'."""
    start = re.search(r"\(default(:?) ", description)
    if not start:
        return ""
    text = inside_parentheses(description[start.end() :])
    return text if start[1] else re.split("[:;]", text)[0]


def choices_in(placeholder, description):
    if placeholder == "on|off":
        return ("off", "on")
    words = re.search(r": ([\w-]+(?:, [\w-]+)+)$", description)
    return tuple(sorted(words[1].split(", "))) if words else ()


def options_in_help(text):
    """Of the lines below 'Options:'; the description of a long option begins on the next line."""
    lines = text.split("Options:\n", 1)[1].split("\n\n", 1)[0]
    lines = re.sub(r"\n {6,}(?=\S)", "  ", lines)
    for line in lines.splitlines():
        found = re.fullmatch(r"  (-\S+)(?: ([A-Z|]+|on\|off))?  +(.*)", line)
        if not found:
            raise ValueError(f"not understood: {line}")
        names, placeholder, description = found.groups()
        description = re.sub(r" +", " ", description)  # of several lines
        names = {re.sub(r"\{.*\}", "", name) for name in names.split(",")}
        names.update(re.findall(r", also (-\w+)", description))
        yield Option(
            frozenset(names),
            placeholder == "LIST",
            choices_in(placeholder, description),
            default_in(description),
        )


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def option_in_cell(cell, mark, default):
    """'`--device auto\\|cpu`' has a name and two choices."""
    names, choices = set(), ()
    for code in re.findall(r"`([^`]+)`", cell):
        name, _, values = code.partition(" ")
        names.add(name)
        if r"\|" in values:
            choices = tuple(sorted(values.split(r"\|")))
    return Option(frozenset(names), MARKS[mark], choices, default.replace("`", ""))


def options_in_tables(text):
    """By command; the tables are those whose first column is 'option' and last is 'meaning'."""
    listed = {}
    rows = iter(text.splitlines())
    for head in rows:
        if not re.match(r"\| option \|.*\| meaning \|$", head):
            continue
        columns = cells(head)
        commands = columns[1 : columns.index("default")]
        for command in commands:
            listed.setdefault(command, [])
        next(rows)
        for row in rows:
            if not row.startswith("|"):
                break
            option, *others = cells(row)
            default = others[len(commands)]
            for command, mark in zip(commands, others):
                if MARKS[mark] is not None:
                    listed[command].append(option_in_cell(option, mark, default))
    return listed


def begins_with(text, start):
    return re.match(re.escape(start) + r"(?![\w.])", text) is not None


def differences(command, helped, listed):
    where = f"{TABLE.name}: {command}"
    for option in helped:
        rows = [row for row in listed if row.names & option.names]
        if not rows:
            yield f"{where} has {shown(option)}, which the table does not give it"
            continue
        if len(rows) > 1:
            yield f"{where}: {shown(option)} is in {len(rows)} rows"
        row = rows[0]
        if row.names != option.names:
            yield f"{where}: the names are {shown(option)}, not {shown(row)}"
        if row.takes_list != option.takes_list:
            kind = "a list" if option.takes_list else "one value"
            yield f"{where}: {shown(option)} takes {kind}; the table's mark says otherwise"
        if option.choices and row.choices != option.choices:
            yield (
                f"{where}: {shown(option)} is one of {', '.join(option.choices)}, "
                f"not of {', '.join(row.choices) or 'what the table does not say'}"
            )
        if not row.default:
            yield f"{where}: {shown(option)} has no default in the table; 'none' is one"
        elif option.default and not begins_with(row.default, option.default):
            yield f"{where}: the default of {shown(option)} is {option.default}, not {row.default}"
    known = frozenset().union(*(option.names for option in helped))
    for row in listed:
        if not row.names & known:
            yield f"{where} has no {shown(row)}, which the table gives it"


def subcommands(*words):
    """The commands behind these words, each with its words: 'predict mxp'."""
    for name in re.findall(r"^  (\w+) ", help_of(*words).partition("Commands:\n")[2], re.M):
        yield " ".join([*words, name])
        yield from subcommands(*words, name)


def main():
    commands = list(subcommands())
    table = options_in_tables(TABLE.read_text())
    for command in table:
        if command.startswith("predict ") and command != "predict solve":
            table[command] += table[command.removeprefix("predict ")]
    errors = [f"{TABLE.name}: there is no command {name}" for name in table if name not in commands]
    for command in commands:
        printed = options_in_help(help_of(*command.split()))
        helped = [o for o in printed if not o.names & NEVER_IN_TABLE]
        if not helped and command not in table:
            continue  # a command without options needs no column
        if command not in table:
            errors.append(f"{TABLE.name}: the command {command} has no column")
            continue
        errors += differences(command, helped, table[command])
    if not any(table.values()):
        errors.append(f"{TABLE.name}: the table is empty")
    if errors:
        print(*errors, sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
