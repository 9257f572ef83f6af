// SPDX-License-Identifier: BSD-3-Clause
// Panels with pivoting, and moves of rows.
#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "core/numbers.hpp"
#include "cpu/panel_loops.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/parts.hpp"
#include "device/cpu/triangular.hpp"

namespace speedwell {

void CpuDevice::find_pivot(Queue&, ConstAnyMatrix column, PivotCandidate* found) {
  *found = with_numbers(column, [](const auto& c) {
    using T = std::remove_cv_t<std::remove_reference_t<decltype(c(0, 0))>>;
    const Largest most = panel_loops<T>().find_largest(c.data, c.rows);
    return PivotCandidate{most.magnitude, most.row};
  });
}

void CpuDevice::offer_pivot(Queue&, ConstAnyMatrix rows, const PanelRows& of,
                            const PivotCandidate* found, std::byte* offer) {
  const std::int64_t row = found->row;
  auto* header = reinterpret_cast<PivotCandidate*>(offer);
  *header = *found;
  if (row < 0) return;
  header->row =
      row < of.shared ? of.begin + row : of.rows->global(of.below + (row - of.shared)).value;
  with_numbers(rows, [&](const auto& r) {
    using T = std::remove_cv_t<std::remove_reference_t<decltype(r(0, 0))>>;
    T* values = reinterpret_cast<T*>(header + 1);
    for (std::int64_t j = 0; j < r.columns; ++j) values[j] = r(row, j);
  });
}

namespace {

const PivotCandidate& candidate_of(const PivotOffers& offers, int rank, std::int64_t bytes) {
  return *reinterpret_cast<const PivotCandidate*>(offers.data + rank * bytes);
}

// The rank whose offer is the pivot.
int best_offer(const PivotOffers& offers, std::int64_t bytes) {
  int best = 0;
  for (int rank = 1; rank < offers.count; ++rank) {
    const PivotCandidate& a = candidate_of(offers, best, bytes);
    const PivotCandidate& b = candidate_of(offers, rank, bytes);
    if (b.magnitude > a.magnitude || (b.magnitude == a.magnitude && b.row < a.row)) best = rank;
  }
  return best;
}

}  // namespace

void CpuDevice::take_pivot(Queue&, AnyMatrix rows, std::int64_t first, const PivotCandidate* found,
                           const PivotOffers& offers, std::int64_t* pivot, FactorStatus* status) {
  const bool alone = offers.data == nullptr;
  const std::int64_t bytes = PivotOffers::bytes(rows);
  const int best = alone ? 0 : best_offer(offers, bytes);
  const PivotCandidate& taken = alone ? *found : candidate_of(offers, best, bytes);
  *pivot = alone ? first + taken.row : taken.row;
  const bool bad = taken.magnitude == 0 || !std::isfinite(taken.magnitude);
  if (bad && status->bad_pivot < 0) status->bad_pivot = first;
  if (taken.row < 0) return;
  const bool shared = *pivot - first < offers.shared;
  const std::int64_t place = alone || best == offers.mine ? found->row
                             : shared                     ? *pivot - first
                                                          : -1;
  with_numbers(rows, [&](const auto& r) {
    using T = std::remove_reference_t<decltype(r(0, 0))>;
    const T* values = reinterpret_cast<const T*>(&taken + 1);
    for (std::int64_t j = 0; j < r.columns; ++j) {
      const T value = alone ? r(place, j) : values[j];
      if (place >= 0) r(place, j) = r(0, j);
      r(0, j) = value;
    }
  });
}

// Each thread eliminates in a part of the rows. Where candidates are equal, the first part's is
// the pivot.
void CpuDevice::eliminate(Queue&, ConstAnyMatrix pivot_row, AnyMatrix rows, PivotCandidate* next) {
  if (rows.columns > 1) *next = {0, rows.rows > 0 ? 0 : -1};  // stays where the work is left out
  work_on_numbers(rows, [&](const auto& r) {
    using T = std::remove_reference_t<decltype(r(0, 0))>;
    // A part has some ten microseconds of work, since the threads wait for each other after it.
    constexpr std::int64_t least = 16384;
    const int parts =
        static_cast<int>(std::clamp<std::int64_t>(rows.rows * rows.columns / least, 1, threads_));
    const std::int64_t part = round_up(ceil_div(rows.rows, parts), 64);
    std::vector<Largest> found(static_cast<std::size_t>(parts));
#pragma omp parallel for schedule(static, 1) if (parts > 1)
    for (int t = 0; t < parts; ++t) {
      const std::int64_t begin = std::min(t * part, rows.rows);
      const std::int64_t m = std::min(part, rows.rows - begin);
      Largest& mine = found[static_cast<std::size_t>(t)];
      mine = panel_loops<T>().eliminate(pivot_row.as<T>(), r.block(begin, 0, m, rows.columns));
      mine.row += mine.row < 0 ? 0 : begin;
    }
    if (rows.columns < 2) return;
    const auto most = std::max_element(
        found.begin(), found.end(),
        [](const Largest& a, const Largest& b) { return a.magnitude < b.magnitude; });
    *next = {most->magnitude, most->row};
  });
}

void CpuDevice::solve_unit_lower(Queue&, ConstAnyMatrix l, AnyMatrix b) {
  work_on_numbers(b, [&](const auto& right) {
    using T = std::remove_reference_t<decltype(right(0, 0))>;
    speedwell::solve_left_lower(l.as<T>(), right);
  });
}

void CpuDevice::subtract(Queue&, ConstAnyMatrix a, ConstAnyMatrix b, AnyMatrix c) {
  work_on_numbers(c, [&](const auto& sum) {
    using T = std::remove_reference_t<decltype(sum(0, 0))>;
    multiply_in_parts<T>(T{-1}, a.as<T>(), b.as<T>(), sum);
  });
}

void CpuDevice::permute_rows(Queue&, const std::int64_t* from, const std::int64_t* to,
                             std::int64_t count, AnyMatrix any) {
  move(any, [&]<class T>(const MatrixView<T>& a) {
#pragma omp parallel if (worth_threads(count * a.columns))
    {
      std::vector<T> moved(static_cast<std::size_t>(count));
#pragma omp for
      for (std::int64_t j = 0; j < a.columns; ++j) {
        T* column = a.column(j);
        for (std::int64_t i = 0; i < count; ++i)
          moved[static_cast<std::size_t>(i)] = column[from[i]];
        for (std::int64_t i = 0; i < count; ++i) column[to[i]] = moved[static_cast<std::size_t>(i)];
      }
    }
  });
}

void CpuDevice::gather_rows(Queue&, const std::int64_t* rows, ConstAnyMatrix from, AnyMatrix to) {
  move(to, [&]<class T>(const MatrixView<T>& target) {
    const MatrixView<const T> source = elements_of<T>(from);
#pragma omp parallel for if (worth_threads(target.rows * target.columns))
    for (std::int64_t j = 0; j < target.columns; ++j)
      for (std::int64_t i = 0; i < target.rows; ++i) target(i, j) = source(rows[i], j);
  });
}

void CpuDevice::scatter_rows(Queue&, const std::int64_t* rows, ConstAnyMatrix from, AnyMatrix to) {
  move(to, [&]<class T>(const MatrixView<T>& target) {
    const MatrixView<const T> source = elements_of<T>(from);
#pragma omp parallel for if (worth_threads(source.rows * source.columns))
    for (std::int64_t j = 0; j < source.columns; ++j)
      for (std::int64_t i = 0; i < source.rows; ++i) target(rows[i], j) = source(i, j);
  });
}

}  // namespace speedwell
