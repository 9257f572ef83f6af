// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products of many numbers as mantissa and exponent.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>

namespace speedwell {

/// A product of finite numbers, mantissa 2^exponent, which neither overflows nor underflows. It is
/// exact for powers of two, and otherwise has a relative error of at most eps for each real factor
/// and 2 eps for each complex one (C.-P. Jeannerod, P. Kornerup, N. Louvet, J.-M. Muller, "Error
/// bounds on complex floating-point multiplication with an FMA", Math. Comp. 86, 2017).
class PivotProduct {
 public:
  /// The larger part has a magnitude in [1/2, 1), unless the product is 0.
  std::complex<double> mantissa() const { return mantissa_; }
  std::int64_t exponent() const { return exponent_; }

  void multiply(double z) {
    int exponent = 0;
    const double m = std::frexp(z, &exponent);
    set(mantissa_ * m, exponent);
  }
  void multiply(std::complex<double> z) {
    int exponent = 0;
    std::frexp(std::max(std::fabs(z.real()), std::fabs(z.imag())), &exponent);
    const double c = std::ldexp(z.real(), -exponent);
    const double d = std::ldexp(z.imag(), -exponent);
    const double a = mantissa_.real();
    const double b = mantissa_.imag();
    set({std::fma(a, c, -(b * d)), std::fma(a, d, b * c)}, exponent);
  }
  void multiply(std::complex<double> mantissa, std::int64_t exponent) {
    multiply(mantissa);
    scale(exponent);
  }
  /// Multiplies by 2^exponent.
  void scale(std::int64_t exponent) { exponent_ += exponent; }
  void negate() { mantissa_ = -mantissa_; }

  /// The product divided by its magnitude: exactly 1 or -1 of real factors; 0 of a product 0.
  std::complex<double> sign() const;
  /// ln of its magnitude, to the last digits also where it is near 0 or the exponent is large;
  /// -infinity of a product 0.
  double log_magnitude() const;

 private:
  // The product of two mantissas: its larger part is 0, or between 1/8 and 2.
  void set(std::complex<double> product, int exponent) {
    exponent_ += exponent;
    const double larger = std::max(std::fabs(product.real()), std::fabs(product.imag()));
    const std::size_t place = larger == 0     ? 1
                              : larger < 0.25 ? 3
                              : larger < 0.5  ? 2
                              : larger < 1    ? 1
                                              : 0;
    constexpr std::array powers{0.5, 1.0, 2.0, 4.0};
    mantissa_ = product * powers[place];
    exponent_ += 1 - static_cast<int>(place);
  }

  std::complex<double> mantissa_{0.5};
  std::int64_t exponent_ = 1;
};

}  // namespace speedwell
