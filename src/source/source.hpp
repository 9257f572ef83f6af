// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The sources of a user's matrix and right-hand sides, and the destination of the solutions.
#pragma once

#include <speedwell/matrix.hpp>
#include <speedwell/solution.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "grid/distribution.hpp"
#include "source/part_writer.hpp"

namespace speedwell {

/// A user's matrix A, n x n in FP64, real or complex. A complex one is given as the real matrix H
/// of 2 n rows and n columns, which has the real and the imaginary part of each element one under
/// the other, as they lie in memory: Distributions of its rows, and views, are those of H. All
/// members but n(), field(), description(), block() and distribution() are collective. An error
/// that one rank finds is thrown on all ranks (agree(), comm/agreement.hpp).
class MatrixSource {
 public:
  virtual ~MatrixSource() = default;
  /// The order of A, equal on every rank.
  virtual std::int64_t n() const = 0;
  /// Equal on every rank.
  virtual Field field() const { return Field::real; }
  /// Numbers of a vector: n, or of complex numbers 2 n, in pairs.
  std::int64_t numbers() const { return parts_of(field()) * n(); }
  /// The kind of the source, and all of it that must be equal on every rank, in words that follow
  /// "A is". Not collective.
  virtual std::string description() const = 0;
  /// Checks sizes, formats and pointers, before large memory is allocated.
  /// @throws UsageError
  virtual void check(const Communicator& all) const = 0;
  /// Whether the source gives A^T in place of A, as one does that has A by rows. Speedwell then
  /// factors A^T, and solves with the transpose of what it has factored. Equal on every rank.
  /// block(), in_place() and fill() are those of A^T then.
  virtual bool transposed() const { return false; }
  /// The block size (of columns) in which A is already distributed; 0: A is not distributed.
  virtual std::int64_t block() const { return 0; }
  /// Words for the distribution of an A that has a block(): "blocks of 64".
  virtual std::string distribution() const { return ""; }
  /// The rank's part of A in the user's memory, if A is already distributed as `rows` and `columns`
  /// say; otherwise nullopt. All ranks return a value, or none does; a rank's part may be empty.
  virtual std::optional<MatrixView<const double>> in_place(const ProcessGrid& /*grid*/,
                                                           const Distribution& /*rows*/,
                                                           const Distribution& /*columns*/) const {
    return std::nullopt;
  }
  /// The array of this rank in the user's memory, host's or device's, from which in_place() or
  /// fill() read; null if there is none.
  virtual const double* array(int /*rank*/) const { return nullptr; }
  /// a <- the rank's part of A, rows.local_size() x columns.local_size(), in blocks of any size.
  /// Needs little additional memory. Does not check for Inf and NaN: equilibrate() does.
  /// @throws UsageError for an error in the source, Fault
  virtual void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
                    PartWriter& a) const = 0;
};

/// A user's right-hand sides, and the destination of their solutions. Those of a complex A have 2 n
/// numbers, the real and the imaginary part of each element one after the other. All members but
/// count() and description() are collective.
class RightHandSideSource {
 public:
  virtual ~RightHandSideSource() = default;
  /// The number of right-hand sides, equal on every rank. 0: none is given, and b is A times ones,
  /// or A^T times ones where A^T x = b is solved.
  virtual std::int64_t count() const = 0;
  /// Whose numbers they are; equal on every rank.
  virtual Field field() const { return Field::real; }
  /// As MatrixSource::description(), behind "b is". The rows of A are not part of it.
  virtual std::string description() const = 0;
  /// Checks sizes, formats and pointers. @param n numbers of a vector: MatrixSource::numbers()
  /// @throws UsageError
  virtual void check(const Communicator& all, std::int64_t n) const = 0;
  /// Whether get() reads memory or a file, and so costs little and always gives the same b. If not,
  /// each right-hand side is got once, after A.
  virtual bool at_hand() const { return true; }
  /// b <- right-hand side k, whole, on every rank. @pre b has n entries
  virtual void get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const = 0;
  /// Resizes `x` for the part of all solutions that this rank will hold. Called before put().
  virtual void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const = 0;
  /// Stores this rank's part of the solution of right-hand side k in `x`.
  /// @param solution whole, on every rank
  virtual void put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
                   std::vector<double>& x) const = 0;
  /// Where put() has stored it, with all that lies between; empty where this rank has no part. Not
  /// collective.
  virtual std::span<const double> stored(const ProcessGrid& grid, std::int64_t k,
                                         const std::vector<double>& x) const = 0;
};

/// Checks b for systems with A. @throws UsageError where sizes differ, or one of them is complex
void check_sides(const RightHandSideSource& b, const Communicator& all, const MatrixSource& a);
/// What is wrong with right-hand side k, which is whole; empty if its numbers are finite.
std::string wrong_value(std::span<const double> b, std::int64_t k, Field field);
/// "element is value" for one number of a real or complex element.
std::string number_text(const std::string& element, Field field, std::int64_t number, double value);

/// The complex conjugates of right-hand sides, whose solutions are conjugated again.
class ConjugatedSides final : public RightHandSideSource {
 public:
  explicit ConjugatedSides(const RightHandSideSource& b) : b_(b) {}

  std::int64_t count() const override { return b_.count(); }
  Field field() const override { return b_.field(); }
  std::string description() const override { return b_.description(); }
  void check(const Communicator& all, std::int64_t n) const override { b_.check(all, n); }
  bool at_hand() const override { return b_.at_hand(); }
  void get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const override;
  void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const override {
    b_.prepare(grid, n, x);
  }
  void put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
           std::vector<double>& x) const override;
  std::span<const double> stored(const ProcessGrid& grid, std::int64_t k,
                                 const std::vector<double>& x) const override {
    return b_.stored(grid, k, x);
  }

 private:
  const RightHandSideSource& b_;
};
/// Looks at right-hand sides until one is finite. @param wrong what is wrong with number k; empty
/// if nothing is @throws UsageError with the first one's words if something is wrong with all
/// `count`
void require_one(std::int64_t count, const std::function<std::string(std::int64_t k)>& wrong);

}  // namespace speedwell
