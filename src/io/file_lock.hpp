// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A file that several jobs change.
#pragma once

#include <string>

namespace speedwell {

/// The right to read a file, change what was read and replace the file, which one process has at a
/// time, on all nodes of a shared disk. It is a lock of a file ".<name>.lock" beside it, which
/// stays there: to remove it would be a race. Where the disk knows no locks, nothing is locked.
class FileLock {
 public:
  /// Waits for another process that has the lock.
  /// @param patience seconds @throws UsageError that names the path, where that takes longer, or
  ///        where the folder cannot be written
  explicit FileLock(const std::string& path, double patience = 30);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_;
};

}  // namespace speedwell
