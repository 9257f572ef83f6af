#include "comm/agreement.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>

namespace lupine {

namespace {

enum class Outcome : std::int64_t { fine, usage, fault };

struct Attempt {
  Outcome outcome = Outcome::fine;
  std::string words;
  std::string where;  // of a usage error; of a fault, the host
};

Attempt attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const UsageError& error) {
    return {Outcome::usage, error.what(), error.where()};
  } catch (const std::exception& error) {
    return {Outcome::fault, error.what(), host_name()};
  }
}

}  // namespace

void agree(const Communicator& all, const std::function<void()>& work) {
  const Attempt mine = attempt(work);
  const auto worst =
      static_cast<Outcome>(all.all_reduce(static_cast<std::int64_t>(mine.outcome), Reduction::max));
  if (worst == Outcome::fine) return;

  const bool is_worst = mine.outcome == worst;
  const int first = static_cast<int>(
      all.all_reduce(std::int64_t{is_worst ? all.rank() : all.size()}, Reduction::min));
  const std::string words = all.all_gather(mine.words)[static_cast<std::size_t>(first)];
  const std::string where = all.all_gather(mine.where)[static_cast<std::size_t>(first)];
  if (worst == Outcome::usage) throw UsageError(words, where, first);
  throw AgreedFault(fmt::format("rank {} on {}: {}", first, where, words), where, first);
}

std::string text_of_rank_0(const Communicator& all, std::string text) {
  auto size = static_cast<std::int64_t>(text.size());
  all.broadcast(std::span(&size, 1), 0);
  text.resize(static_cast<std::size_t>(size));
  all.broadcast(std::span(text), 0);
  return text;
}

void require_equal_options(const Communicator& all, const std::string& mine) {
  const std::vector<std::string> texts = all.all_gather(mine);
  for (std::size_t r = 1; r < texts.size(); ++r)
    if (texts[r] != texts[0])
      throw UsageError(
          fmt::format("rank {} has other options ({}) than rank 0 ({})", r, texts[r], texts[0]));
}

void on_rank_0(const Communicator& all, const std::function<void()>& work) {
  agree(
      all, all.rank() == 0 ? work : [] {});
}

}  // namespace lupine
