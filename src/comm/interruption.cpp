// SPDX-License-Identifier: BSD-3-Clause
#include "comm/interruption.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>

#include "comm/requests.hpp"
#include "core/expects.hpp"

namespace speedwell {

namespace {

std::int64_t most_of_all(const Communicator& all, std::int64_t value, Interrupt& interrupt) {
  if (all.size() == 1) return value;
  const auto wait = all.run().waiting("MPI_Iallreduce", all.watched());
  std::int64_t most = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Iallreduce(&value, &most, 1, MPI_INT64_T, MPI_MAX, all.handle().as<MPI_Comm>(), &request),
      "MPI_Iallreduce");
  for (int done = 0;;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return most;
    interrupt.ended();
  }
}

bool is_interrupted(const Communicator& all, Interrupt& interrupt) {
  if (most_of_all(all, interrupt.ended() ? 1 : 0, interrupt) == 0) return false;
  interrupt.end();
  return true;
}

// The columns of the rank that has the fewest.
std::string words(const Communicator* all, const Interrupt& interrupt) {
  std::array<std::int64_t, 2> columns{interrupt.columns(), -interrupt.n()};
  if (all) all->all_reduce(columns, Reduction::min);
  if (columns[0] < 0) return "interrupted";
  if (columns[0] == -columns[1]) return "interrupted after the factorization";
  return fmt::format("interrupted after {} of {} columns", columns[0], -columns[1]);
}

// The parent and the children of a rank in a binary tree.
std::vector<int> tree_neighbours(int rank, int size) {
  std::vector<int> all;
  if (rank > 0) all.push_back((rank - 1) / 2);
  for (const int child : {2 * rank + 1, 2 * rank + 2})
    if (child < size) all.push_back(child);
  return all;
}

}  // namespace

std::int64_t most_of_all(const Communicator& all, std::int64_t value) {
  Interrupt* const interrupt = all.run().interrupt();
  return interrupt ? most_of_all(all, value, *interrupt) : all.all_reduce(value, Reduction::max);
}

bool is_interrupted(const Communicator& all) {
  Interrupt* const interrupt = all.run().interrupt();
  return interrupt && is_interrupted(all, *interrupt);
}

void stop_if_interrupted(const Communicator& all) {
  if (is_interrupted(all)) stop(all);
}

void stop(const Communicator& all) {
  Interrupt* const interrupt = all.run().interrupt();
  SPEEDWELL_EXPECTS(interrupt != nullptr);
  interrupt->end();
  throw Interrupted(words(&all, *interrupt));
}

Interruption::Interruption(CommHandle comm, InterruptFunction function, bool guards,
                           const RunContext& around)
    : sends_(std::make_unique<Requests>()) {
  const int size = ranks_in(comm);
  std::int64_t wanted = function || guards ? 1 : 0;
  if (size > 1) {
    Communicator all = Communicator::duplicate(comm, around);
    wanted = all.all_reduce(wanted, Reduction::max);
    if (wanted != 0) comm_.emplace(std::move(all));
  }
  if (wanted == 0) return;
  Interrupt::Exchange exchange;
  if (comm_) {
    neighbours_ = tree_neighbours(comm_->rank(), size);
    exchange = [this](bool ended) { return this->exchange(ended); };
  }
  interrupt_ =
      std::make_unique<Interrupt>(std::move(function), around.clock(), std::move(exchange));
}

Interruption::~Interruption() = default;

// The messages are received in settle().
bool Interruption::exchange(bool ended) {
  if (ended && sends_->all.empty())
    for (const int to : neighbours_)
      check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, to, 0, comm_->handle().as<MPI_Comm>(),
                          &sends_->all.emplace_back()),
                "MPI_Isend");
  if (ended) return true;
  int heard = 0;
  check_mpi(
      MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_->handle().as<MPI_Comm>(), &heard, MPI_STATUS_IGNORE),
      "MPI_Iprobe");
  return heard != 0;
}

bool Interruption::anywhere() {
  return comm_ ? is_interrupted(*comm_, *interrupt_) : interrupt_->ended();
}

// All ranks have ended, so each has told its neighbours.
void Interruption::settle() {
  for (const int from : neighbours_)
    check_mpi(
        MPI_Recv(nullptr, 0, MPI_BYTE, from, 0, comm_->handle().as<MPI_Comm>(), MPI_STATUS_IGNORE),
        "MPI_Recv");
  check_mpi(MPI_Waitall(sends_->size(), sends_->all.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  sends_->all.clear();
  const std::string text = words(comm_ ? &*comm_ : nullptr, *interrupt_);
  if (interrupt_->thrown()) std::rethrow_exception(interrupt_->thrown());
  throw Interrupted(text);
}

}  // namespace speedwell
