// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/launch_grid.hpp"

#include "device/cuda/driver_function.hpp"

namespace speedwell {

namespace {

/// Functions of the driver. The runtime's functions know only the kernels of this program.
struct Driver {
  using Params = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
  using NameOfFunction = CUresult (*)(const char**, CUfunction);
  using NameOfKernel = CUresult (*)(const char**, CUkernel);
  Params params = driver_function<Params>("cuGraphKernelNodeGetParams", 12000);
  NameOfFunction name_of_function = driver_function<NameOfFunction>("cuFuncGetName", 12030);
  NameOfKernel name_of_kernel = driver_function<NameOfKernel>("cuKernelGetName", 12030);

  std::string name(const CUDA_KERNEL_NODE_PARAMS& node) const {
    const char* text = nullptr;
    if (node.func != nullptr && name_of_function != nullptr)
      name_of_function(&text, node.func);
    else if (node.kern != nullptr && name_of_kernel != nullptr)
      name_of_kernel(&text, node.kern);
    return text == nullptr ? "" : text;
  }
};

class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& work) {
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) != cudaSuccess) return;
    try {
      work();
    } catch (...) {
      // The capture must be ended in any case; after an exception there is no graph.
    }
    if (cudaStreamEndCapture(stream, &graph_) != cudaSuccess) graph_ = nullptr;
    cudaGetLastError();  // clears the error of a failed capture
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  std::vector<cudaGraphNode_t> kernels() const {
    std::vector<cudaGraphNode_t> nodes;
    std::size_t count = 0;
    if (graph_ == nullptr || cudaGraphGetNodes(graph_, nullptr, &count) != cudaSuccess) return {};
    nodes.resize(count);
    if (cudaGraphGetNodes(graph_, nodes.data(), &count) != cudaSuccess) return {};
    std::erase_if(nodes, [](cudaGraphNode_t node) {
      cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
      return cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel;
    });
    return nodes;
  }

 private:
  cudaGraph_t graph_ = nullptr;
};

}  // namespace

std::vector<LaunchedKernel> launched_kernels(cudaStream_t stream,
                                             const std::function<void()>& work) {
  const Driver driver;
  if (driver.params == nullptr) return {};
  const Graph graph(stream, work);
  std::vector<LaunchedKernel> all;
  for (const cudaGraphNode_t node : graph.kernels()) {
    CUDA_KERNEL_NODE_PARAMS params{};
    if (driver.params(node, &params) != CUDA_SUCCESS) continue;
    all.push_back({driver.name(params),
                   {params.gridDimX, params.gridDimY, params.gridDimZ},
                   {params.blockDimX, params.blockDimY, params.blockDimZ}});
  }
  return all;
}

}  // namespace speedwell
