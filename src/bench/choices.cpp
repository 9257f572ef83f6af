// SPDX-License-Identifier: BSD-3-Clause
// Of campaign.hpp, what the reading of a command line needs: no run, no MPI.
#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <vector>

#include "bench/campaign.hpp"

namespace speedwell {

HplDat choices_of(const BenchmarkOptions& options) {
  HplDat dat;
  dat.n = {options.n};
  dat.nb = {options.run.nb};
  dat.order = options.run.order;
  dat.p = {options.run.nprow};
  dat.q = {options.run.npcol};
  dat.threshold = options.threshold;
  dat.nbmin = {options.leaf};
  dat.ndiv = {options.ndiv};
  dat.depth = {options.run.lookahead};
  dat.broadcast = {options.run.broadcast};
  dat.pfact = dat.rfact = {PanelFactor::right};
  return dat;
}

void pair_grids(HplDat& dat) {
  const std::vector<int> open{0};
  if (dat.p == open) dat.p.assign(dat.q.size(), 0);
  if (dat.q == open) dat.q.assign(dat.p.size(), 0);
  if (dat.p.size() != dat.q.size())
    throw UsageError(
        fmt::format("-P,--nprow has {} values and -Q,--npcol {}; allowed: as many of one as of the "
                    "other, for they make pairs",
                    dat.p.size(), dat.q.size()));
}

}  // namespace speedwell
