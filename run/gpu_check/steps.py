# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a check in order, correctness before speed, each within its share of the budget."""

import re
import traceback
from collections import namedtuple

import measurements
import suites
from children import find_program
from suites import on_ranks

# The seconds of each step of 560, if all run; later steps get what it leaves.
ALL = {
    "device": (70, suites.device),
    "kernels": (30, measurements.kernels),
    "sanitizer": (65, suites.sanitizers),
    "big": (20, suites.big),
    "mpi": (30, on_ranks("MPI suite", "speedwell_mpi_tests", (1, 2, 4), "~[solve]")),
    "accuracy": (15, on_ranks("accuracy against LAPACK", "speedwell_accuracy_tests", (1, 4))),
    "systems": (15, on_ranks("users' systems", "speedwell_mpi_tests", (1, 4), "[solve]")),
    "mxp": (100, measurements.mxp),
    "ceilings": (80, measurements.ceilings),
    "hpl": (55, measurements.hpl),
    "first_steps": (20, measurements.first_steps),
    "cusolver": (30, measurements.cusolver),
    "profile": (20, suites.profile),
    "machine": (10, measurements.machine),
}
# What nvidia-smi is asked for.
FIELDS = (
    "name,driver_version,memory.total,power.limit,clocks.sm,clocks.mem,clocks.max.sm,"
    "clocks.max.mem,temperature.gpu,power.draw"
)
# Without a GPU the name is empty, and `why` is the reason.
Gpu = namedtuple("Gpu", "name description uuid why", defaults=("", "", "", ""))


def find_gpu(s):
    """The first GPU, as `speedwell info` describes it: "GPU 0 (NVIDIA H200, GPU-01234567), ..."."""
    command = [s.programs / "speedwell", "info"]
    record = s.run("speedwell info", command, result=lambda outcome: outcome.out)
    if record["verdict"] != "passed":
        return Gpu(why=f"speedwell info: {record['words']}")
    lines = re.findall(r"^(Speedwell|revision|device cuda) +(.*)$", record["result"], re.M)
    found = dict(reversed(lines))  # the first of each
    for field, label in (("version", "Speedwell"), ("revision", "revision")):
        if label in found:
            s.document[field] = found[label]
    text, _, why = found.get("device cuda", "none: speedwell info names none").partition("none: ")
    s.document["gpu"] = text
    name, uuid = re.search(r"\(([^,)]*),? *([^)]*)\)|$", text).groups("")
    return Gpu(name or text.partition(",")[0], text, uuid, why)


def note_facts(s):
    """Records what programs say of the machine. Their failure is not one of Speedwell's."""

    def note(name, line_shown, *command):
        rules = {"limit": 20, "may_fail": True, "result": lambda outcome: outcome.out}
        rules["words"] = lambda text: (text.split("\n") + [""])[line_shown]
        s.run(name, command, **rules)

    smi = find_program("nvidia-smi")
    if smi:
        note("nvidia-smi", 1, smi, "--query-gpu=" + FIELDS, "--format=csv")
        note("nvidia-smi, all", 0, smi, "-q")
    else:
        s.note("nvidia-smi", "absent", "there is no nvidia-smi")
    # A program of the archive reports which CUDA libraries it found, and where.
    environment = s.programs / "speedwell-environment"
    if environment.exists():
        note("libraries", 0, environment)


def run_steps(s):
    """Runs the steps that were asked for, or all. What others leave of the budget they share."""
    chosen = [name for name in ALL if not s.options.only or name in s.options.only]
    total = sum(ALL[name][0] for name in chosen)
    until = 0
    for name in chosen:
        seconds, step = ALL[name]
        until += seconds
        s.step, s.part = name, until / total
        try:
            step(s)
        except Exception as error:  # an unexpected report must not cost the later steps
            s.log(traceback.format_exc())
            s.note(f"{name}, the check itself", "failed", repr(error))
