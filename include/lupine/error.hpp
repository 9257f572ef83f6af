// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Errors that Lupine throws. Each is one line that says what went wrong, and what is allowed.
#pragma once

#include <lupine/export.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace lupine {

/// Base of all of Lupine's exceptions: what went wrong, where, and on which rank.
class LUPINE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::string where = {}, int rank = -1)
      : std::runtime_error(what), where_(std::move(where)), rank_(rank) {}
  /// Place of what went wrong, such as a file's line or a host; empty where there is none.
  const std::string& where() const { return where_; }
  /// The rank that met it, in the communicator of the call; -1: all of them alike.
  int rank() const { return rank_; }

 private:
  std::string where_;
  int rank_;
};

/// The caller asked for something that is not allowed: bad option, bad input, a problem that does
/// not fit. Every rank throws it, before anything large is allocated. Exit status 2 of the command.
class LUPINE_API UsageError : public Error {
 public:
  using Error::Error;
};

/// Something outside the caller's request failed: memory, MPI, a device, a file system. Exit
/// status 3 of the command. If it is not an AgreedFault, this rank alone may have met it: the
/// others may wait for it for ever, so a program of several ranks should end them all (MPI_Abort).
/// rank() is that rank.
class LUPINE_API Fault : public Error {
 public:
  using Error::Error;
};

/// A Fault that every rank throws with the same words, whichever rank met it: all may go on.
class LUPINE_API AgreedFault : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace lupine
