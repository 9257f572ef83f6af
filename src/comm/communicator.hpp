// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A group of ranks. The only layer that calls MPI; every return code is checked and becomes a
/// Fault that names the call.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/stall_watch.hpp"

namespace lupine {

/// Throws Fault("MPI_Bcast failed: <MPI's words>") unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// MPI leaves open what max and min make of a NaN: where one may be met, reduce a flag for it.
enum class Reduction { sum, max, min };

/// Owns a duplicate of (or a split from) a communicator; errors return instead of aborting.
/// Whatever blocks is noted by the watch of the run, if it has one.
class Communicator {
 public:
  /// @param stalls may be null; must outlive this, and what is split from it. It counts ranks as
  ///        `comm` does
  static Communicator duplicate(MPI_Comm comm, StallWatch* stalls = nullptr);
  Communicator duplicate() const;
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm handle() const { return comm_; }
  StallWatch* stalls() const { return stalls_; }
  /// These ranks, or the one that is `rank` here, as the watch counts them; nothing without one.
  std::span<const int> watched() const { return watched_; }
  std::span<const int> watched(int rank) const {
    return stalls_ ? std::span(watched_).subspan(static_cast<std::size_t>(rank), 1) : watched();
  }

  /// Ranks of equal `color` (>= 0), ordered by `key`.
  Communicator split(int color, int key) const;
  /// Ranks that share this rank's node.
  Communicator split_node() const;

  void barrier() const;
  /// For long waits: a rank sleeps between its looks, and leaves its core to others.
  void barrier_asleep() const;
  /// Any size: split into pieces that MPI's 32-bit counts allow.
  void broadcast(std::span<std::byte> bytes, int root) const;
  /// T: any type that is copied as its bytes. Any length.
  template <class T>
  void broadcast(std::span<T> values, int root) const {
    broadcast(std::as_writable_bytes(values), root);
  }
  void all_reduce(std::span<double> values, Reduction op) const;
  void all_reduce(std::span<std::int64_t> values, Reduction op) const;
  double all_reduce(double value, Reduction op) const;
  std::int64_t all_reduce(std::int64_t value, Reduction op) const;
  /// Sums onto `root`; the values of the others are unchanged.
  void reduce_sum(std::span<double> values, int root) const;
  /// Every rank's values, in rank order, on every rank. All ranks pass the same length.
  std::vector<double> all_gather(std::span<const double> values) const;
  /// Rank r contributes counts[r] values; every rank gets them all, in rank order.
  void all_gather(std::span<const double> mine, std::span<double> all,
                  std::span<const std::int64_t> counts) const;
  /// Every rank's text, in rank order, on every rank. For host names and messages.
  std::vector<std::string> all_gather(const std::string& text) const;

  /// To one rank, which receives as many. Any length; one message at a time for each pair of ranks.
  void send(std::span<const std::byte> bytes, int to) const;
  void receive(std::span<std::byte> bytes, int from) const;
  /// Sends to rank `to` while it receives from rank `from`. Any lengths; these two may differ.
  void exchange(std::span<const std::byte> out, int to, std::span<std::byte> in, int from) const;
  /// Sends out[r] to rank r; returns what each rank has sent, in rank order. T: any type that is
  /// copied as its bytes. Any lengths.
  template <class T>
  std::vector<std::vector<T>> all_to_all(const std::vector<std::vector<T>>& out) const;
  /// Every rank's values, in rank order, on rank 0; elsewhere nothing. T: any type that is copied
  /// as its bytes. Any lengths.
  template <class T>
  std::vector<std::vector<T>> gather(const std::vector<T>& mine) const;

  /// Ends all ranks of the job with `status`. Does not return.
  [[noreturn]] void abort(int status) const;

 private:
  explicit Communicator(MPI_Comm comm);
  /// The same ranks or some of them, in `part`.
  Communicator with_watch(MPI_Comm part) const;
  /// Of `call`, for rank `peer` or (-1) for all.
  StallWatch::Waiting waiting(const char* call, int peer = -1) const;
  /// One value of each rank for each rank: [r] is what rank r has said.
  std::vector<std::int64_t> transpose(const std::vector<std::int64_t>& counts) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  StallWatch* stalls_ = nullptr;
  std::vector<int> watched_;  // by rank, as stalls_ counts
};

// One rank after the other, so that rank 0 holds nothing twice.
template <class T>
std::vector<std::vector<T>> Communicator::gather(const std::vector<T>& mine) const {
  std::int64_t count = std::ssize(mine);
  if (rank_ != 0) {
    send(std::as_bytes(std::span(&count, 1)), 0);
    send(std::as_bytes(std::span(mine)), 0);
    return {};
  }
  std::vector<std::vector<T>> all{mine};
  for (int rank = 1; rank < size_; ++rank) {
    receive(std::as_writable_bytes(std::span(&count, 1)), rank);
    all.emplace_back(static_cast<std::size_t>(count));
    receive(std::as_writable_bytes(std::span(all.back())), rank);
  }
  return all;
}

// Pair by pair: in each turn every rank sends to one and receives from one.
template <class T>
std::vector<std::vector<T>> Communicator::all_to_all(const std::vector<std::vector<T>>& out) const {
  std::vector<std::int64_t> counts(out.size());
  std::transform(out.begin(), out.end(), counts.begin(),
                 [](const auto& p) { return std::ssize(p); });
  std::vector<std::vector<T>> in;
  for (const std::int64_t count : transpose(counts))
    in.emplace_back(static_cast<std::size_t>(count));
  for (int turn = 0; turn < size_; ++turn) {
    const int to = (rank_ + turn) % size_;
    const int from = (rank_ - turn + size_) % size_;
    exchange(std::as_bytes(std::span(out[to])), to, std::as_writable_bytes(std::span(in[from])),
             from);
  }
  return in;
}

/// This rank in a communicator of the caller's.
int rank_in(MPI_Comm comm);
/// Host name of this rank's node.
std::string host_name();
/// Whether this MPI says that it takes addresses of GPU memory.
bool mpi_takes_device_memory();
/// One line: "Open MPI v4.1.4, ..." .
std::string mpi_version();

/// MPI_Init and MPI_Finalize, for main functions. MPI_THREAD_FUNNELED suffices.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

}  // namespace lupine
