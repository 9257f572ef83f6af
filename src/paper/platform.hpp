// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The hosts and links of a simulated machine, as SimGrid has them.
#pragma once

#include <vector>

#include "paper/world.hpp"

namespace simgrid::s4u {
class Engine;
}

namespace speedwell::paper {

/// Where the devices' workers are. SMPI takes actors on a rank's host that the rank has started for
/// ranks when it splits a communicator by nodes.
inline constexpr const char* host_of_workers = "workers";

/// SimGrid's hosts for each rank.
struct Places {
  std::vector<simgrid::s4u::Host*> hosts;  ///< at the ports to the network
  std::vector<simgrid::s4u::Host*> links;  ///< at the links of a node
};

/// Sets SimGrid's options: those numbers of messages that the machine's file has, and no others.
void configure(simgrid::s4u::Engine& engine, const Scenario& scenario);

/// Makes the hosts and links of as many of the first nodes as the ranks need. Each rank has a port
/// to the network and, with several devices in a node, a link to a switch in its node.
Places make_platform(simgrid::s4u::Engine& engine, const Scenario& scenario);

}  // namespace speedwell::paper
