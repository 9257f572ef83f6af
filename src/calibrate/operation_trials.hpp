// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The operations of runs at the shapes of runs, for timing one after the other: by their times
/// `speedwell predict --calibrate` fits a device's model.
#pragma once

#include <speedwell/options.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "model/machine_model.hpp"

namespace speedwell {

/// An operation at one shape. OperationKind says what work and sizes mean.
struct OperationTrial {
  OperationKind kind;
  Precision precision;
  double work = 0;
  double rows = 1;
  double columns = 1;
  double width = 1;
  /// Prepares the operands, and returns a function that runs the operation so many times and waits
  /// for the end. It is valid until the next trial is prepared.
  std::function<std::function<void(int times)>()> prepare;
};

/// The trials of a device and the matrices on which they work. Operands lie at changing places of
/// matrices that caches do not hold, as in a run, except where a run uses them again at once.
class OperationTrials {
 public:
  /// Rows and columns of the largest shape: a power of two from `least_order` on.
  static constexpr std::int64_t least_order = 64;
  /// Operations in FP64 that take about as long as all trials, once each.
  static double flops(std::int64_t order);
  /// Bytes of memory that the trials use at most at a time.
  static double bytes(std::int64_t order);

  /// @throws Fault where memory is short
  OperationTrials(Device& device, std::int64_t order);
  OperationTrials(const OperationTrials&) = delete;
  OperationTrials& operator=(const OperationTrials&) = delete;

  const std::vector<OperationTrial>& all() const { return all_; }
  /// Whether all numbers that were cast so far are finite.
  bool finite() const;

 private:
  struct Shape {
    std::int64_t rows, columns, width = 1;
  };
  using Repeat = std::function<void(int times)>;
  template <class Operation>
  Repeat repeat(Operation operation) const;
  AnyMatrix field(Precision storage) const;
  /// Makes a part of a field random again.
  void fill(Precision storage, std::int64_t part) const;
  /// A panel or chunk in this memory.
  static AnyMatrix factor(const Buffer& memory, Precision precision, std::int64_t rows,
                          std::int64_t columns);
  PanelControl* l_control() const;
  PanelControl* u_control() const;
  FactorStatus* status() const;
  AnyMatrix triangle(Precision storage, std::int64_t n) const;
  MatrixSpec spec(MatrixKind kind, std::int64_t n) const;
  /// order / part, but never so small that a block has nothing to do.
  std::int64_t over(std::int64_t part) const;

  void add(OperationKind kind, Precision precision, const Shape& shape, double work,
           std::function<Repeat()> prepare);
  void add_products(Precision precision);
  void add_solves(Precision storage);
  void add_eliminations(Precision storage);
  void add_exchanges(Precision storage);
  void add_conversions(Precision to);
  void add_generations(Precision storage);
  void add_passes();
  void add_vector_products(Precision storage);

  Device& device_;
  std::int64_t order_;
  std::unique_ptr<Queue> queue_;
  std::array<Buffer, 2> fields_;     // random matrices of order_ in FP32 and FP64
  std::array<Buffer, 2> triangles_;  // diagonal blocks L\U in FP32 and FP64
  Buffer left_;
  Buffer right_;
  Buffer vectors_;
  Buffer rows_;
  Buffer control_;
  std::vector<OperationTrial> all_;
};

}  // namespace speedwell
