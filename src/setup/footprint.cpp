// SPDX-License-Identifier: BSD-3-Clause
#include "setup/footprint.hpp"

#include "core/scalar.hpp"
#include "device/device_traits.hpp"
#include "device/emulation_workspace.hpp"
#include "factor/lu.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/certificate.hpp"
#include "refine/refinement.hpp"
#include "source/part_writer.hpp"

namespace speedwell {

namespace {

// Panels may take 0.36 n^2 of the 0.4 n^2 bytes beside the FP32 factors, and 40 MB of the 150 MB.
constexpr double panel_share = 0.36;
constexpr double panel_floor = 40e6;
constexpr double reader_bytes = 60e6;  // what a source may have read ahead of a user's matrix

double element_bytes(const LuPlan& plan) {
  return static_cast<double>(plan.element());
}

}  // namespace

double panel_bytes(const LuPlan& plan) {
  return static_cast<double>(factor_memory(plan).device + scratch_bytes(plan));
}

double rank_bytes(const LuPlan& plan) {
  const std::int64_t element = plan.element() + plan.held;
  const std::int64_t matrices =
      DistributedMatrix::bytes(plan.rows().local_size(), plan.columns().local_size(), element);
  return static_cast<double>(matrices) + panel_bytes(plan) + refine_bytes(plan) +
         (plan.certified ? Certificate::bytes(plan) : 0) + emulation_bytes(plan) +
         traits_of(plan.device).fixed_bytes;
}

double host_bytes(const LuPlan& plan) {
  const auto ends =
      static_cast<double>(plan.parts() * (plan.rows().local_size() + plan.columns().local_size()));
  const double inverse = plan.certified ? static_cast<double>(DistributedMatrix::bytes(
                                              plan.rows().local_size(), plan.columns().local_size(),
                                              plan.parts() * std::int64_t{sizeof(double)}))
                                        : 0;
  const double loading = plan.held > 0 ? largest_piece_bytes + reader_bytes + 8 * ends : 0;
  return traits_of(plan.device).host_bytes + static_cast<double>(factor_memory(plan).host) +
         std::max(loading, inverse) + refine_bytes(plan);
}

std::int64_t panel_width(LuPlan plan, double free) {
  const auto n = static_cast<double>(plan.n);
  const double share = panel_share * n * n / plan.grid.size() * element_bytes(plan) / 4;
  const auto fits = [&] {
    return panel_bytes(plan) <= share + panel_floor || rank_bytes(plan) <= free;
  };
  for (plan.width = plan.nb; plan.width > 1 && !fits();) plan.width = (plan.width + 1) / 2;
  return plan.width;
}

LuPlan tuned(LuPlan plan, const Tuning& tuning, double free) {
  plan.nb = std::min(tuning.nb, plan.n);
  plan.lookahead = tuning.lookahead;
  plan.chunk = tuning.chunk;
  plan.width = panel_width(plan, free);
  return plan;
}

}  // namespace speedwell
