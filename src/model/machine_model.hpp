// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A simulated machine with GPUs: the numbers by which `speedwell predict` gives the operations and
/// messages of a run their times. Units are SI: seconds, bytes, bytes a second, units of work a
/// second. docs/prediction.md describes the file format and the formulas.
#pragma once

#include <speedwell/options.hpp>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/expects.hpp"

namespace speedwell {

/// Where a number is from.
enum class Origin { measured, datasheet, assumed };

/// A number with its source.
struct Figure {
  double value = 0;
  Origin origin = Origin::assumed;
  std::string source;  ///< in words, never empty in a file
};

/// The operations whose rates a machine file gives. The unit of work stands behind each; m, n, k
/// are the rows, columns and width of OperationModel::seconds().
enum class OperationKind {
  product,        ///< C <- C + A B: 2 m n k operations
  solve_left,     ///< B <- L^-1 B, B k x n: n k^2 operations; m = 1
  eliminate,      ///< one column of a panel with pivoting, m x n: 2 m n operations; k = 1
  exchange,       ///< find, take or move rows of m x n elements: m n elements; k = 1
  convert,        ///< copies, casts and scales: m n elements; k = 1
  generate,       ///< entries of the matrix, made anew: m n entries; k = 1
  pass,           ///< entries made anew in FP64 and multiplied by a vector: m n entries; k = 1
  vector_product  ///< y <- y - A x for one FP64 vector: m n elements of A; k = 1
};

/// The rate of an operation in one precision. The rate at a shape is
///     rate m / (m + half_rows) n / (n + half_columns) k / (k + half_width),
/// Hockney's r_infinity and n_1/2 for each dimension (docs/prediction.md, Rates).
struct OperationModel {
  double rate = 0;  ///< units of work a second for large shapes, > 0
  double half_rows = 0;
  double half_columns = 0;
  double half_width = 0;
  Origin origin = Origin::assumed;
  std::string source;

  /// The seconds that `work` units take at this shape. @pre m, n, k > 0
  double seconds(double work, double m, double n, double k) const {
    SPEEDWELL_EXPECTS(m > 0 && n > 0 && k > 0);
    return work / rate * (1 + half_rows / m) * (1 + half_columns / n) * (1 + half_width / k);
  }
};

struct OperationKey {
  OperationKind kind;
  Precision precision;
  auto operator<=>(const OperationKey&) const = default;
};

/// The GPU of a rank.
struct DeviceModel {
  std::string name;   ///< for reports: "NVIDIA H200"
  double memory = 0;  ///< bytes
  int multiprocessors = 0;
  double bandwidth = 0;  ///< of the device's memory, both directions together
  /// The part of the multiprocessors that saturates the bandwidth, in (0, 1].
  double bandwidth_part = 1;
  double start = 0;           ///< least time of an operation: a kernel's start and end
  double launch = 0;          ///< the host's time for giving the GPU an operation
  double synchronize = 0;     ///< from the end of an operation until the waiting host goes on
  double host_bandwidth = 0;  ///< of copies between the GPU and its host
  double tile = 0;            ///< seconds of factoring or inverting 64 x 64 tiles
  /// Whether a product keeps its multiprocessors to its end. If not, queues of higher priority take
  /// them at once.
  bool holds = true;
  /// Green contexts have a multiple of so many multiprocessors; 0: the driver has none, and the
  /// limit of products is a hint.
  int part_unit = 0;
  std::map<OperationKey, OperationModel> operations;

  /// @throws UsageError if the file does not have this operation
  const OperationModel& of(OperationKind kind, Precision precision) const;
};

enum class Topology { single, star, fat_tree, dragonfly };

struct LinkModel {
  double bandwidth = 0;  ///< of one device, in each direction
  double latency = 0;
};

struct MachineModel {
  std::string path;         ///< of its file; empty: it was read from a text
  std::string name;         ///< "h200-x8"
  std::string description;  ///< one line
  /// Where predictions for this machine were compared with runs; empty: nowhere.
  std::string validation;
  int nodes = 1;
  int devices = 1;         ///< GPUs of a node
  int cores = 1;           ///< of a node
  double node_memory = 0;  ///< bytes
  LinkModel link;          ///< between the devices of a node
  LinkModel port;          ///< a device's port to the network between nodes
  Topology topology = Topology::single;
  std::string shape;      ///< SimGrid's parameters of a fat tree or dragonfly: "2;32,32;1,32;1,1"
  double collective = 0;  ///< seconds that a step of a GPU collective takes besides its bytes
  double message = 0;     ///< the host's time for a call of MPI
  double test = 0;        ///< the host's time for an MPI_Test
  DeviceModel device;     ///< of every rank
  /// Every number of the file by its key path, for reports: "nodes", "port.latency",
  /// "ranks[0].bandwidth", "ranks[0].operations.product fp16.rate". `holds` is 1 or 0.
  std::map<std::string, Figure> figures;

  int ranks() const { return nodes * devices; }
};

/// The word of a machine file: "measured", "datasheet" or "assumed".
std::string_view name(Origin origin);
/// The word of a machine file, such as "vector-product".
std::string_view name(OperationKind kind);

/// Reads a machine from JSON text. @param where for messages: the file's name
/// @throws UsageError, in one line: the key path or the line, what is wrong and what is allowed
MachineModel parse_machine(std::string_view json, const std::string& where);

/// The machine of a file, or the shipped machine of this name. What has neither a '/' nor ".json"
/// is a name.
/// @param folders where shipped machines are looked for, in this order: NAME.json
/// @throws UsageError if there is neither (with the names of the shipped ones), or as parse_machine
MachineModel load_machine(const std::string& name_or_file,
                          const std::vector<std::filesystem::path>& folders);

/// The JSON text of a machine, from which parse_machine makes an equal one if every number has a
/// figure. Values are those of the members; origins and sources are those of `figures` and of the
/// operations. Where there is no source, the text says so, and the origin is `assumed`.
std::string machine_text(const MachineModel& machine);

}  // namespace speedwell
