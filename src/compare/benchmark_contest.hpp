// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell compare` with a benchmark's matrix: HPL-MxP, speedwell::solve, HPL and LAPACK in
/// turns. After each round of turns, the rates that bound theirs are measured.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/ceilings.hpp"
#include "compare/contest.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// All solvers, HPL too, solve HPL-MxP's system. All ranks measure a ceiling at the same time.
/// setup() is that of HPL-MxP in its first precision.
class BenchmarkContest final : public Contest {
 public:
  /// @param mxp,hpl options of the two benchmarks, with n given; all solvers take the matrix of
  ///        `mxp`
  /// @param profile its entries take precedence over the table of defaults
  /// @throws UsageError where plan() refuses HPL-MxP in its first precision, or no solver can
  ///         run
  BenchmarkContest(const Communicator& world, const CompareOptions& who,
                   const BenchmarkOptions& mxp, const BenchmarkOptions& hpl,
                   const Profile& profile);

 private:
  Turn speedwell_turn(std::size_t entry) override;
  Turn lapack_turn(LapackDriver driver) override;
  void measure_ceilings() override;

  struct Devices;
  using Measure = std::function<ProductRate(Devices&)>;

  void enter(const Machine& machine, SolverKind solver, const BenchmarkOptions& options);
  void add_registers();
  void add_products();
  void add_memory();
  void add_product(std::string name, std::string bounds, Product product, Precision precision,
                   std::int64_t width, bool on_host);
  void add_ceiling(Ceiling ceiling, Measure measure);
  void measure(Ceiling& ceiling, const Measure& measure, Devices& devices) const;

  Profile profile_;
  Communicator alone_;  // of this rank alone
  int node_ranks_;
  std::vector<Setup> setups_;      // one of each solver; LAPACK's are empty
  std::vector<Measure> measures_;  // one of each ceiling
};

}  // namespace speedwell
