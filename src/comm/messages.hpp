// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Non-blocking messages between pairs of ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/communicator.hpp"

namespace speedwell {

struct Requests;  // comm/requests.hpp

/// A set of messages in flight, all with the same tag. The memory of a message must stay valid
/// until the message is done. Messages from one rank to another arrive in the order of their sends.
///
/// The destructor waits for messages that are still in flight. While an exception unwinds the
/// stack, it cancels the receives instead, and gives up the sends without waiting.
class Messages {
 public:
  /// The first tag that panel broadcasts do not use.
  static constexpr int first_tag = 1 << 14;

  /// @param tag from first_tag to 32767
  Messages(const Communicator& comm, int tag);
  Messages(Messages&& other) noexcept;
  Messages& operator=(Messages&&) = delete;
  ~Messages();

  /// Starts sending to rank `to`. @throws Fault for 2 GiB or more
  void send(std::span<const std::byte> bytes, int to);
  /// Starts receiving from rank `from`. @throws Fault for 2 GiB or more
  void receive(std::span<std::byte> bytes, int from);
  /// Moves the messages on without waiting. Returns whether all are sent and received.
  bool test();
  /// Whether no message is in flight, as far as the last test() found out.
  bool idle() const;

 private:
  CommHandle comm_;
  int tag_;
  std::unique_ptr<Requests> sends_, receives_;
};

}  // namespace speedwell
