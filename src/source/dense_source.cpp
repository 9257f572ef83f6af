// SPDX-License-Identifier: BSD-3-Clause
// Sources that are arrays on one rank.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <memory>

#include "comm/agreement.hpp"
#include "core/array_size.hpp"
#include "core/counted.hpp"
#include "source/source_parts.hpp"

namespace speedwell {

namespace {

/// An array on rank `root`. The other ranks ignore its pointer and leading dimension.
/// The view is column-major: a row-major array is the column-major array of the transpose.
class Array {
 public:
  Array(const char* name, const double* data, std::int64_t ld, int root,
        StorageOrder order = StorageOrder::column_major)
      : name_(name), data_(data), ld_(ld), root_(root), order_(order) {}

  int root() const { return root_; }
  bool row_major() const { return order_ == StorageOrder::row_major; }
  /// @param parts numbers of an element
  MatrixView<const double> view(std::int64_t rows, std::int64_t columns, std::int64_t parts) const {
    return {data_, rows, columns, parts * ld_};
  }
  std::string place() const {
    return fmt::format("on rank {}{}", root_, row_major() ? ", row-major" : "");
  }
  /// @param parts numbers of an element
  void check(const Communicator& all, std::int64_t rows, std::int64_t columns,
             std::int64_t parts) const {
    if (root_ < 0 || root_ >= all.size())
      throw UsageError(fmt::format("{} is said to be on rank {}; allowed: 0 to {}", name_, root_,
                                   all.size() - 1));
    agree_on_shares(all, [&] {
      if (all.rank() != root_) return;
      if (data_ == nullptr)
        throw UsageError(fmt::format("{} is null; allowed: the array on rank {}", name_, root_));
      if (ld_ < rows)
        throw UsageError(
            fmt::format("the leading dimension of {} is {}; allowed: at least its {} {}", name_,
                        ld_, rows, row_major() ? "columns" : "rows"));
      if (!is_countable(ld_, columns, parts * std::int64_t{sizeof *data_}))
        throw UsageError(
            fmt::format("{} has {} columns of leading dimension {}; allowed: an array "
                        "of less than 2^63 bytes",
                        name_, columns, ld_));
    });
  }

 private:
  const char* name_;
  const double* data_;
  std::int64_t ld_;
  int root_;
  StorageOrder order_;
};

class DenseMatrix : public MatrixSource {
 public:
  DenseMatrix(std::int64_t n, Field field, const Array& array)
      : n_(n), field_(field), array_(array) {}

  std::int64_t n() const override { return n_; }
  Field field() const override { return field_; }
  std::string description() const override {
    return fmt::format("an array of order {} {}{}", n_, array_.place(),
                       field_ == Field::real ? "" : ", complex");
  }
  bool transposed() const override { return array_.row_major(); }
  void check(const Communicator& all) const override {
    array_.check(all, n_, n_, parts_of(field_));
    require_order(n_);
  }
  std::optional<MatrixView<const double>> in_place(const ProcessGrid& grid,
                                                   const Distribution& /*rows*/,
                                                   const Distribution& /*columns*/) const override {
    if (grid.all().size() > 1) return std::nullopt;
    return whole();
  }
  const double* array(int rank) const override {
    return rank == array_.root() ? whole().data : nullptr;
  }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override;

 private:
  struct Slice;
  void deal(const ProcessGrid& grid, const Slice& slice, PartWriter& a) const;
  MatrixView<const double> whole() const { return array_.view(numbers(), n_, parts_of(field_)); }

  std::int64_t n_;
  Field field_;
  Array array_;
};

/// Neighbouring columns of one block, which the root sends to one process column.
struct DenseMatrix::Slice {
  std::vector<Distribution> rows;  ///< the rows of each process row
  int column = 0;                  ///< the process column that owns the columns
  std::int64_t begin = 0;          ///< global index of the first column
  std::int64_t local = 0;          ///< local index of the first column, in its process column
  std::int64_t width = 0;          ///< columns
  std::span<double> buffer;        ///< room for one rank's part
};

/// The root packs the part of each rank of the process column and sends it; the rank stores it in
/// its local columns.
void DenseMatrix::deal(const ProcessGrid& grid, const Slice& slice, PartWriter& a) const {
  const Communicator& all = grid.all();
  const MatrixView<const double> all_of_a = whole();
  for (const Distribution& rows : slice.rows) {
    const int to = grid.shape().rank({rows.me(), slice.column});
    const std::int64_t height = rows.local_size();
    const std::span part = slice.buffer.first(static_cast<std::size_t>(height * slice.width));
    if (all.rank() == array_.root()) {
      const std::vector<Run> runs = rows.runs();
      for (std::int64_t j = 0; j < slice.width; ++j)
        for (const Run& run : runs)
          std::copy_n(all_of_a.column(slice.begin + j) + run.global.value, run.length,
                      part.data() + j * height + run.local.value);
      if (to != array_.root()) all.send(std::as_bytes(part), to);
    }
    if (all.rank() != to) continue;
    if (to != array_.root()) all.receive(std::as_writable_bytes(part), array_.root());
    a.set(0, slice.local, {part.data(), height, slice.width, height});
  }
}

void DenseMatrix::fill(const ProcessGrid& grid, const Distribution& rows,
                       const Distribution& columns, PartWriter& a) const {
  if (const auto there = in_place(grid, rows, columns))
    return agree(grid.all(), [&] { a.copy(*there); });
  constexpr std::int64_t piece = std::int64_t{1} << 19;  // 4 MB
  const std::int64_t width = std::clamp<std::int64_t>(piece / numbers(), 1, columns.block());
  std::vector<double> buffer;
  agree(grid.all(), [&] { buffer.resize(static_cast<std::size_t>(numbers() * width)); });
  Slice slice;
  slice.buffer = buffer;
  for (int p = 0; p < grid.shape().nprow; ++p)
    slice.rows.emplace_back(numbers(), rows.block(), grid.shape().nprow, p);
  for (std::int64_t j = 0; j < n_; j += slice.width) {
    slice.begin = j;
    slice.local = columns.local_begin({j}).value;
    slice.column = columns.owner({j});
    slice.width = std::min({width, columns.block() - j % columns.block(), n_ - j});
    deal(grid, slice, a);
  }
}

class DenseRightHandSide : public SolvedOnRank {
 public:
  /// @param root the rank that gets x; nothing: every rank
  DenseRightHandSide(std::int64_t count, Field field, const Array& array, std::optional<int> root)
      : SolvedOnRank(root), count_(count), field_(field), array_(array), everywhere_(!root) {}

  std::int64_t count() const override { return count_; }
  Field field() const override { return field_; }
  std::string description() const override {
    return fmt::format("an array of {} {}{}", counted(count_, "column"),
                       everywhere_ ? "on every rank" : array_.place(),
                       field_ == Field::real ? "" : ", complex");
  }
  void check(const Communicator& all, std::int64_t n) const override {
    array_.check(all, n / parts_of(field_), count_, parts_of(field_));
    require_count(count_);
  }
  void get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const override {
    const std::int64_t n = std::ssize(b);
    if (grid.all().rank() == array_.root())
      std::copy_n(array_.view(n, count_, parts_of(field_)).column(k), n, b.begin());
    grid.all().broadcast(b, array_.root());
  }

 private:
  std::int64_t count_;
  Field field_;
  Array array_;
  bool everywhere_;
};

}  // namespace

Matrix Matrix::dense(std::int64_t n, const double* a, std::int64_t lda, int root,
                     StorageOrder order) {
  return Matrix(std::make_shared<DenseMatrix>(n, Field::real, Array("A", a, lda, root, order)));
}

Matrix Matrix::complex_dense(std::int64_t n, const std::complex<double>* a, std::int64_t lda,
                             int root, StorageOrder order) {
  return Matrix(std::make_shared<DenseMatrix>(
      n, Field::complex, Array("A", reinterpret_cast<const double*>(a), lda, root, order)));
}

RightHandSide RightHandSide::dense(std::int64_t count, const double* b, std::int64_t ldb,
                                   int root) {
  return RightHandSide(
      std::make_shared<DenseRightHandSide>(count, Field::real, Array("b", b, ldb, root), root));
}

RightHandSide RightHandSide::complex_dense(std::int64_t count, const std::complex<double>* b,
                                           std::int64_t ldb, int root) {
  return RightHandSide(std::make_shared<DenseRightHandSide>(
      count, Field::complex, Array("b", reinterpret_cast<const double*>(b), ldb, root), root));
}

RightHandSide on_every_rank(std::int64_t count, const double* b, std::int64_t ldb) {
  return RightHandSide(std::make_shared<DenseRightHandSide>(count, Field::real,
                                                            Array("b", b, ldb, 0), std::nullopt));
}

RightHandSide on_every_rank(std::int64_t count, const std::complex<double>* b, std::int64_t ldb) {
  return RightHandSide(std::make_shared<DenseRightHandSide>(
      count, Field::complex, Array("b", reinterpret_cast<const double*>(b), ldb, 0), std::nullopt));
}

}  // namespace speedwell
