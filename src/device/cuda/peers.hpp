/// @file
/// GPUs that send to each other: NCCL, which is loaded when it is first asked for, since a machine
/// with one GPU need not have it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace lupine {

bool peers_available();
/// "NCCL 2.27.3", or why there is none.
std::string peers_description();
std::vector<std::byte> make_peer_id();
/// @param stream_of the stream of a queue
std::unique_ptr<PeerGroup> join_peers(std::span<const std::byte> id, int rank, int size,
                                      std::function<cudaStream_t(Queue&)> stream_of);

}  // namespace lupine
