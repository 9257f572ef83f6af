// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Measures how fast Speedwell is on this GPU, what the GPU can do at most, how fast cuSOLVER is,
/// and the machine file for `speedwell predict`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session.hpp"

namespace speedwell::gpu_check {

class Measurements {
 public:
  explicit Measurements(Session& session) : session_(session), o_(session.options()) {}
  void smoke();
  void sizes();
  void ceilings();
  void kernels();
  void hpl();
  void first_steps();
  void cusolver();
  void machine();

 private:
  /// The lines of a program, each with the GPU's clocks while it was measured.
  nlohmann::ordered_json lines_with_clocks(const Outcome& outcome) const;
  /// One run of `speedwell mxp` or `speedwell hpl`.
  struct Run {
    std::string step;  ///< also the name of the benchmark, such as "mxp"
    std::string name;
    std::int64_t n = 0;                   ///< 0: the largest that fits
    std::vector<std::string> words = {};  ///< further options
    std::string trace = {};  ///< name of the trace's file in the folder; empty: no trace
    double limit = 120;
    double reserve = 0;
    double least = 10;
    bool may_not_fit = true;
    bool must_end = false;
  };
  /// @return its report with the GPU's clocks during it; null unless it passed
  nlohmann::ordered_json benchmark(const Run& run);
  /// The report with the GPU's clocks during its timed part.
  nlohmann::ordered_json with_clocks(nlohmann::ordered_json report) const;
  /// Times the first steps of a run of order n. @return its report; null unless it passed
  nlohmann::ordered_json time_first_steps(const std::string& name,
                                          const std::vector<std::string>& words, double seconds);
  nlohmann::ordered_json solve(const std::string& method, std::int64_t n, double limit);
  /// The least time that is worth starting a program: `seconds`, or 1 in a trial.
  double least(double seconds) const { return o_.trial ? 1 : seconds; }

  Session& session_;
  const Options& o_;
  std::int64_t largest_ = 0;  ///< n of the largest run of HPL-MxP; 0: none passed
  std::int64_t nb_ = 0;       ///< block size of that run
  std::int64_t chunk_ = 0;    ///< chunk of that run
};

}  // namespace speedwell::gpu_check
