#include "bench/update_rate.hpp"

#include <algorithm>
#include <cmath>

namespace lupine {

namespace {

/// C <- C + L U on random numbers, C of size x size in the storage precision.
class Trial {
 public:
  Trial(Device& device, Precision precision, std::int64_t size, std::int64_t width)
      : device_(device),
        queue_(device.make_queue(Priority::normal)),
        storage_(storage_for(precision)),
        c_memory_(device.allocate(size * std::max(size, width) * bytes_of(storage_))),
        l_memory_(device.allocate(size * width * bytes_of(precision))),
        u_memory_(device.allocate(size * width * bytes_of(precision))),
        control_(device.allocate(2 * header_room + std::int64_t{sizeof(FactorStatus)})),
        c_(as_c(size, size)),
        l_{precision, l_memory_.data(), size, width, size},
        u_{precision, u_memory_.data(), width, size, width} {
    // Not zeros: those take less power, and so run faster than any matrix will.
    fill(size, width);
    device_.cast(*queue_, as_c(size, width), 1, l_, l_header(), status());
    fill(width, size);
    device_.cast(*queue_, as_c(width, size), -1, u_, u_header(), status());
    fill(size, size);
    queue_->synchronize();
  }

  double flops() const { return 2 * static_cast<double>(c_.rows * c_.cols * l_.cols); }
  double seconds(const Clock& clock) {
    const double begin = clock.now();
    device_.update(*queue_, l_, l_header(), u_, u_header(), c_, [] {});
    queue_->synchronize();
    return clock.now() - begin;
  }

 private:
  static constexpr std::int64_t header_room = 64;
  /// The memory of C as a matrix of this shape.
  AnyMatrix as_c(std::int64_t rows, std::int64_t columns) const {
    return {storage_, c_memory_.data(), rows, columns, rows};
  }
  PanelHeader* l_header() const { return control_.as<PanelHeader>(); }
  PanelHeader* u_header() const {
    return reinterpret_cast<PanelHeader*>(control_.data() + header_room);
  }
  FactorStatus* status() const {
    return reinterpret_cast<FactorStatus*>(control_.data() + 2 * header_room);
  }
  void fill(std::int64_t rows, std::int64_t columns) {
    MatrixSpec spec;
    spec.n = std::max(rows, columns);
    spec.stride = spec.n + 1 - spec.n % 2;
    spec.shift = std::sqrt(static_cast<double>(spec.n));
    device_.generate(*queue_, spec, Distribution(rows, rows, 1, 0),
                     Distribution(columns, columns, 1, 0), as_c(rows, columns));
  }

  Device& device_;
  std::unique_ptr<Queue> queue_;
  Precision storage_;
  Buffer c_memory_;
  Buffer l_memory_;
  Buffer u_memory_;
  Buffer control_;
  AnyMatrix c_;
  AnyMatrix l_;
  AnyMatrix u_;
};

}  // namespace

double update_rate(Device& device, Precision precision, std::int64_t width, double seconds,
                   const Clock& clock) {
  const double end = clock.now() + seconds;
  double best = 0;
  // A slow device answers at the first size; a fast one needs a larger product to show its rate.
  const std::int64_t largest = device.shares_host_memory() ? 4096 : 16384;
  for (std::int64_t size = 1024; size <= largest; size *= 2) {
    Trial trial(device, precision, size, width);
    trial.seconds(clock);  // the first call prepares kernels
    double fastest = trial.seconds(clock);
    while (clock.now() < end && (size == largest || fastest > seconds / 8))
      fastest = std::min(fastest, trial.seconds(clock));
    best = std::max(best, trial.flops() / std::max(fastest, 1e-9));
    if (clock.now() >= end) break;
  }
  return best;
}

}  // namespace lupine
