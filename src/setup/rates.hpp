// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The rates of a machine's updates, by which precisions and block sizes are chosen. They are
/// measured: instruction flags do not tell how fast an instruction is.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/profile.hpp"
#include "setup/machine.hpp"

namespace speedwell {

/// Where a rate comes from.
enum class RateOrigin {
  measured,    ///< in this process
  remembered,  ///< in an earlier process, by the profile
  paper,       ///< of a simulated machine: what its file says
  assumed      ///< not measured, since the problem is too small for a measurement to pay
};

/// The rate of updates in one precision.
struct Rate {
  Precision precision = Precision::fp32;
  double flops = 0;  ///< flop/s of all ranks together, each at the rate of the slowest
  RateOrigin origin = RateOrigin::assumed;
  std::string date{};  ///< of a remembered rate: UTC, "2026-11-22T10:00:00Z"
  std::string word{};  ///< of a simulated rate: "measured" or the like, as its machine file says
};

/// The rates of a machine, equal on every rank.
class Rates {
 public:
  Rates() = default;
  explicit Rates(std::vector<Rate> all) : all_(std::move(all)) {}
  const std::vector<Rate>& all() const { return all_; }
  /// Flop/s; 0 where it is not known.
  double of(Precision precision) const;
  /// Flop/s; 0 where it is not known, or assumed alone.
  double measured(Precision precision) const;
  /// The precision with the highest rate; within a factor of `nearly` of it, the most accurate one.
  /// @pre there is a rate
  Precision fastest(double nearly = 1.03) const;
  /// The same for an HPL-MxP of order n on devices of this kind, by the time of its updates and of
  /// the corrections that the precision needs: FP32 one, FP16 two, BF16 three.
  Precision fastest_benchmark(DeviceKind device, std::int64_t n) const;
  /// The rates of these precisions alone.
  Rates among(std::span<const Precision> precisions) const;
  /// The rates in words, those of `chosen` first: "304 GFLOP/s; bf16 162, fp32 307 (measured)".
  std::string text(Precision chosen) const;

 private:
  std::vector<Rate> all_;
};

/// The rates of the updates of a matrix of order n. Rates that not every rank knows are measured by
/// all ranks at the same time, which takes a few tens of milliseconds, and are known to this
/// process from then on. Where n is too small for that, rates that are not known are assumed.
/// Collective.
/// @param precisions not `automatic`
/// @throws AgreedFault where a device fails
Rates update_rates(const Machine& machine, std::span<const Precision> precisions, std::int64_t n);

/// Makes a rate known to this process, in place of one for the same device, precision and order. A
/// rate of order 0 stands for all orders. Used for the profile's rates, and by tests.
void remember(const ProfileRate& rate);
/// The rates that this process has measured itself, without those on which no two rounds agreed:
/// other programs may have disturbed them.
std::vector<ProfileRate> measured_rates();
/// Forgets all rates.
void forget_rates();

}  // namespace speedwell
