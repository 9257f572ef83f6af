// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The functions of nccl.h by their names, for what stands in for the loader of libraries.
#pragma once

#include "nccl.h"

#include <map>
#include <string>

namespace speedwell::emulation {

inline const std::map<std::string, void*>& nccl_functions() {
#define SPEEDWELL_FUNCTION(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const std::map<std::string, void*> functions{
      SPEEDWELL_FUNCTION(ncclGetVersion),    SPEEDWELL_FUNCTION(ncclGetUniqueId),
      SPEEDWELL_FUNCTION(ncclCommInitRank),  SPEEDWELL_FUNCTION(ncclCommDestroy),
      SPEEDWELL_FUNCTION(ncclCommAbort),     SPEEDWELL_FUNCTION(ncclCommGetAsyncError),
      SPEEDWELL_FUNCTION(ncclBroadcast),     SPEEDWELL_FUNCTION(ncclAllGather),
      SPEEDWELL_FUNCTION(ncclSend),          SPEEDWELL_FUNCTION(ncclRecv),
      SPEEDWELL_FUNCTION(ncclGroupStart),    SPEEDWELL_FUNCTION(ncclGroupEnd),
      SPEEDWELL_FUNCTION(ncclGetErrorString)};
#undef SPEEDWELL_FUNCTION
  return functions;
}

}  // namespace speedwell::emulation
