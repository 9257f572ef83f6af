// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "compare/gallery_residual.hpp"
#include "compare/known_system.hpp"
#include "core/matrix_view.hpp"
#include "core/numbers.hpp"
#include "generate/gallery.hpp"
#include "host/thread_scope.hpp"

namespace speedwell::test::gallery_systems_tests {
namespace {

/// A in memory, column by column.
struct Filled {
  explicit Filled(const GallerySystem& system, int threads = 1)
      : n(system.n()), rows(system.numbers()), data(static_cast<std::size_t>(rows * n)) {
    const ThreadScope scope(threads);
    system.fill({data.data(), rows, n, rows});
  }
  /// Of a complex system, number i of column j.
  double operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i + j * rows)];
  }
  std::int64_t n;
  std::int64_t rows;
  std::vector<double> data;
};

GallerySystem some(GalleryKind kind, std::int64_t n = 61, std::uint64_t seed = 1) {
  return {kind, n, seed};
}

bool symmetric(const Filled& a) {
  for (std::int64_t j = 0; j < a.n; ++j)
    for (std::int64_t i = 0; i < j; ++i)
      if (a(i, j) != a(j, i)) return false;
  return true;
}

}  // namespace

TEST_CASE("users' systems have names") {
  for (const auto& [kind, words] : gallery_names) {
    CHECK(name(kind) == words);
    CHECK(gallery_kind(words) == kind);
  }
  CHECK_FALSE(gallery_kind("scaled-diagonal"));
  CHECK_FALSE(gallery_kind(""));
  const std::string real = "gaussian, uniform, kernel, boundary, toeplitz, graded, shifted, large";
  CHECK(real_gallery_list() == real);
  CHECK(gallery_list() == real + ", complex-gaussian, complex-shifted, sphere, plate");
}

// The numbers are from a second implementation of SplitMix64.
TEST_CASE("random numbers of users' systems are the same bits everywhere") {
  const auto kind = GalleryKind::uniform;
  CHECK(some(kind)(0, 0) == 0x1.8c5017a36c6c0p-2);
  CHECK(some(kind)(0, 1) == 0x1.e316d8b20fdc0p-1);
  CHECK(some(kind)(1, 0) == 0x1.edbe9bd18ad80p-3);
  CHECK(some(kind, 7, std::numeric_limits<std::uint64_t>::max())(6, 4) == 0x1.c7c357140529cp-1);
  CHECK(some(kind).right_hand_side(3, 0) == 0x1.f8e4d3ed49260p-2);
}

TEST_CASE("users' systems are the same for any number of threads, and differ by seed") {
  for (const auto& [kind, words] : gallery_names)
    for (const std::int64_t n : {1, 2, 61}) {
      INFO(words << " of order " << n);
      const GallerySystem system = some(kind, n);
      const Filled a(system);
      CHECK(a.data == Filled(system, 3).data);
      const bool real = system.field() == Field::real;
      if (real)
        CHECK(a(n - 1, 0) == system(n - 1, 0));
      else
        CHECK(std::complex<double>(a(2 * n - 2, 0), a(2 * n - 1, 0)) ==
              system.complex_entry(n - 1, 0));
      CHECK(system.right_hand_sides(1) == some(GalleryKind::uniform, a.rows).right_hand_sides(1));
      CHECK(system.right_hand_sides(1) != some(kind, n, 2).right_hand_sides(1));
      CHECK(std::all_of(a.data.begin(), a.data.end(), [](double v) { return std::isfinite(v); }));
      if (n == 1) CHECK(a(0, 0) != 0);
      // The ellipse has no random points; of order 1, neither a distance nor D depends on any.
      const bool fixed = kind == GalleryKind::boundary || kind == GalleryKind::sphere ||
                         kind == GalleryKind::plate;
      if (n > 1 && !fixed) CHECK(a.data != Filled(some(kind, n, 2)).data);
    }
}

TEST_CASE("users' systems have independent right-hand sides") {
  const GallerySystem system = some(GalleryKind::kernel);
  const std::int64_t n = system.n();
  const std::int64_t count = 90;  // more than n
  const std::vector<double> b = system.right_hand_sides(count);
  REQUIRE(std::ssize(b) == n * count);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i)
      REQUIRE(b[static_cast<std::size_t>(i + k * n)] == system.right_hand_side(i, k));
  CHECK(std::vector(b.begin(), b.begin() + n) == system.right_hand_sides(1));
  std::vector<double> sorted = b;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  CHECK((sorted.front() > -1 && sorted.back() < 1));
}

TEST_CASE("no entry of a user's system is beyond its bound") {
  for (const auto& [kind, words] : gallery_names)
    for (const std::int64_t n : {1, 2, 3, 61, 200}) {
      INFO(words << " of order " << n);
      const GallerySystem system(kind, n, 5);
      double most = 0;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          most =
              std::max(most, system.field() == Field::real ? std::fabs(system(i, j))
                                                           : std::abs(system.complex_entry(i, j)));
      CHECK(most <= system.bound());
    }
}

// The sums are those of integers, so that 64 bits have all of each one; their terms' magnitudes add
// up to at most 2^53, so that FP64 sums them up exactly in any order.
TEST_CASE("known systems, real and complex: b is A x to the last bit, in whatever strips") {
  for (const auto& [kind, words] : gallery_names)
    for (const std::int64_t n : {1, 2, 300}) {
      INFO(words << " of order " << n);
      const KnownSystem system(kind, n, 5);
      const double q = system.quantum();
      int exponent = 0;
      CHECK(std::frexp(q, &exponent) == 0.5);
      const bool real = system.field() == Field::real;
      const std::vector<double> x = system.solution();
      const std::vector<double> b = system.right_hand_side();
      REQUIRE(std::ssize(x) == system.numbers());
      REQUIRE(std::ssize(b) == system.numbers());
      CHECK(std::ranges::all_of(x, [](double v) { return std::fabs(v) == 1; }));
      const Filled given(GallerySystem(kind, n, 5));
      std::vector<double> memory(static_cast<std::size_t>(system.numbers() * n));
      const MatrixView<double> a{memory.data(), system.numbers(), n, system.numbers()};
      system.fill(a);
      for (std::size_t k = 0; k < memory.size(); ++k) {
        REQUIRE(std::fabs(memory[k] - given.data[k]) <= q / 2);
        REQUIRE(memory[k] / q == std::nearbyint(memory[k] / q));
      }
      if (real) CHECK(system(n - 1, n / 2) == a(n - 1, n / 2));
      const auto multiple = [&](std::int64_t i, std::int64_t j) {
        return static_cast<std::int64_t>(a(i, j) / q);
      };
      const auto sign = [&](std::int64_t j) {
        return static_cast<std::int64_t>(x[static_cast<std::size_t>(j)]);
      };
      for (std::int64_t i = 0; i < system.numbers(); ++i) {
        std::int64_t exact = 0;
        std::int64_t most = 0;
        const auto add = [&](std::int64_t term) {
          exact += term;
          most += std::abs(term);
        };
        for (std::int64_t j = 0; j < n; ++j)
          if (real) {
            add(multiple(i, j) * sign(j));
          } else if (i % 2 == 0) {
            add(multiple(i, j) * sign(2 * j));
            add(-multiple(i + 1, j) * sign(2 * j + 1));
          } else {
            add(multiple(i - 1, j) * sign(2 * j + 1));
            add(multiple(i, j) * sign(2 * j));
          }
        REQUIRE(b[static_cast<std::size_t>(i)] == static_cast<double>(exact) * q);
        REQUIRE(most <= std::int64_t{1} << 53);
      }
    }
}

TEST_CASE("rows of users' systems are those of the whole matrix") {
  for (const auto& [kind, words] : gallery_names) {
    INFO(words);
    const GallerySystem system = some(kind);
    const Filled a(system);
    const std::int64_t parts = parts_of(system.field());
    const std::int64_t ld = 5 * parts;
    std::vector<double> rows(static_cast<std::size_t>(ld * a.n));
    system.fill({rows.data(), 3 * parts, a.n, ld}, 17);
    for (std::int64_t j = 0; j < a.n; ++j)
      for (std::int64_t i = 0; i < ld; ++i)
        CHECK(rows[static_cast<std::size_t>(i + ld * j)] ==
              (i < 3 * parts ? a(17 * parts + i, j) : 0));
  }
}

TEST_CASE("complex systems are what their definitions say") {
  const auto shifted = some(GalleryKind::complex_shifted);
  const auto plain = some(GalleryKind::complex_gaussian);
  CHECK(shifted.complex_entry(3, 4) == plain.complex_entry(3, 4));
  CHECK((shifted.complex_entry(5, 5) - plain.complex_entry(5, 5)).real() ==
        Approx(2 * std::sqrt(2. * 61)));
  CHECK(plain.complex_entry(3, 4) != plain.complex_entry(4, 3));
  // A static layer on the sphere has the potential 1 at each point; the wave's phase is that of the
  // distance. Both integral equations are symmetric.
  for (const GalleryKind kind : {GalleryKind::sphere, GalleryKind::plate}) {
    const auto system = some(kind, 400);
    for (std::int64_t i = 0; i < 400; i += 57) {
      double potential = system.complex_entry(i, i).real();
      for (std::int64_t j = 0; j < 400; ++j) {
        if (i != j) potential += std::abs(system.complex_entry(i, j));
        CHECK(std::abs(system.complex_entry(i, j) - system.complex_entry(j, i)) < 1e-15);
      }
      if (kind == GalleryKind::sphere) CHECK(potential == Approx(1).epsilon(1e-12));
    }
  }
}

TEST_CASE("the residual of a complex system is that of its real one") {
  for (const std::int64_t n : {1, 61, 300}) {
    const auto system = some(GalleryKind::complex_gaussian, n);
    const Filled a(system);
    std::vector<double> x(static_cast<std::size_t>(2 * n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(3 * i + 1));
    double norm_a = 0;
    double norm_x = 0;
    double norm_b = 0;
    double norm_r = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::complex<double> r(system.right_hand_side(2 * i, 0),
                             system.right_hand_side(2 * i + 1, 0));
      norm_b = std::max({norm_b, std::fabs(r.real()), std::fabs(r.imag())});
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        const std::complex<double> value(a(2 * i, j), a(2 * i + 1, j));
        const auto at = static_cast<std::size_t>(2 * j);
        r -= value * std::complex<double>(x[at], x[at + 1]);
        sum += std::fabs(value.real()) + std::fabs(value.imag());
      }
      norm_a = std::max(norm_a, sum);
      norm_r = std::max({norm_r, std::fabs(r.real()), std::fabs(r.imag())});
    }
    for (const double value : x) norm_x = std::max(norm_x, std::fabs(value));
    const double expected =
        norm_r / (eps * (norm_a * norm_x + norm_b) * static_cast<double>(2 * n));
    CHECK(gallery_residual(system, {x.data(), 2 * n, 1, 2 * n}) == Approx(expected).epsilon(1e-10));
  }
}

// The orders are less than a strip of gallery_residual(), equal to it, and more.
TEST_CASE("the residual of users' systems is that of the worst column") {
  using Size = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [n, count] :
       {Size(61, 1), Size(61, 90), Size(256, 2), Size(300, 3), Size(5, 1100)}) {
    CAPTURE(n, count);
    const GallerySystem system = some(GalleryKind::uniform, n);
    const Filled a(system);
    std::vector<double> x = system.right_hand_sides(count);
    std::reverse(x.begin(), x.end());
    const MatrixView<const double> view{x.data(), n, count, n};
    double worst = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      double norm_a = 0, norm_x = 0, norm_b = 0, norm_r = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0;
        double r = system.right_hand_side(i, k);
        norm_b = std::max(norm_b, std::abs(r));
        norm_x = std::max(norm_x, std::abs(view(i, k)));
        for (std::int64_t j = 0; j < n; ++j) {
          sum += std::abs(a(i, j));
          r -= a(i, j) * view(j, k);
        }
        norm_a = std::max(norm_a, sum);
        norm_r = std::max(norm_r, std::abs(r));
      }
      worst = std::max(worst, norm_r / (eps * (norm_a * norm_x + norm_b) * static_cast<double>(n)));
    }
    CHECK(gallery_residual(system, view) == Approx(worst).epsilon(1e-11));
    // No column has a larger scaled residual than 1 / (eps n), that of x = 0.
    CHECK(worst < 0.99 / (eps * static_cast<double>(n)));
    for (const std::int64_t k : {std::int64_t{0}, count - 1}) {
      std::vector<double> other = x;
      std::fill_n(other.begin() + k * n, n, 0);
      CHECK(gallery_residual(system, {other.data(), n, count, n}) ==
            Approx(1 / (eps * static_cast<double>(n))));
      other[static_cast<std::size_t>(k * n)] = std::numeric_limits<double>::quiet_NaN();
      CHECK(std::isnan(gallery_residual(system, {other.data(), n, count, n})));
    }
  }
}

// Tolerances are four standard deviations of the mean of 40000 samples.
TEST_CASE("moments of gaussian and uniform") {
  const auto moment = [](const Filled& a, int power) {
    double sum = 0;
    for (const double v : a.data) sum += std::pow(v, power);
    return sum / static_cast<double>(a.data.size());
  };
  const Filled normal(some(GalleryKind::gaussian, 200));
  CHECK(std::abs(moment(normal, 1)) < 4 * 1 / 200.);
  CHECK(std::abs(moment(normal, 2) - 1) < 4 * std::sqrt(2) / 200);
  CHECK(std::abs(moment(normal, 3)) < 4 * std::sqrt(15) / 200);
  CHECK(std::abs(moment(normal, 4) - 3) < 4 * std::sqrt(96) / 200);
  const Filled uniform(some(GalleryKind::uniform, 200));
  CHECK(std::abs(moment(uniform, 1)) < 4 * std::sqrt(1 / 3.) / 200);
  CHECK(std::abs(moment(uniform, 2) - 1 / 3.) < 4 * std::sqrt(1 / 5. - 1 / 9.) / 200);
  for (const double v : uniform.data) CHECK((v > -1 && v < 1 && v != 0));
}

TEST_CASE("large is shifted in another unit") {
  CHECK(some(GalleryKind::large)(5, 6) == 0x1p20 * some(GalleryKind::shifted)(5, 6));
  CHECK(some(GalleryKind::large)(6, 6) == 0x1p20 * some(GalleryKind::shifted)(6, 6));
}

TEST_CASE("shifted is gaussian with 2 sqrt(n) more on the diagonal") {
  const GallerySystem plain = some(GalleryKind::gaussian);
  const GallerySystem shifted = some(GalleryKind::shifted);
  CHECK(shifted(5, 6) == plain(5, 6));
  CHECK(shifted(6, 6) == plain(6, 6) + 2 * std::sqrt(61.));
}

TEST_CASE("kernel is one of distances in the unit cube") {
  const Filled a(some(GalleryKind::kernel));
  CHECK(symmetric(a));
  for (std::int64_t j = 0; j < a.n; ++j)
    for (std::int64_t i = 0; i < a.n; ++i) {
      CHECK((i == j) == (a(i, j) == 1));
      CHECK(a(i, j) >= std::exp(-std::sqrt(3.)));
      const double detour = -std::log(a(i, 7)) - std::log(a(7, j));
      CHECK(-std::log(a(i, j)) <= detour + 1e-14);
    }
}

// On an ellipse, charges that are equal in the angle have the potential -log((a + b) / 2)
// everywhere. The rule with the right diagonal has that to (1/3)^n.
TEST_CASE("boundary has the potential of an ellipse's equilibrium") {
  for (const std::int64_t n : {33, 61, 200}) {
    const Filled a(some(GalleryKind::boundary, n));
    CHECK(symmetric(a));
    for (std::int64_t i = 0; i < n; ++i) {
      double potential = 0;
      for (std::int64_t j = 0; j < n; ++j) potential += a(i, j);
      CHECK(potential == Approx(-std::log(0.75)).epsilon(1e-13));
    }
  }
}

TEST_CASE("toeplitz has constant diagonals") {
  const Filled a(some(GalleryKind::toeplitz));
  for (std::int64_t j = 1; j < a.n; ++j)
    for (std::int64_t i = 1; i < a.n; ++i) CHECK(a(i, j) == a(i - 1, j - 1));
  std::vector<double> t;
  for (std::int64_t k = 0; k < a.n; ++k) t.push_back(a(k, 0));
  for (std::int64_t k = 1; k < a.n; ++k) t.push_back(a(0, k));
  std::sort(t.begin(), t.end());
  CHECK(std::adjacent_find(t.begin(), t.end()) == t.end());
  CHECK((t.front() > -1 && t.back() < 1));
}

TEST_CASE("graded has the Frobenius norm of its singular values") {
  for (const std::int64_t n : {1, 2, 61}) {
    double of_a = 0;
    for (const double v : Filled(some(GalleryKind::graded, n)).data) of_a += v * v;
    double of_d = 0;
    for (std::int64_t i = 0; i < n; ++i)
      of_d += n == 1 ? 1 : std::pow(10, -26 * static_cast<double>(i) / static_cast<double>(n - 1));
    CHECK(of_a == Approx(of_d).epsilon(1e-13));
  }
}
}  // namespace speedwell::test::gallery_systems_tests
