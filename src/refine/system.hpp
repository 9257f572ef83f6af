/// @file
/// The system A x = b with A regenerated wherever it is needed.
///
/// Two kinds of vectors: along rows (a rank holds the entries of its rows, alike in a process row:
/// b, r) and along columns (the entries of its columns, alike in a process column: x, d).
#pragma once

#include <lupine/benchmark.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "element/matrix_spec.hpp"
#include "grid/distribution.hpp"

namespace lupine {

/// The entries of b that belong to these rows.
std::vector<double> right_hand_side(const MatrixSpec& spec, const Distribution& rows);

class System {
 public:
  System(const ProcessGrid& grid, Device& device, const MatrixSpec& spec, Distribution rows,
         Distribution columns);

  std::int64_t n() const { return rows_.size(); }
  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  const ProcessGrid& grid() const { return grid_; }
  const std::vector<double>& b() const { return b_; }

  /// A x along rows, in FP64. The first pass also finds ||A||. Collective.
  std::vector<double> multiply(std::span<const double> x);
  /// b - A x along rows. Collective.
  std::vector<double> residual(std::span<const double> x);
  /// ||A||, ||x||, ||b|| and ||r||. Collective. @pre a pass over A has been made
  SystemNorms norms(std::span<const double> x, std::span<const double> r) const;
  /// Inner products of vectors along columns with v, equal on every rank to the last bit.
  std::vector<double> dots(std::span<const std::vector<double>> basis,
                           std::span<const double> v) const;

 private:
  double largest(std::span<const double> v) const;

  const ProcessGrid& grid_;
  Device& device_;
  MatrixSpec spec_;
  Distribution rows_;
  Distribution columns_;
  std::unique_ptr<Queue> queue_;
  Buffer x_;
  Buffer ax_;
  Buffer abs_rows_;  // until ||A|| is known
  std::vector<double> b_;
  double norm_a_ = -1;
};

}  // namespace lupine
