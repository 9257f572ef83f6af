# SPDX-License-Identifier: BSD-3-Clause
"""speedwell.solve beside numpy.linalg.solve and scipy.linalg.solve, in turns, everything default.

    python speed.py [-n LIST] [--rhs LIST] [--orders C,F] [--types real,complex]
                    [--matrices gaussian,shifted] [--pauses LIST] [--seconds S] [--json FILE]

Each case runs in a process of its own: A and b are in memory, one untimed call of each solver comes
first, then all take turns, with a pause before each call: the threads of NumPy's OpenBLAS spin for
0.1 s after a call, and those of SciPy's too. Where the pause is shorter, SciPy is left out: its
threads would stand in the way of the call after it. The best time and the median of each are shown.
SciPy gets an A that it need not check. The memory is the growth of the process's peak in one call
of speedwell.solve, beyond A, b and x.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np


def peak() -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def system(n: int, count: int, order: str, kind: str, matrix: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    shape = (n,) if count == 1 else (n, count)

    def normal(size: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(size) + (
            1j * rng.standard_normal(size) if kind == "complex" else 0
        )

    a = normal((n, n))
    if matrix == "shifted":
        a += 2 * np.sqrt(a[0, 0].itemsize / 8 * n) * np.eye(n)
    return np.array(a, order=order), normal(shape)


def measure(
    n: int, count: int, order: str, kind: str, matrix: str, pause: float, seconds: float
) -> dict:
    import scipy.linalg

    import speedwell

    a, b = system(n, count, order, kind, matrix)
    x, info = speedwell.solve(a, b, return_info=True)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")
    before = peak()
    speedwell.solve(a, b)
    memory = (peak() - before) / n**2
    solvers = {
        "speedwell": lambda: speedwell.solve(a, b),
        "numpy": lambda: np.linalg.solve(a, b),
        "scipy": lambda: scipy.linalg.solve(a, b, check_finite=False),
    }
    if pause < 0.15:
        del solvers["scipy"]
    times: dict[str, list[float]] = {name: [] for name in solvers}
    errors = {}
    norm = np.abs(a).sum(axis=1).max()
    for name, solve in solvers.items():
        found = solve()
        size = norm * np.abs(found).max() + np.abs(b).max()
        errors[name] = float(np.abs(a @ found - b).max() / size)
    end = time.perf_counter() + seconds
    turns = 0
    while turns < 3 or time.perf_counter() < end:
        for name, solve in solvers.items():
            time.sleep(pause)
            begin = time.perf_counter()
            solve()
            times[name].append(time.perf_counter() - begin)
        turns += 1
    best = {name: min(taken) for name, taken in times.items()}
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    return {
        "n": n,
        "right_hand_sides": count,
        "order": order,
        "type": kind,
        "matrix": matrix,
        "pause": pause,
        "turns": turns,
        "seconds": best,
        "median_seconds": medians,
        "numpy_over_speedwell": best["numpy"] / best["speedwell"],
        "median_numpy_over_speedwell": medians["numpy"] / medians["speedwell"],
        "scipy_over_speedwell": best["scipy"] / best["speedwell"] if "scipy" in best else None,
        "backward_errors": errors,
        "bytes_over_n2": memory,
        "steps": [step.precision for step in info.steps],
        "iterations": info.iterations,
        "reason": info.reason,
        "device": info.device_description,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def main() -> None:
    def some(kind: type) -> Callable[[str], list]:
        return lambda text: [kind(part) for part in text.split(",")]

    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=some(int), default=[500, 1000, 2000, 4000, 8000])
    parser.add_argument("--rhs", type=some(int), default=[1, 300])
    parser.add_argument("--orders", type=some(str), default=["C", "F"])
    parser.add_argument("--types", type=some(str), default=["real"])
    parser.add_argument("--matrices", type=some(str), default=["gaussian"])
    parser.add_argument("--pauses", type=some(float), default=[0.25])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    cases = list(
        itertools.product(
            given.n, given.rhs, given.orders, given.types, given.matrices, given.pauses
        )
    )
    if given.one:
        print(json.dumps(measure(*cases[0], given.seconds)))
        return
    print(
        "    n  rhs order    type   matrix pause    speedwell     numpy     scipy"
        "  numpy/speedwell  median  bytes/n^2  steps"
    )
    results = []
    names = ("-n", "--rhs", "--orders", "--types", "--matrices", "--pauses")
    for case in cases:
        words = [f"{name}={value}" for name, value in zip(names, case, strict=True)]
        words += ["--one", f"--seconds={given.seconds}"]
        command = [sys.executable, __file__, *(word.replace("-n=", "-n") for word in words)]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        r = json.loads(out.splitlines()[-1])
        results.append(r)
        s = r["seconds"]
        print(
            f"{r['n']:5} {r['right_hand_sides']:4} {r['order']:>5} {r['type']:>7} "
            f"{r['matrix']:>8} {r['pause']:5.2f} {s['speedwell']:9.6f} {s['numpy']:9.6f} "
            f"{s.get('scipy', float('nan')):9.6f} {r['numpy_over_speedwell']:13.2f} "
            f"{r['median_numpy_over_speedwell']:7.2f} {r['bytes_over_n2']:10.2f}"
            f"  {' '.join(r['steps'])}",
            flush=True,
        )
    if given.json:
        import speedwell

        found = speedwell.describe()
        record = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": "python " + " ".join(sys.argv),
            **{key: found[key] for key in ("revision", "processor", "cores", "blas", "onednn")},
            "results": results,
        }
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
