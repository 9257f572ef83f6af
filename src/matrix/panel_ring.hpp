/// @file
/// The panels in flight: 16-bit copies of a block column of L and a block row of U.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "grid/step.hpp"

namespace lupine {

/// What a rank needs of step k to update its trailing matrix, contiguous so that it can be sent:
/// columns are padded to whole cache lines, which tensor cores need too, and sent with it.
struct Panel {
  Step step;
  LowMatrix left;   ///< L_ik: local rows from step.trailing_row on, step.width() columns
  LowMatrix right;  ///< -U_kj: step.width() rows, local columns from step.trailing_column on
  PanelHeader* left_header = nullptr;
  PanelHeader* right_header = nullptr;

  static std::span<std::byte> bytes(const LowMatrix& m) {
    return {m.data, static_cast<std::size_t>(m.ld * m.cols * bytes_of(m.precision))};
  }
  static std::span<std::byte> bytes(PanelHeader* header) {
    return std::as_writable_bytes(std::span(header, 1));
  }
};

/// Memory of a fixed number of panels, used in turn; nothing is allocated while factoring.
class PanelRing {
 public:
  /// @param slots panels alive at once; @param width columns of a step at most
  PanelRing(Device& device, const Distribution& rows, const Distribution& columns,
            Precision precision, std::int64_t width, int slots);

  /// Elements from one column of a panel to the next.
  static std::int64_t leading_dimension(std::int64_t rows);
  /// Bytes of a left (right) panel at most.
  std::int64_t largest_left() const { return left_bytes_; }
  std::int64_t largest_right() const { return right_bytes_; }

  int slots() const { return static_cast<int>(panels_.size()); }
  Panel& operator[](std::int64_t k) { return panels_[static_cast<std::size_t>(k % slots())]; }
  /// The panel of `step`, shaped, in the place of the one `slots` steps before.
  Panel& shape(const Step& step);
  /// Room for a factored diagonal block, contiguous.
  MatrixView<float> diagonal(std::int64_t width) const;

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  Precision precision_;
  std::int64_t left_bytes_;
  std::int64_t right_bytes_;
  std::vector<Buffer> memory_;
  Buffer headers_;
  Buffer diagonal_;
  std::vector<Panel> panels_;
};

}  // namespace lupine
