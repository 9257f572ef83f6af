// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The exceptions that Speedwell throws. The text of each is one line that says what went wrong
/// and, for a UsageError, what is allowed.
#pragma once

#include <speedwell/export.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace speedwell {

/// Base class of all of Speedwell's exceptions: what went wrong, where, and on which rank.
class SPEEDWELL_API Error : public std::runtime_error {
 public:
  /// @param what what went wrong, in one line
  /// @param where the place of the error, as where() returns it
  /// @param rank the rank that met the error, as rank() returns it
  explicit Error(const std::string& what, std::string where = {}, int rank = -1)
      : std::runtime_error(what), where_(std::move(where)), rank_(rank) {}
  /// @return The place of the error, such as a line of a file or the name of a host; empty where
  ///         there is none.
  const std::string& where() const { return where_; }
  /// @return The rank that met the error (the lowest, if several did), in the communicator of the
  ///         call; -1 where no single rank did.
  int rank() const { return rank_; }

 private:
  std::string where_;
  int rank_;
};

/// The caller asked for something that is not allowed: a bad option, bad input (Inf or NaN in A or
/// b, for example), or a problem that does not fit into the memory. Every rank throws it. The
/// command ends with exit status 2.
class SPEEDWELL_API UsageError : public Error {
 public:
  using Error::Error;
};

/// The UsageError of a problem that does not fit: A or its factors need more memory than there is,
/// for any rank. The text says how much, and what fits.
class SPEEDWELL_API NotEnoughMemory : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The caller has ended the call by an InterruptFunction, or by an exception of a ProgressFunction
/// on rank 0. Every rank throws it, after all ranks have agreed; Speedwell can be used again at
/// once. A Factorization whose solve() was interrupted can solve again.
class SPEEDWELL_API Interrupted : public Error {
 public:
  using Error::Error;
};

/// Something other than the caller's request failed: memory, MPI, a device, or a file system. The
/// command ends with exit status 3.
///
/// Unless the exception is an AgreedFault, perhaps only the rank that rank() names met the fault.
/// The other ranks may then wait for that rank for ever, so a program of several ranks should end
/// them all (MPI_Abort).
class SPEEDWELL_API Fault : public Error {
 public:
  using Error::Error;
};

/// A Fault that every rank throws with the same text, whichever rank met it: all ranks may go on.
class SPEEDWELL_API AgreedFault : public Fault {
 public:
  using Fault::Fault;
};

/// The AgreedFault of memory that a rank could not get, though the problem was found to fit: other
/// programs may use the same memory.
class SPEEDWELL_API OutOfMemory : public AgreedFault {
 public:
  using AgreedFault::AgreedFault;
};

}  // namespace speedwell
