// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Broadcasts and messages among processes. The root writes one file and gives it a name for each
/// receiver, who removes that name when it has read; so each file is removed by whom it is for. The
/// id names the folder.
#include <cublas_functions.h>
#include <nccl.h>
#include <nccl_functions.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "emulation.hpp"

namespace files = std::filesystem;
using namespace speedwell::emulation;

namespace {

/// A GPU goes on while its host waits for another process; so here does a thread, when the host has
/// not called for a while.
class Progress {
 public:
  Progress() : thread_([this] { work(); }) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    stop_ = true;
    thread_.join();
  }

 private:
  void work() {
    using std::chrono::milliseconds;
    while (!stop_) {
      std::this_thread::sleep_for(milliseconds(2));
      const std::unique_lock lock(state().mutex, std::try_to_lock);
      if (!lock) continue;
      const auto now = std::chrono::steady_clock::now();
      while (now - state().last_call > milliseconds(10) && run_beside()) {
      }
    }
  }
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// What comes before the data, so that calls that do not belong together are noticed.
struct Header {
  std::uint64_t bytes;
  int root;
};

/// What the tasks in the streams know of a communicator: they may outlive it.
struct Group {
  files::path folder;
  int ranks;
  int rank;
  bool aborted = false;

  files::path mark(const char* what, int which) const {
    std::string file = what;
    file += '.';
    file += std::to_string(which);
    return folder / file;
  }
  files::path name(std::uint64_t broadcast, int receiver) const {
    return mark(std::to_string(broadcast).c_str(), receiver);
  }
  bool complete() const;
  bool send(const Header& header, const void* data, std::uint64_t broadcast) const;
  void receive(const Header& expected, void* data, std::uint64_t broadcast) const;
  files::path message(int from, int to, std::uint64_t number) const;
  bool write(const Header& header, const void* data) const;
  void read(const files::path& name, const Header& expected, void* data) const;
  void leave() const;
};

/// Whether all ranks have come; some may be gone again.
bool Group::complete() const {
  for (int one = 0; one < ranks; ++one) {
    if (!files::exists(mark("rank", one)) && !files::exists(mark("left", one))) return false;
  }
  return true;
}

files::path Group::message(int from, int to, std::uint64_t number) const {
  return mark(("message." + std::to_string(number) + '.' + std::to_string(from)).c_str(), to);
}

/// To mark("from", rank). False when there is no room: the receivers have to make some first.
bool Group::write(const Header& header, const void* data) const {
  const files::path written = mark("from", rank);
  std::error_code failed;
  std::ofstream file(written, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof(header));
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(header.bytes));
  file.close();
  if (!file) files::remove(written, failed);
  return !file.fail();
}

bool Group::send(const Header& header, const void* data, std::uint64_t broadcast) const {
  if (!write(header, data)) return false;
  const files::path written = mark("from", rank);
  std::error_code failed;
  for (int receiver = 0; receiver < ranks; ++receiver) {
    if (receiver != rank) files::create_hard_link(written, name(broadcast, receiver), failed);
  }
  files::remove(written, failed);
  return true;
}

void Group::receive(const Header& expected, void* data, std::uint64_t broadcast) const {
  read(name(broadcast, rank), expected, data);
}

void Group::read(const files::path& name, const Header& expected, void* data) const {
  Header header{};
  std::error_code failed;
  std::ifstream file(name, std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (!file || header.bytes != expected.bytes || header.root != expected.root) {
    fail_for_good(cudaErrorLaunchFailure, "ranks disagree about the size or root of a transfer");
  } else {
    file.read(static_cast<char*>(data), static_cast<std::streamsize>(header.bytes));
  }
  files::remove(name, failed);
}

/// What others still have to read stays; the last one removes the folder.
void Group::leave() const {
  std::error_code failed;
  files::rename(mark("rank", rank), mark("left", rank), failed);
  for (int one = 0; one < ranks; ++one) {
    if (!files::exists(mark("left", one), failed)) return;
  }
  files::remove_all(folder, failed);
}

}  // namespace

struct ncclComm {
  std::shared_ptr<Group> group;
  std::uint64_t broadcasts = 0;
  std::map<int, std::uint64_t> sent{};  // messages to each rank, and from each
  std::map<int, std::uint64_t> received{};
  Progress progress{};
};

namespace {

template <class Body>
ncclResult_t nccl_call(const char* function, Body&& body) {
  const std::lock_guard lock(state().mutex);
  return begin(function) == cudaSuccess ? body() : ncclUnhandledCudaError;
}

std::size_t bytes_of(ncclDataType_t type) {
  static constexpr std::size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type <= ncclBfloat16 ? bytes[type] : 0;
}

/// A message of an open group, or of one that is under way.
struct Transfer {
  bool sends;
  void* data;
  Header header;
  ncclComm_t comm;
  cudaStream_t stream;
  files::path name;
  bool written = false;
  bool done = false;
};

struct OpenGroup {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;
  std::vector<Transfer> transfers;
};

OpenGroup& open_group() {
  static thread_local OpenGroup group;
  return group;
}

/// What can be done of the transfers now; whether all are done.
bool proceed(const Group& group, std::vector<Transfer>& transfers) {
  if (group.aborted || state().sticky != cudaSuccess) return true;
  std::error_code failed;
  for (Transfer& t : transfers) {
    if (t.done) continue;
    if (t.sends && !t.written && group.write(t.header, t.data)) {
      files::rename(group.mark("from", group.rank), t.name, failed);
      t.written = true;
    } else if (t.sends) {
      t.done = t.written && !files::exists(t.name);
    } else if (files::exists(t.name)) {
      group.read(t.name, t.header, t.data);
      t.done = true;
    }
  }
  return std::all_of(transfers.begin(), transfers.end(), [](const Transfer& t) { return t.done; });
}

/// NCCL's kernels wait for each other: in a part of the multiprocessors, one might never start.
bool takes_messages(cudaStream_t stream) {
  return known(stream) && stream->multiprocessors == 0;
}

ncclResult_t transfer(const char* function, bool sends, const void* data, std::size_t count,
                      ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  OpenGroup& open = open_group();
  const auto body = [&] {
    const std::size_t bytes = count * bytes_of(type);
    if (open.depth == 0) return ncclInvalidUsage;
    if (comm == nullptr || peer < 0 || peer >= comm->group->ranks || !takes_messages(stream) ||
        count == 0 || bytes / count != bytes_of(type) || !on_device(data, bytes)) {
      return ncclInvalidArgument;
    }
    const auto& first = open.transfers.empty() ? Transfer{sends, nullptr, {}, comm, stream, {}}
                                               : open.transfers.front();
    if (first.comm != comm || first.stream != stream) return ncclInvalidUsage;
    const Group& group = *comm->group;
    const auto name = sends ? group.message(group.rank, peer, comm->sent[peer]++)
                            : group.message(peer, group.rank, comm->received[peer]++);
    const Header header{bytes, sends ? group.rank : peer};
    open.transfers.push_back({sends, const_cast<void*>(data), header, comm, stream, name});
    return ncclSuccess;
  };
  const ncclResult_t result = nccl_call(function, body);
  if (result != ncclSuccess && open.depth > 0) open.failure = result;
  return result;
}

bool is_wrong(const char* how) {
  return state().settings.nccl == how;
}

/// Whether NCCL has come to the call that shall not be done.
bool hangs() {
  const State& s = state();
  return (is_wrong("hang") || is_wrong("error")) &&
         s.transfers >= std::stol(s.settings.nccl_detail);
}

/// Instead of a transfer, once it is due; false: it is not.
bool hang(const std::shared_ptr<Group>& group, cudaStream_t stream) {
  ++state().transfers;
  if (!hangs()) return false;
  enqueue(stream, {{}, [group] { return group->aborted; }});
  return true;
}

ncclResult_t end(ncclComm_t comm) {
  if (comm == nullptr) return ncclInvalidArgument;
  comm->group->leave();
  --state().handles;
  delete comm;
  return ncclSuccess;
}

ncclResult_t broadcast(const void* from, void* to, Header header, ncclComm_t comm,
                       cudaStream_t stream) {
  const std::uint64_t number = comm->broadcasts++;
  const auto group = comm->group;
  if (hang(group, stream)) return ncclSuccess;
  if (group->rank != header.root) {
    const auto name = group->name(number, group->rank);
    enqueue(stream, {[=] {
                       if (!group->aborted) group->receive(header, to, number);
                     },
                     [=] { return group->aborted || files::exists(name); },
                     {},
                     true});
    return ncclSuccess;
  }
  if (from != to) {
    enqueue(stream, {[=] { std::memcpy(to, from, header.bytes); }, {}});
  }
  if (group->ranks > 1) {
    enqueue(stream,
            {{}, [=] { return group->aborted || group->send(header, from, number); }, {}, true});
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  return nccl_call("ncclGetVersion", [&] {
    *version =
        is_wrong("version") ? std::stoi(state().settings.nccl_detail) : int{NCCL_VERSION_CODE};
    return ncclSuccess;
  });
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call("ncclGetUniqueId", [&] {
    *id = {};
    std::snprintf(id->internal, sizeof(id->internal), "/dev/shm/speedwell-emulation-XXXXXX");
    return mkdtemp(id->internal) != nullptr ? ncclSuccess : ncclSystemError;
  });
}

/// Returns when all ranks have called it.
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return nccl_call("ncclCommInitRank", [&] {
    if (comm == nullptr || rank < 0 || rank >= ranks) return ncclInvalidArgument;
    const auto group = std::make_shared<Group>(Group{id.internal, ranks, rank});
    std::ofstream(group->mark("rank", rank)).close();
    while (!group->complete()) {
      if (!files::exists(group->folder)) return ncclRemoteError;
      if (!run_one(nullptr)) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    *comm = new ncclComm{group};
    ++state().handles;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::lock_guard lock(state().mutex);
  const cudaError_t failure = begin("ncclCommDestroy");
  complete(nullptr);
  const ncclResult_t ended = end(comm);
  return failure == cudaSuccess ? ended : ncclUnhandledCudaError;
}

/// What has been queued is not waited for; it moves nothing any more.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(state().mutex);
  const cudaError_t failure = begin("ncclCommAbort");
  if (comm != nullptr) comm->group->aborted = true;
  const ncclResult_t ended = end(comm);
  return failure == cudaSuccess ? ended : ncclUnhandledCudaError;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (comm == nullptr || error == nullptr) return ncclInvalidArgument;
  return nccl_call("ncclCommGetAsyncError", [&] {
    *error = is_wrong("error") && hangs() ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return nccl_call("ncclBroadcast", [&] {
    if (comm == nullptr || root < 0 || root >= comm->group->ranks || !takes_messages(stream)) {
      return ncclInvalidArgument;
    }
    const std::size_t bytes = count * bytes_of(type);
    if (count == 0) return ncclSuccess;
    if (bytes / count != bytes_of(type) || !on_device(to, bytes) ||
        (comm->group->rank == root && !on_device(from, bytes))) {
      return ncclInvalidArgument;
    }
    return broadcast(from, to, {bytes, root}, comm, stream);
  });
}

// As messages between all pairs.
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return nccl_call("ncclAllGather", [&] {
    if (comm == nullptr || !takes_messages(stream)) return ncclInvalidArgument;
    const std::size_t bytes = count * bytes_of(type);
    const Group& group = *comm->group;
    if (count == 0) return ncclSuccess;
    if (bytes / count != bytes_of(type) || !on_device(from, bytes) ||
        !on_device(to, bytes * static_cast<std::size_t>(group.ranks))) {
      return ncclInvalidArgument;
    }
    if (hang(comm->group, stream)) return ncclSuccess;
    const auto transfers = std::make_shared<std::vector<Transfer>>();
    char* const mine = static_cast<char*>(to) + static_cast<std::size_t>(group.rank) * bytes;
    if (from != mine) enqueue(stream, {[=] { std::memcpy(mine, from, bytes); }, {}});
    for (int peer = 0; peer < group.ranks; ++peer) {
      if (peer == group.rank) continue;
      char* const theirs = static_cast<char*>(to) + static_cast<std::size_t>(peer) * bytes;
      transfers->push_back({true,
                            const_cast<void*>(from),
                            {bytes, group.rank},
                            comm,
                            stream,
                            group.message(group.rank, peer, comm->sent[peer]++)});
      transfers->push_back({false,
                            theirs,
                            {bytes, peer},
                            comm,
                            stream,
                            group.message(peer, group.rank, comm->received[peer]++)});
    }
    enqueue(
        stream,
        {{}, [group = comm->group, transfers] { return proceed(*group, *transfers); }, {}, true});
    return ncclSuccess;
  });
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return transfer("ncclSend", true, from, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return transfer("ncclRecv", false, to, count, type, peer, comm, stream);
}

ncclResult_t ncclGroupStart() {
  return nccl_call("ncclGroupStart", [] {
    ++open_group().depth;
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return nccl_call("ncclGroupEnd", [] {
    OpenGroup& open = open_group();
    if (open.depth == 0) return ncclInvalidUsage;
    if (--open.depth > 0) return ncclSuccess;
    const OpenGroup closed = std::exchange(open, {});
    if (closed.failure != ncclSuccess || closed.transfers.empty()) return closed.failure;
    const auto& [comm, stream] = std::pair(closed.transfers[0].comm, closed.transfers[0].stream);
    if (hang(comm->group, stream)) return ncclSuccess;
    const auto transfers = std::make_shared<std::vector<Transfer>>(closed.transfers);
    enqueue(
        stream,
        {{}, [group = comm->group, transfers] { return proceed(*group, *transfers); }, {}, true});
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

void* speedwell::emulation::dlopen(const char* library, int) {
  static const int there = 0;
  return is_wrong("none") || std::string(library) != "libnccl.so.2" ? nullptr
                                                                    : const_cast<int*>(&there);
}

const char* speedwell::emulation::dlerror() {
  return "libnccl.so.2: there is none in this emulation";
}

void* speedwell::emulation::dlsym(void*, const char* function) {
  if (const auto blas = cublas_functions().find(function); blas != cublas_functions().end())
    return state().settings.cublas_lacks == function ? nullptr : blas->second;
  const auto& functions = nccl_functions();
  const bool lacks = is_wrong("lacks") && state().settings.nccl_detail == function;
  const auto found = functions.find(function);
  return lacks || found == functions.end() ? nullptr : found->second;
}
