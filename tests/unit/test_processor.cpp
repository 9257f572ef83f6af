// SPDX-License-Identifier: BSD-3-Clause
// Where this process may run.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "catch.hpp"
#include "host/processor.hpp"

namespace speedwell::test::processor_tests {
namespace {

/// What a child of this process returns from `work`. A child has one thread, whose affinity is that
/// of the process.
template <class Work>
int in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a core's part of an L2 cache has the size of one") {
  const std::int64_t bytes = core_cache_bytes();
  if (bytes == 0) return;  // a machine that does not tell
  CHECK(bytes >= std::int64_t{1} << 16);
  CHECK(bytes <= std::int64_t{1} << 25);
}

TEST_CASE("a change of the process's affinity is seen, though what was found is kept") {
  const ProcessorInfo info = processor_info();
  CHECK(bound_cores() == info.bound_cores);
  CHECK(info.bound_cores <= info.cores);
  const std::string before = core_binding();
  REQUIRE_FALSE(before.empty());
  CHECK(in_child([&] {
          cpu_set_t all;
          sched_getaffinity(0, sizeof all, &all);
          int last = 0;
          for (int i = 0; i < CPU_SETSIZE; ++i)
            if (CPU_ISSET(i, &all)) last = i;
          cpu_set_t one;
          CPU_ZERO(&one);
          CPU_SET(last, &one);
          if (core_binding() != before || sched_setaffinity(0, sizeof one, &one) != 0) return 1;
          if (core_binding() != std::to_string(last)) return 2;
          if (bound_cores() != 1 || processor_info().bound_cores != 1) return 3;
          if (sched_setaffinity(0, sizeof all, &all) != 0) return 4;
          return core_binding() == before && bound_cores() == info.bound_cores ? 0 : 5;
        }) == 0);
  CHECK(core_binding() == before);
}
}  // namespace speedwell::test::processor_tests
