// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The early end of a call of the library, on all ranks together.
#pragma once

#include <speedwell/error.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "comm/communicator.hpp"
#include "core/run_context.hpp"

namespace speedwell {

struct Requests;  // comm/requests.hpp

/// Whether any rank of the run has ended. While it waits for the other ranks, this one goes on
/// asking. Collective, unless the run has no Interrupt, as on all ranks or on none: then false.
bool is_interrupted(const Communicator& all);

/// Called after operations of a device, before anything is decided by their results: where a rank
/// has ended, these are unspecified, and ranks would decide differently. agree() and
/// download_results() do so themselves. Collective as is_interrupted().
/// @throws Interrupted on every rank, if any rank has ended
void stop_if_interrupted(const Communicator& all);

/// Ends the run on every rank, all of which know that one has ended. Collective.
/// @throws Interrupted @pre all.run().interrupt()
[[noreturn]] void stop(const Communicator& all);

/// The largest of all ranks' values, as by all_reduce(). While it waits for the other ranks, this
/// one goes on asking whether to end. Collective.
std::int64_t most_of_all(const Communicator& all, std::int64_t value);

/// The Interrupt of all calls for one caller's function. A rank that ends tells its neighbours in a
/// binary tree of the ranks, and these tell theirs, by empty messages. So ranks that are in the
/// middle of long operations learn of it too.
class Interruption {
 public:
  /// Collective. @param function as the caller gave it @param guards whether this rank has
  /// another function whose exception is to end all ranks @param around counts waits
  Interruption(CommHandle comm, InterruptFunction function, bool guards,
               const RunContext& around = RunContext::none());
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// Null where no rank has a function.
  Interrupt* get() { return interrupt_.get(); }

  /// Runs the work of one call. Collective. Where a rank has ended meanwhile, `release`, which may
  /// be collective, frees what the work has left.
  /// @throws Interrupted on every rank, if any rank has ended; on a rank whose function has thrown,
  ///         that exception
  template <class Work, class Release>
  std::invoke_result_t<Work> during(const Work& work, const Release& release);

 private:
  struct Asking {
    explicit Asking(Interrupt& asking) : interrupt(asking) { interrupt.begin(); }
    ~Asking() { interrupt.finish(); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    Interrupt& interrupt;
  };
  bool exchange(bool ended);
  bool anywhere();
  [[noreturn]] void settle();

  std::optional<Communicator> comm_;  // of several ranks
  std::vector<int> neighbours_;
  std::unique_ptr<Requests> sends_;  // to all neighbours; empty: this rank has not told them
  std::unique_ptr<Interrupt> interrupt_;
};

// All ranks have the same kinds of errors but Fault, which one rank may have met alone. Where a
// rank has ended, other errors may come of results that nobody should read.
template <class Work, class Release>
std::invoke_result_t<Work> Interruption::during(const Work& work, const Release& release) {
  using Result = std::invoke_result_t<Work>;
  if (!interrupt_) return work();
  const Asking asking(*interrupt_);
  std::conditional_t<std::is_void_v<Result>, std::monostate, std::optional<Result>> result;
  std::exception_ptr error;
  try {
    if constexpr (std::is_void_v<Result>)
      work();
    else
      result.emplace(work());
  } catch (const AgreedFault&) {
    error = std::current_exception();
  } catch (const Fault&) {
    throw;
  } catch (const Error&) {
    error = std::current_exception();
  }
  if (anywhere()) {
    release();
    settle();
  }
  if (error) std::rethrow_exception(error);
  if constexpr (!std::is_void_v<Result>) return std::move(*result);
}

}  // namespace speedwell
