// SPDX-License-Identifier: BSD-3-Clause
// Sources whose elements are computed by a user's function.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "source/source_parts.hpp"
#include "source/threads.hpp"

namespace lupine {

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
std::string described_order(std::int64_t n) {
  return fmt::format("a function, of order {}", n);
}
std::string described_columns(std::int64_t count) {
  return "a function, of " + columns_text(count);
}

// Numbers of a block that a function fills at most: 4 MB.
constexpr std::int64_t block_numbers = std::int64_t{1} << 19;

// Fills a matrix of these rows and columns block by block, from its first block column on, until
// ended() is true.
template <class Ended>
void fill_in_blocks(const BlockFunction& block, std::span<const std::int64_t> rows,
                    std::span<const std::int64_t> columns, MatrixView<double> a,
                    const Ended& ended) {
  const std::int64_t height = std::min(std::max<std::int64_t>(a.rows, 1), block_numbers);
  const std::int64_t width = block_numbers / height;
  for (std::int64_t j = 0; j < a.columns; j += width)
    for (std::int64_t i = 0; i < a.rows; i += height) {
      if (ended()) return;
      const MatrixView<double> to =
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

class FunctionMatrix : public MatrixSource {
 public:
  FunctionMatrix(std::int64_t n, ElementFunction element) : n_(n), element_(std::move(element)) {}

  std::int64_t n() const override { return n_; }
  std::string description() const override { return described_order(n_); }
  void check(const Communicator& all) const override {
    agree(all, [&] {
      require_order(n_);
      require_callable(element_, "A", "elements");
    });
  }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    const std::vector<Run> runs = rows.runs();
    const auto fill_columns = [&](std::int64_t first, MatrixView<double> to) {
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
  ElementFunction element_;
};

class BlockFunctionMatrix : public MatrixSource {
 public:
  BlockFunctionMatrix(std::int64_t n, BlockFunction block) : n_(n), block_(std::move(block)) {}

  std::int64_t n() const override { return n_; }
  std::string description() const override { return described_order(n_); }
  void check(const Communicator& all) const override {
    agree(all, [&] {
      require_order(n_);
      require_callable(block_, "A", "blocks");
    });
  }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    agree_on_user(grid.all(), [&] {
      const std::vector<std::int64_t> i = global_indices(rows);
      const std::vector<std::int64_t> j = global_indices(columns);
      a.by_columns([&](std::int64_t first, MatrixView<double> to) {
        fill_in_blocks(block_, i, std::span(j).subspan(static_cast<std::size_t>(first)), to,
                       [&] { return a.ended(); });
      });
    });
  }

 private:
  std::int64_t n_;
  BlockFunction block_;
};

/// A function that fills blocks by a function of elements, which several threads call.
BlockFunction block_function(ElementFunction element) {
  if (!element) return {};
  return [element = std::move(element)](std::span<const std::int64_t> i,
                                        std::span<const std::int64_t> j, double* a,
                                        std::int64_t lda) {
    for_each_in_threads(std::ssize(i), [&](std::int64_t p) {
      for (std::int64_t q = 0; q < std::ssize(j); ++q)
        a[p + q * lda] = element(i[static_cast<std::size_t>(p)], j[static_cast<std::size_t>(q)]);
    });
  };
}

class FunctionRightHandSide : public SolvedEverywhere {
 public:
  /// @param what the user's function computes: "elements" or "blocks"
  FunctionRightHandSide(std::int64_t count, BlockFunction block, const char* what)
      : count_(count), block_(std::move(block)), what_(what) {}

  std::int64_t count() const override { return count_; }
  std::string description() const override { return described_columns(count_); }
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
    const RowShares shares(std::ssize(b), all);
    std::vector<double> mine;
    agree_on_user(all, [&] {
      const std::vector<std::int64_t> rows = global_indices(shares.mine);
      mine.resize(rows.size());
      fill_in_blocks(
          block_, rows, std::span(&k, 1),
          {mine.data(), std::ssize(mine), 1, std::max<std::int64_t>(std::ssize(mine), 1)},
          [] { return false; });
    });
    all.all_gather(mine, b, shares.counts);
  }

 private:
  std::int64_t count_;
  BlockFunction block_;
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
  return Matrix(std::make_shared<FunctionMatrix>(n, std::move(element)));
}

RightHandSide RightHandSide::from_function(std::int64_t count, ElementFunction element) {
  return RightHandSide(std::make_shared<FunctionRightHandSide>(
      count, block_function(std::move(element)), "elements"));
}

Matrix Matrix::from_blocks(std::int64_t n, BlockFunction block) {
  return Matrix(std::make_shared<BlockFunctionMatrix>(n, std::move(block)));
}

RightHandSide RightHandSide::from_blocks(std::int64_t count, BlockFunction block) {
  return RightHandSide(std::make_shared<FunctionRightHandSide>(count, std::move(block), "blocks"));
}

RightHandSide RightHandSide::of_ones() {
  return RightHandSide(std::make_shared<Ones>());
}

}  // namespace lupine
