// SPDX-License-Identifier: BSD-3-Clause
// Systems for LAPACK's expert drivers: stacks of small ones, complex ones, and those whose matrix
// has a form. Arrays come as addresses, which the package has checked.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <exception>

#include "binding.hpp"
#include "host/lapack_expert.hpp"
#include "host/thread_scope.hpp"

namespace lupine::python {

namespace {

/// A stack of systems of one order, each column-major and without gaps: A and b, which are
/// overwritten, and x.
struct Stack {
  std::int64_t count, n, rhs;
  std::uintptr_t a, b, x;
  // What comes of each system: INFO, RCOND, and FERR and BERR of each right-hand side.
  std::uintptr_t info, rcond, forward, backward;
};

template <class T>
T* at(std::uintptr_t address, std::int64_t offset) {
  return reinterpret_cast<T*>(address) + offset;
}

template <class T>
void solve_one(const Stack& all, std::int64_t k, const ExpertOptions& options) {
  const auto [count, n, rhs, a, b, x, info, rcond, forward, backward] = all;
  const ExpertOutcome found =
      solve_by_expert<T>(options, {at<T>(a, k * n * n), n, n, n},
                         {at<T>(b, k * n * rhs), n, rhs, n}, {at<T>(x, k * n * rhs), n, rhs, n});
  *at<int>(info, k) = found.info;
  *at<double>(rcond, k) = found.rcond;
  std::ranges::copy(found.forward, at<double>(forward, k * rhs));
  std::ranges::copy(found.backward, at<double>(backward, k * rhs));
}

/// Small systems are solved side by side, one by each thread, and large ones one after the other by
/// all threads. Ends early where a signal or the end of the interpreter asks for it.
template <class T>
void solve_stack(const Stack& all, const ExpertOptions& options, int threads,
                 const InterruptFunction& interrupt) {
  constexpr std::int64_t one_thread_limit = 256;  // up to which one thread is as fast as many
  const ThreadScope scope(threads);
  const std::int64_t together = all.n <= one_thread_limit ? std::int64_t{4096} : 1;
  for (std::int64_t begin = 0; begin < all.count; begin += together) {
    if (interrupt()) throw Interrupted("ended early");
    const std::int64_t end = std::min(all.count, begin + together);
    std::exception_ptr thrown;
#pragma omp parallel for schedule(dynamic) if (end - begin > 1)
    for (std::int64_t k = begin; k < end; ++k) {
      try {
        solve_one<T>(all, k, options);
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

void bind_expert(nb::module_& module) {
  module.def("solve_by_expert", [](const std::vector<std::int64_t>& sizes,
                                   const std::vector<std::uintptr_t>& addresses, bool complex,
                                   const std::string& form, bool lower, bool transposed,
                                   const std::vector<int>& bands, int threads) {
    const Stack all{sizes.at(0),     sizes.at(1),     sizes.at(2),     addresses.at(0),
                    addresses.at(1), addresses.at(2), addresses.at(3), addresses.at(4),
                    addresses.at(5), addresses.at(6)};
    const ExpertOptions options{form_of(form), lower, transposed ? Transpose::yes : Transpose::no,
                                bands.at(0), bands.at(1)};
    Call call{nb::none()};
    const InterruptFunction interrupt = call.interrupt();
    const int used = threads > 0 ? threads : threads_alone();
    call.run([&] {
      complex ? solve_stack<std::complex<double>>(all, options, used, interrupt)
              : solve_stack<double>(all, options, used, interrupt);
    });
  });
}

}  // namespace lupine::python
