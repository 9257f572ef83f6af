// SPDX-License-Identifier: BSD-3-Clause
// A user's matrix is moved to a GPU without a copy of it in host memory.
#include <speedwell/solve.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "catch.hpp"
#include "comm/agreement.hpp"
#include "device_choice.hpp"
#include "emulated/host_memory.hpp"
#include "folder.hpp"
#include "solve/user_matrix.hpp"
#include "source/matrix_file.hpp"

namespace speedwell::test::host_memory_tests {
namespace {

double element(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(i * 131 + j * 7 + 1)) + (i == j ? 40 : 0);
}

std::int64_t part_bytes(const ProcessGrid& grid, std::int64_t n, std::int64_t nb) {
  return grid.rows(n, nb).local_size() * grid.columns(n, nb).local_size() *
         std::int64_t{sizeof(double)};
}

std::vector<double> numbers(const Distribution& rows, const Distribution& columns) {
  std::vector<double> a;
  for (std::int64_t j = 0; j < columns.local_size(); ++j)
    for (std::int64_t i = 0; i < rows.local_size(); ++i)
      a.push_back(element(rows.global({i}).value, columns.global({j}).value));
  return a;
}

Descriptor descriptor(const ProcessGrid& grid, std::int64_t n, std::int64_t nb) {
  Descriptor d{};
  d[0] = 1;
  d[2] = d[3] = n;
  d[4] = d[5] = nb;
  d[8] = std::max<std::int64_t>(grid.rows(n, nb).local_size(), 1);
  return d;
}

void write_npy(const std::string& path, std::int64_t n, bool fortran) {
  std::ofstream file(path, std::ios::binary);
  std::string header =
      "{'descr': '<f8', 'fortran_order': " + std::string(fortran ? "True" : "False") +
      ", 'shape': (" + std::to_string(n) + ", " + std::to_string(n) + "), }";
  header.resize((10 + header.size()) / 64 * 64 + 64 - 10 - 1, ' ');
  header += '\n';
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 0xff)
       << static_cast<char>(header.size() >> 8) << header;
  for (std::int64_t k = 0; k < n * n; ++k) {
    const double value = fortran ? element(k % n, k / n) : element(k / n, k % n);
    file.write(reinterpret_cast<const char*>(&value), sizeof(value));
  }
}

void write_market(const std::string& path, std::int64_t n, bool coordinates) {
  std::ofstream file(path);
  file << "%%MatrixMarket matrix " << (coordinates ? "coordinate" : "array") << " real general\n"
       << n << ' ' << n;
  if (coordinates) file << ' ' << n * n;
  file << '\n';
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      char text[80];
      if (coordinates)
        std::snprintf(text, sizeof(text), "%ld %ld %.17g\n", static_cast<long>(i + 1),
                      static_cast<long>(j + 1), element(i, j));
      else
        std::snprintf(text, sizeof(text), "%.17g\n", element(i, j));
      file << text;
    }
}

/// Loads A into the device's memory, which may take `allowed` bytes of host memory, and checks that
/// all elements are there.
void check_load(const ProcessGrid& grid, const Matrix& a, std::int64_t nb, std::int64_t allowed) {
  const auto device = make_chosen_device();
  const auto queue = device->make_queue(Priority::normal);
  std::optional<UserMatrix> there;
  const std::size_t taken = host_memory_of([&] { there.emplace(grid, *device, a.source(), nb); });
  CHECK(static_cast<std::int64_t>(taken) <= allowed);
  const MatrixView<const double> local = there->local().as<double>();
  std::vector<double> column(static_cast<std::size_t>(local.rows));
  for (std::int64_t j = 0; j < local.columns; ++j) {
    device->download(*queue, local.column(j), column);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < local.rows; ++i)
      wrong += column[static_cast<std::size_t>(i)] !=
               element(there->rows().global({i}).value, there->columns().global({j}).value);
    REQUIRE(wrong == 0);
  }
}

}  // namespace

TEST_CASE("a user's matrix is moved to a GPU in pieces", "[memory]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  constexpr std::int64_t n = 1501;
  for (const std::int64_t nb : {std::int64_t{100}, n}) {
    const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
    const std::int64_t part = part_bytes(grid, n, nb);
    // A piece is an eighth of the part, or a column or row if that is more. The source may hold
    // another piece.
    const std::int64_t pieces = 2 * (part / 8 + 8 * n) + (1 << 18);
    CAPTURE(nb, part, pieces);
    SECTION("function, blocks of " + std::to_string(nb)) {
      check_load(grid, Matrix::from_function(n, element), nb, pieces);
    }
    SECTION("an array on one rank, blocks of " + std::to_string(nb)) {
      std::vector<double> a;
      const Distribution whole(n, n, 1, 0);
      if (all.rank() == 0) a = numbers(whole, whole);
      // Ranks send slices of 4 MB, and the emulation copies each of them once.
      check_load(grid, Matrix::dense(n, a.data(), n), nb,
                 all.size() == 1 ? pieces : pieces + (9 << 20));
    }
    SECTION("parts of every rank, blocks of " + std::to_string(nb)) {
      const std::vector<double> a = numbers(grid.rows(n, nb), grid.columns(n, nb));
      check_load(grid, Matrix::block_cyclic(descriptor(grid, n, nb), a.data()), nb, pieces);
    }
  }
}

TEST_CASE("a user's matrix is moved from a file to a GPU in pieces", "[memory]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  constexpr std::int64_t n = 1501;
  std::unique_ptr<Folder> folder;
  if (all.rank() == 0) folder = std::make_unique<Folder>("pieces");
  const std::string path = text_of_rank_0(all, folder ? *folder / "A" : "");
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const std::int64_t pieces = 2 * (part_bytes(grid, n, 64) / 8 + 8 * n) + (1 << 18);
  const auto load = [&](const auto& write, std::int64_t allowed) {
    if (all.rank() == 0) write();
    all.barrier();
    check_load(grid, open_matrix(all, path), 64, allowed);
    all.barrier();
  };
  for (const bool fortran : {true, false}) load([&] { write_npy(path, n, fortran); }, pieces);
  // A megabyte of text from each rank becomes entries, which are read, sent and sorted.
  for (const bool coordinates : {false, true})
    load([&] { write_market(path, n, coordinates); },
         pieces + all.size() * (std::int64_t{12} << 20));
}

TEST_CASE("a whole solution on a GPU holds no copy of A in host memory", "[memory]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  constexpr std::int64_t n = 1201;
  SolveOptions options;
  options.run.device = device_choice().device;
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const std::size_t taken = host_memory_of([&] {
    const Solution s =
        solve(MPI_COMM_WORLD, Matrix::from_function(n, element), RightHandSide::of_ones(), options);
    CHECK(s.converged);
  });
  // The pinned piece on the way to the GPU, an eighth of A, stays for the next solve.
  CHECK(static_cast<std::int64_t>(taken) < part_bytes(grid, n, 64) * (6 + 1) / 8);
}
}  // namespace speedwell::test::host_memory_tests
