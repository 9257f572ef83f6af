// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A system of `speedwell compare`, solved by LAPACK.
#pragma once

#include <speedwell/options.hpp>

#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/comparison.hpp"
#include "core/run_context.hpp"
#include "core/scalar.hpp"
#include "host/lapack.hpp"

namespace speedwell {

/// Bytes that this process may allocate beside the buffers of OpenBLAS, which asks for them again
/// and again, without end, where it cannot have them.
double free_bytes();
/// Bytes that a run of the driver with `rhs` right-hand sides needs: A and b, which it overwrites,
/// and workspace.
double lapack_bytes(LapackDriver driver, std::int64_t n, std::int64_t rhs,
                    Field field = Field::real);
/// Why lapack_run() cannot run where `free` bytes of memory are free; empty if it can.
std::string lapack_obstacle(LapackDriver driver, std::int64_t n, std::int64_t rhs, double free,
                            Field field = Field::real);

/// LAPACK's solver, which takes part: rank 0 alone with `threads` threads, or skipped where rank 0
/// has not enough memory. Collective. @pre it is one of LAPACK's
ComparedSolver lapack_entry(const Communicator& world, SolverKind solver, std::int64_t n,
                            std::int64_t rhs, int threads, Field field = Field::real);

/// A system A x = b with one or several columns of b, of which the process that has it can make A
/// and b, and judge an x.
struct DenseSystem {
  std::int64_t n = 0;
  std::int64_t rhs = 1;  ///< columns of b
  Field field = Field::real;
  double threshold = 16;  ///< of the scaled residual; 0 or less: no check
  /// Whether a dsgesv that gave its FP32 factors up, and factored again in FP64, has passed.
  bool may_fall_back = false;
  /// a <- A, and b, n x rhs, column-major; of complex elements two numbers under each other.
  std::function<void(MatrixView<double>)> fill{};
  std::function<std::vector<double>()> right_hand_sides{};
  /// The scaled residual of x (of several columns: the largest), from A and b generated again.
  std::function<double(const std::vector<double>&)> residual{};
  /// The numbers of x where it is known, 1 and -1: its error is then measured in the place of the
  /// residual.
  std::vector<double> solution{};

  /// Rows of numbers of A in memory.
  std::int64_t rows() const { return parts_of(field) * n; }
  /// Stores the error or the residual of x in the turn, which fails if the residual is too large.
  /// @param x empty: there is none
  void judge(const std::vector<double>& x, Turn& turn) const;
};

/// Solves the system with LAPACK on this rank alone. The turn's time is that of the solver; memory
/// is allocated and A is filled before. The solver is the run's stage of factorization.
/// @throws Fault where memory is short
Turn lapack_run(LapackDriver driver, const DenseSystem& system, int threads, const RunContext& run);

/// max |x_i - x*_i|, which is relative where the numbers of x* are 1 and -1; infinity where x is
/// not finite. Of complex elements each part counts alone. @pre both have equally many numbers
double largest_error(std::span<const double> x, std::span<const double> solution);

/// The text of Turn::failure for a scaled residual that is not below the threshold; empty if it is
/// below, or if the threshold is 0 or less, which means no check.
std::string residual_failure(double scaled_residual, double threshold);

}  // namespace speedwell
