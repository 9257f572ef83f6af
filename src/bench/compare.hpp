// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// HPL-MxP, lupine::solve, HPL and LAPACK on one matrix, in turns, and the rates that bound them.
#pragma once

#include <lupine/options.hpp>

#include <functional>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/comparison.hpp"
#include "comm/communicator.hpp"
#include "core/clock.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// Who takes part. HPL-MxP does with each precision, in this order.
struct CompareOptions {
  std::vector<Solver> solvers{Solver::mxp, Solver::solve, Solver::hpl, Solver::dgesv,
                              Solver::dsgesv};
  std::vector<Precision> precisions{Precision::bf16, Precision::fp16, Precision::fp32};
};

/// All for one n. HPL-MxP, solve and HPL run on all ranks, LAPACK on rank 0 with its threads while
/// the others sleep; ceilings are measured by all ranks at once. All solve the system of HPL-MxP,
/// HPL too. Members are collective, and throw UsageError and AgreedFault on every rank alike.
class Contest {
 public:
  /// Chooses and checks everything. Where HPL or LAPACK is not there or does not fit, it is skipped
  /// with the reason.
  /// @param mxp,hpl options of both, with n given; what mxp says of the matrix is for all
  /// @param profile as for `plan`
  /// @throws UsageError where HPL-MxP may not run, or nobody can
  Contest(const Communicator& world, const CompareOptions& who, const BenchmarkOptions& mxp,
          const BenchmarkOptions& hpl, const Profile& profile);
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  /// Of HPL-MxP in the first precision.
  const Setup& setup() const { return frame_; }
  /// So far. Whole on rank 0.
  const Comparison& comparison() const { return comparison_; }
  /// On every rank: nothing has failed.
  bool passed() const;

  using TurnDone = std::function<void(const Contestant&)>;
  /// Everybody once, then each ceiling. @param done called on rank 0 after each turn
  void round(const TurnDone& done);

 private:
  struct Devices;
  using Measure = std::function<ProductRate(Devices&)>;

  void enter(const Machine& machine, Solver solver, const BenchmarkOptions& options);
  void enter_lapack(Solver solver);
  void add_registers();
  void add_products();
  void add_memory();
  void add_product(std::string name, std::string bounds, Product product, Precision precision,
                   std::int64_t width, bool on_host);
  void add_ceiling(Ceiling ceiling, Measure measure);
  Turn turn(Solver solver, const Setup& setup) const;
  Turn benchmark_turn(const Setup& setup) const;
  Turn lapack_turn(Solver solver) const;
  void measure(Ceiling& ceiling, const Measure& measure, Devices& devices) const;

  const Communicator& world_;
  Profile profile_;
  Communicator alone_;  // each rank for itself
  SteadyClock clock_;
  int node_ranks_;
  int threads_ = 1;  // of this rank
  Setup frame_;
  Comparison comparison_;
  std::vector<Setup> setups_;      // of each contestant; LAPACK's are empty
  std::vector<Measure> measures_;  // of each ceiling
};

}  // namespace lupine
