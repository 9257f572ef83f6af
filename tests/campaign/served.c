/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves systems by speedwell.h, as many as come by standard input of rank 0, so that MPI starts
 * once.
 *
 * A request is nine int64_t (n, nrhs, method, precision, first, condition, nb, complex, accuracy),
 * A and b by columns. An answer is three int64_t (info, doubtful, size of the text), the text,
 * ferr, and x. `doubtful` is 1 where there is a doubt, which speedwell_dgesv tells by
 * speedwell_last_error(). On several ranks, rank 0 has all of A and b. */
#include <math.h>
#include <speedwell_mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum { dgesvx, factored, transposed, dgesv };

typedef struct system_t {
  int64_t n, nrhs, method, precision, first, condition, nb, complex, accuracy;
} system_t;

/* The numbers of an element. */
static int64_t numbers_of(const system_t* s) {
  return s->complex ? 2 : 1;
}

static void* room(int64_t numbers) {
  void* memory = calloc(numbers > 0 ? (size_t)numbers : 1, sizeof(double));
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return memory;
}

static int read_all(void* to, size_t size) {
  return fread(to, 1, size, stdin) == size;
}

static speedwell_options options_of(const system_t* s, int ranks) {
  speedwell_options options;
  speedwell_options_init(&options, sizeof options);
  options.precision = (int)s->precision;
  options.first = (int)s->first;
  options.condition = (int)s->condition;
  options.nb = s->nb;
  options.accuracy = (int)s->accuracy;
  if (ranks > 1) options.stall_timeout = 60;
  return options;
}

/* The functions for real or for complex numbers. */
static int factor(const system_t* s, const double* a, const speedwell_options* options,
                  speedwell_factorization** factors) {
  return s->complex ? speedwell_zfactor(s->n, a, s->n, options, factors)
                    : speedwell_factor(s->n, a, s->n, options, factors);
}

static int solve_factored(const system_t* s, speedwell_factorization* factors, double* b,
                          speedwell_result* result) {
  const int of_transpose = s->method == transposed;
  if (s->complex)
    return speedwell_zsolve_factored(factors,
                                     of_transpose ? SPEEDWELL_TRANSPOSE : SPEEDWELL_NO_TRANSPOSE,
                                     s->nrhs, b, s->n, result);
  return of_transpose ? speedwell_solve_factored_transposed(factors, s->nrhs, b, s->n, result)
                      : speedwell_solve_factored(factors, s->nrhs, b, s->n, result);
}

static int solve_alone(const system_t* s, const double* a, double* b,
                       const speedwell_options* options, speedwell_result* result) {
  if (s->method == dgesv)
    return s->complex ? speedwell_zgesv(s->n, s->nrhs, a, s->n, b, s->n)
                      : speedwell_dgesv(s->n, s->nrhs, a, s->n, b, s->n);
  if (s->method == dgesvx)
    return s->complex ? speedwell_zgesvx(s->n, s->nrhs, a, s->n, b, s->n, options, result)
                      : speedwell_dgesvx(s->n, s->nrhs, a, s->n, b, s->n, options, result);
  speedwell_factorization* factors = NULL;
  int info = factor(s, a, options, &factors);
  if (info == 0) info = solve_factored(s, factors, b, result);
  speedwell_free(factors);
  return info;
}

/* A and b are one block each, which rank 0 has. */
static int solve_together(const system_t* s, const double* a, double* b,
                          const speedwell_options* options, speedwell_result* result) {
  const int64_t desca[] = {1, 0, s->n, s->n, s->n, s->n, 0, 0, s->n};
  const int64_t descb[] = {1, 0, s->n, s->nrhs, s->n, s->nrhs, 0, 0, s->n};
  if (s->method == dgesvx)
    return s->complex ? speedwell_pzgesv(MPI_COMM_WORLD, a, desca, b, descb, options, result)
                      : speedwell_pdgesv(MPI_COMM_WORLD, a, desca, b, descb, options, result);
  speedwell_factorization* factors = NULL;
  int info = s->complex ? speedwell_pzfactor(MPI_COMM_WORLD, a, desca, options, &factors)
                        : speedwell_pfactor(MPI_COMM_WORLD, a, desca, options, &factors);
  const int of_transpose = s->method == transposed;
  if (info == 0 && s->complex)
    info = speedwell_pzsolve_factored(
        factors, of_transpose ? SPEEDWELL_TRANSPOSE : SPEEDWELL_NO_TRANSPOSE, b, descb, result);
  else if (info == 0)
    info = of_transpose ? speedwell_psolve_factored_transposed(factors, b, descb, result)
                        : speedwell_psolve_factored(factors, b, descb, result);
  speedwell_free(factors);
  return info;
}

static void answer(const system_t* s, int64_t info, const speedwell_result* result,
                   const double* ferr, const double* x) {
  const char* words = speedwell_last_error();
  int64_t header[3] = {info, 0, (int64_t)strlen(words)};
  header[1] = s->method != dgesv ? result->doubtful : header[2] > 0;
  fwrite(header, sizeof(int64_t), 3, stdout);
  fwrite(words, 1, (size_t)header[2], stdout);
  fwrite(ferr, sizeof(double), (size_t)s->nrhs, stdout);
  fwrite(x, sizeof(double), (size_t)(numbers_of(s) * s->n * s->nrhs), stdout);
  fflush(stdout);
}

/* Rank 0's `there`, on every rank. A request may be long in coming, and a rank that waits inside
 * MPI keeps a core busy: so the ranks ask, and sleep. */
static int64_t of_rank_0(int64_t there) {
  const struct timespec pause = {.tv_nsec = 200000};
  MPI_Request request;
  MPI_Ibcast(&there, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return there;
    thrd_sleep(&pause, NULL);
  }
}

/* Returns 0 where there is no further request. */
static int serve(int rank, int ranks) {
  system_t s = {0};
  if (!of_rank_0(rank == 0 && read_all(&s, sizeof s))) return 0;
  MPI_Bcast(&s, sizeof s, MPI_BYTE, 0, MPI_COMM_WORLD);
  const int64_t numbers = numbers_of(&s);
  double* a = room(numbers * s.n * s.n);
  double* b = room(numbers * s.n * s.nrhs);
  double* ferr = room(s.nrhs);
  if (rank == 0 && !(read_all(a, sizeof(double) * (size_t)(numbers * s.n * s.n)) &&
                     read_all(b, sizeof(double) * (size_t)(numbers * s.n * s.nrhs))))
    MPI_Abort(MPI_COMM_WORLD, 2);
  for (int64_t k = 0; k < s.nrhs; ++k) ferr[k] = NAN;
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  result.forward_bounds = ferr;
  const speedwell_options options = options_of(&s, ranks);
  const int info = ranks == 1 ? solve_alone(&s, a, b, &options, &result)
                              : solve_together(&s, a, b, &options, &result);
  if (rank == 0) answer(&s, info, &result, ferr, b);
  free(a);
  free(b);
  free(ferr);
  return 1;
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while (serve(rank, ranks)) continue;
  MPI_Finalize();
  return 0;
}
