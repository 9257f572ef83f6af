// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell_mpi.h>
#include <speedwell/speedwell.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "api/c_errors.hpp"
#include "api/c_options.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi_start.hpp"
#include "core/array_size.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"
#include "host/processor.hpp"
#include "revision.hpp"
#include "solve/quick_solve.hpp"
#include "solve/solver.hpp"

struct speedwell_factorization {
  speedwell::Communicator all;
  speedwell::Factorization factors;
};

namespace speedwell {

namespace {

// Indices into a ScaLAPACK descriptor.
enum { dtype, context, m_, n_, mb, nb_, rsrc, csrc, lld };

// The checks of the sizes of arrays. One that is too large is the fault of the first size with
// which it would be so even if all columns stood close together.
constexpr const char* not_null = "not null";

template <class T>
Argument order_argument(std::int64_t n, std::int64_t least) {
  return {n >= least && is_countable(n, n, sizeof(T)), "n",
          least == 0 ? "0 or more, and A of less than 2^63 bytes"
                     : "1 or more, and A of less than 2^63 bytes"};
}

template <class T>
Argument count_argument(std::int64_t nrhs, std::int64_t n) {
  return {nrhs >= 0 && is_countable(std::max<std::int64_t>(1, n), nrhs, sizeof(T)), "nrhs",
          "0 or more, and b of less than 2^63 bytes"};
}

template <class T>
Argument leading_argument(const char* name, std::int64_t ld, std::int64_t n, std::int64_t columns) {
  return {ld >= std::max<std::int64_t>(1, n) && is_countable(ld, columns, sizeof(T)), name,
          "max(1, n) or more, and an array of less than 2^63 bytes"};
}

Argument options_argument(const speedwell_options* o) {
  const bool is_allowed = o == nullptr || (o->size > 0 && o->size <= sizeof *o && is_known(*o));
  return {is_allowed, "options", "null, or what speedwell_options_init made, with known values"};
}

Argument result_argument(const speedwell_result* r) {
  return {r == nullptr || r->size > 0, "result", "null, or what speedwell_result_init made"};
}

/// The largest value of this error over all columns; NaN if it is NaN for a column.
double largest(const Solution& s, double SolveColumn::*error) {
  double most = 0;
  for (const SolveColumn& column : s.columns) {
    if (std::isnan(column.*error)) return column.*error;
    most = std::max(most, column.*error);
  }
  return most;
}

void fill(const Solution& s, speedwell_result* result) {
  if (result == nullptr) return;
  const std::size_t size = std::min(result->size, sizeof *result);
  speedwell_result r{};
  std::memcpy(&r, result, size);
  for (std::size_t k = 0; k < s.columns.size(); ++k) {
    if (r.forward_bounds != nullptr) r.forward_bounds[k] = s.columns[k].forward_bound;
    if (r.componentwise_errors != nullptr)
      r.componentwise_errors[k] = s.columns[k].componentwise_error;
  }
  r.precision = static_cast<int>(s.precision());
  r.steps = static_cast<int>(s.steps.size());
  r.iterations = 0;
  for (const SolveStep& step : s.steps) r.iterations += step.iterations;
  r.equilibrated = s.equilibrated ? 1 : 0;
  r.condition = s.condition_at_least ? std::numeric_limits<double>::infinity() : s.condition;
  r.forward_bound = largest(s, &SolveColumn::forward_bound);
  r.componentwise_error = largest(s, &SolveColumn::componentwise_error);
  r.backward_error = largest(s, &SolveColumn::backward_error);
  r.hpl_residual = largest(s, &SolveColumn::hpl_residual);
  r.seconds = s.seconds;
  r.doubtful = s.doubt.empty() ? 0 : 1;
  r.accurate = std::ranges::all_of(s.columns, &SolveColumn::accurate) ? 1 : 0;
  r.componentwise_bound = largest(s, &SolveColumn::componentwise_bound);
  r.certified = std::ranges::all_of(s.columns, &SolveColumn::certified) ? 1 : 0;
  r.probe_seed = s.probe_seed;
  std::memcpy(result, &r, size);
}

/// Calls solve() for a Solution, fills `result` and calls keep(solution), which writes x over b.
/// Where an AccuracyError is thrown, `result` is filled too, and x is kept if it is only doubtful.
template <class Solve, class Keep>
void solve_into(const Solve& solve, const Keep& keep, speedwell_result* result) {
  try {
    const Solution solution = solve();
    fill(solution, result);
    keep(solution);
    last_error().words = solution.doubt;
  } catch (const AccuracyError& error) {
    fill(error.best(), result);
    if (is_doubt(error)) keep(error.best());
    throw;
  }
}

using Complex = std::complex<double>;

// What the caller has, real or complex.
Matrix matrix_of(std::int64_t n, const double* a, std::int64_t lda) {
  return Matrix::dense(n, a, lda);
}
Matrix matrix_of(std::int64_t n, const Complex* a, std::int64_t lda) {
  return Matrix::complex_dense(n, a, lda);
}
Matrix matrix_of(const Descriptor& d, const double* a) {
  return Matrix::block_cyclic(d, a);
}
Matrix matrix_of(const Descriptor& d, const Complex* a) {
  return Matrix::complex_block_cyclic(d, a);
}
RightHandSide sides_of(std::int64_t nrhs, const double* b, std::int64_t ldb) {
  return RightHandSide::dense(nrhs, b, ldb);
}
RightHandSide sides_of(std::int64_t nrhs, const Complex* b, std::int64_t ldb) {
  return RightHandSide::complex_dense(nrhs, b, ldb);
}
RightHandSide sides_of(const Descriptor& d, const double* b) {
  return RightHandSide::block_cyclic(d, b);
}
RightHandSide sides_of(const Descriptor& d, const Complex* b) {
  return RightHandSide::complex_block_cyclic(d, b);
}

template <class T>
const T* elements_of(const Solution& s) {
  return reinterpret_cast<const T*>(s.x.data());
}

/// As solve_into(), for x of one process.
template <class T, class Solve>
void solve_over(const Solve& solve, std::int64_t nrhs, T* b, std::int64_t ldb,
                speedwell_result* result) {
  const auto keep = [&](const Solution& s) {
    for (std::int64_t k = 0; k < nrhs; ++k)
      std::copy_n(elements_of<T>(s) + k * s.n, s.n, b + k * ldb);
  };
  solve_into(solve, keep, result);
}

Descriptor descriptor_from(const std::int64_t* d) {
  Descriptor descriptor{};
  std::copy_n(d, descriptor.size(), descriptor.begin());
  return descriptor;
}

/// This rank's local rows (or columns) of a matrix whose first block lies on process `first`.
std::int64_t local_size(std::int64_t size, std::int64_t block, int processes, int me,
                        std::int64_t first) {
  const int from_first = (me - static_cast<int>(first) + processes) % processes;
  return Distribution(size, block, processes, from_first).local_size();
}

/// Calls solve(right-hand side) for a Solution, and writes x over b. Elements of b between the
/// local rows and LLD_ are unchanged.
template <class T, class Solve>
void solve_block_cyclic(const Communicator& all, const Solve& solve, T* b, const Descriptor& d,
                        speedwell_result* result) {
  const auto keep = [&](const Solution& s) {
    const GridShape shape{s.chosen.nprow, s.chosen.npcol, s.chosen.order};
    const GridPosition me = shape.position(all.rank());
    const std::int64_t rows = local_size(d[m_], d[mb], shape.nprow, me.row, d[rsrc]);
    const std::int64_t columns = local_size(d[n_], d[nb_], shape.npcol, me.column, d[csrc]);
    for (std::int64_t k = 0; k < columns; ++k)
      std::copy_n(elements_of<T>(s) + k * d[lld], rows, b + k * d[lld]);
  };
  solve_into([&] { return solve(sides_of(d, b)); }, keep, result);
}

/// The check of an argument `transpose`.
Argument transpose_argument(int transpose) {
  return {transpose >= SPEEDWELL_NO_TRANSPOSE && transpose <= SPEEDWELL_CONJUGATE_TRANSPOSE,
          "transpose",
          "SPEEDWELL_NO_TRANSPOSE, SPEEDWELL_TRANSPOSE or SPEEDWELL_CONJUGATE_TRANSPOSE"};
}
Transpose transpose_of(int value) {
  return value == SPEEDWELL_NO_TRANSPOSE ? Transpose::no
         : value == SPEEDWELL_TRANSPOSE  ? Transpose::yes
                                         : Transpose::conjugate;
}

/// Solves with the factors of speedwell_factor(). Functions of complex numbers have `transpose` as
/// their second argument.
template <class T>
int solve_alone(speedwell_factorization* factors, int transpose, std::int64_t nrhs, T* b,
                std::int64_t ldb, speedwell_result* result) {
  return guarded([&] {
    const std::int64_t n = factors != nullptr ? factors->factors.n() : 0;
    const Argument of_factors{factors != nullptr && factors->all.size() == 1, "factors",
                              "those of one process, not null"};
    const Argument of_nrhs = count_argument<T>(nrhs, n);
    const Argument of_b{nrhs <= 0 || b != nullptr, "b", not_null};
    const Argument of_ldb = leading_argument<T>("ldb", ldb, n, nrhs);
    const Arguments real{of_factors, of_nrhs, of_b, of_ldb, result_argument(result)};
    const Arguments complex{of_factors, transpose_argument(transpose), of_nrhs, of_b,
                            of_ldb,     result_argument(result)};
    const Arguments& arguments = std::is_same_v<T, double> ? real : complex;
    if (const int info = first_wrong(arguments); info != 0) return refuse(info, arguments);
    const auto solve = [&] {
      return factors->factors.solve(sides_of(nrhs, b, ldb), transpose_of(transpose));
    };
    if (nrhs > 0) solve_over(solve, nrhs, b, ldb, result);
    return 0;
  });
}

/// Solves with the factors of speedwell_pfactor().
template <class T>
int solve_together(speedwell_factorization* factors, int transpose, T* b, const std::int64_t* descb,
                   speedwell_result* result) {
  return guarded([&] {
    if (factors == nullptr) return refuse(-1, {{false, "factors", not_null}});
    const Argument of_descriptor{descb != nullptr, "descb", not_null};
    const Arguments real{
        {true, "factors", ""}, {true, "b", ""}, of_descriptor, result_argument(result)};
    const Arguments complex{{true, "factors", ""},
                            transpose_argument(transpose),
                            {true, "b", ""},
                            of_descriptor,
                            result_argument(result)};
    const Arguments& arguments = std::is_same_v<T, double> ? real : complex;
    if (const int info = refuse_together(factors->all, arguments); info != 0) return info;
    const auto solve_for = [&](const RightHandSide& right) {
      return factors->factors.solve(right, transpose_of(transpose));
    };
    solve_block_cyclic(factors->all, solve_for, b, descriptor_from(descb), result);
    return 0;
  });
}

/// b <- x by quick_solve(); false where that leaves the system to others.
template <class T>
bool quickly_solved(std::int64_t n, std::int64_t nrhs, const T* a, std::int64_t lda, T* b,
                    std::int64_t ldb) {
  const int threads = bound_cores();
  if (n > quick_limit(field_of<T>, nrhs, threads)) return false;
  const PlainSystem<T> system{n, a, lda, StorageOrder::column_major, b, nrhs, 1, ldb};
  const auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n * nrhs));
  if (!quick_solve(system, x.get(), threads)) return false;
  for (std::int64_t k = 0; k < nrhs; ++k) std::copy_n(x.get() + k * n, n, b + k * ldb);
  return true;
}

template <class T>
int gesvx(std::int64_t n, std::int64_t nrhs, const T* a, std::int64_t lda, T* b, std::int64_t ldb,
          const speedwell_options* options, speedwell_result* result) {
  return guarded([&] {
    const Arguments arguments{order_argument<T>(n, 0),
                              count_argument<T>(nrhs, n),
                              {n <= 0 || a != nullptr, "a", not_null},
                              leading_argument<T>("lda", lda, n, n),
                              {n <= 0 || nrhs <= 0 || b != nullptr, "b", not_null},
                              leading_argument<T>("ldb", ldb, n, nrhs),
                              options_argument(options),
                              result_argument(result)};
    if (const int info = first_wrong(arguments); info != 0) return refuse(info, arguments);
    if (n == 0 || nrhs == 0) return 0;
    const bool plain = options == nullptr && result == nullptr;
    if (plain && quickly_solved(n, nrhs, a, lda, b, ldb)) return 0;
    const auto solve = [&] {
      return speedwell::solve(matrix_of(n, a, lda), sides_of(nrhs, b, ldb), options_from(options));
    };
    solve_over(solve, nrhs, b, ldb, result);
    return 0;
  });
}

template <class T>
int pgesv(MPI_Comm comm, const T* a, const std::int64_t* desca, T* b, const std::int64_t* descb,
          const speedwell_options* options, speedwell_result* result) {
  return guarded([&] {
    if (comm == MPI_COMM_NULL) return refuse(-1, {{false, "comm", "not MPI_COMM_NULL"}});
    start_mpi();
    const Communicator all = Communicator::duplicate(comm);
    // a and b are not checked here: by its descriptor, a rank may have no part of a matrix.
    const Arguments arguments{{true, "comm", ""},
                              {true, "a", ""},
                              {desca != nullptr, "desca", not_null},
                              {true, "b", ""},
                              {descb != nullptr, "descb", not_null},
                              options_argument(options),
                              result_argument(result)};
    if (const int info = refuse_together(all, arguments); info != 0) return info;
    const auto solve_for = [&](const RightHandSide& right) {
      return solve(comm, matrix_of(descriptor_from(desca), a), right, options_from(options));
    };
    solve_block_cyclic(all, solve_for, b, descriptor_from(descb), result);
    return 0;
  });
}

template <class T>
int factor(std::int64_t n, const T* a, std::int64_t lda, const speedwell_options* options,
           speedwell_factorization** factors) {
  return guarded([&] {
    if (factors != nullptr) *factors = nullptr;
    const Arguments arguments{order_argument<T>(n, 1),
                              {a != nullptr, "a", not_null},
                              leading_argument<T>("lda", lda, n, n),
                              options_argument(options),
                              {factors != nullptr, "factors", not_null}};
    if (const int info = first_wrong(arguments); info != 0) return refuse(info, arguments);
    Factorization made(matrix_of(n, a, lda), options_from(options));
    *factors = new speedwell_factorization{Communicator::duplicate(MPI_COMM_SELF), std::move(made)};
    return 0;
  });
}

template <class T>
int pfactor(MPI_Comm comm, const T* a, const std::int64_t* desca, const speedwell_options* options,
            speedwell_factorization** factors) {
  return guarded([&] {
    if (factors != nullptr) *factors = nullptr;
    if (comm == MPI_COMM_NULL) return refuse(-1, {{false, "comm", "not MPI_COMM_NULL"}});
    start_mpi();
    Communicator all = Communicator::duplicate(comm);
    const Arguments arguments{{true, "comm", ""},
                              {true, "a", ""},
                              {desca != nullptr, "desca", not_null},
                              options_argument(options),
                              {factors != nullptr, "factors", not_null}};
    if (const int info = refuse_together(all, arguments); info != 0) return info;
    Factorization made(comm, matrix_of(descriptor_from(desca), a), options_from(options));
    *factors = new speedwell_factorization{std::move(all), std::move(made)};
    return 0;
  });
}

}  // namespace

}  // namespace speedwell

using namespace speedwell;

void speedwell_result_init(speedwell_result* result, size_t size) {
  if (result == nullptr) return;
  std::memset(result, 0, size);
  result->size = size;
}

int speedwell_dgesv(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b, int64_t ldb) {
  return speedwell_dgesvx(n, nrhs, a, lda, b, ldb, nullptr, nullptr);
}

int speedwell_dgesvx(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b, int64_t ldb,
                     const speedwell_options* options, speedwell_result* result) {
  return gesvx(n, nrhs, a, lda, b, ldb, options, result);
}

int speedwell_pdgesv(MPI_Comm comm, const double* a, const int64_t desca[9], double* b,
                     const int64_t descb[9], const speedwell_options* options,
                     speedwell_result* result) {
  return pgesv(comm, a, desca, b, descb, options, result);
}

int speedwell_factor(int64_t n, const double* a, int64_t lda, const speedwell_options* options,
                     speedwell_factorization** factors) {
  return factor(n, a, lda, options, factors);
}

int speedwell_solve_factored(speedwell_factorization* factors, int64_t nrhs, double* b, int64_t ldb,
                             speedwell_result* result) {
  return solve_alone(factors, SPEEDWELL_NO_TRANSPOSE, nrhs, b, ldb, result);
}

int speedwell_solve_factored_transposed(speedwell_factorization* factors, int64_t nrhs, double* b,
                                        int64_t ldb, speedwell_result* result) {
  return solve_alone(factors, SPEEDWELL_TRANSPOSE, nrhs, b, ldb, result);
}

int speedwell_pfactor(MPI_Comm comm, const double* a, const int64_t desca[9],
                      const speedwell_options* options, speedwell_factorization** factors) {
  return pfactor(comm, a, desca, options, factors);
}

int speedwell_psolve_factored(speedwell_factorization* factors, double* b, const int64_t descb[9],
                              speedwell_result* result) {
  return solve_together(factors, SPEEDWELL_NO_TRANSPOSE, b, descb, result);
}

int speedwell_psolve_factored_transposed(speedwell_factorization* factors, double* b,
                                         const int64_t descb[9], speedwell_result* result) {
  return solve_together(factors, SPEEDWELL_TRANSPOSE, b, descb, result);
}

int speedwell_zgesv(int64_t n, int64_t nrhs, const void* a, int64_t lda, void* b, int64_t ldb) {
  return speedwell_zgesvx(n, nrhs, a, lda, b, ldb, nullptr, nullptr);
}

int speedwell_zgesvx(int64_t n, int64_t nrhs, const void* a, int64_t lda, void* b, int64_t ldb,
                     const speedwell_options* options, speedwell_result* result) {
  return gesvx(n, nrhs, static_cast<const Complex*>(a), lda, static_cast<Complex*>(b), ldb, options,
               result);
}

int speedwell_pzgesv(MPI_Comm comm, const void* a, const int64_t desca[9], void* b,
                     const int64_t descb[9], const speedwell_options* options,
                     speedwell_result* result) {
  return pgesv(comm, static_cast<const Complex*>(a), desca, static_cast<Complex*>(b), descb,
               options, result);
}

int speedwell_zfactor(int64_t n, const void* a, int64_t lda, const speedwell_options* options,
                      speedwell_factorization** factors) {
  return factor(n, static_cast<const Complex*>(a), lda, options, factors);
}

int speedwell_zsolve_factored(speedwell_factorization* factors, int transpose, int64_t nrhs,
                              void* b, int64_t ldb, speedwell_result* result) {
  return solve_alone(factors, transpose, nrhs, static_cast<Complex*>(b), ldb, result);
}

int speedwell_pzfactor(MPI_Comm comm, const void* a, const int64_t desca[9],
                       const speedwell_options* options, speedwell_factorization** factors) {
  return pfactor(comm, static_cast<const Complex*>(a), desca, options, factors);
}

int speedwell_pzsolve_factored(speedwell_factorization* factors, int transpose, void* b,
                               const int64_t descb[9], speedwell_result* result) {
  return solve_together(factors, transpose, static_cast<Complex*>(b), descb, result);
}

void speedwell_free(speedwell_factorization* factors) {
  const Turn turn;
  delete factors;
}

const char* speedwell_last_error(void) {
  return last_error().words.c_str();
}

int speedwell_last_error_rank(void) {
  return last_error().rank;
}

void speedwell_release(void) {
  speedwell::release();
}

const char* speedwell_version(void) {
  return SPEEDWELL_VERSION;
}
