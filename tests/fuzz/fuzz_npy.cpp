// SPDX-License-Identifier: BSD-3-Clause
#include <span>

#include "fuzz.hpp"
#include "io/numpy.hpp"
#include "memory_file.hpp"

namespace speedwell::fuzz {

void npy(std::string_view bytes) {
  const MemoryFile input(bytes);
  read_or_refuse([&] {
    const InputFile file(input.path());
    const NumpyHeader header = read_numpy_header(file);
    std::vector<double> numbers(static_cast<std::size_t>(header.rows() * header.columns()));
    std::vector<std::byte> raw(numbers.size() * static_cast<std::size_t>(header.type.bytes));
    expect(header.data + std::ssize(raw) == file.size(), "a shape that is not the file's");
    file.read(header.data, raw);
    decode_numbers(header.type, raw, numbers);
  });
}

}  // namespace speedwell::fuzz
