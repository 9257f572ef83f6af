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
    "gpu_idle",
    "applications_clocks",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake",
    "display_clock",
)
SM_CLOCK, DIE = ctypes.c_int(1), ctypes.c_int(0)  # nvmlClockType_t, nvmlTemperatureSensors_t
# What the GPU does not report is None. The time is in seconds since 1970.
Sample = namedtuple("Sample", "time sm_mhz power_watts temperature_c reasons")


def uuid_begins(uuid, beginning):
    """Whether a UUID begins so, with or without dashes, in any case."""
    uuid, beginning = (text.replace("-", "").lower() for text in (uuid, beginning))
    return beginning != "" and uuid.startswith(beginning)


class Nvml:
    """A GPU as NVML, the library of NVIDIA's driver, reads it: the one whose UUID begins so, or
    else the first. OSError where NVML tells no clock."""

    name = "NVML"

    def __init__(self, uuid):
        self.library = self.open()
        if self.call("nvmlInit_v2"):
            raise OSError("NVML does not start")
        count = ctypes.c_uint(0)
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        gpus = [self.handle(index) for index in range(count.value)]
        gpus.sort(key=lambda gpu: not uuid_begins(self.uuid_of(gpu), uuid))
        self.gpu = gpus[0] if gpus else None
        if not gpus or self.read().sm_mhz is None:
            raise OSError("NVML tells no clock")

    @staticmethod
    def open():
        # The loader knows the folders with which this process was started; an archive adds others.
        for folder in ["", *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]:
            with contextlib.suppress(OSError):
                return ctypes.CDLL(os.path.join(folder, "libnvidia-ml.so.1"))
        raise OSError("there is no NVML")

    def call(self, name, *arguments):
        """The function's error, 0 for none."""
        try:
            return getattr(self.library, name)(*arguments)
        except AttributeError:
            return -1  # this driver has no such function

    def handle(self, index):
        gpu = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(gpu))
        return gpu

    def uuid_of(self, gpu):
        text = ctypes.create_string_buffer(96)
        self.call("nvmlDeviceGetUUID", gpu, text, ctypes.c_uint(len(text)))
        return text.value.decode("ascii", "replace")

    def number(self, name, *before, unit=1, kind=ctypes.c_uint):
        value = kind(0)
        error = self.call(name, self.gpu, *before, ctypes.byref(value))
        return None if error else value.value / unit

    def read(self):
        for name in (
            "Event",
            "Throttle",
        ):  # newer drivers have the first name, older ones the second
            reasons = self.number(
                f"nvmlDeviceGetCurrentClocks{name}Reasons", kind=ctypes.c_ulonglong
            )
            if reasons is not None:
                break
        return Sample(
            time.time(),
            self.number("nvmlDeviceGetClockInfo", SM_CLOCK),
            self.number("nvmlDeviceGetPowerUsage", unit=1000),
            self.number("nvmlDeviceGetTemperature", DIE),
            None if reasons is None else int(reasons),
        )

    def samples(self):
        while True:
            begin = time.monotonic()
            yield self.read()
            time.sleep(max(begin + SECONDS_BETWEEN - time.monotonic(), 0))


class Smi:
    """The same by nvidia-smi, which prints a line for each GPU and sample."""

    name = "nvidia-smi"
    most_starts = 20
    # Each driver knows one of these two names of the reasons, and refuses the other.
    names = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")

    def __init__(self, uuid):
        self.program, self.wanted = children.find_program("nvidia-smi"), uuid
        if not self.program:
            raise OSError("there is no nvidia-smi")
        self.first = self.watched = None

    def samples(self):
        name = 0
        for _ in range(self.most_starts):
            understood = False
            for line in self.lines(self.names[name]):
                sample = self.sample_of(line)
                if sample:
                    understood = True
                    yield sample
            name = name if understood else 1 - name
            time.sleep(SECONDS_BETWEEN)

    def lines(self, reasons):
        fields = f"uuid,clocks.sm,power.draw,temperature.gpu,{reasons}"
        options = ["--format=csv,noheader,nounits", f"--loop-ms={1000 * SECONDS_BETWEEN:.0f}"]
        child = children.start(
            [self.program, "--query-gpu=" + fields, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        children.companions.add(child.pid)
        with child.stdout:
            for line in child.stdout:
                yield line.decode("ascii", "replace")
        child.wait()
        children.companions.discard(child.pid)

    def sample_of(self, line):
        """The sample in a line; None if the line is of another GPU or has no clock."""
        uuid, *fields = (field.strip() for field in line.split(","))
        numbers = [number_of(field) for field in (fields + 4 * [""])[:3]]
        try:
            reasons = int(fields[3], 16)
        except (IndexError, ValueError):
            reasons = None
        if numbers[0] is None or not self.is_watched(uuid):
            return None
        return Sample(time.time(), *numbers, reasons)

    def is_watched(self, uuid):
        """Whether this is the GPU that was asked for, or, after a round of lines in which that was
        not found, the first GPU."""
        if self.watched is None and (uuid_begins(uuid, self.wanted) or uuid == self.first):
            self.watched = uuid
        self.first = self.first or uuid
        return uuid == self.watched


def number_of(text):
    try:
        return float(text)
    except ValueError:
        return None  # such as "[N/A]"


def names_of(reasons):
    return [name for bit, name in enumerate(REASONS) if reasons and reasons >> bit & 1]


def spread(values):
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return {"min": known[0], "median": known[len(known) // 2], "max": known[-1]}


class Monitor(threading.Thread):
    """Keeps the samples of a source in memory and, a line each, in a file. It is a thread, since
    a driver may take long to answer, and programs must be ended in time nevertheless."""

    def __init__(self, source, path):
        super().__init__(daemon=True)
        self.source, self.kept, self.stopped = source, [], False
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        children.put(self.file, b"unix_time,sm_mhz,power_watts,temperature_c,reasons\n")
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            for sample in self.source.samples():
                if self.stopped:
                    return
                self.keep(sample)

    def keep(self, sample):
        numbers = ["" if value is None else f"{value:.6g}" for value in sample[1:4]]
        words = [f"{sample.time:.3f}", *numbers, " ".join(names_of(sample.reasons))]
        children.put(self.file, (",".join(words) + "\n").encode())
        self.kept.append(sample)

    def between(self, begin, end):
        """The least, median and largest value of each quantity, and for each reason its share of
        the samples; None if there are no samples."""
        found = [sample for sample in list(self.kept) if begin <= sample.time <= end]
        if not found:
            return None
        names = [name for sample in found for name in names_of(sample.reasons)]
        return {
            "samples": len(found),
            **{
                field: spread(getattr(one, field) for one in found) for field in Sample._fields[1:4]
            },
            "reasons": {name: names.count(name) / len(found) for name in REASONS if name in names},
        }


def watch(uuid, path):
    """A Monitor of the GPU with this UUID, or else of the first; None where none tells clocks."""
    for source in (Nvml, Smi):
        with contextlib.suppress(OSError):
            return Monitor(source(uuid), path)
    return None
