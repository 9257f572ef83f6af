// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What is known of each kind of matrix beside its formula, which stands in
/// kernels/element/matrix_spec.hpp. A new kind is a row here, its formula there, and its parameters
/// in generate/generator.cpp.
#pragma once

#include <lupine/error.hpp>
#include <lupine/options.hpp>

#include <array>
#include <string>
#include <string_view>

namespace lupine {

struct MatrixTraits {
  MatrixKind kind;
  std::string_view name;        ///< in options and reports
  bool needs_pivoting = false;  ///< without it there are no factors worth having
  bool tunable = false;         ///< kappa and rho determine it, and the seed b alone
  /// Why a run of HPL-MxP with it is not admissible for a submission; empty: it may be.
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

/// @throws Fault where the kind has no row
constexpr const MatrixTraits& traits_of(MatrixKind kind) {
  for (const MatrixTraits& traits : all_matrices)
    if (traits.kind == kind) return traits;
  throw Fault("a kind of matrix without traits");
}

/// The names of all kinds of which `fact` is `value`, such as "fasi-higham, hpl".
std::string matrices_where(bool MatrixTraits::*fact, bool value);

}  // namespace lupine
