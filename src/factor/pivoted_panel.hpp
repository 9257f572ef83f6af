// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LU factorization with partial pivoting of one panel, over the ranks of its process column.
#pragma once

#include <cstdint>
#include <vector>

#include "core/trace.hpp"
#include "matrix/distributed_matrix.hpp"
#include "matrix/panel_ring.hpp"
#include "transport/transport.hpp"

namespace lupine {

/// How a panel's columns are divided.
struct Recursion {
  int leaf = 16;  ///< columns that are eliminated one after the other (HPL: NBMIN)
  int parts = 2;  ///< that the others are divided into, >= 2 (HPL: NDIV)
};

/// Right-looking and recursive, so that most of the work is products. Every rank of the process
/// column works on the panel's first rows, those of the diagonal block, and on its own rows below.
/// A pivot's row is sent by its owner to all; so these first rows are at the end the same
/// everywhere and the final ones.
class PivotedPanel {
 public:
  /// @param width columns of a panel at most
  PivotedPanel(Transport& transport, DistributedMatrix& a, std::int64_t width,
               const Recursion& recursion);

  /// A_kk <- L_kk\U_kk and A_ik <- L_ik of the permuted columns of step `s`, the rows that pivots
  /// displaced being where the pivots were; the rest of these rows is left alone. The diagonal
  /// block is in diagonal() too, and the pivots (rows of the whole matrix) in `pivots`, both in
  /// device memory. Notes a zero or non-finite pivot. Collective over the process column.
  /// @param waits for others
  /// @param poll called before every wait for others
  /// @pre s.in_column
  void factor(Queue& queue, const Step& s, std::int64_t* pivots, FactorStatus* status,
              const HostTimer& waits, const Poll& poll);

  /// Of the panel factored last, until the queue goes on to the next.
  ConstAnyMatrix diagonal() const { return rows_.block(0, 0, rows_.columns, rows_.columns); }
  /// The rows below it, of the panel factored last, until the queue goes on to the next.
  ConstAnyMatrix below() const {
    return rows_.block(rows_.columns, 0, rows_.rows - rows_.columns, rows_.columns);
  }

 private:
  bool alone() const { return column_.size() == 1; }
  void share(Queue& queue, AnyMatrix block, int owner);
  void columns(Queue& queue, std::int64_t begin, std::int64_t end);
  void leaf(Queue& queue, std::int64_t begin, std::int64_t end);
  void take_pivot(Queue& queue, std::int64_t j);
  void take_pivot_of_all(Queue& queue, std::int64_t j);
  AnyMatrix from(std::int64_t i, std::int64_t j, std::int64_t columns) const {
    return rows_.block(i, j, rows_.rows - i, columns);
  }
  std::int64_t global(std::int64_t row) const;

  Transport& transport_;
  Device& device_;
  const Communicator& column_;
  DistributedMatrix& a_;
  Recursion recursion_;
  Buffer workspace_;  // where this rank does not hold the first rows
  Buffer candidate_;
  Buffer share_;  // the first rows, or one row, contiguous
  Step step_;
  AnyMatrix rows_;  // the first rows, then this rank's below
  std::int64_t* pivots_ = nullptr;
  FactorStatus* status_ = nullptr;
  const HostTimer* waits_ = nullptr;
  const Poll* poll_ = nullptr;
  std::vector<std::int64_t> chosen_;
};

}  // namespace lupine
