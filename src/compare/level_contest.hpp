// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell compare --levels`: levels of precision solve one system in turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/contest.hpp"
#include "compare/known_system.hpp"
#include "refine/refinement.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"
#include "solve/factored_system.hpp"
#include "solve/user_matrix.hpp"

namespace speedwell {

/// FP64 and O0 take part once, the other levels once with each 16-bit precision. They solve a
/// system of the gallery whose x is known; see KnownSystem.
///
/// A turn is scaling, factorization with partial pivoting, and refinement, or one solve where the
/// level has none: A lies in FP64 in the devices' memory before. A level that finds no factors, or
/// a poor x, has taken its turn.
class LevelContest final : public Contest {
 public:
  /// @param who whose `gallery` has a value, and of whose precisions those of 16 bits are used
  /// @param options of which n, seed, refine, max_iterations, leaf, ndiv and run are used
  /// @throws UsageError where no level can run
  LevelContest(const Communicator& world, const CompareOptions& who,
               const BenchmarkOptions& options, const Profile& profile);

 private:
  void enter(Level level, Precision precision, const Profile& profile);
  Turn speedwell_turn(std::size_t entry) override;
  /// Makes A, x and b in blocks of this size, unless they are there.
  void load(std::int64_t nb);
  /// y of (R A C) y = R b, refined.
  RefineOutcome refined(FactoredSystem& factored, const Vector& scaled_b) const;
  /// max |x_i - x*_i| for x = C y. Collective.
  double error_of(const Scales& scales, const Vector& y) const;

  BenchmarkOptions options_;
  KnownSystem system_;
  Machine machine_;
  std::vector<LuSetup> setups_;    // one of each solver
  std::unique_ptr<UserMatrix> a_;  // from the first round on
  std::int64_t nb_ = 0;            // of a_
  Vector b_;                       // along rows, in the blocks of a_
  Vector x_;                       // along columns
};

}  // namespace speedwell
