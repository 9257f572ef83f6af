/// @file
/// What happens on one rank, decided by all: nobody is left waiting for a rank that gave up.
#pragma once

#include <lupine/error.hpp>

#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "comm/communicator.hpp"

namespace lupine {

/// A Fault that every rank throws with the same words, naming the rank that met it.
class AgreedFault : public Fault {
 public:
  using Fault::Fault;
};

/// Runs `work`, which must not communicate, on every rank. Collective.
/// @throws on every rank alike if `work` threw on any: UsageError, or AgreedFault where anything
///         other than a UsageError was thrown
void agree(const Communicator& all, const std::function<void()>& work);

/// The same for work that rank 0 alone does.
void on_rank_0(const Communicator& all, const std::function<void()>& work);

/// Rank 0's text, on every rank.
std::string text_of_rank_0(const Communicator& all, std::string text);

/// @param mine a rank's options as text
/// @throws UsageError on every rank unless all have the same: ranks with different ones would wait
///         for each other for ever
void require_equal_options(const Communicator& all, const std::string& mine);

/// The same for work with a result.
template <class Work>
std::invoke_result_t<Work> agreed(const Communicator& all, Work&& work) {
  std::optional<std::invoke_result_t<Work>> result;
  agree(all, [&] { result.emplace(work()); });
  return std::move(*result);
}

}  // namespace lupine
