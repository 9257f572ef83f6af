// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/footprint.hpp"

#include <algorithm>
#include <cmath>

#include "core/scalar.hpp"
#include "device/device_traits.hpp"
#include "device/emulation_workspace.hpp"
#include "grid/distribution.hpp"
#include "matrix/panel_ring.hpp"

namespace lupine {

namespace {

// The refinement's vectors beside those of GMRES.
constexpr double other_vectors = 18;
// Panels may take 0.36 n^2 of the 0.4 n^2 bytes beside the FP32 factors, and 40 MB of the 150 MB.
constexpr double panel_share = 0.36;
constexpr double panel_floor = 40e6;
constexpr double reader_bytes = 60e6;  // what a source may have read ahead of a user's matrix

}  // namespace

int gmres_restart(std::int64_t n, const GridShape& shape) {
  const std::int64_t sides = std::max(shape.nprow, shape.npcol);
  return static_cast<int>(std::clamp<std::int64_t>(n / (40 * sides), 30, 200));
}

std::int64_t gmres_vectors(std::int64_t n, const GridShape& shape) {
  const std::int64_t sides = std::max(shape.nprow, shape.npcol);
  return std::clamp<std::int64_t>(n / (10 * sides * gmres_restart(n, shape)), 1, 16);
}

// Number of vectors as long as the local rows or columns.
double Footprint::vectors() const {
  return gmres_restart(n, shape) + other_vectors;
}

double Footprint::local_rows() const {
  return static_cast<double>(Distribution(n, nb, shape.nprow, 0).local_size());
}

double Footprint::local_columns() const {
  return static_cast<double>(Distribution(n, nb, shape.npcol, 0).local_size());
}

double Footprint::chunk_columns() const {
  return chunk > 0 ? std::min(local_columns(), static_cast<double>(chunk)) : local_columns();
}

// PanelRing::chunks_for() for any n, in double.
double Footprint::chunks() const {
  const double most = PanelRing::most_chunks;
  return std::clamp(std::ceil(local_columns() / std::max(chunk_columns(), 1.0)), 1.0, most);
}

double Footprint::element_bytes() const {
  return static_cast<double>(bytes_of(storage_for(precision)));
}

double Footprint::ring_bytes(std::int64_t width) const {
  const auto w = static_cast<double>(std::min(width, n));
  const double padding = 63;
  const auto update = static_cast<double>(bytes_of(precision));
  return (lookahead + 1) * ((local_rows() + padding) * w * update + w * w * element_bytes()) +
         (chunks() * chunk_columns() + w) * (w + padding) * update;
}

double Footprint::exchange_bytes(std::int64_t width) const {
  if (pivoting == Pivoting::none || shape.nprow == 1) return 0;
  const auto w = static_cast<double>(std::min(width, n));
  const double panel = (local_rows() + 2 * w) * w;
  return (2 * w * (chunks() * chunk_columns() + w) + panel) * element_bytes();
}

double Footprint::scratch_bytes(std::int64_t width) const {
  if (precision == storage_for(precision)) return 0;  // the update and the solves make no copies
  const double m = local_rows();
  const double k = local_columns();
  const DeviceTraits& traits = traits_of(device);
  const bool splits = bytes_of(precision) == 2;  // solves for FP16x3 are those for FP32
  const double vectors = std::min(std::max(m, k), static_cast<double>(traits.solve_vectors));
  const double columns = static_cast<double>(std::min(width, n) + 3 * traits.solve_columns);
  const double solves = splits ? vectors * columns * 2 : 0;
  if (native || traits.emulated_columns == 0) return solves;
  const double emulated = m + std::min(k, static_cast<double>(traits.emulated_columns));
  return solves + emulated * static_cast<double>(std::min(width, n) * planes_of(precision)) * 4;
}

// By nb, not by the width of a step: narrower panels would save little of it.
double Footprint::emulation_bytes() const {
  if (precision != Precision::fp64 || fp64 == Fp64Products::native) return 0;
  const double columns = std::min(chunk_columns(), static_cast<double>(fp64_update_columns));
  return emulation_workspace(local_rows(), columns, static_cast<double>(std::min(nb, n)));
}

double Footprint::panel_bytes(std::int64_t width) const {
  return ring_bytes(width) + scratch_bytes(width) + exchange_bytes(width);
}

std::int64_t Footprint::panel_width() const {
  const auto elements = static_cast<double>(n) * static_cast<double>(n) / shape.size();
  const double share = panel_share * elements * element_bytes() / 4;
  std::int64_t width = std::min(nb, n);
  const auto fits = [&](std::int64_t w) {
    return panel_bytes(w) <= share + panel_floor || rank_bytes(w) <= free;
  };
  while (width > 1 && !fits(width)) width = (width + 1) / 2;
  return width;
}

double Footprint::rank_bytes() const {
  return rank_bytes(panel_width());
}

double Footprint::rank_bytes(std::int64_t width) const {
  const double m = local_rows();
  const double k = local_columns();
  const double factors = (element_bytes() + held) * (m + 31) * k;  // 31: padding of a column
  const double vector_bytes = vectors() * 8 * (m + k) + 8 * static_cast<double>(n);
  return factors + panel_bytes(width) + vector_bytes + emulation_bytes() +
         traits_of(device).fixed_bytes;
}

double Footprint::host_bytes() const {
  const double m = static_cast<double>(n) / shape.nprow + static_cast<double>(nb);
  const double k = static_cast<double>(n) / shape.npcol + static_cast<double>(nb);
  const std::int64_t width = panel_width();
  // Without pivoting, a diagonal block also travels alone, before its panel: one more carrier.
  const auto w = static_cast<double>(width);
  const double stages = staged && shape.size() > 1
                            ? ring_bytes(width) + exchange_bytes(width) + w * w * element_bytes()
                            : 0;
  const double loading = held > 0 ? piece_bytes + reader_bytes + 8 * (m + k) : 0;
  return traits_of(device).host_bytes + stages + loading + vectors() * 8 * (m + k) +
         8 * static_cast<double>(n);
}

}  // namespace lupine
