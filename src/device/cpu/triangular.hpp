// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Triangular solves with many right-hand sides. They are recursive, so that most of the work is
/// products. B is cut into strips that fit into a core's L2 cache. Threads work on different
/// strips, so that each product runs on one thread.
#pragma once

#include "core/matrix_view.hpp"

namespace speedwell {

/// B <- L^-1 B, L the unit lower triangle of lu. T is float or double, or complex of one of them.
/// If `rounded`, FP32 solves round the factors of their larger products to BF16, as the update
/// rounds L and the result anyway; that needs oneDNN.
template <class T>
void solve_left_lower(MatrixView<const T> lu, MatrixView<T> b, bool rounded = false);
/// B <- B U^-1, U the upper triangle of lu. T is float. `rounded` as in solve_left_lower.
template <class T>
void solve_right_upper(MatrixView<const T> lu, MatrixView<T> b, bool rounded = false);

}  // namespace speedwell
