// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <speedwell/error.hpp>

#include <array>
#include <filesystem>
#include <string_view>

#include "core/forks.hpp"
#include "device/cuda/cuda_hooks.hpp"
#include "device/cuda/driver.hpp"

namespace speedwell {

namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libspeedwell_cuda.so";

/// The library's path: beside the program or library that has this code, or where it is installed
/// relative to that. Its name alone if it is in none of these places.
std::string library_path() {
  Dl_info here{};
  link_map* object = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&cuda_devices), &here, reinterpret_cast<void**>(&object),
              RTLD_DL_LINKMAP) != 0 &&
      object != nullptr) {
    std::error_code error;
    // The program itself has no name there, and its argv[0] need not have a folder.
    const char* file = *object->l_name == '\0' ? "/proc/self/exe" : object->l_name;
    const fs::path folder = fs::canonical(file, error).parent_path();
    for (const char* way : {".", "../lib", "../" SPEEDWELL_LIBRARY_FOLDER})
      if (fs::exists(folder / way / library_name, error)) return folder / way / library_name;
  }
  return library_name;
}

struct Library {
  const CudaEntry* entry = nullptr;
  std::string why_none;
};

// Without a driver, CUDA's libraries are not loaded: they take some 160 MB of memory.
Library load() {
  if (!has_driver())
    return {nullptr, "no NVIDIA driver is here; " + driver_needed(SPEEDWELL_CUDART_VERSION)};
  void* library = dlopen(library_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, fmt::format("CUDA cannot be loaded: {}", dlerror())};
  const auto find =
      reinterpret_cast<decltype(&speedwell_cuda_entry)>(dlsym(library, "speedwell_cuda_entry"));
  if (find == nullptr)
    return {nullptr, fmt::format("{} is no library of Speedwell's", library_name)};
  const CudaEntry* entry = find();
  if (std::string_view(entry->version) != SPEEDWELL_LIBRARY_VERSION)
    return {nullptr, fmt::format("{} is of Speedwell {}, this is {}", library_name, entry->version,
                                 SPEEDWELL_LIBRARY_VERSION)};
  return {entry, ""};
}

const Library& library() {
  static constinit MadeOnce<Library> loaded(load);
  return loaded.get();
}

/// Whether CUDA's driver is in the process. Small systems ask often, so the libraries are looked
/// through only where some were loaded since the last look.
bool driver_is_loaded() {
  struct Look {
    unsigned long long loads = 0;  // of the process so far
    unsigned long long loads_before = 0;
    bool found = false;
  };
  static Look look;
  const auto no_forks = hold_forks();  // nor other threads
  if (look.found) return true;
  look.loads_before = look.loads;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* data) {
        Look& now = *static_cast<Look*>(data);
        now.loads = library->dlpi_adds;
        now.found = std::string_view(library->dlpi_name).find("libcuda.so") != std::string::npos;
        return now.found || now.loads == now.loads_before ? 1 : 0;
      },
      &look);
  return look.found;
}

}  // namespace

CudaDevices cuda_devices() {
  return library().entry ? library().entry->devices() : CudaDevices{0, library().why_none};
}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
  if (!library().entry) throw UsageError("--device cuda is not allowed: " + library().why_none);
  return library().entry->make(options);
}

bool cuda_has_alone(const void* data) {
  return driver_is_loaded() && library().entry && library().entry->has_alone(data);
}

void cuda_release() {
  if (driver_is_loaded() && library().entry) library().entry->release();
}

}  // namespace speedwell
