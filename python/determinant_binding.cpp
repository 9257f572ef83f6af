// SPDX-License-Identifier: BSD-3-Clause
// Determinants of stacks of arrays. Arrays come as addresses, which the package has checked.
#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <complex>

#include "binding.hpp"
#include "solve/stack_determinants.hpp"

namespace speedwell::python {

namespace {

/// Arrays of what is found, one entry for each matrix. Real matrices have real mantissas and signs.
struct Outcome {
  std::uintptr_t mantissa, exponent, sign, logarithm, known;
};

template <class T>
void put(std::uintptr_t array, std::int64_t k, T value) {
  reinterpret_cast<T*>(array)[k] = value;
}

template <class T>
T in_field(std::complex<double> z) {
  if constexpr (std::is_same_v<T, double>)
    return z.real();
  else
    return z;
}

template <class T>
void find(std::uintptr_t a, std::int64_t count, std::int64_t n, const Outcome& to, int threads,
          const InterruptFunction& interrupt) {
  constexpr std::int64_t between_questions = 4'000'000'000;  // operations
  const std::int64_t together = std::max<std::int64_t>(between_questions / (n * n * (n + 100)), 1);
  for (std::int64_t begin = 0; begin < count; begin += together) {
    if (interrupt()) throw Interrupted("ended early");
    stack_determinants<T>(reinterpret_cast<const T*>(a) + begin * n * n,
                          std::min(together, count - begin), n, threads,
                          [&](std::int64_t found, const StackDeterminant& one) {
                            const std::int64_t k = begin + found;
                            put(to.mantissa, k, in_field<T>(one.mantissa));
                            put(to.exponent, k, one.exponent);
                            put(to.sign, k, in_field<T>(one.sign));
                            put(to.logarithm, k, one.log_magnitude);
                            put(to.known, k, true);
                          });
  }
}

}  // namespace

void bind_determinants(nb::module_& module) {
  module.def("stack_determinants",
             [](std::uintptr_t a, bool complex, std::int64_t count, std::int64_t n,
                const std::array<std::uintptr_t, 5>& to, int threads) {
               const Outcome outcome{to[0], to[1], to[2], to[3], to[4]};
               Call call{nb::none()};
               const InterruptFunction interrupt = call.interrupt();
               const int used = threads > 0 ? threads : threads_alone();
               call.run([&] {
                 complex ? find<std::complex<double>>(a, count, n, outcome, used, interrupt)
                         : find<double>(a, count, n, outcome, used, interrupt);
               });
             });
}

}  // namespace speedwell::python
