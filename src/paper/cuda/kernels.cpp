// SPDX-License-Identifier: BSD-3-Clause
/// The kernels of kernels/cuda, simulated: each takes its time, and computes nothing but pivots.
#include "cuda/kernels.hpp"

#include <algorithm>

#include "core/numbers.hpp"
#include "paper/cuda/gpu.hpp"

namespace speedwell::cuda {

namespace {

using paper::arithmetic;
using paper::launch;
using paper::Load;
using paper::Memory;
using paper::traffic;

const DeviceModel& device_of(cudaStream_t stream) {
  return stream->rank->device();
}

template <class Matrix>
cudaError_t move(cudaStream_t stream, OperationKind kind, Precision precision, const Matrix& m) {
  if (m.rows == 0 || m.columns == 0) return cudaSuccess;
  const DeviceModel& device = device_of(stream);
  launch(stream, traffic(device, kind, paper::row_of(device, kind, precision),
                         static_cast<double>(m.rows), static_cast<double>(m.columns)));
  return cudaSuccess;
}

// One of the passes over a matrix that convert it. An element of the operation `convert`, the
// device's cast to 16 bits, moves 10 bytes: 4 read for the scale, 4 read again, and 2 written.
cudaError_t convert(cudaStream_t stream, Precision precision, std::int64_t rows,
                    std::int64_t columns, double bytes) {
  if (rows == 0 || columns == 0) return cudaSuccess;
  const DeviceModel& device = device_of(stream);
  Load load = traffic(device, OperationKind::convert,
                      paper::row_of(device, OperationKind::convert, precision),
                      static_cast<double>(rows), static_cast<double>(columns));
  load.bytes *= bytes / 10;
  launch(stream, load);
  return cudaSuccess;
}

// Entries made anew.
cudaError_t make(cudaStream_t stream, OperationKind kind, Precision precision, std::int64_t rows,
                 std::int64_t columns) {
  if (rows == 0 || columns == 0) return cudaSuccess;
  const auto m = static_cast<double>(rows);
  const auto n = static_cast<double>(columns);
  launch(stream, arithmetic(device_of(stream).of(kind, precision), m * n, m, n, 1));
  return cudaSuccess;
}

// Tiles side by side, each on a multiprocessor.
cudaError_t tiles(cudaStream_t stream, std::int64_t count) {
  const DeviceModel& device = device_of(stream);
  const double all = device.multiprocessors;
  const double part = std::min(1., static_cast<double>(count) / all);
  const double rounds = static_cast<double>(ceil_div(count, device.multiprocessors));
  launch(stream, {.compute = rounds * device.tile * part, .part = part});
  return cudaSuccess;
}

// A pivot drawn at random. The search reads the column.
void draw_pivot(cudaStream_t stream, Found found, std::int64_t rows) {
  if (found.magnitude == nullptr || !Memory::real(found.magnitude)) return;
  paper::Rank& rank = *stream->rank;
  *found.magnitude = rows > 0 ? 0.5 + rank.draw() : -1;
  *found.row = rows > 0 ? static_cast<std::int64_t>(rank.draw() * static_cast<double>(rows)) : -1;
}

}  // namespace

std::int64_t pass_parts(std::int64_t, std::int64_t, int) {
  return 1;
}

cudaError_t generate(cudaStream_t stream, const MatrixSpec& spec, const Cyclic&, const Cyclic&,
                     AnyMatrix a) {
  stream->rank->order = spec.n;
  return make(stream, OperationKind::generate, a.precision, a.rows, a.columns);
}
cudaError_t multiply_generated(cudaStream_t stream, const MatrixSpec&, const Cyclic&,
                               std::int64_t row_count, const Cyclic&, std::int64_t column_count,
                               const double*, const PassSums&, std::int64_t, double*) {
  return make(stream, OperationKind::pass, Precision::fp64, row_count, column_count);
}
cudaError_t largest_magnitude(cudaStream_t stream, MatrixView<const float> a, std::uint32_t*) {
  return convert(stream, Precision::fp32, a.rows, a.columns, 4);
}
cudaError_t cast(cudaStream_t stream, ConstAnyMatrix from, float, AnyMatrix to,
                 const std::uint32_t*, double* scale, std::int64_t*) {
  if (Memory::real(scale)) *scale = 1;
  const ConstAnyMatrix numbers = from.real();  // each is written once for each of its parts
  return convert(stream, to.precision, numbers.rows, numbers.columns,
                 4. + 2. * static_cast<double>(parts_of(from.field)));
}
cudaError_t convert(cudaStream_t stream, ConstAnyMatrix from, AnyMatrix to) {
  return convert(stream, to.precision, from.rows, from.columns, 6);
}
cudaError_t copy_signed(cudaStream_t stream, ConstAnyMatrix, double, MatrixView<double> to,
                        double* scale, std::int64_t*) {
  if (Memory::real(scale)) *scale = 1;
  return move(stream, OperationKind::convert, Precision::fp64, to);
}
cudaError_t inverse_scale(cudaStream_t stream, const double*, const double*, float*, float*) {
  launch(stream, {});
  return cudaSuccess;
}
cudaError_t split_triangle(cudaStream_t stream, MatrixView<const float> lu, Triangle,
                           MatrixView<Bfloat16>, const SolveBounds&) {
  const cudaError_t error = convert(stream, Precision::fp32, lu.rows, lu.columns, 4);
  return error == cudaSuccess
             ? convert(stream, Precision::fp32, lu.rows, std::min(lu.columns, triangle_order), 4)
             : error;
}
cudaError_t split(cudaStream_t stream, MatrixView<const float> b, Triangle, std::int64_t,
                  const SolveBounds&, MatrixView<Bfloat16>) {
  return convert(stream, Precision::fp32, b.rows, b.columns, 10);
}
cudaError_t round_strip(cudaStream_t stream, Triangle, const SolveBounds&,
                        const SolvedStrip& strip) {
  const std::int64_t elements = strip.x.rows * strip.x.columns + strip.a.rows * strip.a.columns;
  return convert(stream, Precision::fp32, elements, 1, 6);
}
cudaError_t round_inverse(cudaStream_t stream, MatrixView<const float> inverse, Triangle,
                          const WholeInverse&, std::uint32_t*) {
  const cudaError_t error = convert(stream, Precision::fp32, inverse.rows, inverse.columns, 2);
  return error == cudaSuccess ? convert(stream, Precision::fp32, inverse.rows, inverse.columns, 6)
                              : error;
}
// Each block of threads has a block of L; a thread needs some 12 cycles for each of 8128 products.
cudaError_t invert_lower(cudaStream_t stream, MatrixView<const double> l, MatrixView<double>,
                         std::uint32_t*) {
  if (l.empty()) return cudaSuccess;
  launch(stream, {.start = 50e-6, .bytes = static_cast<double>(l.rows * inverted_lower * 16)});
  return cudaSuccess;
}
cudaError_t split_diagonal(cudaStream_t stream, MatrixView<float> b, const float* diagonal,
                           MatrixView<Half>, const std::uint32_t*, double*) {
  return convert(stream, Precision::fp32, b.rows, b.columns, diagonal == nullptr ? 6 : 10);
}
cudaError_t factor_tile(cudaStream_t stream, MatrixView<float>, std::int64_t, std::int64_t*) {
  return tiles(stream, 1);
}
cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a) {
  return tiles(stream, ceil_div(a.rows, tile_order));
}
std::int64_t factor_block_scratch(std::int64_t) {
  return 0;
}
// A chain of the tiles on the diagonal, each factored, inverted and multiplied by; or, if that
// takes longer, the arithmetic of all blocks of threads.
cudaError_t factor_block(cudaStream_t stream, MatrixView<float> a, std::int64_t, int most_blocks,
                         std::byte*, std::int64_t*, std::int64_t*, unsigned) {
  if (a.empty()) return cudaSuccess;
  const DeviceModel& device = device_of(stream);
  const auto n = static_cast<double>(a.rows);
  const double chain = 2 * device.tile * static_cast<double>(ceil_div(a.rows, tile_order));
  const double inverted = std::min(n, static_cast<double>(triangle_order));
  const double work = 2 * n * (n * n + inverted * inverted) / 3 /
                      device.of(OperationKind::product, Precision::fp32).rate;
  const double room = factor_blocks_at_once * device.multiprocessors;
  const double part = std::min(1., most_blocks / room);
  launch(stream, {.start = chain, .compute = std::max(0., work - chain * part), .part = part});
  return cudaSuccess;
}

cudaError_t find_pivot(cudaStream_t stream, ConstAnyMatrix column, SearchSpace*, Found found) {
  draw_pivot(stream, found, column.rows);
  launch(stream, {.bytes = static_cast<double>(column.rows * column.element_bytes())});
  return cudaSuccess;
}
cudaError_t offer_pivot(cudaStream_t stream, ConstAnyMatrix rows, const OfferedRows&, FoundPivot,
                        std::byte*) {
  launch(stream, {.bytes = 2. * static_cast<double>(rows.columns * rows.element_bytes())});
  return cudaSuccess;
}
// The host is ahead of the messages with the offers, so all ranks draw the same row instead.
cudaError_t take_pivot(cudaStream_t stream, AnyMatrix rows, std::int64_t first, FoundPivot found,
                       const Offers& offers, std::int64_t* pivot, std::int64_t*) {
  if (Memory::real(pivot) && offers.data != nullptr)
    *pivot = stream->rank->draw_row(first);
  else if (Memory::real(pivot) && Memory::real(found.row))
    *pivot = first + *found.row;
  launch(stream, {.bytes = 4. * static_cast<double>(rows.columns * rows.element_bytes())});
  return cudaSuccess;
}
cudaError_t eliminate(cudaStream_t stream, ConstAnyMatrix, AnyMatrix rows, SearchSpace*,
                      Found next) {
  if (rows.columns > 1) draw_pivot(stream, next, rows.rows);
  return move(stream, OperationKind::eliminate, rows.precision, rows.real());
}
// A part of the shared memory has no rows.
bool leaf_fits(ConstAnyMatrix a, const LeafRoom& room) {
  const double all = static_cast<double>(room.shared_bytes) * room.multiprocessors;
  return a.field == Field::real && a.columns <= leaf_columns && a.rows >= a.columns &&
         static_cast<double>(a.rows * a.columns * a.element_bytes()) <= 0.85 * all;
}
std::int64_t leaf_scratch(int) {
  return 0;
}
// Each column waits for a barrier of all blocks of threads and two dependent reads; the leaf is
// read and written once.
cudaError_t factor_leaf(cudaStream_t stream, AnyMatrix a, const LeafRoom& room, std::byte*,
                        std::int64_t first, std::int64_t* pivots, const LeafMoves&, std::int64_t*,
                        std::int64_t*) {
  if (!leaf_fits(a, room)) return cudaErrorInvalidValue;
  constexpr double column = 3.3e-6;
  for (std::int64_t k = 0; k < a.columns && Memory::real(pivots); ++k)
    pivots[k] = first + k +
                static_cast<std::int64_t>(stream->rank->draw() * static_cast<double>(a.rows - k));
  launch(stream, {.start = column * static_cast<double>(a.columns),
                  .bytes = 2. * static_cast<double>(a.rows * a.columns * a.element_bytes())});
  return cudaSuccess;
}
cudaError_t permute_rows(cudaStream_t stream, const std::int64_t*, const std::int64_t*,
                         std::int64_t count, AnyMatrix a) {
  return move(stream, OperationKind::exchange, a.precision, a.block(0, 0, count, a.columns).real());
}
cudaError_t gather_rows(cudaStream_t stream, const std::int64_t*, ConstAnyMatrix, AnyMatrix to) {
  return move(stream, OperationKind::exchange, to.precision, to.real());
}
cudaError_t scatter_rows(cudaStream_t stream, const std::int64_t*, ConstAnyMatrix from, AnyMatrix) {
  return move(stream, OperationKind::exchange, from.precision, from.real());
}

cudaError_t subtract_product(cudaStream_t stream, Transpose, ConstAnyMatrix a, const double*,
                             double*) {
  return move(stream, OperationKind::vector_product, a.precision, a);
}
// Each block of threads reads its rows of A, the parts of x, and, if it has rows of the next block
// of unknowns, its columns of the inverse, nearly half of which are outside of the triangle. All of
// these loads are in flight together. A multiprocessor has one block.
cudaError_t substitute(cudaStream_t stream, const SubstitutionStep& step) {
  if (step.a.rows == 0 && step.a.columns == 0) return cudaSuccess;
  const DeviceModel& device = device_of(stream);
  const std::int64_t count = std::max<std::int64_t>(ceil_div(step.a.rows, part_order), 1);
  const std::int64_t parts = ceil_div(step.a.columns, part_order) * step.a.columns;
  const std::int64_t vectors = count * parts + 2 * step.a.rows + parts_size;
  const std::int64_t entries =
      step.a.rows * step.a.columns + step.next.rows * (step.next.rows + part_order) / 2;
  launch(stream, {.bytes = static_cast<double>(entries * 4 + vectors * 8),
                  .part = std::min(1., static_cast<double>(count) / device.multiprocessors)});
  return cudaSuccess;
}
// One block of threads, on one multiprocessor.
cudaError_t multiply_transposed_triangle(cudaStream_t stream, MatrixView<const float> a, Triangle,
                                         double*) {
  if (a.empty()) return cudaSuccess;
  launch(stream, {.bytes = static_cast<double>(a.rows * a.columns * 4),
                  .part = 1. / device_of(stream).multiprocessors});
  return cudaSuccess;
}
cudaError_t add(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix) {
  return move(stream, OperationKind::convert, x.precision, x);
}
cudaError_t add_pairs(cudaStream_t stream, bool, ConstAnyMatrix x, AnyMatrix) {
  return move(stream, OperationKind::convert, x.precision, x);
}
cudaError_t spread_pairs(cudaStream_t stream, ConstAnyMatrix, AnyMatrix y) {
  return move(stream, OperationKind::convert, y.precision, y);
}
cudaError_t gather_pairs(cudaStream_t stream, ConstAnyMatrix, AnyMatrix y) {
  return move(stream, OperationKind::convert, y.precision, y);
}

// A user's matrix -------------------------------------------------------------------------------

cudaError_t multiply(cudaStream_t stream, Transpose, MatrixView<const double> a, const double*,
                     const PassSums&) {
  return move(stream, OperationKind::vector_product, Precision::fp64, a);
}
cudaError_t scale(cudaStream_t stream, MatrixView<const double> from, const double*, const double*,
                  AnyMatrix to) {
  return convert(stream, to.precision, from.rows, from.columns,
                 static_cast<double>(sizeof(double) + to.element_bytes()));
}
cudaError_t take_magnitudes(cudaStream_t stream, AnyMatrix a) {
  return move(stream, OperationKind::convert, a.precision, a);
}

// These are not predicted.
cudaError_t add_entries(cudaStream_t, const MatrixEntry*, std::int64_t, MatrixView<double>) {
  return cudaErrorNotSupported;
}
cudaError_t multiply_extended(cudaStream_t, Transpose, MatrixView<const double>, const double*,
                              const double*, const ExtendedSums&) {
  return cudaErrorNotSupported;
}
cudaError_t largest_of_rows(cudaStream_t, MatrixView<const double>, const double*, double*) {
  return cudaErrorNotSupported;
}
cudaError_t largest_of_columns(cudaStream_t, ConstAnyMatrix, const double*, double*) {
  return cudaErrorNotSupported;
}
cudaError_t checksums_of_columns(cudaStream_t, MatrixView<const double>, const std::uint64_t*,
                                 std::uint64_t*) {
  return cudaErrorNotSupported;
}

}  // namespace speedwell::cuda
