// SPDX-License-Identifier: BSD-3-Clause
#include "io/numpy.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "folder.hpp"

namespace speedwell::test::numpy_tests {
namespace {

using Shape = std::vector<std::int64_t>;

/// The content of a .npy file with this header, followed by so many bytes.
std::string npy(const std::string& dictionary, std::size_t bytes, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return text + dictionary + std::string(bytes, 'x');
}

NumpyHeader header_of(const std::string& content) {
  const Folder folder("numpy");
  std::ofstream(folder / "a.npy", std::ios::binary) << content;
  return read_numpy_header(InputFile(folder / "a.npy"));
}

std::string refusal(const std::string& content) {
  try {
    header_of(content);
  } catch (const UsageError& error) {
    const std::string words = error.what();
    CHECK(words.find('\n') == std::string::npos);
    CHECK(words.find(error.where()) == 1);  // the message begins with the path in quotes
    return words.substr(error.where().size() + 3);
  }
  return "";
}

std::string dictionary(const std::string& type, const std::string& order,
                       const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

}  // namespace

TEST_CASE("headers of every version, order, type and shape") {
  for (const char version : {'\1', '\2', '\3'}) {
    const NumpyHeader a = header_of(npy(dictionary("<f8", "False", "(3, 4)"), 96, version));
    CHECK((a.type == NumpyType{} && !a.fortran && a.shape == Shape{3, 4}));
    CHECK((a.rows() == 3 && a.columns() == 4));
    CHECK(a.data == (version == 1 ? 10 : 12) + 59);
    const NumpyHeader b = header_of(npy(dictionary("<f4", "True", "(5,)"), 20, version));
    CHECK((b.type == NumpyType{'f', 4, false} && b.fortran && b.shape == Shape{5}));
    CHECK((b.rows() == 5 && b.columns() == 1));
  }
}

TEST_CASE("a type without a byte order is the machine's, as for NumPy") {
  const auto type_of = [](const std::string& type, int bytes) {
    return header_of(npy(dictionary(type, "False", "(3,)"), 3 * bytes)).type;
  };
  for (const std::string type : {"=f8", "f8", "<f8", "d", "<d", "=d"})
    CHECK(type_of(type, 8) == NumpyType{});
  for (const std::string type : {"?", "|?", "b1", "|b1"})
    CHECK(type_of(type, 1) == NumpyType{'b', 1, false});
  CHECK(type_of("i4", 4) == NumpyType{'i', 4, false});
  CHECK(type_of("c16", 16) == NumpyType{'f', 8, false, Field::complex});
}

TEST_CASE("a header is a Python dictionary, however it is spelled") {
  for (const std::string text :
       {"{'shape':(1,2),'fortran_order':True,'descr':'<f8'}",
        " { \"fortran_order\" : True ,\n \"descr\" : \"<f8\" , \"shape\" : ( 1 , 2 , ) , } \n",
        "{'descr': '<f8', 'shape': (1L, 2L), 'fortran_order': True, }                     \n"}) {
    CAPTURE(text);
    const NumpyHeader header = header_of(npy(text, 16));
    CHECK((header.type == NumpyType{} && header.fortran && header.shape == Shape{1, 2}));
  }
}

TEST_CASE("a header that is not a dictionary is refused") {
  for (const std::string text :
       {"", "{", "}", "{'descr", "{'descr' '<f8'}", "{'descr': <f8}", "{'fortran_order': true}",
        "{'shape': 3}", "{'shape': (3}", "{'shape': (3 4)}", "{'shape': (-3,)}", "{'shape': (,)}",
        "{'shape': (99999999999999999999,)}", "{} x"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(npy(text, 8)),
               ContainsSubstring("has a header that is no dictionary of 'descr', 'fortran_order'"));
  }
  CHECK(refusal(npy("{'a': 1}", 8)) ==
        "has a header with 'a'; allowed: 'descr', 'fortran_order' and 'shape'");
  CHECK(refusal(npy("{}", 8)) == "has a header without 'descr'");
  CHECK(refusal(npy("{'descr': '<f8'}", 8)) == "has a header without 'fortran_order'");
  CHECK(refusal(npy("{'descr': '<f8', 'fortran_order': True}", 8)) ==
        "has a header without 'shape'");
}

TEST_CASE("a refusal of a header names the value and those that are allowed") {
  const std::string allowed =
      "; allowed: real numbers: FP64, FP32, FP16, integers of 8 to 64 bits, bool ('<f8', '<f4', "
      "'<f2', '<i8', '<u8', ..., '|b1'), complex ones of FP64 or FP32 ('<c16', '<c8'); or "
      "big-endian";
  const auto check = [&](const std::string& type, const std::string& words) {
    CHECK(refusal(npy(dictionary(type, "False", "(1,)"), 8)) ==
          "holds " + words + " of type '" + type + "'" + allowed);
  };
  for (const std::string type : {"|f8", "=f3", "<f1", "<f16", "<i3", "<u16", "|i2", "<b2", "<I4",
                                 "<i-8", "<", "<x8", "<f8 ", ""})
    check(type, "numbers");
  for (const std::string type : {"<c4", ">c32", "c4"}) check(type, "complex numbers");
  for (const std::string type : {"|S5", "<U7", "|S0"}) check(type, "strings");
  check("|O", "Python objects");
  check("|V16", "records");
  check("<M8[ns]", "dates");
  check("<m8[s]", "spans of time");
  CHECK(refusal(npy("{'descr': [('a', '<f8'), ('b', '<f8')], 'fortran_order': False}", 8)) ==
        "holds records, which have a type for each field" + allowed);
  CHECK(refusal(npy(dictionary("<f8", "False", "()"), 8)) ==
        "has shape (); allowed: one or two dimensions");
  CHECK(refusal(npy(dictionary("<f8", "False", "(1, 1, 1)"), 8)) ==
        "has shape (1, 1, 1); allowed: one or two dimensions");
  for (const std::string shape : {"(0,)", "(0, 3)", "(3, 0)"})
    CHECK(refusal(npy(dictionary("<f8", "False", shape), 0)) ==
          "has shape " + shape + "; allowed: dimensions of at least 1");
  CHECK(refusal(npy("{}", 0, '\4')) ==
        "is of version 4.0 of NumPy's format; allowed: 1.0, 2.0 and 3.0");
  CHECK_THAT(refusal(npy("{}", 0, '\0')), ContainsSubstring("is of version 0.0"));
}

TEST_CASE("a header that is too long is refused before it is read") {
  CHECK(refusal(npy(std::string(65536, ' '), 0, 2)) ==
        "has a header of 65536 bytes; allowed: at most 65535");
  const std::string longest = dictionary("<f8", "False", "(1,)");
  CHECK(header_of(npy(longest + std::string(65535 - longest.size(), ' '), 8, 2)).data == 65547);
}

TEST_CASE("numbers of every type become FP64") {
  const auto decoded = [](const std::string& type, std::vector<unsigned char> bytes) {
    const NumpyHeader header = header_of(npy(dictionary(type, "False", "(1,)"), 0) +
                                         std::string(bytes.begin(), bytes.end()));
    double value = -99;
    decode_numbers(header.type, std::as_bytes(std::span(bytes)), {&value, 1});
    return value;
  };
  CHECK(decoded("|b1", {0}) == 0);
  CHECK(decoded("|b1", {1}) == 1);
  CHECK(decoded("|b1", {255}) == 1);
  CHECK(decoded("|i1", {0x80}) == -128);
  CHECK(decoded("|u1", {0x80}) == 128);
  CHECK(decoded("<i1", {0xff}) == -1);
  // Each as little-endian and, in reverse, as big-endian.
  const auto check = [&](const std::string& type, std::vector<unsigned char> bytes, double value) {
    CAPTURE(type, value);
    CHECK(decoded("<" + type, bytes) == value);
    std::reverse(bytes.begin(), bytes.end());
    CHECK(decoded(">" + type, bytes) == value);
  };
  check("i2", {0xfe, 0xff}, -2);
  check("u2", {0xfe, 0xff}, 65534);
  check("i4", {0x00, 0x00, 0x00, 0x80}, -2147483648.0);
  check("u4", {0x01, 0x00, 0x00, 0x80}, 2147483649.0);
  check("i8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 0x1p63);
  check("u8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0x1p64);
  // 2^53 + 1 lies between two numbers of FP64, and is rounded to the even one.
  check("i8", {0x01, 0, 0, 0, 0, 0, 0x20, 0}, 0x1p53);
  check("i8", {0x03, 0, 0, 0, 0, 0, 0x20, 0}, 0x1p53 + 4);
  check("i8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -1);
  check("f4", {0x00, 0x00, 0x20, 0xc0}, -2.5);
  check("f8", {0x18, 0x2d, 0x44, 0x54, 0xfb, 0x21, 0x09, 0x40}, 3.141592653589793);
  check("f2", {0x00, 0x3c}, 1);
  check("f2", {0x01, 0xc0}, -0x1.004p1);
  check("f2", {0xff, 0x7b}, 65504);
  check("f2", {0x00, 0x04}, 0x1p-14);
  check("f2", {0xff, 0x03}, 0x1.ff8p-15);
  check("f2", {0x01, 0x80}, -0x1p-24);
  check("f2", {0x00, 0xfc}, -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(decoded("<f2", {0x00, 0x7e})));
  CHECK(std::signbit(decoded("<f2", {0x00, 0x80})));
}

TEST_CASE("a file holds as many numbers as its header says") {
  const std::string whole = npy(dictionary("<f8", "False", "(3, 2)"), 48);
  CHECK(refusal(whole).empty());
  CHECK(refusal(whole + "x") ==
        "has 49 bytes of numbers; shape (3, 2) of 8 bytes each asks for fewer");
  CHECK(refusal(whole.substr(0, whole.size() - 1)) ==
        "has 47 bytes of numbers; shape (3, 2) of 8 bytes each asks for more");
  for (const std::size_t size : {6, 7, 8, 9, 10, 20})
    CHECK(refusal(whole.substr(0, size)) == "ends within its header");
  // The size of 2^64 numbers of 8 bytes must not overflow into one that fits.
  CHECK_THAT(refusal(npy(dictionary("<f8", "False", "(4611686018427387904, 4)"), 0)),
             ContainsSubstring("asks for more"));
}

TEST_CASE("a header that is written is read, and ends at a multiple of 64 bytes") {
  for (const Shape& shape : {Shape{1}, Shape{7, 3}, Shape{1'000'000'000'000, 12345}})
    for (const bool fortran : {false, true}) {
      const std::string text = numpy_header(shape, fortran);
      CHECK(text.size() % 64 == 0);
      CHECK(text.back() == '\n');
      if (shape[0] > 7) continue;
      const std::size_t numbers = shape.size() == 1 ? 1 : 21;
      const NumpyHeader header = header_of(text + std::string(8 * numbers, 'x'));
      CHECK((header.type == NumpyType{} && header.fortran == fortran && header.shape == shape));
      CHECK(header.data == std::ssize(text));
    }
}
}  // namespace speedwell::test::numpy_tests
