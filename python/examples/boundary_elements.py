# SPDX-License-Identifier: BSD-3-Clause
"""Boundary elements: the capacitance of a disc, by the charge on small panels of it.

The potential of a constant charge on each panel, taken at the centres of all panels, gives a dense
and nonsymmetric system. The exact capacitance of a disc of radius 1 is 8 (times the permittivity).

Run it as python boundary_elements.py [RINGS].
"""

import sys

import numpy as np

import speedwell


def panels(rings: int):
    """Centres and areas of panels that cover the disc; narrow ones near its edge, where the charge
    grows without bound."""
    edges = np.sin(0.5 * np.pi * np.linspace(0, 1, rings + 1))
    centres, areas = [], []
    for inner, outer in zip(edges, edges[1:]):
        count = max(6, round(2 * np.pi * outer / max(outer - inner, 1 / (2 * rings))))
        angle = 2 * np.pi * (np.arange(count) + 0.5) / count
        radius = 2 / 3 * (outer**3 - inner**3) / (outer**2 - inner**2)
        centres.append(radius * np.column_stack([np.cos(angle), np.sin(angle)]))
        areas.append(np.full(count, np.pi * (outer**2 - inner**2) / count))
    return np.concatenate(centres), np.concatenate(areas)


def main(rings: int = 24) -> None:
    centres, areas = panels(rings)

    def potential(i, j):
        """The potential at the centre of panel i of a unit charge density on panel j."""
        x, y = centres[i[:, 0]], centres[j[0]]
        distance = np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))
        itself = i == j
        far = areas[j] / np.where(itself, 1, distance)
        return np.where(itself, 2 * np.sqrt(np.pi * areas[j]), far) / (4 * np.pi)

    n = len(areas)
    charge, info = speedwell.solve(potential, np.ones(n), return_info=True)
    capacitance = charge @ areas
    print(f"{n} panels, LU in {info.precision}, condition number {info.condition:.1e}")
    print(f"backward error {info.backward_errors[0]:.1e}, bound of x {info.forward_bounds[0]:.1e}")
    print(f"capacitance {capacitance:.3f}, exact 8")
    assert abs(capacitance - 8) < 0.4


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
