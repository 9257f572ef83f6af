// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The floating-point environment of a thread: what all that is computed here assumes of it.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#elif !defined(__aarch64__)
#include <cfenv>
#endif

namespace speedwell {

/// The control bits of the calling thread: how results are rounded, whether subnormal numbers are
/// flushed to zero, and which exceptions end the program. A library that was built with -ffast-math
/// may have changed them, for threads that were made since then too.
class FloatingPoint {
 public:
#if defined(__x86_64__) || defined(__i386__)
  using Bits = std::uint32_t;  // MXCSR, but for the exceptions that it has seen
  static constexpr Bits usual = 0x1f80;
  static Bits get() {
    return _mm_getcsr() & control;
  }
  static void set(Bits bits) {
    _mm_setcsr((_mm_getcsr() & ~control) | bits);
  }

 private:
  static constexpr Bits control = 0xffc0;
#elif defined(__aarch64__)
  using Bits = std::uint64_t;  // FPCR
  static constexpr Bits usual = 0;
  static Bits get() {
    Bits bits = 0;
    asm volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static void set(Bits bits) {
    asm volatile("msr fpcr, %0" : : "r"(bits));
  }
#else
  using Bits = int;
  static constexpr Bits usual = FE_TONEAREST;
  static Bits get() {
    return std::fegetround();
  }
  static void set(Bits bits) {
    std::fesetround(bits);
  }
#endif
};

/// From its constructor to its destructor, the calling thread rounds to nearest, keeps subnormal
/// numbers and goes on after exceptions; after that it does as before. Costs a nanosecond where it
/// does so already. ThreadScope has one for each thread of the team.
class FloatingPointScope {
 public:
  FloatingPointScope() : before_(FloatingPoint::get()) {
    if (before_ != FloatingPoint::usual) FloatingPoint::set(FloatingPoint::usual);
  }
  ~FloatingPointScope() {
    if (before_ != FloatingPoint::usual) FloatingPoint::set(before_);
  }
  FloatingPointScope(const FloatingPointScope&) = delete;
  FloatingPointScope& operator=(const FloatingPointScope&) = delete;

 private:
  FloatingPoint::Bits before_;
};

}  // namespace speedwell
