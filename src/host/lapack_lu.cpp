// SPDX-License-Identifier: BSD-3-Clause
#include "host/lapack_lu.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include <cblas.h>
#include <pthread.h>

#include <speedwell/error.hpp>

#include "core/expects.hpp"
#include "core/scalar.hpp"
#include "host/blas_library.hpp"
#include "host/limited_space.hpp"

#ifdef SPEEDWELL_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits (see host/blas_library.hpp). The last
// argument of getrs is the length of `transpose`, which Fortran passes by value.
template <class T>
using Getrf = void(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
template <class T>
using Getrs = void(const char* transpose, const int* n, const int* nrhs, const T* a, const int* lda,
                   const int* pivots, T* b, const int* ldb, int* info, std::size_t length);
extern "C" {
Getrf<float> sgetrf_;
Getrf<double> dgetrf_;
Getrf<std::complex<float>> cgetrf_;
Getrf<std::complex<double>> zgetrf_;
Getrs<float> sgetrs_;
Getrs<double> dgetrs_;
Getrs<std::complex<float>> cgetrs_;
Getrs<std::complex<double>> zgetrs_;
}
#endif

namespace speedwell {

namespace {

LapackRoutines& shared_routines() {
  static LapackRoutines routines;
  return routines;
}

// Held while one of them runs. An OpenBLAS with threads of its own ends them before a fork(), which
// waits for ever for one that has work at that moment; so a fork() waits for the routine instead.
std::mutex& running() {
  static std::mutex mutex;
  return mutex;
}

void keep_from_forks() {
  pthread_atfork([] { running().lock(); }, [] { running().unlock(); },
                 [] {
                   shared_routines().threads = nullptr;
                   running().unlock();
                 });
}

const LapackRoutines*& of_products() {
  thread_local const LapackRoutines* routines = nullptr;
  return routines;
}

// The place of a type in LapackRoutines.
template <class T>
constexpr std::size_t place = (field_of<T> == Field::complex ? 2 : 0) +
                              (sizeof(T) / static_cast<std::size_t>(parts_of(field_of<T>)) / 8);

}  // namespace

void share_lapack(const LapackRoutines& routines) {
  shared_routines() = routines;
  static std::once_flag kept;
  std::call_once(kept, keep_from_forks);
}
const LapackRoutines* shared_lapack(int threads) {
  if (is_other_blas()) return nullptr;
  const LapackRoutines& routines = shared_routines();
  const bool is_usable =
      routines.threads != nullptr && routines.threads() == threads && !is_space_limited();
  return is_usable ? &routines : nullptr;
}

SharedProducts::SharedProducts(const LapackRoutines* routines)
    : before_(std::exchange(of_products(), routines)) {}
SharedProducts::~SharedProducts() {
  of_products() = before_;
}

template <class T>
bool add_shared_product(T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c,
                        Transpose transpose) {
  SPEEDWELL_EXPECTS(!c.empty());
  const LapackRoutines* const shared = of_products();
  if (shared == nullptr) return false;
  using Integer = std::int64_t;
  using Gemm = void (*)(const char*, const char*, const Integer*, const Integer*, const Integer*,
                        const T*, const T*, const Integer*, const T*, const Integer*, const T*, T*,
                        const Integer*, std::size_t, std::size_t);
  const char form = transpose == Transpose::yes ? 'T' : 'N';
  const char plain = 'N';
  const T one = 1;
  const std::lock_guard lock(running());
  reinterpret_cast<Gemm>(shared->gemm[place<T>])(&form, &plain, &c.rows, &c.columns, &b.rows,
                                                 &alpha, a.data, &a.ld, b.data, &b.ld, &one, c.data,
                                                 &c.ld, std::size_t{1}, std::size_t{1});
  return true;
}
template bool add_shared_product(float, MatrixView<const float>, MatrixView<const float>,
                                 MatrixView<float>, Transpose);
template bool add_shared_product(double, MatrixView<const double>, MatrixView<const double>,
                                 MatrixView<double>, Transpose);
template bool add_shared_product(std::complex<float>, MatrixView<const std::complex<float>>,
                                 MatrixView<const std::complex<float>>,
                                 MatrixView<std::complex<float>>, Transpose);
template bool add_shared_product(std::complex<double>, MatrixView<const std::complex<double>>,
                                 MatrixView<const std::complex<double>>,
                                 MatrixView<std::complex<double>>, Transpose);

#ifdef SPEEDWELL_WITH_LAPACK

namespace {

// The linked routines.
template <class T>
struct Linked;
template <>
struct Linked<float> {
  static constexpr BlasRoutine getrf{"sgetrf_", sgetrf_};
  static constexpr BlasRoutine getrs{"sgetrs_", sgetrs_};
};
template <>
struct Linked<double> {
  static constexpr BlasRoutine getrf{"dgetrf_", dgetrf_};
  static constexpr BlasRoutine getrs{"dgetrs_", dgetrs_};
};
template <>
struct Linked<std::complex<float>> {
  static constexpr BlasRoutine getrf{"cgetrf_", cgetrf_};
  static constexpr BlasRoutine getrs{"cgetrs_", cgetrs_};
  static constexpr BlasRoutine trsv{"cblas_ctrsv", cblas_ctrsv};
};
template <>
struct Linked<std::complex<double>> {
  static constexpr BlasRoutine getrf{"zgetrf_", zgetrf_};
  static constexpr BlasRoutine getrs{"zgetrs_", zgetrs_};
  static constexpr BlasRoutine trsv{"cblas_ztrsv", cblas_ztrsv};
};

// The shared routines, with integers of 64 bits.
template <class T>
std::int64_t factor_by(const LapackRoutines& shared, MatrixView<T> a, std::span<int> pivots) {
  using Integer = std::int64_t;
  using Shared = void (*)(const Integer*, const Integer*, T*, const Integer*, Integer*, Integer*);
  const auto call = reinterpret_cast<Shared>(shared.getrf[place<T>]);
  std::vector<Integer> rows(pivots.size());
  Integer info = 0;
  const std::lock_guard lock(running());
  call(&a.rows, &a.columns, a.data, &a.ld, rows.data(), &info);
  std::ranges::transform(rows, pivots.begin(), [](Integer row) { return static_cast<int>(row); });
  return info - 1;
}
template <class T>
void solve_by(const LapackRoutines& shared, char form, MatrixView<const T> lu,
              std::span<const int> pivots, std::span<T> x) {
  using Integer = std::int64_t;
  using Shared = void (*)(const char*, const Integer*, const Integer*, const T*, const Integer*,
                          const Integer*, T*, const Integer*, Integer*, std::size_t);
  const auto call = reinterpret_cast<Shared>(shared.getrs[place<T>]);
  const std::vector<Integer> rows(pivots.begin(), pivots.end());
  const Integer count = std::ssize(x) / lu.rows;
  Integer info = 0;
  const std::lock_guard lock(running());
  call(&form, &lu.rows, &count, lu.data, &lu.ld, rows.data(), x.data(), &lu.rows, &info,
       std::size_t{1});
}

}  // namespace

template <class T>
std::int64_t factor_by_lapack(MatrixView<T> a, std::span<int> pivots,
                              const LapackRoutines* shared) {
  SPEEDWELL_EXPECTS(a.rows >= a.columns && a.columns == std::ssize(pivots) &&
                    a.rows < std::int64_t{1} << 31);
  if (shared != nullptr) return factor_by(*shared, a, pivots);
  const int m = static_cast<int>(a.rows);
  const int n = static_cast<int>(a.columns);
  const int ld = static_cast<int>(a.ld);
  int info = 0;
  Linked<T>::getrf(&m, &n, a.data, &ld, pivots.data(), &info);
  return info - 1;
}

// OpenBLAS's zgetrs packs the factors for one vector too, which takes longer than solving.
template <class T>
void solve_one_by_one(Transpose transpose, MatrixView<const T> lu, std::span<const int> pivots,
                      std::span<T> x) {
  const CBLAS_TRANSPOSE form = transpose == Transpose::no    ? CblasNoTrans
                               : transpose == Transpose::yes ? CblasTrans
                                                             : CblasConjTrans;
  const int n = static_cast<int>(lu.rows);
  const int ld = static_cast<int>(lu.ld);
  const auto solve = [&](CBLAS_UPLO triangle, CBLAS_DIAG diagonal, T* v) {
    Linked<T>::trsv(CblasColMajor, triangle, form, diagonal, n, lu.data, ld, v, 1);
  };
  for (T* v = x.data(); v != x.data() + x.size(); v += n) {
    const auto exchange = [&](std::size_t i) {
      std::swap(v[i], v[static_cast<std::size_t>(pivots[i] - 1)]);
    };
    if (transpose == Transpose::no) {
      for (std::size_t i = 0; i < pivots.size(); ++i) exchange(i);
      solve(CblasLower, CblasUnit, v);
      solve(CblasUpper, CblasNonUnit, v);
    } else {
      solve(CblasUpper, CblasNonUnit, v);
      solve(CblasLower, CblasUnit, v);
      for (std::size_t i = pivots.size(); i-- > 0;) exchange(i);
    }
  }
}

template <class T>
void solve_by_lapack(Transpose transpose, MatrixView<const T> lu, std::span<const int> pivots,
                     std::span<T> x, const LapackRoutines* shared) {
  SPEEDWELL_EXPECTS(lu.rows == lu.columns && lu.rows == std::ssize(pivots) &&
                    (lu.rows == 0 ? x.empty() : std::ssize(x) % lu.rows == 0));
  if (x.empty()) return;
  constexpr int few = 3;
  if constexpr (field_of<T> == Field::complex)
    if (std::ssize(x) <= few * lu.rows) return solve_one_by_one<T>(transpose, lu, pivots, x);
  const char form = transpose == Transpose::no ? 'N' : transpose == Transpose::yes ? 'T' : 'C';
  if (shared != nullptr) return solve_by(*shared, form, lu, pivots, x);
  const int n = static_cast<int>(lu.rows);
  const int ld = static_cast<int>(lu.ld);
  const int count = static_cast<int>(std::ssize(x) / lu.rows);
  // OpenBLAS packs the factors for several vectors, which takes longer than solving for each.
  const int together = count <= few ? 1 : count;
  int info = 0;
  for (int k = 0; k < count; k += together)
    Linked<T>::getrs(&form, &n, &together, lu.data, &ld, pivots.data(),
                     x.data() + std::ptrdiff_t{k} * n, &n, &info, std::size_t{1});
}

#else

template <class T>
std::int64_t factor_by_lapack(MatrixView<T>, std::span<int>, const LapackRoutines*) {
  throw Fault("OpenBLAS was built without LAPACK");
}
template <class T>
void solve_by_lapack(Transpose, MatrixView<const T>, std::span<const int>, std::span<T>,
                     const LapackRoutines*) {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

template std::int64_t factor_by_lapack(MatrixView<float>, std::span<int>, const LapackRoutines*);
template std::int64_t factor_by_lapack(MatrixView<double>, std::span<int>, const LapackRoutines*);
template std::int64_t factor_by_lapack(MatrixView<std::complex<float>>, std::span<int>,
                                       const LapackRoutines*);
template std::int64_t factor_by_lapack(MatrixView<std::complex<double>>, std::span<int>,
                                       const LapackRoutines*);
template void solve_by_lapack(Transpose, MatrixView<const float>, std::span<const int>,
                              std::span<float>, const LapackRoutines*);
template void solve_by_lapack(Transpose, MatrixView<const double>, std::span<const int>,
                              std::span<double>, const LapackRoutines*);
template void solve_by_lapack(Transpose, MatrixView<const std::complex<float>>,
                              std::span<const int>, std::span<std::complex<float>>,
                              const LapackRoutines*);
template void solve_by_lapack(Transpose, MatrixView<const std::complex<double>>,
                              std::span<const int>, std::span<std::complex<double>>,
                              const LapackRoutines*);

}  // namespace speedwell
