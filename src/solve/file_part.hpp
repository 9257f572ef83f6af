// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A rank's part of a matrix in a file.
#pragma once

#include "comm/communicator.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"
#include "io/file.hpp"
#include "io/matrix_market.hpp"
#include "io/numpy.hpp"
#include "solve/part_writer.hpp"

namespace lupine {

/// Which part of a matrix each rank has.
struct Parts {
  GridShape shape;
  Distribution rows;  ///< of this rank
  Distribution columns;
};

/// a <- this rank's part, by as few reads as its runs allow and with little memory. Does not
/// communicate. @throws UsageError, Fault
void read_numpy_part(const InputFile& file, const NumpyHeader& header, const Parts& parts,
                     PartWriter& a);

/// a <- this rank's part. All ranks read the file in turns, a piece each, and send the entries to
/// their owners; equal places are added, in the order of the file. Collective.
/// @throws UsageError, AgreedFault (every rank)
void read_market_part(const Communicator& all, const InputFile& file, const MarketHeader& header,
                      const Parts& parts, PartWriter& a);

}  // namespace lupine
