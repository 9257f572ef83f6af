// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Our own declarations of the NCCL functions that Speedwell calls. So a build without NCCL's
/// header can use the library too. The C interface of these functions has not changed since
/// NCCL 2.7, the first version with messages between pairs; nccl_api.cpp checks that if it finds
/// NCCL's header.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace speedwell::nccl {

using Comm = struct ncclComm*;
/// NCCL's ncclResult_t. All other values are failures.
using Result = int;
inline constexpr Result success = 0;
/// NCCL's ncclDataType_t. Speedwell sends only bytes.
using DataType = int;
inline constexpr DataType int8 = 0;
struct UniqueId {
  char bytes[128];
};

/// The functions of the library, which is not linked: they are looked up by name.
struct Api {
  std::string why_none;  ///< why NCCL cannot be used, in words; empty if it can
  int version = 0;       ///< the number of ncclGetVersion; 0: unknown
  Result (*get_version)(int* version) = nullptr;
  Result (*get_unique_id)(UniqueId* id) = nullptr;
  Result (*comm_init_rank)(Comm* comm, int ranks, UniqueId id, int rank) = nullptr;
  Result (*comm_destroy)(Comm comm) = nullptr;
  Result (*comm_abort)(Comm comm) = nullptr;
  Result (*comm_get_async_error)(Comm comm, Result* error) = nullptr;
  Result (*broadcast)(const void* from, void* to, std::size_t count, DataType type, int root,
                      Comm comm, cudaStream_t stream) = nullptr;
  Result (*all_gather)(const void* from, void* to, std::size_t count, DataType type, Comm comm,
                       cudaStream_t stream) = nullptr;
  Result (*send)(const void* from, std::size_t count, DataType type, int peer, Comm comm,
                 cudaStream_t stream) = nullptr;
  Result (*receive)(void* to, std::size_t count, DataType type, int peer, Comm comm,
                    cudaStream_t stream) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  const char* (*get_error_string)(Result result) = nullptr;
};

/// The functions. The first call loads the library, since a machine with one GPU does not need it.
const Api& api();

/// The version as text, such as "2.28.9". NCCL's number is 2804 for 2.8.4; from 2.9 on it has the
/// form 20901 for 2.9.1.
std::string version_text(int version);

}  // namespace speedwell::nccl
