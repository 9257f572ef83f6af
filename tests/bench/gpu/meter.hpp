// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Runs work on a GPU repeatedly, and reports its rate.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "device/cuda/lane.hpp"
#include "device/cuda/products.hpp"
#include "device/device.hpp"

namespace speedwell {

constexpr double tera = 1e12;
constexpr double giga = 1e9;

struct MeterOptions {
  double seconds = 3;  ///< for each product; one product takes 10/3 of that, parts a third
  std::int64_t n = 0;  ///< order of the run whose shapes are measured; 0: the largest that fits
  bool json = false;
  bool smoke = false;  ///< use tiny sizes, only to see that everything runs
};

/// Times of one operation that ran repeatedly, in seconds.
struct Timing {
  double mean = 0;   ///< of one run, over the whole interval
  double best = 0;   ///< of one run, over the best quarter of a second
  double total = 0;  ///< length of the interval
  std::int64_t runs = 0;
};

/// The rates measured so far, with which later ones are compared; 0: not measured yet.
struct Reached {
  double copy = 0;  ///< bytes a second
  double read = 0;
  double fp16 = 0;  ///< operations a second
  double fp32 = 0;
  double fp64 = 0;
};

inline MatrixView<float> floats(const Buffer& memory, std::int64_t rows, std::int64_t columns) {
  return {memory.as<float>(), rows, columns, rows};
}
inline MatrixView<double> doubles(const Buffer& memory, std::int64_t rows, std::int64_t columns) {
  return {memory.as<double>(), rows, columns, rows};
}
inline double operations(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}
/// HPL-MxP's matrix of order n.
MatrixSpec spec_of(std::int64_t n);

class Meter {
 public:
  explicit Meter(const MeterOptions& options);

  const MeterOptions& options() const { return o_; }
  Device& device() { return *device_; }
  /// The queue for operations of Device.
  Queue& queue() { return *queue_; }
  /// The lane for operations that Device does not have.
  Lane& lane() { return lane_; }
  Products& products() { return products_; }
  PanelControl* control(int which) const {
    return reinterpret_cast<PanelControl*>(control_.data() + 64 * which);
  }
  FactorStatus* status() const { return reinterpret_cast<FactorStatus*>(control_.data() + 256); }
  float* sink() const { return reinterpret_cast<float*>(control_.data() + 512); }
  double seconds() const { return o_.seconds; }
  double brief() const { return o_.seconds / 3; }

  /// Fills `a` with random numbers. With zeros a GPU would need less power and so be faster.
  void fill(AnyMatrix a, MatrixKind kind = MatrixKind::scaled_diagonal);
  void synchronize();
  /// Does the work once in a rehearsal (Device::rehearse), so that products take the algorithms
  /// that they take in a benchmark.
  void prepare(const std::function<void()>& work);
  /// Prepares the work, and repeats it for `seconds` seconds.
  Timing sustain(double seconds, const std::function<void()>& work);
  /// Times work on `target`, which is restored from `source` before each run, since repeated solves
  /// would let it decay to zero. The time of these copies is subtracted.
  Timing without_copy(AnyMatrix source, AnyMatrix target, const std::function<void()>& work);

  /// Prints a line of the report.
  void emit(const nlohmann::ordered_json& line) const;
  /// Prints the rate of runs with `work` each, in `unit`s a second, with the rate that the GPU
  /// allows
  /// (`floor`; 0: unknown).
  void rate(nlohmann::ordered_json line, const Timing& timing, double work, double unit,
            const std::string& unit_name, double floor);

  Reached reached;

 private:
  MeterOptions o_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  Lane lane_;
  Buffer control_;
  Products products_;
};

}  // namespace speedwell
