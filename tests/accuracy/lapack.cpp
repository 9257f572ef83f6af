// SPDX-License-Identifier: BSD-3-Clause
#include "lapack.hpp"

#include <lapacke.h>

#include <stdexcept>
#include <string>

namespace speedwell::test {
namespace {

void require(lapack_int info) {
  if (info != 0) throw std::runtime_error("LAPACK failed: info " + std::to_string(info));
}

lapack_int order(const Plain& a) {
  return static_cast<lapack_int>(a.rows);
}

}  // namespace

Lapack dgesv(const Square& a, const Plain& b) {
  Lapack result{a, {}, b, 0};
  std::vector<lapack_int> pivots(static_cast<std::size_t>(a.n));
  result.info =
      LAPACKE_dgesv(LAPACK_COL_MAJOR, order(a), static_cast<lapack_int>(b.columns),
                    result.lu.data.data(), order(a), pivots.data(), result.x.data.data(), order(a));
  for (const lapack_int p : pivots) result.pivots.push_back(p - 1);
  return result;
}

LapackExpert dgesvx(const Square& a, const Plain& b) {
  const auto n = static_cast<std::size_t>(a.n);
  const auto count = static_cast<std::size_t>(b.columns);
  LapackExpert result{b, 0, 0, std::vector<double>(count), std::vector<double>(count), 0};
  Square scaled = a;
  Plain scaled_b = b;
  Square lu = a;
  std::vector<lapack_int> pivots(n);
  std::vector<double> rows(n);
  std::vector<double> columns(n);
  char equilibrated = 'N';
  result.info = LAPACKE_dgesvx(
      LAPACK_COL_MAJOR, 'E', 'N', order(a), static_cast<lapack_int>(b.columns), scaled.data.data(),
      order(a), lu.data.data(), order(a), pivots.data(), &equilibrated, rows.data(), columns.data(),
      scaled_b.data.data(), order(a), result.x.data.data(), order(a), &result.rcond,
      result.ferr.data(), result.berr.data(), &result.pivot_growth);
  return result;
}

Square dgetri(const Lapack& factors) {
  Square inverse = factors.lu;
  std::vector<lapack_int> pivots;
  for (const std::int64_t p : factors.pivots) pivots.push_back(static_cast<lapack_int>(p + 1));
  require(LAPACKE_dgetri(LAPACK_COL_MAJOR, order(inverse), inverse.data.data(), order(inverse),
                         pivots.data()));
  return inverse;
}

Square orthogonal_factor(Square a) {
  std::vector<double> tau(static_cast<std::size_t>(a.n));
  require(
      LAPACKE_dgeqrf(LAPACK_COL_MAJOR, order(a), order(a), a.data.data(), order(a), tau.data()));
  require(LAPACKE_dorgqr(LAPACK_COL_MAJOR, order(a), order(a), order(a), a.data.data(), order(a),
                         tau.data()));
  return a;
}

std::vector<double> singular_values(Square a) {
  std::vector<double> values(static_cast<std::size_t>(a.n));
  std::vector<double> work(static_cast<std::size_t>(a.n));
  require(LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'N', order(a), order(a), a.data.data(), order(a),
                         values.data(), nullptr, 1, nullptr, 1, work.data()));
  return values;
}

}  // namespace speedwell::test
