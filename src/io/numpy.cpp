// SPDX-License-Identifier: BSD-3-Clause
#include "io/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/expects.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t prefix = 8;  // bytes of numpy_magic and the version
constexpr std::int64_t longest_start = prefix + 4 + longest_numpy_header;
constexpr const char* allowed_types =
    "real numbers: FP64, FP32, FP16, integers of 8 to 64 bits, bool ('<f8', '<f4', '<f2', '<i8', "
    "'<u8', ..., '|b1'), complex ones of FP64 or FP32 ('<c16', '<c8'); or big-endian";
static_assert(std::endian::native == std::endian::little);

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

  /// Whether the next value is a list.
  bool is_list() {
    skip();
    return rest_.starts_with('[');
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

/// What numbers of this kind are, for a refusal. Source: the array interface of NumPy.
std::string_view words_of(char kind) {
  switch (kind) {
    case 'c':
      return "complex numbers";
    case 'S':
    case 'a':
    case 'U':
      return "strings";
    case 'O':
      return "Python objects";
    case 'V':
      return "records";
    case 'M':
      return "dates";
    case 'm':
      return "spans of time";
    default:
      return "numbers";
  }
}

/// NumPy's one-letter names of types on machines of 64 bits, in its words of kind and bytes.
constexpr std::pair<std::string_view, std::string_view> letters[]{
    {"?", "b1"}, {"b", "i1"}, {"B", "u1"}, {"h", "i2"}, {"H", "u2"}, {"i", "i4"},
    {"I", "u4"}, {"l", "i8"}, {"L", "u8"}, {"q", "i8"}, {"Q", "u8"}, {"e", "f2"},
    {"f", "f4"}, {"d", "f8"}, {"F", "c8"}, {"D", "c16"}};

NumpyType type_of(std::string_view text) {
  constexpr std::string_view orders = "<>=|";
  const bool has_order = !text.empty() && orders.find(text[0]) != orders.npos;
  const char order = has_order ? text[0] : '=';  // the machine's, as for NumPy
  std::string_view rest = text.substr(has_order ? 1 : 0);
  for (const auto& [letter, words] : letters)
    if (rest == letter) rest = words;
  const char kind = rest.empty() ? '\0' : rest[0];
  const int bytes = number<int>(rest.substr(std::min<std::size_t>(rest.size(), 1))).value_or(0);
  const bool ordered = order != '|' || bytes == 1;
  const bool whole = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (ordered && kind == 'c' && (bytes == 8 || bytes == 16))
    return {'f', bytes / 2, order == '>', Field::complex};
  const bool known = kind == 'f'                  ? whole && bytes > 1
                     : kind == 'i' || kind == 'u' ? whole
                                                  : kind == 'b' && bytes == 1;
  if (!ordered || !known)
    throw DamagedHeader(fmt::format("holds {} of type '{}'; allowed: {}", words_of(kind),
                                    printable(text), allowed_types));
  return {kind, bytes, order == '>'};
}

NumpyHeader parse_header(std::string_view text) {
  std::optional<NumpyType> type;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
  Dictionary dictionary(text);
  dictionary.read([&](std::string_view key) {
    if (key == "descr") {
      if (dictionary.is_list())
        throw DamagedHeader(fmt::format(
            "holds records, which have a type for each field; allowed: {}", allowed_types));
      type = type_of(dictionary.quoted());
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
  if (!type || !fortran || !shape)
    throw DamagedHeader(fmt::format("has a header without '{}'", !type      ? "descr"
                                                                 : !fortran ? "fortran_order"
                                                                            : "shape"));
  return {*type, *fortran, *shape, 0, std::nullopt};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// The header at the beginning of `start`, which has all of the longest header or all bytes of the
/// .npy file. @param size bytes of the .npy file
NumpyHeader read(std::string_view start, std::int64_t size) {
  const auto byte = [&](std::int64_t at) -> std::int64_t {
    if (at >= std::ssize(start)) throw DamagedHeader("ends within its header");
    return static_cast<unsigned char>(start[static_cast<std::size_t>(at)]);
  };
  if (!start.starts_with(numpy_magic))
    throw DamagedHeader("is no .npy file; allowed: NumPy's .npy");
  const std::int64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    throw DamagedHeader(fmt::format(
        "is of version {}.{} of NumPy's format; allowed: 1.0, 2.0 and 3.0", version, byte(7)));
  const std::int64_t digits = version == 1 ? 2 : 4;  // bytes of the dictionary's length
  std::int64_t length = 0;
  for (std::int64_t i = digits; i-- > 0;) length = length * 256 + byte(prefix + i);
  const std::int64_t begin = prefix + digits;
  if (length > size - begin) throw DamagedHeader("ends within its header");
  if (length > longest_numpy_header)
    throw DamagedHeader(
        fmt::format("has a header of {} bytes; allowed: at most {}", length, longest_numpy_header));
  NumpyHeader header =
      parse_header(start.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)));
  header.data = begin + length;
  return header;
}

void check(const NumpyHeader& header, std::int64_t bytes) {
  const std::string shape = shape_text(header.shape);
  if (header.shape.empty() || header.shape.size() > 2)
    throw DamagedHeader(fmt::format("has shape {}; allowed: one or two dimensions", shape));
  if (header.rows() == 0 || header.columns() == 0)
    throw DamagedHeader(fmt::format("has shape {}; allowed: dimensions of at least 1", shape));
  const std::int64_t element = header.type.element_bytes();
  const bool fits = header.rows() <= bytes / element / header.columns();
  if (!fits || header.rows() * header.columns() * element != bytes)
    throw DamagedHeader(
        fmt::format("has {} bytes of numbers; shape {} of {} bytes each asks for {}", bytes, shape,
                    element, fits ? "fewer" : "more"));
}

/// A number of FP16, IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
struct Binary16 {
  std::uint16_t bits;

  explicit operator double() const {
    constexpr double least = 0x1p-24;  // the smallest positive number
    const int exponent = bits >> 10 & 0x1f;
    const std::uint64_t fraction = bits & 0x3ff;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 0) return sign * least * static_cast<double>(fraction);
    const std::uint64_t wide = exponent == 0x1f ? 0x7ff : exponent - 15 + 1023;
    return sign * std::bit_cast<double>(wide << 52 | fraction << 42);
  }
};

/// to <- the numbers of type T in `from`.
template <class T>
void decode(const NumpyType& type, std::span<const std::byte> from, std::span<double> to) {
  std::array<std::byte, sizeof(T)> bytes;
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::memcpy(bytes.data(), from.data() + i * sizeof(T), sizeof(T));
    if (type.big_endian) std::reverse(bytes.begin(), bytes.end());
    if constexpr (std::is_same_v<T, bool>)
      to[i] = bytes[0] != std::byte{0} ? 1 : 0;
    else
      to[i] = static_cast<double>(std::bit_cast<T>(bytes));
  }
}

}  // namespace

void decode_numbers(const NumpyType& type, std::span<const std::byte> from, std::span<double> to) {
  SPEEDWELL_EXPECTS(from.size() == to.size() * static_cast<std::size_t>(type.bytes));
  const bool real = type.kind == 'f';
  const bool natural = type.kind == 'u';
  switch (type.bytes) {
    case 1:
      if (type.kind == 'b') return decode<bool>(type, from, to);
      return natural ? decode<std::uint8_t>(type, from, to) : decode<std::int8_t>(type, from, to);
    case 2:
      if (real) return decode<Binary16>(type, from, to);
      return natural ? decode<std::uint16_t>(type, from, to) : decode<std::int16_t>(type, from, to);
    case 4:
      if (real) return decode<float>(type, from, to);
      return natural ? decode<std::uint32_t>(type, from, to) : decode<std::int32_t>(type, from, to);
    default:
      if (real) return decode<double>(type, from, to);
      return natural ? decode<std::uint64_t>(type, from, to) : decode<std::int64_t>(type, from, to);
  }
}

NumpyHeader read_numpy_header(const InputFile& file) {
  try {
    NumpyHeader header = read(file.text(0, longest_start), file.size());
    check(header, file.size() - header.data);
    return header;
  } catch (const DamagedHeader& damage) {
    throw file.error(damage.what());
  }
}

NumpyHeader read_numpy_header(const InputFile& file, const NpzArray& array) {
  std::string start(static_cast<std::size_t>(std::min(array.size, longest_start)), '\0');
  NpzReader(file, array).read(0, std::as_writable_bytes(std::span(start)));
  try {
    NumpyHeader header = read(start, array.size);
    check(header, array.size - header.data);
    header.archived = array;
    return header;
  } catch (const DamagedHeader& damage) {
    throw array.error(file, damage.what());
  }
}

std::string numpy_header(const std::vector<std::int64_t>& shape, bool fortran, Field field) {
  constexpr std::size_t line = 64;  // the numbers begin at a multiple of this offset
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}",
                                 field == Field::real ? "<f8" : "<c16", fortran ? "True" : "False",
                                 shape_text(shape));
  const std::size_t before = prefix + 2 + text.size() + 1;
  text.append((line - before % line) % line, ' ');
  text.push_back('\n');
  std::string header{numpy_magic};
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, text.size() % 256, text.size() / 256})
    header.push_back(static_cast<char>(byte));
  return header + text;
}

}  // namespace speedwell
