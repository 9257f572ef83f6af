// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The types of CUDA's driver that Speedwell uses. Its functions are found by
/// cudaGetDriverEntryPointByVersion().
#pragma once

#include "cuda_runtime.h"

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
using CUgraphNode = CUgraphNode_st*;
using CUfunction = struct CUfunc_st*;
using CUkernel = struct CUkern_st*;
using CUcontext = struct CUctx_st*;

struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
};

using CUdevice = int;
using CUstream = cudaStream_t;
using CUgreenCtx = struct CUgreenCtx_st*;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;
enum CUdevResourceType { CU_DEV_RESOURCE_TYPE_INVALID = 0, CU_DEV_RESOURCE_TYPE_SM = 1 };
enum CUgreenCtxCreate_flags { CU_GREEN_CTX_DEFAULT_STREAM = 1 };
enum CUstream_flags { CU_STREAM_NON_BLOCKING = 1 };

struct CUdevSmResource {
  unsigned smCount, minSmPartitionSize, smCoscheduledAlignment;
};
struct CUdevResource {
  CUdevResourceType type;
  CUdevSmResource sm;
};
