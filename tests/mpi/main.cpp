// SPDX-License-Identifier: BSD-3-Clause
// speedwell_mpi_tests [--device cpu|cuda] [--comm auto|mpi|staged|nccl] [Catch2's arguments]
#include <mpi.h>

#include "catch.hpp"

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "comm/communicator.hpp"
#include "device_choice.hpp"
#include "setup/placement.hpp"

using namespace speedwell;

namespace {

/// Holds back what is written to std::cout until the destructor.
class HeldOutput {
 public:
  HeldOutput() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~HeldOutput() { std::cout.rdbuf(before_); }
  HeldOutput(const HeldOutput&) = delete;
  HeldOutput& operator=(const HeldOutput&) = delete;

  std::string with_prefix(const std::string& prefix) const {
    std::istringstream lines(text_.str());
    std::string all;
    for (std::string line; std::getline(lines, line);) all.append(prefix + line + '\n');
    return all;
  }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

/// Sets the device of this rank. The ranks of a node take its GPUs in turn.
void choose_device(const Communicator& all, int& argc, char** argv) {
  test::DeviceChoice& choice = test::device_choice();
  choice.device = test::take_option<DeviceKind>(argc, argv, "--device").value_or(choice.device);
  choice.comm = test::take_option<CommMethod>(argc, argv, "--comm").value_or(choice.comm);
  test::require_present(choice.device);
  if (choice.device == DeviceKind::automatic)
    choice.device = count_gpus() > 0 ? DeviceKind::cuda : DeviceKind::cpu;
  if (choice.device == DeviceKind::cuda)
    choice.gpu = gpu_of(all.split_node().rank(), count_gpus(), {});
}

int run_on_rank(const Communicator& all, int argc, char** argv) {
  if (all.rank() == 0) return run_tests(argc, argv, all.size() > 1);
  const HeldOutput output;
  const int status = run_tests(argc, argv, true);
  if (status != 0)
    std::cerr << output.with_prefix("rank " + std::to_string(all.rank()) + ": ") << std::flush;
  return status;
}

/// The largest status of all ranks. Where this rank has failed, other ranks may hang in that test,
/// so it ends them after 10 s.
int agree(const Communicator& all, int status) {
  int worst = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Iallreduce(&status, &worst, 1, MPI_INT, MPI_MAX, all.handle().as<MPI_Comm>(), &request),
      "MPI_Iallreduce");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int done = 0; !done; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done && status != 0 && std::chrono::steady_clock::now() > deadline) all.abort(status);
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(argc, argv);
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  try {
    choose_device(all, argc, argv);
  } catch (const UsageError& error) {
    std::cerr << error.what() << '\n';
    all.abort(2);
  }
  return agree(all, run_on_rank(all, argc, argv));
}
