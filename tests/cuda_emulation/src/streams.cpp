// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Streams, events and the scheduler, which is adversarial: it respects the order in a stream and
/// the events that a stream waits for, and nothing else.
#include <green_contexts.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <utility>

#include "emulation.hpp"

namespace speedwell::emulation {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

std::vector<OfferedAlgorithm> offered_algorithms(const std::string& list) {
  std::vector<OfferedAlgorithm> all;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    OfferedAlgorithm one;
    std::istringstream in(word);
    one.refused = in.peek() == 'x' && in.get();
    one.in_place = in.peek() == 'i' && in.get();
    if (in.peek() == 'g' && in.get()) {
      in >> one.blocks;
      in.get();
    }
    in >> one.milliseconds;
    if (in.get() == ':') in >> one.most_rows;
    all.push_back(one);
  }
  return all;
}

Settings read_settings() {
  Settings settings{};
  settings.devices = std::stoi(environment("SPEEDWELL_EMULATED_GPUS", "1"));
  settings.driver =
      std::stoi(environment("SPEEDWELL_EMULATED_DRIVER", std::to_string(CUDART_VERSION).c_str()));
  settings.multiprocessors = std::stoi(environment("SPEEDWELL_EMULATED_MULTIPROCESSORS", "4"));
  settings.memory = std::stoull(environment("SPEEDWELL_EMULATED_MEMORY", "1073741824"));
  settings.seed = std::stoull(environment("SPEEDWELL_EMULATION_SEED", "1"));
  const std::string order = environment("SPEEDWELL_EMULATION_ORDER", "any");
  settings.order = order == "high-first"  ? Order::high_first
                   : order == "low-first" ? Order::low_first
                                          : Order::any;
  const std::string failure = environment("SPEEDWELL_EMULATED_FAILURE", "");
  if (const auto colon = failure.find(':'); colon != std::string::npos) {
    settings.failing_function = failure.substr(0, colon);
    int error = cudaErrorLaunchFailure;
    settings.failing_times = 1;
    std::sscanf(failure.c_str() + colon, ":%ld:%d:%ld", &settings.failing_call, &error,
                &settings.failing_times);
    settings.failure = static_cast<cudaError_t>(error);
  }
  settings.algorithms = offered_algorithms(environment("SPEEDWELL_EMULATED_ALGORITHMS", "0,0"));
  const std::string nccl = environment("SPEEDWELL_EMULATED_NCCL", "");
  const auto colon = nccl.find(':');
  settings.nccl = nccl.substr(0, colon);
  if (colon != std::string::npos) settings.nccl_detail = nccl.substr(colon + 1);
  settings.green_contexts = environment("SPEEDWELL_EMULATED_GREEN_CONTEXTS", "");
  const std::string cublas = environment("SPEEDWELL_EMULATED_CUBLAS", "");
  if (cublas.starts_with("lacks:")) settings.cublas_lacks = cublas.substr(cublas.find(':') + 1);
  return settings;
}

void change_mood(State& s) {
  s.mood.pace = static_cast<Mood::Pace>(draw(3));
  s.mood.by_rank = draw(2) == 0;
  s.mood.salt = s.random();
  s.mood.calls_left = 1 + draw(40);
}

/// What would not have been done yet at a call that waits for nothing is left open.
void advance(State& s) {
  if (s.settings.order != Order::any) return;
  if (s.mood.calls_left-- == 0) change_mood(s);
  std::uint64_t tasks = 0;
  if (s.mood.pace == Mood::Pace::eager) tasks = ~std::uint64_t{0};
  if (s.mood.pace == Mood::Pace::varying) tasks = draw(4);
  while (tasks-- > 0 && run_one(nullptr)) {
  }
}

CUstream_st* choose(State& s, const std::vector<CUstream_st*>& ready, const CUstream_st* wanted) {
  if (s.mood.pace == Mood::Pace::lazy) {
    for (CUstream_st* stream : ready) {
      if (stream == wanted) return stream;
    }
  }
  if (!s.mood.by_rank) return ready[draw(ready.size())];
  const auto rank = [&](const CUstream_st* stream) {
    return (stream->number ^ s.mood.salt) * 0x9e3779b97f4a7c15u;
  };
  return *std::max_element(ready.begin(), ready.end(),
                           [&](auto* a, auto* b) { return rank(a) < rank(b); });
}

bool can_run(const Task& task) {
  return (!task.awaits || task.awaits->done) && (!task.ready || task.ready());
}

/// The smaller, the sooner. @pre there is an order
int turn(const State& s, const CUstream_st& stream) {
  return s.settings.order == Order::high_first ? stream.priority : -stream.priority;
}

int last_turn(const State& s) {
  return s.settings.order == Order::high_first ? 0 : -greatest_priority;
}

/// The stream whose first task brings `stream` on: its own, or one that it waits for. null: another
/// process has to bring something first.
CUstream_st* runnable(CUstream_st* stream) {
  for (;;) {
    const Task& first = stream->tasks.front();
    if (can_run(first)) return stream;
    if (!first.awaits || first.awaits->done) return nullptr;
    stream = first.awaits->stream;
  }
}

/// Whether a message is next in the stream, besides events that have come.
bool message_is_next(const CUstream_st& stream) {
  for (const Task& task : stream.tasks)
    if (!can_run(task) || task.message || task.run) return task.message && can_run(task);
  return false;
}

/// Of the streams whose turn is `last` or earlier, one of the earliest that can run, or one that it
/// waits for. Those of the last turn of all come when the others have no tasks left, not when these
/// wait for another process.
CUstream_st* choose_in_order(State& s, int last) {
  // Messages take no turns: another process may wait for them before it brings what is awaited
  // here.
  for (const auto& stream : s.streams)
    if (message_is_next(*stream)) return stream.get();
  std::map<int, std::vector<CUstream_st*>> turns;
  for (const auto& stream : s.streams)
    if (!stream->tasks.empty() && turn(s, *stream) <= last)
      turns[turn(s, *stream)].push_back(stream.get());
  for (const auto& [which, streams] : turns) {
    if (which == last_turn(s) && turns.size() > 1) return nullptr;
    for (CUstream_st* stream : streams)
      if (can_run(stream->tasks.front())) return stream;
    for (CUstream_st* stream : streams)
      if (CUstream_st* const found = runnable(stream)) return found;
  }
  return nullptr;
}

CUstream_st* choose_any(State& s, const CUstream_st* wanted) {
  std::vector<CUstream_st*> ready;
  for (auto& stream : s.streams)
    if (!stream->tasks.empty() && can_run(stream->tasks.front())) ready.push_back(stream.get());
  return ready.empty() ? nullptr : choose(s, ready, wanted);
}

bool run_first_of(CUstream_st* stream) {
  if (stream == nullptr) return false;
  const Task task = std::move(stream->tasks.front());
  stream->tasks.pop_front();
  if (task.run) task.run();
  return true;
}

/// A host that asks again and again, and queues nothing, waits; one that looks by the way what is
/// done sets nothing going.
void look(State& s, const CUstream_st& stream) {
  constexpr long patience = 16;
  if (s.settings.order == Order::any || ++s.queries <= patience) return;
  run_first_of(choose_in_order(s, turn(s, stream)));
}

bool known(const CUevent_st* event) {
  return state().events.contains(const_cast<CUevent_st*>(event));
}

}  // namespace

State& state() {
  // Never destroyed: what others destroy at the end of the program may still come here.
  static State* const made = [] {  // NOLINT(*-non-const-global-variables)
    auto* s = new State;
    s->settings = read_settings();
    s->random.seed(s->settings.seed);
    return s;
  }();
  return *made;
}

std::uint64_t draw(std::uint64_t count) {
  return state().random() % count;
}

std::function<void()>& before_restart() {
  static std::function<void()> work;
  return work;
}

void restart() {
  if (before_restart()) before_restart()();
  State& s = state();
  const std::lock_guard lock(s.mutex);
  complete(nullptr);
  s.settings = read_settings();
  s.random.seed(s.settings.seed);
  s.mood = {};
  s.calls.clear();
  s.most_pinned = s.pinned;
  s.transfers = 0;
  s.last = s.sticky = cudaSuccess;
}

long calls_of(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}

std::size_t kernels_started() {
  const std::lock_guard lock(state().mutex);
  return state().kernels.size();
}

cudaError_t begin(const char* function) {
  State& s = state();
  s.last_call = std::chrono::steady_clock::now();
  const long after = ++s.calls[function] - s.settings.failing_call;
  if (s.settings.failing_function == function && after >= 0 && after < s.settings.failing_times) {
    // That there is no more memory is the one failure after which one may go on.
    if (s.settings.failure == cudaErrorMemoryAllocation) return s.settings.failure;
    fail_for_good(s.settings.failure, "");
  }
  advance(s);
  return s.sticky;
}

void note_if_messages_wait(const char* what) {
  const auto is_message = [](const Task& task) { return task.message; };
  for (const auto& stream : state().streams) {
    if (!std::ranges::any_of(stream->tasks, is_message)) continue;
    ++state().calls["made beside messages"];
    if (std::getenv("SPEEDWELL_EMULATION_NOTES") != nullptr)
      std::fprintf(stderr, "CUDA emulation: %s beside messages\n", what);
    return;
  }
}

cudaError_t finish(cudaError_t error) {
  State& s = state();
  if (error == cudaSuccess) error = s.sticky;
  if (error != cudaSuccess && error != cudaErrorNotReady) s.last = error;
  return error;
}

void fail_for_good(cudaError_t error, const std::string& why) {
  State& s = state();
  if (!why.empty()) std::fprintf(stderr, "CUDA emulation: %s\n", why.c_str());
  s.sticky = s.last = error;
  for (auto& stream : s.streams) stream->tasks.clear();
}

bool known(const CUstream_st* stream) {
  const auto& streams = state().streams;
  return std::any_of(streams.begin(), streams.end(),
                     [&](const auto& one) { return one.get() == stream; });
}

void enqueue(CUstream_st* stream, Task task) {
  state().queries = 0;
  if (stream->capture)
    stream->capture->nodes.push_back({std::move(task.launch)});
  else
    stream->tasks.push_back(std::move(task));
}

bool run_one(const CUstream_st* wanted) {
  State& s = state();
  if (s.settings.order == Order::any) return run_first_of(choose_any(s, wanted));
  return run_first_of(choose_in_order(s, wanted == nullptr ? last_turn(s) : turn(s, *wanted)));
}

// With high-first, updates wait until the host needs them.
bool run_beside() {
  State& s = state();
  if (s.settings.order != Order::high_first) return run_one(nullptr);
  return run_first_of(choose_in_order(s, last_turn(s) - 1));
}

void complete(const CUstream_st* stream) {
  const auto busy = [&] {
    for (const auto& one : state().streams) {
      if ((stream == nullptr || one.get() == stream) && !one->tasks.empty()) return true;
    }
    return false;
  };
  while (busy()) {
    // Nothing can run: another process has to bring something first.
    if (!run_one(stream)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

std::size_t live_objects() {
  const State& s = state();
  return s.allocations.size() + s.streams.size() + s.events.size() + s.handles +
         green::live_contexts();
}

}  // namespace speedwell::emulation

namespace speedwell::green {

unsigned multiprocessors() {
  return static_cast<unsigned>(emulation::state().settings.multiprocessors);
}
unsigned unit() {
  return emulation::state().settings.green_contexts == "none" ? 0 : 2;
}
void making_context() {
  ++emulation::state().calls["cuGreenCtxCreate"];
  emulation::note_if_messages_wait("cuGreenCtxCreate");
}
// What computes on a stream in a part can be counted.
void limit(cudaStream_t stream, int multiprocessors) {
  stream->multiprocessors = multiprocessors;
}

}  // namespace speedwell::green

using namespace speedwell::emulation;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return call("cudaStreamCreateWithPriority", [&] {
    if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    int device = 0;
    if (const auto error = current_device(device)) return error;
    State& s = state();
    const int held = std::clamp(priority, greatest_priority, 0);
    s.streams.push_back(
        std::make_unique<CUstream_st>(CUstream_st{device, ++s.streams_made, held, {}}));
    *stream = s.streams.back().get();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return release("cudaStreamDestroy", [&] {
    if (!known(stream)) return cudaErrorInvalidResourceHandle;
    complete(stream);
    std::erase_if(state().streams, [&](const auto& one) { return one.get() == stream; });
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&] {
    if (!known(stream)) return cudaErrorInvalidResourceHandle;
    complete(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&] {
    if (!known(stream)) return cudaErrorInvalidResourceHandle;
    if (!stream->tasks.empty()) look(state(), *stream);
    return stream->tasks.empty() ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return call("cudaStreamWaitEvent", [&] {
    if (!known(stream) || !known(event)) return cudaErrorInvalidResourceHandle;
    if (flags != 0) return cudaErrorInvalidValue;
    if (event->record) {
      enqueue(stream, {{}, {}, event->record});
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&] {
    if (event == nullptr || flags > (cudaEventBlockingSync | cudaEventDisableTiming)) {
      return cudaErrorInvalidValue;
    }
    *event = new CUevent_st{(flags & cudaEventDisableTiming) == 0, {}};
    state().events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return release("cudaEventDestroy", [&] {
    if (state().events.erase(event) == 0) return cudaErrorInvalidResourceHandle;
    delete event;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", [&] {
    if (!known(stream) || !known(event)) return cudaErrorInvalidResourceHandle;
    event->record = std::make_shared<Record>(Record{stream});
    enqueue(stream, {[record = event->record] {
                       record->done = true;
                       record->time = std::chrono::steady_clock::now();
                     },
                     {},
                     {}});
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&] {
    if (!known(event)) return cudaErrorInvalidResourceHandle;
    if (event->record && !event->record->done) look(state(), *event->record->stream);
    return !event->record || event->record->done ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&] {
    if (!known(event)) return cudaErrorInvalidResourceHandle;
    const auto record = event->record;
    while (record && !record->done && state().sticky == cudaSuccess) {
      const CUstream_st* wanted = state().settings.order == Order::any ? nullptr : record->stream;
      if (!run_one(wanted)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&] {
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    for (const CUevent_st* event : {start, end}) {
      if (!known(event) || !event->timed || !event->record) return cudaErrorInvalidResourceHandle;
      if (!event->record->done) return cudaErrorNotReady;
    }
    const std::chrono::duration<float, std::milli> elapsed =
        end->record->time - start->record->time;
    *milliseconds = elapsed.count();
    return cudaSuccess;
  });
}
