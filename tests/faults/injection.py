# SPDX-License-Identifier: BSD-3-Clause
"""What can befall a rank: signals, pauses, and memory that changes."""

from __future__ import annotations

import array
import contextlib
import os
import random
import signal
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

MARK = "SPEEDWELL_FAULTS_RUN"
SIGNALS = {
    "kill": signal.SIGKILL,
    "terminate": signal.SIGTERM,
    "crash": signal.SIGSEGV,
    "stop": signal.SIGSTOP,
}
# What happens to memory: a bit flips; several bits of a number; two numbers, or two cache lines,
# change places; the same bit of two numbers flips; a bit of a lane is stuck in each number of a
# line; a line becomes zeros, a copy of another one, or one number over and over.
MEMORY = ("flip", "bits", "swap", "samebit", "swapline", "stuck", "zero", "copy", "repeat")
KINDS = (*SIGNALS, "slow", *MEMORY)
# Where: in any memory, in A as it was given, b or x, in the factors (FP32 or FP64) or in panels of
# 16-bit numbers. Where there is none of it in memory, it happens in any.
TARGETS = ("any", "A", "b", "x", "factors", "panels")

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LINE = 64
_SLOW_SECONDS = 1.5
_TRIES = 300  # pages that are looked at for a target
_MOST = 1 << 28  # bytes of a region that is searched for a vector


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


@dataclass(frozen=True)
class Where:
    """Whose memory changes; and the vectors of a system, by which they are found in memory."""

    target: str = "any"
    b: array.array[float] = field(default_factory=lambda: array.array("d"))
    x: array.array[float] = field(default_factory=lambda: array.array("d"))


_ANYWHERE = Where()


class _Memory:
    """The memory of a process that is stopped meanwhile."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._file = open(f"/proc/{process}/mem", "r+b", buffering=0)  # noqa: SIM115

    def __enter__(self) -> _Memory:
        os.kill(self._process, signal.SIGSTOP)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        with contextlib.suppress(OSError):
            os.kill(self._process, signal.SIGCONT)

    def read(self, address: int, size: int) -> bytes:
        self._file.seek(address)
        data = self._file.read(size)
        if len(data) < size:
            raise OSError("this memory is not there")
        return data

    def write(self, address: int, data: bytes) -> None:
        self._file.seek(address)
        self._file.write(data)

    def number(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")

    def set_number(self, address: int, value: int) -> None:
        self.write(address, value.to_bytes(8, "little"))


def _is_of_a(page: bytes) -> bool:
    values = struct.unpack("512d", page)
    return sum(1 for v in values if abs(v) <= 128 and v == int(v) and v != 0) > 480


def _is_of_factors(page: bytes) -> bool:
    def moderate(values: tuple[float, ...]) -> bool:
        good = sum(1 for v in values if 1e-8 < abs(v) < 1e8)
        return good > 0.97 * len(values)

    return not _is_of_a(page) and (
        moderate(struct.unpack("512d", page)) or moderate(struct.unpack("1024f", page))
    )


def _is_of_panels(page: bytes) -> bool:
    numbers = array.array("H", page)
    as_bf16 = sum(1 for v in numbers if 100 <= (v >> 7 & 0xFF) <= 140)
    as_fp16 = sum(1 for v in numbers if 2 <= (v >> 10 & 0x1F) <= 30)
    return as_bf16 > 1950 or (as_fp16 > 1950 and not _is_of_factors(page))


_PAGES = {"A": _is_of_a, "factors": _is_of_factors, "panels": _is_of_panels}


def _places_of(memory: _Memory, pages: list[int], pattern: bytes) -> list[int]:
    """The addresses at which these bytes lie in neighbouring pages."""
    found = []
    begin = 0
    while begin < len(pages):
        end = begin + 1
        while end < len(pages) and pages[end] == pages[end - 1] + _PAGE:
            end += 1
        size = (end - begin) * _PAGE
        if size <= _MOST:
            with contextlib.suppress(OSError):
                data = memory.read(pages[begin], size)
                at = data.find(pattern)
                while at >= 0:
                    found.append(pages[begin] + at)
                    at = data.find(pattern, at + 8)
        begin = end
    return found


def _place(memory: _Memory, process: int, where: Where, draw: random.Random) -> tuple[str, int]:
    """The target that was found, and an address in it, of a multiple of 8."""
    target = where.target
    pages = _resident_pages(process)
    if target in ("b", "x"):
        vector = where.b if target == "b" else where.x
        length = 2 if target == "b" else 5  # x has small whole numbers, as A has
        if len(vector) > length:
            first = draw.randrange(len(vector) - length)
            pattern = struct.pack(f"{length}d", *vector[first : first + length])
            if found := _places_of(memory, pages, pattern):
                return target, draw.choice(found)
    if is_it := _PAGES.get(target):
        for _ in range(_TRIES):
            page = draw.choice(pages)
            if is_it(memory.read(page, _PAGE)):
                return target, page + 8 * draw.randrange(_PAGE // 8)
    return "any", draw.choice(pages) + 8 * draw.randrange(_PAGE // 8)


def _bits(draw: random.Random, count: int) -> int:
    return sum(1 << bit for bit in draw.sample(range(64), count))


def _harm_memory(kind: str, process: int, where: Where, draw: random.Random) -> str:
    with _Memory(process) as memory:
        found, first = _place(memory, process, where, draw)
        page = first // _PAGE * _PAGE
        second = page + 8 * draw.randrange(_PAGE // 8)
        line = first // _LINE * _LINE
        other = second // _LINE * _LINE
        if kind in ("flip", "bits"):
            flipped = _bits(draw, 1 if kind == "flip" else draw.randrange(2, 6))
            memory.set_number(first, memory.number(first) ^ flipped)
        elif kind == "swap":
            one, two = memory.number(first), memory.number(second)
            memory.set_number(first, two)
            memory.set_number(second, one)
        elif kind == "samebit":
            flipped = _bits(draw, 1)
            for address in {first, second}:
                memory.set_number(address, memory.number(address) ^ flipped)
        elif kind == "swapline":
            one_line, two_lines = memory.read(line, _LINE), memory.read(other, _LINE)
            memory.write(line, two_lines)
            memory.write(other, one_line)
        elif kind == "stuck":
            stuck = _bits(draw, 1)
            for address in range(line, line + _LINE, 8):
                memory.set_number(address, memory.number(address) | stuck)
        elif kind == "zero":
            memory.write(line, bytes(_LINE))
        elif kind == "copy":
            memory.write(line, memory.read(other, _LINE))
        else:
            memory.write(line, 8 * memory.read(first, 8))
    return f"{kind} in {found} at {first:#x}"


def inject(kind: str, process: int, draw: random.Random, where: Where = _ANYWHERE) -> str:
    """Does it to the process, and returns words for it. Raises OSError if the process has ended."""
    if kind in MEMORY:
        return _harm_memory(kind, process, where, draw)
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
