// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// MPI's communicators without mpi.h: the layers above comm/ are the same objects for every MPI, a
/// simulated one too.
#pragma once

#include <cstdint>
#include <type_traits>

namespace speedwell {

/// The handle of an MPI communicator, whose type mpi.h alone knows: an address in some MPIs, a
/// number in others.
struct CommHandle {
  /// @param comm an MPI_Comm
  template <class Comm>
  requires(std::is_pointer_v<Comm> || std::is_same_v<Comm, int>)
      CommHandle(Comm comm) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_pointer_v<Comm>)
      bits = reinterpret_cast<std::uintptr_t>(comm);
    else
      bits = static_cast<unsigned>(comm);
  }
  bool operator==(const CommHandle&) const = default;
  /// The MPI_Comm that it was made of. @tparam Comm MPI_Comm
  template <class Comm>
  Comm as() const {
    if constexpr (std::is_pointer_v<Comm>)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle that nothing is read from here
      return reinterpret_cast<Comm>(bits);
    else
      return static_cast<Comm>(bits);
  }

  std::uintptr_t bits;
};

}  // namespace speedwell
