# SPDX-License-Identifier: BSD-3-Clause
"""What a call does to the process around it: threads, BLAS, signals, memory, other threads."""

import ctypes
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import speedwell


def run(program, **environment):
    """The last line that a program writes, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("complex_parts", [False, True])
def test_lu_by_the_lapack_of_numpy(complex_parts):
    from speedwell import _blas

    routines = _blas.numpy_lapack()
    if routines is None:
        pytest.skip("NumPy has another library")
    *addresses, count = routines  # of gemm, getrf and getrs
    assert all(map(all, addresses)) and len({*itertools.chain(*addresses), count}) == 13
    threads = ctypes.CFUNCTYPE(ctypes.c_int)(count)()
    rng = np.random.default_rng(5)
    a = rng.standard_normal((900, 900))
    if complex_parts:
        a = a + 1j * rng.standard_normal(a.shape)
    x = np.arange(1.0, 901)
    for trans, b in ((0, a @ x), (1, a.T @ x)):
        with speedwell.factor(a, threads=threads, device="cpu") as factors:
            assert np.allclose(factors.solve(b, trans=trans), x, rtol=1e-8)
            assert factors.precision == "fp64"
    # A team of another size is Speedwell's own, and takes the steps.
    with speedwell.factor(a, threads=threads + 1, device="cpu") as factors:
        assert np.allclose(factors.solve(a @ x), x, rtol=1e-8)
        assert factors.precision != "fp64"
    a[:, 850] = a[:, 849]
    a[:, 849] = 0
    with pytest.raises(np.linalg.LinAlgError):
        speedwell.solve(a, x, threads=threads)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_numpy_keeps_its_threads_and_kernels(threads):
    pytest.importorskip("threadpoolctl")
    program = """
        import numpy as np, threadpoolctl
        a, b = np.eye(900) + 1e-3, np.ones(900)
        np.linalg.solve(a, b)

        def of_numpy():
            keys = ("filepath", "num_threads", "architecture")
            return {tuple(p.get(k) for k in keys) for p in threadpoolctl.threadpool_info()}

        before = of_numpy()
        import speedwell
        speedwell.describe()
        assert before <= of_numpy(), (before, of_numpy())
        for n in (100, 900):
            speedwell.solve(a[:n, :n], b[:n], threads=1)
            assert before <= of_numpy(), (before, of_numpy())
        print("kept")
    """
    assert run(program, OMP_NUM_THREADS=threads) == "kept"


def test_environment_is_as_before():
    program = """
        import os
        before = dict(os.environ)
        import speedwell
        speedwell.describe()
        assert dict(os.environ) == before
        print("kept")
    """
    assert run(program) == "kept"
    assert "Haswell" in run(
        "import speedwell; print(speedwell.describe()['blas'])", OPENBLAS_CORETYPE="Haswell"
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_limit_of_the_address_space(threads):
    """Under any limit, a call solves, or one line says why not. OpenBLAS used to ask for memory
    without end while it was loaded. Some limits are too small for Python or NumPy itself."""
    program = """
        try:
            import speedwell
            a = [[2.0] * i + [900.0] + [1.0] * (699 - i) for i in range(700)]
            speedwell.solve(a, [1.0] * 700)
            print("solved")
        except (ImportError, MemoryError) as error:
            words = ("ulimit -v", "does not fit", "out of memory", "numpy")
            assert any(word in str(error) for word in words), error
            print("refused")
    """
    limited = 'ulimit -v "$1" && exec "$2" -c "$3"'
    outcomes = []
    for mebibytes in (*range(100, 700, 100), 1000, 1500, 2500):
        ran = subprocess.run(
            ["bash", "-c", limited, "-", str(mebibytes << 10), sys.executable]
            + [textwrap.dedent(program)],
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, (mebibytes, ran.stderr)
        assert len(ran.stdout.splitlines()) == 1, (mebibytes, ran.stdout)
        outcomes.append(ran.stdout.strip())
    assert outcomes[0] == "refused"
    assert outcomes[-1] == "solved"
    assert outcomes == sorted(outcomes)


def test_no_mpi_is_loaded_for_a_process_alone():
    program = """
        import speedwell, numpy as np
        speedwell.solve(np.eye(900), np.ones(900))
        speedwell.mxp(300)
        names = open("/proc/self/maps").read()
        assert "libmpi" not in names
        print("none")
    """
    assert run(program) == "none"


@pytest.mark.parametrize("first", ["speedwell", "scipy.linalg"])
def test_scipy_is_imported_for_warnings_alone(first):
    """Its filters hold whichever of the two is imported first."""
    program = f"""
        import {first}, sys
        import speedwell
        import numpy as np
        speedwell.solve(np.eye(3), np.ones(3))
        assert ("scipy" in sys.modules) == ({first!r} != "speedwell")
        import scipy.linalg, warnings
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
        try:
            speedwell.solve(1 / (1 + np.add.outer(np.arange(13), np.arange(13))), np.ones(13))
        except speedwell.AccuracyWarning as warning:
            print(isinstance(warning, scipy.linalg.LinAlgWarning))
    """
    assert run(program) == "True"


@pytest.mark.parametrize("how", ["None", "types.ModuleType('scipy')"])
def test_warnings_without_scipy(how):
    program = f"""
        import pickle, sys, types, warnings
        sys.modules["scipy"] = {how}
        import speedwell
        import numpy as np
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            speedwell.solve(1 / (1 + np.add.outer(np.arange(13), np.arange(13))), np.ones(13))
        warning = caught[0].message
        assert type(pickle.loads(pickle.dumps(warning))) is speedwell.AccuracyWarning
        print(type(warning) is speedwell.AccuracyWarning, type(warning).__mro__[1].__name__)
    """
    assert run(program) == "True RuntimeWarning"


@pytest.fixture
def ctrl_c():
    """Sends SIGINT after so many seconds. What a shell starts in the background ignores it else."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def after(seconds=1.0):
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()

    yield after
    signal.signal(signal.SIGINT, before)


# The last one is solved without a machine, by panels of some tenths of a second.
@pytest.mark.parametrize(
    ("n", "columns", "precision"), [(5000, 1, "fp32"), (5000, 1, "fp64"), (7500, 300, "auto")]
)
def test_ctrl_c_ends_a_solve(n, columns, precision, ctrl_c):
    a = np.random.default_rng(1).random((n, n), dtype=np.float32).astype(np.float64)
    b = np.ones((n, columns))

    def seconds():
        begin = time.perf_counter()
        try:
            speedwell.solve(a, b, precision=precision)
        except KeyboardInterrupt:
            return time.perf_counter() - begin, True
        return time.perf_counter() - begin, False

    whole, _ = seconds()
    ctrl_c(0.3 * whole)
    ended, interrupted = seconds()
    assert interrupted
    assert ended < 0.8 * whole, f"a whole solve takes {whole:.2f} s"
    c = np.ones(900)
    np.testing.assert_allclose(a[:900, :900] @ speedwell.solve(a[:900, :900], c), c, atol=1e-6)


def test_ctrl_c_ends_a_benchmark(ctrl_c):
    ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        speedwell.hpl(12000)


def test_another_handler_may_let_the_solve_go_on():
    calls = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: calls.append(1))
    try:
        a = np.random.default_rng(1).random((3000, 3000))
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        x = speedwell.solve(a, np.ones(3000), precision="fp64")
        deadline = time.perf_counter() + 5
        while not calls and time.perf_counter() < deadline:
            time.sleep(0.01)
        assert calls == [1] and np.isfinite(x).all()
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_other_threads_of_python_run_meanwhile():
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.perf_counter())

    ticking = threading.Thread(target=tick)
    ticking.start()
    a = np.random.default_rng(1).random((3000, 3000))
    begin = time.perf_counter()
    speedwell.solve(a, np.ones(3000), precision="fp64", threads=1)
    end = time.perf_counter()
    done.set()
    ticking.join()
    assert sum(begin < t < end for t in ticks) > 3


def test_several_threads_solve():
    a = np.random.default_rng(1).random((700, 700)) + 10 * np.eye(700)
    found = {}

    def work(k):
        for n in (50, 700):
            found[k, n] = speedwell.solve(a[:n, :n], np.full(n, k + 1.0))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (k, n), x in found.items():
        np.testing.assert_allclose(a[:n, :n] @ x, k + 1.0, rtol=1e-9)
    assert len(found) == 8


def test_one_thread_closes_what_another_solves_with():
    program = """
        import threading, numpy as np, speedwell
        a, b = np.eye(700) + 1e-3, np.ones(700)
        for _ in range(20):
            f = speedwell.factor(a)
            began, words = threading.Event(), []

            def work():
                try:
                    while True:
                        f.solve(b)
                        repr(f)
                        began.set()
                except ValueError as error:
                    words.append(str(error))

            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            began.wait()
            f.close()
            for thread in threads:
                thread.join()
            assert words == ["the Factorization is closed"] * 3, words
        print("ok")
    """
    assert run(program) == "ok"


def test_threads_let_go_of_factors_while_another_solves():
    program = """
        import threading, numpy as np, speedwell
        a, b = np.eye(300) + 1e-3, np.ones(300)
        done = threading.Event()

        def work(n):
            while not done.is_set():
                speedwell.factor(a[:n, :n]).solve(b[:n])

        threads = [threading.Thread(target=work, args=(n,)) for n in (20, 300)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            speedwell.solve(a, b)
        done.set()
        for thread in threads:
            thread.join()
        print("ok")
    """
    assert run(program) == "ok"


def test_errors_of_a_pool():
    program = """
        import multiprocessing, numpy as np, speedwell

        def work(_):
            h = 1 / (1 + np.add.outer(np.arange(13), np.arange(13)))
            return speedwell.solve(h, np.ones(13), strict=True)

        with multiprocessing.get_context("fork").Pool(1) as pool:
            try:
                pool.map(work, [0])
            except speedwell.AccuracyError as error:
                print(error.best.shape, error.info.n)
    """
    assert run(program) == "(13,) 13"


def test_fork():
    program = """
        import os, numpy as np, speedwell
        a, b = np.eye(900) + 1e-3, np.ones(900)
        x = speedwell.solve(a, b)
        child = os.fork()
        if child == 0:
            ok = np.array_equal(speedwell.solve(a, b, threads=1), speedwell.solve(a, b, threads=1))
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        print("ok")
    """
    assert run(program, OMP_NUM_THREADS="1") == "ok"


def test_pool_of_forks():
    program = """
        import multiprocessing, numpy as np, speedwell
        def error(n):
            a, b = np.eye(n) + 1e-3, np.ones(n)
            return float(abs(a @ speedwell.solve(a, b, threads=2) - b).max())
        assert error(700) < 1e-9
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert max(pool.map_async(error, [300, 640, 700, 1500]).get(timeout=120)) < 1e-9
        print("ok")
    """
    assert run(program, OMP_NUM_THREADS="2") == "ok"


def test_end_while_another_thread_solves():
    program = """
        import threading, time, numpy as np, speedwell
        started = threading.Event()
        def element(i, j):
            started.set()
            return np.sin(1.0 * i * j) + 9.0 * (i == j)
        def solves():
            while True:
                speedwell.solve(element, np.ones(3000), precision="fp64")
        speedwell.describe()
        threading.Thread(target=solves, daemon=True).start()
        started.wait()
        time.sleep(0.3)
        print("ends")
    """
    assert run(program) == "ends"


def peak_beyond(n, order):
    """Bytes that a solve takes at its peak beyond A and b, over n^2."""
    program = f"""
        import numpy as np, speedwell, resource
        speedwell.solve(np.eye(2100) + 1e-3, np.ones(2100))
        n = {n}
        a = np.empty((n, n), order="{order}")
        rng = np.random.default_rng(1)
        for row in (a if a.flags.c_contiguous else a.T):
            row[:] = rng.random(n)
        b = np.ones(n)
        def peak():
            for line in open("/proc/self/status"):
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
        open("/proc/self/clear_refs", "w").write("5")
        before = peak()
        x, info = speedwell.solve(a, b, precision="fp32", return_info=True)
        print((peak() - before) / n**2, info.precision)
    """
    return float(run(program).split()[0])


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory(order):
    assert peak_beyond(6000, order) <= 4.5
