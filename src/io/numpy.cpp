// SPDX-License-Identifier: BSD-3-Clause
#include "io/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <stdexcept>

#include "io/text.hpp"

namespace lupine {

namespace {

constexpr std::int64_t prefix = 8;  // bytes of numpy_magic and the version
constexpr const char* allowed_types = "'<f8' and '<f4', little-endian FP64 and FP32";

/// An error in a header. Its message begins after the file's name.
class DamagedHeader : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a header's text, which is a Python dictionary.
class Dictionary {
 public:
  explicit Dictionary(std::string_view text) : rest_(text) {}

  /// Calls `take(key)` for every entry; `take` must read the entry's value.
  template <class Take>
  void read(Take take) {
    expect('{');
    while (!next_is('}')) {
      const std::string_view key = quoted();
      expect(':');
      take(key);
      if (!next_is(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (!rest_.empty()) refuse();
  }

  std::string_view quoted() {
    skip();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (end == rest_.npos) refuse();
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool truth() {
    if (next_is("True")) return true;
    if (!next_is("False")) refuse();
    return false;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!next_is(')')) {
      skip();
      const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const std::optional<std::int64_t> value = number<std::int64_t>(rest_.substr(0, digits));
      if (!value) refuse();
      values.push_back(*value);
      rest_.remove_prefix(digits);
      next_is('L');  // Python 2 writes long integers so
      if (!next_is(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  [[noreturn]] void refuse() const {
    throw DamagedHeader(
        fmt::format("has a header that is no dictionary of 'descr', 'fortran_order' and "
                    "'shape': near \"{}\"",
                    printable(rest_)));
  }

 private:
  void skip() {
    while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool next_is(std::string_view text) {
    skip();
    const bool found = rest_.substr(0, text.size()) == text;
    if (found) rest_.remove_prefix(text.size());
    return found;
  }
  bool next_is(char c) { return next_is(std::string_view(&c, 1)); }
  void expect(char c) {
    if (!next_is(c)) refuse();
  }

  std::string_view rest_;
};

int item_of(std::string_view type) {
  if (type == "<f8") return 8;
  if (type == "<f4") return 4;
  throw DamagedHeader(
      fmt::format("holds numbers of type '{}'; allowed: {}", printable(type), allowed_types));
}

NumpyHeader parse_header(std::string_view text) {
  std::optional<int> item;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
  Dictionary dictionary(text);
  dictionary.read([&](std::string_view key) {
    if (key == "descr") {
      item = item_of(dictionary.quoted());
    } else if (key == "fortran_order") {
      fortran = dictionary.truth();
    } else if (key == "shape") {
      shape = dictionary.tuple();
    } else {
      throw DamagedHeader(
          fmt::format("has a header with '{}'; allowed: 'descr', 'fortran_order' and "
                      "'shape'",
                      printable(key)));
    }
  });
  if (!item || !fortran || !shape)
    throw DamagedHeader(fmt::format("has a header without '{}'", !item      ? "descr"
                                                                 : !fortran ? "fortran_order"
                                                                            : "shape"));
  return {*item, *fortran, *shape, 0};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// The header as it stands in the file, with the offset of the numbers.
NumpyHeader read(const InputFile& file) {
  const std::string start = file.text(0, prefix + 4);
  const auto byte = [&](std::int64_t at) -> std::int64_t {
    if (at >= std::ssize(start)) throw DamagedHeader("ends within its header");
    return static_cast<unsigned char>(start[static_cast<std::size_t>(at)]);
  };
  const std::int64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    throw DamagedHeader(fmt::format(
        "is of version {}.{} of NumPy's format; allowed: 1.0, 2.0 and 3.0", version, byte(7)));
  const std::int64_t digits = version == 1 ? 2 : 4;  // bytes of the dictionary's length
  std::int64_t length = 0;
  for (std::int64_t i = digits; i-- > 0;) length = length * 256 + byte(prefix + i);
  const std::int64_t begin = prefix + digits;
  if (length > file.size() - begin) throw DamagedHeader("ends within its header");
  NumpyHeader header = parse_header(file.text(begin, length));
  header.data = begin + length;
  return header;
}

void check(const NumpyHeader& header, std::int64_t bytes) {
  const std::string shape = shape_text(header.shape);
  if (header.shape.empty() || header.shape.size() > 2)
    throw DamagedHeader(fmt::format("has shape {}; allowed: one or two dimensions", shape));
  if (header.rows() == 0 || header.columns() == 0)
    throw DamagedHeader(fmt::format("has shape {}; allowed: dimensions of at least 1", shape));
  const std::int64_t numbers = bytes / header.item;
  const bool fits = header.rows() <= numbers / header.columns();
  if (!fits || header.rows() * header.columns() * header.item != bytes)
    throw DamagedHeader(
        fmt::format("has {} bytes of numbers; shape {} of {} bytes each asks for {}", bytes, shape,
                    header.item, fits ? "fewer" : "more"));
}

}  // namespace

NumpyHeader read_numpy_header(const InputFile& file) {
  try {
    NumpyHeader header = read(file);
    check(header, file.size() - header.data);
    return header;
  } catch (const DamagedHeader& damage) {
    throw file.error(damage.what());
  }
}

std::string numpy_header(const std::vector<std::int64_t>& shape, bool fortran) {
  constexpr std::size_t line = 64;  // the numbers begin at a multiple of this offset
  std::string text = fmt::format("{{'descr': '<f8', 'fortran_order': {}, 'shape': {}, }}",
                                 fortran ? "True" : "False", shape_text(shape));
  const std::size_t before = prefix + 2 + text.size() + 1;
  text.append((line - before % line) % line, ' ');
  text.push_back('\n');
  std::string header{numpy_magic};
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, text.size() % 256, text.size() / 256})
    header.push_back(static_cast<char>(byte));
  return header + text;
}

}  // namespace lupine
