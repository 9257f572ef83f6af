// SPDX-License-Identifier: BSD-3-Clause
#include "quad.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace speedwell::test {
namespace {

template <class T>
Quad norm(const T& values) {
  Quad most = 0;
  for (const auto value : values) most = std::max(most, magnitude(value));
  return most;
}

/// 2^e, also beyond the range of a double.
Quad power_of_two(int e) {
  Quad value = 1;
  for (; e > 0; --e) value *= 2;
  for (; e < 0; ++e) value /= 2;
  return value;
}

double quotient(Quad a, Quad b) {
  if (a == 0) return 0;
  return b == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(a / b);
}

/// The residual and its scale, for each row.
struct Residual {
  std::vector<Quad> r;      ///< |b - A x|
  std::vector<Quad> scale;  ///< |A||x| + |b|
  Quad norm_a = 0;
};

Residual residual(const Square& a, std::span<const double> b, std::span<const double> x) {
  const auto n = static_cast<std::size_t>(a.n);
  Residual result{{b.begin(), b.end()}, std::vector<Quad>(n), 0};
  std::vector<Quad> sums(n);
  for (std::size_t i = 0; i < n; ++i) result.scale[i] = magnitude(b[i]);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      const Quad entry = a.data[i + j * n];
      const Quad term = entry * x[j];
      result.r[i] -= term;
      result.scale[i] += magnitude(term);
      sums[i] += magnitude(entry);
    }
  for (Quad& r : result.r) r = magnitude(r);
  result.norm_a = norm(sums);
  return result;
}

/// The matrix [A | I], which Gauss-Jordan elimination turns into [I | A^-1].
struct Elimination {
  explicit Elimination(const Square& matrix);
  void eliminate(std::size_t k);

  std::size_t n;
  std::vector<Quad> a;
  std::vector<Quad> inverse;
  std::vector<Quad> largest;  ///< largest entry of each row, with scaled columns
};

Elimination::Elimination(const Square& matrix)
    : n(static_cast<std::size_t>(matrix.n)),
      a(matrix.data.begin(), matrix.data.end()),
      inverse(n * n),
      largest(n) {
  for (std::size_t j = 0; j < n; ++j) {
    inverse[j + j * n] = 1;
    const Quad column = norm(std::span(a).subspan(j * n, n));
    for (std::size_t i = 0; i < n; ++i)
      largest[i] = std::max(largest[i], magnitude(a[i + j * n]) / column);
  }
}

void Elimination::eliminate(std::size_t k) {
  std::size_t p = k;
  for (std::size_t i = k + 1; i < n; ++i)
    if (magnitude(a[i + k * n]) * largest[p] > magnitude(a[p + k * n]) * largest[i]) p = i;
  std::swap(largest[k], largest[p]);
  std::vector<Quad> factor(a.begin() + static_cast<std::ptrdiff_t>(k * n),
                           a.begin() + static_cast<std::ptrdiff_t>((k + 1) * n));
  std::swap(factor[k], factor[p]);
  const auto apply = [&](std::vector<Quad>& m, std::size_t first) {
    for (std::size_t j = first; j < n; ++j) {
      Quad* column = m.data() + j * n;
      std::swap(column[k], column[p]);
      if (column[k] == 0) continue;
      column[k] /= factor[k];
      for (std::size_t i = 0; i < n; ++i)
        if (i != k && factor[i] != 0) column[i] -= factor[i] * column[k];
    }
  };
  apply(a, k);
  apply(inverse, 0);
}

}  // namespace

BackwardErrors backward_errors(const Square& a, std::span<const double> b,
                               std::span<const double> x) {
  const Residual res = residual(a, b, x);
  BackwardErrors result;
  for (std::size_t i = 0; i < b.size(); ++i) {
    // A NaN must make the result NaN; std::max() would drop it.
    if (res.r[i] != res.r[i] || std::isinf(static_cast<double>(norm(x)))) return {NAN, NAN, NAN};
    result.componentwise = std::max(result.componentwise, quotient(res.r[i], res.scale[i]));
  }
  result.normwise = quotient(norm(res.r), res.norm_a * norm(x) + norm(b));
  result.hpl = result.normwise / (eps * static_cast<double>(a.n));
  return result;
}

double forward_error(std::span<const double> x, const std::vector<Quad>& exact) {
  std::vector<Quad> difference = exact;
  for (std::size_t i = 0; i < x.size(); ++i) difference[i] -= x[i];
  return quotient(norm(difference), norm(exact));
}

Inverse::Inverse(const Square& a) : n_(a.n) {
  Elimination both(a);
  for (std::size_t k = 0; k < both.n; ++k) both.eliminate(k);
  data_ = std::move(both.inverse);
}

std::vector<Quad> Inverse::times(std::span<const double> b) const {
  std::vector<Quad> x(b.size());
  for (std::int64_t j = 0; j < n_; ++j)
    for (std::int64_t i = 0; i < n_; ++i)
      x[static_cast<std::size_t>(i)] += (*this)(i, j) * b[static_cast<std::size_t>(j)];
  return x;
}

Quad Inverse::bound(const std::vector<Quad>& v) const {
  std::vector<Quad> x(v.size());
  for (std::int64_t j = 0; j < n_; ++j)
    for (std::int64_t i = 0; i < n_; ++i)
      x[static_cast<std::size_t>(i)] += magnitude((*this)(i, j)) * v[static_cast<std::size_t>(j)];
  return norm(x);
}

Scales equilibrated(const Square& a) {
  constexpr int none = std::numeric_limits<int>::min();
  Scales scales(a.n);
  const auto n = static_cast<std::size_t>(a.n);
  const auto exponent = [&](std::size_t i, std::size_t j) {
    const double entry = a.data[i + j * n];
    return entry == 0 ? none : std::ilogb(entry) + 1 + scales.row[i];
  };
  std::vector<int> row(n, none);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) row[i] = std::max(row[i], exponent(i, j));
  for (std::size_t i = 0; i < n; ++i) scales.row[i] = row[i] == none ? 0 : -row[i];
  for (std::size_t j = 0; j < n; ++j) {
    int largest = none;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, exponent(i, j));
    scales.column[j] = largest == none ? 0 : -largest;
  }
  return scales;
}

double condition(const Square& a, const Inverse& inverse, const Scales& scales) {
  const auto n = static_cast<std::size_t>(a.n);
  std::vector<Quad> row(n);
  std::vector<Quad> column(n);
  for (std::size_t i = 0; i < n; ++i) {
    row[i] = power_of_two(scales.row[i]);
    column[i] = power_of_two(scales.column[i]);
  }
  std::vector<Quad> sums(n);
  std::vector<Quad> inverse_sums(n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) {
      const auto gi = static_cast<std::int64_t>(i);
      const auto gj = static_cast<std::int64_t>(j);
      sums[i] += magnitude(a(gi, gj)) * row[i] * column[j];
      inverse_sums[i] += magnitude(inverse(gi, gj)) / (column[i] * row[j]);
    }
  return static_cast<double>(norm(sums) * norm(inverse_sums));
}

double forward_bound(const Square& a, const Inverse& inverse, std::span<const double> b,
                     std::span<const double> x) {
  const Residual res = residual(a, b, x);
  std::vector<Quad> v(b.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = res.r[i] + static_cast<double>(a.n + 1) * eps * res.scale[i];
  return quotient(inverse.bound(v), norm(x));
}

}  // namespace speedwell::test
