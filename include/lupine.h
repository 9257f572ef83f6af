/* SPDX-License-Identifier: BSD-3-Clause */
/// @file
/// Lupine from C, in the manner of LAPACK: column-major matrices of doubles, 64-bit sizes.
///
/// Functions return `info`:
///    0  solved
///   -i  argument i, from 1, is not allowed
///   >0  A is singular: this pivot, from 1, of its FP64 LU is exactly zero
///   LUPINE_NOT_ACCURATE, LUPINE_NOT_ALLOWED, LUPINE_FAULT: see below
/// and lupine_last_error() says in a line what went wrong. Unless info is 0, b is as it was.
///
/// One thread of a process at a time may call them. MPI is initialized where the program has not,
/// and then finalized at its end.
#pragma once

#include <mpi.h>
#include <lupine/export.hpp>

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

enum {
  LUPINE_NOT_ACCURATE = -1001, /* no step that was allowed gave an x of the tolerance */
  LUPINE_NOT_ALLOWED = -1002,  /* Inf or NaN in A or b, a grid of other ranks, no room, ... */
  LUPINE_FAULT = -1003         /* memory, MPI or a device failed: see lupine_last_error_rank */
};

/* What options may be set to. LUPINE_AUTO lets Lupine choose any of them. */
enum {
  LUPINE_AUTO = 0,
  LUPINE_FP16 = 1, /* precision: what the LU's update reads */
  LUPINE_BF16 = 2,
  LUPINE_FP32 = 3,
  LUPINE_FP64 = 4,
  LUPINE_IR = 1, /* refine: classical refinement, or GMRES preconditioned by the factors */
  LUPINE_GMRES = 2,
  LUPINE_CPU = 1, /* device */
  LUPINE_CUDA = 2,
  LUPINE_NCCL = 1, /* comm: how panels travel between GPUs */
  LUPINE_MPI = 2,
  LUPINE_STAGED = 3,
  LUPINE_IBCAST = 0, /* broadcast of panels: MPI_Ibcast, or HPL's six */
  LUPINE_RING = 1,
  LUPINE_RING_MODIFIED = 2,
  LUPINE_TWO_RING = 3,
  LUPINE_TWO_RING_MODIFIED = 4,
  LUPINE_LONG = 5,
  LUPINE_LONG_MODIFIED = 6
};

/* To be filled in by lupine_options_init first. */
typedef struct lupine_options {
  size_t size; /* of the struct that the program was compiled with */
  int precision;
  int refine;
  double tolerance;   /* componentwise backward error that x must have; 0: max(4, sqrt(n)) 2^-53 */
  int max_iterations; /* corrections of one right-hand side in one step */
  int equilibrate;    /* 1: scale rows and columns by powers of two; 0: do not */
  int condition;      /* 1: estimate the condition number and bound forward errors; 0: do not */
  int64_t nb;         /* block size; 0: by device and size. A descriptor's own wins */
  int nprow;          /* P, rows of the process grid; 0: the squarest grid */
  int npcol;          /* Q */
  int column_major;   /* numbering of ranks over the grid: 0 by rows, 1 by columns */
  int lookahead;      /* panels factored ahead; -1: by device and size */
  int device;
  int threads;   /* a rank; 0: alone, as many as OpenMP would take; of several, their share of cores
                  */
  int broadcast; /* of panels; LUPINE_RING_MODIFIED unless set */
  int64_t chunk; /* columns exchanged, solved for and updated at a time; 0: by device, size */
  int comm;      /* how panels travel between GPUs */
  const int* gpus;      /* ordinals by node-local rank, in turn; null: all that there are */
  int gpu_count;        /* of gpus; 0: all that there are */
  int reserve;          /* multiprocessors that a GPU's updates leave to panels; -1: by work */
  double stall_timeout; /* seconds that a rank may wait for others or its GPU, before one line on
                           standard error names them and all ranks are ended; 0: for ever */
} lupine_options;

/* To be filled in by lupine_result_init first. Errors are the largest of any right-hand side. */
typedef struct lupine_result {
  size_t size;                /* of the struct that the program was compiled with */
  double* ferr;               /* given: null, or room for a forward bound of each right-hand side */
  double* berr;               /* given: null, or room for a componentwise backward error of each */
  int precision;              /* of the step that gave x */
  int steps;                  /* that were tried */
  int iterations;             /* corrections of all right-hand sides in all steps */
  int equilibrated;           /* 1: scales other than 1 were used */
  double condition;           /* ||A|| ||A^-1||, infinity norms, estimated; NaN: not asked for */
  double forward_error;       /* bound of ||x - x*|| / ||x||; NaN: not asked for */
  double componentwise_error; /* max_i |b - Ax|_i / (|A||x| + |b|)_i */
  double backward_error;      /* ||b - Ax|| / (||A|| ||x|| + ||b||) */
  double hpl_residual;        /* the same over n 2^-53 */
  double seconds;             /* scaling, factorizations, refinements */
} lupine_result;

/* A factored matrix. */
typedef struct lupine_factorization lupine_factorization;

/* Default options: lupine_options_init(&options, sizeof options). */
LUPINE_API void lupine_options_init(lupine_options* options, size_t size);
LUPINE_API void lupine_result_init(lupine_result* result, size_t size);

/* Solves A x = b on this process alone, and writes x over b. A is n x n and is not changed, b is
   n x nrhs; lda and ldb are at least max(1, n). */
LUPINE_API int lupine_dgesv(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b,
                            int64_t ldb);

/* The same with options, and with a result that is filled in where info is 0 or
   LUPINE_NOT_ACCURATE. Either may be null. */
LUPINE_API int lupine_dgesvx(int64_t n, int64_t nrhs, const double* a, int64_t lda, double* b,
                             int64_t ldb, const lupine_options* options, lupine_result* result);

/* The same with block-cyclic matrices, as ScaLAPACK has them. Collective. The descriptors are
   DTYPE_ = 1, CTXT_ (not used), M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_; of A, MB_ = NB_ and RSRC_ =
   CSRC_ = 0. The process grid is that of the options. */
LUPINE_API int lupine_pdgesv(MPI_Comm comm, const double* a, const int64_t desca[9], double* b,
                             const int64_t descb[9], const lupine_options* options,
                             lupine_result* result);

/* Factor once, solve many. A is read by every solve: it must stay as it is until lupine_free.
 *factors is null unless info is 0. */
LUPINE_API int lupine_factor(int64_t n, const double* a, int64_t lda, const lupine_options* options,
                             lupine_factorization** factors);
LUPINE_API int lupine_solve_factored(lupine_factorization* factors, int64_t nrhs, double* b,
                                     int64_t ldb, lupine_result* result);

/* The same with block-cyclic matrices. Collective, lupine_free too. */
LUPINE_API int lupine_pfactor(MPI_Comm comm, const double* a, const int64_t desca[9],
                              const lupine_options* options, lupine_factorization** factors);
LUPINE_API int lupine_psolve_factored(lupine_factorization* factors, double* b,
                                      const int64_t descb[9], lupine_result* result);
LUPINE_API void lupine_free(lupine_factorization* factors);

/* What went wrong in this thread's last call, in a line; empty if nothing did. */
LUPINE_API const char* lupine_last_error(void);
/* After LUPINE_FAULT: the rank, in the communicator of the call, that alone met it, so that the
   others may wait for it for ever and the program should end them all (MPI_Abort); -1 where every
   rank's call returned the same. -1 where nothing went wrong. */
LUPINE_API int lupine_last_error_rank(void);
/* "0.1.0". */
LUPINE_API const char* lupine_version(void);

#ifdef __cplusplus
}
#endif
