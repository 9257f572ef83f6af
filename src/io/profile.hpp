// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The profile: one file with the tunings that `speedwell tune` found on all of a user's machines,
/// and the rates that runs measured there.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "core/tuning.hpp"

namespace speedwell {

/// The conditions for which a tuning was found, without the order of the matrix.
struct ProfileKey {
  std::string device;  ///< Device::description() of rank 0: model, threads, BLAS, instructions
  Benchmark benchmark = Benchmark::mxp;
  Precision precision = Precision::fp16;  ///< resolved
  Pivoting pivoting = Pivoting::none;
  int nprow = 1;  ///< rows of the process grid
  int npcol = 1;  ///< columns of the process grid

  bool operator==(const ProfileKey&) const = default;
};

struct ProfileEntry {
  ProfileKey key;
  std::int64_t n = 1;  ///< order of the matrix with which it was measured, >= 1
  Tuning tuning;
  double gflops = 0;          ///< rate of the first steps with this tuning
  double default_gflops = 0;  ///< rate of the first steps with the tuning of the table of defaults
  std::string date;           ///< UTC, "2026-11-21T18:00:00Z"
  std::string revision;       ///< of Speedwell
};

/// The rate of a device's updates, measured alone.
struct ProfileRate {
  std::string device;  ///< Device::description()
  Precision precision = Precision::fp16;
  std::int64_t order = 0;  ///< rows of the products that were measured
  double gflops = 0;       ///< of one rank
  std::string date;        ///< UTC
  std::string revision;    ///< of Speedwell

  bool operator==(const ProfileRate&) const = default;
};

class Profile {
 public:
  /// The entry for a matrix of order n. Of the entries with this key and an order from n / 4 to 2 n
  /// it is the one whose order is nearest to n by ratio; null if there is none.
  const ProfileEntry* find(const ProfileKey& key, std::int64_t n) const;
  /// Adds an entry, in place of those with the same key and an order between the same powers of two
  /// (same floor(log2 n)).
  void put(const ProfileEntry& entry);
  const std::vector<ProfileEntry>& entries() const { return entries_; }
  /// Adds a rate, in place of those of the same device and precision up to its order: it serves for
  /// smaller problems too, and is the newer one.
  void put(const ProfileRate& rate);
  const std::vector<ProfileRate>& rates() const { return rates_; }

 private:
  std::vector<ProfileEntry> entries_;
  std::vector<ProfileRate> rates_;
};

/// Reads the content of a profile; `path` is its name in messages.
/// @throws UsageError, one line, if it is damaged or of a newer Speedwell
Profile parse_profile(const std::string& content, const std::string& path);

/// The text of the file; empty if there is no such file. @throws UsageError if it cannot be read
std::string profile_text(const std::string& path);

/// The profile in the file; empty if there is no such file.
/// @throws UsageError if the file cannot be read, is damaged, or is of a newer Speedwell
Profile read_profile(const std::string& path);

/// Adds an entry, or rates, to the file as Profile::put() does. Readers see the old file or the new
/// one.
/// @throws UsageError as read_profile(), before anything is written; Fault if the file cannot be
///         written
void add_to_profile(const std::string& path, const ProfileEntry& entry);
void add_to_profile(const std::string& path, const std::vector<ProfileRate>& rates);

}  // namespace speedwell
