// SPDX-License-Identifier: BSD-3-Clause
// Compares one update of HPL-MxP's size, C <- C + L U with FP16 operands and FP32 sums, with FP64
// sums of the rounded operands, at sampled entries on both sides of the element of C from which on
// offsets do not fit into 31 bits:
//   speedwell_gpu_big_update [--device cuda|cpu] [--smoke] [--profile] [--json]
// Where the memory does not suffice, the shape is the largest that fits. --smoke takes a small one
// and samples on both sides of its middle. --profile does the update and a step's triangular solves
// once each, in a shape that a profiler can repeat, and compares nothing.
// Exit status: 0 right, 1 wrong, 2 bad usage, 3 no result.
#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "device/device.hpp"
#include "element/rounding.hpp"
#include "matrix/distributed_matrix.hpp"
#include "matrix/panel_ring.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

struct Settings {
  DeviceKind kind = DeviceKind::cuda;
  bool smoke = false;
  bool profile = false;
  bool json = false;
};

struct Shape {
  std::int64_t rows, columns, depth;
  friend bool operator==(const Shape&, const Shape&) = default;
};

Shape wanted_shape(const Settings& settings) {
  if (settings.smoke) return {300, 96, 48};
  if (settings.profile) return {16384, 8192, 2048};
  return {180000, 16384, 2048};
}

std::int64_t ld_of_c(const Shape& shape) {
  return DistributedMatrix::leading_dimension(shape.rows);
}

/// Bytes of C, L and U. C's memory also holds the operands before they are rounded.
std::int64_t bytes_of(const Shape& shape) {
  return 4 * ld_of_c(shape) * std::max(shape.columns, shape.depth) +
         2 * PanelRing::leading_dimension(shape.rows) * shape.depth +
         2 * PanelRing::leading_dimension(shape.depth) * shape.columns;
}

/// The largest shape that fits, with fewer columns first: an update of few rows is no large one.
Shape fitting_shape(const Device& device, Shape shape) {
  const auto memory = device.memory();
  if (!memory) return shape;
  // The rest is for workspaces and kernels of the libraries.
  constexpr double part = 0.9;
  constexpr std::int64_t rest = std::int64_t{256} << 20;
  const auto most = static_cast<std::int64_t>(part * static_cast<double>(memory->free));
  const std::int64_t room = std::min(most, memory->free - rest);
  while (bytes_of(shape) > room && shape.rows > 1) {
    if (shape.columns > 2 * shape.depth)
      shape.columns -= std::min<std::int64_t>(shape.columns / 2, 64);
    else
      shape.rows -= (shape.rows + 63) / 64;
  }
  if (bytes_of(shape) > room) throw Fault("too little of the device's memory is free");
  return shape;
}

/// An entry of C whose value is compared.
struct Sample {
  std::int64_t row, column;
  double expected;   ///< before the update C's value, then with the products
  double magnitude;  ///< the sum of the magnitudes of all that is added
};

class BigUpdate {
 public:
  BigUpdate(const Settings& settings, Device& device)
      : settings_(settings),
        device_(device),
        queue_(device.make_queue(Priority::normal)),
        wanted_(wanted_shape(settings)),
        shape_(fitting_shape(device, wanted_)),
        boundary_(settings.smoke ? ld_of_c(shape_) * shape_.columns / 2 : std::int64_t{1} << 31) {
    make_operands();
  }

  /// One line of JSON. "wrong" counts the entries that are not within the bound.
  ordered_json compare();
  /// One update and one of each triangular solve.
  void run_once();

 private:
  void make_operands();
  void fill(AnyMatrix a, std::uint64_t seed);
  void update();
  std::vector<Sample> choose() const;
  float read_entry(const Sample& sample);
  void add_products(std::vector<Sample>& samples);
  double scale(const Buffer& control);
  std::int64_t offset(const Sample& one) const { return one.row + one.column * c_.ld; }

  Settings settings_;
  Device& device_;
  std::unique_ptr<Queue> queue_;
  Shape wanted_;
  Shape shape_;
  std::int64_t boundary_;  ///< offset in C
  Buffer c_memory_, l_memory_, u_memory_, l_control_, u_control_, status_;
  MatrixView<float> c_;
  MatrixView<Half> l_, u_;
};

void BigUpdate::fill(AnyMatrix a, std::uint64_t seed) {
  MatrixSpec spec;
  spec.kind = MatrixKind::hpl;  // random, the diagonal too
  spec.n = std::max(a.rows, a.columns);
  spec.stride = spec.n | 1;
  spec.seed = seed;
  device_.generate(*queue_, spec, Distribution(a.rows, a.rows, 1, 0),
                   Distribution(a.columns, a.columns, 1, 0), a);
}

void BigUpdate::make_operands() {
  const auto [m, n, k] = shape_;
  const std::int64_t ld = ld_of_c(shape_);
  const std::int64_t l_ld = PanelRing::leading_dimension(m);
  const std::int64_t u_ld = PanelRing::leading_dimension(k);
  c_memory_ = device_.allocate(4 * ld * std::max(n, k));
  l_memory_ = device_.allocate(2 * l_ld * k);
  u_memory_ = device_.allocate(2 * u_ld * n);
  for (Buffer* control : {&l_control_, &u_control_})
    *control = device_.allocate(sizeof(PanelControl));
  status_ = device_.allocate(sizeof(FactorStatus));
  device_.upload(*queue_, std::vector<FactorStatus>(1), status_.as<FactorStatus>());
  l_ = {l_memory_.as<Half>(), m, k, l_ld};
  u_ = {u_memory_.as<Half>(), k, n, u_ld};
  c_ = {c_memory_.as<float>(), m, n, ld};
  const auto round = [&](MatrixView<Half> to, double sign, const Buffer& control, int seed) {
    const MatrixView<float> from{c_memory_.as<float>(), to.rows, to.columns, to.rows};
    fill(from, static_cast<std::uint64_t>(seed));
    device_.cast(*queue_, from, sign, to, control.as<PanelControl>(), status_.as<FactorStatus>());
  };
  round(l_, 1, l_control_, 1);
  round(u_, -1, u_control_, 2);
  fill(c_, 3);
  queue_->synchronize();
}

void BigUpdate::update() {
  device_.update(*queue_, l_, l_control_.as<PanelControl>(), u_, u_control_.as<PanelControl>(), c_,
                 {});
  queue_->synchronize();
}

/// 1000 entries: half of them from the boundary on, where C reaches so far; its corners, the
/// entries around the boundary, and random ones.
std::vector<Sample> BigUpdate::choose() const {
  constexpr std::size_t count = 1000;
  const std::int64_t m = shape_.rows;
  const std::int64_t n = shape_.columns;
  std::vector<Sample> all;
  const auto take = [&](std::int64_t row, std::int64_t column) {
    if (row >= 0 && row < m && column >= 0 && column < n) all.push_back({row, column, 0, 0});
  };
  for (const std::int64_t row : {std::int64_t{0}, m - 1})
    for (const std::int64_t column : {std::int64_t{0}, n - 1}) take(row, column);
  const std::int64_t row = boundary_ % c_.ld;
  const std::int64_t column = boundary_ / c_.ld;
  for (const std::int64_t i : {row - 1, row, row + 1, std::int64_t{0}, m - 1})
    for (const std::int64_t j : {column - 1, column, column + 1}) take(i, j);
  std::mt19937_64 random(1);  // the same entries in every run
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(random() %
                                     static_cast<std::uint64_t>(std::max<std::int64_t>(end, 1)));
  };
  for (bool behind = false; all.size() < count; behind = !behind) {
    const bool reached = behind && column + 1 < n;
    take(below(m), reached ? column + 1 + below(n - column - 1) : below(std::min(column + 1, n)));
  }
  return all;
}

float BigUpdate::read_entry(const Sample& sample) {
  float value = 0;
  device_.download(*queue_, c_.data + offset(sample), std::span(&value, 1));
  return value;
}

double BigUpdate::scale(const Buffer& control) {
  PanelControl value;
  device_.download(*queue_, control.as<PanelControl>(), std::span(&value, 1));
  return value.scale;
}

/// Sums in FP64. L is read column by column, since its rows are scattered.
void BigUpdate::add_products(std::vector<Sample>& samples) {
  const double unscaled = 1 / (scale(l_control_) * scale(u_control_));
  std::map<std::int64_t, std::vector<Half>> columns;
  for (const Sample& one : samples) {
    std::vector<Half>& column = columns[one.column];
    if (!column.empty()) continue;
    column.resize(static_cast<std::size_t>(shape_.depth));
    device_.download(*queue_, u_.column(one.column), column);
  }
  std::vector<Half> l(static_cast<std::size_t>(shape_.rows));
  for (std::int64_t p = 0; p < shape_.depth; ++p) {
    device_.download(*queue_, l_.column(p), l);
    for (Sample& one : samples) {
      const double term = double{to_float(l[static_cast<std::size_t>(one.row)])} *
                          to_float(columns[one.column][static_cast<std::size_t>(p)]) * unscaled;
      one.expected += term;
      one.magnitude += std::fabs(term);
    }
  }
}

ordered_json BigUpdate::compare() {
  const SteadyClock clock;
  const double begin = clock.now();
  std::vector<Sample> samples = choose();
  for (Sample& one : samples) {
    one.expected = read_entry(one);
    one.magnitude = std::fabs(one.expected);
  }
  add_products(samples);
  update();
  // Products of FP16 numbers are exact in FP32, and tensor cores truncate what they add.
  const double unit = static_cast<double>(shape_.depth + 4) * 0x1p-23;
  double worst = 0;
  std::int64_t compared[2] = {0, 0};  // before the boundary, and from it on
  std::int64_t wrong[2] = {0, 0};
  ordered_json first;
  for (const Sample& one : samples) {
    const double found = read_entry(one);
    const double share = std::fabs(found - one.expected) / (unit * one.magnitude);
    const std::size_t side = offset(one) >= boundary_ ? 1 : 0;
    ++compared[side];
    if (std::isfinite(share)) worst = std::max(worst, share);
    if (share <= 1) continue;
    ++wrong[side];
    if (first.is_null())
      first = {{"row", one.row},
               {"column", one.column},
               {"offset", offset(one)},
               {"found", found},
               {"expected", one.expected}};
  }
  const bool whole = shape_ == wanted_;
  return {{"part", "big_update"},
          {"name", fmt::format("update fp16, {} x {}, K = {}{}, {} entries before offset {} and {} "
                               "from it on",
                               shape_.rows, shape_.columns, shape_.depth,
                               whole ? "" : " (the largest that fits)", compared[0], boundary_,
                               compared[1])},
          {"m", shape_.rows},
          {"n", shape_.columns},
          {"k", shape_.depth},
          {"ld", c_.ld},
          {"boundary", boundary_},
          {"largest_that_fits", !whole},
          {"compared", {compared[0], compared[1]}},
          {"wrong", {wrong[0], wrong[1]}},
          {"worst", worst},
          {"first_wrong", first},
          {"seconds", clock.now() - begin}};
}

/// The solves take a block that was not factored: their kernels do not depend on its values.
void BigUpdate::run_once() {
  update();
  const std::int64_t order = std::min(shape_.depth, shape_.columns);
  const MatrixView<float> block{c_.data, order, order, c_.ld};
  const Buffer memory = device_.allocate(4 * shape_.rows * order);
  const MatrixView<float> tall{memory.as<float>(), shape_.rows, order, shape_.rows};
  const MatrixView<float> wide{memory.as<float>(), order, shape_.rows, order};
  fill(tall, 4);
  device_.solve_right_upper(*queue_, block, tall, Precision::fp16, {});
  fill(wide, 5);
  device_.solve_left_lower(*queue_, block, wide, Precision::fp16, {});
  queue_->synchronize();
}

Settings read_settings(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--smoke") {
      settings.smoke = true;
    } else if (word == "--profile") {
      settings.profile = true;
    } else if (word == "--json") {
      settings.json = true;
    } else if (word == "--device" && (next == "cpu" || next == "cuda")) {
      settings.kind = next == "cpu" ? DeviceKind::cpu : DeviceKind::cuda;
      ++i;
    } else {
      throw UsageError(
          "usage: speedwell_gpu_big_update [--device cuda|cpu] [--smoke] [--profile] [--json]");
    }
  }
  return settings;
}

int run(const Settings& settings) {
  const std::unique_ptr<Device> device = make_device({.kind = settings.kind});
  BigUpdate big(settings, *device);
  if (settings.profile) {
    big.run_once();
    return 0;
  }
  const ordered_json line = big.compare();
  fmt::print("{}\n", settings.json ? line.dump() : line["name"].get<std::string>());
  const ordered_json& wrong = line["wrong"];
  const bool right = wrong[0] == 0 && wrong[1] == 0;
  if (!right)
    fmt::print(
        stderr,
        "speedwell_gpu_big_update: wrong are {} of {} entries before offset {}, {} of {} from it "
        "on; the first: {}\n",
        wrong[0].dump(), line["compared"][0].dump(), line["boundary"].dump(), wrong[1].dump(),
        line["compared"][1].dump(), line["first_wrong"].dump());
  return right ? 0 : 1;
}

}  // namespace

}  // namespace speedwell

int main(int argc, char** argv) {
  try {
    return speedwell::run(speedwell::read_settings(argc, argv));
  } catch (const speedwell::UsageError& error) {
    fmt::print(stderr, "speedwell_gpu_big_update: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "speedwell_gpu_big_update: {}\n", error.what());
    return 3;
  }
}
