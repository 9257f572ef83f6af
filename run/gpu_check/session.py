# SPDX-License-Identifier: BSD-3-Clause
"""One check of a machine: the time that is left, the programs that ran and how they ended, and the
files that record them."""

import json
import os
import socket
import tempfile
import time
import traceback
from pathlib import Path

from children import find_program, now, put, run_child
from clocks import Monitor
from verdicts import Task, last_line, verdict_of, words_of_ending

MOST_OUTPUT = 4000  # characters of each stream in the record
MOST_LOGGED = 1 << 20  # bytes of cuBLASLt's log of one process: its last calls
PART_FOR_REPETITIONS = 0.15  # of the budget, for those of all failures
REPETITION_OF_A_HANG = 30  # seconds


class UsageError(Exception):
    pass


def utc(form):
    return time.strftime(form, time.gmtime())


def tail(text):
    return text if len(text) <= MOST_OUTPUT else "..." + text[-MOST_OUTPUT:]


def with_variables(command, *variables):
    """The same command with these variables in its environment, each "NAME=value"."""
    return [find_program("env") or "env", *variables, *command]


def logged_calls(folder):
    """What cuBLASLt has logged of each process in the folder, the end alone where it is long."""
    text = b""
    for path in sorted(folder.iterdir()):
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - MOST_LOGGED, 0))
            head = f"===== {path.name}, the last of {size} bytes\n".encode()
            text += head + file.read() + b"\n" if size else b""
    return text


def as_text(document):
    """JSON with a line for each step, row and product: to indent it further would take seconds of
    each check, since the products of all runs are megabytes."""
    encode = json.JSONEncoder(ensure_ascii=False).encode

    def lines_of(value):
        is_long = isinstance(value, list) and value
        return "[\n  " + ",\n  ".join(map(encode, value)) + "\n ]" if is_long else encode(value)

    fields = [f'"{key}": {lines_of(value)}' for key, value in document.items()]
    return "{\n " + ",\n ".join(fields) + "\n}\n"


def write_whole(path, data):
    """Writes a file whole, or leaves it as it was."""
    half = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(half, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def make_folder(asked):
    """The folder that was asked for, or else a new one in the current folder, and its log."""
    name = asked or "gpu-check-" + utc("%Y-%m-%d-%H%M%S")
    folder, number = Path(name), 2
    while not asked and folder.exists():
        folder, number = Path(f"{name}-{number}"), number + 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder, os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        raise UsageError(f"--output {folder}: {error.strerror}: '{error.filename}'") from None


class Session:
    def __init__(self, options, conclude):
        """conclude makes of the steps what is added to the document after each of them."""
        self.options, self.conclude, self.begin = options, conclude, now()
        self.for_repetitions = PART_FOR_REPETITIONS * options.budget
        self.step, self.part = "facts", 1.0  # the part of the budget at whose end it must end
        self.programs = Path(options.programs).absolute()
        self.folder, self.log_file = make_folder(options.output)
        self.scratch = Path(tempfile.mkdtemp(prefix="speedwell-gpu-check."))
        self.file, self.monitor, self.unwritten = None, Monitor(), False
        self.smoke = ["--smoke"] if options.trial else []  # of programs that measure
        self.largest = {}  # the report of HPL-MxP at the largest n, if one passed
        self.steps, self.understood = [], []
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
            **conclude([]),
            "steps": self.steps,
        }

    def elapsed(self):
        return now() - self.begin

    def remaining(self):
        """Seconds until the tasks of this step must have ended."""
        return self.part * self.options.budget - self.elapsed()

    def keep(self, source):
        """Copies a file that a child may have written into the folder."""
        if source.exists():
            self.write(source.name, source.read_bytes())

    def write(self, name, data):
        """Writes a file of the folder. Where that fails, the check goes on without it."""
        try:
            write_whole(self.folder / name, data)
        except OSError as error:
            if not self.unwritten:
                put(2, f"gpu-check: cannot write '{self.folder / name}' ({error.strerror})\n")
            self.unwritten = True

    def save(self, running=None):
        """Writes the document, with the name of the program that runs."""
        self.document["running"] = running
        self.document["elapsed_seconds"] = self.elapsed()
        self.document["clocks"] = self.monitor.about()
        if self.file:
            self.write(self.file, as_text(self.document).encode("utf-8", "replace"))

    def log(self, text):
        put(self.log_file, text)

    def say(self, line):
        put(1, line + "\n")
        self.log(line + "\n")

    def show(self, name, words):
        self.say(f"{self.elapsed():6.1f} s  {name:<34} {words}")

    def attempt(self, function, argument):
        """What the function makes of a program's output; None, and lines in the log, where that is
        not as the function expects it."""
        try:
            return function(argument)
        except Exception:
            return self.log(traceback.format_exc())

    def execute(self, name, command, limit):
        """Runs a command and logs all its output."""
        last = b"\n"

        def listen(piece):
            nonlocal last
            last = piece
            self.log(piece)

        self.log(f"\n===== {self.elapsed():.1f} s: {name}\n$ {' '.join(command)}\n")
        outcome = run_child(command, limit, listen)
        line_end = "" if last.endswith(b"\n") else "\n"
        self.log(f"{line_end}===== {outcome.ending()} after {outcome.seconds:.1f} s\n")
        return outcome

    def run(self, name, command, step=None, **rules):
        """Runs a Task within the time that is left, records and prints the verdict. A task that
        failed on a GPU runs once more, one kernel after the other and with cuBLASLt's log, which
        is kept in the folder; "repeated" of the record says how that ended. Returns the record:
        "verdict" is passed, failed, cut off, absent, not available or not run."""
        task, command = Task(**rules), [str(word) for word in command]
        most, begun = self.options.limit, self.elapsed()
        task.limit = float(min(task.limit, most))
        task.least = min(task.least, most, 1 if self.options.trial else most)
        limit = min(task.limit, self.remaining() - task.reserve)
        for program in (command[0], *task.needs):
            if not find_program(program):
                return self.note(name, "absent", f"there is no {program}", step)
        if limit < task.least:
            return self.note(name, "failed" if task.must_end else "not run", "no time left", step)
        self.save(running=name)
        begin = time.time()
        outcome = self.execute(name, command, limit)
        record = {
            "step": step or self.step,
            "name": name,
            "command": " ".join(command),
            "begun_seconds": begun,
            "limit_seconds": limit,
            **self.judge(task, outcome, limit),
            "clocks": self.monitor.between(begin, time.time()),
        }
        record["words"] = self.words_of(record, task, outcome)
        self.finish(record)
        if record["verdict"] == "failed" and task.repeat and self.options.device == "cuda":
            self.repeat(record, task, command, outcome.timed_out)
        return record

    def judge(self, task, outcome, limit):
        """How a task ended, with its result, or the end of its output where it has none."""
        found = {"seconds": outcome.seconds, "ending": outcome.ending()}
        found["verdict"] = verdict_of(task, outcome, limit)
        if task.result:
            found["result"] = self.attempt(task.result, outcome)
            if outcome.passed() and found["result"] in (None, [], {}):
                found["verdict"] = "failed"  # whatever its exit status says
            if found["verdict"] == "passed":
                return found
        return {**found, "output": tail(outcome.out), "errors": tail(outcome.err)}

    def words_of(self, record, task, outcome):
        """A few words; a report of which none can be made is a failure."""
        if not outcome.passed():
            return words_of_ending(outcome, task)
        if record["verdict"] != "passed":
            return "it measured nothing that can be read"
        if not task.words:
            return last_line(outcome.out)
        words = self.attempt(task.words, record["result"])
        record["verdict"] = "failed" if words is None else "passed"
        return "its report is not as expected, see log.txt" if words is None else words

    def repeat(self, record, task, command, has_timed_out):
        """Runs a command so that the host waits for each kernel and an error shows at its own, and
        that cuBLASLt logs every call. It has time of its own, within the budget: what explains a
        failure must not wait for a step's share."""
        name, words, number = record["name"] + ", repeated", "no time left", len(self.steps)
        repeated = None
        limit = min(task.limit, self.for_repetitions, self.options.budget - self.elapsed())
        limit = min(limit, REPETITION_OF_A_HANG) if has_timed_out else limit
        if limit >= task.least:
            self.save(running=name)
            folder = self.scratch / f"repeated-{number}"
            folder.mkdir(parents=True)
            # %i is the process: ranks share the variable.
            log = f"CUBLASLT_LOG_FILE={folder}/process-%i.log"
            command = with_variables(command, "CUDA_LAUNCH_BLOCKING=1", "CUBLASLT_LOG_LEVEL=5", log)
            outcome = self.execute(name, command, limit)
            self.for_repetitions -= outcome.seconds
            calls = logged_calls(folder)
            file = f"cublaslt-{number}.log" if calls else None
            if file:
                self.write(file, calls)
            repeated = {
                "command": " ".join(command),
                "seconds": outcome.seconds,
                "ending": outcome.ending(),
                "cublaslt_log": file,
                "output": tail(outcome.out),
                "errors": tail(outcome.err),
            }
            passed = "passed, with one kernel after the other"
            words = passed if outcome.passed() else words_of_ending(outcome)
            words += f"; {file or 'cuBLASLt logged nothing'}"
        self.show(name, words)
        record["repeated"] = repeated
        self.save()

    def note(self, name, verdict, words, step=None):
        """Records a verdict that is known without a run."""
        record = {"step": step or self.step, "name": name, "verdict": verdict, "words": words}
        return self.finish(record)

    def finish(self, record):
        words = record["words"]
        self.show(record["name"], record["verdict"] + (f": {words}" if words else ""))
        self.steps.append(record)
        # A report that is not as expected must not cost the conclusions from the others.
        found = self.attempt(self.conclude, [*self.understood, record])
        if found:
            self.understood.append(record)
            self.document.update(found)
        self.save()
        return record

    def failed(self):
        return self.unwritten or any(step["verdict"] == "failed" for step in self.steps)
