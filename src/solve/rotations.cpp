// SPDX-License-Identifier: BSD-3-Clause
#include "solve/rotations.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/expects.hpp"
#include "core/random.hpp"

namespace speedwell {

namespace {

constexpr int layers = 4;  // each entry is mixed with 15 others

void rotate_pair(double cosine, double sine, double& a, double& b) {
  const double first = cosine * a + sine * b;
  b = cosine * b - sine * a;
  a = first;
}

}  // namespace

// The bits depend on the place of the first entry, so process rows differ.
Rotations::Rotations(const Distribution& mine, Field field, std::uint64_t seed)
    : parts_(parts_of(field)) {
  const auto n = static_cast<std::size_t>(mine.local_size());
  if (n == 0) return;
  const auto place = static_cast<std::uint64_t>(mine.global(LocalIndex{0}).value);
  const std::uint64_t state = random_bits(seed, place);
  std::uint64_t drawn = 0;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int layer = 0; layer < layers; ++layer) {
    for (std::size_t i = n; i > 1; --i)
      std::swap(order[i - 1], order[random_bits(state, drawn++) % i]);
    for (std::size_t i = 0; i + 1 < n; i += 2) {
      const double angle = std::numbers::pi * symmetric_number(random_bits(state, drawn++));
      rotations_.push_back({order[i], order[i + 1], std::cos(angle), std::sin(angle)});
    }
  }
}

void Rotations::apply(Transpose transpose, MultiVector& v) const {
  const auto parts = static_cast<std::size_t>(parts_);
  for (std::int64_t k = 0; k < v.count(); ++k) {
    const auto column = v[k];
    const auto turn = [&](const Rotation& r, double sine) {
      for (std::size_t p = 0; p < parts; ++p)
        rotate_pair(r.cosine, sine, column[r.i * parts + p], column[r.j * parts + p]);
    };
    if (transpose == Transpose::yes)
      for (const Rotation& r : rotations_) turn(r, r.sine);
    else
      for (auto r = rotations_.rbegin(); r != rotations_.rend(); ++r) turn(*r, -r->sine);
  }
}

void rotate(Device& device, const Rotations& u, const Rotations& v, AnyMatrix elements) {
  SPEEDWELL_EXPECTS(elements.precision == Precision::fp64);
  const AnyMatrix a = elements.real();
  const auto queue = device.make_queue(Priority::normal);
  const auto column = [&](std::size_t j) {
    return a.as<double>().column(static_cast<std::int64_t>(j));
  };
  MultiVector one(a.rows, 1);
  MultiVector other(a.rows, 1);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    device.download(*queue, a.as<double>().column(j), one.all());
    u.apply(Transpose::yes, one);
    device.upload(*queue, one.all(), a.as<double>().column(j));
  }
  // (V^T A^T)^T: the columns are rotated as the entries of vectors are.
  for (const Rotations::Rotation& r : v.rotations_) {
    device.download(*queue, column(r.i), one.all());
    device.download(*queue, column(r.j), other.all());
    for (std::size_t i = 0; i < one.all().size(); ++i)
      rotate_pair(r.cosine, r.sine, one.all()[i], other.all()[i]);
    device.upload(*queue, one.all(), column(r.i));
    device.upload(*queue, other.all(), column(r.j));
  }
  queue->synchronize();
}

MultiVector RotatedSolver::solve(const MultiVector& r) {
  MultiVector of_u = r;
  u_.apply(Transpose::yes, of_u);
  MultiVector d = rotated_->solve(of_u);
  v_.apply(Transpose::no, d);
  return d;
}

MultiVector RotatedSolver::solve_transposed(const MultiVector& r) {
  MultiVector of_v = r;
  v_.apply(Transpose::yes, of_v);
  MultiVector d = rotated_->solve_transposed(of_v);
  u_.apply(Transpose::no, d);
  return d;
}

}  // namespace speedwell
