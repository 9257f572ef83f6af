// SPDX-License-Identifier: BSD-3-Clause
// What a SteppedSolver reads into memory, and begins again with where that has changed there.
#include <fmt/format.h>

#include <algorithm>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "device/checksum_keys.hpp"
#include "solve/stepped_solver.hpp"

namespace speedwell {

namespace {

constexpr int most_reads = 2;  // of what changes in memory

}  // namespace

// The watch is paused: a user's function or a slow file system may take any time.
void SteppedSolver::load() {
  const auto pause = run().pause();
  a_.emplace(grid(), machine_.device(), source_.source(), first_.lu.nb);
  checksum_.reset();
}

// Whether A had changed in memory, so that all that was found holds for another matrix. Then A is
// read again, and the next step is the first one.
// @param seen see Checksum; @throws AccuracyError where A is the caller's, or has changed before
bool SteppedSolver::read_again(std::optional<MatrixChecksum> seen) {
  const double begin = run().now();
  const ChangeOfMatrix changed = scaled_->what_changed(*checksum_, seen);
  check_seconds_ += run().now() - begin;
  return !changed.why.empty() && begin_again(changed.why, changed.of_a);
}

// Begins again with the first step, since something has changed in memory. Returns true.
// @param load_a whether A is read again @throws AccuracyError where that was done too often, or A
// is the caller's
bool SteppedSolver::begin_again(const std::string& why, bool load_a) {
  steps_.back().solved = false;
  steps_.back().why = why;
  factors_.reset();
  if ((load_a && !a_->is_copy()) || reads_ == most_reads) fail({});
  ++reads_;
  scaled_.reset();
  if (load_a) load();
  at_ = -1;
  return true;
}

// Whether x is what was stored; else changed_ says so.
void SteppedSolver::require_stored(const RightHandSideSource& b, const Solution& solution) {
  if (!stored_->hold(grid(), b, solution.x))
    changed_ = "x has changed in memory since it was found";
}

// b <- right-hand side k, whole; op(A) times ones where none is given. Returns what is wrong with
// its values; empty if they are finite.
// @throws AccuracyError where it is not what was read before
std::string SteppedSolver::get(const RightHandSideSource& source, std::int64_t k,
                               std::span<double> b) {
  std::optional<MatrixChecksum>& read = b_read_[static_cast<std::size_t>(k)];
  if (source.count() == 0) {
    std::ranges::copy(times_ones(grid(), machine_.device(), *a_, op_), b.begin());
    read.reset();
  } else if (const auto kept = kept_.find(k); kept != kept_.end()) {
    std::ranges::copy(VectorSpace(grid(), Layout::rows).gather(a_->rows(), kept->second),
                      b.begin());
  } else {
    const auto pause = run().pause();
    stop_if_interrupted(all());
    source.get(grid(), k, b);
    if (!source.at_hand() && (!last() || may_rotate())) kept_.emplace(k, local_part(a_->rows(), b));
  }
  const MatrixChecksum now = checksum_of(b);
  if (read && all().all_reduce(std::int64_t{*read != now}, Reduction::max) != 0) {
    steps_.back().solved = false;
    steps_.back().why = fmt::format("b has changed in memory since it was read: column {}", k + 1);
    fail({});
  }
  read = now;
  return wrong_value(b, k, field());
}

}  // namespace speedwell
