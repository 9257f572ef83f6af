# SPDX-License-Identifier: BSD-3-Clause
"""Records the GPU's clock, power and temperature while other programs run."""

import contextlib
import ctypes
import os
import subprocess
import threading
import time
from collections import namedtuple

import children

SECONDS_BETWEEN = 0.2
# Why the clock is not higher, in the order of NVML's bits, as in src/sensors/nvml.hpp.
REASONS = (
    "gpu_idle applications_clocks sw_power_cap hw_slowdown sync_boost sw_thermal_slowdown "
    "hw_thermal_slowdown hw_power_brake display_clock"
).split()
SM_CLOCK, DIE = ctypes.c_int(1), ctypes.c_int(0)  # nvmlClockType_t, nvmlTemperatureSensors_t
# What the GPU does not report is None. The time is in seconds since 1970.
Sample = namedtuple("Sample", "time sm_mhz power_watts temperature_c reasons")


class Nvml:
    """A GPU as NVML, the library of NVIDIA's driver, reads it: the one whose UUID begins so, or
    else the first. OSError where NVML tells no clock."""

    name = "NVML"

    def __init__(self, uuid):
        # The loader knows the folders with which this process was started; an archive adds others.
        for folder in ["", *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]:
            with contextlib.suppress(OSError):
                self.library = ctypes.CDLL(os.path.join(folder, "libnvidia-ml.so.1"))
                break
        else:
            raise OSError("there is no NVML")
        count = ctypes.c_uint(0)
        if self.call("nvmlInit_v2") or self.call("nvmlDeviceGetCount_v2", ctypes.byref(count)):
            raise OSError("NVML does not start")
        gpus = [ctypes.c_void_p() for _ in range(count.value)]
        for index, gpu in enumerate(gpus):
            self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(gpu))
        gpus.sort(key=lambda gpu: not self.uuid_of(gpu).startswith(uuid))
        self.gpu = gpus[0] if gpus else None
        if not gpus or self.read().sm_mhz is None:
            raise OSError("NVML tells no clock")

    def call(self, name, *arguments):
        """The function's error, 0 for none."""
        try:
            return getattr(self.library, name)(*arguments)
        except AttributeError:
            return -1  # this driver has no such function

    def uuid_of(self, gpu):
        text = ctypes.create_string_buffer(96)
        self.call("nvmlDeviceGetUUID", gpu, text, ctypes.c_uint(len(text)))
        return text.value.decode("ascii", "replace")

    def number(self, name, *before, unit=1.0, kind=ctypes.c_uint):
        value = kind(0)
        error = self.call(name, self.gpu, *before, ctypes.byref(value))
        return None if error else value.value / unit

    def read(self):
        for name in ("Event", "Throttle"):  # newer drivers have the first name, older the second
            name = f"nvmlDeviceGetCurrentClocks{name}Reasons"
            reasons = self.number(name, kind=ctypes.c_ulonglong)
            if reasons is not None:
                break
        return Sample(
            time.time(),
            self.number("nvmlDeviceGetClockInfo", SM_CLOCK),
            self.number("nvmlDeviceGetPowerUsage", unit=1000),
            self.number("nvmlDeviceGetTemperature", DIE),
            int(reasons or 0),
        )

    def samples(self):
        while True:
            begin = time.monotonic()
            yield self.read()
            time.sleep(max(begin + SECONDS_BETWEEN - time.monotonic(), 0))


class Smi:
    """The same by nvidia-smi, which prints a line for each GPU and sample."""

    name = "nvidia-smi"

    def __init__(self, uuid):
        self.program, self.wanted = children.find_program("nvidia-smi"), uuid
        # Each driver knows one of these two names of the reasons, and refuses the other.
        self.names = ["clocks_event_reasons.active", "clocks_throttle_reasons.active"]
        self.first = self.watched = None
        if not self.program:
            raise OSError("there is no nvidia-smi")

    def samples(self):
        for _ in range(20):
            for sample in map(self.sample_of, self.lines()):
                if sample:
                    yield sample
            if not self.watched:
                self.names.reverse()
            time.sleep(SECONDS_BETWEEN)

    def lines(self):
        fields = f"--query-gpu=uuid,clocks.sm,power.draw,temperature.gpu,{self.names[0]}"
        options = ["--format=csv,noheader,nounits", f"--loop-ms={1000 * SECONDS_BETWEEN:.0f}"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        child = children.start([self.program, fields, *options], **streams)
        children.companions.add(child.pid)
        for line in child.stdout:
            yield line.decode("ascii", "replace")
        child.wait()
        children.companions.discard(child.pid)

    def sample_of(self, line):
        """The sample in a line; None if the line is of another GPU or has no clock."""
        uuid, *fields = [field.strip() for field in line.split(",")]
        *numbers, reasons = [number_of(field) for field in (fields + 4 * [""])[:4]]
        if numbers[0] is None or not self.is_watched(uuid):
            return None
        return Sample(time.time(), *numbers, int(reasons or 0))

    def is_watched(self, uuid):
        """Whether this is the GPU that was asked for, or, after a round of lines in which that was
        not found, the first GPU."""
        if self.watched is None and (uuid.startswith(self.wanted) or uuid == self.first):
            self.watched = uuid
        self.first = self.first or uuid
        return uuid == self.watched


def number_of(text):
    """None for a text such as "[N/A]"."""
    try:
        return int(text, 16) if text.startswith("0x") else float(text)
    except ValueError:
        return None


def names_of(reasons):
    return [name for bit, name in enumerate(REASONS) if reasons >> bit & 1]


def spread(values):
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return {"min": known[0], "median": known[len(known) // 2], "max": known[-1]}


class Monitor(threading.Thread):
    """Keeps samples in memory and, a line each, in a file. It is a thread, since a driver may take
    long to answer, and programs must be ended in time nevertheless."""

    def __init__(self):
        super().__init__(daemon=True)
        self.source, self.kept = None, []

    def watch(self, uuid, path):
        """Samples the GPU with this UUID, or else the first, if anything tells its clock."""
        for source in (Nvml, Smi):
            with contextlib.suppress(OSError):
                found = source(uuid)
                self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
                self.source = found
                return self.start()

    def run(self):
        children.put(self.file, "unix_time,sm_mhz,power_watts,temperature_c,reasons\n")
        with contextlib.suppress(OSError):
            for sample in self.source.samples():
                numbers = ["" if value is None else f"{value:.6g}" for value in sample[1:4]]
                cells = [f"{sample.time:.3f}", *numbers, " ".join(names_of(sample.reasons))]
                children.put(self.file, ",".join(cells) + "\n")
                self.kept.append(sample)

    def about(self):
        if not self.source:
            return None
        about = {"source": self.source.name, "seconds_between": SECONDS_BETWEEN}
        return {**about, "samples": len(self.kept)}

    def between(self, begin, end):
        """The least, median and largest value of each quantity in this time (seconds since 1970),
        and for each reason its share of the samples; None if there are no samples."""
        found = [sample for sample in list(self.kept) if begin <= sample.time <= end]
        names = [name for sample in found for name in names_of(sample.reasons)]
        fields = {name: spread(getattr(one, name) for one in found) for name in Sample._fields[1:4]}
        shares = {name: names.count(name) / len(found) for name in REASONS if name in names}
        return {"samples": len(found), **fields, "reasons": shares} if found else None
