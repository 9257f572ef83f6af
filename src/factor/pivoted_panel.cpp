// SPDX-License-Identifier: BSD-3-Clause
#include "factor/pivoted_panel.hpp"

#include <algorithm>

#include "core/expects.hpp"
#include "core/numbers.hpp"

namespace speedwell {

namespace {

// Memory of the panel's rows on ranks that do not hold its first ones.
std::int64_t workspace_bytes(const LuPlan& plan, std::int64_t rows) {
  return (plan.width + rows) * plan.width * plan.parts() * bytes_of(storage_for(plan.precision));
}

// A contiguous copy of the first rows, or the offers of all ranks.
std::int64_t message_bytes(const LuPlan& plan) {
  const Precision storage = storage_for(plan.precision);
  const AnyMatrix row{storage, nullptr, 1, plan.width, 1, plan.field};
  return std::max(plan.width * plan.width * row.element_bytes(),
                  plan.grid.nprow * PivotOffers::bytes(row));
}

}  // namespace

std::int64_t PivotedPanel::bytes(const LuPlan& plan, std::int64_t rows) {
  const bool alone = plan.grid.nprow == 1;
  return (alone && !plan.narrow ? 0 : workspace_bytes(plan, rows)) +
         (alone ? 0 : message_bytes(plan));
}

PivotedPanel::PivotedPanel(Transport& transport, DistributedMatrix& a, const LuPlan& plan)
    : transport_(transport),
      device_(transport.device()),
      column_(transport.grid().column()),
      a_(a),
      leaf_(plan.leaf),
      ndiv_(plan.ndiv),
      candidate_(device_.allocate(sizeof(PivotCandidate))) {
  if (!alone() || plan.narrow)
    workspace_ = device_.allocate(workspace_bytes(plan, a.rows().local_size()));
  if (!alone()) messages_ = device_.allocate(message_bytes(plan));
}

void PivotedPanel::factor(Queue& queue, const Step& s, std::int64_t* pivots, FactorStatus* status,
                          double& waited, const Poll& poll) {
  SPEEDWELL_EXPECTS(s.in_column);
  step_ = s;
  pivots_ = pivots;
  status_ = status;
  waited_ = &waited;
  poll_ = &poll;
  const std::int64_t w = s.width();
  const std::int64_t m = a_.rows().local_size() - s.trailing_row.value;
  const AnyMatrix mine = s.in_row ? a_.from(s.row, s.column).block(0, 0, w + m, w)
                                  : a_.from(s.trailing_row, s.column).block(0, 0, m, w);
  const bool narrow = bytes_of(a_.storage()) == 2;
  const bool copies = narrow || !s.in_row;
  rows_ = copies ? AnyMatrix(narrow ? Precision::fp32 : a_.storage(), workspace_.data(), w + m, w,
                             w + m, a_.field())
                 : mine;
  const AnyMatrix copied = rows_.block(w + m - mine.rows, 0, mine.rows, w);
  if (copies) device_.copy(queue, mine, copied);
  // Broadcasts the first rows, so that all ranks of the process column begin with the same values.
  if (!alone()) share(queue, rows_.block(0, 0, w, w));
  columns(queue, 0, w);
  if (copies) device_.copy(queue, copied, mine);
  if (narrow) device_.copy(queue, mine, copied);  // what is sent is what is stored
}

// Measures a wait for other ranks.
RunContext::Span PivotedPanel::stopwatch(Activity activity) const {
  return column_.run().stopwatch(
      *waited_, {.activity = activity, .phase = Phase::broadcast, .step = step_.index});
}

// Broadcasts a block of rows_ from the process row of the step along the process column.
void PivotedPanel::share(Queue& queue, AnyMatrix block) {
  const AnyMatrix contiguous{block.precision, messages_.data(), block.rows,
                             block.columns,   block.rows,       block.field};
  const auto bytes = static_cast<std::size_t>(block.rows * block.columns * block.element_bytes());
  if (step_.in_row) device_.copy(queue, block, contiguous);
  {
    const auto watch = stopwatch(Activity::share_rows);
    transport_.broadcast(queue, Along::column, step_.owner_row, {messages_.data(), bytes});
  }
  if (!step_.in_row) device_.copy(queue, contiguous, block);
}

// Factors columns [begin, end), right-looking by parts. After columns [i, next) are factored, with
// L11 the triangle in rows [i, next) and L21 the rows below, and A12, A22 the columns [next, end):
//     U12 = L11^-1 A12,  A22 <- A22 - L21 U12.
void PivotedPanel::columns(Queue& queue, std::int64_t begin, std::int64_t end) {
  const std::int64_t count = end - begin;
  if (count <= leaf_) return leaf(queue, begin, end);
  const std::int64_t part = ceil_div(ceil_div(count, leaf_), ndiv_) * leaf_;
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
  if (alone() && device_.factor_leaf(queue, from(begin, 0, rows_.columns), begin, end,
                                     step_.begin.value + begin, pivots_ + begin, status_))
    return;
  auto* candidate = candidate_.as<PivotCandidate>();
  device_.find_pivot(queue, from(begin, begin, 1), candidate);
  for (std::int64_t j = begin; j < end; ++j) {
    take_pivot(queue, j);
    device_.eliminate(queue, rows_.block(j, j, 1, end - j), from(j + 1, j, end - j), candidate);
  }
}

// Exchanges row j of rows_ with the pivot's row, and stores the pivot.
void PivotedPanel::take_pivot(Queue& queue, std::int64_t j) {
  const PivotOffers offers = alone() ? PivotOffers{} : gather_offers(queue, j);
  device_.take_pivot(queue, from(j, 0, rows_.columns), step_.begin.value + j,
                     candidate_.as<PivotCandidate>(), offers, pivots_ + j, status_);
}

// What the ranks of the process column offer as the pivot of column j. One message a column: an
// offer brings its row, so that no rank has to ask for it.
PivotOffers PivotedPanel::gather_offers(Queue& queue, std::int64_t j) {
  (*poll_)();
  const AnyMatrix rows = from(j, 0, rows_.columns);
  const std::int64_t shared = rows_.columns - j;
  const std::int64_t each = PivotOffers::bytes(rows);
  const PanelRows of{step_.begin.value + j, shared, step_.trailing_row, &a_.rows()};
  device_.offer_pivot(queue, rows, of, candidate_.as<PivotCandidate>(),
                      messages_.data() + column_.rank() * each);
  const auto watch = stopwatch(Activity::compare_pivots);
  transport_.all_gather(queue, Along::column,
                        {messages_.data(), static_cast<std::size_t>(column_.size() * each)});
  return {messages_.data(), column_.size(), column_.rank(), shared};
}

}  // namespace speedwell
