// SPDX-License-Identifier: BSD-3-Clause
// The condition numbers of users' systems (docs/numerics.md, section 2.4).
#include <cmath>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "gallery.hpp"
#include "generate/gallery.hpp"
#include "lapack.hpp"

namespace speedwell::test::gallery_systems_tests {
namespace {

Square filled(GalleryKind kind, std::int64_t n) {
  Square a(n);
  GallerySystem(kind, n, 1).fill({a.data.data(), n, n, n});
  return a;
}

double condition(GalleryKind kind, std::int64_t n) {
  const Square a = filled(kind, n);
  return infinity_norm(a) * infinity_norm(dgetri(dgesv(a, Plain(n, 1))));
}

}  // namespace

TEST_CASE("condition numbers of users' systems", "[gallery]") {
  if (Communicator::duplicate(comm_world()).rank() != 0) return;
  const std::int64_t n = 201;
  const std::vector<std::pair<GalleryKind, std::pair<double, double>>> bounds{
      {GalleryKind::gaussian, {1e3, 1e6}},        {GalleryKind::uniform, {1e3, 1e6}},
      {GalleryKind::kernel, {1e3, 1e5}},          {GalleryKind::boundary, {0.6 * n, 0.8 * n}},
      {GalleryKind::toeplitz, {1e2, 1e6}},        {GalleryKind::graded, {1e13, 2e14}},
      {GalleryKind::shifted, {0.2 * n, 0.4 * n}}, {GalleryKind::large, {0.2 * n, 0.4 * n}},
  };
  const auto real = [](const auto& one) { return field_of_kind(one.first) == Field::real; };
  REQUIRE(std::ssize(bounds) == std::ranges::count_if(gallery_names, real));
  for (const auto& [kind, range] : bounds) {
    INFO(name(kind));
    const double kappa = condition(kind, n);
    CAPTURE(kappa);
    CHECK((kappa >= range.first && kappa <= range.second));
  }
}

// Entries of magnitude 1 are rounded to eps, which moves singular values by less than n eps.
TEST_CASE("the singular values of graded are a geometric sequence", "[gallery]") {
  if (Communicator::duplicate(comm_world()).rank() != 0) return;
  for (const std::int64_t n : {2, 61, 201}) {
    const std::vector<double> values = singular_values(filled(GalleryKind::graded, n));
    const std::vector<double> wanted = geometric(n, 1e13);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(std::fabs(values[i] - wanted[i]) <= static_cast<double>(n) * eps);
    CHECK(values.back() == Approx(1e-13).epsilon(0.02));
  }
}
}  // namespace speedwell::test::gallery_systems_tests
