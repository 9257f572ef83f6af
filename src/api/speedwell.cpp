// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/speedwell.hpp>

#include <tuple>

#include "revision.hpp"

namespace speedwell {

std::string_view version() {
  return SPEEDWELL_VERSION;
}
std::string_view revision() {
  return SPEEDWELL_REVISION;
}

namespace {

// The layers are static libraries. These references make the linker take their public functions
// into the shared library.
[[gnu::used]] const std::tuple public_functions(&mxp, &hpl, &parse<Precision>,
                                                &Matrix::from_function, &Matrix::from_blocks,
                                                &RightHandSide::from_blocks, &Matrix::block_cyclic,
                                                &Matrix::dense, &RightHandSide::from_function,
                                                &RightHandSide::block_cyclic, &RightHandSide::dense,
                                                &RightHandSide::of_ones);

}  // namespace

}  // namespace speedwell
