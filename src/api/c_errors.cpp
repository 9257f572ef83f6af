// SPDX-License-Identifier: BSD-3-Clause
#include "api/c_errors.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <speedwell.h>

#include <algorithm>
#include <climits>
#include <exception>

#include "comm/agreement.hpp"

namespace speedwell {

LastError& last_error() {
  thread_local LastError last;
  return last;
}

namespace {

// The one mutex of the process. A child of fork() gets another one, since the thread that held it
// is not in the child.
std::recursive_mutex*& mutex() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): for a child
  static std::recursive_mutex* one = [] {
    pthread_atfork(nullptr, nullptr, [] { mutex() = new std::recursive_mutex; });
    return new std::recursive_mutex;
  }();
  return one;
}

int failed(int info, const char* words, int rank = -1) noexcept {
  last_error().rank = rank;
  try {
    last_error().words = words;
  } catch (...) {
    last_error().words.clear();
  }
  return info;
}

/// LAPACK's info of a matrix that is singular to working precision.
int info_of_doubt(std::int64_t n) {
  return static_cast<int>(std::min<std::int64_t>(n, INT_MAX - 1)) + 1;
}

std::string refusal(int info, Arguments arguments) {
  const Argument& wrong = arguments.begin()[-info - 1];
  return fmt::format("argument {}, {}, is not allowed; allowed: {}", -info, wrong.name,
                     wrong.allowed);
}

}  // namespace

bool is_doubt(const AccuracyError& error) {
  return error.best().converged && !error.best().doubt.empty();
}

Turn::Turn() : lock_(*mutex()) {}

int guarded(const std::function<int()>& work) noexcept {
  try {
    const Turn turn;
    last_error() = {};
    return work();
  } catch (const SingularError& error) {
    return failed(static_cast<int>(std::min<std::int64_t>(error.pivot(), INT_MAX - 1)) + 1,
                  error.what());
  } catch (const AccuracyError& error) {
    return failed(is_doubt(error) ? info_of_doubt(error.best().n) : SPEEDWELL_NOT_ACCURATE,
                  error.what());
  } catch (const UsageError& error) {
    return failed(SPEEDWELL_NOT_ALLOWED, error.what());
  } catch (const AgreedFault& error) {
    return failed(SPEEDWELL_FAULT, error.what());
  } catch (const Fault& error) {
    return failed(SPEEDWELL_FAULT, error.what(), error.rank());
  } catch (const std::exception& error) {
    return failed(SPEEDWELL_FAULT, error.what());
  } catch (...) {
    return failed(SPEEDWELL_FAULT, "unknown exception");
  }
}

int first_wrong(Arguments arguments) {
  const auto* const wrong = std::find_if(arguments.begin(), arguments.end(),
                                         [](const Argument& one) { return !one.is_allowed; });
  return wrong == arguments.end() ? 0 : -static_cast<int>(wrong - arguments.begin()) - 1;
}

int refuse(int info, Arguments arguments) {
  return failed(info, refusal(info, arguments).c_str());
}

int refuse_together(const Communicator& all, Arguments arguments) {
  const int mine = first_wrong(arguments);
  const int info = static_cast<int>(all.all_reduce(std::int64_t{mine}, Reduction::min));
  if (info == 0) return 0;
  try {
    agree(all, [&] {
      if (mine == info) throw UsageError(refusal(info, arguments));
    });
  } catch (const UsageError& error) {
    return failed(info, error.what());
  }
  return info;
}

}  // namespace speedwell
