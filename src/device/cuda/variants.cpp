// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/variants.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <tuple>

namespace speedwell {

namespace {

constexpr const char* variable = "SPEEDWELL_GPU_KERNELS";

std::optional<bool> read_choice() {
  const char* const name = std::getenv(variable);
  if (name == nullptr) return std::nullopt;
  const std::string_view given(name);
  if (given != "few" && given != "many")
    throw UsageError(fmt::format("{} '{}'; allowed: few, many", variable, given));
  return given == "few";
}

// What the user has chosen: true for few kernels.
const std::optional<bool>& users_choice() {
  static const std::optional<bool> choice = read_choice();
  return choice;
}

/// The trials of this process.
class Trials {
 public:
  using Key = std::tuple<int, std::string_view, std::int64_t>;
  std::optional<VariantChoice> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto known = of_.find(key);
    return known != of_.end() ? std::optional(known->second) : std::nullopt;
  }
  /// @return the choice; another thread's where that was earlier
  VariantChoice add(const Key& key, const VariantChoice& choice) {
    const std::lock_guard lock(mutex_);
    return of_.emplace(key, choice).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, VariantChoice> of_;
};

Trials& trials() {
  static Trials all;
  return all;
}

}  // namespace

bool Variants::by_user() {
  return users_choice().has_value();
}

const VariantChoice& Variants::choose(std::string_view operation, std::int64_t size,
                                      const std::function<VariantChoice()>& trial) {
  const auto known = choices_.find({operation, size});
  if (known != choices_.end()) return known->second;
  VariantChoice choice;
  if (const std::optional<bool>& chosen = users_choice()) {
    choice.few = *chosen;
    choice.why = variable;
  } else {
    // No lock during a trial: the ranks of a simulated machine are threads that wait for each
    // other.
    const Trials::Key key{gpu_, operation, size};
    const std::optional<VariantChoice> earlier = trials().find(key);
    choice = earlier ? *earlier : trials().add(key, trial());
  }
  choice.operation = operation;
  choice.size = size;
  return choices_.emplace(std::pair(operation, size), choice).first->second;
}

std::int64_t Variants::least_vectors(std::string_view operation, std::int64_t size) const {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  auto at = choices_.lower_bound({operation, size});
  if ((at == choices_.end() || at->first.first != operation) && at != choices_.begin()) --at;
  if (at == choices_.end() || at->first.first != operation)
    return users_choice().value_or(true) ? 0 : never;
  return at->second.few ? at->second.least_vectors : never;
}

void Variants::refuse(std::string_view operation, const std::string& why) {
  for (auto& [key, choice] : choices_)
    if (key.first == operation) {
      choice.few = false;
      choice.why = why;
    }
}

std::vector<VariantChoice> Variants::all() const {
  std::vector<VariantChoice> all;
  for (const auto& [key, choice] : choices_) all.push_back(choice);
  return all;
}

}  // namespace speedwell
