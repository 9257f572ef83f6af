# SPDX-License-Identifier: BSD-3-Clause
"""Boundary elements, complex: a plane wave of sound is scattered by a soft sphere, and the far
field is compared with Mie's series.

The scattered wave is that of sources on the sphere, a single layer whose potential is minus the
incident wave there: one dense complex system. Its kernel exp(i k r) / (4 pi r) is infinite where a
point meets itself; what a point's own surroundings add is what is missing of the static potential
of a uniform layer, which is 1 on the unit sphere, and i k / (4 pi) times their area.

Run it as python acoustic_scattering.py [POINTS] [WAVENUMBER] [PICTURE.svg].
"""

import sys

import numpy as np
from scipy.special import eval_legendre, spherical_jn, spherical_yn

import speedwell


def points_on_sphere(count: int):
    """Points of a Fibonacci lattice, each with the same area."""
    place = np.arange(count)
    z = 1 - (2 * place + 1) / count
    angle = np.pi * (1 + np.sqrt(5)) * place
    radius = np.sqrt(1 - z**2)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z])


def single_layer(points, k: float):
    area = 4 * np.pi / len(points)
    distance = np.sqrt(np.maximum(2 - 2 * points @ points.T, 0))
    np.fill_diagonal(distance, 1)
    static = area / (4 * np.pi * distance)
    np.fill_diagonal(static, 0)
    matrix = static * np.exp(1j * k * distance)
    np.fill_diagonal(matrix, 1 - static.sum(axis=1) + 1j * k * area / (4 * np.pi))
    return matrix


def far_field_by_mie(cosine, k: float):
    """The series of partial waves: f = i/k sum (2 l + 1) j_l(k) / h_l(k) P_l(cos)."""
    total = np.zeros_like(cosine, dtype=complex)
    for order in range(int(k) + 25):
        j = spherical_jn(order, k)
        h = j + 1j * spherical_yn(order, k)
        total += (2 * order + 1) * j / h * eval_legendre(order, cosine)
    return 1j / k * total


def picture(path: str, angles, curves) -> None:
    """The magnitudes of the far fields by angle."""
    most = max(np.abs(curve).max() for curve in curves.values())
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400">']
    styles = ("stroke='#888' stroke-width='5'", "stroke='#06c' stroke-width='1.5'")
    for at, (name, curve), style in zip((20, 40), curves.items(), styles):
        places = " ".join(
            f"{40 + 580 * angle / np.pi:.1f},{370 - 340 * abs(value) / most:.1f}"
            for angle, value in zip(angles, curve)
        )
        lines.append(f"<polyline fill='none' {style} points='{places}'/>")
        lines.append(f"<path {style} d='M420 {at} h40'/><text x='470' y='{at + 5}'>{name}</text>")
    lines.append("<text x='40' y='392'>angle, 0 to 180 degrees</text></svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main(count: int = 4000, k: float = 6.0, path: str = "") -> None:
    points = points_on_sphere(count)
    incident = np.exp(1j * k * points[:, 2])
    sources, info = speedwell.solve(single_layer(points, k), -incident, return_info=True)
    angles = np.linspace(0, np.pi, 181)
    directions = np.column_stack([np.sin(angles), np.zeros_like(angles), np.cos(angles)])
    found = np.exp(-1j * k * directions @ points.T) @ sources / count
    expected = far_field_by_mie(np.cos(angles), k)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{count} points, LU in {info.precision}, condition number {info.condition:.1e}")
    print(f"backward error {info.backward_errors[0]:.1e}, bound of x {info.forward_bounds[0]:.1e}")
    print(f"far field within {100 * error:.2f} % of Mie's series")
    if path:
        picture(path, angles, {"Mie's series": expected, f"{count} points": found})
    assert error < 3 * k / count


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((int, float, str), sys.argv[1:])))
