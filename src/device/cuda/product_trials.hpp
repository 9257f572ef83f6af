// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which of the algorithms that cuBLASLt offers for a product is the fastest on this GPU.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "device/cuda/product_call.hpp"

namespace speedwell {

/// Trials of some algorithms for one product, in a stream's order. Each algorithm runs
/// `rounds` times: first to load its kernels, then to be timed by events of the stream.
///
/// The host does not wait for the GPU, which may wait for a peer that waits for this host. So the
/// times are known only when the stream is done. Work of other streams may run beside a trial and
/// slow it down: so an algorithm's trials lie apart, one in each round, and the shortest counts.
class ProductTrials {
 public:
  static constexpr int rounds = 3;
  /// Gives the product to the stream. Returns whether the library accepts the algorithm.
  using Start = std::function<bool(const cublasLtMatmulAlgo_t&)>;

  /// Starts all trials. An algorithm that `start` does not accept is not tried again.
  /// @throws Fault if CUDA cannot record events
  ProductTrials(cudaStream_t stream, const Algorithms& offered, const Start& start);

  struct Result {
    cublasLtMatmulAlgo_t algorithm{};
    bool accepted = true;
    float milliseconds = 0;  ///< infinite where no trial is done
  };
  /// Of all algorithms, in the order in which they were offered.
  std::vector<Result> results() const;

 private:
  struct DestroyEvent {
    void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  };
  using Recorded = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;
  struct Trial {
    Recorded begin;
    Recorded end;
  };
  struct Candidate {
    cublasLtMatmulAlgo_t algorithm;
    bool accepted = true;
    std::vector<Trial> trials = {};
    float milliseconds() const;
  };
  static Recorded record(cudaStream_t stream);

  std::vector<Candidate> candidates_;
};

}  // namespace speedwell
