// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The dense operations that the distributed algorithms need, wherever they run.
///
/// All pointers in arguments are device memory unless said otherwise; on the CPU that is ordinary
/// memory. An operation runs on the Queue that it is given, in order; the call may return before it
/// is done. Only `synchronize`, `wait` on an event, `download` and `upload` wait, and whatever
/// releases device memory or a queue. Matrices are column-major. What MatrixSpec::diagonal points
/// to is host memory, and stays as it is until the queue is through.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/expects.hpp"
#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "core/stall_watch.hpp"
#include "device/buffer.hpp"
#include "device/peer_group.hpp"
#include "device/queue.hpp"
#include "element/matrix_spec.hpp"
#include "grid/distribution.hpp"

namespace lupine {

/// What travels beside a panel and is control data: how it was scaled.
struct PanelControl {
  double scale = 1;  ///< |stored| = round(scale * |value|); a power of two
};

/// What a factorization has met so far, in device memory. Operations only ever add to it.
struct FactorStatus {
  std::int64_t bad_pivot = -1;  ///< global index of the first zero or non-finite pivot
  std::int64_t nonfinite = 0;   ///< > 0: Inf or NaN in a panel
};

/// Where a column's pivot is, among the rows that were looked at.
struct PivotCandidate {
  double magnitude = -1;  ///< infinity for Inf and NaN; -1: there were no rows
  std::int64_t row = -1;
};

/// Memory of a device that is not its host's.
struct DeviceMemory {
  std::int64_t free = 0;   ///< bytes
  std::int64_t total = 0;  ///< bytes
  std::string identity;    ///< ranks with the same one share it
  std::string name;        ///< for messages: "GPU 3"
};

/// Called now and then while a long operation runs on the calling thread, to move messages on.
using Poll = std::function<void()>;

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;
  /// "AMD EPYC, 2 threads, OpenBLAS 0.3.21 (Zen), oneDNN 2.6.3".
  virtual std::string description() const = 0;
  /// Whether the update has instructions of its own for this precision; others are emulated with
  /// the same rounding.
  virtual bool native(Precision precision) const = 0;
  /// The fastest 16-bit precision here.
  virtual Precision fastest_16bit() const = 0;

  /// Whether operations of different queues run side by side, and calls return before they are
  /// done: then an update is given before the panel that it hides.
  virtual bool overlaps() const { return false; }
  /// Until the next call, `part` (0 to 1) of the work that is given at a time is that of panels and
  /// block rows, on queues of raised and high priority, beside an update. 0: nothing runs beside
  /// it.
  virtual void share(double /*part*/) {}
  /// While on, a matrix product is left out where one of its kind (type, class of sizes, part of
  /// the device) was computed since: what an algorithm would choose, load and allocate is there
  /// after the same calls, in little time, and numbers stay finite if each product leaves them so.
  virtual void rehearse(bool /*on*/) {}
  /// Whether device memory is the host's, so that MPI may be given its addresses.
  virtual bool shares_host_memory() const { return true; }
  /// Nothing where the device's memory is the host's.
  virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }

  /// @throws Fault "out of memory: ..." with the size.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  /// Host memory that the device reads and writes at full speed while the host goes on.
  /// @throws Fault "out of memory: ..." with the size.
  virtual Buffer allocate_host(std::int64_t bytes) { return allocate(bytes); }
  virtual std::unique_ptr<Queue> make_queue(Priority priority) = 0;
  /// Copies between host and device. With memory of allocate_host the call does not wait, and the
  /// memory must stay as it is until the queue is through.
  virtual void write(Queue& queue, std::span<const std::byte> host, std::byte* device) = 0;
  virtual void read(Queue& queue, const std::byte* device, std::span<std::byte> host) = 0;
  /// The same for a matrix in host memory; same shape and precision.
  virtual void write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) = 0;
  /// The same for a contiguous range in any host memory; waits.
  template <class Range, class T>
  void upload(Queue& queue, const Range& host, T* device) {
    const std::span<const T> values(host);
    queue.synchronize();  // a copy of such memory would wait inside of CUDA, unseen
    write(queue, std::as_bytes(values), reinterpret_cast<std::byte*>(device));
    queue.synchronize();
  }
  template <class T, class Range>
  void download(Queue& queue, const T* device, Range&& host) {
    const std::span<T> values(host);
    queue.synchronize();
    read(queue, reinterpret_cast<const std::byte*>(device), std::as_writable_bytes(values));
    queue.synchronize();
  }

  /// Whether, and by what, such devices can send to each other without their hosts.
  virtual PeerSupport peer_support() const { return {"", "its memory is the host's"}; }
  bool connects_peers() const { return peer_support().why_none.empty(); }
  /// What all ranks of a PeerGroup have to know, made on one of them. @pre connects_peers()
  virtual std::vector<std::byte> make_peer_id() {
    LUPINE_EXPECTS(connects_peers());
    return {};
  }
  /// Collective over the group's ranks, each of which must have a device of its own.
  /// @throws Fault unless connects_peers()
  virtual std::unique_ptr<PeerGroup> join_peers(std::span<const std::byte> id, int rank, int size);

  /// Is told when the host waits for the device, or for peers; null: nobody is.
  virtual void set_stalls(StallWatch* /*stalls*/) {}
  /// Gives up what it has with peers, since the program is about to end. From any thread.
  virtual void end_peers() {}

  /// to <- from, same shape and precision, FP32 or FP64.
  virtual void copy(Queue& queue, ConstAnyMatrix from, AnyMatrix to) = 0;

  // Factorization, in storage precision: FP32 or FP64 -----------------------------------------

  /// A <- the rank's part of the matrix, rounded to what A stores. a: rows.local_size() x
  /// columns.local_size().
  virtual void generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                        const Distribution& columns, AnyMatrix a) = 0;
  /// A <- L\U without pivoting, L unit lower, in FP32, in the form that the solves below read. A
  /// device may keep inverses of the triangles on the diagonal: see inverted_order().
  /// Notes begin + i for the first pivot i that is zero or not finite; what A holds then is not
  /// specified.
  virtual void factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                               FactorStatus* status) = 0;
  /// Brings a diagonal block L\U, factored with pivoting, to the form that the solves below read.
  virtual void prepare_diagonal(Queue& queue, AnyMatrix lu) = 0;
  /// 0: a diagonal block that the solves read is L\U. m > 0: in its m x m blocks on the diagonal
  /// (the last may be smaller) L^-1\U^-1 stand in place of L\U.
  virtual std::int64_t inverted_order(Precision /*storage*/) const { return 0; }
  /// B <- B U^-1, U upper triangle of lu, in FP32. Where the result will be rounded to 16 bits
  /// (`purpose`), blocks of the product may read what they multiply with as many bits as the update
  /// does, or 11.
  virtual void solve_right_upper(Queue& queue, MatrixView<const float> lu, MatrixView<float> b,
                                 Precision purpose) = 0;
  /// B <- L^-1 B, L unit lower triangle of lu, FP32 or FP64; `purpose` as for solve_right_upper.
  virtual void solve_left_lower(Queue& queue, ConstAnyMatrix lu, AnyMatrix b,
                                Precision purpose) = 0;
  /// to <- round(sign * s * from), s = 2^e in control->scale: fp16 takes the largest e that keeps
  /// |to| < 2^15 (no overflow, fewest subnormals), the others take e = 0. sign: +-1. Notes Inf and
  /// NaN. From FP64 to FP64, else from FP32 to any of 32 bits or fewer.
  virtual void cast(Queue& queue, ConstAnyMatrix from, double sign, AnyMatrix to,
                    PanelControl* control, FactorStatus* status) = 0;
  /// C <- C + L U / (scale of L * scale of U), products of the rounded values accumulated in what C
  /// stores. The minus sign of the factorization's update is in U, by the sign of its cast. Scales
  /// are those that cast gave: 1 but for fp16. A device on which the call returns early need not
  /// poll.
  virtual void update(Queue& queue, ConstAnyMatrix l, const PanelControl* l_control,
                      ConstAnyMatrix u, const PanelControl* u_control, AnyMatrix c,
                      const Poll& poll) = 0;

  // Panels with pivoting; all views of one precision, FP32 or FP64 -----------------------------

  /// *found <- the first entry of the largest magnitude; NaN counts as infinite. column: m x 1;
  /// m = 0 finds {-1, -1}.
  virtual void find_pivot(Queue& queue, ConstAnyMatrix column, PivotCandidate* found) = 0;
  /// Row 0 and row found->row of `rows` change places; *pivot <- first + found->row. Notes `first`
  /// as bad pivot if the magnitude found is zero or not finite.
  virtual void take_pivot(Queue& queue, AnyMatrix rows, std::int64_t first,
                          const PivotCandidate* found, std::int64_t* pivot,
                          FactorStatus* status) = 0;
  /// One column's elimination, p the pivot's row (1 x c), rows m x c:
  ///     l_i <- rows(i,0) / p(0),  rows(i,j) <- rows(i,j) - l_i p(j) for j > 0,  rows(i,0) <- l_i
  /// and, where c > 1, *next <- the pivot of column 1 of the result as find_pivot finds it. With
  /// p(0) = 0, rows stay as they are.
  virtual void eliminate(Queue& queue, ConstAnyMatrix pivot_row, AnyMatrix rows,
                         PivotCandidate* next) = 0;
  /// B <- L^-1 B, L the unit lower triangle of l, which no prepare_diagonal has seen.
  virtual void solve_unit_lower(Queue& queue, ConstAnyMatrix l, AnyMatrix b) = 0;
  /// C <- C - A B.
  virtual void subtract(Queue& queue, ConstAnyMatrix a, ConstAnyMatrix b, AnyMatrix c) = 0;
  /// a(to[i], :) <- a(from[i], :) for all i < count at once: a permutation where `to` holds what
  /// `from` holds. Indices in device memory, no one twice in `to`.
  virtual void permute_rows(Queue& queue, const std::int64_t* from, const std::int64_t* to,
                            std::int64_t count, AnyMatrix a) = 0;
  /// to(i, :) <- from(rows[i], :); rows has to.rows indices in device memory.
  virtual void gather_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                           AnyMatrix to) = 0;
  /// to(rows[i], :) <- from(i, :); rows has from.rows indices in device memory.
  virtual void scatter_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                            AnyMatrix to) = 0;

  // Refinement, FP64 ------------------------------------------------------------------------

  /// y <- y - A x, or y - A^T x (x: a.rows entries, y: a.columns), A in FP32 or FP64, x and y FP64,
  /// products and sums in FP64.
  virtual void subtract_product(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                                const double* x, double* y) = 0;
  /// x <- L^-1 x (unit lower) or U^-1 x, or L^-T x, U^-T x, of a diagonal block lu that the solves
  /// read, sums in FP64.
  virtual void solve_lower(Queue& queue, Transpose transpose, ConstAnyMatrix lu, double* x) = 0;
  virtual void solve_upper(Queue& queue, Transpose transpose, ConstAnyMatrix lu, double* x) = 0;
  /// y <- y + x, n entries.
  virtual void add(Queue& queue, std::int64_t n, const double* x, double* y) = 0;
  /// One pass over the rank's part of A, regenerated in FP64:
  /// ax <- A x; and where not null: abs_rows <- sum_j |a_ij|; abs_ax <- |A| |x|.
  /// x: columns.local_size(); the others: rows.local_size().
  virtual void multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                                  const Distribution& columns, const double* x, double* ax,
                                  double* abs_rows, double* abs_ax) = 0;

  // A user's matrix, in FP64; every sum is the same for any number of threads -------------------

  /// Adds `count` values to elements of A, in their order. Entries of one place follow each other.
  virtual void add_entries(Queue& queue, const MatrixEntry* entries, std::int64_t count,
                           AnyMatrix a) = 0;
  /// One pass over A: ax <- A x; and where not null: abs_rows <- sum_j |a_ij|; abs_ax <- |A| |x|.
  virtual void multiply(Queue& queue, ConstAnyMatrix a, const double* x, double* ax,
                        double* abs_rows, double* abs_ax) = 0;
  /// most_i <- max_j |a_ij| scale_j: infinity if there is an Inf or NaN among them, 0 where there
  /// are no columns. scale: not negative; null: ones.
  virtual void largest_of_rows(Queue& queue, ConstAnyMatrix a, const double* scale,
                               double* most) = 0;
  /// most_j <- max_i scale_i |a_ij|; Inf and NaN, no rows and null as for largest_of_rows.
  virtual void largest_of_columns(Queue& queue, ConstAnyMatrix a, const double* scale,
                                  double* most) = 0;
  /// to_ij <- (row_scale_i from_ij) column_scale_j, products in FP64 and in this order, rounded
  /// once to what `to` stores, FP32 or FP64; null: ones. Row scales with row_scale_i |from_ij| <= 1
  /// keep the first product from overflowing. `to` may be `from`.
  virtual void scale(Queue& queue, ConstAnyMatrix from, const double* row_scale,
                     const double* column_scale, AnyMatrix to) = 0;
};

struct DeviceOptions {
  DeviceKind kind = DeviceKind::cpu;  ///< automatic: a GPU if there is one
  int threads = 1;                    ///< that the CPU device may use, >= 1
  int gpu = 0;                        ///< ordinal among those that this process sees
  int reserved = -1;  ///< multiprocessors that updates leave to the panels; -1: by share()
};

/// @throws UsageError for a device that was not built or is not there; Fault
std::unique_ptr<Device> make_device(const DeviceOptions& options);

/// GPUs that this process sees: none where Lupine was built without CUDA or there is no driver.
int count_gpus();
/// Why count_gpus() is 0, in words; empty if it is not.
std::string why_no_gpus();

}  // namespace lupine
