// SPDX-License-Identifier: BSD-3-Clause
// A user's matrix in the memory of the rank's GPU.
#include <speedwell/solve.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "catch.hpp"
#include "comm/process_grid.hpp"
#include "device_choice.hpp"
#include "refusal.hpp"
#include "setup/plan.hpp"
#include "solve/user_matrix.hpp"

namespace speedwell::test::device_matrix_tests {
namespace {

constexpr std::int64_t n = 150;
constexpr std::int64_t nb = 16;

double regular(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * 31 + j * j * 17)) + (i == j ? 9 : 0);
}

/// This rank's part of A in the memory of a GPU.
struct OnGpu {
  OnGpu(const ProcessGrid& grid, int gpu, std::int64_t block = nb)
      : rows(grid.rows(n, block)),
        columns(grid.columns(n, block)),
        device(make_device({.kind = DeviceKind::cuda, .gpu = gpu})),
        memory(device->allocate(ld() * columns.local_size() * std::int64_t{sizeof(double)})) {
    std::vector<double> host;
    for (std::int64_t j = 0; j < columns.local_size(); ++j)
      for (std::int64_t i = 0; i < ld(); ++i)
        host.push_back(i < rows.local_size()
                           ? regular(rows.global({i}).value, columns.global({j}).value)
                           : -1);
    if (!host.empty())
      device->upload(*device->make_queue(Priority::normal), host, memory.as<double>());
  }
  std::int64_t ld() const { return rows.local_size() + 2; }
  const double* data() const { return memory.as<double>(); }
  Descriptor descriptor(std::int64_t block = nb) const {
    return {1, 0, n, n, block, block, 0, 0, ld()};
  }

  Distribution rows;
  Distribution columns;
  std::unique_ptr<Device> device;
  Buffer memory;
};

ProcessGrid grid_of_all() {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  return {all, squarest(all.size(), GridOrder::row)};
}

Solution solved(const Matrix& a, DeviceKind device, std::int64_t block = 0) {
  SolveOptions options;
  options.run.device = device;
  options.run.nb = block;
  return solve(MPI_COMM_WORLD, a, RightHandSide::of_ones(), options);
}

constexpr const char* refusal = "A is in the memory of a GPU, where it cannot be used as it is";

}  // namespace

TEST_CASE("a matrix in the memory of the rank's GPU is used in place", "[memory]") {
  const ProcessGrid grid = grid_of_all();
  const OnGpu a(grid, grid.all().rank());
  const Matrix matrix = Matrix::block_cyclic(a.descriptor(), a.data());
  const UserMatrix there(grid, *a.device, matrix.source(), nb);
  CHECK(there.local().as<double>().data == a.data());
  CHECK(a.device->can_read(a.data()));
  CHECK(in_gpu_memory(a.data()));
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::automatic}) {
    const Solution solution = solved(matrix, kind);
    CHECK(solution.converged);
    if (grid.all().size() > 1) CHECK(solution.chosen.nb == nb);
    for (const double x : solution.x) CHECK(std::fabs(x - 1) < 1e-10);
  }
}

TEST_CASE("a complex matrix in the memory of the rank's GPU is solved for there", "[memory]") {
  using Complex = std::complex<double>;
  const ProcessGrid grid = grid_of_all();
  const auto device = make_device({.kind = DeviceKind::cuda, .gpu = grid.all().rank()});
  const Distribution rows = grid.rows(n, nb);
  const Distribution columns = grid.columns(n, nb);
  const std::int64_t ld = rows.local_size() + 1;
  std::vector<Complex> host(static_cast<std::size_t>(ld * columns.local_size()));
  for (std::int64_t j = 0; j < columns.local_size(); ++j)
    for (std::int64_t i = 0; i < rows.local_size(); ++i) {
      const std::int64_t row = rows.global({i}).value;
      const std::int64_t column = columns.global({j}).value;
      host[static_cast<std::size_t>(i + j * ld)] = {regular(row, column), regular(column, row)};
    }
  const Buffer memory = device->allocate(std::max(std::ssize(host), std::ptrdiff_t{1}) *
                                         std::int64_t{sizeof(Complex)});
  device->upload(*device->make_queue(Priority::normal), host, memory.as<Complex>());
  const Matrix matrix =
      Matrix::complex_block_cyclic({1, 0, n, n, nb, nb, 0, 0, ld}, memory.as<Complex>());
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::automatic}) {
    const Solution solution = solved(matrix, kind);
    CHECK(solution.converged);
    for (std::size_t i = 0; i < solution.x.size(); ++i)
      CHECK(std::fabs(solution.x[i] - (i % 2 == 0 ? 1 : 0)) < 1e-10);
  }
  CHECK_THAT(refusal_of([&] { solved(matrix, DeviceKind::cpu); }), ContainsSubstring(refusal));
}

TEST_CASE("a plan has no copy of a matrix in the memory of the GPU", "[memory]") {
  LuRequest request{.run = {}, .n = n, .precision = Precision::fp64, .pivoting = Pivoting::partial};
  request.run.device = DeviceKind::cuda;
  const Machine machine(MPI_COMM_WORLD, request.run);
  request.kept = Kept::in_place;
  CHECK(plan(machine, request).lu.held == sizeof(double));
  request.kept = Kept::on_device;
  CHECK(plan(machine, request).lu.held == 0);
  request.nb_in_place = nb;
  CHECK(plan(machine, request).lu.nb == nb);
  request.run.nb = 2 * nb;
  CHECK_THROWS_WITH(plan(machine, request),
                    ContainsSubstring("NB = 32 is not possible: A is in GPUs' memory"));
}

TEST_CASE("a matrix in the memory of a GPU that the rank cannot use there is refused", "[memory]") {
  const ProcessGrid grid = grid_of_all();
  const int ranks = grid.all().size();
  const OnGpu a(grid, grid.all().rank());
  const Matrix matrix = Matrix::block_cyclic(a.descriptor(), a.data());
  CHECK_THAT(refusal_of([&] { solved(matrix, DeviceKind::cpu); }), ContainsSubstring(refusal));
  if (ranks == 1) {
    const Matrix dense = Matrix::dense(n, a.data(), a.ld());
    CHECK_THAT(refusal_of([&] { solved(dense, DeviceKind::cpu); }), ContainsSubstring(refusal));
    CHECK(solved(dense, DeviceKind::automatic).converged);
    return;
  }
  // The memory of another GPU than the rank's; a part on one rank alone; other blocks; an array
  // that would be dealt.
  const OnGpu other(grid, (grid.all().rank() + 1) % ranks);
  CHECK_THAT(refusal_of([&] {
               solved(Matrix::block_cyclic(other.descriptor(), other.data()), DeviceKind::cuda);
             }),
             ContainsSubstring(refusal));
  std::vector<double> host(static_cast<std::size_t>(a.ld() * a.columns.local_size()), 1.0);
  const double* mixed = grid.all().rank() == 0 ? a.data() : host.data();
  CHECK_THAT(
      refusal_of([&] { solved(Matrix::block_cyclic(a.descriptor(), mixed), DeviceKind::cuda); }),
      ContainsSubstring(refusal));
  CHECK_THAT(refusal_of([&] { solved(matrix, DeviceKind::cuda, 2 * nb); }),
             ContainsSubstring("NB = 32 is not possible"));
  Descriptor shifted = a.descriptor();
  shifted[7] = 1;  // CSRC_
  CHECK_THAT(refusal_of([&] { solved(Matrix::block_cyclic(shifted, a.data()), DeviceKind::cuda); }),
             ContainsSubstring(refusal));
  CHECK_THAT(refusal_of([&] { solved(Matrix::dense(n, a.data(), n), DeviceKind::cuda); }),
             ContainsSubstring(refusal));
}
}  // namespace speedwell::test::device_matrix_tests
