#include <algorithm>
#include <bit>

#include "solve/file_part.hpp"
#include "solve/threads.hpp"

namespace lupine {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are used as they are in a file");

/// The lines of a file are columns (Fortran order) or rows (C order). A tile is a part of some
/// neighbouring lines: as many lines as make the copy into columns go along cache lines, and as
/// long as a thread's buffer allows.
constexpr std::int64_t tile_lines = 32;
constexpr std::int64_t tile_length = 8192;

struct Tile {
  Run lines;
  Run places;  ///< within each line
};

/// Runs cut into pieces of at most `longest`.
std::vector<Run> pieces(const Distribution& dimension, std::int64_t longest) {
  std::vector<Run> cut;
  for (const Run& run : dimension.runs())
    for (std::int64_t i = 0; i < run.length; i += longest)
      cut.push_back({run.global + i, run.local + i, std::min(longest, run.length - i)});
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
    const bool whole = length == line_;  // then the lines follow each other
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
      for (std::int64_t j = 0; j < read.cols; ++j)
        std::copy_n(read.column(j), read.rows, a_.column(line + j) + place);
    } else {
      for (std::int64_t j = 0; j < read.rows; ++j)
        for (std::int64_t i = 0; i < read.cols; ++i) a_(line + i, place + j) = read(j, i);
    }
  }

  const InputFile& file_;
  const NumpyHeader& header_;
  std::int64_t line_;
  MatrixView<double> a_;
};

template <class T>
void read_tiles(const InputFile& file, const NumpyHeader& header, const Parts& parts,
                MatrixView<double> a) {
  const Distribution& across = header.fortran ? parts.columns : parts.rows;
  const Distribution& along = header.fortran ? parts.rows : parts.columns;
  const std::vector<Run> lines = pieces(across, tile_lines);
  const std::vector<Run> places = pieces(along, tile_length);
  const TileReader<T> reader(file, header, a);
  for_each_in_threads(std::ssize(lines), [&](std::int64_t i) {
    for (const Run& place : places) reader.read({lines[static_cast<std::size_t>(i)], place});
  });
}

}  // namespace

void read_numpy_part(const InputFile& file, const NumpyHeader& header, const Parts& parts,
                     MatrixView<double> a) {
  if (header.item == sizeof(float))
    read_tiles<float>(file, header, parts, a);
  else
    read_tiles<double>(file, header, parts, a);
}

}  // namespace lupine
