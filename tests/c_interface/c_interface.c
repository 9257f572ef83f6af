/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests all of speedwell.h from C99, on any number of ranks. */
#include <math.h>
#include <speedwell_mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SETS_THREADS
/* The numbers of threads of OpenMP and OpenBLAS. */
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int threads);
#endif

/* In complex.c: the number of checks that fail. Collective over MPI_COMM_WORLD. */
int failures_of_complex(void);

static int failures = 0;

static void check(int ok, const char* what, int line) {
  if (ok) return;
  fprintf(stderr, "c_interface: line %d: %s; last error: '%s'\n", line, what,
          speedwell_last_error());
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

enum { n = 7, nrhs = 3, lda = 9, ldb = 10 };
static const double untouched = -777;

/* A well-conditioned matrix whose pivots lie off the diagonal. */
static double entry(int64_t i, int64_t j) {
  return ((i + 3) % n == j ? 10 : 0) + sin((double)(1 + 5 * i + 3 * j));
}
static double solution(int64_t i, int64_t k) {
  return (double)(i - 2 * k) + 0.5;
}
static double right_hand_side(int64_t i, int64_t k) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += entry(i, j) * solution(j, k);
  return sum;
}

static double right_of_transpose(int64_t i, int64_t k) {
  double sum = 0;
  for (int64_t j = 0; j < n; ++j) sum += entry(j, i) * solution(j, k);
  return sum;
}

static double with_a_nan(int64_t i, int64_t k) {
  return i == 2 && k == 1 ? NAN : right_hand_side(i, k);
}

static void fill(double* a, double* b) {
  for (int i = 0; i < lda * n; ++i) a[i] = untouched;
  for (int i = 0; i < ldb * nrhs; ++i) b[i] = untouched;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) a[i + j * lda] = entry(i, j);
    for (int k = 0; k < nrhs; ++k) b[i + k * ldb] = right_hand_side(i, k);
  }
}

static int is_solved(const double* b) {
  for (int k = 0; k < nrhs; ++k)
    for (int i = 0; i < ldb; ++i)
      if (i < n ? !(fabs(b[i + k * ldb] - solution(i, k)) < 1e-12) : b[i + k * ldb] != untouched)
        return 0;
  return 1;
}

static void arguments(void) {
  double a[lda * n], b[ldb * nrhs], before[ldb * nrhs];
  fill(a, b);
  memcpy(before, b, sizeof b);
  CHECK(speedwell_dgesv(-1, 1, a, lda, b, ldb) == -1);
  CHECK(strstr(speedwell_last_error(), "argument 1, n,") != NULL);
  CHECK(speedwell_last_error_rank() == -1);
  CHECK(speedwell_dgesv(n, -1, a, lda, b, ldb) == -2);
  CHECK(speedwell_dgesv(n, 1, NULL, lda, b, ldb) == -3);
  CHECK(speedwell_dgesv(n, 1, a, n - 1, b, ldb) == -4);
  CHECK(speedwell_dgesv(n, 1, a, lda, NULL, ldb) == -5);
  CHECK(speedwell_dgesv(n, 1, a, lda, b, n - 1) == -6);
  CHECK(strstr(speedwell_last_error(), "argument 6, ldb,") != NULL);
  CHECK(speedwell_dgesv(0, 1, NULL, 1, NULL, 0) == -6);
  CHECK(speedwell_dgesv(0, 1, NULL, 1, NULL, 1) == 0);
  CHECK(strlen(speedwell_last_error()) == 0);
  CHECK(speedwell_dgesv(n, 0, a, lda, NULL, ldb) == 0);

  speedwell_options options;
  memset(&options, 0, sizeof options);
  CHECK(speedwell_dgesvx(n, 1, a, lda, b, ldb, &options, NULL) == -7);
  speedwell_options_init(&options, sizeof options);
  options.precision = SPEEDWELL_FP16X3 + 1;
  CHECK(speedwell_dgesvx(n, 1, a, lda, b, ldb, &options, NULL) == -7);
  speedwell_options_init(&options, sizeof options);
  options.size = sizeof options + 8; /* the size in a later Speedwell */
  CHECK(speedwell_dgesvx(n, 1, a, lda, b, ldb, &options, NULL) == -7);
  speedwell_options_init(&options, sizeof options);
  options.nb = -3;
  CHECK(speedwell_dgesvx(n, 1, a, lda, b, ldb, &options, NULL) == SPEEDWELL_NOT_ALLOWED);
  speedwell_result result;
  memset(&result, 0, sizeof result);
  CHECK(speedwell_dgesvx(n, 1, a, lda, b, ldb, NULL, &result) == -8);
  CHECK(memcmp(before, b, sizeof b) == 0);
}

static void alone(void) {
  double a[lda * n], b[ldb * nrhs], a_before[lda * n], ferr[nrhs], berr[nrhs];
  fill(a, b);
  memcpy(a_before, a, sizeof a);
  CHECK(speedwell_dgesv(n, nrhs, a, lda, b, ldb) == 0);
  CHECK(is_solved(b) && memcmp(a, a_before, sizeof a) == 0);

  fill(a, b);
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  CHECK(options.max_iterations == 50 && options.lookahead == -1 && options.condition == 1);
  options.precision = SPEEDWELL_FP64;
  options.nb = 2;
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  result.forward_bounds = ferr;
  result.componentwise_errors = berr;
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &options, &result) == 0);
  CHECK(is_solved(b));
  CHECK(result.precision == SPEEDWELL_FP64 && result.steps == 1);
  CHECK(result.condition > 1 && result.condition < 1e3 && result.hpl_residual < 16);
  CHECK(result.componentwise_error <= 1e-14 && result.forward_bound < 1e-10);
  for (int k = 0; k < nrhs; ++k)
    CHECK(ferr[k] > 0 && ferr[k] <= result.forward_bound && berr[k] <= result.componentwise_error);

  /* A program that was compiled with an earlier Speedwell has a smaller struct. */
  fill(a, b);
  speedwell_result_init(&result, sizeof result);
  result.size = offsetof(speedwell_result, condition);
  result.condition = untouched;
  options.condition = 0;
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &options, &result) == 0);
  CHECK(result.condition == untouched && result.precision == SPEEDWELL_FP64);

  fill(a, b);
  options.precision = SPEEDWELL_FP16X3;
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &options, &result) == 0);
  CHECK(is_solved(b) && result.precision == SPEEDWELL_FP16X3);
}

static void refusals(void) {
  double a[lda * n], b[ldb * nrhs], before[ldb * nrhs];
  fill(a, b);
  memcpy(before, b, sizeof b);
  for (int i = 0; i < n; ++i) a[i + 4 * lda] = 0;
  CHECK(speedwell_dgesv(n, nrhs, a, lda, b, ldb) == 5);
  CHECK(strlen(speedwell_last_error()) > 0);
  fill(a, b);
  a[3] = NAN;
  CHECK(speedwell_dgesv(n, nrhs, a, lda, b, ldb) == SPEEDWELL_NOT_ALLOWED);

  /* Hilbert's matrix, with a precision that is too low for it. */
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i + j * lda] = 1. / (1 + i + j);
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.precision = SPEEDWELL_FP16;
  options.refine = SPEEDWELL_IR;
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &options, &result) == SPEEDWELL_NOT_ACCURATE);
  CHECK(result.precision == SPEEDWELL_FP16 && result.steps == 1);
  CHECK(memcmp(before, b, sizeof b) == 0);
  CHECK(speedwell_dgesv(n, nrhs, a, lda, b, ldb) == 0);
}

/* With one right-hand side that has a NaN, the others are solved, and b stays as it is. */
static void a_nan_among_several(void) {
  double a[lda * n], b[ldb * nrhs], before[ldb * nrhs], ferr[nrhs], berr[nrhs];
  fill(a, b);
  b[2 + ldb] = NAN;
  memcpy(before, b, sizeof b);
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  result.forward_bounds = ferr;
  result.componentwise_errors = berr;
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, NULL, &result) == SPEEDWELL_NOT_ACCURATE);
  CHECK(strstr(speedwell_last_error(), "b(3, 2) is nan") != NULL);
  CHECK(memcmp(before, b, sizeof b) == 0);
  for (int k = 0; k < nrhs; ++k) CHECK(k == 1 ? isnan(ferr[k]) && isinf(berr[k]) : ferr[k] < 1e-10);
  CHECK(isinf(result.componentwise_error) && isnan(result.forward_bound));
  for (int k = 0; k < nrhs; ++k) b[k * ldb] = NAN;
  CHECK(speedwell_dgesv(n, nrhs, a, lda, b, ldb) == SPEEDWELL_NOT_ALLOWED);
}

/* Of many right-hand sides, FP64 factors leave componentwise errors unmeasured unless all errors
   are asked for. */
static void errors_of_many(void) {
  enum { many = 20 };
  double a[lda * n], few[ldb * nrhs], b[n * many], berr[many];
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.precision = SPEEDWELL_FP64;
  for (options.condition = 1; options.condition <= 2; ++options.condition) {
    const int full = options.condition == 2;
    fill(a, few);
    for (int k = 0; k < many; ++k)
      for (int i = 0; i < n; ++i) b[i + k * n] = right_hand_side(i, k);
    speedwell_result result;
    speedwell_result_init(&result, sizeof result);
    result.componentwise_errors = berr;
    CHECK(speedwell_dgesvx(n, many, a, lda, b, n, &options, &result) == 0);
    for (int k = 0; k < many; ++k) {
      CHECK(full ? berr[k] < 1e-14 : isnan(berr[k]));
      CHECK(fabs(b[k * n] - solution(0, k)) < 1e-11);
    }
    CHECK(full ? result.componentwise_error < 1e-14 : isnan(result.componentwise_error));
    CHECK(result.backward_error < 1e-14);
  }
}

/* An x that may have no correct digit is an info only where the options are strict. x and result
   are the same. */
enum { order = 13 };
static double hilbert(int64_t i, int64_t j) {
  return 1. / (double)(1 + i + j);
}

static void doubts(void) {
  double a[order * order], b[order * 2], x[order * 2], ferr[2];
  for (int j = 0; j < order; ++j)
    for (int i = 0; i < order; ++i) a[i + j * order] = hilbert(i, j);
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  CHECK(options.strict == 0);
  speedwell_result result;
  for (options.strict = 0; options.strict <= 1; ++options.strict) {
    for (int i = 0; i < order * 2; ++i) b[i] = 1 + i;
    speedwell_result_init(&result, sizeof result);
    result.forward_bounds = ferr;
    ferr[0] = ferr[1] = untouched;
    CHECK(speedwell_dgesvx(order, 2, a, order, b, order, &options, &result) ==
          (options.strict ? order + 1 : 0));
    CHECK(strlen(speedwell_last_error()) > 0 && speedwell_last_error_rank() == -1);
    CHECK(result.doubtful == 1 && result.condition > 1e15 && result.precision == SPEEDWELL_FP64);
    CHECK(result.steps >= 1 && result.componentwise_error < 1e-14 && ferr[1] > 1);
    if (options.strict == 0) memcpy(x, b, sizeof x);
    CHECK(b[0] != 1 && memcmp(b, x, sizeof b) == 0);
  }
  for (int i = 0; i < order * 2; ++i) b[i] = 1 + i;
  CHECK(speedwell_dgesv(order, 2, a, order, b, order) == 0 && strlen(speedwell_last_error()) > 0);

  options.strict = 1;
  for (int i = 0; i < order * 2; ++i) b[i] = 1 + i;
  CHECK(speedwell_dgesvx(order, 2, a, order, b, order, &options, NULL) == order + 1 && b[0] != 1);
  speedwell_factorization* factors = NULL;
  CHECK(speedwell_factor(order, a, order, &options, &factors) == 0);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < order * 2; ++i) b[i] = 1 + i;
    speedwell_result_init(&result, sizeof result);
    result.size = offsetof(speedwell_result, doubtful); /* as the program was compiled before */
    result.doubtful = -1;
    CHECK((turn ? speedwell_solve_factored_transposed : speedwell_solve_factored)(
              factors, 2, b, order, &result) == order + 1);
    CHECK(b[0] != 1 && result.condition > 1e15 && result.doubtful == -1);
  }
  speedwell_free(factors);

  double good[lda * n], right[ldb * nrhs];
  fill(good, right);
  speedwell_result_init(&result, sizeof result);
  CHECK(speedwell_dgesvx(n, nrhs, good, lda, right, ldb, &options, &result) == 0);
  CHECK(is_solved(right) && result.doubtful == 0);
  /* Where an x is not accurate enough, that is the info. */
  options.precision = SPEEDWELL_FP16;
  options.refine = SPEEDWELL_IR;
  for (int i = 0; i < order * 2; ++i) x[i] = b[i] = 1 + i;
  CHECK(speedwell_dgesvx(order, 2, a, order, b, order, &options, NULL) == SPEEDWELL_NOT_ACCURATE);
  CHECK(memcmp(b, x, sizeof b) == 0);
}

/* Doubts on several ranks: each has its part of A by whole columns, and of x. */
static void doubts_together(void) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double a[order * order], b[order];
  int columns = 0;
  for (int j = 0; j < order; ++j) {
    if (j / 2 % ranks != rank) continue;
    for (int i = 0; i < order; ++i) a[i + columns * order] = hilbert(i, j);
    ++columns;
  }
  const int64_t desca[9] = {1, 0, order, order, 2, 2, 0, 0, order};
  const int64_t descb[9] = {1, 0, order, 1, 2, 2, 0, 0, order};
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.nprow = 1;
  options.npcol = ranks;
  options.strict = 1;
  for (int i = 0; i < order; ++i) b[i] = 1 + i;
  CHECK(speedwell_pdgesv(MPI_COMM_WORLD, a, desca, b, descb, &options, NULL) == order + 1);
  CHECK((b[0] != 1) == (rank == 0) && strlen(speedwell_last_error()) > 0);
  speedwell_factorization* factors = NULL;
  CHECK(speedwell_pfactor(MPI_COMM_WORLD, a, desca, &options, &factors) == 0);
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  for (int i = 0; i < order; ++i) b[i] = 1 + i;
  CHECK(speedwell_psolve_factored(factors, b, descb, &result) == order + 1);
  CHECK((b[0] != 1) == (rank == 0) && result.doubtful == 1);
  speedwell_free(factors);
}

/* Every option reaches the library: a value that is not allowed is refused, and the message names
   the option. */
static void run_options(void) {
  double a[lda * n], b[ldb * nrhs];
  speedwell_options o;
  speedwell_options_init(&o, sizeof o);
  CHECK(o.lookahead == -1 && o.reserve == -1 && o.broadcast == SPEEDWELL_RING_MODIFIED);
  CHECK(o.nb == 0 && o.nprow == 0 && o.npcol == 0 && o.chunk == 0 && o.threads == 0);
  CHECK(o.gpus == NULL && o.gpu_count == 0 && o.stall_timeout == 0 && o.comm == SPEEDWELL_AUTO);
  CHECK(o.fp64 == SPEEDWELL_FP64_NATIVE);
  CHECK(o.precision == SPEEDWELL_AUTO && o.first == SPEEDWELL_AUTO);
#define CHECK_REFUSED(field, value, info, words)                        \
  fill(a, b);                                                           \
  speedwell_options_init(&o, sizeof o);                                 \
  o.device = SPEEDWELL_CPU;                                             \
  o.field = value;                                                      \
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &o, NULL) == (info)); \
  CHECK(strstr(speedwell_last_error(), words) != NULL && speedwell_last_error_rank() == -1)
  CHECK_REFUSED(nb, -1, SPEEDWELL_NOT_ALLOWED, "--nb");
  CHECK_REFUSED(nprow, 2, SPEEDWELL_NOT_ALLOWED, "-P 2");
  CHECK_REFUSED(npcol, 2, SPEEDWELL_NOT_ALLOWED, "-Q 2");
  CHECK_REFUSED(lookahead, 1000, SPEEDWELL_NOT_ALLOWED, "--lookahead");
  CHECK_REFUSED(chunk, -1, SPEEDWELL_NOT_ALLOWED, "--chunk");
  CHECK_REFUSED(threads, -1, SPEEDWELL_NOT_ALLOWED, "--threads");
  CHECK_REFUSED(reserve, 5, SPEEDWELL_NOT_ALLOWED, "--reserve");
  CHECK_REFUSED(stall_timeout, -1, SPEEDWELL_NOT_ALLOWED, "--stall-timeout");
  CHECK_REFUSED(comm, SPEEDWELL_NCCL, SPEEDWELL_NOT_ALLOWED, "nccl");
  CHECK_REFUSED(comm, SPEEDWELL_STAGED + 1, -7, "options");
  CHECK_REFUSED(broadcast, SPEEDWELL_LONG_MODIFIED + 1, -7, "options");
  CHECK_REFUSED(column_major, 2, -7, "options");
  CHECK_REFUSED(first, SPEEDWELL_FP16X3 + 1, -7, "options");
  CHECK_REFUSED(first, -1, -7, "options");
  CHECK_REFUSED(gpu_count, -1, -7, "options");
  CHECK_REFUSED(strict, 2, -7, "options");
  CHECK_REFUSED(accuracy, SPEEDWELL_CERTIFIED + 1, -7, "options");
  CHECK_REFUSED(fp64, SPEEDWELL_FP64_EMULATED, SPEEDWELL_NOT_ALLOWED,
                "--fp64 emulated needs a GPU");
  CHECK_REFUSED(fp64, SPEEDWELL_FP64_EMULATED + 1, -7, "options");
  const int gpus[] = {0, 1};
  CHECK_REFUSED(gpu_count = 2; o.gpus, gpus, SPEEDWELL_NOT_ALLOWED, "--gpus");
  /* A program that was compiled before the later options were added: they have their defaults. */
  speedwell_result r;
#define BEFORE(member) offsetof(speedwell_options, member)
  const size_t sizes[] = {BEFORE(broadcast), BEFORE(first),      BEFORE(strict), BEFORE(fp64),
                          BEFORE(accuracy),  BEFORE(probe_seed), sizeof o};
  for (int i = 0; i < 7; ++i) {
    fill(a, b);
    speedwell_options_init(&o, sizes[i]);
    o.probe_seed = o.first = SPEEDWELL_FP32; /* read only where the program knows them */
    speedwell_result_init(&r, sizeof r);
    CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &o, &r) == 0);
    CHECK(r.precision == (i >= 2 ? SPEEDWELL_FP32 : SPEEDWELL_FP64));
    CHECK((r.probe_seed == SPEEDWELL_FP32) == (i == 6) && r.probe_seed > 0);
  }
}

/* x = 1 / 3 to its last digit: A x = b has the exact solution (1 / 3, 1, ..., 1). With
   SPEEDWELL_CERTIFIED its bounds are proven. */
static void to_last_digit(int accuracy) {
  double a[order * order], b[order];
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.accuracy = accuracy;
  for (int j = 0; j < order; ++j) {
    for (int i = 0; i < order; ++i) a[i + j * order] = i == j ? order : i > j ? 1 : 0;
    b[j] = order + j;
  }
  a[0] = 3;
  for (int i = 1; i < order; ++i) a[i] = 0;
  for (int i = 1; i < order; ++i) b[i] = order + i - 1;
  b[0] = 1;
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  CHECK(speedwell_dgesvx(order, 1, a, order, b, order, &options, &result) == 0);
  CHECK(result.accurate == 1 && result.forward_bound < 4 * 0x1p-53);
  CHECK(result.componentwise_bound < 4 * 0x1p-53 && b[0] == 1. / 3);
  for (int i = 1; i < order; ++i) CHECK(b[i] == 1);
  CHECK(result.certified == (accuracy == SPEEDWELL_CERTIFIED));
  CHECK(!result.certified || result.forward_bound >= (1. / 3) * 0x1p-54);
}

static void factors_alone(void) {
  double a[lda * n], b[ldb * nrhs];
  fill(a, b);
  speedwell_factorization* factors = NULL;
  CHECK(speedwell_factor(0, a, lda, NULL, &factors) == -1 && factors == NULL);
  CHECK(speedwell_factor(n, NULL, lda, NULL, &factors) == -2);
  CHECK(speedwell_factor(n, a, 1, NULL, &factors) == -3);
  CHECK(speedwell_factor(n, a, lda, NULL, NULL) == -5);
  CHECK(speedwell_factor(n, a, lda, NULL, &factors) == 0 && factors != NULL);
  CHECK(speedwell_solve_factored(NULL, nrhs, b, ldb, NULL) == -1);
  CHECK(speedwell_solve_factored(factors, -1, b, ldb, NULL) == -2);
  CHECK(speedwell_solve_factored(factors, nrhs, NULL, ldb, NULL) == -3);
  CHECK(speedwell_solve_factored(factors, nrhs, b, 1, NULL) == -4);
  CHECK(speedwell_solve_factored(factors, 0, NULL, ldb, NULL) == 0);
  for (int turn = 0; turn < 2; ++turn) {
    fill(a, b);
    CHECK(speedwell_solve_factored(factors, nrhs, b, ldb, NULL) == 0);
    CHECK(is_solved(b));
    for (int64_t k = 0; k < nrhs; ++k)
      for (int64_t i = 0; i < n; ++i) b[i + k * ldb] = right_of_transpose(i, k);
    CHECK(speedwell_solve_factored_transposed(factors, nrhs, b, ldb, NULL) == 0);
    CHECK(is_solved(b));
  }
  CHECK(speedwell_solve_factored_transposed(NULL, nrhs, b, ldb, NULL) == -1);
  CHECK(speedwell_solve_factored_transposed(factors, nrhs, b, 1, NULL) == -4);
  speedwell_free(factors);
  speedwell_free(NULL);
}

/* This rank's part, of blocks of nb over rows x columns ranks, with padding below; the first block
   lies on process (first[0], first[1]). */
enum { nb = 2 };
static void part(double* local, int64_t lld, int64_t count, const int* grid, const int* first,
                 int rank, double (*value)(int64_t, int64_t)) {
  int64_t columns = 0;
  for (int64_t i = 0; i < lld * count; ++i) local[i] = untouched;
  for (int64_t j = 0; j < count; ++j) {
    if ((j / nb + first[1]) % grid[1] != rank % grid[1]) continue;
    int64_t row = 0;
    for (int64_t i = 0; i < n; ++i)
      if ((i / nb + first[0]) % grid[0] == rank / grid[1])
        local[row++ + columns * lld] = value(i, j);
    ++columns;
  }
}

static void together(void) {
  int rank = 0, ranks = 1, grid[2] = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, grid);
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.nprow = grid[0];
  options.npcol = grid[1];
  const int64_t desca[9] = {1, 0, n, n, nb, nb, 0, 0, lda};
  const int origin[2] = {0, 0}, first[2] = {grid[0] - 1, grid[1] - 1};
  const int64_t descb[9] = {1, 0, n, nrhs, nb, nb, first[0], first[1], ldb};
  double a[lda * n], b[ldb * nrhs], x[ldb * nrhs];
  part(a, lda, n, grid, origin, rank, entry);
  part(x, ldb, nrhs, grid, first, rank, solution);
  part(b, ldb, nrhs, grid, first, rank, right_hand_side);

  CHECK(speedwell_pdgesv(MPI_COMM_NULL, a, desca, b, descb, &options, NULL) == -1);
  const int last = rank == ranks - 1;
  CHECK(speedwell_pdgesv(MPI_COMM_WORLD, a, last ? NULL : desca, b, descb, &options, NULL) == -3);
  CHECK(speedwell_pdgesv(MPI_COMM_WORLD, a, desca, b, last ? NULL : descb, &options, NULL) == -5);
  options.nprow = ranks + 1;
  CHECK(speedwell_pdgesv(MPI_COMM_WORLD, a, desca, b, descb, &options, NULL) ==
        SPEEDWELL_NOT_ALLOWED);
  options.nprow = grid[0];
  CHECK(speedwell_pdgesv(MPI_COMM_WORLD, a, desca, b, descb, &options, NULL) == 0);
  for (int i = 0; i < ldb * nrhs; ++i) CHECK(fabs(b[i] - x[i]) < 1e-12);

  speedwell_factorization* factors = NULL;
  CHECK(speedwell_pfactor(MPI_COMM_NULL, a, desca, &options, &factors) == -1);
  CHECK(speedwell_pfactor(MPI_COMM_WORLD, a, desca, &options, last ? NULL : &factors) == -5);
  CHECK(speedwell_pfactor(MPI_COMM_WORLD, a, desca, &options, &factors) == 0);
  CHECK(speedwell_psolve_factored(NULL, b, descb, NULL) == -1);
  CHECK(speedwell_psolve_factored(factors, b, last ? NULL : descb, NULL) == -3);
  char named[64] = "";
  if (ranks > 1) snprintf(named, sizeof named, "rank %d: argument 3, descb, is", ranks - 1);
  CHECK(strncmp(speedwell_last_error(), named, strlen(named)) == 0);
  if (ranks > 1) {
    CHECK((last ? speedwell_psolve_factored_transposed : speedwell_psolve_factored)(
              factors, b, descb, NULL) == SPEEDWELL_NOT_ALLOWED);
    CHECK(strncmp(speedwell_last_error(), "ranks differ in the system: ", 28) == 0);
    speedwell_factorization* none = NULL;
    const int info = last ? speedwell_pfactor(MPI_COMM_WORLD, a, desca, &options, &none)
                          : speedwell_pdgesv(MPI_COMM_WORLD, a, desca, b, descb, &options, NULL);
    CHECK(info == SPEEDWELL_NOT_ALLOWED && none == NULL);
    CHECK(strncmp(speedwell_last_error(), "ranks differ in the call: ", 26) == 0);
  }
  for (int turn = 0; turn < 2; ++turn) {
    speedwell_result result;
    speedwell_result_init(&result, sizeof result);
    part(b, ldb, nrhs, grid, first, rank, right_hand_side);
    CHECK(speedwell_psolve_factored(factors, b, descb, &result) == 0);
    CHECK(result.steps >= 1 && result.componentwise_error <= 1e-14);
    for (int i = 0; i < ldb * nrhs; ++i) CHECK(fabs(b[i] - x[i]) < 1e-12);
    part(b, ldb, nrhs, grid, first, rank, right_of_transpose);
    CHECK(speedwell_psolve_factored_transposed(factors, b, descb, &result) == 0);
    CHECK(result.steps >= 1 && result.componentwise_error <= 1e-14);
    for (int i = 0; i < ldb * nrhs; ++i) CHECK(fabs(b[i] - x[i]) < 1e-12);
  }
  CHECK(speedwell_psolve_factored_transposed(NULL, b, descb, NULL) == -1);
  part(b, ldb, nrhs, grid, first, rank, with_a_nan);
  part(x, ldb, nrhs, grid, first, rank, with_a_nan);
  CHECK(speedwell_psolve_factored(factors, b, descb, NULL) == SPEEDWELL_NOT_ACCURATE);
  CHECK(memcmp(b, x, sizeof b) == 0);
  CHECK(ranks == 1 || speedwell_solve_factored(factors, 1, b, ldb, NULL) == -1);
  speedwell_free(factors);
}

/* The pages of memory that this process has now; 0 where the system does not say. */
static long resident_pages(void) {
  long all = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  return fclose(file) == 0 ? resident : 0;
}

/* Memory does not grow with the number of calls. 64 pages are 30 bytes a call. */
static void many_calls(int64_t order) {
  enum { most = 50 };
  double a[most * most], b[most];
  long after_1000 = 0;
  int solved = 0;
  for (int64_t j = 0; j < order; ++j)
    for (int64_t i = 0; i < order; ++i)
      a[i + j * order] = (i == j ? 10 : 0) + sin((double)(1 + 5 * i + 3 * j));
  for (int call = 0; call < 10000; ++call) {
    speedwell_result result;
    speedwell_result_init(&result, sizeof result);
    for (int64_t i = 0; i < order; ++i) b[i] = 1;
    if (call % 3 == 2) {
      speedwell_factorization* factors = NULL;
      solved += speedwell_factor(order, a, order, NULL, &factors) == 0 &&
                speedwell_solve_factored(factors, 1, b, order, NULL) == 0;
      speedwell_free(factors);
    } else {
      solved +=
          speedwell_dgesvx(order, 1, a, order, b, order, NULL, call % 3 ? &result : NULL) == 0;
    }
    if (call == 999) after_1000 = resident_pages();
  }
  CHECK(solved == 10000);
  CHECK(resident_pages() - after_1000 < 64);
}

/* Calls leave the program's numbers of threads as they were. */
static void threads(void) {
#ifdef SETS_THREADS
  double a[lda * n], b[ldb * nrhs];
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.threads = 2;
  openblas_set_num_threads(4);
  omp_set_num_threads(5);
#define CHECK_THREADS() CHECK(omp_get_max_threads() == 5 && openblas_get_num_threads() == 4)
  fill(a, b);
  CHECK(speedwell_dgesv(n, nrhs, a, lda, b, ldb) == 0);
  CHECK_THREADS();
  fill(a, b);
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &options, NULL) == 0);
  CHECK_THREADS();
  for (int i = 0; i < lda * n; ++i) a[i] = 1;
  CHECK(speedwell_dgesvx(n, nrhs, a, lda, b, ldb, &options, NULL) > 0);
  CHECK_THREADS();
  speedwell_factorization* factors = NULL;
  fill(a, b);
  CHECK(speedwell_factor(n, a, lda, &options, &factors) == 0);
  CHECK_THREADS();
  CHECK(speedwell_solve_factored(factors, nrhs, b, ldb, NULL) == 0);
  CHECK_THREADS();
  speedwell_free(factors);
  CHECK_THREADS();
#endif
}

/* With an argument, the program initializes and finalizes MPI; without one, Speedwell does. */
int main(int argc, char** argv) {
  if (argc > 1) MPI_Init(&argc, &argv);
  CHECK(strlen(speedwell_version()) >= 5);
  arguments();
  alone();
  refusals();
  a_nan_among_several();
  errors_of_many();
  doubts();
  run_options();
  to_last_digit(SPEEDWELL_FORWARD);
  to_last_digit(SPEEDWELL_CERTIFIED);
  factors_alone();
  speedwell_release();
  together();
  failures += failures_of_complex();
  doubts_together();
  threads();
  many_calls(10);
  many_calls(50);
  if (argc > 1) MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
