// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/error.hpp>

#include "catch.hpp"
#include "device/device.hpp"
#include "refusal.hpp"
#include "setup/placement.hpp"

namespace speedwell::test::placement_tests {
namespace {

std::string complaint_of(CommMethod wanted, const Connections& connections) {
  return test::refusal_of([&] { choose_comm(wanted, connections); });
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("without a GPU the CPU is used, and a reason is given") {
  if (count_gpus() > 0) {
    CHECK(why_no_gpus().empty());
    return;
  }
  const std::string why = why_no_gpus();
  CHECK_FALSE(why.empty());
  CHECK(why.find('\n') == why.npos);
  CHECK(make_device({.kind = DeviceKind::automatic})->kind() == DeviceKind::cpu);
  try {
    make_device({.kind = DeviceKind::cuda});
    FAIL("there is no GPU, yet a device was made");
  } catch (const UsageError& error) {
    CHECK(names(error.what(), "--device cuda"));
    CHECK(names(error.what(), why));
  }
}

TEST_CASE("ranks of a node take its GPUs in turn") {
  CHECK(gpu_of(0, 1, {}) == 0);
  CHECK(gpu_of(5, 1, {}) == 0);
  for (int rank = 0; rank < 20; ++rank) CHECK(gpu_of(rank, 8, {}) == rank % 8);
  CHECK(gpu_of(0, 8, {7, 3}) == 7);
  CHECK(gpu_of(1, 8, {7, 3}) == 3);
  CHECK(gpu_of(2, 8, {7, 3}) == 7);
}

TEST_CASE("a GPU that is not there is refused, and the message lists those that are") {
  CHECK_THROWS_AS(gpu_of(0, 0, {}), UsageError);
  for (const int gpu : {-1, 4, 100}) {
    try {
      gpu_of(1, 4, {0, gpu});
      FAIL("GPU " << gpu << " was taken");
    } catch (const UsageError& error) {
      CHECK(names(error.what(), "--gpus " + std::to_string(gpu)));
      CHECK(names(error.what(), "0 to 3"));
    }
  }
}

TEST_CASE("panels travel by the fastest method that works") {
  const Connections cpu;
  const Connections own{false, true, true, ""};
  const Connections own_without_nccl{false, true, true, "NCCL is away"};
  const Connections own_with_mpi_alone{false, true, false, "NCCL is away"};
  const Connections shared{false, false, true, ""};
  const Connections shared_with_mpi_alone{false, false, false, ""};
  CHECK(choose_comm(CommMethod::automatic, cpu).method == CommMethod::mpi);
  CHECK(choose_comm(CommMethod::automatic, own).method == CommMethod::nccl);
  CHECK(choose_comm(CommMethod::automatic, own_without_nccl).method == CommMethod::mpi);
  CHECK(choose_comm(CommMethod::automatic, own_with_mpi_alone).method == CommMethod::staged);
  CHECK(choose_comm(CommMethod::automatic, shared).method == CommMethod::mpi);
  CHECK(choose_comm(CommMethod::automatic, shared_with_mpi_alone).method == CommMethod::staged);
  for (const Connections& c : {cpu, own, shared, own_with_mpi_alone}) {
    CHECK_FALSE(choose_comm(CommMethod::automatic, c).reason.empty());
    // An MPI may accept GPU memory without saying so; staging always works.
    CHECK(choose_comm(CommMethod::mpi, c).method == CommMethod::mpi);
    CHECK(choose_comm(CommMethod::staged, c).method == CommMethod::staged);
    CHECK(choose_comm(CommMethod::staged, c).reason.empty());
  }
  CHECK(choose_comm(CommMethod::nccl, own).method == CommMethod::nccl);
  for (const Connections& c : {own_without_nccl, own_with_mpi_alone})
    CHECK(names(choose_comm(CommMethod::automatic, c).reason, "NCCL is away"));
  CHECK(choose_comm(CommMethod::automatic, shared_with_mpi_alone).reason == "ranks share a GPU");
}

TEST_CASE("NCCL is refused where it cannot work, with the reason") {
  CHECK(names(complaint_of(CommMethod::nccl, {}), "for GPUs"));
  CHECK(names(complaint_of(CommMethod::nccl, {false, false, true, ""}), "share a GPU"));
  CHECK(names(complaint_of(CommMethod::nccl, {false, true, true, "NCCL is away"}), "NCCL is away"));
}

TEST_CASE("the reason against NCCL names a rank unless it holds for all ranks") {
  const std::vector<std::string> hosts{"a", "b", "b"};
  const PeerSupport here{"NCCL 2.28.9", ""};
  const PeerSupport away{"", "NCCL cannot be loaded"};
  const PeerSupport older{"NCCL 2.7.8", ""};
  CHECK(why_no_peers({here, here, here}, hosts).empty());
  CHECK(why_no_peers({away, away, away}, hosts) == "NCCL cannot be loaded");
  CHECK(why_no_peers({here, here, away}, hosts) == "rank 2 on b: NCCL cannot be loaded");
  CHECK(why_no_peers({away, here, here}, hosts) == "rank 0 on a: NCCL cannot be loaded");
  CHECK(why_no_peers({here, older, here}, hosts) ==
        "rank 0 on a has NCCL 2.28.9, rank 1 on b has NCCL 2.7.8");
  // A missing library is said rather than different versions.
  CHECK(why_no_peers({here, older, away}, hosts) == "rank 2 on b: NCCL cannot be loaded");
}
}  // namespace speedwell::test::placement_tests
