// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "catch.hpp"
#include "folder.hpp"
#include "io/profile.hpp"
#include "refusal.hpp"

namespace speedwell::test::profile_tests {
namespace {

ProfileEntry some_entry() {
  ProfileEntry entry;
  entry.key = {"a processor, 2 threads", Benchmark::mxp, Precision::bf16, Pivoting::none, 2, 3};
  entry.n = 16384;
  entry.tuning = {768, 1, 4096};
  entry.gflops = 440.5;
  entry.default_gflops = 400.25;
  entry.date = "2026-01-02T03:04:05Z";
  entry.revision = "abc";
  return entry;
}

ProfileRate some_rate() {
  return {"a processor, 2 threads", Precision::bf16, 2048, 440.5, "2026-01-02T03:04:05Z", "abc"};
}

ProfileEntry at(std::int64_t n) {
  ProfileEntry entry = some_entry();
  entry.n = n;
  return entry;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

/// The refusal of a profile with this text.
std::string refusal(const std::string& text) {
  return test::refusal_of([&] { parse_profile(text, "p.json"); });
}

/// The JSON of a profile with one entry and one rate.
nlohmann::json document() {
  const Folder folder("profile-document");
  add_to_profile(folder / "p.json", some_entry());
  add_to_profile(folder / "p.json", std::vector{some_rate()});
  std::ifstream stream(folder / "p.json");
  return nlohmann::json::parse(stream);
}

}  // namespace

TEST_CASE("an entry that was added to a profile is found in it") {
  const Folder folder("profile");
  const std::string path = folder / "p.json";
  CHECK(read_profile(path).entries().empty());
  add_to_profile(path, some_entry());
  const Profile profile = read_profile(path);
  REQUIRE(profile.entries().size() == 1);
  const ProfileEntry* found = profile.find(some_entry().key, 16384);
  REQUIRE(found != nullptr);
  CHECK(found->tuning == some_entry().tuning);
  CHECK(found->n == 16384);
  CHECK(found->gflops == 440.5);
  CHECK(found->default_gflops == 400.25);
  CHECK(found->date == some_entry().date);
  CHECK(found->revision == "abc");
  CHECK(folder.files() == 1);
}

TEST_CASE("an entry applies only to its own key") {
  Profile profile;
  profile.put(some_entry());
  const auto found = [&](auto change) {
    ProfileKey key = some_entry().key;
    change(key);
    return profile.find(key, 16384) != nullptr;
  };
  CHECK(found([](ProfileKey&) {}));
  CHECK_FALSE(found([](ProfileKey& k) { k.device += "0"; }));
  CHECK_FALSE(found([](ProfileKey& k) { k.benchmark = Benchmark::hpl; }));
  CHECK_FALSE(found([](ProfileKey& k) { k.precision = Precision::fp16; }));
  CHECK_FALSE(found([](ProfileKey& k) { k.pivoting = Pivoting::partial; }));
  CHECK_FALSE(found([](ProfileKey& k) { k.nprow = 3; }));
  CHECK_FALSE(found([](ProfileKey& k) { k.npcol = 2; }));
}

TEST_CASE("an entry applies to orders near its own, and the nearest entry is taken") {
  Profile profile;
  for (const std::int64_t n : {1000, 3000, 100000}) profile.put(at(n));
  const auto order = [&](std::int64_t n) {
    const ProfileEntry* entry = profile.find(some_entry().key, n);
    return entry ? entry->n : 0;
  };
  CHECK(order(499) == 0);
  CHECK(order(500) == 1000);
  CHECK(order(1700) == 1000);
  CHECK(order(1800) == 3000);
  CHECK(order(12000) == 3000);
  CHECK(order(12001) == 0);
  CHECK(order(50000) == 100000);
  CHECK(order(400001) == 0);
  CHECK(order(std::int64_t{1} << 62) == 0);
}

TEST_CASE("a new entry replaces only an entry of the same key and a similar order") {
  const Folder folder("profile");
  const std::string path = folder / "p.json";
  for (const std::int64_t n : {1024, 2048, 2047}) add_to_profile(path, at(n));
  ProfileEntry other = at(1024);
  other.key.device = "another";
  add_to_profile(path, other);
  std::vector<std::int64_t> orders;
  const Profile profile = read_profile(path);
  for (const ProfileEntry& entry : profile.entries()) orders.push_back(entry.n);
  CHECK(orders == std::vector<std::int64_t>{2048, 2047, 1024});
}

TEST_CASE("a profile that is damaged is refused in one line that names it") {
  CHECK(refusal(document().dump()).empty());
  for (const char* text : {"", "{", "[]", "17", "null", "\xff\xfe", "{}", R"({"schema": 1})"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), ContainsSubstring("'p.json'") && ContainsSubstring("allowed"));
    CHECK(refusal(text).find('\n') == std::string::npos);
  }
  nlohmann::json newer = document();
  newer["schema"] = "speedwell-profile/2";
  CHECK_THAT(refusal(newer.dump()), ContainsSubstring("speedwell-profile/2") &&
                                        ContainsSubstring("'speedwell-profile/1'"));
  for (const char* list : {"entries", "rates"}) {
    nlohmann::json no_list = document();
    no_list[list] = "none";
    CHECK_THAT(refusal(no_list.dump()), ContainsSubstring(list));
  }
  constexpr std::size_t deep = 1'000'000;  // more calls within calls than a stack holds
  CHECK_THAT(refusal(R"({"schema": )" + std::string(deep, '[') + std::string(deep, ']') + "}"),
             ContainsSubstring("more than 32 deep"));
  nlohmann::json two_lines = document();
  two_lines["schema"] = "speedwell\nprofile";
  CHECK_THAT(refusal(two_lines.dump()), ContainsSubstring(R"("speedwell\nprofile")"));
}

TEST_CASE("rates that were added to a profile are found in it, beside its entries") {
  const Folder folder("profile");
  const std::string path = folder / "p.json";
  add_to_profile(path, some_entry());
  ProfileRate larger = some_rate();
  larger.order = 4096;
  ProfileRate other = some_rate();
  other.device = "another";
  add_to_profile(path, std::vector{larger, some_rate(), other});
  CHECK(read_profile(path).rates() == std::vector{larger, some_rate(), other});
  CHECK(read_profile(path).entries().size() == 1);
  ProfileRate newer = some_rate();
  newer.gflops = 500;
  newer.date = "2026-02-03T04:05:06Z";
  add_to_profile(path, std::vector{newer});
  CHECK(read_profile(path).rates() == std::vector{larger, other, newer});
  larger.gflops = 600;
  add_to_profile(path, std::vector{larger});
  CHECK(read_profile(path).rates() == std::vector{other, larger});  // for the smaller order too
  add_to_profile(path, at(100));
  CHECK(read_profile(path).rates().size() == 2);
}

TEST_CASE("an entry or a rate with a value that is not allowed is refused, with the value's name") {
  const auto with = [](const char* list, const std::string& name, const nlohmann::json& value) {
    nlohmann::json changed = document();
    changed[list][0][name] = value;
    std::string words = refusal(changed.dump());
    CHECK(words.find('\n') == std::string::npos);
    return words;
  };
  const nlohmann::json whole = document();
  for (const char* list : {"entries", "rates"})
    for (const auto& [name, unused] : whole[list][0].items()) {
      CAPTURE(name);
      CHECK_THAT(with(list, name, nullptr), ContainsSubstring("'" + name + "'"));
      nlohmann::json without = whole;
      without[list][0].erase(name);
      CHECK_THAT(refusal(without.dump()), ContainsSubstring("'" + name + "' is missing"));
    }
  for (const nlohmann::json& bad : {nlohmann::json(0), nlohmann::json(-1), nlohmann::json(1.5),
                                    nlohmann::json(1e300), nlohmann::json(UINT64_MAX)})
    CHECK_THAT(with("entries", "nb", bad), ContainsSubstring("'nb'"));
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1} << 40})
    CHECK_THAT(with("entries", "lookahead", bad), ContainsSubstring("'lookahead'"));
  CHECK(with("entries", "chunk", 0).empty());
  CHECK_THAT(with("entries", "precision", "fp8"), ContainsSubstring("'precision'"));
  CHECK_THAT(with("entries", "gflops", -1), ContainsSubstring("'gflops'"));
  CHECK_THAT(with("rates", "order", 0), ContainsSubstring("'order'"));
  CHECK_THAT(with("rates", "precision", "fp8"), ContainsSubstring("'precision'"));
  for (const double bad : {0., -1., 1e10})
    CHECK_THAT(with("rates", "gflops", bad), ContainsSubstring("'gflops'"));
  CHECK(with("rates", "gflops", 1e9).empty());
}

TEST_CASE("a profile that cannot be read is not overwritten") {
  const Folder folder("profile");
  const std::string path = folder / "p.json";
  write(path, "precious");
  CHECK_THROWS_AS(add_to_profile(path, some_entry()), UsageError);
  CHECK_THROWS_AS(add_to_profile(path, std::vector{some_rate()}), UsageError);
  CHECK(profile_text(path) == "precious");
  CHECK(profile_text(path + "/below-a-file.json").empty());
  CHECK_THROWS_AS(profile_text(folder / "."), UsageError);
  CHECK_THROWS_AS(add_to_profile(folder / "no/where.json", some_entry()), UsageError);
}
}  // namespace speedwell::test::profile_tests
