// SPDX-License-Identifier: BSD-3-Clause
#include "compare/ceilings.hpp"

#include <algorithm>

#include "core/expects.hpp"

namespace speedwell {

namespace {
constexpr int least_runs = 3;  // of each product, even if they take longer than `seconds`
}

std::vector<UpdateShape> update_shapes(std::int64_t n, int nprow, int npcol, std::int64_t width,
                                       std::int64_t largest) {
  SPEEDWELL_EXPECTS(n >= 1 && nprow >= 1 && npcol >= 1 && width >= 1 && largest >= 1);
  constexpr int sizes = 4;
  std::vector<UpdateShape> shapes;
  double sum = 0;
  for (int i = sizes; i > 0; --i) {
    // The operations of a step are proportional to the square of the trailing matrix's order, which
    // is n, 3/4 n, n/2 and n/4 here.
    const double weight = i * i;
    const std::int64_t left = n / sizes * i + n % sizes * i / sizes;
    const auto local = [&](std::int64_t processes) {
      return std::clamp(left / processes, std::int64_t{1}, largest);
    };
    sum += weight;
    const UpdateShape shape{local(nprow), local(npcol), std::min(width, n), weight};
    if (!shapes.empty() && shapes.back().rows == shape.rows &&
        shapes.back().columns == shape.columns)
      shapes.back().weight += weight;
    else
      shapes.push_back(shape);
  }
  for (UpdateShape& shape : shapes) shape.weight /= sum;
  return shapes;
}

double product_rate(Device& device, Product product, Precision precision,
                    std::span<const UpdateShape> shapes, double seconds, const Clock& clock) {
  double time = 0;  // of one operation
  for (const UpdateShape& shape : shapes) {
    ProductTrial trial(device, product, precision, shape.rows, shape.columns, shape.width);
    const double share = seconds / static_cast<double>(shapes.size());
    time += shape.weight / trial.rate(clock, share, least_runs);
  }
  return 1 / time;
}

}  // namespace speedwell
