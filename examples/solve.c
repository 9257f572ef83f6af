/* SPDX-License-Identifier: BSD-3-Clause */
/* C: a process alone, in LAPACK's manner. */
#include <speedwell.h>
#include <stdio.h>

int main(void) {
  const double a[] = {4, 1, 2, 3}; /* the columns (4, 1) and (2, 3) */
  double b[] = {8, 7};
  const int info = speedwell_dgesv(2, 1, a, 2, b, 2);
  if (info != 0) {
    fprintf(stderr, "info %d: %s\n", info, speedwell_last_error());
    return 1;
  }
  printf("x = %.6f %.6f\n", b[0], b[1]);
  return 0;
}
