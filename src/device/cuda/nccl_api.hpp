// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What is called of NCCL, in our own words, so that it serves wherever the library is found, with
/// or without its header when Lupine was built. Its C interface has been the same since 2.7, which
/// brought messages between pairs; nccl_api.cpp compares with the header where there is one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace lupine::nccl {

using Comm = struct ncclComm*;
/// Of ncclResult_t; others are failures too.
using Result = int;
inline constexpr Result success = 0;
/// Of ncclDataType_t.
using DataType = int;
inline constexpr DataType int8 = 0;
struct UniqueId {
  char bytes[128];
};

/// The library's functions, which are looked up by name: it is not linked.
struct Api {
  std::string why_none;  ///< in words, where any is missing, or the library, or it is too old
  int version = 0;       ///< as ncclGetVersion has it; 0: unknown
  Result (*get_version)(int* version) = nullptr;
  Result (*get_unique_id)(UniqueId* id) = nullptr;
  Result (*comm_init_rank)(Comm* comm, int ranks, UniqueId id, int rank) = nullptr;
  Result (*comm_destroy)(Comm comm) = nullptr;
  Result (*comm_abort)(Comm comm) = nullptr;
  Result (*comm_get_async_error)(Comm comm, Result* error) = nullptr;
  Result (*broadcast)(const void* from, void* to, std::size_t count, DataType type, int root,
                      Comm comm, cudaStream_t stream) = nullptr;
  Result (*send)(const void* from, std::size_t count, DataType type, int peer, Comm comm,
                 cudaStream_t stream) = nullptr;
  Result (*receive)(void* to, std::size_t count, DataType type, int peer, Comm comm,
                    cudaStream_t stream) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  const char* (*get_error_string)(Result result) = nullptr;
};

/// Loaded when first asked for, since a machine with one GPU need not have it.
const Api& api();

/// "2.28.9". NCCL counts 2.8.4 as 2804, and from 2.9 on 2.9.1 as 20901.
std::string version_text(int version);

}  // namespace lupine::nccl
