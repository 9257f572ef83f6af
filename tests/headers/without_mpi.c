/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled where there may be no MPI. */
#include <speedwell.h>

#ifdef MPI_VERSION
#error speedwell.h includes mpi.h
#endif

int solve_twice(double* a, double* b) {
  speedwell_factorization* factors;
  int info = speedwell_factor(2, a, 2, 0, &factors);
  if (info == 0) info = speedwell_solve_factored(factors, 1, b, 2, 0);
  if (info == 0) info = speedwell_solve_factored_transposed(factors, 1, b, 2, 0);
  speedwell_free(factors);
  return info;
}
