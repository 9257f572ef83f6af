// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Complex numbers in kernels: a thread loads and stores both parts at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/scalar.hpp"
#include "element/element.hpp"
#include "element/rounding.hpp"

namespace speedwell::cuda {

/// Aligned as cuBLAS asks of complex matrices.
template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re;
  T im;
};

/// Calls `use` with `m` as a MatrixView of float, double, or Complex of one of them, whichever `m`
/// stores. @pre m.precision is fp32 or fp64; complex elements are aligned to their size
template <class Byte, class Use>
decltype(auto) with_scalars(const AnyView<Byte>& m, const Use& use) {
  if (m.field == Field::real) return with_storage(m, use);
  SPEEDWELL_EXPECTS(m.precision == Precision::fp64 || m.precision == Precision::fp32);
  SPEEDWELL_EXPECTS(reinterpret_cast<std::uintptr_t>(m.data) % m.element_bytes() == 0);
  return m.precision == Precision::fp64 ? use(elements_of<Complex<double>>(m))
                                        : use(elements_of<Complex<float>>(m));
}

template <class T>
__device__ Complex<T> operator*(Complex<T> z, T factor) {
  return {z.re * factor, z.im * factor};
}

/// The magnitude by which pivots are chosen: |re| + |im| of a complex number, as in LAPACK.
template <class T>
__device__ T pivot_magnitude(T value) {
  return fabs(value);
}
template <class T>
__device__ T pivot_magnitude(Complex<T> z) {
  return fabs(z.re) + fabs(z.im);
}

/// c - a b
template <class T>
__device__ T minus_product(T c, T a, T b) {
  return fma(-a, b, c);
}
template <class T>
__device__ Complex<T> minus_product(Complex<T> c, Complex<T> a, Complex<T> b) {
  return {fma(-a.re, b.re, fma(a.im, b.im, c.re)), fma(-a.re, b.im, fma(-a.im, b.re, c.im))};
}

/// A number by which others are divided.
template <class T>
class Divisor {
 public:
  __device__ explicit Divisor(T value) : value_(value) {}
  __device__ bool is_zero() const { return value_ == 0; }
  __device__ T quotient(T of) const { return of / value_; }

 private:
  T value_;
};

/// Scaled by a power of two near the inverse of its size, so that nothing overflows or vanishes
/// that the quotient does not.
template <class T>
class Divisor<Complex<T>> {
 public:
  __device__ explicit Divisor(Complex<T> value)
      : scale_(power_for(value)),
        re_(value.re * scale_),
        im_(value.im * scale_),
        square_(fma(re_, re_, im_ * im_)) {}
  __device__ bool is_zero() const { return square_ == 0; }
  __device__ Complex<T> quotient(Complex<T> of) const {
    const Complex<T> z = of * scale_;
    return {fma(z.re, re_, z.im * im_) / square_, fma(z.im, re_, -(z.re * im_)) / square_};
  }

 private:
  __device__ static T power_for(Complex<T> value) {
    constexpr int most = sizeof(T) == sizeof(float) ? 126 : 1022;
    const double size =
        fmax(fabs(static_cast<double>(value.re)), fabs(static_cast<double>(value.im)));
    const int e = static_cast<int>(__builtin_bit_cast(std::uint64_t, size) >> 52) - 1023;
    return static_cast<T>(power_of_two(e > 1022 ? -1022 : e < -most ? most : -e));
  }

  T scale_;
  T re_;
  T im_;
  T square_;
};

}  // namespace speedwell::cuda
