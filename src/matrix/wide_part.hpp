// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Arithmetic on parts of a matrix that is stored in 16 bits.
#pragma once

#include <cstdint>

#include "core/expects.hpp"
#include "core/scalar.hpp"
#include "device/device.hpp"

namespace speedwell {

/// A part of a matrix in a precision in which the device computes: the part itself where it is FP32
/// or FP64, or of 16 bits a copy in FP32. So an algorithm is written once for all of them.
class WidePart {
 public:
  /// Bytes of the copy of m x n elements stored so; 0 without a copy.
  static std::int64_t bytes(Precision storage, std::int64_t m, std::int64_t n) {
    return bytes_of(storage) == 2 ? m * n * bytes_of(Precision::fp32) : 0;
  }
  /// @param queue on which the part is used
  /// @param memory of the device for the copy, of bytes() at least; nothing else uses it meanwhile
  WidePart(Device& device, Queue& queue, AnyMatrix part, const Buffer& memory)
      : device_(device), queue_(queue), part_(part), values_(part) {
    if (!is_copy()) return;
    SPEEDWELL_EXPECTS(memory.bytes() >= bytes(part.precision, part.rows, part.columns));
    values_ = {Precision::fp32, memory.data(), part.rows, part.columns, part.rows};
    device_.copy(queue_, part_, values_);
  }

  AnyMatrix values() const { return values_; }
  /// Stores the values, which then are as they are stored: rounded.
  void store() const {
    if (!is_copy()) return;
    device_.copy(queue_, values_, part_);
    device_.copy(queue_, part_, values_);
  }

 private:
  bool is_copy() const { return bytes_of(part_.precision) == 2; }

  Device& device_;
  Queue& queue_;
  AnyMatrix part_;
  AnyMatrix values_;
};

}  // namespace speedwell
