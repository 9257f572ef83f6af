// The rounding of panels, and the update that reads them.
#include <limits>

#include "device/bench.hpp"

using namespace lupine;
using namespace lupine::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

float largest(const Floats& a) {
  float most = 0;
  for (std::int64_t j = 0; j < a.cols(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) most = std::max(most, std::fabs(a(i, j)));
  return most;
}

// One rounding of sign * scale * value.
float rounded(float value, double sign, double scale, Precision precision) {
  const auto scaled = static_cast<float>(sign * scale * static_cast<double>(value));
  if (precision == Precision::fp16) return to_float(to_half(scaled));
  if (precision == Precision::bf16) return to_float(to_bfloat16(scaled));
  return scaled;
}

void check_cast(Bench& b, Floats& from, Precision precision, double sign) {
  CAPTURE(name(precision), sign, from.rows(), from.cols());
  Low to(b, precision, from.rows(), from.cols());
  Status status(b);
  b.device->cast(*b.queue, from.view(), sign, to.view(), to.header(), status.data());
  b.queue->synchronize();
  CHECK(to.frame_intact());
  CHECK(from.unchanged());
  CHECK(status.get().nonfinite == 0);
  CHECK(status.get().bad_pivot == -1);
  const double scale =
      precision == Precision::fp16 ? power_of_two(fp16_scale_exponent(largest(from))) : 1;
  REQUIRE(to.scale() == scale);
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < from.cols(); ++j)
    for (std::int64_t i = 0; i < from.rows(); ++i)
      wrong += bits_of(to.stored(i, j)) != bits_of(rounded(from(i, j), sign, scale, precision));
  CHECK(wrong == 0);
}

using Shape = std::pair<std::int64_t, std::int64_t>;

// Rounds `a` with the device.
Low cast(Bench& b, const Floats& a, Precision precision, double sign, Frame frame = Frame::random) {
  Low low(b, precision, a.rows(), a.cols(), frame);
  Status status(b);
  b.device->cast(*b.queue, a.view(), sign, low.view(), low.header(), status.data());
  b.queue->synchronize();
  REQUIRE(low.frame_intact());
  return low;
}

// FP32 sums of k products, exact where they have 16 bits; tensor cores cut off what they add.
double update_unit(const Bench& b, Precision precision, std::int64_t k) {
  return static_cast<double>(k + 4) *
         (b.on_cpu() && precision != Precision::fp32 ? 0x1p-24 : 0x1p-23);
}

void check_update(Bench& b, const Low& l, const Low& u, Floats& c, bool with_poll) {
  const Plain before = c.plain();
  const Plain pl = l.plain();
  const Plain pu = u.plain();
  CAPTURE(name(l.view().precision), c.rows(), c.cols(), pl.cols, with_poll);
  int polls = 0;
  b.device->update(*b.queue, l.view(), l.header(), u.view(), u.header(), c.view(),
                   with_poll ? Poll([&] { ++polls; }) : Poll{});
  b.queue->synchronize();
  if (with_poll && b.on_cpu() && !c.view().empty()) CHECK(polls >= 1);
  CHECK(c.frame_intact());
  const Plain sum = product(pl, pu);
  const Plain size = product(magnitudes(pl), magnitudes(pu));
  const double unit = update_unit(b, l.view().precision, pl.cols);
  CHECK(worst_share(
            c.rows(), c.cols(),
            [&](std::int64_t i, std::int64_t j) {
              return static_cast<double>(c(i, j)) - (before(i, j) + sum(i, j));
            },
            [&](std::int64_t i, std::int64_t j) {
              return unit * (std::fabs(before(i, j)) + size(i, j));
            }) <= 1);
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

}  // namespace

TEST_CASE("cast: one rounding, a scale that is a power of two", "[cast]") {
  Bench b;
  for (const auto precision : precisions)
    for (const float size : {1.0f, 1e-30f, 3e30f, 1.6e38f, 1e-38f, 1e-40f, 16384.0f, 16383.99f})
      for (const double sign : {1.0, -1.0}) {
        Floats a = uniform_matrix(b, 37, 11, size);
        a(5, 5) = size;
        a(6, 5) = 0;
        a(7, 5) = -0.0f;
        a.put();
        CAPTURE(size);
        check_cast(b, a, precision, sign);
      }
}

TEST_CASE("cast: every shape", "[cast]") {
  Bench b;
  for (const auto precision : precisions)
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
      Floats a = uniform_matrix(b, m, n);
      check_cast(b, a, precision, -1);
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
    // 2^14 and less, in steps of half a unit of FP16 and of BF16, and one FP32 unit beside them.
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

TEST_CASE("cast: Inf and NaN are noted and stay noted", "[cast]") {
  Bench b;
  for (const float value : {infinity, -infinity, not_a_number, -not_a_number})
    for (const auto precision : precisions)
      for (const auto& [i, j] : std::vector<Shape>{{0, 0}, {19, 2}, {7, 1}}) {
        CAPTURE(value, name(precision), i, j);
        Floats good = uniform_matrix(b, 20, 3);
        Floats bad = uniform_matrix(b, 20, 3);
        bad(i, j) = value;
        bad.put();
        Low to(b, precision, 20, 3);
        Status status(b);
        const auto run = [&](const Floats& from) {
          b.device->cast(*b.queue, from.view(), 1, to.view(), to.header(), status.data());
          CHECK(to.frame_intact());
          return status.get();
        };
        CHECK(run(good).nonfinite == 0);
        CHECK(run(bad).nonfinite > 0);
        CHECK(run(good).nonfinite > 0);
        CHECK(status.get().bad_pivot == -1);
        CHECK(
            to.scale() ==
            (precision == Precision::fp16 ? power_of_two(fp16_scale_exponent(largest(good))) : 1));
      }
}

TEST_CASE("cast: zeros have the scale 1", "[cast]") {
  Bench b;
  Floats zero = uniform_matrix(b, 40, 4, 0);
  for (const auto precision : precisions) check_cast(b, zero, precision, 1);
  Low to(b, Precision::fp16, 0, 0);
  Status status(b);
  AnyMatrix empty;
  empty.precision = Precision::fp16;
  b.device->cast(*b.queue, {}, 1, empty, to.header(), status.data());
  b.queue->synchronize();
  CHECK(to.frame_intact());
  CHECK(to.scale() == 1);
  CHECK(status.get().nonfinite == 0);
}

TEST_CASE("update: C + L U of the rounded values, summed in FP32", "[update]") {
  Bench b;
  for (const auto precision : precisions)
    for (const auto& [m, n, k] : shapes)
      for (const Frame frame : {Frame::random, Frame::aligned}) {
        const Low l = cast(b, uniform_matrix(b, m, k), precision, 1, frame);
        const Low u = cast(b, uniform_matrix(b, k, n), precision, -1, frame);
        Floats c(b, m, n, frame);
        c.set([&](std::int64_t i, std::int64_t j) {
          return std::sin(static_cast<float>(3 * i + 7 * j));
        });
        check_update(b, l, u, c, frame == Frame::random);
      }
}

TEST_CASE("update: integers come out exactly", "[update]") {
  Bench b;
  for (const auto precision : precisions)
    for (const auto& [m, n, k] : shapes) {
      CAPTURE(name(precision), m, n, k);
      Low l(b, precision, m, k);
      Low u(b, precision, k, n);
      const double scale = precision == Precision::fp16 ? 32 : 1;
      l.set(scale, [&](std::int64_t, std::int64_t) { return b.below(7) - 3; });
      u.set(precision == Precision::fp16 ? 0x1p-7 : 1,
            [&](std::int64_t, std::int64_t) { return b.below(9) - 4; });
      Floats c(b, m, n);
      c.set([&](std::int64_t, std::int64_t) { return static_cast<float>(b.below(2001) - 1000); });
      const Plain before = c.plain();
      const Plain sum = product(l.plain(), u.plain());
      b.device->update(*b.queue, l.view(), l.header(), u.view(), u.header(), c.view(), {});
      CHECK(c.frame_intact());
      CHECK(l.unchanged());
      CHECK(u.unchanged());
      std::int64_t wrong = 0;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < m; ++i)
          wrong += !(static_cast<double>(c(i, j)) == before(i, j) + sum(i, j));
      CHECK(wrong == 0);
    }
}

TEST_CASE("update: sizes apart, so that each panel has a scale of its own", "[update]") {
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
      b.device->update(*b.queue, l.view().block(i0, 0, m, k), l.header(),
                       u.view().block(0, j0, k, n), u.header(), c.view(), {});
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

TEST_CASE("update of nothing, or from nothing, changes nothing", "[update]") {
  Bench b;
  for (const auto precision : precisions)
    for (const auto& [m, n, k] : std::vector<Sizes>{{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {6, 7, 0}}) {
      CAPTURE(name(precision), m, n, k);
      const Low l = cast(b, uniform_matrix(b, m, k), precision, 1);
      const Low u = cast(b, uniform_matrix(b, k, n), precision, 1);
      Floats c = uniform_matrix(b, m, n);
      b.device->update(*b.queue, l.view(), l.header(), u.view(), u.header(), c.view(), {});
      CHECK(c.unchanged());
    }
}
