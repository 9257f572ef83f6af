# SPDX-License-Identifier: BSD-3-Clause
"""The ways into Speedwell: Python, the command, C, and the command on emulated GPUs."""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .judge import Outcome, Rules
from .pipes import Child, Died, Hung, kill_group
from .system import System

PRECISIONS = ("fp16", "bf16", "fp16x3", "fp32", "fp64")
_ACCURACIES = {"auto": 0, "backward": 1, "forward": 2, "certified": 3}
_CODES = {"auto": 0, "fp16": 1, "bf16": 2, "fp32": 3, "fp64": 4, "fp16x3": 5}


@dataclass(frozen=True)
class How:
    """A door, and how a system goes through it."""

    door: str
    method: str = ""
    order: str = "F"
    ranks: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def rules(self) -> Rules:
        weak = self.options.get("precision", "auto") not in ("auto", "fp64")
        return Rules(
            may_refuse=weak or "refine" in self.options or self.options.get("assume_a") == "pos",
            as_numpy=self.door == "python",
            transposed=self.method.startswith("transposed"),
            certified=self.options.get("accuracy") == "certified",
        )

    def __str__(self) -> str:
        words = [self.door, self.method, f"{self.ranks} ranks" if self.ranks > 1 else ""]
        words += [self.order] if self.door == "python" else []
        words += [f"{name}={value}" for name, value in self.options.items()]
        return " ".join(word for word in words if word)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Programs:
    """Where the programs are; None: not built."""

    command: Path | None = None
    emulated: Path | None = None
    served: Path | None = None


def _environment(**further: str) -> dict[str, str]:
    """As in tests/CMakeLists.txt: ranks that wait give way, and nobody's profile is read."""
    return {
        **os.environ,
        "SPEEDWELL_PROFILE": "none",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader",
        **further,
    }


def _mpirun(ranks: int) -> list[str]:
    return ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]


def _limit(n: int, ranks: int, emulated: bool = False) -> float:
    """Seconds after which a run hangs: many times what it takes on a busy machine."""
    return (30 + n / 10) * (1 + ranks / 2) * (4 if emulated else 1)


class PythonDoor:
    """The package, in a child of its own."""

    def __init__(self) -> None:
        self._child = Child([sys.executable, "-m", "campaign.python_server"], _environment())

    def solve(self, system: System, how: How) -> Outcome:
        a, b = system.given()
        request = {
            "a": a,
            "b": b,
            "vector": system.count == 1,
            "method": how.method,
            "order": how.order,
            "options": how.options,
        }
        data = pickle.dumps(request, protocol=5)
        limit = _limit(system.n, 1)
        self._child.send(len(data).to_bytes(8, "little") + data, limit)
        size = int.from_bytes(self._child.receive(8, limit), "little")
        reply = pickle.loads(self._child.receive(size, limit))
        if reply["status"] != "solved":
            return Outcome(reply["status"], words=reply["words"], kind=reply["kind"])
        if "determinants" in reply:
            found = reply["determinants"]
            return Outcome("solved", doubt=reply["doubt"], determinants=found)
        x = system.taken(reply["x"])
        return Outcome("solved", x, reply["bounds"], reply["doubt"], proofs=reply["proofs"])

    def close(self) -> None:
        self._child.close()


class CDoor:
    """tests/campaign/served.c on some ranks: it serves many systems, so that MPI starts once."""

    METHODS = ("dgesvx", "factored", "transposed", "dgesv")

    def __init__(self, program: Path, ranks: int) -> None:
        command = [str(program)] if ranks == 1 else [*_mpirun(ranks), str(program)]
        self._ranks = ranks
        self._child = Child(command, _environment())

    def solve(self, system: System, how: How) -> Outcome:
        a, b = system.given()
        n, count = b.shape
        options = how.options
        given = a.T if how.method == "transposed" else a
        codes = [
            _CODES[options.get("precision", "auto")],
            _CODES[options.get("first", "auto")],
            2 if options.get("condition") == "full" else 1,
            options.get("nb", 0),
            int(system.is_complex),
            _ACCURACIES[options.get("accuracy", "auto")],
        ]
        header = struct.pack("=9q", n, count, self.METHODS.index(how.method), *codes)
        limit = _limit(n, self._ranks)
        arrays = given.tobytes(order="F") + b.tobytes(order="F")
        self._child.send(header + arrays, limit)
        info, doubtful, size = struct.unpack("=3q", self._child.receive(24, limit))
        words = self._child.receive(size, limit).decode()
        ferr = np.frombuffer(self._child.receive(8 * count, limit))
        numbers = self._child.receive(b.itemsize * n * count, limit)
        x = np.frombuffer(numbers, dtype=b.dtype).reshape((n, count), order="F")
        if info != 0:
            return Outcome("refused", words=words, kind=f"info {info}")
        doubt = words if doubtful > 0 else None
        return Outcome("solved", system.taken(x), [float(f) for f in ferr], doubt)

    def close(self) -> None:
        self._child.close()


class CommandDoor:
    """`speedwell solve` with .npy files."""

    def __init__(self, program: Path, emulated: bool) -> None:
        self._program = program
        self._emulated = emulated

    def arguments(self, how: How, folder: str) -> list[str]:
        """The command, with the files of a folder."""
        options: list[str] = ["--device", "cuda"] if self._emulated else []
        for name, value in how.options.items():
            options += [f"--{name}", str(value)]
        files = [f"{folder}/a.npy", f"{folder}/b.npy", "-o", f"{folder}/x.npy"]
        ranks = _mpirun(how.ranks) if how.ranks > 1 else []
        return [*ranks, str(self._program), "solve", *files, "--json", f"{folder}/x.json", *options]

    def solve(self, system: System, how: How) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            ordered = np.asfortranarray if how.order == "F" else np.ascontiguousarray
            a, b = system.given()
            np.save(f"{folder}/a.npy", ordered(a))
            np.save(f"{folder}/b.npy", b)
            limit = int(_limit(system.n, how.ranks, self._emulated))
            process = subprocess.Popen(
                ["timeout", "-k", "10", str(limit), *self.arguments(how, folder)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(
                    SPEEDWELL_EMULATED_GPUS=str(how.ranks), SPEEDWELL_EMULATED_MEMORY=str(2**36)
                ),
                start_new_session=True,
            )
            try:
                _, errors = process.communicate(timeout=limit + 30)
            except subprocess.TimeoutExpired:
                kill_group(process)
                raise Hung(f"not ended after {limit + 30} s") from None
            words = errors.decode(errors="replace").strip()
            if process.returncode == 124:
                raise Hung(f"not ended after {limit} s")
            return self._outcome(Path(folder), process.returncode, words, system)

    def _outcome(self, folder: Path, status: int, words: str, system: System) -> Outcome:
        if status in (1, 2):
            return Outcome("refused", words=words[-300:], kind=f"exit status {status}")
        if status != 0:
            how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            raise Died(f"{how}: {words[-300:]}")
        document = json.loads((folder / "x.json").read_text())
        notes = [note for note in document.get("notes", []) if note.startswith("A is singular")]
        doubt = document.get("doubt") or "; ".join(notes) or None
        x = np.load(folder / "x.npy").reshape(system.given()[1].shape)
        proofs = [
            (bool(column["certified"]), _number(column["componentwise_bound"]))
            for column in document["columns"]
        ]
        return Outcome("solved", system.taken(x), _bounds(document), doubt, proofs=proofs)

    def close(self) -> None:
        pass


def _bounds(document: dict[str, Any]) -> list[float]:
    """Bounds of the columns; an infinite one is null."""
    columns = document["columns"]
    return [_number(column["forward_bound"]) for column in columns]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


class Doors:
    """All doors, each opened when it is first used."""

    def __init__(self, programs: Programs, only: tuple[str, ...]) -> None:
        there = {
            "python": True,
            "c": programs.served is not None,
            "command": programs.command is not None,
            "emulated": programs.emulated is not None,
        }
        self.names = tuple(name for name in there if there[name] and name in only)
        self._programs = programs
        self._open: dict[tuple[str, int], PythonDoor | CDoor | CommandDoor] = {}

    def _door(self, how: How) -> PythonDoor | CDoor | CommandDoor:
        key = (how.door, how.ranks if how.door == "c" else 1)
        if key not in self._open:
            programs = self._programs
            if how.door == "python":
                self._open[key] = PythonDoor()
            elif how.door == "c":
                assert programs.served is not None
                self._open[key] = CDoor(programs.served, how.ranks)
            else:
                emulated = how.door == "emulated"
                program = programs.emulated if emulated else programs.command
                assert program is not None
                self._open[key] = CommandDoor(program, emulated)
        return self._open[key]

    def solve(self, system: System, how: How) -> Outcome:
        """What the door says; a crash and a hang are outcomes too."""
        try:
            return self._door(how).solve(system, how)
        except Died as error:
            return Outcome("crashed", words=str(error))
        except Hung as error:
            return Outcome("hung", words=str(error))

    def close(self) -> None:
        for door in self._open.values():
            door.close()
