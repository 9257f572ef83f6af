// SPDX-License-Identifier: BSD-3-Clause
// Generated matrices and products with them, compared element by element with MatrixSpec.

#include "core/numbers.hpp"
#include "device/bench.hpp"

namespace speedwell::test::generate_tests {
namespace {

const std::vector<MatrixKind> kinds{MatrixKind::scaled_diagonal, MatrixKind::fasi_higham,
                                    MatrixKind::dominant, MatrixKind::hpl};

// A spec of order n; `dominant` reads the diagonal, which lies in host memory.
MatrixSpec make_spec(MatrixKind kind, std::int64_t n, const std::vector<double>& diagonal) {
  return {kind, n, 5, n | 1, 9.5, 0.01, 0.02, diagonal.empty() ? nullptr : diagonal.data()};
}

std::vector<double> diagonal_of(std::int64_t n) {
  std::vector<double> diagonal;
  for (std::int64_t i = 0; i < n; ++i)
    diagonal.push_back(33.25 + std::sqrt(static_cast<double>(i)));
  return diagonal;
}

struct Part {
  std::int64_t n;
  std::int64_t nb;
  int p;
  int q;
  int row;
  int column;
  Distribution rows() const { return {n, nb, p, row}; }
  Distribution columns() const { return {n, nb, q, column}; }
};

std::vector<Part> small_parts() {
  std::vector<Part> all;
  for (const std::int64_t n : {1, 5, 64, 301})
    for (const auto& [p, q, nb] : std::vector<std::array<int, 3>>{
             {1, 1, 16}, {2, 3, 7}, {3, 1, 40}, {1, 2, 1}, {2, 2, 400}, {5, 2, 64}})
      for (int me = 0; me < p * q; ++me) all.push_back({n, nb, p, q, me / q, me % q});
  all.push_back({700, 128, 1, 1, 0, 0});
  all.push_back({700, 33, 1, 1, 0, 0});
  return all;
}

// Parts of matrices that are too large for one machine; each part has a few blocks.
std::vector<Part> parts_of_large() {
  std::vector<Part> all;
  for (const auto& [row, column] : std::vector<std::pair<int, int>>{{0, 0}, {299, 4}, {151, 151}})
    all.push_back({180000, 512, 300, 352, row, column});
  for (const auto& [row, column] :
       std::vector<std::pair<int, int>>{{0, 0}, {99999, 99999}, {7, 149999}, {70000, 3}})
    all.push_back({10000000, 64, 100000, 150000, row, column});
  // Row indices, column indices and their products with the stride are beyond 2^31.
  all.push_back({5000000000, 50, 99000000, 100000000, 98999999, 98999999});
  all.push_back({5000000000, 50, 100000000, 100000000, 99999999, 99999999});
  return all;
}

template <class T>
void check_generated(Bench& b, const Part& part, MatrixKind kind) {
  CAPTURE(name(kind), part.n, part.nb, part.p, part.q, part.row, part.column);
  const auto diagonal = kind == MatrixKind::dominant ? diagonal_of(part.n) : std::vector<double>{};
  const MatrixSpec spec = make_spec(kind, part.n, diagonal);
  const Distribution rows = part.rows();
  const Distribution columns = part.columns();
  DeviceMatrix<T> a(b, rows.local_size(), columns.local_size());
  b.device->generate(*b.queue, spec, rows, columns, a.view());
  b.queue->synchronize();
  CHECK(a.frame_intact());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < a.columns(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i)
      wrong += !(a(i, j) ==
                 static_cast<T>(spec.entry(rows.global({i}).value, columns.global({j}).value)));
  CHECK(wrong == 0);
}

// Sums of a_ij x_j, |a_ij| and |a_ij x_j| over a row, and the errors that two of them may have. The
// errors include the regular entry of the diagonal, since a device may add it first.
struct Sums {
  std::vector<double> ax, abs_rows, abs_ax, tolerance_rows, tolerance_ax;
};

Sums plain_sums(const MatrixSpec& spec, const Distribution& rows, const Distribution& columns,
                const Doubles& x) {
  const auto m = static_cast<std::size_t>(rows.local_size());
  Sums s{std::vector<double>(m), std::vector<double>(m), std::vector<double>(m),
         std::vector<double>(m), std::vector<double>(m)};
  for (std::size_t i = 0; i < m; ++i) {
    const std::int64_t gi = rows.global({static_cast<std::int64_t>(i)}).value;
    for (std::int64_t j = 0; j < columns.local_size(); ++j) {
      const std::int64_t gj = columns.global({j}).value;
      const double entry = spec.entry(gi, gj);
      const double size = std::fabs(entry) + (gi == gj ? std::fabs(spec.regular(gi, gj)) : 0);
      s.ax[i] += entry * x(j);
      s.abs_rows[i] += std::fabs(entry);
      s.abs_ax[i] += std::fabs(entry * x(j));
      s.tolerance_rows[i] += size;
      s.tolerance_ax[i] += size * std::fabs(x(j));
    }
    const double unit = eps * 2 * static_cast<double>(columns.local_size() + 10);
    s.tolerance_rows[i] *= unit;
    s.tolerance_ax[i] *= unit;
  }
  return s;
}

void check_product(Bench& b, const Part& part, MatrixKind kind, double size) {
  const auto diagonal = kind == MatrixKind::dominant ? diagonal_of(part.n) : std::vector<double>{};
  const MatrixSpec spec = make_spec(kind, part.n, diagonal);
  const Distribution rows = part.rows();
  const Distribution columns = part.columns();
  Doubles x = uniform_vector(b, columns.local_size(), size);
  x.set([&](std::int64_t j, std::int64_t) { return j % 7 == 3 ? 0 : x(j); });
  const Sums plain = plain_sums(spec, rows, columns, x);
  for (const bool with_rows : {false, true})
    for (const bool with_ax : {false, true}) {
      CAPTURE(name(kind), part.n, part.nb, part.p, part.q, part.row, part.column, size, with_rows,
              with_ax);
      Doubles ax(b, rows.local_size(), 1);
      Doubles abs_rows(b, rows.local_size(), 1);
      Doubles abs_ax(b, rows.local_size(), 1);
      b.device->multiply_generated(*b.queue, spec, rows, columns, x.data(), ax.data(),
                                   with_rows ? abs_rows.data() : nullptr,
                                   with_ax ? abs_ax.data() : nullptr);
      b.queue->synchronize();
      CHECK(x.unchanged());
      CHECK(ax.frame_intact());
      CHECK((with_rows ? abs_rows.frame_intact() : abs_rows.unchanged()));
      CHECK((with_ax ? abs_ax.frame_intact() : abs_ax.unchanged()));
      const auto share = [&](const Doubles& y, const std::vector<double>& expected,
                             const std::vector<double>& tolerance) {
        return worst_share(
            rows.local_size(), 1,
            [&](std::int64_t i, std::int64_t) {
              return y(i) - expected[static_cast<std::size_t>(i)];
            },
            [&](std::int64_t i, std::int64_t) { return tolerance[static_cast<std::size_t>(i)]; });
      };
      CHECK(share(ax, plain.ax, plain.tolerance_ax) <= 1);
      if (with_rows) CHECK(share(abs_rows, plain.abs_rows, plain.tolerance_rows) <= 1);
      if (with_ax) CHECK(share(abs_ax, plain.abs_ax, plain.tolerance_ax) <= 1);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("generate gives MatrixSpec's elements, rounded once", "[generate]", float,
                   double) {
  Bench b;
  for (const Part& part : small_parts())
    for (const MatrixKind kind : kinds) check_generated<TestType>(b, part, kind);
}

TEMPLATE_TEST_CASE("generate: a few blocks of a large matrix", "[generate]", float, double) {
  Bench b;
  for (const Part& part : parts_of_large())
    for (const MatrixKind kind : kinds)
      if (kind != MatrixKind::dominant || part.n <= 180000)
        check_generated<TestType>(b, part, kind);
}

TEST_CASE("multiply_generated sums products with MatrixSpec's elements in FP64", "[generate]") {
  Bench b;
  for (const Part& part : small_parts())
    for (const MatrixKind kind : kinds) check_product(b, part, kind, 1);
}

TEST_CASE("multiply_generated: large and small vectors, a few blocks of a large matrix",
          "[generate]") {
  Bench b;
  for (const double size : {1e-200, 1e200})
    for (const MatrixKind kind : kinds) check_product(b, {301, 7, 2, 3, 1, 2}, kind, size);
  for (const Part& part : parts_of_large())
    for (const MatrixKind kind : kinds)
      if (kind != MatrixKind::dominant || part.n <= 180000) check_product(b, part, kind, 1);
}
}  // namespace speedwell::test::generate_tests
