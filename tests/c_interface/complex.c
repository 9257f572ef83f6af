/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the functions of speedwell.h for complex matrices, and sizes that are too large. */
#include <complex.h>
#include <math.h>
#include <speedwell_mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int failures_of_complex(void);

static int failures = 0;

static void check(int ok, const char* what, int line) {
  if (ok) return;
  fprintf(stderr, "complex: line %d: %s; last error: '%s'\n", line, what, speedwell_last_error());
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

enum { n = 7, nrhs = 3, lda = 9, ldb = 10 };
static const double untouched = -777;

/* A complex system: A, A^T and A^H times the same x. */
static double complex complex_entry(int64_t i, int64_t j) {
  return ((i + 3) % n == j ? 10 : 0) + sin((double)(1 + 5 * i + 3 * j)) +
         I * cos((double)(2 + 3 * i + 7 * j));
}
static double complex complex_solution(int64_t i, int64_t k) {
  return (double)(i - 2 * k) + 0.5 + I * (double)(2 * i - k);
}
static double complex complex_right(int transpose, int64_t i, int64_t k) {
  double complex sum = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double complex a = transpose == SPEEDWELL_NO_TRANSPOSE ? complex_entry(i, j)
                             : transpose == SPEEDWELL_CONJUGATE_TRANSPOSE
                                 ? conj(complex_entry(j, i))
                                 : complex_entry(j, i);
    sum += a * complex_solution(j, k);
  }
  return sum;
}

static void fill_complex(int transpose, double complex* a, double complex* b) {
  for (int i = 0; i < ldb * nrhs; ++i) b[i] = untouched;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) a[i + j * lda] = complex_entry(i, j);
    for (int k = 0; k < nrhs; ++k) b[i + k * ldb] = complex_right(transpose, i, k);
  }
}

static int is_complex_solved(const double complex* b) {
  for (int k = 0; k < nrhs; ++k)
    for (int i = 0; i < ldb; ++i)
      if (i < n ? !(cabs(b[i + k * ldb] - complex_solution(i, k)) < 1e-12)
                : b[i + k * ldb] != untouched)
        return 0;
  return 1;
}

static void complex_alone(void) {
  double complex a[lda * n], b[ldb * nrhs], before[ldb * nrhs];
  double ferr[nrhs];
  fill_complex(SPEEDWELL_NO_TRANSPOSE, a, b);
  memcpy(before, b, sizeof b);
  CHECK(speedwell_zgesv(n, 1, NULL, lda, b, ldb) == -3);
  CHECK(speedwell_zgesv(n, 1, a, lda, b, n - 1) == -6);
  CHECK(speedwell_zgesvx(n, 1, a, lda, b, ldb, NULL, &(speedwell_result){0}) == -8);
  CHECK(memcmp(before, b, sizeof b) == 0);
  CHECK(speedwell_zgesv(0, 1, NULL, 1, NULL, 1) == 0);
  CHECK(speedwell_zgesv(n, nrhs, a, lda, b, ldb) == 0 && is_complex_solved(b));

  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.precision = SPEEDWELL_BF16;
  options.device = SPEEDWELL_CPU;
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  result.forward_bounds = ferr;
  fill_complex(SPEEDWELL_NO_TRANSPOSE, a, b);
  CHECK(speedwell_zgesvx(n, nrhs, a, lda, b, ldb, &options, &result) == 0 && is_complex_solved(b));
  CHECK(result.precision == SPEEDWELL_BF16 && result.condition > 1 && ferr[nrhs - 1] < 1e-12);

  speedwell_factorization* factors = NULL;
  CHECK(speedwell_zfactor(n, a, n - 1, NULL, &factors) == -3 && factors == NULL);
  CHECK(speedwell_zfactor(n, a, lda, NULL, &factors) == 0);
  CHECK(speedwell_zsolve_factored(factors, 3, nrhs, b, ldb, NULL) == -2);
  CHECK(speedwell_zsolve_factored(factors, SPEEDWELL_TRANSPOSE, -1, b, ldb, NULL) == -3);
  for (int transpose = SPEEDWELL_NO_TRANSPOSE; transpose <= SPEEDWELL_CONJUGATE_TRANSPOSE;
       ++transpose) {
    fill_complex(transpose, a, b);
    CHECK(speedwell_zsolve_factored(factors, transpose, nrhs, b, ldb, NULL) == 0);
    CHECK(is_complex_solved(b));
  }
  CHECK(speedwell_solve_factored(factors, 1, (double*)b, ldb, NULL) == SPEEDWELL_NOT_ALLOWED);
  CHECK(strstr(speedwell_last_error(), "A is complex and b is real") != NULL);
  speedwell_free(factors);

  fill_complex(SPEEDWELL_NO_TRANSPOSE, a, b);
  for (int i = 0; i < n; ++i) a[i + 4 * lda] = 0;
  CHECK(speedwell_zgesv(n, nrhs, a, lda, b, ldb) == 5);
}

/* One block on the first rank: every other rank has no part. */
static void complex_together(MPI_Comm comm, int rank, int size) {
  double complex a[lda * n], b[ldb * nrhs];
  const int64_t desca[9] = {1, 0, n, n, n, n, 0, 0, lda};
  const int64_t descb[9] = {1, 0, n, nrhs, n, nrhs, 0, 0, ldb};
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.nprow = size;
  options.npcol = 1;
  options.device = SPEEDWELL_CPU;
  fill_complex(SPEEDWELL_NO_TRANSPOSE, a, b);
  CHECK(speedwell_pzgesv(comm, a, desca, b, descb, &options, NULL) == 0);
  CHECK(rank > 0 || is_complex_solved(b));
  speedwell_factorization* factors = NULL;
  CHECK(speedwell_pzfactor(comm, a, desca, &options, &factors) == 0);
  CHECK(speedwell_pzsolve_factored(factors, -1, b, descb, NULL) == -2);
  CHECK(speedwell_pzsolve_factored(factors, SPEEDWELL_TRANSPOSE, b, NULL, NULL) == -4);
  for (int transpose = SPEEDWELL_NO_TRANSPOSE; transpose <= SPEEDWELL_CONJUGATE_TRANSPOSE;
       ++transpose) {
    fill_complex(transpose, a, b);
    CHECK(speedwell_pzsolve_factored(factors, transpose, b, descb, NULL) == 0);
    CHECK(rank > 0 || is_complex_solved(b));
  }
  speedwell_free(factors);
}

/* Sizes whose products 64 bits do not hold. */
static void too_large(void) {
  const int64_t large = INT64_C(1) << 62, order = INT64_C(1) << 40;
  double a[lda * n], b[ldb * nrhs];
  for (int k = 0; k < lda * n; ++k) a[k] = k % (lda + 1) == 0;
  for (int k = 0; k < ldb * nrhs; ++k) b[k] = 1;
  CHECK(speedwell_dgesv(order, 1, a, order, b, order) == -1);
  CHECK(strstr(speedwell_last_error(), "argument 1, n,") != NULL);
  CHECK(speedwell_dgesv(n, large, a, lda, b, ldb) == -2);
  CHECK(strstr(speedwell_last_error(), "b of less than 2^63 bytes") != NULL);
  CHECK(speedwell_dgesv(n, 1, a, large, b, ldb) == -4);
  CHECK(strstr(speedwell_last_error(), "argument 4, lda,") != NULL);
  CHECK(speedwell_dgesv(n, 2, a, lda, b, large) == -6);
  CHECK(speedwell_dgesv(INT64_MAX, INT64_MAX, a, INT64_MAX, b, INT64_MAX) == -1);
  /* An element is 16 bytes: as doubles, these would be allowed. */
  CHECK(speedwell_zgesv(n, INT64_MAX / (8 * n), a, lda, b, ldb) == -2);
  CHECK(speedwell_zgesv(n, 1, a, INT64_MAX / (8 * n), b, ldb) == -4);
  speedwell_factorization* factors = NULL;
  CHECK(speedwell_factor(order, a, order, NULL, &factors) == -1);
  CHECK(speedwell_factor(n, a, large, NULL, &factors) == -3);
  CHECK(factors == NULL && speedwell_factor(n, a, lda, NULL, &factors) == 0);
  CHECK(speedwell_solve_factored(factors, large, b, ldb, NULL) == -2);
  CHECK(speedwell_solve_factored(factors, 2, b, large, NULL) == -4);
  speedwell_free(factors);
}

int failures_of_complex(void) {
  too_large();
  complex_alone();
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  complex_together(MPI_COMM_WORLD, rank, size);
  return failures;
}
