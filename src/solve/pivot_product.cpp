// SPDX-License-Identifier: BSD-3-Clause
#include "solve/pivot_product.hpp"

#include <limits>
#include <numbers>

namespace speedwell {

std::complex<double> PivotProduct::sign() const {
  if (mantissa_ == 0.0) return 0;
  if (mantissa_.imag() == 0) return std::copysign(1.0, mantissa_.real());
  if (mantissa_.real() == 0) return {0, std::copysign(1.0, mantissa_.imag())};
  return mantissa_ / std::abs(mantissa_);
}

double PivotProduct::log_magnitude() const {
  // ln 2 in FP64, and what it lacks.
  constexpr double ln2 = std::numbers::ln2;
  constexpr double rest = 2.3190468138462996e-17;
  if (mantissa_ == 0.0) return -std::numeric_limits<double>::infinity();
  // A magnitude near 1: then e ln 2 is at least twice as large as its logarithm, or 0.
  const bool is_real = mantissa_.imag() == 0;
  const double magnitude = is_real ? std::fabs(mantissa_.real()) : std::abs(mantissa_);
  const int shift = magnitude < 1 / std::numbers::sqrt2 ? 1 : 0;
  const double of_mantissa = is_real ? std::log(std::ldexp(magnitude, shift))
                                     : std::log(std::ldexp(1.0, shift) * mantissa_).real();
  const auto e = static_cast<double>(exponent_ - shift);
  return std::fma(e, ln2, std::fma(e, rest, of_mantissa));
}

}  // namespace speedwell
