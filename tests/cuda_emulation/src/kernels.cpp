// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Kernels: blocks one after another, the threads of a block as fibers. The order of both varies,
/// of threads anew after each barrier. A thread that never waits costs no fiber of its own.
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <numeric>
#include <utility>

#include "emulation.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
// NOLINTBEGIN(bugprone-reserved-identifier)
#define __sanitizer_start_switch_fiber(save, bottom, size)
#define __sanitizer_finish_switch_fiber(save, bottom, size)
// NOLINTEND(bugprone-reserved-identifier)
#endif

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

namespace lupine::emulation {
namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 256 << 10;
constexpr int warp = 32;

/// A stack on which one thread of a block after another runs, until a thread has to wait in the
/// middle of the kernel. The host's own stack is a Fiber too.
struct Fiber {
  context::fiber rest;  // where it goes on; empty while it runs
  const void* bottom = nullptr;
  std::size_t size = 0;
};

enum class Stage { ready, at_barrier, at_shuffle, left };

struct Thread {
  Stage stage = Stage::ready;
  Fiber* fiber = nullptr;  // of one that has started
  unsigned mask = 0;       // of its shuffle
  int from = 0;            // the lane whose value it wants there
  std::uint64_t brought = 0;
  std::uint64_t result = 0;
};

class Block {
 public:
  void run(const std::function<void()>& kernel, dim3 shape);
  void barrier();
  std::uint64_t shuffle(unsigned mask, std::uint64_t bits, int from);
  int lane() const { return current_ % warp; }

 private:
  void work(Fiber& self);
  Fiber* make_fiber();
  void switch_to(Fiber& next);
  void arrive(context::fiber&& from);
  Fiber& next_fiber();
  void set_current(int thread);
  void make_ready(const int* begin, const int* end);
  bool release_barrier();
  void release_shuffle(int waiting);

  const std::function<void()>* kernel_ = nullptr;
  dim3 shape_;
  int current_ = 0;
  int shuffling_ = 0;  // threads that wait there
  std::vector<Thread> threads_;
  std::vector<int> all_;    // every thread's number
  std::vector<int> ready_;  // the last one is next
  std::vector<Fiber*> idle_;
  Fiber host_;
  Fiber* running_ = &host_;
  Fiber* left_ = nullptr;  // the fiber that the running one was entered from
};

// Not destroyed: after a failed kernel there are threads in the middle of their stacks.
Block& block() {
  static auto* const made = new Block;  // NOLINT(*-non-const-global-variables)
  return *made;
}

Fiber* Block::make_fiber() {
  auto* const fiber = new Fiber;
  context::protected_fixedsize_stack stacks(stack_bytes);
  const context::stack_context stack = stacks.allocate();
  fiber->bottom = static_cast<char*>(stack.sp) - stack.size;
  fiber->size = stack.size;
  const context::preallocated place(stack.sp, stack.size, stack);
  fiber->rest =
      context::fiber(std::allocator_arg, place, stacks, [this, fiber](context::fiber&& from) {
        arrive(std::move(from));
        work(*fiber);
        return context::fiber();
      });
  return fiber;
}

/// From one thread straight to the next: the way through the host's stack would be two switches.
void Block::switch_to(Fiber& next) {
  [[maybe_unused]] void* save = nullptr;
  left_ = std::exchange(running_, &next);
  __sanitizer_start_switch_fiber(&save, next.bottom, next.size);
  context::fiber from = std::move(next.rest).resume();
  __sanitizer_finish_switch_fiber(save, &left_->bottom, &left_->size);
  left_->rest = std::move(from);
}

void Block::arrive(context::fiber&& from) {
  __sanitizer_finish_switch_fiber(nullptr, &left_->bottom, &left_->size);
  left_->rest = std::move(from);
}

/// The fiber of the next ready thread; the host's where none is ready.
Fiber& Block::next_fiber() {
  if (ready_.empty()) return host_;
  set_current(ready_.back());
  ready_.pop_back();
  if (Fiber* const started = threads_[current_].fiber) return *started;
  if (idle_.empty()) return *make_fiber();
  Fiber* const idle = idle_.back();
  idle_.pop_back();
  return *idle;
}

void Block::work(Fiber& self) {
  while (true) {
    threads_[current_].fiber = &self;
    (*kernel_)();
    Thread& done = threads_[current_];
    done.stage = Stage::left;
    done.fiber = nullptr;
    // Others of the warp may wait for the one that has just left.
    const int first = current_ - lane();
    for (int t = shuffling_ > 0 ? first : first + warp;
         t < first + warp && t < static_cast<int>(threads_.size()); ++t) {
      if (threads_[t].stage == Stage::at_shuffle) release_shuffle(t);
    }
    idle_.push_back(&self);
    Fiber& next = next_fiber();
    if (&next != &self) switch_to(next);
  }
}

void Block::set_current(int thread) {
  const auto id = static_cast<unsigned>(thread);
  current_ = thread;
  threadIdx = {id % shape_.x, id / shape_.x % shape_.y, id / shape_.x / shape_.y};
}

void Block::make_ready(const int* begin, const int* end) {
  const auto first = ready_.insert(ready_.end(), begin, end);
  std::shuffle(first, ready_.end(), state().random);
  for (auto thread = first; thread != ready_.end(); ++thread)
    threads_[*thread].stage = Stage::ready;
}

void Block::run(const std::function<void()>& kernel, dim3 shape) {
  kernel_ = &kernel;
  shape_ = shape;
  shuffling_ = 0;
  threads_.assign(shape.x * shape.y * shape.z, {});
  all_.resize(threads_.size());
  std::iota(all_.begin(), all_.end(), 0);
  make_ready(all_.data(), all_.data() + all_.size());
  do switch_to(next_fiber());
  while (release_barrier());
}

bool Block::release_barrier() {
  int counts[4] = {};
  for (const Thread& thread : threads_) ++counts[static_cast<int>(thread.stage)];
  const int waiting = counts[static_cast<int>(Stage::at_barrier)];
  const int shuffling = counts[static_cast<int>(Stage::at_shuffle)];
  const int gone = counts[static_cast<int>(Stage::left)];
  if (waiting + shuffling == 0) return false;
  if (shuffling + gone > 0) {
    fail_for_good(cudaErrorLaunchFailure,
                  "of the threads of a block, " + std::to_string(waiting) +
                      " wait at __syncthreads, " + std::to_string(shuffling) +
                      " at a warp's operation, and " + std::to_string(gone) + " have returned");
    return false;
  }
  make_ready(all_.data(), all_.data() + all_.size());
  return true;
}

void Block::barrier() {
  threads_[current_].stage = Stage::at_barrier;
  switch_to(next_fiber());
}

/// Lets all threads that shuffle with this one go on, if all have come that have not returned.
void Block::release_shuffle(int waiting) {
  const int first = waiting - waiting % warp;
  const int end = std::min(first + warp, static_cast<int>(threads_.size()));
  const unsigned mask = threads_[waiting].mask;
  int here[warp];
  int count = 0;
  unsigned lanes = 0;
  for (int t = first; t < end; ++t) {
    const Thread& thread = threads_[t];
    if ((mask >> (t - first) & 1) == 0 || thread.stage == Stage::left) continue;
    if (thread.stage != Stage::at_shuffle || thread.mask != mask) return;
    here[count++] = t;
    lanes |= 1u << (t - first);
  }
  for (int k = 0; k < count; ++k) {
    Thread& thread = threads_[here[k]];
    const bool brought = thread.from >= 0 && thread.from < warp && (lanes >> thread.from & 1) != 0;
    thread.result = brought ? threads_[first + thread.from].brought : ~std::uint64_t{0};
  }
  shuffling_ -= count;
  make_ready(here, here + count);
}

std::uint64_t Block::shuffle(unsigned mask, std::uint64_t bits, int from) {
  const int thread = current_;
  if ((mask >> lane() & 1) == 0) {
    fail_for_good(cudaErrorLaunchFailure, "a thread is not in the mask of its own shuffle");
    return 0;
  }
  Thread& own = threads_[thread];
  own = {Stage::at_shuffle, own.fiber, mask, from, bits, 0};
  ++shuffling_;
  release_shuffle(thread);
  Fiber& next = next_fiber();
  if (&next != running_) switch_to(next);
  return own.result;
}

dim3 block_at(std::uint64_t index, dim3 grid) {
  const std::uint64_t plane = std::uint64_t{grid.x} * grid.y;
  return {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index % plane / grid.x),
          static_cast<unsigned>(index / plane)};
}

void run_kernel(dim3 grid, dim3 shape, const std::function<void()>& kernel) {
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t order = draw(3);  // forward, backward, or shuffled
  // A step that has no factor in common with the number visits every block.
  std::uint64_t step = 1;
  if (order == 2 && blocks > 1) {
    do step = 1 + draw(blocks - 1);
    while (std::gcd(step, blocks) != 1);
  }
  gridDim = grid;
  blockDim = shape;
  std::uint64_t at = order == 0 ? 0 : order == 1 ? blocks - 1 : draw(blocks);
  for (std::uint64_t done = 0; done < blocks && state().sticky == cudaSuccess; ++done) {
    const dim3 index = block_at(at, grid);
    blockIdx = {index.x, index.y, index.z};
    block().run(kernel, shape);
    at = (at + (order == 1 ? blocks - 1 : step)) % blocks;
  }
}

}  // namespace

void barrier() {
  block().barrier();
}

std::uint64_t shuffle(unsigned mask, std::uint64_t bits, int from) {
  return block().shuffle(mask, bits, from);
}

int lane() {
  return block().lane();
}

cudaError_t launch(const cudaLaunchConfig_t& config, void (*kernel)(),
                   std::function<void()> thread) {
  return call("cudaLaunchKernelEx", [&] {
    state().kernels.insert(kernel);
    const dim3 grid = config.gridDim;
    const dim3 shape = config.blockDim;
    int device = 0;
    if (const auto error = current_device(device)) return error;
    if (!known(config.stream) || config.stream->device != device) {
      return cudaErrorInvalidResourceHandle;
    }
    if (config.stream->multiprocessors > 0 && state().settings.green_contexts == "fail")
      return cudaErrorInvalidResourceHandle;
    const bool none =
        grid.x == 0 || grid.y == 0 || grid.z == 0 || shape.x == 0 || shape.y == 0 || shape.z == 0;
    const bool large = grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || shape.x > 1024 ||
                       shape.y > 1024 || shape.z > 64 || shape.x * shape.y * shape.z > 1024;
    if (none || large) return cudaErrorInvalidConfiguration;
    if (config.dynamicSmemBytes != 0) return cudaErrorNotSupported;
    enqueue(config.stream,
            {.run = [grid, shape, run = std::move(thread)] { run_kernel(grid, shape, run); },
             .launch = {"", grid, shape}});
    return cudaSuccess;
  });
}

}  // namespace lupine::emulation
