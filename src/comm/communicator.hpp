// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A group of ranks. comm/ is the only layer that calls MPI. Every return code is checked; a failed
/// call throws a Fault that names it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/comm_handle.hpp"
#include "core/run_context.hpp"

namespace speedwell {

/// Checks MPI's return code of `call`, such as "MPI_Bcast".
/// @throws Fault "MPI_Bcast failed: <MPI's error string>" unless `code` is MPI_SUCCESS
void check_mpi(int code, const char* call);

/// MPI does not define max and min of a NaN: where a NaN is possible, reduce a flag for it too.
enum class Reduction { sum, max, min };

/// Owns an MPI communicator that was duplicated or split from another one. Its errors return as
/// codes, which become Faults, instead of ending the program. Operations are collective and block,
/// unless they say otherwise; blocking calls are waits of the run.
class Communicator {
 public:
  /// @param run must outlive this communicator and all that are made from it. Ranks are reported to
  ///        its watch by their numbers in `comm`.
  /// @throws UsageError unless MPI is initialized and not finalized
  static Communicator duplicate(CommHandle comm, const RunContext& run = RunContext::none());
  Communicator duplicate() const;
  /// This communicator, which must live as long, in another run. Not collective.
  Communicator in(const RunContext& run) const;
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  int rank() const { return rank_; }
  int size() const { return size_; }
  CommHandle handle() const { return comm_; }
  const RunContext& run() const { return *run_; }
  /// The numbers that the watch has for all ranks of this communicator, or for its rank `rank`;
  /// empty without a watch. Not collective.
  std::span<const int> watched() const { return watched_; }
  std::span<const int> watched(int rank) const {
    return run_->stalls() ? std::span(watched_).subspan(static_cast<std::size_t>(rank), 1)
                          : watched();
  }

  /// The communicator of the ranks that pass the same `color` (>= 0), numbered in order of `key`.
  Communicator split(int color, int key) const;
  /// The communicator of the ranks on this rank's node.
  Communicator split_node() const;

  void barrier() const;
  /// A barrier for long waits: the calling thread sleeps between its tests, up to 10 ms, and so
  /// leaves its core to other work. A StallWatch does not count this wait.
  void barrier_asleep() const;
  /// Copies rank root's bytes to all ranks. Any length: MPI gets pieces that its 32-bit counts
  /// allow.
  void broadcast(std::span<std::byte> bytes, int root) const;
  /// Copies rank root's values to all ranks. T is any type that can be copied as its bytes.
  template <class T>
  void broadcast(std::span<T> values, int root) const {
    broadcast(std::as_writable_bytes(values), root);
  }
  /// Replaces each value, on every rank, by the sum, maximum or minimum of all ranks' values at its
  /// place. All ranks pass the same length.
  void all_reduce(std::span<double> values, Reduction op) const;
  void all_reduce(std::span<std::int64_t> values, Reduction op) const;
  double all_reduce(double value, Reduction op) const;
  std::int64_t all_reduce(std::int64_t value, Reduction op) const;
  /// Replaces each value on `root` by the sum of all ranks' values at its place. The values on
  /// other ranks stay as they are. All ranks pass the same length.
  void reduce_sum(std::span<double> values, int root) const;
  /// Returns all ranks' values on every rank, in rank order. All ranks pass the same length.
  std::vector<double> all_gather(std::span<const double> values) const;
  /// Every rank gets all ranks' values in `all`, in rank order; rank r passes counts[r] of them.
  /// @throws Fault if the lengths do not agree with `counts`
  void all_gather(std::span<const double> mine, std::span<double> all,
                  std::span<const std::int64_t> counts) const;
  /// Copies every rank's part to all ranks: `parts` has size() parts of equal length, of which each
  /// rank has written the one of its number. Any length.
  void all_gather(std::span<std::byte> parts) const;
  /// Returns all ranks' texts on every rank, in rank order. For short texts, such as host names and
  /// messages: less than 2 GiB together.
  std::vector<std::string> all_gather(const std::string& text) const;

  /// Sends to rank `to`, which calls receive() with the same length. Any length. Not collective.
  void send(std::span<const std::byte> bytes, int to) const;
  /// Receives what rank `from` sends by send(). Messages from one rank to another arrive in the
  /// order of their sends. Not collective.
  void receive(std::span<std::byte> bytes, int from) const;
  /// Sends `out` to rank `to` while it receives `in` from rank `from`, both of which call exchange
  /// too. Any lengths; those of `out` and `in` may differ.
  void exchange(std::span<const std::byte> out, int to, std::span<std::byte> in, int from) const;
  /// Sends out[r] to rank r, and returns what each rank sent to this one, in rank order. T is any
  /// type that can be copied as its bytes. Any lengths. @throws Fault unless out.size() == size()
  template <class T>
  std::vector<std::vector<T>> all_to_all(const std::vector<std::vector<T>>& out) const;
  /// Returns all ranks' values on rank 0, in rank order, and nothing on the other ranks. T is any
  /// type that can be copied as its bytes. Any lengths.
  template <class T>
  std::vector<std::vector<T>> gather(const std::vector<T>& mine) const;

  /// Ends all ranks of the job with exit status `status`. Not collective. Does not return.
  [[noreturn]] void abort(int status) const;

 private:
  enum class Owns { yes, no };
  /// A communicator whose ranks have their own numbers in the watch.
  Communicator(CommHandle comm, const RunContext& run, Owns owns);
  /// Owns `part`, whose ranks are some or all of this communicator's, in the same run.
  Communicator with_watch(CommHandle part) const;
  /// Records a wait in the MPI function `call`, for rank `peer` or, if peer is -1, for all ranks.
  StallWatch::Waiting waiting(const char* call, int peer = -1) const;
  /// Sends counts[r] to rank r, and returns the values that the ranks sent to this one.
  std::vector<std::int64_t> transpose(const std::vector<std::int64_t>& counts) const;

  CommHandle comm_;
  int rank_ = 0;
  int size_ = 1;
  Owns owns_ = Owns::yes;
  const RunContext* run_;
  std::vector<int> watched_;  // for each rank, its number in the run's watch, if there is one
};

// Rank 0 receives from one rank after the other, so that it needs no second copy of the values.
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

// In turn t, every rank sends to the t-th rank after it and receives from the t-th before it.
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

/// MPI_COMM_WORLD: all ranks of the job.
CommHandle comm_world();
/// MPI_COMM_SELF: this process alone.
CommHandle comm_self();
/// This process's rank in `comm`.
int rank_in(CommHandle comm);
/// The number of ranks in `comm`.
int ranks_in(CommHandle comm);
/// The host name of this rank's node.
const std::string& host_name();
/// Whether this MPI says that it accepts addresses of GPU memory. False for an MPI that cannot be
/// asked.
bool mpi_takes_device_memory();
/// The first line of MPI's own description: "Open MPI v4.1.4, ...".
std::string mpi_version();

/// Initializes MPI (MPI_THREAD_FUNNELED), and finalizes it in its destructor. For main functions.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

}  // namespace speedwell
