// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell compare` with a matrix of the gallery, and `speedwell compare --accuracy`:
/// speedwell::solve and LAPACK solve a user system, in turns.
#pragma once

#include <speedwell/matrix.hpp>
#include <speedwell/options.hpp>
#include <speedwell/solution.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/contest.hpp"
#include "compare/known_system.hpp"
#include "device/device.hpp"
#include "generate/gallery.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// A and all right-hand sides lie in rank 0's memory in FP64.
///
/// A turn of `solve` is the whole call of speedwell::solve() with Matrix::dense and default
/// options: on several ranks, sending the other ranks their parts of A is a part of it. A turn of
/// LAPACK, on rank 0 alone, is the call of the driver; the copies of A and b that it overwrites are
/// made before. Every column of x is verified with A and b computed again; or, in a comparison of
/// accuracies, where the system is a KnownSystem, compared with the known x.
///
/// setup() is that of the first step of `solve`. Where that does not fit: the machine, and the
/// options as they were given.
class GalleryContest final : public Contest {
 public:
  /// @param who whose `gallery` has a value, and whose solvers are `solve` and LAPACK's; its
  ///        precisions are not used. With `accuracy` there is one right-hand side.
  /// @param options of which n, seed, threshold, refine, max_iterations and run are used
  /// @throws UsageError where no solver can run
  GalleryContest(const Communicator& world, const CompareOptions& who,
                 const BenchmarkOptions& options);

 private:
  void enter_solve(const Machine& machine, std::optional<Accuracy> accuracy = {});
  /// Computes A at the first round, and keeps it for the later ones where memory allows.
  void prepare() override;
  Turn speedwell_turn(std::size_t entry) override;
  Turn lapack_turn(LapackDriver driver) override;
  void fill(MatrixView<double> a) const;
  std::vector<double> right_hand_sides() const;
  Turn timed_solve(const double* a, Accuracy accuracy) const;
  void judge(const Solution& solution, Turn& turn) const;
  Field field() const { return comparison_.field(); }
  /// Rows of numbers of A in memory.
  std::int64_t rows() const { return parts_of(field()) * comparison_.n; }
  double residual(const std::vector<double>& x) const;

  BenchmarkOptions options_;  // as they were given
  std::unique_ptr<Device> host_;
  // On rank 0, from the first round on: a system that is too large is never made.
  std::optional<GallerySystem> system_;
  std::optional<KnownSystem> known_;  // in its place, in a comparison of accuracies
  std::vector<double> b_;             // of known_
  Buffer kept_;                       // A; or empty
};

}  // namespace speedwell
