// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz.hpp"
#include "model/machine_model.hpp"

namespace speedwell::fuzz {

void machine(std::string_view bytes) {
  std::string written;
  read_or_refuse([&] { written = machine_text(parse_machine(bytes, "machine.json")); });
  if (written.empty()) return;
  expect(machine_text(parse_machine(written, "written.json")) == written,
         "a machine that is another one when it is written and read");
}

}  // namespace speedwell::fuzz
