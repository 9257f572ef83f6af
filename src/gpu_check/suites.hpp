// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Runs all of Speedwell's tests on this GPU.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace speedwell::gpu_check {

class Suites {
 public:
  explicit Suites(Session& session) : session_(session), o_(session.options()) {}
  void device();
  void mpi();
  void accuracy();
  /// Tests of users' own systems.
  void systems();
  void sanitizers();
  /// Compares sampled entries of a product that spans 2^31 elements with sums in FP64.
  void big();
  /// Profiles the kernels of one step of the factorization.
  void profile();

 private:
  std::vector<std::string> ranks(int count, const std::string& program);
  void on_ranks(const std::string& step, const std::string& what, const std::string& program,
                int count, const std::string& filter = "");
  /// Runs a program under a tool of compute-sanitizer. Returns false if this machine does not allow
  /// it.
  /// @param later programs that are to have as much time as this one
  bool sanitize(const std::string& program, const std::string& tool,
                const std::vector<std::string>& small, int later);
  std::string filter_of_small_tests();

  Session& session_;
  const Options& o_;
  std::vector<std::string> mpirun_;  ///< command with its options; empty: not known yet
};

}  // namespace speedwell::gpu_check
