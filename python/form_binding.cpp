// SPDX-License-Identifier: BSD-3-Clause
// Stacks of small systems, and systems whose matrix has a form. Arrays come as addresses, which the
// package has checked.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <exception>

#include "binding.hpp"
#include "host/process_seed.hpp"
#include "host/thread_scope.hpp"
#include "solve/form_solve.hpp"

namespace speedwell::python {

namespace {

/// A stack of systems of one order, each column-major and without gaps: A, which becomes whole (see
/// make_whole()), b and x; and of each what solve_form() returns.
struct Stack {
  std::int64_t count, n, rhs;
  std::uintptr_t a, b, x, found;
};

template <class T>
T* at(std::uintptr_t address, std::int64_t offset) {
  return reinterpret_cast<T*>(address) + offset;
}

/// How they are judged.
struct Judge {
  double tolerance;
  std::uint64_t seed;
};

template <class T>
void solve_one(const Stack& all, std::int64_t k, const FormOptions& options, const Judge& judge) {
  const auto [count, n, rhs, a, b, x, found] = all;
  const MatrixView<T> whole{at<T>(a, k * n * n), n, n, n};
  make_whole(options, whole);
  *at<int>(found, k) =
      solve_form<T>(options, whole, MatrixView<const T>{at<T>(b, k * n * rhs), n, rhs, n},
                    {at<T>(x, k * n * rhs), n, rhs, n}, judge.tolerance, judge.seed);
}

/// Small systems are solved side by side, one by each thread, and large ones one after the other by
/// all threads. Ends early where a signal or the end of the interpreter asks for it.
template <class T>
void solve_stack(const Stack& all, const FormOptions& options, const Judge& judge, int threads,
                 const InterruptFunction& interrupt) {
  constexpr std::int64_t one_thread_limit = 256;  // up to which one thread is as fast as many
  const ThreadScope scope(threads);
  const std::int64_t together = all.n <= one_thread_limit ? std::int64_t{4096} : 1;
  for (std::int64_t begin = 0; begin < all.count; begin += together) {
    if (interrupt()) throw Interrupted("ended early");
    const std::int64_t end = std::min(all.count, begin + together);
    std::exception_ptr thrown;
#pragma omp parallel for schedule(dynamic, 8) if (end - begin > 1)
    for (std::int64_t k = begin; k < end; ++k) {
      try {
        solve_one<T>(all, k, options, judge);
      } catch (...) {
#pragma omp critical
        thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }
}

MatrixForm form_of(const std::string& name) {
  if (name == "symmetric") return MatrixForm::symmetric;
  if (name == "hermitian") return MatrixForm::hermitian;
  if (name == "positive definite") return MatrixForm::positive_definite;
  if (name == "banded") return MatrixForm::banded;
  if (name == "upper triangular") return MatrixForm::upper_triangular;
  if (name == "lower triangular") return MatrixForm::lower_triangular;
  return MatrixForm::general;
}

}  // namespace

void bind_forms(nb::module_& module) {
  module.def(
      "solve_by_form",
      [](const std::vector<std::int64_t>& sizes, const std::vector<std::uintptr_t>& addresses,
         bool complex, const std::string& form, bool lower, const std::vector<std::int64_t>& bands,
         double tolerance, std::uint64_t seed, int threads) {
        const Stack all{sizes.at(0),     sizes.at(1),     sizes.at(2),    addresses.at(0),
                        addresses.at(1), addresses.at(2), addresses.at(3)};
        const FormOptions options{form_of(form), lower, bands.at(0), bands.at(1)};
        const Judge judge{tolerance, seed > 0 ? seed : process_seed()};
        Call call{nb::none()};
        const InterruptFunction interrupt = call.interrupt();
        const int used = threads > 0 ? threads : threads_alone();
        call.run([&] {
          complex ? solve_stack<std::complex<double>>(all, options, judge, used, interrupt)
                  : solve_stack<double>(all, options, judge, used, interrupt);
        });
      });
}

}  // namespace speedwell::python
