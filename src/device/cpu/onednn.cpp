// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/onednn.hpp"

#include <speedwell/error.hpp>

#ifdef SPEEDWELL_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

#include "core/forks.hpp"

namespace speedwell {

Fault onednn_fault(bool no_memory, const char* why) {
  return Fault(std::string("oneDNN matmul failed: ") + (no_memory ? "out of memory" : why));
}

#ifdef SPEEDWELL_WITH_ONEDNN

using dnnl::memory;

namespace {

constexpr auto any = DNNL_RUNTIME_DIM_VAL;

// oneDNN's matrices are row-major, so it sees a column-major matrix as its transpose.
memory::desc transposed(memory::data_type type, std::int64_t rows, std::int64_t columns,
                        std::int64_t ld) {
  return {memory::dims{columns, rows}, type, memory::dims{ld, 1}};
}

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// One product for all shapes: oneDNN would compile one for a fixed shape in half a millisecond, and
// shapes change from step to step. Each thread has its own, since oneDNN keeps scratch memory for
// the thread that made a primitive.
template <memory::data_type type>
const dnnl::matmul& product() {
  thread_local const dnnl::matmul any_shape = [] {
    const auto operand = transposed(type, any, any, any);
    const auto target = transposed(memory::data_type::f32, any, any, any);
    dnnl::post_ops accumulate;
    accumulate.append_sum(1.0f);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(accumulate);
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul({cpu(), operand, operand, target, attributes});
#else
    return dnnl::matmul({{operand, operand, target}, attributes, cpu()});
#endif
  }();
  return any_shape;
}

}  // namespace

bool onednn_works() {
  return dnnl::engine::get_count(dnnl::engine::kind::cpu) > 0;
}

void onednn_multiply_add(ConstAnyMatrix a, ConstAnyMatrix b, MatrixView<float> c) {
  if (c.empty() || a.columns == 0) return;
  const AheadOfForks call;
  try {
    const bool bf16 = a.precision == Precision::bf16;
    const auto& multiply =
        bf16 ? product<memory::data_type::bf16>() : product<memory::data_type::f32>();
    const auto operand = [&](const ConstAnyMatrix& m) {
      const auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
      return memory(transposed(type, m.rows, m.columns, m.ld), cpu(),
                    const_cast<std::byte*>(m.data));
    };
    const memory target(transposed(memory::data_type::f32, c.rows, c.columns, c.ld), cpu(), c.data);
    dnnl::stream stream(cpu());
    // C^T += B^T A^T
    multiply.execute(
        stream,
        {{DNNL_ARG_SRC, operand(b)}, {DNNL_ARG_WEIGHTS, operand(a)}, {DNNL_ARG_DST, target}});
    stream.wait();
  } catch (const dnnl::error& e) {
    throw onednn_fault(e.status == dnnl_out_of_memory, e.what());
  }
}

#else

bool onednn_works() {
  return false;
}
void onednn_multiply_add(ConstAnyMatrix, ConstAnyMatrix, MatrixView<float>) {
  throw Fault("not built with oneDNN");
}

#endif

}  // namespace speedwell
