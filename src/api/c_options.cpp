// SPDX-License-Identifier: BSD-3-Clause
#include "api/c_options.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace speedwell {

namespace {

static_assert(static_cast<int>(Precision::automatic) == SPEEDWELL_AUTO &&
              static_cast<int>(Precision::fp16) == SPEEDWELL_FP16 &&
              static_cast<int>(Precision::bf16) == SPEEDWELL_BF16 &&
              static_cast<int>(Precision::fp32) == SPEEDWELL_FP32 &&
              static_cast<int>(Precision::fp64) == SPEEDWELL_FP64 &&
              static_cast<int>(Precision::fp16x3) == SPEEDWELL_FP16X3);
static_assert(static_cast<int>(RefineMethod::automatic) == SPEEDWELL_AUTO &&
              static_cast<int>(RefineMethod::ir) == SPEEDWELL_IR &&
              static_cast<int>(RefineMethod::gmres) == SPEEDWELL_GMRES);
static_assert(static_cast<int>(Accuracy::automatic) == SPEEDWELL_AUTO &&
              static_cast<int>(Accuracy::backward) == SPEEDWELL_BACKWARD &&
              static_cast<int>(Accuracy::forward) == SPEEDWELL_FORWARD &&
              static_cast<int>(Accuracy::certified) == SPEEDWELL_CERTIFIED);
static_assert(static_cast<int>(DeviceKind::automatic) == SPEEDWELL_AUTO &&
              static_cast<int>(DeviceKind::cpu) == SPEEDWELL_CPU &&
              static_cast<int>(DeviceKind::cuda) == SPEEDWELL_CUDA);
static_assert(static_cast<int>(CommMethod::automatic) == SPEEDWELL_AUTO &&
              static_cast<int>(CommMethod::nccl) == SPEEDWELL_NCCL &&
              static_cast<int>(CommMethod::mpi) == SPEEDWELL_MPI &&
              static_cast<int>(CommMethod::staged) == SPEEDWELL_STAGED);
static_assert(static_cast<int>(Fp64Products::native) == SPEEDWELL_FP64_NATIVE &&
              static_cast<int>(Fp64Products::emulated) == SPEEDWELL_FP64_EMULATED);
static_assert(static_cast<int>(BroadcastMethod::ibcast) == SPEEDWELL_IBCAST &&
              static_cast<int>(BroadcastMethod::ring) == SPEEDWELL_RING &&
              static_cast<int>(BroadcastMethod::ring_modified) == SPEEDWELL_RING_MODIFIED &&
              static_cast<int>(BroadcastMethod::two_ring) == SPEEDWELL_TWO_RING &&
              static_cast<int>(BroadcastMethod::two_ring_modified) == SPEEDWELL_TWO_RING_MODIFIED &&
              static_cast<int>(BroadcastMethod::spread_roll) == SPEEDWELL_LONG &&
              static_cast<int>(BroadcastMethod::spread_roll_modified) == SPEEDWELL_LONG_MODIFIED);
static_assert(static_cast<int>(GridOrder::row) == 0 && static_cast<int>(GridOrder::column) == 1);

/// Calls visit(option, its field in C) for every option but `gpus`. An option without a field does
/// not compile.
template <class Options, class Fields, class Visit>
void for_each_pair(Options& options, Fields& c, const Visit& visit) {
  auto& [run, precision, first, refine, tolerance, max_iterations, equilibrate, condition, strict,
         accuracy, probe_seed] = options;
  auto& [nb, order, nprow, npcol, lookahead, broadcast, chunk, device, comm, gpus, reserve, fp64,
         threads, stall_timeout] = run;
  visit(nb, c.nb);
  visit(order, c.column_major);
  visit(nprow, c.nprow);
  visit(npcol, c.npcol);
  visit(lookahead, c.lookahead);
  visit(broadcast, c.broadcast);
  visit(chunk, c.chunk);
  visit(device, c.device);
  visit(comm, c.comm);
  visit(reserve, c.reserve);
  visit(fp64, c.fp64);
  visit(threads, c.threads);
  visit(stall_timeout, c.stall_timeout);
  visit(precision, c.precision);
  visit(first, c.first);
  visit(refine, c.refine);
  visit(tolerance, c.tolerance);
  visit(max_iterations, c.max_iterations);
  visit(equilibrate, c.equilibrate);
  visit(condition, c.condition);
  visit(strict, c.strict);
  visit(accuracy, c.accuracy);
  visit(probe_seed, c.probe_seed);
}

/// The given options, with defaults for the fields that a program compiled with an older
/// speedwell.h does not have.
/// @pre 0 < given.size <= sizeof given
speedwell_options completed(const speedwell_options& given) {
  speedwell_options o;
  speedwell_options_init(&o, sizeof o);
  std::memcpy(&o, &given, given.size);
  return o;
}

}  // namespace

bool is_known(const speedwell_options& given) {
  const speedwell_options o = completed(given);
  const SolveOptions defaults;
  bool all = o.gpu_count >= 0;
  for_each_pair(defaults, o, [&]<class Option>(const Option&, const auto& field) {
    if constexpr (std::is_same_v<Option, bool>)
      all = all && (field == 0 || field == 1);
    else if constexpr (std::is_enum_v<Option>)
      all = all && name(static_cast<Option>(field)) != "?";
  });
  return all;
}

SolveOptions options_from(const speedwell_options* given) {
  SolveOptions options;
  if (given == nullptr) return options;
  const speedwell_options o = completed(*given);
  for_each_pair(options, o, []<class Option>(Option& option, const auto& field) {
    option = static_cast<Option>(field);
  });
  options.run.gpus.assign(o.gpus, o.gpus + (o.gpus == nullptr ? 0 : o.gpu_count));
  return options;
}

}  // namespace speedwell

using namespace speedwell;

void speedwell_options_init(speedwell_options* options, size_t size) {
  if (options == nullptr) return;
  const SolveOptions defaults;
  speedwell_options o{};
  o.size = size;
  for_each_pair(defaults, o, []<class Field>(const auto& option, Field& field) {
    field = static_cast<Field>(option);
  });
  std::memcpy(options, &o, std::min(size, sizeof o));
}
