// SPDX-License-Identifier: BSD-3-Clause
#include "io/profile.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr const char* schema = "speedwell-profile/1";
constexpr auto any = std::numeric_limits<std::int64_t>::max();
constexpr double most_gflops = 1e9;  // of one rank
constexpr auto any_int = std::int64_t{std::numeric_limits<int>::max()};

/// An error in a document. Its message begins after the document's name.
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

const ordered_json& field(const ordered_json& from, const char* name) {
  const auto found = from.find(name);
  if (found == from.end()) throw Damaged(fmt::format("'{}' is missing", name));
  return *found;
}

std::int64_t whole(const ordered_json& from, const char* name, std::int64_t least,
                   std::int64_t most) {
  const ordered_json& value = field(from, name);
  const bool readable = value.is_number_integer() &&
                        !(value.is_number_unsigned() && value.get<std::uint64_t>() > any);
  if (!readable || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    throw Damaged(fmt::format("'{}' is {}, allowed is a whole number from {} to {}", name,
                              printable(value.dump(-1, ' ', true)), least, most));
  return value.get<std::int64_t>();
}

double rate(const ordered_json& from, const char* name) {
  const ordered_json& value = field(from, name);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
    throw Damaged(fmt::format("'{}' is no rate", name));
  return value.get<double>();
}

std::string text(const ordered_json& from, const char* name) {
  const ordered_json& value = field(from, name);
  if (!value.is_string()) throw Damaged(fmt::format("'{}' is no text", name));
  return value.get<std::string>();
}

template <class Enum>
Enum choice(const ordered_json& from, const char* name) {
  const std::optional<Enum> value = parse<Enum>(text(from, name));
  if (!value)
    throw Damaged(fmt::format("'{}' is unknown, allowed: {}", name, allowed_names<Enum>()));
  return *value;
}

ProfileEntry entry_of(const ordered_json& from) {
  ProfileEntry entry;
  entry.key = {text(from, "device"),
               choice<Benchmark>(from, "benchmark"),
               choice<Precision>(from, "precision"),
               choice<Pivoting>(from, "pivoting"),
               static_cast<int>(whole(from, "nprow", 1, any_int)),
               static_cast<int>(whole(from, "npcol", 1, any_int))};
  entry.n = whole(from, "n", 1, any);
  entry.tuning = {whole(from, "nb", 1, any), static_cast<int>(whole(from, "lookahead", 0, any_int)),
                  whole(from, "chunk", 0, any)};
  entry.gflops = rate(from, "gflops");
  entry.default_gflops = rate(from, "default_gflops");
  entry.date = text(from, "date");
  entry.revision = text(from, "revision");
  return entry;
}

ordered_json json_of(const ProfileEntry& entry) {
  const ProfileKey& key = entry.key;
  return {{"device", key.device},
          {"benchmark", name(key.benchmark)},
          {"precision", name(key.precision)},
          {"pivoting", name(key.pivoting)},
          {"nprow", key.nprow},
          {"npcol", key.npcol},
          {"n", entry.n},
          {"nb", entry.tuning.nb},
          {"lookahead", entry.tuning.lookahead},
          {"chunk", entry.tuning.chunk},
          {"gflops", entry.gflops},
          {"default_gflops", entry.default_gflops},
          {"date", entry.date},
          {"revision", entry.revision}};
}

ProfileRate rate_of(const ordered_json& from) {
  const double gflops = rate(from, "gflops");
  if (!(gflops > 0 && gflops <= most_gflops))
    throw Damaged(fmt::format("'gflops' of a rate is {}, allowed is a number above 0, at most {:g}",
                              gflops, most_gflops));
  return {text(from, "device"),         choice<Precision>(from, "precision"),
          whole(from, "order", 1, any), gflops,
          text(from, "date"),           text(from, "revision")};
}

ordered_json json_of(const ProfileRate& rate) {
  return {{"device", rate.device}, {"precision", name(rate.precision)},
          {"order", rate.order},   {"gflops", rate.gflops},
          {"date", rate.date},     {"revision", rate.revision}};
}

/// A list of the document.
const ordered_json& list(const ordered_json& document, const char* name) {
  const ordered_json& found = field(document, name);
  if (!found.is_array()) throw Damaged(fmt::format("'{}' is no list", name));
  return found;
}

Profile profile_of(const std::string& content) {
  const ordered_json document =
      parse_json(content, [](const std::string& why) { throw Damaged(why); });
  if (!document.is_object()) throw Damaged("it is no JSON object");
  if (const std::string found = text(document, "schema"); found != schema)
    throw Damaged(fmt::format("its schema is '{}', allowed is '{}'", printable(found), schema));
  Profile profile;
  for (const ordered_json& entry : list(document, "entries")) profile.put(entry_of(entry));
  if (document.contains("rates"))  // profiles of the first versions have none
    for (const ordered_json& rate : list(document, "rates")) profile.put(rate_of(rate));
  return profile;
}

// a / b in floating point, so that comparing orders needs no 2 n, which could overflow.
double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

const ProfileEntry* Profile::find(const ProfileKey& key, std::int64_t n) const {
  const ProfileEntry* nearest = nullptr;
  const auto distance = [&](const ProfileEntry& e) { return std::abs(std::log(ratio(n, e.n))); };
  for (const ProfileEntry& entry : entries_) {
    if (entry.key != key || ratio(n, entry.n) < 0.5 || ratio(n, entry.n) > 4) continue;
    if (nearest == nullptr || distance(entry) < distance(*nearest)) nearest = &entry;
  }
  return nearest;
}

void Profile::put(const ProfileEntry& entry) {
  const auto size = [](const ProfileEntry& e) {
    return std::bit_width(static_cast<std::uint64_t>(e.n));
  };
  const auto same = [&](const ProfileEntry& e) {
    return e.key == entry.key && size(e) == size(entry);
  };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), same), entries_.end());
  entries_.push_back(entry);
}

void Profile::put(const ProfileRate& rate) {
  std::erase_if(rates_, [&](const ProfileRate& other) {
    return other.device == rate.device && other.precision == rate.precision &&
           other.order <= rate.order;
  });
  rates_.push_back(rate);
}

Profile parse_profile(const std::string& content, const std::string& path) {
  try {
    return profile_of(content);
  } catch (const Damaged& damage) {
    throw UsageError(
        fmt::format("cannot use the profile '{}': {}; allowed: a profile that this version of "
                    "Speedwell wrote, or none",
                    printable(path, longest_path), damage.what()));
  }
}

std::string profile_text(const std::string& path) {
  const FileText file = read_file(path);
  if (!file.problem.empty() && !file.is_missing)
    throw UsageError(
        fmt::format("cannot read the profile '{}' ({}); allowed: a file that can be "
                    "read, or none",
                    printable(path, longest_path), file.problem));
  return file.text;
}

Profile read_profile(const std::string& path) {
  const std::string content = profile_text(path);
  return content.empty() ? Profile() : parse_profile(content, path);
}

namespace {

/// Reads the profile now, since another process may have added to it, and replaces it by what
/// `change` makes of it.
template <class Change>
void change_profile(const std::string& path, const Change& change) {
  Profile profile = read_profile(path);
  change(profile);
  ordered_json document = {
      {"schema", schema}, {"entries", ordered_json::array()}, {"rates", ordered_json::array()}};
  for (const ProfileEntry& one : profile.entries()) document["entries"].push_back(json_of(one));
  for (const ProfileRate& one : profile.rates()) document["rates"].push_back(json_of(one));
  write_json(path, document);
}

}  // namespace

void add_to_profile(const std::string& path, const ProfileEntry& entry) {
  change_profile(path, [&](Profile& profile) { profile.put(entry); });
}

void add_to_profile(const std::string& path, const std::vector<ProfileRate>& rates) {
  change_profile(path, [&](Profile& profile) {
    for (const ProfileRate& rate : rates) profile.put(rate);
  });
}

}  // namespace speedwell
