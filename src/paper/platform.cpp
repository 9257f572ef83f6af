// SPDX-License-Identifier: BSD-3-Clause
#include "paper/platform.hpp"

#include <fmt/format.h>

#include <simgrid/version.h>
#include <functional>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <speedwell/error.hpp>

namespace speedwell::paper {

namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;

constexpr double speed = 1;  // flop/s: all times are given in seconds

std::vector<unsigned> numbers(const std::string& text) {
  std::vector<unsigned> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    all.push_back(static_cast<unsigned>(std::stoul(word)));
  return all;
}

std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ';');) all.push_back(word);
  return all;
}

// From SimGrid 4.0 on, an engine has a root, zones are made inside others, and clusters take hosts
// from their callbacks.
#if SIMGRID_VERSION >= 40000
s4u::NetZone* root_of(const s4u::Engine& engine) {
  return engine.get_netzone_root();
}
s4u::NetZone* add_star(s4u::NetZone* root, const std::string& name) {
  return root->add_netzone_star(name);
}
using MadeHost = s4u::Host*;
MadeHost made(s4u::Host* host) {
  return host;
}
#else
s4u::NetZone* root_of(const s4u::Engine&) {
  return s4u::create_full_zone("root");
}
s4u::NetZone* add_star(s4u::NetZone* root, const std::string& name) {
  return s4u::create_star_zone(name)->set_parent(root);
}
using MadeHost = std::pair<NetPoint*, NetPoint*>;
MadeHost made(s4u::Host* host) {
  return {host->get_netpoint(), nullptr};
}
#endif

// A switch between `count` hosts, each with a link for each direction.
std::vector<s4u::Host*> make_star(s4u::NetZone* zone, const std::string& name, int count,
                                  const LinkModel& link) {
  std::vector<s4u::Host*> hosts;
  for (int i = 0; i < count; ++i) {
    s4u::Host* host = zone->create_host(fmt::format("{}{}", name, i), speed)->seal();
    const s4u::Link* up = zone->create_link(fmt::format("{}{}-up", name, i), link.bandwidth)
                              ->set_latency(link.latency / 2)
                              ->seal();
    const s4u::Link* down = zone->create_link(fmt::format("{}{}-down", name, i), link.bandwidth)
                                ->set_latency(link.latency / 2)
                                ->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(up)}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(down)},
                    false);
    hosts.push_back(host);
  }
  zone->seal();
  return hosts;
}

// The hosts of a fat tree or dragonfly, in the order of their numbers.
std::vector<s4u::Host*> make_network(s4u::NetZone* root, const MachineModel& machine) {
  std::vector<s4u::Host*> hosts;
  const std::function<MadeHost(s4u::NetZone*, const std::vector<unsigned long>&, unsigned long)>
      make_host = [&hosts](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long) {
        hosts.push_back(zone->create_host(fmt::format("n{}", hosts.size()), speed)->seal());
        return made(hosts.back());
      };
  const s4u::ClusterCallbacks callbacks(make_host);
  const auto shape = parts(machine.shape);
  const auto policy = s4u::Link::SharingPolicy::SPLITDUPLEX;
  s4u::NetZone* zone = nullptr;
  if (machine.topology == Topology::fat_tree) {
    if (shape.size() != 4)
      throw UsageError(fmt::format(
          "shape '{}' is no fat tree's; allowed: LEVELS;DOWN,...;UP,...;LINKS,...", machine.shape));
    zone = s4u::create_fatTree_zone("network", root,
                                    {static_cast<unsigned>(std::stoul(shape[0])), numbers(shape[1]),
                                     numbers(shape[2]), numbers(shape[3])},
                                    callbacks, machine.port.bandwidth, machine.port.latency / 4,
                                    policy);
  } else {
    if (shape.size() != 4)
      throw UsageError(
          fmt::format("shape '{}' is no dragonfly's; allowed: "
                      "GROUPS,LINKS;CHASSIS,LINKS;ROUTERS,LINKS;NODES",
                      machine.shape));
    const auto pair = [&](std::size_t i) {
      const auto both = numbers(shape[i]);
      return std::pair{both.at(0), both.at(1)};
    };
    zone = s4u::create_dragonfly_zone(
        "network", root, {pair(0), pair(1), pair(2), numbers(shape[3]).at(0)}, callbacks,
        machine.port.bandwidth, machine.port.latency / 4, policy);
  }
  zone->seal();
  return hosts;
}

}  // namespace

// SimGrid's defaults are those of Gigabit Ethernet with TCP.
void configure(s4u::Engine& engine, const Scenario& scenario) {
  const MachineModel& machine = scenario.machine;
  const auto set = [&](const std::string& option) { engine.set_config(option); };
  for (const char* option :
       {"smpi/simulate-computation:no", "smpi/shared-malloc:local", "smpi/bw-factor:0:1.0",
        "smpi/lat-factor:0:1.0", "network/TCP-gamma:1e15", "network/crosstraffic:no",
        "network/model:SMPI", "smpi/bcast:binomial_tree", "smpi/allreduce:rdb",
        "smpi/allgather:rdb", "smpi/allgatherv:ompi_bruck", "smpi/reduce:binomial",
        "smpi/barrier:ompi_recursivedoubling", "smpi/grow-injected-times:no", "smpi/iprobe:0",
        "smpi/wtime:0"})
    set(option);
  for (const char* call : {"os", "ois", "or"})
    set(fmt::format("smpi/{}:0:{:.9e}:0", call, machine.message));
  set(fmt::format("smpi/test:{:.9e}", machine.test));
}

Places make_platform(s4u::Engine& engine, const Scenario& scenario) {
  const MachineModel& machine = scenario.machine;
  Places places;
  s4u::NetZone* root = root_of(engine);
  const int nodes = (scenario.ranks + machine.devices - 1) / machine.devices;
  const auto take = [](std::vector<s4u::Host*>& to, const std::vector<s4u::Host*>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  const bool one = nodes == 1;
  const bool star = machine.topology == Topology::star || machine.topology == Topology::single;
  if (one || machine.devices > 1)
    for (int node = 0; node < nodes; ++node)
      take(places.links,
           make_star(add_star(root, fmt::format("node{}", node)),
                     one ? "n" : fmt::format("node{}-", node), machine.devices, machine.link));
  if (one)
    places.hosts = places.links;
  else if (star)
    places.hosts = make_star(add_star(root, "network"), "n", nodes * machine.devices, machine.port);
  else
    places.hosts = make_network(root, machine);
  if (places.links.empty()) places.links = places.hosts;
  root->create_host(host_of_workers, speed)->seal();
  root->seal();
  if (static_cast<int>(places.hosts.size()) < scenario.ranks)
    throw UsageError(fmt::format("shape '{}' has {} ports, {} are needed", machine.shape,
                                 places.hosts.size(), scenario.ranks));
  return places;
}

}  // namespace speedwell::paper
