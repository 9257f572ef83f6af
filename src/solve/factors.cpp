// SPDX-License-Identifier: BSD-3-Clause
#include "solve/factors.hpp"

#include <type_traits>

#include "comm/agreement.hpp"
#include "refine/lu_solver.hpp"

namespace lupine {

namespace {

/// A vector in device memory.
Buffer on_device(Device& device, Queue& queue, const Vector& v) {
  Buffer buffer = device.allocate(std::ssize(v) * std::int64_t{sizeof(double)});
  device.upload(queue, v, buffer.as<double>());
  return buffer;
}

}  // namespace

Factors::Factors(Transport& transport, const UserMatrix& a, const Equilibration& scales,
                 const Setup& setup, const Clock& clock, const ColumnsDone& done)
    : transport_(transport), lu_(agreed(transport.grid().all(), [&] {
        return DistributedMatrix(transport.device(), a.rows(), a.columns(),
                                 storage_for(setup.options.precision));
      })) {
  Device& device = transport.device();
  const double begin = clock.now();
  {
    const auto queue = device.make_queue(Priority::normal);
    const Scales local = scales.local(a.rows(), a.columns());
    const Buffer rows = on_device(device, *queue, local.rows);
    const Buffer columns = on_device(device, *queue, local.columns);
    device.scale(*queue, a.local(), rows.as<double>(), columns.as<double>(), lu_.local());
    queue->synchronize();
  }
  outcome_ = factorize(transport, lu_, factor_options(setup), clock, done);
  seconds_ = clock.now() - begin;
  if (!outcome_.usable()) return;
  factored_ = std::make_unique<FactoredSystem>(
      device,
      System(transport.grid(), device, held_matrix(a.local()), a.rows(), a.columns(),
             scales.local(a.rows(), a.columns())),
      std::make_unique<LuSolver>(transport, lu_, setup.panel_width, outcome_.pivots),
      lu_.storage() == Precision::fp64);
}

bool Factors::zero_pivot() {
  const GlobalIndex pivot{outcome_.bad_pivot};
  if (pivot.value < 0) return false;
  std::int64_t zero = 0;
  if (lu_.rows().mine(pivot) && lu_.columns().mine(pivot)) {
    Device& device = transport_.device();
    const auto queue = device.make_queue(Priority::normal);
    const AnyMatrix entry =
        lu_.from(lu_.rows().local(pivot), lu_.columns().local(pivot)).block(0, 0, 1, 1);
    with_storage(entry, [&](const auto& e) {
      std::remove_reference_t<decltype(e(0, 0))> value{};
      device.download(*queue, e.data, std::span(&value, 1));
      zero = value == 0 ? 1 : 0;
    });
  }
  return transport_.grid().all().all_reduce(zero, Reduction::max) != 0;
}

}  // namespace lupine
