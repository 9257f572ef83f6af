// SPDX-License-Identifier: BSD-3-Clause
#include "solve/factors.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "comm/agreement.hpp"
#include "core/random.hpp"
#include "core/scalar.hpp"
#include "refine/lu_solver.hpp"
#include "solve/rotations.hpp"

namespace speedwell {

Factors::Factors(Transport& transport, const ScaledMatrix& a, const LuPlan& plan, int rotations,
                 std::uint64_t seed, const ColumnsDone& done)
    : transport_(transport),
      scaled_(a),
      precision_(plan.precision),
      lu_(agreed(transport.grid().all(), [&] {
        return DistributedMatrix(transport.device(), a.matrix().element_rows(),
                                 a.matrix().element_columns(), plan.storage(), plan.field);
      })) {
  Device& device = transport.device();
  const RunContext& run = device.run();
  const double begin = run.now();
  agree(transport.grid().all(), [&] { a.round_to(lu_.local()); });
  std::optional<Rotations> u;
  std::optional<Rotations> v;
  if (rotations > 0) {
    const Probes random(seed, ProbeUse::rotations);
    const auto next = 2 * static_cast<std::uint64_t>(rotations);
    u.emplace(lu_.rows(), plan.field, random.bits(next));
    v.emplace(lu_.columns(), plan.field, random.bits(next + 1));
    rotate(device, *u, *v, lu_.local());
  }
  outcome_ = factorize(transport, lu_, plan, done);
  if (bytes_of(lu_.storage()) > 2) growth_ = measured_growth(a.scales().largest);
  seconds_ = run.now() - begin;
  if (!outcome_.usable()) return;
  std::unique_ptr<FactorSolver> solver;
  std::optional<System> system;
  agree(transport.grid().all(), [&] {
    solver = std::make_unique<LuSolver>(transport, lu_, plan.width, outcome_.pivots);
    system.emplace(a.system());
    if (!a.is_held()) system->watch();
  });
  if (rotations > 0) solver = std::make_unique<RotatedSolver>(std::move(solver), *u, *v);
  const FactorError error{unit_roundoff(plan.precision), growth_,
                          underflow_of(plan.precision, plan.storage())};
  factored_ =
      std::make_unique<FactoredSystem>(device, std::move(*system), std::move(solver), error, seed);
}

Certificate& Factors::certificate() {
  SPEEDWELL_EXPECTS(outcome_.usable());
  if (!certificate_)
    certificate_ =
        std::make_unique<Certificate>(transport_.device(), factored_->system(), factored_->solver(),
                                      precision_, scaled_.entries());
  return *certificate_;
}

double Factors::measured_growth(double largest) const {
  const Communicator& all = transport_.grid().all();
  const double most_here = agreed(all, [&] {
    Device& device = transport_.device();
    const auto queue = device.make_queue(Priority::normal);
    Vector most(static_cast<std::size_t>(lu_.columns().local_size()));
    const Buffer found =
        device.allocate(std::max<std::int64_t>(std::ssize(most), 1) * std::int64_t{sizeof(double)});
    device.largest_of_columns(*queue, lu_.local().real(), nullptr, found.as<double>(), nullptr);
    device.download(*queue, found.as<double>(), most);
    return speedwell::largest(most);
  });
  return growth_of(all.all_reduce(most_here, Reduction::max), largest);
}

bool Factors::zero_pivot() {
  SPEEDWELL_EXPECTS(bytes_of(lu_.storage()) > 2);
  const GlobalIndex pivot{outcome_.bad_pivot};
  if (pivot.value < 0) return false;
  std::int64_t zero = 0;
  if (lu_.rows().mine(pivot) && lu_.columns().mine(pivot)) {
    Device& device = transport_.device();
    const auto queue = device.make_queue(Priority::normal);
    const AnyMatrix entry =
        lu_.from(lu_.rows().local(pivot), lu_.columns().local(pivot)).block(0, 0, 1, 1);
    with_numbers(entry, [&](const auto& e) {
      std::remove_reference_t<decltype(e(0, 0))> value{};
      device.download(*queue, e.data, std::span(&value, 1));
      zero = value == std::remove_reference_t<decltype(value)>{} ? 1 : 0;
    });
  }
  return transport_.grid().all().all_reduce(zero, Reduction::max) != 0;
}

}  // namespace speedwell
