// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One NVIDIA GPU. Its products run by cuBLASLt, its FP64 products and solves by cuBLAS, and all
/// other operations by kernels of our own (kernels/cuda).
///
/// A factored diagonal block in FP32 has the inverses of its triangles in blocks of
/// `triangle_order` on its diagonal, so that solves are products. For block s of the unknowns,
///   X_s <- (B_s - sum_{t<s} X_t U_ts) U_ss^-1.
/// If the result will be rounded to 16 bits, the products of the sum read FP16. The product with
/// the inverse then reads each factor as the sum of two BF16 numbers, which keeps 16 bits of it.
///
/// Complex triangles, panels and diagonal blocks are solved and multiplied by cuBLAS as they are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/kernels.hpp"
#include "device/cuda/cuda_hooks.hpp"
#include "device/cuda/gpu_resources.hpp"
#include "device/cuda/lane.hpp"
#include "device/cuda/peers.hpp"
#include "device/cuda/products.hpp"
#include "device/cuda/variants.hpp"
#include "device/device.hpp"

namespace speedwell {

/// The oldest major compute capability for which the kernels are compiled.
constexpr int least_capability = 8;

/// The results of cuda_devices() and cuda_has_alone(), from inside the library.
CudaDevices gpus_here();
bool gpu_has_alone(const void* data);

/// A distribution in the form that kernels take.
inline Cyclic cyclic(const Distribution& d) {
  return {d.block(), d.processes(), d.me()};
}

/// Bytes of scratch memory for permutations of more rows than cuda::permute_rows can move. They fit
/// into the GPU's cache.
constexpr std::int64_t permute_scratch = std::int64_t{8} << 20;

/// Bytes of scratch memory for a solve with a complex triangle of order n and `columns` of vectors
/// in planes: a copy of the triangle in FP64, and the vectors in pairs.
constexpr std::int64_t complex_scratch(std::int64_t n, std::int64_t columns) {
  return 2 * n * (n + columns) * bytes_of(Precision::fp64);
}

class CudaDevice : public Device {
 public:
  /// @throws UsageError if there is no GPU of that ordinal
  explicit CudaDevice(const DeviceOptions& options);
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string description() const override;
  std::string fp64_products() const override;
  bool native(Precision) const override { return true; }
  bool overlaps() const override { return true; }
  void share(double part) override { panel_part_ = part; }
  void rehearse(bool on) override { products().rehearse(on); }
  std::vector<ProductChoice> product_choices() const override { return products().choices(); }
  std::vector<VariantChoice> variant_choices() const override { return variants_.all(); }
  bool shares_host_memory() const override { return false; }
  bool can_read(const void* data) const override;
  void synchronize_all() override;
  std::optional<DeviceMemory> memory() const override;

  void keep_memory(bool on) override { resources_->memory->keep(on); }
  Buffer allocate(std::int64_t bytes) override;
  Buffer allocate_host(std::int64_t bytes) override;
  std::unique_ptr<Queue> make_queue(Priority priority) override;
  void prepare(Queue& queue, const QueueWork& work) override;
  void write(Queue& queue, std::span<const std::byte> host, std::byte* device) override;
  void read(Queue& queue, const std::byte* device, std::span<std::byte> host) override;
  void write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) override;
  PeerSupport peer_support() const override;
  std::vector<std::byte> make_peer_id() override;
  std::unique_ptr<PeerGroup> join_peers(std::span<const std::byte> id, int rank, int size) override;
  void end_peers() override;
  void clear(Queue& queue, std::span<std::byte> device) override;
  void copy(Queue& queue, ConstAnyMatrix from, AnyMatrix to) override;

  void generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                const Distribution& columns, AnyMatrix a) override;
  void factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                       FactorStatus* status) override;
  void prepare_diagonal(Queue& queue, AnyMatrix lu) override;
  std::int64_t inverted_order(Precision storage) const override {
    return storage == Precision::fp64 ? 0 : cuda::triangle_order;
  }
  void prepare_solves(Queue& queue, Triangle triangle, ConstAnyMatrix lu, Precision purpose,
                      std::int64_t vectors) override;
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
  bool factor_leaf(Queue& queue, AnyMatrix panel, std::int64_t begin, std::int64_t end,
                   std::int64_t first, std::int64_t* pivots, FactorStatus* status) override;
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
  void checksums_of_columns(Queue& queue, ConstAnyMatrix a, std::uint64_t* sums) override;
  void largest_of_columns(Queue& queue, ConstAnyMatrix a, const double* scale, double* most,
                          std::uint64_t* checksums) override;
  void scale(Queue& queue, ConstAnyMatrix from, const double* row_scale, const double* column_scale,
             AnyMatrix to) override;
  void take_magnitudes(Queue& queue, AnyMatrix a) override;

 private:
  void use() const;
  const cudaDeviceProp& properties() const { return resources_->properties; }
  Products& products() const { return *resources_->products; }
  int multiprocessors_for(Priority priority) const;
  int panel_multiprocessors(double part) const;
  void add_parts(Lane& lane, double least);
  Lane& lane(Queue& queue) const;
  Fp64Products products_of(const Lane& on, MatrixView<const double> c, std::int64_t inner) const;
  void factor(Lane& lane, MatrixView<float> a, std::int64_t begin, FactorStatus* status);
  void factor_at_once(Lane& lane, MatrixView<float> a, std::int64_t begin, FactorStatus* status);
  bool leaf_at_once(Queue& queue, AnyMatrix panel, std::int64_t begin, std::int64_t end,
                    std::int64_t first, std::int64_t* pivots, FactorStatus* status);
  void invert(Lane& lane, Triangle triangle, MatrixView<float> a, std::int64_t from);
  void combine_inverses(Lane& lane, Triangle triangle, MatrixView<float> a, std::int64_t half);
  void make_inverse(Queue& queue, Triangle triangle, MatrixView<const float> lu);
  void solve_panel(Lane& lane, Triangle triangle, MatrixView<const float> lu, MatrixView<float> b,
                   Precision purpose, AnyMatrix room);
  void solve_by_inverse(Lane& lane, Triangle triangle, MatrixView<float> b, AnyMatrix room);
  void make_blocks(Lane& lane, MatrixView<const double> lu);
  void solve_by_blocks(Queue& queue, MatrixView<const double> lu, MatrixView<double> b,
                       MatrixView<double> room);
  void solve_exactly(Lane& lane, Triangle triangle, MatrixView<const float> lu,
                     MatrixView<float> b);
  void solve_rounded(Lane& lane, Triangle triangle, MatrixView<const float> lu,
                     MatrixView<float> b);
  void left_upper(Lane& lane, MatrixView<const float> lu, MatrixView<float> b);
  void solve(Queue& queue, Triangle triangle, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x);
  static std::int64_t inverse_scratch(std::int64_t n) {
    return n * n * std::int64_t{sizeof(float)};
  }
  static std::int64_t solve_scratch(Triangle triangle, std::int64_t n, std::int64_t vectors);
  /// Right-hand sides from which solves with triangles of order n take inverses.
  std::int64_t least_inverted(Precision triangle, std::int64_t n) const;
  std::int64_t leaf_scratch() const;
  bool inverts_blocks() const {
    return properties().sharedMemPerBlockOptin >= cuda::inverted_lower_bytes;
  }

  // Each reserves memory for an operation, makes its trial at first, and returns the scratch memory
  // that it needs.
  std::int64_t prepare_factors(Queue& queue, std::int64_t n);
  std::int64_t prepare_solvers(Queue& queue, const QueueWork& work);
  void prepare_blocks(Queue& queue, std::int64_t n, std::int64_t vectors);
  std::int64_t prepare_leaves(Queue& queue, Precision precision, std::int64_t rows);
  void judge_inverses(Lane& lane, Precision triangle);
  /// Both variants of an operation, on the same operands.
  struct Trial {
    std::function<void()> operands;  ///< makes them anew
    std::function<void()> few;
    std::function<void()> many;
    ConstAnyMatrix result;  ///< contiguous
    double rounding;        ///< largest difference of the results; 0: all bits must be equal
  };
  VariantChoice try_both(Queue& queue, const Trial& trial, FactorStatus* status);
  VariantChoice try_inverses(Queue& queue, const Trial& trial, const std::function<void()>& invert,
                             std::int64_t m, FactorStatus* status);
  VariantChoice try_diagonal(Queue& queue, std::int64_t n);
  VariantChoice try_solves(Queue& queue, std::int64_t n);
  VariantChoice try_blocks(Queue& queue, std::int64_t n);
  template <class T>
  VariantChoice try_leaf(Queue& queue, std::int64_t rows);
  std::vector<double> time_in_turns(Queue& queue, const std::function<void()>& operands,
                                    const std::vector<std::function<void()>>& runs);
  Buffer trial_memory(Lane& lane, std::int64_t bytes, std::int64_t scratch);
  PlaceKeys place_keys(Queue& queue, ConstAnyMatrix a);
  std::int64_t pass_scratch(std::int64_t rows, std::int64_t columns, int sums) const;
  void permute_many(Lane& lane, const std::int64_t* from, const std::int64_t* to,
                    std::int64_t count, AnyMatrix a);

  int gpu_;
  int reserved_;
  Fp64Products fp64_;
  double panel_part_ = 0;
  std::shared_ptr<GpuResources> resources_;
  Variants variants_;
  bool grown_ = false;  // an inverse has grown too much for solves
  bool grown64_ = false;
  std::shared_ptr<Peers> peers_;
  Buffer keys_;  // of checksums: of so many rows, and of as many columns
  std::int64_t keyed_ = 0;
};

}  // namespace speedwell
