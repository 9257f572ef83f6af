// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The functions of nccl.h by their names, for what stands in for the loader of libraries.
#pragma once

#include "nccl.h"

#include <map>
#include <string>

namespace lupine::emulation {

inline const std::map<std::string, void*>& nccl_functions() {
#define LUPINE_FUNCTION(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const std::map<std::string, void*> functions{
      LUPINE_FUNCTION(ncclGetVersion),    LUPINE_FUNCTION(ncclGetUniqueId),
      LUPINE_FUNCTION(ncclCommInitRank),  LUPINE_FUNCTION(ncclCommDestroy),
      LUPINE_FUNCTION(ncclCommAbort),     LUPINE_FUNCTION(ncclCommGetAsyncError),
      LUPINE_FUNCTION(ncclBroadcast),     LUPINE_FUNCTION(ncclAllGather),
      LUPINE_FUNCTION(ncclSend),          LUPINE_FUNCTION(ncclRecv),
      LUPINE_FUNCTION(ncclGroupStart),    LUPINE_FUNCTION(ncclGroupEnd),
      LUPINE_FUNCTION(ncclGetErrorString)};
#undef LUPINE_FUNCTION
  return functions;
}

}  // namespace lupine::emulation
