// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// All ranks agree on the errors that any rank meets, so that none waits for a rank that has
/// given up.
#pragma once

#include <speedwell/error.hpp>

#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi_start.hpp"
#include "core/memory_fault.hpp"
#include "core/option_text.hpp"

namespace speedwell {

/// Runs `work`, which must not communicate, on every rank. Collective.
/// @throws on every rank, with the same words, if `work` threw on any rank: UsageError if no rank
///         threw anything else, NotEnoughMemory if it was among them; otherwise AgreedFault, or
///         OutOfMemory if a MemoryFault or std::bad_alloc was among the faults. The words are those
///         of the first rank that threw an error of that kind, which they name: a Fault always,
///         "rank 2 on host: ...", a UsageError unless all ranks have the same words, "rank 2: ...".
///         Interrupted if any rank has ended: what the others have computed is of no use then.
void agree(const Communicator& all, const std::function<void()>& work);

/// As agree(), for work that is dealt to the ranks, or that one of them does for all. The words of
/// a UsageError name no rank: it is chance, or known, which one has met it.
void agree_on_shares(const Communicator& all, const std::function<void()>& work);

/// An exception of a caller's function, on the rank where it was thrown; the other ranks throw the
/// error of agree(). on_this_rank() throws the exception itself.
class CallerThrew : public AgreedFault {
 public:
  explicit CallerThrew(std::exception_ptr thrown)
      : AgreedFault("a caller's function has thrown"), thrown_(std::move(thrown)) {}
  const std::exception_ptr& thrown() const { return thrown_; }

 private:
  std::exception_ptr thrown_;
};

/// Runs `work`, which must not communicate, on rank 0 alone. Collective. @throws as
/// agree_on_shares does
void on_rank_0(const Communicator& all, const std::function<void()>& work);

/// Runs `work`, in which rank 0 and perhaps others of the first ranks take part, and all of these
/// throw the same error or none: every rank of `all` then throws it. Collective. @throws
/// UsageError, NotEnoughMemory, AgreedFault, OutOfMemory; on this rank alone, another error of its
/// `work`
void tell_others(const Communicator& all, const std::function<void()>& work);

/// Returns rank 0's text on every rank. Collective.
std::string text_of_rank_0(const Communicator& all, std::string text);

/// Checks that all ranks have the same options: with different ones they would wait for each other
/// for ever. Collective. @throws UsageError on every rank, with the options that differ
void require_equal_options(const Communicator& all, const std::vector<OptionText>& mine);
template <class Options>
void require_equal_options(const Communicator& all, const Options& mine) {
  require_equal_options(all, option_texts(mine));
}
/// Checks in the same way what ranks say by the arguments of a call, and names the first that
/// differs: "ranks differ in b: an array on rank 0, a function on rank 1". Collective.
/// @throws UsageError on every rank
void require_equal_calls(const Communicator& all, const std::vector<OptionText>& mine);
/// The same checks of a call on a caller's communicator, where a rank alone checks nothing.
void require_equal_calls(CommHandle comm, const std::vector<OptionText>& mine);

/// Runs `work` and returns its result. A Fault that names no rank, and std::bad_alloc, may have
/// been met by this rank alone: they become a Fault that names this rank of `comm` and its host. A
/// lack of memory becomes OutOfMemory where this rank is alone, so that all ranks know it. Other
/// exceptions pass unchanged.
/// @throws UsageError, before `work` runs, unless MPI is initialized and not finalized
template <class Work>
std::invoke_result_t<Work> on_this_rank(CommHandle comm, Work&& work) {
  require_mpi();
  const std::string& host = host_name();  // asked here: no MPI call inside a catch
  const int rank = rank_in(comm);
  const bool alone = ranks_in(comm) == 1;
  try {
    return work();
  } catch (const CallerThrew& error) {
    std::rethrow_exception(error.thrown());
  } catch (const AgreedFault&) {
    throw;
  } catch (const MemoryFault& fault) {
    if (alone) throw OutOfMemory(fault.what(), host, rank);
    throw Fault(fault.what(), host, rank);
  } catch (const Fault& fault) {
    if (fault.rank() >= 0) throw;
    throw Fault(fault.what(), fault.where().empty() ? host : fault.where(), rank);
  } catch (const std::bad_alloc&) {
    if (alone) throw OutOfMemory("out of memory", host, rank);
    throw Fault("out of memory", host, rank);
  }
}

/// Runs `work`, which must not communicate, on every rank, and returns its result. Collective.
/// @throws as agree does
template <class Work>
std::invoke_result_t<Work> agreed(const Communicator& all, Work&& work) {
  std::optional<std::invoke_result_t<Work>> result;
  agree(all, [&] { result.emplace(work()); });
  return std::move(*result);
}

}  // namespace speedwell
