// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/panel_ring.hpp"

#include <algorithm>

#include "core/expects.hpp"
#include "core/numbers.hpp"

namespace lupine {

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

PanelRing::PanelRing(Device& device, const Distribution& rows, const RingShape& shape)
    : rows_(rows.local_size()),
      shape_(shape),
      left_bytes_(diagonal_bytes(shape.width, shape.precision) +
                  leading_dimension(rows_) * shape.width * bytes_of(shape.precision)),
      right_bytes_(right_bytes(shape.width, shape.chunk, shape.precision)),
      own_bytes_(right_bytes(shape.width, shape.width, shape.precision)),
      control_bytes_(round_up(static_cast<std::int64_t>(sizeof(PanelControl)) +
                                  shape.width * std::int64_t{sizeof(std::int64_t)},
                              line_bytes)),
      control_(device.allocate((shape.slots + shape.chunks + 1) * control_bytes_)),
      panels_(static_cast<std::size_t>(shape.slots)) {
  std::byte* control = control_.data();
  for (Panel& panel : panels_) {
    memory_.push_back(device.allocate(left_bytes_));
    panel.diagonal.data = memory_.back().data();
    panel.control = reinterpret_cast<PanelControl*>(control);
    if (shape.pivoting) panel.pivots = reinterpret_cast<std::int64_t*>(panel.control + 1);
    control += control_bytes_;
  }
  for (int i = 0; i < shape.chunks; ++i) right_.push_back(device.allocate(right_bytes_));
  right_.push_back(device.allocate(own_bytes_));
}

int PanelRing::chunks_for(std::int64_t columns, std::int64_t chunk) {
  return static_cast<int>(std::clamp<std::int64_t>(ceil_div(columns, chunk), 1, most_chunks));
}

std::int64_t PanelRing::right_bytes(std::int64_t width, std::int64_t columns, Precision precision) {
  return leading_dimension(width) * columns * bytes_of(precision);
}

std::int64_t PanelRing::leading_dimension(std::int64_t rows) {
  return lupine::leading_dimension(rows, 32);
}

std::int64_t PanelRing::diagonal_bytes(std::int64_t width, Precision precision) {
  return round_up(width * width * bytes_of(storage_for(precision)), line_bytes);
}

Panel& PanelRing::shape(const Step& step) {
  Panel& panel = (*this)[step.index];
  const std::int64_t below = rows_ - step.trailing_row.value;
  const std::int64_t w = step.width();
  panel.step = step;
  panel.diagonal = {storage_for(shape_.precision), panel.diagonal.data, w, w, w};
  panel.left = {shape_.precision, panel.diagonal.data + diagonal_bytes(w, shape_.precision), below,
                w, leading_dimension(below)};
  return panel;
}

RightChunk PanelRing::chunk(int slot, std::int64_t width, std::int64_t columns) const {
  LUPINE_EXPECTS(slot >= 0 && slot <= own() && width <= shape_.width);
  LUPINE_EXPECTS(columns <= (slot == own() ? shape_.width : shape_.chunk));
  std::byte* control = control_.data() + (std::ssize(panels_) + slot) * control_bytes_;
  return {reinterpret_cast<PanelControl*>(control),
          {shape_.precision, right_[static_cast<std::size_t>(slot)].data(), width, columns,
           leading_dimension(width)}};
}

}  // namespace lupine
