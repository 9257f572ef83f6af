// SPDX-License-Identifier: BSD-3-Clause
#include "refine/system.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "comm/interruption.hpp"
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
  void multiply(Device& device, Queue& queue, MatrixView<const double> x, MatrixView<double> ax,
                double* abs_rows, MatrixView<double> abs_ax) const override {
    for (std::int64_t k = 0; k < x.columns; ++k)
      device.multiply_generated(queue, spec_, rows_, columns_, x.column(k), ax.column(k),
                                k == 0 ? abs_rows : nullptr,
                                abs_ax.data ? abs_ax.column(k) : nullptr);
  }

 private:
  MatrixSpec spec_;
  Distribution rows_;
  Distribution columns_;
};

class HeldMatrix final : public LocalMatrix {
 public:
  explicit HeldMatrix(ConstAnyMatrix a) : a_(a) {}
  void multiply(Device& device, Queue& queue, MatrixView<const double> x, MatrixView<double> ax,
                double* abs_rows, MatrixView<double> abs_ax) const override {
    device.multiply(queue, a_, x, ax, abs_rows, abs_ax);
  }
  std::optional<ConstAnyMatrix> held() const override { return a_; }

 private:
  ConstAnyMatrix a_;
};

// Elements of a strip of columns of |R A C|, so that it stays in the cache, and the fewest columns.
constexpr std::int64_t strip_elements = std::int64_t{1} << 19;
constexpr std::int64_t least_strip = 64;
// FP32 holds sums of magnitudes in this range, and loses nothing that counts beside them.
constexpr double fp32_most = 0x1p100;
constexpr double fp32_least = 0x1p-60;
// What underflows beside a sum of FP32 that is larger than this has no effect on it.
constexpr double fp32_underflow = 0x1p-100;

// V <- diag(scales) V.
void scale(const Vector& scales, MultiVector& v) {
  if (scales.empty()) return;
  for (std::int64_t k = 0; k < v.count(); ++k)
    for (std::size_t i = 0; i < scales.size(); ++i) v[k][i] *= scales[i];
}

MultiVector scaled(const Vector& scales, MultiVector v) {
  scale(scales, v);
  return v;
}

MatrixView<double> vectors_in(const Buffer& memory, std::int64_t entries, std::int64_t count) {
  return {memory.as<double>(), entries, count, std::max<std::int64_t>(entries, 1)};
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
      abs_rows_(device.allocate(bytes_of_doubles(rows_.local_size()))) {
  reserve(1);
}

void System::reserve(std::int64_t vectors) {
  device_.reserve(of_columns_, bytes_of_doubles(columns_.local_size() * vectors));
  device_.reserve(of_rows_, bytes_of_doubles(rows_.local_size() * vectors));
  device_.reserve(abs_ax_, bytes_of_doubles(rows_.local_size() * vectors));
}

// The sums of the parts that the ranks of a process row have in device memory.
MultiVector System::sums(const double* parts, std::int64_t vectors) const {
  MultiVector sums(rows_.local_size(), vectors);
  device_.download(*queue_, parts, sums.all());
  stop_if_interrupted(grid_.all(), device_.interrupt());
  grid_.row().all_reduce(sums.all(), Reduction::sum);
  return sums;
}

// One pass over A: returns R A C V; *abs_ax <- |R A C| |V| where abs_ax is not null. Each rank of a
// process row computes the part of its columns, and the sum over the process row is the product.
MultiVector System::pass(const MultiVector& v, MultiVector* abs_ax) {
  const bool first = norm_a_ < 0;
  const std::int64_t count = v.count();
  reserve(count);
  device_.upload(*queue_, scaled(scales_.columns, v).all(), of_columns_.as<double>());
  const auto of_rows = [&](const Buffer& memory) {
    return vectors_in(memory, rows_.local_size(), count);
  };
  a_->multiply(device_, *queue_, vectors_in(of_columns_, columns_.local_size(), count),
               of_rows(of_rows_), first ? abs_rows_.as<double>() : nullptr,
               abs_ax ? of_rows(abs_ax_) : MatrixView<double>{});
  if (first) {
    const MultiVector of_a = sums(abs_rows_.as<double>(), 1);
    norm_a_ = largest_of_all(of_a[0]);
    const std::int64_t mine = scales_.rows.empty() && scales_.columns.empty() ? 0 : 1;
    if (grid_.all().all_reduce(mine, Reduction::max) == 0) row_sums_ = of_a.vector(0);
  }
  if (abs_ax) *abs_ax = scaled(scales_.rows, sums(abs_ax_.as<double>(), count));
  return scaled(scales_.rows, sums(of_rows_.as<double>(), count));
}

// R A C V as a product of matrices.
MultiVector System::product(const MultiVector& v) {
  const std::int64_t count = v.count();
  reserve(count);
  MultiVector minus_v = scaled(scales_.columns, v);
  for (double& value : minus_v.all()) value = -value;
  device_.upload(*queue_, minus_v.all(), of_columns_.as<double>());
  device_.clear(*queue_, {of_rows_.data(),
                          static_cast<std::size_t>(bytes_of_doubles(rows_.local_size() * count))});
  device_.subtract_product(*queue_, Transpose::no, *a_->held(),
                           vectors_in(of_columns_, columns_.local_size(), count),
                           vectors_in(of_rows_, rows_.local_size(), count));
  return scaled(scales_.rows, sums(of_rows_.as<double>(), count));
}

// |R A C| |V| as a product of matrices, in FP32 where that holds the numbers and each sum is large
// enough beside what underflows; V is divided by a power of two near its largest entry.
MultiVector System::magnitude_product(const MultiVector& v) {
  const double norm = scaled_norm();
  const Vector sizes = VectorSpace(grid_, Layout::columns).largest(v);
  Vector powers = sizes;
  std::ranges::transform(powers, powers.begin(), power_above);
  const auto run = [&]<class T>(T) {
    const std::int64_t m = rows_.local_size();
    const std::int64_t k = columns_.local_size();
    const std::int64_t bytes = std::int64_t{sizeof(T)};
    const std::int64_t strip_columns =
        std::max(strip_elements / std::max<std::int64_t>(m, 1), least_strip);
    std::vector<T> minus_v(v.all().size());
    for (std::size_t i = 0; i < minus_v.size(); ++i)
      minus_v[i] =
          static_cast<T>(-std::fabs(v.all()[i]) /
                         powers[i / static_cast<std::size_t>(std::max<std::int64_t>(k, 1))]);
    const Buffer vectors = device_.allocate(k * v.count() * bytes);
    const Buffer product = device_.allocate(m * v.count() * bytes);
    const Buffer magnitudes = device_.allocate(m * std::min(strip_columns, k) * bytes);
    device_.upload(*queue_, minus_v, vectors.as<T>());
    std::vector<T> host(static_cast<std::size_t>(m * v.count()), T{0});
    device_.upload(*queue_, host, product.as<T>());
    const auto scale_buffer = [&](const Vector& scales) {
      Buffer buffer = device_.allocate(bytes_of_doubles(std::ssize(scales)));
      device_.upload(*queue_, scales, buffer.as<double>());
      return buffer;
    };
    const Buffer row_scales = scale_buffer(scales_.rows);
    const Buffer column_scales = scale_buffer(scales_.columns);
    const MatrixView<T> all{vectors.as<T>(), k, v.count(), std::max<std::int64_t>(k, 1)};
    for (std::int64_t j = 0; j < k; j += strip_columns) {
      const std::int64_t width = std::min(strip_columns, k - j);
      const MatrixView<T> strip{magnitudes.as<T>(), m, width, std::max<std::int64_t>(m, 1)};
      const double* of_strip = scales_.columns.empty() ? nullptr : column_scales.as<double>() + j;
      device_.scale(*queue_, a_->held()->block(0, j, m, width),
                    scales_.rows.empty() ? nullptr : row_scales.as<double>(), of_strip, strip);
      device_.take_magnitudes(*queue_, strip);
      device_.subtract_product(*queue_, Transpose::no, strip, all.block(j, 0, width, v.count()),
                               MatrixView<T>{product.as<T>(), m, v.count(), strip.ld});
    }
    device_.download(*queue_, product.as<T>(), host);
    MultiVector sums(m, v.count());
    for (std::size_t i = 0; i < host.size(); ++i)
      sums.all()[i] = static_cast<double>(host[i]) *
                      powers[i / static_cast<std::size_t>(std::max<std::int64_t>(m, 1))];
    grid_.row().all_reduce(sums.all(), Reduction::sum);
    return sums;
  };
  if (norm > fp32_most || norm < fp32_least) return run(double{});
  const MultiVector sums = run(float{});
  const double least = fp32_underflow * (norm + 2 * static_cast<double>(n()));
  std::int64_t lost = 0;
  for (std::int64_t k = 0; k < v.count(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    const auto is_lost = [&](double sum) { return sum < least * powers[at]; };
    if (sizes[at] != 0) lost |= static_cast<std::int64_t>(std::ranges::any_of(sums[k], is_lost));
  }
  return grid_.all().all_reduce(lost, Reduction::max) == 0 ? sums : run(double{});
}

MultiVector System::multiply(const MultiVector& v) {
  const bool as_product = v.count() > Device::few_vectors && a_->held();
  return as_product ? product(v) : pass(v, nullptr);
}

MultiVector System::multiply_transposed(const MultiVector& v) {
  LUPINE_EXPECTS(a_->held().has_value());
  reserve(v.count());
  MultiVector product(columns_.local_size(), v.count());
  MultiVector minus_v = scaled(scales_.rows, v);
  for (double& value : minus_v.all()) value = -value;
  device_.upload(*queue_, minus_v.all(), of_rows_.as<double>());
  device_.upload(*queue_, product.all(), of_columns_.as<double>());
  device_.subtract_product(*queue_, Transpose::yes, *a_->held(),
                           vectors_in(of_rows_, rows_.local_size(), v.count()),
                           vectors_in(of_columns_, columns_.local_size(), v.count()));
  device_.download(*queue_, of_columns_.as<double>(), product.all());
  stop_if_interrupted(grid_.all(), device_.interrupt());
  grid_.column().all_reduce(product.all(), Reduction::sum);
  return scaled(scales_.columns, std::move(product));
}

System::Errors System::errors(const MultiVector& y, const MultiVector& b, bool with_bound) {
  Errors result;
  const bool as_product = y.count() > Device::few_vectors && a_->held();
  if (as_product && with_bound) result.bound = magnitude_product(y);
  result.residual = as_product ? product(y) : pass(y, with_bound ? &result.bound : nullptr);
  for (std::size_t i = 0; i < b.all().size(); ++i) {
    result.residual.all()[i] = b.all()[i] - result.residual.all()[i];
    if (with_bound) result.bound.all()[i] += std::fabs(b.all()[i]);
  }
  return result;
}

Vector System::componentwise_errors(const MultiVector& residual, const MultiVector& bound) const {
  Vector most;
  for (std::int64_t k = 0; k < residual.count(); ++k) {
    Vector ratios(static_cast<std::size_t>(residual.size()), 0.0);
    for (std::size_t i = 0; i < ratios.size(); ++i)
      if (residual[k][i] != 0) ratios[i] = residual[k][i] / bound[k][i];
    most.push_back(largest(ratios));
  }
  grid_.all().all_reduce(most, Reduction::max);
  return most;
}

// A maximum does not depend on the order of its operands, so all ranks get the same one. largest()
// turns NaN into infinity, because MPI's maximum may lose a NaN.
double System::largest_of_all(std::span<const double> v) const {
  return grid_.all().all_reduce(largest(v), Reduction::max);
}

SystemNorms System::norms(std::span<const double> v, std::span<const double> b,
                          std::span<const double> r) {
  return {norm_a(), largest_of_all(v), largest_of_all(b), largest_of_all(r)};
}

double System::norm_a() {
  if (norm_a_ < 0) pass(MultiVector(columns_.local_size(), 1), nullptr);
  return norm_a_;
}

// |R A C| (1, ..., 1)^T
const Vector& System::row_sums() {
  if (!row_sums_) {
    const Vector ones(static_cast<std::size_t>(columns_.local_size()), 1.0);
    MultiVector sums;
    pass(MultiVector(ones), &sums);
    row_sums_ = sums.vector(0);
  }
  return *row_sums_;
}

SystemNorms system_norms(const ProcessGrid& grid, Device& device, const Distribution& rows,
                         const Distribution& columns, const MatrixSpec& spec, const Vector& x) {
  System system(grid, device, generated_matrix(spec, rows, columns), rows, columns);
  const MultiVector b(right_hand_side(spec, rows));
  const System::Errors errors = system.errors(MultiVector(x), b, false);
  return system.norms(x, b[0], errors.residual[0]);
}

double scaled_residual(const SystemNorms& norms, std::int64_t n) {
  const double scale = eps * (norms.a * norms.x + norms.b) * static_cast<double>(n);
  // With an infinite x the quotient would be 0, whatever the residual.
  return std::isfinite(scale) ? norms.residual / scale : unknown;
}

}  // namespace lupine
