// SPDX-License-Identifier: BSD-3-Clause
// What is written of a matrix, and the checksums that are taken meanwhile.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "device_choice.hpp"
#include "source/part_writer.hpp"

namespace speedwell::test::part_writer_tests {
namespace {

constexpr std::int64_t rows = 302;
constexpr std::int64_t columns = 290;
constexpr std::int64_t ld = 305;

double number(std::int64_t i, std::int64_t j) {
  return static_cast<double>(i * 131 % 97) - 0.125 * static_cast<double>(j * 53 % 211);
}

/// All of a matrix in host memory, column by column.
struct Whole {
  std::vector<double> memory = std::vector<double>(static_cast<std::size_t>(ld * columns));

  MatrixView<double> view() { return {memory.data(), rows, columns, ld}; }
  std::vector<std::uint64_t> sums(Device& device) {
    std::vector<std::uint64_t> found(static_cast<std::size_t>(columns) + 1);
    const auto queue = device.make_queue(Priority::normal);
    device.checksums_of_columns(*queue, ConstAnyMatrix(view()), found.data());
    return found;
  }
};

void set_numbers(MatrixView<double> to, std::int64_t i0, std::int64_t j0) {
  for (std::int64_t j = 0; j < to.columns; ++j)
    for (std::int64_t i = 0; i < to.rows; ++i) to(i, j) = number(i0 + i, j0 + j);
}

/// Writes all numbers, and calls change() before the last of them.
using Write = std::function<void(PartWriter& a, const std::function<void()>& change)>;

void by_columns(PartWriter& a, const std::function<void()>& change) {
  a.by_columns([&](std::int64_t first, MatrixView<double> to) {
    if (first + to.columns == columns) change();
    set_numbers(to, 0, first);
  });
}

void by_rows(PartWriter& a, const std::function<void()>& change) {
  a.by_rows([&](std::int64_t first, MatrixView<double> to) {
    if (first + to.rows == rows) change();
    set_numbers(to, first, 0);
  });
}

void in_blocks(PartWriter& a, const std::function<void()>& change) {
  constexpr std::int64_t width = 58;
  std::vector<double> block(static_cast<std::size_t>(rows * width));
  const MatrixView<double> numbers{block.data(), rows, width, rows};
  for (std::int64_t j = 0; j < columns; j += width) {
    if (j + width >= columns) change();
    set_numbers(numbers, 0, j);
    a.set(0, j, numbers);
  }
}

// Each number in two parts, which are added in two turns.
void by_entries(PartWriter& a, const std::function<void()>& change) {
  a.clear();
  for (const bool last : {false, true}) {
    std::vector<std::vector<MatrixEntry>> lists(2);
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto first = static_cast<double>(i);
        lists[i < rows / 2 ? 0 : 1].push_back({i, j, last ? number(i, j) - first : first});
      }
    if (last) change();
    a.add(lists);
  }
}

const std::vector<std::pair<std::string, Write>> ways{
    {"columns", by_columns}, {"rows", by_rows}, {"blocks", in_blocks}, {"entries", by_entries}};

}  // namespace

TEST_CASE("what changes in a part while it is written shows in its checksums", "[sources]") {
  if (device_choice().device != DeviceKind::cpu) return;
  const auto device = make_chosen_device();
  Whole expected;
  set_numbers(expected.view(), 0, 0);
  for (const auto& [name, write] : ways) {
    CAPTURE(name);
    Whole right;
    PartWriter whole(*device, right.view());
    write(whole, [] {});
    CHECK(std::ranges::equal(right.memory, expected.memory));
    CHECK(std::ranges::equal(whole.checksums(), expected.sums(*device)));
    for (const bool exchange : {false, true}) {
      Whole a;
      PartWriter changed(*device, a.view());
      write(changed, [&] {
        if (exchange)
          std::swap(a.memory[3], a.memory[7]);
        else
          a.memory[3] += 0.5;
      });
      REQUIRE(!std::ranges::equal(a.memory, expected.memory));
      const std::vector<std::uint64_t> sums = changed.checksums();
      const std::vector<std::uint64_t> there = a.sums(*device);
      CHECK(sums[0] != there[0]);
      CHECK((sums.back() == there.back()) == exchange);
      CHECK(std::equal(sums.begin() + 1, sums.end() - 1, there.begin() + 1));
    }
  }
}

}  // namespace speedwell::test::part_writer_tests
