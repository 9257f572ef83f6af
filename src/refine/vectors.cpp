// SPDX-License-Identifier: BSD-3-Clause
#include "refine/vectors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "device/checksum_keys.hpp"

namespace speedwell {

Vector MultiVector::only() const {
  SPEEDWELL_EXPECTS(count_ == 1);
  return vector(0);
}

MultiVector MultiVector::part(std::int64_t begin, std::int64_t count) const {
  SPEEDWELL_EXPECTS(begin + count <= count_);
  MultiVector v(size_, count);
  std::copy_n(entries_.begin() + begin * size_, size_ * count, v.entries_.begin());
  return v;
}

void MultiVector::keep(std::span<const std::int64_t> kept) {
  for (std::size_t to = 0; to < kept.size(); ++to)
    if (const auto k = static_cast<std::int64_t>(to); kept[to] != k)
      std::copy_n((*this)[kept[to]].begin(), size_, (*this)[k].begin());
  truncate(std::ssize(kept));
}

void MultiVector::truncate(std::int64_t count) {
  SPEEDWELL_EXPECTS(count <= count_);
  count_ = count;
  entries_.resize(static_cast<std::size_t>(size_ * count_));
}

VectorChecksums checksums_of(const MultiVector& v) {
  VectorChecksums sums;
  for (std::int64_t k = 0; k < v.count(); ++k) sums.emplace_back(checksum_of(v[k]));
  return sums;
}

MultiVector together(std::int64_t size, std::span<const Vector> vectors) {
  MultiVector all(size, std::ssize(vectors));
  for (std::int64_t k = 0; k < all.count(); ++k)
    std::copy_n(vectors[static_cast<std::size_t>(k)].begin(), size, all[k].begin());
  return all;
}

const Communicator& VectorSpace::others() const {
  return layout_ == Layout::columns ? grid_->row() : grid_->column();
}

const Communicator& VectorSpace::alike() const {
  return layout_ == Layout::columns ? grid_->column() : grid_->row();
}

Vector VectorSpace::dots(std::span<const Vector> basis, const Vector& v) const {
  Vector sums;
  for (const Vector& u : basis) {
    double sum = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += u[i] * v[i];
    sums.push_back(sum);
  }
  others().all_reduce(sums, Reduction::sum);
  // Each process row (or column) has computed these sums, and their roundings may differ. Every
  // rank takes the sums of the same rank, so that all ranks decide in the same way.
  others().broadcast(std::span<double>(sums), 0);
  alike().broadcast(std::span<double>(sums), 0);
  return sums;
}

double VectorSpace::norm(const Vector& v) const {
  return std::sqrt(dots(std::span(&v, 1), v)[0]);
}

// A maximum does not depend on the order of its operands, so all ranks get the same one.
Vector VectorSpace::largest(const MultiVector& v) const {
  Vector most;
  for (std::int64_t k = 0; k < v.count(); ++k) most.push_back(speedwell::largest(v[k]));
  grid_->all().all_reduce(most, Reduction::max);
  return most;
}

// One rank of others() has the entry, and the other ranks add zeros. So the sum is exact.
Vector VectorSpace::gather(const Distribution& mine, std::span<const double> v) const {
  Vector whole(static_cast<std::size_t>(mine.size()), 0.0);
  for (const Run& run : mine.runs())
    std::copy_n(v.begin() + run.local.value, run.length, whole.begin() + run.global.value);
  others().all_reduce(whole, Reduction::sum);
  // The ranks of alike() computed their copies of v separately, so these may differ in rounding.
  // Every rank takes the copy of the first.
  alike().broadcast(std::span<double>(whole), 0);
  return whole;
}

// Magnitudes compare as their bits do, as integers; Inf and NaN are above every finite number. Four
// of them are compared side by side, since one comparison would have to wait for the one before.
double largest(std::span<const double> v) {
  constexpr std::uint64_t infinity = 0x7ff0000000000000;
  std::array<std::uint64_t, 4> most{};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(v[i]) & ~(std::uint64_t{1} << 63);
    most[lane] = std::max(most[lane], bits);
  };
  std::size_t i = 0;
  for (; i + 4 <= v.size(); i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) add(i + lane, lane);
  for (; i < v.size(); ++i) add(i, 0);
  return std::bit_cast<double>(std::min(*std::ranges::max_element(most), infinity));
}

double power_above(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

Vector local_part(const Distribution& mine, std::span<const double> whole) {
  Vector part(static_cast<std::size_t>(mine.local_size()));
  for (const Run& run : mine.runs())
    std::copy_n(whole.begin() + run.global.value, run.length, part.begin() + run.local.value);
  return part;
}

}  // namespace speedwell
