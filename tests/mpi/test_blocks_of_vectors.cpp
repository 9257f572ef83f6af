// SPDX-License-Identifier: BSD-3-Clause
// Products, residuals, solves and GMRES for several vectors together, beside those of each alone.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "device/checksum_keys.hpp"
#include "held_problem.hpp"
#include "refine/residual_sketch.hpp"

namespace speedwell::test::blocks_of_vectors_tests {
namespace {

/// The power of two by which entry g of a vector is scaled.
double power(std::int64_t g, int spread) {
  return std::ldexp(1., static_cast<int>(g * 5 % 9 - 4) * spread);
}

/// Scales of rows 2^shift times powers of two that differ, and of columns that differ.
Scales scales(const HeldProblem& p, int shift, int spread) {
  Scales s{Vector(static_cast<std::size_t>(p.a.rows().local_size())),
           Vector(static_cast<std::size_t>(p.a.columns().local_size()))};
  for (std::size_t i = 0; i < s.rows.size(); ++i)
    s.rows[i] =
        std::ldexp(power(p.a.rows().global({static_cast<std::int64_t>(i)}).value, spread), shift);
  for (std::size_t j = 0; j < s.columns.size(); ++j)
    s.columns[j] = power(p.a.columns().global({static_cast<std::int64_t>(j)}).value + 2, spread);
  return s;
}

/// ||r||_2 of a whole vector.
double norm(const Vector& r) {
  double sum = 0;
  for (const double value : r) sum += value * value;
  return std::sqrt(sum);
}

void check_equal(const Vector& mine) {
  Vector of_root = mine;
  world().broadcast(std::span(of_root), 0);
  CHECK(mine == of_root);
}

}  // namespace

TEST_CASE("a watched system takes A's checksum in the pass of its residuals", "[refine]") {
  const Communicator all = world();
  const std::int64_t n = order();
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    HeldProblem p(all, shape, matrix_of(MatrixKind::hpl, n, 8));
    const auto queue = p.device->make_queue(Priority::normal);
    const std::int64_t columns = p.a.columns().local_size();
    const Buffer memory = p.device->allocate((columns + 1) * 8);
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(columns) + 1);
    const KeysOfPlaces keys(0, columns);
    const auto sum_now = [&] {
      p.device->checksums_of_columns(*queue, p.held.local(), memory.as<std::uint64_t>());
      p.device->download(*queue, memory.as<std::uint64_t>(), sums);
      return MatrixChecksum{
          sums.back(), std::inner_product(keys.columns.begin(), keys.columns.end(), sums.begin(),
                                          std::uint64_t{0})};
    };
    System plain = p.system(scales(p, 3, 1));
    const auto residuals = [&](System& system, std::int64_t count) {
      const std::vector<Vector> whole = random_vectors(n, count);
      system.errors(local(system.x_part(), whole), local(system.b_part(), whole), true);
      return system.checksum();
    };
    CHECK(!residuals(plain, 1));
    plain.watch();
    CHECK(!plain.checksum());
    System transposed = plain.transposed();
    for (System* system : {&plain, &transposed}) {
      CHECK(residuals(*system, 1) == sum_now());
      CHECK(residuals(*system, Device::few_vectors) == sum_now());
      CHECK(!residuals(*system, Device::few_vectors + 1));
    }
    const MatrixChecksum before = sum_now();
    const bool has_part = columns > 0 && p.a.rows().local_size() > 0;
    if (has_part)
      p.device->clear(*queue, {reinterpret_cast<std::byte*>(p.held.local().as<double>().data), 8});
    queue->synchronize();
    CHECK(residuals(plain, 1) == sum_now());
    CHECK((sum_now() != before) == has_part);
  }
}

TEST_CASE("norms of residuals are estimated to a factor, whatever the residual is", "[refine]") {
  const auto all = world();
  const std::int64_t n = order();
  const auto residual = [&](std::int64_t k, std::int64_t i) {
    const double wave = std::sin(static_cast<double>(i * i * 13 + i * 7 + k));
    switch (k % 6) {
      case 0:
        return wave;
      case 1:
        return i == (11 * k + 4) % n ? 1. : 0.;
      case 2:
        return 1.;
      case 3:
        return i % 2 == 0 ? 1. : -1.;
      case 4:
        return std::exp(-static_cast<double>(i)) * wave;
      default:
        return i < n / 2 ? 3. : -1e-3;
    }
  };
  for (const GridShape shape : grids(all.size()))
    for (const bool scaled : {false, true}) {
      CAPTURE(shape.nprow, shape.npcol, scaled);
      HeldProblem p(all, shape, matrix_of(MatrixKind::hpl, n, 8));
      System system = p.system(scaled ? scales(p, 3, 1) : Scales{});
      constexpr std::int64_t count = 24;
      std::vector<Vector> whole = random_vectors(n, count);
      std::vector<Vector> residuals(count, Vector(static_cast<std::size_t>(n)));
      for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          residuals[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)] = residual(k, i);
      // b = A y + r.
      const MultiVector y = local(p.a.columns(), whole);
      MultiVector b = system.multiply(y);
      const MultiVector r = local(p.a.rows(), residuals);
      for (std::size_t i = 0; i < b.all().size(); ++i) b.all()[i] += r.all()[i];
      ResidualSketch sketch(system, *p.device, 1);
      const ResidualSketch::Estimates found = sketch.estimate(y, b);
      check_equal(found.residuals);
      check_equal(found.errors);
      // ||R A C||_F, column by column.
      double frobenius = 0;
      const VectorSpace of_rows(p.grid, Layout::rows);
      for (std::int64_t j = 0; j < n; ++j) {
        Vector e(static_cast<std::size_t>(n), 0.);
        e[static_cast<std::size_t>(j)] = 1;
        const Vector column = system.multiply(local_part(p.a.columns(), e));
        frobenius = std::hypot(frobenius, norm(of_rows.gather(p.a.rows(), column)));
      }
      for (std::int64_t k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const double exact = norm(residuals[at]);
        CAPTURE(k, exact, found.residuals[at]);
        CHECK(found.residuals[at] >= exact / ResidualSketch::certainty);
        CHECK(found.residuals[at] <= 2.5 * exact);
        const double size = frobenius * norm(whole[at]) + norm(of_rows.gather(p.a.rows(), b[k]));
        CHECK(found.errors[at] * size == Approx(found.residuals[at]).epsilon(0.5));
      }
    }
}

TEST_CASE("estimates of residuals that are zero, NaN or out of range", "[refine]") {
  const auto all = world();
  const std::int64_t n = order();
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    HeldProblem p(all, shape, matrix_of(MatrixKind::scaled_diagonal, n, 8));
    System system = p.system();
    std::vector<Vector> y = random_vectors(n, 9);
    std::vector<Vector> b = random_vectors(n, 9, 2);
    ResidualSketch sketch(system, *p.device, 1);
    const auto estimate = [&] {
      return sketch.estimate(local(p.a.columns(), y), local(p.a.rows(), b));
    };
    const ResidualSketch::Estimates before = estimate();
    y[1][3] = unknown;
    b[2][5] = unknown;
    b[3][0] = -infinity;
    y[4].back() = infinity;
    std::ranges::fill(y[5], 0.);
    std::ranges::fill(b[5], 0.);
    for (double& value : y[6]) value *= 1e200;  // its square is infinite
    const ResidualSketch::Estimates found = estimate();
    check_equal(found.residuals);
    check_equal(found.errors);
    for (const std::size_t k : {1, 2, 3, 4}) {
      CAPTURE(k);
      CHECK(found.residuals[k] == infinity);
      CHECK(found.errors[k] == infinity);
    }
    CHECK(found.residuals[5] == 0);
    CHECK(found.errors[5] == 0);
    CHECK(found.errors[6] > 0.01);  // of an x that is wrong in every digit
    for (const std::size_t k : {0, 7, 8}) {
      CHECK(found.residuals[k] == before.residuals[k]);
      CHECK(found.errors[k] == before.errors[k]);
    }
  }
}

TEST_CASE("no residual is small because a norm is beyond FP64's range", "[refine]") {
  const auto all = world();
  const std::int64_t n = order();
  for (const GridShape shape : grids(all.size()))
    for (const int shift : {-530, 530}) {
      CAPTURE(shape.nprow, shape.npcol, shift);
      HeldProblem p(all, shape, matrix_of(MatrixKind::scaled_diagonal, n, 8));
      System system = p.system(scales(p, shift, 0));
      std::vector<Vector> whole = random_vectors(n, 9);
      for (Vector& v : whole)
        for (double& value : v) value = std::ldexp(value, -shift);
      const MultiVector y = local(p.a.columns(), whole);
      MultiVector b = system.multiply(y);
      for (double& value : b.all()) value *= 1.01;
      for (const double error : ResidualSketch(system, *p.device, 1).estimate(y, b).errors)
        CHECK(error > 1e-4);
    }
}

TEST_CASE("residuals and bounds of many vectors are those of each alone", "[refine]") {
  const auto all = world();
  const std::int64_t n = order();
  struct Case {
    int shift;
    int spread;
    bool in_fp32;
  };
  for (const GridShape shape : grids(all.size()))
    for (const Case c : {Case{0, 0, true}, Case{0, 3, true}, Case{660, 0, false},
                         Case{-660, 2, false}, Case{-100, 0, false}, Case{110, 0, false}})
      for (const std::int64_t count : {1, 8, 9, 21}) {
        CAPTURE(shape.nprow, shape.npcol, c.shift, c.spread, count);
        HeldProblem p(all, shape, matrix_of(MatrixKind::hpl, n, 8));
        const bool scaled = c.shift != 0 || c.spread != 0;
        System system = p.system(scaled ? scales(p, c.shift, c.spread) : Scales{});
        std::vector<Vector> whole = random_vectors(n, count);
        for (double& value : whole.back()) value *= 1e-90;
        for (double& value : whole.front()) value *= 1e30;
        if (count > 5)
          for (std::size_t i = 0; i < whole[4].size(); ++i)
            whole[4][i] *= i % 3 == 0 ? 0 : i % 3 == 1 ? -1e-9 : 1;
        const MultiVector y = local(p.a.columns(), whole);
        MultiVector b = system.multiply(y);
        for (std::size_t i = 0; i < b.all().size(); ++i)
          b.all()[i] *= 1 + 1e-3 * static_cast<double>(i % 7);
        const System::Errors found = system.errors(y, b, true);
        REQUIRE(found.bound.count() == count);
        CHECK(system.errors(y, b, false).bound.count() == 0);
        const double dimension = static_cast<double>(n + 4);
        const double unit = count > 8 && c.in_fp32 ? 0x1p-24 : eps;
        double away = 0;
        for (std::int64_t k = 0; k < count; ++k) {
          const System::Errors alone =
              system.errors(MultiVector(y.vector(k)), MultiVector(b.vector(k)), true);
          for (std::int64_t i = 0; i < b.size(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double bound = alone.bound[0][at];
            REQUIRE(bound > 0);
            REQUIRE(std::fabs(found.bound[k][at] - bound) <= unit * dimension * bound);
            REQUIRE(std::fabs(found.residual[k][at] - alone.residual[0][at]) <=
                    2 * eps * dimension * bound);
            away = std::max(away, std::fabs(found.bound[k][at] / bound - 1));
          }
        }
        away = all.all_reduce(away, Reduction::max);
        CHECK((away > 64 * eps * dimension) ==
              (count > 8 && c.in_fp32));  // which it was computed in
        // A componentwise error sees residuals that are NaN.
        System::Errors broken = system.errors(y, b, true);
        if (broken.residual.size() > 0) broken.residual[0][0] = unknown;
        const Vector errors = system.componentwise_errors(broken.residual, broken.bound);
        check_equal(errors);
        CHECK(errors[0] == infinity);
        for (std::size_t k = 1; k < errors.size(); ++k) CHECK(errors[k] < 1e-2);
      }
}

TEST_CASE("bounds of many vectors hold in rows that are tiny beside the others", "[refine]") {
  const auto all = world();
  const std::int64_t n = order();
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    HeldProblem p(all, shape, matrix_of(MatrixKind::hpl, n, 8));
    Scales graded{Vector(static_cast<std::size_t>(p.a.rows().local_size())), {}};
    for (std::size_t i = 0; i < graded.rows.size(); ++i)
      graded.rows[i] = std::ldexp(
          1., -5 * static_cast<int>(p.a.rows().global({static_cast<std::int64_t>(i)}).value));
    System system = p.system(std::move(graded));
    const MultiVector y = local(p.a.columns(), random_vectors(n, 9));
    const MultiVector b(p.a.rows().local_size(), 9);
    const System::Errors found = system.errors(y, b, true);
    for (std::int64_t k = 0; k < 9; ++k) {
      const System::Errors alone =
          system.errors(MultiVector(y.vector(k)), MultiVector(b.vector(k)), true);
      for (std::size_t i = 0; i < alone.bound[0].size(); ++i)
        REQUIRE(std::fabs(found.bound[k][i] / alone.bound[0][i] - 1) <=
                0x1p-24 * static_cast<double>(n + 4));
    }
  }
}

TEST_CASE("several vectors are solved for as each alone", "[refine][many]") {
  const auto all = world();
  const std::int64_t n = order();
  for (const GridShape shape : grids(all.size()))
    for (const Precision storage : {Precision::fp32, Precision::fp64})
      for (const std::int64_t count : {2, 8, 9, 19})
        for (const bool transposed : {false, true}) {
          CAPTURE(shape.nprow, shape.npcol, name(storage), count, transposed);
          HeldProblem p(all, shape, matrix_of(MatrixKind::scaled_diagonal, n, 8), storage);
          p.factor_in(storage);
          LuSolver solver = p.solver();
          const Distribution& from = transposed ? p.a.columns() : p.a.rows();
          const auto solve = [&](const MultiVector& r) {
            return transposed ? solver.solve_transposed(r) : solver.solve(r);
          };
          std::vector<Vector> whole = random_vectors(n, count);
          for (double& value : whole.back()) value *= 1e-300;
          for (double& value : whole.front()) value *= 1e300;
          const MultiVector together = solve(local(from, whole));
          REQUIRE(together.count() == count);
          const bool in_fp32 = storage == Precision::fp32 && count > 8;
          const double unit = in_fp32 ? 0x1p-24 : eps;
          double worst = 0;
          for (std::int64_t k = 0; k < count; ++k) {
            const Vector alone =
                solve(MultiVector(local_part(from, whole[static_cast<std::size_t>(k)]))).only();
            double size = all.all_reduce(largest(alone), Reduction::max);
            for (std::size_t i = 0; i < alone.size(); ++i)
              worst = std::max(worst, std::fabs(together[k][i] - alone[i]) / size);
          }
          worst = all.all_reduce(worst, Reduction::max);
          CHECK(worst <= 4 * static_cast<double>(n) * unit);
          CHECK((worst > 64 * static_cast<double>(n) * eps) == in_fp32);
          // A NaN or Inf leaves the others as they are, to the last bit.
          std::vector<Vector> bad = whole;
          bad[1][static_cast<std::size_t>(n / 2)] = unknown;
          if (count > 2) bad[static_cast<std::size_t>(count - 2)].back() = -infinity;
          const MultiVector beside = solve(local(from, bad));
          for (std::int64_t k = 0; k < count; ++k) {
            if (k == 1 || (count > 2 && k == count - 2)) {
              const Layout layout = transposed ? Layout::rows : Layout::columns;
              MultiVector one(beside.vector(k));
              CHECK(VectorSpace(p.grid, layout).largest(one)[0] == infinity);
              continue;
            }
            CAPTURE(k);
            CHECK(std::ranges::equal(beside[k], together[k]));
          }
        }
}

TEST_CASE("GMRES solves for several right-hand sides as for each alone", "[refine]") {
  const auto all = world();
  const std::int64_t n = 120;
  for (const GridShape shape : grids(all.size())) {
    HeldProblem p(all, shape, matrix_of(MatrixKind::fasi_higham, n, 16, 3e5));
    p.factor_in(Precision::bf16);
    System system = p.system();
    LuSolver solver = p.solver();
    for (const RefineMethod method : {RefineMethod::automatic, RefineMethod::gmres})
      for (const std::int64_t count : {3, 11}) {
        CAPTURE(shape.nprow, shape.npcol, count, name(method));
        std::vector<Vector> whole = random_vectors(n, count);
        whole[1][7] = unknown;
        std::ranges::fill(whole[2], 0.);
        const RefineOptions options{
            .method = method, .max_iterations = 200, .width = 16, .stop = StopRule::componentwise};
        const MultiVector b = local(p.a.rows(), whole);
        const std::vector<RefineOutcome> found = refine(system, solver, b, options);
        REQUIRE(std::ssize(found) == count);
        for (std::int64_t k = 0; k < count; ++k) {
          const RefineOutcome& out = found[static_cast<std::size_t>(k)];
          const RefineOutcome alone =
              refine(system, solver, MultiVector(b.vector(k)), options).front();
          CAPTURE(k, out.iterations, alone.iterations, out.error);
          CHECK(out.converged == (k != 1));
          if (k == 1) {
            CHECK(out.error == infinity);
            CHECK(out.iterations == 0);
            continue;
          }
          CHECK(out.converged == alone.converged);
          CHECK(out.method == alone.method);
          CHECK((out.method == RefineMethod::gmres) == (k != 2 || method == RefineMethod::gmres));
          // FP32 solves of many vectors may cost another cycle.
          CHECK(out.iterations <= 2 * alone.iterations + 4);
          CHECK(alone.iterations <= 1.3 * out.iterations + 2);
          const System::Errors errors =
              system.errors(MultiVector(out.x), MultiVector(b.vector(k)), true);
          CHECK(system.componentwise_errors(errors.residual, errors.bound)[0] <=
                1.02 * default_tolerance(n));
        }
      }
  }
}

}  // namespace speedwell::test::blocks_of_vectors_tests
