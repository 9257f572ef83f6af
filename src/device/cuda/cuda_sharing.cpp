// SPDX-License-Identifier: BSD-3-Clause
// The multiprocessors of a GPU, divided between panels and the updates beside them.
#include <algorithm>

#include "device/cuda/cuda_device.hpp"

namespace speedwell {

// The number of multiprocessors for products on a queue of this priority; 0: all. A product may
// keep its multiprocessors until it ends, and then a panel would wait for the end of an update. So
// panels and updates have different multiprocessors, and updates have at least half of them.
int CudaDevice::multiprocessors_for(Priority priority) const {
  const int panel = panel_multiprocessors(panel_part_);
  if (panel == 0 || priority != Priority::normal) return panel;
  const int of_part = resources_->parts ? resources_->parts->size(panel) : 0;
  return of_part > 0 ? of_part : properties().multiProcessorCount - panel;
}

// Those for a panel that gets this part of the GPU; 0: all.
int CudaDevice::panel_multiprocessors(double part) const {
  constexpr int least_unit = 4;  // a new number needs new choices of algorithms
  const int unit = std::max(least_unit, resources_->parts ? resources_->parts->unit() : 0);
  const int all = properties().multiProcessorCount;
  if (part <= 0 || reserved_ == 0) return 0;
  const int share = (static_cast<int>(part * all) / unit + 1) * unit;
  return std::min(reserved_ > 0 ? reserved_ : share, all / 2);
}

// The parts of updates beside panels that get 1/2, 1/4 ... of the GPU.
void CudaDevice::add_parts(Lane& lane, double least) {
  if (!resources_->parts && !resources_->parts_failed) resources_->parts = GreenParts::make(gpu_);
  resources_->parts_failed = resources_->parts == nullptr;
  for (double part = 0.5; resources_->parts && part >= least; part /= 2)
    if (const int panel = panel_multiprocessors(part); panel > 0)
      lane.add_part(resources_->parts, panel);
}

}  // namespace speedwell
