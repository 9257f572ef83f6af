// SPDX-License-Identifier: BSD-3-Clause
// What each operation of a step gives to a GPU. A launch takes the host some microseconds, and the
// next operation of a chain as many.
#include <cuda_emulation.hpp>

#include <array>
#include <functional>
#include <vector>

#include "core/numbers.hpp"
#include "cuda/kernels.hpp"
#include "device/bench.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/lane.hpp"

namespace speedwell::test::launch_tests {
namespace {

long operations_given() {
  long sum = 0;
  for (const char* const name : {"cudaLaunchKernelEx", "cublasLtMatmul", "cublasStrmm_64",
                                 "cublasStrsm_64", "cublasDtrsm_64", "cublasDgemm_64",
                                 "cudaMemsetAsync", "cudaMemcpy2DAsync", "cudaMemcpyAsync"})
    sum += emulation::calls_of(name);
  return sum;
}

struct Operation {
  const char* what;
  long most;  ///< operations that it gives
  std::function<void()> run;
};

}  // namespace

TEST_CASE("an operation of a step gives a GPU few kernels", "[launches]") {
  Bench b;
  Device& device = *b.device;
  Queue& queue = *b.queue;
  constexpr std::int64_t w = 512;  // columns of a panel: two strips of its solves
  constexpr std::int64_t rows = 700;
  Floats block = uniform<float>(b, w, w);
  block.set([&](std::int64_t i, std::int64_t j) { return block(i, j) + (i == j ? 40.0f : 0.0f); });
  Floats factors(b, w, w);
  Floats column = uniform<float>(b, rows, w);
  Floats row = uniform<float>(b, w, rows);
  Doubles wide(b, w, w);
  wide.set([](std::int64_t i, std::int64_t j) { return 1e-3 * static_cast<double>(i - j); });
  Doubles wide_row = uniform<double>(b, w, rows);
  Doubles wide_room(b, w, rows);
  Status status(b);
  Low left(b, Precision::fp16, rows, w);
  Low right(b, Precision::fp16, w, rows);
  Floats trailing(b, rows, rows);
  const Buffer scratch = device.allocate(cuda::factor_block_scratch(w));
  const Buffer candidate = device.allocate(sizeof(PivotCandidate));
  const Buffer pivots = device.allocate(8 * w);
  Lane lane(Priority::normal);
  device.copy(queue, block.view(), factors.view());
  device.factor_diagonal(queue, factors.view(), 0, status.data());
  auto* const found = candidate.as<PivotCandidate>();
  const std::vector<Operation> table{
      {"diagonal block by one kernel", 2,
       [&] {
         check(cuda::factor_block(lane.stream(), block.view(), 0, 8, scratch.data(),
                                  &status.data()->bad_pivot, &status.data()->stuck),
               "factor_block");
       }},
      {"an inverse for the solves of a panel", 10,
       [&] {
         device.prepare_solves(queue, Triangle::upper, factors.view(), Precision::fp16, rows);
       }},
      {"solve of a panel with it", 6,
       [&] {
         device.solve_right_upper(queue, factors.view(), column.view(), Precision::fp16,
                                  left.view());
       }},
      {"solve of a panel of 512 columns", 9,
       [&] {
         device.solve_right_upper(queue, factors.view(), column.view(), Precision::fp16, {});
       }},
      {"solve of a block row of 512 rows", 9,
       [&] { device.solve_left_lower(queue, factors.view(), row.view(), Precision::fp16, {}); }},
      {"inverses of a triangle in fp64", 1,
       [&] {
         device.prepare_solves(queue, Triangle::unit_lower, wide.view(), Precision::fp64, rows);
       }},
      {"solve of a block row in fp64 with them", 8,
       [&] {
         device.solve_left_lower(queue, wide.view(), wide_row.view(), Precision::fp64,
                                 wide_room.view());
       }},
      {"cast of a panel", 3,
       [&] { device.cast(queue, column.view(), 1, left.view(), left.control(), status.data()); }},
      {"update", 2,
       [&] {
         device.update(queue, left.view(), left.control(), right.view(), right.control(),
                       trailing.view(), {});
       }},
      {"a leaf of 32 columns", 4,
       [&] {
         CHECK(device.factor_leaf(queue, column.view(), 32, 64, 0, pivots.as<std::int64_t>(),
                                  status.data()));
       }},
      {"a column of a panel with pivots", 2,
       [&] {
         device.take_pivot(queue, column.view(), 0, found, {}, pivots.as<std::int64_t>(),
                           status.data());
         device.eliminate(queue, column.view().block(0, 0, 1, w),
                          column.view().block(1, 0, rows - 1, w), found);
       }},
  };
  device.cast(queue, row.view(), -1, right.view(), right.control(), status.data());
  device.find_pivot(queue, column.view().block(0, 0, rows, 1), found);
  for (const Operation& operation : table) operation.run();  // chooses products
  device.synchronize_all();
  for (const Operation& operation : table) {
    CAPTURE(operation.what);
    const long before = operations_given();
    operation.run();
    CHECK(operations_given() - before <= operation.most);
    CHECK(operations_given() > before);
    device.synchronize_all();
  }
}
}  // namespace speedwell::test::launch_tests
