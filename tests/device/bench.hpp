// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The device under test, and matrices in its memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "device/device.hpp"
#include "device_choice.hpp"
#include "element/rounding.hpp"
#include "plain.hpp"

namespace speedwell::test {

/// Sizes around those at which kernels change their method.
inline const std::vector<std::int64_t> orders{1,   2,   15,  16,  17,  31,  32,  33,  63,  64, 65,
                                              127, 128, 129, 255, 256, 257, 511, 512, 513, 700};
/// All precisions of an update, and those among them that are rounded from FP32 storage.
inline const std::vector<Precision> all_precisions{
    Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32, Precision::fp64};
inline const std::vector<Precision> precisions{Precision::fp16, Precision::bf16, Precision::fp16x3,
                                               Precision::fp32};

/// The unit roundoff of float or double.
template <class T>
inline constexpr double unit_of = std::is_same_v<T, double> ? eps : 0x1p-24;

/// Calls use.operator()<T>() with the type T of the storage from which `precision` is rounded.
template <class Use>
void with_storage_of(Precision precision, const Use& use) {
  precision == Precision::fp64 ? use.template operator()<double>()
                               : use.template operator()<float>();
}

struct Bench {
  explicit Bench(int threads = 2) : device(make_chosen_device(threads)) {}

  std::unique_ptr<Device> device;
  std::unique_ptr<Queue> queue = device->make_queue(Priority::normal);
  std::mt19937 random{7};

  bool on_cpu() const { return device->kind() == DeviceKind::cpu; }
  std::int64_t below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random);
  }
};

/// The position of a matrix in the larger matrix around it.
enum class Frame {
  random,   ///< any offset and stride, so that most columns are aligned to an element only
  aligned,  ///< columns begin at multiples of 64 elements
};

/// rows x columns elements inside of a larger matrix in device memory, its frame, with a copy on
/// the host. Elements that were not set are NaN. No operation may write to the frame.
template <class T>
class DeviceMatrix {
 public:
  DeviceMatrix(Bench& bench, std::int64_t rows, std::int64_t columns, Frame frame = Frame::random)
      : bench_(&bench), rows_(rows), columns_(columns) {
    const bool aligned = frame == Frame::aligned || bench.below(4) == 0;
    const std::int64_t above = aligned ? 64 : bench.below(6);
    const std::int64_t side = 1 + bench.below(2);
    ld_ = above + rows + bench.below(9);
    if (aligned) ld_ = (ld_ + 63) / 64 * 64;
    if (ld_ == 0) ld_ = 1;
    offset_ = side * ld_ + above;
    host_.resize(static_cast<std::size_t>(ld_ * (columns + 2 * side)));
    poison();
    memory_ = bench.device->allocate(std::ssize(host_) * std::int64_t{sizeof(T)});
    put();
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t ld() const { return ld_; }

  /// The element in the host's copy, as of the last put() or get().
  T& operator()(std::int64_t i, std::int64_t j = 0) {
    return host_[static_cast<std::size_t>(offset_ + i + j * ld_)];
  }
  const T& operator()(std::int64_t i, std::int64_t j = 0) const {
    return host_[static_cast<std::size_t>(offset_ + i + j * ld_)];
  }
  template <class Value>
  void set(const Value& value) {
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) (*this)(i, j) = value(i, j);
    put();
  }
  void put() {
    bench_->device->upload(*bench_->queue, host_, memory_.template as<T>());
    sent_ = host_;
  }
  void get() { bench_->device->download(*bench_->queue, memory_.template as<T>(), host_); }
  /// Calls get() and returns whether nothing was written to the frame.
  bool frame_intact() {
    get();
    std::vector<T> frame = host_;
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) {
        const auto at = static_cast<std::size_t>(offset_ + i + j * ld_);
        frame[at] = sent_[at];
      }
    return std::memcmp(frame.data(), sent_.data(), frame.size() * sizeof(T)) == 0;
  }
  /// Calls get() and returns whether all bits are as put() sent them.
  bool unchanged() {
    get();
    return std::memcmp(host_.data(), sent_.data(), host_.size() * sizeof(T)) == 0;
  }

  /// The first element in device memory.
  T* data() const { return memory_.template as<T>() + offset_; }
  MatrixView<T> view() const { return {data(), rows_, columns_, ld_}; }

  Plain plain() const {
    Plain all(rows_, columns_);
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) all(i, j) = static_cast<double>((*this)(i, j));
    return all;
  }

 private:
  void poison() {
    std::memset(reinterpret_cast<std::byte*>(host_.data()), 0xff, host_.size() * sizeof(T));
  }

  Bench* bench_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t ld_ = 0;
  std::int64_t offset_ = 0;
  std::vector<T> host_;
  std::vector<T> sent_;
  Buffer memory_;
};

using Floats = DeviceMatrix<float>;
using Doubles = DeviceMatrix<double>;

template <class T>
DeviceMatrix<T> uniform(Bench& b, std::int64_t rows, std::int64_t columns, T size = 1,
                        Frame frame = Frame::random) {
  DeviceMatrix<T> a(b, rows, columns, frame);
  std::uniform_real_distribution<T> entry(-size, size);
  a.set([&](std::int64_t, std::int64_t) { return entry(b.random); });
  return a;
}

inline Floats uniform_matrix(Bench& b, std::int64_t rows, std::int64_t columns, float size = 1) {
  return uniform<float>(b, rows, columns, size);
}

inline Doubles uniform_vector(Bench& b, std::int64_t n, double size = 1) {
  return uniform<double>(b, n, 1, size);
}

/// A vector in device memory, with a frame around it.
template <class T>
DeviceMatrix<T> vector_of(Bench& b, const std::vector<T>& values) {
  DeviceMatrix<T> x(b, std::ssize(values), 1);
  x.set([&](std::int64_t i, std::int64_t) { return values[static_cast<std::size_t>(i)]; });
  return x;
}

/// The FactorStatus of a factorization in device memory.
class Status {
 public:
  explicit Status(Bench& b) : memory_(b, 1, 1) {
    memory_.set([](std::int64_t, std::int64_t) { return FactorStatus{}; });
  }
  FactorStatus* data() const { return memory_.data(); }
  FactorStatus get() {
    memory_.get();
    return memory_(0);
  }

 private:
  DeviceMatrix<FactorStatus> memory_;
};

/// A matrix in the precision of an update, with its PanelControl. Both are NaN until they are set.
class Low {
 public:
  Low(Bench& b, Precision precision, std::int64_t rows, std::int64_t columns,
      Frame frame = Frame::random)
      : precision_(precision),
        rows_(rows),
        columns_(columns),
        control_(b, 1, 1),
        halves_(b, bytes_of(precision) / planes_of(precision) == 2 ? rows : 0,
                columns * planes_of(precision), frame),
        floats_(b, precision == Precision::fp32 ? rows : 0, columns, frame),
        doubles_(b, precision == Precision::fp64 ? rows : 0, columns, frame) {}

  AnyMatrix view() const {
    if (precision_ == Precision::fp64) return doubles_.view();
    if (precision_ == Precision::fp32) return floats_.view();
    return {precision_, reinterpret_cast<std::byte*>(halves_.data()), rows_, columns_,
            halves_.ld()};
  }
  PanelControl* control() const { return control_.data(); }
  double scale() const { return control_(0).scale; }
  void set_scale(double scale) {
    control_.set([scale](std::int64_t, std::int64_t) { return PanelControl{scale}; });
  }
  /// Sets the elements to scale * value(i, j), rounded on the host.
  template <class Value>
  void set(double scale, const Value& value) {
    set_scale(scale);
    const auto exact = [&](std::int64_t i, std::int64_t j) {
      return scale * static_cast<double>(value(i, j));
    };
    const auto scaled = [&](std::int64_t i, std::int64_t j) {
      return static_cast<float>(exact(i, j));
    };
    doubles_.set(exact);
    floats_.set(scaled);
    halves_.set([&](std::int64_t i, std::int64_t j) { return bits_from(scaled, i, j); });
  }
  bool frame_intact() {
    control_.get();
    return halves_.frame_intact() && floats_.frame_intact() && doubles_.frame_intact();
  }
  bool unchanged() {
    return control_.unchanged() && halves_.unchanged() && floats_.unchanged() &&
           doubles_.unchanged();
  }
  /// The element as it is stored, from the host's copy.
  double stored(std::int64_t i, std::int64_t j) const {
    if (precision_ == Precision::fp64) return doubles_(i, j);
    if (precision_ == Precision::fp32) return static_cast<double>(floats_(i, j));
    if (precision_ == Precision::fp16x3)
      return static_cast<double>(to_float(Half{halves_(i, 2 * j)})) +
             0x1p-11 * static_cast<double>(to_float(Half{halves_(i, 2 * j + 1)}));
    return static_cast<double>(precision_ == Precision::fp16 ? to_float(Half{halves_(i, j)})
                                                             : to_float(Bfloat16{halves_(i, j)}));
  }
  /// The number of 16-bit parts that are not those of value(i, j), an FP32 number.
  template <class Value>
  std::int64_t wrong_parts(const Value& value) const {
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < halves_.columns(); ++j)
      for (std::int64_t i = 0; i < halves_.rows(); ++i)
        wrong += halves_(i, j) != bits_from(value, i, j);
    return wrong;
  }
  /// The values that the elements represent: divided by the scale.
  Plain plain() const {
    Plain all(rows_, columns_);
    for (std::int64_t j = 0; j < all.columns; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) all(i, j) = stored(i, j) / scale();
    return all;
  }

 private:
  // Element (i, j) of halves_, in which each column of an FP16x3 matrix is two: high and low parts.
  template <class Value>
  std::uint16_t bits_from(const Value& value, std::int64_t i, std::int64_t j) const {
    if (precision_ == Precision::bf16) return to_bfloat16(value(i, j)).bits;
    if (precision_ == Precision::fp16) return to_half(value(i, j)).bits;
    const HalfPair pair = to_half_pair(value(i, j / 2));
    return j % 2 == 0 ? pair.high.bits : pair.low.bits;
  }

  Precision precision_;
  std::int64_t rows_;
  std::int64_t columns_;
  DeviceMatrix<PanelControl> control_;
  DeviceMatrix<std::uint16_t> halves_;
  Floats floats_;
  Doubles doubles_;
};

inline Plain transposed(const Plain& a) {
  Plain result(a.columns, a.rows);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) result(j, i) = a(i, j);
  return result;
}
inline Plain apply(Transpose transpose, const Plain& a) {
  return transpose == Transpose::yes ? transposed(a) : a;
}
inline constexpr std::array transposes{Transpose::no, Transpose::yes};
/// A few vectors, and many.
inline constexpr std::array<std::int64_t, 4> vector_counts{1, 3, Device::few_vectors,
                                                           Device::few_vectors + 1};

/// The largest |error_ij| / bound_ij; infinite where anything is NaN.
template <class Error, class Bound>
double worst_share(std::int64_t rows, std::int64_t columns, const Error& error,
                   const Bound& bound) {
  double worst = 0;
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) {
      const double e = std::fabs(error(i, j));
      if (e == 0) continue;
      const double share = e / bound(i, j);
      worst = std::isfinite(share) ? std::max(worst, share) : HUGE_VAL;
    }
  return worst;
}

/// A diagonal block as the solves read it, with the L\U that it represents.
template <class T>
struct FactoredIn {
  DeviceMatrix<T> block;
  Square lu;
  double condition;  ///< of the triangles whose inverses the block holds; 1 if it holds none
};
using Factored = FactoredIn<float>;

/// A random matrix with a diagonal that is large enough to factor without pivoting.
inline Floats safe_matrix(Bench& b, std::int64_t n) {
  Floats a = uniform_matrix(b, n, n);
  const float shift = 2 * std::sqrt(static_cast<float>(n));
  a.set([&](std::int64_t i, std::int64_t j) { return a(i, j) + (i == j ? shift : 0.0f); });
  return a;
}

template <class T>
Square square(const DeviceMatrix<T>& a) {
  Square all(a.rows());
  all.data = a.plain().data;
  return all;
}

/// Random L\U of a moderate condition number with |l_ij| <= 1, as pivoting gives it.
template <class T>
DeviceMatrix<T> plain_factors(Bench& b, std::int64_t n) {
  DeviceMatrix<T> lu = uniform<T>(b, n, n);
  const T small = std::min(T{1}, 2 / std::sqrt(static_cast<T>(n)));
  lu.set([&](std::int64_t i, std::int64_t j) {
    return i == j ? lu(i, j) + (lu(i, j) < 0 ? T{-1} : T{1}) : small * lu(i, j);
  });
  return lu;
}

/// Factors `a` on the device.
inline Factored factored(Bench& b, Floats a) {
  Status status(b);
  b.device->factor_diagonal(*b.queue, a.view(), 0, status.data());
  REQUIRE(status.get().bad_pivot == -1);
  REQUIRE(a.frame_intact());
  Square lu = square(a);
  const double condition = undo_inverses(lu, 0, lu.n, b.device->inverted_order(Precision::fp32));
  a.put();
  return {std::move(a), std::move(lu), condition};
}

}  // namespace speedwell::test
