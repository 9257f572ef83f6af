/// @file
/// Products by oneDNN, for the processors that multiply BF16 by themselves.
#pragma once

#include <memory>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"

namespace lupine {

/// C <- C + A B with FP32 accumulation; A and B both BF16, or both FP32.
class OneDnnProduct {
 public:
  OneDnnProduct();
  ~OneDnnProduct();
  OneDnnProduct(const OneDnnProduct&) = delete;
  OneDnnProduct& operator=(const OneDnnProduct&) = delete;

  /// False in a build without oneDNN.
  static bool built();
  /// @throws Fault where oneDNN has no such product on this processor.
  void operator()(ConstAnyMatrix a, ConstAnyMatrix b, MatrixView<float> c);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lupine
