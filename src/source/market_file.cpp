// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "host/threads.hpp"
#include "source/file_part.hpp"

namespace speedwell {

namespace {

/// Bytes of the file that one thread reads at a time.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 16;

/// Pieces that a rank reads in one turn: equal on all ranks, whatever threads they have. All ranks
/// together read at most 64 MiB (with up to 1024 ranks), since all entries of a turn may belong to
/// one rank.
std::int64_t pieces_in_turn(int ranks) {
  constexpr std::int64_t all_ranks = std::int64_t{64} << 20;
  return std::clamp<std::int64_t>(all_ranks / piece_bytes / ranks, 1, 64);
}

/// Entries in lists, one for each rank: those that the rank owns, with its local indices.
using Lists = std::vector<std::vector<MatrixEntry>>;

/// Sorts entries into lists by the rank that owns them. With a_ij, a symmetric
/// matrix has a_ij as a_ji too, a skew-symmetric one -a_ij, and a hermitian one its conjugate.
class Owners {
 public:
  Owners(const MatrixPart& mine, const MarketHeader& header)
      : mine_(mine),
        parts_(header.parts()),
        mirrored_(header.symmetry != MarketSymmetry::general),
        sign_(header.symmetry == MarketSymmetry::skew ? -1 : 1),
        imaginary_sign_(header.symmetry == MarketSymmetry::hermitian ? -1 : sign_) {}

  Lists deal(const std::vector<MarketEntry>& entries) const {
    Lists lists(static_cast<std::size_t>(mine_.shape.size()));
    const std::size_t share = entries.size() / lists.size();
    for (auto& list : lists) list.reserve((mirrored_ ? 2 : 1) * (share + share / 4));
    for (const MarketEntry& e : entries) {
      add(e, lists);
      const std::int64_t row = e.row / parts_;
      const std::int64_t part = e.row % parts_;
      if (mirrored_ && row != e.column)
        add({parts_ * e.column + part, row, (part == 0 ? sign_ : imaginary_sign_) * e.value},
            lists);
    }
    return lists;
  }

 private:
  void add(const MarketEntry& e, Lists& lists) const {
    const auto [process_row, row] = mine_.rows.place({e.row / parts_});
    const auto [process_column, column] = mine_.columns.place({e.column});
    const int owner = mine_.shape.rank({process_row, process_column});
    lists[static_cast<std::size_t>(owner)].push_back(
        {parts_ * row.value + e.row % parts_, column.value, e.value});
  }

  const MatrixPart& mine_;
  std::int64_t parts_;  // numbers of an entry
  bool mirrored_;
  double sign_;
  double imaginary_sign_;
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

/// The lists of all pieces for other ranks, those for one rank one behind the other. The list for
/// rank `me` stays empty.
Lists for_others(const std::vector<Lists>& pieces, int ranks, int me) {
  Lists joined(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < joined.size(); ++rank)
    if (std::cmp_not_equal(rank, me))
      for (const Lists& lists : pieces)
        joined[rank].insert(joined[rank].end(), lists[rank].begin(), lists[rank].end());
  return joined;
}

/// All entries of rank `me`, in the order of the file: those that it received, and those that it
/// has read itself.
Lists in_order(Lists received, std::vector<Lists>& pieces, std::size_t me) {
  Lists mine;
  for (std::size_t rank = 0; rank < received.size(); ++rank) {
    if (rank != me) mine.push_back(std::move(received[rank]));
    if (rank == me)
      for (Lists& lists : pieces) mine.push_back(std::move(lists[me]));
  }
  return mine;
}

}  // namespace

void read_market_part(const Communicator& all, const InputFile& file, const MarketHeader& header,
                      const MatrixPart& part, PartWriter& a) {
  agree(all, [&] { a.clear(); });
  const Owners owners(part, header);
  const std::int64_t count = pieces_in_turn(all.size());
  std::vector<MarketPart> read(static_cast<std::size_t>(count));
  std::vector<Lists> dealt(read.size());
  std::int64_t total = 0;
  const std::int64_t step = count * piece_bytes;
  for (std::int64_t turn = header.body; turn < file.size(); turn += step * all.size()) {
    const std::int64_t begin = turn + step * all.rank();
    agree_on_shares(all, [&] {
      for_each_in_threads(count, [&](std::int64_t i) {
        const std::int64_t at = begin + i * piece_bytes;
        read[static_cast<std::size_t>(i)] = read_market_part(file, header, at, at + piece_bytes);
      });
    });
    std::vector<std::int64_t> before{0};  // entries of this rank before each piece
    for (const MarketPart& piece : read) before.push_back(before.back() + piece.count(header));
    const std::int64_t first = count_before(all, before.back(), total);
    Lists out;
    agree_on_shares(all, [&] {
      for_each_in_threads(count, [&](std::int64_t i) {
        const auto k = static_cast<std::size_t>(i);
        place_array_values(header, first + before[k], read[k].values, read[k].entries);
        dealt[k] = owners.deal(read[k].entries);
      });
      out = for_others(dealt, all.size(), all.rank());
    });
    Lists in = all.all_to_all(out);
    agree_on_shares(all, [&] {
      Lists mine = in_order(std::move(in), dealt, static_cast<std::size_t>(all.rank()));
      a.add(mine);
    });
  }
  if (total != header.entries)
    throw file.error(fmt::format("holds {} entries; its header says {}", total, header.entries));
}

}  // namespace speedwell
