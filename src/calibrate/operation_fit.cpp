// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/operation_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/expects.hpp"

namespace speedwell {

namespace {

constexpr double largest_half = 16;  // in units of the largest size
constexpr int most_sweeps = 20000;
constexpr double settled = 1e-13;  // relative change of a sweep

/// One dimension of the shapes: the pointers to its size and to its half size.
struct Dimension {
  double TimedShape::*size;
  double OperationModel::*half;
};
constexpr std::array dimensions{Dimension{&TimedShape::rows, &OperationModel::half_rows},
                                Dimension{&TimedShape::columns, &OperationModel::half_columns},
                                Dimension{&TimedShape::width, &OperationModel::half_width}};

double modelled(const OperationModel& model, const TimedShape& s) {
  return model.seconds(s.work, s.rows, s.columns, s.width) / s.seconds;
}

/// The c that minimizes sum (c g_i - 1)^2.
struct Scale {
  double sum = 0;
  double squares = 0;
  void add(double g) {
    sum += g;
    squares += g * g;
  }
  double value() const { return sum / squares; }
};

void fit_rate(std::span<const TimedShape> shapes, OperationModel& model) {
  model.rate = 1;
  Scale scale;
  for (const TimedShape& s : shapes) scale.add(modelled(model, s));
  model.rate = 1 / scale.value();
}

/// Fits the rate and one half size, while the others stay. With g_i the modelled time over the
/// measured one at rate 1 and half size 0, x_i the sizes, and y_i = 1 / x_i, the errors
/// a g_i + b g_i y_i - 1 are linear in a = 1 / rate and b = half size / rate.
void fit_dimension(std::span<const TimedShape> shapes, const Dimension& d, OperationModel& model) {
  double largest = 0;
  double least = HUGE_VAL;
  for (const TimedShape& s : shapes) {
    largest = std::max(largest, s.*d.size);
    least = std::min(least, s.*d.size);
  }
  if (least == largest) return;
  model.*d.half = 0;
  model.rate = 1;
  // y_i is taken relative to 1 / largest, which scales the equations.
  double gg = 0, gy = 0, yy = 0, g1 = 0, y1 = 0;
  for (const TimedShape& s : shapes) {
    const double g = modelled(model, s);
    const double y = g * largest / s.*d.size;
    gg += g * g;
    gy += g * y;
    yy += y * y;
    g1 += g;
    y1 += y;
  }
  const double determinant = gg * yy - gy * gy;
  const double a = (g1 * yy - y1 * gy) / determinant;
  const double b = (y1 * gg - g1 * gy) / determinant;
  if (!(determinant > 0) || b <= 0)
    model.*d.half = 0;
  else
    model.*d.half = largest * (b < largest_half * a ? b / a : largest_half);
  fit_rate(shapes, model);
}

}  // namespace

// All errors are linear in the rate's inverse and one half size. So each dimension is fitted in
// turn, until nothing changes.
OperationFit fit_operation(std::span<const TimedShape> shapes) {
  SPEEDWELL_EXPECTS(!shapes.empty());
  for (const TimedShape& s : shapes)
    SPEEDWELL_EXPECTS(s.work > 0 && s.rows > 0 && s.columns > 0 && s.width > 0 && s.seconds > 0);
  OperationFit fit;
  OperationModel& model = fit.model;
  fit_rate(shapes, model);
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    const OperationModel before = model;
    for (const Dimension& d : dimensions) fit_dimension(shapes, d, model);
    double change = std::abs(model.rate / before.rate - 1);
    for (const Dimension& d : dimensions)
      change = std::max(change,
                        std::abs(model.*d.half - before.*d.half) / std::max(model.*d.half, 1e-300));
    if (change < settled) break;
  }
  for (const TimedShape& s : shapes) {
    const double error = std::abs(modelled(model, s) - 1);
    fit.largest_error = std::max(fit.largest_error, error);
    fit.mean_error += error / static_cast<double>(shapes.size());
  }
  return fit;
}

}  // namespace speedwell
