// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Options of benchmarks and of solves, with their defaults. Names are those of HPL and HPL-MxP.
///
/// Every rank must give the same options: a call throws UsageError on all ranks where they differ,
/// or where a value is not allowed.
#pragma once

#include <speedwell/export.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace speedwell {

/// What a run measures.
enum class Benchmark {
  mxp,  ///< HPL-MxP: LU in low precision, refined to FP64
  hpl   ///< HPL: LU in FP64 with partial pivoting, and one solve
};

/// Update precision: what the matrix product of the trailing update reads. The factors are stored,
/// and the product is summed, in FP64 for fp64 and in FP32 for all others.
enum class Precision {
  automatic,  ///< the fastest, as measured; see also SolveOptions::precision
  fp16,       ///< IEEE 754 binary16: 11 significant bits
  bf16,       ///< bfloat16: 8 significant bits, and the range of FP32
  fp32,       ///< IEEE 754 binary32
  fp64,       ///< IEEE 754 binary64; HPL and `solve` only
  /// FP32 from three FP16 products: each operand is the sum of two FP16 numbers, 22 significant
  /// bits together
  fp16x3
};

/// How the pivot of a column is chosen.
enum class Pivoting {
  none,    ///< the diagonal entry
  partial  ///< the entry of largest magnitude; among equal ones, that of the smallest row index
};

/// The matrix A of a benchmark. Row and column indices i, j begin at 0; u is a pseudo-random number
/// in [-1/2, 1/2] from the linear congruential generator of HPL-AI. docs/numerics.md has the
/// positions in its stream, and the sources.
enum class MatrixKind {
  scaled_diagonal,  ///< a_ij = u, and a_ii = u + sqrt(n)
  /// Condition number `kappa`, which determines beta; alpha = rho beta. a_ij = alpha beta i - beta
  /// above the diagonal, alpha beta j - alpha below it, alpha beta i + 1 on it. M. Fasi,
  /// N. J. Higham, SIAM J. Matrix Anal. Appl. 42 (2021).
  fasi_higham,
  dominant,  ///< a_ij = u, and a_ii is the sum of the other magnitudes of row i; for testing only
  hpl        ///< a_ij = u on the diagonal too: HPL's matrix, which needs pivoting
};

/// Numbering of the ranks over the process grid: PMAP of HPL.dat.
enum class GridOrder {
  row,    ///< consecutive ranks lie in a process row
  column  ///< consecutive ranks lie in a process column
};

/// Whether A, its transpose or its conjugate transpose.
enum class Transpose {
  no,        ///< A
  yes,       ///< A^T
  conjugate  ///< A^H; of a real A, A^T
};

/// The order of a matrix's elements in memory.
enum class StorageOrder {
  column_major,  ///< element (i, j) at i + j ld, as in Fortran
  row_major      ///< element (i, j) at i ld + j, as in C
};

/// How an FP64 solution is computed with factors of low precision. docs/numerics.md has the
/// formulas.
enum class RefineMethod {
  automatic,  ///< ir, then gmres once the error has twice in a row fallen by less than half
  ir,         ///< iterative refinement: x <- x + (LU)^-1 (b - A x)
  gmres  ///< GMRES in FP64 with the factors as left preconditioner, restarted (30 to 200 steps)
};

/// What is estimated about the errors of a solution, beside its residuals. None of it takes more
/// than a small part of a solve's time, except `full` with many right-hand sides.
enum class ConditionCheck {
  off,  ///< nothing
  on,   ///< the condition number in the infinity norm, and a bound of each forward error: for up to
        ///< 8 right-hand sides as in LAPACK's dgerfs, for more of them ||A^-1|| times a norm
        ///< (SolveColumn::forward_bound)
  full  ///< as `on`, but for any number of right-hand sides as in dgerfs, with every residual
};

/// What is refined until it is small.
enum class Accuracy {
  automatic,  ///< forward where it is measured to cost at most a tenth of the LU, else backward
  backward,   ///< the backward error of x, as LAPACK's dgerfs does: its digits are those that the
              ///< condition number leaves
  forward,  ///< the error of x itself, by residuals in twice FP64's precision: x is accurate to its
            ///< last digit, where the condition number is below 1 / (10 n 2^-53)
  certified  ///< as `forward`, with proven bounds of the errors instead of estimated ones, by an
             ///< approximate inverse: about five times the time of an FP64 LU
};

/// How a panel travels along a process row or column: by MPI_Ibcast, or by one of HPL's six
/// methods. In the modified ones, the owner of the next panel receives first and passes nothing on.
enum class BroadcastMethod {
  ibcast,             ///< MPI_Ibcast
  ring,               ///< HPL's 1ring: each rank passes the panel on to the next one
  ring_modified,      ///< HPL's 1ringM
  two_ring,           ///< HPL's 2ring: two rings of half of the ranks each
  two_ring_modified,  ///< HPL's 2ringM
  spread_roll,        ///< HPL's long: the panel is scattered in pieces, which then go round a ring
  spread_roll_modified  ///< HPL's longM
};

/// Where the dense operations run.
enum class DeviceKind {
  automatic,  ///< on GPUs if every rank sees one, else on CPUs
  cpu,        ///< on the cores of the host
  cuda        ///< on NVIDIA GPUs, one for each rank
};

/// How a GPU computes the FP64 products of updates, which are nearly all of an FP64 LU's work.
/// Panels, triangular solves and residuals have FP64 instructions always. A CPU is always native.
enum class Fp64Products {
  native,   ///< by FP64 instructions, whatever the environment tells cuBLAS
  emulated  ///< by 8-bit integers (Ozaki's scheme), as cuBLAS of CUDA 13 offers; not IEEE's FP64
};

/// How panels travel between the devices of ranks.
enum class CommMethod {
  automatic,  ///< the fastest method that works on the machine
  nccl,       ///< by NCCL; every rank needs a GPU of its own
  mpi,        ///< by MPI, which reads and writes the memory of the device
  staged      ///< by MPI, through host memory
};

/// The name of an option's value, on the command line and in reports.
/// @return "hpl-mxp" or "hpl"
SPEEDWELL_API std::string_view name(Benchmark);
/// The name of an option's value, on the command line and in reports.
/// @return "auto", "fp16", "bf16", "fp16x3", "fp32" or "fp64"
SPEEDWELL_API std::string_view name(Precision);
/// The name of an option's value, on the command line and in reports.
/// @return "none" or "partial"
SPEEDWELL_API std::string_view name(Pivoting);
/// The name of an option's value, on the command line and in reports.
/// @return "scaled-diagonal", "fasi-higham", "dominant" or "hpl"
SPEEDWELL_API std::string_view name(MatrixKind);
/// The name of an option's value, on the command line and in reports.
/// @return "row" or "column"
SPEEDWELL_API std::string_view name(GridOrder);
/// The name of an option's value, on the command line and in reports.
/// @return "auto", "ir" or "gmres"
SPEEDWELL_API std::string_view name(RefineMethod);
/// The name of an option's value, on the command line and in reports.
/// @return "off", "on" or "full"
SPEEDWELL_API std::string_view name(ConditionCheck);
/// The name of an option's value, on the command line and in reports.
/// @return "auto", "backward" or "forward"
SPEEDWELL_API std::string_view name(Accuracy);
/// The name of an option's value, on the command line and in reports.
/// @return "ibcast", "1ring", "1ring-modified", "2ring", "2ring-modified", "long" or
///         "long-modified"
SPEEDWELL_API std::string_view name(BroadcastMethod);
/// The name of an option's value, on the command line and in reports.
/// @return "auto", "cpu" or "cuda"
SPEEDWELL_API std::string_view name(DeviceKind);
/// The name of an option's value, on the command line and in reports.
/// @return "auto", "nccl", "mpi" or "staged"
SPEEDWELL_API std::string_view name(CommMethod);
/// The name of an option's value, on the command line and in reports.
/// @return "native" or "emulated"
SPEEDWELL_API std::string_view name(Fp64Products);

/// The inverse of name().
/// @tparam Enum one of the enumerations of this header
/// @param text a name that name() returns, or an alias of it, such as "half" or "2" for
///             Precision::fp16; upper and lower case are the same
/// @return the value; nothing where the name is unknown
template <class Enum>
SPEEDWELL_API std::optional<Enum> parse(std::string_view text);
/// The names of all values of an option, for messages.
/// @tparam Enum one of the enumerations of this header
/// @return the names, without aliases, such as "auto, cpu, cuda"
template <class Enum>
SPEEDWELL_API std::string allowed_names();

/// Where a run computes, and how its matrix is distributed and communicated. These options do not
/// depend on the problem. A default of 0 or -1 means that Speedwell chooses, as the member says.
struct RunOptions {
  std::int64_t nb = 0;  ///< block size of the distribution; 0: by device, precision and size
  GridOrder order = GridOrder::row;  ///< numbering of the ranks over the process grid
  /// P, rows of the process grid. P x Q is the number of ranks; where P or Q is 0 it follows from
  /// the other, and where both are 0 the grid is the squarest.
  int nprow = 0;
  int npcol = 0;       ///< Q, columns of the process grid; 0: see nprow
  int lookahead = -1;  ///< panels factored ahead of the update, 0 or 1; -1: by device and size
  BroadcastMethod broadcast = BroadcastMethod::ring_modified;  ///< of panels
  /// Columns of the trailing matrix that are exchanged, solved for and updated at a time; 0: by
  /// device, precision and size.
  std::int64_t chunk = 0;
  DeviceKind device = DeviceKind::automatic;  ///< where the dense operations run
  CommMethod comm = CommMethod::automatic;    ///< how panels travel between devices
  /// Ordinals of GPUs: the rank of number r on its node takes entry r modulo the size. Empty: all
  /// GPUs that the process sees, in order. Allowed only with GPUs.
  std::vector<int> gpus{};
  /// Multiprocessors of a GPU that updates leave to panels, 0 to 64; -1: by the panels' share of
  /// the work. 0 or more is allowed only with GPUs.
  int reserve = -1;
  /// How FP64 products of updates are computed. `emulated` is allowed only with GPUs, for HPL and
  /// solves; HPL is then no plain FP64 HPL, and says so.
  Fp64Products fp64 = Fp64Products::native;
  int threads = 0;  ///< threads of each rank; 0: the rank's share of the cores that it may run on
  /// Limit in seconds of one wait of a rank for other ranks or for its GPU. Beyond it, that rank
  /// writes one line to standard error, which names the ranks that it waits for, and ends all ranks
  /// of the job with exit status 3. 0: no limit. The time in which the caller's functions and files
  /// produce A and b does not count.
  double stall_timeout = 0;

  /// @return whether all options are equal
  bool operator==(const RunOptions&) const = default;
};

/// Options of a benchmark's run.
struct BenchmarkOptions {
  RunOptions run;                        ///< machine, distribution and communication
  Benchmark benchmark = Benchmark::mxp;  ///< set by mxp() and hpl()
  std::int64_t n = 0;  ///< order of A; 0: the largest that fits `memory_fraction` and `time_target`
  Precision precision = Precision::automatic;  ///< of HPL-MxP, not fp64; HPL always has fp64
  Pivoting pivoting = Pivoting::none;          ///< of HPL-MxP; HPL always has partial
  /// With pivoting: columns at which the recursion of a panel ends (HPL: NBMIN), at most 4096; 0:
  /// by device.
  int leaf = 0;
  int ndiv = 2;  ///< with pivoting: parts into which a panel is divided (HPL: NDIV), 2 to 64
  MatrixKind matrix = MatrixKind::scaled_diagonal;  ///< of HPL-MxP; HPL always has hpl
  double kappa = 1000;  ///< of fasi-higham: condition number in the infinity norm, above 1
  double rho = 0.5;     ///< of fasi-higham: alpha / beta, above 0 and at most 1
  /// State in which the random stream of A begins. That of b begins at seed + 1; with hpl, b
  /// continues the stream of A.
  std::uint64_t seed = 1;
  RefineMethod refine = RefineMethod::automatic;  ///< of HPL-MxP
  int max_iterations = 50;     ///< corrections allowed; the benchmark's rules allow 50
  double threshold = 16;       ///< limit of the scaled residual; 0 or less: it is not checked
  double memory_fraction = 0;  ///< share of the free memory that a chosen n fills; 0: by device
  /// Seconds that a run with a chosen n may take, estimated from a short measurement of the update;
  /// 0: no limit.
  double time_target = 0;
};

/// Options of a solve.
struct SolveOptions {
  RunOptions run;  ///< machine and distribution; run.nb 0: by device and size, or A's descriptor
  /// automatic: steps of increasing precision, as far as is needed, each only where it is predicted
  /// to be worth its time; a small system takes FP64 at once (speedwell/solve.hpp). Any other
  /// value: that precision alone.
  Precision precision = Precision::automatic;
  /// With an automatic precision: the precision of the first step, such as that which solved the
  /// last similar system (Solution::precision()). automatic: by cost.
  Precision first = Precision::automatic;
  RefineMethod refine = RefineMethod::automatic;  ///< how x is refined with the factors of a step
  /// Largest componentwise backward error that x may have, below 1; the refinement ends there. 0: x
  /// may have max(4, sqrt(n)) 2^-53, and with up to 8 right-hand sides the refinement goes on while
  /// the error falls by half.
  double tolerance = 0;
  int max_iterations = 50;  ///< corrections of one right-hand side in one step
  bool equilibrate = true;  ///< whether rows and columns are scaled by powers of two
  ConditionCheck condition = ConditionCheck::on;  ///< condition number and forward errors
  /// Whether a solution with a doubt (Solution::doubt) is an AccuracyError.
  bool strict = false;
  /// What is refined: with `forward`, a step before the last is accepted only if it makes x
  /// accurate to its last digit; with `certified`, only if the bounds of its errors are proven too.
  Accuracy accuracy = Accuracy::automatic;
  /// Seed of the random vectors with which A and x are judged, from 1 on: the same seed, A and b
  /// give the same bits. 0: drawn at random once in each process, or the environment's
  /// SPEEDWELL_PROBE_SEED; Solution::probe_seed has it.
  std::uint64_t probe_seed = 0;
};

}  // namespace speedwell
