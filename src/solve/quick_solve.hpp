// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The shortest way to x for a small system of which nothing has to be reported but x.
#pragma once

#include <speedwell/options.hpp>

#include <complex>
#include <cstdint>
#include <optional>

#include "core/interrupt.hpp"
#include "core/scalar.hpp"

namespace speedwell {

/// A X = B as a caller has it in host memory. T is double or std::complex<double>. Strides and
/// leading dimensions count elements.
template <class T>
struct PlainSystem {
  std::int64_t n = 0;  ///< the order of A
  const T* a = nullptr;
  std::int64_t lda = 0;
  StorageOrder order = StorageOrder::column_major;  ///< of A
  const T* b = nullptr;
  std::int64_t count = 0;  ///< columns of B and X
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// X = A^-1 B by an LU with partial pivoting, in FP64, or from n = 200 on (complex: 150), for up to
/// 8 right-hand sides, in FP32 with corrections, at about the time of LAPACK's gesv or less, if
/// there is nothing to say of it: X is then what solve() accepts with its default options, and not
/// in doubt. False otherwise, with anything in X: a Solver finds out what there is to say. That is
/// so for A or B with an Inf or NaN; an A of rows or columns whose largest entries differ by a
/// factor of more than 10, which is better equilibrated; a zero pivot; a condition number that is
/// too large to be sure of; errors above their limits; a lack of memory. Formulas and
/// probabilities: docs/numerics.md. It throws nothing.
/// @param threads of the calling process, where more than one pays
/// @param x n x count, column-major; not where A or B is
/// @param interrupt asked on the way, where it is not null: false, too, once it has ended, several
/// times a second
/// @param seed of the random vectors by which A and X are judged; nothing: process_seed()
/// @pre n >= 1, count >= 1; it is made for n up to quick_limit()
template <class T>
bool quick_solve(const PlainSystem<T>& system, T* x, int threads, Interrupt* interrupt = nullptr,
                 std::optional<std::uint64_t> seed = {});

/// The largest order for quick_solve() with `count` right-hand sides and so many threads: up to it
/// a SteppedSolver takes longer, for its setup, or for many right-hand sides its corrections. 0
/// where the BLAS has no LAPACK.
std::int64_t quick_limit(Field field, std::int64_t count, int threads);

}  // namespace speedwell
