// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Block-cyclic distribution of one dimension: index maths, pure.
///
/// Blocks of nb indices are dealt to the processes in turn; the last block is simply smaller.
///
/// | from \ to    | owner        | local                         | global       |
/// |--------------|--------------|-------------------------------|--------------|
/// | GlobalIndex  | owner(g)     | local(g), if owner(g) == me   | -            |
/// | GlobalIndex  | -            | local_begin(g): indices < g   | -            |
/// | LocalIndex   | me           | -                             | global(l)    |
#pragma once

#include <cstdint>
#include <vector>

#include "core/index.hpp"

namespace lupine {

/// Indices that are contiguous both globally and locally.
struct Run {
  GlobalIndex global;
  LocalIndex local;
  std::int64_t length = 0;
};

class Distribution {
 public:
  /// @throws UsageError unless n >= 0, nb >= 1 and 0 <= me < processes
  Distribution(std::int64_t n, std::int64_t nb, int processes, int me);

  std::int64_t size() const { return n_; }
  std::int64_t block() const { return nb_; }
  int processes() const { return processes_; }
  int me() const { return me_; }
  /// How many of the n indices this process holds.
  std::int64_t local_size() const { return local_begin({n_}).value; }

  int owner(GlobalIndex g) const;
  bool mine(GlobalIndex g) const { return owner(g) == me_; }
  /// @pre mine(g)
  LocalIndex local(GlobalIndex g) const;
  GlobalIndex global(LocalIndex l) const;
  /// The first local index whose global index is >= g; local_size() if there is none.
  LocalIndex local_begin(GlobalIndex g) const;
  /// All local indices in ascending order, as few runs as possible.
  std::vector<Run> runs() const;

 private:
  std::int64_t n_;
  std::int64_t nb_;
  int processes_;
  int me_;
};

}  // namespace lupine
