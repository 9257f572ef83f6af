// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "comm/agreement.hpp"
#include "solve/file_part.hpp"

namespace lupine {

namespace {

/// Bytes of the file that a rank reads in one turn. All ranks together read at most 64 MiB (with up
/// to 1024 ranks), since all entries of a turn may belong to one rank.
std::int64_t piece_bytes(int ranks) {
  constexpr std::int64_t all_ranks = std::int64_t{64} << 20;
  return std::clamp<std::int64_t>(all_ranks / ranks, std::int64_t{1} << 16, std::int64_t{1} << 20);
}

/// Sorts entries into lists, one for each rank: the entries that the rank owns. With `mirrored`,
/// a_ij also gives a_ji (symmetric), or -a_ij as a_ji with `negated` (skew-symmetric).
class Owners {
 public:
  Owners(const Parts& parts, bool mirrored, bool negated)
      : parts_(parts),
        mirrored_(mirrored),
        sign_(negated ? -1 : 1),
        lists_(static_cast<std::size_t>(parts.shape.size())) {}

  void deal(const std::vector<MarketEntry>& entries) {
    for (auto& list : lists_) list.clear();
    for (const MarketEntry& e : entries) {
      add(e);
      if (mirrored_ && e.row != e.column) add({e.column, e.row, sign_ * e.value});
    }
  }
  const std::vector<std::vector<MarketEntry>>& lists() const { return lists_; }

 private:
  void add(const MarketEntry& e) {
    const int owner =
        parts_.shape.rank({parts_.rows.owner({e.row}), parts_.columns.owner({e.column})});
    lists_[static_cast<std::size_t>(owner)].push_back(e);
  }

  const Parts& parts_;
  bool mirrored_;
  double sign_;
  std::vector<std::vector<MarketEntry>> lists_;
};

/// The number of entries in the file before those of this rank in this turn. Adds to `total` how
/// many entries all ranks have in this turn. @param mine the number of this rank's entries in this
/// turn
std::int64_t count_before(const Communicator& all, std::int64_t mine, std::int64_t& total) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(all.size()));
  counts[static_cast<std::size_t>(all.rank())] = mine;
  all.all_reduce(std::span(counts), Reduction::sum);
  std::int64_t before = total;
  for (int rank = 0; rank < all.size(); ++rank) {
    if (rank < all.rank()) before += counts[static_cast<std::size_t>(rank)];
    total += counts[static_cast<std::size_t>(rank)];
  }
  return before;
}

std::vector<MatrixEntry> local_entries(const std::vector<std::vector<MarketEntry>>& lists,
                                       const Parts& parts) {
  std::vector<MatrixEntry> entries;
  for (const std::vector<MarketEntry>& list : lists)
    for (const MarketEntry& e : list)
      entries.push_back(
          {parts.rows.local({e.row}).value, parts.columns.local({e.column}).value, e.value});
  return entries;
}

}  // namespace

void read_market_part(const Communicator& all, const InputFile& file, const MarketHeader& header,
                      const Parts& parts, PartWriter& a) {
  agree(all, [&] { a.clear(); });
  Owners owners(parts, header.symmetry != MarketSymmetry::general,
                header.symmetry == MarketSymmetry::skew);
  const std::int64_t piece = piece_bytes(all.size());
  std::int64_t total = 0;
  for (std::int64_t turn = header.body; turn < file.size(); turn += piece * all.size()) {
    MarketPart part;
    const std::int64_t begin = turn + piece * all.rank();
    agree(all, [&] { part = read_market_part(file, header, begin, begin + piece); });
    const std::int64_t before = count_before(all, part.count(), total);
    agree(all, [&] {
      place_array_values(header, before, part.values, part.entries);
      owners.deal(part.entries);
    });
    const std::vector<std::vector<MarketEntry>> received = all.all_to_all(owners.lists());
    agree(all, [&] {
      std::vector<MatrixEntry> mine = local_entries(received, parts);
      a.add(mine);
    });
  }
  if (total != header.entries)
    throw file.error(fmt::format("holds {} entries; its header says {}", total, header.entries));
}

}  // namespace lupine
