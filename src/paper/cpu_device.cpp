// SPDX-License-Identifier: BSD-3-Clause
#include "paper/cpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <speedwell/error.hpp>

#include "core/counted.hpp"
#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "device/cpu/product_parts.hpp"
#include "device/out_of_memory.hpp"

namespace speedwell::paper {

namespace {

class PaperEvent final : public Event {
 public:
  explicit PaperEvent(double time) : time_(time) {}
  bool reached() const override { return true; }
  void wait() const override {}
  double seconds_since(const Event& earlier) const override {
    return time_ - static_cast<const PaperEvent&>(earlier).time_;
  }

 private:
  double time_;
};

class PaperQueue final : public Queue {
 public:
  void synchronize() override { self().pay(); }
  EventPtr record() override { return std::make_shared<PaperEvent>(self().now()); }
  void wait(const Event&) override {}
};

// Shorter times are added up before they pass: each passing costs the simulation time.
constexpr double short_time = 1e-6;

// Copies of fewer rows are like those of single rows, which an exchange moves.
constexpr std::int64_t least_column = 8;

class PaperCpu final : public Device {
 public:
  using Device::Device;
  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override {
    const DeviceModel& model = self().device();
    return fmt::format("{}, {}, simulated", model.name, counted(model.threads, "thread"));
  }
  std::optional<Paper> on_paper() const override { return paper_of(*self().scenario); }
  // A machine file gives the rates of all updates, emulated or not.
  bool native(Precision precision) const override {
    return precision == Precision::fp32 || precision == Precision::bf16;
  }

  Buffer allocate(std::int64_t bytes) override {
    if (bytes == 0) return {};
    Rank& rank = self();
    const MachineModel& machine = rank.scenario->machine;
    void* data = rank.memory.allocate(bytes, machine.node_memory / machine.devices);
    if (data == nullptr) throw out_of_memory(bytes, "could not be had on the simulated machine");
    return {data, bytes, [&rank](void* p) { rank.memory.release(p); }};
  }
  std::unique_ptr<Queue> make_queue(Priority) override { return std::make_unique<PaperQueue>(); }

  void write(Queue&, std::span<const std::byte> host, std::byte* device) override {
    copy_bytes(host.data(), device, host.size());
  }
  void read(Queue&, const std::byte* device, std::span<std::byte> host) override {
    copy_bytes(device, host.data(), host.size());
  }
  void write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) override {
    copy(queue, host, device);
  }
  void clear(Queue&, std::span<std::byte> device) override {
    if (Memory::real(device.data())) std::ranges::fill(device, std::byte{0});
    pass(static_cast<double>(device.size()) / self().device().bandwidth);
  }
  void copy(Queue&, ConstAnyMatrix, AnyMatrix to) override {
    const bool row = to.rows < least_column;
    elements(row ? OperationKind::exchange : OperationKind::convert, to);
  }

  void generate(Queue&, const MatrixSpec& spec, const Distribution&, const Distribution&,
                AnyMatrix a) override {
    self().order = spec.n;
    elements(OperationKind::generate, a);
  }
  void factor_diagonal(Queue&, MatrixView<float> a, std::int64_t, FactorStatus*) override {
    const auto k = static_cast<double>(a.rows);
    operate(OperationKind::factor, Precision::fp32, 2. / 3 * k * k * k, 1, 1, k);
  }
  void prepare_diagonal(Queue&, AnyMatrix) override {}
  void solve_right_upper(Queue&, MatrixView<const float> lu, MatrixView<float> b, Precision purpose,
                         AnyMatrix) override {
    const auto m = static_cast<double>(b.rows);
    const auto k = static_cast<double>(lu.rows);
    operate(OperationKind::solve_right, purpose, m * k * k, m, 1, k);
  }
  void solve_left_lower(Queue&, ConstAnyMatrix lu, AnyMatrix b, Precision purpose,
                        AnyMatrix) override {
    solve_left(lu, parts_of(b.field) * b.columns,
               b.precision == Precision::fp64 ? b.precision : purpose);
  }
  void cast(Queue&, ConstAnyMatrix from, double, AnyMatrix to, PanelControl* control,
            FactorStatus*) override {
    if (Memory::real(control)) control->scale = 1;
    const std::int64_t parts = parts_of(from.field);
    elements(OperationKind::convert, to.precision, parts * from.rows, parts * from.columns);
  }
  // In the parts in which the CPU device computes it: messages move on between them.
  void update(Queue&, ConstAnyMatrix l, const PanelControl*, ConstAnyMatrix, const PanelControl*,
              AnyMatrix c, const Poll& poll) override {
    if (c.empty()) return;
    const UpdateParts parts =
        update_parts(c.rows, c.columns, l.columns, self().device().threads, poll != nullptr);
    for (std::int64_t j = 0; j < c.columns; j += parts.columns)
      for (std::int64_t i = 0; i < c.rows; i += parts.rows) {
        multiply(l.precision, std::min(parts.rows, c.rows - i),
                 std::min(parts.columns, c.columns - j), l.columns);
        if (poll) poll();
      }
  }

  void find_pivot(Queue&, ConstAnyMatrix column, PivotCandidate* found) override {
    draw(found, column.rows);
    pass(static_cast<double>(column.rows * column.element_bytes()) /
         self().device().bandwidth);  // it reads the column
  }
  void offer_pivot(Queue&, ConstAnyMatrix rows, const PanelRows&, const PivotCandidate*,
                   std::byte*) override {
    elements(OperationKind::exchange, rows.block(0, 0, 1, rows.columns));
  }
  // The offers are drawn at random, and may have no memory: all ranks draw the same row.
  void take_pivot(Queue&, AnyMatrix rows, std::int64_t first, const PivotCandidate* found,
                  const PivotOffers& offers, std::int64_t* pivot, FactorStatus*) override {
    if (Memory::real(pivot) && offers.data != nullptr)
      *pivot = self().draw_row(first);
    else if (Memory::real(pivot) && Memory::real(found))
      *pivot = first + found->row;
    elements(OperationKind::exchange, rows.precision, 2 * parts_of(rows.field), rows.columns);
  }
  void eliminate(Queue&, ConstAnyMatrix, AnyMatrix rows, PivotCandidate* next) override {
    if (rows.columns > 1) draw(next, rows.rows);
    const auto parts = static_cast<double>(parts_of(rows.field));
    const double m = parts * static_cast<double>(rows.rows);
    const double n = parts * static_cast<double>(rows.columns);
    if (!rows.empty()) operate(OperationKind::eliminate, rows.precision, 2 * m * n, m, n, 1);
  }
  void solve_unit_lower(Queue& queue, ConstAnyMatrix l, AnyMatrix b) override {
    solve_left_lower(queue, l, b, b.precision, {});
  }
  void subtract(Queue&, ConstAnyMatrix a, ConstAnyMatrix, AnyMatrix c) override {
    const std::int64_t parts = parts_of(c.field);
    if (!c.empty()) multiply(c.precision, parts * c.rows, c.columns, parts * a.columns);
  }
  void permute_rows(Queue&, const std::int64_t*, const std::int64_t*, std::int64_t count,
                    AnyMatrix a) override {
    elements(OperationKind::exchange, a.block(0, 0, count, a.columns));
  }
  void gather_rows(Queue&, const std::int64_t*, ConstAnyMatrix, AnyMatrix to) override {
    elements(OperationKind::exchange, to);
  }
  void scatter_rows(Queue&, const std::int64_t*, ConstAnyMatrix from, AnyMatrix) override {
    elements(OperationKind::exchange, from);
  }

  void subtract_product(Queue&, Transpose, ConstAnyMatrix a, ConstAnyMatrix x, AnyMatrix) override {
    if (as_product(a, x))
      return a.empty() ? void() : multiply(a.precision, a.rows, x.columns, a.columns);
    elements(OperationKind::vector_product, a);
  }
  void solve_lower(Queue&, Transpose, ConstAnyMatrix lu, AnyMatrix x) override { sweep(lu, x); }
  void solve_upper(Queue&, Transpose, ConstAnyMatrix lu, AnyMatrix x) override { sweep(lu, x); }
  void add(Queue&, ConstAnyMatrix x, AnyMatrix) override { elements(OperationKind::convert, x); }
  void multiply_generated(Queue&, const MatrixSpec&, const Distribution& rows,
                          const Distribution& columns, const double*, double*, double*,
                          double*) override {
    elements(OperationKind::pass, Precision::fp64, rows.local_size(), columns.local_size());
  }
  void add_pairs(Queue&, Pairs, ConstAnyMatrix x, AnyMatrix) override {
    elements(OperationKind::convert, x);
  }
  void spread_pairs(Queue&, ConstAnyMatrix, AnyMatrix y) override {
    elements(OperationKind::convert, y);
  }

  // A user's matrix ------------------------------------------------------------------------------

  void multiply(Queue&, Transpose, ConstAnyMatrix a, MatrixView<const double>, MatrixView<double>,
                double*, MatrixView<double>, MatrixChecksum*) override {
    elements(OperationKind::vector_product, a);
  }
  void scale(Queue&, ConstAnyMatrix, const double*, const double*, AnyMatrix to) override {
    elements(OperationKind::convert, to);
  }
  void take_magnitudes(Queue&, AnyMatrix a) override { elements(OperationKind::convert, a); }
  void add_entries(Queue&, const MatrixEntry*, std::int64_t, AnyMatrix) override { refuse(); }
  void largest_of_rows(Queue&, ConstAnyMatrix, const double*, double*, std::uint64_t*) override {
    refuse();
  }
  void largest_of_columns(Queue&, ConstAnyMatrix, const double*, double*, std::uint64_t*) override {
    refuse();
  }
  void checksums_of_columns(Queue&, ConstAnyMatrix, std::uint64_t*) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw Fault("this operation has no simulated time"); }

  static void pass(double seconds) {
    Rank& rank = self();
    rank.owe(std::max(rank.device().start, seconds));
    if (rank.owed >= short_time) rank.pay();
  }
  static void operate(OperationKind kind, Precision precision, double work, double m, double n,
                      double k) {
    const DeviceModel& device = self().device();
    if (work > 0) pass(device.of(kind, row_of(device, kind, precision)).seconds(work, m, n, k));
  }
  static void elements(OperationKind kind, Precision precision, std::int64_t rows,
                       std::int64_t columns) {
    const auto m = static_cast<double>(rows);
    const auto n = static_cast<double>(columns);
    operate(kind, precision, m * n, m, n, 1);
  }
  static void elements(OperationKind kind, ConstAnyMatrix m) {
    const ConstAnyMatrix numbers = m.real();
    elements(kind, m.precision, numbers.rows, numbers.columns);
  }
  // B has so many columns of numbers: real and imaginary parts count apart.
  static void solve_left(ConstAnyMatrix lu, std::int64_t columns, Precision precision) {
    const auto n = static_cast<double>(parts_of(lu.field) * columns);
    const auto k = static_cast<double>(lu.rows);
    operate(OperationKind::solve_left, precision, n * k * k, 1, n, k);
  }
  static void multiply(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto rows = static_cast<double>(m);
    const auto columns = static_cast<double>(n);
    const auto width = static_cast<double>(k);
    operate(OperationKind::product, precision, 2 * rows * columns * width, rows, columns, width);
  }
  // Few vectors' solve reads half of the block, once for all.
  static void sweep(ConstAnyMatrix lu, ConstAnyMatrix x) {
    if (as_product(lu, x)) return solve_left(lu, x.columns, x.precision);
    elements(OperationKind::vector_product, lu.block(0, 0, ceil_div(lu.rows, 2), lu.columns));
  }
  static void draw(PivotCandidate* found, std::int64_t rows) {
    if (!Memory::real(found)) return;
    Rank& rank = self();
    *found = {};
    if (rows > 0)
      *found = {0.5 + rank.draw(),
                static_cast<std::int64_t>(rank.draw() * static_cast<double>(rows))};
  }
  static void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
    if (Memory::real(from) && Memory::real(to)) std::memcpy(to, from, bytes);
    pass(2 * static_cast<double>(bytes) / self().device().bandwidth);
  }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const RunContext& run) {
  return std::make_unique<PaperCpu>(run);
}

}  // namespace speedwell::paper
