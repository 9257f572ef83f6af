// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The library whose BLAS and LAPACK Speedwell calls: the OpenBLAS that it is linked to, or the one
/// that the variable SPEEDWELL_BLAS names, as a path or as a name that the loader finds: oneMKL,
/// BLIS, AOCL, NVPL, Arm Performance Libraries, FlexiBLAS, another OpenBLAS. Where the variable is
/// not set, the build may have named one (-DSPEEDWELL_BLAS); "openblas" is the linked one. It has
/// to have CBLAS, with integers of 32 bits (LP64). What it lacks of LAPACK, OpenBLAS does.
///
/// The variable is read once, at the first call of any of these functions. All of them throw
/// UsageError, with the reason, where the library that it names cannot be used.
#pragma once

#include <string>

#include "core/forks.hpp"

namespace speedwell {

/// "OpenBLAS 0.3.21, SkylakeX kernels, OpenMP threads"; of another library what it says of itself,
/// as far as it has a function for that, and its path.
std::string blas_description();

/// What the variable names, or else the build; empty: the linked OpenBLAS. Loads nothing.
std::string named_blas();
/// Whether that is another library, which is loaded.
bool is_other_blas();

/// The number of threads that the library uses for the next calls; what OpenMP says, where the
/// library has no function for it.
int blas_threads();
/// Does nothing where the library has no function for it: then OpenMP's number is the library's.
void set_blas_threads(int threads);

/// The address of a function in the library that was named; null if there is none.
void* blas_function(const char* name);

/// The routine `name` of the library, or `linked`, the routine of that name in OpenBLAS.
template <class Routine>
Routine* blas_routine(const char* name, Routine* linked) {
  void* const found = blas_function(name);
  return found != nullptr ? reinterpret_cast<Routine*>(found) : linked;
}

/// A routine that is looked for at each call, which takes some 0.1 us in another library.
template <class Routine>
struct BlasRoutine;
template <class... Parameters>
struct BlasRoutine<void(Parameters...)> {
  const char* name;
  void (*linked)(Parameters...);
  void operator()(Parameters... parameters) const {
    const auto routine = blas_routine(name, linked);
    const AheadOfForks call;
    routine(parameters...);
  }
};
template <class... Parameters>
BlasRoutine(const char*, void (*)(Parameters...)) -> BlasRoutine<void(Parameters...)>;

}  // namespace speedwell
