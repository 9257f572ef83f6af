// SPDX-License-Identifier: BSD-3-Clause
// Parts of the CPU device below its operations, which tests/device tests.
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/onednn.hpp"
#include "device/cpu/tile_product.hpp"
#include "device/cpu/tiled_update.hpp"
#include "device/cpu/triangular.hpp"
#include "device/device.hpp"
#include "element/rounding.hpp"
#include "host/blas_kernels.hpp"
#include "host/processor.hpp"

namespace speedwell::test::cpu_device_tests {
namespace {

// A matrix of small integers in any precision, inside of a larger one.
struct Low {
  Low(Precision precision, std::int64_t rows, std::int64_t columns, int modulus)
      : memory(static_cast<std::size_t>((rows + 2) * columns * bytes_of(precision))),
        view{precision, memory.data(), rows, columns, rows + 2},
        modulus_(modulus) {
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto value = static_cast<float>(at(i, j));
        std::byte* to = view.block(i, j, 1, 1).data;
        if (precision == Precision::bf16)
          *reinterpret_cast<Bfloat16*>(to) = to_bfloat16(value);
        else
          *reinterpret_cast<float*>(to) = value;
      }
  }
  double at(std::int64_t i, std::int64_t j) const {
    return static_cast<double>((3 * i + 7 * j) % modulus_ - 2);
  }
  std::vector<std::byte> memory;
  AnyMatrix view;

 private:
  int modulus_;
};

// A product of Low matrices whose sums are exact.
double exact_sum(const Low& l, const Low& u, std::int64_t i, std::int64_t j) {
  double sum = 0;
  for (std::int64_t p = 0; p < l.view.columns; ++p) sum += l.at(i, p) * u.at(p, j);
  return sum;
}

}  // namespace

TEST_CASE("factor_lu names the pivot and leaves L\\U") {
  std::vector<float> a{4, 2, 1, 8, 5, 3, 2, 4, 9};  // 3 x 3, column-major
  CHECK(factor_lu({a.data(), 3, 3, 3}) == -1);
  CHECK(a == std::vector<float>{4, 0.5f, 0.25f, 8, 1, 1, 2, 3, 5.5f});
  std::vector<float> singular{4, 2, 8, 4};
  CHECK(factor_lu({singular.data(), 2, 2, 2}) == 1);
}

TEST_CASE("multiply_add adds a multiple of a product") {
  const std::vector<float> a{1, 2};  // 2 x 1
  const std::vector<float> b{3, 5};  // 1 x 2
  std::vector<float> c{1, 1, 1, 1};
  multiply_add(-2, {a.data(), 2, 1, 2}, {b.data(), 1, 2, 1}, {c.data(), 2, 2, 2});
  CHECK(c == std::vector<float>{-5, -11, -9, -19});
  multiply_add(1, {a.data(), 2, 0, 2}, {b.data(), 0, 2, 1}, {c.data(), 2, 2, 2});
  CHECK(c[0] == -5);
}

TEST_CASE("oneDNN multiplies views in place") {
  if (!onednn_works()) return;
  const auto check = [&](Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
    CAPTURE(name(precision), m, n, k);
    // The sums of these small integers are exact.
    const Low l(precision, m, k, 3);
    const Low u(precision, k, n, 5);
    const std::int64_t ld = m + 3;
    std::vector<float> memory(static_cast<std::size_t>(ld * (n + 1)), 9.0f);
    onednn_multiply_add(l.view, u.view, {memory.data() + 1, m, n, ld});
    for (std::int64_t j = 0; j <= n; ++j)
      for (std::int64_t i = 0; i < ld; ++i) {
        const double sum = i >= 1 && i <= m && j < n ? exact_sum(l, u, i - 1, j) : 0;
        REQUIRE(static_cast<double>(memory[static_cast<std::size_t>(i + j * ld)]) == 9 + sum);
      }
  };
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {40, 25, 16}, {65, 130, 33}}) {
    check(Precision::fp32, m, n, k);
    if (native_bf16()) check(Precision::bf16, m, n, k);
  }
}

TEST_CASE("a packed tile has pairs of columns, 64 rows after the other") {
  for (const auto& [m, k] :
       std::vector<std::array<std::int64_t, 2>>{{1, 1}, {64, 32}, {65, 33}, {130, 7}, {256, 96}}) {
    CAPTURE(m, k);
    const Low a(Precision::bf16, m, k, 11);
    std::vector<Bfloat16> packed(static_cast<std::size_t>(packed_elements(m, k)), Bfloat16{9});
    pack_tile(a.view.as<Bfloat16>(), packed.data());
    const std::int64_t deep = round_up(k, std::int64_t{32});
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < deep; ++j)
      for (std::int64_t i = 0; i < round_up(m, tile_unit); ++i) {
        const std::int64_t place = i / 64 * 64 * deep + j / 2 * 128 + i % 64 * 2 + j % 2;
        const double value = i < m && j < k ? a.at(i, j) : 0;
        wrong += static_cast<double>(to_float(packed[static_cast<std::size_t>(place)])) != value;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("an update by tiles adds the product of every size") {
  if (!tiles_exist()) return;
  const int threads = omp_get_max_threads();
  for (const int team : {1, 3}) {
    omp_set_num_threads(team);
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {1, 1, 1}, {64, 64, 32}, {300, 70, 33}, {513, 257, 520}, {70, 600, 1025}}) {
      CAPTURE(team, m, n, k);
      const Low l(Precision::bf16, m, k, 5);
      const Low u(Precision::bf16, k, n, 7);
      const std::int64_t ld = m + 3;
      std::vector<float> memory(static_cast<std::size_t>(ld * (n + 1)), 9.0f);
      std::vector<Bfloat16> packed(static_cast<std::size_t>(TiledUpdate::bytes(m, k) / 2));
      const TiledUpdate update(l.view.as<Bfloat16>(), packed.data());
      update.add(u.view.as<Bfloat16>(), {memory.data() + 1, m, n, ld});
      std::int64_t wrong = 0;
      for (std::int64_t j = 0; j <= n; ++j)
        for (std::int64_t i = 0; i < ld; ++i) {
          const bool inside = i >= 1 && i <= m && j < n;
          const double value = 9 + (inside ? exact_sum(l, u, i - 1, j) : 0);
          wrong += static_cast<double>(memory[static_cast<std::size_t>(i + j * ld)]) != value;
        }
      CHECK(wrong == 0);
    }
  }
  omp_set_num_threads(threads);
}

// L (L^-1 B) and (B U^-1) U must equal B up to the rounding of the solves.
template <class T>
void check_solves(std::int64_t order, std::int64_t count, bool rounded) {
  CAPTURE(order, count, rounded, sizeof(T));
  const std::int64_t ld = std::max(order, count) + 5;
  const auto entry = [](std::int64_t i, std::int64_t j) {
    return static_cast<T>((5 * i + 3 * j + i * j) % 17 - 8) / 8;
  };
  std::vector<T> lu(static_cast<std::size_t>(ld * order));
  std::vector<T> left(static_cast<std::size_t>(ld * count)), right = lu;
  const MatrixView<T> triangle{lu.data(), order, order, ld};
  for (std::int64_t j = 0; j < order; ++j)
    for (std::int64_t i = 0; i < order; ++i)
      triangle(i, j) = i == j ? T{2} : entry(i, j) / static_cast<T>(order);
  const MatrixView<T> x{left.data(), order, count, ld};
  const MatrixView<T> y{right.data(), count, order, ld};
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < order; ++i) x(i, j) = y(j, i) = entry(i, j);
  solve_left_lower<T>(triangle, x, rounded);
  // Every sum has fewer than `order` terms, and off the diagonal |t_ij| <= 1 / order.
  const double unit = std::is_same_v<T, double> ? eps : 0x1p-24;
  const double allowed = 4 * (static_cast<double>(order) * unit + (rounded ? 0x1p-8 : 0));
  double worst = 0;
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < order; ++i) {
      auto sum = static_cast<double>(x(i, j));
      for (std::int64_t k = 0; k < i; ++k)
        sum += static_cast<double>(triangle(i, k)) * static_cast<double>(x(k, j));
      worst = std::max(worst, std::fabs(sum - static_cast<double>(entry(i, j))));
    }
  CHECK(worst <= allowed);
  if constexpr (std::is_same_v<T, float>) {
    solve_right_upper<T>(triangle, y, rounded);
    worst = 0;
    for (std::int64_t i = 0; i < order; ++i)
      for (std::int64_t j = 0; j < count; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k <= i; ++k)
          sum += static_cast<double>(y(j, k)) * static_cast<double>(triangle(k, i));
        worst = std::max(worst, std::fabs(sum - static_cast<double>(entry(i, j))));
      }
    CHECK(worst <= allowed);
  }
}

TEST_CASE("triangular solves in strips, on one thread and on several") {
  const int threads = omp_get_max_threads();
  for (const int team : {1, 3}) {
    omp_set_num_threads(team);
    for (const auto& [order, count] : std::vector<std::array<std::int64_t, 2>>{
             {1, 1}, {31, 3}, {33, 70}, {97, 1}, {130, 777}, {300, 601}, {1000, 130}}) {
      check_solves<float>(order, count, false);
      check_solves<double>(order, count, false);
      if (onednn_works() && native_bf16()) check_solves<float>(order, count, true);
    }
  }
  omp_set_num_threads(threads);
}

TEST_CASE("a thread that runs is seen and one that has ended is not") {
  const auto sleep_soon = [] {
    for (int k = 0; k < 5000; ++k) {
      if (other_threads_sleep()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  CHECK(sleep_soon());
  std::atomic<bool> end = false;
  std::thread busy([&] {
    while (!end) {
    }
  });
  CHECK_FALSE(other_threads_sleep());
  end = true;
  busy.join();
  CHECK(sleep_soon());
}

TEST_CASE("the kernels that OpenBLAS should use") {
  const std::vector<std::string> avx2{"avx", "avx2", "fma", "f16c"};
  std::vector<std::string> avx512 = avx2;
  for (const char* set : {"avx512f", "avx512bw", "avx512dq", "avx512vl"}) avx512.push_back(set);
  CHECK(better_kernels("Haswell", avx512) == "SkylakeX");
  CHECK(better_kernels("Zen", avx512) == "SkylakeX");
  CHECK(better_kernels("Prescott", avx512) == "SkylakeX");
  CHECK_FALSE(better_kernels("SkylakeX", avx512));
  CHECK_FALSE(better_kernels("Cooperlake", avx512));
  CHECK(better_kernels("Nehalem", avx2) == "Haswell");
  CHECK_FALSE(better_kernels("Haswell", avx2));
  CHECK_FALSE(better_kernels("Zen", avx2));
  CHECK_FALSE(better_kernels("SkylakeX", avx2));
  CHECK_FALSE(better_kernels("Nehalem", {"sse4.2"}));
}

TEST_CASE("bindings overlap where they share a core, and a process is bound to at least one core") {
  CHECK(bindings_overlap("0-3", "2"));
  CHECK_FALSE(bindings_overlap("0-3", "4-7"));
  CHECK_FALSE(bindings_overlap("", "0"));
  const ProcessorInfo info = processor_info();
  CHECK(info.bound_cores >= 1);
  CHECK(info.bound_cores <= info.cores);
  CHECK(bindings_overlap(core_binding(), core_binding()));
}

TEST_CASE("a failed allocation is a fault that says how much was asked for") {
  const auto device = make_device({});
  CHECK_THROWS_WITH(device->allocate(std::int64_t{1} << 60), ContainsSubstring("GiB"));
}
}  // namespace speedwell::test::cpu_device_tests
