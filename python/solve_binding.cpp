// SPDX-License-Identifier: BSD-3-Clause
// solve() and Factorization. Arrays come as addresses, which the package has checked.
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <span>

#include "binding.hpp"
#include "document/result_fields.hpp"
#include "host/lapack_lu.hpp"
#include "solve/small_solver.hpp"
#include "solve/solver.hpp"
#include "source/source_parts.hpp"

namespace speedwell::python {

namespace {

using Indices = nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>>;

const double* doubles(std::uintptr_t address) {
  return reinterpret_cast<const double*>(address);
}
const std::complex<double>* pairs(std::uintptr_t address) {
  return reinterpret_cast<const std::complex<double>*>(address);
}

Transpose transpose(std::string_view name) {
  return name == "yes"         ? Transpose::yes
         : name == "conjugate" ? Transpose::conjugate
                               : Transpose::no;
}

/// A function that fills a block by a function of Python: fill(i, j, out), where `out` is an array
/// in Fortran's order.
template <class T>
std::function<void(std::span<const std::int64_t> i, std::span<const std::int64_t> j, T* a,
                   std::int64_t lda)>
block_function(nb::object fill) {
  // The function may be destroyed by a thread without the interpreter's lock.
  const std::shared_ptr<nb::object> shared(new nb::object(std::move(fill)), [](nb::object* object) {
    const nb::gil_scoped_acquire acquire;
    delete object;
  });
  return [shared](std::span<const std::int64_t> i, std::span<const std::int64_t> j, T* a,
                  std::int64_t lda) {
    const nb::gil_scoped_acquire acquire;
    const nb::object none = nb::none();
    // Copies, since the function of Python may keep what it is given.
    const nb::object rows = nb::cast(Indices(i.data(), {i.size()}), nb::rv_policy::copy);
    const nb::object columns = nb::cast(Indices(j.data(), {j.size()}), nb::rv_policy::copy);
    const std::array<std::size_t, 2> shape{i.size(), j.size()};
    const std::array<std::int64_t, 2> strides{1, lda};
    const nb::object out = nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(
        a, shape.size(), shape.data(), none, strides.data()));
    call_back([&] { (*shared)(rows, columns, out); });
  };
}

Descriptor descriptor(const std::vector<std::int64_t>& given) {
  Descriptor d{};
  if (given.size() != d.size()) throw UsageError("a descriptor has 9 numbers");
  std::copy(given.begin(), given.end(), d.begin());
  return d;
}

/// x as an array of `rows` rows with leading dimension `ld`, which owns its memory.
nb::object array_of(std::vector<double>&& x, std::int64_t rows, std::int64_t ld) {
  auto memory = std::make_unique<std::vector<double>>(std::move(x));
  const std::array<std::size_t, 2> shape{
      static_cast<std::size_t>(rows), ld == 0 ? 0 : memory->size() / static_cast<std::size_t>(ld)};
  const std::array<std::int64_t, 2> strides{1, ld};
  double* const data = memory->data();
  const nb::capsule owner(memory.release(), [](void* vector) noexcept {
    delete static_cast<std::vector<double>*>(vector);
  });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(data, shape.size(), shape.data(),
                                                              owner, strides.data()));
}

std::string text(std::string_view name) {
  return std::string(name);
}

/// None for an empty text; enumerations by name, and results as dicts.
template <class Value>
nb::object object_of(const Value& value) {
  if constexpr (HasFields<Value>) {
    nb::dict all;
    for_each_field(value, [&](const char* field, const auto& one) { all[field] = object_of(one); });
    return all;
  } else if constexpr (std::is_enum_v<Value>) {
    return nb::cast(text(name(value)));
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return value.empty() ? nb::none() : nb::cast(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? object_of(*value) : nb::none();
  } else if constexpr (requires { value.begin(); }) {
    nb::list all;
    for (const auto& one : value) all.append(object_of(one));
    return all;
  } else {
    return nb::cast(value);
  }
}

/// Everything but x.
nb::object info_of(const Solution& s) {
  nb::dict chosen;
  for_each_option(s.chosen, [&](std::string_view option, const auto& value) {
    chosen[nb::str(option.data(), option.size())] = object_of(value);
  });
  const nb::object info = object_of(s);
  info["chosen"] = chosen;
  return info;
}

Solution solved(std::uintptr_t comm, const Matrix& a, const RightHandSide& b, const nb::dict& given,
                nb::object progress) {
  Call call(std::move(progress));
  const auto options = options_of_run<SolveOptions>(comm, given);
  return call.run(
      [&] { return solve(communicator(comm), a, b, options, call.progress(), call.interrupt()); });
}

/// A Factorization, and what its later calls need of the first.
class Factors {
 public:
  Factors(std::uintptr_t comm, const Matrix& a, const nb::dict& given, nb::object progress)
      : call_(std::move(progress)) {
    const auto options = options_of_run<SolveOptions>(comm, given);
    call_.run([&] {
      factors_.emplace(communicator(comm), a, options, call_.progress(), call_.interrupt());
    });
  }
  Solution solve(const RightHandSide& b, const std::string& transposed) {
    return call_.run([&] { return open().solve(b, transpose(transposed)); });
  }
  std::pair<double, bool> condition(bool transposed) {
    const ConditionEstimate found =
        call_.run([&] { return open().condition(transposed ? Transpose::yes : Transpose::no); });
    return {found.value, found.at_least};
  }
  /// Sign, logarithm, mantissa, exponent and doubt.
  nb::tuple determinant() {
    const Determinant found = call_.run([&] { return open().determinant(); });
    return nb::make_tuple(found.sign, found.log_magnitude, found.mantissa, found.exponent,
                          found.doubt);
  }
  std::string precision() { return text(name(open().precision())); }
  bool is_closed() const { return !factors_; }
  void close() {
    call_.run([&] { factors_.reset(); });
  }

 private:
  Factorization& open() {
    if (is_closed()) throw UsageError("the Factorization is closed");
    return *factors_;
  }

  Call call_;
  std::optional<Factorization> factors_;
};

}  // namespace

void bind_solve(nb::module_& module) {
  nb::class_<Matrix>(module, "Matrix")
      .def_static(
          "dense",
          [](std::int64_t n, std::uintptr_t a, std::int64_t lda, bool row_major, bool complex) {
            const StorageOrder order =
                row_major ? StorageOrder::row_major : StorageOrder::column_major;
            return complex ? Matrix::complex_dense(n, pairs(a), lda, 0, order)
                           : Matrix::dense(n, doubles(a), lda, 0, order);
          })
      .def_static("block_cyclic",
                  [](const std::vector<std::int64_t>& d, std::uintptr_t local, bool complex) {
                    return complex ? Matrix::complex_block_cyclic(descriptor(d), pairs(local))
                                   : Matrix::block_cyclic(descriptor(d), doubles(local));
                  })
      .def_static("function", [](std::int64_t n, nb::object fill, bool complex) {
        return complex ? Matrix::from_complex_blocks(
                             n, block_function<std::complex<double>>(std::move(fill)))
                       : Matrix::from_blocks(n, block_function<double>(std::move(fill)));
      });
  nb::class_<RightHandSide>(module, "RightHandSide")
      .def_static("dense",
                  [](std::int64_t count, std::uintptr_t b, std::int64_t ldb, bool complex) {
                    return complex ? RightHandSide::complex_dense(count, pairs(b), ldb)
                                   : RightHandSide::dense(count, doubles(b), ldb);
                  })
      .def_static("on_every_rank",
                  [](std::int64_t count, std::uintptr_t b, std::int64_t ldb, bool complex) {
                    return complex ? on_every_rank(count, pairs(b), ldb)
                                   : on_every_rank(count, doubles(b), ldb);
                  })
      .def_static("block_cyclic", [](const std::vector<std::int64_t>& d, std::uintptr_t local,
                                     bool complex) {
        return complex ? RightHandSide::complex_block_cyclic(descriptor(d), pairs(local))
                       : RightHandSide::block_cyclic(descriptor(d), doubles(local));
      });
  module.attr("small_limit") = small_limit();  // up to which a system is solved on the CPU
  module.def(
      "share_lapack",
      [](const std::array<std::uintptr_t, 4>& gemm, const std::array<std::uintptr_t, 4>& getrf,
         const std::array<std::uintptr_t, 4>& getrs, std::uintptr_t threads) {
        LapackRoutines routines{.threads = reinterpret_cast<int (*)()>(threads)};
        const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
        std::ranges::transform(gemm, routines.gemm.begin(), at);
        std::ranges::transform(getrf, routines.getrf.begin(), at);
        std::ranges::transform(getrs, routines.getrs.begin(), at);
        share_lapack(routines);
      });
  nb::class_<Solution>(module, "Solution")
      .def("take_x", [](Solution& s, std::int64_t rows,
                        std::int64_t ld) { return array_of(std::move(s.x), rows, ld); })
      .def_prop_ro("has_x", [](const Solution& s) { return !s.x.empty(); })
      .def("info", &info_of)
      .def_ro("doubt", &Solution::doubt);
  nb::class_<Factors>(module, "Factors")
      .def(nb::init<std::uintptr_t, const Matrix&, const nb::dict&, nb::object>(), nb::arg("comm"),
           nb::arg("a"), nb::arg("options"), nb::arg("progress").none())
      .def("solve", &Factors::solve)
      .def("condition", &Factors::condition)
      .def("determinant", &Factors::determinant)
      .def("precision", &Factors::precision)
      .def_prop_ro("is_closed", &Factors::is_closed)
      .def("close", &Factors::close);
  module.def("solve", &solved, nb::arg("comm"), nb::arg("a"), nb::arg("b"), nb::arg("options"),
             nb::arg("progress").none());
}

}  // namespace speedwell::python
