// SPDX-License-Identifier: BSD-3-Clause
// A, b or x that change in memory while a system is solved: x is that of the A and b that were
// given, or there is none.
#include <mpi.h>
#include <speedwell/solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "comm/process_grid.hpp"
#include "device_choice.hpp"
#include "pipeline.hpp"
#include "solve/small_solver.hpp"
#include "source/source.hpp"

namespace speedwell::test::memory_faults_tests {
namespace {

constexpr std::int64_t n = 37;

double element(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * 7 + j * j)) + (i == j ? 8 : 0);
}

double known(std::int64_t j) {
  return 1 + static_cast<double>(j) / 64;
}

double product(std::int64_t i) {
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += element(i, j) * known(j);
  return sum;
}

double error(const std::vector<double>& x) {
  double most = 0;
  for (std::int64_t j = 0; j < n; ++j)
    most = std::max(most, std::fabs(x[static_cast<std::size_t>(j)] - known(j)));
  return most;
}

std::vector<GridShape> shapes() {
  return grids(Communicator::duplicate(MPI_COMM_WORLD).size());
}

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int last_rank() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks - 1;
}

// A source that shows where a rank has its part of A in host memory.
class Shown final : public MatrixSource {
 public:
  std::int64_t n() const override { return memory_faults_tests::n; }
  std::string description() const override { return "shown"; }
  void check(const Communicator& /*all*/) const override {}
  void fill(const ProcessGrid& /*grid*/, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    ++fills;
    a.by_columns([&](std::int64_t first, MatrixView<double> to) {
      part = to;
      for (std::int64_t j = 0; j < to.columns; ++j)
        for (std::int64_t i = 0; i < to.rows; ++i)
          to(i, j) = element(rows.global({i}).value, columns.global({first + j}).value);
    });
    if (flips_once_filled && fills == 1) flip();
  }
  // Changes the rank's last element.
  void flip() const {
    if (part.rows > 0 && part.columns > 0) part(part.rows - 1, part.columns - 1) += 0.5;
  }
  // Exchanges two elements of the rank's first column, of which the sum of all bits shows nothing.
  void exchange() const {
    if (part.rows > 1 && part.columns > 0) std::swap(part(0, 0), part(part.rows - 1, 0));
  }

  bool flips_once_filled = false;  // in the first fill(), on each rank
  mutable MatrixView<double> part;
  mutable int fills = 0;
};

// Two right-hand sides, which harm what they were given to fill or to keep, once, on the last rank.
class Harmed final : public RightHandSideSource {
 public:
  enum class What { nothing, b, made_x, stored_x };
  explicit Harmed(What what) : what_(what) {}

  std::int64_t count() const override { return 2; }
  std::string description() const override { return "harmed"; }
  void check(const Communicator& /*all*/, std::int64_t /*n*/) const override {}
  void get(const ProcessGrid& /*grid*/, std::int64_t k, std::span<double> b) const override {
    for (std::int64_t i = 0; i < n; ++i)
      b[static_cast<std::size_t>(i)] = static_cast<double>(k + 1) * product(i);
    ++gets;
    if (k == 1 && gets > 2 && harms(What::b)) std::swap(first_[2], first_[5]);
    if (k == 0) first_ = b;
  }
  void prepare(const ProcessGrid& /*grid*/, std::int64_t /*n*/,
               std::vector<double>& x) const override {
    x.assign(2 * n, 0.0);
  }
  void put(const ProcessGrid& /*grid*/, std::int64_t k, std::span<const double> solution,
           std::vector<double>& x) const override {
    // The memory is not const: the source is shown it so.
    if (k == 1 && harms(What::made_x)) const_cast<double&>(solution[3]) *= 2;
    std::ranges::copy(solution, x.begin() + k * n);
    if (k == 1 && harms(What::stored_x)) std::swap(x[1], x[7]);
  }
  std::span<const double> stored(const ProcessGrid& /*grid*/, std::int64_t k,
                                 const std::vector<double>& x) const override {
    return std::span(x).subspan(static_cast<std::size_t>(k * n), n);
  }

  mutable int gets = 0;
  mutable bool harmed = false;

 private:
  bool harms(What what) const {
    if (what_ != what || harmed || rank() != last_rank()) return false;
    return harmed = true;
  }

  What what_;
  mutable std::span<double> first_;  // memory of b that get() has filled
};

// A right-hand side that calls `first` where it is read, each rank for its rows: after A is.
template <class Work>
RightHandSide after(const Work& first) {
  return RightHandSide::from_function(1, [first](std::int64_t i, std::int64_t) {
    first();
    return product(i);
  });
}

}  // namespace

TEST_CASE("an A whose bits have changed in memory is read again", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu) return;
  for (const GridShape shape : shapes()) {
    CAPTURE(shape.nprow, shape.npcol);
    const auto source = std::make_shared<Shown>();
    bool flipped = false;
    const auto flip_once = [&] {
      if (!flipped && rank() == last_rank()) source->flip();
      flipped = true;
    };
    const Solution s = solve(MPI_COMM_WORLD, Matrix(source), after(flip_once), options(shape, 8));
    const bool has_part = source->part.rows > 0 && source->part.columns > 0;
    const bool last_has_part =
        Communicator::duplicate(MPI_COMM_WORLD)
            .all_reduce(std::int64_t{rank() == last_rank() && has_part}, Reduction::max) == 1;
    CHECK(source->fills == (last_has_part ? 2 : 1));
    CHECK(error(s.x) < 1e-14);
    REQUIRE(!s.steps.empty());
    CHECK(s.steps.back().solved);
    if (!last_has_part) continue;
    const std::string expected = "of rank " + std::to_string(last_rank()) + "'s part";
    CHECK(s.steps.front().why.find("A has changed in memory") != std::string::npos);
    CHECK(s.steps.front().why.find(expected) != std::string::npos);
  }
}

TEST_CASE("an A that has changed before the first pass over it is read again", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu) return;
  for (const GridShape shape : shapes()) {
    CAPTURE(shape.nprow, shape.npcol);
    const auto source = std::make_shared<Shown>();
    source->flips_once_filled = true;
    const Solution s = solve(MPI_COMM_WORLD, Matrix(source), after([] {}), options(shape, 8));
    CHECK(source->fills == 2);
    CHECK(error(s.x) < 1e-14);
    CHECK(s.steps.front().why.find("A has changed in memory") != std::string::npos);
    if (last_rank() > 0) continue;
    const auto small = std::make_shared<Shown>();
    small->flips_once_filled = true;
    CHECK(error(solve(MPI_COMM_WORLD, Matrix(small), after([] {}), SolveOptions{}).x) < 1e-14);
    CHECK(small->fills == 2);
  }
}

TEST_CASE("an A with two numbers in each other's place is read again", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu) return;
  for (const GridShape shape : shapes()) {
    CAPTURE(shape.nprow, shape.npcol);
    const auto source = std::make_shared<Shown>();
    bool changed = false;
    const auto exchange_once = [&] {
      if (!changed && rank() == 0) source->exchange();
      changed = true;
    };
    const Solution s =
        solve(MPI_COMM_WORLD, Matrix(source), after(exchange_once), options(shape, 8));
    CHECK(source->fills == 2);
    CHECK(error(s.x) < 1e-14);
    CHECK(s.steps.front().why.find("column 1 (counted from 1) of rank 0's part") !=
          std::string::npos);
  }
}

TEST_CASE("a b or an x that has changed in memory is found again", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu) return;
  using What = Harmed::What;
  for (const GridShape shape : shapes())
    for (const auto& [what, words] : std::vector<std::pair<What, std::string>>{
             {What::nothing, ""},
             {What::b, "b has changed in memory since it was read"},
             {What::made_x, "x has changed in memory since it was found"},
             {What::stored_x, "x has changed in memory since it was found"}}) {
      CAPTURE(shape.nprow, shape.npcol, words);
      const auto sides = std::make_shared<Harmed>(what);
      const Solution s = solve(MPI_COMM_WORLD, Matrix(std::make_shared<Shown>()),
                               RightHandSide(sides), options(shape, 8));
      CHECK(sides->harmed == (what != What::nothing && rank() == last_rank()));
      std::vector<double> second(s.x.begin() + n, s.x.end());
      for (double& value : second) value /= 2;
      CHECK(error({s.x.begin(), s.x.begin() + n}) < 1e-14);
      CHECK(error(second) < 1e-14);
      REQUIRE(!s.steps.empty());
      CHECK(s.steps.back().solved);
      CHECK(s.steps.front().why.find(words) != std::string::npos);
      CHECK((s.steps.size() > 1) == (what != What::nothing));
    }
}

TEST_CASE("a b that is another one when it is read again is not solved", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu) return;
  std::vector<double> b;
  for (std::int64_t i = 0; i < n; ++i) b.push_back(product(i));
  const auto change = [&](const Progress& /*progress*/) { b[3] += 1; };  // on rank 0
  std::string words;
  try {
    solve(MPI_COMM_WORLD, Matrix(std::make_shared<Shown>()), RightHandSide::dense(1, b.data(), n),
          options(shapes().front(), 64), change);
  } catch (const AccuracyError& e) {
    words = e.what();
  }
  CHECK(words.find("b has changed in memory since it was read: column 1") != std::string::npos);
}

TEST_CASE("an A of a small system that has changed in memory is read again", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu || last_rank() > 0) return;
  SolveOptions small;
  small.run.device = DeviceKind::cpu;
  REQUIRE(is_small(MPI_COMM_WORLD, n, small));
  using Change = void (Shown::*)() const;
  for (const auto change : {Change{&Shown::flip}, Change{&Shown::exchange}}) {
    const auto source = std::make_shared<Shown>();
    bool changed = false;
    const auto change_once = [&] {
      if (!std::exchange(changed, true)) (*source.*change)();
    };
    const Solution s = solve(MPI_COMM_WORLD, Matrix(source), after(change_once), small);
    CHECK(source->fills == 2);
    CHECK(error(s.x) < 1e-14);
  }
}

TEST_CASE("the determinant of a small A that has changed in memory is found again",
          "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu || last_rank() > 0) return;
  const auto source = std::make_shared<Shown>();
  Factorization factors(MPI_COMM_WORLD, Matrix(source), SolveOptions{});
  const double right = factors.determinant().log_magnitude;
  source->exchange();
  CHECK(std::fabs(factors.determinant().log_magnitude - right) < 1e-13 * std::fabs(right));
  CHECK(source->fills == 2);
}

TEST_CASE("an A that changes in memory again and again is not solved", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu) return;
  const auto source = std::make_shared<Shown>();
  const auto flip = [&](const Progress& /*progress*/) { source->flip(); };  // on rank 0
  CHECK_THROWS_AS(solve(MPI_COMM_WORLD, Matrix(source), RightHandSide::of_ones(),
                        options(shapes().front(), 8), flip),
                  AccuracyError);
  CHECK(source->fills == 3);
}

TEST_CASE("an A that has changed in the caller's memory is not solved", "[solve][memory]") {
  if (device_choice().device != DeviceKind::cpu || last_rank() > 0) return;
  for (const StorageOrder order : {StorageOrder::column_major, StorageOrder::row_major}) {
    std::vector<double> a;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        a.push_back(order == StorageOrder::column_major ? element(i, j) : element(j, i));
    const auto change = [&] { a[17 * n + 3] *= 1 + 1e-9; };
    const Matrix matrix = Matrix::dense(n, a.data(), n, 0, order);
    for (const SolveOptions& o : {options(shapes().front(), 8), SolveOptions{}}) {
      const double given = a[17 * n + 3];
      Factorization factors(MPI_COMM_WORLD, matrix, o);
      std::string words;
      try {
        factors.solve(after(change));
      } catch (const AccuracyError& e) {
        words = e.what();
      }
      const std::string line = order == StorageOrder::column_major ? "column 18" : "row 18";
      CHECK(words.find("A has changed in memory since it was read: " + line) != std::string::npos);
      a[17 * n + 3] = given;
    }
  }
}
}  // namespace speedwell::test::memory_faults_tests
