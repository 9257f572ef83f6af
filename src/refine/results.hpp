// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reads what a device has computed for all ranks.
#pragma once

#include "comm/interruption.hpp"
#include "device/device.hpp"

namespace speedwell {

/// Downloads what operations have computed, before ranks decide by it or sum it up. Collective.
/// @param host has as many elements as are copied
/// @throws Interrupted on every rank, if any rank has ended: then results are unspecified
template <class T, class Range>
void download_results(const Communicator& all, Device& device, Queue& queue, const T* from,
                      Range&& host) {
  device.download(queue, from, host);
  stop_if_interrupted(all);
}

}  // namespace speedwell
