// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>
#include <speedwell/error.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "folder.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"
#include "refusal.hpp"

namespace speedwell::test::file_tests {
namespace fs = std::filesystem;

namespace {

std::string refusal(const std::string& path) {
  try {
    InputFile{path};
  } catch (const UsageError& error) {
    CHECK(error.where() == path);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("parts of a file are read") {
  const Folder folder("file");
  std::ofstream(folder / "a") << "0123\n567\n9";
  InputFile opened(folder / "a");
  const InputFile file = std::move(opened);
  CHECK(file.size() == 10);
  CHECK(file.text(3, 4) == "3\n56");
  CHECK(file.text(8, 100) == "\n9");
  CHECK(file.text(10, 1).empty());
  CHECK(file.text(50, 1).empty());
  for (const auto& [offset, line] : {std::pair{0, 1}, {4, 1}, {5, 2}, {8, 2}, {9, 3}}) {
    const UsageError error = file.error_at(offset, "is wrong");
    CHECK(error.what() == "'" + file.path() + "' line " + std::to_string(line) + ": is wrong");
    CHECK(error.where() == file.path() + ", line " + std::to_string(line));
  }
}

TEST_CASE("a file that becomes shorter while it is read is an error") {
  const Folder folder("file");
  std::ofstream(folder / "a") << "0123456789";
  const InputFile file(folder / "a");
  fs::resize_file(folder / "a", 5);
  CHECK(file.text(0, 5) == "01234");
  CHECK_THROWS_WITH(file.text(0, 6), "'" + file.path() + "' has become shorter while it was read");
}

TEST_CASE("a file that cannot be read is refused with its reason") {
  const Folder folder("file");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(refusal(folder / "none") == "cannot read '" + (folder / "none") +
                                        "': No such file or directory; allowed: a file that can "
                                        "be read");
  CHECK_THAT(refusal(folder / ""), ContainsSubstring("it is a folder"));
  CHECK_THAT(refusal(folder / "pipe"), ContainsSubstring("it is no regular file"));
  CHECK_THAT(refusal("/dev/null"), ContainsSubstring("it is no regular file"));
  CHECK_THAT(refusal(""), ContainsSubstring("cannot read ''"));
}

TEST_CASE("a small file is read whole, and no other one") {
  const Folder folder("file");
  std::ofstream(folder / "a") << "two\nlines";
  CHECK(read_file(folder / "a").text == "two\nlines");
  CHECK(read_file(folder / "a").problem.empty());
  CHECK(read_file(folder / "none").is_missing);
  CHECK(read_file(folder / "a/none").is_missing);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("loop", folder / "loop");
  fs::resize_file(folder / "a", longest_text + 1);
  for (const auto& [path, problem] : {std::pair{folder / "pipe", "it is no regular file"},
                                      {std::string("/dev/zero"), "it is no regular file"},
                                      {folder / "", "it is a folder"},
                                      {folder / "loop", "Too many levels of symbolic links"},
                                      {folder / "a", "it has 67108865 bytes, more than 64 MiB"}}) {
    const FileText file = read_file(path);
    CHECK(file.text.empty());
    CHECK(file.problem == problem);
    CHECK_FALSE(file.is_missing);
  }
}

TEST_CASE("a file that is not finished leaves the old one alone") {
  const Folder folder("file");
  std::ofstream(folder / "a") << "old";
  {
    OutputFile file(folder / "a");
    file.write("new");
    CHECK(folder.files() == 2);
  }
  CHECK(folder.files() == 1);
  CHECK(content(folder / "a") == "old");
  OutputFile file(folder / "a");
  file.write("ne");
  file.write("w");
  CHECK(content(folder / "a") == "old");
  CHECK(file.finish().empty());
  CHECK(folder.files() == 1);
  CHECK(content(folder / "a") == "new");
}

TEST_CASE("the first error is kept until the end") {
  OutputFile full("/dev/full");
  full.write("text");
  full.write("more");
  CHECK(full.finish() == "No space left on device");
  CHECK(OutputFile("/proc/none/a").finish() == "No such file or directory");
}
}  // namespace speedwell::test::file_tests
