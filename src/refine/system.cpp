#include "refine/system.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "refine/refinement.hpp"

namespace lupine {

namespace {
constexpr std::int64_t bytes_of_doubles(std::int64_t count) {
  return count * std::int64_t{sizeof(double)};
}
}  // namespace

std::vector<double> right_hand_side(const MatrixSpec& spec, const Distribution& rows) {
  std::vector<double> b(static_cast<std::size_t>(rows.local_size()));
  for (const Run& run : rows.runs())
    spec.right_hand_side(run.global.value, run.length, b.data() + run.local.value);
  return b;
}

System::System(const ProcessGrid& grid, Device& device, const MatrixSpec& spec, Distribution rows,
               Distribution columns)
    : grid_(grid),
      device_(device),
      spec_(spec),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      queue_(device.make_queue(Priority::normal)),
      x_(device.allocate(bytes_of_doubles(columns_.local_size()))),
      ax_(device.allocate(bytes_of_doubles(rows_.local_size()))),
      abs_rows_(device.allocate(bytes_of_doubles(rows_.local_size()))),
      b_(right_hand_side(spec_, rows_)) {}

std::vector<double> System::multiply(std::span<const double> x) {
  const bool first = norm_a_ < 0;
  std::vector<double> ax(b_.size());
  device_.upload(*queue_, x, x_.as<double>());
  device_.multiply_generated(*queue_, spec_, rows_, columns_, x_.as<double>(), ax_.as<double>(),
                             first ? abs_rows_.as<double>() : nullptr, nullptr);
  if (first) {
    std::vector<double> sums(b_.size());
    device_.download(*queue_, abs_rows_.as<double>(), sums);
    grid_.row().all_reduce(sums, Reduction::sum);
    norm_a_ = largest(sums);
  }
  device_.download(*queue_, ax_.as<double>(), ax);
  grid_.row().all_reduce(ax, Reduction::sum);
  return ax;
}

std::vector<double> System::residual(std::span<const double> x) {
  std::vector<double> r = multiply(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b_[i] - r[i];
  return r;
}

// A maximum is the same in any order, so that all ranks decide alike. NaN must not get lost in it.
double System::largest(std::span<const double> v) const {
  double most = 0;
  for (const double value : v)
    most = std::isnan(value) ? std::numeric_limits<double>::infinity()
                             : std::fmax(most, std::fabs(value));
  return grid_.all().all_reduce(most, Reduction::max);
}

SystemNorms System::norms(std::span<const double> x, std::span<const double> r) const {
  return {norm_a_, largest(x), largest(b_), largest(r)};
}

std::vector<double> System::dots(std::span<const std::vector<double>> basis,
                                 std::span<const double> v) const {
  std::vector<double> sums;
  for (const std::vector<double>& u : basis) {
    double sum = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += u[i] * v[i];
    sums.push_back(sum);
  }
  grid_.row().all_reduce(sums, Reduction::sum);
  // Every process row has summed; one of them speaks for all, should their roundings differ.
  grid_.row().broadcast(std::span<double>(sums), 0);
  grid_.column().broadcast(std::span<double>(sums), 0);
  return sums;
}

SystemNorms system_norms(const ProcessGrid& grid, Device& device, const Distribution& rows,
                         const Distribution& columns, const MatrixSpec& spec,
                         const std::vector<double>& x) {
  System system(grid, device, spec, rows, columns);
  const std::vector<double> r = system.residual(x);
  return system.norms(x, r);
}

double scaled_residual(const SystemNorms& norms, std::int64_t n) {
  const double scale = 0x1p-53 * (norms.a * norms.x + norms.b) * static_cast<double>(n);
  // An infinite x must not make any residual look small.
  return std::isfinite(scale) ? norms.residual / scale : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace lupine
