// SPDX-License-Identifier: BSD-3-Clause
#include <span>

#include "fuzz.hpp"
#include "io/npz.hpp"
#include "io/numpy.hpp"
#include "memory_file.hpp"

namespace speedwell::fuzz {

namespace {

void read(const InputFile& file, const std::optional<std::string>& name) {
  const NpzArray array = find_array(file, name);
  const NumpyHeader header = read_numpy_header(file, array);
  expect(header.rows() > 0 && header.columns() > 0, "an empty array");
  NpzReader reader(file, array);
  std::vector<std::byte> first(1);
  reader.read(header.data, first);
  reader.finish();
}

}  // namespace

void npz(std::string_view bytes) {
  const MemoryFile input(bytes);
  const InputFile file(input.path());
  read_or_refuse([&] { read(file, std::nullopt); });
  read_or_refuse([&] { read(file, "a"); });
}

}  // namespace speedwell::fuzz
