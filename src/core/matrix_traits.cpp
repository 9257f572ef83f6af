// SPDX-License-Identifier: BSD-3-Clause
#include "core/matrix_traits.hpp"

namespace speedwell {

std::string matrices_where(bool MatrixTraits::*fact, bool value) {
  std::string names;
  for (const MatrixTraits& traits : all_matrices)
    if (traits.*fact == value) names.append(names.empty() ? "" : ", ").append(traits.name);
  return names;
}

}  // namespace speedwell
