// SPDX-License-Identifier: BSD-3-Clause
#include "comm/messages.hpp"

#include <speedwell/error.hpp>

#include <exception>
#include <limits>

#include "comm/mpi_start.hpp"
#include "comm/requests.hpp"

namespace speedwell {

namespace {

int int_count(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Fault("a message of more than 2 GiB cannot be sent");
  return static_cast<int>(bytes);
}

bool all_done(Requests& requests) {
  int done = 0;
  check_mpi(MPI_Testall(requests.size(), requests.all.data(), &done, MPI_STATUSES_IGNORE),
            "MPI_Testall");
  if (done) requests.all.clear();
  return done != 0;
}

}  // namespace

Messages::Messages(const Communicator& comm, int tag)
    : comm_(comm.handle()),
      tag_(tag),
      sends_(std::make_unique<Requests>()),
      receives_(std::make_unique<Requests>()) {}

Messages::Messages(Messages&& other) noexcept = default;

Messages::~Messages() {
  if (!sends_ || mpi_is_over()) return;
  if (std::uncaught_exceptions() > 0) {
    for (MPI_Request& receive : receives_->all)
      if (receive != MPI_REQUEST_NULL) MPI_Cancel(&receive);
    for (MPI_Request& send : sends_->all)
      if (send != MPI_REQUEST_NULL) MPI_Request_free(&send);
  }
  // A destructor cannot throw: if a wait fails, so will the next call on this communicator.
  MPI_Waitall(receives_->size(), receives_->all.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(sends_->size(), sends_->all.data(), MPI_STATUSES_IGNORE);
}

void Messages::send(std::span<const std::byte> bytes, int to) {
  check_mpi(MPI_Isend(bytes.data(), int_count(bytes.size()), MPI_BYTE, to, tag_,
                      comm_.as<MPI_Comm>(), &sends_->all.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Isend");
}

void Messages::receive(std::span<std::byte> bytes, int from) {
  check_mpi(MPI_Irecv(bytes.data(), int_count(bytes.size()), MPI_BYTE, from, tag_,
                      comm_.as<MPI_Comm>(), &receives_->all.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Irecv");
}

bool Messages::test() {
  const bool received = all_done(*receives_);
  return all_done(*sends_) && received;
}

bool Messages::idle() const {
  return sends_->all.empty() && receives_->all.empty();
}

}  // namespace speedwell
