// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The dense operations that the distributed algorithms need. Each kind of device implements them.
///
/// Pointers in arguments point to device memory, unless a comment says otherwise; on the CPU that
/// is ordinary memory. An operation runs in order on the Queue that it is given, and the call may
/// return before the operation is done. The host waits only in Queue::synchronize, Event::wait,
/// upload and download, and where device memory or a queue is released. Matrices are column-major.
/// MatrixSpec::diagonal points to host memory, which must not change before the queue is done.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/expects.hpp"
#include "core/matrix_view.hpp"
#include "core/numbers.hpp"
#include "core/run_context.hpp"
#include "core/scalar.hpp"
#include "device/buffer.hpp"
#include "device/paper.hpp"
#include "device/peer_group.hpp"
#include "device/product_choice.hpp"
#include "device/queue.hpp"
#include "element/checksum.hpp"
#include "element/matrix_spec.hpp"
#include "grid/distribution.hpp"

namespace speedwell {

/// The control data of a rounded panel: its scale.
struct PanelControl {
  double scale = 1;  ///< a power of two: |stored| = round(scale * |value|)
};

/// The failures that a factorization has met so far, in device memory. Operations record a failure
/// here, and never clear one.
struct FactorStatus {
  std::int64_t bad_pivot = -1;  ///< global index of the first zero or non-finite pivot
  std::int64_t nonfinite = 0;   ///< above 0 once a panel has held an Inf or a NaN
  std::int64_t stuck = 0;       ///< above 0 once a kernel has given up a wait for itself
};

/// The entry of the largest magnitude in the searched rows of a column.
struct PivotCandidate {
  double magnitude = -1;  ///< infinity for an Inf or NaN; -1 if there were no rows
  std::int64_t row = -1;  ///< 0-based among the searched rows; -1 if there were none
};

/// Which rows of the whole matrix the rows of a panel are, on one rank of a process column.
struct PanelRows {
  std::int64_t begin = 0;         ///< the row of the whole matrix that is row 0
  std::int64_t shared = 0;        ///< rows begin, ..., begin + shared - 1, which all ranks hold
  LocalIndex below;               ///< then follow this rank's own rows from this one on,
  const Distribution* rows = {};  ///< distributed so
};

/// What the ranks of a process column offer as the pivot of a column, in device memory. Each offer
/// is a PivotCandidate, whose row is one of the whole matrix, and then that row's values.
struct PivotOffers {
  const std::byte* data = nullptr;  ///< of all ranks, in rank order; null: this rank is alone
  int count = 0;                    ///< of ranks
  int mine = 0;                     ///< the number of this rank
  std::int64_t shared = 0;          ///< as in PanelRows

  /// The bytes of one offer for these rows.
  static std::int64_t bytes(ConstAnyMatrix rows) {
    const auto unit = std::int64_t{sizeof(PivotCandidate)};
    return unit + round_up(rows.columns * rows.element_bytes(), unit);
  }
};

/// The memory of a device that has its own.
struct DeviceMemory {
  std::int64_t free = 0;   ///< bytes
  std::int64_t total = 0;  ///< bytes
  std::string identity;    ///< equal for ranks that share this memory
  std::string name;        ///< for messages: "GPU 3"
  std::int64_t most = 0;   ///< bytes that this Device has had at once at most
};

/// What the columns of a matrix with pairs of numbers (re over im) are. Two belong to one complex
/// vector z.
enum class Pairs {
  value_alone,  ///< z and a column that does not count
  sums          ///< p and q with z = p + i q
};

/// Moves messages on. A long operation calls it now and then while it runs on the calling thread.
using Poll = std::function<void()>;

/// The largest operations of a kind that a queue will be given; 0: none of that kind.
struct QueueWork {
  std::int64_t width = 0;           ///< order of the diagonal blocks, inner dimension of updates
  Field field = Field::real;        ///< of the factors; of complex ones, width counts real numbers
  std::int64_t solved_rows = 0;     ///< rows that solve_right_upper() solves at once
  std::int64_t solved_columns = 0;  ///< columns that solve_left_lower() solves at once
  Precision purpose = Precision::fp32;  ///< of these solves, and what updates read
  bool permutes = false;                ///< whether rows are permuted
  std::int64_t substituted = 0;         ///< columns of X in solve_lower() and solve_upper()
  bool factors = false;                 ///< whether factor_diagonal() is called, of order width
  bool inverts = false;                 ///< whether prepare_solves() is
  std::int64_t leaf_rows = 0;           ///< rows of the panel whose leaves factor_leaf() is given
  double least_part = 0;                ///< the least of Device::share(), 1/2, 1/4 ...
  std::int64_t pass_rows = 0;           ///< part of a matrix in multiply_generated()
  std::int64_t pass_columns = 0;
  std::int64_t diagonal = 0;      ///< entries of MatrixSpec::diagonal
  std::int64_t updated_rows = 0;  ///< of C in update()
  std::int64_t updated_columns = 0;
};

/// A processor with its memory, on which a rank computes. For one thread, unless a function says
/// otherwise.
class Device {
 public:
  /// @param run records the host's waits for the device and for peers, and may end operations
  ///        early: those of a CPU then return at once and leave their results unspecified, but for
  ///        transfers between host and device and for the choice of pivots, which stay rows that
  ///        exist; a GPU finishes what it was given. Must outlive the device.
  explicit Device(const RunContext& run) : run_(run) {}
  virtual ~Device() = default;
  const RunContext& run() const { return run_; }

  virtual DeviceKind kind() const = 0;
  /// One line for reports: "AMD EPYC, 2 threads, OpenBLAS 0.3.21, Zen kernels, OpenMP threads,
  /// loops avx2".
  virtual std::string description() const = 0;
  /// Nothing, if the device computes: then it is a real one.
  virtual std::optional<Paper> on_paper() const { return std::nullopt; }
  /// Whether the processor has instructions for products of this precision, FP16, FP16x3 (those of
  /// FP16), BF16 or FP32.
  /// Without them the update is emulated, with the same rounding.
  virtual bool native(Precision precision) const = 0;

  /// How FP64 products are computed, in words and with the settings of the library; empty where
  /// there is one way alone.
  virtual std::string fp64_products() const { return {}; }

  /// Whether operations of different queues run side by side, and calls return before they are
  /// done. Then the factorization starts an update before the panel that runs beside it.
  virtual bool overlaps() const { return false; }
  /// Sets, until the next call, the part (0 to 1) of the device for operations on queues of raised
  /// and high priority, which run beside an update; the update gets the rest. A GPU divides its
  /// multiprocessors accordingly. 0: each operation may use the whole device.
  virtual void share(double /*part*/) {}
  /// While on, only the first matrix product of each kind (type, class of sizes, part of the
  /// device) is computed, and others are left out. So a warm-up chooses, loads and allocates all
  /// that the real run needs, in little time. Numbers stay finite if each product leaves them so.
  /// Turned off when the queues are done, a device may choose by what it has timed meanwhile.
  virtual void rehearse(bool /*on*/) {}
  /// What is known of the algorithms of its products; empty where a library tells nothing of them.
  virtual std::vector<ProductChoice> product_choices() const { return {}; }
  /// How diagonal blocks are factored, of each order that was prepared.
  virtual std::vector<VariantChoice> variant_choices() const { return {}; }
  /// Whether device memory is host memory, so that MPI accepts its addresses.
  virtual bool shares_host_memory() const { return true; }
  /// Whether operations may take a matrix at this address of the caller's memory as it is. Null
  /// stands for a matrix without elements.
  virtual bool can_read(const void* data) const;
  /// Waits for all work of the device, including the caller's own in any of its queues.
  virtual void synchronize_all() {}
  /// The device's own memory; nothing if it uses the host's.
  virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }

  /// While on, device memory that is given back stays for the next allocation of its size: a timed
  /// run finds there what its warm-up has allocated. It is given up where memory runs short.
  virtual void keep_memory(bool /*on*/) {}
  /// Device memory, not initialized. @throws Fault "out of memory: ..." with the size
  virtual Buffer allocate(std::int64_t bytes) = 0;
  /// Makes `memory` at least as large. What it held is lost if it was smaller, and its room is
  /// given back first. @throws Fault as allocate()
  void reserve(Buffer& memory, std::int64_t bytes) {
    if (memory.bytes() >= bytes) return;
    memory = {};
    memory = allocate(bytes);
  }
  /// Host memory that the device copies from and to at full speed, while the host goes on.
  /// @throws Fault "out of memory: ..." with the size
  virtual Buffer allocate_host(std::int64_t bytes) { return allocate(bytes); }
  /// A new queue of this device.
  virtual std::unique_ptr<Queue> make_queue(Priority priority) = 0;
  /// Makes what these operations need beside their operands: handles, workspaces, scratch memory.
  /// Call it before messages are under way: what is made later may wait for the whole device, and
  /// so for a rank that waits for this one. @throws Fault as allocate()
  virtual void prepare(Queue& /*queue*/, const QueueWork& /*work*/) {}
  /// Copy bytes from host to device (write) or from device to host (read). With memory of
  /// allocate_host the call does not wait, and that memory must stay valid and unchanged until the
  /// queue is done.
  virtual void write(Queue& queue, std::span<const std::byte> host, std::byte* device) = 0;
  virtual void read(Queue& queue, const std::byte* device, std::span<std::byte> host) = 0;
  /// Copies a matrix from host memory to a device matrix of the same shape and precision. With
  /// memory of allocate_host the call does not wait, as for write() of bytes.
  virtual void write(Queue& queue, ConstAnyMatrix host, AnyMatrix device) = 0;
  /// upload and download copy a contiguous range in any host memory to or from the device, and
  /// wait until that is done. `host` has as many elements as are copied.
  template <class Range, class T>
  void upload(Queue& queue, const Range& host, T* device) {
    const std::span<const T> values(host);
    queue.synchronize();  // or write() would wait inside CUDA, where the StallWatch does not see it
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

  /// The library by which devices of this kind send to each other without their hosts, or why there
  /// is none.
  virtual PeerSupport peer_support() const { return {"", "its memory is the host's"}; }
  /// Whether there is such a library.
  bool connects_peers() const { return peer_support().why_none.empty(); }
  /// A new group's identity, made on one rank and then given to all for join_peers().
  /// @pre connects_peers()
  virtual std::vector<std::byte> make_peer_id() {
    SPEEDWELL_EXPECTS(connects_peers());
    return {};
  }
  /// Joins the PeerGroup of `size` ranks with this identity, as `rank`. Collective over the group's
  /// ranks, each of which must have its own device. @throws Fault unless connects_peers()
  virtual std::unique_ptr<PeerGroup> join_peers(std::span<const std::byte> id, int rank, int size);

  /// Gives up all peer groups, since the program is about to end. May be called from any thread.
  virtual void end_peers() {}

  /// Sets a range of device memory to zero.
  virtual void clear(Queue& queue, std::span<std::byte> device) = 0;
  /// to <- from, of the same shape. Both have one precision, FP32 or FP64 or 16 bits; or one of
  /// them is FP32 and the other FP16 or BF16, to which values are rounded: to infinity beyond its
  /// range.
  virtual void copy(Queue& queue, ConstAnyMatrix from, AnyMatrix to) = 0;

  // Factorization. Matrices are in storage precision, FP32 or FP64, except C of update(). Those of
  // panels with pivoting, of cast() and of solve_left_lower() may be complex ---------------------

  /// A <- the rank's part of the matrix `spec`, computed in FP64 and rounded to A's precision. `a`
  /// is rows.local_size() x columns.local_size().
  virtual void generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                        const Distribution& columns, AnyMatrix a) = 0;
  /// A <- L\U with A = L U, without pivoting, L unit lower, in FP32. The factors are in the form
  /// that the solves below read: a device may keep inverses of the triangles on the diagonal, see
  /// inverted_order(). If pivot i is the first that is zero or not finite, status->bad_pivot
  /// becomes begin + i, unless it is set already, and A is unspecified.
  virtual void factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                               FactorStatus* status) = 0;
  /// Converts a diagonal block L\U, factored with pivoting, to the form that the solves below read.
  virtual void prepare_diagonal(Queue& queue, AnyMatrix lu) = 0;
  /// The form of a real diagonal block that the solves read. 0: the block is L\U. m > 0: its m x m
  /// blocks on the diagonal (the last may be smaller) hold L^-1\U^-1 instead of L\U. A complex one
  /// is L\U on every device.
  virtual std::int64_t inverted_order(Precision /*storage*/) const { return 0; }
  /// Makes a triangle of `lu`, in the form of inverted_order(), ready for the solves below on this
  /// queue, of so many vectors in all, whose result will be rounded to `purpose`: until that is
  /// done for the next block, or prepare(). Only for an `lu` in FP32 that was factored without
  /// pivoting, whose inverses are small, or for L in FP64.
  virtual void prepare_solves(Queue& /*queue*/, Triangle /*triangle*/, ConstAnyMatrix /*lu*/,
                              Precision /*purpose*/, std::int64_t /*vectors*/) {}
  /// B <- B U^-1 in FP32, U the upper triangle of lu, which is in the form of inverted_order().
  /// `purpose` is the precision to which the result will be rounded. If that has 16 bits, products
  /// inside the solve may round their factors to the precision of the update, or to 11 bits. Where
  /// the triangle is ready, a GPU computes B D^-1 + B (U^-1 - D^-1), D the diagonal of U, and its
  /// product reads B and the inverse in 11 bits.
  /// @param room the matrix to which the result will be rounded, of B's shape: a solve may use its
  ///        memory meanwhile; or an empty one
  virtual void solve_right_upper(Queue& queue, MatrixView<const float> lu, MatrixView<float> b,
                                 Precision purpose, AnyMatrix room) = 0;
  /// B <- L^-1 B in FP32 or FP64, L the unit lower triangle of lu, which is in the form of
  /// inverted_order(). `purpose` and `room` as in solve_right_upper, of B + (L^-1 - I) B; of an
  /// FP64 triangle that is ready, with the inverses of its blocks of order 128 and products in
  /// FP64.
  virtual void solve_left_lower(Queue& queue, ConstAnyMatrix lu, AnyMatrix b, Precision purpose,
                                AnyMatrix room) = 0;
  /// to <- round(sign * s * from) with s = 2^e, sign = 1 or -1, and control->scale <- s. For FP16,
  /// e is the largest exponent, at most 120, that keeps s |from| < 2^15, so that nothing overflows
  /// and as little as possible becomes subnormal; FP16x3 has the same e and rounds to pairs
  /// (to_half_pair); for other precisions e = 0. Inf and NaN set status->nonfinite. Casts go from
  /// FP64 to FP64, and from FP32 to FP32, BF16, FP16 or FP16x3. A complex matrix is first expanded
  /// to the real one with which products of matrices of pairs are those of its elements, of twice
  /// the rows and twice the columns: z becomes the 2 x 2 block [re z, -im z; im z, re z].
  virtual void cast(Queue& queue, ConstAnyMatrix from, double sign, AnyMatrix to,
                    PanelControl* control, FactorStatus* status) = 0;
  /// C <- C + L U / (scale of L * scale of U). L and U hold rounded values; their products are
  /// summed in C's precision, FP32 or FP64; or, with a C of the 16 bits of L and U, in FP32 and
  /// then rounded. With FP16x3 the product of the low parts is left out: hi hi + 2^-11 (hi lo + lo
  /// hi). The minus sign of the factorization's update is in U, which was cast with sign -1. The
  /// scales are those of cast(). `poll` is called now and then during the update. A device whose
  /// call returns early need not call it.
  virtual void update(Queue& queue, ConstAnyMatrix l, const PanelControl* l_control,
                      ConstAnyMatrix u, const PanelControl* u_control, AnyMatrix c,
                      const Poll& poll) = 0;

  // Panels with pivoting. All matrices have one precision, FP32 or FP64, and one field; rows of 16
  // bits are moved too ---------------------------------------------------------------------------

  /// *found <- the first entry of the largest magnitude in `column`, which is m x 1; the magnitude
  /// of a complex entry is |re| + |im|, as in LAPACK. NaN counts as infinite. m = 0 gives {-1, -1}.
  virtual void find_pivot(Queue& queue, ConstAnyMatrix column, PivotCandidate* found) = 0;
  /// Writes the offer of this rank: what was found in a column of `rows`, which has all columns of
  /// the panel. If no row was found, the offer's row is -1 and its values are not written.
  /// @param offer PivotOffers::bytes(rows) of device memory
  virtual void offer_pivot(Queue& queue, ConstAnyMatrix rows, const PanelRows& of,
                           const PivotCandidate* found, std::byte* offer) = 0;
  /// Exchanges row 0 of `rows` and the pivot's row, which is row `first` and row *pivot of the
  /// whole matrix. The pivot is the offer of the largest magnitude, of these that of the lowest
  /// row, and of these that of the lowest rank; without offers, it is row found->row of `rows`.
  /// Row 0 gets the values of the offer. Its old values go to the pivot's place where this rank
  /// holds that: if the row is shared, or the offer is this rank's own. If the magnitude is zero or
  /// not finite, status->bad_pivot becomes `first`, unless it is set already.
  virtual void take_pivot(Queue& queue, AnyMatrix rows, std::int64_t first,
                          const PivotCandidate* found, const PivotOffers& offers,
                          std::int64_t* pivot, FactorStatus* status) = 0;
  /// Eliminates one column. p is the pivot's row (1 x c), `rows` is m x c:
  ///     l_i <- rows(i,0) / p(0),  rows(i,j) <- rows(i,j) - l_i p(j) for j > 0,  rows(i,0) <- l_i
  /// If p(0) = 0, `rows` stays as it is. If c > 1, *next <- what find_pivot finds in column 1 of
  /// the result.
  virtual void eliminate(Queue& queue, ConstAnyMatrix pivot_row, AnyMatrix rows,
                         PivotCandidate* next) = 0;
  /// Factors columns [begin, end) of a panel, whose row 0 is that of the first pivot, with all its
  /// rows on this device: what find_pivot, take_pivot and eliminate do for one column after the
  /// other, to the bit. Row k of these is row first + k of the whole matrix.
  /// @param pivots end - begin of them, as take_pivot writes them
  /// @return false where it is not faster, or there is no room: then nothing was done
  virtual bool factor_leaf(Queue& /*queue*/, AnyMatrix /*panel*/, std::int64_t /*begin*/,
                           std::int64_t /*end*/, std::int64_t /*first*/, std::int64_t* /*pivots*/,
                           FactorStatus* /*status*/) {
    return false;
  }
  /// B <- L^-1 B, L the unit lower triangle of `l`, which holds L itself, no inverses (it has not
  /// been given to prepare_diagonal).
  virtual void solve_unit_lower(Queue& queue, ConstAnyMatrix l, AnyMatrix b) = 0;
  /// C <- C - A B.
  virtual void subtract(Queue& queue, ConstAnyMatrix a, ConstAnyMatrix b, AnyMatrix c) = 0;
  /// a(to[i], :) <- a(from[i], :) for all i < count: all rows are read before one is written. The
  /// indices are in device memory; no index occurs twice in `to`.
  virtual void permute_rows(Queue& queue, const std::int64_t* from, const std::int64_t* to,
                            std::int64_t count, AnyMatrix a) = 0;
  /// to(i, :) <- from(rows[i], :). `rows` has to.rows indices in device memory.
  virtual void gather_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                           AnyMatrix to) = 0;
  /// to(rows[i], :) <- from(i, :). `rows` has from.rows indices in device memory.
  virtual void scatter_rows(Queue& queue, const std::int64_t* rows, ConstAnyMatrix from,
                            AnyMatrix to) = 0;

  // Refinement. The vectors are the columns of X and Y: few_vectors at most, or many -------------

  /// The most vectors for which an operation is bound by the time to read the matrix, so that FP64
  /// arithmetic costs nothing. More vectors are computed as products of matrices.
  static constexpr std::int64_t few_vectors = 8;

  /// Whether an operation with these vectors is a product of matrices: it needs one precision, and
  /// pays for many vectors. FP32 vectors are always taken together.
  static bool as_product(ConstAnyMatrix a, ConstAnyMatrix x) {
    return x.precision == a.precision &&
           (x.precision == Precision::fp32 || x.columns > few_vectors);
  }
  /// Y <- Y - A X, or Y <- Y - A^T X where X has a.rows and Y a.columns rows. A is FP32 or FP64.
  /// X and Y, products and sums are FP64; with an FP32 matrix they may all be FP32.
  virtual void subtract_product(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                                ConstAnyMatrix x, AnyMatrix y) = 0;
  /// X <- L^-1 X, or X <- L^-T X, L the unit lower triangle of a diagonal block in the form of
  /// inverted_order(). X and sums are FP64; with an FP32 block they may be FP32. Of a complex
  /// block, L^-H takes the place of L^-T, and X has the real parts of a vector in one column and
  /// its imaginary parts in the next ("planes").
  virtual void solve_lower(Queue& queue, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) = 0;
  /// X <- U^-1 X, or X <- U^-T X, U the upper triangle of a diagonal block in the form of
  /// inverted_order(). Precisions as in solve_lower().
  virtual void solve_upper(Queue& queue, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) = 0;
  /// Y <- Y + X, of one shape and one precision, FP32 or FP64.
  virtual void add(Queue& queue, ConstAnyMatrix x, AnyMatrix y) = 0;
  /// Y <- Y + Z for complex vectors: of X, whose columns hold pairs, as `pairs` says; Y is in
  /// planes (see solve_lower()), with half of the rows. FP32 or FP64.
  virtual void add_pairs(Queue& queue, Pairs pairs, ConstAnyMatrix x, AnyMatrix y) = 0;
  /// For each vector z of X, in planes, the two columns of Y, with twice the rows, are the pairs of
  /// z and of -i z: products of the transpose of a matrix of pairs with them are those of its
  /// conjugate transpose with z, in planes. FP32 or FP64.
  virtual void spread_pairs(Queue& queue, ConstAnyMatrix x, AnyMatrix y) = 0;
  /// One pass over the rank's part of A, which is generated again in FP64: ax <- A x and, where the
  /// pointer is not null, (abs_rows)_i <- sum_j |a_ij| and abs_ax <- |A| |x|. x has
  /// columns.local_size() entries, the results have rows.local_size().
  virtual void multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                                  const Distribution& columns, const double* x, double* ax,
                                  double* abs_rows, double* abs_ax) = 0;

  // A user's matrix, in FP64. No sum depends on the number of threads ---------------------------

  /// Adds `count` entries to elements of A, in their order. Entries for the same element must be
  /// next to each other.
  virtual void add_entries(Queue& queue, const MatrixEntry* entries, std::int64_t count,
                           AnyMatrix a) = 0;
  /// One pass over A for few_vectors at most: AX <- B X, where B is A or A^T, and, where the
  /// pointer is not null, (abs_rows)_i <- sum_j |b_ij|, abs_ax <- |B| |X| and *checksum <- that of
  /// A, by the keys of KeysOfPlaces.
  virtual void multiply(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                        MatrixView<const double> x, MatrixView<double> ax, double* abs_rows,
                        MatrixView<double> abs_ax, MatrixChecksum* checksum) = 0;
  /// Whether multiply_extended() is there.
  virtual bool multiplies_extended() const { return false; }
  /// multiply() with a product in twice FP64's precision. X has vectors and then as many low parts
  /// of theirs, X + X_low; AX gets the high parts of B X, then its low parts, and then B X_low in
  /// FP64. The error of a row's product with n entries of X is at most 8 n eps^2 times that of the
  /// magnitudes, but for underflow.
  /// @pre multiplies_extended()
  virtual void multiply_extended(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                                 MatrixView<const double> x, MatrixView<double> ax,
                                 double* abs_rows, MatrixView<double> abs_ax,
                                 MatrixChecksum* checksum);
  /// most_i <- max_j |a_ij| scale_j: infinity if one of these is Inf or NaN, 0 if A has no columns.
  /// Scales are not negative; null stands for ones. Also checksums_of_columns(), where that pointer
  /// is not null.
  virtual void largest_of_rows(Queue& queue, ConstAnyMatrix a, const double* scale, double* most,
                               std::uint64_t* checksums) = 0;
  /// most_j <- max_i scale_i |a_ij|: infinity if one of these is Inf or NaN, 0 if A has no rows.
  /// Scales are not negative; null stands for ones. Also checksums_of_columns(), where that pointer
  /// is not null. A is FP64, or without checksums FP32.
  virtual void largest_of_columns(Queue& queue, ConstAnyMatrix a, const double* scale, double* most,
                                  std::uint64_t* checksums) = 0;
  /// sums_j <- the sum over i of keyed_bits(a_ij) (FP64), modulo 2^64, by the row keys of
  /// KeysOfPlaces; and behind them, the last of columns + 1 numbers, the sum of the bits of all
  /// a_ij as whole numbers, which whatever happens to one number changes.
  virtual void checksums_of_columns(Queue& queue, ConstAnyMatrix a, std::uint64_t* sums) = 0;
  /// to_ij <- (row_scale_i from_ij) column_scale_j. The products are FP64 and in this order, so
  /// that row scales with row_scale_i |from_ij| <= 1 prevent overflow; the result is rounded once
  /// to the precision of `to`, FP32 or FP64. Null stands for ones. `to` may be `from`.
  virtual void scale(Queue& queue, ConstAnyMatrix from, const double* row_scale,
                     const double* column_scale, AnyMatrix to) = 0;
  /// a_ij <- |a_ij|, FP32 or FP64.
  virtual void take_magnitudes(Queue& queue, AnyMatrix a) = 0;

 private:
  const RunContext& run_;
};

/// The device that make_device() makes.
struct DeviceOptions {
  DeviceKind kind = DeviceKind::cpu;  ///< automatic: a GPU if there is one, else the CPU
  int threads = 1;                    ///< threads that the CPU device may use, >= 1
  int gpu = 0;                        ///< ordinal of the GPU among those that this process sees
  int reserved = -1;  ///< multiprocessors that updates leave to panels; -1: as share() says
  Fp64Products fp64 = Fp64Products::native;  ///< of updates; a CPU device has native ones alone
  bool alone = false;  ///< no other rank: what a GPU needs is kept for the next device
  const RunContext& run = RunContext::none();  ///< in which it works
};

/// Makes a device. @throws UsageError if this kind of device was not built in or is not in this
///         machine; Fault if the device fails
std::unique_ptr<Device> make_device(const DeviceOptions& options);

/// The number of GPUs that this process sees: 0 if Speedwell was built without CUDA, if there is no
/// NVIDIA driver, or if all GPUs are too old.
int count_gpus();
/// Why count_gpus() is 0, in words for the user; empty if it is not 0.
std::string why_no_gpus();
/// Whether this is memory of a GPU that the host cannot read. False where neither Speedwell nor the
/// caller has loaded CUDA.
bool in_gpu_memory(const void* data);
/// Gives back what devices of GPUs have kept for later ones of this process (DeviceOptions::alone).
void release_gpus();

}  // namespace speedwell
