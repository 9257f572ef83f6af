// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/blas.hpp"

#include "device/cuda/check.hpp"

namespace lupine {

namespace {

cublasFillMode_t fill(Triangle triangle) {
  return triangle == Triangle::unit_lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}
cublasDiagType_t diagonal(Triangle triangle) {
  return triangle == Triangle::unit_lower ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

cublasOperation_t operation(Transpose transpose) {
  return transpose == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

void add_product(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
                 MatrixView<double> c, Transpose transpose, Fp64Products products) {
  if (c.empty() || b.rows == 0) return;
  constexpr double one = 1;
  check(cublasDgemm_64(lane.blas(products), operation(transpose), CUBLAS_OP_N, c.rows, c.columns,
                       b.rows, &alpha, a.data, a.ld, b.data, b.ld, &one, c.data, c.ld),
        "cublasDgemm_64");
}

void add_product(Lane& lane, float alpha, MatrixView<const float> a, MatrixView<const float> b,
                 MatrixView<float> c, Transpose transpose) {
  if (c.empty() || b.rows == 0) return;
  constexpr float one = 1;
  check(cublasSgemm_64(lane.blas(), operation(transpose), CUBLAS_OP_N, c.rows, c.columns, b.rows,
                       &alpha, a.data, a.ld, b.data, b.ld, &one, c.data, c.ld),
        "cublasSgemm_64");
}

void triangle_product(Lane& lane, cublasSideMode_t side, Triangle triangle, float alpha,
                      MatrixView<const float> t, MatrixView<float> b, Transpose transpose) {
  if (b.empty()) return;
  check(cublasStrmm_64(lane.blas(), side, fill(triangle), operation(transpose), diagonal(triangle),
                       b.rows, b.columns, &alpha, t.data, t.ld, b.data, b.ld, b.data, b.ld),
        "cublasStrmm_64");
}

void solve_unit_lower_left(Lane& lane, MatrixView<const float> t, MatrixView<float> b) {
  if (b.empty()) return;
  constexpr float one = 1;
  check(cublasStrsm_64(lane.blas(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                       CUBLAS_DIAG_UNIT, b.rows, b.columns, &one, t.data, t.ld, b.data, b.ld),
        "cublasStrsm_64");
}

void solve_unit_lower_left(Lane& lane, MatrixView<const double> t, MatrixView<double> b) {
  if (b.empty()) return;
  constexpr double one = 1;
  check(cublasDtrsm_64(lane.blas(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                       CUBLAS_DIAG_UNIT, b.rows, b.columns, &one, t.data, t.ld, b.data, b.ld),
        "cublasDtrsm_64");
}

void solve_triangle(Lane& lane, Triangle triangle, Transpose transpose, MatrixView<const double> t,
                    MatrixView<double> x) {
  if (x.empty()) return;
  constexpr double one = 1;
  if (x.columns == 1)
    return check(cublasDtrsv_64(lane.blas(), fill(triangle), operation(transpose),
                                diagonal(triangle), t.rows, t.data, t.ld, x.data, 1),
                 "cublasDtrsv_64");
  check(cublasDtrsm_64(lane.blas(), CUBLAS_SIDE_LEFT, fill(triangle), operation(transpose),
                       diagonal(triangle), x.rows, x.columns, &one, t.data, t.ld, x.data, x.ld),
        "cublasDtrsm_64");
}

}  // namespace lupine
