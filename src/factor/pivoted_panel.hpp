// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LU factorization with partial pivoting of one panel, over the ranks of its process column.
#pragma once

#include <cstdint>

#include "core/trace.hpp"
#include "grid/lu_plan.hpp"
#include "matrix/distributed_matrix.hpp"
#include "matrix/panel_ring.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// A right-looking, recursive LU, so that most of the work is matrix products. Every rank of the
/// process column works on the first rows of the panel (those of the diagonal block) and on its own
/// rows below them. For each column, the ranks exchange the rows that they offer as the pivot's and
/// choose the same one, so at the end the first rows are final, and the same on every rank. With
/// NCCL the host takes no part in this.
class PivotedPanel {
 public:
  PivotedPanel(Transport& transport, DistributedMatrix& a, const LuPlan& plan);
  /// Bytes of device memory of a rank with so many rows, beside a few that every plan needs; 0
  /// where a process column is one rank.
  static std::int64_t bytes(const LuPlan& plan, std::int64_t rows);

  /// P_k [A_kk; A_ik] = [L_kk; L_ik] U_kk: factors the columns of step `s`. A_ik <- L_ik in place,
  /// and on the process row of the step A_kk <- L_kk\U_kk; every rank has the diagonal block in
  /// diagonal(). Rows are exchanged in these columns only. Collective over the process column.
  /// @param pivots device memory for s.width() entries: row s.begin + j was exchanged with row
  ///        pivots[j] of the whole matrix
  /// @param status records a zero or non-finite pivot
  /// @param waited the sum of the waits for other ranks, in seconds
  /// @param poll called before every column that needs messages
  /// @pre s.in_column
  void factor(Queue& queue, const Step& s, std::int64_t* pivots, FactorStatus* status,
              double& waited, const Poll& poll);

  /// The diagonal block L_kk\U_kk of the panel factored last, in device memory. Valid for work that
  /// the queue is given before the next factor().
  ConstAnyMatrix diagonal() const { return rows_.block(0, 0, rows_.columns, rows_.columns); }
  /// This rank's rows L_ik below the diagonal block of the panel factored last. Valid for as long
  /// as diagonal().
  ConstAnyMatrix below() const {
    return rows_.block(rows_.columns, 0, rows_.rows - rows_.columns, rows_.columns);
  }

 private:
  bool alone() const { return column_.size() == 1; }
  RunContext::Span stopwatch(Activity activity) const;
  void share(Queue& queue, AnyMatrix block);
  void columns(Queue& queue, std::int64_t begin, std::int64_t end);
  void leaf(Queue& queue, std::int64_t begin, std::int64_t end);
  void take_pivot(Queue& queue, std::int64_t j);
  PivotOffers gather_offers(Queue& queue, std::int64_t j);
  AnyMatrix from(std::int64_t i, std::int64_t j, std::int64_t columns) const {
    return rows_.block(i, j, rows_.rows - i, columns);
  }

  Transport& transport_;
  Device& device_;
  const Communicator& column_;
  DistributedMatrix& a_;
  std::int64_t leaf_;
  std::int64_t ndiv_;
  // Memory of rows_ on the ranks that do not hold the panel's first rows; of an A of 16 bits on all
  // ranks, in FP32.
  Buffer workspace_;
  Buffer candidate_;
  Buffer messages_;  // a contiguous copy of the first rows, or the offers of all ranks
  Step step_;
  AnyMatrix rows_;  // the panel's first rows, then this rank's rows below them
  std::int64_t* pivots_ = nullptr;
  FactorStatus* status_ = nullptr;
  double* waited_ = nullptr;
  const Poll* poll_ = nullptr;
};

}  // namespace speedwell
