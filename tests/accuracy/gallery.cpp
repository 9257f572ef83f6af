// SPDX-License-Identifier: BSD-3-Clause
#include "gallery.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "lapack.hpp"

namespace speedwell::test {
namespace {

constexpr double pi = std::numbers::pi;

std::vector<std::int64_t> random_order(std::int64_t n, Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(std::int64_t(i)))]);
  return order;
}

Square map(Square a, const std::function<double(double)>& function) {
  for (double& value : a.data) value = function(value);
  return a;
}

Square triangle(std::int64_t n, std::uint64_t seed) {
  const Square u = random_matrix(n, seed);
  const double small = 1 / std::sqrt(static_cast<double>(n));
  return matrix_of(n, [&](auto i, auto j) {
    return i == j ? std::copysign(1.5 + u(i, j) / 2, u(j, i)) : i < j ? u(i, j) * small : 0.0;
  });
}

Square symmetric(std::int64_t n, std::uint64_t seed) {
  const Square u = random_matrix(n, seed);
  return matrix_of(n, [&](auto i, auto j) { return u(std::max(i, j), std::min(i, j)); });
}

/// The saddle-point matrix [H B; B^T 0] with H = diag(1, 2, ...) and m constraints.
Square saddle(std::int64_t n, std::int64_t m, std::uint64_t seed) {
  const Square u = symmetric(n, seed);
  const std::int64_t h = n - m;
  return matrix_of(n, [&](auto i, auto j) {
    if (i < h && j < h) return i == j ? double(i + 1) : 0.0;
    return i < h || j < h ? u(i, j) : 0.0;
  });
}

/// The Toeplitz matrix a_ij = value(i - j).
Square toeplitz(std::int64_t n, const std::function<double(std::int64_t)>& value) {
  return matrix_of(n, [&](auto i, auto j) { return value(i - j); });
}

/// The prolate matrix, a Toeplitz matrix that is nearly singular: sin(2 pi w k) / (pi k).
double prolate(std::int64_t k) {
  const double w = 0.25;
  return k == 0 ? 2 * w : std::sin(2 * pi * w * double(k)) / (pi * double(k));
}

Example example(std::string name, Square a) {
  Plain b(a.n, 2);
  for (std::int64_t j = 0; j < a.n; ++j) {
    double column = 0;
    for (std::int64_t i = 0; i < a.n; ++i) column = std::max(column, std::fabs(a(i, j)));
    for (std::int64_t i = 0; i < a.n; ++i) {
      const double entry = a(i, j) / column;
      b(i, 0) += entry;
      b(i, 1) = std::max(b(i, 1), std::fabs(entry));
    }
  }
  Random random(a.data.size());
  for (std::int64_t i = 0; i < a.n; ++i) b(i, 1) *= random();
  return {std::move(name), std::move(a), std::move(b)};
}

using Examples = std::vector<Example>;

void add_random(Examples& all) {
  all.push_back(example("random 61", random_matrix(61, 1)));
  all.push_back(example("random 97", random_matrix(97, 2)));
  all.push_back(example("random 150", random_matrix(150, 3)));
  for (int e = 0; e <= 16; e += 2)
    all.push_back(example("kappa 1e" + std::to_string(e),
                          with_singular_values(geometric(61, std::pow(10, e)), 4)));
  for (int e = 4; e <= 16; e += 4) {
    std::vector<double> one_small(61, 1.0);
    one_small.back() = std::pow(10, -e);
    all.push_back(example("one small value, kappa 1e" + std::to_string(e),
                          with_singular_values(one_small, 5)));
  }
}

void add_famous(Examples& all) {
  for (const int n : {4, 10, 13, 30})
    all.push_back(example("Hilbert " + std::to_string(n), hilbert(n)));
  all.push_back(example("Vandermonde 17", vandermonde(17, false)));
  all.push_back(example("Vandermonde 34, Chebyshev's points", vandermonde(34, true)));
  all.push_back(example("Frank 16", frank(16)));
  all.push_back(example("Frank 20", frank(20)));
  all.push_back(example("Kahan 61", kahan(61, 1.2)));
  all.push_back(example("Kahan 90", kahan(90, 0.9)));
  all.push_back(example("Wilkinson's growth 61", wilkinson_growth(61)));
  all.push_back(example("Wilkinson's growth 97", wilkinson_growth(97)));
  all.push_back(example("random growth 20", random_growth(20, 6)));
  all.push_back(example("random growth 40", random_growth(40, 7)));
}

void add_structured(Examples& all) {
  const Square u = random_matrix(97, 8);
  all.push_back(example("identity", toeplitz(61, [](auto k) { return k == 0; })));
  all.push_back(example("diagonal", matrix_of(61, [](auto i, auto j) {
                          return i == j ? std::pow(-3, double(i % 20)) : 0.0;
                        })));
  all.push_back(example("permutation", shuffled(toeplitz(97, [](auto k) { return k == 0; }), 9)));
  all.push_back(example("swaps", matrix_of(62, [](auto i, auto j) { return (i ^ j) == 1; })));
  all.push_back(example("permuted triangle", shuffled(triangle(97, 10), 11)));
  all.push_back(example("symmetric indefinite", symmetric(97, 12)));
  all.push_back(example("saddle point", saddle(97, 31, 13)));
  all.push_back(example("tridiagonal", toeplitz(97, [](auto k) {
                          return k == 0 ? 2.0 : std::abs(k) == 1 ? -1.0 : 0.0;
                        })));
  all.push_back(example("tridiagonal, zero diagonal", toeplitz(98, [](auto k) {
                          return k == 1 ? 1.0 : k == -1 ? -0.5 : 0.0;
                        })));
  all.push_back(example("Hessenberg",
                        matrix_of(97, [&](auto i, auto j) { return i <= j + 1 ? u(i, j) : 0.0; })));
  all.push_back(example("Hessenberg, shifted", matrix_of(97, [&](auto i, auto j) {
                          return i <= j + 1 ? u(i, j) + (i == j ? 9 : 0) : 0.0;
                        })));
  all.push_back(example("cosines", cosines(97)));
  all.push_back(example("rank one plus identity", matrix_of(97, [&](auto i, auto j) {
                          return (i == j) + u(i, 0) * u(j, 1);
                        })));
  all.push_back(example("1000 rank one plus identity", matrix_of(97, [&](auto i, auto j) {
                          return (i == j) + 1000 * u(i, 0) * u(j, 1);
                        })));
}

void add_toeplitz(Examples& all) {
  const auto geometric_decay = [](auto k) { return std::pow(0.9, double(std::abs(k))); };
  all.push_back(example("Toeplitz, Kac-Murdock-Szego", toeplitz(97, geometric_decay)));
  all.push_back(example("Toeplitz, Grcar", toeplitz(97, [](auto k) {
                          return k == 1 ? -1.0 : k <= 0 && k >= -3 ? 1.0 : 0.0;
                        })));
  Random random(14);
  std::vector<double> t(193);
  for (double& value : t) value = random();
  all.push_back(example("Toeplitz, random",
                        toeplitz(97, [&](auto k) { return t[static_cast<std::size_t>(k + 96)]; })));
  all.push_back(example("Toeplitz, prolate", toeplitz(33, prolate)));
}

void add_scaled(Examples& all) {
  const Square u = random_matrix(61, 15);
  all.push_back(example("rows 1e-200 to 1e200", badly_scaled(u, 200, 0, 16)));
  all.push_back(example("columns 1e-200 to 1e200", badly_scaled(u, 0, 200, 17)));
  all.push_back(example("rows and columns 1e-100 to 1e100", badly_scaled(u, 100, 100, 18)));
  all.push_back(example("rows 1e-5 to 1e5", badly_scaled(u, 5, 0, 19)));
  all.push_back(example("columns 1e-5 to 1e5", badly_scaled(u, 0, 5, 20)));
  all.push_back(example("every entry between 1e-8 and 65504", map(u, [](double x) {
                          return std::copysign(std::pow(10, 6.408 * (x + 1) - 8), x);
                        })));
  all.push_back(example("symmetric scaling 1e-100 to 1e100", matrix_of(61, [&](auto i, auto j) {
                          return u(std::min(i, j), std::max(i, j)) *
                                 std::pow(10, (double(i % 11) + double(j % 11) - 10) * 10);
                        })));
}

/// Adds matrices with entries near the largest and smallest numbers of FP16, FP32 and FP64.
void add_edges(Examples& all) {
  const Square u = random_matrix(61, 21);
  const auto times = [&](double f) { return map(u, [f](double x) { return f * x; }); };
  all.push_back(example("at most 65504", times(65504)));
  all.push_back(example("all of 65504", map(u, [](double x) { return std::copysign(65504, x); })));
  all.push_back(example("beyond 65504", times(1e6)));
  all.push_back(example("about 1e-8", times(1e-8)));
  all.push_back(example("FP16's subnormals", map(u, [](double x) {
                          return std::copysign(std::ceil(std::fabs(x) * 1023) * 0x1p-24, x);
                        })));
  all.push_back(example("FP32's largest", times(FLT_MAX)));
  all.push_back(example("FP32's subnormals", map(u, [](double x) {
                          return std::copysign(std::ceil(std::fabs(x) * 0x1p22) * 0x1p-149, x);
                        })));
  all.push_back(example("1e300", times(1e300)));
  all.push_back(example("1e-290", times(1e-290)));
  Random random(22);
  all.push_back(example("integers to 2^30", map(u, [&](double x) {
                          return std::round(std::ldexp(x, static_cast<int>(random.below(31))));
                        })));
}

void add_small(Examples& all) {
  const auto add = [&](const std::string& name, std::int64_t n, std::vector<double> by_rows) {
    all.push_back(example(name, matrix_of(n, [&](auto i, auto j) {
                            return by_rows[static_cast<std::size_t>(i * n + j)];
                          })));
  };
  add("n = 1, 3", 1, {3});
  add("n = 1, -0.7", 1, {-0.7});
  add("n = 1, 1e-300", 1, {1e-300});
  add("n = 1, 1e300", 1, {1e300});
  add("n = 2, exchange", 2, {0, 1, 1, 0});
  add("n = 2, 1 2 3 4", 2, {1, 2, 3, 4});
  add("n = 2, small pivot", 2, {1e-20, 1, 1, 1});
  add("n = 2, nearly singular", 2, {1, 1, 1, 1 + 0x1p-50});
  add("n = 3, permutation", 3, {0, 0, 2, 0, -3, 0, 5, 0, 0});
  add("n = 3, 1 to 10", 3, {1, 2, 3, 4, 5, 6, 7, 8, 10});
}

}  // namespace

Square matrix_of(std::int64_t n, const Entry& entry) {
  Square a(n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) a(i, j) = entry(i, j);
  return a;
}

Square random_matrix(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  return matrix_of(n, [&](auto, auto) { return random(); });
}

Square with_singular_values(const std::vector<double>& s, std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(s.size());
  const Square u = orthogonal_factor(random_matrix(n, seed));
  const Square v = orthogonal_factor(random_matrix(n, seed + 1000));
  const Square scaled =
      matrix_of(n, [&](auto i, auto j) { return s[static_cast<std::size_t>(i)] * v(i, j); });
  Square a(n);
  a.data = product(u, scaled).data;
  return a;
}

std::vector<double> geometric(std::int64_t n, double kappa) {
  std::vector<double> s;
  for (std::int64_t i = 0; i < n; ++i)
    s.push_back(std::pow(kappa, -static_cast<double>(i) / static_cast<double>(n - 1)));
  return s;
}

Square hilbert(std::int64_t n) {
  return matrix_of(n, [](auto i, auto j) { return 1 / double(i + j + 1); });
}

Square vandermonde(std::int64_t n, bool chebyshev) {
  const auto m = static_cast<double>(n);
  return matrix_of(n, [&](auto i, auto j) {
    const double x = chebyshev ? std::cos(pi * (double(j) + 0.5) / m) : double(j + 1) / m;
    return std::pow(x, double(i));
  });
}

Square frank(std::int64_t n) {
  return matrix_of(n, [n](auto i, auto j) { return i > j + 1 ? 0.0 : double(n - std::max(i, j)); });
}

Square kahan(std::int64_t n, double theta) {
  const double s = std::sin(theta);
  const double c = std::cos(theta);
  return matrix_of(
      n, [=](auto i, auto j) { return i > j ? 0.0 : std::pow(s, double(i)) * (i == j ? 1 : -c); });
}

Square wilkinson_growth(std::int64_t n) {
  return matrix_of(n, [n](auto i, auto j) {
    if (i == j || j == n - 1) return 1.0;
    return i > j ? -1.0 : 0.0;
  });
}

Square random_growth(std::int64_t n, std::uint64_t seed) {
  const Square m = map(wilkinson_growth(n), [](double x) { return x < 0 ? 0.9 * x : x; });
  const Square t = triangle(n - 1, seed);
  Square upper(n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      upper(i, j) = i < n - 1 && j < n - 1 ? t(i, j) : double(i == j);
  Square a(n);
  a.data = product(m, upper).data;
  return a;
}

Square cosines(std::int64_t n) {
  const auto m = static_cast<double>(n);
  return matrix_of(n, [m](auto i, auto j) {
    return std::sqrt((i == 0 ? 1 : 2) / m) * std::cos(pi * double(i) * (double(j) + 0.5) / m);
  });
}

Square shuffled(const Square& a, std::uint64_t seed) {
  Random random(seed);
  const auto rows = random_order(a.n, random);
  const auto columns = random_order(a.n, random);
  return matrix_of(a.n, [&](auto i, auto j) {
    return a(rows[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)]);
  });
}

Square badly_scaled(Square a, double rows, double columns, std::uint64_t seed) {
  Random random(seed);
  const auto scale = [&](double most) {
    std::vector<double> factors;
    for (std::int64_t i = 0; i < a.n; ++i) factors.push_back(std::pow(10, most * random()));
    return factors;
  };
  const auto r = scale(rows);
  const auto c = scale(columns);
  for (std::int64_t j = 0; j < a.n; ++j)
    for (std::int64_t i = 0; i < a.n; ++i)
      a(i, j) *= r[static_cast<std::size_t>(i)] * c[static_cast<std::size_t>(j)];
  return a;
}

std::vector<Example> gallery() {
  Examples all;
  add_random(all);
  add_famous(all);
  add_structured(all);
  add_toeplitz(all);
  add_scaled(all);
  add_edges(all);
  add_small(all);
  return all;
}

std::vector<SingularExample> singular_gallery() {
  const std::int64_t n = 21;
  const Square u = random_matrix(n, 23);
  const Square upper = triangle(n, 24);
  std::vector<SingularExample> all{
      {"zero", Square(n), 0},
      {"n = 1", Square(1), 0},
      {"n = 3, zero row", matrix_of(3, [&](auto i, auto j) { return i == 1 ? 0 : u(i, j); }), 2},
      {"rank one",
       matrix_of(n, [](auto i, auto j) { return std::exp2(double(i * i % 7) + double(j % 4)); }),
       1},
  };
  for (const std::int64_t at : {0, 5, 8, 20}) {
    all.push_back(
        {"zero column", matrix_of(n, [&](auto i, auto j) { return j == at ? 0 : u(i, j); }), at});
    all.push_back(
        {"zero row", matrix_of(n, [&](auto i, auto j) { return i == at ? 0 : u(i, j); }), n - 1});
    // A triangle whose rows are in reverse order: each column has one nonzero pivot candidate at
    // most, and nothing is left to eliminate.
    all.push_back({"triangle with a zero",
                   matrix_of(n,
                             [&](auto i, auto j) {
                               return n - 1 - i == at && j == at ? 0.0 : upper(n - 1 - i, j);
                             }),
                   at});
  }
  // The last two rows are equal and the only ones with entries in the last two columns, so that the
  // last pivot is zero.
  all.push_back({"two equal rows",
                 matrix_of(n,
                           [n](auto i, auto j) {
                             if (i >= n - 2) return j >= n - 2 ? double(j + 1) : 0.0;
                             return i == j ? 3.0 : i == j + 1 ? 1.0 : 0.0;
                           }),
                 n - 1});
  return all;
}

}  // namespace speedwell::test
