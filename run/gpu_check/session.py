# SPDX-License-Identifier: BSD-3-Clause
"""One check of a machine: the time that is left, the programs that ran and how they ended, and the
files that record them."""

import contextlib
import json
import os
import shutil
import socket
import tempfile
import time
import traceback
from dataclasses import dataclass, replace
from typing import Callable, Optional, Sequence

import clocks
from children import Outcome, find_program, now, put, run_child

MOST_OUTPUT = 4000  # characters of each stream in the record
MOST_LOGGED = 1 << 20  # bytes of cuBLASLt's log of one process: its last calls
PART_FOR_REPETITIONS = 0.15  # of the budget, for those of all failures
REPETITION_OF_A_HANG = 30  # seconds
BAD_USAGE = 2  # exit status of all of Speedwell's programs


class UsageError(Exception):
    pass


@dataclass
class Task:
    """One program to run."""

    step: str  # such as "mpi"
    name: str  # such as "MPI suite, 2 ranks"
    command: Sequence[str]  # the first word is a path
    needs: Sequence[str] = ()  # other programs that must be there
    limit: float = 60.0  # seconds
    reserve: float = 0.0  # seconds of the step's share that later tasks need
    least: float = 3.0  # seconds; with less time left the task is not started
    may_be_cut: bool = False  # reaching the limit is not a failure
    must_end: bool = False  # no time for it, or too little, is a failure
    most_silent: float = 0.0  # seconds; cut off after as many without output, it has hung
    may_fail: bool = False  # any other end is not a failure: it describes the machine
    may_not_load: bool = False  # it needs libraries that do not come with Speedwell
    may_not_fit: bool = False  # a refusal for lack of memory is not a failure
    repeat: bool = True  # a failure is repeated at once, traced
    not_available: Sequence[str] = ()  # output where a machine does not allow it: no failure
    result: Optional[Callable] = (
        None  # makes the record's result of the Outcome; None: there is none
    )
    words: Optional[Callable] = None  # makes a few words of the result of a run that passed
    finding: Callable = lambda outcome: ""  # what a run that failed has found, in a few words


def utc(form):
    return time.strftime(form, time.gmtime())


def with_variables(variables, command):
    """The same command with these variables in its environment, each "NAME=value"."""
    return [find_program("env") or "env", *variables, *command]


def tail(text):
    return text if len(text) <= MOST_OUTPUT else "..." + text[-MOST_OUTPUT:]


def last_line(outcome):
    """Of standard error, or where that is empty of standard output."""
    text = outcome.err or outcome.out
    return text.rstrip("\n\r ").rpartition("\n")[2][:200]


def has_hung(task, outcome):
    return outcome.timed_out and 0 < task.most_silent <= outcome.silent


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
        too_short = task.may_be_cut or limit < task.limit
        return "cut off" if too_short and not had_to_end else "failed"
    if task.may_not_fit and outcome.status == BAD_USAGE and says("does not fit"):
        return "not run"
    # The first message comes from the launcher of an archive, the second from the system's loader.
    if task.may_not_load and says(": not found: lib", "error while loading shared libraries"):
        return "absent"
    return "failed"


def words_of_failure(task, outcome):
    line = task.finding(outcome) or last_line(outcome)
    silence = f", the last {outcome.silent:.0f} s without output" if has_hung(task, outcome) else ""
    return outcome.ending() + silence + (f": {line}" if line or silence else "")


def logged_calls(folder):
    """What cuBLASLt has logged of each process in the folder, the end alone where it is long."""
    text = b""
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - MOST_LOGGED, 0))
                if size > 0:
                    text += b"===== %s, the last of %d bytes\n" % (os.fsencode(name), size)
                    text += file.read() + b"\n"
    return text


def as_text(document):
    """JSON with a line for each step, product and row of a table: an indented one of megabytes
    would take seconds to write after each step."""

    def lines_of(value):
        if not isinstance(value, list) or not value:
            return json.dumps(value, ensure_ascii=False)
        items = ",\n".join("  " + json.dumps(one, ensure_ascii=False) for one in value)
        return f"[\n{items}\n ]"

    fields = (f" {json.dumps(key)}: {lines_of(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def write_whole(path, data):
    """Writes a file whole, or leaves it as it was."""
    half = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.tmp")
    try:
        with open(half, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(half)


def make_folder(asked):
    """The folder that was asked for, or else a new one in the current folder."""
    folder = name = asked or "gpu-check-" + utc("%Y-%m-%d-%H%M%S")
    number = 2
    while not asked and os.path.exists(folder):
        folder = f"{name}-{number}"
        number += 1
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output: cannot make the folder '{folder}' ({error.strerror})"
        ) from None
    return folder


class Session:
    def __init__(self, options, conclude):
        """conclude makes of the steps what is added to the document after each of them."""
        self.options, self.conclude = options, conclude
        self.begin = now()
        self.part = 1.0  # of the budget, when the tasks from now on must have ended
        self.for_repetitions = PART_FOR_REPETITIONS * options.budget
        self.folder = make_folder(options.output)
        path = self.kept("log.txt")
        try:
            self.log_file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise UsageError(f"--output: cannot write '{path}' ({error.strerror})") from None
        self.scratch_folder = tempfile.mkdtemp(prefix="speedwell-gpu-check.")
        self.file = self.monitor = None
        self.unwritten = False
        self.largest = {}  # the report of HPL-MxP at the largest n, if one passed
        self.steps = []
        self.document = {
            "schema": "speedwell-gpu-check/2",
            "date": utc("%Y-%m-%dT%H:%M:%SZ"),
            "host": socket.gethostname(),
            "command_line": options.command_line,
            "budget_seconds": options.budget,
            "trial": options.trial,
            "only": options.only,
            "finished": False,
            "running": None,
            "clocks": None,
            "steps": self.steps,
        }

    def close(self):
        if self.monitor:
            self.monitor.stopped = True
        shutil.rmtree(self.scratch_folder, ignore_errors=True)

    def elapsed(self):
        return now() - self.begin

    def remaining(self):
        """Seconds until the tasks of this step must have ended."""
        return self.part * self.options.budget - self.elapsed()

    def program(self, name):
        return os.path.join(self.options.programs, name)

    def least(self, seconds):
        """The least time that is worth starting a program."""
        return 1 if self.options.trial else seconds

    def scratch(self, name):
        """The path of a temporary file for a child to write."""
        return os.path.join(self.scratch_folder, name)

    def kept(self, name):
        return os.path.join(self.folder, name)

    def watch(self, uuid):
        self.monitor = clocks.watch(uuid, self.kept("clocks.csv"))

    def clocks(self, begin, end):
        """What was read in this time, seconds since 1970; None if nothing was."""
        return self.monitor.between(begin, end) if self.monitor else None

    def keep(self, source, name):
        """Copies a file that a child may have written into the folder."""
        with contextlib.suppress(OSError), open(source, "rb") as file:
            self.write(self.kept(name), file.read())

    def write(self, path, data):
        """Where a file can no longer be written, the check goes on without it."""
        if isinstance(data, str):
            data = data.encode("utf-8", "replace")
        try:
            write_whole(path, data)
        except OSError as error:
            if not self.unwritten:
                put(2, f"gpu-check: cannot write '{path}' ({error.strerror})\n".encode())
            self.unwritten = True

    def keep_in(self, name):
        """Saves the document in this file of the folder from now on."""
        self.file = self.kept(name)
        self.save()

    def save(self, running=None):
        self.document["running"] = running
        if not self.file:
            return
        self.document["elapsed_seconds"] = self.elapsed()
        if self.monitor:
            self.document["clocks"] = {
                "source": self.monitor.source.name,
                "seconds_between": clocks.SECONDS_BETWEEN,
                "samples": len(self.monitor.kept),
            }
        self.write(self.file, as_text(self.document))

    def log(self, text):
        put(self.log_file, text.encode("utf-8", "replace"))

    def say(self, line):
        put(1, f"{line}\n".encode("utf-8", "replace"))
        self.log(line + "\n")

    def show(self, name, words):
        self.say(f"{self.elapsed():6.1f} s  {name:<34} {words}")

    def attempt(self, function, *arguments):
        """What the function makes of a program's output; None, and lines in the log, where that is
        not as the function expects it."""
        try:
            return function(*arguments)
        except Exception:
            self.log(traceback.format_exc())
            return None

    def execute(self, name, command, limit):
        last = b"\n"

        def listen(piece):
            nonlocal last
            last = piece
            put(self.log_file, piece)

        self.log(f"\n===== {self.elapsed():.1f} s: {name}\n$ {' '.join(command)}\n")
        outcome = run_child(command, limit, listen)
        at_line_start = last.endswith(b"\n")
        end = f"===== {outcome.ending()} after {outcome.seconds:.1f} s\n"
        self.log(end if at_line_start else "\n" + end)
        return outcome

    def run(self, task):
        """Runs a task within the time that is left, logs all its output, records and prints the
        verdict. A task that failed on a GPU runs once more, one kernel after the other and with
        cuBLASLt's log, which is kept in the folder; "repeated" of the record says how that ended.
        Returns the record: "verdict" is passed, failed, cut off, absent, not available or not run."""
        for program in (task.command[0], *task.needs):
            if not find_program(program):
                return self.note(task.step, task.name, "absent", f"there is no {program}")
        self.save(running=task.name)
        begun = self.elapsed()
        task = replace(task, limit=min(task.limit, self.options.limit))
        limit = min(task.limit, self.remaining() - task.reserve)
        if limit < min(task.least, self.options.limit):
            verdict = "failed" if task.must_end else "not run"
            return self.note(task.step, task.name, verdict, "no time left")
        record = {
            "step": task.step,
            "name": task.name,
            "command": " ".join(task.command),
            "begun_seconds": begun,
            "limit_seconds": limit,
        }
        begin = time.time()
        outcome = self.execute(task.name, task.command, limit)
        self.judge(record, task, outcome)
        record["clocks"] = self.clocks(begin, time.time())
        record["words"] = self.words_of(record, task, outcome)
        self.finish(record)
        if record["verdict"] == "failed" and task.repeat and self.options.device == "cuda":
            self.repeat(record, task, outcome.timed_out)
        return record

    def judge(self, record, task, outcome):
        """Records how a task ended, with its result, or the end of its output where it has none."""
        record["seconds"] = outcome.seconds
        record["ending"] = outcome.ending()
        record["verdict"] = verdict_of(task, outcome, record["limit_seconds"])
        if task.result:
            record["result"] = self.attempt(task.result, outcome)
            if outcome.passed() and record["result"] in (None, [], {}):
                record["verdict"] = "failed"  # whatever its exit status says
            if record["verdict"] == "passed":
                return
        record["output"] = tail(outcome.out)
        record["errors"] = tail(outcome.err)

    def words_of(self, record, task, outcome):
        if record["verdict"] != "passed":
            unread = "it measured nothing that can be read"
            return unread if outcome.passed() else words_of_failure(task, outcome)
        if not task.words:
            return last_line(Outcome(out=outcome.out))
        words = self.attempt(task.words, record["result"])
        return "its report is not as expected, see log.txt" if words is None else words

    def repeat(self, record, task, has_timed_out):
        """Has time of its own, within the budget: what explains a failure must not wait for a
        step's share."""
        name = task.name + ", repeated"
        limit = min(task.limit, self.for_repetitions, self.options.budget - self.elapsed())
        if has_timed_out:
            limit = min(limit, REPETITION_OF_A_HANG)
        repeated, words = None, "no time left"
        if limit >= min(task.least, self.options.limit):
            self.save(running=name)
            repeated, words = self.run_traced(name, task.command, limit)
        self.show(name, words)
        record["repeated"] = repeated
        self.save()

    def run_traced(self, name, command, limit):
        """Runs a command so that the host waits for each kernel and an error shows at its own, and
        that cuBLASLt logs every call. Returns what the record says of it, and a few words."""
        number = len(self.steps)
        folder = self.scratch(f"repeated-{number}")
        os.makedirs(folder, exist_ok=True)
        # %i is the process: ranks share the variable.
        log = f"CUBLASLT_LOG_FILE={folder}/process-%i.log"
        command = with_variables(["CUDA_LAUNCH_BLOCKING=1", "CUBLASLT_LOG_LEVEL=5", log], command)
        outcome = self.execute(name, command, limit)
        self.for_repetitions -= outcome.seconds
        calls = logged_calls(folder)
        file = f"cublaslt-{number}.log" if calls else None
        if file:
            self.write(self.kept(file), calls)
        line = last_line(outcome)
        words = "passed, with one kernel after the other"
        if not outcome.passed():
            words = outcome.ending() + (f": {line}" if line else "")
        repeated = {
            "command": " ".join(command),
            "seconds": outcome.seconds,
            "ending": outcome.ending(),
            "cublaslt_log": file,
            "output": tail(outcome.out),
            "errors": tail(outcome.err),
        }
        return repeated, f"{words}; {file or 'cuBLASLt logged nothing'}"

    def note(self, step, name, verdict, words):
        """Records a verdict that is known without a run."""
        return self.finish({"step": step, "name": name, "verdict": verdict, "words": words})

    def finish(self, record):
        self.show(record["name"], ": ".join(filter(None, (record["verdict"], record["words"]))))
        self.steps.append(record)
        self.document.update(self.attempt(self.conclude, self.steps) or {})
        self.save()
        return record

    def failed(self):
        return self.unwritten or any(step["verdict"] == "failed" for step in self.steps)
