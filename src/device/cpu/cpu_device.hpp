// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The device of every machine: its processor, by OpenBLAS, by oneDNN where the processor has BF16
/// instructions, and by loops of our own with OpenMP threads. An operation is done when its call
/// returns, and leaves the program's numbers of threads as they were. Callers of many small
/// operations should open a ThreadScope around them: setting OpenBLAS's number of threads for each
/// may take a microsecond.
#pragma once

#include "device/device.hpp"
#include "host/thread_scope.hpp"

namespace speedwell {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads, const RunContext& run = RunContext::none());

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override;
  bool native(Precision precision) const override;

  Buffer allocate(std::int64_t bytes) override;
  void prepare(Queue& queue, const QueueWork& work) override;
  std::unique_ptr<Queue> make_queue(Priority priority) override;
  void write(Queue& queue, std::span<const std::byte> host, std::byte* device) override;
  void read(Queue& queue, const std::byte* device, std::span<std::byte> host) override;
  void write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) override;
  void clear(Queue& queue, std::span<std::byte> device) override;
  void copy(Queue& queue, ConstAnyMatrix from, AnyMatrix to) override;

  void generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                const Distribution& columns, AnyMatrix a) override;
  void factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                       FactorStatus* status) override;
  void prepare_diagonal(Queue& queue, AnyMatrix lu) override;
  void solve_right_upper(Queue& queue, MatrixView<const float> lu, MatrixView<float> b,
                         Precision purpose, AnyMatrix room) override;
  void solve_left_lower(Queue& queue, ConstAnyMatrix lu, AnyMatrix b, Precision purpose,
                        AnyMatrix room) override;
  void cast(Queue& queue, ConstAnyMatrix from, double sign, AnyMatrix to, PanelControl* control,
            FactorStatus* status) override;
  void update(Queue& queue, ConstAnyMatrix l, const PanelControl* l_control, ConstAnyMatrix u,
              const PanelControl* u_control, AnyMatrix c, const Poll& poll) override;

  void find_pivot(Queue& queue, ConstAnyMatrix column, PivotCandidate* found) override;
  void offer_pivot(Queue& queue, ConstAnyMatrix rows, const PanelRows& of,
                   const PivotCandidate* found, std::byte* offer) override;
  void take_pivot(Queue& queue, AnyMatrix rows, std::int64_t first, const PivotCandidate* found,
                  const PivotOffers& offers, std::int64_t* pivot, FactorStatus* status) override;
  void eliminate(Queue& queue, ConstAnyMatrix pivot_row, AnyMatrix rows,
                 PivotCandidate* next) override;
  void solve_unit_lower(Queue& queue, ConstAnyMatrix l, AnyMatrix b) override;
  void subtract(Queue& queue, ConstAnyMatrix a, ConstAnyMatrix b, AnyMatrix c) override;
  void permute_rows(Queue& queue, const std::int64_t* from, const std::int64_t* to,
                    std::int64_t count, AnyMatrix a) override;
  void gather_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                   AnyMatrix to) override;
  void scatter_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                    AnyMatrix to) override;

  void subtract_product(Queue& queue, Transpose transpose, ConstAnyMatrix a, ConstAnyMatrix x,
                        AnyMatrix y) override;
  void solve_lower(Queue& queue, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) override;
  void solve_upper(Queue& queue, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) override;
  void add(Queue& queue, ConstAnyMatrix x, AnyMatrix y) override;
  void add_pairs(Queue& queue, Pairs pairs, ConstAnyMatrix x, AnyMatrix y) override;
  void spread_pairs(Queue& queue, ConstAnyMatrix x, AnyMatrix y) override;
  void multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                          const Distribution& columns, const double* x, double* ax,
                          double* abs_rows, double* abs_ax) override;

  void add_entries(Queue& queue, const MatrixEntry* entries, std::int64_t count,
                   AnyMatrix a) override;
  void multiply(Queue& queue, Transpose transpose, ConstAnyMatrix a, MatrixView<const double> x,
                MatrixView<double> ax, double* abs_rows, MatrixView<double> abs_ax,
                MatrixChecksum* checksum) override;
  bool multiplies_extended() const override { return true; }
  void multiply_extended(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                         MatrixView<const double> x, MatrixView<double> ax, double* abs_rows,
                         MatrixView<double> abs_ax, MatrixChecksum* checksum) override;
  void largest_of_rows(Queue& queue, ConstAnyMatrix a, const double* scale, double* most,
                       std::uint64_t* checksums) override;
  void checksums_of_columns(Queue& queue, ConstAnyMatrix any, std::uint64_t* to) override;
  void largest_of_columns(Queue& queue, ConstAnyMatrix a, const double* scale, double* most,
                          std::uint64_t* checksums) override;
  void scale(Queue& queue, ConstAnyMatrix from, const double* row_scale, const double* column_scale,
             AnyMatrix to) override;
  void take_magnitudes(Queue& queue, AnyMatrix a) override;

 private:
  /// Does an operation's work on the device's threads, or leaves it out where the run has
  /// ended. All operations go through here but transfers and the choice of pivots.
  template <class Body>
  void work(const Body& body) const {
    if (ended()) return;
    const ThreadScope scope(threads_);
    body();
  }
  /// The same with a view of `matrix` in its precision.
  template <class Matrix, class Body>
  void work_on(const Matrix& matrix, const Body& body) const {
    work([&] { with_storage(matrix, body); });
  }
  /// multiply(), or multiply_extended() with X, X_low and the three parts of the product.
  void multiply_in_pass(Transpose transpose, MatrixView<const double> a, bool extended,
                        MatrixView<const double> x, MatrixView<double> ax, double* abs_rows,
                        MatrixView<double> abs_ax, MatrixChecksum* checksum) const;
  /// The same of a matrix that may be complex.
  template <class Matrix, class Body>
  void work_on_numbers(const Matrix& matrix, const Body& body) const {
    work([&] { with_numbers(matrix, body); });
  }
  /// The same with a view for moves of whole elements, of 16 bits too.
  template <class Matrix, class Body>
  void move(const Matrix& matrix, const Body& body) const {
    work([&] { with_elements(matrix, body); });
  }
  template <class T>
  T largest(MatrixView<const T> a) const;
  bool ended() const { return run().ended(); }
  /// C <- C + alpha A B, or C <- C + alpha A^T B, in parts between which the interrupt is asked.
  template <class T>
  void multiply_in_parts(T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c,
                         Transpose transpose = Transpose::no) const;
  /// Whether oneDNN computes products of this precision.
  bool by_onednn(Precision precision) const { return precision == Precision::bf16 && native_bf16_; }
  /// Whether an update of m x n elements, each the sum of k products, is made of tiles: where that
  /// is measured to be faster, and takes longer than what is prepared for tiles, such as code for
  /// their shapes.
  bool by_tiles(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) const;

  int threads_;
  bool native_bf16_;
  Buffer left_;  // L and part of U in FP32, for emulated updates; kept between calls
  Buffer right_;
  Buffer sums_;  // a part of a C of 16 bits, in FP32
};

}  // namespace speedwell
