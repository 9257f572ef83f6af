/* SPDX-License-Identifier: BSD-3-Clause */
/// @file
/// The functions of speedwell.h for matrices that are distributed over the ranks of a communicator,
/// block-cyclically as ScaLAPACK's. speedwell.h says what info is, and has the options, the result
/// and speedwell_free().
#pragma once

#include <mpi.h>
#include <speedwell.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Solves A x = b with block-cyclic matrices, as ScaLAPACK distributes them. Collective over
/// `comm`. The process grid is that of the options. Descriptors are DTYPE_ = 1, CTXT_ (not used),
/// M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_.
/// @param comm the ranks of the process grid
/// @param a this rank's part of A; it is not changed
/// @param desca descriptor of A. A is used in place if MB_ = NB_, RSRC_ = CSRC_ = 0, and NB_ is nb
///              of the options or, where that is 0, at least half of the block size that Speedwell
///              would choose. Otherwise it is redistributed into a copy, if memory allows
/// @param b this rank's part of b; this rank's part of x is written over it where info
///          is 0 or n + 1
/// @param descb descriptor of b
/// @param options null: the default options
/// @param result filled in where info is 0, n + 1 or SPEEDWELL_NOT_ACCURATE; null: not wanted
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_pdgesv(MPI_Comm comm, const double* a, const int64_t desca[9],
                                   double* b, const int64_t descb[9],
                                   const speedwell_options* options, speedwell_result* result);

/// Factors a block-cyclic matrix once, for several solves. Collective over `comm`.
/// @param comm the ranks of the process grid
/// @param a this rank's part of A; every solve reads it, so it must stay as it is until
///          speedwell_free()
/// @param desca descriptor of A, as for speedwell_pdgesv()
/// @param options null: the default options
/// @param factors the factored matrix; null where info is not 0
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_pfactor(MPI_Comm comm, const double* a, const int64_t desca[9],
                                    const speedwell_options* options,
                                    speedwell_factorization** factors);

/// Solves A x = b with the factors of speedwell_pfactor(). Where they are too weak for b, A is
/// factored in a higher precision, and those factors are kept. Collective over the communicator of
/// the factors.
/// @param factors the factored matrix, which holds the communicator: a rank that passes null alone
///                returns, and the others wait for it
/// @param b this rank's part of b; this rank's part of x is written over it where info
///          is 0 or n + 1
/// @param descb descriptor of b, as for speedwell_pdgesv()
/// @param result filled in where info is 0, n + 1 or SPEEDWELL_NOT_ACCURATE; null: not wanted
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_psolve_factored(speedwell_factorization* factors, double* b,
                                            const int64_t descb[9], speedwell_result* result);

/// Solves A^T x = b with the factors of speedwell_pfactor(), as speedwell_psolve_factored() solves
/// A x = b. The result is that of A^T. Collective over the communicator of the factors.
/// @param factors the factored matrix
/// @param b this rank's part of b; this rank's part of x is written over it where info
///          is 0 or n + 1
/// @param descb descriptor of b, as for speedwell_pdgesv()
/// @param result as in speedwell_psolve_factored()
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_psolve_factored_transposed(speedwell_factorization* factors, double* b,
                                                       const int64_t descb[9],
                                                       speedwell_result* result);

/// As speedwell_pdgesv(), for complex matrices. Collective over `comm`.
/// @param comm the ranks of the process grid
/// @param a this rank's part of A; it is not changed
/// @param desca descriptor of A, in elements
/// @param b this rank's part of b; this rank's part of x is written over it where info
///          is 0 or n + 1
/// @param descb descriptor of b
/// @param options null: the default options
/// @param result as in speedwell_pdgesv()
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_pzgesv(MPI_Comm comm, const void* a, const int64_t desca[9], void* b,
                                   const int64_t descb[9], const speedwell_options* options,
                                   speedwell_result* result);

/// As speedwell_pfactor(), for complex matrices. Collective over `comm`.
/// @param comm the ranks of the process grid
/// @param a this rank's part of A; every solve reads it, so it must stay as it is until
///          speedwell_free()
/// @param desca descriptor of A, in elements
/// @param options null: the default options
/// @param factors the factored matrix; null where info is not 0
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_pzfactor(MPI_Comm comm, const void* a, const int64_t desca[9],
                                     const speedwell_options* options,
                                     speedwell_factorization** factors);

/// As speedwell_psolve_factored(), with the factors of speedwell_pzfactor(). Collective over their
/// communicator.
/// @param factors the factored matrix
/// @param transpose as in speedwell_zsolve_factored(), equal on every rank
/// @param b this rank's part of b; this rank's part of x is written over it where info
///          is 0 or n + 1
/// @param descb descriptor of b
/// @param result as in speedwell_psolve_factored(), of the system that is solved
/// @return info, equal on every rank unless it is SPEEDWELL_FAULT
SPEEDWELL_API int speedwell_pzsolve_factored(speedwell_factorization* factors, int transpose,
                                             void* b, const int64_t descb[9],
                                             speedwell_result* result);

#ifdef __cplusplus
}
#endif
