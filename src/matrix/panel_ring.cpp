#include "matrix/panel_ring.hpp"

namespace lupine {

PanelRing::PanelRing(Device& device, const Distribution& rows, const Distribution& columns,
                     Precision precision, std::int64_t width, int slots)
    : rows_(rows.local_size()),
      columns_(columns.local_size()),
      precision_(precision),
      left_bytes_(leading_dimension(rows_) * width * bytes_of(precision)),
      right_bytes_(leading_dimension(width) * columns_ * bytes_of(precision)),
      headers_(device.allocate(2 * std::int64_t{slots} * std::int64_t{sizeof(PanelHeader)})),
      diagonal_(device.allocate(width * width * std::int64_t{sizeof(float)})),
      panels_(static_cast<std::size_t>(slots)) {
  auto* header = headers_.as<PanelHeader>();
  for (Panel& panel : panels_) {
    memory_.push_back(device.allocate(left_bytes_));
    panel.left.data = memory_.back().data();
    memory_.push_back(device.allocate(right_bytes_));
    panel.right.data = memory_.back().data();
    panel.left_header = header++;
    panel.right_header = header++;
  }
}

std::int64_t PanelRing::leading_dimension(std::int64_t rows) {
  constexpr std::int64_t line = 32;  // 16-bit elements of a cache line
  return (rows + line - 1) / line * line;
}

Panel& PanelRing::shape(const Step& step) {
  Panel& panel = (*this)[step.index];
  const std::int64_t below = rows_ - step.trailing_row.value;
  const std::int64_t right = columns_ - step.trailing_column.value;
  panel.step = step;
  panel.left = {precision_, panel.left.data, below, step.width(), leading_dimension(below)};
  panel.right = {precision_, panel.right.data, step.width(), right,
                 leading_dimension(step.width())};
  return panel;
}

MatrixView<float> PanelRing::diagonal(std::int64_t width) const {
  return {diagonal_.as<float>(), width, width, width};
}

}  // namespace lupine
