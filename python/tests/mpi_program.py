# SPDX-License-Identifier: BSD-3-Clause
"""What test_mpi.py runs on each rank: mpi_program.py CASE."""

import sys

import numpy as np
from mpi4py import MPI

import speedwell

world = MPI.COMM_WORLD
ranks, me = world.size, world.rank
GRID = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2)}[ranks]
N = 701


def element(i, j):
    """A matrix that is neither symmetric nor singular."""
    return np.sin(1.0 * i * j + 0.3 * j) + 30.0 * (i == j)


def whole(n=N):
    return element(np.arange(n)[:, None], np.arange(n)[None, :])


def right(n=N, count=3):
    return np.cos(np.arange(n)[:, None] * (1 + np.arange(count)[None, :]))


def check(a, x, b):
    r = np.abs(a @ x - b).max()
    assert r <= 30 * 2**-53 * (np.abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()), r


def raises(kind, call, words=""):
    try:
        call()
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError(f"no {kind}")


def function():
    for count in (1, 3, 20):
        b = right(count=count)
        x, info = speedwell.solve(element, b, comm=world, return_info=True)
        check(whole(), x, b)
        assert info.chosen["nprow"] * info.chosen["npcol"] == ranks
        assert (world.bcast(x) == x).all()


def dense():
    for order in "CF":
        a = np.array(whole(), order=order) if me == 0 else None
        x = speedwell.solve(a, right(), comm=world)
        check(whole(), x, right())
    x = speedwell.solve(a, right() if me == 0 else None, comm=world)  # all of the system on rank 0
    check(whole(), x, right())
    x = speedwell.solve(a, right(count=1)[:, 0], comm=world)
    assert x.shape == (N,)


def block_cyclic(n=N, nb=64, nb_b=64, source=(0, 0)):
    rows = speedwell.BlockCyclic(n, nb, GRID, source=source)
    right_form = speedwell.BlockCyclic(n, nb_b, GRID, columns=5)
    a = rows.array(rows.local(whole(n), me))
    b = right_form.array(right_form.local(right(n, 5), me))
    x = speedwell.solve(a, b, comm=world)
    assert x.distribution is right_form and x.local.shape == right_form.local_shape(me)
    gathered = np.zeros((n, 5))
    i, j = right_form.indices(me)
    gathered[np.ix_(i, j)] = x.local
    total = world.allreduce(gathered)
    check(whole(n), total, right(n, 5))
    y = speedwell.solve(a, right(n, 5), comm=world)
    np.testing.assert_allclose(y, total, rtol=1e-12)


def other_blocks():
    block_cyclic(nb=(7, 13), nb_b=(16, 2), source=(GRID[0] - 1, GRID[1] - 1))
    block_cyclic(n=30, nb=40)  # more ranks than blocks


def complex_systems():
    def complex_element(i, j):
        return element(i, j) + 1j * np.sin(i - 2.0 * j)

    a = complex_element(np.arange(N)[:, None], np.arange(N)[None, :])
    b = right() + 1j * right()[::-1]
    for form in (complex_element, a if me == 0 else None):
        x, info = speedwell.solve(form, b, comm=world, return_info=True)
        assert x.dtype == np.complex128 and info.converged
        check(a, x, b)
        check(a, speedwell.solve(form, b.real, comm=world), b.real)
    x = speedwell.solve(element, b, comm=world)  # of a real matrix, two real ones for each
    check(whole(), x, b)
    with speedwell.factor(complex_element, n=N, comm=world) as factors:
        for trans, op in ((0, a), (1, a.T), (2, a.conj().T)):
            check(op, factors.solve(b, trans=trans), b)
    rows = speedwell.BlockCyclic(N, 64, GRID)
    sides = speedwell.BlockCyclic(N, 48, GRID, columns=3)
    x = speedwell.solve(rows.array(rows.local(a, me)), sides.array(sides.local(b, me)), comm=world)
    gathered = np.zeros((N, 3), dtype=complex)
    i, j = sides.indices(me)
    gathered[np.ix_(i, j)] = x.local
    check(a, world.allreduce(gathered), b)
    local = rows.array(rows.local(whole(), me))
    raises(
        ValueError,
        lambda: speedwell.solve(local, sides.array(sides.local(b, me)), comm=world),
        "real",
    )


def factorization():
    with speedwell.factor(element, n=N, comm=world) as f:
        for trans in (False, True, False):
            a = whole().T if trans else whole()
            check(a, f.solve(right(), trans=trans), right())
        assert f.condition > 1 and f.precision in ("fp16", "bf16", "fp32", "fp64")
    with speedwell.factor(np.ascontiguousarray(whole()) if me == 0 else None, comm=world) as f:
        check(whole(), f.solve(right(count=12)), right(count=12))
        check(whole().T, f.solve(right(count=12), trans=True), right(count=12))


def errors():
    raises(
        speedwell.SingularMatrixError,
        lambda: speedwell.solve(lambda i, j: 0.0 * i * j, np.ones(N), comm=world),
    )
    singular = whole()
    singular[:, 3] = 0
    for order in "CF":
        a = np.array(singular, order=order) if me == 0 else None
        error = raises(
            speedwell.SingularMatrixError, lambda: speedwell.solve(a, np.ones(N), comm=world)
        )
        assert ("of A^T is" in str(error)) == (order == "C" and ranks > 1), error
        assert error.pivot == 3 or (order == "C" and ranks > 1)
    b = right()
    b[3, 1] = np.nan
    error = raises(speedwell.AccuracyError, lambda: speedwell.solve(element, b, comm=world))
    assert np.isnan(error.best[:, 1]).all() and np.isfinite(error.best[:, 0]).all()
    if ranks > 1:
        own = np.ones(N + me)
        raises(ValueError, lambda: speedwell.solve(element, own, comm=world), "ranks differ in A")
    raises(ValueError, lambda: speedwell.solve(element, np.ones(N), nprow=7, comm=world), "7")
    raises(MemoryError, lambda: speedwell.factor(element, n=10**7, comm=world), "does not fit")
    part = speedwell.BlockCyclic(N, 64, GRID)
    shape = part.local_shape(me) if me < ranks - 1 else (3, 3)
    raises(
        ValueError,
        lambda: speedwell.solve(part.array(np.ones(shape)), right(), comm=world),
        "shape",
    )
    a = np.ones((3, 2)) if me == 0 else None
    raises(ValueError, lambda: speedwell.solve(a, right(), comm=world), "allowed: (n, n)")
    a = np.eye(3) if me == 0 else None
    raises(ValueError, lambda: speedwell.solve(a, right(), comm=world), "allowed")

    last = me == ranks - 1
    if ranks > 1:
        for options in ({"precision": "fp31"}, {"no_option": 1}):
            bad = options if last else {}
            raises(
                ValueError, lambda: speedwell.solve(element, right(), comm=world, **bad), "allowed"
            )
            raises(ValueError, lambda: speedwell.factor(element, n=N, comm=world, **bad), "allowed")
        form = None if last else element
        raises(ValueError, lambda: speedwell.solve(form, right(), comm=world), "allowed")
        absent = right() if last else None
        raises(ValueError, lambda: speedwell.solve(element, absent, comm=world), "None on rank 0")
        complex_ = right() + (0j if last else 0)
        raises(
            ValueError, lambda: speedwell.solve(element, complex_, comm=world), "columns on rank"
        )
        none = np.ones((N, 0)) if last else right()
        raises(ValueError, lambda: speedwell.solve(element, none, comm=world), "columns on rank")

        class Array:
            def __array__(self, *_, **__):
                raise RuntimeError("no array")

        kind = RuntimeError if last else ValueError
        odd = Array() if last else right()
        raises(kind, lambda: speedwell.solve(element, odd, comm=world), "no array")

    def fails(i, j):
        if me == ranks - 1:
            raise KeyError("here")
        return element(i, j)

    if me == ranks - 1:
        raises(KeyError, lambda: speedwell.solve(fails, np.ones(N), comm=world), "here")
    else:
        error = raises(speedwell.Fault, lambda: speedwell.solve(fails, np.ones(N), comm=world))
        assert f"rank {ranks - 1} " in str(error) and "KeyError('here')" in str(error)
        assert len(str(error).splitlines()) == 1
    check(whole(), speedwell.solve(element, right(), comm=world), right())


def progress():
    seen = []
    speedwell.solve(element, right(), comm=world, progress=lambda *now: seen.append(now))
    assert bool(seen) == (me == 0)

    def stops(*_):
        raise KeyError("enough")

    kind = KeyError if me == 0 else speedwell.Interrupted
    raises(kind, lambda: speedwell.solve(element, right(), comm=world, progress=stops))
    check(whole(), speedwell.solve(element, right(), comm=world), right())


def interrupted():
    """A signal to one rank ends the solve on all of them."""
    import os
    import signal
    import threading

    n = 6000
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if me == ranks - 1:
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    # Fault: where the signal came while the rank computed elements
    kind = KeyboardInterrupt if me == ranks - 1 else (speedwell.Interrupted, speedwell.Fault)
    raises(kind, lambda: speedwell.solve(element, np.ones(n), comm=world, precision="fp64"))
    check(whole(), speedwell.solve(element, right(), comm=world), right())


def alone_beside():
    x = speedwell.solve(whole(), right())
    y = speedwell.solve(element, right(), comm=world)
    z = speedwell.solve(whole(), right(), comm=MPI.COMM_SELF)
    np.testing.assert_allclose(x, y, rtol=1e-12)
    np.testing.assert_allclose(x, z, rtol=1e-12)


def benchmark():
    result = speedwell.mxp(600, nb=64, comm=world)
    assert result.passed and result.ranks == ranks
    assert speedwell.hpl(500, nb=64, comm=world).passed


def parts_of_world():
    part = world.Split(me % 2)
    x = speedwell.solve(element, right() * (1 + me % 2), comm=part)
    check(whole(), x, right() * (1 + me % 2))
    part.Free()
    raises(ValueError, lambda: speedwell.solve(element, right(), comm=MPI.COMM_NULL))


globals()[sys.argv[1]]()
print("done", flush=True)
