// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Facts about each kind of benchmark matrix. A new kind needs a row here, its formula in
/// kernels/element/matrix_spec.hpp, and its parameters in generate/generator.cpp.
#pragma once

#include <speedwell/error.hpp>
#include <speedwell/options.hpp>

#include <array>
#include <string>
#include <string_view>

namespace speedwell {

struct MatrixTraits {
  MatrixKind kind;
  std::string_view name;        ///< in options and reports
  bool needs_pivoting = false;  ///< LU without pivoting breaks down or is inaccurate
  bool tunable = false;         ///< kappa and rho determine A; the seed determines b only
  /// Why a run of HPL-MxP with this matrix is not admissible for a submission; empty if it may be.
  std::string_view inadmissible{};
};

inline constexpr std::array all_matrices{
    MatrixTraits{.kind = MatrixKind::scaled_diagonal, .name = "scaled-diagonal"},
    MatrixTraits{.kind = MatrixKind::fasi_higham, .name = "fasi-higham", .tunable = true},
    MatrixTraits{.kind = MatrixKind::dominant,
                 .name = "dominant",
                 .inadmissible = "a diagonally dominant matrix is for testing"},
    MatrixTraits{.kind = MatrixKind::hpl,
                 .name = "hpl",
                 .needs_pivoting = true,
                 .inadmissible = "HPL's matrix cannot be factored without pivoting"},
};

/// The row of `kind` in all_matrices. @throws Fault if there is no such row
constexpr const MatrixTraits& traits_of(MatrixKind kind) {
  for (const MatrixTraits& traits : all_matrices)
    if (traits.kind == kind) return traits;
  throw Fault("a kind of matrix without traits");
}

/// The names of all kinds whose `fact` is `value`, between commas: "fasi-higham, hpl".
std::string matrices_where(bool MatrixTraits::*fact, bool value);

}  // namespace speedwell
