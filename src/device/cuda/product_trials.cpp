// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/product_trials.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/cuda/check.hpp"

namespace speedwell {

ProductTrials::ProductTrials(cudaStream_t stream, const Algorithms& offered, const Start& start) {
  for (const cublasLtMatmulAlgo_t& one : offered) candidates_.push_back({.algorithm = one});
  for (int round = 0; round < rounds; ++round) {
    const bool timed = round > 0;
    for (Candidate& one : candidates_) {
      if (!one.accepted) continue;
      Trial trial;
      if (timed) trial.begin = record(stream);
      one.accepted = start(one.algorithm);
      if (timed) trial.end = record(stream);
      if (timed) one.trials.push_back(std::move(trial));
    }
  }
}

ProductTrials::Recorded ProductTrials::record(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "cudaEventCreateWithFlags");
  Recorded recorded(event);
  check(cudaEventRecord(event, stream), "cudaEventRecord");
  return recorded;
}

// The shortest of the trials. CUDA gives no time for a trial that is not done, or after an error,
// which the next checked call reports.
float ProductTrials::Candidate::milliseconds() const {
  float shortest = std::numeric_limits<float>::infinity();
  for (const Trial& trial : trials) {
    float time = 0;
    if (cudaEventElapsedTime(&time, trial.begin.get(), trial.end.get()) == cudaSuccess)
      shortest = std::min(shortest, time);
  }
  return shortest;
}

std::vector<ProductTrials::Result> ProductTrials::results() const {
  std::vector<Result> all;
  for (const Candidate& one : candidates_)
    all.push_back({one.algorithm, one.accepted, one.milliseconds()});
  return all;
}

}  // namespace speedwell
