// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz.hpp"
#include "io/hpl_dat.hpp"

namespace speedwell::fuzz {

void hpl_dat(std::string_view bytes) {
  read_or_refuse([&] {
    const HplDat dat = parse_hpl_dat(bytes, "HPL.dat");
    expect(dat.p.size() == dat.q.size(), "grids that are no pairs");
    for (const auto ignored : {hpl_ignores(), mxp_ignores()}) {
      expect(!runs(dat, ignored).empty(), "no runs");
      ignored_lines(dat, ignored);
    }
  });
}

}  // namespace speedwell::fuzz
