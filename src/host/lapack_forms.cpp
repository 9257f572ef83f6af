// SPDX-License-Identifier: BSD-3-Clause
#include "host/lapack_forms.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <optional>

#include "core/expects.hpp"
#include "host/blas_library.hpp"
#include "host/lapack_lu.hpp"
#include "host/thread_scope.hpp"

#ifdef SPEEDWELL_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits. The last arguments are the lengths of
// the texts.
namespace {
using Complex = std::complex<double>;
using Size = std::size_t;
}  // namespace
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define SPEEDWELL_SYMMETRIC(trf, trs, T)                                               \
  void trf(const char* uplo, const int* n, T* a, const int* lda, int* pivots, T* work, \
           const int* size, int* info, Size);                                          \
  void trs(const char* uplo, const int* n, const int* rhs, const T* a, const int* lda, \
           const int* pivots, T* b, const int* ldb, int* info, Size);
#define SPEEDWELL_FORMS(letter, T)                                                                 \
  SPEEDWELL_SYMMETRIC(letter##sytrf_, letter##sytrs_, T)                                           \
  void letter##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info, Size);      \
  void letter##potrs_(const char* uplo, const int* n, const int* rhs, const T* a, const int* lda,  \
                      T* b, const int* ldb, int* info, Size);                                      \
  void letter##gbtrf_(const int* m, const int* n, const int* kl, const int* ku, T* ab,             \
                      const int* ldab, int* pivots, int* info);                                    \
  void letter##gbtrs_(const char* trans, const int* n, const int* kl, const int* ku,               \
                      const int* rhs, const T* ab, const int* ldab, const int* pivots, T* b,       \
                      const int* ldb, int* info, Size);                                            \
  void letter##trtrs_(const char* uplo, const char* trans, const char* diag, const int* n,         \
                      const int* rhs, const T* a, const int* lda, T* b, const int* ldb, int* info, \
                      Size, Size, Size);
// NOLINTEND(bugprone-macro-parentheses)
extern "C" {
SPEEDWELL_FORMS(d, double)
SPEEDWELL_FORMS(z, Complex)
SPEEDWELL_SYMMETRIC(zhetrf_, zhetrs_, Complex)
}
#undef SPEEDWELL_FORMS
#undef SPEEDWELL_SYMMETRIC
#endif

namespace speedwell {

#ifdef SPEEDWELL_WITH_LAPACK

namespace {

template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr BlasRoutine sytrf{"dsytrf_", dsytrf_};
  static constexpr BlasRoutine sytrs{"dsytrs_", dsytrs_};
  static constexpr BlasRoutine hetrf{"dsytrf_", dsytrf_};
  static constexpr BlasRoutine hetrs{"dsytrs_", dsytrs_};
  static constexpr BlasRoutine potrf{"dpotrf_", dpotrf_};
  static constexpr BlasRoutine potrs{"dpotrs_", dpotrs_};
  static constexpr BlasRoutine gbtrf{"dgbtrf_", dgbtrf_};
  static constexpr BlasRoutine gbtrs{"dgbtrs_", dgbtrs_};
  static constexpr BlasRoutine trtrs{"dtrtrs_", dtrtrs_};
};
template <>
struct Routines<std::complex<double>> {
  static constexpr BlasRoutine sytrf{"zsytrf_", zsytrf_};
  static constexpr BlasRoutine sytrs{"zsytrs_", zsytrs_};
  static constexpr BlasRoutine hetrf{"zhetrf_", zhetrf_};
  static constexpr BlasRoutine hetrs{"zhetrs_", zhetrs_};
  static constexpr BlasRoutine potrf{"zpotrf_", zpotrf_};
  static constexpr BlasRoutine potrs{"zpotrs_", zpotrs_};
  static constexpr BlasRoutine gbtrf{"zgbtrf_", zgbtrf_};
  static constexpr BlasRoutine gbtrs{"zgbtrs_", zgbtrs_};
  static constexpr BlasRoutine trtrs{"ztrtrs_", ztrtrs_};
};

std::size_t size_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}
int integer(std::int64_t n) {
  return static_cast<int>(n);
}
const char* uplo_of(const FormOptions& options) {
  return options.lower ? "L" : "U";
}

}  // namespace

template <class T>
FormFactors<T>::FormFactors(const FormOptions& options, MatrixView<const T> a)
    : options_(options), a_(a) {
  SPEEDWELL_EXPECTS(a.rows == a.columns && a.rows < std::int64_t{1} << 31);
  SPEEDWELL_EXPECTS(options.below >= 0 && options.above >= 0 &&
                    std::max(options.below, options.above) < std::max<std::int64_t>(a.rows, 1));
  if (options.form == MatrixForm::banded)
    factor_bands();
  else if (options.form != MatrixForm::upper_triangular &&
           options.form != MatrixForm::lower_triangular)
    factor();
}

template <class T>
void FormFactors<T>::factor() {
  const int n = integer(a_.rows);
  const int ld = std::max(n, 1);
  factors_.resize(size_of(a_.rows * a_.rows));
  for (std::int64_t j = 0; j < a_.columns; ++j)
    std::copy_n(a_.column(j), a_.rows, factors_.data() + j * a_.rows);
  const char* uplo = uplo_of(options_);
  if (options_.form == MatrixForm::positive_definite)
    return Routines<T>::potrf(uplo, &n, factors_.data(), &ld, &info_, 1);
  pivots_.resize(size_of(a_.rows));
  if (options_.form == MatrixForm::general) {
    info_ =
        integer(factor_by_lapack<T>({factors_.data(), a_.rows, a_.columns, a_.rows}, pivots_) + 1);
    return;
  }
  const auto call = [&](const auto& routine, T* work, int size) {
    routine(uplo, &n, factors_.data(), &ld, pivots_.data(), work, &size, &info_, 1);
  };
  // Its products with vectors are too small for several threads to meet.
  constexpr std::int64_t by_one_thread = 1000;
  std::optional<ThreadScope> one;
  if (a_.rows <= by_one_thread) one.emplace(1);
  const auto with_work = [&](const auto& routine) {
    T wanted{};
    call(routine, &wanted, -1);
    std::vector<T> work(size_of(std::max<std::int64_t>(std::int64_t(std::real(wanted)), 1)));
    call(routine, work.data(), integer(std::ssize(work)));
  };
  options_.form == MatrixForm::symmetric ? with_work(Routines<T>::sytrf)
                                         : with_work(Routines<T>::hetrf);
}

// gbtrf keeps the bands of A under `below` further ones, which pivoting fills.
template <class T>
void FormFactors<T>::factor_bands() {
  const int n = integer(a_.rows);
  const int kl = integer(options_.below);
  const int ku = integer(options_.above);
  const int height = 2 * kl + ku + 1;
  factors_.resize(size_of(std::int64_t{height} * n));
  pivots_.resize(size_of(n));
  for (int j = 0; j < n; ++j) {
    const int first = std::max(j - ku, 0);
    const int last = std::min(j + kl, n - 1);
    std::copy(a_.column(j) + first, a_.column(j) + last + 1,
              factors_.data() + std::int64_t{j} * height + (kl + ku + first - j));
  }
  Routines<T>::gbtrf(&n, &n, &kl, &ku, factors_.data(), &height, pivots_.data(), &info_);
}

template <class T>
void FormFactors<T>::solve(MatrixView<T> x) const {
  SPEEDWELL_EXPECTS(info_ == 0 && x.rows == a_.rows && x.columns < std::int64_t{1} << 31);
  if (x.empty()) return;
  const int n = integer(x.rows);
  const int count = integer(x.columns);
  const int ld = n;
  const int lda = integer(a_.ld);
  const int ldx = integer(x.ld);
  const char* uplo = uplo_of(options_);
  int info = 0;
  switch (options_.form) {
    case MatrixForm::general:
      SPEEDWELL_EXPECTS(x.ld == x.rows);
      return solve_by_lapack<T>(Transpose::no, {factors_.data(), x.rows, x.rows, x.rows}, pivots_,
                                {x.data, size_of(x.rows * x.columns)});
    case MatrixForm::symmetric:
      return Routines<T>::sytrs(uplo, &n, &count, factors_.data(), &ld, pivots_.data(), x.data,
                                &ldx, &info, 1);
    case MatrixForm::hermitian:
      return Routines<T>::hetrs(uplo, &n, &count, factors_.data(), &ld, pivots_.data(), x.data,
                                &ldx, &info, 1);
    case MatrixForm::positive_definite:
      return Routines<T>::potrs(uplo, &n, &count, factors_.data(), &ld, x.data, &ldx, &info, 1);
    case MatrixForm::banded: {
      const int kl = integer(options_.below);
      const int ku = integer(options_.above);
      const int height = 2 * kl + ku + 1;
      return Routines<T>::gbtrs("N", &n, &kl, &ku, &count, factors_.data(), &height, pivots_.data(),
                                x.data, &ldx, &info, 1);
    }
    case MatrixForm::upper_triangular:
    case MatrixForm::lower_triangular:
      return Routines<T>::trtrs(options_.form == MatrixForm::lower_triangular ? "L" : "U", "N", "N",
                                &n, &count, a_.data, &lda, x.data, &ldx, &info, 1, 1, 1);
  }
}

#else

template <class T>
FormFactors<T>::FormFactors(const FormOptions&, MatrixView<const T>) {
  throw Fault("OpenBLAS was built without LAPACK");
}
template <class T>
void FormFactors<T>::solve(MatrixView<T>) const {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

template class FormFactors<double>;
template class FormFactors<std::complex<double>>;

}  // namespace speedwell
