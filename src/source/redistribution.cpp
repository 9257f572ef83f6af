// SPDX-License-Identifier: BSD-3-Clause
#include "source/redistribution.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "host/threads.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{4} << 20;

/// What one rank sends to another of a slab: some rows of some columns. In the message they follow
/// each other as a column-major matrix.
struct Selection {
  const std::vector<Overlap>& rows;
  std::vector<Overlap> columns;  ///< each of length 1

  std::int64_t height() const { return total_length(rows); }
  std::size_t size() const { return static_cast<std::size_t>(height() * std::ssize(columns)); }
};

std::vector<Overlap> one_by_one(const std::vector<Overlap>& ranges) {
  std::vector<Overlap> ones;
  for (const Overlap& range : ranges)
    for (std::int64_t i = 0; i < range.length; ++i)
      ones.push_back({range.from + i, range.to + i, 1});
  return ones;
}

/// Moves a slab of A after the other. A slab is the same range of local columns, in the new
/// distribution, on every rank. So all ranks send and receive at any time.
class Redistribution {
 public:
  Redistribution(const ProcessGrid& grid, const CyclicMatrix& from, MatrixView<const double> part,
                 const CyclicMatrix& to)
      : grid_(grid), from_(from), part_(part), to_(to) {}

  void run(PartWriter& a) {
    const std::int64_t most_rows = std::max<std::int64_t>(most(to_.rows), 1);
    const std::int64_t most_columns = most(to_.columns);
    width_ = std::clamp<std::int64_t>(most_bytes / (most_rows * std::int64_t{sizeof(double)}), 1,
                                      std::max<std::int64_t>(most_columns, 1));
    agree(grid_.all(), [&] {
      find_rows();
      slab_.resize(static_cast<std::size_t>(a.rows() * width_));
      in_.resize(static_cast<std::size_t>(most_rows * width_));
      out_.resize(in_.size());
    });
    for (LocalIndex first{0}; first.value < most_columns; first = first + width_) {
      const std::int64_t columns = std::clamp<std::int64_t>(a.columns() - first.value, 0, width_);
      const MatrixView<double> slab{slab_.data(), a.rows(), columns,
                                    std::max<std::int64_t>(a.rows(), 1)};
      fill(first, slab);
      a.set(0, first.value, slab);
    }
  }

 private:
  // Process `first` has at least as much as any other.
  static std::int64_t most(const CyclicDimension& d) { return d.of(d.first).local_size(); }

  // What `sender` sends to `receiver`, one of which is this rank.
  Selection selection(int sender, int receiver, LocalIndex first) const {
    const GridPosition s = grid_.shape().position(sender);
    const GridPosition r = grid_.shape().position(receiver);
    const bool sends = sender == grid_.all().rank();
    const std::vector<Overlap>& rows = sends ? sent_rows_[static_cast<std::size_t>(r.row)]
                                             : received_rows_[static_cast<std::size_t>(s.row)];
    return {rows, one_by_one(overlaps(from_.columns.of(s.column), to_.columns.of(r.column), first,
                                      width_))};
  }

  void find_rows() {
    const int me = grid_.me().row;
    const auto common = [&](int sender, int receiver) {
      const Distribution there = to_.rows.of(receiver);
      return overlaps(from_.rows.of(sender), there, {0}, there.local_size());
    };
    for (int other = 0; other < grid_.shape().nprow; ++other) {
      sent_rows_.push_back(common(me, other));
      received_rows_.push_back(common(other, me));
    }
  }

  // In turn t, every rank sends to the t-th rank after it and receives from the t-th before it.
  void fill(LocalIndex first, MatrixView<double> slab) {
    const Communicator& all = grid_.all();
    for (int turn = 0; turn < all.size(); ++turn) {
      const int receiver = (all.rank() + turn) % all.size();
      const int sender = (all.rank() - turn + all.size()) % all.size();
      const Selection sent = selection(all.rank(), receiver, first);
      const Selection received = selection(sender, all.rank(), first);
      pack(sent);
      if (turn == 0)  // to itself
        in_.swap(out_);
      else
        all.exchange(std::as_bytes(std::span(out_).first(sent.size())), receiver,
                     std::as_writable_bytes(std::span(in_).first(received.size())), sender);
      unpack(received, first, slab);
    }
  }

  void pack(const Selection& sent) {
    const std::int64_t height = sent.height();
    for_each_in_threads(std::ssize(sent.columns), [&](std::int64_t j) {
      const double* here = part_.column(sent.columns[static_cast<std::size_t>(j)].from.value);
      double* there = out_.data() + j * height;
      for (const Overlap& rows : sent.rows)
        there = std::copy_n(here + rows.from.value, rows.length, there);
    });
  }

  void unpack(const Selection& received, LocalIndex first, MatrixView<double> slab) {
    const std::int64_t height = received.height();
    for_each_in_threads(std::ssize(received.columns), [&](std::int64_t j) {
      const double* here = in_.data() + j * height;
      double* there = slab.column(received.columns[static_cast<std::size_t>(j)].to - first);
      for (const Overlap& rows : received.rows) {
        std::copy_n(here, rows.length, there + rows.to.value);
        here += rows.length;
      }
    });
  }

  const ProcessGrid& grid_;
  const CyclicMatrix& from_;
  MatrixView<const double> part_;
  const CyclicMatrix& to_;
  std::int64_t width_ = 1;  // columns of a slab
  // Rows that this rank sends to each process row, and receives from each.
  std::vector<std::vector<Overlap>> sent_rows_, received_rows_;
  std::vector<double> slab_;  // this rank's columns of a slab
  std::vector<double> in_;
  std::vector<double> out_;
};

}  // namespace

void redistribute(const ProcessGrid& grid, const CyclicMatrix& from, MatrixView<const double> part,
                  const CyclicMatrix& to, PartWriter& a) {
  SPEEDWELL_EXPECTS(from.rows.size == to.rows.size && from.columns.size == to.columns.size);
  SPEEDWELL_EXPECTS(from.rows.processes == grid.shape().nprow &&
                    to.rows.processes == grid.shape().nprow);
  SPEEDWELL_EXPECTS(from.columns.processes == grid.shape().npcol &&
                    to.columns.processes == grid.shape().npcol);
  Redistribution(grid, from, part, to).run(a);
}

}  // namespace speedwell
