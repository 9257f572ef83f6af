// SPDX-License-Identifier: BSD-3-Clause
#include "host/blas_library.hpp"
#include "host/thread_scope.hpp"

#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "core/clock.hpp"
#include "device/cpu/cpu_device.hpp"
#include "host/processor.hpp"
#include "thread_counts.hpp"

namespace speedwell::test::thread_scope_tests {
TEST_CASE("a scope sets both numbers of threads, and restores the program's") {
  const OwnThreadCounts own;
  {
    const ThreadScope scope(3);
    CHECK(thread_counts() == ThreadCounts{3, 3});
    {
      const ThreadScope same(3);
      CHECK(thread_counts() == ThreadCounts{3, 3});
      const ThreadScope other(2);
      CHECK(thread_counts() == ThreadCounts{2, 2});
      const ThreadScope first(3);
      CHECK(thread_counts() == ThreadCounts{3, 3});
    }
    CHECK(thread_counts() == ThreadCounts{3, 3});
  }
  CHECK(thread_counts() == own.counts);
  try {
    const ThreadScope scope(2);
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
    CHECK(thread_counts() == own.counts);
  }
  const ThreadScope again(2);
  CHECK(thread_counts() == ThreadCounts{2, 2});
}

TEST_CASE("a scope asks for no threads that OpenMP does not give") {
  const OwnThreadCounts own;
  omp_set_dynamic(1);
  {
    const ThreadScope scope(3);
    CHECK(omp_get_dynamic() == 0);
    const ThreadScope one(1);
    CHECK(omp_get_dynamic() == 0);
  }
  CHECK(omp_get_dynamic() == 1);
  omp_set_dynamic(0);
  CHECK(largest_team() > 1);
  const int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  CHECK(largest_team() == 1);
  {
    const ThreadScope scope(3);
    CHECK(thread_counts() == ThreadCounts{1, 1});
  }
  omp_set_max_active_levels(levels);
}

namespace {
// What each thread of a team has; the calling thread's is the first.
std::vector<FloatingPoint::Bits> bits_of_team(int threads) {
  std::vector<FloatingPoint::Bits> bits(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  bits[static_cast<std::size_t>(omp_get_thread_num())] = FloatingPoint::get();
  return bits;
}

FloatingPoint::Bits upward() {
  const FloatingPointScope scope;
  std::fesetround(FE_UPWARD);
  return FloatingPoint::get();
}
}  // namespace

TEST_CASE("a scope's threads round to nearest, and then as they did before") {
  const std::vector<FloatingPoint::Bits> usual(3, FloatingPoint::usual);
  std::vector<FloatingPoint::Bits> others{upward()};
#if defined(__x86_64__)
  others.push_back(FloatingPoint::usual | 0x8040);                 // subnormal numbers are zeros
  others.push_back(FloatingPoint::usual & ~std::uint32_t{0x400});  // overflow ends the program
#endif
  for (const FloatingPoint::Bits other : others) {
    REQUIRE(other != FloatingPoint::usual);
    // A team that others have made, and one that does not yet exist.
    for (const bool is_made : {true, false}) {
      std::thread([&] {
        FloatingPoint::set(other);
        if (is_made) CHECK(bits_of_team(3) == std::vector(3, other));
        try {
          const ThreadScope scope(3);
          CHECK(bits_of_team(3) == usual);
          {
            const ThreadScope one(1);
            const ThreadScope two(2);
            CHECK(bits_of_team(2) == std::vector(2, FloatingPoint::usual));
          }
          throw std::runtime_error("");
        } catch (const std::runtime_error&) {
          CHECK(FloatingPoint::get() == other);
        }
        FloatingPoint::set(FloatingPoint::usual);
      }).join();
    }
    FloatingPoint::set(other);
    bits_of_team(2);  // ends threads, so that the next team has new ones, which are as this one
    const std::vector<FloatingPoint::Bits> before = bits_of_team(3);
    { const ThreadScope scope(3); }
    const std::vector<FloatingPoint::Bits> after = bits_of_team(3);
    FloatingPoint::set(FloatingPoint::usual);
    CHECK(before.back() == other);
    CHECK(after == before);
    bits_of_team(2);
  }
  CHECK(bits_of_team(3) == usual);
}

TEST_CASE("a child of fork() has one thread, if its parent had more in a pool") {
  { const ThreadScope scope(2); }
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(largest_team());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(largest_team() > 1);
}

namespace {

/// A device, a queue, and the matrices that the operations below work on.
struct Workbench {
  explicit Workbench(int threads) : device(threads) {
    std::iota(rows.begin(), rows.end(), 0);
    device.generate(*queue, spec, whole, whole, fp64());
    device.copy(*queue, fp64(), {Precision::fp64, other.data(), n, n, n});
  }

  AnyMatrix fp64() { return {Precision::fp64, a.data(), n, n, n}; }
  AnyMatrix fp64_too() { return {Precision::fp64, other.data(), n, n, n}; }
  MatrixView<float> fp32() { return {b.as<float>(), n, n, n}; }
  AnyMatrix fp16() { return {Precision::fp16, c.data(), n, n, n}; }
  double* vector(int k) { return v.as<double>() + k * n; }
  MatrixView<double> one(int k) { return {vector(k), n, 1, n}; }

  static constexpr std::int64_t n = 256;
  CpuDevice device;
  std::unique_ptr<Queue> queue = device.make_queue(Priority::normal);
  Distribution whole{n, n, 1, 0};
  MatrixSpec spec{MatrixKind::scaled_diagonal, n, 1, n | 1, 16.0};
  Buffer a = device.allocate(n * n * 8);
  Buffer other = device.allocate(n * n * 8);
  Buffer b = device.allocate(n * n * 4);
  Buffer c = device.allocate(n * n * 2);
  Buffer v = device.allocate(n * 4 * 8);
  std::vector<std::int64_t> rows = std::vector<std::int64_t>(n);
  PanelControl control;
  FactorStatus status;
  PivotCandidate next;
};

struct Operation {
  const char* name;
  std::function<void(Workbench&)> run;
  bool by_blas_alone = false;
};

// All operations that loop over a matrix or multiply.
const std::vector<Operation> operations{
    {"copy", [](Workbench& w) { w.device.copy(*w.queue, w.fp64(), w.fp64_too()); }},
    {"generate",
     [](Workbench& w) { w.device.generate(*w.queue, w.spec, w.whole, w.whole, w.fp32()); }},
    {"factor_diagonal",
     [](Workbench& w) { w.device.factor_diagonal(*w.queue, w.fp32(), 0, &w.status); }, true},
    {"solve_right_upper",
     [](Workbench& w) {
       w.device.solve_right_upper(*w.queue, w.fp32(), w.fp32(), Precision::fp32, {});
     }},
    {"solve_left_lower",
     [](Workbench& w) {
       w.device.solve_left_lower(*w.queue, w.fp64(), w.fp64_too(), Precision::fp64, {});
     }},
    {"cast of FP64",
     [](Workbench& w) {
       w.device.cast(*w.queue, w.fp64(), 1, w.fp64_too(), &w.control, &w.status);
     }},
    {"cast of FP32",
     [](Workbench& w) { w.device.cast(*w.queue, w.fp32(), 1, w.fp16(), &w.control, &w.status); }},
    {"update",
     [](Workbench& w) {
       w.device.update(*w.queue, w.fp16(), &w.control, w.fp16(), &w.control, w.fp32(), {});
     }},
    {"eliminate",
     [](Workbench& w) {
       w.device.eliminate(*w.queue, w.fp64_too().block(0, 0, 1, w.n), w.fp64(), &w.next);
     }},
    {"solve_unit_lower",
     [](Workbench& w) { w.device.solve_unit_lower(*w.queue, w.fp64(), w.fp64_too()); }},
    {"subtract",
     [](Workbench& w) {
       w.device.subtract(*w.queue, w.fp64().block(0, 0, w.n, w.n / 2),
                         w.fp64().block(0, 0, w.n / 2, w.n), w.fp64_too());
     },
     true},
    {"permute_rows",
     [](Workbench& w) {
       w.device.permute_rows(*w.queue, w.rows.data(), w.rows.data(), w.n, w.fp64());
     }},
    {"gather_rows",
     [](Workbench& w) { w.device.gather_rows(*w.queue, w.rows.data(), w.fp64(), w.fp64_too()); }},
    {"scatter_rows",
     [](Workbench& w) { w.device.scatter_rows(*w.queue, w.rows.data(), w.fp64(), w.fp64_too()); }},
    {"subtract_product",
     [](Workbench& w) {
       w.device.subtract_product(*w.queue, Transpose::no, w.fp64(), w.one(0), w.one(1));
     }},
    {"multiply_generated",
     [](Workbench& w) {
       w.device.multiply_generated(*w.queue, w.spec, w.whole, w.whole, w.vector(0), w.vector(1),
                                   nullptr, nullptr);
     }},
    {"multiply",
     [](Workbench& w) {
       w.device.multiply(*w.queue, Transpose::no, w.fp64(), w.one(0), w.one(1), nullptr, {},
                         nullptr);
     }},
    {"largest_of_rows",
     [](Workbench& w) {
       w.device.largest_of_rows(*w.queue, w.fp64(), nullptr, w.vector(2), nullptr);
     }},
    {"largest_of_columns",
     [](Workbench& w) {
       w.device.largest_of_columns(*w.queue, w.fp64(), nullptr, w.vector(2), nullptr);
     }},
    {"checksums_of_columns",
     [](Workbench& w) {
       w.device.checksums_of_columns(*w.queue, w.fp64(),
                                     reinterpret_cast<std::uint64_t*>(w.vector(2)));
     }},
    {"scale",
     [](Workbench& w) { w.device.scale(*w.queue, w.fp64(), nullptr, nullptr, w.fp64_too()); }},
};

std::ptrdiff_t threads_of_process() {
  using Threads = std::filesystem::directory_iterator;
  return std::distance(Threads("/proc/self/task"), Threads());
}

#ifdef __clang__
constexpr bool openmp_ends_threads = false;  // LLVM's OpenMP keeps them for the next team
#else
constexpr bool openmp_ends_threads = true;
#endif

/// The number of threads that OpenMP starts for `work` on a new thread. GNU's OpenMP ends them when
/// that thread ends.
std::ptrdiff_t threads_started(const std::function<void()>& work) {
  const std::ptrdiff_t before = threads_of_process();
  std::ptrdiff_t most = 0;
  std::thread([&] {
    work();
    most = threads_of_process();
  }).join();
  const SteadyClock clock;
  const double patience = clock.now() + 10;
  while (threads_of_process() > before && clock.now() < patience) std::this_thread::yield();
  return most - before - 1;
}

}  // namespace

TEST_CASE("each operation of the CPU device uses as many threads as its device has") {
  if (!openmp_ends_threads) return;
  const OwnThreadCounts own;
  const bool shared = blas_description().ends_with("OpenMP threads");
  std::optional<Workbench> four;
  std::optional<Workbench> two;
  threads_started([&] { four.emplace(4), two.emplace(2); });  // returns when their threads are gone
  for (const Operation& operation : operations) {
    if (operation.by_blas_alone && !shared) continue;  // OpenBLAS keeps threads of its own
    CAPTURE(operation.name);
    CHECK(threads_started([&] { operation.run(*four); }) == 3);
    CHECK(threads_started([&] { operation.run(*two); }) == 1);
    CHECK(thread_counts() == own.counts);
  }
}

TEST_CASE("devices with different numbers of threads work in turn, and one inside of the other") {
  const OwnThreadCounts own;
  Workbench three(3);
  Workbench two(2);
  CHECK(thread_counts() == own.counts);
  const auto update = [](Workbench& w, const Poll& poll) {
    w.device.update(*w.queue, w.fp16(), &w.control, w.fp16(), &w.control, w.fp32(), poll);
  };
  int seen = 0;
  update(three, [&] {
    CHECK(thread_counts() == ThreadCounts{3, 3});
    update(two, [&] {
      CHECK(thread_counts() == ThreadCounts{2, 2});
      ++seen;
    });
    CHECK(thread_counts() == ThreadCounts{3, 3});
  });
  CHECK(seen > 0);
  CHECK(thread_counts() == own.counts);
}

TEST_CASE("a scope sets both numbers where one of them is right already") {
  const OwnThreadCounts own;
  for (const ThreadCounts& around : {ThreadCounts{3, 3}, ThreadCounts{3, 2}, ThreadCounts{2, 3}}) {
    set_thread_counts(around);
    {
      const ThreadScope scope(3);
      CHECK(thread_counts() == ThreadCounts{3, 3});
    }
    CHECK(thread_counts() == around);
  }
}
}  // namespace speedwell::test::thread_scope_tests
