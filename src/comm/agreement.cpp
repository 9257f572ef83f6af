// SPDX-License-Identifier: BSD-3-Clause
#include "comm/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "comm/interruption.hpp"
#include "core/expects.hpp"

namespace speedwell {

namespace {

// The later ones hide the earlier ones: where a rank was interrupted, the errors of others may come
// of results that nobody should read.
enum class Outcome : std::int64_t { fine, usage, does_not_fit, fault, out_of_memory, interrupted };

struct Attempt {
  Outcome outcome = Outcome::fine;
  std::string words;
  std::string where;  // a UsageError's where(); for other errors, the host
};

/// What the exception that is being handled means for all ranks.
Attempt caught(const std::string& host) {
  try {
    throw;
  } catch (const NotEnoughMemory& error) {
    return {Outcome::does_not_fit, error.what(), error.where()};
  } catch (const UsageError& error) {
    return {Outcome::usage, error.what(), error.where()};
  } catch (const OutOfMemory& error) {
    return {Outcome::out_of_memory, error.what(), host};
  } catch (const MemoryFault& error) {
    return {Outcome::out_of_memory, error.what(), host};
  } catch (const std::bad_alloc& error) {
    return {Outcome::out_of_memory, error.what(), host};
  } catch (const std::exception& error) {
    return {Outcome::fault, error.what(), host};
  }
}

Attempt attempt(const std::function<void()>& work) {
  const std::string& host = host_name();  // asked here: no MPI call inside a catch
  try {
    work();
    return {};
  } catch (...) {
    return caught(host);
  }
}

/// Throws the error that all ranks have agreed on. @pre one.outcome is not fine
[[noreturn]] void raise(const Attempt& one, int rank) {
  SPEEDWELL_EXPECTS(one.outcome != Outcome::fine);
  if (one.outcome == Outcome::usage) throw UsageError(one.words, one.where, rank);
  if (one.outcome == Outcome::does_not_fit) throw NotEnoughMemory(one.words, one.where, rank);
  if (one.outcome == Outcome::out_of_memory) throw OutOfMemory(one.words, one.where, rank);
  throw AgreedFault(one.words, one.where, rank);
}

// Stands behind each option's value in a text of several; no value contains it.
constexpr char between = '\x1f';

std::vector<std::string> values(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < text.size(); begin = text.find(between, begin) + 1)
    all.push_back(text.substr(begin, text.find(between, begin) - begin));
  return all;
}

std::string shown(const std::string& value) {
  return value.empty() ? "''" : value;
}

/// What the first rank that differs from rank 0 has in another way.
struct Differences {
  struct One {
    std::string name, here, there;  ///< the values on rank 0 and on the other rank
  };
  std::vector<One> all;  ///< empty: no rank differs
  int rank = 0;
};

Differences differences(const Communicator& all, const std::vector<OptionText>& mine) {
  std::string text;
  for (const OptionText& option : mine) text += option.value + between;
  const std::vector<std::string> texts = all.all_gather(text);
  const auto other = std::find_if(texts.begin(), texts.end(),
                                  [&](const std::string& one) { return one != texts.front(); });
  if (other == texts.end()) return {};
  Differences found;
  found.rank = static_cast<int>(other - texts.begin());
  const std::vector<std::string> first = values(texts.front());
  const std::vector<std::string> theirs = values(*other);
  for (std::size_t i = 0; i < std::min({mine.size(), first.size(), theirs.size()}); ++i)
    if (first[i] != theirs[i]) found.all.push_back({mine[i].name, first[i], theirs[i]});
  return found;
}

/// The words of rank `first`, with its number and that of the other ranks that have them too,
/// unless all ranks have.
std::string named(const std::vector<std::string>& words, int first) {
  const std::string& one = words[static_cast<std::size_t>(first)];
  const auto ranks = std::count(words.begin(), words.end(), one);
  if (ranks == std::ssize(words)) return one;
  return ranks == 1 ? fmt::format("rank {}: {}", first, one)
                    : fmt::format("rank {} and {} more: {}", first, ranks - 1, one);
}

enum class Naming { rank, nobody };

void agree(const Communicator& all, const std::function<void()>& work, Naming naming) {
  Attempt mine = attempt(work);
  if (all.run().ended()) mine.outcome = Outcome::interrupted;
  const auto worst =
      static_cast<Outcome>(most_of_all(all, static_cast<std::int64_t>(mine.outcome)));
  if (worst == Outcome::fine) return;
  if (worst == Outcome::interrupted) stop(all);

  const bool is_worst = mine.outcome == worst;
  const int first = static_cast<int>(
      all.all_reduce(std::int64_t{is_worst ? all.rank() : all.size()}, Reduction::min));
  const std::vector<std::string> all_words = all.all_gather(mine.words);
  const std::string& words = all_words[static_cast<std::size_t>(first)];
  const std::string where = all.all_gather(mine.where)[static_cast<std::size_t>(first)];
  const bool refused = worst == Outcome::usage || worst == Outcome::does_not_fit;
  raise({worst,
         !refused                 ? fmt::format("rank {} on {}: {}", first, where, words)
         : naming == Naming::rank ? named(all_words, first)
                                  : words,
         where},
        first);
}

}  // namespace

void agree(const Communicator& all, const std::function<void()>& work) {
  agree(all, work, Naming::rank);
}

void agree_on_shares(const Communicator& all, const std::function<void()>& work) {
  agree(all, work, Naming::nobody);
}

void tell_others(const Communicator& all, const std::function<void()>& work) {
  Attempt mine;
  try {
    work();
  } catch (const UsageError&) {
    mine = caught("");
  } catch (const AgreedFault&) {
    mine = caught("");
  }
  all.broadcast(std::span(&mine.outcome, 1), 0);
  mine.words = text_of_rank_0(all, std::move(mine.words));
  mine.where = text_of_rank_0(all, std::move(mine.where));
  if (mine.outcome != Outcome::fine) raise(mine, -1);
}

std::string text_of_rank_0(const Communicator& all, std::string text) {
  auto size = static_cast<std::int64_t>(text.size());
  all.broadcast(std::span(&size, 1), 0);
  text.resize(static_cast<std::size_t>(size));
  all.broadcast(std::span(text), 0);
  return text;
}

void require_equal_options(const Communicator& all, const std::vector<OptionText>& mine) {
  const Differences found = differences(all, mine);
  if (found.all.empty()) return;
  std::string words;
  for (const auto& one : found.all)
    words += fmt::format("{}{} {} and not {}", words.empty() ? "" : ", ", one.name,
                         shown(one.there), shown(one.here));
  throw UsageError(fmt::format(
      "rank {} has other options than rank 0: {}; allowed: the same on all", found.rank, words));
}

void require_equal_calls(const Communicator& all, const std::vector<OptionText>& mine) {
  const Differences found = differences(all, mine);
  if (found.all.empty()) return;
  const auto& one = found.all.front();
  throw UsageError(
      fmt::format("ranks differ in {}: {} on rank 0, {} on rank {}; allowed: the same on all",
                  one.name, one.here, one.there, found.rank));
}

void require_equal_calls(CommHandle comm, const std::vector<OptionText>& mine) {
  if (ranks_in(comm) > 1) require_equal_calls(Communicator::duplicate(comm), mine);
}

void on_rank_0(const Communicator& all, const std::function<void()>& work) {
  agree_on_shares(
      all, all.rank() == 0 ? work : [] {});
}

}  // namespace speedwell
