// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "comm/agreement.hpp"
#include "device/checksum_keys.hpp"
#include "io/matrix_market.hpp"
#include "io/npz.hpp"
#include "io/numpy.hpp"
#include "io/output_file.hpp"
#include "source/matrix_file.hpp"

namespace speedwell {

namespace {

/// Collects text and passes it on in pieces of about 1 MiB.
class Pieces {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit Pieces(Write write) : write_(std::move(write)) {}

  void add(std::string_view text) {
    text_ += text;
    if (text_.size() >= piece) flush();
  }
  void flush() {
    write_(text_);
    text_.clear();
  }

 private:
  static constexpr std::size_t piece = std::size_t{1} << 20;

  Write write_;
  std::string text_;
};

// `x` has two numbers under each other for each complex element.
void write_market(Pieces& out, MatrixView<const double> x, Field field) {
  constexpr std::size_t longest = 32;  // characters of a number: at most 24, and the line's end
  const std::int64_t parts = parts_of(field);
  out.add(fmt::format("{} matrix array {} general\n{} {}\n", market_magic,
                      field == Field::real ? "real" : "complex", x.rows / parts, x.columns));
  std::array<char, longest> text;
  for (std::int64_t j = 0; j < x.columns; ++j)
    for (std::int64_t i = 0; i < x.rows; ++i) {
      char* end = std::to_chars(text.data(), text.data() + longest, x(i, j)).ptr;
      *end++ = i % parts == parts - 1 ? '\n' : ' ';
      out.add({text.data(), static_cast<std::size_t>(end - text.data())});
    }
}

void write_numpy(Pieces& out, const SolutionFormat& format, MatrixView<const double> x,
                 Field field) {
  const bool vector = format.vector && x.columns == 1;
  const std::int64_t parts = parts_of(field);
  std::vector<std::int64_t> shape{x.rows / parts};
  if (!vector) shape.push_back(x.columns);
  const bool by_columns = vector || format.fortran;
  out.add(numpy_header(shape, format.fortran && !vector, field));
  const auto add = [&](std::int64_t i, std::int64_t j) {
    std::array<char, sizeof(double)> bytes;
    std::copy_n(std::as_bytes(std::span(&x(i, j), 1)).data(), bytes.size(),
                std::as_writable_bytes(std::span(bytes)).data());
    out.add({bytes.data(), bytes.size()});
  };
  if (by_columns) {
    for (std::int64_t j = 0; j < x.columns; ++j)
      for (std::int64_t i = 0; i < x.rows; ++i) add(i, j);
  } else {
    for (std::int64_t i = 0; i < x.rows; i += parts)
      for (std::int64_t j = 0; j < x.columns; ++j)
        for (std::int64_t part = 0; part < parts; ++part) add(i + part, j);
  }
}

std::string npy_text(const SolutionFormat& format, MatrixView<const double> x, Field field) {
  std::string text;
  Pieces pieces([&](std::string_view piece) { text += piece; });
  write_numpy(pieces, format, x, field);
  pieces.flush();
  return text;
}

}  // namespace

void require_kind(const std::string& path) {
  if (kind_by_name(path) == FileKind::npz && !has_libzip())
    throw UsageError(fmt::format(
        "-o '{}': this Speedwell was built without libzip, which .npz files need; allowed: "
        ".npy, .mtx",
        path));
}

void write_solution(const Communicator& all, const std::string& path, const SolutionFormat& format,
                    std::int64_t n, std::int64_t count, const std::vector<double>& x, Field field,
                    std::optional<MatrixChecksum> of_x) {
  on_rank_0(all, [&] {
    OutputFile file(path);
    Pieces pieces([&](std::string_view piece) { file.write(piece); });
    const std::int64_t rows = parts_of(field) * n;
    const MatrixView<const double> view{x.data(), rows, count, rows};
    if (format.kind == FileKind::numpy)
      write_numpy(pieces, format, view, field);
    else if (format.kind == FileKind::npz)
      write_npz("x.npy", npy_text(format, view, field),
                [&](std::string_view piece) { file.write(piece); });
    else
      write_market(pieces, view, field);
    pieces.flush();
    if (of_x && checksum_of(x) != *of_x)
      throw Fault(
          fmt::format("'{}' is not written: x has changed in memory since it was found", path));
    if (const std::string why = file.finish(); !why.empty()) throw unwritten(path, why);
  });
}

}  // namespace speedwell
