// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "fuzz.hpp"
#include "io/profile.hpp"

namespace speedwell::fuzz {

void profile(std::string_view bytes) {
  read_or_refuse([&] {
    Profile profile = parse_profile(std::string(bytes), "profile.json");
    for (const ProfileEntry& entry : profile.entries()) {
      expect(profile.find(entry.key, entry.n) != nullptr, "an entry that is not found");
      profile.find(entry.key, std::numeric_limits<std::int64_t>::max());
    }
    for (const ProfileRate& rate : std::vector(profile.rates())) profile.put(rate);
  });
}

}  // namespace speedwell::fuzz
