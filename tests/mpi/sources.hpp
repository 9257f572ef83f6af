// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks of sources of A and b, on every grid of all ranks.
#pragma once

#include <speedwell/error.hpp>
#include <speedwell/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "comm/agreement.hpp"
#include "device_choice.hpp"
#include "source/source.hpp"
#include "world.hpp"

namespace speedwell::test {

using Element = std::function<double(std::int64_t, std::int64_t)>;

constexpr double untouched = 12345.5;

/// A rank's part of a matrix, filled by a source. The memory around it must stay untouched, and the
/// checksums taken while it is written are those of what is there.
struct Part {
  Part(const MatrixSource& source, const ProcessGrid& grid, std::int64_t nb)
      : rows(grid.rows(source.n(), nb)),
        columns(grid.columns(source.n(), nb)),
        ld(rows.local_size() + 3),
        memory(static_cast<std::size_t>(ld * columns.local_size()), untouched) {
    static const auto device = test::make_chosen_device();
    const auto queue = device->make_queue(Priority::normal);
    const Buffer there = device->allocate(std::ssize(memory) * std::int64_t{sizeof(double)});
    device->upload(*queue, memory, there.as<double>());
    PartWriter writer(*device, {there.as<double>(), rows.local_size(), columns.local_size(), ld});
    source.fill(grid, rows, columns, writer);
    device->download(*queue, there.as<double>(), memory);
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(columns.local_size()) + 1);
    const Buffer found = device->allocate(std::ssize(sums) * 8);
    const MatrixView<const double> written{there.as<double>(), rows.local_size(),
                                           columns.local_size(), ld};
    device->checksums_of_columns(*queue, ConstAnyMatrix(written), found.as<std::uint64_t>());
    device->download(*queue, found.as<std::uint64_t>(), sums);
    CHECK(writer.checksums() == sums);
  }

  bool is(const Element& element) const {
    for (std::int64_t j = 0; j < columns.local_size(); ++j)
      for (std::int64_t i = 0; i < ld; ++i) {
        const double found = memory[static_cast<std::size_t>(i + j * ld)];
        const double expected = i < rows.local_size()
                                    ? element(rows.global({i}).value, columns.global({j}).value)
                                    : untouched;
        if (found != expected) return false;
      }
    return true;
  }

  Distribution rows;
  Distribution columns;
  std::int64_t ld;
  std::vector<double> memory;
};

/// Requires that the source gives this matrix on every grid, in blocks of several sizes.
inline void require_matrix(const Communicator& all, const Matrix& a, std::int64_t n,
                           const Element& element) {
  REQUIRE(a.source().n() == n);
  a.source().check(all);
  for (const GridShape& shape : grids(all.size())) {
    const ProcessGrid grid(all, shape);
    for (const std::int64_t nb : {std::int64_t{1}, std::int64_t{3}, std::int64_t{8}, n}) {
      CAPTURE(shape.nprow, shape.npcol, nb, n);
      REQUIRE(Part(a.source(), grid, nb).is(element));
    }
  }
}

inline void require_right_hand_side(const Communicator& all, const RightHandSide& b, std::int64_t n,
                                    std::int64_t count, const Element& element) {
  REQUIRE(b.source().count() == count);
  b.source().check(all, n);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (std::int64_t k = count; k-- > 0;) {
    std::vector<double> column(static_cast<std::size_t>(n));
    b.source().get(grid, k, column);
    std::int64_t right = 0;  // the first elements that are
    while (right < n && column[static_cast<std::size_t>(right)] == element(right, k)) ++right;
    CAPTURE(k, n, count);
    REQUIRE(right == n);
  }
}

/// Errors of an x, in long double.
struct Errors {
  double componentwise = 0;
  double normwise = 0;
  double forward = 0;  ///< ||x - x*|| / ||x*||
};

/// Those of x, for A x* = b.
template <class A, class B, class X>
Errors errors_of(std::int64_t n, const A& a, const B& b, const X& exact,
                 std::span<const double> x) {
  const auto ratio = [](long double above, long double below) {
    return above == 0 ? 0 : static_cast<double>(above / below);
  };
  long double componentwise = 0, r_norm = 0, a_norm = 0, b_norm = 0, x_norm = 0, exact_norm = 0,
              away = 0;
  const auto raise = [](long double& most, long double value) {
    most = std::max(most, std::fabs(value));
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const long double right = b(i);
    long double r = right;
    long double size = std::fabs(right);
    long double row = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const long double entry = a(i, j);
      const long double term = entry * static_cast<long double>(x[static_cast<std::size_t>(j)]);
      r -= term;
      size += std::fabs(term);
      row += std::fabs(entry);
    }
    if (r != 0) raise(componentwise, r / size);
    const long double xi = x[static_cast<std::size_t>(i)];
    raise(r_norm, r);
    raise(a_norm, row);
    raise(b_norm, right);
    raise(x_norm, xi);
    raise(exact_norm, exact(i));
    raise(away, xi - static_cast<long double>(exact(i)));
  }
  return {static_cast<double>(componentwise), ratio(r_norm, a_norm * x_norm + b_norm),
          ratio(away, exact_norm)};
}

inline std::span<const double> column_of(const std::vector<double>& x, std::int64_t n,
                                         std::int64_t k) {
  return std::span(x).subspan(static_cast<std::size_t>(n * k), static_cast<std::size_t>(n));
}

/// x in the form of the right-hand side, for solutions with these elements that arrive in reverse
/// order.
inline std::vector<double> solution(const RightHandSide& b, const ProcessGrid& grid, std::int64_t n,
                                    std::int64_t count, const Element& element) {
  std::vector<double> x{1, 2, 3};
  b.source().prepare(grid, n, x);
  for (std::int64_t k = count; k-- > 0;) {
    std::vector<double> column;
    for (std::int64_t i = 0; i < n; ++i) column.push_back(element(i, k));
    b.source().put(grid, k, column, x);
  }
  return x;
}

/// n x count elements, column-major, with ld - n unused numbers behind each column.
inline std::vector<double> dense(std::int64_t n, std::int64_t count, std::int64_t ld,
                                 const Element& element) {
  std::vector<double> all(static_cast<std::size_t>(ld * count), untouched);
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i + j * ld)] = element(i, j);
  return all;
}

/// The message of the UsageError that `work` throws, without the folder of a path in it. Checks
/// that it is the same on every rank, and one line.
inline std::string refusal(const Communicator& all, const std::function<void()>& work) {
  std::string words;
  try {
    work();
  } catch (const UsageError& error) {
    words = error.what();
  }
  require_equal_options(all, {{"words", words}});
  CHECK(words.find('\n') == std::string::npos);
  const std::size_t quote = words.find('\'');
  const std::size_t slash = words.substr(0, words.find('\'', quote + 1)).rfind('/');
  if (quote != words.npos && slash != words.npos) words.erase(quote + 1, slash - quote);
  return words;
}

/// Elements that are exact in FP32 and in few decimal digits.
inline double simple(std::int64_t i, std::int64_t j) {
  return static_cast<double>(i * 37 % 101) - 0.25 * static_cast<double>(j * 53 % 211) + 1;
}

inline double fraction(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(i * 131 + j * 7 + 1));
}

inline Descriptor descriptor(std::int64_t m, std::int64_t n, std::int64_t mb, std::int64_t nb,
                             int row, int column, std::int64_t ld) {
  return {1, -1, m, n, mb, nb, row, column, ld};
}

/// The local index on process `me` of `processes`, by ScaLAPACK's definition; nothing where another
/// process has the global index.
inline std::optional<std::int64_t> place(std::int64_t index, std::int64_t block, int processes,
                                         int me, int first) {
  std::int64_t before = 0;
  for (std::int64_t i = 0; i <= index; ++i) {
    const bool mine = (i / block + first) % processes == me;
    if (i == index) return mine ? std::optional(before) : std::nullopt;
    before += mine ? 1 : 0;
  }
  return std::nullopt;
}

/// A rank's part of a block-cyclic matrix, filled element by element.
struct LocalPart {
  LocalPart(const ProcessGrid& grid, std::int64_t m, std::int64_t n, std::int64_t mb,
            std::int64_t nb, int row, int column, const Element& element)
      : ld(m + 2), memory(static_cast<std::size_t>(ld * n), 0.0) {
    std::int64_t columns = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto local_j = place(j, nb, grid.shape().npcol, grid.me().column, column);
      columns += local_j ? 1 : 0;
      for (std::int64_t i = 0; local_j && i < m; ++i)
        if (const auto local_i = place(i, mb, grid.shape().nprow, grid.me().row, row))
          memory[static_cast<std::size_t>(*local_i + *local_j * ld)] = element(i, j);
    }
    memory.resize(static_cast<std::size_t>(ld * columns));
  }

  std::int64_t ld;
  std::vector<double> memory;
};

}  // namespace speedwell::test
