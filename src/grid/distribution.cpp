// SPDX-License-Identifier: BSD-3-Clause
#include "grid/distribution.hpp"

#include <algorithm>

#include <speedwell/error.hpp>

#include "core/expects.hpp"

namespace speedwell {

Distribution::Distribution(std::int64_t n, std::int64_t nb, int processes, int me)
    : n_(n), nb_(std::min(nb, std::max<std::int64_t>(n, 1))), processes_(processes), me_(me) {
  if (n < 0 || nb < 1 || processes < 1 || me < 0 || me >= processes)
    throw UsageError("a distribution needs n >= 0, nb >= 1 and 0 <= process < processes");
}

int Distribution::owner(GlobalIndex g) const {
  return static_cast<int>((g.value / nb_) % processes_);
}

LocalIndex Distribution::local(GlobalIndex g) const {
  SPEEDWELL_EXPECTS(mine(g));
  return place(g).local;
}

Place Distribution::place(GlobalIndex g) const {
  const std::int64_t block = g.value / nb_;
  return {static_cast<int>(block % processes_), {block / processes_ * nb_ + g.value % nb_}};
}

GlobalIndex Distribution::global(LocalIndex l) const {
  return {(l.value / nb_ * processes_ + me_) * nb_ + l.value % nb_};
}

LocalIndex Distribution::local_begin(GlobalIndex g) const {
  const std::int64_t bounded = std::clamp<std::int64_t>(g.value, 0, n_);
  const std::int64_t block = bounded / nb_;
  const std::int64_t cycle = block / processes_;
  const std::int64_t place = block % processes_;
  if (place > me_) return {(cycle + 1) * nb_};
  return {cycle * nb_ + (place == me_ ? bounded % nb_ : 0)};
}

std::vector<Run> Distribution::runs() const {
  const std::int64_t count = local_size();
  const std::int64_t step = processes_ == 1 ? std::max<std::int64_t>(count, 1) : nb_;
  std::vector<Run> runs;
  for (LocalIndex l{0}; l.value < count; l = l + step)
    runs.push_back({global(l), l, std::min(step, count - l.value)});
  return runs;
}

}  // namespace speedwell
