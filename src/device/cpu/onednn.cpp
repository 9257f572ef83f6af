#include "device/cpu/onednn.hpp"

#include <lupine/error.hpp>

#ifdef LUPINE_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace lupine {

#ifdef LUPINE_WITH_ONEDNN

using dnnl::memory;

struct OneDnnProduct::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  // Creating a primitive is cheap the second time: oneDNN keeps what it compiled.
  dnnl::matmul product(const memory::desc& source, const memory::desc& weights,
                       const memory::desc& target) {
    dnnl::post_ops accumulate;
    accumulate.append_sum(1.0f);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(accumulate);
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul({engine, source, weights, target, attributes});
#else
    return dnnl::matmul({{source, weights, target}, attributes, engine});
#endif
  }
};

namespace {

// oneDNN's matrices are row-major: a column-major view is its own transpose there.
memory::desc transposed(memory::data_type type, std::int64_t rows, std::int64_t cols,
                        std::int64_t ld) {
  return {memory::dims{cols, rows}, type, memory::dims{ld, 1}};
}

memory::data_type type_of(Precision precision) {
  return precision == Precision::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

}  // namespace

OneDnnProduct::OneDnnProduct() : state_(std::make_unique<State>()) {}
OneDnnProduct::~OneDnnProduct() = default;

bool OneDnnProduct::built() {
  return true;
}

void OneDnnProduct::operator()(ConstAnyMatrix a, ConstAnyMatrix b, MatrixView<float> c) {
  if (c.empty() || a.cols == 0) return;
  try {
    // C^T += B^T A^T
    const auto source = transposed(type_of(b.precision), b.rows, b.cols, b.ld);
    const auto weights = transposed(type_of(a.precision), a.rows, a.cols, a.ld);
    const auto target = transposed(memory::data_type::f32, c.rows, c.cols, c.ld);
    const auto& engine = state_->engine;
    state_->product(source, weights, target)
        .execute(state_->stream,
                 {{DNNL_ARG_SRC, memory(source, engine, const_cast<std::byte*>(b.data))},
                  {DNNL_ARG_WEIGHTS, memory(weights, engine, const_cast<std::byte*>(a.data))},
                  {DNNL_ARG_DST, memory(target, engine, c.data)}});
    state_->stream.wait();
  } catch (const dnnl::error& e) {
    throw Fault(std::string("oneDNN matmul failed: ") + e.what());
  }
}

#else

struct OneDnnProduct::State {};
OneDnnProduct::OneDnnProduct() = default;
OneDnnProduct::~OneDnnProduct() = default;
bool OneDnnProduct::built() {
  return false;
}
void OneDnnProduct::operator()(ConstAnyMatrix, ConstAnyMatrix, MatrixView<float>) {
  throw Fault("not built with oneDNN");
}

#endif

}  // namespace lupine
