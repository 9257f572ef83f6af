# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks, run and predicted."""

import numpy as np
import pytest

import lupine


@pytest.mark.parametrize("run", [lupine.mxp, lupine.hpl])
def test_runs(run):
    result = run(500, nb=64, threads=1)
    assert result.passed and result.n == 500 and result.nb == 64
    assert 0 < result.scaled_residual < 16 and result.seconds > 0
    assert result.gflops == pytest.approx((2 / 3 * 500**3 + 1.5 * 500**2) / result.seconds / 1e9)
    assert result.to_dict()["schema"] == "lupine/1"
    assert result.benchmark == ("hpl" if run is lupine.hpl else "hpl-mxp")
    assert "n=500" in repr(result) and "<table>" in result._repr_html_()
    assert "gflops" in dir(result)
    with pytest.raises(AttributeError, match="speed"):
        result.speed


def test_options():
    result = lupine.mxp(300, precision="bf16", matrix="fasi-higham", kappa=100)
    assert result.precision == "bf16" and result.kappa == 100
    assert not lupine.mxp(300, max_iterations=1, precision="bf16").passed
    with pytest.raises(ValueError, match="allowed: auto"):
        lupine.mxp(300, precision="fp1")
    with pytest.raises(ValueError, match="not known"):
        lupine.hpl(300, block=3)
    with pytest.raises(ValueError, match="^lookahead 99 is not allowed"):
        lupine.hpl(300, lookahead=99)
    with pytest.raises(MemoryError, match="^n 10000000 does not fit"):
        lupine.hpl(10**7)


def test_orders():
    assert lupine.mxp(np.int64(300)).n == 300
    for run in (lupine.mxp, lupine.hpl, lambda n: lupine.predict(n=n)):
        for n in (0, -1, 1.5, "9"):
            with pytest.raises(ValueError, match=f"^n is {n!r}; allowed: a whole number of 1"):
                run(n)


def test_progress():
    seen = []
    lupine.mxp(2000, nb=128, progress=lambda *now: seen.append(now))
    assert seen[-1][:2] == (2000, 2000)


@pytest.fixture
def predictions():
    try:
        lupine.predict(machine="h200", n=8192)
    except RuntimeError as error:
        pytest.skip(str(error))


def test_predictions(predictions):
    result = lupine.predict("mxp", machine="h200", n=65536)
    assert result.n == 65536 and result.gflops > 1e5
    assert result.predicted["machine"] == "h200" and "predicted" in repr(result)
    assert lupine.predict("hpl", machine="h200-x8", n=32768, ranks=4).ranks == 4


def test_predictions_that_are_not_allowed(predictions):
    with pytest.raises(ValueError, match="h300"):
        lupine.predict(machine="h300")
    with pytest.raises(ValueError, match="allowed: 'mxp', 'hpl'"):
        lupine.predict("linpack")
    with pytest.raises(ValueError, match="blocks"):
        lupine.predict(blocks=3)
