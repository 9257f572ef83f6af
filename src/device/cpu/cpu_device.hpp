/// @file
/// The device that is always there: OpenBLAS, oneDNN where the processor multiplies BF16 by itself,
/// and our loops over OpenMP threads. Operations run at once, on the calling thread.
#pragma once

#include "device/cpu/onednn.hpp"
#include "device/device.hpp"

namespace lupine {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads);

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override;
  bool native(Precision precision) const override;
  Precision fastest_16bit() const override;

  Buffer allocate(std::int64_t bytes) override;
  std::unique_ptr<Queue> make_queue(Priority priority) override;
  void upload(Queue& queue, std::span<const double> host, double* device) override;
  void download(Queue& queue, const double* device, std::span<double> host) override;
  void copy(Queue& queue, MatrixView<const float> from, MatrixView<float> to) override;

  void generate(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                const Distribution& cols, MatrixView<float> a) override;
  void factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                       std::int64_t* bad_pivot) override;
  void solve_right_upper(Queue& queue, MatrixView<const float> lu, MatrixView<float> b) override;
  void solve_left_lower(Queue& queue, MatrixView<const float> lu, MatrixView<float> b) override;
  void cast(Queue& queue, MatrixView<const float> from, double sign, LowMatrix to,
            PanelHeader* header) override;
  void update(Queue& queue, ConstLowMatrix l, const PanelHeader* l_header, ConstLowMatrix u,
              const PanelHeader* u_header, MatrixView<float> c, const Poll& poll) override;

  void subtract_product(Queue& queue, MatrixView<const float> a, const double* x,
                        double* y) override;
  void solve_lower(Queue& queue, MatrixView<const float> lu, double* x) override;
  void solve_upper(Queue& queue, MatrixView<const float> lu, double* x) override;
  void add(Queue& queue, std::int64_t n, const double* x, double* y) override;
  void multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                          const Distribution& cols, const double* x, double* ax, double* abs_rows,
                          double* abs_ax) override;

 private:
  float largest(MatrixView<const float> a) const;
  MatrixView<const float> expand(ConstLowMatrix from, Buffer& scratch) const;

  int threads_;
  bool native_bf16_;
  std::unique_ptr<OneDnnProduct> onednn_;
  Buffer left_;  // scratch of emulated updates, kept between calls
  Buffer right_;
};

}  // namespace lupine
