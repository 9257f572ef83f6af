# SPDX-License-Identifier: BSD-3-Clause
"""Inverse iteration: the eigenvalue nearest to a shift, with its right and left eigenvectors.

Run it as python inverse_iteration.py [N].
"""

import sys

import numpy as np

import speedwell


def main(n: int = 2000, shift: float = 0.3) -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal((n, n)) / np.sqrt(n)
    a = (a + a.T) / np.sqrt(2) + 1e-2 * np.triu(a, 1)  # nearly symmetric: real eigenvalues
    right = rng.standard_normal(n)
    left = rng.standard_normal(n)
    with speedwell.factor(a - shift * np.eye(n)) as factors:
        for step in range(1, 100):
            right = factors.solve(right)
            right /= np.linalg.norm(right)
            left = factors.solve(left, trans=True)  # with the transpose, by the same factors
            left /= np.linalg.norm(left)
            value = left @ a @ right / (left @ right)
            residual = np.linalg.norm(a @ right - value * right)
            if residual < 1e-12:
                break
    print(f"eigenvalue {value:.12f} nearest to {shift}, after {step} steps")
    print(f"residuals {residual:.1e} and {np.linalg.norm(left @ a - value * left):.1e}")
    assert residual < 1e-9


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
