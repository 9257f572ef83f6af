// SPDX-License-Identifier: BSD-3-Clause
#include "own_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/cuda/variants.hpp"
#include "panel.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t leaf = 16;  // columns of a panel that are eliminated one after the other

struct PartSizes {
  std::int64_t order;    // order of the matrix, which is never stored
  std::int64_t tall;     // rows of a panel
  std::int64_t solved;   // rows or columns of the right-hand sides of a solve
  std::int64_t block;    // columns of a panel
  std::int64_t pivoted;  // columns of a panel with pivoting, in FP64
};

PartSizes sizes_for(const Meter& meter, std::int64_t n) {
  if (meter.options().smoke) return {n, 400, 200, 64, 40};
  // A GPU with a small memory gets the panels of its own largest run.
  return {n, n, std::min<std::int64_t>(n, 60000), 2048, 1024};
}

class OwnParts {
 public:
  OwnParts(Meter& meter, std::int64_t n)
      : meter_(meter),
        device_(meter.device()),
        queue_(meter.queue()),
        sizes_(sizes_for(meter, n)) {}
  void run() {
    generation();
    residual(false);
    residual(true);
    vectors();
    panel();
    pivoted_panel();
    permutation();
  }

 private:
  void generation();
  void residual(bool all_sums);
  void vectors();
  void panel();
  void solves(MatrixView<float> block, MatrixView<float> column);
  bool inverses(MatrixView<float> block);
  void pivoted_panel();
  void permutation();

  Meter& meter_;
  Device& device_;
  Queue& queue_;
  PartSizes sizes_;
};

void OwnParts::generation() {
  const std::int64_t rows = sizes_.tall;
  const std::int64_t columns = sizes_.block;
  const Buffer memory = device_.allocate(rows * columns * 4);
  const Timing timing = meter_.sustain(meter_.brief(), [&] {
    device_.generate(queue_, spec_of(rows), Distribution(rows, rows, 1, 0),
                     Distribution(columns, columns, 1, 0), floats(memory, rows, columns));
  });
  meter_.rate({{"part", "generate"}, {"name", fmt::format("generate {} x {}", rows, columns)}},
              timing, 4 * static_cast<double>(rows * columns), giga, "GB/s", meter_.reached.copy);
}

void OwnParts::residual(bool all_sums) {
  const std::int64_t n = sizes_.order;
  const Buffer vectors = device_.allocate(4 * n * 8);
  double* x = vectors.as<double>();
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  device_.upload(queue_, ones, x);
  const Distribution whole(n, n, 1, 0);
  const Timing timing = meter_.sustain(meter_.brief(), [&] {
    device_.multiply_generated(queue_, spec_of(n), whole, whole, x, x + n,
                               all_sums ? x + 2 * n : nullptr, all_sums ? x + 3 * n : nullptr);
  });
  const double entries = static_cast<double>(n) * static_cast<double>(n);
  meter_.rate(
      {{"part", all_sums ? "multiply_generated_all" : "multiply_generated"},
       {"name", fmt::format("multiply_generated{}, n = {}", all_sums ? ", all sums" : "", n)}},
      timing, entries, giga, "Gentry/s", 0);
}

void OwnParts::vectors() {
  const std::int64_t rows = sizes_.tall;
  const std::int64_t columns = sizes_.block * 2;
  const Buffer memory = device_.allocate(rows * columns * 4);
  const Buffer xy = device_.allocate((rows + columns) * 8);
  meter_.fill(floats(memory, rows, columns));
  const std::vector<double> ones(static_cast<std::size_t>(rows + columns), 1.0);
  device_.upload(queue_, ones, xy.as<double>());
  const Timing timing = meter_.sustain(meter_.brief(), [&] {
    device_.subtract_product(queue_, Transpose::no, floats(memory, rows, columns),
                             MatrixView<double>{xy.as<double>(), columns, 1, columns},
                             MatrixView<double>{xy.as<double>() + columns, rows, 1, rows});
  });
  meter_.rate({{"part", "subtract_product"},
               {"name", fmt::format("subtract_product {} x {}", rows, columns)}},
              timing, 4 * static_cast<double>(rows * columns), giga, "GB/s", meter_.reached.read);
  const Buffer low = device_.allocate(rows * sizes_.block * 2);
  const Timing cast = meter_.sustain(meter_.brief(), [&] {
    device_.cast(queue_, floats(memory, rows, sizes_.block), 1,
                 {Precision::fp16, low.data(), rows, sizes_.block, rows}, meter_.control(0),
                 meter_.status());
  });
  // Each entry is read for the largest magnitude, and read again to be rounded.
  meter_.rate(
      {{"part", "cast"}, {"name", fmt::format("cast to fp16, {} x {}", rows, sizes_.block)}}, cast,
      10 * static_cast<double>(rows * sizes_.block), giga, "GB/s", meter_.reached.copy);
}

void OwnParts::panel() {
  const std::int64_t w = sizes_.block;
  const std::int64_t m = sizes_.solved;
  const Buffer block_memory = device_.allocate(w * w * 4);
  const Buffer source_memory = device_.allocate(m * w * 4);
  const MatrixView<float> block = floats(block_memory, w, w);
  const MatrixView<float> square = floats(source_memory, w, w);
  meter_.fill(square);
  device_.prepare(queue_, {.width = w, .factors = true});  // the faster way to factor blocks
  const auto order = static_cast<double>(w);
  const Timing timing = meter_.sustain(meter_.brief(), [&] {
    device_.copy(queue_, square, block);
    device_.factor_diagonal(queue_, block, 0, meter_.status());
  });
  meter_.rate({{"part", "factor_diagonal"}, {"name", fmt::format("factor_diagonal, order {}", w)}},
              timing, 2.0 / 3 * order * order * order, tera, "TFLOP/s", meter_.reached.fp32);
  solves(block, floats(source_memory, m, w));
}

void OwnParts::solves(MatrixView<float> block, MatrixView<float> column) {
  const std::int64_t m = column.rows;
  const std::int64_t w = column.columns;
  const Buffer memory = device_.allocate(m * w * 4);
  const MatrixView<float> row{column.data, w, m, w};
  const auto measure = [&](const std::string& part, MatrixView<float> source, auto solve) {
    meter_.fill(source);
    const MatrixView<float> target{memory.as<float>(), source.rows, source.columns, source.ld};
    const Timing timing = meter_.without_copy(source, target, [&] { solve(target); });
    const auto order = static_cast<double>(w);
    meter_.rate(
        {{"part", part}, {"name", fmt::format("{}, {} x {}", part, source.rows, source.columns)}},
        timing, static_cast<double>(m) * order * order, tera, "TFLOP/s", meter_.reached.fp16);
  };
  // By strips, and by whole inverses, with what it takes to make one.
  const Buffer room = device_.allocate(2 * m * w);
  for (const bool ready : {false, true}) {
    const auto rounded = [&](MatrixView<float> b) {
      return ready ? AnyMatrix{Precision::fp16, room.data(), b.rows, b.columns, b.rows}
                   : AnyMatrix{};
    };
    const std::string how = ready ? "_ready" : "";
    if (ready && !inverses(block)) return;
    measure("solve_right_upper" + how, column, [&](MatrixView<float> b) {
      device_.solve_right_upper(queue_, block, b, Precision::fp16, rounded(b));
    });
    measure("solve_left_lower" + how, row, [&](MatrixView<float> b) {
      device_.solve_left_lower(queue_, block, b, Precision::fp16, rounded(b));
    });
  }
}

// Makes both triangles ready, where solves by inverses are faster.
bool OwnParts::inverses(MatrixView<float> block) {
  device_.prepare(queue_, {.width = block.rows,
                           .solved_rows = sizes_.solved,
                           .solved_columns = sizes_.solved,
                           .purpose = Precision::fp16,
                           .inverts = true});
  if (std::ranges::none_of(device_.variant_choices(), [](const VariantChoice& choice) {
        return choice.operation == varied::solves && choice.few;
      }))
    return false;
  const auto n = static_cast<double>(block.rows);
  for (const Triangle triangle : {Triangle::upper, Triangle::unit_lower}) {
    const Timing timing = meter_.sustain(meter_.brief(), [&] {
      device_.prepare_solves(queue_, triangle, block, Precision::fp16, sizes_.solved);
    });
    const char* const of = triangle == Triangle::upper ? "U" : "L";
    meter_.rate({{"part", "prepare_solves"},
                 {"name", fmt::format("inverse of {}, order {}", of, block.rows)}},
                timing, n * n * n / 3, tera, "TFLOP/s", meter_.reached.fp32);
  }
  return true;
}

/// A panel with pivoting, factored by columns and products as on a single GPU.
void OwnParts::pivoted_panel() {
  const std::int64_t m = sizes_.solved;
  const std::int64_t w = sizes_.pivoted;
  const Buffer source_memory = device_.allocate(m * w * 8);
  const Buffer memory = device_.allocate(m * w * 8);
  const Buffer pivots = device_.allocate(w * 8);
  const Buffer candidate = device_.allocate(sizeof(PivotCandidate));
  const MatrixView<double> source = doubles(source_memory, m, w);
  const MatrixView<double> panel = doubles(memory, m, w);
  meter_.fill(source, MatrixKind::hpl);  // its pivots may be in any row
  const Timing timing = meter_.without_copy(source, panel, [&] {
    test::factor_panel(
        device_, queue_, panel, 0, w, leaf,
        {candidate.as<PivotCandidate>(), pivots.as<std::int64_t>(), meter_.status()});
  });
  const auto rows = static_cast<double>(m);
  const auto columns = static_cast<double>(w);
  meter_.rate(
      {{"part", "pivoted_panel"}, {"name", fmt::format("pivoted panel fp64, {} x {}", m, w)}},
      timing, columns * columns * (rows - columns / 3), tera, "TFLOP/s", meter_.reached.fp64);
}

/// The exchange of rows by a panel's pivots in all other columns.
void OwnParts::permutation() {
  const std::int64_t m = sizes_.solved;
  const std::int64_t columns = sizes_.block;
  const std::int64_t w = sizes_.pivoted;
  const Buffer memory = device_.allocate(m * columns * 8);
  const MatrixView<double> a = doubles(memory, m, columns);
  meter_.fill(a);
  // The first rows are exchanged with as many other rows, which are far apart.
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  for (std::int64_t i = 0; i < w; ++i) {
    const std::int64_t other = w + i * ((m - w) / w);
    from.insert(from.end(), {i, other});
    to.insert(to.end(), {other, i});
  }
  const auto count = std::ssize(from);
  const Buffer indices = device_.allocate(2 * count * 8);
  auto* device_from = indices.as<std::int64_t>();
  device_.upload(queue_, from, device_from);
  device_.upload(queue_, to, device_from + count);
  const Timing timing = meter_.sustain(meter_.brief(), [&] {
    device_.permute_rows(queue_, device_from, device_from + count, count, a);
  });
  meter_.rate({{"part", "permute_rows"},
               {"name", fmt::format("permute_rows fp64, {} of {} x {}", count, m, columns)}},
              timing, 16 * static_cast<double>(count * columns), giga, "GB/s", meter_.reached.copy);
}

}  // namespace

void measure_own_parts(Meter& meter, std::int64_t n) {
  OwnParts(meter, n).run();
}

}  // namespace speedwell
