// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Kernels: blocks one after another, or some side by side that take turns; the threads of a block
/// as fibers. The order of both varies, of threads anew after each barrier. A thread that never
/// waits costs no fiber of its own, and at a shuffle it waits for the lane whose value it wants
/// alone: a shuffle orders no memory.
#include <algorithm>
#include <array>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>
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

namespace speedwell::emulation {
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

enum class Stage { ready, running, at_barrier, at_shuffle, left };

struct Thread {
  Stage stage = Stage::ready;
  Fiber* fiber = nullptr;        // of one that has started
  std::uint64_t brought_to = 0;  // what it waited for at a shuffle
};

constexpr std::uint64_t nothing_brought = ~std::uint64_t{0};

constexpr unsigned bit(int lane) {
  return 1u << lane;
}

/// A shuffle, to which each lane comes when it likes.
struct Round {
  unsigned came = 0;
  std::array<std::uint64_t, warp> brought;
  std::array<unsigned, warp> waiting = {};  // for that lane's value
};

/// The shuffles of the same lanes, from the first one to which not all of them have come.
struct Chain {
  unsigned mask = 0;
  std::vector<Round> rounds = {};
  std::array<std::uint32_t, warp> next = {};  // the round to which that lane comes next

  void drop_if_done(unsigned left) {
    if (rounds.empty() || (mask & ~(rounds.back().came | left)) != 0) return;
    rounds.clear();
    next.fill(0);
  }
};

struct Warp {
  unsigned left = 0;  // lanes that have returned, or were never there
  std::vector<Chain> chains = {};
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
  void leave();
  void wake(unsigned lanes, std::uint64_t brought);

  const std::function<void()>* kernel_ = nullptr;
  dim3 shape_;
  bool hurries_ = true;
  int current_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<int> all_;    // every thread's number
  std::vector<int> ready_;  // the last one is next; some stand there twice
  std::vector<Fiber*> idle_;
  Fiber host_;
  Fiber* running_ = &host_;
  Fiber* left_ = nullptr;  // the fiber that the running one was entered from
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
int blocks_at_once = 1;
thread_local std::size_t own_runner = 0;
thread_local std::vector<float4> dynamic_memory;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// One for each block at once. Not destroyed: after a failed kernel there are threads in the middle
// of their stacks.
Block& block() {
  static auto* const made = new std::vector<Block*>;  // NOLINT(*-non-const-global-variables)
  while (made->size() <= own_runner) made->push_back(new Block);
  return *(*made)[own_runner];
}

/// Blocks that run side by side: the host's threads that run them take turns.
class Turns {
 public:
  explicit Turns(std::size_t runners) : live_(runners), next_(draw(runners)) {
    std::iota(live_.begin(), live_.end(), 0);
  }

  void begin(std::size_t runner) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == runner; });
  }
  /// Gives another runner its turn, and returns at the next one of this.
  void pass(std::size_t runner) {
    const auto place = std::tuple(threadIdx, blockIdx);
    {
      const std::lock_guard lock(mutex_);
      next_ = live_[draw(live_.size())];
      if (next_ == runner) return;
    }
    changed_.notify_all();
    begin(runner);
    std::tie(threadIdx, blockIdx) = place;
  }
  void end(std::size_t runner) {
    {
      const std::lock_guard lock(mutex_);
      std::erase(live_, runner);
      if (!live_.empty()) next_ = live_[draw(live_.size())];
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> live_;
  std::size_t next_;
};

// Those of the kernel that runs, if its blocks run side by side.
Turns* turns = nullptr;  // NOLINT(*-non-const-global-variables)

Fiber* Block::make_fiber() {
  // Where stacks begin differs within a page: they would share a few sets of the caches.
  static std::size_t made = 0;  // NOLINT(*-non-const-global-variables)
  const std::size_t offset = made++ * 320 % 4096;
  auto* const fiber = new Fiber;
  context::protected_fixedsize_stack stacks(stack_bytes);
  const context::stack_context stack = stacks.allocate();
  fiber->bottom = static_cast<char*>(stack.sp) - stack.size;
  fiber->size = stack.size;
  const context::preallocated place(static_cast<char*>(stack.sp) - offset, stack.size - offset,
                                    stack);
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
  while (!ready_.empty() && threads_[ready_.back()].stage != Stage::ready) ready_.pop_back();
  if (ready_.empty()) return host_;
  set_current(ready_.back());
  ready_.pop_back();
  threads_[current_].stage = Stage::running;
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
    leave();
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
  for (std::uint64_t left = ready_.end() - first; left > 0; --left) {
    // Below `left`, by 32 random bits: std::shuffle divides.
    const auto place = static_cast<std::ptrdiff_t>((state().random() >> 32) * left >> 32);
    std::swap(first[static_cast<std::ptrdiff_t>(left) - 1], first[place]);
    threads_[first[static_cast<std::ptrdiff_t>(left) - 1]].stage = Stage::ready;
  }
}

void Block::run(const std::function<void()>& kernel, dim3 shape) {
  kernel_ = &kernel;
  shape_ = shape;
  hurries_ = draw(3) != 0;
  threads_.assign(shape.x * shape.y * shape.z, {});
  all_.resize(threads_.size());
  std::iota(all_.begin(), all_.end(), 0);
  warps_.resize((threads_.size() + warp - 1) / warp);
  for (Warp& w : warps_) w.left = 0;
  if (const std::size_t rest = threads_.size() % warp; rest > 0) warps_.back().left = ~0u << rest;
  make_ready(all_.data(), all_.data() + all_.size());
  do switch_to(next_fiber());
  while (release_barrier());
}

bool Block::release_barrier() {
  int counts[5] = {};
  for (const Thread& thread : threads_) ++counts[static_cast<int>(thread.stage)];
  const int waiting = counts[static_cast<int>(Stage::at_barrier)];
  const int shuffling = counts[static_cast<int>(Stage::at_shuffle)];
  const int gone = counts[static_cast<int>(Stage::left)];
  if (waiting + shuffling == 0) return false;
  const bool missed = std::any_of(warps_.begin(), warps_.end(), [](const Warp& w) {
    return std::any_of(w.chains.begin(), w.chains.end(),
                       [](const Chain& chain) { return !chain.rounds.empty(); });
  });
  if (shuffling + gone > 0 || missed) {
    warps_.clear();
    fail_for_good(cudaErrorLaunchFailure,
                  "of the threads of a block, " + std::to_string(waiting) +
                      " wait at __syncthreads, " + std::to_string(shuffling) +
                      " at a warp's operation, and " + std::to_string(gone) + " have returned" +
                      (missed ? "; not all have come to a warp's operation" : ""));
    return false;
  }
  pause();
  make_ready(all_.data(), all_.data() + all_.size());
  return true;
}

void Block::barrier() {
  threads_[current_].stage = Stage::at_barrier;
  switch_to(next_fiber());
}

/// These lanes of the current warp get what they waited for.
void Block::wake(unsigned lanes, std::uint64_t brought) {
  const int first = current_ - lane();
  int woken[warp];
  int count = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    woken[count] = first + std::countr_zero(lanes);
    threads_[woken[count++]].brought_to = brought;
  }
  make_ready(woken, woken + count);
}

/// Nobody waits longer for the current thread, which has returned.
void Block::leave() {
  threads_[current_] = {Stage::left, nullptr, 0};
  Warp& own = warps_[current_ / warp];
  own.left |= bit(lane());
  for (Chain& chain : own.chains) {
    for (std::size_t k = chain.next[lane()]; k < chain.rounds.size(); ++k)
      wake(std::exchange(chain.rounds[k].waiting[lane()], 0), nothing_brought);
    chain.drop_if_done(own.left);
  }
}

std::uint64_t Block::shuffle(unsigned mask, std::uint64_t bits, int from) {
  const unsigned me = bit(lane());
  if ((mask & me) == 0) {
    fail_for_good(cudaErrorLaunchFailure, "a thread is not in the mask of its own shuffle");
    return 0;
  }
  Warp& own = warps_[current_ / warp];
  auto chain = std::find_if(own.chains.begin(), own.chains.end(),
                            [mask](const Chain& c) { return c.mask == mask; });
  if (chain == own.chains.end()) chain = own.chains.insert(chain, {.mask = mask});
  const std::uint32_t k = chain->next[lane()]++;
  if (k == chain->rounds.size()) chain->rounds.emplace_back();
  Round& round = chain->rounds[k];
  round.came |= me;
  round.brought[lane()] = bits;
  wake(round.waiting[lane()], bits);

  const bool comes = from >= 0 && from < warp && (mask & ~own.left & bit(from)) != 0;
  const bool came = from >= 0 && from < warp && (round.came & bit(from)) != 0;
  const std::uint64_t result = came ? round.brought[from] : nothing_brought;
  if (came || !comes) {
    chain->drop_if_done(own.left);
    return result;
  }
  round.waiting[from] |= me;
  Thread& self = threads_[current_];
  self.stage = Stage::at_shuffle;
  // Whom it waits for goes next: otherwise lanes would wait at each of a sum's shuffles. Not in all
  // blocks, since an order that is always so would hide races behind a warp's shuffle.
  if (hurries_) ready_.push_back(current_ - lane() + from);
  switch_to(next_fiber());
  return self.brought_to;
}

dim3 block_at(std::uint64_t index, dim3 grid) {
  const std::uint64_t plane = std::uint64_t{grid.x} * grid.y;
  return {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index % plane / grid.x),
          static_cast<unsigned>(index / plane)};
}

void side_by_side(std::size_t runners, const std::function<void()>& run_blocks) {
  Turns taken(runners);
  turns = &taken;
  std::vector<std::jthread> threads;
  for (std::size_t runner = 0; runner < runners; ++runner)
    threads.emplace_back([&, runner] {
      own_runner = runner;
      taken.begin(runner);
      run_blocks();
      taken.end(runner);
    });
  threads.clear();
  turns = nullptr;
}

struct Shape {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_bytes = 0;
  bool cooperative = false;  // all blocks side by side
};

// Memory that nothing was written to is all ones: NaN, as a number.
void clear_dynamic_memory(std::size_t bytes) {
  dynamic_memory.resize((bytes + sizeof(float4) - 1) / sizeof(float4));
  if (bytes > 0) std::memset(dynamic_memory.data(), 0xff, bytes);
}

void run_kernel(const Shape& s, const std::function<void()>& kernel) {
  const dim3 grid = s.grid;
  const dim3 shape = s.block;
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
  std::uint64_t done = 0;
  const auto run_blocks = [&] {
    while (done++ < blocks && state().sticky == cudaSuccess) {
      const dim3 index = block_at(at, grid);
      blockIdx = {index.x, index.y, index.z};
      at = (at + (order == 1 ? blocks - 1 : step)) % blocks;
      clear_dynamic_memory(s.dynamic_bytes);
      block().run(kernel, shape);
    }
  };
  const auto runners = s.cooperative ? blocks : std::min<std::size_t>(blocks_at_once, blocks);
  runners > 1 ? side_by_side(runners, run_blocks) : run_blocks();
}

}  // namespace

void barrier() {
  block().barrier();
}

float4* dynamic_shared() {
  return dynamic_memory.data();
}

void pause() {
  if (turns != nullptr) turns->pass(own_runner);
}

void set_blocks_at_once(int count) {
  blocks_at_once = count;
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
    const auto allowed = state().dynamic_shared.find(reinterpret_cast<const void*>(kernel));
    const std::size_t most = allowed != state().dynamic_shared.end() ? allowed->second : 48 << 10;
    if (config.dynamicSmemBytes > most) return cudaErrorInvalidValue;
    Shape whole{grid, shape, config.dynamicSmemBytes};
    for (unsigned i = 0; i < config.numAttrs; ++i)
      if (config.attrs[i].id == cudaLaunchAttributeCooperative)
        whole.cooperative = config.attrs[i].val.cooperative != 0;
    const std::uint64_t count = std::uint64_t{grid.x} * grid.y * grid.z;
    if (whole.cooperative && count > static_cast<std::uint64_t>(state().settings.multiprocessors))
      return cudaErrorCooperativeLaunchTooLarge;
    enqueue(config.stream, {.run = [whole, run = std::move(thread)] { run_kernel(whole, run); },
                            .launch = {"", grid, shape}});
    return cudaSuccess;
  });
}

}  // namespace speedwell::emulation

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  using namespace speedwell::emulation;
  return call("cudaFuncSetAttribute", [&] {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        static_cast<std::size_t>(value) > most_dynamic_shared)
      return cudaErrorInvalidValue;
    state().dynamic_shared[function] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}
