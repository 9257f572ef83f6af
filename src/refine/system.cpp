// SPDX-License-Identifier: BSD-3-Clause
#include "refine/system.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "element/two_sum.hpp"

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "refine/refinement.hpp"
#include "refine/results.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t bytes_of_doubles(std::int64_t count) {
  return count * std::int64_t{sizeof(double)};
}

class GeneratedMatrix final : public LocalMatrix {
 public:
  GeneratedMatrix(const MatrixSpec& spec, const Distribution& rows, const Distribution& columns)
      : spec_(spec), rows_(rows), columns_(columns) {}
  void prepare(Device& device, Queue& queue) const override {
    device.prepare(queue, {.pass_rows = rows_.local_size(),
                           .pass_columns = columns_.local_size(),
                           .diagonal = spec_.diagonal != nullptr ? spec_.n : 0});
  }
  void multiply(Device& device, Queue& queue, Transpose transpose, MatrixView<const double> x,
                MatrixView<double> ax, double* abs_rows, MatrixView<double> abs_ax,
                MatrixChecksum* checksum) const override {
    SPEEDWELL_EXPECTS(transpose == Transpose::no && checksum == nullptr);
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
  HeldMatrix(ConstAnyMatrix a, Field field) : a_(a), field_(field) {}
  void multiply(Device& device, Queue& queue, Transpose transpose, MatrixView<const double> x,
                MatrixView<double> ax, double* abs_rows, MatrixView<double> abs_ax,
                MatrixChecksum* checksum) const override {
    device.multiply(queue, transpose, a_, x, ax, abs_rows, abs_ax, checksum);
  }
  std::optional<ConstAnyMatrix> held() const override { return a_; }
  Field field() const override { return field_; }

 private:
  ConstAnyMatrix a_;
  Field field_;
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

// The size of a vector, by which an entry's place in a MultiVector is divided.
std::size_t divisor(std::int64_t size) {
  return static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
}

MatrixView<double> vectors_in(const Buffer& memory, std::int64_t entries, std::int64_t count) {
  return {memory.as<double>(), entries, count, std::max<std::int64_t>(entries, 1)};
}

}  // namespace

std::unique_ptr<LocalMatrix> generated_matrix(const MatrixSpec& spec, const Distribution& rows,
                                              const Distribution& columns) {
  return std::make_unique<GeneratedMatrix>(spec, rows, columns);
}

std::unique_ptr<LocalMatrix> held_matrix(ConstAnyMatrix a, Field field) {
  return std::make_unique<HeldMatrix>(a, field);
}

Vector right_hand_side(const MatrixSpec& spec, const Distribution& rows) {
  Vector b(static_cast<std::size_t>(rows.local_size()));
  for (const Run& run : rows.runs())
    spec.right_hand_side(run.global.value, run.length, b.data() + run.local.value);
  return b;
}

System::System(const ProcessGrid& grid, Device& device, std::unique_ptr<LocalMatrix> a,
               Distribution rows, Distribution columns, Scales scales)
    : System(grid, device, std::move(a), Transpose::no,
             {Layout::columns, std::move(columns), std::move(scales.columns), {}},
             {Layout::rows, std::move(rows), std::move(scales.rows), {}}) {}

System::System(const ProcessGrid& grid, Device& device, std::shared_ptr<const LocalMatrix> a,
               Transpose transpose, Domain x, Domain b)
    : grid_(grid),
      device_(device),
      a_(std::move(a)),
      transpose_(transpose),
      x_(std::move(x)),
      b_(std::move(b)),
      queue_(device.make_queue(Priority::normal)),
      abs_rows_(device.allocate(bytes_of_doubles(b_.size()))) {
  a_->prepare(device_, *queue_);
  for (Domain* domain : {&x_, &b_}) reserve(*domain, 1);
  device_.reserve(abs_ax_, bytes_of_doubles(size_in_products(b_) * products(1)));
}

System System::transposed() const {
  SPEEDWELL_EXPECTS(a_->held().has_value());
  const auto alike = [](const Domain& s) {
    return Domain{s.layout, s.part, s.scales, {}, s.of_scales};
  };
  System result(grid_, device_, a_, !transpose_, alike(b_), alike(x_));
  if (checksum_.bytes() > 0) result.watch();
  return result;
}

void System::watch() {
  SPEEDWELL_EXPECTS(a_->held().has_value());
  device_.reserve(checksum_, sizeof(MatrixChecksum));
}

std::optional<MatrixChecksum> System::checksum() const {
  if (!summed_) return std::nullopt;
  MatrixChecksum sums{};
  device_.download(*queue_, checksum_.as<MatrixChecksum>(), std::span(&sums, 1));
  return sums;
}

void System::reserve(Domain& domain, std::int64_t vectors) const {
  device_.reserve(domain.vectors, bytes_of_doubles(size_in_products(domain) * products(vectors)));
}

// Vectors in the form in which A multiplies them.
MultiVector System::to_multiply(MultiVector v, const Domain& domain) const {
  return domain.layout == Layout::rows ? with_turned(field(), std::move(v))
                                       : in_planes(field(), std::move(v));
}

// Vectors from the form in which a product with A, or with |A|, has given them.
MultiVector System::multiplied(MultiVector v, const Domain& domain, bool magnitudes) const {
  if (domain.layout == Layout::columns) return from_planes(field(), std::move(v));
  return magnitudes ? combined_magnitudes(field(), std::move(v)) : combined(field(), std::move(v));
}

// The sums of the parts that the ranks with the same entries of a domain have in device memory.
MultiVector System::sums(const Domain& domain, const double* parts, std::int64_t vectors,
                         bool magnitudes) const {
  MultiVector sums(size_in_products(domain), products(vectors));
  download_results(grid_.all(), device_, *queue_, parts, sums.all());
  VectorSpace(grid_, domain.layout).alike().all_reduce(sums.all(), Reduction::sum);
  return multiplied(std::move(sums), domain, magnitudes);
}

// The same for a product in twice FP64's precision, by extended additions in the order of the
// ranks, and so equal on each of them.
System::Product System::extended_sums(std::int64_t vectors) const {
  const std::int64_t each = products(vectors);
  MultiVector mine(size_in_products(b_), 3 * each);
  download_results(grid_.all(), device_, *queue_, b_.vectors.as<double>(), mine.all());
  const VectorSpace space(grid_, b_.layout);
  const Communicator& ranks = space.alike();
  const auto part = [&](std::span<const double> all, std::int64_t which) {
    const std::size_t size = mine.all().size() / 3;
    return all.subspan(static_cast<std::size_t>(which) * size, size);
  };
  Product sums{MultiVector(mine.size(), each), MultiVector(mine.size(), each),
               MultiVector(mine.size(), each)};
  const auto add = [&](std::span<const double> all) {
    for (std::size_t i = 0; i < sums.high.all().size(); ++i) {
      add_pair(sums.high.all()[i], sums.low.all()[i], part(all, 0)[i], part(all, 1)[i]);
      sums.of_low.all()[i] += part(all, 2)[i];
    }
  };
  if (ranks.size() == 1) {
    add(mine.all());
  } else {
    const std::vector<double> of_ranks = ranks.all_gather(mine.all());
    for (int r = 0; r < ranks.size(); ++r)
      add(std::span(of_ranks).subspan(static_cast<std::size_t>(r) * mine.all().size(),
                                      mine.all().size()));
  }
  if (b_.layout == Layout::rows) {
    combine_extended(field(), sums.high, sums.low);
    sums.of_low = combined(field(), std::move(sums.of_low));
  } else {
    for (MultiVector* v : {&sums.high, &sums.low, &sums.of_low})
      *v = from_planes(field(), std::move(*v));
  }
  return sums;
}

// One pass over A: returns R A C V, and with V_low in twice FP64's precision; *abs_ax <- |R A C|
// |V| where abs_ax is not null. Each rank computes the part of its own entries of A, and the sum
// over the ranks with the same entries of b is the product.
System::Product System::pass(const MultiVector& v, const MultiVector* v_low, MultiVector* abs_ax) {
  const bool first = norm_a_ < 0;
  const std::int64_t count = v.count();
  const std::int64_t vectors_of_x = products(count) * (v_low ? 2 : 1);
  const std::int64_t vectors_of_b = products(count) * (v_low ? 3 : 1);
  reserve(x_, count * (v_low ? 2 : 1));
  reserve(b_, count * (v_low ? 3 : 1));
  const std::int64_t rows = size_in_products(b_);
  device_.reserve(abs_ax_, bytes_of_doubles(rows * products(count)));
  const auto upload = [&](const MultiVector& part, std::int64_t place) {
    const MultiVector values = to_multiply(scaled(x_.scales, part), x_);
    device_.upload(*queue_, values.all(), x_.vectors.as<double>() + place * values.size());
  };
  upload(v, 0);
  if (v_low) upload(*v_low, products(count));
  const MatrixView<const double> x = vectors_in(x_.vectors, size_in_products(x_), vectors_of_x);
  const MatrixView<double> ax = vectors_in(b_.vectors, rows, vectors_of_b);
  double* abs_rows = first ? abs_rows_.as<double>() : nullptr;
  const MatrixView<double> magnitudes =
      abs_ax ? vectors_in(abs_ax_, rows, products(count)) : MatrixView<double>{};
  auto* checksum = checksum_.as<MatrixChecksum>();
  if (v_low)
    device_.multiply_extended(*queue_, transpose_, *a_->held(), x, ax, abs_rows, magnitudes,
                              checksum);
  else
    a_->multiply(device_, *queue_, transpose_, x, ax, abs_rows, magnitudes, checksum);
  summed_ = checksum_.bytes() > 0;
  if (first) {
    const MultiVector of_a = row_sums_of(abs_rows_.as<double>());
    norm_a_ = largest_of_all(of_a[0]);
    const std::int64_t mine = x_.scales.empty() && b_.scales.empty() ? 0 : 1;
    if (grid_.all().all_reduce(mine, Reduction::max) == 0) row_sums_ = of_a.vector(0);
  }
  if (abs_ax) *abs_ax = scaled(b_.scales, sums(b_, abs_ax_.as<double>(), count, true));
  if (!v_low) return {scaled(b_.scales, sums(b_, b_.vectors.as<double>(), count))};
  Product product = extended_sums(count);
  for (MultiVector* part : {&product.high, &product.low, &product.of_low}) scale(b_.scales, *part);
  return product;
}

// The sums of the magnitudes in rows of A, of which the ranks with the same rows have parts. Those
// of the two rows that a complex row is are equal.
MultiVector System::row_sums_of(const double* parts) const {
  MultiVector sums(size_in_products(b_), 1);
  download_results(grid_.all(), device_, *queue_, parts, sums.all());
  b_space().alike().all_reduce(sums.all(), Reduction::sum);
  if (field() == Field::real) return sums;
  const bool both = b_.layout == Layout::rows;  // each is a row of H, of which there are two
  MultiVector of_a(b_.size(), 1);
  for (std::size_t i = 0; i < of_a[0].size(); ++i)
    of_a[0][i] = both ? sums[0][i] + sums[0][i ^ 1] : sums[0][i / 2];
  return of_a;
}

// R A C V (from x to b) or its transpose (from b to x) as a product of matrices.
MultiVector System::product(const MultiVector& v, Domain& from, Domain& to) {
  const std::int64_t count = v.count();
  reserve(from, count);
  reserve(to, count);
  MultiVector minus_v = scaled(from.scales, v);
  for (double& value : minus_v.all()) value = -value;
  device_.upload(*queue_, to_multiply(std::move(minus_v), from).all(), from.vectors.as<double>());
  const std::int64_t bytes = bytes_of_doubles(size_in_products(to) * products(count));
  device_.clear(*queue_, {to.vectors.data(), static_cast<std::size_t>(bytes)});
  const Transpose transpose = &from == &x_ ? transpose_ : !transpose_;
  device_.subtract_product(*queue_, transpose, *a_->held(),
                           vectors_in(from.vectors, size_in_products(from), products(count)),
                           vectors_in(to.vectors, size_in_products(to), products(count)));
  return scaled(to.scales, sums(to, to.vectors.as<double>(), count));
}

// |R A C| |V| as a product of matrices of T. Column k of V is divided by powers[k] before, and the
// product multiplied by it. The strips are columns of the matrix that is held.
template <class T>
MultiVector System::magnitude_product_in(const MultiVector& v, const Vector& powers) {
  const bool transposed = transpose_ == Transpose::yes;
  const Domain& along_rows = transposed ? x_ : b_;
  const Domain& along_columns = transposed ? b_ : x_;
  const std::int64_t m = size_in_products(along_rows);
  const std::int64_t k = size_in_products(along_columns);
  const std::int64_t bytes = std::int64_t{sizeof(T)};
  const std::int64_t strip_columns =
      std::max(strip_elements / std::max<std::int64_t>(m, 1), least_strip);
  MultiVector magnitudes_of_v = v;
  for (std::size_t i = 0; i < v.all().size(); ++i)
    magnitudes_of_v.all()[i] = std::fabs(v.all()[i]) / powers[i / divisor(x_.size())];
  const MultiVector factor = to_multiply(std::move(magnitudes_of_v), x_);
  std::vector<T> minus_v(factor.all().size());
  std::ranges::transform(factor.all(), minus_v.begin(),
                         [](double value) { return static_cast<T>(-std::fabs(value)); });
  std::vector<T> host(static_cast<std::size_t>(size_in_products(b_) * factor.count()), T{0});
  const Buffer vectors = device_.allocate(std::ssize(minus_v) * bytes);
  const Buffer product = device_.allocate(std::ssize(host) * bytes);
  const Buffer magnitudes = device_.allocate(m * std::min(strip_columns, k) * bytes);
  device_.upload(*queue_, minus_v, vectors.as<T>());
  device_.upload(*queue_, host, product.as<T>());
  const auto scale_buffer = [&](const Vector& scales) {
    Buffer buffer = device_.allocate(bytes_of_doubles(std::ssize(scales)));
    device_.upload(*queue_, scales, buffer.as<double>());
    return buffer;
  };
  const Buffer row_scales = scale_buffer(along_rows.scales);
  const Buffer column_scales = scale_buffer(of_columns(field(), along_columns.scales));
  const auto all_of = [&](const Buffer& memory, const Domain& domain) {
    const std::int64_t size = size_in_products(domain);
    return MatrixView<T>{memory.as<T>(), size, factor.count(), std::max<std::int64_t>(size, 1)};
  };
  const MatrixView<T> from = all_of(vectors, x_);
  const MatrixView<T> to = all_of(product, b_);
  for (std::int64_t j = 0; j < k; j += strip_columns) {
    const std::int64_t width = std::min(strip_columns, k - j);
    const MatrixView<T> strip{magnitudes.as<T>(), m, width, std::max<std::int64_t>(m, 1)};
    const auto of_strip = [&](MatrixView<T> all) { return all.block(j, 0, width, all.columns); };
    device_.scale(*queue_, a_->held()->block(0, j, m, width),
                  along_rows.scales.empty() ? nullptr : row_scales.as<double>(),
                  along_columns.scales.empty() ? nullptr : column_scales.as<double>() + j, strip);
    device_.take_magnitudes(*queue_, strip);
    device_.subtract_product(*queue_, transpose_, strip, transposed ? from : of_strip(from),
                             transposed ? of_strip(to) : to);
  }
  download_results(grid_.all(), device_, *queue_, product.as<T>(), host);
  MultiVector wide(size_in_products(b_), factor.count());
  std::ranges::copy(host, wide.all().begin());
  MultiVector sums = multiplied(std::move(wide), b_, true);
  for (std::size_t i = 0; i < sums.all().size(); ++i)
    sums.all()[i] *= powers[i / divisor(b_.size())];
  b_space().alike().all_reduce(sums.all(), Reduction::sum);
  return sums;
}

// |R A C| |V|, in FP32 where that holds the numbers and each sum is large enough beside what
// underflows; V is divided by a power of two near its largest entry.
MultiVector System::magnitude_product(const MultiVector& v) {
  const double norm = scaled_norm();
  const Vector sizes = x_space().largest(v);
  Vector powers = sizes;
  std::ranges::transform(powers, powers.begin(), power_above);
  if (norm > fp32_most || norm < fp32_least) return magnitude_product_in<double>(v, powers);
  const MultiVector sums = magnitude_product_in<float>(v, powers);
  const double least = fp32_underflow * (norm + 2 * static_cast<double>(n()));
  std::int64_t lost = 0;
  for (std::int64_t k = 0; k < v.count(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    const auto is_lost = [&](double sum) { return sum < least * powers[at]; };
    if (sizes[at] != 0) lost |= static_cast<std::int64_t>(std::ranges::any_of(sums[k], is_lost));
  }
  return grid_.all().all_reduce(lost, Reduction::max) == 0
             ? sums
             : magnitude_product_in<double>(v, powers);
}

MultiVector System::multiply(const MultiVector& v) {
  return as_product(v.count()) ? product(v, x_, b_) : pass(v, nullptr, nullptr).high;
}

MultiVector System::multiply_transposed(const MultiVector& v) {
  SPEEDWELL_EXPECTS(a_->held().has_value());
  return product(v, b_, x_);
}

System::Errors System::errors(const MultiVector& y, const MultiVector& b, bool with_bound) {
  Errors result;
  const bool many = as_product(y.count());
  if (many && with_bound) result.bound = magnitude_product(y);
  result.residual =
      many ? product(y, x_, b_) : pass(y, nullptr, with_bound ? &result.bound : nullptr).high;
  if (many) summed_ = false;
  for (std::size_t i = 0; i < b.all().size(); ++i) {
    result.residual.all()[i] = b.all()[i] - result.residual.all()[i];
    if (with_bound) result.bound.all()[i] += std::fabs(b.all()[i]);
  }
  return result;
}

// As many vectors at a time as one pass over A takes.
System::Errors System::extended_errors(const MultiVector& y, const MultiVector& y_low,
                                       const MultiVector& b, bool with_bound) {
  SPEEDWELL_EXPECTS(is_extended());
  const bool many = as_product(y.count());
  Errors result{b, {}, b};
  if (with_bound) result.bound = many ? magnitude_product(y) : MultiVector(b.size(), b.count());
  const std::int64_t together = Device::few_vectors / parts_of(field());
  for (std::int64_t begin = 0; begin < y.count(); begin += together) {
    const std::int64_t count = std::min(together, y.count() - begin);
    const MultiVector low = y_low.part(begin, count);
    MultiVector abs_ay;
    const Product ay = pass(y.part(begin, count), &low, with_bound && !many ? &abs_ay : nullptr);
    for (std::int64_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < ay.high[k].size(); ++i) {
        const WithError<double> rest = two_sum(b[begin + k][i], -ay.high[k][i]);
        const double low_part = rest.error - ay.low[k][i];
        result.residual[begin + k][i] = rest.value + low_part;
        result.extended[begin + k][i] = rest.value + (low_part - ay.of_low[k][i]);
        if (with_bound && !many) result.bound[begin + k][i] = abs_ay[k][i];
      }
  }
  if (with_bound)
    for (std::size_t i = 0; i < b.all().size(); ++i) result.bound.all()[i] += std::fabs(b.all()[i]);
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
  if (norm_a_ < 0) pass(MultiVector(x_.size(), 1), nullptr, nullptr);
  return norm_a_;
}

// |R A C| (1, ..., 1)^T
const Vector& System::row_sums() {
  if (!row_sums_) {
    const Vector ones(static_cast<std::size_t>(x_.size()), 1.0);
    MultiVector sums;
    pass(MultiVector(ones), nullptr, &sums);
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

}  // namespace speedwell
