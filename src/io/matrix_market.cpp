// SPDX-License-Identifier: BSD-3-Clause
#include "io/matrix_market.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>

#include "io/text.hpp"

namespace speedwell {

namespace {

/// Largest number of rows and columns: the number of entries then fits in 63 bits.
constexpr std::int64_t largest = 3'000'000'000;

struct Line {
  std::int64_t begin = 0;  // offset
  std::int64_t next = 0;   // offset of the next line
  std::string text;
};

UsageError too_long(const InputFile& file, std::int64_t offset) {
  return file.error_at(offset, fmt::format("a line of more than {} bytes; allowed: shorter ones",
                                           longest_market_line));
}

Line line_at(const InputFile& file, std::int64_t offset) {
  std::string text;
  for (std::int64_t piece = 4096;; piece *= 4) {
    text = file.text(offset, std::min(piece, longest_market_line));
    const std::size_t end = text.find('\n');
    const auto length = static_cast<std::int64_t>(std::min(end, text.size()));
    if (end == text.npos && offset + length < file.size()) {
      if (length >= longest_market_line) throw too_long(file, offset);
      continue;
    }
    text.resize(static_cast<std::size_t>(length));
    return {offset, std::min(offset + length + 1, file.size()), std::move(text)};
  }
}

/// The first line from `offset` on that is not blank and no comment, unless `comments` count too.
Line content_line(const InputFile& file, std::int64_t offset, bool comments = false) {
  while (offset < file.size()) {
    Line line = line_at(file, offset);
    std::string_view rest = line.text;
    skip_blanks(rest);
    if (!rest.empty() && (comments || rest.front() != '%')) return line;
    offset = line.next;
  }
  throw file.error_at(file.size(), "the file ends before its line of sizes");
}

/// The value whose name is `word`, in upper or lower case.
template <class Enum, std::size_t count>
Enum choice(const InputFile& file, std::int64_t at, std::string_view word,
            const std::array<std::string_view, count>& names) {
  const auto* found = std::find(names.begin(), names.end(), lower(word));
  if (found == names.end())
    throw file.error_at(at, fmt::format("'{}' is not supported; allowed: {}", printable(word),
                                        fmt::join(names, ", ")));
  return static_cast<Enum>(found - names.begin());
}

bool is_magic(std::string_view word) {
  return lower(word) == lower(market_magic) || lower(word) == lower(market_magic.substr(1));
}

/// The kind of number of a file. Some programs write "double" for real numbers.
MarketField read_field(const InputFile& file, std::int64_t at, std::string_view word) {
  if (lower(word) == "double") return MarketField::real;
  return choice<MarketField>(
      file, at, word,
      std::array<std::string_view, 5>{"real", "integer", "unsigned-integer", "pattern", "complex"});
}

void read_banner(const InputFile& file, const Line& banner, MarketHeader& header) {
  const std::int64_t at = banner.begin;
  std::string_view line = banner.text;
  const std::string_view magic = take_word(line);
  const std::string_view object = take_word(line);
  const std::string_view format = take_word(line);
  const std::string_view field = take_word(line);
  const std::string_view symmetry = take_word(line);
  if (!is_magic(magic) || symmetry.empty() || !take_word(line).empty())
    throw file.error_at(
        at, fmt::format("is no banner; allowed: {} matrix FORMAT FIELD SYMMETRY", market_magic));
  choice<int>(file, at, object, std::array<std::string_view, 1>{"matrix"});
  header.format = choice<MarketFormat>(file, at, format,
                                       std::array<std::string_view, 2>{"array", "coordinate"});
  header.field = read_field(file, at, field);
  header.symmetry = choice<MarketSymmetry>(
      file, at, symmetry,
      std::array<std::string_view, 4>{"general", "symmetric", "skew-symmetric", "hermitian"});
  if (header.field == MarketField::pattern && header.format == MarketFormat::array)
    throw file.error_at(at, "an array cannot be of pattern; allowed: real, integer, complex");
  if (header.symmetry == MarketSymmetry::hermitian && header.field != MarketField::complex)
    throw file.error_at(at, "only a complex matrix is hermitian; allowed: symmetric");
}

/// The number of values before column j in an array file.
std::int64_t column_begin(const MarketHeader& header, std::int64_t j) {
  if (header.symmetry == MarketSymmetry::general) return j * header.rows;
  const std::int64_t first = header.rows - (header.symmetry == MarketSymmetry::skew ? 1 : 0);
  return j * first - j * (j - 1) / 2;
}

void read_sizes(const InputFile& file, const Line& line, MarketHeader& header) {
  const bool array = header.format == MarketFormat::array;
  std::array<std::int64_t, 3> sizes{};
  std::string_view rest = line.text;
  const auto refuse = [&] {
    throw file.error_at(
        line.begin,
        fmt::format("'{}' is no line of sizes; allowed: {}, from 1 to {}", printable(line.text),
                    array ? "rows and columns" : "rows, columns and entries", largest));
  };
  for (std::size_t i = 0; i < (array ? 2U : 3U); ++i) {
    const std::optional<std::int64_t> size = number<std::int64_t>(take_word(rest));
    if (!size || *size < (i < 2 ? 1 : 0) || (i < 2 && *size > largest)) refuse();
    sizes[i] = *size;
  }
  if (const std::string_view more = take_word(rest); !more.empty() && more.front() != '%') refuse();
  header.rows = sizes[0];
  header.columns = sizes[1];
  header.body = line.next;
  header.entries = array ? column_begin(header, header.columns) : sizes[2];
  if (header.symmetry != MarketSymmetry::general && header.rows != header.columns)
    throw file.error_at(line.begin, fmt::format("{} x {} cannot be symmetric; allowed: a square "
                                                "matrix",
                                                header.rows, header.columns));
}

/// Reads the numbers of some whole lines.
class EntryLines {
 public:
  EntryLines(const InputFile& file, const MarketHeader& header, std::int64_t begin,
             std::string_view text)
      : file_(file), header_(header), begin_(begin), text_(text), rest_(text) {}

  void read(MarketPart& part) {
    while (next_line()) {
      if (header_.format == MarketFormat::coordinate) {
        read_entry(part.entries);
        if (!at_end_of_line()) refuse("the end of the line");
      } else {
        while (!at_end_of_line())
          for (std::int64_t k = 0; k < header_.parts(); ++k) part.values.push_back(value());
      }
    }
  }

 private:
  /// Goes to the next line that is neither a comment nor blank.
  bool next_line() {
    for (;;) {
      skip_blanks(rest_);
      if (rest_.empty()) return false;
      if (rest_.front() == '%') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.front() == '\n') {
        rest_.remove_prefix(1);
      } else {
        return true;
      }
    }
  }

  /// A comment may end a line.
  bool at_end_of_line() {
    skip_blanks(rest_);
    return rest_.empty() || rest_.front() == '\n' || rest_.front() == '%';
  }

  void read_entry(std::vector<MarketEntry>& entries) {
    const std::string_view line = rest_;
    MarketEntry e;
    e.row = index(header_.rows, "a row");
    e.column = index(header_.columns, "a column");
    if (header_.symmetry != MarketSymmetry::general) require_lower(e, line);
    const bool is_zero = header_.symmetry == MarketSymmetry::skew && e.row == e.column;
    e.value = header_.field == MarketField::pattern ? 1 : part(is_zero);
    if (header_.field != MarketField::complex) return entries.push_back(e);
    entries.push_back({2 * e.row, e.column, e.value});
    entries.push_back({2 * e.row + 1, e.column, part(is_zero)});
  }

  /// A part of an entry. Some programs write the zeros on the diagonal of a skew-symmetric matrix.
  double part(bool is_zero) {
    const std::string_view before = rest_;
    const double number = value();
    if (!is_zero || number == 0) return number;
    rest_ = before;
    refuse("0, on the diagonal of a skew-symmetric matrix");
  }

  std::int64_t index(std::int64_t size, const char* what) {
    const std::string_view before = rest_;
    std::int64_t value = 0;
    if (!at_end_of_line() && take(value) && value >= 1 && value <= size) return value - 1;
    rest_ = before;
    refuse(fmt::format("{} from 1 to {}", what, size));
  }

  double value() {
    if (at_end_of_line()) refuse("a number");
    if (header_.field == MarketField::integer) return whole<std::int64_t>();
    if (header_.field == MarketField::natural) return whole<std::uint64_t>();
    double real = 0;
    if (!take(real) && !take_other(real)) refuse("a number of FP64");
    return real;
  }

  template <class T>
  double whole() {
    T number = 0;
    if (!take(number))
      refuse(std::is_signed_v<T> ? "a whole number of 64 bits"
                                 : "a whole number of 64 bits without a sign");
    return static_cast<double>(number);
  }

  /// Reads the next word as a number. Returns false, and reads nothing, if it is not one.
  template <class T>
  bool take(T& value) {
    const std::ptrdiff_t length = length_of(rest_, value);
    rest_.remove_prefix(static_cast<std::size_t>(length));
    return length > 0;
  }

  /// Reads the next word as a number with an exponent of Fortran's double precision (1.5D+03), or
  /// as one that is too small for FP64, and rounds it.
  bool take_other(double& value) {
    std::string_view rest = rest_;
    word_ = take_word(rest);
    bool replaced = false;
    for (char& c : word_) {
      if (c != 'd' && c != 'D') continue;
      c = 'e';
      replaced = true;
    }
    if (!replaced || length_of(word_, value) == 0) {
      long double wide = 0;
      if (!is_tiny(word_) && (length_of(word_, wide) == 0 || std::abs(wide) >= 1)) return false;
      value = static_cast<double>(wide);
    }
    rest_ = rest;
    return true;
  }

  /// Whether the word is a number too small for a long double. A number that is none of these is
  /// too large if its digits before the exponent are many, or its exponent has no sign.
  static bool is_tiny(std::string_view word) {
    constexpr std::size_t longest = 1000;
    long double wide = 0;
    const char* const begin = word.data() + (word.starts_with('+') ? 1 : 0);
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(begin, end, wide);
    return error == std::errc::result_out_of_range && stop == end && word.size() < longest &&
           lower(word).find("e-") != word.npos;
  }

  /// Characters of the first word of `text`, whose value is the number; 0 if it is not one.
  template <class T>
  static std::ptrdiff_t length_of(std::string_view text, T& value) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    if (*begin == '+' && end - begin > 1 && begin[1] != '-') ++begin;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || (stop != end && !is_blank(*stop) && *stop != '\n')) return 0;
    return stop - text.data();
  }

  void require_lower(const MarketEntry& e, std::string_view line) {
    const bool below =
        header_.symmetry == MarketSymmetry::skew && header_.field == MarketField::pattern;
    if (e.row > e.column || (e.row == e.column && !below)) return;
    rest_ = line;
    refuse(below ? "entries below the diagonal" : "entries on and below the diagonal");
  }

  [[noreturn]] void refuse(const std::string& allowed) const {
    std::string_view rest = rest_;
    const std::string_view word = take_word(rest);
    throw file_.error_at(begin_ + (rest_.data() - text_.data()),
                         word.empty() ? fmt::format("the line ends too early; allowed: {}", allowed)
                                      : fmt::format("'{}' is not allowed here; allowed: {}",
                                                    printable(word), allowed));
  }

  const InputFile& file_;
  const MarketHeader& header_;
  std::int64_t begin_;
  std::string_view text_;
  std::string_view rest_;
  std::string word_;  // a word of `rest_` whose letters D are replaced by E
};

/// Offset of the first line that begins at `offset` or after it.
std::int64_t line_begin(const InputFile& file, const MarketHeader& header, std::int64_t offset) {
  if (offset <= header.body || offset >= file.size())
    return std::clamp(offset, header.body, file.size());
  return line_at(file, offset - 1).next;
}

}  // namespace

bool begins_as_market(std::string_view start) {
  while (!start.empty() && (is_blank(start.front()) || start.front() == '\n'))
    start.remove_prefix(1);
  return is_magic(take_word(start));
}

MarketHeader read_market_header(const InputFile& file) {
  MarketHeader header;
  const Line banner = content_line(file, 0, true);
  read_banner(file, banner, header);
  read_sizes(file, content_line(file, banner.next), header);
  return header;
}

MarketPart read_market_part(const InputFile& file, const MarketHeader& header, std::int64_t begin,
                            std::int64_t end) {
  const std::int64_t first = line_begin(file, header, begin);
  const std::string text = file.text(first, line_begin(file, header, end) - first);
  MarketPart part;
  EntryLines(file, header, first, text).read(part);
  return part;
}

void place_array_values(const MarketHeader& header, std::int64_t first,
                        const std::vector<double>& values, std::vector<MarketEntry>& entries) {
  // j: the last column that begins at value `first` or before it.
  std::int64_t j = 0;
  for (std::int64_t step = header.columns; step > 0; step /= 2)
    while (j + step < header.columns && column_begin(header, j + step) <= first) j += step;
  const bool general = header.symmetry == MarketSymmetry::general;
  const auto top = [&](std::int64_t column) {
    return general ? 0 : column + (header.symmetry == MarketSymmetry::skew ? 1 : 0);
  };
  std::int64_t i = top(j) + first - column_begin(header, j);
  const auto parts = static_cast<std::size_t>(header.parts());
  for (std::size_t k = 0; k + parts <= values.size(); k += parts) {
    if (i >= header.rows) i = top(++j);
    if (j >= header.columns || i >= header.rows) return;
    for (std::size_t part = 0; part < parts; ++part)
      entries.push_back(
          {header.parts() * i + static_cast<std::int64_t>(part), j, values[k + part]});
    ++i;
  }
}

}  // namespace speedwell
