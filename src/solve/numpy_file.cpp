// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>

#include "solve/file_part.hpp"
#include "solve/threads.hpp"

namespace lupine {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are used as they are in a file");

/// A line of a file is a column (Fortran order) or a row (C order). A tile is the same section of
/// some neighbouring lines. It has so many lines that a copy of rows into columns fills cache
/// lines, and so short sections that each thread needs only a small buffer.
constexpr std::int64_t tile_lines = 32;
constexpr std::int64_t tile_length = 8192;

struct Tile {
  Run lines;
  Run places;  ///< the section of each line
};

/// The local indices [begin, begin + count) as runs of at most `longest`. The local indices of the
/// runs are relative to `begin`.
std::vector<Run> pieces(const Distribution& dimension, std::int64_t begin, std::int64_t count,
                        std::int64_t longest) {
  std::vector<Run> cut;
  for (const Run& run : dimension.runs()) {
    const std::int64_t end = std::min(run.local.value + run.length, begin + count);
    for (std::int64_t l = std::max(run.local.value, begin); l < end; l += longest)
      cut.push_back(
          {run.global + (l - run.local.value), LocalIndex{l - begin}, std::min(longest, end - l)});
  }
  return cut;
}

template <class T>
class TileReader {
 public:
  TileReader(const InputFile& file, const NumpyHeader& header, MatrixView<double> a)
      : file_(file),
        header_(header),
        line_(header.fortran ? header.rows() : header.columns()),
        a_(a) {}

  void read(const Tile& tile) const {
    const std::int64_t lines = tile.lines.length;
    const std::int64_t length = tile.places.length;
    std::vector<T> numbers(static_cast<std::size_t>(lines * length));
    const bool whole = length == line_;  // whole lines are contiguous in the file: one read
    const std::int64_t piece = whole ? lines * length : length;
    for (std::int64_t at = 0; at < lines * length; at += piece) {
      const std::int64_t line = tile.lines.global.value + at / length;
      const std::span<T> part(numbers.data() + at, static_cast<std::size_t>(piece));
      file_.read(header_.data + (line * line_ + tile.places.global.value) * header_.item,
                 std::as_writable_bytes(part));
    }
    copy(tile, numbers);
  }

 private:
  void copy(const Tile& tile, const std::vector<T>& numbers) const {
    const MatrixView<const T> read{numbers.data(), tile.places.length, tile.lines.length,
                                   tile.places.length};
    const std::int64_t line = tile.lines.local.value;
    const std::int64_t place = tile.places.local.value;
    if (header_.fortran) {
      for (std::int64_t j = 0; j < read.columns; ++j)
        std::copy_n(read.column(j), read.rows, a_.column(line + j) + place);
    } else {
      for (std::int64_t j = 0; j < read.rows; ++j)
        for (std::int64_t i = 0; i < read.columns; ++i) a_(line + i, place + j) = read(j, i);
    }
  }

  const InputFile& file_;
  const NumpyHeader& header_;
  std::int64_t line_;
  MatrixView<double> a_;
};

/// a <- the local lines from `first` on, as many as `a` has.
template <class T>
void read_lines(const InputFile& file, const NumpyHeader& header, const Parts& parts,
                std::int64_t first, MatrixView<double> a) {
  const Distribution& across = header.fortran ? parts.columns : parts.rows;
  const Distribution& along = header.fortran ? parts.rows : parts.columns;
  const std::int64_t count = header.fortran ? a.columns : a.rows;
  const std::vector<Run> lines = pieces(across, first, count, tile_lines);
  const std::vector<Run> places = pieces(along, 0, along.local_size(), tile_length);
  const TileReader<T> reader(file, header, a);
  const std::int64_t each = std::ssize(places);
  for_each_in_threads(std::ssize(lines) * each, [&](std::int64_t i) {
    reader.read(
        {lines[static_cast<std::size_t>(i / each)], places[static_cast<std::size_t>(i % each)]});
  });
}

}  // namespace

void read_numpy_part(const InputFile& file, const NumpyHeader& header, const Parts& parts,
                     PartWriter& a) {
  const auto read = [&](std::int64_t first, MatrixView<double> to) {
    if (header.item == sizeof(float))
      read_lines<float>(file, header, parts, first, to);
    else
      read_lines<double>(file, header, parts, first, to);
  };
  if (header.fortran)
    a.by_columns(read);
  else
    a.by_rows(read);
}

}  // namespace lupine
