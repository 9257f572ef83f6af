// SPDX-License-Identifier: BSD-3-Clause
#include "io/profile.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/option_fields.hpp"
#include "core/option_range.hpp"
#include "io/file.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr const char* schema = "speedwell-profile/1";
constexpr double most_gflops = 1e9;  // of one rank

/// An error in a document. Its message begins after the document's name.
class Damaged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Calls visit(name, value) for each field of an entry, by its name in the file.
template <OptionsOf<ProfileEntry> Entry, class Visit>
void for_each_field(Entry& entry, const Visit& visit) {
  auto& [key, n, tuning, gflops, default_gflops, date, revision] = entry;
  visit("device", key.device);
  visit("benchmark", key.benchmark);
  visit("precision", key.precision);
  visit("pivoting", key.pivoting);
  visit("nprow", key.nprow);
  visit("npcol", key.npcol);
  visit("n", n);
  visit("nb", tuning.nb);
  visit("lookahead", tuning.lookahead);
  visit("chunk", tuning.chunk);
  visit("gflops", gflops);
  visit("default_gflops", default_gflops);
  visit("date", date);
  visit("revision", revision);
}

template <OptionsOf<ProfileRate> Rate, class Visit>
void for_each_field(Rate& rate, const Visit& visit) {
  auto& [device, precision, order, gflops, date, revision] = rate;
  visit("device", device);
  visit("precision", precision);
  visit("order", order);
  visit("gflops", gflops);
  visit("date", date);
  visit("revision", revision);
}

/// The value of a field that is there; nothing where it is not allowed.
template <class Value>
std::optional<Value> read_value(const ordered_json& from, std::string_view name) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return from.is_string() ? std::optional(from.get<std::string>()) : std::nullopt;
  } else if constexpr (std::is_enum_v<Value>) {
    return from.is_string() ? parse<Value>(from.get<std::string>()) : std::nullopt;
  } else if constexpr (std::is_same_v<Value, double>) {
    const double value = from.is_number() ? from.get<double>() : -1;
    return std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
  } else {
    if (!from.is_number_integer()) return std::nullopt;
    const bool fits = from.is_number_unsigned() ? std::in_range<Value>(from.get<std::uint64_t>())
                                                : std::in_range<Value>(from.get<std::int64_t>());
    if (!fits) return std::nullopt;
    const auto value = from.get<Value>();
    const bool is_whole = name == "chunk" && value == 0;
    return is_whole || is_in(range_of(name), value) ? std::optional(value) : std::nullopt;
  }
}

template <class Fields>
Fields read_fields(const ordered_json& from) {
  Fields all;
  for_each_field(all, [&](const char* name, auto& value) {
    const auto found = from.find(name);
    if (found == from.end()) throw Damaged(fmt::format("'{}' is missing", name));
    const auto read = read_value<std::remove_reference_t<decltype(value)>>(*found, name);
    if (!read)
      throw Damaged(fmt::format("'{}' is {}, which is not allowed", name,
                                printable(found->dump(-1, ' ', true))));
    value = *read;
  });
  return all;
}

template <class Fields>
ordered_json json_of(const Fields& all) {
  ordered_json object;
  for_each_field(all, [&](const char* name_in_file, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>)
      object[name_in_file] = name(value);
    else
      object[name_in_file] = value;
  });
  return object;
}

/// A list of the document.
const ordered_json& list(const ordered_json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end() || !found->is_array())
    throw Damaged(fmt::format("'{}' is no list", name));
  return *found;
}

Profile profile_of(const std::string& content) {
  const ordered_json document =
      parse_json(content, [](const std::string& why) { throw Damaged(why); });
  if (!document.is_object()) throw Damaged("it is no JSON object");
  if (const auto found = document.value("schema", ordered_json()); found != schema)
    throw Damaged(fmt::format("its schema is {}, allowed is '{}'",
                              printable(found.dump(-1, ' ', true)), schema));
  Profile profile;
  for (const ordered_json& entry : list(document, "entries"))
    profile.put(read_fields<ProfileEntry>(entry));
  for (const ordered_json& one : list(document, "rates")) {
    const auto rate = read_fields<ProfileRate>(one);
    if (rate.gflops == 0 || rate.gflops > most_gflops)
      throw Damaged(
          fmt::format("'gflops' of a rate is {}, allowed is a number above 0, at most {:g}",
                      rate.gflops, most_gflops));
    profile.put(rate);
  }
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
