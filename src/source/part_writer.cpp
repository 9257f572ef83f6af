// SPDX-License-Identifier: BSD-3-Clause
#include "source/part_writer.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <tuple>

#include "core/expects.hpp"
#include "host/threads.hpp"

namespace lupine {

namespace {

constexpr std::int64_t element = sizeof(double);

// The rows of a piece are a multiple of these, so that no complex element is cut in two.
constexpr std::int64_t row_step = 2;

// At least row_step rows and one column fit, whatever the limit.
std::int64_t bytes_of_piece(MatrixView<double> a) {
  const std::int64_t eighth = a.rows * a.columns * element / 8;
  return std::max(
      {std::min(eighth, largest_piece_bytes), a.rows * element, row_step * a.columns * element});
}

}  // namespace

PartWriter::PartWriter(Device& device, MatrixView<double> a) : a_(a), run_(device.run()) {
  if (device.shares_host_memory() || a.empty()) return;
  device_ = &device;
  queue_ = device.make_queue(Priority::normal);
  piece_ = device.allocate_host(bytes_of_piece(a));
}

// Copies a piece of host memory to A, and waits: the caller overwrites the piece next.
void PartWriter::put(std::int64_t i, std::int64_t j, MatrixView<const double> piece) {
  device_->write(*queue_, piece, a_.block(i, j, piece.rows, piece.columns));
  queue_->synchronize();
}

void PartWriter::by_columns(const WritePiece& write) {
  if (a_.empty()) return;
  if (!device_) return write(0, a_);
  const std::int64_t width = piece_.bytes() / (a_.rows * element);
  for (std::int64_t j = 0; j < a_.columns; j += width) {
    const MatrixView<double> to{piece_.as<double>(), a_.rows, std::min(width, a_.columns - j),
                                a_.rows};
    write(j, to);
    put(0, j, to);
  }
}

void PartWriter::by_rows(const WritePiece& write) {
  if (a_.empty()) return;
  if (!device_) return write(0, a_);
  const std::int64_t height = piece_.bytes() / (row_step * a_.columns * element) * row_step;
  for (std::int64_t i = 0; i < a_.rows; i += height) {
    const std::int64_t rows = std::min(height, a_.rows - i);
    const MatrixView<double> to{piece_.as<double>(), rows, a_.columns, rows};
    write(i, to);
    put(i, 0, to);
  }
}

void PartWriter::set(std::int64_t i, std::int64_t j, MatrixView<const double> from) {
  if (from.empty()) return;
  if (device_) return put(i, j, from);
  for (std::int64_t c = 0; c < from.columns; ++c)
    std::copy_n(from.column(c), from.rows, a_.column(j + c) + i);
}

void PartWriter::copy(MatrixView<const double> from) {
  LUPINE_EXPECTS(from.rows == rows() && from.columns == columns());
  by_columns([&](std::int64_t first, MatrixView<double> to) {
    for_each_in_threads(to.columns, [&](std::int64_t j) {
      if (ended()) return;
      std::copy_n(from.column(first + j), to.rows, to.column(j));
    });
  });
}

void PartWriter::clear() {
  by_columns([](std::int64_t, MatrixView<double> to) {
    for (std::int64_t j = 0; j < to.columns; ++j) std::fill_n(to.column(j), to.rows, 0.0);
  });
}

void PartWriter::add(std::vector<std::vector<MatrixEntry>>& lists) {
  if (!device_) return add_on_host(lists);
  for (std::vector<MatrixEntry>& entries : lists) add_on_device(entries);
}

// Each thread goes through all entries and adds those of its elements: eight rows of a column,
// which are about a cache line, belong to one thread. So the order of the entries of one element
// stays.
void PartWriter::add_on_host(const std::vector<std::vector<MatrixEntry>>& lists) {
  const auto slices = static_cast<std::uint64_t>(std::bit_floor(threads_in_loops()));
  for_each_in_threads(static_cast<std::int64_t>(slices), [&](std::int64_t slice) {
    for (const std::vector<MatrixEntry>& entries : lists)
      for (const MatrixEntry& e : entries) {
        const auto line = static_cast<std::uint64_t>(e.row / 8 + e.column);
        if ((line & (slices - 1)) == static_cast<std::uint64_t>(slice))
          a_(e.row, e.column) += e.value;
      }
  });
}

void PartWriter::add_on_device(std::vector<MatrixEntry>& entries) {
  if (entries.empty()) return;
  const auto place = [](const MatrixEntry& e) { return std::tuple(e.column, e.row); };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const MatrixEntry& a, const MatrixEntry& b) { return place(a) < place(b); });
  const std::size_t most =
      std::max<std::size_t>(static_cast<std::size_t>(piece_.bytes()) / sizeof(MatrixEntry), 1);
  if (entries_.bytes() == 0)
    entries_ = device_->allocate(static_cast<std::int64_t>(most * sizeof(MatrixEntry)));
  auto* const there = entries_.as<MatrixEntry>();
  for (std::size_t at = 0; at < entries.size(); at += most) {
    const std::span part = std::span(entries).subspan(at, std::min(most, entries.size() - at));
    device_->upload(*queue_, part, there);
    device_->add_entries(*queue_, there, std::ssize(part), a_);
    queue_->synchronize();
  }
}

}  // namespace lupine
