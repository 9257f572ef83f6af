// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Streams that are captured, and what the driver says of the kernels in their graphs.
#include <cuda.h>
#include <green_contexts.hpp>

#include <cstring>
#include <utility>

#include "emulation.hpp"

using namespace speedwell::emulation;

namespace {

CUresult kernel_node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Launch& launch = node->launch;
  *params = {};
  params->kern = reinterpret_cast<CUkernel>(node);
  params->gridDimX = launch.grid.x;
  params->gridDimY = launch.grid.y;
  params->gridDimZ = launch.grid.z;
  params->blockDimX = launch.block.x;
  params->blockDimY = launch.block.y;
  params->blockDimZ = launch.block.z;
  return CUDA_SUCCESS;
}

CUresult kernel_name(const char** name, CUkernel kernel) {
  if (name == nullptr || kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = reinterpret_cast<CUgraphNode>(kernel)->launch.name.c_str();
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&] {
    if (!known(stream)) return cudaErrorInvalidResourceHandle;
    if (mode != cudaStreamCaptureModeRelaxed || stream->capture) return cudaErrorInvalidValue;
    stream->capture = std::make_unique<CUgraph_st>();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call("cudaStreamEndCapture", [&] {
    if (!known(stream)) return cudaErrorInvalidResourceHandle;
    if (graph == nullptr || !stream->capture) return cudaErrorInvalidValue;
    *graph = stream->capture.release();
    ++state().handles;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return release("cudaGraphDestroy", [&] {
    if (graph == nullptr) return cudaErrorInvalidValue;
    --state().handles;
    delete graph;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return call("cudaGraphGetNodes", [&] {
    if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
    if (nodes != nullptr)
      for (std::size_t i = 0; i < std::min(*count, graph->nodes.size()); ++i)
        nodes[i] = &graph->nodes[i];
    *count = graph->nodes.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call("cudaGraphNodeGetType", [&] {
    if (node == nullptr || type == nullptr) return cudaErrorInvalidValue;
    *type = node->launch.grid.x > 0 ? cudaGraphNodeTypeKernel : cudaGraphNodeTypeEmpty;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  return call("cudaGetDriverEntryPointByVersion", [&] {
    if (name == nullptr || function == nullptr || found == nullptr) return cudaErrorInvalidValue;
    *function = nullptr;
    if (std::strcmp(name, "cuGraphKernelNodeGetParams") == 0)
      *function = reinterpret_cast<void*>(&kernel_node_params);
    if (std::strcmp(name, "cuKernelGetName") == 0)
      *function = reinterpret_cast<void*>(&kernel_name);
    if (*function == nullptr) *function = speedwell::green::driver_function(name);
    *found =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}
