# SPDX-License-Identifier: BSD-3-Clause
"""Starts other programs, each with a limit in time, and ends whatever they leave behind."""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass

MOST_KEPT = 1 << 20  # bytes of each stream of a program: its last ones
LOOK = 0.05  # seconds between looks at a program
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)

companions = set()  # processes that run beside the others, and are not ended with them


@dataclass
class Outcome:
    status: int = -1  # the exit status, if it ended by itself
    signal: int = 0  # that ended it
    timed_out: bool = False  # it was killed at its limit
    seconds: float = 0.0
    silent: float = 0.0  # seconds from the last output to the end
    out: str = ""  # the end of standard output
    err: str = ""  # and of standard error

    def passed(self):
        return self.status == 0

    def ending(self):
        if self.timed_out:
            return f"not through after {self.seconds:.0f} s"
        if self.signal:
            return f"killed by signal {self.signal}"
        return "not started" if self.status < 0 else f"status {self.status}"


def now():
    """Seconds. Tests name a file whose size they are, so as not to depend on a machine's speed."""
    path = os.environ.get("SPEEDWELL_GPU_CHECK_CLOCK")
    if path is None:
        return time.monotonic()
    return float(os.path.getsize(path)) if os.path.exists(path) else 0.0


def put(descriptor, data):
    """Writes text or bytes, or as much as the file takes: the check goes on without a reader."""
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]


def find_program(name, *folders):
    """The path of a program: the name itself if it has a slash, else from PATH or the folders."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *folders]))


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command, **streams):
    """A process that ends with the thread that starts it, however that ends."""
    options = {"stdin": subprocess.DEVNULL, "start_new_session": True, **streams}
    return subprocess.Popen(command, preexec_fn=end_with_parent, **options)


class Stream:
    """One stream of a child: its end is kept, and the listener gets every piece."""

    def __init__(self, pipe, listener):
        os.set_blocking(pipe.fileno(), False)
        self.pipe, self.listener, self.kept = pipe, listener, bytearray()

    def drain(self):
        """Reads what is there, but not for ever. Returns whether there was something."""
        for count in range(64):
            try:
                piece = os.read(self.pipe.fileno(), 1 << 16)
            except BlockingIOError:
                piece = b""
            if not piece:
                return count > 0
            self.kept += piece
            del self.kept[:-MOST_KEPT]
            self.listener(piece)
        return True

    def text(self):
        self.drain()
        return self.kept.decode("utf-8", "replace")


def run_child(command, seconds, listener=lambda piece: None):
    """Runs a program to its end, or for so many seconds, and ends all processes that it leaves."""
    outcome, status, poll = Outcome(), None, select.poll()
    begin = last = now()
    try:
        child = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return Outcome(err=f"cannot be started: {error}")
    out, err = streams = [Stream(pipe, listener) for pipe in (child.stdout, child.stderr)]
    for stream in streams:
        poll.register(stream.pipe, select.POLLIN)
    while status is None and not outcome.timed_out:
        if any(event & select.POLLHUP for _, event in poll.poll(1000 * LOOK)):
            time.sleep(0.001)  # it has closed a stream, and so poll() no longer waits
        look = now()
        drained = [stream.drain() for stream in streams]
        last = look if any(drained) else last
        outcome.seconds = now() - begin
        outcome.silent = begin + outcome.seconds - last
        status = child.poll()
        outcome.timed_out = status is None and outcome.seconds >= seconds
    if status is not None:
        outcome.status, outcome.signal = max(status, -1), max(-status, 0)
    end_descendants()
    child.poll()  # so that Python does not expect its end later
    outcome.out, outcome.err = out.text(), err.text()
    return outcome


def descendants():
    """All descendants of this process but the companions. A process group does not suffice: the
    ranks of mpirun have groups of their own."""
    children = defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
            # The name, in parentheses, may contain any character.
            children[int(file.read().rpartition(b")")[2].split()[1])].append(int(pid))
    found = [os.getpid()]
    for pid in found:
        found += [child for child in children[pid] if child not in companions]
    return found[1:]


def end_descendants():
    """Kills all descendants, repeatedly since they may start others. One that the kernel does not
    let go, as where a GPU hangs, is left."""
    for _ in range(40):
        left = descendants()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(LOOK)


def guard_children():
    """From now on this process is the parent of what its children leave behind, so that it can end
    that, and a signal that ends it runs what stands behind `finally`."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number, _):
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for each in signals:
        if signal.getsignal(each) != signal.SIG_IGN:  # as `nohup` has set it
            signal.signal(each, end)
