// SPDX-License-Identifier: BSD-3-Clause
#include "host/lapack_expert.hpp"

#include <lupine/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/expects.hpp"
#include "host/blas_library.hpp"

#ifdef LUPINE_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits. The last arguments are the lengths of
// the texts. `second` is the second workspace: integers for real matrices, doubles for complex
// ones.
namespace {
using Complex = std::complex<double>;
using Size = std::size_t;
}  // namespace
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define LUPINE_EXPERTS(letter, T, Second)                                                          \
  void letter##gesvx_(const char* fact, const char* trans, const int* n, const int* rhs, T* a,     \
                      const int* lda, T* af, const int* ldaf, int* pivots, char* equed, double* r, \
                      double* c, T* b, const int* ldb, T* x, const int* ldx, double* rcond,        \
                      double* ferr, double* berr, T* work, Second* second, int* info, Size, Size,  \
                      Size);                                                                       \
  void letter##sysvx_(const char* fact, const char* uplo, const int* n, const int* rhs,            \
                      const T* a, const int* lda, T* af, const int* ldaf, int* pivots, const T* b, \
                      const int* ldb, T* x, const int* ldx, double* rcond, double* ferr,           \
                      double* berr, T* work, const int* lwork, Second* second, int* info, Size,    \
                      Size);                                                                       \
  void letter##posvx_(const char* fact, const char* uplo, const int* n, const int* rhs, T* a,      \
                      const int* lda, T* af, const int* ldaf, char* equed, double* s, T* b,        \
                      const int* ldb, T* x, const int* ldx, double* rcond, double* ferr,           \
                      double* berr, T* work, Second* second, int* info, Size, Size, Size);         \
  void letter##gbsvx_(const char* fact, const char* trans, const int* n, const int* kl,            \
                      const int* ku, const int* rhs, T* ab, const int* ldab, T* afb,               \
                      const int* ldafb, int* pivots, char* equed, double* r, double* c, T* b,      \
                      const int* ldb, T* x, const int* ldx, double* rcond, double* ferr,           \
                      double* berr, T* work, Second* second, int* info, Size, Size, Size);         \
  void letter##trtrs_(const char* uplo, const char* trans, const char* diag, const int* n,         \
                      const int* rhs, const T* a, const int* lda, T* b, const int* ldb, int* info, \
                      Size, Size, Size);                                                           \
  void letter##trcon_(const char* norm, const char* uplo, const char* diag, const int* n,          \
                      const T* a, const int* lda, double* rcond, T* work, Second* second,          \
                      int* info, Size, Size, Size);                                                \
  void letter##trrfs_(const char* uplo, const char* trans, const char* diag, const int* n,         \
                      const int* rhs, const T* a, const int* lda, const T* b, const int* ldb,      \
                      const T* x, const int* ldx, double* ferr, double* berr, T* work,             \
                      Second* second, int* info, Size, Size, Size);
// NOLINTEND(bugprone-macro-parentheses)
extern "C" {
LUPINE_EXPERTS(d, double, int)
LUPINE_EXPERTS(z, Complex, double)
void zhesvx_(const char* fact, const char* uplo, const int* n, const int* rhs, const Complex* a,
             const int* lda, Complex* af, const int* ldaf, int* pivots, const Complex* b,
             const int* ldb, Complex* x, const int* ldx, double* rcond, double* ferr, double* berr,
             Complex* work, const int* lwork, double* second, int* info, Size, Size);
}
#undef LUPINE_EXPERTS
#endif

namespace lupine {

#ifdef LUPINE_WITH_LAPACK

namespace {

template <class T>
struct Routines;
template <>
struct Routines<double> {
  using Second = int;
  static constexpr BlasRoutine gesvx{"dgesvx_", dgesvx_};
  static constexpr BlasRoutine sysvx{"dsysvx_", dsysvx_};
  static constexpr BlasRoutine hesvx{"dsysvx_", dsysvx_};
  static constexpr BlasRoutine posvx{"dposvx_", dposvx_};
  static constexpr BlasRoutine gbsvx{"dgbsvx_", dgbsvx_};
  static constexpr BlasRoutine trtrs{"dtrtrs_", dtrtrs_};
  static constexpr BlasRoutine trcon{"dtrcon_", dtrcon_};
  static constexpr BlasRoutine trrfs{"dtrrfs_", dtrrfs_};
};
template <>
struct Routines<std::complex<double>> {
  using Second = double;
  static constexpr BlasRoutine gesvx{"zgesvx_", zgesvx_};
  static constexpr BlasRoutine sysvx{"zsysvx_", zsysvx_};
  static constexpr BlasRoutine hesvx{"zhesvx_", zhesvx_};
  static constexpr BlasRoutine posvx{"zposvx_", zposvx_};
  static constexpr BlasRoutine gbsvx{"zgbsvx_", zgbsvx_};
  static constexpr BlasRoutine trtrs{"ztrtrs_", ztrtrs_};
  static constexpr BlasRoutine trcon{"ztrcon_", ztrcon_};
  static constexpr BlasRoutine trrfs{"ztrrfs_", ztrrfs_};
};

std::size_t size_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// A system in the arguments of LAPACK.
template <class T>
class ExpertCall {
 public:
  ExpertCall(const ExpertOptions& options, MatrixView<T> a, MatrixView<T> b, MatrixView<T> x)
      : options_(options), a_(a), b_(b), x_(x) {
    outcome_.forward.resize(size_of(rhs_));
    outcome_.backward.resize(size_of(rhs_));
  }

  ExpertOutcome run() {
    switch (options_.form) {
      case MatrixForm::general:
        general();
        break;
      case MatrixForm::symmetric:
        indefinite(Routines<T>::sysvx);
        break;
      case MatrixForm::hermitian:
        indefinite(Routines<T>::hesvx);
        break;
      case MatrixForm::positive_definite:
        positive_definite();
        break;
      case MatrixForm::banded:
        banded();
        break;
      case MatrixForm::upper_triangular:
      case MatrixForm::lower_triangular:
        triangular();
        break;
    }
    return std::move(outcome_);
  }

 private:
  using Second = typename Routines<T>::Second;

  void general() {
    std::vector<T> factors(n() * n());
    Routines<T>::gesvx("E", trans_, &n_, &rhs_, a_.data, &lda_, factors.data(), &n_, pivots_.data(),
                       &equed_, rows_.data(), columns_.data(), b_.data, &ldb_, x_.data, &ldx_,
                       &outcome_.rcond, forward(), backward(), work_.data(), second_.data(),
                       &outcome_.info, 1, 1, 1);
  }

  template <class Driver>
  void indefinite(Driver driver) {
    std::vector<T> factors(n() * n());
    const auto work_size = static_cast<int>(work_.size());
    driver("N", uplo_, &n_, &rhs_, a_.data, &lda_, factors.data(), &n_, pivots_.data(), b_.data,
           &ldb_, x_.data, &ldx_, &outcome_.rcond, forward(), backward(), work_.data(), &work_size,
           second_.data(), &outcome_.info, 1, 1);
  }

  void positive_definite() {
    std::vector<T> factors(n() * n());
    Routines<T>::posvx("E", uplo_, &n_, &rhs_, a_.data, &lda_, factors.data(), &n_, &equed_,
                       rows_.data(), b_.data, &ldb_, x_.data, &ldx_, &outcome_.rcond, forward(),
                       backward(), work_.data(), second_.data(), &outcome_.info, 1, 1, 1);
  }

  void banded() {
    const int kl = options_.below;
    const int ku = options_.above;
    const int height = kl + ku + 1;
    const int factor_height = height + kl;
    std::vector<T> bands(size_of(height) * n());
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = std::max<std::int64_t>(j - ku, 0);
           i <= std::min<std::int64_t>(j + kl, n_ - 1); ++i)
        bands[size_of(ku + i - j + j * height)] = a_(i, j);
    std::vector<T> factors(size_of(factor_height) * n());
    Routines<T>::gbsvx("E", trans_, &n_, &kl, &ku, &rhs_, bands.data(), &height, factors.data(),
                       &factor_height, pivots_.data(), &equed_, rows_.data(), columns_.data(),
                       b_.data, &ldb_, x_.data, &ldx_, &outcome_.rcond, forward(), backward(),
                       work_.data(), second_.data(), &outcome_.info, 1, 1, 1);
  }

  void triangular() {
    const char* uplo = options_.form == MatrixForm::lower_triangular ? "L" : "U";
    for (std::int64_t j = 0; j < rhs_; ++j) std::copy_n(b_.column(j), n(), x_.column(j));
    Routines<T>::trtrs(uplo, trans_, "N", &n_, &rhs_, a_.data, &lda_, x_.data, &ldx_,
                       &outcome_.info, 1, 1, 1);
    if (outcome_.info != 0) return;
    int info = 0;
    Routines<T>::trcon(transposed() ? "I" : "1", uplo, "N", &n_, a_.data, &lda_, &outcome_.rcond,
                       work_.data(), second_.data(), &info, 1, 1, 1);
    Routines<T>::trrfs(uplo, trans_, "N", &n_, &rhs_, a_.data, &lda_, b_.data, &ldb_, x_.data,
                       &ldx_, forward(), backward(), work_.data(), second_.data(), &info, 1, 1, 1);
  }

  bool transposed() const { return options_.transpose == Transpose::yes; }
  std::size_t n() const { return size_of(n_); }
  double* forward() { return outcome_.forward.data(); }
  double* backward() { return outcome_.backward.data(); }

  ExpertOptions options_;
  MatrixView<T> a_;
  MatrixView<T> b_;
  MatrixView<T> x_;
  ExpertOutcome outcome_;
  int n_ = static_cast<int>(a_.rows);
  int rhs_ = static_cast<int>(x_.columns);
  int lda_ = static_cast<int>(std::max<std::int64_t>(a_.ld, 1));
  int ldb_ = static_cast<int>(std::max<std::int64_t>(b_.ld, 1));
  int ldx_ = static_cast<int>(std::max<std::int64_t>(x_.ld, 1));
  const char* trans_ = transposed() ? "T" : "N";
  const char* uplo_ = options_.lower ? "L" : "U";
  char equed_ = 'N';
  std::vector<int> pivots_ = std::vector<int>(size_of(a_.rows));
  std::vector<double> rows_ = std::vector<double>(size_of(a_.rows));
  std::vector<double> columns_ = std::vector<double>(size_of(a_.rows));
  std::vector<T> work_ = std::vector<T>(4 * size_of(a_.rows));
  std::vector<Second> second_ = std::vector<Second>(2 * size_of(a_.rows));
};

}  // namespace

template <class T>
ExpertOutcome solve_by_expert(const ExpertOptions& options, MatrixView<T> a, MatrixView<T> b,
                              MatrixView<T> x) {
  LUPINE_EXPECTS(a.rows == a.columns && b.rows == a.rows && x.rows == a.rows);
  LUPINE_EXPECTS(b.columns == x.columns);
  LUPINE_EXPECTS(std::max(x.rows, x.columns) < std::int64_t{1} << 31);
  LUPINE_EXPECTS(options.below >= 0 && options.above >= 0);
  LUPINE_EXPECTS(std::max(options.below, options.above) < std::max<std::int64_t>(a.rows, 1));
  if (x.empty()) return {.rcond = 1};
  return ExpertCall<T>(options, a, b, x).run();
}

#else

template <class T>
ExpertOutcome solve_by_expert(const ExpertOptions&, MatrixView<T>, MatrixView<T>, MatrixView<T>) {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

template ExpertOutcome solve_by_expert(const ExpertOptions&, MatrixView<double>, MatrixView<double>,
                                       MatrixView<double>);
template ExpertOutcome solve_by_expert(const ExpertOptions&, MatrixView<std::complex<double>>,
                                       MatrixView<std::complex<double>>,
                                       MatrixView<std::complex<double>>);

}  // namespace lupine
