// Every operation of the device against a plain FP64 computation, on views with offsets and
// strides; what surrounds a view must stay as it was.
#include <cmath>
#include <random>
#include <vector>

#include "catch.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/onednn.hpp"
#include "device/cpu/processor.hpp"
#include "device/device.hpp"
#include "element/rounding.hpp"

using namespace lupine;

namespace {

constexpr float poison = -12345.0f;

// A random matrix inside a larger, poisoned one.
class Framed {
 public:
  Framed(std::int64_t rows, std::int64_t cols, std::mt19937& random, float size = 1)
      : ld_(rows + 7), memory_(static_cast<std::size_t>(ld_ * (cols + 2)), poison) {
    view_ = {memory_.data() + ld_ + 3, rows, cols, ld_};
    std::uniform_real_distribution<float> entry(-size, size);
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t i = 0; i < rows; ++i) view_(i, j) = entry(random);
  }
  MatrixView<float> view() const { return view_; }
  bool frame_intact() const {
    std::size_t poisoned = 0;
    for (const float value : memory_) poisoned += value == poison;
    return poisoned == memory_.size() - static_cast<std::size_t>(view_.rows * view_.cols);
  }

 private:
  std::int64_t ld_;
  std::vector<float> memory_;
  MatrixView<float> view_;
};

std::vector<double> copy(MatrixView<const float> a) {
  std::vector<double> all;
  for (std::int64_t j = 0; j < a.cols; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) all.push_back(static_cast<double>(a(i, j)));
  return all;
}

float largest(MatrixView<const float> a) {
  float most = 0;
  for (const double value : copy(a)) most = std::max(most, static_cast<float>(std::fabs(value)));
  return most;
}

// A 16-bit or 32-bit copy of a matrix, made by the device.
struct Cast {
  Cast(Device& device, Queue& queue, MatrixView<const float> from, Precision precision, double sign)
      : memory(static_cast<std::size_t>(from.rows * from.cols * bytes_of(precision))),
        view{precision, memory.data(), from.rows, from.cols, from.rows} {
    device.cast(queue, from, sign, view, &header, &status);
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    const std::byte* at = view.data + (i + j * view.ld) * bytes_of(view.precision);
    if (view.precision == Precision::fp16)
      return static_cast<double>(to_float(*reinterpret_cast<const Half*>(at)));
    if (view.precision == Precision::bf16)
      return static_cast<double>(to_float(*reinterpret_cast<const Bfloat16*>(at)));
    return static_cast<double>(*reinterpret_cast<const float*>(at));
  }
  std::vector<std::byte> memory;
  LowMatrix view;
  PanelHeader header;
  FactorStatus status;
};

struct Bench {
  std::unique_ptr<Device> device = make_device({.threads = 2});
  std::unique_ptr<Queue> queue = device->make_queue(Priority::normal);
  std::mt19937 random{7};
};

// L\U with a safe diagonal.
Framed triangles(std::int64_t n, std::mt19937& random) {
  Framed lu(n, n, random, 1 / std::sqrt(static_cast<float>(n)));
  for (std::int64_t i = 0; i < n; ++i) lu.view()(i, i) += 2;
  return lu;
}

const std::vector<std::int64_t> orders{1, 2, 17, 32, 33, 70, 129};

}  // namespace

TEST_CASE("factor_diagonal: L U = A") {
  Bench b;
  for (const std::int64_t n : orders) {
    CAPTURE(n);
    Framed a(n, n, b.random);
    for (std::int64_t i = 0; i < n; ++i) a.view()(i, i) += std::sqrt(static_cast<float>(n)) * 2;
    const auto before = copy(a.view());
    FactorStatus bad;
    b.device->factor_diagonal(*b.queue, a.view(), 1000, &bad);
    CHECK(bad.bad_pivot == -1);
    CHECK(a.frame_intact());
    double worst = 0;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        double sum = i <= j ? static_cast<double>(a.view()(i, j)) : 0;
        for (std::int64_t k = 0; k < std::min(i, j + 1); ++k)
          sum += static_cast<double>(a.view()(i, k)) * static_cast<double>(a.view()(k, j));
        worst = std::max(worst, std::fabs(sum - before[static_cast<std::size_t>(i + j * n)]));
      }
    CHECK(worst <= 0x1p-24 * 10 * static_cast<double>(n + 10));
  }
}

TEST_CASE("factor_diagonal: the first bad pivot is named, and only the first") {
  Bench b;
  for (const std::int64_t at : {0, 5, 31, 32, 63, 69}) {
    Framed a(70, 70, b.random, 0);
    for (std::int64_t i = 0; i < 70; ++i) a.view()(i, i) = i == at ? 0.0f : 1.0f;
    FactorStatus bad;
    b.device->factor_diagonal(*b.queue, a.view(), 1000, &bad);
    CHECK(bad.bad_pivot == 1000 + at);
    b.device->factor_diagonal(*b.queue, a.view(), 5000, &bad);
    CHECK(bad.bad_pivot == 1000 + at);
  }
}

TEST_CASE("solve_right_upper and solve_left_lower undo the product") {
  Bench b;
  for (const std::int64_t n : orders)
    for (const std::int64_t m : {1, 16, 75}) {
      CAPTURE(n, m);
      const Framed lu = triangles(n, b.random);
      const Framed right(m, n, b.random);
      const Framed left(n, m, b.random);
      const auto r0 = copy(right.view());
      const auto l0 = copy(left.view());
      b.device->solve_right_upper(*b.queue, lu.view(), right.view(), Precision::fp32);
      b.device->solve_left_lower(*b.queue, lu.view(), left.view(), Precision::fp32);
      CHECK(right.frame_intact());
      CHECK(left.frame_intact());
      double worst = 0;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double xu = 0;
          double lx = static_cast<double>(left.view()(j, i));
          for (std::int64_t k = 0; k <= j; ++k)
            xu += static_cast<double>(right.view()(i, k)) * static_cast<double>(lu.view()(k, j));
          for (std::int64_t k = 0; k < j; ++k)
            lx += static_cast<double>(lu.view()(j, k)) * static_cast<double>(left.view()(k, i));
          worst = std::max({worst, std::fabs(xu - r0[static_cast<std::size_t>(i + j * m)]),
                            std::fabs(lx - l0[static_cast<std::size_t>(j + i * n)])});
        }
      CHECK(worst <= 0x1p-24 * 20 * static_cast<double>(n + 10));
    }
}

TEST_CASE("cast: one rounding, a scale that is a power of two") {
  Bench b;
  for (const auto precision : {Precision::fp16, Precision::bf16, Precision::fp32})
    for (const float size : {1.0f, 1e-30f, 3e30f})
      for (const double sign : {1.0, -1.0}) {
        CAPTURE(name(precision), size, sign);
        const Framed a(37, 11, b.random, size);
        const Cast low(*b.device, *b.queue, a.view(), precision, sign);
        const double s = low.header.scale;
        CHECK(std::exp2(std::round(std::log2(s))) == s);
        CHECK(low.status.nonfinite == 0);
        if (precision == Precision::fp16) {
          CHECK(s * static_cast<double>(largest(a.view())) < 32768);
          CHECK(s * static_cast<double>(largest(a.view())) >= 16384);
        } else {
          CHECK(s == 1);
        }
        for (std::int64_t j = 0; j < 11; ++j)
          for (std::int64_t i = 0; i < 37; ++i) {
            const auto scaled = static_cast<float>(sign * s * static_cast<double>(a.view()(i, j)));
            const double expected =
                precision == Precision::fp16   ? static_cast<double>(to_float(to_half(scaled)))
                : precision == Precision::bf16 ? static_cast<double>(to_float(to_bfloat16(scaled)))
                                               : static_cast<double>(scaled);
            REQUIRE(low(i, j) == expected);
          }
      }
}

TEST_CASE("cast: Inf and NaN are seen, zeros and nothing are not") {
  Bench b;
  for (const float value :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()})
    for (const auto precision : {Precision::fp16, Precision::bf16, Precision::fp32}) {
      const Framed a(20, 3, b.random);
      a.view()(19, 2) = value;
      CHECK(Cast(*b.device, *b.queue, a.view(), precision, 1).status.nonfinite > 0);
      a.view()(19, 2) = 0;
      CHECK(Cast(*b.device, *b.queue, a.view(), precision, 1).status.nonfinite == 0);
    }
  const Framed zero(4, 4, b.random, 0);
  CHECK(Cast(*b.device, *b.queue, zero.view(), Precision::fp16, 1).header.scale == 1);
  CHECK(Cast(*b.device, *b.queue, MatrixView<const float>{}, Precision::fp16, 1).status.nonfinite ==
        0);
}

TEST_CASE("update: C - L U of the rounded values, summed in FP32") {
  Bench b;
  for (const auto precision : {Precision::fp16, Precision::bf16, Precision::fp32})
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {1, 1, 1}, {33, 20, 16}, {20, 1030, 50}, {64, 65, 100}})
      for (const float size : {1.0f, 1e-6f}) {
        CAPTURE(name(precision), m, n, k, size);
        const Framed l(m, k, b.random, size);
        const Framed u(k, n, b.random);
        const Framed c(m, n, b.random, size);
        const auto before = copy(c.view());
        const Cast low_l(*b.device, *b.queue, l.view(), precision, 1);
        const Cast low_u(*b.device, *b.queue, u.view(), precision, -1);
        int polls = 0;
        b.device->update(*b.queue, low_l.view, &low_l.header, low_u.view, &low_u.header, c.view(),
                         [&] { ++polls; });
        CHECK(polls >= 1);
        CHECK(c.frame_intact());
        const double unscale = 1 / (low_l.header.scale * low_u.header.scale);
        double worst = 0;
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < m; ++i) {
            double sum = before[static_cast<std::size_t>(i + j * m)];
            for (std::int64_t p = 0; p < k; ++p) sum += low_l(i, p) * low_u(p, j) * unscale;
            worst = std::max(worst, std::fabs(sum - static_cast<double>(c.view()(i, j))));
          }
        CHECK(worst <= 0x1p-24 * static_cast<double>(k + 2) * static_cast<double>(k + 1) *
                           static_cast<double>(size));
      }
}

TEST_CASE("generate and multiply_generated agree with the element function") {
  Bench b;
  for (const auto kind :
       {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham, MatrixKind::dominant})
    for (const std::int64_t n : {1, 5, 64, 301})
      for (const auto& [p, q, nb] : std::vector<std::array<int, 3>>{
               {1, 1, 16}, {2, 3, 7}, {3, 1, 40}, {1, 2, 1}, {2, 2, 400}})
        for (int me = 0; me < p * q; ++me) {
          CAPTURE(name(kind), n, p, q, nb, me);
          const Distribution rows(n, nb, p, me / q);
          const Distribution cols(n, nb, q, me % q);
          const std::vector<double> diagonal(static_cast<std::size_t>(n), 33.25);
          const MatrixSpec spec{kind, n, 5, n | 1, 9.5, 0.01, 0.02, diagonal.data()};
          const std::int64_t m = rows.local_size();
          const std::int64_t k = cols.local_size();
          const Framed a(m, k, b.random);
          b.device->generate(*b.queue, spec, rows, cols, a.view());
          CHECK(a.frame_intact());
          std::vector<double> x;
          for (std::int64_t j = 0; j < k; ++j) x.push_back(std::cos(static_cast<double>(j)));
          std::vector<double> ax(static_cast<std::size_t>(m), 77.0);
          auto rows_sum = ax;
          auto abs_ax = ax;
          auto ax_alone = ax;
          b.device->multiply_generated(*b.queue, spec, rows, cols, x.data(), ax.data(),
                                       rows_sum.data(), abs_ax.data());
          b.device->multiply_generated(*b.queue, spec, rows, cols, x.data(), ax_alone.data(),
                                       nullptr, nullptr);
          for (std::int64_t i = 0; i < m; ++i) {
            double y = 0;
            double sum = 0;
            double magnitude = 0;
            for (std::int64_t j = 0; j < k; ++j) {
              const double entry = spec.entry(rows.global({i}).value, cols.global({j}).value);
              const double xj = x[static_cast<std::size_t>(j)];
              REQUIRE(a.view()(i, j) == static_cast<float>(entry));
              y += entry * xj;
              sum += std::fabs(entry);
              magnitude += std::fabs(entry * xj);
            }
            const double tolerance = 0x1p-52 * static_cast<double>(n + 10) * (sum + 50);
            const auto at = static_cast<std::size_t>(i);
            REQUIRE(std::fabs(ax[at] - y) <= tolerance);
            REQUIRE(std::fabs(ax_alone[at] - y) <= tolerance);
            REQUIRE(std::fabs(rows_sum[at] - sum) <= tolerance);
            REQUIRE(std::fabs(abs_ax[at] - magnitude) <= tolerance);
          }
        }
}

TEST_CASE("subtract_product, solve_lower and solve_upper in FP64") {
  Bench b;
  for (const std::int64_t n : orders) {
    CAPTURE(n);
    const Framed lu = triangles(n, b.random);
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(std::sin(static_cast<double>(i + 1)));
    auto y = x;
    auto lower = x;
    auto upper = x;
    b.device->subtract_product(*b.queue, lu.view(), x.data(), y.data());
    b.device->solve_lower(*b.queue, lu.view(), lower.data());
    b.device->solve_upper(*b.queue, lu.view(), upper.data());
    for (std::int64_t i = 0; i < n; ++i) {
      double expected = x[static_cast<std::size_t>(i)];
      double lx = lower[static_cast<std::size_t>(i)];
      double ux = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const auto entry = static_cast<double>(lu.view()(i, j));
        expected -= entry * x[static_cast<std::size_t>(j)];
        if (j < i) lx += entry * lower[static_cast<std::size_t>(j)];
        if (j >= i) ux += entry * upper[static_cast<std::size_t>(j)];
      }
      const double tolerance = 0x1p-52 * 100 * static_cast<double>(n + 1);
      CHECK(std::fabs(y[static_cast<std::size_t>(i)] - expected) <= tolerance);
      CHECK(std::fabs(lx - x[static_cast<std::size_t>(i)]) <= tolerance);
      CHECK(std::fabs(ux - x[static_cast<std::size_t>(i)]) <= tolerance);
    }
  }
  b.device->subtract_product(*b.queue, {}, nullptr, nullptr);
}

TEST_CASE("oneDNN multiplies views in place") {
  if (!OneDnnProduct::built()) return;
  Bench b;
  OneDnnProduct product;
  const auto check = [&](Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
    CAPTURE(name(precision), m, n, k);
    const Framed l(m, k, b.random);
    const Framed u(k, n, b.random);
    const Framed c(m, n, b.random);
    const auto before = copy(c.view());
    const Cast low_l(*b.device, *b.queue, l.view(), precision, 1);
    const Cast low_u(*b.device, *b.queue, u.view(), precision, 1);
    product(low_l.view, low_u.view, c.view());
    CHECK(c.frame_intact());
    double worst = 0;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = before[static_cast<std::size_t>(i + j * m)];
        for (std::int64_t p = 0; p < k; ++p) sum += low_l(i, p) * low_u(p, j);
        worst = std::max(worst, std::fabs(sum - static_cast<double>(c.view()(i, j))));
      }
    CHECK(worst <= 0x1p-24 * static_cast<double>((k + 2) * (k + 1)));
  };
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {40, 25, 16}, {65, 130, 33}}) {
    check(Precision::fp32, m, n, k);
    if (native_bf16()) check(Precision::bf16, m, n, k);
  }
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
  CHECK_FALSE(better_kernels("Nehalem", {"sse4.2"}));
}

TEST_CASE("bindings") {
  CHECK(bindings_overlap("0-3", "2"));
  CHECK_FALSE(bindings_overlap("0-3", "4-7"));
  CHECK_FALSE(bindings_overlap("", "0"));
  const ProcessorInfo info = processor_info();
  CHECK(info.bound_cores >= 1);
  CHECK(info.bound_cores <= info.cores);
  CHECK(bindings_overlap(core_binding(), core_binding()));
}

TEST_CASE("memory that cannot be had is a fault that says how much") {
  const auto device = make_device({});
  CHECK_THROWS_WITH(device->allocate(std::int64_t{1} << 60), ContainsSubstring("GiB"));
}
