// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/cuda_device.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "device/cuda/blas.hpp"
#include "device/cuda/blas_emulation.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/peers.hpp"
#include "device/emulation_workspace.hpp"

namespace speedwell {

namespace {

// The columns of C that one product updates: some ten milliseconds for a large matrix. After each
// product the GPU can serve queues of higher priority.
constexpr std::int64_t update_columns = 16384;

// Fewer columns where they would span 2^31 elements: cuBLASLt offers algorithms that fail there.
std::int64_t columns_of_piece(const AnyMatrix& c) {
  constexpr std::int64_t unit = 256;  // columns that cuBLASLt's tiles divide
  const std::int64_t wanted = c.precision == Precision::fp64 ? fp64_update_columns : update_columns;
  const std::int64_t spanned = std::numeric_limits<std::int32_t>::max() / c.ld;
  return std::min(wanted,
                  spanned < unit ? std::max<std::int64_t>(spanned, 1) : spanned / unit * unit);
}

class CudaEvent final : public Event {
 public:
  CudaEvent(cudaStream_t stream, std::shared_ptr<Peers> peers) : peers_(std::move(peers)) {
    check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "cudaEventCreateWithFlags");
    check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override { cudaEventDestroy(event_); }

  bool reached() const override {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) return false;
    check(state, "cudaEventQuery");
    return true;
  }
  void wait() const override {
    peers_->wait(
        "cudaEventSynchronize", [this] { return cudaEventQuery(event_); },
        [this] { return cudaEventSynchronize(event_); });
  }
  double seconds_since(const Event& earlier) const override {
    SPEEDWELL_EXPECTS(reached() && earlier.reached());
    float milliseconds = 0;
    check(
        cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(earlier).event_, event_),
        "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1e3;
  }
  cudaEvent_t get() const { return event_; }

 private:
  std::shared_ptr<Peers> peers_;
  cudaEvent_t event_ = nullptr;
};

// A queue on a lane of the resources; the destructor gives the lane back.
class CudaQueue final : public Queue {
 public:
  CudaQueue(Lane& lane, std::shared_ptr<GpuResources> resources, std::shared_ptr<Peers> peers)
      : lane_(lane), resources_(std::move(resources)), peers_(std::move(peers)) {
    peers_->add(lane_);
    lane_.taken = true;
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;
  ~CudaQueue() override {
    peers_->drain();
    cudaStreamSynchronize(lane_.stream());
    peers_->remove(lane_);
    lane_.taken = false;
  }

  void synchronize() override {
    const cudaStream_t stream = lane_.stream();
    peers_->wait(
        "cudaStreamSynchronize", [stream] { return cudaStreamQuery(stream); },
        [stream] { return cudaStreamSynchronize(stream); });
  }
  EventPtr record() override { return std::make_shared<CudaEvent>(lane_.stream(), peers_); }
  void wait(const Event& event) override {
    check(cudaStreamWaitEvent(lane_.stream(), static_cast<const CudaEvent&>(event).get(), 0),
          "cudaStreamWaitEvent");
  }
  Lane& lane() const { return lane_; }

 private:
  Lane& lane_;
  std::shared_ptr<GpuResources> resources_;
  std::shared_ptr<Peers> peers_;
};

void copy_matrix(Lane& lane, ConstAnyMatrix from, AnyMatrix to, cudaMemcpyKind kind) {
  if (from.empty()) return;
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements * from.element_bytes());
  };
  check(cudaMemcpy2DAsync(to.data, bytes(to.ld), from.data, bytes(from.ld), bytes(from.rows),
                          static_cast<std::size_t>(from.columns), kind, lane.stream()),
        "cudaMemcpy2DAsync");
}

Reading reading_of(Precision precision) {
  return precision == Precision::fp16   ? Reading::fp16
         : precision == Precision::bf16 ? Reading::bf16
                                        : Reading::fp32;
}

std::int64_t emulation_bytes(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  return static_cast<std::int64_t>(std::ceil(emulation_workspace(
      static_cast<double>(rows), static_cast<double>(columns), static_cast<double>(inner))));
}

std::string identity_of(const cudaDeviceProp& properties) {
  std::string text = "GPU-";
  for (const char byte : properties.uuid.bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

CudaDevice::CudaDevice(const DeviceOptions& options)
    : Device(options.run),
      gpu_(options.gpu),
      reserved_(options.reserved),
      fp64_(options.fp64),
      variants_(options.gpu),
      peers_(std::make_shared<Peers>(options.run)) {
  const CudaDevices found = gpus_here();
  if (found.count == 0) throw UsageError("--device cuda is not allowed: " + found.why_none);
  if (gpu_ < 0 || gpu_ >= found.count)
    throw UsageError(fmt::format("GPU {} is not there; allowed: 0 to {}", gpu_, found.count - 1));
  use_gpu(gpu_);
  resources_ = options.alone ? kept_resources(gpu_) : std::make_shared<GpuResources>(gpu_);
  resources_->memory->before_free([peers = peers_] { peers->drain(); });
  if (properties().major < least_capability)
    throw UsageError(
        fmt::format("GPU {} ({}) has compute capability {}.{}; allowed: {}.0 and later", gpu_,
                    properties().name, properties().major, properties().minor, least_capability));
  if (fp64_ == Fp64Products::emulated && !why_no_emulation().empty())
    throw UsageError(
        fmt::format("--fp64 emulated needs cuBLAS of CUDA 13.0, update 2, or later: {}; allowed: "
                    "native",
                    why_no_emulation()));
  if (!resources_->products) resources_->products = std::make_unique<Products>();
}

CudaDevice::~CudaDevice() = default;

void CudaDevice::use() const {
  use_gpu(gpu_);
}

Lane& CudaDevice::lane(Queue& queue) const {
  use();  // the program that calls Speedwell may have selected another GPU
  Lane& lane = static_cast<CudaQueue&>(queue).lane();
  lane.set_multiprocessors(multiprocessors_for(lane.priority()));
  return lane;
}

std::string CudaDevice::fp64_products() const {
  return fp64_words(fp64_);
}

std::string CudaDevice::description() const {
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto version = [](int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); };
  const std::size_t blas = cublasLtGetVersion();
  const PeerSupport peers = peer_support();
  return fmt::format(
      "{}, {} multiprocessors, {:.1f} GiB, CUDA {}, driver for {}, cuBLAS {}.{}.{}, {}{}",
      properties().name, properties().multiProcessorCount,
      static_cast<double>(properties().totalGlobalMem) / 0x1p30, version(runtime), version(driver),
      blas / 10000, blas % 10000 / 100, blas % 100,
      peers.why_none.empty() ? peers.library : "no NCCL",
      fp64_ == Fp64Products::emulated ? ", FP64 products emulated" : "");
}

std::optional<DeviceMemory> CudaDevice::memory() const {
  use();
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const GpuMemory& own = *resources_->memory;
  return DeviceMemory{static_cast<std::int64_t>(free) + own.kept(),
                      static_cast<std::int64_t>(total), identity_of(properties()),
                      fmt::format("GPU {} ({}, {})", gpu_, properties().name,
                                  identity_of(properties()).substr(0, 12)),
                      own.most()};
}

namespace {
// Of memory that CUDA does not know, it says that it is the host's.
cudaPointerAttributes attributes_of(const void* data) {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, data), "cudaPointerGetAttributes");
  return found;
}
}  // namespace

bool gpu_has_alone(const void* data) {
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, data) == cudaSuccess)
    return found.type == cudaMemoryTypeDevice;
  cudaGetLastError();  // CUDA keeps the error until it is asked
  return false;
}

bool CudaDevice::can_read(const void* data) const {
  if (data == nullptr) return true;
  const cudaPointerAttributes found = attributes_of(data);
  return found.type == cudaMemoryTypeManaged ||
         (found.type == cudaMemoryTypeDevice && found.device == gpu_);
}

void CudaDevice::synchronize_all() {
  use();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Buffer CudaDevice::allocate(std::int64_t bytes) {
  use();
  return resources_->memory->allocate(bytes);
}

Buffer CudaDevice::allocate_host(std::int64_t bytes) {
  use();
  return resources_->pinned->allocate(bytes);
}

std::unique_ptr<Queue> CudaDevice::make_queue(Priority priority) {
  use();
  auto& lanes = resources_->lanes;
  auto free = std::ranges::find_if(lanes, [priority](const std::unique_ptr<Lane>& lane) {
    return lane->priority() == priority && !lane->taken;
  });
  if (free == lanes.end())
    free = lanes.insert(free, std::make_unique<Lane>(priority, resources_->memory));
  return std::make_unique<CudaQueue>(**free, resources_, peers_);
}

void CudaDevice::prepare(Queue& queue, const QueueWork& work) {
  Lane& l = lane(queue);
  l.blas();
  l.inverted_from = Lane::never;
  std::int64_t most = 0;
  const auto needs = [&](std::int64_t bytes) { most = std::max(most, bytes); };
  if (bytes_of(work.purpose) == 2 && work.field == Field::real) needs(prepare_solvers(queue, work));
  if (work.inverts && work.purpose == Precision::fp64)
    prepare_blocks(queue, work.width, work.solved_columns);
  // A step exchanges at most twice as many rows as it has columns.
  const std::int64_t column = 2 * work.width * bytes_of(Precision::fp64);
  // Those of trials too, whose blocks are gone: another one may have their place.
  for (const Triangle triangle : {Triangle::unit_lower, Triangle::upper})
    l.forget_inverse(triangle);
  if (work.leaf_rows > 0 && work.field == Field::real)
    needs(prepare_leaves(queue, storage_for(work.purpose), work.leaf_rows));
  if (work.permutes && column > cuda::permuted_bytes) needs(std::max(permute_scratch, column));
  if (work.substituted > 0)
    needs(work.field == Field::complex ? complex_scratch(work.width / 2, work.substituted)
                                       : 2 * cuda::parts_size * std::int64_t{sizeof(double)});
  if (work.pass_rows > 0) needs(pass_scratch(work.pass_rows, work.pass_columns, 3));
  if (work.factors) needs(prepare_factors(queue, work.width));
  l.scratch(most);
  if (work.diagonal > 0) l.reserve_diagonal(work.diagonal);
  if (work.least_part > 0 && l.priority() == Priority::normal) add_parts(l, work.least_part);
  if (work.purpose == Precision::fp64 && fp64_ == Fp64Products::emulated && work.updated_rows > 0)
    l.reserve_workspace(emulation_bytes(
        work.updated_rows, std::min(work.updated_columns, fp64_update_columns), work.width));
}

// What is too large for the workspace of its queue stays native.
Fp64Products CudaDevice::products_of(const Lane& on, MatrixView<const double> c,
                                     std::int64_t inner) const {
  const bool emulated = fp64_ == Fp64Products::emulated &&
                        emulation_bytes(c.rows, c.columns, inner) <= on.workspace_size();
  return emulated ? Fp64Products::emulated : Fp64Products::native;
}

void CudaDevice::write(Queue& queue, std::span<const std::byte> host, std::byte* device) {
  if (host.empty()) return;
  check(cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice,
                        lane(queue).stream()),
        "cudaMemcpyAsync");
}

void CudaDevice::read(Queue& queue, const std::byte* device, std::span<std::byte> host) {
  if (host.empty()) return;
  check(cudaMemcpyAsync(host.data(), device, host.size(), cudaMemcpyDeviceToHost,
                        lane(queue).stream()),
        "cudaMemcpyAsync");
}

void CudaDevice::write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) {
  copy_matrix(lane(queue), host, device, cudaMemcpyHostToDevice);
}

PeerSupport CudaDevice::peer_support() const {
  return peer_support_here();
}

std::vector<std::byte> CudaDevice::make_peer_id() {
  SPEEDWELL_EXPECTS(connects_peers());
  return speedwell::make_peer_id();
}

std::unique_ptr<PeerGroup> CudaDevice::join_peers(std::span<const std::byte> id, int rank,
                                                  int size) {
  use();
  return peers_->join(id, rank, size, [this](Queue& queue) { return lane(queue).stream(); });
}

void CudaDevice::end_peers() {
  peers_->end();
}

void CudaDevice::copy(Queue& queue, ConstAnyMatrix from, AnyMatrix to) {
  if (from.precision != to.precision)
    return check(cuda::convert(lane(queue).stream(), from, to), "convert");
  copy_matrix(lane(queue), from, to, cudaMemcpyDeviceToDevice);
}

void CudaDevice::generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                          const Distribution& columns, AnyMatrix a) {
  Lane& l = lane(queue);
  MatrixSpec here = spec;
  if (spec.diagonal != nullptr) here.diagonal = l.diagonal(spec.diagonal, spec.n);
  check(cuda::generate(l.stream(), here, cyclic(rows), cyclic(columns), a), "generate");
}

void CudaDevice::cast(Queue& queue, ConstAnyMatrix from, double sign, AnyMatrix to,
                      PanelControl* control, FactorStatus* status) {
  Lane& l = lane(queue);
  if (from.precision == Precision::fp64)
    return check(cuda::copy_signed(l.stream(), from, sign, to.as<double>(), &control->scale,
                                   &status->nonfinite),
                 "copy_signed");
  std::uint32_t* bits = &l.words()->largest_bits;
  check(cudaMemsetAsync(bits, 0, sizeof(*bits), l.stream()), "cudaMemsetAsync");
  check(cuda::largest_magnitude(l.stream(), from.real().as<float>(), bits), "largest_magnitude");
  check(cuda::cast(l.stream(), from, static_cast<float>(sign), to, bits, &control->scale,
                   &status->nonfinite),
        "cast");
}

// The columns of C are cut into pieces: see columns_of_piece().
void CudaDevice::update(Queue& queue, ConstAnyMatrix l, const PanelControl* l_control,
                        ConstAnyMatrix u, const PanelControl* u_control, AnyMatrix c,
                        const Poll& poll) {
  if (c.empty()) return;
  Lane& on = lane(queue);
  const bool wide = c.precision == Precision::fp64;
  const std::int64_t piece = columns_of_piece(c);
  float* alpha = &on.words()->alpha;
  float* low_alpha = &on.words()->low_alpha;
  if (!wide)
    check(cuda::inverse_scale(on.stream(), &l_control->scale, &u_control->scale, alpha, low_alpha),
          "inverse_scale");
  const auto add = [&](Reading reading, const float* factor, ConstAnyMatrix a, ConstAnyMatrix b,
                       AnyMatrix to) {
    products().add(on, reading, factor, factor_of(a), factor_of(b), to);
  };
  for (std::int64_t j = 0; j < c.columns; j += piece) {
    const std::int64_t n = std::min(piece, c.columns - j);
    const ConstAnyMatrix right = u.block(0, j, u.rows, n);
    const AnyMatrix part = c.block(0, j, c.rows, n);
    if (wide) {
      products().add(on, 1, l.as<double>(), right.as<double>(), part.as<double>(),
                     products_of(on, part.as<double>(), l.columns));
    } else if (l.precision == Precision::fp16x3) {  // small products first
      add(Reading::fp16, low_alpha, l.high(), right.low(), part);
      add(Reading::fp16, low_alpha, l.low(), right.high(), part);
      add(Reading::fp16, alpha, l.high(), right.high(), part);
    } else {
      add(reading_of(l.precision), alpha, l, right, part);
    }
  }
  if (poll) poll();
}

}  // namespace speedwell
