// SPDX-License-Identifier: BSD-3-Clause
// Levels of precision solve a system whose x is known.
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "compare/contest.hpp"
#include "compare/known_system.hpp"
#include "device_choice.hpp"

namespace speedwell::test::level_contest_tests {
namespace {

CompareOptions levels_of(GalleryKind kind) {
  return {.gallery = kind, .levels = true};
}

BenchmarkOptions system_of(std::int64_t n, std::int64_t nb) {
  BenchmarkOptions options;
  options.n = n;
  options.run.nb = nb;
  options.run.threads = 1;
  options.run.device = test::device_choice().device;
  options.run.comm = test::device_choice().comm;
  return options;
}

/// The only turn of each level.
std::map<std::string, Turn> turns_of(const Contest& contest) {
  std::map<std::string, Turn> all;
  for (const ComparedSolver& one : contest.comparison().solvers) {
    REQUIRE(one.turns.size() == 1);
    all[title(one)] = one.turns.front();
  }
  return all;
}

}  // namespace

// Panels of one column and of all columns, blocks that end within the matrix, and more ranks than
// blocks.
TEST_CASE("levels: refined ones find x to FP64, and the first error grows with the roundings",
          "[compare][levels]") {
  const auto all = Communicator::duplicate(comm_world());
  using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const bool emulated = test::device_choice().device == DeviceKind::cuda;  // and slow
  const Sizes sizes =
      emulated ? Sizes{{1, 1}, {130, 16}} : Sizes{{1, 1}, {41, 7}, {130, 16}, {130, 130}, {67, 1}};
  for (const auto& [n, nb] : sizes)
    for (const int lookahead : {0, 1})
      for (const GridShape shape : grids(all.size())) {
        if (lookahead == 0 && (nb != 16 || emulated)) continue;
        CAPTURE(n, nb, lookahead, shape.nprow, shape.npcol);
        BenchmarkOptions options = system_of(n, nb);
        options.run.lookahead = lookahead;
        options.run.nprow = shape.nprow;
        options.run.npcol = shape.npcol;
        options.run.order = shape.order;
        const auto contest = level_contest(all, levels_of(GalleryKind::shifted), options, {});
        contest->round([](const ComparedSolver&) {});
        CHECK(contest->passed());
        const auto turns = turns_of(*contest);
        CHECK(turns.size() == 8);
        for (const auto& [name, turn] : turns) {
          CAPTURE(name);
          CHECK(turn.failure.empty());
          REQUIRE(turn.matrix);
          CHECK(turn.matrix->over == 0);
          REQUIRE(turn.factors);
          CHECK(turn.factors->over == 0);
          const bool refined = name.substr(0, 2) != "O3";
          CHECK((turn.corrections.value() > 0) == refined);
          CHECK(turn.error <= (refined ? 1e-13 : 0.3));
          if (!refined) CHECK(turn.error == turn.first_error);
        }
        if (n < 41 || nb == n) continue;  // without updates O1 is O0
        const auto first = [&](const char* name) { return turns.at(name).first_error; };
        CHECK(first("fp64") < 1e-13);
        CHECK(100 * first("fp64") < first("O0 fp32"));
        CHECK(10 * first("O0 fp32") < first("O1 fp16"));
        CHECK(first("O1 fp16") < first("O1 bf16"));
        CHECK(first("O1 fp16") < first("O2 fp16"));
        CHECK(first("O1 bf16") < first("O2 bf16"));
      }
}

TEST_CASE("levels: beyond FP16's range only scaling helps, and that is a result",
          "[compare][levels]") {
  const auto all = Communicator::duplicate(comm_world());
  const std::int64_t n = 61;
  const auto contest = level_contest(all, levels_of(GalleryKind::large), system_of(n, 8), {});
  contest->round([](const ComparedSolver&) {});
  CHECK(contest->passed());
  const auto turns = turns_of(*contest);
  const KnownSystem system(GalleryKind::large, n, 1);
  std::int64_t over = 0;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) over += std::fabs(system(i, j)) >= 65520 ? 1 : 0;
  for (const auto& [name, turn] : turns) {
    CAPTURE(name);
    REQUIRE(turn.matrix);
    const bool fails = name == "O3 fp16";
    CHECK(turn.passed() != fails);
    CHECK(turn.matrix->over == (fails ? over : 0));
    CHECK(std::isnan(turn.error) == fails);
    CHECK(turn.factors.has_value() != fails);
    if (name.substr(0, 2) != "O3") CHECK(turn.error < 1e-13);
  }
}

// What a scale of the whole of A does not help against: FP16 factors of so many digits are useless.
TEST_CASE("levels: what cannot be solved is no error", "[compare][levels]") {
  const auto all = Communicator::duplicate(comm_world());
  BenchmarkOptions options = system_of(60, 8);
  options.refine = RefineMethod::ir;
  const auto contest = level_contest(all, levels_of(GalleryKind::graded), options, {});
  contest->round([](const ComparedSolver&) {});
  CHECK(contest->passed());
  const auto turns = turns_of(*contest);
  CHECK_FALSE(turns.at("O2 bf16").error < 1e-3);
  CHECK(turns.at("O2 bf16").matrix->over == 0);
  CHECK(turns.at("fp64").error < 1e-3);
}

TEST_CASE("levels: factors of 16 bits take less memory", "[compare][levels]") {
  const auto all = Communicator::duplicate(comm_world());
  const auto contest =
      level_contest(all, levels_of(GalleryKind::shifted), system_of(20000, 256), {});
  std::map<std::string, double> bytes;
  for (const ComparedSolver& one : contest->comparison().solvers) {
    CHECK(one.skipped.empty());
    bytes[title(one)] = one.lu_bytes;
  }
  const double elements = 20000. * 20000 / all.size();
  CHECK(bytes.at("fp64") - bytes.at("O0 fp32") > 3.5 * elements);
  CHECK(bytes.at("O0 fp32") - bytes.at("O2 bf16") > 1.2 * elements);
  CHECK(bytes.at("O2 fp16") == bytes.at("O3 fp16"));
}
}  // namespace speedwell::test::level_contest_tests
