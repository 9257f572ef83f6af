// SPDX-License-Identifier: BSD-3-Clause
// Tests of arrays in .npz files, and of the zip archives that these are.
#include "io/npz.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "archive.hpp"
#include "catch.hpp"
#include "folder.hpp"
#include "io/numpy.hpp"

namespace speedwell::test::npz_tests {
namespace {

using Name = std::optional<std::string>;

/// A file with this content. The destructor removes it.
class File {
 public:
  explicit File(const std::string& content, std::int64_t base = 0)
      : folder_("npz"), path_(folder_ / "A.npz") {
    std::ofstream stream(path_, std::ios::binary);
    stream.seekp(base);
    stream << content;
  }
  InputFile open() const { return InputFile(path_); }
  const std::string& path() const { return path_; }

 private:
  Folder folder_;
  std::string path_;
};

/// A .npy file with the numbers first, first + 1, ...
std::string numbers(std::int64_t count, double first = 0) {
  std::string text = numpy_header({count}, false);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = first + static_cast<double>(i);
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return text;
}

/// The numbers of an array, read from its file.
std::vector<double> read(const File& file, const Name& name = {}) {
  const InputFile input = file.open();
  const NumpyHeader header = read_numpy_header(input, find_array(input, name));
  std::vector<double> values(static_cast<std::size_t>(header.rows()));
  const auto bytes = std::as_writable_bytes(std::span(values));
  NpzReader reader(input, *header.archived);
  reader.read(header.data, bytes.first(8));  // in parts
  reader.read(header.data + 8, bytes.subspan(8));
  if (header.compressed())
    reader.finish();
  else
    NpzReader(input, *header.archived).finish();  // this one has left out the header
  return values;
}

std::vector<double> from(double first, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i));
  return values;
}

/// The refusal of an array in a file with this content, from the name of the file on: "A.npz' ...".
std::string refusal(const std::string& content, const Name& name = {}) {
  const File file(content);
  try {
    read(file, name);
  } catch (const UsageError& error) {
    std::string words = error.what();
    CHECK(words.find('\n') == std::string::npos);
    CHECK(error.where() == file.path());
    const std::string folder = file.path().substr(0, file.path().size() - 5);
    for (std::size_t at = 0; (at = words.find(folder)) != words.npos;)
      words.erase(at, folder.size());
    return words;
  }
  return "";
}

}  // namespace

TEST_CASE("an array of an archive, stored or compressed, is found by its name") {
  for (const bool zip64 : {false, true})
    for (const int method : {0, 8}) {
      CAPTURE(zip64, method);
      const std::string a = numbers(3, 7);
      CHECK(read(File(archive({{"a.npy", a, method}}, zip64))) == from(7, 3));
      const File several(archive({{"a.npy", a, method},
                                  {"read me", "x", method},
                                  {"b.npy", numbers(9000), method},
                                  {"c.npy.npy", numbers(1, 5), method}},
                                 zip64));
      CHECK(read(several, "a") == from(7, 3));
      CHECK(read(several, "a.npy") == from(7, 3));
      CHECK(read(several, "b") == from(0, 9000));
      CHECK(read(several, "c.npy") == from(5, 1));
      // A member that was replaced is still in the archive.
      const File twice(archive({{"a.npy", numbers(2), method}, {"a.npy", a, method}}, zip64));
      CHECK(read(twice, "a") == from(7, 3));
    }
  // A comment follows the archive; it looks like an end of the archive itself.
  std::string commented = archive({{"a.npy", numbers(3)}});
  const std::string comment = "PK\x05\x06 is how archives end";
  commented.replace(commented.size() - 2, 2, little(std::ssize(comment), 2));
  CHECK(read(File(commented + comment)) == from(0, 3));
}

TEST_CASE("arrays behind 4 GiB of an archive") {
  constexpr std::int64_t base = std::int64_t{5} << 30;  // a hole in the file
  CHECK(read(File(archive({{"a.npy", numbers(3, 4)}}, true, base), base)) == from(4, 3));
  CHECK(read(File(archive({{"a.npy", numbers(3, 4), 8}}, true, base), base)) == from(4, 3));
}

TEST_CASE("a name that does not choose an array is refused, with the names there are") {
  const std::string two = archive({{"a.npy", numbers(1)}, {"b.npy", numbers(1)}, {"c", "c"}});
  CHECK(refusal(two) ==
        "'A.npz' holds 2 arrays; allowed: ':NAME' behind the path, with one of the names a, b");
  for (const std::string name : {"d", "", "c", "A", "a.npy.npy"})
    CHECK(refusal(two, name) == "'A.npz' holds no array '" + name + "'; allowed: a, b");
  std::vector<Packed> many;
  many.reserve(23);
  for (int i = 0; i < 23; ++i) many.push_back({"arr_" + std::to_string(i) + ".npy", numbers(1)});
  CHECK_THAT(refusal(archive(many), "x"), ContainsSubstring("arr_18, arr_19, and 3 more"));
  CHECK_THAT(refusal(archive({{"a\n.npy", numbers(1)}}), "x"), ContainsSubstring("allowed: a\\n"));
  for (const std::string& none : {archive({}), archive({{"c", "c"}})})
    CHECK(refusal(none) == "'A.npz' is a zip archive without arrays; allowed: NumPy's .npz");
}

TEST_CASE("an array that cannot be read is refused, and the words say why") {
  const std::string a = numbers(3);
  const std::string allowed =
      "; allowed: a whole array, as numpy.savez and numpy.savez_compressed write it";
  CHECK(refusal(archive({{"a.npy", a, 0, 1}})) ==
        "'A.npz:a' cannot be unpacked: it is encrypted" + allowed);
  CHECK(refusal(archive({{"a.npy", a, 77}})) ==
        "'A.npz:a' cannot be unpacked: Compression method not supported" + allowed);
  CHECK(refusal(archive({{"a.npy", "no array"}})) ==
        "'A.npz:a' is no .npy file; allowed: NumPy's .npy");
  CHECK(refusal(archive({{"a.npy", ""}})) == "'A.npz:a' is no .npy file; allowed: NumPy's .npy");
  CHECK(refusal(archive({{"a.npy", a + "x"}})) ==
        "'A.npz:a' has 25 bytes of numbers; shape (3,) of 8 bytes each asks for fewer");
}

TEST_CASE("a damaged archive is refused, wherever it ends") {
  const std::string whole = archive({{"a.npy", numbers(3)}});
  for (std::size_t size = 4; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_THAT(refusal(whole.substr(0, size)),
               ContainsSubstring("'A.npz' is a damaged zip archive"));
  }
  const std::string wide = archive({{"a.npy", numbers(3)}}, true);
  for (std::size_t at = 0; at < wide.size(); ++at) {
    // Any byte may be wrong: whatever is read then, nothing beyond the file is.
    std::string wrong = wide;
    wrong[at] = static_cast<char>(wrong[at] ^ 0xff);
    CAPTURE(at);
    CHECK_NOTHROW(refusal(wrong));
  }
}

TEST_CASE("a damaged array is refused, compressed or not") {
  for (const int method : {0, 8}) {
    CAPTURE(method);
    const Packed good{"a.npy", numbers(3000), method};
    CHECK(refusal(archive({good})).empty());
    Packed bad = good;
    bad.crc_error = 1;
    CHECK_THAT(refusal(archive({bad})),
               ContainsSubstring("'A.npz:a' cannot be unpacked: CRC error"));
    // The header and the directory agree on a size that the content does not have.
    bad = good;
    bad.content.resize(bad.content.size() - 8);
    bad.size_error = 8;
    CHECK_THAT(refusal(archive({bad})), ContainsSubstring("'A.npz:a' cannot be unpacked"));
    std::string noise = archive({good});
    noise[noise.find("\x93NUMPY") - 5] = '\x07';  // of method 8, the first byte of the first block
    if (method == 8) CHECK_THAT(refusal(noise), ContainsSubstring("'A.npz:a' cannot be unpacked"));
  }
}

TEST_CASE("an array that is not compressed is read at any place") {
  const File file(archive({{"a.npy", numbers(30'000), 0}}));
  const InputFile input = file.open();
  const NumpyHeader header = read_numpy_header(input, find_array(input, "a"));
  NpzReader reader(input, *header.archived);
  for (const std::int64_t i : {29'999, 5, 5, 20'000, 0}) {
    double value = -1;
    reader.read(header.data + 8 * i, std::as_writable_bytes(std::span(&value, 1)));
    CHECK(value == static_cast<double>(i));
  }
}

TEST_CASE("the archive around an array that is written") {
  std::string written[2];
  for (std::string& text : written)
    write_npz("x.npy", numbers(100'000, 3), [&](std::string_view piece) { text += piece; });
  CHECK(written[0] == written[1]);
  const File file(written[0]);
  CHECK(read(file, "x") == from(3, 100'000));
  CHECK(!find_array(file.open(), "x").compressed);
}

TEST_CASE("a path with the name of an array") {
  const Folder folder("npz");
  const auto split = [&](const std::string& name) {
    const ArrayPath found = split_array_path(folder / name);
    return std::pair(found.path.substr((folder / "").size()), found.array);
  };
  using Found = std::pair<std::string, Name>;
  for (const std::string name : {"a.npz", "b:c.npz", "both", "both:x"})
    std::ofstream(folder / name) << "x";
  std::filesystem::create_directory(folder / "d");
  CHECK(split("a.npz") == Found("a.npz", std::nullopt));
  CHECK(split("a.npz:") == Found("a.npz", ""));
  CHECK(split("a.npz:x") == Found("a.npz", "x"));
  CHECK(split("a.npz:x:y/z") == Found("a.npz", "x:y/z"));
  CHECK(split("b:c.npz") == Found("b:c.npz", std::nullopt));
  CHECK(split("b:c.npz:x") == Found("b:c.npz", "x"));
  CHECK(split("both:x") == Found("both:x", std::nullopt));  // the file with just this path
  CHECK(split("both:x:y") == Found("both:x", "y"));
  CHECK(split("none:x") == Found("none:x", std::nullopt));
  CHECK(split("d:x") == Found("d:x", std::nullopt));
  CHECK(split_array_path(":").path == ":");
}
}  // namespace speedwell::test::npz_tests
