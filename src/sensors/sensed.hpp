// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a sensor says: a figure, or why there is none. No sensor throws: what cannot be read is
/// left out of a report, with the reason, and ends nothing.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace speedwell {

template <class T = double>
class Sensed {
 public:
  Sensed() = default;
  Sensed(T value) : value_(std::move(value)) {}
  /// @param why the reason in words, such as "not supported by this GPU"
  static Sensed none(const std::string& why) {
    Sensed figure;
    figure.why_none_ = why;
    return figure;
  }

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }
  const std::optional<T>& value() const { return value_; }
  /// Why there is no value; meaningless where there is one.
  const std::string& why_none() const { return why_none_; }

 private:
  std::optional<T> value_;
  std::string why_none_ = "not read";
};

}  // namespace speedwell
