// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/panel_ring.hpp"

#include <algorithm>

#include "core/expects.hpp"
#include "core/numbers.hpp"

namespace speedwell {

namespace {
constexpr std::int64_t line_bytes = 256;  // control data and diagonal blocks are padded to this

std::int64_t bytes_in(const AnyMatrix& m) {
  return m.ld * m.columns * bytes_of(m.precision);
}
}  // namespace

std::span<std::byte> Panel::control_bytes() const {
  const std::size_t count = pivots ? static_cast<std::size_t>(step.width()) : 0;
  return {reinterpret_cast<std::byte*>(control), sizeof(PanelControl) + count * sizeof(*pivots)};
}

std::span<std::byte> Panel::values() const {
  std::byte* begin = step.in_row ? diagonal.data : left.data;
  return {begin, static_cast<std::size_t>(left.data - begin + bytes_in(left))};
}

std::span<std::byte> RightChunk::bytes() const {
  return {values.data, static_cast<std::size_t>(bytes_in(values))};
}

RingSizes::RingSizes(const LuPlan& plan, std::int64_t rows, std::int64_t columns)
    : slots(plan.lookahead + 1),
      chunk(plan.chunk_of(columns)),
      chunks(static_cast<int>(
          std::clamp<std::int64_t>(ceil_div(columns, chunk), 1, PanelRing::most_chunks))),
      control(round_up(static_cast<std::int64_t>(sizeof(PanelControl)) +
                           plan.width * std::int64_t{sizeof(std::int64_t)},
                       line_bytes)),
      left(PanelRing::diagonal_bytes(plan.width, plan) +
           PanelRing::leading_dimension(plan.parts() * rows) * plan.parts() * plan.width *
               bytes_of(plan.precision)),
      right(PanelRing::leading_dimension(plan.parts() * plan.width) * chunk *
            bytes_of(plan.precision)),
      own(PanelRing::leading_dimension(plan.parts() * plan.width) * plan.width *
          bytes_of(plan.precision)) {}

PanelRing::PanelRing(Device& device, const Distribution& rows, const Distribution& columns,
                     const LuPlan& plan)
    : rows_(rows.local_size()),
      plan_(plan),
      sizes_(plan, rows_, columns.local_size()),
      control_(device.allocate((sizes_.slots + sizes_.chunks + 1) * sizes_.control)),
      panels_(static_cast<std::size_t>(sizes_.slots)) {
  std::byte* control = control_.data();
  for (Panel& panel : panels_) {
    memory_.push_back(device.allocate(sizes_.left));
    panel.diagonal.data = memory_.back().data();
    panel.control = reinterpret_cast<PanelControl*>(control);
    if (plan.pivoting == Pivoting::partial)
      panel.pivots = reinterpret_cast<std::int64_t*>(panel.control + 1);
    control += sizes_.control;
  }
  for (int i = 0; i < sizes_.chunks; ++i) right_.push_back(device.allocate(sizes_.right));
  right_.push_back(device.allocate(sizes_.own));
}

std::int64_t PanelRing::leading_dimension(std::int64_t rows) {
  return speedwell::leading_dimension(rows, 32);
}

std::int64_t PanelRing::diagonal_bytes(std::int64_t width, const LuPlan& plan) {
  return round_up(width * width * plan.parts() * bytes_of(storage_for(plan.precision)), line_bytes);
}

Panel& PanelRing::shape(const Step& step) {
  Panel& panel = (*this)[step.index];
  const std::int64_t below = rows_ - step.trailing_row.value;
  const std::int64_t w = step.width();
  panel.step = step;
  const std::int64_t parts = plan_.parts();
  panel.diagonal = {storage_for(plan_.precision), panel.diagonal.data, w, w, w, plan_.field};
  panel.left = {plan_.precision, panel.diagonal.data + diagonal_bytes(w, plan_), parts * below,
                parts * w, leading_dimension(parts * below)};
  return panel;
}

RightChunk PanelRing::chunk(int slot, std::int64_t width, std::int64_t columns) const {
  SPEEDWELL_EXPECTS(slot >= 0 && slot <= own() && width <= plan_.width);
  SPEEDWELL_EXPECTS(columns <= (slot == own() ? plan_.width : sizes_.chunk));
  std::byte* control = control_.data() + (std::ssize(panels_) + slot) * sizes_.control;
  return {reinterpret_cast<PanelControl*>(control),
          {plan_.precision, right_[static_cast<std::size_t>(slot)].data(), plan_.parts() * width,
           columns, leading_dimension(plan_.parts() * width)}};
}

}  // namespace speedwell
