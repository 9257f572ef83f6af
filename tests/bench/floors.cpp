// Built for the processor that it runs on: a floor owes nothing to the kernels' own choices.
#include "floors.hpp"

#include <omp.h>

#include <cstdint>
#include <cstring>

#include "element/matrix_spec.hpp"
#include "harness.hpp"

namespace lupine {

namespace {

#if defined(__AVX512F__)
constexpr int width = 8;
constexpr int chains = 8;
#elif defined(__AVX2__)
constexpr int width = 4;
constexpr int chains = 4;
#else
constexpr int width = 2;
constexpr int chains = 4;
#endif
using Integers = std::uint64_t __attribute__((vector_size(width * 8)));
using Doubles = double __attribute__((vector_size(width * 8)));

Doubles to_doubles(Integers x) {
#ifdef __AVX512DQ__
  return __builtin_convertvector(x, Doubles);
#else
  // Each half of x lands in the fraction of a power of two; the sum rounds once.
  const Doubles high = __builtin_bit_cast(Doubles, (x >> 32) | 0x4530000000000000u);
  const Doubles low = __builtin_bit_cast(Doubles, (x & 0xffffffffu) | 0x4330000000000000u);
  return (high - (0x1p84 + 0x1p52)) + low;
#endif
}

/// Sum of chains * width * steps numbers of the stream: nothing leaves the registers.
double sum_of_stream(std::uint64_t seed, std::int64_t steps) {
  constexpr Affine stride = jump(chains * width);
  Integers state[chains];
  Doubles sum[chains]{};
  for (Integers& s : state)
    for (int lane = 0; lane < width; ++lane, seed = Affine{}(seed)) s[lane] = seed;
  for (std::int64_t k = 0; k < steps; ++k) {
#pragma GCC unroll 8
    for (int v = 0; v < chains; ++v) {
      state[v] = state[v] * stride.a + stride.c;
      sum[v] += to_doubles(state[v]);
    }
  }
  double total = 0;
  for (const Doubles& s : sum)
    for (int lane = 0; lane < width; ++lane) total += s[lane];
  return total;
}

double elements_per_second(bool smoke) {
  const std::int64_t steps = smoke ? 1000 : 2'000'000;
  volatile double sink = 0;
  const double seconds = best_seconds(smoke, [&] {
    double total = 0;
#pragma omp parallel reduction(+ : total)
    total += sum_of_stream(static_cast<std::uint64_t>(omp_get_thread_num()), steps);
    sink = total;
  });
  return static_cast<double>(steps * chains * width) * omp_get_max_threads() / seconds;
}

/// Calls work(first, count) on each thread, for its part of `count` words.
template <class Work>
void for_each_part(std::int64_t count, Work work) {
#pragma omp parallel
  {
    const std::int64_t part = count / omp_get_num_threads();
    work(part * omp_get_thread_num(), part);
  }
}

}  // namespace

Floors measure_floors(MatrixView<float> memory, bool smoke) {
  const std::int64_t words = memory.ld * memory.cols / 2;
  auto* data = reinterpret_cast<std::uint64_t*>(memory.data);
  const auto bytes = static_cast<double>(words) * 8;
  Floors floors;
  floors.elements = elements_per_second(smoke);
  floors.write = bytes / best_seconds(smoke, [&] {
                   for_each_part(words, [&](std::int64_t first, std::int64_t count) {
                     std::memset(data + first, 0, static_cast<std::size_t>(count) * 8);
                   });
                 });
  floors.read = bytes / best_seconds(smoke, [&] {
                  for_each_part(words, [&](std::int64_t first, std::int64_t count) {
                    std::uint64_t sum = 0;
                    for (std::int64_t i = first; i < first + count; ++i) sum += data[i];
                    volatile std::uint64_t sink = sum;
                    static_cast<void>(sink);
                  });
                });
  floors.copy =
      bytes / best_seconds(smoke, [&] {
        for_each_part(words / 2, [&](std::int64_t first, std::int64_t count) {
          std::memcpy(data + words / 2 + first, data + first, static_cast<std::size_t>(count) * 8);
        });
      });
  return floors;
}

}  // namespace lupine
