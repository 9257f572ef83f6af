// SPDX-License-Identifier: BSD-3-Clause
#include "paper/world.hpp"

#include <smpi/smpi.h>

#include <xbt/log.h>
#include <algorithm>
#include <simgrid/s4u.hpp>
#include <utility>

#include <speedwell/error.hpp>

#include "core/numbers.hpp"
#include "core/random.hpp"
#include "paper/platform.hpp"

namespace speedwell::paper {

namespace {

namespace s4u = simgrid::s4u;

// Addresses of all devices: SimGrid does not copy messages from or to shared memory.
constexpr std::int64_t address_bytes = std::int64_t{1} << 40;
constexpr std::int64_t alignment = 256;

struct Addresses {
  char* begin;
};

char* addresses() {
  static const Addresses range{
      static_cast<char*>(SMPI_SHARED_MALLOC(static_cast<std::size_t>(address_bytes)))};
  return range.begin;
}

}  // namespace

void* Memory::allocate(std::int64_t bytes, double capacity) {
  if (used_ + static_cast<double>(bytes) > capacity) return nullptr;
  if (bytes <= largest_real) {
    auto piece = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
    void* const data = piece.get();
    real_.emplace(data, RealPiece{std::move(piece), bytes});
    used_ += static_cast<double>(bytes);
    return data;
  }
  // The first gap that is large enough.
  std::int64_t begin = 0;
  for (const auto& [at, size] : pieces_) {
    if (at - begin >= bytes) break;
    begin = at + round_up(size, alignment);
  }
  if (begin + bytes > address_bytes) return nullptr;
  pieces_.emplace(begin, bytes);
  used_ += static_cast<double>(bytes);
  return addresses() + begin;
}

void Memory::release(void* data) {
  if (const auto found = real_.find(data); found != real_.end()) {
    used_ -= static_cast<double>(found->second.bytes);
    real_.erase(found);
    return;
  }
  const auto found = pieces_.find(static_cast<char*>(data) - addresses());
  if (found == pieces_.end()) return;
  used_ -= static_cast<double>(found->second);
  pieces_.erase(found);
}

bool Memory::real(const void* data) {
  const auto* at = static_cast<const char*>(data);
  return at < addresses() || at >= addresses() + address_bytes;
}

// A semaphore, since suspending an actor also holds up the messages that it has sent. The waiting
// actor may destroy the signal as soon as it goes on, so this function uses copies.
void Signal::raise() {
  raised_ = true;
  const auto gate = gate_;
  for (int left = std::exchange(waiting_, 0); left > 0; --left) gate->release();
}

// No other actor runs between the test and the acquisition, so no raise() is missed.
void Signal::wait() {
  if (!raised_ && !gate_) gate_ = s4u::Semaphore::create(0);
  while (!raised_) {
    ++waiting_;
    const auto gate = gate_;
    gate->acquire();
  }
}

double simulated_time() {
  return s4u::Engine::get_clock();
}

void sleep_until(double time) {
  if (time > simulated_time()) s4u::this_actor::sleep_until(time);
}

void sleep_for(double seconds) {
  if (seconds > 0) s4u::this_actor::sleep_for(seconds);
}

double Rank::now() const {
  return simulated_time() + owed;
}

void Rank::pay() {
  sleep_for(std::exchange(owed, 0));
  if (timeline) timeline->forget(simulated_time());
}

void Rank::wait(const MomentPtr& moment) {
  pay();
  if (!moment->known) {
    Signal known;
    moment->on_known = [&known] { known.raise(); };
    known.wait();
  }
  sleep_until(moment->time);
  owe(device().synchronize);
}

namespace {
// SplitMix64 of the seed, a stream's number and a counter, in [0, 1).
double random_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const std::uint64_t z = seed * 0x9e3779b97f4a7c15 + (stream << 32) + counter * 0xbf58476d1ce4e5b9;
  return static_cast<double>(mixed_bits(z) >> 11) * 0x1p-53;
}
}  // namespace

double Rank::draw() {
  return random_number(scenario->seed, static_cast<std::uint64_t>(number), ++drawn);
}

std::int64_t Rank::draw_row(std::int64_t first) const {
  const auto rows = static_cast<double>(std::max(order - first, std::int64_t{1}));
  const auto stream = static_cast<std::uint64_t>(scenario->ranks);  // no rank's
  const double part = random_number(scenario->seed, stream, static_cast<std::uint64_t>(first));
  return first + static_cast<std::int64_t>(part * rows);
}

Rank& self() {
  return *s4u::Actor::self()->get_data<Rank>();
}

namespace {
s4u::Host* end_of(const Rank& from, const Rank& to) {
  return from.node() == to.node() ? from.link : from.host;
}
}  // namespace

void transfer(const Rank& from, const Rank& to, double bytes) {
  s4u::Comm::sendto(end_of(from, to), end_of(to, from), static_cast<std::uint64_t>(bytes));
}

LinkModel link_between(const Rank& from, const Rank& to) {
  const MachineModel& machine = from.scenario->machine;
  return from.node() == to.node() ? machine.link : machine.port;
}

void start_worker(Rank& rank, const std::function<void()>& work) {
  auto worker = s4u::Actor::init("worker", s4u::Host::by_name(host_of_workers));
  worker->set_data(&rank);
  worker->start(work);
}

void simulate(const Scenario& scenario, const std::function<void()>& work) {
  std::string name = "speedwell";
  std::vector<char*> words{name.data()};
  int count = 1;
  char** first = words.data();
  // Of a deadlock the exception tells, in one line.
  xbt_log_control_set("root.thresh:error ker_engine.app:file:/dev/null ker_engine.add:0");
  s4u::Engine engine(&count, first);
  s4u::Engine::on_deadlock_cb([] { throw Fault("simulated ranks wait for each other"); });
  smpi_init_options();
  configure(engine, scenario);
  const Places places = make_platform(engine, scenario);
  SMPI_init();
  SMPI_app_instance_register(name.c_str(), nullptr, scenario.ranks);
  std::vector<Rank> ranks(static_cast<std::size_t>(scenario.ranks));
  for (int r = 0; r < scenario.ranks; ++r) {
    Rank& rank = ranks[static_cast<std::size_t>(r)];
    rank.scenario = &scenario;
    rank.number = r;
    rank.host = places.hosts[static_cast<std::size_t>(r)];
    rank.link = places.links[static_cast<std::size_t>(r)];
    const DeviceModel& device = scenario.machine.device;
    rank.timeline = std::make_unique<Timeline>(
        Timeline::Limits{device.bandwidth, device.bandwidth_part, device.holds});
    auto actor = s4u::Actor::init(std::to_string(r), rank.host);
    actor->set_property("instance_id", name);
    actor->set_property("rank", std::to_string(r));
    actor->set_data(&rank);
    actor->start([&work, &rank] {
      work();
      for (const auto& end : rank.at_end) end();
    });
  }
  engine.run();
  SMPI_finalize();
}

}  // namespace speedwell::paper
