// SPDX-License-Identifier: BSD-3-Clause
#include "solve/user_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/expects.hpp"
#include "host/lapack_lu.hpp"
#include "source/part_writer.hpp"

namespace speedwell {

namespace {

// zero_pivot_as_given() of elements of type T.
template <class T>
std::int64_t zero_pivot_of(Device& device, const UserMatrix& a) {
  const std::int64_t n = a.element_rows().size();
  const auto order = static_cast<std::size_t>(n);
  std::vector<T> copy(order * order);
  std::vector<int> pivots(order);
  const auto queue = device.make_queue(Priority::normal);
  std::vector<T> column(order);
  const auto zero_pivot = [&](bool transposed) {
    for (std::size_t j = 0; j < order; ++j) {
      const double* from = a.local().as<double>().column(static_cast<std::int64_t>(j));
      device.download(*queue, reinterpret_cast<const T*>(from), column);
      for (std::size_t i = 0; i < order; ++i)
        copy[transposed ? j + i * order : i + j * order] = column[i];
    }
    return factor_by_lapack(MatrixView<T>{copy.data(), n, n, n}, pivots);
  };
  const std::int64_t found = zero_pivot(a.transposed());
  return found >= 0 && zero_pivot(!a.transposed()) >= 0 ? found : -1;
}

}  // namespace

bool is_read_in_place(const ProcessGrid& grid, const Device& device, const MatrixSource& source,
                      const Distribution& rows, const Distribution& columns) {
  const Communicator& all = grid.all();
  const double* array = source.array(all.rank());
  const bool there = source.in_place(grid, rows, columns).has_value();
  const bool readable = agreed(all, [&] { return device.can_read(array); });
  if (there && all.all_reduce(std::int64_t{readable}, Reduction::min) != 0) return true;
  agree(all, [&] {
    if (in_gpu_memory(array))
      throw UsageError(
          "A is in the memory of a GPU, where it cannot be used as it is; allowed: host memory, or "
          "on every rank the memory of the GPU on which it computes, either on one rank or with "
          "MB_ = NB_ and RSRC_ = CSRC_ = 0");
  });
  return false;
}

UserMatrix::UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source,
                       std::int64_t nb)
    : field_(source.field()),
      rows_(grid.rows(source.numbers(), parts_of(field_) * nb)),
      columns_(grid.columns(source.numbers(), parts_of(field_) * nb)),
      transposed_(source.transposed()) {
  const Distribution of_elements = element_columns();
  if (is_read_in_place(grid, device, source, rows_, of_elements)) {
    device.synchronize_all();  // the user's work that writes A may be in any queue
    local_ = *source.in_place(grid, rows_, of_elements);
  } else {
    std::optional<PartWriter> part;
    agree(grid.all(), [&] {
      copy_.emplace(device, rows_, of_elements, Precision::fp64);
      local_ = copy_->local();
      part.emplace(device, copy_->local().as<double>());
    });
    source.fill(grid, rows_, of_elements, *part);
    agree(grid.all(), [&] { checksums_ = part->checksums(); });
  }
  stop_if_interrupted(grid.all());
}

UserMatrix::InMemory UserMatrix::in_memory(Transpose of_a) const {
  if (field_ == Field::real)
    return {(of_a != Transpose::no) != transposed_ ? Transpose::yes : Transpose::no, false};
  // With M in memory: A = M and A^T = conj(M^H), or A = M^T = conj(M^H) and A^H = conj(M).
  if (transposed_)
    return {of_a == Transpose::no ? Transpose::yes : Transpose::no, of_a != Transpose::yes};
  return {of_a == Transpose::no ? Transpose::no : Transpose::yes, of_a == Transpose::yes};
}

void UserMatrix::set_block(std::int64_t elements) {
  const std::int64_t nb = parts_of(field_) * elements;
  if (std::min(nb, rows_.size()) == rows_.block()) return;
  SPEEDWELL_EXPECTS(nb >= 1 && rows_.local_size() == rows_.size() &&
                    columns_.local_size() == columns_.size());
  rows_ = Distribution(rows_.size(), nb, 1, 0);
  columns_ = Distribution(columns_.size(), nb, 1, 0);
}

System UserMatrix::system(const ProcessGrid& grid, Device& device, Transpose transpose) const {
  System plain(grid, device, held_matrix(local_, field_), rows_, columns_);
  return transpose == Transpose::yes ? plain.transposed() : std::move(plain);
}

std::vector<double> times_ones(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                               Transpose transpose) {
  System system = a.system(grid, device, transpose);
  Vector ones(static_cast<std::size_t>(system.x_part().local_size()), 1.0);
  if (a.field() == Field::complex)
    for (std::size_t i = 1; i < ones.size(); i += 2) ones[i] = 0;
  return system.b_space().gather(system.b_part(), system.multiply(ones));
}

std::int64_t zero_pivot_as_given(Device& device, const UserMatrix& a) {
  SPEEDWELL_EXPECTS(a.rows().processes() == 1 && a.columns().processes() == 1);
  return a.field() == Field::complex ? zero_pivot_of<std::complex<double>>(device, a)
                                     : zero_pivot_of<double>(device, a);
}

SingularError singular(std::int64_t pivot, std::int64_t n, const char* which) {
  return {fmt::format("A is singular: pivot {} of {}{} is exactly zero (counted from 1)", pivot + 1,
                      n, which),
          pivot};
}

}  // namespace speedwell
