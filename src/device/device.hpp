/// @file
/// The dense operations that the distributed algorithms need, wherever they run.
///
/// All pointers in arguments are device memory unless said otherwise; on the CPU that is ordinary
/// memory. An operation runs on the Queue that it is given, in order; the call may return before it
/// is done. Only `synchronize`, `download` and `upload` wait. Matrices are column-major.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "element/matrix_spec.hpp"
#include "grid/distribution.hpp"

namespace lupine {

/// Owned device memory.
class Buffer {
 public:
  using Release = std::function<void(void*)>;
  Buffer() = default;
  Buffer(void* data, std::int64_t bytes, Release release);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Release release_;
};

enum class Priority { normal, high };

/// A point in a queue's order.
class Event {
 public:
  virtual ~Event() = default;
};

/// Operations in order. Different queues may run side by side.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Waits until everything given so far is done; throws Fault if any of it failed.
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Event> record() = 0;
  /// What is given from now on starts after the event.
  virtual void wait(const Event& event) = 0;
};

/// What travels beside a panel and is control data: how it was scaled, and whether it is usable.
struct PanelHeader {
  double scale = 1;            ///< |stored| = round(scale * |value|); a power of two
  std::int64_t nonfinite = 0;  ///< > 0: Inf or NaN among the values
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

  /// @throws Fault "out of memory: ..." with the size.
  virtual Buffer allocate(std::int64_t bytes) = 0;
  virtual std::unique_ptr<Queue> make_queue(Priority priority) = 0;
  virtual void upload(Queue& queue, std::span<const double> host, double* device) = 0;
  virtual void download(Queue& queue, const double* device, std::span<double> host) = 0;

  /// to <- from, same shape.
  virtual void copy(Queue& queue, MatrixView<const float> from, MatrixView<float> to) = 0;

  // Factorization ---------------------------------------------------------------------------

  /// A <- the rank's part of the matrix, rounded to FP32. a: rows.local_size() x
  /// cols.local_size().
  virtual void generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                        const Distribution& cols, MatrixView<float> a) = 0;
  /// A <- L\U without pivoting, L unit lower, in FP32. *bad_pivot <- begin + i for the first pivot
  /// i that is zero or not finite, if *bad_pivot < 0 before.
  virtual void factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                               std::int64_t* bad_pivot) = 0;
  /// B <- B U^-1, U upper triangle of lu.
  virtual void solve_right_upper(Queue& queue, MatrixView<const float> lu, MatrixView<float> b) = 0;
  /// B <- L^-1 B, L unit lower triangle of lu.
  virtual void solve_left_lower(Queue& queue, MatrixView<const float> lu, MatrixView<float> b) = 0;
  /// to <- round(sign * s * from), s = 2^e in header->scale: fp16 takes the largest e that keeps
  /// |to| < 2^15 (no overflow, fewest subnormals), bf16 and fp32 take e = 0. sign: +-1.
  virtual void cast(Queue& queue, MatrixView<const float> from, double sign, LowMatrix to,
                    PanelHeader* header) = 0;
  /// C <- C + L U / (scale of L * scale of U), products of the rounded values accumulated in FP32.
  /// The minus sign of the factorization's update is in U, by the sign of its cast.
  virtual void update(Queue& queue, ConstLowMatrix l, const PanelHeader* l_header, ConstLowMatrix u,
                      const PanelHeader* u_header, MatrixView<float> c, const Poll& poll) = 0;

  // Refinement, FP64 ------------------------------------------------------------------------

  /// y <- y - A x, A the FP32 factors, x and y FP64, products and sums in FP64.
  virtual void subtract_product(Queue& queue, MatrixView<const float> a, const double* x,
                                double* y) = 0;
  /// x <- L^-1 x (unit lower) or U^-1 x of a diagonal block lu, in FP64.
  virtual void solve_lower(Queue& queue, MatrixView<const float> lu, double* x) = 0;
  virtual void solve_upper(Queue& queue, MatrixView<const float> lu, double* x) = 0;
  /// y <- y + x, n entries.
  virtual void add(Queue& queue, std::int64_t n, const double* x, double* y) = 0;
  /// One pass over the rank's part of A, regenerated in FP64:
  /// ax <- A x; and where not null: abs_rows <- sum_j |a_ij|; abs_ax <- |A| |x|.
  /// x: cols.local_size(); the others: rows.local_size().
  virtual void multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                                  const Distribution& cols, const double* x, double* ax,
                                  double* abs_rows, double* abs_ax) = 0;
};

/// @param threads threads that the CPU device may use, >= 1
/// @throws UsageError for a device that was not built.
std::unique_ptr<Device> make_device(DeviceKind kind, int threads);

}  // namespace lupine
