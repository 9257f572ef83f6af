// SPDX-License-Identifier: BSD-3-Clause
// Tests of matrices and right-hand sides from functions, from one rank, and in block-cyclic parts.
#include <speedwell/error.hpp>
#include <speedwell/matrix.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "mpi/sources.hpp"

namespace speedwell::test::sources_tests {
// --- functions

TEST_CASE("a matrix of a function of indices", "[sources]") {
  const Communicator all = world();
  for (const std::int64_t n : {1, 2, 13, 40})
    require_matrix(all, Matrix::from_function(n, fraction), n, fraction);
}

TEST_CASE("right-hand sides of a function", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (const std::int64_t n : {1, 2, 13}) {
    const RightHandSide b = RightHandSide::from_function(3, fraction);
    require_right_hand_side(all, b, n, 3, fraction);
    CHECK(solution(b, grid, n, 3, simple) == dense(n, 3, n, simple));
  }
  const RightHandSide ones = RightHandSide::of_ones();
  ones.source().check(all, 5);
  CHECK(ones.source().count() == 0);
  CHECK(solution(ones, grid, 5, 1, simple) == dense(5, 1, 5, simple));
  std::vector<double> b(5);
  CHECK_THROWS_AS(ones.source().get(grid, 0, b), Fault);
}

TEST_CASE("an exception of a user's function leaves its rank, and others get an AgreedFault",
          "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const int last = all.size() - 1;
  const auto on_last = [&](std::int64_t i, std::int64_t j) {
    if (all.rank() == last && i + j > 3) throw std::out_of_range("no such element");
    return 1.0;
  };
  const Matrix a = Matrix::from_function(40, on_last);
  const RightHandSide b = RightHandSide::from_function(1, on_last);
  std::vector<double> column(40);
  const auto filled = [&](const Matrix& matrix) {
    on_this_rank(comm_world(), [&] { Part(matrix.source(), grid, 3); });
  };
  const auto get = [&] { on_this_rank(comm_world(), [&] { b.source().get(grid, 0, column); }); };
  if (all.rank() == last) {
    CHECK_THROWS_AS(filled(a), std::out_of_range);
    CHECK_THROWS_AS(get(), std::out_of_range);
  } else {
    CHECK_THROWS_AS(filled(a), AgreedFault);
    CHECK_THROWS_WITH(get(), ContainsSubstring("no such element"));
  }
  const Matrix odd =
      Matrix::from_function(40, [](std::int64_t, std::int64_t) -> double { throw 7; });
  CHECK_THROWS_AS(filled(odd), int);
}

TEST_CASE("functions that cannot be used are refused", "[sources]") {
  const Communicator all = world();
  const auto matrix = [&](std::int64_t n, const ElementFunction& element) {
    return refusal(all, [&] { Matrix::from_function(n, element).source().check(all); });
  };
  CHECK(matrix(0, simple) == "A is of order 0; allowed: at least 1");
  CHECK(matrix(3, {}) == "the function of A's elements is empty");
  const auto b = [&](std::int64_t count, const ElementFunction& element) {
    return refusal(all,
                   [&] { RightHandSide::from_function(count, element).source().check(all, 3); });
  };
  CHECK(b(0, simple) == "b has 0 columns; allowed: at least 1");
  CHECK(b(3, {}) == "the function of b's elements is empty");
}

// --- arrays on one rank

TEST_CASE("a matrix that lies on one rank", "[sources]") {
  const Communicator all = world();
  for (int root = 0; root < all.size(); ++root)
    for (const std::int64_t n : {1, 2, 13, 40}) {
      const std::int64_t lda = n + root;
      std::vector<double> a;
      if (all.rank() == root) a = dense(n, n, lda, fraction);
      require_matrix(all, Matrix::dense(n, a.data(), lda, root), n, fraction);
    }
}

TEST_CASE("a matrix of many slices", "[sources]") {
  const Communicator all = world();
  constexpr std::int64_t n = 1100;  // a slice has 476 columns
  std::vector<double> a;
  if (all.rank() == 0) a = dense(n, n, n, fraction);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (const std::int64_t nb : {256, 700})
    REQUIRE(Part(Matrix::dense(n, a.data(), n).source(), grid, nb).is(fraction));
}

TEST_CASE("the matrix of a single rank is read in place", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const std::vector<double> a = dense(5, 5, 7, fraction);
  const auto place =
      Matrix::dense(5, a.data(), 7).source().in_place(grid, grid.rows(5, 2), grid.columns(5, 2));
  REQUIRE(place.has_value() == (all.size() == 1));
  if (place)
    CHECK((place->data == a.data() && place->rows == 5 && place->columns == 5 && place->ld == 7));
}

TEST_CASE("right-hand sides that lie on one rank", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (int root = 0; root < all.size(); ++root) {
    std::vector<double> b;
    if (all.rank() == root) b = dense(13, 3, 15, fraction);
    const RightHandSide source = RightHandSide::dense(3, b.data(), 15, root);
    require_right_hand_side(all, source, 13, 3, fraction);
    CHECK(solution(source, grid, 13, 3, simple) ==
          (all.rank() == root ? dense(13, 3, 13, simple) : std::vector<double>{}));
  }
}

TEST_CASE("arrays that cannot be used are refused", "[sources]") {
  const Communicator all = world();
  const double a[9] = {};
  const auto matrix = [&](std::int64_t n, const double* data, std::int64_t lda, int root) {
    return refusal(all, [&] { Matrix::dense(n, data, lda, root).source().check(all); });
  };
  const std::string last = std::to_string(all.size() - 1);
  CHECK(matrix(3, a, 3, 0).empty());
  CHECK(matrix(0, a, 3, 0) == "A is of order 0; allowed: at least 1");
  CHECK(matrix(3, a, 2, 0) == "the leading dimension of A is 2; allowed: at least its 3 rows");
  CHECK(matrix(3, nullptr, 3, 0) == "A is null; allowed: the array on rank 0");
  CHECK(matrix(3, all.rank() == 0 ? a : nullptr, all.rank() == 0 ? 3 : 0, 0).empty());
  for (const int root : {-1, all.size()})
    CHECK(matrix(3, a, 3, root) ==
          "A is said to be on rank " + std::to_string(root) + "; allowed: 0 to " + last);
  const auto b = [&](std::int64_t count, const double* data, std::int64_t ldb, int root) {
    return refusal(all,
                   [&] { RightHandSide::dense(count, data, ldb, root).source().check(all, 3); });
  };
  CHECK(b(0, a, 3, 0) == "b has 0 columns; allowed: at least 1");
  CHECK(b(1, a, 1, 0) == "the leading dimension of b is 1; allowed: at least its 3 rows");
  CHECK(b(1, nullptr, 3, 0) == "b is null; allowed: the array on rank 0");
}

// --- block-cyclic parts

TEST_CASE("a block-cyclic matrix is read in place", "[sources]") {
  const Communicator all = world();
  for (const GridShape& shape : grids(all.size()))
    for (const std::int64_t n : {1, 2, 13, 40})
      for (const std::int64_t nb : {1, 4, 64}) {
        CAPTURE(shape.nprow, shape.npcol, n, nb);
        const ProcessGrid grid(all, shape);
        const LocalPart local(grid, n, n, nb, nb, 0, 0, fraction);
        const Matrix a =
            Matrix::block_cyclic(descriptor(n, n, nb, nb, 0, 0, local.ld), local.memory.data());
        a.source().check(all);
        REQUIRE(a.source().block() == nb);
        const Distribution rows = grid.rows(n, nb);
        const Distribution columns = grid.columns(n, nb);
        const auto view = a.source().in_place(grid, rows, columns);
        REQUIRE(view);
        CHECK((view->data == local.memory.data() && view->ld == local.ld));
        CHECK((view->rows == rows.local_size() && view->columns == columns.local_size()));
        REQUIRE(Part(a.source(), grid, nb).is(fraction));
        const bool other =
            a.source().in_place(grid, grid.rows(n, 3), grid.columns(n, 3)).has_value();
        CHECK(other == (all.size() == 1 || n <= std::min<std::int64_t>(nb, 3)));
      }
}

TEST_CASE("a block-cyclic matrix is redistributed into blocks of another size", "[sources]") {
  const Communicator all = world();
  for (const GridShape& shape : grids(all.size()))
    for (const std::int64_t n : {1, 2, 13, 40, 131})
      for (const auto& [mb, nb] : {std::pair{1, 1}, {3, 3}, {64, 64}, {5, 2}, {200, 1}}) {
        const ProcessGrid grid(all, shape);
        for (const auto& [row, column] :
             {std::pair{0, 0}, {shape.nprow - 1, shape.npcol / 2}, {shape.nprow / 2, 0}}) {
          CAPTURE(shape.nprow, shape.npcol, name(shape.order), n, mb, nb, row, column);
          const LocalPart local(grid, n, n, mb, nb, row, column, fraction);
          const Matrix a = Matrix::block_cyclic(descriptor(n, n, mb, nb, row, column, local.ld),
                                                local.memory.data());
          a.source().check(all);
          for (const std::int64_t wanted : {1, 4, 16, 256})
            REQUIRE(Part(a.source(), grid, wanted).is(fraction));
        }
      }
}

TEST_CASE("a matrix is redistributed in many slabs", "[sources]") {
  const Communicator all = world();
  constexpr std::int64_t n = 1301;  // on two or three ranks there are several slabs
  const ProcessGrid grid(all, {all.size(), 1});
  const ProcessGrid wide(all, {1, all.size()});
  for (const ProcessGrid* g : {&grid, &wide}) {
    const Distribution rows = g->rows(n, 3);
    const Distribution columns = g->columns(n, 3);
    std::vector<double> local;
    for (std::int64_t j = 0; j < columns.local_size(); ++j)
      for (std::int64_t i = 0; i < rows.local_size(); ++i)
        local.push_back(fraction(rows.global({i}).value, columns.global({j}).value));
    const std::int64_t ld = std::max<std::int64_t>(rows.local_size(), 1);
    const Matrix a = Matrix::block_cyclic(descriptor(n, n, 3, 3, 0, 0, ld), local.data());
    REQUIRE(Part(a.source(), *g, 100).is(fraction));
  }
}

TEST_CASE("block-cyclic right-hand sides may have any distribution, which solutions then have",
          "[sources]") {
  const Communicator all = world();
  for (const GridShape& shape : grids(all.size()))
    for (const auto& [mb, nb] : {std::pair{1, 1}, {4, 2}, {3, 1}, {64, 64}}) {
      CAPTURE(shape.nprow, shape.npcol, mb, nb);
      const ProcessGrid grid(all, shape);
      const int row = shape.nprow - 1;
      const int column = shape.npcol / 2;
      const LocalPart b(grid, 13, 5, mb, nb, row, column, fraction);
      const RightHandSide source = RightHandSide::block_cyclic(
          descriptor(13, 5, mb, nb, row, column, b.ld), b.memory.data());
      source.source().check(all, 13);
      for (std::int64_t k = 0; k < 5; ++k) {
        std::vector<double> values(13, untouched);
        source.source().get(grid, k, values);
        const std::vector<double> whole = dense(13, 5, 13, fraction);
        REQUIRE(std::equal(values.begin(), values.end(), whole.begin() + 13 * k));
      }
      const LocalPart x(grid, 13, 5, mb, nb, row, column, simple);
      CHECK(solution(source, grid, 13, 5, simple) == x.memory);
    }
}

TEST_CASE("descriptors that cannot be used are refused", "[sources]") {
  const Communicator all = world();
  const double local[200] = {};
  const ProcessGrid grid(all, {1, all.size()});
  const auto a = [&](Descriptor d, const double* data) {
    return refusal(all, [&] {
      const Matrix source = Matrix::block_cyclic(d, data);
      source.source().check(all);
      source.source().in_place(grid, grid.rows(d[3], d[5]), grid.columns(d[3], d[5]));
    });
  };
  const auto changed = [](std::size_t entry, std::int64_t value) {
    Descriptor d = descriptor(10, 10, 2, 2, 0, 0, 10);
    d[entry] = value;
    return d;
  };
  CHECK(a(changed(1, 77), local).empty());
  CHECK(a(changed(0, 501), local) == "DTYPE_ of A's descriptor is 501; allowed: 1, a dense matrix");
  CHECK(a(changed(2, 9), local) ==
        "M_ of A's descriptor is 9; allowed: N_, which is 10: a square matrix");
  CHECK(a(changed(2, 0), local) == "M_ of A's descriptor is 0; allowed: at least 1");
  CHECK(a(changed(3, -1), local) == "N_ of A's descriptor is -1; allowed: at least 1");
  CHECK(a(changed(4, 3), local).empty());
  CHECK(a(changed(4, 0), local) == "MB_ of A's descriptor is 0; allowed: at least 1");
  CHECK(a(changed(5, 0), local) == "NB_ of A's descriptor is 0; allowed: at least 1");
  CHECK(a(changed(6, 1), local) == "RSRC_ of A's descriptor is 1; allowed: 0 to 0");
  CHECK(a(changed(7, all.size()), local) == "CSRC_ of A's descriptor is " +
                                                std::to_string(all.size()) + "; allowed: 0 to " +
                                                std::to_string(all.size() - 1));
  const int last = all.size() - 1;
  const auto named = [&](int rank) {
    return last > 0 ? "rank " + std::to_string(rank) + ": " : "";
  };
  CHECK(a(changed(8, 9), local) ==
        named(0) + "LLD_ of A's descriptor is 9; allowed: at least 10, the rows of process (0, 0)");
  // Only the last rank has an error, which all ranks must report.
  const auto place = "process (0, " + std::to_string(last) + ")";
  if (last < 5) {
    CHECK(a(changed(8, all.rank() == last ? 9 : 10), local) ==
          named(last) + "LLD_ of A's descriptor is 9; allowed: at least 10, the rows of " + place);
    CHECK(a(changed(1, 0), all.rank() == last ? nullptr : local) ==
          named(last) + "the local part of A is null on " + place +
              ", which has rows and columns of it");
  }

  const auto b = [&](Descriptor d) {
    return refusal(all, [&] {
      const RightHandSide source = RightHandSide::block_cyclic(d, local);
      std::vector<double> x;
      source.source().check(all, 10);
      source.source().prepare(grid, 10, x);
    });
  };
  CHECK(b(descriptor(10, 3, 2, 1, 0, last, 10)).empty());
  CHECK(b(descriptor(9, 3, 2, 1, 0, 0, 10)) ==
        "M_ of b's descriptor is 9; allowed: 10, the rows of A");
  CHECK(b(descriptor(10, 3, 2, 1, 1, 0, 10)) == "RSRC_ of b's descriptor is 1; allowed: 0 to 0");
  CHECK(b(descriptor(10, 3, 2, 1, 0, last + 1, 10)) ==
        "CSRC_ of b's descriptor is " + std::to_string(last + 1) + "; allowed: 0 to " +
            std::to_string(last));
  CHECK(b(descriptor(10, 3, 2, 1, 0, -1, 10)).starts_with("CSRC_ of b's descriptor is -1"));
}
}  // namespace speedwell::test::sources_tests
