// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's LU factorization and its solves: what gesv calls. They use the threads of the library.
/// T is float or double, or std::complex of one of them.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>

#include "core/matrix_view.hpp"

namespace speedwell {

/// These routines of a library that the program itself calls, such as NumPy's OpenBLAS, by their
/// addresses. Integers have 64 bits.
///
/// An OpenBLAS with threads of its own lets them spin for a tenth of a second after each call, as
/// if they had work. On as many cores, a second team of threads then waits for time slices, and
/// takes twice as long as it would alone; the threads that spin are there at once.
struct LapackRoutines {
  /// Of float, double, std::complex<float> and std::complex<double>.
  std::array<void*, 4> gemm{};
  std::array<void*, 4> getrf{};
  std::array<void*, 4> getrs{};
  int (*threads)() = nullptr;  ///< how many it uses
};
/// Has shared_lapack() know these from now on, in this process, in which a fork() then waits for
/// one that runs. Not for use beside a solve.
void share_lapack(const LapackRoutines& routines);
/// The routines that the program has shared, if they use so many threads; null otherwise. Null,
/// too, in a child of fork(), since another thread of the program may have held one of their locks,
/// and where the address space is limited, since they end a process that has no room for their
/// buffers.
const LapackRoutines* shared_lapack(int threads);
/// While it lives, products of matrices (device/cpu/dense.hpp) that the calling thread asks for are
/// computed by these routines; null: by the linked library.
class SharedProducts {
 public:
  explicit SharedProducts(const LapackRoutines* routines);
  ~SharedProducts();
  SharedProducts(const SharedProducts&) = delete;
  SharedProducts& operator=(const SharedProducts&) = delete;

 private:
  const LapackRoutines* before_;
};
/// C <- C + alpha A B, or C + alpha A^T B, by the routines of the calling thread's SharedProducts.
/// False, with nothing done, where it has none.
/// @param T float, double, or std::complex of one of them @pre c is not empty
template <class T>
bool add_shared_product(T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c,
                        Transpose transpose);
/// a <- L\U of P A = L U with partial pivoting (getrf). A tall A has an L as tall as it is.
/// @param pivots the rows that were exchanged, as dgetrf numbers them
/// @param shared whose routine is called; null: that of the linked library
/// @return the 0-based index of the first pivot that is exactly zero; -1 if there is none
/// @pre a has pivots.size() columns and at least as many rows, fewer than 2^31
/// @throws Fault unless has_lapack()
template <class T>
std::int64_t factor_by_lapack(MatrixView<T> a, std::span<int> pivots,
                              const LapackRoutines* shared = nullptr);

/// x <- A^-1 x, A^-T x or A^-H x, for each of some contiguous vectors x, with the factors of
/// factor_by_lapack() or factor_pivoted() (getrs).
/// @param shared as for factor_by_lapack()
/// @pre x.size() is a multiple of pivots.size(), which is the rows of lu
/// @throws Fault unless has_lapack()
template <class T>
void solve_by_lapack(Transpose transpose, MatrixView<const T> lu, std::span<const int> pivots,
                     std::span<T> x, const LapackRoutines* shared = nullptr);

}  // namespace speedwell
