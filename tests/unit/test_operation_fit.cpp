// SPDX-License-Identifier: BSD-3-Clause
// The fit of an operation's model to times.
#include <cmath>
#include <vector>

#include "calibrate/operation_fit.hpp"
#include "catch.hpp"

namespace speedwell::test::operation_fit_tests {
namespace {

OperationModel model_of(double rate, double rows, double columns, double width) {
  OperationModel model;
  model.rate = rate;
  model.half_rows = rows;
  model.half_columns = columns;
  model.half_width = width;
  return model;
}

/// Products with the times that the model gives them, each times 1 + noise or 1 - noise.
std::vector<TimedShape> products(const OperationModel& model, double noise = 0) {
  std::vector<TimedShape> shapes;
  for (const double m : {512., 1024., 4096.})
    for (const double n : {128., 1024., 4096.})
      for (const double k : {64., 128., 384., 1024.}) {
        noise = -noise;
        shapes.push_back(
            {2 * m * n * k, m, n, k, (1 + noise) * model.seconds(2 * m * n * k, m, n, k)});
      }
  return shapes;
}

/// The sum of the squares that the fit minimizes.
double squares(const OperationModel& model, const std::vector<TimedShape>& shapes) {
  double sum = 0;
  for (const TimedShape& s : shapes)
    sum += std::pow(model.seconds(s.work, s.rows, s.columns, s.width) / s.seconds - 1, 2);
  return sum;
}

}  // namespace

TEST_CASE("the fit recovers the model from whose times it is made", "[fit]") {
  for (const OperationModel& model :
       {model_of(7e14, 300, 20, 130), model_of(1e9, 0, 0, 0), model_of(3e10, 0, 2000, 0),
        model_of(5e10, 8000, 0, 700), model_of(5e10, 2000, 2000, 2000)}) {
    const OperationFit fit = fit_operation(products(model));
    CHECK(fit.model.rate == Approx(model.rate));
    CHECK(fit.model.half_rows == Approx(model.half_rows).margin(1e-6));
    CHECK(fit.model.half_columns == Approx(model.half_columns).margin(1e-6));
    CHECK(fit.model.half_width == Approx(model.half_width).margin(1e-6));
    CHECK(fit.largest_error < 1e-9);
    CHECK(fit.mean_error <= fit.largest_error);
  }
}

TEST_CASE("the fit of disturbed times has the least squares of relative errors", "[fit]") {
  const OperationModel model = model_of(1e11, 100, 30, 90);
  const auto shapes = products(model, 0.05);
  const OperationFit fit = fit_operation(shapes);
  CHECK(fit.model.rate == Approx(model.rate).epsilon(0.05));
  CHECK((fit.largest_error > 0.03 && fit.largest_error < 0.07));
  CHECK((fit.mean_error > 0.03 && fit.mean_error < fit.largest_error));
  const double least = squares(fit.model, shapes);
  CHECK(least < squares(model, shapes));
  for (double OperationModel::*number :
       {&OperationModel::rate, &OperationModel::half_rows, &OperationModel::half_columns,
        &OperationModel::half_width})
    for (const double factor : {0.99, 1.01}) {
      OperationModel other = fit.model;
      other.*number *= factor;
      CHECK(least < squares(other, shapes));
    }
}

TEST_CASE("a half size is not negative, and not infinite", "[fit]") {
  // The rate falls with more rows: without a limit half_rows would be -100.
  auto shapes = products(model_of(1e11, 0, 0, 90));
  for (TimedShape& s : shapes) s.seconds *= 1 - 100 / s.rows;
  const OperationFit falling = fit_operation(shapes);
  CHECK(falling.model.half_rows == 0);
  CHECK(falling.model.half_width == Approx(90).epsilon(0.2));
  CHECK(falling.largest_error > 0.05);

  // A time that does not depend on the columns.
  std::vector<TimedShape> columns;
  for (const double n : {1., 4., 16.}) columns.push_back({100 * n, 100, n, 1, 1e-6});
  const OperationFit constant = fit_operation(columns);
  CHECK(constant.model.half_columns == Approx(16 * 16));
  CHECK(constant.model.half_rows == 0);
  CHECK(constant.largest_error < 0.05);
}

TEST_CASE("a single shape gives its rate", "[fit]") {
  const OperationFit fit = fit_operation(std::vector<TimedShape>{{50, 5, 10, 1, 2}});
  CHECK(fit.model.rate == Approx(25));
  CHECK(fit.model.half_rows + fit.model.half_columns + fit.model.half_width == 0);
  CHECK(fit.largest_error < 1e-12);
}
}  // namespace speedwell::test::operation_fit_tests
