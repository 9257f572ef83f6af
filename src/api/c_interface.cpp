// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <lupine.h>
#include <lupine/lupine.hpp>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "api/c_options.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi_start.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"
#include "revision.hpp"
#include "solve/solver.hpp"

struct lupine_factorization {
  lupine::Communicator all;
  lupine::Factorization factors;
};

namespace lupine {

namespace {

// Indices into a ScaLAPACK descriptor.
enum { dtype, context, m_, n_, mb, nb_, rsrc, csrc, lld };

/// The error of this thread's last call.
struct LastError {
  std::string words;
  int rank = -1;  ///< the only rank with the error; -1: all ranks have it, or there is no error
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

int failed(int info, const char* words, int rank = -1) noexcept {
  last_error().rank = rank;
  try {
    last_error().words = words;
  } catch (...) {
    last_error().words.clear();
  }
  return info;
}

/// Whether the error is a doubt about an x that is solved, as SolveOptions::strict makes it.
bool is_doubt(const AccuracyError& error) {
  return error.best().converged && !error.best().doubt.empty();
}

/// LAPACK's info of a matrix that is singular to working precision.
int info_of_doubt(std::int64_t n) {
  return static_cast<int>(std::min<std::int64_t>(n, INT_MAX - 1)) + 1;
}

/// Runs `work` and returns its info, or that of the exception which it throws. No exception leaves
/// the library.
int guarded(const std::function<int()>& work) noexcept {
  try {
    last_error() = {};
    return work();
  } catch (const SingularError& error) {
    return failed(static_cast<int>(std::min<std::int64_t>(error.pivot(), INT_MAX - 1)) + 1,
                  error.what());
  } catch (const AccuracyError& error) {
    return failed(is_doubt(error) ? info_of_doubt(error.best().n) : LUPINE_NOT_ACCURATE,
                  error.what());
  } catch (const UsageError& error) {
    return failed(LUPINE_NOT_ALLOWED, error.what());
  } catch (const AgreedFault& error) {
    return failed(LUPINE_FAULT, error.what());
  } catch (const Fault& error) {
    return failed(LUPINE_FAULT, error.what(), error.rank());
  } catch (const std::exception& error) {
    return failed(LUPINE_FAULT, error.what());
  } catch (...) {
    return failed(LUPINE_FAULT, "unknown exception");
  }
}

/// An argument of a call, with its check.
struct Argument {
  bool is_allowed;
  const char* name;
  const char* allowed;
};
using Arguments = std::initializer_list<Argument>;

/// 0 if all arguments are allowed; -i if argument i, counted from 1, is the first that is not.
int first_wrong(Arguments arguments) {
  const auto* const wrong = std::find_if(arguments.begin(), arguments.end(),
                                         [](const Argument& one) { return !one.is_allowed; });
  return wrong == arguments.end() ? 0 : -static_cast<int>(wrong - arguments.begin()) - 1;
}

std::string refusal(int info, Arguments arguments) {
  const Argument& wrong = arguments.begin()[-info - 1];
  return fmt::format("argument {}, {}, is not allowed; allowed: {}", -info, wrong.name,
                     wrong.allowed);
}

int refuse(int info, Arguments arguments) {
  return failed(info, refusal(info, arguments).c_str());
}

/// Refuses a call on all ranks if one does, by the smallest first_wrong() of any rank. Returns 0 if
/// none does. Collective.
int refuse_together(const Communicator& all, Arguments arguments) {
  const int mine = first_wrong(arguments);
  const int info = static_cast<int>(all.all_reduce(std::int64_t{mine}, Reduction::min));
  if (info == 0) return 0;
  try {
    agree(all, [&] {
      if (mine == info) throw UsageError(refusal(info, arguments));
    });
  } catch (const UsageError& error) {
    return failed(info, error.what());
  }
  return info;
}

bool leads(std::int64_t ld, std::int64_t n) {
  return ld >= std::max<std::int64_t>(1, n);
}

constexpr const char* from_0 = "0 or more";
constexpr const char* from_n = "max(1, n) or more";
constexpr const char* not_null = "not null";

Argument options_argument(const lupine_options* o) {
  const bool is_allowed = o == nullptr || (o->size > 0 && o->size <= sizeof *o && is_known(*o));
  return {is_allowed, "options", "null, or what lupine_options_init made, with known values"};
}

Argument result_argument(const lupine_result* r) {
  return {r == nullptr || r->size > 0, "result", "null, or what lupine_result_init made"};
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

void fill(const Solution& s, lupine_result* result) {
  if (result == nullptr) return;
  const std::size_t size = std::min(result->size, sizeof *result);
  lupine_result r{};
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
  std::memcpy(result, &r, size);
}

/// Calls solve() for a Solution, fills `result` and calls keep(solution), which writes x over b.
/// Where an AccuracyError is thrown, `result` is filled too, and x is kept if it is only doubtful.
template <class Solve, class Keep>
void solve_into(const Solve& solve, const Keep& keep, lupine_result* result) {
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

/// As solve_into(), for x of one process.
template <class Solve>
void solve_over(const Solve& solve, std::int64_t nrhs, double* b, std::int64_t ldb,
                lupine_result* result) {
  const auto keep = [&](const Solution& s) {
    for (std::int64_t k = 0; k < nrhs; ++k) std::copy_n(s.x.data() + k * s.n, s.n, b + k * ldb);
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
template <class Solve>
void solve_block_cyclic(const Communicator& all, const Solve& solve, double* b, const Descriptor& d,
                        lupine_result* result) {
  const auto keep = [&](const Solution& s) {
    const GridShape shape{s.chosen.nprow, s.chosen.npcol, s.chosen.order};
    const GridPosition me = shape.position(all.rank());
    const std::int64_t rows = local_size(d[m_], d[mb], shape.nprow, me.row, d[rsrc]);
    const std::int64_t columns = local_size(d[n_], d[nb_], shape.npcol, me.column, d[csrc]);
    for (std::int64_t k = 0; k < columns; ++k)
      std::copy_n(s.x.data() + k * d[lld], rows, b + k * d[lld]);
  };
  solve_into([&] { return solve(RightHandSide::block_cyclic(d, b)); }, keep, result);
}

/// Solves with the factors of lupine_factor().
int solve_alone(lupine_factorization* factors, Transpose transpose, std::int64_t nrhs, double* b,
                std::int64_t ldb, lupine_result* result) {
  return guarded([&] {
    const std::int64_t n = factors != nullptr ? factors->factors.n() : 0;
    const Arguments arguments{{factors != nullptr && factors->all.size() == 1, "factors",
                               "those of one process, not null"},
                              {nrhs >= 0, "nrhs", from_0},
                              {nrhs <= 0 || b != nullptr, "b", not_null},
                              {leads(ldb, n), "ldb", from_n},
                              result_argument(result)};
    if (const int info = first_wrong(arguments); info != 0) return refuse(info, arguments);
    const auto solve = [&] {
      return factors->factors.solve(RightHandSide::dense(nrhs, b, ldb), transpose);
    };
    if (nrhs > 0) solve_over(solve, nrhs, b, ldb, result);
    return 0;
  });
}

/// Solves with the factors of lupine_pfactor().
int solve_together(lupine_factorization* factors, Transpose transpose, double* b,
                   const std::int64_t* descb, lupine_result* result) {
  return guarded([&] {
    if (factors == nullptr) return refuse(-1, {{false, "factors", not_null}});
    const Arguments arguments{{true, "factors", ""},
                              {true, "b", ""},
                              {descb != nullptr, "descb", not_null},
                              result_argument(result)};
    if (const int info = refuse_together(factors->all, arguments); info != 0) return info;
    const auto solve_for = [&](const RightHandSide& right) {
      return factors->factors.solve(right, transpose);
    };
    solve_block_cyclic(factors->all, solve_for, b, descriptor_from(descb), result);
    return 0;
  });
}

}  // namespace

}  // namespace lupine

using namespace lupine;

void lupine_result_init(lupine_result* result, size_t size) {
  if (result == nullptr) return;
  std::memset(result, 0, size);
  result->size = size;
}

int lupine_dgesv(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b, int64_t ldb) {
  return lupine_dgesvx(n, nrhs, a, lda, b, ldb, nullptr, nullptr);
}

int lupine_dgesvx(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b, int64_t ldb,
                  const lupine_options* options, lupine_result* result) {
  return guarded([&] {
    const Arguments arguments{{n >= 0, "n", from_0},
                              {nrhs >= 0, "nrhs", from_0},
                              {n <= 0 || a != nullptr, "a", not_null},
                              {leads(lda, n), "lda", from_n},
                              {n <= 0 || nrhs <= 0 || b != nullptr, "b", not_null},
                              {leads(ldb, n), "ldb", from_n},
                              options_argument(options),
                              result_argument(result)};
    if (const int info = first_wrong(arguments); info != 0) return refuse(info, arguments);
    if (n == 0 || nrhs == 0) return 0;
    start_mpi();
    const auto solve = [&] {
      return lupine::solve(MPI_COMM_SELF, Matrix::dense(n, a, lda),
                           RightHandSide::dense(nrhs, b, ldb), options_alone(options), {}, {},
                           result == nullptr ? Seen::warnings : Seen::errors);
    };
    solve_over(solve, nrhs, b, ldb, result);
    return 0;
  });
}

int lupine_pdgesv(MPI_Comm comm, const double* a, const int64_t desca[9], double* b,
                  const int64_t descb[9], const lupine_options* options, lupine_result* result) {
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
      return solve(comm, Matrix::block_cyclic(descriptor_from(desca), a), right,
                   options_from(options));
    };
    solve_block_cyclic(all, solve_for, b, descriptor_from(descb), result);
    return 0;
  });
}

int lupine_factor(int64_t n, const double* a, int64_t lda, const lupine_options* options,
                  lupine_factorization** factors) {
  return guarded([&] {
    if (factors != nullptr) *factors = nullptr;
    const Arguments arguments{{n >= 1, "n", "1 or more"},
                              {a != nullptr, "a", not_null},
                              {leads(lda, n), "lda", from_n},
                              options_argument(options),
                              {factors != nullptr, "factors", not_null}};
    if (const int info = first_wrong(arguments); info != 0) return refuse(info, arguments);
    start_mpi();
    *factors = new lupine_factorization{
        Communicator::duplicate(MPI_COMM_SELF),
        Factorization(MPI_COMM_SELF, Matrix::dense(n, a, lda), options_alone(options))};
    return 0;
  });
}

int lupine_solve_factored(lupine_factorization* factors, int64_t nrhs, double* b, int64_t ldb,
                          lupine_result* result) {
  return solve_alone(factors, Transpose::no, nrhs, b, ldb, result);
}

int lupine_solve_factored_transposed(lupine_factorization* factors, int64_t nrhs, double* b,
                                     int64_t ldb, lupine_result* result) {
  return solve_alone(factors, Transpose::yes, nrhs, b, ldb, result);
}

int lupine_pfactor(MPI_Comm comm, const double* a, const int64_t desca[9],
                   const lupine_options* options, lupine_factorization** factors) {
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
    Factorization made(comm, Matrix::block_cyclic(descriptor_from(desca), a),
                       options_from(options));
    *factors = new lupine_factorization{std::move(all), std::move(made)};
    return 0;
  });
}

int lupine_psolve_factored(lupine_factorization* factors, double* b, const int64_t descb[9],
                           lupine_result* result) {
  return solve_together(factors, Transpose::no, b, descb, result);
}

int lupine_psolve_factored_transposed(lupine_factorization* factors, double* b,
                                      const int64_t descb[9], lupine_result* result) {
  return solve_together(factors, Transpose::yes, b, descb, result);
}

void lupine_free(lupine_factorization* factors) {
  delete factors;
}

const char* lupine_last_error(void) {
  return last_error().words.c_str();
}

int lupine_last_error_rank(void) {
  return last_error().rank;
}

const char* lupine_version(void) {
  return LUPINE_VERSION;
}
