// SPDX-License-Identifier: BSD-3-Clause
#include "app/info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <speedwell/error.hpp>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "host/blas_kernels.hpp"
#include "host/blas_library.hpp"
#include "host/memory_nodes.hpp"
#include "host/processor.hpp"
#include "host/thread_scope.hpp"
#include "io/npz.hpp"
#include "revision.hpp"
#include "setup/memory.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string update_precisions(const Device& device) {
  std::vector<std::string> native;
  std::vector<std::string> emulated;
  for (Precision p : {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32})
    (device.native(p) ? native : emulated).emplace_back(name(p));
  return fmt::format("native {}; emulated {}; auto is the fastest, as measured",
                     native.empty() ? "none" : joined(native),
                     emulated.empty() ? "none" : joined(emulated));
}

std::string cores(const ProcessorInfo& processor) {
  return fmt::format("{}, this rank may use {} ({})", processor.cores, processor.bound_cores,
                     core_binding());
}

std::string numa_domains() {
  const std::string spanned = spanned_memory_nodes();
  return spanned.empty() ? "one for this rank"
                         : fmt::format(
                               "{}: this rank's matrices are spread over them, unless numactl has "
                               "told otherwise",
                               spanned);
}

std::string large_pages() {
  const std::string setting = large_pages_setting();
  return setting == "never" ? "never (/sys/kernel/mm/transparent_hugepage/enabled)"
                            : fmt::format("{}; asked for from 4 MiB on", setting);
}

// The line of a GPU. An error of one GPU stands in its line, so that all others are still shown.
std::string gpu_text(int gpu) {
  try {
    const auto cuda = make_device({.kind = DeviceKind::cuda, .gpu = gpu});
    const auto memory = cuda->memory();
    return fmt::format("{}, {} free: {}", memory->name,
                       gibibytes(static_cast<double>(memory->free)), cuda->description());
  } catch (const Error& error) {
    return fmt::format("GPU {} cannot be used: {}", gpu, error.what());
  }
}

}  // namespace

std::string info_text(int size, const CoreShare& share) {
  const ProcessorInfo& processor = share.processor;
  const NodeMemory memory = node_memory();
  const int threads = std::min(share.threads(), largest_team());
  const auto device = make_device({.kind = DeviceKind::cpu, .threads = threads});
  std::string text;
  const auto line = [&](const char* label, const std::string& value) {
    text += fmt::format("{:<18} {}\n", label, value);
  };
  line("Speedwell", SPEEDWELL_VERSION);
  line("revision", SPEEDWELL_REVISION);
  line("MPI", mpi_version());
  line("ranks", fmt::format("{}; the lines below are about rank 0 on {}", size, host_name()));
  line("BLAS", blas_description());
  if (const std::string& kernels = settle_blas_kernels(); !kernels.empty() && !is_other_blas())
    line("", kernels);
  line("oneDNN", onednn_description());
  line("libzip", has_libzip() ? version_of_libzip() : "none: .npz files neither read nor written");
  line("processor", processor.model);
  line("instruction sets", joined(processor.instruction_sets));
  line("cores", cores(processor));
  line("memory", fmt::format("{}, free {} ({})", gibibytes(static_cast<double>(memory.total)),
                             gibibytes(static_cast<double>(memory.free)), memory.bound));
  line("NUMA domains", numa_domains());
  line("large pages", large_pages());
  line("device cpu", device->description());
  line("update precisions", update_precisions(*device));
  const int gpus = count_gpus();
  if (gpus == 0) line("device cuda", fmt::format("none: {}", why_no_gpus()));
  for (int gpu = 0; gpu < gpus; ++gpu) line("device cuda", gpu_text(gpu));
  return text;
}

}  // namespace speedwell
