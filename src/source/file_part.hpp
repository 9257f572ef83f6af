// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reading a rank's part of a matrix in a file.
#pragma once

#include "comm/communicator.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"
#include "io/file.hpp"
#include "io/matrix_market.hpp"
#include "io/numpy.hpp"
#include "source/part_writer.hpp"

namespace speedwell {

/// The distribution of a matrix over the ranks, in elements.
struct MatrixPart {
  GridShape shape;
  Distribution rows;     ///< this rank's rows
  Distribution columns;  ///< this rank's columns
};

/// a <- this rank's part of an array in a .npy or .npz file; of a complex one its numbers, the real
/// and the imaginary part of each element one under the other. A read covers as many contiguous
/// numbers as the distribution allows, and little memory is needed. A compressed array cannot be
/// read in parts: this rank inflates all of it, and keeps its part. Does not communicate.
/// @throws UsageError, Fault
void read_numpy_part(const InputFile& file, const NumpyHeader& header, const MatrixPart& part,
                     PartWriter& a);

/// Checks the CRC-32 of an array that is not compressed, whose parts are read without it: rank 0
/// goes through all bytes. Collective.
/// @throws UsageError (every rank) if it differs; AgreedFault
void check_stored(const Communicator& all, const InputFile& file, const NpzArray& array);

/// a <- this rank's part of a Matrix Market file, as read_numpy_part() has it. In each turn every
/// rank reads a piece of the file and sends the entries to the ranks that own them. Entries with
/// the same indices are added, in the order of the file. Collective. @throws UsageError,
/// AgreedFault: the same error on every rank
void read_market_part(const Communicator& all, const InputFile& file, const MarketHeader& header,
                      const MatrixPart& part, PartWriter& a);

}  // namespace speedwell
