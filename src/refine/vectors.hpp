// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Vectors of n FP64 entries, distributed over the process grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/allocator.hpp"
#include "element/checksum.hpp"
#include "grid/distribution.hpp"

namespace speedwell {

/// The entries of a vector that one rank holds. A "whole" vector has all n entries.
using Vector = std::vector<double>;

/// While an object of this class lives, the memory of the thread's MultiVectors is kept when they
/// end, for new ones of the same size: memory that is touched for the first time is slow.
class ReuseVectors {
 public:
  ReuseVectors();
  ~ReuseVectors();
  ReuseVectors(const ReuseVectors&) = delete;
  ReuseVectors& operator=(const ReuseVectors&) = delete;

  /// Memory of a MultiVector's entries.
  static void* take(std::size_t bytes);
  static void give_back(void* block, std::size_t bytes) noexcept;
};

/// Several vectors of one distribution: the columns of a matrix, column-major and contiguous. A
/// rank holds the same entries of each.
class MultiVector {
 public:
  MultiVector() = default;
  /// `count` vectors of zeros, with `size` entries each on this rank.
  MultiVector(std::int64_t size, std::int64_t count)
      : size_(size), count_(count), entries_(static_cast<std::size_t>(size * count), 0.0) {}
  /// One vector.
  explicit MultiVector(const Vector& v)
      : size_(std::ssize(v)), count_(1), entries_(v.begin(), v.end()) {}

  std::int64_t size() const { return size_; }
  std::int64_t count() const { return count_; }
  std::span<double> operator[](std::int64_t k) { return {entries_.data() + k * size_, length()}; }
  std::span<const double> operator[](std::int64_t k) const {
    return {entries_.data() + k * size_, length()};
  }
  Vector vector(std::int64_t k) const { return {(*this)[k].begin(), (*this)[k].end()}; }
  /// All entries, vector after vector.
  std::span<double> all() { return entries_; }
  std::span<const double> all() const { return entries_; }
  /// `count` of the vectors, from `begin` on. @pre begin + count <= count()
  MultiVector part(std::int64_t begin, std::int64_t count) const;
  /// The only vector. @pre count() is 1
  Vector only() const;
  /// Keeps the first vectors. @pre count <= count()
  void truncate(std::int64_t count);
  /// Keeps the vectors of these numbers, which ascend.
  void keep(std::span<const std::int64_t> kept);

 private:
  std::size_t length() const { return static_cast<std::size_t>(size_); }

  std::int64_t size_ = 0;
  std::int64_t count_ = 0;
  std::vector<double, Allocator<double, ReuseVectors>> entries_;
};

/// The checksum of each vector; nothing stands for one that is not known.
using VectorChecksums = std::vector<std::optional<MatrixChecksum>>;
VectorChecksums checksums_of(const MultiVector& v);

/// The vectors v as one MultiVector. @param size entries of each
MultiVector together(std::int64_t size, std::span<const Vector> vectors);

/// How a vector is distributed. The letters are those of A x = b; with A^T x = b, b and r lie along
/// columns, x and d along rows.
/// - rows ("along rows"; b, r): a rank holds the entries of its local rows of A, so all ranks of a
///   process row hold the same entries.
/// - columns ("along columns"; x, d): a rank holds the entries of its local columns of A, so all
///   ranks of a process column hold the same entries.
enum class Layout { rows, columns };

constexpr Layout other(Layout along) {
  return along == Layout::rows ? Layout::columns : Layout::rows;
}

/// Operations that need the entries of all ranks. All members but the accessors are collective, and
/// their results are equal on every rank to the last bit.
class VectorSpace {
 public:
  VectorSpace(const ProcessGrid& grid, Layout layout) : grid_(&grid), layout_(layout) {}

  /// The inner product of v with each vector of the basis.
  Vector dots(std::span<const Vector> basis, const Vector& v) const;
  /// ||v||_2.
  double norm(const Vector& v) const;
  /// max_i |v_i| over all entries of each vector; infinity where one has a NaN.
  Vector largest(const MultiVector& v) const;
  /// The whole vector, on every rank. @param mine the distribution of v: that of the rows of A with
  /// Layout::rows, that of its columns with Layout::columns
  Vector gather(const Distribution& mine, std::span<const double> v) const;
  /// The ranks that together hold all entries, each entry once.
  const Communicator& others() const;
  /// The ranks that hold the same entries as this rank.
  const Communicator& alike() const;

 private:
  const ProcessGrid* grid_;
  Layout layout_;
};

/// max_i |v_i|. Infinity if v has a NaN; 0 if v is empty.
double largest(std::span<const double> v);

/// 2^e where e is the exponent of a positive finite value, 2^(e-1) <= value < 2^e; 1 for other
/// values.
double power_above(double value);

/// This rank's entries of a whole vector.
Vector local_part(const Distribution& mine, std::span<const double> whole);

}  // namespace speedwell
