// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The profile: what `lupine tune` found on a user's machines, in one file for all of them.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "core/tuning.hpp"

namespace lupine {

/// What a tuning is for, but for the order of the matrix.
struct ProfileKey {
  std::string device;  ///< Device::description() of rank 0: model, threads, BLAS, instructions
  Benchmark benchmark = Benchmark::mxp;
  Precision precision = Precision::fp16;  ///< resolved
  Pivoting pivoting = Pivoting::none;
  int nprow = 1;  ///< of the process grid
  int npcol = 1;

  bool operator==(const ProfileKey&) const = default;
};

struct ProfileEntry {
  ProfileKey key;
  std::int64_t n = 1;  ///< the order that it was measured at, >= 1
  Tuning tuning;
  double gflops = 0;          ///< of the first steps, with this tuning
  double default_gflops = 0;  ///< of the same with the table's
  std::string date;           ///< UTC, "2026-11-21T18:00:00Z"
  std::string revision;       ///< of Lupine
};

class Profile {
 public:
  /// The entry for a matrix of order n: of those measured at an order from n / 4 to 2 n the nearest
  /// by ratio. Null if there is none.
  const ProfileEntry* find(const ProfileKey& key, std::int64_t n) const;
  /// Takes the place of the entries with its key and of its size: of an order that lies between
  /// the same powers of two.
  void put(const ProfileEntry& entry);
  const std::vector<ProfileEntry>& entries() const { return entries_; }

 private:
  std::vector<ProfileEntry> entries_;
};

/// Reads the content of a profile; `path` is its name in messages.
/// @throws UsageError, one line, if it is damaged or of a newer Lupine
Profile parse_profile(const std::string& content, const std::string& path);

/// All of the file. Empty if there is none. @throws UsageError if it cannot be read
std::string profile_text(const std::string& path);

/// What the file holds; empty if there is none. @throws UsageError as the two above
Profile read_profile(const std::string& path);

/// Puts an entry into the file, which is whole at any time; those that are there stay.
/// @throws UsageError as read_profile, before anything is written; Fault if it cannot be written
void add_to_profile(const std::string& path, const ProfileEntry& entry);

}  // namespace lupine
