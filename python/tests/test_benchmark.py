# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks, run and predicted."""

import json

import numpy as np
import pytest

import speedwell


@pytest.mark.parametrize("run", [speedwell.mxp, speedwell.hpl])
def test_runs(run):
    result = run(500, nb=64, threads=1)
    assert result.passed and result.n == 500 and result.nb == 64
    assert 0 < result.scaled_residual < 16 and result.seconds > 0
    assert result.gflops == pytest.approx((2 / 3 * 500**3 + 1.5 * 500**2) / result.seconds / 1e9)
    assert result.to_dict()["schema"] == "speedwell/1"
    assert result.benchmark == ("hpl" if run is speedwell.hpl else "hpl-mxp")
    assert "n=500" in repr(result) and "<table>" in result._repr_html_()
    assert "gflops" in dir(result)
    with pytest.raises(AttributeError, match="speed"):
        result.speed


def test_options():
    result = speedwell.mxp(300, precision="bf16", matrix="fasi-higham", kappa=100)
    assert result.precision == "bf16" and result.kappa == 100
    assert not speedwell.mxp(300, max_iterations=1, precision="bf16").passed
    with pytest.raises(ValueError, match="allowed: auto"):
        speedwell.mxp(300, precision="fp1")
    with pytest.raises(ValueError, match="not known"):
        speedwell.hpl(300, block=3)
    with pytest.raises(ValueError, match="^lookahead 99 is not allowed"):
        speedwell.hpl(300, lookahead=99)
    with pytest.raises(MemoryError, match="^n 10000000 does not fit"):
        speedwell.hpl(10**7)


def test_lists_and_repeats(tmp_path):
    result = speedwell.mxp([200, 300], nb=(32, 64), repeat=2, threads=1, trace=tmp_path / "t.json")
    assert [(run["n"], run["nb"]) for run in result.runs] == [
        (n, nb) for n in (200, 300) for nb in (32, 64) for _ in range(2)
    ]
    assert all(run["passed"] for run in result.runs)
    traced = json.loads((tmp_path / "t.json").read_text())
    assert len(traced["otherData"]["runs"]) == 8 and traced["traceEvents"]
    pivoted = speedwell.hpl(np.array([100]), nbmin=[4, 8], ndiv=[2], bcast=["long", "2ring"])
    assert {run["bcast"] for run in pivoted.runs} == {"long", "2ring"}
    assert len(pivoted.runs) == 4
    assert len(speedwell.hpl(100, repeat=3).runs) == 3


def test_lists_and_repeats_that_are_not_allowed(tmp_path):
    for options, words in (
        ({"repeat": 0}, "^repeat is 0; allowed"),
        ({"repeat": 1.5}, "^repeat is 1.5; allowed"),
        ({"nb": []}, r"^nb \[\] is not allowed"),
        ({"nb": [32, 0.5]}, "^nb 0.5 is not allowed"),
        ({"lookahead": [0, 99]}, "^lookahead 99 is not allowed"),
        ({"nb": [32], "lookahead": 99}, "^lookahead 99 is not allowed"),
        ({"bcast": ["star"]}, "^bcast 'star' is not allowed; allowed: ibcast, 1ring"),
        ({"nprow": [1, 1], "npcol": [1]}, "^nprow has 2 values and npcol 1; allowed"),
        ({"trace": tmp_path / "no" / "t.json"}, "^trace"),
        ({"trace": ""}, "^trace is ''; allowed: a path"),
        ({"profile": tmp_path / "none.json"}, "^profile .* is not there"),
    ):
        with pytest.raises(ValueError, match=words):
            speedwell.mxp(100, **options)
    with pytest.raises(ValueError, match="^n is 0; allowed"):
        speedwell.mxp([100, 0])


def test_same_run_again():
    first = speedwell.mxp(300, nb=64, precision="fp32", gpus=None, seed=7)
    again = speedwell.mxp(**first.asked)
    assert again.asked == first.asked and again.scaled_residual == first.scaled_residual


def test_profile(tmp_path):
    mine = tmp_path / "profile.json"
    device = speedwell.mxp(300, threads=1).device_description
    entry = {
        "device": device,
        "benchmark": "hpl-mxp",
        "precision": "fp32",
        "pivoting": "none",
        "nprow": 1,
        "npcol": 1,
        "n": 300,
        "nb": 48,
        "lookahead": 0,
        "chunk": 96,
        "gflops": 1.0,
        "default_gflops": 1.0,
        "date": "2026-01-01T00:00:00Z",
        "revision": "test",
    }
    mine.write_text(json.dumps({"schema": "speedwell-profile/1", "entries": [entry], "rates": []}))
    tuned = speedwell.mxp(300, precision="fp32", threads=1, profile=mine)
    assert tuned.nb == 48
    assert speedwell.mxp(300, precision="fp32", threads=1, profile="none").nb != 48


def test_orders():
    assert speedwell.mxp(np.int64(300)).n == 300
    for run in (speedwell.mxp, speedwell.hpl, lambda n: speedwell.predict(n=n)):
        for n in (0, -1, 1.5, "9"):
            with pytest.raises(ValueError, match=f"^n is {n!r}; allowed: a whole number of 1"):
                run(n)


def test_progress():
    seen = []
    speedwell.mxp(2000, nb=128, progress=lambda *now: seen.append(now))
    assert seen[-1][:2] == (2000, 2000)


def test_a_build_without_predictions(monkeypatch):
    monkeypatch.setattr("speedwell._benchmark.__file__", "/nowhere/speedwell/_benchmark.py")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RuntimeError, match="no predictions; allowed: .*SPEEDWELL_PREDICT=ON, or"):
        speedwell.predict(machine="h200", n=8192)


@pytest.fixture
def predictions():
    try:
        speedwell.predict(machine="h200", n=8192)
    except RuntimeError as error:
        pytest.skip(str(error))


def test_predictions(predictions):
    result = speedwell.predict("mxp", machine="h200", n=65536)
    assert result.n == 65536 and result.gflops > 1e5
    assert result.predicted["machine"] == "h200" and "predicted" in repr(result)
    assert speedwell.predict("hpl", machine="h200-x8", n=32768, ranks=4).ranks == 4
    steps = speedwell.predict("solve", n=20000, complex=True, precision=["fp32", "fp64"]).steps
    assert [step["precision"] for step in steps] == ["fp32", "fp64"]
    with pytest.raises(ValueError, match="order"):
        speedwell.predict("solve")


def test_predictions_with_lists_and_flags(predictions):
    result = speedwell.predict("mxp", machine="h200", n=[8192, 16384], lookahead=1, nb=None)
    assert [run["n"] for run in result.runs] == [8192, 16384]
    real = speedwell.predict("solve", machine="h200", n=8192, complex=False)
    assert not real.complex


def test_predictions_that_are_not_allowed(predictions):
    with pytest.raises(ValueError, match="h300"):
        speedwell.predict(machine="h300")
    with pytest.raises(ValueError, match="allowed: 'mxp', 'hpl'"):
        speedwell.predict("linpack")
    with pytest.raises(ValueError, match="blocks"):
        speedwell.predict(blocks=3)
