// SPDX-License-Identifier: BSD-3-Clause
#include "side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/clock.hpp"

namespace speedwell {

namespace {

class SideBySide {
 public:
  SideBySide(Meter& meter, const UpdateOperands& update, std::int64_t order)
      : meter_(meter),
        device_(meter.device()),
        blocks_(device_.make_queue(Priority::high)),
        update_(update),
        source_memory_(device_.allocate(4 * order * order)),
        memory_(device_.allocate(4 * order * order)),
        source_(floats(source_memory_, order, order)),
        block_(floats(memory_, order, order)) {
    // As in a factorization: the least share of a panel is a 32nd.
    device_.prepare(meter_.queue(), {.width = order, .factors = true, .least_part = 1. / 32});
    meter_.fill(source_);
  }

  void measure(int reserved, int multiprocessors);

 private:
  /// Seconds from the common start to the end of each; 0 for what did not run.
  struct Ends {
    double block = 0;
    double update = 0;
  };
  Ends run(bool with_block, bool with_update);

  Meter& meter_;
  Device& device_;
  std::unique_ptr<Queue> blocks_;
  UpdateOperands update_;
  Buffer source_memory_, memory_;
  MatrixView<float> source_, block_;
};

SideBySide::Ends SideBySide::run(bool with_block, bool with_update) {
  Queue& updates = meter_.queue();
  device_.copy(*blocks_, source_, block_);
  blocks_->synchronize();
  updates.synchronize();
  const EventPtr begin = updates.record();
  blocks_->wait(*begin);
  if (with_update)
    device_.update(updates, update_.l, meter_.control(0), update_.u, meter_.control(1), update_.c,
                   {});
  const EventPtr updated = updates.record();
  if (with_block) device_.factor_diagonal(*blocks_, block_, 0, meter_.status());
  const EventPtr factored = blocks_->record();
  blocks_->synchronize();
  updates.synchronize();
  return {with_block ? factored->seconds_since(*begin) : 0,
          with_update ? updated->seconds_since(*begin) : 0};
}

void SideBySide::measure(int reserved, int multiprocessors) {
  device_.share(static_cast<double>(reserved) / multiprocessors);
  meter_.prepare([&] { run(true, true); });
  Ends alone;
  Ends beside;
  double both = 0;
  std::int64_t runs = 0;
  const SteadyClock clock;
  const double start = clock.now();
  // One after the other, so that all get the same clocks of the GPU.
  for (; runs == 0 || clock.now() - start < meter_.seconds() / 2; ++runs) {
    alone.block += run(true, false).block;
    alone.update += run(false, true).update;
    const Ends together = run(true, true);
    beside.block += together.block;
    beside.update += together.update;
    both += std::max(together.block, together.update);
  }
  device_.share(0);
  const auto milliseconds = [&](double sum) { return sum / static_cast<double>(runs) * 1e3; };
  const std::int64_t m = update_.c.rows, n = update_.c.columns, k = update_.l.columns;
  const double each = both / static_cast<double>(runs);
  const auto order = static_cast<double>(block_.rows);
  const double work = operations(m, n, k) + 2.0 / 3 * order * order * order;
  const double one_after_the_other = (alone.block + alone.update) / static_cast<double>(runs);
  meter_.rate({{"part", "diagonal_beside_update"},
               {"name", fmt::format("diagonal block of order {} beside an update {} x {}, K = {}, "
                                    "{} of {} multiprocessors",
                                    block_.rows, m, n, k, reserved, multiprocessors)},
               {"order", block_.rows},
               {"m", m},
               {"n", n},
               {"k", k},
               {"reserved", reserved},
               {"block_alone_milliseconds", milliseconds(alone.block)},
               {"block_beside_milliseconds", milliseconds(beside.block)},
               {"update_alone_milliseconds", milliseconds(alone.update)},
               {"update_beside_milliseconds", milliseconds(beside.update)},
               {"both_milliseconds", milliseconds(both)}},
              {each, each, clock.now() - start, runs}, work, tera, "TFLOP/s",
              work / one_after_the_other);
}

}  // namespace

void measure_side_by_side(Meter& meter, const UpdateOperands& update, std::int64_t order,
                          std::span<const int> reserved, int multiprocessors) {
  SideBySide both(meter, update, order);
  for (const int count : reserved) both.measure(count, multiprocessors);
}

}  // namespace speedwell
