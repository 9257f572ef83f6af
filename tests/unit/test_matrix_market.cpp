// SPDX-License-Identifier: BSD-3-Clause
#include "io/matrix_market.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "folder.hpp"

namespace speedwell::test::matrix_market_tests {
namespace {

using Catch::Matchers::EndsWith;
using Catch::Matchers::Equals;

const std::string real_array = "%%MatrixMarket matrix array real general\n";
const std::string real_coordinate = "%%MatrixMarket matrix coordinate real general\n";

/// A file with this content. The destructor removes it.
class File {
 public:
  explicit File(const std::string& content) : folder_("market"), path_(folder_ / "a.mtx") {
    std::ofstream(path_, std::ios::binary) << content;
  }
  InputFile open() const { return InputFile(path_); }

 private:
  Folder folder_;
  std::string path_;
};

MarketHeader header_of(const std::string& content) {
  return read_market_header(File(content).open());
}

/// All entries of a file with this content, read in pieces of `piece` bytes.
std::vector<MarketEntry> entries_of(const std::string& content, std::int64_t piece = 1 << 20) {
  const File file(content);
  const InputFile input = file.open();
  const MarketHeader header = read_market_header(input);
  std::vector<MarketEntry> entries;
  std::int64_t count = 0;
  for (std::int64_t begin = header.body; begin < input.size(); begin += piece) {
    MarketPart part = read_market_part(input, header, begin, begin + piece);
    const std::int64_t mine = part.count(header);
    place_array_values(header, count, part.values, part.entries);
    entries.insert(entries.end(), part.entries.begin(), part.entries.end());
    count += mine;
  }
  return entries;
}

std::vector<double> values_of(const std::string& lines) {
  const auto count = std::to_string(std::count(lines.begin(), lines.end(), '\n'));
  const std::string content = real_array + count + " 1\n" + lines;
  std::vector<double> values;
  for (const MarketEntry& e : entries_of(content)) values.push_back(e.value);
  return values;
}

bool same(const std::vector<MarketEntry>& a, const std::vector<MarketEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.row == y.row && x.column == y.column && x.value == y.value;
  });
}

/// The refusal of a file with this content, such as "line 3: ..."; checks that the error's where()
/// names the same line.
std::string refusal(const std::string& content) {
  try {
    entries_of(content);
  } catch (const UsageError& error) {
    const std::string words = error.what();
    CHECK(words.find('\n') == std::string::npos);
    std::string from_line = words.substr(words.find("line "));
    CHECK_THAT(error.where(), EndsWith(", " + from_line.substr(0, from_line.find(':'))));
    return from_line;
  }
  return "";
}

}  // namespace

TEST_CASE("banners and sizes of Matrix Market files") {
  const MarketHeader a = header_of(
      "%%matrixmarket MATRIX Coordinate Pattern SYMMETRIC\r\n"
      "% a comment\r\n\r\n  %\n \t\n  5 5 7 \r\n");
  CHECK(a.format == MarketFormat::coordinate);
  CHECK(a.field == MarketField::pattern);
  CHECK(a.symmetry == MarketSymmetry::symmetric);
  CHECK((a.rows == 5 && a.columns == 5 && a.entries == 7));

  const auto array = [](const std::string& symmetry, const std::string& sizes) {
    return header_of("%%MatrixMarket matrix array integer " + symmetry + "\n" + sizes).entries;
  };
  CHECK(array("general", "5 3") == 15);
  CHECK(array("symmetric", "5 5") == 15);
  CHECK(array("skew-symmetric", "5 5") == 10);
  CHECK(array("skew-symmetric", "1 1") == 0);
  CHECK(array("general", "3000000000 3000000000") == 9'000'000'000'000'000'000);
}

TEST_CASE("a banner that is not supported is refused with those that are") {
  const auto banner = [](const std::string& words) {
    return refusal("%%MatrixMarket " + words + "\n1 1\n1\n");
  };
  CHECK(banner("vector array real general") ==
        "line 1: 'vector' is not supported; allowed: matrix");
  CHECK(banner("matrix sparse real general") ==
        "line 1: 'sparse' is not supported; allowed: array, coordinate");
  CHECK(banner("matrix array single general") ==
        "line 1: 'single' is not supported; allowed: real, integer, unsigned-integer, pattern, "
        "complex");
  CHECK(banner("matrix array real hermitian") ==
        "line 1: only a complex matrix is hermitian; allowed: symmetric");
  CHECK(banner("matrix array complex adjoint") ==
        "line 1: 'adjoint' is not supported; allowed: general, symmetric, skew-symmetric, "
        "hermitian");
  CHECK(banner("matrix array pattern general") ==
        "line 1: an array cannot be of pattern; allowed: real, integer, complex");
  for (const std::string words : {"", "matrix array real", "matrix array real general 1"})
    CHECK(banner(words) ==
          "line 1: is no banner; allowed: %%MatrixMarket matrix FORMAT FIELD SYMMETRY");
}

TEST_CASE("banners that SciPy reads are read") {
  for (const std::string before : {"", " ", "\t", "\n", "\r\n \n  "})
    for (const std::string percent : {"%%", "%"}) {
      const std::string text =
          before + percent + "MatrixMarket matrix array Double general\n1 1\n7\n";
      CHECK(begins_as_market(text));
      CHECK(header_of(text).field == MarketField::real);
      CHECK(entries_of(text).at(0).value == 7);
    }
  for (const std::string text : {"", "%", "MatrixMarket matrix", "%%%MatrixMarket", "%%MatrixMarke",
                                 "%%MatrixMarkets", "% %MatrixMarket"})
    CHECK_FALSE(begins_as_market(text));
  const std::string below = refusal("\n\n%%MatrixMarket vector array real general\n1 1\n1\n");
  CHECK(below == "line 3: 'vector' is not supported; allowed: matrix");
}

TEST_CASE("whole numbers without a sign are read") {
  const std::string naturals = "%%MatrixMarket matrix array unsigned-integer general\n2 1\n1\n";
  CHECK(entries_of(naturals + "18446744073709551615\n")[1].value == 0x1p64);
  for (const std::string word : {"-1", "1.5", "18446744073709551616"})
    CHECK(refusal(naturals + word + "\n") == "line 4: '" + word +
                                                 "' is not allowed here; allowed: a whole number "
                                                 "of 64 bits without a sign");
}

TEST_CASE("a comment may end a line") {
  CHECK(same(entries_of(real_coordinate + "2 2 2 % sizes\n1 1 2 % first 9\n2 2 3\t%\n"),
             {{0, 0, 2}, {1, 1, 3}}));
  CHECK(values_of("1 % one 5\n2 %\n") == std::vector<double>{1, 2});
}

TEST_CASE("a line of sizes that is wrong is refused") {
  const auto of_sizes = [](const std::string& sizes) {
    return refusal(real_array + "%\n" + sizes + "\n");
  };
  for (const std::string sizes : {"0 1", "1 0", "-1 1", "1", "1 2 3", "a b", "1.0 1",
                                  "3000000001 1", "99999999999999999999 1"})
    CHECK(of_sizes(sizes) ==
          "line 3: '" + sizes +
              "' is no line of sizes; allowed: rows and columns, from 1 to 3000000000");
  for (const std::string sizes : {"1 1", "1 1 -1", "1 1 1 1"})
    CHECK_THAT(refusal(real_coordinate + sizes + "\n"),
               ContainsSubstring("allowed: rows, columns and entries"));
  CHECK(refusal("%%MatrixMarket matrix array real symmetric\n2 3\n") ==
        "line 2: 2 x 3 cannot be symmetric; allowed: a square matrix");
  CHECK(refusal(real_array + "% no more\n") == "line 3: the file ends before its line of sizes");
  CHECK(refusal(real_array.substr(0, 40)) == "line 1: the file ends before its line of sizes");
}

TEST_CASE("numbers are read in every notation") {
  CHECK(values_of("1\n-2.5\n+3\n.5\n4.\n1e3\n1E-3\n+1.5e+2\n 7 \n8\r\n\t9\n") ==
        std::vector<double>{1, -2.5, 3, 0.5, 4, 1000, 0.001, 150, 7, 8, 9});
  CHECK(values_of("1.7976931348623157e308\n5e-324\n1e-400\n-1e-310\n+1E-5000\n-1d-99999\n") ==
        std::vector<double>{std::numeric_limits<double>::max(), 5e-324, 0, -1e-310, 0, 0});
  // Exponents as Fortran writes those of double precision.
  CHECK(values_of(
            "1.5D+03\n-2.5d-1\n+.5D0\n1.D2\n1d3\n0.17976931348623157D+309\n4.9D-324\n-1D-400\n") ==
        std::vector<double>{1500, -0.25, 0.5, 100, 1000, std::numeric_limits<double>::max(), 5e-324,
                            -0.0});
  CHECK(entries_of(real_coordinate + "2 2 2\n1 1 1D1\n2 2 2d-1\n")[1].value == 0.2);
  const std::vector<double> special = values_of("inf\n-Inf\nnan\nNaN\n");
  CHECK((std::isinf(special[0]) && special[1] == -special[0]));
  CHECK((std::isnan(special[2]) && std::isnan(special[3])));
}

TEST_CASE("a word that is not a number is refused with its line") {
  const auto of_word = [](const std::string& word) {
    return refusal(real_array + "% c\n\n2 1\n1\n \n2 " + word + "\n");
  };
  for (const std::string word : {"x",  "1x",      "1,5",   "0x10",   "--1",     "+-1",  "++1", "-",
                                 "+",  "1.8e308", "1e400", "-1e999", "1e99999", "1e",   "1%",  "1d",
                                 "d3", "1d3d",    "1e3d3", "1d2e3",  "1.8D308", "nand", "1dd3"})
    CHECK(of_word(word) == "line 7: '" + word + "' is not allowed here; allowed: a number of FP64");
  const std::string control(1, '\0');
  CHECK_THAT(refusal(real_array + "1 1\n" + control + "\n"), ContainsSubstring("'\\x00'"));
  const std::string integers = "%%MatrixMarket matrix array integer general\n3 1\n-4\n+5\n";
  CHECK(entries_of(integers + "6\n")[1].value == 5);
  for (const std::string word : {"1.5", "1e3", "99999999999999999999"})
    CHECK(refusal(integers + word + "\n") ==
          "line 5: '" + word + "' is not allowed here; allowed: a whole number of 64 bits");
}

TEST_CASE("an array's values have the right indices, in pieces of any size") {
  const auto check = [](const std::string& symmetry, const std::vector<std::vector<int>>& places) {
    std::string text = "%%MatrixMarket matrix array real " + symmetry + "\n4 4\n% c\n";
    std::vector<MarketEntry> expected;
    for (const auto& place : places) {
      expected.push_back({place[0], place[1], 10.0 * place[0] + place[1]});
      text += std::to_string(10 * place[0] + place[1]) + (place[0] % 2 ? "\r\n\n" : "\n");
    }
    text.pop_back();
    for (const std::int64_t piece : {1, 2, 3, 5, 1000}) {
      CAPTURE(symmetry, piece);
      CHECK(same(entries_of(text, piece), expected));
    }
  };
  check("general", {{0, 0},
                    {1, 0},
                    {2, 0},
                    {3, 0},
                    {0, 1},
                    {1, 1},
                    {2, 1},
                    {3, 1},
                    {0, 2},
                    {1, 2},
                    {2, 2},
                    {3, 2},
                    {0, 3},
                    {1, 3},
                    {2, 3},
                    {3, 3}});
  check("symmetric",
        {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 1}, {2, 1}, {3, 1}, {2, 2}, {3, 2}, {3, 3}});
  check("skew-symmetric", {{1, 0}, {2, 0}, {3, 0}, {2, 1}, {3, 1}, {3, 2}});
}

TEST_CASE("values beyond the end of an array are counted, but have no indices") {
  for (const std::string symmetry : {"general", "symmetric", "skew-symmetric"}) {
    const File file("%%MatrixMarket matrix array real " + symmetry + "\n3 3\n");
    const MarketHeader header = read_market_header(file.open());
    for (std::int64_t first = 0; first < 12; ++first) {
      std::vector<MarketEntry> entries;
      place_array_values(header, first, std::vector<double>(20), entries);
      CHECK(std::ssize(entries) == std::max<std::int64_t>(header.entries - first, 0));
      for (const MarketEntry& e : entries) CHECK((e.row < 3 && e.column < 3));
    }
  }
}

TEST_CASE("entries of a coordinate file, in pieces of any size") {
  const std::string text =
      real_coordinate + "3 4 5\n% c\n1 1 1.5\r\n\n 3\t4  -2 \n+2 1 3\n% 9 9 9\n1 1 4\n3 1 5";
  for (const std::int64_t piece : {1, 2, 3, 7, 1000})
    CHECK(
        same(entries_of(text, piece), {{0, 0, 1.5}, {2, 3, -2}, {1, 0, 3}, {0, 0, 4}, {2, 0, 5}}));
  CHECK(same(entries_of("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n"),
             {{0, 1, 1}, {1, 0, 1}}));
}

TEST_CASE("an entry that is wrong is refused with its line") {
  const auto words = [](const std::string& line) {
    return refusal(real_coordinate + "3 4 2\n1 1 1\n" + line + "\n");
  };
  CHECK(words("0 1 1") == "line 4: '0' is not allowed here; allowed: a row from 1 to 3");
  CHECK(words("4 1 1") == "line 4: '4' is not allowed here; allowed: a row from 1 to 3");
  CHECK(words("1 5 1") == "line 4: '5' is not allowed here; allowed: a column from 1 to 4");
  CHECK(words("1 -1 1") == "line 4: '-1' is not allowed here; allowed: a column from 1 to 4");
  CHECK(words("1.0 1 1") == "line 4: '1.0' is not allowed here; allowed: a row from 1 to 3");
  CHECK(words("1") == "line 4: the line ends too early; allowed: a column from 1 to 4");
  CHECK(words("1 1") == "line 4: the line ends too early; allowed: a number");
  CHECK(words("1 1 1 1") == "line 4: '1' is not allowed here; allowed: the end of the line");
  CHECK(refusal("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n") ==
        "line 3: '1' is not allowed here; allowed: the end of the line");
  const auto half = [](const std::string& symmetry, const std::string& line) {
    return refusal("%%MatrixMarket matrix coordinate real " + symmetry + "\n3 3 1\n" + line + "\n");
  };
  CHECK(half("symmetric", "2 2 1").empty());
  CHECK(half("symmetric", "1 2 1") ==
        "line 3: '1' is not allowed here; allowed: entries on and below the diagonal");
  CHECK(half("skew-symmetric", "3 2 1").empty());
  CHECK(half("skew-symmetric", "2 3 0") ==
        "line 3: '2' is not allowed here; allowed: entries on and below the diagonal");
  CHECK(half("skew-symmetric", "2 2 1") ==
        "line 3: '1' is not allowed here; allowed: 0, on the diagonal of a skew-symmetric matrix");
  CHECK(half("skew-symmetric", "2 2 0").empty());
}

TEST_CASE("a line that is too long is refused before it is read") {
  const std::string longest(longest_market_line, ' ');
  CHECK_THAT(refusal(longest + "\n"), ContainsSubstring("line 1: "));
  CHECK_THAT(refusal(real_array + "1 1\n" + std::string(5000, ' ') + "1\n"), Equals(""));
  CHECK_THAT(refusal(real_array + "%" + longest + "\n1 1\n1\n"),
             ContainsSubstring("line 2: a line of more than 1048576 bytes"));
  CHECK_THAT(refusal(real_array + "1 1\n%" + longest + longest + "\n1\n"),
             ContainsSubstring("line 3: a line of more than 1048576 bytes"));
}
TEST_CASE("complex entries are pairs of numbers, in array and coordinate files") {
  const auto check = [](const std::vector<MarketEntry>& found) {
    const std::vector<MarketEntry> expected{{0, 0, 1},  {1, 0, 0},  {2, 0, 2.5},
                                            {3, 0, -3}, {2, 1, -4}, {3, 1, 0}};
    REQUIRE(found.size() == expected.size());
    CHECK(same(found, expected));
  };
  for (const std::int64_t piece : {1, 3, 7, 1000}) {
    check(entries_of("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2.5 -3\n-4 0\n",
                     piece));
    check(
        entries_of("%%MatrixMarket matrix coordinate complex general\n2 2 3\n1 1 1 0\n"
                   "2 1 2.5 -3\n2 2 -4 0\n",
                   piece));
  }
  const auto refused = [](const std::string& content) {
    return refusal("%%MatrixMarket matrix " + content);
  };
  // The diagonal is read as it is, as SciPy does: it may have been rounded.
  CHECK(same(entries_of("%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 1e-17\n"),
             {{2, 1, 1}, {3, 1, 1e-17}}));
  CHECK(refused("coordinate complex skew-symmetric\n2 2 1\n2 2 0 0.5\n") ==
        "line 3: '0.5' is not allowed here; allowed: 0, on the diagonal of a skew-symmetric "
        "matrix");
  CHECK(refused("coordinate pattern skew-symmetric\n2 2 1\n2 2\n") ==
        "line 3: '2' is not allowed here; allowed: entries below the diagonal");
  CHECK(refused("array complex general\n1 1\n1\n") ==
        "line 3: the line ends too early; allowed: a number");
}

}  // namespace speedwell::test::matrix_market_tests
