# SPDX-License-Identifier: BSD-3-Clause
"""Children of fork(), limits that are set after the import, calls from within calls, and the end of
the process: nothing waits for ever, and nothing ends the process."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import speedwell

#: What a program begins with: every door, checked.
DOORS = """
    import os, resource, signal, sys, threading, time
    import numpy as np, speedwell
    import numpy.random  # which NumPy would import at its first use, beside a fork

    def system(n, kind=float):
        a = np.random.default_rng(n).standard_normal((n, n)).astype(kind)
        return a + n * np.eye(n), np.ones(n)

    def right(a, x, b):
        error = np.abs((a * x).sum(axis=1) - b).max()  # by no BLAS, which is NumPy's
        assert error < 1e-9, error

    def solve(n, kind=float, **options):
        a, b = system(n, kind)
        right(a, speedwell.solve(a, b, **options), b)

    def factor(n):
        a, b = system(n)
        with speedwell.factor(a) as factors:
            right(a, factors.solve(b), b)
            right(a.T, factors.solve(b, trans=1), b)

    def stack():
        a = np.random.default_rng(1).standard_normal((40, 60, 60)) + 60 * np.eye(60)
        x = speedwell.solve(a, np.ones(60))
        assert np.abs((a * x[:, None, :]).sum(axis=2) - 1).max() < 1e-9

    def form(name):
        a = system(300)[0]
        b = np.ones(300)
        right(a + a.T, speedwell.solve(a + a.T, b, assume_a=name), b)

    def function():
        a, b = system(300)
        right(a, speedwell.solve(lambda i, j: a[i, j], b), b)

    DOORS = {
        "tiny": lambda: solve(2),
        "small": lambda: solve(300),
        "complex": lambda: solve(300, complex),
        "larger": lambda: solve(1200),
        "with info": lambda: solve(700, condition=False),
        "low precision": lambda: solve(800, precision="fp32"),
        "factor": lambda: factor(300),
        "stack": stack,
        "symmetric": lambda: form("sym"),
        "positive definite": lambda: form("pos"),
        "determinant": lambda: speedwell.slogdet(system(300)[0]),
        "function": function,
        "mxp": lambda: speedwell.mxp(300),
    }
"""


def run(program, *arguments, timeout=120, **environment):
    """The lines that a program writes after DOORS, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DOORS) + textwrap.dedent(program), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "2", **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ran.returncode == 0, (ran.returncode, ran.stdout, ran.stderr)
    return ran.stdout.strip().splitlines()


#: Statuses of children that were forked, each for its door.
CHILDREN = """
    def child_of(work, seconds=20):
        child = os.fork()
        if child == 0:
            signal.alarm(seconds)  # which ends one that hangs
            status = 1
            try:
                work()
                status = 0
            finally:
                os._exit(status)
        return os.waitpid(child, 0)[1]

    def children(names):
        failed = {name: status for name in names if (status := child_of(DOORS[name])) != 0}
        assert not failed, failed
"""

BUSY = {
    "solve": "speedwell.solve(a, b, precision='fp32')",
    "lapack": "speedwell.solve(a, b)",
    "solve of factors": "factors.solve(b)",
    "stack": "speedwell.solve(stack, np.ones(60))",
    "mxp": "speedwell.mxp(1500)",
}


@pytest.mark.parametrize(
    ("busy", "used_before"), [("solve", False), *((busy, True) for busy in BUSY)]
)
def test_children_forked_while_another_thread_solves(busy, used_before):
    """The other thread holds the lock of the package, and teams of OpenMP and BLAS."""
    program = f"""
        a, b = system(1500)
        stack = np.random.default_rng(1).standard_normal((2000, 60, 60))
        factors = speedwell.factor(a) if {busy == "solve of factors"} else None
        if {used_before}:
            solve(300, precision="fp32")
        done, began = threading.Event(), threading.Event()

        def work():
            while not done.is_set():
                began.set()
                {BUSY[busy]}

        thread = threading.Thread(target=work)
        thread.start()
        began.wait()
        time.sleep(0.05)
        names = list(DOORS) if {busy == "solve"} else ["tiny", "larger", "stack", "factor"]
        children(names)
        done.set()
        thread.join()
        children(names[:2])
        print("ok")
    """
    assert run(textwrap.dedent(CHILDREN) + textwrap.dedent(program)) == ["ok"]


def test_children_forked_during_the_first_call():
    program = """
        thread = threading.Thread(target=solve, args=(300,), kwargs={"precision": "fp32"})
        thread.start()
        time.sleep(float(sys.argv[1]))
        children(["small", "stack"])
        thread.join()
        print("ok")
    """
    for pause in ("0", "0.03", "0.1"):
        assert run(textwrap.dedent(CHILDREN) + textwrap.dedent(program), pause) == ["ok"]


def test_a_child_forked_by_a_function_of_the_matrix():
    """It may solve, and end; one that returns into the parent's call gets an error."""
    program = """
        a, b = system(300)
        statuses = []

        def forks(i, j):
            if len(statuses) == 0:
                statuses.append(child_of(DOORS["small"]))
            elif len(statuses) == 1 and i.size > 1:
                child = os.fork()
                if child:
                    statuses.append(os.waitpid(child, 0)[1])
                else:
                    signal.alarm(20)
                    statuses.append(None)
            return a[i, j]

        try:
            right(a, speedwell.solve(forks, b), b)
        except speedwell.Fault as error:
            os._exit(0 if "fork" in str(error) else 1)
        print(statuses)
    """
    assert run(textwrap.dedent(CHILDREN) + textwrap.dedent(program)) == ["[0, 0]"]


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_pools_of_processes(method, tmp_path):
    """With a parent that has solved, and one of whose threads solves."""
    path = tmp_path / "pool.py"
    path.write_text(
        textwrap.dedent(
            """
            import concurrent.futures, multiprocessing, sys, threading
            import numpy as np, speedwell

            def error(n):
                a, b = np.eye(n) + 1e-3, np.ones(n)
                x = speedwell.solve(a, b)
                # By no BLAS: a fork() beside a product of NumPy's may wait for ever.
                return float(abs((a * x).sum(axis=1) - b).max())

            if __name__ == "__main__":
                assert error(900) < 1e-9
                done = threading.Event()
                def work():
                    while not done.is_set():
                        error(1000)
                thread = threading.Thread(target=work)
                thread.start()
                context = multiprocessing.get_context(sys.argv[1])
                with context.Pool(2) as pool:
                    assert max(pool.map_async(error, [3, 300, 700, 1200]).get(60)) < 1e-9
                if sys.argv[1] == "fork":
                    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                        assert max(pool.map(error, [3, 300, 700, 1200], timeout=60)) < 1e-9
                done.set()
                thread.join()
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    assert max(pool.map(error, [3, 300, 700, 1200])) < 1e-9
                print("ok")
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, str(path), method],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "ok\n"), ran.stderr


#: A limit for a door. A hang ends by the alarm.
LIMITED = """
    def limited(mebibytes, name):
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20), -1))
        signal.alarm(20)
        try:
            DOORS[name]()
        except (MemoryError, ImportError) as error:
            assert len(str(error).splitlines()) <= 1, error
        finally:
            signal.alarm(0)
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_limits_that_are_set_after_a_call(threads):
    """Every door solves, or a MemoryError says why not."""
    program = """
        DOORS["tiny"]()
        for mebibytes in (4, 150, 4000):
            for name in DOORS:
                print(name, mebibytes, flush=True)
                limited(mebibytes, name)
        for name in DOORS:
            DOORS[name]()
    """
    run(textwrap.dedent(LIMITED) + textwrap.dedent(program), OMP_NUM_THREADS=threads)


@pytest.mark.parametrize("door", ["small", "larger", "factor", "stack", "symmetric"])
def test_limits_that_are_set_before_the_first_call(door):
    for mebibytes in ("40", "700"):
        program = "limited(int(sys.argv[1]), sys.argv[2])"
        run(textwrap.dedent(LIMITED) + program, mebibytes, door)


def test_a_thread_whose_first_call_has_a_limit():
    program = """
        DOORS["larger"]()
        for name in ("small", "stack", "larger"):
            thread = threading.Thread(target=limited, args=(30, name))
            thread.start()
            thread.join()
        print("ok")
    """
    assert run(
        textwrap.dedent(LIMITED).replace("signal.alarm", "abs") + textwrap.dedent(program)
    ) == ["ok"]


def test_a_function_that_solves_with_itself():
    calls = []

    def again(i, j):
        calls.append(1)
        return speedwell.solve(again, np.ones(50))

    with pytest.raises(RecursionError):
        speedwell.solve(again, np.ones(50))
    assert len(calls) < sys.getrecursionlimit()
    a = np.random.default_rng(1).standard_normal((50, 50))
    b = np.ones(50)

    def nested(i, j):
        np.testing.assert_allclose(a @ speedwell.solve(a, b), b, atol=1e-9)
        return a[i, j]

    np.testing.assert_allclose(a @ speedwell.solve(nested, b), b, atol=1e-9)


def test_a_function_that_solves_with_itself_in_the_middle_of_a_call():
    depth = []

    def again(i, j):
        if i.size > 1:
            depth.append(1)
            speedwell.solve(again, np.ones(50))
        return 1.0 * (i == j)

    with pytest.raises(RecursionError):
        speedwell.solve(again, np.ones(50))
    assert len(depth) < sys.getrecursionlimit()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, RecursionError, MemoryError, ZeroDivisionError]
)
def test_what_a_function_raises_is_raised_once(error):
    calls = []

    def fails(i, j):
        calls.append(1)
        raise error("mine")

    for call in (
        lambda: speedwell.solve(fails, np.ones(5)),
        lambda: speedwell.factor(fails, n=5),
    ):
        calls.clear()
        with pytest.raises(error, match="mine"):
            call()
        assert len(calls) == 1


ENDS = {
    "solve": "speedwell.solve(a, b, precision='fp64')",
    "factors": "speedwell.factor(a).solve(b)",
    "stack": "speedwell.solve(stack, np.ones(100))",
    "mxp": "speedwell.mxp(4000)",
    "lapack": "speedwell.solve(a, b)",
}


@pytest.mark.parametrize(
    ("busy", "how"),
    [
        *((busy, "end") for busy in ENDS),
        *(("solve", how) for how in ("exit", "error", "interrupt")),
    ],
)
def test_the_end_beside_a_call(busy, how):
    """The main thread ends while two others call."""
    program = f"""
        a, b = system(2000)
        stack = np.random.default_rng(1).standard_normal((2000, 100, 100))
        speedwell.describe()
        began = threading.Event()

        def work():
            while True:
                began.set()
                {ENDS[busy]}

        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        began.wait()
        time.sleep(0.15)
        {{"end": int, "exit": sys.exit, "error": lambda: 1 / 0,
          "interrupt": lambda: os.kill(os.getpid(), signal.SIGINT)}}[{how!r}]()
        time.sleep(0.2 * ({how!r} == "interrupt"))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DOORS) + textwrap.dedent(program)],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    statuses = {"end": 0, "exit": 0, "error": 1, "interrupt": -signal.SIGINT}
    words = {"end": "", "exit": "", "error": "ZeroDivisionError", "interrupt": "KeyboardInterrupt"}
    assert ran.returncode == statuses[how], ran.stderr
    assert words[how] in ran.stderr
    assert ran.stderr.count("Traceback") == (1 if words[how] else 0), ran.stderr
