# SPDX-License-Identifier: BSD-3-Clause
"""What can befall a rank: signals, pauses, and a bit of its memory that flips."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

MARK = "LUPINE_FAULTS_RUN"
SIGNALS = {
    "kill": signal.SIGKILL,
    "terminate": signal.SIGTERM,
    "crash": signal.SIGSEGV,
    "stop": signal.SIGSTOP,
}
KINDS = (*SIGNALS, "slow", "flip")

_PAGE = os.sysconf("SC_PAGE_SIZE")
_SLOW_SECONDS = 1.5


def processes(run: str) -> dict[int, int]:
    """The run's processes that have not ended, with their ranks; -1 for the launcher's."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # it has just ended
            continue
        if f"{MARK}={run}".encode() not in variables or state in "ZX":
            continue
        rank = [v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
        found[int(entry.name)] = int(rank[0].partition(b"=")[2]) if rank else -1
    return found


def _resident_pages(process: int) -> list[int]:
    """The addresses of the pages in memory that hold the process's own data: no files, no code."""
    pages = []
    maps = Path(f"/proc/{process}/maps").read_text().splitlines()
    with open(f"/proc/{process}/pagemap", "rb", buffering=0) as entries:
        for line in maps:
            fields = line.split()
            named = len(fields) > 5 and fields[5] != "[heap]"
            if fields[1] != "rw-p" or named:
                continue
            begin, end = (int(text, 16) for text in fields[0].split("-"))
            entries.seek(begin // _PAGE * 8)
            states = entries.read((end - begin) // _PAGE * 8)
            in_memory = 0x80  # bit 63 of an entry
            pages += [begin + i * _PAGE for i, s in enumerate(states[7::8]) if s & in_memory]
    return pages


def _flip_bit(process: int, draw: random.Random) -> str:
    address = draw.choice(_resident_pages(process)) + draw.randrange(_PAGE)
    bit = draw.randrange(8)
    with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        byte = memory.read(1)[0]
        memory.seek(address)
        memory.write(bytes([byte ^ (1 << bit)]))
    return f"bit {bit} of the byte at {address:#x}, which was {byte:#04x}"


def inject(kind: str, process: int, draw: random.Random) -> str:
    """Does it to the process, and returns words for it. Raises OSError if the process has ended."""
    if kind == "flip":
        return _flip_bit(process, draw)
    if kind == "slow":
        begin = time.monotonic()
        while time.monotonic() - begin < _SLOW_SECONDS:
            os.kill(process, signal.SIGSTOP)
            time.sleep(draw.uniform(0.01, 0.2))
            os.kill(process, signal.SIGCONT)
            time.sleep(draw.uniform(0.01, 0.1))
        return f"stopped and continued for {_SLOW_SECONDS} s"
    os.kill(process, SIGNALS[kind])
    return SIGNALS[kind].name
