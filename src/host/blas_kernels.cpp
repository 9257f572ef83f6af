// SPDX-License-Identifier: BSD-3-Clause
#include "host/blas_kernels.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "core/forks.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"

// Those of an OpenBLAS that has kernels for several processors; others leave their addresses null.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace speedwell {

namespace {

constexpr const char* kernels_variable = "OPENBLAS_CORETYPE";

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool has(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// Whether they do so soon: then none of them computes inside OpenBLAS. Threads of OpenBLAS and
/// OpenMP spin for some 20 ms before they sleep.
bool others_come_to_sleep() {
  constexpr std::chrono::milliseconds patience(100);
  constexpr std::chrono::milliseconds pause(1);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!other_threads_sleep()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

/// better_kernels() than those that OpenBLAS has; nothing where the environment is not allowed,
/// which the first call that reads it says.
std::optional<std::string> wanted_kernels() {
  try {
    if (!named_blas().empty()) return std::nullopt;
    return better_kernels(openblas_get_corename(), instruction_sets());
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void take(const std::string& kernels) {
  ::setenv(kernels_variable, kernels.c_str(), 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv(kernels_variable);
}

std::string settle_kernels() {
  if (std::getenv(kernels_variable) != nullptr) return "";
  const std::optional<std::string> wanted = wanted_kernels();
  if (!wanted) return "";
  const std::string slow = openblas_get_corename();
  const auto stays = [&](const char* why) {
    return fmt::format(
        "OpenBLAS keeps its kernels for {}, which are slow on this processor, since {}; {}={} in "
        "the environment gives better ones",
        slow, why, kernels_variable, *wanted);
  };
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr)
    return stays("it cannot change them");
  if (!others_come_to_sleep()) return stays("another thread may be inside it");
  take(*wanted);
  const std::string now = openblas_get_corename();
  if (better_kernels(now, instruction_sets())) return stays("it has no others");
  return fmt::format("OpenBLAS has kernels for {}; by itself it chose {}", now, slow);
}

}  // namespace

std::optional<std::string> better_kernels(std::string_view kernels,
                                          const std::vector<std::string>& sets) {
  constexpr std::array table{SPEEDWELL_BLAS_KERNELS};  // families and features in turn
  for (std::size_t row = 0; row < table.size(); row += 2) {
    const std::vector<std::string> families = words(table[row]);
    if (has(families, kernels)) return std::nullopt;
    const std::vector<std::string> features = words(table[row + 1]);
    if (std::all_of(features.begin(), features.end(),
                    [&](const std::string& feature) { return has(sets, feature); }))
      return families.front();
  }
  return std::nullopt;
}

bool other_threads_sleep() {
  const std::string self = std::to_string(::gettid());
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    if (task.path().filename() == self) continue;
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);  // "17 (name) S 1 ..."
    const std::size_t name_end = line.rfind(')');
    // A thread that has ended since has no line.
    if (name_end != std::string::npos && line.compare(name_end, 3, ") S") != 0) return false;
  }
  return !error;
}

const std::string& settle_blas_kernels() {
  static constinit MadeOnce<std::string> settled(settle_kernels);
  return settled.get();
}

}  // namespace speedwell
