#include "device/cuda/peers.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <cstring>
#include <utility>

#include "device/cuda/check.hpp"

#if __has_include(<nccl.h>)
#include <dlfcn.h>
#include <nccl.h>

namespace lupine {

namespace {

// The functions of NCCL that are called here. NCCL is not linked.
struct Nccl {
  std::string why_none;
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
};

#ifdef LUPINE_CUDA_EMULATED
Nccl load() {
  return {"",
          &ncclGetVersion,
          &ncclGetUniqueId,
          &ncclCommInitRank,
          &ncclCommDestroy,
          &ncclCommGetAsyncError,
          &ncclBroadcast,
          &ncclSend,
          &ncclRecv,
          &ncclGroupStart,
          &ncclGroupEnd,
          &ncclGetErrorString};
}
#else
template <class Function>
void find(void* library, const char* name, Function& function, std::string& why_none) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) why_none = fmt::format("NCCL lacks {}", name);
}

Nccl load() {
  Nccl n;
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    n.why_none = "no NCCL";
    return n;
  }
  find(library, "ncclGetVersion", n.get_version, n.why_none);
  find(library, "ncclGetUniqueId", n.get_unique_id, n.why_none);
  find(library, "ncclCommInitRank", n.comm_init_rank, n.why_none);
  find(library, "ncclCommDestroy", n.comm_destroy, n.why_none);
  find(library, "ncclCommGetAsyncError", n.comm_get_async_error, n.why_none);
  find(library, "ncclBroadcast", n.broadcast, n.why_none);
  find(library, "ncclSend", n.send, n.why_none);
  find(library, "ncclRecv", n.receive, n.why_none);
  find(library, "ncclGroupStart", n.group_start, n.why_none);
  find(library, "ncclGroupEnd", n.group_end, n.why_none);
  find(library, "ncclGetErrorString", n.get_error_string, n.why_none);
  return n;
}
#endif

const Nccl& nccl() {
  static const Nccl functions = load();
  return functions;
}

void check_nccl(ncclResult_t result, const char* call, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  check(result == ncclSuccess ? nullptr : nccl().get_error_string(result), call, file, line);
}

class NcclGroup final : public PeerGroup {
 public:
  NcclGroup(std::span<const std::byte> bytes, int rank, int size,
            std::function<cudaStream_t(Queue&)> stream_of)
      : stream_of_(std::move(stream_of)) {
    ncclUniqueId id{};
    std::memcpy(&id, bytes.data(), std::min(sizeof(id), bytes.size()));
    check_nccl(nccl().comm_init_rank(&comm_, size, id, rank), "ncclCommInitRank");
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  // On the way out with an exception the others may not come, and destroying would wait for them.
  ~NcclGroup() override {
    if (std::uncaught_exceptions() == 0) nccl().comm_destroy(comm_);
  }

  void broadcast(Queue& queue, std::span<std::byte> bytes, int root) override {
    check_earlier();
    if (bytes.empty()) return;
    check_nccl(nccl().broadcast(bytes.data(), bytes.data(), bytes.size(), ncclInt8, root, comm_,
                                stream_of_(queue)),
               "ncclBroadcast");
  }

  // A group that was begun is ended, whatever fails in it.
  void exchange(Queue& queue, std::span<const PeerMessage> sends,
                std::span<const PeerMessage> receives) override {
    check_earlier();
    const cudaStream_t stream = stream_of_(queue);
    check_nccl(nccl().group_start(), "ncclGroupStart");
    const ncclResult_t sent = each(sends, nccl().send, stream);
    const ncclResult_t received = each(receives, nccl().receive, stream);
    const ncclResult_t ended = nccl().group_end();
    check_nccl(sent, "ncclSend");
    check_nccl(received, "ncclRecv");
    check_nccl(ended, "ncclGroupEnd");
  }

 private:
  void check_earlier() const {
    ncclResult_t earlier = ncclSuccess;
    check_nccl(nccl().comm_get_async_error(comm_, &earlier), "ncclCommGetAsyncError");
    check_nccl(earlier, "an earlier call of NCCL");
  }
  // The first failure, or success.
  template <class Transfer>
  ncclResult_t each(std::span<const PeerMessage> messages, Transfer transfer,
                    cudaStream_t stream) const {
    for (const auto& [peer, bytes] : messages)
      if (const ncclResult_t result =
              bytes.empty() ? ncclSuccess
                            : transfer(bytes.data(), bytes.size(), ncclInt8, peer, comm_, stream);
          result != ncclSuccess)
        return result;
    return ncclSuccess;
  }

  std::function<cudaStream_t(Queue&)> stream_of_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

bool peers_available() {
  return nccl().why_none.empty();
}

std::string peers_description() {
  if (!peers_available()) return nccl().why_none;
  int version = 0;
  check_nccl(nccl().get_version(&version), "ncclGetVersion");
  return fmt::format("NCCL {}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::vector<std::byte> make_peer_id() {
  ncclUniqueId id{};
  check_nccl(nccl().get_unique_id(&id), "ncclGetUniqueId");
  const auto bytes = std::as_bytes(std::span(&id, 1));
  return {bytes.begin(), bytes.end()};
}

std::unique_ptr<PeerGroup> join_peers(std::span<const std::byte> id, int rank, int size,
                                      std::function<cudaStream_t(Queue&)> stream_of) {
  return std::make_unique<NcclGroup>(id, rank, size, std::move(stream_of));
}

}  // namespace lupine

#else

namespace lupine {

bool peers_available() {
  return false;
}

std::string peers_description() {
  return "built without NCCL";
}

std::vector<std::byte> make_peer_id() {
  throw Fault("built without NCCL");
}

std::unique_ptr<PeerGroup> join_peers(std::span<const std::byte>, int, int,
                                      std::function<cudaStream_t(Queue&)>) {
  throw Fault("built without NCCL");
}

}  // namespace lupine

#endif
