# SPDX-License-Identifier: BSD-3-Clause
"""What a program may and must do, and the verdict on how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

BAD_USAGE = 2  # exit status of all of Speedwell's programs


@dataclass
class Task:
    needs: Sequence[str] = ()  # other programs that must be there
    limit: float = 60.0  # seconds
    reserve: float = 0.0  # seconds of the step's share that later tasks need
    least: float = 3.0  # seconds; with less time left it is not started
    may_be_cut: bool = False  # reaching the limit is not a failure
    must_end: bool = False  # no time for it, or too little, is a failure
    most_silent: float = 0.0  # seconds; cut off after as many without output, it has hung
    may_fail: bool = False  # any other end is not a failure: it describes the machine
    may_not_load: bool = False  # it needs libraries that do not come with Speedwell
    may_not_fit: bool = False  # a refusal for lack of memory is not a failure
    repeat: bool = True  # a failure is repeated at once, traced
    not_available: Sequence[str] = ()  # output where a machine does not allow it: no failure
    result: Callable | None = None  # what the record has of the Outcome
    words: Callable | None = None  # a few words about the result of a run that passed
    finding: Callable = lambda outcome: ""  # what a run that failed has found, in a few words


def last_line(text):
    return text.rstrip("\n\r ").rpartition("\n")[2][:200]


def has_hung(task, outcome):
    return outcome.timed_out and 0 < task.most_silent <= outcome.silent


def words_of_ending(outcome, task=None):
    """How it ended, and what it has found, or else the last line that it printed."""
    line = (task and task.finding(outcome)) or last_line(outcome.err or outcome.out)
    words = outcome.ending()
    if task and has_hung(task, outcome):
        words += f", the last {outcome.silent:.0f} s without output"
    return f"{words}: {line}" if line else words


def verdict_of(task, outcome, limit):
    """limit: the seconds that the task had, which may be less than its own."""

    def says(*words):
        return any(one in outcome.err or one in outcome.out for one in words)

    if says(*task.not_available):  # such a program may still end with status 0
        return "not available"
    if outcome.passed():
        return "passed"
    if task.may_fail:
        return "not available"
    if outcome.timed_out:
        had_to_end = task.must_end or has_hung(task, outcome)
        may_be_cut = task.may_be_cut or limit < task.limit
        return "cut off" if may_be_cut and not had_to_end else "failed"
    if task.may_not_fit and outcome.status == BAD_USAGE and says("does not fit"):
        return "not run"
    # The first message comes from the launcher of an archive, the second from the system's loader.
    if task.may_not_load and says(": not found: lib", "error while loading shared libraries"):
        return "absent"
    return "failed"
