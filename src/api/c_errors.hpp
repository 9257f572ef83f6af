// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How calls of the C interface end: the error of each thread's last call, the values of info, and
/// the checks of arguments.
#pragma once

#include <speedwell/solution.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>

#include "comm/communicator.hpp"

namespace speedwell {

/// The error of this thread's last call.
struct LastError {
  std::string words;
  int rank = -1;  ///< the only rank with the error; -1: all ranks have it, or there is no error
};

LastError& last_error();

/// Whether the error is a doubt about an x that is solved, as SolveOptions::strict makes it.
bool is_doubt(const AccuracyError& error);

/// While it lives, no other thread of the process has one: calls of the C interface take turns,
/// since they share MPI and the numbers of threads. A function of the caller's, called meanwhile,
/// may call.
class Turn {
 public:
  Turn();

 private:
  std::lock_guard<std::recursive_mutex> lock_;
};

/// Runs `work`, in a Turn, and returns its info, or that of the exception which it throws. No
/// exception leaves the library.
int guarded(const std::function<int()>& work) noexcept;

/// An argument of a call, with its check.
struct Argument {
  bool is_allowed;
  const char* name;
  const char* allowed;
};
using Arguments = std::initializer_list<Argument>;

/// 0 if all arguments are allowed; -i if argument i, counted from 1, is the first that is not.
int first_wrong(Arguments arguments);

/// Makes the error of the first_wrong() argument, whose info it returns.
int refuse(int info, Arguments arguments);

/// Refuses a call on all ranks if one does, by the smallest first_wrong() of any rank. Returns 0 if
/// none does. Collective.
int refuse_together(const Communicator& all, Arguments arguments);

}  // namespace speedwell
