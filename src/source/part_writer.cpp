// SPDX-License-Identifier: BSD-3-Clause
#include "source/part_writer.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>
#include <tuple>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "cpu/vector_loops.hpp"
#include "device/checksum_keys.hpp"
#include "host/threads.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t element = sizeof(double);

// The rows of a piece are a multiple of these, so that no complex element is cut in two.
constexpr std::int64_t row_step = 2;

// Of a part in host memory: short, so that what is written is summed soon, and long enough for all
// threads to write.
constexpr std::int64_t least_bytes_on_host = std::int64_t{64} << 10;
constexpr std::int64_t bytes_of_thread = std::int64_t{4} << 20;

std::int64_t bytes_of(MatrixView<double> a) {
  return a.rows * a.columns * element;
}

// At least row_step rows and one column fit, whatever the limit.
std::int64_t bytes_of_piece(MatrixView<double> a, std::int64_t limit) {
  return std::max({limit, a.rows * element, row_step * a.columns * element});
}

}  // namespace

PartWriter::PartWriter(MatrixView<double> a, const RunContext& run)
    : a_(a),
      run_(run),
      piece_bytes_(bytes_of_piece(a, std::clamp(bytes_of(a) / 16, least_bytes_on_host,
                                                bytes_of_thread * threads_in_loops()))),
      row_keys_(KeysOfPlaces(a.rows, 0).rows),
      sums_(static_cast<std::size_t>(a.columns) + 1) {}

PartWriter::PartWriter(Device& device, MatrixView<double> a) : PartWriter(a, device.run()) {
  if (device.shares_host_memory() || a.empty()) return;
  device_ = &device;
  queue_ = device.make_queue(Priority::normal);
  piece_bytes_ = bytes_of_piece(a, std::min(bytes_of(a) / 8, largest_piece_bytes));
  piece_ = device.allocate_host(piece_bytes_);
}

// Where a piece is written: in A itself, or on the way to it.
MatrixView<double> PartWriter::piece(std::int64_t i, std::int64_t j, std::int64_t rows,
                                     std::int64_t columns) const {
  if (!device_) return a_.block(i, j, rows, columns);
  return {piece_.as<double>(), rows, columns, rows};
}

// Adds a piece to the checksums, and copies it to A, if it is not there; then it waits: the caller
// overwrites the piece next.
void PartWriter::put(std::int64_t i, std::int64_t j, MatrixView<const double> piece) {
  take_sums(i, j, piece);
  if (!device_) return;
  device_->write(*queue_, piece, a_.block(i, j, piece.rows, piece.columns));
  queue_->synchronize();
}

void PartWriter::take_sums(std::int64_t i, std::int64_t j, MatrixView<const double> piece) {
  constexpr std::int64_t strip = 8;
  const ColumnChecksums to{row_keys_.data(), &sums_.back(), sums_.data()};
  for_each_in_threads(ceil_div(piece.columns, strip), [&](std::int64_t k) {
    const std::int64_t first = k * strip;
    const std::int64_t width = std::min(strip, piece.columns - first);
    vector_loops().checksums_of_columns(piece.block(0, first, piece.rows, width),
                                        to.from(i, j + first));
  });
}

void PartWriter::by_columns(const WritePiece& write) {
  if (a_.empty()) return;
  const std::int64_t width = piece_bytes_ / (a_.rows * element);
  for (std::int64_t j = 0; j < a_.columns; j += width) {
    const MatrixView<double> to = piece(0, j, a_.rows, std::min(width, a_.columns - j));
    write(j, to);
    put(0, j, to);
  }
}

void PartWriter::by_rows(const WritePiece& write) {
  if (a_.empty()) return;
  const std::int64_t height = piece_bytes_ / (row_step * a_.columns * element) * row_step;
  for (std::int64_t i = 0; i < a_.rows; i += height) {
    const MatrixView<double> to = piece(i, 0, std::min(height, a_.rows - i), a_.columns);
    write(i, to);
    put(i, 0, to);
  }
}

void PartWriter::set(std::int64_t i, std::int64_t j, MatrixView<const double> from) {
  if (from.empty()) return;
  put(i, j, from);
  if (device_) return;
  for (std::int64_t c = 0; c < from.columns; ++c)
    std::copy_n(from.column(c), from.rows, a_.column(j + c) + i);
}

void PartWriter::copy(MatrixView<const double> from) {
  SPEEDWELL_EXPECTS(from.rows == rows() && from.columns == columns());
  by_columns([&](std::int64_t first, MatrixView<double> to) {
    for_each_in_threads(to.columns, [&](std::int64_t j) {
      if (ended()) return;
      std::copy_n(from.column(first + j), to.rows, to.column(j));
    });
  });
}

void PartWriter::clear() {
  std::ranges::fill(sums_, std::uint64_t{0});
  by_columns([](std::int64_t, MatrixView<double> to) {
    for (std::int64_t j = 0; j < to.columns; ++j) std::fill_n(to.column(j), to.rows, 0.0);
  });
}

void PartWriter::add(std::vector<std::vector<MatrixEntry>>& lists) {
  if (!device_) return add_on_host(lists);
  for (std::vector<MatrixEntry>& entries : lists) add_on_device(entries);
}

// Each thread goes through all entries and adds those of its columns: eight of them, whose sums are
// about a cache line, belong to one thread. So the order of the entries of one element stays. A sum
// changes by what its number was and is: so it shows an element that was another one before.
void PartWriter::add_on_host(const std::vector<std::vector<MatrixEntry>>& lists) {
  const auto slices = static_cast<std::uint64_t>(std::bit_floor(threads_in_loops()));
  std::atomic_ref<std::uint64_t> all_bits(sums_.back());
  for_each_in_threads(static_cast<std::int64_t>(slices), [&](std::int64_t slice) {
    std::uint64_t bits = 0;
    for (const std::vector<MatrixEntry>& entries : lists)
      for (const MatrixEntry& e : entries) {
        const auto line = static_cast<std::uint64_t>(e.column / 8);
        if ((line & (slices - 1)) != static_cast<std::uint64_t>(slice)) continue;
        double& number = a_(e.row, e.column);
        const std::uint64_t key = row_keys_[static_cast<std::size_t>(e.row)];
        const auto before = std::bit_cast<std::uint64_t>(number);
        number += e.value;
        const auto after = std::bit_cast<std::uint64_t>(number);
        sums_[static_cast<std::size_t>(e.column)] +=
            keyed_bits(after, key) - keyed_bits(before, key);
        bits += after - before;
      }
    all_bits += bits;
  });
}

void PartWriter::add_on_device(std::vector<MatrixEntry>& entries) {
  if (entries.empty()) return;
  summed_ = false;
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

std::vector<std::uint64_t> PartWriter::checksums() {
  if (!summed_) {
    const Buffer found = device_->allocate(std::ssize(sums_) * element);
    device_->checksums_of_columns(*queue_, a_, found.as<std::uint64_t>());
    device_->download(*queue_, found.as<std::uint64_t>(), sums_);
    summed_ = true;
  }
  return sums_;
}

}  // namespace speedwell
