# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a check in order, correctness before speed, each within its share of the budget."""

import re
import traceback
from collections import namedtuple

import measurements
import suites
from children import find_program
from session import Task

# The share is in seconds of 560, if all steps run; later steps get what it leaves.
Step = namedtuple("Step", "name seconds run")
ALL = (
    Step("device", 70, suites.device),
    Step("kernels", 30, measurements.kernels),
    Step("sanitizer", 65, suites.sanitizers),
    Step("big", 20, suites.big),
    Step("mpi", 30, suites.mpi),
    Step("accuracy", 15, suites.accuracy),
    Step("systems", 15, suites.systems),
    Step("mxp", 100, measurements.mxp),
    Step("ceilings", 80, measurements.ceilings),
    Step("hpl", 55, measurements.hpl),
    Step("first_steps", 20, measurements.first_steps),
    Step("cusolver", 30, measurements.cusolver),
    Step("profile", 20, suites.profile),
    Step("machine", 10, measurements.machine),
)
NAMES = [step.name for step in ALL]
# Without a GPU the name is empty, and `why` is the reason.
Gpu = namedtuple("Gpu", "name description uuid why", defaults=("", "", "", ""))


def find_gpu(s):
    """The first GPU, as `speedwell info` describes it: "GPU 0 (NVIDIA H200, GPU-01234567), ..."."""
    command = [s.program("speedwell"), "info"]
    record = s.run(Task("facts", "speedwell info", command, result=lambda outcome: outcome.out))
    if record["verdict"] != "passed":
        return Gpu(why=f"speedwell info: {record['words']}")
    lines = re.findall(r"^(Speedwell|revision|device cuda) +(.*)$", record["result"], re.M)
    found = dict(reversed(lines))  # the first of each
    for field, label in (("version", "Speedwell"), ("revision", "revision")):
        if label in found:
            s.document[field] = found[label]
    cuda = found.get("device cuda", "none: speedwell info names none")
    if cuda.startswith("none: "):
        gpu = Gpu(why=cuda[len("none: ") :])
    else:
        name, uuid = re.search(r"\(([^,)]*),? *([^)]*)\)|$", cuda).groups("")
        gpu = Gpu(name or cuda.partition(",")[0], cuda, uuid)
    s.document["gpu"] = gpu.description
    return gpu


def note_output(s, name, command, line_shown=0):
    """Records the output of a program as a fact about the machine. Its failure is not one of
    Speedwell's."""
    task = Task(
        "facts",
        name,
        command,
        limit=20,
        may_fail=True,
        result=lambda outcome: outcome.out,
        words=lambda text: (text.split("\n") + [""])[line_shown],
    )
    s.run(task)


def note_facts(s):
    smi = find_program("nvidia-smi")
    if smi:
        fields = (
            "name,driver_version,memory.total,power.limit,clocks.sm,clocks.mem,clocks.max.sm,"
            "clocks.max.mem,temperature.gpu,power.draw"
        )
        note_output(s, "nvidia-smi", [smi, "--query-gpu=" + fields, "--format=csv"], 1)
        note_output(s, "nvidia-smi, all", [smi, "-q"])
    else:
        s.note("facts", "nvidia-smi", "absent", "there is no nvidia-smi")
    # A program of the archive reports which CUDA libraries it found, and where.
    environment = s.program("speedwell-environment")
    if find_program(environment):
        note_output(s, "libraries", [environment])


def run_steps(s):
    """Runs the steps that were asked for, or all. What others leave of the budget they share."""
    chosen = [step for step in ALL if not s.options.only or step.name in s.options.only]
    total = sum(step.seconds for step in chosen)
    until = 0
    for step in chosen:
        until += step.seconds
        s.part = until / total
        try:
            step.run(s)
        except Exception as error:  # an unexpected report must not cost the later steps
            s.log(traceback.format_exc())
            s.note(step.name, f"{step.name}, the check itself", "failed", repr(error))
