// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Broadcasts and messages arrive, and wait as those between GPUs do.
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <vector>

#include "bench.hpp"

using namespace speedwell::emulation;

namespace {

/// Messages of a length that tells sender, receiver and turn, between all pairs of ranks and to
/// oneself, two a pair in one group. Returns the wrong ones, and what was refused or not wrongly.
int exchange_messages(ncclComm_t comm, int ranks, int rank, const Stream& stream) {
  const auto length = [](int from, int to, int turn) { return 10 + from + 10 * to + 100 * turn; };
  std::deque<Array<int>> out;
  std::deque<Array<int>> in;
  int wrong = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    for (int turn = 0; turn < 2; ++turn) {
      const int sent = length(rank, peer, turn);
      out.emplace_back(std::vector<int>(static_cast<std::size_t>(sent), sent), stream);
      in.emplace_back(static_cast<std::size_t>(length(peer, rank, turn)));
    }
  }
  wrong += ncclSend(out[0].data, 1, ncclInt32, 0, comm, stream.id) == ncclInvalidUsage ? 0 : 1;
  wrong += ncclGroupStart() == ncclSuccess ? 0 : 1;
  for (int i = 0; i < 2 * ranks; ++i) {
    const Array<int>& to = out[static_cast<std::size_t>(i)];
    const Array<int>& from = in[static_cast<std::size_t>(i)];
    if (ncclSend(to.data, to.count, ncclInt32, i / 2, comm, stream.id) != ncclSuccess) ++wrong;
    if (ncclRecv(from.data, from.count, ncclInt32, i / 2, comm, stream.id) != ncclSuccess) ++wrong;
  }
  wrong += ncclGroupEnd() == ncclSuccess ? 0 : 1;
  for (const Array<int>& one : in) {
    for (const int value : one.read(stream)) wrong += value == static_cast<int>(one.count) ? 0 : 1;
  }
  wrong += ncclGroupEnd() == ncclInvalidUsage ? 0 : 1;
  return wrong;
}

/// Three broadcasts from each rank in turn, and messages; 0 if all that arrived is right. Rank 0
/// waits for word from the others before it waits for its GPU, which must have gone on meanwhile.
int exchange(const ncclUniqueId& id, int ranks, int rank, const int (&word)[2]) {
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  const Stream stream;
  int wrong = 0;
  {
    const std::vector<float> zeros(100, 0);
    const Array<float> x(zeros, stream);
    for (int i = 0; i < 3 * ranks; ++i) {
      const bool root = i % ranks == rank;
      if (root) start(stream, 1, 128, add_one, x.data, 100);
      if (ncclBroadcast(x.data, x.data, 100, ncclFloat32, i % ranks, comm, stream.id) != 0) ++wrong;
    }
    char received = 0;
    for (int i = 1; rank == 0 && i < ranks; ++i) wrong += read(word[0], &received, 1) == 1 ? 0 : 1;
    const auto result = x.read(stream);
    if (rank != 0) wrong += write(word[1], &received, 1) == 1 ? 0 : 1;
    for (const float value : result) {
      wrong += value == static_cast<float>(3 * ranks) ? 0 : 1;
    }
  }
  wrong += exchange_messages(comm, ranks, rank, stream);
  // A broadcast that never comes: giving up ends the wait for it.
  const bool waits = rank != 0;
  const Array<float> y(10);
  if (waits) wrong += ncclBroadcast(y.data, y.data, 10, ncclFloat, 0, comm, stream.id) == 0 ? 0 : 1;
  if (waits) wrong += cudaStreamQuery(stream.id) == cudaErrorNotReady ? 0 : 1;
  if ((waits ? ncclCommAbort(comm) : ncclCommDestroy(comm)) != ncclSuccess) ++wrong;
  if (cudaStreamSynchronize(stream.id) != cudaSuccess) ++wrong;
  return wrong == 0 ? 0 : 2;
}

}  // namespace

TEST_CASE("broadcasts and messages between processes", "[emulation]") {
  const int ranks = 3;
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  int word[2];
  REQUIRE(pipe(word) == 0);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(fork());
    if (children.back() == 0) _exit(exchange(id, ranks, rank, word));
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  for (const int end : word) close(end);
  CHECK(access(id.internal, F_OK) != 0);
}
