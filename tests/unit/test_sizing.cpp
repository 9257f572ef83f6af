// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/error.hpp>

#include <limits>

#include "catch.hpp"
#include "core/option_range.hpp"
#include "device/device_traits.hpp"
#include "device/emulation_workspace.hpp"
#include "refine/gmres.hpp"
#include "setup/defaults.hpp"
#include "setup/footprint.hpp"
#include "setup/options_check.hpp"
#include "setup/plan.hpp"
#include "setup/sizing.hpp"
#include "source/part_writer.hpp"

namespace speedwell::test::sizing_tests {
TEST_CASE("largest n by bisection") {
  for (std::int64_t limit = 0; limit < 70; ++limit)
    CHECK(largest_n([&](std::int64_t n) { return n <= limit; }) == limit);
  const std::int64_t large = 123456789012345678;
  CHECK(largest_n([&](std::int64_t n) { return n <= large; }) == large);
  CHECK(largest_n([](std::int64_t) { return true; }) >
        std::numeric_limits<std::int64_t>::max() / 4);
}

TEST_CASE("largest n fits and n + 1 does not") {
  for (double bytes : {2e8, 1e9, 1.7e10, 1e12}) {
    const auto need = [&](std::int64_t n) {
      LuPlan lu{.n = n, .nb = std::min<std::int64_t>(n, 512), .grid = {2, 3}};
      lu.width = panel_width(lu);
      return rank_bytes(lu);
    };
    const std::int64_t n = largest_n([&](std::int64_t m) { return need(m) <= bytes; });
    REQUIRE(n > 0);
    CHECK(need(n) <= bytes);
    CHECK(need(n + 1) > bytes);
  }
}

TEST_CASE("workspace of emulated FP64 products, by cuBLAS's documentation") {
  // Ten slices of both factors, scales, and 32-bit sums of each slice; a quarter and 128 MiB more.
  const double mib = 0x1p20;
  CHECK(emulation_workspace(1024, 1024, 1024) ==
        1.25 * (20 * mib + 4 * 2048 + 40 * mib) + 128 * mib);
  CHECK(emulation_workspace(1, 1, 1) == 1.25 * (2048 * 128 * 10 + 4 * 2048 + 40 * mib) + 128 * mib);
  CHECK(emulation_workspace(1025, 1024, 1024) > emulation_workspace(1024, 1024, 1024));
  // The sums take at most 4 GiB for each 8192 of the inner dimension.
  const double wide = emulation_workspace(131072, 4096, 8192);
  CHECK(wide == 1.25 * ((131072. + 4096) * (8192 * 10 + 4) + 4096 * mib) + 128 * mib);
  CHECK(emulation_workspace(131072, 4096, 8193) > wide + 1.25 * 4096 * mib);
}

TEST_CASE("the footprint has the workspace of emulated FP64 products") {
  LuPlan lu{.n = 10000,
            .nb = 512,
            .width = 512,
            .device = DeviceKind::cuda,
            .precision = Precision::fp64};
  const double native = rank_bytes(lu);
  lu.fp64 = Fp64Products::emulated;
  CHECK(emulation_bytes(lu) == emulation_workspace(10000, 4096, 512));
  CHECK(rank_bytes(lu) == native + emulation_bytes(lu));
  lu.chunk = 1000;
  CHECK(emulation_bytes(lu) == emulation_workspace(10000, 1000, 512));
  lu.precision = Precision::fp32;
  CHECK(emulation_bytes(lu) == 0);
}

TEST_CASE("operations of the benchmark") {
  CHECK(benchmark_flops(1) == Approx(2. / 3 + 1.5));
  CHECK(benchmark_flops(3) == Approx(18 + 13.5));
  CHECK(benchmark_flops(3, 4) == Approx(18 - 4.5 + 2 * 9 * 4));
  CHECK(benchmark_flops(1000000) == Approx(2e18 / 3).epsilon(1e-5));
}

TEST_CASE("largest n in a time") {
  const std::int64_t n = largest_n_in_time(60, 5e11);
  CHECK(benchmark_flops(n) <= 60 * 5e11);
  CHECK(benchmark_flops(n + 1) > 60 * 5e11);
  CHECK(largest_n_in_time(1e-30, 1) == 1);
}

TEST_CASE("n is rounded to whole blocks, and never to 0") {
  CHECK(round_to_blocks(1000, 64) == 960);
  CHECK(round_to_blocks(960, 64) == 960);
  CHECK(round_to_blocks(63, 64) == 63);
  CHECK(round_to_blocks(1, 1) == 1);
}

namespace {

constexpr GridShape one{};
constexpr GridShape many{8, 16, GridOrder::row};

Defaults on_cpu(std::int64_t n, Precision precision, bool fast, const GridShape& shape = one) {
  return defaults_for({.n = n, .grid = shape, .precision = precision}, fast, 1);
}

Defaults on_gpu(Precision precision, const GridShape& shape = one) {
  return defaults_for(
      {.n = 1000000, .grid = shape, .device = DeviceKind::cuda, .precision = precision}, true, 1);
}

}  // namespace

TEST_CASE("defaults of the table") {
  for (std::int64_t n : {1, 2, 31, 32, 33, 100, 1000, 10000, 1000000})
    for (Precision p :
         {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32, Precision::fp64})
      for (bool fast : {false, true}) {
        for (const GridShape& shape : {one, many}) {
          const Defaults d = on_cpu(n, p, fast, shape);
          CAPTURE(n, d.row);
          CHECK(d.tuning.nb >= 1);
          CHECK(d.tuning.nb <= std::min<std::int64_t>(n, 1024));
          CHECK(is_in(range_of("lookahead"), d.tuning.lookahead));
          CHECK(is_in(range_of("nbmin"), d.leaf));
        }
        CHECK(on_cpu(n, p, fast, many).tuning.nb <= on_cpu(n, p, fast, one).tuning.nb);
      }
}

TEST_CASE("a small problem has blocks for every rank") {
  CHECK(on_cpu(1000, Precision::fp16, false).tuning.nb == 128);
  CHECK(on_cpu(8000, Precision::fp16, false, many).tuning.nb == 64);
  CHECK(on_cpu(4000, Precision::fp64, false).tuning.nb == 256);
  CHECK(on_cpu(4000, Precision::fp32, false).tuning.nb == 128);
  CHECK(on_cpu(8000, Precision::fp32, false).tuning.nb == 256);
  CHECK(on_cpu(2000, Precision::fp32, false).tuning.nb == 128);
  CHECK(on_cpu(2000, Precision::bf16, true).tuning.nb == 256);
  CHECK(on_cpu(10, Precision::fp16, false).tuning.nb == 10);
  CHECK(on_cpu(1000, Precision::fp16, false).cut);
  CHECK_FALSE(on_cpu(1000000, Precision::fp16, false).cut);
}

TEST_CASE("one rank on a CPU looks no panels ahead") {
  for (Precision p : {Precision::bf16, Precision::fp32, Precision::fp64}) {
    CHECK(on_cpu(20000, p, true).tuning.lookahead == 0);
    CHECK(on_cpu(20000, p, true, many).tuning.lookahead == 1);
    CHECK(on_gpu(p).tuning.lookahead == 1);
  }
}

TEST_CASE("the table of defaults has a row for each kind of update") {
  const std::int64_t large = 1000000;
  CHECK(on_cpu(large, Precision::bf16, true).row == "cpu fast 16 bits, above 12288 a rank");
  CHECK(on_cpu(8000, Precision::bf16, true).row == "cpu fast 16 bits");
  for (const GridShape shape : {one, many}) {
    const LuPlan lu{.n = large, .grid = shape, .precision = Precision::bf16};
    CHECK(defaults_for(lu, true, 15).tuning.nb == 1024);
    CHECK(defaults_for(lu, true, 16).tuning.nb == 2048);
    CHECK(defaults_for(lu, true, 16).row == "cpu fast 16 bits, above 32768 a rank of 16 threads");
  }
  CHECK(on_cpu(large, Precision::bf16, false).row == "cpu at the rate of fp32");
  CHECK(on_cpu(large, Precision::fp32, true).row == "cpu at the rate of fp32");
  CHECK(on_cpu(large, Precision::fp16x3, true).row == "cpu at the rate of fp32");
  CHECK(on_cpu(large, Precision::fp64, true).row == "cpu fp64");
  CHECK(on_gpu(Precision::fp16).row == "cuda 16 bits, above 114688 a rank");
  CHECK(on_gpu(Precision::fp64).row == "cuda fp64");
  CHECK(on_gpu(Precision::fp16).tuning.nb > on_gpu(Precision::fp64).tuning.nb);
}

TEST_CASE("a rank alone in its process column takes all columns at once on the CPU") {
  CHECK(on_cpu(1000000, Precision::fp16, false).tuning.chunk == 0);
  CHECK(on_cpu(1000000, Precision::fp16, false, many).tuning.chunk > 0);
  CHECK(on_gpu(Precision::fp16).tuning.chunk > 0);
}

TEST_CASE("panels are narrowed only where memory is short") {
  LuPlan lu{.n = 12288, .nb = 1024};
  const std::int64_t narrow = lu.width = panel_width(lu);
  CHECK(narrow < 1024);  // 4.4 n^2 bytes have no room for wider ones
  CHECK(panel_width(lu, rank_bytes(lu)) == narrow);
  CHECK(panel_width(lu, 23e9) == 1024);
}

TEST_CASE("GMRES restarts later where its vectors are small beside the factors") {
  CHECK(gmres_restart(100, one) == 30);
  CHECK(gmres_restart(4000, one) == 100);
  CHECK(gmres_restart(1000000, one) == 200);
  CHECK(gmres_restart(4000, {1, 2, GridOrder::row}) == 50);
}

TEST_CASE("a native update needs no copy in FP32, and so allows wider panels") {
  LuPlan lu{.n = 20480, .nb = 1024, .width = 1024, .precision = Precision::bf16};
  CHECK(panel_width(lu) < 1024);
  const double emulated = panel_bytes(lu);
  lu.native = true;
  const double all = panel_bytes(lu);
  CHECK(all < emulated);
  CHECK(panel_width(lu) == 1024);
  lu.chunk = 256;
  CHECK(panel_bytes(lu) < all);
}

TEST_CASE("FP16x3 has panels as wide as FP32's in memory, and two copies where it is emulated") {
  LuPlan lu{.n = 20480, .nb = 1024, .width = 1024};
  const auto fp16_copies = static_cast<double>(scratch_bytes(lu));
  lu.precision = Precision::fp32;
  const double fp32 = panel_bytes(lu);
  lu.precision = Precision::fp16x3;
  CHECK(panel_bytes(lu) == fp32 + 2 * fp16_copies);
  lu.native = true;
  CHECK(panel_bytes(lu) == fp32);
  lu.device = DeviceKind::cuda;  // its solves are FP32's, which split nothing
  CHECK(panel_bytes(lu) == fp32);
}

TEST_CASE("sizes in GiB") {
  CHECK(gibibytes(1 << 30) == "1.00 GiB");
  CHECK(gibibytes(1.5 * (1 << 30)) == "1.50 GiB");
  CHECK(gibibytes(1 << 20) == "0.000977 GiB");
  CHECK(gibibytes(0) == "0 GiB");
  CHECK(gibibytes(1e30) == "9.31e+20 GiB");
}

namespace {

template <class Change>
std::string complaint(int ranks, Change change) {
  BenchmarkOptions options;
  change(options);
  try {
    check_run_options(options.run, ranks);
    check_problem(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options that are allowed") {
  CHECK(complaint(6, [](BenchmarkOptions&) {}).empty());
  CHECK(complaint(6, [](BenchmarkOptions& o) { o.run.nprow = 2, o.run.npcol = 3; }).empty());
  CHECK(complaint(6, [](BenchmarkOptions& o) { o.run.nprow = 2; }).empty());
  CHECK(complaint(6, [](BenchmarkOptions& o) {
          o.matrix = MatrixKind::hpl, o.pivoting = Pivoting::partial;
        }).empty());
  CHECK(complaint(6, [](BenchmarkOptions& o) { o.run.npcol = 6; }).empty());
  CHECK(complaint(1, [](BenchmarkOptions& o) {
          o.n = 1, o.run.nb = 1, o.run.lookahead = 0;
        }).empty());
}

TEST_CASE("the refusal of an option names the option and its range") {
  const auto named = [](const std::string& text, const std::string& option) {
    CAPTURE(text);
    CHECK(text.find(option) != text.npos);
    CHECK(text.find("allowed") != text.npos);
    CHECK(text.find('\n') == text.npos);
  };
  named(complaint(1, [](BenchmarkOptions& o) { o.n = -1; }), "--n -1");
  named(complaint(1, [](BenchmarkOptions& o) { o.run.nb = -1; }), "--nb -1");
  named(complaint(1, [](BenchmarkOptions& o) { o.run.nprow = -1; }), "--nprow -1");
  named(complaint(4, [](BenchmarkOptions& o) { o.run.nprow = 2, o.run.npcol = 3; }),
        "-P 2 x -Q 3 is 6");
  named(complaint(4, [](BenchmarkOptions& o) { o.run.nprow = 65536, o.run.npcol = 65536; }),
        "4294967296");
  named(complaint(4, [](BenchmarkOptions& o) { o.run.nprow = 3; }), "-P 3");
  named(complaint(4, [](BenchmarkOptions& o) { o.run.npcol = 3; }), "-Q 3");
  named(complaint(1, [](BenchmarkOptions& o) { o.max_iterations = 0; }), "--max-iterations 0");
  named(complaint(1, [](BenchmarkOptions& o) { o.run.lookahead = -2; }), "--lookahead -2");
  named(complaint(1, [](BenchmarkOptions& o) { o.run.chunk = -1; }), "--chunk -1");
  named(complaint(1, [](BenchmarkOptions& o) { o.leaf = 4097; }), "--nbmin 4097");
  named(complaint(1, [](BenchmarkOptions& o) { o.leaf = -1; }), "--nbmin -1");
  named(complaint(1, [](BenchmarkOptions& o) { o.ndiv = 1; }), "--ndiv 1");
  named(complaint(1, [](BenchmarkOptions& o) { o.ndiv = 65; }), "--ndiv 65");
  named(complaint(1, [](BenchmarkOptions& o) { o.precision = Precision::fp64; }),
        "allowed: auto, fp16, bf16, fp16x3, fp32");
  named(complaint(1, [](BenchmarkOptions& o) { o.matrix = MatrixKind::hpl; }), "--pivot partial");
  named(complaint(1, [](BenchmarkOptions& o) { o.run.lookahead = 2; }), "--lookahead 2");
  named(complaint(1, [](BenchmarkOptions& o) { o.run.threads = -1; }), "--threads -1");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double bad : {nan, -1., 1.1}) {
    named(complaint(1, [&](BenchmarkOptions& o) { o.memory_fraction = bad; }), "--memory-fraction");
    named(
        complaint(1, [&](BenchmarkOptions& o) { o.matrix = MatrixKind::fasi_higham, o.rho = bad; }),
        "--rho");
  }
  for (double bad : {nan, -1., std::numeric_limits<double>::infinity()})
    named(complaint(1, [&](BenchmarkOptions& o) { o.time_target = bad; }), "--time-target");
  for (double bad : {nan, 1., std::numeric_limits<double>::infinity()})
    named(complaint(
              1, [&](BenchmarkOptions& o) { o.matrix = MatrixKind::fasi_higham, o.kappa = bad; }),
          "--kappa");
}

TEST_CASE("the host of a GPU needs room for pieces of a user's matrix, and not for the matrix") {
  for (const std::int64_t n : {1, 1000, 30000, 300000}) {
    LuPlan lu{.n = n, .nb = std::min<std::int64_t>(n, 1024), .device = DeviceKind::cuda};
    const double without = host_bytes(lu);
    lu.held = sizeof(double);
    const double pieces = host_bytes(lu) - without;
    CHECK(pieces >= static_cast<double>(largest_piece_bytes));
    CHECK(pieces < 3e8);  // the matrix has up to 720 GB
  }
}
}  // namespace speedwell::test::sizing_tests
