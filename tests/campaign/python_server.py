# SPDX-License-Identifier: BSD-3-Clause
"""The child that calls the Python package: it reads requests from standard input, and writes what
became of each to standard output. A frame is its length in 8 bytes and a pickle."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from typing import Any

import numpy as np

import speedwell

from .system import Matrix


def _laid_out(a: Matrix, order: str) -> Matrix:
    if order == "C":
        return np.ascontiguousarray(a)
    if order == "F":
        return np.asfortranarray(a)
    wide = np.zeros((2 * a.shape[0], 2 * a.shape[1]), dtype=a.dtype)
    wide[::2, ::2] = a
    return wide[::2, ::2]


def _call(request: dict[str, Any]) -> tuple[Any, Any]:
    """x and SolveInfo, or None without one."""
    a, b, method, options = (request[key] for key in ("a", "b", "method", "options"))
    if request["vector"]:
        b = b[:, 0]
    with_info = method.endswith("info")
    if method == "stack":
        result = speedwell.solve(_laid_out(a, request["order"])[np.newaxis], b, **options)
    elif method.startswith("solve"):
        laid_out = _laid_out(a, request["order"])
        result = speedwell.solve(laid_out, b, return_info=with_info, **options)
    else:
        transposed = method.startswith("transposed")
        given = _laid_out(a.T if transposed else a, request["order"])
        with speedwell.factor(given, **options) as factors:
            result = factors.solve(b, trans=transposed, return_info=with_info)
    return result if with_info else (result, None)


def _determinants(request: dict[str, Any]) -> list[tuple[complex, float]]:
    """By an array, its factors, and stacks with its transpose."""
    a = _laid_out(request["a"], request["order"])
    found = [speedwell.slogdet(a)]
    try:
        with speedwell.factor(a) as factors:
            found.append(factors.slogdet())
    except speedwell.SingularMatrixError:
        pass  # as its name says
    signs, logarithms = speedwell.slogdet(np.stack([a, a.T]))
    pairs = [*found, *zip(signs, logarithms, strict=True)]
    return [(complex(sign), float(logarithm)) for sign, logarithm in pairs]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What became of a request, as a dict of plain values."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if request["method"] == "determinant":
                found = _determinants(request)
            else:
                x, info = _call(request)
        except Exception as error:
            refused = isinstance(error, (np.linalg.LinAlgError, ValueError, MemoryError))
            return {
                "status": "refused" if refused else "crashed",
                "kind": type(error).__name__,
                "singular": isinstance(error, np.linalg.LinAlgError),
                "words": str(error),
            }
    doubts = [
        str(one.message) for one in caught if issubclass(one.category, speedwell.AccuracyWarning)
    ]
    if request["method"] == "determinant":
        return {"status": "solved", "determinants": found, "doubt": "; ".join(doubts) or None}
    return {
        "status": "solved",
        "x": np.asarray(x).reshape(request["b"].shape),
        "bounds": [] if info is None else [float(bound) for bound in info.forward_bounds],
        "doubt": "; ".join(doubts) or None,
        "proofs": []
        if info is None
        else [(one.certified, one.componentwise_bound) for one in info.columns],
    }


def main() -> None:
    # What anything else prints is no answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while header := sys.stdin.buffer.read(8):
        request = pickle.loads(sys.stdin.buffer.read(int.from_bytes(header, "little")))
        reply = pickle.dumps(answer(request), protocol=5)
        out.write(len(reply).to_bytes(8, "little") + reply)
        out.flush()


if __name__ == "__main__":
    main()
