/* SPDX-License-Identifier: BSD-3-Clause */
/// @file
/// Speedwell from C, in the manner of LAPACK: matrices of doubles or of complex doubles,
/// column-major, with 64-bit sizes. Complex numbers are pairs of doubles, passed as `void*` as in
/// CBLAS: C's double complex, std::complex<double> or cuDoubleComplex.
///
/// A function that returns `info` returns
/// - 0 where it solved or factored;
/// - -i where argument i, counted from 1, is not allowed;
/// - i > 0 where A is singular: pivot i, counted from 1, of its FP64 LU is exactly zero, i <= n;
/// - n + 1 where it solved, but x may have no correct digit and `strict` of the options is 1: as
///   LAPACK's dgesvx, it has written x over b, and filled in the result (INT_MAX where n + 1 is
///   larger);
/// - #SPEEDWELL_NOT_ACCURATE, #SPEEDWELL_NOT_ALLOWED or #SPEEDWELL_FAULT otherwise.
///
/// speedwell_last_error() then says in one line what went wrong, or why there is a doubt. b is
/// changed only where info is 0 or n + 1: where some right-hand sides are solved and others are
/// not, info is #SPEEDWELL_NOT_ACCURATE and b stays as it is. With `condition` of the options,
/// speedwell_result::forward_bounds is then NaN for those that are not solved.
///
/// Calls from several threads of a process take turns. The calling thread makes all MPI calls:
/// where the program has initialized MPI and several threads call, it needs MPI_THREAD_SERIALIZED,
/// and makes no MPI call meanwhile. Where it has not, these functions initialize MPI with that
/// level, as soon as they need it (most systems of speedwell_dgesv() and speedwell_zgesv() up to n
/// = 2000 do not), and finalize it at the program's end. Arguments and options must be equal on
/// every rank of a collective call, except local arrays and LLD_. speedwell/solve.hpp describes the
/// method, docs/numerics.md its formulas. Norms are infinity norms.
///
/// This header needs no MPI. speedwell_mpi.h has the functions for matrices that are distributed
/// over the ranks of a communicator.
#pragma once

#include <speedwell/export.hpp>

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
using std::int64_t;
using std::size_t;
extern "C" {
#else
#include <stddef.h>
#include <stdint.h>
#endif

/// Values of `info` that LAPACK does not have.
enum {
  /// No step that was allowed gave an x within the tolerance for every right-hand side, or some of
  /// several right-hand sides have an Inf or NaN.
  SPEEDWELL_NOT_ACCURATE = -1001,
  SPEEDWELL_NOT_ALLOWED = -1002,  ///< for example Inf or NaN in A or all of b, or too little memory
  SPEEDWELL_FAULT = -1003  ///< memory, MPI or a device failed; see speedwell_last_error_rank()
};

/// Values of the members of speedwell_options. SPEEDWELL_AUTO is a value of precision, first,
/// refine, accuracy, device and comm; SPEEDWELL_FP16 to SPEEDWELL_FP16X3 are values of precision
/// and first.
enum {
  SPEEDWELL_AUTO = 0,         ///< Speedwell chooses
  SPEEDWELL_FP16 = 1,         ///< precision: the LU's update reads FP16
  SPEEDWELL_BF16 = 2,         ///< precision: the LU's update reads BF16
  SPEEDWELL_FP32 = 3,         ///< precision: the LU's update reads FP32
  SPEEDWELL_FP64 = 4,         ///< precision: FP64 LU
  SPEEDWELL_FP16X3 = 5,       ///< precision: the LU's update is three FP16 products, about FP32
  SPEEDWELL_IR = 1,           ///< refine: iterative refinement
  SPEEDWELL_GMRES = 2,        ///< refine: GMRES, preconditioned by the factors
  SPEEDWELL_BACKWARD = 1,     ///< accuracy: a small backward error of x
  SPEEDWELL_FORWARD = 2,      ///< accuracy: x to its last digit
  SPEEDWELL_CERTIFIED = 3,    ///< accuracy: as SPEEDWELL_FORWARD, with proven bounds of the errors
  SPEEDWELL_CPU = 1,          ///< device: the cores of the host
  SPEEDWELL_CUDA = 2,         ///< device: NVIDIA GPUs
  SPEEDWELL_NCCL = 1,         ///< comm: by NCCL
  SPEEDWELL_MPI = 2,          ///< comm: by MPI, which reads and writes GPU memory
  SPEEDWELL_STAGED = 3,       ///< comm: by MPI, through host memory
  SPEEDWELL_FP64_NATIVE = 0,  ///< fp64: by FP64 instructions
  SPEEDWELL_FP64_EMULATED = 1,      ///< fp64: by integers, on GPUs alone
  SPEEDWELL_IBCAST = 0,             ///< broadcast: MPI_Ibcast
  SPEEDWELL_RING = 1,               ///< broadcast: HPL's 1ring
  SPEEDWELL_RING_MODIFIED = 2,      ///< broadcast: HPL's 1ringM
  SPEEDWELL_TWO_RING = 3,           ///< broadcast: HPL's 2ring
  SPEEDWELL_TWO_RING_MODIFIED = 4,  ///< broadcast: HPL's 2ringM
  SPEEDWELL_LONG = 5,               ///< broadcast: HPL's long
  SPEEDWELL_LONG_MODIFIED = 6       ///< broadcast: HPL's longM
};

/// The systems that factors of a complex matrix solve.
enum {
  SPEEDWELL_NO_TRANSPOSE = 0,        ///< A x = b
  SPEEDWELL_TRANSPOSE = 1,           ///< A^T x = b
  SPEEDWELL_CONJUGATE_TRANSPOSE = 2  ///< A^H x = b
};

/// Options of a solve. speedwell_options_init() must fill it in first; a program then sets members.
typedef struct speedwell_options {
  size_t size;         ///< of the struct that the program was compiled with
  int precision;       ///< SPEEDWELL_AUTO: steps up to FP64, as far as needed; else that one alone
  int refine;          ///< SPEEDWELL_AUTO: SPEEDWELL_IR, then SPEEDWELL_GMRES
  double tolerance;    ///< componentwise backward error x may have; 0: max(4, sqrt(n)) 2^-53
  int max_iterations;  ///< corrections of one right-hand side in one step
  int equilibrate;     ///< 1: scale rows and columns by powers of two; 0: do not
  int condition;       ///< 1: estimate the condition number and bound forward errors; 0: do not; 2:
                       ///< as 1, with all errors of each of more than 8 right-hand sides
  int64_t nb;          ///< block size; 0: by device and size, or a descriptor's NB_
  int nprow;           ///< P, rows of the process grid; P and Q 0: the squarest grid
  int npcol;           ///< Q, columns of the process grid
  int column_major;    ///< numbering of ranks over the grid: 0 by rows, 1 by columns
  int lookahead;       ///< panels factored ahead of the update, 0 or 1; -1: by device and size
  int device;          ///< where dense operations run; SPEEDWELL_AUTO: GPUs if every rank sees one
  /// Threads of each rank. 0: on one process as many as OpenMP would use; in a collective call the
  /// rank's share of the cores that it may run on.
  int threads;
  int broadcast;    ///< of panels; by default SPEEDWELL_RING_MODIFIED
  int64_t chunk;    ///< columns exchanged, solved for and updated at a time; 0: by device, size
  int comm;         ///< how panels travel between GPUs; SPEEDWELL_AUTO: the fastest that works
  const int* gpus;  ///< ordinals of GPUs by node-local rank; null: all that a process sees
  int gpu_count;    ///< size of gpus; 0: all that a process sees
  int reserve;      ///< multiprocessors that a GPU's updates leave to panels; -1: by their work
  /// Limit in seconds of one wait of a rank for other ranks or its GPU. Beyond it, one line on
  /// standard error names these ranks, and all ranks are ended with exit status 3. 0: no limit.
  double stall_timeout;
  int first;   ///< with SPEEDWELL_AUTO as precision, the first step's; SPEEDWELL_AUTO: by cost
  int strict;  ///< info where x may have no correct digit: 1: n + 1, and x is written; 0: 0
  int fp64;  ///< how a GPU computes the FP64 products of updates; by default SPEEDWELL_FP64_NATIVE
  int accuracy;  ///< SPEEDWELL_BACKWARD: x has a small backward error; SPEEDWELL_FORWARD: x is
                 ///< accurate to its last digit; SPEEDWELL_CERTIFIED: and the bounds of its errors
                 ///< are proven; SPEEDWELL_AUTO, the default: forward where cheap
  uint64_t probe_seed;  ///< of the random vectors that judge A and x: the same one gives the same
                        ///< bits; 0: another one in each process (or SPEEDWELL_PROBE_SEED)
} speedwell_options;

/// Outcome of a solve. speedwell_result_init() must fill it in first. Errors are the largest of any
/// right-hand side, and NaN if one of them is NaN.
///
/// A componentwise error is NaN where it was not measured: with more than 8 right-hand sides, FP64
/// factors, the default tolerance, and `condition` of the options below 2. Such an x is accepted by
/// its normwise error, of which backward_error is an upper estimate. The componentwise error of an
/// x whose b has an Inf or NaN is infinite.
typedef struct speedwell_result {
  size_t size;  ///< of the struct that the program was compiled with
  /// Input: null, or room for the forward bound of each right-hand side: LAPACK's FERR. NaN where
  /// not asked for or not solved, infinite where unknown.
  double* forward_bounds;
  double* componentwise_errors;  ///< input: null, or room for the error of each: LAPACK's BERR
  int precision;                 ///< of the step that gave x: SPEEDWELL_FP16 to SPEEDWELL_FP16X3
  int steps;                     ///< steps that were tried
  int iterations;                ///< corrections of all right-hand sides in all steps
  int equilibrated;              ///< 1: scales other than 1 were used
  double condition;            ///< ||A|| ||A^-1|| of the scaled A in the infinity norm, estimated;
                               ///< NaN: not asked for; infinity: the factors show no more than a
                               ///< lower bound
  double forward_bound;        ///< bound of ||x - x*|| / ||x||; NaN: not asked for or not accepted;
                               ///< infinity where `condition` is
  double componentwise_error;  ///< backward error max_i |b - Ax|_i / (|A||x| + |b|)_i
  double backward_error;       ///< normwise: ||b - Ax|| / (||A|| ||x|| + ||b||)
  double hpl_residual;         ///< backward_error / (n 2^-53)
  double seconds;              ///< finding the scales, LU factorizations and refinements
  int doubtful;                ///< 1: some x may have no correct digit
  int accurate;                ///< 1: every x is accurate to its last digit, with SPEEDWELL_FORWARD
  /// Bound of max_i |x_i - x*_i| / |x_i|; NaN where no x is accurate to its last digit, or it was
  /// not asked for.
  double componentwise_bound;
  /// 1: forward_bound and componentwise_bound are proven for every x, with SPEEDWELL_CERTIFIED.
  int certified;
  uint64_t probe_seed;  ///< that of the options, or the one that stood for 0
} speedwell_result;

/// A factored matrix.
typedef struct speedwell_factorization speedwell_factorization;

/// Fills in default options: speedwell_options_init(&options, sizeof options).
/// @param options the struct to fill in; null: nothing is done
/// @param size its size in bytes, as the program was compiled
SPEEDWELL_API void speedwell_options_init(speedwell_options* options, size_t size);
/// Fills in an empty result: speedwell_result_init(&result, sizeof result).
/// @param result the struct to fill in; null: nothing is done
/// @param size its size in bytes, as the program was compiled
SPEEDWELL_API void speedwell_result_init(speedwell_result* result, size_t size);

/// Solves A x = b on this process alone, with default options. A small system costs about what
/// LAPACK's dgesv does (speedwell/solve.hpp).
/// @param n order of A, 0 or more
/// @param nrhs columns of b, 0 or more
/// @param a A, n x n; it is not changed
/// @param lda leading dimension of a, at least max(1, n)
/// @param b b, n x nrhs; x is written over it where info is 0
/// @param ldb leading dimension of b, at least max(1, n)
/// @return info
SPEEDWELL_API int speedwell_dgesv(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b,
                                  int64_t ldb);

/// Solves A x = b on this process alone, with options and a result. Without a result, the condition
/// number and the estimated bounds of a small system are computed only where A may be nearly
/// singular.
/// @param n order of A, 0 or more
/// @param nrhs columns of b, 0 or more
/// @param a A, n x n; it is not changed
/// @param lda leading dimension of a, at least max(1, n)
/// @param b b, n x nrhs; x is written over it where info is 0 or n + 1
/// @param ldb leading dimension of b, at least max(1, n)
/// @param options null: the default options
/// @param result filled in where info is 0, n + 1 or SPEEDWELL_NOT_ACCURATE, unless n or nrhs is 0;
///               null: not wanted
/// @return info
SPEEDWELL_API int speedwell_dgesvx(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b,
                                   int64_t ldb, const speedwell_options* options,
                                   speedwell_result* result);

/// Factors A once, on this process alone, for several solves.
/// @param n order of A, 1 or more
/// @param a A, n x n; every solve reads it, so it must stay as it is until speedwell_free()
/// @param lda leading dimension of a, at least n
/// @param options null: the default options
/// @param factors the factored matrix; null where info is not 0
/// @return info
SPEEDWELL_API int speedwell_factor(int64_t n, const double* a, int64_t lda,
                                   const speedwell_options* options,
                                   speedwell_factorization** factors);
/// Solves A x = b with the factors of speedwell_factor(). Where they are too weak for b, A is
/// factored in a higher precision, and those factors are kept.
/// @param factors the factored matrix
/// @param nrhs columns of b, 0 or more
/// @param b b, n x nrhs; x is written over it where info is 0 or n + 1
/// @param ldb leading dimension of b, at least n
/// @param result filled in where info is 0, n + 1 or SPEEDWELL_NOT_ACCURATE, unless nrhs is 0;
///               null: not wanted
/// @return info
SPEEDWELL_API int speedwell_solve_factored(speedwell_factorization* factors, int64_t nrhs,
                                           double* b, int64_t ldb, speedwell_result* result);
/// Solves A^T x = b with the factors of speedwell_factor(), as speedwell_solve_factored() solves A
/// x = b. The result is that of A^T. With the factors of a row-major array, which is A^T
/// column-major, this solves for the A that the array has by rows.
/// @param factors the factored matrix
/// @param nrhs columns of b, 0 or more
/// @param b b, n x nrhs, column-major; x is written over it where info is 0 or n + 1
/// @param ldb leading dimension of b, at least n
/// @param result as in speedwell_solve_factored()
/// @return info
SPEEDWELL_API int speedwell_solve_factored_transposed(speedwell_factorization* factors,
                                                      int64_t nrhs, double* b, int64_t ldb,
                                                      speedwell_result* result);

/// As speedwell_dgesv(), for complex matrices.
/// @param n order of A, 0 or more
/// @param nrhs columns of b, 0 or more
/// @param a A, n x n; it is not changed
/// @param lda leading dimension of a, at least max(1, n)
/// @param b b, n x nrhs; x is written over it where info is 0
/// @param ldb leading dimension of b, at least max(1, n)
/// @return info
SPEEDWELL_API int speedwell_zgesv(int64_t n, int64_t nrhs, const void* a, int64_t lda, void* b,
                                  int64_t ldb);
/// As speedwell_dgesvx(), for complex matrices. Errors are those of the real system whose unknowns
/// are the real and imaginary parts of x: norms are the largest magnitude of any of these.
/// @param n order of A, 0 or more
/// @param nrhs columns of b, 0 or more
/// @param a A, n x n; it is not changed
/// @param lda leading dimension of a, at least max(1, n)
/// @param b b, n x nrhs; x is written over it where info is 0 or n + 1
/// @param ldb leading dimension of b, at least max(1, n)
/// @param options null: the default options
/// @param result as in speedwell_dgesvx()
/// @return info
SPEEDWELL_API int speedwell_zgesvx(int64_t n, int64_t nrhs, const void* a, int64_t lda, void* b,
                                   int64_t ldb, const speedwell_options* options,
                                   speedwell_result* result);
/// As speedwell_factor(), for complex matrices.
/// @param n order of A, 1 or more
/// @param a A, n x n; every solve reads it, so it must stay as it is until speedwell_free()
/// @param lda leading dimension of a, at least n
/// @param options null: the default options
/// @param factors the factored matrix; null where info is not 0
/// @return info
SPEEDWELL_API int speedwell_zfactor(int64_t n, const void* a, int64_t lda,
                                    const speedwell_options* options,
                                    speedwell_factorization** factors);
/// As speedwell_solve_factored(), with the factors of speedwell_zfactor().
/// @param factors the factored matrix
/// @param transpose which system is solved: SPEEDWELL_NO_TRANSPOSE, SPEEDWELL_TRANSPOSE or
///                  SPEEDWELL_CONJUGATE_TRANSPOSE
/// @param nrhs columns of b, 0 or more
/// @param b b, n x nrhs; x is written over it where info is 0 or n + 1
/// @param ldb leading dimension of b, at least n
/// @param result as in speedwell_solve_factored(), of the system that is solved
/// @return info
SPEEDWELL_API int speedwell_zsolve_factored(speedwell_factorization* factors, int transpose,
                                            int64_t nrhs, void* b, int64_t ldb,
                                            speedwell_result* result);
/// Releases a factored matrix. Collective over the communicator of the factors.
/// @param factors a matrix that speedwell_factor(), speedwell_pfactor() or their complex forms
///                made; null: nothing is done
SPEEDWELL_API void speedwell_free(speedwell_factorization* factors);

/// The error of the last call in this thread that returned info.
/// @return What went wrong, or why x may have no correct digit where info is 0, in one line, until
///         the next such call; empty if nothing did.
SPEEDWELL_API const char* speedwell_last_error(void);
/// The rank that alone met the fault of the last call in this thread that returned info.
/// @return After SPEEDWELL_FAULT that one rank met: the rank, in the communicator of the call.
///         Other ranks may wait for it for ever, so the program should end them all (MPI_Abort).
///         -1 where every rank's call returned the same, or nothing went wrong.
SPEEDWELL_API int speedwell_last_error_rank(void);
/// Gives back what calls of this process alone have kept on GPUs for later ones: streams, handles,
/// and at most an eighth of each GPU's memory.
SPEEDWELL_API void speedwell_release(void);
/// @return The version of the library that the program runs with, such as "0.1.0".
SPEEDWELL_API const char* speedwell_version(void);

#ifdef __cplusplus
}
#endif
