// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops of panels with pivoting, real and complex, each for one thread. They are compiled once for
/// each instruction set.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "core/matrix_view.hpp"
#include "cpu/loops.hpp"

namespace speedwell {

/// The entry of the largest magnitude, the first one where several are equal; that of a complex
/// entry is |re| + |im|. Inf and NaN both count as infinity.
struct Largest {
  double magnitude = -1;  ///< -1 if there are no entries
  std::int64_t row = -1;  ///< -1 if there are no entries
};

/// T is float or double, or std::complex of one of them.
template <class T>
struct PanelLoops {
  /// The largest magnitude and its place.
  Largest (*find_largest)(const T* from, std::int64_t count);
  /// l <- rows(:,0) / p(0,0); rows(:,j) <- rows(:,j) - l p(0,j) for j > 0; rows(:,0) <- l. If
  /// p(0,0) = 0, rows stay as they are.
  /// @return find_largest of column 1 of the result; {-1, -1} if there is no column 1
  Largest (*eliminate)(MatrixView<const T> p, MatrixView<T> rows);
};

/// Those of all types, as compiled for one instruction set.
struct AllPanelLoops {
  PanelLoops<float> fp32;
  PanelLoops<double> fp64;
  PanelLoops<std::complex<float>> complex_fp32;
  PanelLoops<std::complex<double>> complex_fp64;
};

/// The loops for cpu_isa().
template <class T>
const PanelLoops<T>& panel_loops() {
  const AllPanelLoops& all = *loops().panels;
  if constexpr (std::is_same_v<T, std::complex<double>>)
    return all.complex_fp64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return all.complex_fp32;
  else if constexpr (std::is_same_v<T, double>)
    return all.fp64;
  else
    return all.fp32;
}

}  // namespace speedwell
