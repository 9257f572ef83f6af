// SPDX-License-Identifier: BSD-3-Clause
#include "host/blas_library.hpp"

#include <cblas.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <omp.h>
#include <speedwell/error.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>

// A variable of OpenBLAS with OpenMP; releases without it leave its address null.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
extern "C" [[gnu::weak]] int blas_omp_number_max;

namespace speedwell {

namespace {

using SetThreads = void(std::int64_t);  // a function of an int reads the lower half
using GetThreads = std::int64_t();

/// The functions by which a family of libraries is told its number of threads.
struct ThreadFunctions {
  const char* set;
  const char* get;
};
constexpr std::array thread_functions{
    ThreadFunctions{"openblas_set_num_threads", "openblas_get_num_threads"},
    ThreadFunctions{"MKL_Set_Num_Threads", "MKL_Get_Max_Threads"},
    ThreadFunctions{"bli_thread_set_num_threads", "bli_thread_get_num_threads"},
    ThreadFunctions{"flexiblas_set_num_threads", "flexiblas_get_num_threads"},
    ThreadFunctions{"nvpl_blas_set_num_threads", "nvpl_blas_get_max_threads"},
};

/// What Speedwell calls of CBLAS, and the scaling by which the size of integers is found.
constexpr std::array needed{"cblas_sgemm", "cblas_dgemm", "cblas_strsm", "cblas_dtrsm",
                            "cblas_ctrsm", "cblas_ztrsm", "cblas_dscal"};

/// A library that was loaded by its name.
class OtherBlas {
 public:
  // Symbols that it shares with OpenBLAS are to be its own: RTLD_DEEPBIND.
  explicit OtherBlas(const std::string& path)
      : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)) {
    if (handle_ == nullptr) {
      const char* const why = dlerror();
      refuse(fmt::format("cannot be loaded: {}", why != nullptr ? why : "unknown error"));
    }
    for (const char* const name : needed)
      if (find(name) == nullptr) refuse(fmt::format("has no {}", name));
    choose_layers();
    if (!has_short_integers()) refuse("has integers of 64 bits");
    for (const ThreadFunctions& one : thread_functions)
      if (find(one.set) != nullptr && find(one.get) != nullptr) {
        set_threads = function<SetThreads>(one.set);
        get_threads = function<GetThreads>(one.get);
      }
  }

  void* find(const char* name) const { return dlsym(handle_, name); }

  std::string description() const {
    if (const auto config = function<char*()>("openblas_get_config"); config != nullptr) {
      const std::string all = config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
      return fmt::format("{} ({})", all.substr(0, all.find(' ', all.find(' ') + 1)), path_);
    }
    if (const auto version = function<void(char*, int)>("MKL_Get_Version_String");
        version != nullptr) {
      std::array<char, 200> text{};
      version(text.data(), static_cast<int>(text.size()) - 1);
      const std::string_view all = text.data();
      return fmt::format("{} ({})", all.substr(0, all.find('-')), path_);
    }
    if (const auto version = function<const char*()>("bli_info_get_version_str");
        version != nullptr)
      return fmt::format("BLIS {} ({})", version(), path_);
    return path_;
  }

  SetThreads* set_threads = nullptr;
  GetThreads* get_threads = nullptr;

 private:
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format(
        "the BLAS '{}' {}; allowed: a library with CBLAS and integers of 32 bits", path_, why));
  }

  // oneMKL's single library (mkl_rt) takes these before its first call: integers of 32 bits, and
  // the OpenMP that Speedwell has, since two teams of threads would wait for each other's cores.
  void choose_layers() const {
    constexpr int lp64 = 0;
    constexpr int gnu = 3;
    if (const auto set = function<int(int)>("MKL_Set_Interface_Layer"); set != nullptr) set(lp64);
    if (const auto set = function<int(int)>("MKL_Set_Threading_Layer");
        set != nullptr && std::getenv("MKL_THREADING_LAYER") == nullptr)
      set(gnu);
  }

  // Scales two numbers. As 64 bits the count is negative, with which nothing is scaled.
  bool has_short_integers() const {
    using Scale = void(std::int64_t, double, double*, std::int64_t);
    std::array<double, 2> numbers{1, 1};
    function<Scale>("cblas_dscal")(-(std::int64_t{1} << 32) + 2, 2, numbers.data(), 1);
    return numbers[0] == 2 && numbers[1] == 2;
  }

  std::string path_;
  void* handle_;  // never closed: its threads go on
};

/// Null where Speedwell calls what it is linked to.
const OtherBlas* other() {
  static constinit MadeOnce<const OtherBlas*> found([]() -> const OtherBlas* {
    const std::string path = named_blas();
    return path.empty() ? nullptr : new OtherBlas(path);
  });
  return found.get();
}

// Newer OpenBLAS, such as 0.3.29, takes no more threads than OpenMP would have had when it was
// loaded, whatever it is told later.
void allow_threads(int threads) {
  int* const most = other() == nullptr ? &blas_omp_number_max
                                       : static_cast<int*>(other()->find("blas_omp_number_max"));
  if (most == nullptr) return;
  const std::atomic_ref<int> shared(*most);  // with a program's other threads
  if (shared < threads) shared = threads;
}

}  // namespace

std::string named_blas() {
  const char* const variable = std::getenv("SPEEDWELL_BLAS");
  const std::string named =
      variable != nullptr && *variable != '\0' ? variable : SPEEDWELL_OTHER_BLAS;
  return named == "openblas" ? "" : named;
}

bool is_other_blas() {
  return other() != nullptr;
}

std::string blas_description() {
  if (other() != nullptr) return other()->description();
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  const auto end = config.find(' ', config.find(' ') + 1);
  const int parallel = openblas_get_parallel();
  return fmt::format("{}, {} kernels, {} threads", config.substr(0, end), openblas_get_corename(),
                     parallel == 2   ? "OpenMP"
                     : parallel == 1 ? "own"
                                     : "no");
}

int blas_threads() {
  if (other() == nullptr) return openblas_get_num_threads();
  return other()->get_threads != nullptr ? static_cast<int>(other()->get_threads())
                                         : omp_get_max_threads();
}

// OpenBLAS takes memory for the threads here, under locks of its own.
void set_blas_threads(int threads) {
  const auto no_forks = hold_forks();
  allow_threads(threads);
  if (other() == nullptr)
    openblas_set_num_threads(threads);
  else if (other()->set_threads != nullptr)
    other()->set_threads(threads);
}

void* blas_function(const char* name) {
  return other() != nullptr ? other()->find(name) : nullptr;
}

}  // namespace speedwell
