// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a caller may choose, with defaults. Names are those of HPL and HPL-MxP.
#pragma once

#include <lupine/export.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lupine {

/// What a run measures: HPL-MxP (16-bit LU, refined), or HPL (FP64 LU with partial pivoting).
enum class Benchmark { mxp, hpl };

/// What the trailing update's product reads. Sums and factors are FP64 for fp64, else FP32.
enum class Precision { automatic, fp16, bf16, fp32, fp64 };

/// How rows are chosen: as they come, or by the largest magnitude of each column, of equal ones
/// that with the lowest index.
enum class Pivoting { none, partial };

/// The matrix to solve with; formulas in kernels/element/matrix_spec.hpp.
enum class MatrixKind { scaled_diagonal, fasi_higham, dominant, hpl };

/// Rank numbering over the process grid, as HPL.dat's PMAP.
enum class GridOrder { row, column };

/// How the FP64 solution is recovered from the low-precision factors.
enum class RefineMethod { automatic, ir, gmres };

/// How a panel travels along a process row or column: MPI_Ibcast or one of HPL's six, whose "long"
/// is spread_roll. In the modified ones the next rank gets the panel first and passes nothing on.
enum class BroadcastMethod {
  ibcast,
  ring,
  ring_modified,
  two_ring,
  two_ring_modified,
  spread_roll,
  spread_roll_modified
};

/// Where the dense operations run.
enum class DeviceKind { automatic, cpu, cuda };

/// How panels travel between the devices of ranks: by NCCL, by an MPI that is given the device's
/// addresses, or by MPI through host memory.
enum class CommMethod { automatic, nccl, mpi, staged };

/// Names as used on the command line and in reports, and back. `parse` knows aliases too (such as
/// "FP16" or "2" for Precision::fp16) and returns nothing for an unknown name.
LUPINE_API std::string_view name(Benchmark);
LUPINE_API std::string_view name(Precision);
LUPINE_API std::string_view name(Pivoting);
LUPINE_API std::string_view name(MatrixKind);
LUPINE_API std::string_view name(GridOrder);
LUPINE_API std::string_view name(RefineMethod);
LUPINE_API std::string_view name(BroadcastMethod);
LUPINE_API std::string_view name(DeviceKind);
LUPINE_API std::string_view name(CommMethod);
template <class Enum>
LUPINE_API std::optional<Enum> parse(std::string_view text);
/// The names that `parse<Enum>` accepts, for messages: "auto, fp16, bf16, fp32".
template <class Enum>
LUPINE_API std::string allowed_names();

/// On what a run computes, and how its matrix is cut and travels, whatever its problem is. Zero,
/// where it is not a meaning of its own, stands for "choose".
struct RunOptions {
  std::int64_t nb = 0;  ///< block size of the distribution; 0: by device, precision and size
  GridOrder order = GridOrder::row;
  int nprow = 0;       ///< P, rows of the process grid; 0: the squarest grid
  int npcol = 0;       ///< Q, columns of the process grid
  int lookahead = -1;  ///< panels factored ahead of the trailing update; -1: as nb
  BroadcastMethod broadcast = BroadcastMethod::ring_modified;
  std::int64_t chunk = 0;  ///< columns exchanged, solved for and updated at a time; 0: as nb
  DeviceKind device = DeviceKind::automatic;  ///< automatic: GPUs if every rank has one
  CommMethod comm = CommMethod::automatic;    ///< automatic: the fastest that serves here
  std::vector<int> gpus{};  ///< ordinals by node-local rank, in turn; none: all that there are
  int reserve = -1;         ///< multiprocessors that updates leave to panels; -1: by work
  int threads = 0;          ///< threads a rank; 0: this rank's share of the cores it may use
  /// Seconds that a rank may wait for others or its GPU: then one line on standard error says for
  /// whom, and all ranks of the job are ended with status 3. 0: for ever. What the caller takes to
  /// hand over A and b does not count.
  double stall_timeout = 0;
};

/// Options of a benchmark's run. Zero, where it is not a meaning of its own, stands for "choose".
struct BenchmarkOptions {
  RunOptions run;
  Benchmark benchmark = Benchmark::mxp;
  std::int64_t n = 0;  ///< order of A; 0: the largest that fits memory_fraction
  Precision precision = Precision::automatic;
  Pivoting pivoting = Pivoting::none;  ///< of HPL-MxP; HPL always has partial
  int leaf = 0;   ///< columns at which a pivoted panel's recursion ends (HPL: NBMIN); 0: by device
  int parts = 2;  ///< that it divides a panel into (HPL: NDIV), >= 2
  MatrixKind matrix = MatrixKind::scaled_diagonal;  ///< of HPL-MxP; HPL always has hpl
  double kappa = 1000;     ///< fasi-higham: infinity-norm condition number, > 1
  double rho = 0.5;        ///< fasi-higham: alpha / beta, in (0, 1]
  std::uint64_t seed = 1;  ///< of the random stream of A; b takes seed + 1
  RefineMethod refine = RefineMethod::automatic;
  int max_iterations = 50;     ///< corrections allowed; the benchmark's rules allow 50
  double threshold = 16;       ///< of the scaled residual; <= 0: it is not checked
  double memory_fraction = 0;  ///< of the free memory, when n is chosen; 0: by device
  double time_target = 0;      ///< seconds; > 0 bounds a chosen n by a short timing of the update
};

/// Options of a solution. Zero, where it is not a meaning of its own, stands for "choose".
struct SolveOptions {
  RunOptions run;  ///< a descriptor's block size wins over run.nb
  /// automatic: the fastest 16-bit precision, then FP32, then FP64. Any other: that step alone.
  Precision precision = Precision::automatic;
  RefineMethod refine = RefineMethod::automatic;
  /// Componentwise backward error that x must have, and at which the refinement ends. 0: it must
  /// have max(4, sqrt(n)) 2^-53, and the refinement goes on while it gains.
  double tolerance = 0;
  int max_iterations = 50;  ///< corrections of one right-hand side in one step
  bool equilibrate = true;  ///< scale rows and columns by powers of two
  bool condition = true;    ///< estimate the condition number and bound the forward errors
};

}  // namespace lupine
