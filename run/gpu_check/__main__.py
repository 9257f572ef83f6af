# SPDX-License-Identifier: BSD-3-Clause
"""Checks on a machine with a GPU whether Speedwell is correct there, and how fast it is. It starts
other programs, each with a limit in time, and records their results in one JSON file. run/gpu-check
calls it."""

import argparse
import contextlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import steps
from children import end_descendants, find_program, guard_children, put, run_child
from conclusions import conclusions, goals_text, phases_text, table_text
from products import limits_text, products_text, side_by_side_text
from session import Session, UsageError, utc

USAGE = """\
usage: gpu-check [--only STEP,...] [--budget SECONDS] [--output DIR] [--device cuda]
  --only     runs these steps alone; they share the budget. In their order: device,
             kernels, sanitizer, big, mpi, accuracy, systems, mxp, ceilings, hpl, first_steps (after
             mxp), cusolver, profile, machine
  --budget   for everything together (default 560); what does not fit is left out
  --limit    seconds that no program may exceed, whatever its step allows
  --output   folder for everything that is found: GPU-DATE.json, log.txt, clocks.csv,
             machine.json for `speedwell predict`, products.txt with the algorithms of all
             products, and traces;
             default: a new one in the current folder, whose name is printed first
  --device   cuda (default), or cpu to try the check itself
  --trial    tiny sizes, to see that everything runs
exit status: 0 all that ran passed, 1 something failed, 2 bad usage, 3 no GPU
"""
PASSED, SOMETHING_FAILED, BAD_USAGE, NO_GPU = range(4)
# For all programs, unless the user has set something else.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Open MPI's shared memory fails where ranks may not read each other's memory.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    # The check measures Speedwell's own choices, so it ignores the user's profile.
    "SPEEDWELL_PROFILE": "none",
    "SPEEDWELL_PROBE_SEED": "1",
}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"{message}; see --help")


def seconds_of(option, text):
    with contextlib.suppress(ValueError):
        if 0 < float(text) < 1e6:
            return float(text)
    raise UsageError(f"--{option} takes seconds above 0, not '{text}'")


def parse(words):
    parser = Parser(add_help=False, allow_abbrev=False)
    for option, default in {"only": None, "budget": "560", "limit": "999999"}.items():
        parser.add_argument(f"--{option}", default=default)
    parser.add_argument("--output")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--trial", action="store_true")
    # run/gpu-check names these: the folder of Speedwell's programs, and a path or name.
    parser.add_argument("--programs", default=Path(__file__).resolve().parents[2] / "build/release")
    parser.add_argument("--mpirun", default="mpirun")
    options = parser.parse_args(words)
    options.command_line = " ".join(sys.argv)
    for option in ("budget", "limit"):
        setattr(options, option, seconds_of(option, getattr(options, option)))
    options.only = [] if options.only is None else options.only.split(",")
    for word in options.only:
        if word not in steps.ALL:
            known = ", ".join(steps.ALL)
            raise UsageError(f"--only: there is no step '{word}'; the steps are {known}")
    if options.output == "":
        raise UsageError("--output takes a folder")
    return options


def prepare_environment(programs):
    """Sets the environment of all programs that this one starts."""
    # In an archive it has the folders of the libraries, which are then looked for only once.
    script = find_program(f"{programs}/speedwell-environment")
    for line in run_child([script], 20).out.split("\n") if script else ():
        if line.startswith("export ") and "=" in line:
            name, _, value = shlex.split(line)[1].partition("=")
            os.environ[name] = value
    # All ranks share one GPU, the first that this program may see.
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def summary(s):
    document, left_out = s.document, ""
    for verdict in ("not run", "cut off"):
        names = [step["name"] for step in s.steps if step["verdict"] == verdict]
        left_out += f"{verdict}: {'; '.join(names)}\n" if names else ""
    texts = ["", table_text(document["table"]), phases_text(document["phases"])]
    texts += [side_by_side_text(s.steps), limits_text(document["products"])]
    texts += [goals_text(document["goals"]), left_out + ("FAILED" if s.failed() else "PASSED")]
    return "\n".join(texts)


def check(s):
    options = s.options
    s.say(str(s.folder))
    gpu = steps.find_gpu(s)
    name, description = gpu.name, gpu.description
    if options.device == "cpu":
        name, description = "cpu", "CPU"
    # For "NVIDIA H200" on 2026-12-01, nvidia-h200-2026-12-01.json.
    file = re.sub("[^a-z0-9]+", "-", (name or "no-gpu").lower()).strip("-")
    s.file = file + utc("-%Y-%m-%d.json")
    s.monitor.watch(gpu.uuid, s.folder / "clocks.csv")
    steps.note_facts(s)
    if not name:
        put(2, f"gpu-check: no GPU to check ({gpu.why})\n")
        return NO_GPU
    s.say(f"{description}; {options.budget:.0f} s")
    steps.run_steps(s)
    if s.document["products"]:
        s.write("products.txt", products_text(s.document["products"]).encode("utf-8", "replace"))
    s.document["finished"] = True
    s.save()
    s.say(s.attempt(summary, s) or "FAILED: the summary, see log.txt")
    return SOMETHING_FAILED if s.failed() else PASSED


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        put(1, USAGE)
        return PASSED
    guard_children()
    session = None
    try:
        options = parse(sys.argv[1:])
        prepare_environment(options.programs)
        session = Session(options, conclusions)
        return check(session)
    except UsageError as error:
        put(2, f"gpu-check: {error}\n")
        return BAD_USAGE
    finally:
        end_descendants()
        if session:
            shutil.rmtree(session.scratch, ignore_errors=True)


sys.exit(main())
