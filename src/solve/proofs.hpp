// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What is asked of the accuracy of x, and what a Certificate's proofs mean for it. Formulas:
/// docs/numerics.md, section 4.7.
#pragma once

#include <speedwell/solution.hpp>

#include <span>
#include <string>
#include <vector>

#include "refine/certificate.hpp"
#include "setup/rates.hpp"
#include "solve/answers.hpp"

namespace speedwell {

/// What Accuracy::automatic stands for. @throws UsageError for `forward` and `certified` on a
/// device that cannot compute residuals in twice FP64's precision
Accuracy accuracy_on(const Device& device, Accuracy asked);

/// What a proof for a matrix is expected to cost. @param whole Certificate::is_whole()
/// @param rates those that are assumed tell no time
SolveProof announced_proof(std::int64_t n, Field field, Precision factors, bool whole,
                           const Rates& rates);

/// Why a contraction is not shown, in one line; empty if it is.
std::string why_no_proof(const Contraction& found);

/// Gives an answer its proven bounds, unless one of its numbers is too near an end of FP64's range.
/// @param y that of the scaled system, whole, of which x = C y 2^shift exactly
/// @param errors at least |y - y*| @param columns the exponents of C
void set_proven(Answer& answer, std::span<const double> y, std::span<const double> errors,
                const std::vector<int>& columns);

/// What Accuracy::certified has come to. Where an x is not proven, it loses what bounds it has, and
/// that becomes Solution::doubt, in front of what that says.
/// @param certificate of the last step; null: no x of it was to be proven
void tell_proof(Certificate* certificate, System& system, Transpose op, Solution& solution);

/// v 2^e; exact unless the result is outside of FP64's normal numbers.
double times_power(double v, int e);
/// v_i 2^(exponents_i + shift) for all i.
Vector scaled(std::span<const double> v, const std::vector<int>& exponents, int shift);

}  // namespace speedwell
