// SPDX-License-Identifier: BSD-3-Clause
// Sources whose elements are computed by a user's function.
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>

#include "comm/agreement.hpp"
#include "solve/source_parts.hpp"
#include "solve/threads.hpp"

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

void require_callable(const ElementFunction& element, const char* whose) {
  if (!element) throw UsageError(fmt::format("the function of {}'s elements is empty", whose));
}

class FunctionMatrix : public MatrixSource {
 public:
  FunctionMatrix(std::int64_t n, ElementFunction element) : n_(n), element_(std::move(element)) {}

  std::int64_t n() const override { return n_; }
  void check(const Communicator& all) const override {
    require_equal_options(all, {{"order of A", std::to_string(n_)}});
    agree(all, [&] {
      require_order(n_);
      require_callable(element_, "A");
    });
  }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    const std::vector<Run> runs = rows.runs();
    const auto fill_columns = [&](std::int64_t first, MatrixView<double> to) {
      for_each_in_threads(to.columns, [&](std::int64_t l) {
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

class FunctionRightHandSide : public SolvedEverywhere {
 public:
  FunctionRightHandSide(std::int64_t count, ElementFunction element)
      : count_(count), element_(std::move(element)) {}

  std::int64_t count() const override { return count_; }
  void check(const Communicator& all, std::int64_t n) const override {
    require_equal_options(all, {{"b", fmt::format("{} x {}", n, count_)}});
    agree(all, [&] {
      require_count(count_);
      require_callable(element_, "b");
    });
  }
  bool at_hand() const override { return false; }
  // Each element is computed once, on one rank, so that all ranks have the same b even if the
  // function does not always return the same value.
  void get(const ProcessGrid& grid, std::int64_t k, std::vector<double>& b) const override {
    const Communicator& all = grid.all();
    const RowShares shares(std::ssize(b), all);
    const std::int64_t begin = shares.mine.global({0}).value;
    std::vector<double> mine;
    agree_on_user(all, [&] {
      mine.resize(static_cast<std::size_t>(shares.mine.local_size()));
      for_each_in_threads(std::ssize(mine), [&](std::int64_t i) {
        mine[static_cast<std::size_t>(i)] = element_(begin + i, k);
      });
    });
    all.all_gather(mine, b, shares.counts);
  }

 private:
  std::int64_t count_;
  ElementFunction element_;
};

class Ones : public SolvedEverywhere {
 public:
  std::int64_t count() const override { return 0; }
  void check(const Communicator& /*all*/, std::int64_t /*n*/) const override {}
  void get(const ProcessGrid& /*grid*/, std::int64_t /*k*/,
           std::vector<double>& /*b*/) const override {
    throw Fault("b = A times ones is computed from A");
  }
};

}  // namespace

Matrix Matrix::from_function(std::int64_t n, ElementFunction element) {
  return Matrix(std::make_shared<FunctionMatrix>(n, std::move(element)));
}

RightHandSide RightHandSide::from_function(std::int64_t count, ElementFunction element) {
  return RightHandSide(std::make_shared<FunctionRightHandSide>(count, std::move(element)));
}

RightHandSide RightHandSide::of_ones() {
  return RightHandSide(std::make_shared<Ones>());
}

}  // namespace lupine
