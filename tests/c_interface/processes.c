/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the C interface by several threads, by children of fork(), and after MPI. What it tests
 * is chosen by its argument, since it begins with the first calls of a process. */
#include <mpi.h>
#include <speedwell.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { count = 4 };

/* Whether the system of order n is solved, of which all x_i are 1. `with_result`: by the general
 * way, which needs MPI. */
static int solves(int n, int with_result) {
  double* a = calloc((size_t)n * (size_t)n, sizeof *a);
  double* b = malloc((size_t)n * sizeof *b);
  speedwell_result result;
  speedwell_result_init(&result, sizeof result);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) a[i + (size_t)j * (size_t)n] = i == j ? n : (i * 7 + j * 3) % 5 - 2;
  for (int i = 0; i < n; ++i) {
    b[i] = 0;
    for (int j = 0; j < n; ++j) b[i] += a[i + (size_t)j * (size_t)n];
  }
  const int info = speedwell_dgesvx(n, 1, a, n, b, n, NULL, with_result ? &result : NULL);
  int right = info == 0;
  for (int i = 0; i < n; ++i) right = right && b[i] > 1 - 1e-9 && b[i] < 1 + 1e-9;
  if (!right) fprintf(stderr, "n = %d: info %d, %s\n", n, info, speedwell_last_error());
  free(a);
  free(b);
  return right;
}

static void* work(void* argument) {
  static int failed;
  const int with_result = argument != NULL;
  for (int n = 3; n < 400; n += 99)
    if (!solves(n, with_result)) return &failed;
  return NULL;
}

/* The number of threads that have failed, of some whose first calls are at the same time. */
static int threads(int with_result) {
  static int mark;
  pthread_t all[count];
  int failed = 0;
  for (int k = 0; k < count; ++k) pthread_create(&all[k], NULL, work, with_result ? &mark : NULL);
  for (int k = 0; k < count; ++k) {
    void* found = NULL;
    pthread_join(all[k], &found);
    failed += found != NULL;
  }
  return failed;
}

static void* solve_on(void* stop) {
  while (!__atomic_load_n((int*)stop, __ATOMIC_RELAXED)) solves(500, 0);
  return NULL;
}

static void* solve_with_result(void* stop) {
  while (!__atomic_load_n((int*)stop, __ATOMIC_RELAXED)) solves(500, 1);
  return NULL;
}

/* The children that fail or hang, of some that are forked while another thread solves. */
static int forks(int with_result) {
  int stop = 0, failed = 0;
  pthread_t solver;
  pthread_create(&solver, NULL, with_result ? solve_with_result : solve_on, &stop);
  for (int k = 0; k < 20; ++k) {
    usleep(20000);
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(solves(200, with_result) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(solver, NULL);
  return failed;
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  int failed = 1;
  if (strcmp(what, "threads") == 0) {
    int started = 1;
    failed = threads(0);
    MPI_Initialized(&started);
    failed += started; /* x alone of small systems needs no MPI */
  } else if (strcmp(what, "threads-with-result") == 0) {
    failed = threads(1);
  } else if (strcmp(what, "after-mpi") == 0) {
    double one = 1;
    speedwell_factorization* none = NULL;
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    failed = !solves(3, 0) || speedwell_factor(1, &one, 1, NULL, &none) != SPEEDWELL_NOT_ALLOWED;
  } else if (strcmp(what, "forks") == 0) {
    failed = forks(0) + forks(1);
  }
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
