# SPDX-License-Identifier: BSD-3-Clause
"""A child that answers requests by pipes, with a limit in seconds for each answer."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence


class Died(Exception):
    """The child ended in place of an answer; the text says how."""


class Hung(Exception):
    """The child gave no answer in time, and was ended."""


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a child that leads a group of processes, and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Child:
    """Started with the first request, and again after it died or hung."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._command = list(command)
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
            )
        return self._process

    def _died(self) -> Died:
        process = self._running()
        try:
            status = process.wait(10)
        except subprocess.TimeoutExpired:
            status = 0
        self.close()
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return Died(f"ended with {how}")

    def send(self, request: bytes, limit: float) -> None:
        """Writes a request, in at most `limit` seconds."""
        pipe = self._running().stdin
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        end = time.monotonic() + limit
        view = memoryview(request)
        while view:
            _, ready, _ = select.select([], [pipe], [], max(end - time.monotonic(), 0))
            if not ready:
                self.close()
                raise Hung(f"a request was not read in {limit:.0f} s")
            try:
                view = view[os.write(pipe.fileno(), view) :]
            except BrokenPipeError:
                raise self._died() from None

    def receive(self, size: int, limit: float) -> bytes:
        """Reads so many bytes of an answer, in at most `limit` seconds."""
        pipe = self._running().stdout
        assert pipe is not None
        end = time.monotonic() + limit
        parts: list[bytes] = []
        while size > 0:
            ready, _, _ = select.select([pipe], [], [], max(end - time.monotonic(), 0))
            if not ready:
                self.close()
                raise Hung(f"no answer in {limit:.0f} s")
            part = os.read(pipe.fileno(), min(size, 1 << 20))
            if not part:
                raise self._died()
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Ends the child."""
        if self._process is not None:
            process, self._process = self._process, None
            kill_group(process)
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
