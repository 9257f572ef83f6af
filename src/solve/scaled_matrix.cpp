// SPDX-License-Identifier: BSD-3-Clause
#include "solve/scaled_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "matrix/wide_part.hpp"
#include "refine/pairs.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t narrow_strip = 512;  // columns that are rounded to 16 bits at once

Buffer on_device(Device& device, Queue& queue, const Vector& v) {
  Buffer buffer = device.allocate(std::ssize(v) * std::int64_t{sizeof(double)});
  device.upload(queue, v, buffer.as<double>());
  return buffer;
}

// 2^floor(e/2) or 2^ceil(e/2) for the rank's exponents e.
Vector half_powers(const Distribution& mine, const std::vector<int>& exponents, bool up) {
  Vector powers(exponents.size());
  std::ranges::transform(exponents, powers.begin(), [&](int e) {
    const int floor = e >= 0 ? e / 2 : -((1 - e) / 2);
    return std::ldexp(1.0, up ? e - floor : floor);
  });
  return local_part(mine, powers);
}

// max_i sum_j |a_ij| of A or A^T. The sums are those of A 2^-e, which do not leave FP64's range.
long double norm_of(const ProcessGrid& grid, Device& device, const UserMatrix& a, int e,
                    Transpose transpose) {
  System system = a.system(grid, device, transpose);
  const Vector powers(static_cast<std::size_t>(system.x_part().local_size()), std::ldexp(1.0, -e));
  const MultiVector zero(system.b_part().local_size(), 1);
  const System::Errors errors = system.errors(MultiVector(powers), zero, true);
  return std::ldexp(static_cast<long double>(system.b_space().largest(errors.bound)[0]), e);
}

Equilibration raised_by(int raised, Equilibration scales) {
  scales.raise(raised);
  return scales;
}

}  // namespace

ScaledMatrix::ScaledMatrix(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                           Scaling scaling, std::vector<std::uint64_t>* checksums, int raised)
    : grid_(grid),
      device_(device),
      a_(a),
      scaling_(scaling),
      scales_(raised_by(raised, equilibrate(grid, device, a, scaling, checksums))),
      underflow_(scales_.is_moderate && scales_.scales() ? 0x1p-600 : 0x1p-1074),
      of_rows_(checksum_of(scales_.rows)),
      of_columns_(checksum_of(scales_.columns)) {
  if (scales_.is_moderate) return;
  agree(grid.all(), [&] { held_.emplace(device, a.rows(), a.element_columns(), Precision::fp64); });
  // Scales of what was scaled first reach from 2^-1024 to 2^1022, those of the other side from 1 to
  // 2^2044. Half of the latter, half of the former, and the same again: so every number on the way
  // from a_ij to the result lies between the two.
  const auto queue = device.make_queue(Priority::normal);
  const bool rows_first = scales_.first == Layout::rows;
  for (const bool up : {false, true}) {
    const Buffer rows = on_device(device, *queue, half_powers(a.rows(), scales_.rows, up));
    const Buffer columns = on_device(
        device, *queue, of_columns(a.field(), half_powers(a.columns(), scales_.columns, up)));
    const auto scale = [&](ConstAnyMatrix from, bool by_rows) {
      device.scale(*queue, from, by_rows ? rows.as<double>() : nullptr,
                   by_rows ? nullptr : columns.as<double>(), held_->local());
    };
    scale(up ? ConstAnyMatrix(held_->local()) : a.local(), !rows_first);
    scale(held_->local(), rows_first);
    queue->synchronize();
  }
  checksum_.emplace(Checksum::of(grid.all(), device, held_->local()));
  const auto lowest = std::ranges::min(rows_first ? scales_.rows : scales_.columns);
  const int e = std::clamp(*exponent(scales_.largest) - lowest, -1000, 1000);
  norms_ = {norm_of(grid, device, a, e, Transpose::no),
            norm_of(grid, device, a, e, Transpose::yes)};
}

System ScaledMatrix::system() const {
  const ConstAnyMatrix a = held_ ? ConstAnyMatrix(held_->local()) : a_.local();
  return {grid_,     device_,      held_matrix(a, a_.field()),
          a_.rows(), a_.columns(), held_ ? Scales{} : scales_.local(a_.rows(), a_.columns())};
}

void ScaledMatrix::round_to(AnyMatrix elements, std::int64_t i0, std::int64_t j0) const {
  const AnyMatrix to = elements.real();
  const std::int64_t row = i0 * parts_of(a_.field());
  const auto queue = device_.make_queue(Priority::normal);
  const Scales scales = held_ ? Scales{} : scales_.local(a_.rows(), a_.columns());
  const ConstAnyMatrix from =
      (held_ ? ConstAnyMatrix(held_->local()) : a_.local()).block(row, j0, to.rows, to.columns);
  const Buffer rows = on_device(device_, *queue, scales.rows);
  const Buffer columns = on_device(device_, *queue, of_columns(a_.field(), scales.columns));
  const bool narrow = bytes_of(to.precision) == 2;
  const std::int64_t width = narrow ? std::min(to.columns, narrow_strip) : to.columns;
  const Buffer wide = device_.allocate(WidePart::bytes(to.precision, to.rows, width));
  for (std::int64_t j = 0; j < to.columns; j += width) {
    const std::int64_t count = std::min(width, to.columns - j);
    const AnyMatrix part = to.block(0, j, to.rows, count);
    const AnyMatrix rounded =
        narrow ? AnyMatrix(Precision::fp32, wide.data(), to.rows, count, to.rows) : part;
    device_.scale(*queue, from.block(0, j, to.rows, count),
                  scales.rows.empty() ? nullptr : rows.as<double>() + row,
                  scales.columns.empty() ? nullptr : columns.as<double>() + j0 + j, rounded);
    if (narrow) device_.copy(*queue, rounded, part);
  }
  queue->synchronize();
}

ScaledEntries ScaledMatrix::entries() const {
  return {[this](AnyMatrix to, std::int64_t i, std::int64_t j) { round_to(to, i, j); }, underflow(),
          scales_.largest};
}

long double ScaledMatrix::norm(System& system, Transpose transpose) const {
  return held_ ? norms_[transpose == Transpose::yes ? 1 : 0] : system.norm_a();
}

int ScaledMatrix::exponent_of_b() const {
  constexpr int lifted = 400;  // squares of vectors, and their sums, stay far below overflow
  return held_ && scaling_ != Scaling::off ? lifted : 0;
}

ChangeOfMatrix ScaledMatrix::what_changed(const Checksum& of_a,
                                          std::optional<MatrixChecksum> seen) const {
  std::string found =
      of_a.where_changed(grid_.all(), device_, a_.local(), a_.element_columns(), a_.column(), seen);
  const bool is_of_a = !found.empty();
  if (!is_of_a && held_)
    found = checksum_->where_changed(grid_.all(), device_, held_->local(), a_.element_columns(),
                                     a_.column());
  return {found.empty() ? "" : "A has changed in memory since it was read: " + found, is_of_a};
}

}  // namespace speedwell
