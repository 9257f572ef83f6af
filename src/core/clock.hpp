/// @file
/// The one source of time, so that a simulated machine can bring its own.
#pragma once

namespace lupine {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since a fixed point, never decreasing.
  virtual double now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  double now() const override;
};

/// Adds the time until its end to a sum.
class Stopwatch {
 public:
  Stopwatch(const Clock& clock, double& sum) : clock_(clock), sum_(sum), begin_(clock.now()) {}
  ~Stopwatch() { sum_ += clock_.now() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Clock& clock_;
  double& sum_;
  double begin_;
};

}  // namespace lupine
