// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Messages between pairs of ranks while other work goes on.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace lupine {

/// Some messages in flight. The memory must stay valid until done. A message is received in the
/// order in which its pair of ranks sends them with one tag.
///
/// The destructor of some in flight waits for them; on the way out with an exception it cancels
/// what is yet to be received and forgets what is yet to be sent.
class Messages {
 public:
  /// Above the tags that panel broadcasts use.
  static constexpr int first_tag = 1 << 14;

  /// @param tag from first_tag to 32767
  Messages(const Communicator& comm, int tag) : comm_(comm.handle()), tag_(tag) {}
  Messages(Messages&& other) noexcept;
  Messages& operator=(Messages&&) = delete;
  ~Messages();

  void send(std::span<const std::byte> bytes, int to);
  void receive(std::span<std::byte> bytes, int from);
  /// Moves them on without waiting; true once all have arrived and are sent.
  bool test();
  /// Whether the last test() was true, and nothing has come since.
  bool idle() const { return sends_.empty() && receives_.empty(); }

 private:
  MPI_Comm comm_;
  int tag_;
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
};

}  // namespace lupine
