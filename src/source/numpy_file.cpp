// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <optional>

#include "comm/agreement.hpp"
#include "host/threads.hpp"
#include "io/npz.hpp"
#include "source/file_part.hpp"

namespace speedwell {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are used as they are in a file");

/// A line of a file is a column (Fortran order) or a row (C order). A tile is the same section of
/// some neighbouring lines. It has so many lines that a copy of rows into columns fills cache
/// lines, and so short sections that each thread needs only a small buffer.
constexpr std::int64_t tile_lines = 32;
constexpr std::int64_t tile_length = 8192;

std::int64_t length_of_line(const NumpyHeader& header) {
  return header.fortran ? header.rows() : header.columns();
}

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

/// Copies a tile of a file into a rank's part of a matrix. @param numbers line after line, of
/// complex elements in pairs
void copy_tile(const NumpyHeader& header, const Tile& tile, const std::vector<double>& numbers,
               MatrixView<double> a) {
  const std::int64_t parts = parts_of(header.type.field);
  const std::int64_t length = parts * tile.places.length;
  const MatrixView<const double> read{numbers.data(), length, tile.lines.length, length};
  const std::int64_t line = tile.lines.local.value;
  const std::int64_t place = tile.places.local.value;
  if (header.fortran) {
    for (std::int64_t j = 0; j < read.columns; ++j)
      std::copy_n(read.column(j), read.rows, a.column(line + j) + parts * place);
  } else {
    for (std::int64_t j = 0; j < read.rows; ++j)
      for (std::int64_t i = 0; i < read.columns; ++i)
        a(parts * (line + i) + j % parts, place + j / parts) = read(j, i);
  }
}

/// The bytes of an array's .npy file, which may lie in an archive.
class ArrayBytes {
 public:
  ArrayBytes(const InputFile& file, const NumpyHeader& header) : file_(file) {
    if (header.archived) archived_.emplace(file, *header.archived);
  }

  void read(std::int64_t offset, std::span<std::byte> bytes) {
    archived_ ? archived_->read(offset, bytes) : file_.read(offset, bytes);
  }
  void finish() {
    if (archived_) archived_->finish();
  }

 private:
  const InputFile& file_;
  std::optional<NpzReader> archived_;
};

/// Reads tiles of an array that is not compressed. Several threads may read.
class TileReader {
 public:
  TileReader(const InputFile& file, const NumpyHeader& header, MatrixView<double> a)
      : file_(file), header_(header), line_(length_of_line(header)), a_(a) {}

  void read(const Tile& tile) const {
    const std::int64_t lines = tile.lines.length;
    const std::int64_t length = tile.places.length;
    const std::int64_t count = lines * length * parts_of(header_.type.field);
    std::vector<double> numbers(static_cast<std::size_t>(count));
    const NumpyType as_they_are{.field = header_.type.field};
    if (header_.type == as_they_are) {
      read_bytes(tile, std::as_writable_bytes(std::span(numbers)));
    } else {
      std::vector<std::byte> raw(numbers.size() * static_cast<std::size_t>(header_.type.bytes));
      read_bytes(tile, raw);
      decode_numbers(header_.type, raw, numbers);
    }
    copy_tile(header_, tile, numbers, a_);
  }

 private:
  void read_bytes(const Tile& tile, std::span<std::byte> raw) const {
    const std::int64_t length = tile.places.length;
    ArrayBytes bytes(file_, header_);
    const bool whole = length == line_;  // whole lines are contiguous in the file: one read
    const std::int64_t piece = whole ? tile.lines.length * length : length;
    for (std::int64_t at = 0; at < tile.lines.length * length; at += piece) {
      const std::int64_t line = tile.lines.global.value + at / length;
      const std::int64_t item = header_.type.element_bytes();
      bytes.read(
          header_.data + (line * line_ + tile.places.global.value) * item,
          raw.subspan(static_cast<std::size_t>(at * item), static_cast<std::size_t>(piece * item)));
    }
  }

  const InputFile& file_;
  const NumpyHeader& header_;
  std::int64_t line_;
  MatrixView<double> a_;
};

/// The local lines that a piece of a rank's part has. A piece of rows begins with a whole element.
struct Piece {
  std::int64_t first;
  std::int64_t count;

  Piece(const NumpyHeader& header, std::int64_t begin, MatrixView<double> a)
      : first(header.fortran ? begin : begin / parts_of(header.type.field)),
        count(header.fortran ? a.columns : a.rows / parts_of(header.type.field)) {}
};

/// Which numbers of the file belong to a rank.
struct Lines {
  const Distribution& across;  ///< of the lines
  const Distribution& along;   ///< of the numbers of a line

  Lines(const NumpyHeader& header, const MatrixPart& part)
      : across(header.fortran ? part.columns : part.rows),
        along(header.fortran ? part.rows : part.columns) {}
};

/// a <- the local lines from `first` on, as many as `a` has.
void read_lines(const InputFile& file, const NumpyHeader& header, const MatrixPart& part,
                std::int64_t first, MatrixView<double> a) {
  const Lines mine(header, part);
  const Piece piece(header, first, a);
  const std::vector<Run> lines = pieces(mine.across, piece.first, piece.count, tile_lines);
  const std::vector<Run> places = pieces(mine.along, 0, mine.along.local_size(), tile_length);
  const TileReader reader(file, header, a);
  const std::int64_t each = std::ssize(places);
  for_each_in_threads(std::ssize(lines) * each, [&](std::int64_t i) {
    reader.read(
        {lines[static_cast<std::size_t>(i / each)], places[static_cast<std::size_t>(i % each)]});
  });
}

/// a <- the local lines from `first` on, as many as `a` has, of an array that is inflated. They lie
/// behind those of earlier calls, since local lines have the order of the file.
void inflate_lines(ArrayBytes& bytes, const NumpyHeader& header, const MatrixPart& part,
                   std::int64_t first, MatrixView<double> a) {
  const Lines mine(header, part);
  const Piece piece(header, first, a);
  const std::int64_t length = mine.along.local_size();
  const std::int64_t item = header.type.element_bytes();
  const std::vector<Run> runs = mine.along.runs();
  std::vector<std::byte> raw;
  std::vector<double> numbers;
  for (const Run& lines : pieces(mine.across, piece.first, piece.count, tile_lines)) {
    raw.resize(static_cast<std::size_t>(lines.length * length * item));
    numbers.resize(static_cast<std::size_t>(lines.length * length * parts_of(header.type.field)));
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const std::int64_t begin = (lines.global.value + i) * length_of_line(header);
      for (const Run& run : runs)
        bytes.read(
            header.data + (begin + run.global.value) * item,
            std::span(raw).subspan(static_cast<std::size_t>((i * length + run.local.value) * item),
                                   static_cast<std::size_t>(run.length * item)));
    }
    decode_numbers(header.type, raw, numbers);
    copy_tile(header, {lines, {GlobalIndex{0}, LocalIndex{0}, length}}, numbers, a);
  }
}

}  // namespace

void check_stored(const Communicator& all, const InputFile& file, const NpzArray& array) {
  if (!array.compressed) on_rank_0(all, [&] { NpzReader(file, array).finish(); });
}

void read_numpy_part(const InputFile& file, const NumpyHeader& header, const MatrixPart& part,
                     PartWriter& a) {
  std::optional<ArrayBytes> inflated;
  if (header.compressed()) inflated.emplace(file, header);
  const auto read = [&](std::int64_t first, MatrixView<double> to) {
    if (inflated)
      inflate_lines(*inflated, header, part, first, to);
    else
      read_lines(file, header, part, first, to);
  };
  if (header.fortran)
    a.by_columns(read);
  else
    a.by_rows(read);
  if (inflated) inflated->finish();
}

}  // namespace speedwell
