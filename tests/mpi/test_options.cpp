// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/benchmark.hpp>
#include <speedwell/error.hpp>
#include <speedwell/solve.hpp>

#include <functional>
#include <new>
#include <string>
#include <type_traits>

#include "catch.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "core/memory_fault.hpp"
#include "device_choice.hpp"
#include "wider_options.hpp"
#include "world.hpp"

namespace speedwell::test::options_tests {
namespace {

/// The message of the UsageError that `work` throws; empty where it throws none.
std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Changes the value of an option, whatever its type.
template <class Value>
void change(Value& value) {
  if constexpr (std::is_enum_v<Value>)
    value = static_cast<Value>(static_cast<int>(value) == 0 ? 1 : 0);
  else if constexpr (std::is_same_v<Value, bool>)
    value = !value;
  else if constexpr (std::is_arithmetic_v<Value>)
    value += 1;
  else
    value.push_back(7);
}

/// Changes each option in turn on the last rank, and checks that all ranks are told which it is.
template <class Options>
void compare_each(const Communicator& all) {
  int count = 0;
  const Options defaults;
  for_each_option(defaults, [&](auto, const auto&) { ++count; });
  for (int i = 0; i < count; ++i) {
    Options mine;
    std::string changed;
    int place = 0;
    for_each_option(mine, [&](std::string_view name, auto& value) {
      if (place++ != i) return;
      changed = name;
      if (all.rank() == all.size() - 1) change(value);
    });
    CAPTURE(changed);
    const std::string words = refusal([&] { require_equal_options(all, mine); });
    if (all.size() == 1)
      CHECK(words.empty());
    else
      CHECK_THAT(words, ContainsSubstring("rank " + std::to_string(all.size() - 1) +
                                          " has other options than rank 0: " + changed + " "));
  }
}

}  // namespace

TEST_CASE("every option is compared between ranks, also a new one", "[options]") {
  const Communicator all = world();
  compare_each<RunOptions>(all);
  compare_each<BenchmarkOptions>(all);
  compare_each<SolveOptions>(all);
  compare_each<WiderOptions>(all);
}

TEST_CASE("the message names only the options that differ", "[options]") {
  const Communicator all = world();
  if (all.size() == 1) return;
  RunOptions mine;
  mine.nb = 64;
  if (all.rank() == 1) {
    mine.lookahead = 3;
    mine.gpus = {0, 1};
  }
  CHECK(refusal([&] { require_equal_options(all, mine); }) ==
        "rank 1 has other options than rank 0: lookahead 3 and not -1, gpus 0,1 and not ''; "
        "allowed: the same on all");
}

TEST_CASE("a fault names the rank that alone met it; one that all ranks know is an AgreedFault",
          "[options]") {
  const Communicator all = world();
  const int last = all.size() - 1;
  const auto caught = [&](const auto& work) {
    try {
      on_this_rank(MPI_COMM_WORLD, work);
    } catch (const AgreedFault&) {
      return std::string("agreed");
    } catch (const Fault& fault) {
      CHECK(fault.rank() == all.rank());
      CHECK(fault.where() == host_name());
      return std::string(fault.what());
    } catch (const UsageError&) {
      return std::string("usage");
    }
    return std::string();
  };
  CHECK(caught([] { throw Fault("a full disk"); }) == "a full disk");
  // All ranks know what a rank alone meets.
  const bool alone = all.size() == 1;
  CHECK(caught([] { throw std::bad_alloc(); }) == (alone ? "agreed" : "out of memory"));
  CHECK(caught([] { throw MemoryFault("no room"); }) == (alone ? "agreed" : "no room"));
  if (alone)
    CHECK_THROWS_AS(on_this_rank(MPI_COMM_WORLD, [] { throw MemoryFault("no room"); }),
                    OutOfMemory);
  CHECK(caught([] { throw AgreedFault("all know"); }) == "agreed");
  CHECK(caught([] { throw UsageError("not allowed"); }) == "usage");
  CHECK(caught([] {}).empty());
  CHECK(on_this_rank(MPI_COMM_WORLD, [] { return 7; }) == 7);
  try {
    agree(all, [&] {
      if (all.rank() == last) throw Fault("out of memory: some");
    });
    CHECK(false);
  } catch (const AgreedFault& fault) {
    CHECK(fault.rank() == last);
    CHECK_THAT(fault.what(), ContainsSubstring("rank " + std::to_string(last) + " on "));
  }
}

TEST_CASE("ranks that agree keep the types of errors of memory", "[options]") {
  const Communicator all = world();
  const bool last = all.rank() == all.size() - 1;
  const auto agreeing = [&](const auto& error) {
    agree(all, [&] {
      if (last) throw error;
    });
  };
  CHECK_THROWS_AS(agreeing(NotEnoughMemory("too large")), NotEnoughMemory);
  CHECK_THROWS_WITH(agreeing(NotEnoughMemory("too large")), ContainsSubstring("too large"));
  CHECK_THROWS_AS(agreeing(MemoryFault("no room")), OutOfMemory);
  CHECK_THROWS_AS(agreeing(std::bad_alloc()), OutOfMemory);
  CHECK_THROWS_AS(test::make_chosen_device()->allocate(std::int64_t{1} << 60), MemoryFault);
  const auto type_of = [&](const auto& error) {
    try {
      agreeing(error);
    } catch (const OutOfMemory&) {
      return "memory";
    } catch (const AgreedFault&) {
      return "fault";
    } catch (const NotEnoughMemory&) {
      return "does not fit";
    } catch (const UsageError&) {
      return "usage";
    }
    return "";
  };
  CHECK(type_of(Fault("a full disk")) == std::string("fault"));
  CHECK(type_of(UsageError("not allowed")) == std::string("usage"));
}

TEST_CASE("a fault in the middle of a run leaves the library with its rank", "[options]") {
  if (world().size() > 1) return;  // other ranks would wait for this one
  BenchmarkOptions options;
  options.n = 200;
  options.run.nb = 32;
  options.run.threads = 1;
  options.run.device = test::device_choice().device;
  const ProgressFunction fails = [](const Progress&) { throw Fault("the log is full"); };
  const auto check = [](const std::function<void()>& run) {
    try {
      run();
      CHECK(false);
    } catch (const Fault& fault) {
      CHECK(fault.rank() == 0);
      CHECK(std::string(fault.what()) == "the log is full");
      CHECK(dynamic_cast<const AgreedFault*>(&fault) == nullptr);
    }
  };
  check([&] { mxp(MPI_COMM_WORLD, options, fails); });
  check([&] { hpl(MPI_COMM_WORLD, options, fails); });
  const Matrix a = Matrix::from_function(200, [](std::int64_t i, std::int64_t j) {
    return i == j ? 2.0 : 1.0 / (1.0 + double(i + j));
  });
  SolveOptions solving;
  solving.run = options.run;
  check([&] { solve(MPI_COMM_WORLD, a, RightHandSide::of_ones(), solving, fails); });
  check([&] { Factorization(MPI_COMM_WORLD, a, solving, fails); });
}
}  // namespace speedwell::test::options_tests
