// SPDX-License-Identifier: BSD-3-Clause
#include "refine/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "element/two_sum.hpp"
#include "host/blas_library.hpp"

namespace speedwell {

namespace {

constexpr double no_bound = std::numeric_limits<double>::infinity();
// What one operation may lose where its result is below FP64's normal numbers.
constexpr double underflowing = std::numeric_limits<double>::min();
// Columns of A^-1 that are solved for at once, and columns or rows of a strip of I - R A.
constexpr std::int64_t strip_width = 512;
// FP32 products are taken where their roundings leave ||I - R A|| this much.
constexpr double allowed_rounding = 0.25;
// By which the norms of rows are known to a tenth.
constexpr std::int64_t sampled_vectors = 64;
// A predicted ||I - R A|| above this will not turn out to be below 1.
constexpr double hopeless_norm = 2;
// FP32 holds sums of products of matrices up to this size.
constexpr double fp32_range = 0x1p60;

// At least the exact value of a sum of products of numbers that are not negative, which was
// computed as `value` with so many roundings one after the other, underflow aside.
double rounded_up(double value, double roundings) {
  return value * (1 + (roundings + 2) * 2 * eps) + underflowing;
}
void round_up_all(std::span<double> values, double roundings) {
  for (double& value : values) value = rounded_up(value, roundings);
}

// gamma_k = k u / (1 - k u), at least: the relative error of k roundings.
double gamma_of(double k, double u) {
  return k * u < 0.5 ? rounded_up(k * u / (1 - k * u), 3) : no_bound;
}

// Roundings of sums over n entries, in one pass over a matrix, and of what is done with them.
double of_pass(const System& a) {
  return static_cast<double>(a.n()) + 32;
}

// The distribution of elements where this is that of their parts.
Distribution elements(const Distribution& parts, Field field) {
  const std::int64_t each = parts_of(field);
  return {parts.size() / each, std::max<std::int64_t>(parts.block() / each, 1), parts.processes(),
          parts.me()};
}

// A matrix in FP64, distributed as that of the system. Collective.
DistributedMatrix matrix_like(Device& device, const System& a) {
  return agreed(a.grid().all(), [&] {
    return DistributedMatrix(device, elements(a.b_part(), a.field()),
                             elements(a.x_part(), a.field()), Precision::fp64, a.field());
  });
}

// max_i |v_i| of all ranks; infinity where one is NaN.
double largest_of_all(const System& a, std::span<const double> v) {
  return a.grid().all().all_reduce(largest(v), Reduction::max);
}

// max_i v_i / d_i; infinity where one is NaN.
double largest_ratio(const System& a, std::span<const double> v, const Vector& d) {
  Vector ratios(d.size());
  for (std::size_t i = 0; i < d.size(); ++i) ratios[i] = v[i] / d[i];
  return largest_of_all(a, ratios);
}

// d / max_i d_i, at least 2^-30; ones where that is not a number. Both parts of a complex number
// get one weight.
void set_weights(const System& a, Vector& d) {
  constexpr double least_weight = 0x1p-30;
  const double most = largest_of_all(a, d);
  const bool known = std::isfinite(most) && most > 0;
  for (double& value : d) value = known ? std::max(value / most, least_weight) : 1;
  for (std::size_t i = 0; a.field() == Field::complex && i < d.size(); i += 2) d[i + 1] = d[i];
}

MultiVector zeros(const Distribution& part, std::int64_t count) {
  return {part.local_size(), count};
}

// |R| v for each v that is not negative; at least that.
MultiVector times_magnitudes(System& r, const MultiVector& v) {
  MultiVector bound = r.errors(v, zeros(r.b_part(), v.count()), true).bound;
  round_up_all(bound.all(), of_pass(r));
  return bound;
}

// So many columns of I from that of element j on: of a complex element, its real one.
MultiVector units(const Distribution& part, Field field, std::int64_t j, std::int64_t count) {
  MultiVector columns = zeros(part, count);
  for (std::int64_t k = 0; k < count; ++k) {
    const GlobalIndex row{parts_of(field) * (j + k)};
    if (part.mine(row)) columns[k][static_cast<std::size_t>(part.local(row).value)] = 1;
  }
  return columns;
}

// Whether the threads of a BLAS, which may have other control bits than this one, round products
// of matrices to nearest: sums 1 + eps/2 and 1 + 3/2 eps, with FP64's eps, in all of a matrix that
// is large enough for all threads.
bool rounds_to_nearest(Device& device) {
  if (blas_threads() == 1) return true;
  constexpr std::int64_t n = 512;
  const auto matrix = [](const Buffer& memory, std::int64_t rows) {
    return AnyMatrix(Precision::fp64, memory.data(), rows, memory.bytes() / 8 / rows, rows);
  };
  Vector a(2 * n, 1.0);
  for (std::int64_t i = 0; i < n; ++i)
    a[static_cast<std::size_t>(n + i)] = i % 2 == 0 ? eps / 2 : 3 * eps / 2;
  const Vector b(2 * n, 1.0);
  Vector c(n * n, 0.0);
  const auto queue = device.make_queue(Priority::normal);
  const auto on_device = [&](const Vector& v) {
    Buffer buffer = device.allocate(std::ssize(v) * std::int64_t{sizeof(double)});
    device.upload(*queue, v, buffer.as<double>());
    return buffer;
  };
  const Buffer of_a = on_device(a);
  const Buffer of_b = on_device(b);
  const Buffer of_c = on_device(c);
  device.subtract(*queue, matrix(of_a, n), matrix(of_b, 2), matrix(of_c, n));
  device.download(*queue, of_c.as<double>(), c);
  queue->synchronize();
  for (std::size_t i = 0; i < c.size(); ++i)
    if (c[i] != (i % 2 == 0 ? -1 : -1 - 2 * eps)) return false;
  return true;
}

}  // namespace

bool Certificate::is_whole(const Device& device, int ranks) {
  return ranks == 1 && device.shares_host_memory();
}

double Certificate::bytes(const LuPlan& plan) {
  const auto rows = static_cast<double>(plan.rows().local_size());
  const auto columns = static_cast<double>(plan.columns().local_size());
  const double inverse = rows * columns * (sizeof(double) + sizeof(float));
  // A strip of A and of I - R A; or unit vectors, solutions, and copies of these as a solve makes.
  const double strips = 6 * sizeof(double) * static_cast<double>(strip_width) * (rows + columns);
  return static_cast<double>(plan.parts()) * (inverse + strips);
}

double Certificate::operations(std::int64_t n, Field field, bool whole) {
  const auto m = static_cast<double>(n);
  const auto parts = static_cast<double>(parts_of(field));
  return (whole ? 4 : 6) * m * m * m * parts * parts;
}

Certificate::Certificate(Device& device, System& a, FactorSolver& solver, Precision factors,
                         ScaledEntries entries)
    : device_(device),
      entries_(std::move(entries)),
      whole_(is_whole(device, a.grid().all().size())),
      r_(matrix_like(device, a)),
      held_(a.grid(), device, held_matrix(r_.local().real(), a.field()), a.b_part(), a.x_part()),
      held_transposed_(held_.transposed()) {
  SPEEDWELL_EXPECTS(a.is_extended());
  solve_for_inverse(a, solver);
  if (whole_ && factors != Precision::fp64) round_to_fp32();
}

void Certificate::solve_for_inverse(System& a, FactorSolver& solver) {
  const Field field = a.field();
  const AnyMatrix device_r = r_.local().real();
  Vector copy(
      device_.shares_host_memory() ? 0 : static_cast<std::size_t>(device_r.ld * device_r.columns));
  MatrixView<double> r = device_r.as<double>();
  if (!copy.empty()) r.data = copy.data();
  const std::int64_t parts = parts_of(field);
  const std::int64_t n = a.n() / parts;
  for (std::int64_t j = 0; j < n; j += strip_width) {
    stop_if_interrupted(a.grid().all());
    const std::int64_t count = std::min(strip_width, n - j);
    const MultiVector solved = solver.solve(units(a.b_part(), field, j, count));
    for (std::int64_t k = 0; k < count; ++k) {
      if (whole_) {
        std::ranges::copy(solved[k], r.column(j + k));
      } else if (r_.rows().mine({j + k})) {
        const std::int64_t row = parts * r_.rows().local({j + k}).value;
        for (std::int64_t c = 0; c < r.columns; ++c) {
          const double* const z = &solved[k][static_cast<std::size_t>(parts * c)];
          r(row, c) = z[0];
          if (field == Field::complex) r(row + 1, c) = -z[1];
        }
      }
    }
  }
  if (copy.empty()) return;
  const auto queue = device_.make_queue(Priority::normal);
  device_.upload(*queue, copy, device_r.as<double>().data);
  queue->synchronize();
}

// R <- R in FP32, as which it is not less accurate than its factors: then products in FP32 are of
// the same R. Not where its numbers are out of FP32's range.
void Certificate::round_to_fp32() {
  const MatrixView<double> r = r_.local().real().as<double>();
  double most = 0;
  for (std::int64_t j = 0; j < r.columns; ++j)
    most = std::max(most, largest(std::span(r.column(j), static_cast<std::size_t>(r.rows))));
  in_fp32_ = most < fp32_range && most > 1 / fp32_range;
  if (!in_fp32_) return;
  constexpr double least_fp32 = std::numeric_limits<float>::min();
  for (std::int64_t j = 0; j < r.columns; ++j)
    for (std::int64_t i = 0; i < r.rows; ++i)
      r(i, j) =
          std::fabs(r(i, j)) < least_fp32 ? 0 : static_cast<double>(static_cast<float>(r(i, j)));
}

// sum_j |fl(I - R A)_ij| d_j, by products with the systems.
Vector Certificate::system_sums(System& a, Transpose op, const Vector& d) {
  const std::int64_t parts = parts_of(a.field());
  const Vector all_d = a.x_space().gather(a.x_part(), d);
  Vector sums(d.size(), 0.0);
  for (std::int64_t s = 0; s < a.n() / parts; s += strip_width) {
    stop_if_interrupted(a.grid().all());
    const std::int64_t count = std::min(strip_width, a.n() / parts - s);
    const MultiVector of_i = units(a.x_part(), a.field(), s, count);
    const MultiVector e = inverse(op).errors(a.multiply(of_i), of_i, false).residual;
    for (std::int64_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += std::fabs(e[k][i]) * all_d[static_cast<std::size_t>(parts * (s + k))];
  }
  return sums;
}

// The same where both matrices are whole, in products of this precision; with the transpose, of
// |fl(I - A R)_ji| d_j. Strips are columns of A; with the transpose, rows.
Vector Certificate::product_sums(System& a, Transpose op, Precision precision, const Vector& d) {
  const bool transposed = op == Transpose::yes;
  const Field field = a.field();
  const std::int64_t parts = parts_of(field);
  const std::int64_t n = a.n() / parts;
  const auto queue = device_.make_queue(Priority::normal);
  std::optional<DistributedMatrix> rounded;
  if (precision == Precision::fp32) {
    rounded.emplace(device_, r_.rows(), r_.columns(), precision, field);
    device_.scale(*queue, r_.local().real(), nullptr, nullptr, rounded->local().real());
  }
  const ConstAnyMatrix r = rounded ? rounded->local() : r_.local();
  const std::int64_t width = std::min(strip_width, n);
  const std::int64_t bytes = n * width * bytes_of(precision) * parts;
  const Buffer of_a = device_.allocate(bytes);
  const Buffer of_e = device_.allocate(bytes);
  Vector sums(static_cast<std::size_t>(a.n()), 0.0);
  for (std::int64_t s = 0; s < n; s += width) {
    stop_if_interrupted(a.grid().all());
    const std::int64_t count = std::min(width, n - s);
    const auto strip = [&](const Buffer& memory) {
      const std::int64_t rows = transposed ? count : n;
      return AnyMatrix(precision, memory.data(), rows, transposed ? n : count, rows, field);
    };
    const AnyMatrix part = strip(of_a);
    const AnyMatrix e = strip(of_e);
    entries_.round(part, transposed ? s : 0, transposed ? 0 : s);
    device_.clear(*queue, {of_e.data(), static_cast<std::size_t>(bytes)});
    with_storage(e.real(), [&](const auto& numbers) {
      for (std::int64_t k = 0; k < count; ++k)
        numbers(parts * (transposed ? k : s + k), transposed ? s + k : k) = 1;
    });
    device_.subtract(*queue, transposed ? part : r, transposed ? r : part, e);
    queue->synchronize();
    with_storage(ConstAnyMatrix(e.real()), [&](const auto& numbers) {
      for (std::int64_t j = 0; j < numbers.columns; ++j) {
        const double* const of_rows = d.data() + parts * s;
        const auto size = [&](std::int64_t i) {
          return std::fabs(static_cast<double>(numbers(i, j)));
        };
        if (transposed) {
          double& sum = sums[static_cast<std::size_t>(parts * j)];
          for (std::int64_t i = 0; i < numbers.rows; ++i) sum += size(i) * of_rows[i];
        } else {
          const double weight = of_rows[parts * j];
          for (std::int64_t i = 0; i < numbers.rows; ++i)
            sums[static_cast<std::size_t>(i)] += size(i) * weight;
        }
      }
    });
  }
  return sums;
}

// The root mean square of (E v)_i for random v with entries d_i and -d_i: about the 2-norm of row i
// of E diag(d). For what is chosen, not for what is proven.
Vector Certificate::row_norms(System& a, Transpose op, const Vector& d) {
  MultiVector v = zeros(a.x_part(), sampled_vectors);
  std::minstd_rand bits(1);
  Vector signs(static_cast<std::size_t>(a.n()));
  for (std::int64_t k = 0; k < v.count(); ++k) {
    for (double& sign : signs) sign = (bits() >> 8) % 2 == 0 ? 1 : -1;
    const Vector mine = local_part(a.x_part(), signs);
    for (std::size_t i = 0; i < d.size(); ++i) v[k][i] = mine[i] * d[i];
  }
  const MultiVector e = inverse(op).errors(a.multiply(v), v, false).residual;
  Vector norms(d.size(), 0.0);
  for (std::int64_t k = 0; k < e.count(); ++k)
    for (std::size_t i = 0; i < d.size(); ++i) norms[i] += e[k][i] * e[k][i];
  for (double& norm : norms) norm = std::sqrt(norm / static_cast<double>(e.count()));
  return norms;
}

// About |E| d, with the roundings of its computation. @param w |R| |A| d
Vector Certificate::predicted(System& a, Transpose op, const Vector& d, std::span<const double> w,
                              double rounding) {
  Vector sums = row_norms(a, op, d);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = std::sqrt(static_cast<double>(a.n())) * sums[i] + rounding * (d[i] + w[i]);
  return sums;
}

const Contraction& Certificate::contraction(System& a, Transpose op) {
  std::optional<Contraction>& kept = contractions_[op == Transpose::yes ? 1 : 0];
  if (kept) return *kept;
  Contraction& found = kept.emplace();
  const std::int64_t nearest = rounds_to_nearest(device_) ? 1 : 0;
  found.to_nearest = a.grid().all().all_reduce(nearest, Reduction::min) != 0;
  if (!found.to_nearest) return found;
  const double n = static_cast<double>(a.n());
  // |R| |A| d for the first weights, which are ones, and |R| e
  Vector d(static_cast<std::size_t>(a.x_part().local_size()), 1.0);
  MultiVector v = zeros(a.b_part(), 2);
  std::ranges::fill(v[1], 1.0);
  std::ranges::copy(times_magnitudes(a, MultiVector(d))[0], v[0].begin());
  MultiVector w = times_magnitudes(inverse(op), v);
  const bool in_fp32 = in_fp32_ && largest(w[1]) < fp32_range && entries_.largest < fp32_range &&
                       gamma_of(n + 3, unit_roundoff(Precision::fp32)) * (1 + largest(w[0])) <=
                           allowed_rounding;  // in one process
  const Precision precision = in_fp32 ? Precision::fp32 : Precision::fp64;
  const double rounding = gamma_of(n + 3, unit_roundoff(precision));
  // The second weights: |E| d for the first ones, as predicted.
  d = predicted(a, op, d, w[0], rounding);
  set_weights(a, d);
  std::ranges::copy(times_magnitudes(a, MultiVector(d))[0], v[0].begin());
  w = times_magnitudes(inverse(op), v);
  found.rounding = rounded_up(rounding * (1 + largest_ratio(a, w[0], d)), 3);
  found.predicted = largest_ratio(a, predicted(a, op, d, w[0], rounding), d);
  if (!(found.rounding < 1 && found.predicted < hopeless_norm)) return found;
  found.weights = d;
  found.products = precision;
  found.rows = whole_ ? product_sums(a, op, precision, d) : system_sums(a, op, d);
  stop_if_interrupted(a.grid().all());
  // Both rows of a complex row have the magnitudes of its real and of its imaginary parts.
  if (a.field() == Field::complex)
    for (std::size_t i = 0; i < d.size(); i += 2)
      found.rows[i] = found.rows[i + 1] = found.rows[i] + found.rows[i + 1];
  // What underflows: entries of A and of R as they are rounded, products, sums; in each of n terms
  // of each of n entries.
  const double lost = in_fp32 ? 0x1p-125 : std::max(2 * entries_.underflow, 0x1p-1000);
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const double under = (n + 2) * (n + 2) * lost * (1 + w[1][i] + 2 * entries_.largest);
    found.rows[i] = rounded_up(found.rows[i] + rounding * (d[i] + w[0][i]) + under, of_pass(a) + 8);
  }
  found.norm = rounded_up(largest_ratio(a, found.rows, d), 1);
  return found;
}

// As many at a time as one pass over R takes.
MultiVector Certificate::errors(System& a, Transpose op, const MultiVector& y,
                                const MultiVector& low, const MultiVector& b) {
  SPEEDWELL_EXPECTS(contraction(a, op).is_shown());
  const std::int64_t few = Device::few_vectors / parts_of(a.field()) / 2;
  MultiVector all(y.size(), y.count());
  for (std::int64_t k = 0; k < y.count(); k += few) {
    const std::int64_t count = std::min(few, y.count() - k);
    const MultiVector some =
        errors_of_few(a, op, y.part(k, count), low.part(k, count), b.part(k, count));
    for (std::int64_t i = 0; i < count; ++i) std::ranges::copy(some[i], all[k + i].begin());
  }
  return all;
}

MultiVector Certificate::errors_of_few(System& a, Transpose op, const MultiVector& y,
                                       const MultiVector& low, const MultiVector& b) {
  const double n = static_cast<double>(a.n());
  const Contraction& e = contraction(a, op);
  const Vector& d = e.weights;
  MultiVector high = y;  // high + rest = y + low, exactly, and |rest| <= eps |high|
  MultiVector rest = low;
  for (std::size_t i = 0; i < high.all().size(); ++i) {
    const WithError<double> sum = two_sum(y.all()[i], low.all()[i]);
    high.all()[i] = sum.value;
    rest.all()[i] = sum.error;
  }
  // r is within `off` of its computed value.
  const System::Errors found = a.extended_errors(high, rest, b, true);
  const MultiVector& r = found.extended;
  const double underflow = (n + 2) * std::max(entries_.underflow, 0x1p-1000);
  // R r, and |R| (gamma |r| + off)
  MultiVector v(b.size(), 2 * b.count());
  const Vector sizes = a.x_space().largest(high);
  const Vector b_sizes = a.b_space().largest(b);
  for (std::int64_t k = 0; k < y.count(); ++k) {
    const double lost = underflow * (1 + sizes[static_cast<std::size_t>(k)]);
    for (std::size_t i = 0; i < r[k].size(); ++i) {
      const double size = std::fabs(r[k][i]);
      const double off =
          2 * eps * size + a.extended_error() * rounded_up(found.bound[k][i], of_pass(a)) + lost;
      v[2 * k][i] = r[k][i];
      v[2 * k + 1][i] = rounded_up(gamma_of(of_pass(a), eps) * size + off, 8);
    }
  }
  const System::Errors product = inverse(op).errors(v, zeros(a.x_part(), v.count()), true);
  MultiVector errors(y.size(), y.count());
  for (std::int64_t k = 0; k < y.count(); ++k) {
    Vector g(y[k].size());  // at least |R r|
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] =
          rounded_up(std::fabs(product.residual[2 * k][i]) +
                         rounded_up(product.bound[2 * k + 1][i], of_pass(a)) + 2 * n * underflowing,
                     4);
    const double factor = rounded_up(largest_ratio(a, g, d) / (1 - e.norm), 4);
    for (std::size_t i = 0; i < g.size(); ++i)
      errors[k][i] = rounded_up(std::fabs(low[k][i]) + g[i] + e.rows[i] * factor, 4);
    // b = 0 has y = 0, without any error.
    if (b_sizes[static_cast<std::size_t>(k)] == 0 && sizes[static_cast<std::size_t>(k)] == 0)
      std::ranges::fill(errors[k], 0.0);
  }
  for (double& value : errors.all())
    if (std::isnan(value)) value = no_bound;
  return errors;
}

}  // namespace speedwell
