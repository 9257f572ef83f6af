/// @file
/// Errors that Lupine throws. Each is one line that says what went wrong, and what is allowed.
#pragma once

#include <lupine/export.hpp>

#include <stdexcept>
#include <string>

namespace lupine {

/// Base of all of Lupine's exceptions.
class LUPINE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that is not allowed: bad option, bad input, a problem that does
/// not fit. Every rank throws it, before anything large is allocated. Exit status 2 of the command.
class LUPINE_API UsageError : public Error {
 public:
  using Error::Error;
};

/// Something outside the caller's request failed: memory, MPI, a device, a file system. Exit
/// status 3 of the command.
class LUPINE_API Fault : public Error {
 public:
  using Error::Error;
};

}  // namespace lupine
