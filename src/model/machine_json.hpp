// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Objects of machine files: MachineReader takes them apart, MachineWriter makes them. Both have
/// the same functions, so one description of the format serves reading and writing.
#pragma once

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/expects.hpp"
#include "io/text.hpp"
#include "model/machine_model.hpp"

namespace speedwell {

/// A value of an enumeration, and its word in a machine file.
template <class Enum>
struct Word {
  Enum value;
  std::string_view name;
};

/// The word of a value, which is among the words.
template <class Words, class Enum>
std::string_view word_of(const Words& words, Enum value) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const auto& word) { return word.value == value; });
  SPEEDWELL_EXPECTS(found != words.end());
  return found->name;
}

/// The names with commas between them.
template <class Words>
std::string all_names(const Words& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + std::string(word.name);
  return all;
}

inline constexpr std::array<Word<Origin>, 3> origins{{{Origin::measured, "measured"},
                                                      {Origin::datasheet, "datasheet"},
                                                      {Origin::assumed, "assumed"}}};

/// The most devices of a machine, and the limit of every count.
inline constexpr int most_devices = 65536;

/// The numbers that a key may have. Limits keep times finite, and are far from any machine.
struct Allowed {
  double least = 1e-30;
  double most = 1e30;
  bool whole = false;

  std::string words() const {
    return fmt::format("a {}number from {} to {}", whole ? "whole " : "", least, most);
  }
};
namespace limits {
inline constexpr Allowed positive;
inline constexpr Allowed not_negative{0};
inline constexpr Allowed part{1e-30, 1};
inline constexpr Allowed count{1, most_devices, true};
}  // namespace limits

/// An object of a machine file that is read. Every function takes the value of a key; finish()
/// refuses the keys that were not asked for.
class MachineReader {
 public:
  MachineReader(const nlohmann::ordered_json& object, std::string path, const std::string& where,
                std::map<std::string, Figure>& figures, const char* form = any_form)
      : object_(object), path_(std::move(path)), where_(where), figures_(figures) {
    if (!object_.is_object()) refuse(path_, "is no object", form);
  }

  [[noreturn]] void refuse(const std::string& path, const std::string& fault,
                           const std::string& allowed) const {
    throw UsageError(fmt::format("machine '{}': {} {}; allowed: {}", where_,
                                 path.empty() ? "the text" : path, fault, allowed));
  }
  /// Whether the key is to be read: it must be there, or it is there. (A writer asks `is_set`.)
  bool has(const std::string& key, bool must_be, bool /*is_set*/) {
    known_.insert(key);
    return must_be || object_.contains(key);
  }
  void text(const std::string& key, std::string& value, bool may_be_empty = false) {
    const nlohmann::ordered_json& found = field(key, "a text");
    if (!found.is_string()) refuse_value(key, found, "a text");
    value = found.get<std::string>();
    if (value.empty() && !may_be_empty) refuse(at(key), "is empty", "a text");
    if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < ' '; }))
      refuse(at(key), "has control characters", "a text of one line");
  }
  template <class Words, class Enum>
  void choice(const std::string& key, const Words& words, Enum& value) {
    std::string word;
    text(key, word);
    for (const auto& each : words)
      if (each.name == word) return void(value = each.value);
    refuse(at(key), fmt::format("is '{}'", printable(word)), all_names(words));
  }
  template <class T>
  void number(const std::string& key, T& value, const Allowed& allowed) {
    const nlohmann::ordered_json& found = field(key, allowed.words());
    const double read = found.is_number() ? found.get<double>() : -1;
    if (!found.is_number() || !(read >= allowed.least && read <= allowed.most) ||
        (allowed.whole && read != std::floor(read)))
      refuse_value(key, found, allowed.words());
    value = static_cast<T>(read);
  }
  void number(const std::string& key, bool& value, const Allowed& /*allowed*/) {
    const nlohmann::ordered_json& found = field(key, "true, false");
    if (!found.is_boolean()) refuse_value(key, found, "true, false");
    value = found.get<bool>();
  }
  /// A number with its source.
  template <class T>
  void figure(const std::string& key, T& value, const Allowed& allowed = limits::positive) {
    object(key, R"({"value": VALUE, "origin": ORIGIN, "source": WORDS})", [&](MachineReader& io) {
      Figure& figure = figures_[at(key)];
      io.source(figure);
      io.number("value", value, allowed);
      figure.value = static_cast<double>(value);
    });
  }
  void operation(const std::string& key, OperationModel& operation) {
    object(key, R"({"rate": VALUE, "origin": ORIGIN, "source": WORDS})", [&](MachineReader& io) {
      io.source(operation);
      const auto take = [&](const char* number, double& value, const Allowed& allowed) {
        io.number(number, value, allowed);
        figures_[io.at(number)] = {value, operation.origin, operation.source};
      };
      const auto take_half = [&](const char* number, double& value) {
        if (io.has(number, false, false)) take(number, value, limits::not_negative);
      };
      take("rate", operation.rate, limits::positive);
      take_half("half_rows", operation.half_rows);
      take_half("half_columns", operation.half_columns);
      take_half("half_width", operation.half_width);
    });
  }
  template <class Members>
  void object(const std::string& key, const Members& members) {
    object(key, any_form, members);
  }
  /// The one object of a list.
  template <class Members>
  void only(const std::string& key, const Members& members) {
    const nlohmann::ordered_json& found = field(key, "[{...}]");
    if (!found.is_array() || found.empty()) refuse_value(key, found, "a list of one object");
    if (found.size() > 1)
      refuse(at(key), fmt::format("has {} objects", found.size()),
             "one, since all ranks have the same device");
    MachineReader io(found[0], at(key) + "[0]", where_, figures_);
    members(io);
    io.finish();
  }
  /// Refuses the keys that are none: of a misspelt number, the default would be taken in silence.
  void finish(const std::string& allowed = {}) const {
    for (const auto& [key, value] : object_.items())
      if (!known_.contains(key))
        refuse(at(printable(key)), "is no key of this object",
               allowed.empty() ? fmt::format("{}", fmt::join(known_, ", ")) : allowed);
  }

 private:
  static constexpr const char* any_form = R"({"KEY": VALUE, ...})";

  /// @param form what the object looks like, for messages
  template <class Members>
  void object(const std::string& key, const char* form, const Members& members) {
    MachineReader io(field(key, form), at(key), where_, figures_, form);
    members(io);
    io.finish();
  }
  template <class Sourced>
  void source(Sourced& number) {
    choice("origin", origins, number.origin);
    text("source", number.source);
  }
  std::string at(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  [[noreturn]] void refuse_value(const std::string& key, const nlohmann::ordered_json& found,
                                 const std::string& allowed) const {
    refuse(at(key),
           "is " + printable(
                       found.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)),
           allowed);
  }
  const nlohmann::ordered_json& field(const std::string& key, const std::string& allowed) {
    known_.insert(key);
    const auto found = object_.find(key);
    if (found == object_.end()) refuse(at(key), "is missing", allowed);
    return *found;
  }

  const nlohmann::ordered_json& object_;
  std::string path_;
  const std::string& where_;
  std::map<std::string, Figure>& figures_;
  std::set<std::string> known_;
};

/// An object of a machine file that is written, with the functions of MachineReader.
class MachineWriter {
 public:
  MachineWriter(nlohmann::ordered_json& object, std::string path,
                std::map<std::string, Figure>& figures)
      : object_(object), path_(std::move(path)), figures_(figures) {
    object_ = nlohmann::ordered_json::object();
  }

  bool has(const std::string& /*key*/, bool must_be, bool is_set) const {
    return must_be || is_set;
  }
  void text(const std::string& key, const std::string& value, bool /*may_be_empty*/ = false) {
    object_[key] = value;
  }
  template <class Words, class Enum>
  void choice(const std::string& key, const Words& words, Enum value) {
    object_[key] = word_of(words, value);
  }
  template <class T>
  void figure(const std::string& key, const T& value,
              const Allowed& /*allowed*/ = limits::positive) {
    nlohmann::ordered_json& to = object_[key];
    to["value"] = value;
    source(to, figures_[at(key)]);
  }
  void operation(const std::string& key, const OperationModel& operation) {
    nlohmann::ordered_json& to = object_[key];
    to["rate"] = operation.rate;
    if (operation.half_rows != 0) to["half_rows"] = operation.half_rows;
    if (operation.half_columns != 0) to["half_columns"] = operation.half_columns;
    if (operation.half_width != 0) to["half_width"] = operation.half_width;
    source(to, operation);
  }
  template <class Members>
  void object(const std::string& key, const Members& members) {
    MachineWriter io(object_[key], at(key), figures_);
    members(io);
  }
  template <class Members>
  void only(const std::string& key, const Members& members) {
    nlohmann::ordered_json& to = object_[key] = nlohmann::ordered_json::array({nullptr});
    MachineWriter io(to.front(), at(key) + "[0]", figures_);
    members(io);
  }
  void finish(const std::string& /*allowed*/) const {}

 private:
  template <class Sourced>
  static void source(nlohmann::ordered_json& to, const Sourced& number) {
    const bool unknown_source = number.source.empty();
    to["origin"] = name(unknown_source ? Origin::assumed : number.origin);
    to["source"] = unknown_source ? "no source was given" : number.source;
  }
  std::string at(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  nlohmann::ordered_json& object_;
  std::string path_;
  std::map<std::string, Figure>& figures_;
};

}  // namespace speedwell
