// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/tile_product.hpp"

#include <omp.h>

#include <algorithm>
#include <map>
#include <speedwell/error.hpp>
#include <string>
#include <unordered_map>

#include "core/clock.hpp"
#include "core/expects.hpp"
#include "core/fastest.hpp"
#include "core/forks.hpp"
#include "cpu/loops.hpp"
#include "device/cpu/onednn.hpp"
#include "element/rounding.hpp"
#include "host/processor.hpp"
#include "host/thread_scope.hpp"

#ifdef SPEEDWELL_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace speedwell {

void pack_tile(MatrixView<const Bfloat16> a, Bfloat16* packed) {
  const std::int64_t step = packed_elements(tile_unit, a.columns);
  for (std::int64_t i = 0; i < a.rows; i += tile_unit) {
    const std::int64_t rows = std::min(tile_unit, a.rows - i);
    Bfloat16* to = packed + i / tile_unit * step;
    if (rows < tile_unit || a.columns % 32 != 0) std::fill_n(to, step, Bfloat16{});
    for (std::int64_t l = 0; l < a.columns; l += 2, to += 2 * tile_unit) {
      // An odd last column has a column of zeros beside it.
      static constexpr Bfloat16 zeros[tile_unit]{};
      const Bfloat16* odd = l + 1 < a.columns ? a.column(l + 1) + i : zeros;
      loops().interleave(a.column(l) + i, odd, rows, to);
    }
  }
}

// Columns of C are far apart and short, so that the processor does not foresee them.
void add_tile(const float* t, std::int64_t ld, MatrixView<float> c) {
  constexpr std::int64_t ahead = 4;
  constexpr std::int64_t line = 16;
  for (std::int64_t j = 0; j < c.columns; ++j) {
    if (j + ahead < c.columns)
      for (std::int64_t i = 0; i < c.rows; i += line)
        __builtin_prefetch(c.column(j + ahead) + i, 1);
    loops().fp32.add(t + j * ld, c.rows, c.column(j));
  }
}

#ifdef SPEEDWELL_WITH_ONEDNN

namespace {

using dnnl::memory;

// A product as oneDNN has it, with the memory objects that it is called with. oneDNN's matrices are
// row-major, so that it computes C^T = B^T A^T.
class Primitive {
 public:
  explicit Primitive(const TileProduct& p)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        b_({p.n, p.k}, memory::data_type::bf16, memory::format_tag::ab),
        a_({p.k, p.m}, memory::data_type::bf16, memory::format_tag::BA16a64b2a),
        c_({p.n, p.m}, memory::data_type::f32, memory::format_tag::ab),
#if DNNL_VERSION_MAJOR >= 3
        description_(engine_, b_, a_, c_, attributes(p.add)),
#else
        description_({b_, a_, c_}, attributes(p.add), engine_),
#endif
        multiply_(description_),
        arguments_{{DNNL_ARG_SRC, memory(b_, engine_, nullptr)},
                   {DNNL_ARG_WEIGHTS, memory(a_, engine_, nullptr)},
                   {DNNL_ARG_DST, memory(c_, engine_, nullptr)}} {
  }

  // Other implementations take any order of A, and are slow.
  bool reads_packed() const {
    return std::string(description_.impl_info_str()).starts_with("brg");
  }

  void operator()(const Bfloat16* packed, const Bfloat16* b, float* c) {
    arguments_.at(DNNL_ARG_SRC).set_data_handle(const_cast<Bfloat16*>(b));
    arguments_.at(DNNL_ARG_WEIGHTS).set_data_handle(const_cast<Bfloat16*>(packed));
    arguments_.at(DNNL_ARG_DST).set_data_handle(c);
    multiply_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  static dnnl::primitive_attr attributes(bool add) {
    dnnl::post_ops after;
    if (add) after.append_sum(1.0f);
    dnnl::primitive_attr all;
    all.set_post_ops(after);
    return all;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  memory::desc b_, a_, c_;
  dnnl::matmul::primitive_desc description_;
  dnnl::matmul multiply_;
  std::unordered_map<int, memory> arguments_;
};

// oneDNN plans a product for as many threads as OpenMP would take.
class OneThread {
 public:
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = omp_get_max_threads();
};

// Each thread has its own, since oneDNN keeps scratch memory for the thread that made a primitive;
// the code that it compiles, which takes half a millisecond, is shared by the process.
Primitive& primitive(const TileProduct& product) {
  constexpr std::size_t most = 64;
  thread_local std::map<TileProduct, Primitive> known;
  if (const auto found = known.find(product); found != known.end()) return found->second;
  if (known.size() >= most) known.clear();
  const OneThread scope;
  return known.try_emplace(product, product).first->second;
}

// Whether tiles take less than nine tenths of the time of a whole product of order 512, each on one
// thread: less than that could change from run to run, and the last bits of results with it.
bool measure_tiles() {
  constexpr std::int64_t order = 512;
  constexpr int least = 3;
  TileVector<Bfloat16> a(order * order, to_bfloat16(0.5f)), packed(packed_elements(order, order));
  TileVector<float> c(order * order);
  const ConstAnyMatrix factor(MatrixView<const Bfloat16>{a.data(), order, order, order});
  const ThreadScope scope(1);
  const SteadyClock clock;
  pack_tile(factor.as<Bfloat16>(), packed.data());
  const auto tiles = [&] {
    for (std::int64_t i = 0; i < order; i += tile_order)
      for (std::int64_t j = 0; j < order; j += tile_order)
        multiply_tile({tile_order, tile_order, order}, packed.data() + i * order,
                      a.data() + j * order, c.data());
  };
  const auto whole = [&] { onednn_multiply_add(factor, factor, {c.data(), order, order, order}); };
  return fastest(clock, 0, tiles, least) < 0.9 * fastest(clock, 0, whole, least);
}

}  // namespace

void multiply_tile(const TileProduct& product, const Bfloat16* packed, const Bfloat16* b,
                   float* c) {
  SPEEDWELL_EXPECTS(product.m % tile_unit == 0 && product.n % tile_unit == 0);
  const AheadOfForks call;
  try {
    primitive(product)(packed, b, c);
  } catch (const dnnl::error& e) {
    throw onednn_fault(e.status == dnnl_out_of_memory, e.what());
  }
}

bool tiles_exist() {
  static constinit MadeOnce<bool> exist([] {
    try {
      return native_bf16() && primitive({tile_unit, tile_unit, tile_unit}).reads_packed();
    } catch (const dnnl::error&) {
      return false;
    }
  });
  return exist.get();
}

bool tiles_pay() {
  static constinit MadeOnce<bool> pay([] { return tiles_exist() && measure_tiles(); });
  return pay.get();
}

#else

void multiply_tile(const TileProduct&, const Bfloat16*, const Bfloat16*, float*) {
  throw Fault("not built with oneDNN");
}
bool tiles_exist() {
  return false;
}
bool tiles_pay() {
  return false;
}

#endif

}  // namespace speedwell
