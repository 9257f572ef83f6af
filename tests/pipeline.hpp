// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A benchmark's layers put together for tests, and the plain algorithms that tests compare with.
#pragma once

#include <speedwell/options.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/clock.hpp"
#include "device/device.hpp"
#include "device_choice.hpp"
#include "element/rounding.hpp"
#include "factor/lu.hpp"
#include "generate/generator.hpp"
#include "plain.hpp"
#include "refine/refinement.hpp"

namespace speedwell::test {

/// All entries of the matrix that a spec describes.
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

/// A copy of a rank's part of a matrix in host memory.
template <class T>
class HostCopyOf {
 public:
  HostCopyOf(Device& device, const DistributedMatrix& a)
      : device_(device),
        queue_(device.make_queue(Priority::normal)),
        a_(a),
        values_(static_cast<std::size_t>(a.local().ld * a.local().columns)) {
    device_.download(*queue_, a_.local().as<T>().data, values_);
  }
  MatrixView<T> view() {
    return {values_.data(), a_.local().rows, a_.local().columns, a_.local().ld};
  }
  /// The entry (i, j) of the whole matrix; null where another rank has it.
  T* find(GlobalIndex i, GlobalIndex j) {
    if (!a_.rows().mine(i) || !a_.columns().mine(j)) return nullptr;
    return &view()(a_.rows().local(i).value, a_.columns().local(j).value);
  }
  /// Copies the values back to the device.
  void store() { device_.upload(*queue_, values_, a_.local().as<T>().data); }

 private:
  Device& device_;
  std::unique_ptr<Queue> queue_;
  const DistributedMatrix& a_;
  std::vector<T> values_;
};
using HostCopy = HostCopyOf<float>;

/// All entries of a distributed matrix, on every rank.
template <class T>
Square gather_of(const ProcessGrid& grid, Device& device, const DistributedMatrix& a) {
  HostCopyOf<T> copy(device, a);
  const MatrixView<const T> local = copy.view();
  Square all(a.rows().size());
  for (std::int64_t j = 0; j < local.columns; ++j)
    for (std::int64_t i = 0; i < local.rows; ++i)
      all(a.rows().global({i}).value, a.columns().global({j}).value) =
          static_cast<double>(local(i, j));
  grid.all().all_reduce(all.data, Reduction::sum);
  return all;
}
inline Square gather(const ProcessGrid& grid, Device& device, const DistributedMatrix& a) {
  return a.storage() == Precision::fp64 ? gather_of<double>(grid, device, a)
                                        : gather_of<float>(grid, device, a);
}

/// All entries of a vector that is distributed along columns, on every rank.
inline std::vector<double> gather(const ProcessGrid& grid, const Distribution& columns,
                                  const std::vector<double>& x) {
  std::vector<double> all(static_cast<std::size_t>(columns.size()), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j)
    all[static_cast<std::size_t>(columns.global({static_cast<std::int64_t>(j)}).value)] = x[j];
  grid.row().all_reduce(all, Reduction::sum);
  return all;
}

/// The communication method: `wanted`, or a method that always works where that is automatic.
inline CommMethod comm_of(const Device& device, CommMethod wanted) {
  if (wanted != CommMethod::automatic) return wanted;
  return device.shares_host_memory() ? CommMethod::mpi : CommMethod::staged;
}

/// A generated problem on a process grid.
struct Problem {
  Problem(const Communicator& all, GridShape shape, const BenchmarkOptions& options,
          Precision storage = Precision::fp32, const Clock& clock = RunContext::none().clock())
      : run(clock),
        grid(all.in(run), shape),
        device(make_chosen_device()),
        transport(grid, *device, comm_of(*device, device_choice().comm)),
        generator(options, all),
        a(*device, grid.rows(options.n, options.run.nb), grid.columns(options.n, options.run.nb),
          storage) {
    generate();
  }
  void generate() {
    const auto queue = device->make_queue(Priority::normal);
    device->generate(*queue, spec(), a.rows(), a.columns(), a.local());
    queue->synchronize();
  }
  const MatrixSpec& spec() const { return generator.spec(); }
  /// @param plan whose n, nb and grid are replaced by those of the problem
  FactorOutcome factor(LuPlan plan, const FactorRun& how = {}) {
    plan.n = a.rows().size();
    plan.nb = a.rows().block();
    plan.grid = grid.shape();
    FactorOutcome outcome = factorize(transport, a, plan, {}, how);
    pivots = outcome.pivots;
    return outcome;
  }
  RefineOutcome solve(const RefineOptions& options) {
    return refine(transport, a, pivots, spec(), options);
  }
  SystemNorms norms(const std::vector<double>& x) {
    return system_norms(grid, *device, a.rows(), a.columns(), spec(), x);
  }

  RunContext run;
  ProcessGrid grid;
  std::unique_ptr<Device> device;
  Transport transport;
  Generator generator;
  DistributedMatrix a;
  EqualVector<std::int64_t> pivots;
};

/// For every column, the end of the step that it belongs to.
inline std::vector<std::int64_t> step_ends(const Problem& p, std::int64_t width) {
  const StepSequence steps(p.a.rows(), p.a.columns(), width);
  std::vector<std::int64_t> ends;
  for (std::int64_t k = 0; k < steps.count(); ++k)
    ends.insert(ends.end(), static_cast<std::size_t>(steps[k].width()), steps[k].end.value);
  return ends;
}

/// The factors L\U, also where the device stores inverses in diagonal blocks.
struct Factors {
  Square lu;
  double condition = 1;  ///< condition number of the triangles whose inverses the device stores
};

inline Factors gather_factors(const Problem& p, std::int64_t width) {
  Factors f{gather(p.grid, *p.device, p.a)};
  const StepSequence steps(p.a.rows(), p.a.columns(), width);
  for (std::int64_t k = 0; k < steps.count(); ++k)
    f.condition =
        std::max(f.condition, undo_inverses(f.lu, steps[k].begin.value, steps[k].end.value,
                                            p.device->inverted_order(p.a.storage())));
  return f;
}

/// `value` as an update of this precision reads it from a panel with the scale 2^e.
inline double rounded(double value, Precision precision, int e) {
  const auto v = static_cast<float>(value);
  if (precision == Precision::fp16)
    return static_cast<double>(to_float(to_half(std::ldexp(v, e)))) * std::ldexp(1.0, -e);
  if (precision == Precision::fp16x3) {
    const HalfPair pair = to_half_pair(std::ldexp(v, e));
    return (static_cast<double>(to_float(pair.high)) +
            0x1p-11 * static_cast<double>(to_float(pair.low))) *
           std::ldexp(1.0, -e);
  }
  if (precision == Precision::bf16) return static_cast<double>(to_float(to_bfloat16(v)));
  return static_cast<double>(v);
}

/// The specification of the factorization: plain elimination, one column k after the other. The
/// product reads rounded values where both i and j lie behind the step that column k belongs to.
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

}  // namespace speedwell::test
