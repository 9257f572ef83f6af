// SPDX-License-Identifier: BSD-3-Clause
// The limit of the address space (ulimit -v), looked at before the libraries are initialized.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/limited_space.hpp"

namespace speedwell {
namespace {

// What MPI maps until the ranks have met: threads, shared memory, plug-ins. With less, Open MPI
// writes many lines, or crashes.
constexpr std::int64_t mpi_bytes = std::int64_t{256} << 20;

/// Nothing of the C library is initialized yet.
[[noreturn]] void refuse() {
  constexpr int bad_usage = 2;
  constexpr std::string_view words =
      "speedwell: the limit of the address space (ulimit -v) leaves no memory for the libraries of "
      "this program; allowed: a larger one, or fewer threads (OMP_NUM_THREADS)\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words.data(), words.size());
  ::_exit(bad_usage);
}

/// The threads for which OpenBLAS takes buffers while it is loaded: at most one for each core, and
/// as many as the first of these variables says that has a positive number.
std::int64_t blas_threads(char** environment) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const int cores = ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
  for (const std::string_view name :
       {"OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=", "OMP_NUM_THREADS="})
    for (char** entry = environment; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      int asked = 0;
      if (text.starts_with(name))
        std::from_chars(text.data() + name.size(), text.data() + text.size(), asked);
      if (asked > 0) return std::min(asked, cores);
    }
  return cores;
}

/// Runs before the constructors of the libraries. While OpenBLAS is loaded, it asks for memory
/// again and again where there is too little; nothing but a signal ends that. The alarm is for an
/// OpenBLAS that needs more than is known here.
[[maybe_unused]] void look_at_limit(int /*count*/, char** /*words*/, char** environment) {
  constexpr unsigned seconds = 10;  // loading takes less than one
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto bytes =
      static_cast<std::size_t>(blas_threads(environment) * blas_buffer_bytes + mpi_bytes);
  void* space = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) refuse();
  ::munmap(space, bytes);
  ::signal(SIGALRM, [](int) { refuse(); });
  ::alarm(seconds);
}

#ifndef __SANITIZE_ADDRESS__  // whose memory is not there yet
using Start = void (*)(int, char**, char**);
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): it is a constant
[[gnu::section(".preinit_array"), gnu::used]] const Start before_libraries = look_at_limit;
#endif

}  // namespace
}  // namespace speedwell
