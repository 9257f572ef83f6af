// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which variant of an operation a GPU takes, of two: few kernels, or many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/product_choice.hpp"

namespace speedwell {

/// The operations that have two variants.
namespace varied {
inline constexpr std::string_view diagonal = "diagonal block";
inline constexpr std::string_view solves = "solves of a step";
inline constexpr std::string_view solves64 = "solves of a step in fp64";
inline constexpr std::string_view leaf32 = "leaf in fp32";
inline constexpr std::string_view leaf64 = "leaf in fp64";
}  // namespace varied

/// The choices of a device. A trial is made once in a process for each GPU and size, since it takes
/// as long as some runs of small n.
class Variants {
 public:
  explicit Variants(int gpu) : gpu_(gpu) {}
  /// Makes the choice for a size: SPEEDWELL_GPU_KERNELS, or what `trial` finds.
  /// @throw UsageError if the variable is neither few nor many
  const VariantChoice& choose(std::string_view operation, std::int64_t size,
                              const std::function<VariantChoice()>& trial);
  /// Right-hand sides from which few kernels are taken; 0 where an operation has none; more than
  /// there are if many kernels are. By the choice for the nearest larger size, or else for the
  /// largest one; few kernels where there is no choice.
  std::int64_t least_vectors(std::string_view operation, std::int64_t size) const;
  bool few(std::string_view operation, std::int64_t size) const {
    return least_vectors(operation, size) == 0;
  }
  /// Whether SPEEDWELL_GPU_KERNELS decides, and no trial.
  static bool by_user();
  /// Takes many kernels from now on.
  void refuse(std::string_view operation, const std::string& why);
  std::vector<VariantChoice> all() const;

 private:
  int gpu_;
  std::map<std::pair<std::string_view, std::int64_t>, VariantChoice> choices_;
};

}  // namespace speedwell
