// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a device knows of the algorithms that a library computes its matrix products by.
#pragma once

#include <cstdint>
#include <string>

namespace speedwell {

/// One algorithm that the library offered for a class of products C <- C + A B.
struct ProductChoice {
  std::string reading;       ///< the precision in which the factors are read: "fp16"
  std::int64_t m = 0;        ///< rows of C, in the first product of the class
  std::int64_t n = 0;        ///< columns of C
  std::int64_t k = 0;        ///< columns of A
  int multiprocessors = 0;   ///< to which the products were limited; 0: to none
  bool confined = false;     ///< whether their streams kept to the limit, whatever was launched
  std::string algorithm;     ///< the library's numbers of it
  std::string kernel;        ///< that it launches; empty: not known
  std::int64_t blocks = -1;  ///< thread blocks of this kernel; -1: not known
  double milliseconds = -1;  ///< of the fastest trial; -1: not timed
  std::string refused;       ///< by the library when it ran "in a trial" or "in a run"
};

/// By which of two variants a GPU computes an operation: few kernels, or many.
struct VariantChoice {
  std::string operation{};
  std::int64_t size = 0;  ///< order of the diagonal block, or rows of leaves at most
  bool few = false;
  double few_milliseconds = -1;  ///< of the fastest trial; -1: not timed
  double many_milliseconds = -1;
  std::int64_t least_vectors = 0;  ///< of solves: right-hand sides from which few kernels are taken
  std::string why{};               ///< what decided; empty: the time
};

}  // namespace speedwell
