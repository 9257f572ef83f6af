// SPDX-License-Identifier: BSD-3-Clause
#include "factor/pivoted_panel.hpp"

#include <algorithm>
#include <array>

#include "core/expects.hpp"
#include "core/numbers.hpp"

namespace lupine {

PivotedPanel::PivotedPanel(Transport& transport, DistributedMatrix& a, std::int64_t width,
                           const Recursion& recursion)
    : transport_(transport),
      device_(transport.device()),
      column_(transport.grid().column()),
      a_(a),
      recursion_(recursion),
      candidate_(device_.allocate(sizeof(PivotCandidate))) {
  if (alone()) return;
  const std::int64_t row_bytes = width * bytes_of(a.storage());
  workspace_ = device_.allocate((width + a.rows().local_size()) * row_bytes);
  share_ = device_.allocate(width * row_bytes);
}

void PivotedPanel::factor(Queue& queue, const Step& s, std::int64_t* pivots, FactorStatus* status,
                          const HostTimer& waits, const Poll& poll) {
  LUPINE_EXPECTS(s.in_column);
  step_ = s;
  pivots_ = pivots;
  status_ = status;
  waits_ = &waits;
  poll_ = &poll;
  chosen_.clear();
  const std::int64_t w = s.width();
  const std::int64_t m = a_.rows().local_size() - s.trailing_row.value;
  const AnyMatrix below = a_.from(s.trailing_row, s.column).block(0, 0, m, w);
  if (s.in_row) {
    rows_ = a_.from(s.row, s.column).block(0, 0, w + m, w);
  } else {
    rows_ = {a_.storage(), workspace_.data(), w + m, w, w + m};
    device_.copy(queue, below, rows_.block(w, 0, m, w));
  }
  // Broadcasts the first rows, so that all ranks of the process column begin with the same values.
  if (!alone()) share(queue, rows_.block(0, 0, w, w), s.owner_row);
  columns(queue, 0, w);
  if (!alone()) device_.upload(queue, chosen_, pivots);
  if (!s.in_row) device_.copy(queue, rows_.block(w, 0, m, w), below);
}

// Broadcasts a block of rows_ from process row `owner` along the process column.
void PivotedPanel::share(Queue& queue, AnyMatrix block, int owner) {
  const AnyMatrix contiguous{block.precision, share_.data(), block.rows, block.columns, block.rows};
  const auto bytes =
      static_cast<std::size_t>(block.rows * block.columns * bytes_of(block.precision));
  const bool mine = owner == column_.rank();
  if (mine) device_.copy(queue, block, contiguous);
  {
    const Stopwatch watch = waits_->watch(Activity::share_rows, step_.index);
    transport_.broadcast(queue, Along::column, owner, {share_.data(), bytes});
  }
  if (!mine) device_.copy(queue, contiguous, block);
}

// Factors columns [begin, end), right-looking by parts. After columns [i, next) are factored, with
// L11 the triangle in rows [i, next) and L21 the rows below, and A12, A22 the columns [next, end):
//     U12 = L11^-1 A12,  A22 <- A22 - L21 U12.
void PivotedPanel::columns(Queue& queue, std::int64_t begin, std::int64_t end) {
  const std::int64_t count = end - begin;
  if (count <= recursion_.leaf) return leaf(queue, begin, end);
  const std::int64_t leaves = ceil_div(count, recursion_.leaf);
  const std::int64_t part = ceil_div(leaves, recursion_.parts) * recursion_.leaf;
  for (std::int64_t i = begin; i < end; i += part) {
    const std::int64_t next = std::min(i + part, end);
    columns(queue, i, next);
    if (next == end) continue;
    const AnyMatrix u = rows_.block(i, next, next - i, end - next);
    device_.solve_unit_lower(queue, rows_.block(i, i, next - i, next - i), u);
    device_.subtract(queue, from(next, i, next - i), u, from(next, next, end - next));
  }
}

// For each column j: take its pivot, then l_i = a_ij / a_jj and a_ic <- a_ic - l_i a_jc for i > j
// and j < c < end. This pass also finds the pivot of column j + 1.
void PivotedPanel::leaf(Queue& queue, std::int64_t begin, std::int64_t end) {
  auto* candidate = candidate_.as<PivotCandidate>();
  device_.find_pivot(queue, from(begin, begin, 1), candidate);
  for (std::int64_t j = begin; j < end; ++j) {
    alone() ? take_pivot(queue, j) : take_pivot_of_all(queue, j);
    device_.eliminate(queue, rows_.block(j, j, 1, end - j), from(j + 1, j, end - j), candidate);
  }
}

// Exchanges row j of rows_ with the row of the candidate, and stores the pivot.
void PivotedPanel::take_pivot(Queue& queue, std::int64_t j) {
  device_.take_pivot(queue, from(j, 0, rows_.columns), step_.begin.value + j,
                     candidate_.as<PivotCandidate>(), pivots_ + j, status_);
}

// The row of the whole matrix to which row `row` of rows_ belongs.
std::int64_t PivotedPanel::global(std::int64_t row) const {
  const std::int64_t w = rows_.columns;
  return row < w ? step_.begin.value + row : a_.rows().global(step_.trailing_row + (row - w)).value;
}

// The pivot is the largest magnitude of all ranks; where magnitudes are equal, the lowest row.
void PivotedPanel::take_pivot_of_all(Queue& queue, std::int64_t j) {
  (*poll_)();
  auto* candidate = candidate_.as<PivotCandidate>();
  std::array<PivotCandidate, 1> mine;
  device_.download(queue, candidate, mine);
  const std::int64_t local = j + mine[0].row;
  const bool any = mine[0].row >= 0;
  const std::array<double, 2> offer{mine[0].magnitude,
                                    any ? static_cast<double>(global(local)) : -1};
  std::vector<double> offers;
  {
    const Stopwatch watch = waits_->watch(Activity::compare_pivots, step_.index);
    offers = column_.all_gather(offer);
  }
  std::size_t best = 0;
  for (std::size_t i = 0; i < offers.size(); i += 2)
    if (offers[i] > offers[best] || (offers[i] == offers[best] && offers[i + 1] < offers[best + 1]))
      best = i;
  const auto row = static_cast<std::int64_t>(offers[best + 1]);
  chosen_.push_back(row);

  const GlobalIndex pivot{row};
  const bool first = pivot < step_.end;
  const int owner = first ? step_.owner_row : a_.rows().owner(pivot);
  if (first || owner == column_.rank()) {
    const std::int64_t here =
        first ? pivot - step_.begin : rows_.columns + (a_.rows().local(pivot) - step_.trailing_row);
    mine[0] = {offers[best], here - j};
    device_.upload(queue, mine, candidate);
    take_pivot(queue, j);
  }
  share(queue, rows_.block(j, 0, 1, rows_.columns), owner);
}

}  // namespace lupine
