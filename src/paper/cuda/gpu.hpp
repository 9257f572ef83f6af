// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The GPU of a simulated rank, behind CUDA's functions: every call takes the host's time, and
/// gives the stream an operation that takes the GPU's.
#pragma once

#include <cublas_api.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "core/scalar.hpp"
#include "model/machine_model.hpp"
#include "paper/world.hpp"

struct CUstream_st {
  speedwell::paper::Rank* rank;
  int number;                        // in the rank's timeline
  speedwell::paper::MomentPtr last;  // behind all operations, where it was asked for
  double part = 1;                   // of the multiprocessors: those of its green context
};

struct CUevent_st {
  speedwell::paper::Rank* rank;
  speedwell::paper::MomentPtr moment;
};

namespace speedwell::paper {

/// Part of a launch's host time that recording an event, or waiting for one, takes.
inline constexpr double event_part = 0.4;

/// Gives the stream an operation, whose launch takes the host's time.
void launch(cudaStream_t stream, Load load);

/// An operation of the table that is bound by arithmetic. @param bytes that it moves at least
/// @param part of the multiprocessors that it may use
Load arithmetic(const OperationModel& model, double work, double m, double n, double k,
                double bytes = 0, double part = 1);
/// An operation of the table that is bound by memory: it saturates the bandwidth with a part of the
/// multiprocessors.
Load traffic(const DeviceModel& device, OperationKind kind, Precision precision, double m,
             double n);

/// The product C <- A B + C, m x n x k. @param multiprocessors that it may use; 0: all
void launch_product(cudaStream_t stream, const OperationModel& model, double element,
                    double c_element, std::int64_t m, std::int64_t n, std::int64_t k,
                    int multiprocessors);

}  // namespace speedwell::paper
