// SPDX-License-Identifier: BSD-3-Clause
#include "grid/step.hpp"

#include <algorithm>

#include "core/numbers.hpp"

namespace speedwell {

StepSequence::StepSequence(const Distribution& rows, const Distribution& columns,
                           std::int64_t width)
    : rows_(rows), columns_(columns), width_(std::clamp<std::int64_t>(width, 1, rows.block())) {
  const std::int64_t n = rows.size();
  const std::int64_t nb = rows.block();
  steps_per_block_ = ceil_div(nb, width_);
  count_ = n / nb * steps_per_block_ + ceil_div(n % nb, width_);
}

Step StepSequence::operator[](std::int64_t k) const {
  const std::int64_t block = k / steps_per_block_ * rows_.block();
  const std::int64_t begin = block + k % steps_per_block_ * width_;
  const std::int64_t end = std::min({begin + width_, block + rows_.block(), rows_.size()});
  Step s;
  s.index = k;
  s.begin = {begin};
  s.end = {end};
  s.owner_row = rows_.owner(s.begin);
  s.owner_column = columns_.owner(s.begin);
  s.in_row = s.owner_row == rows_.me();
  s.in_column = s.owner_column == columns_.me();
  s.row = rows_.local_begin(s.begin);
  s.column = columns_.local_begin(s.begin);
  s.trailing_row = rows_.local_begin(s.end);
  s.trailing_column = columns_.local_begin(s.end);
  return s;
}

}  // namespace speedwell
