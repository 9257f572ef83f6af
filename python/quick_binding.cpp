// SPDX-License-Identifier: BSD-3-Clause
// quick_solve() for arrays of NumPy.
#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "binding.hpp"
#include "core/clock.hpp"
#include "core/interrupt.hpp"
#include "solve/quick_solve.hpp"

namespace speedwell::python {

namespace {

/// Whether a system takes half a second and more, and so is to be interrupted.
template <class T>
bool is_long(const PlainSystem<T>& system) {
  const auto n = static_cast<double>(system.n);
  const double each = std::is_same_v<T, double> ? 2 : 8;  // operations
  return each * n * n * (n / 3 + static_cast<double>(system.count)) > 2e10;
}

/// An array by Python's buffer protocol: DLPack takes longer than a small system.
class Buffer {
 public:
  Buffer(nb::handle array, int flags)
      : is_open_(PyObject_GetBuffer(array.ptr(), &view_, flags | PyBUF_FORMAT) == 0) {
    if (!is_open_) PyErr_Clear();
  }
  ~Buffer() {
    if (is_open_) PyBuffer_Release(&view_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Whether there is an array of numbers that can be read where they are.
  bool is_usable() const {
    if (!is_open_ || view_.itemsize % alignof(double) != 0 ||
        reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(double) != 0)
      return false;
    for (int i = 0; i < view_.ndim; ++i)
      if (view_.shape[i] == 0 || view_.strides[i] % view_.itemsize != 0) return false;
    return true;
  }
  int dimensions() const { return view_.ndim; }
  /// Of the elements: "d" or "Zd" for the types of PlainSystem.
  std::string_view format() const { return view_.format; }
  std::int64_t size(int i) const { return view_.shape[i]; }
  std::int64_t stride(int i) const { return view_.strides[i] / view_.itemsize; }
  template <class T>
  T* data() const {
    return static_cast<T*>(view_.buf);
  }

 private:
  Py_buffer view_{};
  bool is_open_;
};

template <class T>
bool solved_in_field(const Buffer& a, const Buffer& b, const Buffer& x, std::int64_t lda,
                     StorageOrder order) {
  const std::int64_t n = a.size(0);
  const bool is_vector = b.dimensions() == 1;
  const PlainSystem<T> system{n,           a.data<const T>(),          lda,
                              order,       b.data<const T>(),          is_vector ? 1 : b.size(1),
                              b.stride(0), is_vector ? n : b.stride(1)};
  const int threads = threads_alone();
  if (n > quick_limit(field_of<T>, system.count, threads)) return false;
  if (!is_long(system)) {
    const nb::gil_scoped_release release;
    return quick_solve(system, x.data<T>(), threads);
  }
  Call call{nb::none()};
  return call.run([&] {
    const SteadyClock clock;
    Interrupt interrupt(call.interrupt(), clock);
    interrupt.begin();
    const bool is_solved = quick_solve(system, x.data<T>(), threads, &interrupt);
    if (interrupt.ended()) throw Interrupted("ended early");
    return is_solved;
  });
}

/// X <- A^-1 B by quick_solve(). False, with anything in X, where there is more to say, and for
/// arrays that a general call takes another way.
/// @param given_x of B's shape and type, with columns side by side
bool quickly_solved(nb::handle given_a, nb::handle given_b, nb::handle given_x) {
  const Buffer a(given_a, PyBUF_STRIDES);
  const Buffer b(given_b, PyBUF_STRIDES);
  if (!a.is_usable() || !b.is_usable() || a.dimensions() != 2 || b.dimensions() < 1 ||
      b.dimensions() > 2 || a.format() != b.format() || a.size(1) != a.size(0) ||
      b.size(0) != a.size(0))
    return false;
  const std::int64_t n = a.size(0);
  const bool by_rows = a.stride(1) == 1 && a.stride(0) >= n;
  const bool by_columns = a.stride(0) == 1 && a.stride(1) >= n;
  if (!(by_rows || by_columns)) return false;
  const Buffer x(given_x, PyBUF_STRIDES | PyBUF_WRITABLE);
  if (!x.is_usable()) return false;
  const StorageOrder order = by_rows ? StorageOrder::row_major : StorageOrder::column_major;
  const std::int64_t lda = a.stride(by_rows ? 0 : 1);
  if (a.format() == "d") return solved_in_field<double>(a, b, x, lda, order);
  if (a.format() == "Zd") return solved_in_field<std::complex<double>>(a, b, x, lda, order);
  return false;
}

}  // namespace

void bind_quick(nb::module_& module) {
  module.def("quick_solve", &quickly_solved);
}

}  // namespace speedwell::python
