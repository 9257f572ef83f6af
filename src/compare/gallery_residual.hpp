// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How well an x solves a system of the gallery.
#pragma once

#include "core/matrix_view.hpp"
#include "generate/gallery.hpp"

namespace speedwell {

/// The scaled residual (docs/numerics.md, section 1.3) of the column of x whose residual is the
/// largest, where column k solves for right-hand side k; NaN if that of any column is. A and b are
/// computed again, in strips of rows, by the threads of OpenMP and of the BLAS.
/// Of complex systems, norms are those of the real system (docs/numerics.md, 5.8).
/// @pre x has system.numbers() rows and at least one column
double gallery_residual(const GallerySystem& system, MatrixView<const double> x);

}  // namespace speedwell
