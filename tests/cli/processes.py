# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the command ask the kernel about processes."""

import os
import time


def is_alive(process):
    """Whether a process runs or is stopped. A zombie counts as ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_end(processes, patience=30):
    """Whether all processes have ended within `patience` seconds. A launcher may end before the
    kernel has taken down the processes that it killed."""
    deadline = time.monotonic() + patience
    while any(map(is_alive, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def descendants(ancestor, program):
    """The processes of a program, a path, among the descendants of a process."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = []
    for process in sorted(parents):
        above = process
        while above in parents and above != ancestor:
            above = parents[above]
        try:
            is_of_program = os.path.samefile(f"/proc/{process}/exe", program)
        except OSError:
            continue
        if above == ancestor and is_of_program:
            found.append(process)
    return found
