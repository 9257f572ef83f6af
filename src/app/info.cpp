// SPDX-License-Identifier: BSD-3-Clause
#include "app/info.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <speedwell/error.hpp>

#include "app/output.hpp"
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

using nlohmann::ordered_json;

constexpr Precision update_choices[]{Precision::fp16, Precision::bf16, Precision::fp16x3,
                                     Precision::fp32};

/// The lines, each printed at once unless there is the document alone, and the document.
class InfoReport {
 public:
  explicit InfoReport(bool is_printed) : is_printed_(is_printed) {}
  void line(const char* label, const std::string& value) const {
    if (is_printed_) print(fmt::format("{:<18} {}\n", label, value));
  }
  /// A line whose text is a member of the document too.
  void tell(const char* label, const char* key, const std::string& text) {
    line(label, text);
    document_[key] = text;
  }
  ordered_json& operator[](const char* key) { return document_[key]; }
  const ordered_json& document() const { return document_; }

 private:
  bool is_printed_;
  ordered_json document_;
};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// The precisions of updates for which the device has instructions, or those for which it has none.
std::vector<std::string> update_precisions(const Device& device, bool native) {
  std::vector<std::string> names;
  for (const Precision p : update_choices)
    if (device.native(p) == native) names.emplace_back(name(p));
  return names;
}

std::string update_precisions(const Device& device) {
  const auto listed = [&](bool native) {
    const std::vector<std::string> names = update_precisions(device, native);
    return names.empty() ? "none" : joined(names);
  };
  return fmt::format("native {}; emulated {}; auto is the fastest, as measured", listed(true),
                     listed(false));
}

std::string cores(const ProcessorInfo& processor) {
  return fmt::format("{}, this rank may use {} ({})", processor.cores, processor.bound_cores,
                     core_binding());
}

std::string numa_domains(const std::string& spanned) {
  return spanned.empty() ? "one for this rank"
                         : fmt::format(
                               "{}: this rank's matrices are spread over them, unless numactl has "
                               "told otherwise",
                               spanned);
}

std::string large_pages(const std::string& setting) {
  return setting == "never" ? "never (/sys/kernel/mm/transparent_hugepage/enabled)"
                            : fmt::format("{}; asked for from 4 MiB on", setting);
}

void tell_libraries(InfoReport& report, int ranks) {
  report["schema"] = "speedwell/1";
  report["benchmark"] = "info";
  report.tell("Speedwell", "version", SPEEDWELL_VERSION);
  report.tell("revision", "revision", SPEEDWELL_REVISION);
  report.tell("MPI", "mpi", mpi_version());
  report.line("ranks",
              fmt::format("{}; the lines below are about rank 0 on {}", ranks, host_name()));
  report["ranks"] = ranks;
  report["host"] = host_name();
  const std::string& kernels = settle_blas_kernels();
  const bool is_told = !kernels.empty() && !is_other_blas();
  report.tell("BLAS", "blas", blas_description());
  if (is_told) report.line("", kernels);
  report["blas_kernels"] = is_told ? ordered_json(kernels) : ordered_json(nullptr);
  report.tell("oneDNN", "onednn", onednn_description());
  report.line("libzip",
              has_libzip() ? version_of_libzip() : "none: .npz files neither read nor written");
  report["libzip"] = has_libzip() ? ordered_json(version_of_libzip()) : ordered_json(nullptr);
}

void tell_node(InfoReport& report, const ProcessorInfo& processor) {
  report.tell("processor", "processor", processor.model);
  report.line("instruction sets", joined(processor.instruction_sets));
  report["instruction_sets"] = processor.instruction_sets;
  report.line("cores", cores(processor));
  report["cores"] = processor.cores;
  report["bound_cores"] = processor.bound_cores;
  report["core_binding"] = core_binding();
  const NodeMemory memory = node_memory();
  report.line("memory",
              fmt::format("{}, free {} ({})", gibibytes(static_cast<double>(memory.total)),
                          gibibytes(static_cast<double>(memory.free)), memory.bound));
  report["memory_bytes"] = memory.total;
  report["free_memory_bytes"] = memory.free;
  report["free_memory_source"] = memory.bound;
  const std::string nodes = spanned_memory_nodes();
  report.line("NUMA domains", numa_domains(nodes));
  report["numa_domains"] = nodes.empty() ? ordered_json(nullptr) : ordered_json(nodes);
  report.line("large pages", large_pages(large_pages_setting()));
  report["large_pages"] = large_pages_setting();
}

void tell_processor(InfoReport& report, int threads) {
  const auto device = make_device({.kind = DeviceKind::cpu, .threads = threads});
  report.line("device cpu", device->description());
  report.line("update precisions", update_precisions(*device));
  report["device_cpu"] = {{"description", device->description()},
                          {"native_precisions", update_precisions(*device, true)},
                          {"emulated_precisions", update_precisions(*device, false)}};
}

/// An error of one GPU stands in its line, so that all others are still shown.
void tell_gpu(InfoReport& report, int gpu) {
  try {
    const auto cuda = make_device({.kind = DeviceKind::cuda, .gpu = gpu});
    const auto memory = cuda->memory();
    report.line("device cuda",
                fmt::format("{}, {} free: {}", memory->name,
                            gibibytes(static_cast<double>(memory->free)), cuda->description()));
    report["devices_cuda"].push_back({{"name", memory->name},
                                      {"memory_bytes", memory->total},
                                      {"free_memory_bytes", memory->free},
                                      {"description", cuda->description()},
                                      {"problem", nullptr}});
  } catch (const Error& error) {
    report.line("device cuda", fmt::format("GPU {} cannot be used: {}", gpu, error.what()));
    report["devices_cuda"].push_back(
        {{"name", fmt::format("GPU {}", gpu)}, {"problem", error.what()}});
  }
}

void tell_gpus(InfoReport& report) {
  report["devices_cuda"] = ordered_json::array();
  const int gpus = count_gpus();
  if (gpus == 0) report.line("device cuda", fmt::format("none: {}", why_no_gpus()));
  for (int gpu = 0; gpu < gpus; ++gpu) tell_gpu(report, gpu);
  report["why_no_gpus"] = gpus == 0 ? ordered_json(why_no_gpus()) : ordered_json(nullptr);
}

}  // namespace

void run_info(const std::string& json, int ranks, const std::function<CoreShare()>& share) {
  InfoReport report(json != standard_output);
  tell_libraries(report, ranks);
  const CoreShare mine = share();
  tell_node(report, mine.processor);
  tell_processor(report, std::min(mine.threads(), largest_team()));
  tell_gpus(report);
  if (!json.empty()) try_json(json, [&] { return report.document(); });
}

}  // namespace speedwell
