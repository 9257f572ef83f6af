// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Triangular solves with many right-hand sides, by recursion onto products. B is cut into strips
/// that stay in the second cache of a core; every thread takes strips of its own, so that products
/// run on one thread each.
#pragma once

#include "core/matrix_view.hpp"

namespace lupine {

/// B <- L^-1 B, L the unit lower triangle of lu. With `rounded`, what the larger products inside
/// multiply is rounded to BF16, as the update of the same factorization rounds L and B anyway.
template <class T>
void solve_left_lower(MatrixView<const T> lu, MatrixView<T> b, bool rounded = false);
/// B <- B U^-1, U the upper triangle of lu; `rounded` as for solve_left_lower.
template <class T>
void solve_right_upper(MatrixView<const T> lu, MatrixView<T> b, bool rounded = false);

}  // namespace lupine
