// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/cpu_device.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <speedwell/error.hpp>
#include <type_traits>
#include <vector>

#include "core/counted.hpp"
#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "cpu/loops.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/expansion.hpp"
#include "device/cpu/onednn.hpp"
#include "device/cpu/parts.hpp"
#include "device/cpu/product_parts.hpp"
#include "device/cpu/tile_product.hpp"
#include "device/cpu/tiled_update.hpp"
#include "device/cpu/triangular.hpp"
#include "device/device_traits.hpp"
#include "device/out_of_memory.hpp"
#include "element/rounding.hpp"
#include "host/blas_library.hpp"
#include "host/limited_space.hpp"
#include "host/memory_nodes.hpp"
#include "host/processor.hpp"

namespace speedwell {

namespace {

// Operations are done when their calls return, so there is nothing to wait for.
class CpuEvent final : public Event {
 public:
  explicit CpuEvent(double time) : time_(time) {}
  bool reached() const override { return true; }
  void wait() const override {}
  double seconds_since(const Event& earlier) const override {
    SPEEDWELL_EXPECTS(reached() && earlier.reached());
    return time_ - static_cast<const CpuEvent&>(earlier).time_;
  }

 private:
  double time_;
};

class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(const Clock& clock) : clock_(clock) {}
  void synchronize() override {}
  EventPtr record() override { return std::make_shared<CpuEvent>(clock_.now()); }
  void wait(const Event&) override {}

 private:
  const Clock& clock_;
};

// The size from which large pages pay. Smaller pieces come from the heap, which uses its pages
// again.
constexpr std::int64_t least_mapped = std::int64_t{4} << 20;

struct Tile {
  Run rows;
  Run columns;
};

// The rank's part of the matrix in tiles: runs of rows and columns, with at most `strip` columns in
// a tile, so that all threads have work.
std::vector<Tile> tiles(const Distribution& rows, const Distribution& columns) {
  std::vector<Tile> all;
  for (const Run& c : columns.runs())
    for (std::int64_t j = 0; j < c.length; j += strip)
      for (const Run& r : rows.runs())
        all.push_back({r, {c.global + j, c.local + j, std::min(strip, c.length - j)}});
  return all;
}

/// A factor of an update in FP32. `low` is empty except for FP16x3.
struct Expanded {
  MatrixView<const float> high;
  MatrixView<const float> low;

  Expanded rows(std::int64_t i, std::int64_t m) const {
    return {high.block(i, 0, m, high.columns), low.block(i, 0, low.empty() ? 0 : m, low.columns)};
  }
};

// 16-bit values as FP32, in which their products are exact: 2 x 11 bits are fewer than 24. FP32
// itself stays where it is.
MatrixView<const float> expand_plane(ConstAnyMatrix from, const MatrixView<float>& to) {
  if (from.precision == Precision::fp32) return from.as<float>();
  const Loops& loop = loops();
#pragma omp parallel for if (worth_threads(from.rows * from.columns))
  for (std::int64_t j = 0; j < from.columns; ++j)
    if (from.precision == Precision::fp16)
      loop.from_half(from.as<Half>().column(j), from.rows, to.column(j));
    else
      loop.from_bfloat16(from.as<Bfloat16>().column(j), from.rows, to.column(j));
  return to;
}

/// to <- from, between FP32 and 16 bits.
void convert(ConstAnyMatrix from, AnyMatrix to) {
  if (to.precision == Precision::fp32) return void(expand_plane(from, to.as<float>()));
  const auto values = from.as<float>();
#pragma omp parallel for if (worth_threads(values.rows * values.columns))
  for (std::int64_t j = 0; j < values.columns; ++j)
    if (to.precision == Precision::fp16)
      loops().to_half(values.column(j), values.rows, 1, to.as<Half>().column(j));
    else
      loops().to_bfloat16(values.column(j), values.rows, 1, to.as<Bfloat16>().column(j));
}

Expanded expand(ConstAnyMatrix from, float* scratch) {
  const auto plane = [&](std::int64_t k) {
    return MatrixView<float>{scratch + k * from.rows * from.columns, from.rows, from.columns,
                             from.rows};
  };
  if (from.precision != Precision::fp16x3) return {expand_plane(from, plane(0)), {}};
  return {expand_plane(from.high(), plane(0)), expand_plane(from.low(), plane(1))};
}

// C <- C + alpha L U. With FP16x3, the small products come first, and that of the low parts is left
// out.
void add_products(float alpha, const Expanded& l, const Expanded& u, MatrixView<float> c) {
  if (!l.low.empty()) {
    multiply_add(low_weight * alpha, l.high, u.low, c);
    multiply_add(low_weight * alpha, l.low, u.high, c);
  }
  multiply_add(alpha, l.high, u.high, c);
}

}  // namespace

CpuDevice::CpuDevice(int threads, const RunContext& run)
    : Device(run), threads_(threads), native_bf16_(onednn_works() && native_bf16()) {
  settle(std::min(threads, largest_team()));
}

bool CpuDevice::by_tiles(Precision precision, std::int64_t m, std::int64_t n,
                         std::int64_t k) const {
  constexpr double operations = 1e9;
  return by_onednn(precision) &&
         2. * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) >=
             operations &&
         tiles_pay();
}

std::string CpuDevice::description() const {
  return fmt::format("{}, {}, {}, loops {}{}", processor_model(), counted(threads_, "thread"),
                     blas_description(), loops().name,
                     native_bf16_ ? ", " + onednn_description() : "");
}

bool CpuDevice::native(Precision precision) const {
  return precision == Precision::fp32 || (precision == Precision::bf16 && native_bf16_);
}

Buffer CpuDevice::allocate(std::int64_t bytes) {
  if (bytes == 0) return {};
  if (bytes < least_mapped) {
    constexpr std::align_val_t line{64};
    void* small = ::operator new(static_cast<std::size_t>(bytes), line, std::nothrow);
    if (!small) throw out_of_memory(bytes, "could not be had");
    return {small, bytes, [](void* p) { ::operator delete(p, line); }};
  }
  // The system provides pages when a thread first touches them, large ones where possible.
  void* data = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw out_of_memory(bytes, "could not be had");
  madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  spread_pages(data, bytes);
  return {data, bytes, [bytes](void* p) { munmap(p, static_cast<std::size_t>(bytes)); }};
}

std::unique_ptr<Queue> CpuDevice::make_queue(Priority) {
  return std::make_unique<CpuQueue>(run().clock());
}

// Tiles are measured here, not in the time of a run.
void CpuDevice::prepare(Queue&, const QueueWork& work) {
  if (by_tiles(work.purpose, work.updated_rows, work.updated_columns, work.width))
    reserve(left_, TiledUpdate::bytes(work.updated_rows, work.width));
}

void CpuDevice::write(Queue&, std::span<const std::byte> host, std::byte* device) {
  std::copy(host.begin(), host.end(), device);
}

void CpuDevice::read(Queue&, const std::byte* device, std::span<std::byte> host) {
  std::copy_n(device, host.size(), host.begin());
}

void CpuDevice::write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) {
  copy(queue, host, device);
}

void CpuDevice::clear(Queue&, std::span<std::byte> device) {
  std::ranges::fill(device, std::byte{0});
}

void CpuDevice::copy(Queue&, ConstAnyMatrix from, AnyMatrix to) {
  if (from.precision != to.precision) return work([&] { convert(from, to); });
  move(to, [&]<class T>(const MatrixView<T>& target) {
    const MatrixView<const T> source = elements_of<T>(from);
#pragma omp parallel for if (worth_threads(source.rows * source.columns))
    for (std::int64_t j = 0; j < source.columns; ++j)
      std::copy_n(source.column(j), source.rows, target.column(j));
  });
}

void CpuDevice::generate(Queue&, const MatrixSpec& spec, const Distribution& rows,
                         const Distribution& columns, AnyMatrix any) {
  work([&] {
    const std::vector<Tile> all = tiles(rows, columns);
    with_storage(any, [&](const auto& a) {
      using T = std::remove_reference_t<decltype(a(0, 0))>;
      const auto& loop = loops().of<T>();
#pragma omp parallel for schedule(static)
      for (std::size_t t = 0; t < all.size(); ++t) {
        if (ended()) continue;
        const auto& [r, c] = all[t];
        loop.generate(spec, r.global.value, c.global.value,
                      a.block(r.local.value, c.local.value, r.length, c.length));
      }
      for (const Run& c : columns.runs())
        for (GlobalIndex g = c.global; g < c.global + c.length && g.value < rows.size(); ++g)
          if (rows.mine(g))
            a(rows.local(g).value, columns.local(g).value) =
                static_cast<T>(spec.entry(g.value, g.value));
    });
  });
}

void CpuDevice::factor_diagonal(Queue&, MatrixView<float> a, std::int64_t begin,
                                FactorStatus* status) {
  work([&] {
    const std::int64_t bad = factor_lu(a);
    if (bad >= 0 && status->bad_pivot < 0) status->bad_pivot = begin + bad;
  });
}

void CpuDevice::prepare_diagonal(Queue&, AnyMatrix) {}

void CpuDevice::solve_right_upper(Queue&, MatrixView<const float> lu, MatrixView<float> b,
                                  Precision purpose, AnyMatrix /*room*/) {
  work([&] { speedwell::solve_right_upper(lu, b, by_onednn(purpose)); });
}

void CpuDevice::solve_left_lower(Queue&, ConstAnyMatrix lu, AnyMatrix b, Precision purpose,
                                 AnyMatrix /*room*/) {
  work_on_numbers(b, [&](const auto& right) {
    using T = std::remove_reference_t<decltype(right(0, 0))>;
    speedwell::solve_left_lower(lu.as<T>(), right, by_onednn(purpose));
  });
}

template <class T>
T CpuDevice::largest(MatrixView<const T> a) const {
  const auto& loop = loops().of<T>();
  T result = 0;
#pragma omp parallel for reduction(max : result)
  for (std::int64_t j = 0; j < a.columns; ++j)
    result = std::max(result, loop.largest(a.column(j), a.rows));
  return result;
}

namespace {

/// The columns of the real matrix to which a cast rounds `from`. Of a complex matrix these are two
/// for each column z of pairs: z and i z, so that products with them are those of the elements.
template <class T>
class CastColumns {
 public:
  explicit CastColumns(ConstAnyMatrix from)
      : parts_(parts_of(from.field)), pairs_(from.real().as<T>()) {}

  std::int64_t rows() const { return pairs_.rows; }
  std::int64_t count() const { return parts_ * pairs_.columns; }
  /// Column j. @param memory of the calling thread, in which i z is put
  const T* column(std::int64_t j, std::vector<T>& memory) const {
    const T* z = pairs_.column(j / parts_);
    if (j % parts_ == 0) return z;
    memory.resize(static_cast<std::size_t>(pairs_.rows));
    times_i(z, pairs_.rows, memory.data());
    return memory.data();
  }

 private:
  std::int64_t parts_;
  MatrixView<const T> pairs_;
};

}  // namespace

void CpuDevice::cast(Queue&, ConstAnyMatrix from, double sign, AnyMatrix to, PanelControl* control,
                     FactorStatus* status) {
  work([&] {
    if (from.precision == Precision::fp64) {
      const CastColumns<double> columns(from);
      if (!std::isfinite(largest(from.real().as<double>()))) status->nonfinite = 1;
      control->scale = 1;
      const auto target = to.as<double>();
#pragma omp parallel
      {
        std::vector<double> memory;
#pragma omp for
        for (std::int64_t j = 0; j < columns.count(); ++j)
          loops().fp64.scale(columns.column(j, memory), columns.rows(), sign, target.column(j));
      }
      return;
    }
    const CastColumns<float> columns(from);
    const std::int64_t rows = columns.rows();
    const Loops& loop = loops();
    const bool scaled = needs_scale(to.precision);
    float most = scaled ? largest(from.real().as<float>()) : 0;
    control->scale = scaled ? power_of_two(fp16_scale_exponent(most)) : 1.0;
    const float scale = static_cast<float>(sign * control->scale);
#pragma omp parallel reduction(max : most)
    {
      std::vector<float> memory;
#pragma omp for
      for (std::int64_t j = 0; j < columns.count(); ++j) {
        const float* values = columns.column(j, memory);
        std::byte* column = to.data + j * to.ld * bytes_of(to.precision);
        // Here, since the column is in the cache then.
        if (!scaled) most = std::max(most, loop.fp32.largest(values, rows));
        if (to.precision == Precision::fp16x3)
          loop.to_half_pair(values, rows, scale, to.high().column(j), to.low().column(j));
        else if (scaled)
          loop.to_half(values, rows, scale, reinterpret_cast<Half*>(column));
        else if (to.precision == Precision::bf16)
          loop.to_bfloat16(values, rows, scale, reinterpret_cast<Bfloat16*>(column));
        else
          loop.fp32.scale(values, rows, scale, reinterpret_cast<float*>(column));
      }
    }
    if (!std::isfinite(most)) status->nonfinite = 1;
  });
}

void CpuDevice::update(Queue&, ConstAnyMatrix l, const PanelControl* l_control, ConstAnyMatrix u,
                       const PanelControl* u_control, AnyMatrix c, const Poll& poll) {
  if (c.empty()) return;
  work([&] {
    const bool fp64 = l.precision == Precision::fp64;
    const bool onednn = by_onednn(l.precision);
    const bool emulated = !fp64 && !native(l.precision);
    const bool narrow = bytes_of(c.precision) == 2;
    const bool tiled = by_tiles(l.precision, l.rows, u.columns, l.columns);
    const std::int64_t tall = tiled ? TiledUpdate::rows_at_once(l.columns) : c.rows;
    auto [rows, columns] = update_parts(std::min(c.rows, tall), c.columns, l.columns, threads_,
                                        poll || run().interrupt() || narrow);
    if (tiled) {
      rows = std::min(round_up(rows, tile_order), tall);
      columns = round_up(columns, tile_order);
      reserve(left_, TiledUpdate::bytes(c.rows, l.columns));
    }
    if (narrow) {
      rows = std::min({rows, c.rows, DeviceTraits::narrow_rows});
      columns = std::min({columns, c.columns, traits_of(kind()).emulated_columns});
      reserve(sums_, rows * columns * std::int64_t{sizeof(float)});
    }
    if (emulated) {
      columns = std::min({columns, c.columns, traits_of(kind()).emulated_columns});
      const std::int64_t bytes = planes_of(l.precision) * std::int64_t{sizeof(float)};
      reserve(left_, l.rows * l.columns * bytes);
      reserve(right_, u.rows * columns * bytes);
    }
    const auto alpha = static_cast<float>(1 / (l_control->scale * u_control->scale));
    const Expanded left = onednn || fp64 ? Expanded{} : expand(l, left_.as<float>());
    for (std::int64_t i = 0; i < c.rows && !ended(); i += rows) {
      const std::int64_t m = std::min(rows, c.rows - i);
      const ConstAnyMatrix l_part = l.block(i, 0, m, l.columns);
      std::optional<TiledUpdate> tiles;
      if (tiled) tiles.emplace(l_part.as<Bfloat16>(), left_.as<Bfloat16>());
      for (std::int64_t j = 0; j < c.columns && !ended(); j += columns) {
        const std::int64_t n = std::min(columns, c.columns - j);
        const ConstAnyMatrix right = u.block(0, j, u.rows, n);
        const Expanded wide = onednn || fp64 ? Expanded{} : expand(right, right_.as<float>());
        const AnyMatrix whole = c.block(i, j, m, n);
        const AnyMatrix part = narrow ? AnyMatrix(Precision::fp32, sums_.data(), m, n, m) : whole;
        if (narrow) convert(whole, part);
        if (fp64)
          multiply_add(1.0, l_part.as<double>(), right.as<double>(), part.as<double>());
        else if (tiled)
          tiles->add(right.as<Bfloat16>(), part.as<float>());
        else if (onednn)
          onednn_multiply_add(l_part, right, part.as<float>());  // BF16 has no scale: alpha = 1
        else
          add_products(alpha, left.rows(i, m), wide, part.as<float>());
        if (narrow) convert(part, whole);
        if (poll) poll();
      }
    }
  });
}

}  // namespace speedwell
