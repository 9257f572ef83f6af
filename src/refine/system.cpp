// SPDX-License-Identifier: BSD-3-Clause
#include "refine/system.hpp"

#include <lupine/error.hpp>

#include <cmath>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "refine/refinement.hpp"

namespace lupine {

namespace {

constexpr std::int64_t bytes_of_doubles(std::int64_t count) {
  return count * std::int64_t{sizeof(double)};
}

class GeneratedMatrix final : public LocalMatrix {
 public:
  GeneratedMatrix(const MatrixSpec& spec, const Distribution& rows, const Distribution& columns)
      : spec_(spec), rows_(rows), columns_(columns) {}
  void multiply(Device& device, Queue& queue, const double* x, double* ax, double* abs_rows,
                double* abs_ax) const override {
    device.multiply_generated(queue, spec_, rows_, columns_, x, ax, abs_rows, abs_ax);
  }
  void subtract_transposed(Device&, Queue&, const double*, double*) const override {
    throw Fault("no products with the transpose of a generated matrix");
  }

 private:
  MatrixSpec spec_;
  Distribution rows_;
  Distribution columns_;
};

class HeldMatrix final : public LocalMatrix {
 public:
  explicit HeldMatrix(ConstAnyMatrix a) : a_(a) {}
  void multiply(Device& device, Queue& queue, const double* x, double* ax, double* abs_rows,
                double* abs_ax) const override {
    device.multiply(queue, a_, x, ax, abs_rows, abs_ax);
  }
  void subtract_transposed(Device& device, Queue& queue, const double* y,
                           double* z) const override {
    device.subtract_product(queue, Transpose::yes, a_, y, z);
  }

 private:
  ConstAnyMatrix a_;
};

// v <- diag(scales) v.
void scale(const Vector& scales, Vector& v) {
  for (std::size_t i = 0; i < scales.size(); ++i) v[i] *= scales[i];
}

Vector scaled(const Vector& scales, Vector v) {
  scale(scales, v);
  return v;
}

}  // namespace

std::unique_ptr<LocalMatrix> generated_matrix(const MatrixSpec& spec, const Distribution& rows,
                                              const Distribution& columns) {
  return std::make_unique<GeneratedMatrix>(spec, rows, columns);
}

std::unique_ptr<LocalMatrix> held_matrix(ConstAnyMatrix a) {
  return std::make_unique<HeldMatrix>(a);
}

Vector right_hand_side(const MatrixSpec& spec, const Distribution& rows) {
  Vector b(static_cast<std::size_t>(rows.local_size()));
  for (const Run& run : rows.runs())
    spec.right_hand_side(run.global.value, run.length, b.data() + run.local.value);
  return b;
}

System::System(const ProcessGrid& grid, Device& device, std::unique_ptr<LocalMatrix> a,
               Distribution rows, Distribution columns, Scales scales)
    : grid_(grid),
      device_(device),
      a_(std::move(a)),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      scales_(std::move(scales)),
      queue_(device.make_queue(Priority::normal)),
      of_columns_(device.allocate(bytes_of_doubles(columns_.local_size()))),
      of_rows_(device.allocate(bytes_of_doubles(rows_.local_size()))),
      abs_rows_(device.allocate(bytes_of_doubles(rows_.local_size()))),
      abs_ax_(device.allocate(bytes_of_doubles(rows_.local_size()))) {}

// One pass over A: returns R A C v; *abs_ax <- |R A C| |v| where abs_ax is not null. Each rank of a
// process row computes the part of its columns, and the sum over the process row is the product.
Vector System::pass(const Vector& v, Vector* abs_ax) {
  const bool first = norm_a_ < 0;
  Vector ax(static_cast<std::size_t>(rows_.local_size()));
  device_.upload(*queue_, scaled(scales_.columns, v), of_columns_.as<double>());
  a_->multiply(device_, *queue_, of_columns_.as<double>(), of_rows_.as<double>(),
               first ? abs_rows_.as<double>() : nullptr, abs_ax ? abs_ax_.as<double>() : nullptr);
  const auto sums_of = [&](const Buffer& buffer) {
    Vector sums(ax.size());
    device_.download(*queue_, buffer.as<double>(), sums);
    grid_.row().all_reduce(sums, Reduction::sum);
    return sums;
  };
  if (first) norm_a_ = largest_of_all(sums_of(abs_rows_));
  if (abs_ax) *abs_ax = scaled(scales_.rows, sums_of(abs_ax_));
  return scaled(scales_.rows, sums_of(of_rows_));
}

Vector System::multiply(const Vector& v) {
  return pass(v, nullptr);
}

Vector System::multiply_transposed(const Vector& v) {
  Vector product(static_cast<std::size_t>(columns_.local_size()), 0.0);
  Vector minus_v = scaled(scales_.rows, v);
  for (double& value : minus_v) value = -value;
  device_.upload(*queue_, minus_v, of_rows_.as<double>());
  device_.upload(*queue_, product, of_columns_.as<double>());
  a_->subtract_transposed(device_, *queue_, of_rows_.as<double>(), of_columns_.as<double>());
  device_.download(*queue_, of_columns_.as<double>(), product);
  grid_.column().all_reduce(product, Reduction::sum);
  return scaled(scales_.columns, std::move(product));
}

System::Errors System::errors(const Vector& y, bool with_bound) {
  Errors result;
  result.residual = pass(y, with_bound ? &result.bound : nullptr);
  for (std::size_t i = 0; i < b_.size(); ++i) {
    result.residual[i] = b_[i] - result.residual[i];
    if (with_bound) result.bound[i] += std::fabs(b_[i]);
  }
  return result;
}

double System::componentwise_error(const Errors& errors) const {
  Vector ratios(errors.residual.size(), 0.0);
  for (std::size_t i = 0; i < ratios.size(); ++i)
    if (errors.residual[i] != 0) ratios[i] = errors.residual[i] / errors.bound[i];
  return largest_of_all(ratios);
}

// A maximum does not depend on the order of its operands, so all ranks get the same one. largest()
// turns NaN into infinity, because MPI's maximum may lose a NaN.
double System::largest_of_all(std::span<const double> v) const {
  return grid_.all().all_reduce(largest(v), Reduction::max);
}

SystemNorms System::norms(const Vector& v, const Vector& r) const {
  LUPINE_EXPECTS(norm_a_ >= 0);
  return {norm_a_, largest_of_all(v), largest_of_all(b_), largest_of_all(r)};
}

// ||B||_inf is the largest entry of |B| (1, ..., 1)^T.
double System::scaled_norm() {
  Vector sums;
  pass(Vector(static_cast<std::size_t>(columns_.local_size()), 1.0), &sums);
  return largest_of_all(sums);
}

SystemNorms system_norms(const ProcessGrid& grid, Device& device, const Distribution& rows,
                         const Distribution& columns, const MatrixSpec& spec, const Vector& x) {
  System system(grid, device, generated_matrix(spec, rows, columns), rows, columns);
  system.set_b(right_hand_side(spec, rows));
  const System::Errors errors = system.errors(x, false);
  return system.norms(x, errors.residual);
}

double scaled_residual(const SystemNorms& norms, std::int64_t n) {
  const double scale = eps * (norms.a * norms.x + norms.b) * static_cast<double>(n);
  // With an infinite x the quotient would be 0, whatever the residual.
  return std::isfinite(scale) ? norms.residual / scale : unknown;
}

}  // namespace lupine
