/// @file
/// The layers put together for tests, and the plain algorithms that they are compared with.
#pragma once

#include <lupine/options.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/clock.hpp"
#include "device/device.hpp"
#include "element/rounding.hpp"
#include "factor/factorization.hpp"
#include "generate/generator.hpp"
#include "refine/refinement.hpp"

namespace lupine::test {

/// A square matrix in plain memory, column-major.
struct Square {
  explicit Square(std::int64_t order) : n(order), data(static_cast<std::size_t>(n * n), 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(i + j * n)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i + j * n)];
  }
  std::int64_t n;
  std::vector<double> data;
};

/// All P x Q grids of so many ranks, both orders.
inline std::vector<GridShape> grids(int ranks) {
  std::vector<GridShape> all;
  for (int p = 1; p <= ranks; ++p)
    if (ranks % p == 0)
      for (const GridOrder order : {GridOrder::row, GridOrder::column})
        all.push_back({p, ranks / p, order});
  return all;
}

/// The whole matrix that a spec describes.
inline Square whole(const MatrixSpec& spec) {
  Square a(spec.n);
  for (std::int64_t j = 0; j < spec.n; ++j)
    for (std::int64_t i = 0; i < spec.n; ++i) a(i, j) = spec.entry(i, j);
  return a;
}

inline std::vector<double> right_hand_side(const MatrixSpec& spec) {
  std::vector<double> b;
  for (std::int64_t i = 0; i < spec.n; ++i) b.push_back(spec.right_hand_side(i));
  return b;
}

/// A distributed matrix on every rank.
inline Square gather(const ProcessGrid& grid, const DistributedMatrix& a) {
  Square all(a.rows().size());
  for (std::int64_t j = 0; j < a.local().cols; ++j)
    for (std::int64_t i = 0; i < a.local().rows; ++i)
      all(a.rows().global({i}).value, a.columns().global({j}).value) =
          static_cast<double>(a.local()(i, j));
  grid.all().all_reduce(all.data, Reduction::sum);
  return all;
}

/// A vector along columns on every rank.
inline std::vector<double> gather(const ProcessGrid& grid, const Distribution& columns,
                                  const std::vector<double>& x) {
  std::vector<double> all(static_cast<std::size_t>(columns.size()), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j)
    all[static_cast<std::size_t>(columns.global({static_cast<std::int64_t>(j)}).value)] = x[j];
  grid.row().all_reduce(all, Reduction::sum);
  return all;
}

/// How panels travel where a test does not say.
inline CommMethod comm_of(const Device& device, CommMethod wanted) {
  if (wanted != CommMethod::automatic) return wanted;
  return device.shares_host_memory() ? CommMethod::mpi : CommMethod::staged;
}

/// A problem on a grid, generated.
struct Problem {
  Problem(const Communicator& all, GridShape shape, const MxpOptions& options)
      : grid(all, shape),
        device(make_device({.kind = options.device})),
        transport(grid, *device, comm_of(*device, options.comm)),
        generator(options, all),
        a(*device, grid.rows(options.n, options.nb), grid.columns(options.n, options.nb)) {
    device->generate(*device->make_queue(Priority::normal), spec(), a.rows(), a.columns(),
                     a.local());
  }
  const MatrixSpec& spec() const { return generator.spec(); }
  FactorOutcome factor(const FactorOptions& options) {
    return factorize(transport, a, options, clock);
  }
  RefineOutcome solve(const RefineOptions& options) {
    return refine(grid, *device, a, spec(), options, clock);
  }
  SystemNorms norms(const std::vector<double>& x) {
    return system_norms(grid, *device, a.rows(), a.columns(), spec(), x);
  }

  ProcessGrid grid;
  std::unique_ptr<Device> device;
  Transport transport;
  Generator generator;
  DistributedMatrix a;
  SteadyClock clock;
};

/// `value` as an update of this precision reads it, with the panel's scale 2^e.
inline double rounded(double value, Precision precision, int e) {
  const auto v = static_cast<float>(value);
  if (precision == Precision::fp16)
    return static_cast<double>(to_float(to_half(std::ldexp(v, e)))) * std::ldexp(1.0, -e);
  if (precision == Precision::bf16) return static_cast<double>(to_float(to_bfloat16(v)));
  return static_cast<double>(v);
}

/// The specification of the factorization: plain elimination, one column after the other. Where
/// both i and j lie behind the step that k belongs to, the product reads rounded values.
inline Square plain_lu(Square a, Precision precision, const std::vector<std::int64_t>& step_end) {
  const std::int64_t n = a.n;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t end = step_end[static_cast<std::size_t>(k)];
    double left = 0;
    double right = 0;
    for (std::int64_t i = k + 1; i < n; ++i) a(i, k) /= a(k, k);
    for (std::int64_t i = end; i < n; ++i) {
      left = std::max(left, std::fabs(a(i, k)));
      right = std::max(right, std::fabs(a(k, i)));
    }
    const int el = fp16_scale_exponent(static_cast<float>(left));
    const int er = fp16_scale_exponent(static_cast<float>(right));
    for (std::int64_t j = k + 1; j < n; ++j)
      for (std::int64_t i = k + 1; i < n; ++i)
        a(i, j) -= i >= end && j >= end
                       ? rounded(a(i, k), precision, el) * rounded(a(k, j), precision, er)
                       : a(i, k) * a(k, j);
  }
  return a;
}

inline double unit_roundoff(Precision precision) {
  return precision == Precision::fp16 ? 0x1p-11 : precision == Precision::bf16 ? 0x1p-8 : 0x1p-24;
}

}  // namespace lupine::test
