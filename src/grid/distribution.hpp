// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Block-cyclic distribution of one dimension of a matrix. Pure: conversions of indices only.
///
/// Processes get blocks of nb indices in turn, beginning with process 0; the last block may be
/// smaller. "me" is the process whose local indices an object converts.
///
/// | from \ to    | owner        | local                         | global       |
/// |--------------|--------------|-------------------------------|--------------|
/// | GlobalIndex  | owner(g)     | local(g), if owner(g) == me   | -            |
/// | GlobalIndex  | -            | local_begin(g), for any g     | -            |
/// | LocalIndex   | me           | -                             | global(l)    |
#pragma once

#include <cstdint>
#include <vector>

#include "core/index.hpp"

namespace speedwell {

/// A range of `length` indices that are contiguous both globally and locally.
struct Run {
  GlobalIndex global;
  LocalIndex local;
  std::int64_t length = 0;
};

/// Where an index lies: on which process of a grid dimension, and under which local index there.
struct Place {
  int process = 0;
  LocalIndex local;
};

/// How n indices (the rows or the columns of a matrix) lie on the processes of one grid dimension,
/// seen by process me.
class Distribution {
 public:
  /// A block size above n becomes max(n, 1).
  /// @throws UsageError unless n >= 0, nb >= 1 and 0 <= me < processes
  Distribution(std::int64_t n, std::int64_t nb, int processes, int me);

  std::int64_t size() const { return n_; }
  std::int64_t block() const { return nb_; }
  int processes() const { return processes_; }
  int me() const { return me_; }
  /// How many of the n indices this process holds.
  std::int64_t local_size() const { return local_begin({n_}).value; }

  /// The process that holds g. The formula goes on beyond n: g may be any index >= 0.
  int owner(GlobalIndex g) const;
  bool mine(GlobalIndex g) const { return owner(g) == me_; }
  /// The local index of g on this process. @pre mine(g)
  LocalIndex local(GlobalIndex g) const;
  /// The process that holds g, and its local index of g.
  Place place(GlobalIndex g) const;
  /// The global index of this process's local index l.
  GlobalIndex global(LocalIndex l) const;
  /// The first local index whose global index is >= g; local_size() if there is none.
  LocalIndex local_begin(GlobalIndex g) const;
  /// All local indices in ascending order, in runs: one for each block of this process, or a single
  /// one where there is one process.
  std::vector<Run> runs() const;

 private:
  std::int64_t n_;
  std::int64_t nb_;
  int processes_;
  int me_;
};

}  // namespace speedwell
