// SPDX-License-Identifier: BSD-3-Clause
#include "comm/communicator.hpp"

#include <mpi.h>
#include <speedwell/error.hpp>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#ifdef MPIX_CUDA_AWARE_SUPPORT
#define SPEEDWELL_MPI_QUERIES_CUDA
#endif
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <type_traits>
#include <utility>

#include "comm/mpi_start.hpp"

#include "core/expects.hpp"
#include "core/forks.hpp"

namespace speedwell {

namespace {

// MPI's counts are int, and some algorithms inside MPI count even bytes with an int.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 30;

template <class T>
MPI_Datatype type_of() {
  if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  if constexpr (std::is_same_v<T, std::int64_t>) return MPI_INT64_T;
  if constexpr (std::is_same_v<T, char>) return MPI_CHAR;
  if constexpr (std::is_same_v<T, std::byte>) return MPI_BYTE;
}

MPI_Op operation(Reduction op) {
  return op == Reduction::sum ? MPI_SUM : op == Reduction::max ? MPI_MAX : MPI_MIN;
}

/// Calls `call(pointer to the first element, number of elements)` for each piece of `values`.
template <class T, class Call>
void in_pieces(std::span<T> values, Call call) {
  const std::size_t piece = kPieceBytes / sizeof(T);
  for (std::size_t begin = 0; begin < values.size(); begin += piece)
    call(values.data() + begin, static_cast<int>(std::min(piece, values.size() - begin)));
}

template <class T>
void reduce_everywhere(MPI_Comm comm, std::span<T> values, Reduction op) {
  in_pieces(values, [&](T* data, int count) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, data, count, type_of<T>(), operation(op), comm),
              "MPI_Allreduce");
  });
}

std::vector<int> begins_of(std::span<const int> counts) {
  std::vector<int> begins(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
  return begins;
}

template <class T>
void gather_everywhere(MPI_Comm comm, std::span<const T> mine, std::span<T> all,
                       std::span<const int> counts) {
  check_mpi(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), type_of<T>(), all.data(),
                           counts.data(), begins_of(counts).data(), type_of<T>(), comm),
            "MPI_Allgatherv");
}

// For the making and freeing of a communicator of one rank, which wait for no other.
std::unique_lock<std::recursive_mutex> hold_forks_of_one(int size) {
  return size == 1 ? hold_forks() : std::unique_lock<std::recursive_mutex>();
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, words, &length);
  throw Fault(std::string(call) + " failed: " + words);
}

Communicator::Communicator(CommHandle comm, const RunContext& run, Owns owns)
    : comm_(comm), owns_(owns), run_(&run) {
  check_mpi(MPI_Comm_set_errhandler(comm_.as<MPI_Comm>(), MPI_ERRORS_RETURN),
            "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_.as<MPI_Comm>(), &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_.as<MPI_Comm>(), &size_), "MPI_Comm_size");
  if (run.stalls()) watched_.resize(static_cast<std::size_t>(size_));
  std::iota(watched_.begin(), watched_.end(), 0);
}

Communicator Communicator::duplicate(CommHandle comm, const RunContext& run) {
  require_mpi();
  MPI_Comm copy = MPI_COMM_NULL;
  int size = 0;
  check_mpi(MPI_Comm_size(comm.as<MPI_Comm>(), &size), "MPI_Comm_size");
  {
    // In a communicator of one rank, a long call is no wait for another rank.
    const StallWatch::Waiting waiting(size > 1 ? run.stalls() : nullptr, "MPI_Comm_dup");
    const auto no_forks = hold_forks_of_one(size);
    check_mpi(MPI_Comm_dup(comm.as<MPI_Comm>(), &copy), "MPI_Comm_dup");
  }
  return {copy, run, Owns::yes};
}

Communicator Communicator::duplicate() const {
  Communicator copy = duplicate(comm_, *run_);
  copy.watched_ = watched_;
  return copy;
}

Communicator Communicator::in(const RunContext& run) const {
  return {comm_, run, Owns::no};
}

Communicator Communicator::with_watch(CommHandle part) const {
  Communicator made(part, *run_, Owns::yes);
  if (!run_->stalls()) return made;
  const auto wait = waiting("MPI_Allgather");
  const int me = watched_[static_cast<std::size_t>(rank_)];
  check_mpi(MPI_Allgather(&me, 1, MPI_INT, made.watched_.data(), 1, MPI_INT, part.as<MPI_Comm>()),
            "MPI_Allgather");
  return made;
}

StallWatch::Waiting Communicator::waiting(const char* call, int peer) const {
  return {size_ > 1 ? run_->stalls() : nullptr, call,
          peer < 0 || peer >= size_ ? watched() : watched(peer)};
}

Communicator::Communicator(Communicator&& other) noexcept
    : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
      rank_(other.rank_),
      size_(other.size_),
      owns_(other.owns_),
      run_(other.run_),
      watched_(std::move(other.watched_)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  std::swap(owns_, other.owns_);
  std::swap(run_, other.run_);
  std::swap(watched_, other.watched_);
  return *this;
}

Communicator::~Communicator() {
  // MPI_Comm_free is collective: a rank that alone leaves with an exception must not wait in it.
  if (comm_ == CommHandle(MPI_COMM_NULL) || owns_ == Owns::no || std::uncaught_exceptions() > 0 ||
      mpi_is_over())
    return;
  const auto no_forks = hold_forks_of_one(size_);
  MPI_Comm owned = comm_.as<MPI_Comm>();
  MPI_Comm_free(&owned);
}

Communicator Communicator::split(int color, int key) const {
  const auto wait = waiting("MPI_Comm_split");
  const auto no_forks = hold_forks_of_one(size_);
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm_.as<MPI_Comm>(), color, key, &part), "MPI_Comm_split");
  return with_watch(part);
}

Communicator Communicator::split_node() const {
  const auto wait = waiting("MPI_Comm_split_type");
  const auto no_forks = hold_forks_of_one(size_);
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split_type(comm_.as<MPI_Comm>(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
      "MPI_Comm_split_type");
  return with_watch(node);
}

void Communicator::barrier() const {
  const auto wait = waiting("MPI_Barrier");
  check_mpi(MPI_Barrier(comm_.as<MPI_Comm>()), "MPI_Barrier");
}

void Communicator::barrier_asleep() const {
  constexpr std::chrono::milliseconds longest{10};
  std::chrono::microseconds pause{50};
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(comm_.as<MPI_Comm>(), &request), "MPI_Ibarrier");
  for (int done = 0;;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, longest);
  }
}

void Communicator::broadcast(std::span<std::byte> bytes, int root) const {
  const auto wait = waiting("MPI_Bcast", rank_ == root ? -1 : root);
  in_pieces(bytes, [&](std::byte* data, int count) {
    check_mpi(MPI_Bcast(data, count, MPI_BYTE, root, comm_.as<MPI_Comm>()), "MPI_Bcast");
  });
}

void Communicator::all_reduce(std::span<double> values, Reduction op) const {
  const auto wait = waiting("MPI_Allreduce");
  reduce_everywhere(comm_.as<MPI_Comm>(), values, op);
}

void Communicator::all_reduce(std::span<std::int64_t> values, Reduction op) const {
  const auto wait = waiting("MPI_Allreduce");
  reduce_everywhere(comm_.as<MPI_Comm>(), values, op);
}

double Communicator::all_reduce(double value, Reduction op) const {
  all_reduce(std::span(&value, 1), op);
  return value;
}

std::int64_t Communicator::all_reduce(std::int64_t value, Reduction op) const {
  all_reduce(std::span(&value, 1), op);
  return value;
}

void Communicator::reduce_sum(std::span<double> values, int root) const {
  const auto wait = waiting("MPI_Reduce", rank_ == root ? -1 : root);
  std::vector<double> copy;  // MPICH 4.0.2 crashes where the root reduces MPI_IN_PLACE
  in_pieces(values, [&](double* data, int count) {
    if (rank_ == root) copy.assign(data, data + count);
    const double* from = rank_ == root ? copy.data() : data;
    check_mpi(MPI_Reduce(from, data, count, MPI_DOUBLE, MPI_SUM, root, comm_.as<MPI_Comm>()),
              "MPI_Reduce");
  });
}

std::vector<double> Communicator::all_gather(std::span<const double> values) const {
  std::vector<double> all(values.size() * size_);
  const std::vector<std::int64_t> counts(size_, static_cast<std::int64_t>(values.size()));
  all_gather(values, all, counts);
  return all;
}

void Communicator::all_gather(std::span<const double> mine, std::span<double> all,
                              std::span<const std::int64_t> counts) const {
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (counts.size() != static_cast<std::size_t>(size_) || std::ssize(all) != total ||
      std::ssize(mine) != counts[rank_])
    throw Fault("all_gather: the counts do not agree with the ranks or the lengths");
  const auto wait = waiting("MPI_Allgatherv");
  if (total <= std::numeric_limits<int>::max())
    return gather_everywhere(comm_.as<MPI_Comm>(), mine, all,
                             std::vector<int>(counts.begin(), counts.end()));
  std::size_t begin = 0;
  for (int r = 0; r < size_; ++r) {
    const std::span part = all.subspan(begin, counts[r]);
    if (r == rank_) std::copy(mine.begin(), mine.end(), part.begin());
    broadcast(part, r);
    begin += part.size();
  }
}

void Communicator::all_gather(std::span<std::byte> parts) const {
  const std::size_t each = parts.size() / size_;
  SPEEDWELL_EXPECTS(each * size_ == parts.size());
  const auto wait = waiting("MPI_Allgather");
  if (each <= static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return check_mpi(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, parts.data(), static_cast<int>(each),
                                   MPI_BYTE, comm_.as<MPI_Comm>()),
                     "MPI_Allgather");
  for (int r = 0; r < size_; ++r) broadcast(parts.subspan(r * each, each), r);
}

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
  const auto wait = waiting("MPI_Allgatherv");
  const int length = static_cast<int>(text.size());
  std::vector<int> counts(size_);
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_.as<MPI_Comm>()),
            "MPI_Allgather");
  std::string all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), '\0');
  gather_everywhere<char>(comm_.as<MPI_Comm>(), text, all, counts);
  std::vector<std::string> texts;
  for (std::size_t begin = 0; const int count : counts) {
    texts.push_back(all.substr(begin, count));
    begin += count;
  }
  return texts;
}

void Communicator::send(std::span<const std::byte> bytes, int to) const {
  const auto wait = waiting("MPI_Send", to);
  in_pieces(bytes, [&](const std::byte* data, int count) {
    check_mpi(MPI_Send(data, count, MPI_BYTE, to, 0, comm_.as<MPI_Comm>()), "MPI_Send");
  });
}

void Communicator::receive(std::span<std::byte> bytes, int from) const {
  const auto wait = waiting("MPI_Recv", from);
  in_pieces(bytes, [&](std::byte* data, int count) {
    check_mpi(MPI_Recv(data, count, MPI_BYTE, from, 0, comm_.as<MPI_Comm>(), MPI_STATUS_IGNORE),
              "MPI_Recv");
  });
}

void Communicator::exchange(std::span<const std::byte> out, int to, std::span<std::byte> in,
                            int from) const {
  const auto wait = waiting("MPI_Sendrecv", from);
  const auto piece = static_cast<std::size_t>(kPieceBytes);
  for (std::size_t begin = 0; begin < std::max(out.size(), in.size()); begin += piece) {
    const std::span sent = out.subspan(std::min(begin, out.size()));
    const std::span received = in.subspan(std::min(begin, in.size()));
    check_mpi(MPI_Sendrecv(sent.data(), static_cast<int>(std::min(piece, sent.size())), MPI_BYTE,
                           sent.empty() ? MPI_PROC_NULL : to, 0, received.data(),
                           static_cast<int>(std::min(piece, received.size())), MPI_BYTE,
                           received.empty() ? MPI_PROC_NULL : from, 0, comm_.as<MPI_Comm>(),
                           MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
  }
}

std::vector<std::int64_t> Communicator::transpose(const std::vector<std::int64_t>& counts) const {
  if (std::ssize(counts) != size_) throw Fault("all_to_all: not one part for each rank");
  const auto wait = waiting("MPI_Alltoall");
  std::vector<std::int64_t> all(counts.size());
  check_mpi(
      MPI_Alltoall(counts.data(), 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, comm_.as<MPI_Comm>()),
      "MPI_Alltoall");
  return all;
}

void Communicator::abort(int status) const {
  MPI_Abort(comm_.as<MPI_Comm>(), status);
  std::_Exit(status);
}

CommHandle comm_world() {
  return MPI_COMM_WORLD;
}

CommHandle comm_self() {
  return MPI_COMM_SELF;
}

int rank_in(CommHandle comm) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm.as<MPI_Comm>(), &rank), "MPI_Comm_rank");
  return rank;
}

int ranks_in(CommHandle comm) {
  int ranks = 1;
  check_mpi(MPI_Comm_size(comm.as<MPI_Comm>(), &ranks), "MPI_Comm_size");
  return ranks;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  const std::string version(text);
  return version.substr(0, version.find_first_of("\r\n"));
}

bool mpi_takes_device_memory() {
#ifdef SPEEDWELL_MPI_QUERIES_CUDA
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = 0;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
}

MpiSession::~MpiSession() {
  if (!mpi_is_over()) MPI_Finalize();
}

}  // namespace speedwell
