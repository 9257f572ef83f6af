// SPDX-License-Identifier: BSD-3-Clause
// Sources whose elements are computed by a user's function.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "core/counted.hpp"
#include "host/threads.hpp"
#include "source/source_parts.hpp"

namespace speedwell {

namespace {

/// agree() for work that calls a user's function. If the function throws on a rank, that rank
/// throws CallerThrew; the other ranks throw the error of agree().
template <class Work>
void agree_on_user(const Communicator& all, const Work& work) {
  std::exception_ptr thrown;
  try {
    work();
  } catch (...) {
    thrown = std::current_exception();
  }
  try {
    agree(all, [&] {
      if (!thrown) return;
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception&) {
        throw;
      } catch (...) {
        throw Fault("the function of the elements threw what is no std::exception");
      }
    });
  } catch (const Error&) {
    if (thrown) throw CallerThrew(thrown);
    throw;
  }
}

// @param what the function computes: "elements" or "blocks"
template <class Function>
void require_callable(const Function& function, const char* whose, const char* what) {
  if (!function) throw UsageError(fmt::format("the function of {}'s {} is empty", whose, what));
}

// Functions of elements and of blocks take part in the same messages, so ranks may mix them.
std::string described_order(std::int64_t n, Field field) {
  return fmt::format("a function, of order {}{}", n, field == Field::real ? "" : ", complex");
}
std::string described_columns(std::int64_t count, Field field) {
  return "a function, of " + counted(count, "column") + (field == Field::real ? "" : ", complex");
}

/// Functions of elements and of blocks whose values are of type T: double, or complex double.
template <class T>
using ElementsOf = std::function<T(std::int64_t i, std::int64_t j)>;
template <class T>
using BlocksOf = std::function<void(std::span<const std::int64_t> i,
                                    std::span<const std::int64_t> j, T* a, std::int64_t lda)>;

/// Numbers as elements of type T.
template <class T>
MatrixView<T> as_elements(MatrixView<double> numbers) {
  const std::int64_t parts = parts_of(field_of<T>);
  return {reinterpret_cast<T*>(numbers.data), numbers.rows / parts, numbers.columns,
          std::max<std::int64_t>(numbers.ld / parts, 1)};
}
/// The distribution of elements, by that of their numbers.
Distribution element_rows(const Distribution& rows, Field field) {
  const std::int64_t parts = parts_of(field);
  return {rows.size() / parts, rows.block() / parts, rows.processes(), rows.me()};
}

// Numbers of a block that a function fills at most: 4 MB.
constexpr std::int64_t block_numbers = std::int64_t{1} << 19;

// Fills a matrix of these rows and columns block by block, from its first block column on, until
// ended() is true.
template <class T, class Ended>
void fill_in_blocks(const BlocksOf<T>& block, std::span<const std::int64_t> rows,
                    std::span<const std::int64_t> columns, MatrixView<T> a, const Ended& ended) {
  const std::int64_t height = std::min(std::max<std::int64_t>(a.rows, 1), block_numbers);
  const std::int64_t width = block_numbers / height;
  for (std::int64_t j = 0; j < a.columns; j += width)
    for (std::int64_t i = 0; i < a.rows; i += height) {
      if (ended()) return;
      const MatrixView<T> to =
          a.block(i, j, std::min(height, a.rows - i), std::min(width, a.columns - j));
      block(rows.subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(to.rows)),
            columns.subspan(static_cast<std::size_t>(j), static_cast<std::size_t>(to.columns)),
            to.data, to.ld);
    }
}

// The indices in the whole matrix of this rank's rows or columns.
std::vector<std::int64_t> global_indices(const Distribution& local) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(local.local_size()));
  for (std::int64_t i = 0; i < local.local_size(); ++i)
    all[static_cast<std::size_t>(i)] = local.global({i}).value;
  return all;
}

template <class T>
class FunctionMatrix : public MatrixSource {
 public:
  FunctionMatrix(std::int64_t n, ElementsOf<T> element) : n_(n), element_(std::move(element)) {}

  std::int64_t n() const override { return n_; }
  Field field() const override { return field_of<T>; }
  std::string description() const override { return described_order(n_, field()); }
  void check(const Communicator& all) const override {
    agree(all, [&] {
      require_order(n_);
      require_callable(element_, "A", "elements");
    });
  }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    const std::vector<Run> runs = element_rows(rows, field()).runs();
    const auto fill_columns = [&](std::int64_t first, MatrixView<double> numbers) {
      const MatrixView<T> to = as_elements<T>(numbers);
      for_each_in_threads(to.columns, [&](std::int64_t l) {
        if (a.ended()) return;
        const std::int64_t j = columns.global(LocalIndex{first + l}).value;
        for (const Run& run : runs)
          for (std::int64_t i = 0; i < run.length; ++i)
            to(run.local.value + i, l) = element_(run.global.value + i, j);
      });
    };
    agree_on_user(grid.all(), [&] { a.by_columns(fill_columns); });
  }

 private:
  std::int64_t n_;
  ElementsOf<T> element_;
};

template <class T>
class BlockFunctionMatrix : public MatrixSource {
 public:
  BlockFunctionMatrix(std::int64_t n, BlocksOf<T> block) : n_(n), block_(std::move(block)) {}

  std::int64_t n() const override { return n_; }
  Field field() const override { return field_of<T>; }
  std::string description() const override { return described_order(n_, field()); }
  void check(const Communicator& all) const override {
    agree(all, [&] {
      require_order(n_);
      require_callable(block_, "A", "blocks");
    });
  }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    agree_on_user(grid.all(), [&] {
      const std::vector<std::int64_t> i = global_indices(element_rows(rows, field()));
      const std::vector<std::int64_t> j = global_indices(columns);
      a.by_columns([&](std::int64_t first, MatrixView<double> numbers) {
        fill_in_blocks<T>(block_, i, std::span(j).subspan(static_cast<std::size_t>(first)),
                          as_elements<T>(numbers), [&] { return a.ended(); });
      });
    });
  }

 private:
  std::int64_t n_;
  BlocksOf<T> block_;
};

/// A function that fills blocks by a function of elements, which several threads call.
template <class T>
BlocksOf<T> block_function(ElementsOf<T> element) {
  if (!element) return {};
  return [element = std::move(element)](std::span<const std::int64_t> i,
                                        std::span<const std::int64_t> j, T* a, std::int64_t lda) {
    for_each_in_threads(std::ssize(i), [&](std::int64_t p) {
      for (std::int64_t q = 0; q < std::ssize(j); ++q)
        a[p + q * lda] = element(i[static_cast<std::size_t>(p)], j[static_cast<std::size_t>(q)]);
    });
  };
}

template <class T>
class FunctionRightHandSide : public SolvedEverywhere {
 public:
  /// @param what the user's function computes: "elements" or "blocks"
  FunctionRightHandSide(std::int64_t count, BlocksOf<T> block, const char* what)
      : count_(count), block_(std::move(block)), what_(what) {}

  std::int64_t count() const override { return count_; }
  Field field() const override { return field_of<T>; }
  std::string description() const override { return described_columns(count_, field()); }
  void check(const Communicator& all, std::int64_t /*n*/) const override {
    agree(all, [&] {
      require_count(count_);
      require_callable(block_, "b", what_);
    });
  }
  bool at_hand() const override { return false; }
  // Each element is computed once, on one rank, so that all ranks have the same b even if the
  // function does not always return the same value.
  void get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const override {
    const Communicator& all = grid.all();
    const std::int64_t parts = parts_of(field());
    RowShares shares(std::ssize(b) / parts, all);
    std::vector<double> mine;
    agree_on_user(all, [&] {
      const std::vector<std::int64_t> rows = global_indices(shares.mine);
      const std::int64_t count = parts * std::ssize(rows);
      mine.resize(static_cast<std::size_t>(count));
      fill_in_blocks<T>(block_, rows, std::span(&k, 1),
                        as_elements<T>({mine.data(), count, 1, std::max<std::int64_t>(count, 1)}),
                        [] { return false; });
    });
    for (std::int64_t& count : shares.counts) count *= parts;
    all.all_gather(mine, b, shares.counts);
  }

 private:
  std::int64_t count_;
  BlocksOf<T> block_;
  const char* what_;
};

class Ones : public SolvedEverywhere {
 public:
  std::int64_t count() const override { return 0; }
  std::string description() const override { return "A times ones"; }
  void check(const Communicator& /*all*/, std::int64_t /*n*/) const override {}
  void get(const ProcessGrid& /*grid*/, std::int64_t /*k*/,
           std::span<double> /*b*/) const override {
    throw Fault("b = A times ones is computed from A");
  }
};

}  // namespace

Matrix Matrix::from_function(std::int64_t n, ElementFunction element) {
  return Matrix(std::make_shared<FunctionMatrix<double>>(n, std::move(element)));
}
Matrix Matrix::from_complex_function(std::int64_t n, ComplexElementFunction element) {
  return Matrix(std::make_shared<FunctionMatrix<std::complex<double>>>(n, std::move(element)));
}

RightHandSide RightHandSide::from_function(std::int64_t count, ElementFunction element) {
  return RightHandSide(std::make_shared<FunctionRightHandSide<double>>(
      count, block_function<double>(std::move(element)), "elements"));
}
RightHandSide RightHandSide::from_complex_function(std::int64_t count,
                                                   ComplexElementFunction element) {
  return RightHandSide(std::make_shared<FunctionRightHandSide<std::complex<double>>>(
      count, block_function<std::complex<double>>(std::move(element)), "elements"));
}

Matrix Matrix::from_blocks(std::int64_t n, BlockFunction block) {
  return Matrix(std::make_shared<BlockFunctionMatrix<double>>(n, std::move(block)));
}
Matrix Matrix::from_complex_blocks(std::int64_t n, ComplexBlockFunction block) {
  return Matrix(std::make_shared<BlockFunctionMatrix<std::complex<double>>>(n, std::move(block)));
}

RightHandSide RightHandSide::from_blocks(std::int64_t count, BlockFunction block) {
  return RightHandSide(
      std::make_shared<FunctionRightHandSide<double>>(count, std::move(block), "blocks"));
}
RightHandSide RightHandSide::from_complex_blocks(std::int64_t count, ComplexBlockFunction block) {
  return RightHandSide(std::make_shared<FunctionRightHandSide<std::complex<double>>>(
      count, std::move(block), "blocks"));
}

RightHandSide RightHandSide::of_ones() {
  return RightHandSide(std::make_shared<Ones>());
}

}  // namespace speedwell
