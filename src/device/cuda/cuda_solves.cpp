// SPDX-License-Identifier: BSD-3-Clause
// Solves with the triangles of a diagonal block, B <- B U^-1 and B <- L^-1 B. The class CudaDevice
// describes the form of the block, and docs/numerics.md, 3.4, the rounding.
#include <algorithm>

#include "core/numbers.hpp"
#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/device_traits.hpp"

namespace speedwell {

namespace {

using cuda::triangle_order;

static_assert(triangle_order == DeviceTraits::solve_strip);
constexpr std::int64_t solve_vectors = DeviceTraits::solve_vectors;
// Products of fewer numbers are cut into 2 pieces, for the launches; others into 4.
constexpr std::int64_t few_pieces = std::int64_t{1} << 24;

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

// Both solves in one notation, that of L X = B: `a` counts unknowns, `b` right-hand sides. X U = B
// is the same with rows and columns exchanged.
struct Side {
  bool left;

  explicit Side(Triangle triangle) : left(triangle == Triangle::unit_lower) {}
  template <class T>
  MatrixView<T> block(MatrixView<T> m, std::int64_t a, std::int64_t b, std::int64_t na,
                      std::int64_t nb) const {
    return left ? m.block(a, b, na, nb) : m.block(b, a, nb, na);
  }
  Shape shape(std::int64_t na, std::int64_t nb) const {
    return left ? Shape{na, nb} : Shape{nb, na};
  }
  std::int64_t vectors(MatrixView<float> b) const { return left ? b.columns : b.rows; }
  // The factors of a product with the triangle in their order.
  Factor first(ConstAnyMatrix triangle, ConstAnyMatrix x) const {
    return factor_of(left ? triangle : x);
  }
  Factor second(ConstAnyMatrix triangle, ConstAnyMatrix x) const {
    return factor_of(left ? x : triangle);
  }
};

// The distance of columns of 16-bit numbers in scratch memory, in elements: whole cache lines.
std::int64_t scratch_ld(std::int64_t rows) {
  return round_up(rows, 64);
}

// Divides scratch memory of 16-bit numbers into matrices, one behind the other.
class Carve {
 public:
  static std::int64_t bytes(Shape shape) { return scratch_ld(shape.rows) * shape.columns * 2; }
  explicit Carve(std::byte* at) : at_(at) {}
  template <class T>
  MatrixView<T> matrix(Shape shape) {
    static_assert(sizeof(T) == 2);
    const MatrixView<T> view{reinterpret_cast<T*>(at_), shape.rows, shape.columns,
                             scratch_ld(shape.rows)};
    at_ += bytes(shape);
    return view;
  }
  std::uint32_t* rest() const { return reinterpret_cast<std::uint32_t*>(at_); }

 private:
  std::byte* at_;
};

// The scratch memory of a solve with a triangle of order n whose result is rounded.
struct ScratchShapes {
  std::int64_t strips;
  Shape inverses;
  Shape rights;
  Shape factors;
  Shape knowns;
  std::int64_t word_bytes;

  ScratchShapes(const Side& side, std::int64_t n, std::int64_t vectors)
      : strips(ceil_div(n, triangle_order)),
        inverses(side.shape(n, 3 * std::min(triangle_order, n))),
        rights(side.shape(3 * std::min(triangle_order, n), vectors)),
        factors(side.shape(triangle_order, n)),
        knowns(side.shape((strips - 1) * triangle_order, vectors)),
        word_bytes(cuda::SolveBounds::words(strips) * std::int64_t{sizeof(std::uint32_t)}) {}
  std::int64_t bytes() const {
    return Carve::bytes(inverses) + Carve::bytes(rights) + Carve::bytes(factors) +
           Carve::bytes(knowns) + word_bytes;
  }
};

}  // namespace

std::int64_t CudaDevice::solve_scratch(Triangle triangle, std::int64_t n, std::int64_t vectors) {
  if (n == 0 || vectors == 0) return 0;
  return ScratchShapes(Side(triangle), n, std::min(vectors, solve_vectors)).bytes();
}

void CudaDevice::solve_right_upper(Queue& queue, MatrixView<const float> lu, MatrixView<float> b,
                                   Precision purpose, AnyMatrix room) {
  solve_panel(lane(queue), Triangle::upper, lu, b, purpose, room);
}

void CudaDevice::solve_left_lower(Queue& queue, ConstAnyMatrix lu, AnyMatrix b, Precision purpose,
                                  AnyMatrix room) {
  Lane& l = lane(queue);
  // A few vectors, such as those of a step's own column, wait for more launches than cuBLAS makes.
  if (room.precision == Precision::fp64 && !room.empty() &&
      l.inverse(Triangle::unit_lower).of == lu.data && b.columns >= l.inverted_from)
    return solve_by_blocks(queue, lu.as<double>(), b.as<double>(), room.as<double>());
  if (lu.precision == Precision::fp64 || lu.field == Field::complex)
    return solve_unit_lower(queue, lu, b);
  solve_panel(l, Triangle::unit_lower, lu.as<float>(), b.as<float>(), purpose, room);
}

void CudaDevice::solve_panel(Lane& l, Triangle triangle, MatrixView<const float> lu,
                             MatrixView<float> b, Precision purpose, AnyMatrix room) {
  if (bytes_of(purpose) != 2) return solve_exactly(l, triangle, lu, b);
  if (l.inverse(triangle).of == lu.data && bytes_of(room.precision) == 2 && !room.empty())
    return solve_by_inverse(l, triangle, b, room);
  solve_rounded(l, triangle, lu, b);
}

std::int64_t CudaDevice::least_inverted(Precision triangle, std::int64_t n) const {
  const bool wide = triangle == Precision::fp64;
  if (wide ? grown64_ : grown_) return Lane::never;
  return variants_.least_vectors(wide ? varied::solves64 : varied::solves, n);
}

void CudaDevice::prepare_solves(Queue& queue, Triangle triangle, ConstAnyMatrix lu,
                                Precision purpose, std::int64_t vectors) {
  lane(queue).forget_inverse(triangle);
  if (lu.empty() || lu.field != Field::real || vectors < lane(queue).inverted_from) return;
  if (lu.precision == Precision::fp64 && inverts_blocks())
    make_blocks(lane(queue), lu.as<double>());
  if (lu.precision == Precision::fp32 && bytes_of(purpose) == 2)
    make_inverse(queue, triangle, lu.as<float>());
}

void CudaDevice::make_inverse(Queue& queue, Triangle triangle, MatrixView<const float> lu) {
  Lane& l = lane(queue);
  const std::int64_t n = lu.columns;
  const MatrixView<float> whole{reinterpret_cast<float*>(l.scratch(inverse_scratch(n))), n, n, n};
  copy(queue, lu, whole);
  invert(l, triangle, whole, triangle_order);
  l.reserve_inverse(triangle, n);
  Lane::Inverse& to = l.inverse(triangle);
  check(cudaMemsetAsync(to.view.largest, 0, sizeof(*to.view.largest), l.stream()),
        "cudaMemsetAsync");
  check(cuda::round_inverse(l.stream(), whole, triangle, to.view, &l.words()->growth),
        "round_inverse");
  to.of = lu.data;
}

void CudaDevice::make_blocks(Lane& l, MatrixView<const double> lu) {
  l.reserve_blocks(lu.columns);
  Lane::Inverse& to = l.inverse(Triangle::unit_lower);
  check(cuda::invert_lower(l.stream(), lu, to.blocks, &l.words()->growth64), "invert_lower");
  to.of = lu.data;
}

// For each block s of L: B_s <- B_s - sum_{t<s} L_st X_t, then X_s = L_ss^-1 B_s. X stands in
// `room` until it is whole.
void CudaDevice::solve_by_blocks(Queue& queue, MatrixView<const double> lu, MatrixView<double> b,
                                 MatrixView<double> room) {
  if (b.empty()) return;
  Lane& l = lane(queue);
  const MatrixView<const double> inverses = l.inverse(Triangle::unit_lower).blocks;
  const MatrixView<double> x = room.block(0, 0, b.rows, b.columns);
  for (std::int64_t s = 0; s < b.rows; s += cuda::inverted_lower) {
    const std::int64_t w = std::min(cuda::inverted_lower, b.rows - s);
    const MatrixView<double> right = b.block(s, 0, w, b.columns);
    if (s > 0)
      products().add(l, -1, lu.block(s, 0, w, s), x.block(0, 0, s, b.columns), right,
                     products_of(l, right, s));
    products().add(l, 1, inverses.block(0, s, w, w), right, x.block(s, 0, w, b.columns),
                   products_of(l, right, w), 0);
  }
  copy(queue, x, b);
}

// X = B D^-1 + B V with V = U^-1 - D^-1, or X = B + W B with W = L^-1 - I. The first term is that
// of FP32; the products read FP16, whose error is that of an update as deep. V and W are triangles:
// pieces of columns of V, or rows of W, need as many of the numbers before them as they end at.
void CudaDevice::solve_by_inverse(Lane& l, Triangle triangle, MatrixView<float> b, AnyMatrix room) {
  if (b.empty()) return;
  const Side side(triangle);
  const cuda::WholeInverse& inverse = l.inverse(triangle).view;
  const MatrixView<Half> rounded{reinterpret_cast<Half*>(room.data), b.rows, b.columns, room.ld};
  Lane::Words& words = *l.words();
  check(cudaMemsetAsync(&words.largest_bits, 0, sizeof(words.largest_bits), l.stream()),
        "cudaMemsetAsync");
  check(cuda::largest_magnitude(l.stream(), b, &words.largest_bits), "largest_magnitude");
  check(cuda::split_diagonal(l.stream(), b, side.left ? nullptr : inverse.diagonal, rounded,
                             &words.largest_bits, &words.scale),
        "split_diagonal");
  check(
      cuda::inverse_scale(l.stream(), &words.scale, inverse.scale, &words.alpha, &words.low_alpha),
      "inverse_scale");
  const std::int64_t n = inverse.values.rows;
  const std::int64_t vectors = side.vectors(b);
  const std::int64_t pieces = n * vectors < few_pieces ? 2 : 4;
  const std::int64_t piece = round_up(ceil_div(n, pieces), 64);
  for (std::int64_t s = 0; s < n; s += piece) {
    const std::int64_t w = std::min(piece, n - s);
    const auto factor = side.block(inverse.values, s, 0, w, s + w);
    const auto known = side.block(rounded, 0, 0, s + w, vectors);
    products().add(l, Reading::fp16, &words.alpha, side.first(factor, known),
                   side.second(factor, known), side.block(b, s, 0, w, vectors));
  }
}

// X_s = L_ss^-1 (B_s - sum_{t<s} L_st X_t), or X_s = (B_s - sum_{t<s} X_t U_ts) U_ss^-1
void CudaDevice::solve_exactly(Lane& l, Triangle triangle, MatrixView<const float> lu,
                               MatrixView<float> b) {
  if (b.empty()) return;
  const Side side(triangle);
  const std::int64_t n = lu.columns;
  const std::int64_t vectors = side.vectors(b);
  for (std::int64_t s = 0; s < n; s += triangle_order) {
    const std::int64_t w = std::min(triangle_order, n - s);
    const MatrixView<float> part = side.block(b, s, 0, w, vectors);
    const auto factor = side.block(lu, s, 0, w, s);
    const auto known = side.block(b, 0, 0, s, vectors);
    products().multiply(l, Reading::fp32, -1, side.first(factor, known), side.second(factor, known),
                        1, part);
    triangle_product(l, side.left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT, triangle, 1,
                     lu.block(s, s, w, w), part);
  }
}

// As above. The sum reads FP16, with powers of two as scales. With B_s - sum = Bh + Bl and
// L_ss^-1 = Lh + Ll, the product with the inverse is [Lh Lh Ll] [Bh; Bl; Bh]: all but Ll Bl. A
// bound of the solution is known before it, so that one pass rounds it.
void CudaDevice::solve_rounded(Lane& l, Triangle triangle, MatrixView<const float> lu,
                               MatrixView<float> b) {
  if (b.empty()) return;
  const Side side(triangle);
  const std::int64_t n = lu.columns;
  const std::int64_t vectors = side.vectors(b);
  const std::int64_t most = std::min(vectors, solve_vectors);
  const ScratchShapes shapes(side, n, most);
  Carve carve(l.scratch(shapes.bytes()));
  const auto inverses = carve.matrix<Bfloat16>(shapes.inverses);
  const auto rights = carve.matrix<Bfloat16>(shapes.rights);
  const auto factors = carve.matrix<Half>(shapes.factors);
  const auto knowns = carve.matrix<Half>(shapes.knowns);
  const cuda::SolveBounds bounds{carve.rest(), shapes.strips};
  float* alpha = &l.words()->alpha;
  const cudaStream_t stream = l.stream();
  check(cudaMemsetAsync(carve.rest(), 0, static_cast<std::size_t>(shapes.word_bytes), stream),
        "cudaMemsetAsync");
  check(cuda::split_triangle(stream, lu, triangle, inverses, bounds), "split_triangle");
  for (std::int64_t v = 0; v < vectors; v += most)
    for (std::int64_t s = 0; s < n; s += triangle_order) {
      const std::int64_t m = std::min(most, vectors - v);
      const std::int64_t w = std::min(triangle_order, n - s);
      const MatrixView<float> part = side.block(b, s, v, w, m);
      if (s > 0) {
        const auto factor = side.block(factors, 0, 0, w, s);
        const auto known = side.block(knowns, 0, 0, s, m);
        products().add(l, Reading::fp16, alpha, side.first(factor, known),
                       side.second(factor, known), part);
      }
      const auto inverse = side.block(inverses, s, 0, w, 3 * w);
      const auto right = side.block(rights, 0, 0, 3 * w, m);
      const std::int64_t strip = s / triangle_order;
      check(cuda::split(stream, part, triangle, strip, bounds, right), "split");
      products().multiply(l, Reading::bf16, 1, side.first(inverse, right),
                          side.second(inverse, right), 0, part);
      const std::int64_t next = s + w;
      if (next == n) continue;
      const std::int64_t next_w = std::min(triangle_order, n - next);
      check(cuda::round_strip(stream, triangle, bounds,
                              {.s = strip,
                               .x = part,
                               .known = side.block(knowns, s, 0, w, m),
                               .a = side.block(lu, next, 0, next_w, next),
                               .factor = side.block(factors, 0, 0, next_w, next),
                               .alpha = alpha}),
            "round_strip");
    }
}

}  // namespace speedwell
