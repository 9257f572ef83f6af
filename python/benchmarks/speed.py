# SPDX-License-Identifier: BSD-3-Clause
"""lupine.solve beside numpy.linalg.solve and scipy.linalg.solve, in turns, everything default.

    python speed.py [-n LIST] [--rhs LIST] [--orders C,F] [--seconds S] [--json FILE]

Each case runs in a process of its own: A and b are in memory, one untimed call of each solver comes
first, then all take turns. The best time of each counts. SciPy gets an A that it need not check.
The memory is the growth of the process's peak in one call of lupine.solve, beyond A, b and x.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np


def peak() -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measure(n: int, count: int, order: str, seconds: float) -> dict:
    import scipy.linalg

    import lupine

    rng = np.random.default_rng(n)
    a = np.array(rng.standard_normal((n, n)), order=order)
    b = rng.standard_normal(n if count == 1 else (n, count))
    x, info = lupine.solve(a, b, return_info=True)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")
    before = peak()
    lupine.solve(a, b)
    memory = (peak() - before) / n**2
    solvers = {
        "lupine": lambda: lupine.solve(a, b),
        "numpy": lambda: np.linalg.solve(a, b),
        "scipy": lambda: scipy.linalg.solve(a, b, check_finite=False),
    }
    best = dict.fromkeys(solvers, float("inf"))
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
            time.sleep(0.25)  # threads of NumPy's OpenBLAS spin for 0.1 s after a call
            begin = time.perf_counter()
            solve()
            best[name] = min(best[name], time.perf_counter() - begin)
        turns += 1
    return {
        "n": n,
        "right_hand_sides": count,
        "order": order,
        "turns": turns,
        "seconds": best,
        "numpy_over_lupine": best["numpy"] / best["lupine"],
        "scipy_over_lupine": best["scipy"] / best["lupine"],
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
    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=numbers, default=[500, 1000, 2000, 4000, 8000])
    parser.add_argument("--rhs", type=numbers, default=[1, 300])
    parser.add_argument("--orders", type=lambda text: text.split(","), default=["C", "F"])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.n[0], given.rhs[0], given.orders[0], given.seconds)))
        return
    print("    n  rhs order   lupine    numpy    scipy  numpy/lupine  bytes/n^2  steps")
    results = []
    for n in given.n:
        for count in given.rhs:
            for order in given.orders:
                words = [sys.executable, __file__, "--one", "-n", str(n), "--rhs", str(count)]
                words += ["--orders", order, "--seconds", str(given.seconds)]
                out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                r = json.loads(out.splitlines()[-1])
                results.append(r)
                s = r["seconds"]
                print(
                    f"{n:5} {count:4} {order:>5} {s['lupine']:8.4f} {s['numpy']:8.4f} "
                    f"{s['scipy']:8.4f} {r['numpy_over_lupine']:13.2f} {r['bytes_over_n2']:10.2f}"
                    f"  {' '.join(r['steps'])}",
                    flush=True,
                )
    if given.json:
        import lupine

        found = lupine.describe()
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
