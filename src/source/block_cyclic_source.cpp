// SPDX-License-Identifier: BSD-3-Clause
// Sources whose matrices are distributed already, block-cyclically as in ScaLAPACK.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <memory>

#include "comm/agreement.hpp"
#include "core/array_size.hpp"
#include "core/expects.hpp"
#include "source/redistribution.hpp"
#include "source/source_parts.hpp"

namespace speedwell {

namespace {

/// A ScaLAPACK descriptor (DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_) with named entries.
/// The context is not used.
struct ArrayLayout {
  explicit ArrayLayout(const Descriptor& d)
      : type(d[0]), m(d[2]), n(d[3]), mb(d[4]), nb(d[5]), row0(d[6]), column0(d[7]), ld(d[8]) {}

  std::int64_t type, m, n, mb, nb, row0, column0, ld;

  /// How the rows and columns lie on the grid. RSRC_ and CSRC_ are the process row and column of
  /// the first block.
  CyclicMatrix on(const GridShape& shape) const {
    return {{m, mb, shape.nprow, static_cast<int>(row0)},
            {n, nb, shape.npcol, static_cast<int>(column0)}};
  }
  /// The layout of the numbers, of which an element has so many, one under the other.
  ArrayLayout of_numbers(Field field) const {
    ArrayLayout numbers = *this;
    const std::int64_t parts = parts_of(field);
    numbers.m *= parts;
    numbers.mb *= parts;
    numbers.ld *= parts;
    return numbers;
  }
  /// This rank's rows and columns.
  Distribution rows(const ProcessGrid& grid) const {
    return on(grid.shape()).rows.of(grid.me().row);
  }
  Distribution columns(const ProcessGrid& grid) const {
    return on(grid.shape()).columns.of(grid.me().column);
  }
};

// LLD_ may differ between ranks.
std::string text(const ArrayLayout& d, Field field) {
  return fmt::format("block-cyclic (DTYPE_ {}, M_ {}, N_ {}, MB_ {}, NB_ {}, RSRC_ {}, CSRC_ {}){}",
                     d.type, d.m, d.n, d.mb, d.nb, d.row0, d.column0,
                     field == Field::real ? "" : ", complex");
}

void require(bool right, const char* name, const char* entry, std::int64_t value,
             const std::string& allowed) {
  if (!right)
    throw UsageError(
        fmt::format("{} of {}'s descriptor is {}; allowed: {}", entry, name, value, allowed));
}

/// Checks that the descriptors of A and b both must pass.
void check_any(const char* name, const ArrayLayout& d) {
  require(d.type == 1, name, "DTYPE_", d.type, "1, a dense matrix");
  require(d.m >= 1, name, "M_", d.m, "at least 1");
  require(d.n >= 1, name, "N_", d.n, "at least 1");
  require(d.mb >= 1, name, "MB_", d.mb, "at least 1");
  require(d.nb >= 1, name, "NB_", d.nb, "at least 1");
}

/// Checks that depend on the rank's place in the grid.
void check_place(const ProcessGrid& grid, const char* name, const ArrayLayout& d,
                 const double* local) {
  const auto inside = [&](const char* entry, std::int64_t value, int processes) {
    require(value >= 0 && value < processes, name, entry, value,
            fmt::format("0 to {}", processes - 1));
  };
  inside("RSRC_", d.row0, grid.shape().nprow);
  inside("CSRC_", d.column0, grid.shape().npcol);
  agree(grid.all(), [&] {
    const std::int64_t rows = d.rows(grid).local_size();
    const std::int64_t least = std::max<std::int64_t>(rows, 1);
    require(d.ld >= least, name, "LLD_", d.ld,
            fmt::format("at least {}, the rows of process ({}, {})", least, grid.me().row,
                        grid.me().column));
    const std::int64_t columns = d.columns(grid).local_size();
    require(is_countable(d.ld, columns, sizeof(std::complex<double>)), name, "LLD_", d.ld,
            "local columns of less than 2^63 bytes together");
    if (local == nullptr && rows > 0 && columns > 0)
      throw UsageError(
          fmt::format("the local part of {} is null on process ({}, {}), which has "
                      "rows and columns of it",
                      name, grid.me().row, grid.me().column));
  });
}

class BlockCyclicMatrix : public MatrixSource {
 public:
  BlockCyclicMatrix(const Descriptor& descriptor, Field field, const double* local)
      : layout_(descriptor), field_(field), numbers_(layout_.of_numbers(field)), local_(local) {}

  std::int64_t n() const override { return layout_.n; }
  Field field() const override { return field_; }
  std::string description() const override { return text(layout_, field_); }
  std::int64_t block() const override { return layout_.nb; }
  std::string distribution() const override {
    const ArrayLayout& d = layout_;
    return (d.mb == d.nb ? fmt::format("blocks of {}", d.nb)
                         : fmt::format("blocks of {} x {}", d.mb, d.nb)) +
           (d.row0 == 0 && d.column0 == 0
                ? ""
                : fmt::format(", the first on process ({}, {}),", d.row0, d.column0));
  }
  void check(const Communicator& /*all*/) const override {
    check_any("A", layout_);
    require(layout_.m == layout_.n, "A", "M_", layout_.m,
            fmt::format("N_, which is {}: a square matrix", layout_.n));
  }
  std::optional<MatrixView<const double>> in_place(const ProcessGrid& grid,
                                                   const Distribution& rows,
                                                   const Distribution& columns) const override {
    check_place(grid, "A", layout_, local_);
    const CyclicMatrix there = numbers_.on(grid.shape());
    if (!same(there.rows, rows) || !same(there.columns, columns)) return std::nullopt;
    return part(grid);
  }
  const double* array(int /*rank*/) const override { return local_; }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    if (const auto there = in_place(grid, rows, columns))
      return agree(grid.all(), [&] { a.copy(*there); });
    redistribute(grid, numbers_.on(grid.shape()), part(grid), {wanted(rows), wanted(columns)}, a);
  }

 private:
  static CyclicDimension wanted(const Distribution& d) {
    return {d.size(), d.block(), d.processes(), 0};
  }
  /// Whether a dimension already lies as it is wanted. One process holds everything, whatever the
  /// block size; and a block size above n distributes A as the block size n does.
  static bool same(const CyclicDimension& there, const Distribution& dimension) {
    return dimension.processes() == 1 ||
           (there.first == 0 && dimension.block() == std::min(there.block, there.size));
  }
  MatrixView<const double> part(const ProcessGrid& grid) const {
    return {local_, numbers_.rows(grid).local_size(), numbers_.columns(grid).local_size(),
            numbers_.ld};
  }

  ArrayLayout layout_;
  Field field_;
  ArrayLayout numbers_;
  const double* local_;
};

class BlockCyclicRightHandSide : public RightHandSideSource {
 public:
  BlockCyclicRightHandSide(const Descriptor& descriptor, Field field, const double* local)
      : layout_(descriptor), field_(field), numbers_(layout_.of_numbers(field)), local_(local) {}

  std::int64_t count() const override { return layout_.n; }
  Field field() const override { return field_; }
  std::string description() const override { return text(layout_, field_); }
  void check(const Communicator& /*all*/, std::int64_t n) const override {
    check_any("b", layout_);
    require(numbers_.m == n, "b", "M_", layout_.m,
            fmt::format("{}, the rows of A", n / parts_of(field_)));
  }
  void get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const override {
    SPEEDWELL_EXPECTS(std::ssize(b) == numbers_.m);
    check_place(grid, "b", layout_, local_);
    std::fill(b.begin(), b.end(), 0.0);
    const Distribution columns = layout_.columns(grid);
    if (columns.mine({k})) {
      const std::int64_t column = columns.local({k}).value * numbers_.ld;
      for (const Run& run : numbers_.rows(grid).runs())
        std::copy_n(local_ + column + run.local.value, run.length, b.begin() + run.global.value);
    }
    grid.all().all_reduce(b, Reduction::sum);
  }
  void prepare(const ProcessGrid& grid, std::int64_t /*n*/, std::vector<double>& x) const override {
    check_place(grid, "b", layout_, local_);
    const std::int64_t columns = layout_.columns(grid).local_size();
    agree(grid.all(), [&] { x.assign(static_cast<std::size_t>(numbers_.ld * columns), 0.0); });
  }
  void put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
           std::vector<double>& x) const override {
    const Distribution columns = layout_.columns(grid);
    if (!columns.mine({k})) return;
    const auto column = x.begin() + columns.local({k}).value * numbers_.ld;
    for (const Run& run : numbers_.rows(grid).runs())
      std::copy_n(solution.begin() + run.global.value, run.length, column + run.local.value);
  }
  std::span<const double> stored(const ProcessGrid& grid, std::int64_t k,
                                 const std::vector<double>& x) const override {
    const Distribution columns = layout_.columns(grid);
    if (!columns.mine({k})) return {};
    const auto rows = static_cast<std::size_t>(numbers_.ld);
    return std::span(x).subspan(static_cast<std::size_t>(columns.local({k}).value) * rows, rows);
  }

 private:
  ArrayLayout layout_;
  Field field_;
  ArrayLayout numbers_;
  const double* local_;
};

}  // namespace

Matrix Matrix::block_cyclic(const Descriptor& descriptor, const double* local) {
  return Matrix(std::make_shared<BlockCyclicMatrix>(descriptor, Field::real, local));
}
Matrix Matrix::complex_block_cyclic(const Descriptor& descriptor,
                                    const std::complex<double>* local) {
  return Matrix(std::make_shared<BlockCyclicMatrix>(descriptor, Field::complex,
                                                    reinterpret_cast<const double*>(local)));
}

RightHandSide RightHandSide::block_cyclic(const Descriptor& descriptor, const double* local) {
  return RightHandSide(std::make_shared<BlockCyclicRightHandSide>(descriptor, Field::real, local));
}
RightHandSide RightHandSide::complex_block_cyclic(const Descriptor& descriptor,
                                                  const std::complex<double>* local) {
  return RightHandSide(std::make_shared<BlockCyclicRightHandSide>(
      descriptor, Field::complex, reinterpret_cast<const double*>(local)));
}

}  // namespace speedwell
