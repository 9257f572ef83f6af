# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian process with thousands of points: one factorization serves the mean and its variance.

Run it as python gaussian_process.py [POINTS].
"""

import sys
import time

import numpy as np

import speedwell


def main(n: int = 8000) -> None:
    rng = np.random.default_rng(1)
    points = rng.random((n, 3))
    noise, length = 1e-2, 0.3

    def truth(x):
        return np.sin(5 * x[:, 0]) * np.cos(3 * x[:, 1]) + x[:, 2]

    values = truth(points) + noise * rng.standard_normal(n)

    def kernel(x, y):
        squares = (x**2).sum(1)[:, None] + (y**2).sum(1)[None, :] - 2 * x @ y.T
        return np.exp(-0.5 * np.maximum(squares, 0) / length**2)

    # The covariance is computed block by block where it is needed: it is held once, by Speedwell.
    def covariance(i, j):
        return kernel(points[i[:, 0]], points[j[0]]) + noise**2 * (i == j)

    begin = time.perf_counter()
    with speedwell.factor(covariance, n=n) as factors:
        weights, info = factors.solve(values, return_info=True)
        new = rng.random((200, 3))
        between = kernel(points, new)
        mean = between.T @ weights
        variance = 1 + noise**2 - np.einsum("ik,ik->k", between, factors.solve(between))
    seconds = time.perf_counter() - begin

    error = np.sqrt(np.mean((mean - truth(new)) ** 2))
    print(f"{n} points in {seconds:.1f} s, LU in {info.precision}")
    print(f"condition number {info.condition:.1e}, backward error {info.backward_errors[0]:.1e}")
    print(f"error of the mean {error:.1e}, by the variance {np.sqrt(variance.mean()):.1e}")
    assert error < 10 * noise and (variance > 0).all()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
