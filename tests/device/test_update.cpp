// SPDX-License-Identifier: BSD-3-Clause
// The rounding of panels, and the update that reads them.
#include <limits>

#include "device/bench.hpp"

namespace speedwell::test::update_tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class T>
T largest(const DeviceMatrix<T>& a) {
  T most = 0;
  for (std::int64_t j = 0; j < a.columns(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) most = std::max(most, std::fabs(a(i, j)));
  return most;
}

// sign * scale * value, rounded once to `precision`.
double rounded(double value, double sign, double scale, Precision precision) {
  if (precision == Precision::fp64) return sign * value;
  const auto scaled = static_cast<float>(sign * scale * value);
  if (precision == Precision::fp16x3) {
    const HalfPair pair = to_half_pair(scaled);
    return static_cast<double>(to_float(pair.high)) +
           0x1p-11 * static_cast<double>(to_float(pair.low));
  }
  return static_cast<double>(precision == Precision::fp16   ? to_float(to_half(scaled))
                             : precision == Precision::bf16 ? to_float(to_bfloat16(scaled))
                                                            : scaled);
}

std::uint64_t pattern(double value) {
  return __builtin_bit_cast(std::uint64_t, value);
}

template <class T>
double scale_for(const DeviceMatrix<T>& from, Precision precision) {
  if (!needs_scale(precision)) return 1;
  return power_of_two(fp16_scale_exponent(static_cast<float>(largest(from))));
}

template <class T>
void check_cast(Bench& b, DeviceMatrix<T>& from, Precision precision, double sign) {
  CAPTURE(name(precision), sign, from.rows(), from.columns());
  Low to(b, precision, from.rows(), from.columns());
  Status status(b);
  b.device->cast(*b.queue, from.view(), sign, to.view(), to.control(), status.data());
  b.queue->synchronize();
  CHECK(to.frame_intact());
  CHECK(from.unchanged());
  CHECK(status.get().nonfinite == 0);
  CHECK(status.get().bad_pivot == -1);
  const double scale = scale_for(from, precision);
  REQUIRE(to.scale() == scale);
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < from.columns(); ++j)
    for (std::int64_t i = 0; i < from.rows(); ++i)
      wrong += pattern(to.stored(i, j)) !=
               pattern(rounded(static_cast<double>(from(i, j)), sign, scale, precision));
  CHECK(wrong == 0);
  CHECK(to.wrong_parts([&](std::int64_t i, std::int64_t j) {
    return static_cast<float>(sign * scale * static_cast<double>(from(i, j)));
  }) == 0);
}

using Shape = std::pair<std::int64_t, std::int64_t>;

// Rounds `a` with the device.
template <class T>
Low cast(Bench& b, const DeviceMatrix<T>& a, Precision precision, double sign,
         Frame frame = Frame::random) {
  Low low(b, precision, a.rows(), a.columns(), frame);
  Status status(b);
  b.device->cast(*b.queue, a.view(), sign, low.view(), low.control(), status.data());
  b.queue->synchronize();
  REQUIRE(low.frame_intact());
  return low;
}

// A bound of the relative error of sums of k products. Products of 16-bit numbers are exact in
// FP32, and tensor cores truncate what they add. FP16x3 leaves out the product of the low parts, of
// at most 2^-11 of their numbers each, and adds three sums to C.
double update_unit(const Bench& b, Precision precision, std::int64_t k) {
  if (precision == Precision::fp64) return static_cast<double>(k + 4) * 0x1p-52;
  return static_cast<double>(k + 4) *
             (b.on_cpu() && precision != Precision::fp32 ? 0x1p-24 : 0x1p-23) +
         (precision == Precision::fp16x3 ? 0x1p-22 + 0x1p-23 : 0);
}

template <class T>
void check_update(Bench& b, const Low& l, const Low& u, DeviceMatrix<T>& c, bool with_poll) {
  const Plain before = c.plain();
  const Plain pl = l.plain();
  const Plain pu = u.plain();
  CAPTURE(name(l.view().precision), c.rows(), c.columns(), pl.columns, with_poll);
  int polls = 0;
  b.device->update(*b.queue, l.view(), l.control(), u.view(), u.control(), c.view(),
                   with_poll ? Poll([&] { ++polls; }) : Poll{});
  b.queue->synchronize();
  if (with_poll && b.on_cpu() && !c.view().empty()) CHECK(polls >= 1);
  CHECK(c.frame_intact());
  const Plain sum = product(pl, pu);
  const Plain size = product(magnitudes(pl), magnitudes(pu));
  const double unit = update_unit(b, l.view().precision, pl.columns);
  CHECK(worst_share(
            c.rows(), c.columns(),
            [&](std::int64_t i, std::int64_t j) {
              return static_cast<double>(c(i, j)) - (before(i, j) + sum(i, j));
            },
            [&](std::int64_t i, std::int64_t j) {
              return unit * (std::fabs(before(i, j)) + size(i, j));
            }) <= 1);
}

// Compares updates of small integers, which need no rounding, bit by bit.
template <class T>
void check_integers(Bench& b, Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
  CAPTURE(name(precision), m, n, k);
  Low l(b, precision, m, k);
  Low u(b, precision, k, n);
  const bool scaled = needs_scale(precision);
  // With FP16x3 some of L have a low part: 4097 = 4096 + 2^-11 2^11.
  const std::int64_t wide = precision == Precision::fp16x3 ? 4096 : 0;
  l.set(scaled ? 4 : 1, [&](std::int64_t i, std::int64_t j) {
    return b.below(7) - 3 + ((i + j) % 3 == 0 ? wide : 0);
  });
  u.set(scaled ? 0x1p-7 : 1, [&](std::int64_t, std::int64_t) { return b.below(9) - 4; });
  DeviceMatrix<T> c(b, m, n);
  c.set([&](std::int64_t, std::int64_t) { return static_cast<T>(b.below(2001) - 1000); });
  const Plain before = c.plain();
  const Plain sum = product(l.plain(), u.plain());
  b.device->update(*b.queue, l.view(), l.control(), u.view(), u.control(), c.view(), {});
  CHECK(c.frame_intact());
  CHECK(l.unchanged());
  CHECK(u.unchanged());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      wrong += !(static_cast<double>(c(i, j)) == before(i, j) + sum(i, j));
  CHECK(wrong == 0);
}

struct Sizes {
  std::int64_t m, n, k;
};

const std::vector<Sizes> shapes{
    {1, 1, 1},       {1, 1, 700},     {1, 300, 16},   {300, 1, 17},    {2, 3, 5},
    {15, 17, 31},    {16, 16, 16},    {33, 20, 16},   {31, 33, 32},    {64, 65, 100},
    {63, 127, 33},   {128, 128, 64},  {129, 127, 65}, {20, 1030, 50},  {1030, 20, 50},
    {255, 257, 128}, {256, 256, 256}, {257, 255, 1},  {513, 511, 129}, {700, 513, 257},
    {130, 140, 700}, {64, 64, 512},   {65, 63, 511},  {96, 4100, 24},  {4200, 9, 8}};

// For BF16 one more, so large that a CPU with BF16 multiplies it in tiles, in two parts of its
// rows.
std::vector<Sizes> shapes_for(Precision precision) {
  std::vector<Sizes> all = shapes;
  if (precision == Precision::bf16) all.push_back({4300, 130, 1030});
  return all;
}

}  // namespace

TEST_CASE("cast rounds once, with a scale that is a power of two", "[cast]") {
  Bench b;
  for (const auto precision : all_precisions)
    with_storage_of(precision, [&]<class T>() {
      for (const float size : {1.0f, 1e-30f, 3e30f, 1.6e38f, 1e-38f, 1e-40f, 16384.0f, 16383.99f})
        for (const double sign : {1.0, -1.0}) {
          DeviceMatrix<T> a = uniform<T>(b, 37, 11, static_cast<T>(size));
          a(5, 5) = static_cast<T>(size);
          a(6, 5) = 0;
          a(7, 5) = T{-0.0f};
          a.put();
          CAPTURE(size);
          check_cast(b, a, precision, sign);
        }
    });
}

TEST_CASE("cast: every shape", "[cast]") {
  Bench b;
  for (const auto precision : all_precisions)
    for (const auto& [m, n] : std::vector<Shape>{{0, 0},
                                                 {0, 3},
                                                 {3, 0},
                                                 {1, 1},
                                                 {1, 600},
                                                 {600, 1},
                                                 {31, 33},
                                                 {64, 64},
                                                 {129, 255},
                                                 {257, 17},
                                                 {512, 64},
                                                 {513, 65},
                                                 {700, 511},
                                                 {5000, 3},
                                                 {3, 5000}}) {
      with_storage_of(precision, [&, rows = m, columns = n]<class T>() {
        DeviceMatrix<T> a = uniform<T>(b, rows, columns);
        check_cast(b, a, precision, -1);
      });
    }
}

TEST_CASE("cast: the largest element may be anywhere", "[cast]") {
  Bench b;
  for (int round = 0; round < 40; ++round) {
    const std::int64_t m = 1 + b.below(300);
    const std::int64_t n = 1 + b.below(40);
    Floats a = uniform_matrix(b, m, n);
    a(b.below(m), b.below(n)) = std::ldexp(round % 2 ? -1.5f : 1.5f, round);
    a.put();
    check_cast(b, a, Precision::fp16, 1);
  }
}

TEST_CASE("cast: ties, subnormals of 16 bits, and values close to the next power of two",
          "[cast]") {
  Bench b;
  for (const auto precision : precisions) {
    Floats a(b, 512, 8);
    // Values up to 2^14 in steps of half a unit of FP16 and of BF16, and their neighbours in FP32.
    a.set([](std::int64_t i, std::int64_t j) {
      const float value = std::ldexp(static_cast<float>(4096 + 2 * i), static_cast<int>(1 - 5 * j));
      return j % 2 ? value : std::nextafter(value, i % 2 ? 0.0f : 1e9f);
    });
    check_cast(b, a, precision, -1);
    a.set([](std::int64_t i, std::int64_t j) {
      return std::ldexp(static_cast<float>(256 + (i % 256)), static_cast<int>(6 - 4 * j));
    });
    check_cast(b, a, precision, 1);
  }
}

TEST_CASE("cast: Inf and NaN are counted in the status, which later casts do not clear", "[cast]") {
  Bench b;
  for (const float value : {infinity, -infinity, not_a_number, -not_a_number})
    for (const auto precision : all_precisions)
      for (const auto& [i, j] : std::vector<Shape>{{0, 0}, {19, 2}, {7, 1}}) {
        CAPTURE(value, name(precision), i, j);
        with_storage_of(precision, [&, row = i, col = j]<class T>() {
          DeviceMatrix<T> good = uniform<T>(b, 20, 3);
          DeviceMatrix<T> bad = uniform<T>(b, 20, 3);
          bad(row, col) = static_cast<T>(value);
          bad.put();
          Low to(b, precision, 20, 3);
          Status status(b);
          const auto run = [&](const DeviceMatrix<T>& from) {
            b.device->cast(*b.queue, from.view(), 1, to.view(), to.control(), status.data());
            CHECK(to.frame_intact());
            return status.get();
          };
          CHECK(run(good).nonfinite == 0);
          CHECK(run(bad).nonfinite > 0);
          CHECK(run(good).nonfinite > 0);
          CHECK(status.get().bad_pivot == -1);
          CHECK(to.scale() == scale_for(good, precision));
        });
      }
}

TEST_CASE("copy rounds FP32 to 16 bits without a scale, and back without a change", "[cast]") {
  Bench b;
  for (const auto precision : {Precision::fp16, Precision::bf16})
    for (const auto& [m, n] :
         std::vector<Shape>{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {129, 255}, {5000, 3}, {3, 5000}}) {
      CAPTURE(name(precision), m, n);
      // Ties and their neighbours, subnormals of FP16, and what it cannot hold.
      Floats a(b, m, n);
      a.set([](std::int64_t i, std::int64_t j) {
        const float value =
            std::ldexp(static_cast<float>(4096 + 2 * (i % 512)), static_cast<int>(8 - 5 * (j % 9)));
        const float near = i % 3 == 0 ? value : std::nextafter(value, i % 3 == 1 ? 0.0f : 1e9f);
        return i == 7 ? not_a_number : i % 2 == 0 ? near : -near;
      });
      Low low(b, precision, m, n);
      b.device->copy(*b.queue, a.view(), low.view());
      CHECK(low.frame_intact());
      CHECK(a.unchanged());
      CHECK(low.wrong_parts([&](std::int64_t i, std::int64_t j) { return a(i, j); }) == 0);

      Floats back(b, m, n);
      b.device->copy(*b.queue, low.view(), back.view());
      CHECK(back.frame_intact());
      std::int64_t wrong = 0;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          const double stored = low.stored(i, j);
          const auto wide = static_cast<double>(back(i, j));
          wrong += std::isnan(stored) ? !std::isnan(wide) : pattern(stored) != pattern(wide);
        }
      CHECK(wrong == 0);

      Low again(b, precision, m, n);
      b.device->copy(*b.queue, low.view(), again.view());
      CHECK(again.frame_intact());
      CHECK(again.wrong_parts([&](std::int64_t i, std::int64_t j) { return back(i, j); }) == 0);
    }
}

TEST_CASE("update: a C of 16 bits is rounded once, from sums in FP32", "[update]") {
  Bench b;
  for (const auto precision : {Precision::fp16, Precision::bf16})
    for (const auto& [m, n, k] : shapes_for(precision)) {
      CAPTURE(name(precision), m, n, k);
      const Low l = cast(b, uniform<float>(b, m, k), precision, 1);
      const Low u = cast(b, uniform<float>(b, k, n), precision, -1);
      const Floats start = uniform<float>(b, m, n);
      Low c(b, precision, m, n);
      c.set(1, [&](std::int64_t i, std::int64_t j) { return start(i, j); });
      const Plain before = c.plain();
      b.device->update(*b.queue, l.view(), l.control(), u.view(), u.control(), c.view(), {});
      CHECK(c.frame_intact());
      const Plain sum = product(l.plain(), u.plain());
      const Plain size = product(magnitudes(l.plain()), magnitudes(u.plain()));
      const double unit = update_unit(b, precision, k);
      CHECK(worst_share(
                m, n,
                [&](std::int64_t i, std::int64_t j) {
                  return c.stored(i, j) - (before(i, j) + sum(i, j));
                },
                [&](std::int64_t i, std::int64_t j) {
                  return unit_roundoff(precision) * std::fabs(before(i, j) + sum(i, j)) +
                         2 * unit * (std::fabs(before(i, j)) + size(i, j)) + 0x1p-25;
                }) <= 1);
    }
}

TEST_CASE("cast: zeros have the scale 1", "[cast]") {
  Bench b;
  for (const auto precision : all_precisions)
    with_storage_of(precision, [&]<class T>() {
      DeviceMatrix<T> zero = uniform<T>(b, 40, 4, 0);
      check_cast(b, zero, precision, 1);
      Low to(b, precision, 0, 0);
      Status status(b);
      const MatrixView<const T> nothing;
      b.device->cast(*b.queue, nothing, 1, to.view(), to.control(), status.data());
      b.queue->synchronize();
      CHECK(to.frame_intact());
      CHECK(to.scale() == 1);
      CHECK(status.get().nonfinite == 0);
    });
}

TEST_CASE("update: C + L U of the rounded values, summed in the precision of C", "[update]") {
  Bench b;
  for (const auto precision : all_precisions)
    for (const auto& [m, n, k] : shapes)
      for (const Frame frame : {Frame::random, Frame::aligned})
        with_storage_of(precision, [&, rows = m, columns = n, depth = k]<class T>() {
          const Low l = cast(b, uniform<T>(b, rows, depth), precision, 1, frame);
          const Low u = cast(b, uniform<T>(b, depth, columns), precision, -1, frame);
          DeviceMatrix<T> c(b, rows, columns, frame);
          c.set([&](std::int64_t i, std::int64_t j) {
            return std::sin(static_cast<T>(3 * i + 7 * j));
          });
          check_update(b, l, u, c, frame == Frame::random);
        });
}

// An FP16x3 element differs from its FP32 number v by 2^-23 |v| at most, so that a product differs
// by 2^-22, and the product of the low parts, which is left out, is 2^-22 at most: 2^-21 together,
// where FP16 alone would differ by 2^-10. Small k, so that the error of the sums does not hide it.
TEST_CASE("update: FP16x3 comes within 2^-21 of the product of the FP32 numbers", "[update]") {
  Bench b;
  for (const std::int64_t k : {1, 2, 3, 8, 17, 64})
    for (const auto& [left, right] :
         std::vector<std::pair<float, float>>{{1, 1}, {1, 1e-6f}, {1e12f, 2e-20f}})
      for (const Frame frame : {Frame::random, Frame::aligned}) {
        CAPTURE(k, left, right);
        const Floats exact_l = uniform_matrix(b, 129, k, left);
        const Floats exact_u = uniform_matrix(b, k, 140, right);
        const Low l = cast(b, exact_l, Precision::fp16x3, 1, frame);
        const Low u = cast(b, exact_u, Precision::fp16x3, -1, frame);
        Floats c(b, 129, 140, frame);
        c.set([](std::int64_t, std::int64_t) { return 0.0f; });
        b.device->update(*b.queue, l.view(), l.control(), u.view(), u.control(), c.view(), {});
        CHECK(c.frame_intact());
        const Plain sum = product(exact_l.plain(), exact_u.plain());
        const Plain size = product(magnitudes(exact_l.plain()), magnitudes(exact_u.plain()));
        const double unit =
            0x1.01p-21 + static_cast<double>(k + 2) * (b.on_cpu() ? 0x1p-24 : 0x1p-23);
        CHECK(worst_share(
                  129, 140,
                  [&](std::int64_t i, std::int64_t j) {
                    return static_cast<double>(c(i, j)) + sum(i, j);
                  },
                  [&](std::int64_t i, std::int64_t j) { return unit * size(i, j); }) <= 1);
      }
}

TEST_CASE("update: results of small integers are exact", "[update]") {
  Bench b;
  for (const auto precision : all_precisions)
    for (const auto& [m, n, k] : shapes_for(precision))
      with_storage_of(precision, [&, rows = m, columns = n, depth = k]<class T>() {
        check_integers<T>(b, precision, rows, columns, depth);
      });
}

TEST_CASE("update: L and U of different magnitudes have different scales", "[update]") {
  Bench b;
  for (const auto precision : precisions)
    for (const auto& [left, right] :
         std::vector<std::pair<float, float>>{{1, 1e-6f}, {300, 1e-9f}, {1e-20f, 1}, {1e12f, 2e8f}})
      for (const bool poll : {false, true}) {
        CAPTURE(left, right);
        const Low l = cast(b, uniform_matrix(b, 65, 40, left), precision, 1);
        const Low u = cast(b, uniform_matrix(b, 40, 129, right), precision, -1);
        Floats c = uniform_matrix(b, 65, 129, left * right);
        check_update(b, l, u, c, poll);
      }
}

TEST_CASE("update: blocks of one panel, as the factorization takes them", "[update]") {
  Bench b;
  for (const auto precision : precisions) {
    const std::int64_t k = 64;
    const Low l = cast(b, uniform_matrix(b, 300, k), precision, 1, Frame::aligned);
    const Low u = cast(b, uniform_matrix(b, k, 280), precision, -1, Frame::aligned);
    const Plain pl = l.plain();
    const Plain pu = u.plain();
    for (int round = 0; round < 25; ++round) {
      const std::int64_t i0 = b.below(300);
      const std::int64_t j0 = b.below(280);
      const std::int64_t m = 1 + b.below(300 - i0);
      const std::int64_t n = 1 + b.below(280 - j0);
      CAPTURE(name(precision), i0, j0, m, n);
      Floats c = uniform_matrix(b, m, n);
      const Plain before = c.plain();
      b.device->update(*b.queue, l.view().block(i0, 0, m, k), l.control(),
                       u.view().block(0, j0, k, n), u.control(), c.view(), {});
      CHECK(c.frame_intact());
      double worst = 0;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i) {
          double sum = before(i, j);
          double size = std::fabs(sum);
          for (std::int64_t p = 0; p < k; ++p) {
            sum += pl(i0 + i, p) * pu(p, j0 + j);
            size += std::fabs(pl(i0 + i, p) * pu(p, j0 + j));
          }
          const double share =
              std::fabs(static_cast<double>(c(i, j)) - sum) / (update_unit(b, precision, k) * size);
          worst = std::isfinite(share) ? std::max(worst, share) : HUGE_VAL;
        }
      CHECK(worst <= 1);
    }
  }
}

TEST_CASE("update of an empty C, or with empty L and U, changes nothing", "[update]") {
  Bench b;
  for (const auto precision : all_precisions)
    for (const auto& [m, n, k] : std::vector<Sizes>{{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {6, 7, 0}}) {
      CAPTURE(name(precision), m, n, k);
      with_storage_of(precision, [&, rows = m, columns = n, depth = k]<class T>() {
        const Low l = cast(b, uniform<T>(b, rows, depth), precision, 1);
        const Low u = cast(b, uniform<T>(b, depth, columns), precision, 1);
        DeviceMatrix<T> c = uniform<T>(b, rows, columns);
        b.device->update(*b.queue, l.view(), l.control(), u.view(), u.control(), c.view(), {});
        CHECK(c.unchanged());
      });
    }
}
}  // namespace speedwell::test::update_tests
