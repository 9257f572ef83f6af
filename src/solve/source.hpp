// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where a user's matrix and right-hand sides come from.
#pragma once

#include <lupine/solve.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/matrix_view.hpp"
#include "grid/distribution.hpp"
#include "solve/part_writer.hpp"

namespace lupine {

/// Somebody's matrix A in FP64. All members but n() are collective, and what one rank finds wrong
/// is thrown on all (agree, comm/agreement.hpp).
class MatrixSource {
 public:
  virtual ~MatrixSource() = default;
  /// Equal on every rank.
  virtual std::int64_t n() const = 0;
  /// Whatever must be right before anything large is allocated: sizes, formats, null pointers.
  /// @throws UsageError
  virtual void check(const Communicator& all) const = 0;
  /// Block size that the source has already; 0: any will do.
  virtual std::int64_t block() const { return 0; }
  /// The rank's part, where it lies in host memory in this distribution already; else nothing, on
  /// every rank alike: a rank's part may be empty.
  virtual std::optional<MatrixView<const double>> in_place(const ProcessGrid& /*grid*/,
                                                           const Distribution& /*rows*/,
                                                           const Distribution& /*columns*/) const {
    return std::nullopt;
  }
  /// a <- the rank's part, rows.local_size() x columns.local_size(), with little memory beside it.
  /// Any values: Inf and NaN are found later. @throws UsageError for what is wrong in the source,
  /// Fault
  virtual void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
                    PartWriter& a) const = 0;
};

/// Somebody's right-hand sides, and where their solutions go. Members but count() are collective.
class RightHandSideSource {
 public:
  virtual ~RightHandSideSource() = default;
  /// Columns, equal on every rank; 0: none is given, b is A times ones.
  virtual std::int64_t count() const = 0;
  /// @throws UsageError unless it has n rows, and so on
  virtual void check(const Communicator& all, std::int64_t n) const = 0;
  /// b <- right-hand side k, all n entries on every rank. @pre b has n entries
  virtual void get(const ProcessGrid& grid, std::int64_t k, std::vector<double>& b) const = 0;
  /// Before the first put(): makes room in `x` for this rank's part.
  virtual void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const = 0;
  /// Takes the solution of right-hand side k, all n entries on every rank, into `x`.
  virtual void put(const ProcessGrid& grid, std::int64_t k, const std::vector<double>& solution,
                   std::vector<double>& x) const = 0;
};

}  // namespace lupine
