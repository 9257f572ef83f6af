// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine compare` with a matrix of the gallery: lupine::solve and LAPACK solve a system as users
/// have them, in turns.
#pragma once

#include <lupine/options.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/compare.hpp"
#include "compare/comparison.hpp"
#include "compare/lapack_run.hpp"
#include "core/clock.hpp"
#include "device/device.hpp"
#include "generate/gallery.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// The comparison for one n. A and all right-hand sides lie in rank 0's memory in FP64.
///
/// A turn of `solve` is the whole call of lupine::solve() with Matrix::dense and default options:
/// on several ranks, sending the other ranks their parts of A is a part of it. A turn of LAPACK, on
/// rank 0 alone, is the call of the driver; the copies of A and b that it overwrites are made
/// before. Every column of x is verified with A and b computed again.
///
/// Members are collective, and throw a UsageError or AgreedFault on every rank.
class GalleryContest {
 public:
  /// Looks which contestants are available and fit; others are skipped, with the reason.
  /// @param who whose `gallery` has a value, and whose solvers are `solve` and LAPACK's; its
  ///        precisions are not used
  /// @param options of which n, seed, threshold, refine, max_iterations and run are used
  /// @throws UsageError where no contestant can run
  GalleryContest(const Communicator& world, const CompareOptions& who,
                 const BenchmarkOptions& options);
  GalleryContest(const GalleryContest&) = delete;
  GalleryContest& operator=(const GalleryContest&) = delete;

  /// The setup of the first step of `solve`. Where that does not fit: the machine, and the options
  /// as they were given.
  const Setup& setup() const { return setup_; }
  /// The measurements so far. They are complete on rank 0 alone.
  const Comparison& comparison() const { return comparison_; }
  /// Whether every contestant that takes part has solved the system in all its turns. Equal on
  /// every rank.
  bool passed() const;

  /// Runs every contestant once. The first round computes A, which is kept for the later ones where
  /// memory allows. @param done called on rank 0 after each turn
  void round(const Contest::TurnDone& done);

 private:
  void enter_solve(const Machine& machine);
  void prepare();
  void fill(MatrixView<double> a) const;
  Turn solve_turn() const;
  Turn timed_solve(MatrixView<const double> a) const;
  double residual(const std::vector<double>& x) const;
  LapackSystem lapack_system() const;

  const Communicator& world_;
  BenchmarkOptions options_;  // as they were given
  SteadyClock clock_;
  Setup setup_;
  int threads_ = 1;  // of this rank
  Comparison comparison_;
  std::unique_ptr<Device> host_;
  // On rank 0, from the first round on: a system that is too large is never made.
  std::optional<GallerySystem> system_;
  Buffer kept_;  // A; or empty
};

}  // namespace lupine
