// A floor owes nothing to the kernels' own choices.
#include "floors.hpp"

#include <omp.h>

#include <cstdint>
#include <cstring>

#include "harness.hpp"
#include "streams.hpp"

namespace lupine {

namespace portable {
extern const Streams streams;
}
#ifdef LUPINE_X86_64
namespace avx2 {
extern const Streams streams;
}
namespace avx512 {
extern const Streams streams;
}
#endif

namespace {

const Streams& streams() {
#ifdef LUPINE_X86_64
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return avx512::streams;
  if (__builtin_cpu_supports("avx2")) return avx2::streams;
#endif
  return portable::streams;
}

double elements_per_second(bool smoke) {
  const Streams& fast = streams();
  const std::int64_t steps = smoke ? 1000 : 2'000'000;
  volatile double sink = 0;
  const double seconds = best_seconds(smoke, [&] {
    double total = 0;
#pragma omp parallel reduction(+ : total)
    total += fast.sum_of_stream(static_cast<std::uint64_t>(omp_get_thread_num()), steps);
    sink = total;
  });
  return static_cast<double>(steps * fast.elements_a_step) * omp_get_max_threads() / seconds;
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
  const Streams& fast = streams();
  floors.read = bytes / best_seconds(smoke, [&] {
                  for_each_part(words, [&](std::int64_t first, std::int64_t count) {
                    volatile std::uint64_t sink = fast.sum_of_words(data + first, count);
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
