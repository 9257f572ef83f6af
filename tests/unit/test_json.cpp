// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "catch.hpp"
#include "folder.hpp"
#include "io/json.hpp"
#include "refusal.hpp"

namespace speedwell::test::json_tests {
namespace fs = std::filesystem;

namespace {

std::string refusal(const std::string& path) {
  return test::refusal_of([&] { check_writable(path, "--json"); });
}

}  // namespace

TEST_CASE("a document is written whole, without other files, over an older one") {
  const Folder folder("json");
  const std::string path = folder / "a.json";
  write_json(path, {{"b", 1}, {"a", "text"}});
  CHECK(content(path) == "{\n  \"b\": 1,\n  \"a\": \"text\"\n}\n");
  write_json(path, {{"c", 2.5}});
  CHECK(content(path) == "{\n  \"c\": 2.5\n}\n");
  CHECK(folder.files() == 1);
}

TEST_CASE("NaN and Inf become null, and text becomes valid UTF-8") {
  const Folder folder("json");
  const std::string path = folder / "a.json";
  write_json(path, {{"nan", std::numeric_limits<double>::quiet_NaN()},
                    {"inf", std::numeric_limits<double>::infinity()},
                    {"text", "\xff"}});
  const auto document = nlohmann::json::parse(content(path));
  CHECK(document["nan"].is_null());
  CHECK(document["inf"].is_null());
  CHECK(document["text"].is_string());
}

TEST_CASE("what is no JSON, has a key twice in an object, or too many levels, is refused") {
  const auto refused = [](const std::string& text) {
    return test::refusal_of(
        [&] { parse_json(text, [](const std::string& why) { throw UsageError(why); }); });
  };
  CHECK(refused(R"({"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}]})").empty());
  CHECK(refused("") == "no JSON in line 1");
  CHECK(refused("{\n\"a\": tru\n}") == "no JSON in line 2");
  CHECK(refused("[1,\n1e999]") == "a number beyond the range of FP64");
  CHECK(refused(R"({"a": 1, "b": 2, "a": 1})") == "key 'a' given more than once; allowed: once");
  CHECK(refused(R"({"c": [{"b": 3, "b": 4}]})") == "key 'b' given more than once; allowed: once");
  CHECK_THAT(refused(std::string(100, '[')), ContainsSubstring("more than 32 deep"));
}

TEST_CASE("a new file has the permissions of any new file") {
  const Folder folder("json");
  const std::string path = folder / "a.json";
  const mode_t mask = ::umask(022);
  write_json(path, {{"a", 1}});
  ::umask(mask);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}

TEST_CASE("a symbolic link is written through and stays a link") {
  const Folder folder("json");
  fs::create_symlink(folder / "target.json", folder / "link.json");
  write_json(folder / "link.json", {{"a", 1}});
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(content(folder / "target.json").find("\"a\": 1") != std::string::npos);
}

TEST_CASE("links in a circle are refused and stay") {
  const Folder folder("json");
  fs::create_symlink("b.json", folder / "a.json");
  fs::create_symlink("a.json", folder / "b.json");
  CHECK_THAT(refusal(folder / "a.json"), ContainsSubstring("symbolic links"));
  CHECK_THROWS_AS(write_json(folder / "a.json", {{"a", 1}}), UsageError);
  CHECK(fs::is_symlink(folder / "a.json"));
  CHECK(folder.files() == 2);
}

TEST_CASE("a name may be as long as the system allows") {
  const Folder folder("json");
  const std::string longest(255, 'n');
  CHECK(refusal(folder / longest).empty());
  write_json(folder / longest, {{"a", 1}});
  CHECK(folder.files() == 1);
  CHECK_THAT(refusal(folder / (longest + "n")), ContainsSubstring("File name too long"));
}

TEST_CASE("the check of a path leaves no file") {
  const Folder folder("json");
  CHECK(refusal(folder / "new.json").empty());
  CHECK(folder.files() == 0);
  std::ofstream(folder / "old.json") << "old";
  CHECK(refusal(folder / "old.json").empty());
  CHECK(content(folder / "old.json") == "old");
  CHECK(folder.files() == 1);
  CHECK(refusal("/dev/null").empty());
}

TEST_CASE("a path that cannot be written is refused with its reason") {
  const Folder folder("json");
  std::ofstream(folder / "file") << "text";
  for (const std::string& path : {folder / "missing/a.json", folder / "", folder / "file/a.json",
                                  std::string(), std::string("/proc/a.json")}) {
    const std::string words = refusal(path);
    CAPTURE(path);
    CHECK(words.find("--json") == 0);
    CHECK(words.find("'" + path + "'") != std::string::npos);
    CHECK(words.find("allowed") != std::string::npos);
    CHECK(words.find('\n') == std::string::npos);
  }
}

TEST_CASE("a failure leaves the old file whole and no partial file") {
  const Folder folder("json");
  CHECK_THROWS_AS(write_json(folder / "missing/a.json", {{"a", 1}}), UsageError);
  CHECK_THROWS_AS(write_json("/dev/full", {{"a", 1}}), UsageError);
  fs::create_directories(folder / "is-a-folder");
  CHECK_THROWS_AS(write_json(folder / "is-a-folder", {{"a", 1}}), UsageError);
  CHECK(folder.files() == 1);
}
}  // namespace speedwell::test::json_tests
