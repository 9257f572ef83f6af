// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/options.hpp>

#include <algorithm>
#include <cctype>
#include <span>

#include "core/matrix_traits.hpp"

namespace speedwell {

namespace {

template <class Enum>
struct Entry {
  Enum value;
  std::string_view name;
  std::vector<std::string_view> aliases{};
};

const std::vector<Entry<Benchmark>>& entries(Benchmark) {
  static const std::vector<Entry<Benchmark>> all{{Benchmark::mxp, "hpl-mxp", {"mxp"}},
                                                 {Benchmark::hpl, "hpl"}};
  return all;
}
const std::vector<Entry<Pivoting>>& entries(Pivoting) {
  static const std::vector<Entry<Pivoting>> all{{Pivoting::none, "none"},
                                                {Pivoting::partial, "partial"}};
  return all;
}
const std::vector<Entry<Precision>>& entries(Precision) {
  static const std::vector<Entry<Precision>> all{
      {Precision::automatic, "auto"},          {Precision::fp16, "fp16", {"2", "half"}},
      {Precision::bf16, "bf16", {"bfloat16"}}, {Precision::fp16x3, "fp16x3"},
      {Precision::fp32, "fp32", {"single"}},   {Precision::fp64, "fp64", {"double"}}};
  return all;
}
const std::vector<Entry<MatrixKind>>& entries(MatrixKind) {
  static const std::vector<Entry<MatrixKind>> all = [] {
    std::vector<Entry<MatrixKind>> rows;
    rows.reserve(all_matrices.size());
    for (const MatrixTraits& traits : all_matrices) rows.push_back({traits.kind, traits.name});
    return rows;
  }();
  return all;
}
const std::vector<Entry<GridOrder>>& entries(GridOrder) {
  static const std::vector<Entry<GridOrder>> all{{GridOrder::row, "row"},
                                                 {GridOrder::column, "column"}};
  return all;
}
const std::vector<Entry<RefineMethod>>& entries(RefineMethod) {
  static const std::vector<Entry<RefineMethod>> all{
      {RefineMethod::automatic, "auto"}, {RefineMethod::ir, "ir"}, {RefineMethod::gmres, "gmres"}};
  return all;
}
const std::vector<Entry<ConditionCheck>>& entries(ConditionCheck) {
  static const std::vector<Entry<ConditionCheck>> all{{ConditionCheck::off, "off", {"no", "0"}},
                                                      {ConditionCheck::on, "on", {"yes", "1"}},
                                                      {ConditionCheck::full, "full"}};
  return all;
}
const std::vector<Entry<Accuracy>>& entries(Accuracy) {
  static const std::vector<Entry<Accuracy>> all{{Accuracy::automatic, "auto"},
                                                {Accuracy::backward, "backward"},
                                                {Accuracy::forward, "forward"},
                                                {Accuracy::certified, "certified"}};
  return all;
}
const std::vector<Entry<BroadcastMethod>>& entries(BroadcastMethod) {
  static const std::vector<Entry<BroadcastMethod>> all{
      {BroadcastMethod::ibcast, "ibcast", {"mpi_ibcast"}},
      {BroadcastMethod::ring, "1ring", {"ring"}},
      {BroadcastMethod::ring_modified, "1ring-modified", {"1ringm", "ring-modified"}},
      {BroadcastMethod::two_ring, "2ring"},
      {BroadcastMethod::two_ring_modified, "2ring-modified", {"2ringm"}},
      {BroadcastMethod::spread_roll, "long", {"spread-roll"}},
      {BroadcastMethod::spread_roll_modified, "long-modified", {"longm", "spread-roll-modified"}}};
  return all;
}
const std::vector<Entry<DeviceKind>>& entries(DeviceKind) {
  static const std::vector<Entry<DeviceKind>> all{{DeviceKind::automatic, "auto"},
                                                  {DeviceKind::cpu, "cpu"},
                                                  {DeviceKind::cuda, "cuda", {"gpu"}}};
  return all;
}
const std::vector<Entry<CommMethod>>& entries(CommMethod) {
  static const std::vector<Entry<CommMethod>> all{{CommMethod::automatic, "auto"},
                                                  {CommMethod::nccl, "nccl"},
                                                  {CommMethod::mpi, "mpi"},
                                                  {CommMethod::staged, "staged"}};
  return all;
}
const std::vector<Entry<Fp64Products>>& entries(Fp64Products) {
  static const std::vector<Entry<Fp64Products>> all{{Fp64Products::native, "native"},
                                                    {Fp64Products::emulated, "emulated"}};
  return all;
}

template <class Enum>
std::string_view find_name(Enum value) {
  for (const auto& e : entries(value))
    if (e.value == value) return e.name;
  return "?";
}

}  // namespace

std::string_view name(Benchmark v) {
  return find_name(v);
}
std::string_view name(Pivoting v) {
  return find_name(v);
}
std::string_view name(Precision v) {
  return find_name(v);
}
std::string_view name(MatrixKind v) {
  return find_name(v);
}
std::string_view name(GridOrder v) {
  return find_name(v);
}
std::string_view name(RefineMethod v) {
  return find_name(v);
}
std::string_view name(ConditionCheck v) {
  return find_name(v);
}
std::string_view name(Accuracy v) {
  return find_name(v);
}
std::string_view name(BroadcastMethod v) {
  return find_name(v);
}
std::string_view name(DeviceKind v) {
  return find_name(v);
}
std::string_view name(CommMethod v) {
  return find_name(v);
}
std::string_view name(Fp64Products v) {
  return find_name(v);
}

template <class Enum>
std::optional<Enum> parse(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& e : entries(Enum{}))
    if (e.name == lower || std::find(e.aliases.begin(), e.aliases.end(), lower) != e.aliases.end())
      return e.value;
  return std::nullopt;
}

template <class Enum>
std::string allowed_names() {
  std::string list;
  for (const auto& e : entries(Enum{})) list.append(list.empty() ? "" : ", ").append(e.name);
  return list;
}

#define SPEEDWELL_NAMED(Enum)                                 \
  template std::optional<Enum> parse<Enum>(std::string_view); \
  template std::string allowed_names<Enum>();
SPEEDWELL_NAMED(Benchmark)
SPEEDWELL_NAMED(Pivoting)
SPEEDWELL_NAMED(Precision)
SPEEDWELL_NAMED(MatrixKind)
SPEEDWELL_NAMED(GridOrder)
SPEEDWELL_NAMED(RefineMethod)
SPEEDWELL_NAMED(ConditionCheck)
SPEEDWELL_NAMED(Accuracy)
SPEEDWELL_NAMED(BroadcastMethod)
SPEEDWELL_NAMED(DeviceKind)
SPEEDWELL_NAMED(CommMethod)
SPEEDWELL_NAMED(Fp64Products)
#undef SPEEDWELL_NAMED

}  // namespace speedwell
