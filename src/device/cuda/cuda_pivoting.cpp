// SPDX-License-Identifier: BSD-3-Clause
// Panels with pivoting on a GPU. Kernels of our own search for pivots, eliminate columns and move
// rows; cuBLAS and cuBLASLt compute solves and products.
#include <algorithm>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"

namespace speedwell {

namespace {

cuda::Found found_at(PivotCandidate* found) {
  if (found == nullptr) return {};
  return {&found->magnitude, &found->row};
}

}  // namespace

void CudaDevice::find_pivot(Queue& queue, ConstAnyMatrix column, PivotCandidate* found) {
  Lane& l = lane(queue);
  check(cuda::find_pivot(l.stream(), column, &l.words()->search, found_at(found)), "find_pivot");
}

void CudaDevice::offer_pivot(Queue& queue, ConstAnyMatrix rows, const PanelRows& of,
                             const PivotCandidate* found, std::byte* offer) {
  check(cuda::offer_pivot(lane(queue).stream(), rows,
                          {of.begin, of.shared, of.below.value, cyclic(*of.rows)},
                          {&found->magnitude, &found->row}, offer),
        "offer_pivot");
}

void CudaDevice::take_pivot(Queue& queue, AnyMatrix rows, std::int64_t first,
                            const PivotCandidate* found, const PivotOffers& offers,
                            std::int64_t* pivot, FactorStatus* status) {
  check(cuda::take_pivot(
            lane(queue).stream(), rows, first, {&found->magnitude, &found->row},
            {offers.data, PivotOffers::bytes(rows), offers.count, offers.mine, offers.shared},
            pivot, &status->bad_pivot),
        "take_pivot");
}

void CudaDevice::eliminate(Queue& queue, ConstAnyMatrix pivot_row, AnyMatrix rows,
                           PivotCandidate* next) {
  Lane& l = lane(queue);
  check(cuda::eliminate(l.stream(), pivot_row, rows, &l.words()->search, found_at(next)),
        "eliminate");
}

bool CudaDevice::factor_leaf(Queue& queue, AnyMatrix panel, std::int64_t begin, std::int64_t end,
                             std::int64_t first, std::int64_t* pivots, FactorStatus* status) {
  const bool wide = panel.precision == Precision::fp64;
  return lane(queue).leaves && variants_.few(wide ? varied::leaf64 : varied::leaf32, panel.rows) &&
         leaf_at_once(queue, panel, begin, end, first, pivots, status);
}

// Words of the leaf's moves, and what the kernel needs.
std::int64_t CudaDevice::leaf_scratch() const {
  return 4 * cuda::leaf_columns * std::int64_t{sizeof(std::int64_t)} +
         cuda::leaf_scratch(properties().multiProcessorCount);
}

// The leaf's columns by one kernel; the others' rows are exchanged by all of its moves at once.
bool CudaDevice::leaf_at_once(Queue& queue, AnyMatrix panel, std::int64_t begin, std::int64_t end,
                              std::int64_t first, std::int64_t* pivots, FactorStatus* status) {
  const int part = panel_multiprocessors(panel_part_);
  const int free = part > 0 ? part : properties().multiProcessorCount;
  const cuda::LeafRoom room{free, properties().sharedMemPerBlockOptin};
  const AnyMatrix leaf = panel.block(0, begin, panel.rows, end - begin);
  if (!cuda::leaf_fits(leaf, room)) return false;
  Lane& l = lane(queue);
  const std::int64_t count = 2 * leaf.columns;
  auto* const from = reinterpret_cast<std::int64_t*>(l.scratch(leaf_scratch()));
  std::int64_t* const to = from + count;
  check(cuda::factor_leaf(l.stream(), leaf, room, reinterpret_cast<std::byte*>(to + count), first,
                          pivots, {from, to}, &status->bad_pivot, &status->stuck),
        "factor_leaf");
  for (const AnyMatrix beside :
       {panel.block(0, 0, panel.rows, begin), panel.block(0, end, panel.rows, panel.columns - end)})
    if (!beside.empty())
      check(cuda::permute_rows(l.stream(), from, to, count, beside), "permute_rows");
  return true;
}

void CudaDevice::solve_unit_lower(Queue& queue, ConstAnyMatrix l, AnyMatrix b) {
  if (b.empty()) return;
  Lane& on = lane(queue);
  with_numbers(b, [&]<class T>(MatrixView<T> x) { solve_unit_lower_left<T>(on, l.as<T>(), x); });
}

void CudaDevice::subtract(Queue& queue, ConstAnyMatrix a, ConstAnyMatrix b, AnyMatrix c) {
  Lane& l = lane(queue);
  if (c.field == Field::complex)
    return with_numbers(c, [&]<class T>(MatrixView<T> sum) {
      add_product<T>(l, T{-1}, a.as<T>(), b.as<T>(), sum);
    });
  if (c.precision == Precision::fp64)
    return products().add(l, -1, a.as<double>(), b.as<double>(), c.as<double>());
  products().multiply(l, Reading::fp32, -1, factor_of(a), factor_of(b), 1, c.as<float>());
}

void CudaDevice::permute_rows(Queue& queue, const std::int64_t* from, const std::int64_t* to,
                              std::int64_t count, AnyMatrix a) {
  if (a.empty()) return;
  Lane& l = lane(queue);
  if (count * a.element_bytes() > cuda::permuted_bytes) return permute_many(l, from, to, count, a);
  check(cuda::permute_rows(l.stream(), from, to, count, a), "permute_rows");
}

// Moves as many columns at a time as fit into permute_scratch, or one.
void CudaDevice::permute_many(Lane& l, const std::int64_t* from, const std::int64_t* to,
                              std::int64_t count, AnyMatrix a) {
  const std::int64_t column = count * a.element_bytes();
  const std::int64_t columns = std::clamp<std::int64_t>(permute_scratch / column, 1, a.columns);
  std::byte* scratch = l.scratch(columns * column);
  for (std::int64_t j = 0; j < a.columns; j += columns) {
    const AnyMatrix part = a.block(0, j, a.rows, std::min(columns, a.columns - j));
    const AnyMatrix moving{a.precision, scratch, count, part.columns, count, a.field};
    check(cuda::gather_rows(l.stream(), from, part, moving), "gather_rows");
    check(cuda::scatter_rows(l.stream(), to, moving, part), "scatter_rows");
  }
}

void CudaDevice::gather_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                             AnyMatrix to) {
  check(cuda::gather_rows(lane(queue).stream(), rows, from, to), "gather_rows");
}

void CudaDevice::scatter_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                              AnyMatrix to) {
  check(cuda::scatter_rows(lane(queue).stream(), rows, from, to), "scatter_rows");
}

}  // namespace speedwell
