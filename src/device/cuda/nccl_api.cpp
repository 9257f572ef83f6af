// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/nccl_api.hpp"

#include <fmt/format.h>

#include <type_traits>

#ifdef SPEEDWELL_CUDA_EMULATED
#include <cuda_emulation.hpp>
#else
#include <dlfcn.h>
#endif

#if __has_include(<nccl.h>)
#include <nccl.h>
namespace speedwell::nccl {
// The calling convention passes an enumeration as an int, and UniqueId as ncclUniqueId, since both
// are structs of 128 bytes.
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId) && sizeof(Result) == sizeof(ncclResult_t));
static_assert(sizeof(DataType) == sizeof(ncclDataType_t));
static_assert(success == ncclSuccess && int8 == ncclInt8);

template <class Ours, class Theirs>
constexpr bool passed_alike = std::is_same_v<Ours, Theirs> ||
                              (std::is_enum_v<Theirs> && std::is_same_v<Ours, int>) ||
                              (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) ||
                              (std::is_same_v<Ours, UniqueId> &&
                               std::is_same_v<Theirs, ncclUniqueId>);
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) struct SameCall<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<passed_alike<OurResult, TheirResult> &&
                         (passed_alike<Ours, Theirs> && ...)> {
};
#define SPEEDWELL_SAME_CALL(ours, theirs) \
  static_assert(SameCall<decltype(Api::ours), decltype(&::theirs)>::value, #theirs)
SPEEDWELL_SAME_CALL(get_version, ncclGetVersion);
SPEEDWELL_SAME_CALL(get_unique_id, ncclGetUniqueId);
SPEEDWELL_SAME_CALL(comm_init_rank, ncclCommInitRank);
SPEEDWELL_SAME_CALL(comm_destroy, ncclCommDestroy);
SPEEDWELL_SAME_CALL(comm_abort, ncclCommAbort);
SPEEDWELL_SAME_CALL(comm_get_async_error, ncclCommGetAsyncError);
SPEEDWELL_SAME_CALL(broadcast, ncclBroadcast);
SPEEDWELL_SAME_CALL(all_gather, ncclAllGather);
SPEEDWELL_SAME_CALL(send, ncclSend);
SPEEDWELL_SAME_CALL(receive, ncclRecv);
SPEEDWELL_SAME_CALL(group_start, ncclGroupStart);
SPEEDWELL_SAME_CALL(group_end, ncclGroupEnd);
SPEEDWELL_SAME_CALL(get_error_string, ncclGetErrorString);
#undef SPEEDWELL_SAME_CALL
}  // namespace speedwell::nccl
#endif

namespace speedwell::nccl {

namespace {

#ifdef SPEEDWELL_CUDA_EMULATED
using emulation::dlerror;
using emulation::dlopen;
using emulation::dlsym;
constexpr int now = 0;
#else
constexpr int now = RTLD_NOW | RTLD_LOCAL;
#endif

constexpr int oldest = 2700;

template <class Function>
void find(void* library, const char* name, Function& function, std::string& why_none) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && why_none.empty()) why_none = fmt::format("NCCL lacks {}", name);
}

Api load() {
  Api n;
  void* library = dlopen("libnccl.so.2", now);
  if (library == nullptr) {
    n.why_none = fmt::format("NCCL cannot be loaded: {}", dlerror());
    return n;
  }
  const auto take = [&](const char* name, auto& function) {
    find(library, name, function, n.why_none);
  };
  take("ncclGetErrorString", n.get_error_string);
  take("ncclGetVersion", n.get_version);
  if (n.why_none.empty())
    if (const Result failed = n.get_version(&n.version); failed != success)
      n.why_none = fmt::format("NCCL does not tell its version: {}", n.get_error_string(failed));
  if (n.why_none.empty() && n.version < oldest)
    n.why_none = fmt::format("NCCL {} is too old, {} is needed", version_text(n.version),
                             version_text(oldest));
  take("ncclGetUniqueId", n.get_unique_id);
  take("ncclCommInitRank", n.comm_init_rank);
  take("ncclCommDestroy", n.comm_destroy);
  take("ncclCommAbort", n.comm_abort);
  take("ncclCommGetAsyncError", n.comm_get_async_error);
  take("ncclBroadcast", n.broadcast);
  take("ncclAllGather", n.all_gather);
  take("ncclSend", n.send);
  take("ncclRecv", n.receive);
  take("ncclGroupStart", n.group_start);
  take("ncclGroupEnd", n.group_end);
  return n;
}

}  // namespace

const Api& api() {
  static const Api functions = load();
  return functions;
}

std::string version_text(int version) {
  constexpr int first_wide = 10000;
  const int major = version < first_wide ? version / 1000 : version / 10000;
  const int minor = version < first_wide ? version % 1000 / 100 : version % 10000 / 100;
  return fmt::format("{}.{}.{}", major, minor, version % 100);
}

}  // namespace speedwell::nccl
