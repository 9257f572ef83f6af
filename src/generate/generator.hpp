/// @file
/// From the benchmark's names and parameters to a MatrixSpec.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "element/matrix_spec.hpp"

namespace lupine {

/// ||A^-1||_inf of the Fasi-Higham matrix = max{ (1+alpha) [1/(1+alpha) + beta (1-r^(n-1))/(1-r)],
/// (1+alpha)^(n-1) }, r = (1+alpha)(1+beta). May overflow to infinity.
double fasi_higham_inverse_norm(std::int64_t n, double alpha, double beta);
/// ||A||_inf of the same, in closed form.
double fasi_higham_norm(std::int64_t n, double alpha, double beta);
/// beta with ||A|| ||A^-1|| = kappa, alpha = rho beta. @pre kappa > 1, 0 < rho <= 1, n >= 1.
double fasi_higham_beta(std::int64_t n, double kappa, double rho);

/// A spec together with the diagonal that `dominant` needs.
class Generator {
 public:
  /// Collective. @pre n and the options that apply are in range.
  Generator(const MxpOptions& options, const Communicator& all);
  const MatrixSpec& spec() const { return spec_; }

 private:
  std::vector<double> diagonal_;
  MatrixSpec spec_;
};

}  // namespace lupine
