// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "factor/lu.hpp"
#include "matrix/panel_ring.hpp"
#include "matrix/wide_part.hpp"
#include "transport/row_exchange.hpp"

namespace speedwell {

std::int64_t wide_bytes(const LuPlan& plan, std::int64_t chunk) {
  return WidePart::bytes(plan.storage(), plan.width, std::max(plan.width, chunk));
}

FactorMemory factor_memory(const LuPlan& plan) {
  const std::int64_t element = plan.element();
  const std::int64_t rows = plan.rows().local_size();
  const RingSizes ring(plan, rows, plan.columns().local_size());
  std::int64_t exchanges = 0;
  if (plan.pivoting == Pivoting::partial && plan.grid.nprow > 1)
    exchanges = ring.chunks * RowExchange::bytes(plan.width, ring.chunk, element) +
                RowExchange::bytes(plan.width, plan.width, element);
  const std::int64_t panel =
      plan.pivoting == Pivoting::partial ? PivotedPanel::bytes(plan, rows) : 0;
  // Without pivoting, a diagonal block also travels alone, before its panel: one more carrier.
  const std::int64_t diagonal = PanelRing::diagonal_bytes(plan.width, plan);
  const bool stages = plan.staged && plan.grid.size() > 1;
  return {ring.bytes() + exchanges + panel + wide_bytes(plan, ring.chunk),
          stages ? ring.bytes() + exchanges + panel + diagonal : 0};
}

}  // namespace speedwell
