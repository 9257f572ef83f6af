// SPDX-License-Identifier: BSD-3-Clause
#include <bit>

#include "fuzz.hpp"
#include "io/matrix_market.hpp"
#include "memory_file.hpp"

namespace speedwell::fuzz {

namespace {

/// The entries of the lines that begin in the bytes [begin, end). `before`: values before them.
std::vector<MarketEntry> entries(const InputFile& file, const MarketHeader& header,
                                 std::int64_t begin, std::int64_t end, std::int64_t& before) {
  MarketPart part = read_market_part(file, header, begin, end);
  const std::int64_t count = part.count(header);
  place_array_values(header, before, part.values, part.entries);
  before += count;
  return part.entries;
}

bool same(const MarketEntry& a, const MarketEntry& b) {
  return a.row == b.row && a.column == b.column &&
         std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
}

}  // namespace

void matrix_market(std::string_view bytes) {
  const MemoryFile input(bytes);
  read_or_refuse([&] {
    const InputFile file(input.path());
    const MarketHeader header = read_market_header(file);
    std::int64_t before = 0;
    const auto whole = entries(file, header, 0, file.size(), before);
    for (const MarketEntry& e : whole)
      expect(e.row >= 0 && e.row < header.rows && e.column >= 0 && e.column < header.columns,
             "an entry outside of the matrix");
    before = 0;
    const std::int64_t middle = (header.body + file.size()) / 2;
    auto halves = entries(file, header, 0, middle, before);
    const auto second = entries(file, header, middle, file.size(), before);
    halves.insert(halves.end(), second.begin(), second.end());
    expect(std::equal(whole.begin(), whole.end(), halves.begin(), halves.end(), same),
           "other entries in two parts");
  });
}

}  // namespace speedwell::fuzz
