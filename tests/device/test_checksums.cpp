// SPDX-License-Identifier: BSD-3-Clause
// The checksums of a user's FP64 matrix: their values, and the changes of A that they see.
#include <functional>

#include "device/user_matrix.hpp"

namespace speedwell::test::user_matrix_tests {

TEST_CASE("checksums_of_columns: what changes in a column changes its sum alone", "[user]") {
  Bench b;
  for (const Shape& shape : shapes) {
    CAPTURE(shape.rows, shape.columns);
    Doubles a = wide_matrix(b, shape.rows, shape.columns);
    const auto sums = [&] {
      const WholeNumbers found(b, shape.columns + 1);
      b.device->checksums_of_columns(*b.queue, a.view(), found.data());
      return found.get();
    };
    const Plain plain = a.plain();
    const std::vector<std::uint64_t> expected = plain_checksums(plain);
    CHECK(sums() == expected);
    CHECK(a.unchanged());
    if (shape.rows == 0 || shape.columns == 0) continue;
    const std::int64_t row = shape.rows - 1;
    const std::int64_t column = shape.columns / 2;
    a.set([&](std::int64_t i, std::int64_t j) {
      return i == row && j == column ? std::nextafter(plain(i, j), 2.) : plain(i, j);
    });
    const std::vector<std::uint64_t> changed = sums();
    CHECK(changed.back() != expected.back());
    for (std::int64_t j = 0; j < shape.columns; ++j)
      CHECK((changed[static_cast<std::size_t>(j)] != expected[static_cast<std::size_t>(j)]) ==
            (j == column));
  }
}

// Changes that a sum of the bits alone does not see, or only by chance: of whole numbers, whose low
// bits are all zero, and of others.
TEST_CASE("checksums see the places of numbers", "[user]") {
  Bench b;
  using Line = std::vector<std::uint64_t>;  // the bits of neighbouring numbers
  const auto with_bits = [](const std::function<void(Line&)>& change) { return change; };
  const std::vector<std::pair<const char*, std::function<void(Line&)>>> changes{
      {"two numbers change places", with_bits([](Line& v) { std::swap(v[0], v[5]); })},
      {"a bit of two numbers", with_bits([](Line& v) {
         v[1] ^= std::uint64_t{1} << 52;
         v[2] ^= std::uint64_t{1} << 52;
       })},
      {"the signs of two numbers", with_bits([](Line& v) {
         v[1] ^= std::uint64_t{1} << 63;
         v[6] ^= std::uint64_t{1} << 63;
       })},
      {"a line in the other order", with_bits([](Line& v) { std::ranges::reverse(v); })},
      {"a line of zeros", with_bits([](Line& v) { std::ranges::fill(v, std::uint64_t{0}); })},
      {"a number over a whole line", with_bits([](Line& v) { std::ranges::fill(v, v[3]); })},
      {"a line by one place",
       with_bits([](Line& v) { std::rotate(v.begin(), std::next(v.begin()), v.end()); })},
      {"a bit of a lane is stuck", with_bits([](Line& v) {
         for (std::uint64_t& bits : v) bits |= std::uint64_t{1} << 54;
       })}};
  for (const bool whole : {false, true})
    for (const Shape& shape : std::vector<Shape>{{8, 1}, {71, 5}, {130, 12}, {300, 9}, {64, 16}})
      for (const bool in_a_row : {false, true})
        for (const auto& [name, change] : changes) {
          if (in_a_row && shape.columns < 8) continue;
          CAPTURE(whole, shape.rows, shape.columns, in_a_row, name);
          Doubles a = wide_matrix(b, shape.rows, shape.columns);
          if (whole)
            a.set([](std::int64_t i, std::int64_t j) {
              return static_cast<double>((7 * i + 3 * j + 1) % 19 - 9);
            });
          const Plain plain = a.plain();
          const std::int64_t i0 = in_a_row ? shape.rows - 1 : shape.rows - 8;
          const std::int64_t j0 = in_a_row ? shape.columns - 8 : shape.columns - 1;
          const auto place = [&](std::int64_t k) {
            return in_a_row ? Shape{i0, j0 + k} : Shape{i0 + k, j0};
          };
          Line line;
          for (std::int64_t k = 0; k < 8; ++k)
            line.push_back(bits_at(plain, place(k).rows, place(k).columns));
          const Line before = line;
          change(line);
          if (line == before) continue;
          a.set([&](std::int64_t i, std::int64_t j) {
            for (std::int64_t k = 0; k < 8; ++k)
              if (place(k).rows == i && place(k).columns == j)
                return std::bit_cast<double>(line[static_cast<std::size_t>(k)]);
            return plain(i, j);
          });
          const Doubles x = uniform_vector(b, shape.columns);
          const Doubles z = uniform_vector(b, shape.rows);
          Doubles ax(b, shape.rows, 1);
          Doubles atz(b, shape.columns, 1);
          const std::vector<std::uint64_t> expected = plain_checksums(plain);
          const WholeNumbers columns(b, shape.columns + 1);
          b.device->checksums_of_columns(*b.queue, a.view(), columns.data());
          CHECK(!std::ranges::equal(columns.get(), expected));
          for (const Transpose transpose : transposes) {
            const WholeNumbers found(b, 2);
            b.device->multiply(
                *b.queue, transpose, a.view(), (transpose == Transpose::no ? x : z).view(),
                (transpose == Transpose::no ? ax : atz).view(), nullptr, {}, found.as_whole());
            CHECK(MatrixChecksum{found.get()[0], found.get()[1]} != plain_checksum(plain));
          }
        }
}

}  // namespace speedwell::test::user_matrix_tests
