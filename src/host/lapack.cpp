// SPDX-License-Identifier: BSD-3-Clause
#include "host/lapack.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#ifdef SPEEDWELL_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits (see host/blas_library.hpp).
extern "C" {
void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, double* b,
            const int* ldb, int* info);
void zgesv_(const int* n, const int* nrhs, std::complex<double>* a, const int* lda, int* pivots,
            std::complex<double>* b, const int* ldb, int* info);
void zcgesv_(const int* n, const int* nrhs, std::complex<double>* a, const int* lda, int* pivots,
             const std::complex<double>* b, const int* ldb, std::complex<double>* x, const int* ldx,
             std::complex<double>* work, std::complex<float>* swork, double* rwork, int* iterations,
             int* info);
void zgesvx_(const char* fact, const char* trans, const int* n, const int* nrhs,
             std::complex<double>* a, const int* lda, std::complex<double>* af, const int* ldaf,
             int* pivots, char* equed, double* r, double* c, std::complex<double>* b,
             const int* ldb, std::complex<double>* x, const int* ldx, double* rcond, double* ferr,
             double* berr, std::complex<double>* work, double* rwork, int* info,
             std::size_t fact_length, std::size_t trans_length, std::size_t equed_length);
void dsgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, const double* b,
             const int* ldb, double* x, const int* ldx, double* work, float* swork, int* iterations,
             int* info);
// The last three arguments are the lengths of the texts.
void dgesvx_(const char* fact, const char* trans, const int* n, const int* nrhs, double* a,
             const int* lda, double* af, const int* ldaf, int* pivots, char* equed, double* r,
             double* c, double* b, const int* ldb, double* x, const int* ldx, double* rcond,
             double* ferr, double* berr, double* work, int* iwork, int* info,
             std::size_t fact_length, std::size_t trans_length, std::size_t equed_length);
}
#endif

#include <speedwell/error.hpp>

#include "core/expects.hpp"
#include "core/scalar.hpp"
#include "host/blas_library.hpp"

namespace speedwell {

#ifdef SPEEDWELL_WITH_LAPACK

bool has_lapack() {
  return true;
}

namespace {

/// A system in the arguments of LAPACK, which are those of Fortran. T is double or complex double.
template <class T>
struct LapackArguments {
  MatrixView<T> a;
  MatrixView<T> x;  // b before, x after
  std::byte* workspace;
  int n = static_cast<int>(a.rows);
  int rhs = static_cast<int>(x.columns);
  int ld = static_cast<int>(a.ld);
  std::vector<int> pivots = std::vector<int>(static_cast<std::size_t>(a.rows));

  std::size_t size() const { return static_cast<std::size_t>(x.rows * x.columns); }
};

template <class T>
constexpr bool is_real = std::is_same_v<T, double>;

template <class T>
LapackOutcome run_gesv(LapackArguments<T>& s) {
  LapackOutcome outcome;
  const auto call = [&](auto gesv) {
    gesv(&s.n, &s.rhs, s.a.data, &s.ld, s.pivots.data(), s.x.data, &s.n, &outcome.info);
  };
  if constexpr (is_real<T>)
    call(BlasRoutine{"dgesv_", dgesv_});
  else
    call(BlasRoutine{"zgesv_", zgesv_});
  return outcome;
}

template <class T>
LapackOutcome run_mixed(LapackArguments<T>& s) {
  LapackOutcome outcome;
  T* const b = reinterpret_cast<T*>(s.workspace);
  T* const residuals = b + s.size();
  std::copy_n(s.x.data, s.size(), b);
  if constexpr (is_real<T>) {
    BlasRoutine{"dsgesv_", dsgesv_}(
        &s.n, &s.rhs, s.a.data, &s.ld, s.pivots.data(), b, &s.n, s.x.data, &s.n, residuals,
        reinterpret_cast<float*>(residuals + s.size()), &outcome.iterations, &outcome.info);
  } else {
    std::vector<double> norms(s.pivots.size());
    BlasRoutine{"zcgesv_", zcgesv_}(&s.n, &s.rhs, s.a.data, &s.ld, s.pivots.data(), b, &s.n,
                                    s.x.data, &s.n, residuals,
                                    reinterpret_cast<std::complex<float>*>(residuals + s.size()),
                                    norms.data(), &outcome.iterations, &outcome.info);
  }
  return outcome;
}

/// LAPACK's dgesvxx and zgesvxx. The last three arguments are the lengths of the texts.
template <class T>
using Gesvxx = void(const char* fact, const char* trans, const int* n, const int* nrhs, T* a,
                    const int* lda, T* af, const int* ldaf, int* pivots, char* equed, double* r,
                    double* c, T* b, const int* ldb, T* x, const int* ldx, double* rcond,
                    double* growth, double* berr, const int* error_bounds, double* normwise,
                    double* componentwise, const int* parameter_count, double* parameters, T* work,
                    std::conditional_t<is_real<T>, int, double>* more, int* info,
                    std::size_t fact_length, std::size_t trans_length, std::size_t equed_length);

/// Null where the library was built without it.
template <class T>
Gesvxx<T>* gesvxx() {
  const char* const name = is_real<T> ? "dgesvxx_" : "zgesvxx_";
  return blas_routine(name, reinterpret_cast<Gesvxx<T>*>(dlsym(RTLD_DEFAULT, name)));
}

/// dgesvx, or dgesvxx, whose parameters are left at their defaults.
template <class T>
LapackOutcome run_expert(LapackArguments<T>& s, bool extended) {
  LapackOutcome outcome;
  T* const b = reinterpret_cast<T*>(s.workspace);
  T* const factors = b + s.size();
  std::copy_n(s.x.data, s.size(), b);
  const std::size_t n = s.pivots.size();
  const auto rhs = static_cast<std::size_t>(s.rhs);
  std::vector<double> scales(2 * n);
  std::vector<T> work(4 * n);
  std::vector<double> backward(rhs);
  char equed = 'N';
  double* const rows = scales.data();
  double* const columns = rows + n;
  std::vector<std::conditional_t<is_real<T>, int, double>> more(3 * n);
  if (extended) {
    constexpr int two = 2;  // whether it can be trusted, and the bound
    constexpr int none = 0;
    double growth = 0;
    std::vector<double> normwise(two * rhs);
    std::vector<double> componentwise(two * rhs);
    gesvxx<T>()("E", "N", &s.n, &s.rhs, s.a.data, &s.ld, factors, &s.n, s.pivots.data(), &equed,
                rows, columns, b, &s.n, s.x.data, &s.n, &outcome.rcond, &growth, backward.data(),
                &two, normwise.data(), componentwise.data(), &none, nullptr, work.data(),
                more.data(), &outcome.info, 1, 1, 1);
    outcome.forward_bound = *std::max_element(normwise.begin() + s.rhs, normwise.end());
    return outcome;
  }
  std::vector<double> forward(rhs);
  const auto call = [&](auto driver) {
    driver("E", "N", &s.n, &s.rhs, s.a.data, &s.ld, factors, &s.n, s.pivots.data(), &equed, rows,
           columns, b, &s.n, s.x.data, &s.n, &outcome.rcond, forward.data(), backward.data(),
           work.data(), more.data(), &outcome.info, 1, 1, 1);
  };
  if constexpr (is_real<T>)
    call(BlasRoutine{"dgesvx_", dgesvx_});
  else
    call(BlasRoutine{"zgesvx_", zgesvx_});
  outcome.forward_bound = *std::max_element(forward.begin(), forward.end());
  return outcome;
}

}  // namespace

bool has_lapack(LapackDriver driver, Field field) {
  if (driver != LapackDriver::dgesvxx) return true;
  return field == Field::real ? gesvxx<double>() != nullptr
                              : gesvxx<std::complex<double>>() != nullptr;
}

template <class T>
LapackOutcome solve_by_lapack(LapackDriver driver, MatrixView<T> a, MatrixView<T> x,
                              std::span<std::byte> workspace) {
  if (!has_lapack(driver, field_of<T>)) throw Fault("this driver is not in OpenBLAS");
  SPEEDWELL_EXPECTS(a.rows == a.columns && a.rows == x.rows && x.ld == x.rows);
  SPEEDWELL_EXPECTS(std::max(x.rows, x.columns) < std::int64_t{1} << 31);
  SPEEDWELL_EXPECTS(std::ssize(workspace) >=
                    lapack_workspace(driver, x.rows, x.columns) * parts_of(field_of<T>));
  LapackArguments<T> system{.a = a, .x = x, .workspace = workspace.data()};
  switch (driver) {
    case LapackDriver::dgesv:
      return run_gesv(system);
    case LapackDriver::dsgesv:
      return run_mixed(system);
    case LapackDriver::dgesvx:
    case LapackDriver::dgesvxx:
      return run_expert(system, driver == LapackDriver::dgesvxx);
  }
  return {};
}

#else

bool has_lapack() {
  return false;
}
bool has_lapack(LapackDriver, Field) {
  return false;
}
template <class T>
LapackOutcome solve_by_lapack(LapackDriver, MatrixView<T>, MatrixView<T>, std::span<std::byte>) {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

template LapackOutcome solve_by_lapack(LapackDriver, MatrixView<double>, MatrixView<double>,
                                       std::span<std::byte>);
template LapackOutcome solve_by_lapack(LapackDriver, MatrixView<std::complex<double>>,
                                       MatrixView<std::complex<double>>, std::span<std::byte>);

}  // namespace speedwell
