// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/product_trials.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "device/cuda/check.hpp"

namespace lupine {

ProductTrials::ProductTrials(cudaStream_t stream, const Algorithms& offered, const Start& start) {
  for (const cublasLtMatmulAlgo_t& one : offered) candidates_.push_back({.algorithm = one});
  for (int round = 0; round < rounds; ++round) {
    const bool timed = round > 0;
    for (Candidate& one : candidates_) {
      Trial trial;
      if (timed) trial.begin = record(stream);
      one.accepted = start(one.algorithm);
      if (timed) trial.end = record(stream);
      if (timed) one.trials.push_back(std::move(trial));
    }
    std::erase_if(candidates_, [](const Candidate& one) { return !one.accepted; });
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

Algorithms ProductTrials::accepted() const {
  Algorithms all;
  for (const Candidate& one : candidates_) all.push_back(one.algorithm);
  return all;
}

Algorithms ProductTrials::fastest_first() const {
  std::multimap<float, cublasLtMatmulAlgo_t> by_time;
  for (const Candidate& one : candidates_) by_time.emplace(one.milliseconds(), one.algorithm);
  Algorithms sorted;
  for (const auto& [time, algorithm] : by_time) sorted.push_back(algorithm);
  return sorted;
}

}  // namespace lupine
