// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What happens on one rank, decided by all: nobody is left waiting for a rank that gave up.
#pragma once

#include <lupine/error.hpp>

#include <functional>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi_start.hpp"
#include "core/option_text.hpp"

namespace lupine {

/// Runs `work`, which must not communicate, on every rank. Collective.
/// @throws on every rank alike if `work` threw on any: UsageError, or AgreedFault where anything
///         other than a UsageError was thrown
void agree(const Communicator& all, const std::function<void()>& work);

/// Runs `work` on rank 0 alone. Collective. @throws as agree
void on_rank_0(const Communicator& all, const std::function<void()>& work);

/// Rank 0's text, on every rank.
std::string text_of_rank_0(const Communicator& all, std::string text);

/// @throws UsageError on every rank, with the options that differ, unless all ranks have the same:
///         ranks with different ones would wait for each other for ever
void require_equal_options(const Communicator& all, const std::vector<OptionText>& mine);
template <class Options>
void require_equal_options(const Communicator& all, const Options& mine) {
  require_equal_options(all, option_texts(mine));
}

/// Runs `work`. What it throws that this rank alone may have met says so: a Fault, or a lack of
/// memory, leaves as a Fault that names this rank and its host. All else passes.
/// @throws UsageError, before, unless MPI is initialized
template <class Work>
std::invoke_result_t<Work> on_this_rank(MPI_Comm comm, Work&& work) {
  require_mpi();
  const std::string host = host_name();  // no call of MPI while something is thrown
  const int rank = rank_in(comm);
  try {
    return work();
  } catch (const AgreedFault&) {
    throw;
  } catch (const Fault& fault) {
    if (fault.rank() >= 0) throw;
    throw Fault(fault.what(), fault.where().empty() ? host : fault.where(), rank);
  } catch (const std::bad_alloc&) {
    throw Fault("out of memory", host, rank);
  }
}

/// Runs `work` with a result, which must not communicate, on every rank. Collective.
/// @throws as agree
template <class Work>
std::invoke_result_t<Work> agreed(const Communicator& all, Work&& work) {
  std::optional<std::invoke_result_t<Work>> result;
  agree(all, [&] { result.emplace(work()); });
  return std::move(*result);
}

}  // namespace lupine
