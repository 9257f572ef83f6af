// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine compare`: HPL-MxP, lupine::solve, HPL and LAPACK solve the same system in turns. After
/// each round of turns, the rates that bound theirs are measured.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/ceilings.hpp"
#include "compare/comparison.hpp"
#include "core/clock.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// What is compared. HPL-MxP takes part once with each of `precisions`, in this order.
struct CompareOptions {
  std::optional<GalleryKind> gallery{};  ///< nothing: the benchmark's matrix, by BenchmarkOptions
  /// Right-hand sides, with a matrix of the gallery; 0: as many as n.
  std::int64_t rhs = 1;
  std::vector<SolverKind> solvers{SolverKind::mxp, SolverKind::solve, SolverKind::hpl,
                                  SolverKind::dgesv, SolverKind::dsgesv};
  std::vector<Precision> precisions{Precision::bf16, Precision::fp16, Precision::fp32};
};

/// The comparison for one n. HPL-MxP, lupine::solve and HPL run on all ranks; LAPACK runs on rank 0
/// with that rank's threads, while the other ranks wait without using their cores. All ranks
/// measure a ceiling at the same time. All contestants, HPL too, solve HPL-MxP's system. Members
/// are collective, and throw a UsageError or AgreedFault on every rank.
class Contest {
 public:
  /// Plans every contestant's runs. A contestant that is not available, or does not fit, is skipped
  /// with the reason.
  /// @param mxp,hpl options of the two benchmarks, with n given; all contestants take the matrix of
  ///        `mxp`
  /// @param profile its entries take precedence over the table of defaults
  /// @throws UsageError where plan() refuses HPL-MxP in its first precision, or no contestant can
  ///         run
  Contest(const Communicator& world, const CompareOptions& who, const BenchmarkOptions& mxp,
          const BenchmarkOptions& hpl, const Profile& profile);
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  /// The setup of HPL-MxP in its first precision.
  const Setup& setup() const { return frame_; }
  /// The measurements so far. LAPACK's are on rank 0 alone.
  const Comparison& comparison() const { return comparison_; }
  /// Whether every contestant that takes part has solved the system in all its turns. Equal on
  /// every rank.
  bool passed() const;

  using TurnDone = std::function<void(const Contestant&)>;
  /// Runs every contestant once, then measures each ceiling once.
  /// @param done called on rank 0 after each turn
  void round(const TurnDone& done);

 private:
  struct Devices;
  using Measure = std::function<ProductRate(Devices&)>;

  void enter(const Machine& machine, SolverKind solver, const BenchmarkOptions& options);
  void enter_lapack(SolverKind solver);
  void add_registers();
  void add_products();
  void add_memory();
  void add_product(std::string name, std::string bounds, Product product, Precision precision,
                   std::int64_t width, bool on_host);
  void add_ceiling(Ceiling ceiling, Measure measure);
  Turn turn(SolverKind solver, const Setup& setup) const;
  Turn benchmark_turn(const Setup& setup) const;
  void measure(Ceiling& ceiling, const Measure& measure, Devices& devices) const;

  const Communicator& world_;
  Profile profile_;
  Communicator alone_;  // of this rank alone
  SteadyClock clock_;
  int node_ranks_;
  int threads_ = 1;  // of this rank
  Setup frame_;
  Comparison comparison_;
  std::vector<Setup> setups_;      // one of each contestant; LAPACK's are empty
  std::vector<Measure> measures_;  // one of each ceiling
};

}  // namespace lupine
