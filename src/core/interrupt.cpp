// SPDX-License-Identifier: BSD-3-Clause
#include "core/interrupt.hpp"

#include <utility>

namespace speedwell {

Interrupt::Interrupt(InterruptFunction function, const Clock& clock, Exchange exchange)
    : function_(std::move(function)), clock_(clock), exchange_(std::move(exchange)) {}

void Interrupt::begin() {
  caller_ = std::this_thread::get_id();
  next_ = clock_.now();
  ended_ = false;
  thrown_ = nullptr;
  columns_ = -1;
}

bool Interrupt::ended() {
  if (ended_.load(std::memory_order_relaxed)) return true;
  if (std::this_thread::get_id() != caller_) return false;
  const double now = clock_.now();
  if (now < next_) return false;
  next_ = now + pause;
  bool end_now = false;
  call([&] { end_now = function_ && function_(); });
  if (ended_ || end_now || (exchange_ && exchange_(false))) end();
  return ended_;
}

void Interrupt::end() {
  if (ended_.exchange(true)) return;
  if (exchange_) exchange_(true);
}

void Interrupt::fail(std::exception_ptr thrown) {
  if (!thrown_) thrown_ = std::move(thrown);
  end();
}

}  // namespace speedwell
