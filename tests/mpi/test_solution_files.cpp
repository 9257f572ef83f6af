// SPDX-License-Identifier: BSD-3-Clause
// Tests of solutions that are written to files.
#include <sys/resource.h>

#include <array>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "mpi/source_files.hpp"

namespace speedwell::test::solution_files_tests {
namespace {

/// Limits the size of files until the destructor: a write beyond it is an error, not a signal.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a solution has the form of its right-hand side", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const std::string market = folder.file("m", array(3, 3, Stored::none, simple));
  const std::string c_order = folder.file("c", npy<double>(3, 3, false, simple));
  const std::string f_order = folder.file("f", npy<float>(3, 3, true, simple));
  const std::string vector = folder.file("v", npy<double>(3, 1, false, simple, true));
  const auto format = [&](const std::string& a, const std::string& b, const std::string& x = "x") {
    const SolutionFormat found = solution_format(all, a, b, x);
    if (found.kind == FileKind::matrix_market) return std::string("mtx");
    return std::string(found.kind == FileKind::npz ? "npz " : "") + (found.vector    ? "vector"
                                                                     : found.fortran ? "F"
                                                                                     : "C");
  };
  CHECK(format(market, "") == "mtx");
  CHECK(format(c_order, "") == "vector");
  CHECK(format(c_order, market) == "mtx");
  CHECK(format(market, vector) == "vector");
  CHECK(format(market, c_order) == "C");
  CHECK(format(market, f_order) == "F");
  const std::string packed = folder.file("p", archive({{"c.npy", npy<double>(3, 3, false, simple)},
                                                       {"f.npy", npy<bool>(3, 1, true, simple)}}));
  CHECK(format(packed + ":c", "") == "vector");
  CHECK(format(market, packed + ":c") == "C");
  CHECK(format(market, packed + ":f") == "F");
  // The name of x has the last word on the kind of file.
  CHECK(format(market, "", "x.npy") == "vector");
  CHECK(format(market, market, "X.NPY") == "vector");
  CHECK(format(market, f_order, "x.npz") == "npz F");
  CHECK(format(c_order, "", "a.mtx/x.npz") == "npz vector");
  CHECK(format(c_order, f_order, "x.mtx") == "mtx");
  CHECK(format(c_order, f_order, "x.npy.txt") == "F");
}

TEST_CASE("a solution that is written is read back the same", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const Element element = [](std::int64_t i, std::int64_t j) {
    constexpr std::array special{0.1, -5e-324, std::numeric_limits<double>::max(), 1.0 / 3, 0.0};
    return i < 5 ? special[static_cast<std::size_t>(i)] : fraction(i, j) * std::pow(10.0, i % 90);
  };
  for (const FileKind kind : {FileKind::numpy, FileKind::npz, FileKind::matrix_market})
    for (const std::int64_t count : {1, 3})
      for (const bool vector : {false, true})
        for (const bool fortran : {false, true}) {
          // Matrix Market has one form, and reading its text takes longest.
          if (kind == FileKind::matrix_market && (vector || fortran)) continue;
          const std::int64_t n = 50'001;  // more than one piece
          const std::string path = folder.path("x");
          const SolutionFormat format{kind, vector, fortran};
          std::vector<double> x;
          if (all.rank() == 0) x = dense(n, count, n, element);
          write_solution(all, path, format, n, count, x);
          require_right_hand_side(all, open_right_hand_side(all, path, n), n, count, element);
          if (kind != FileKind::matrix_market) {
            const SolutionFormat found = solution_format(all, path, path, "x");
            CHECK(found.vector == (vector && count == 1));
            CHECK((found.vector || found.fortran == fortran));
          }
          CHECK(folder.files() == 1);
          all.barrier();
        }
  write_solution(all, folder.path("x"), {}, 2, 1, {0.1, -2});
  CHECK(read(folder.path("x")) == "%%MatrixMarket matrix array real general\n2 1\n0.1\n-2\n");
}

TEST_CASE("a solution that cannot be written leaves the old file", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const std::vector<double> x(300'000, 0.1);
  const auto write = [&](const std::string& path) {
    return refusal(all, [&] { write_solution(all, path, {}, 300'000, 1, x); });
  };
  CHECK(write(folder.path("none/x")) ==
        "cannot write 'x': No such file or directory; allowed: a file in a folder that can be "
        "written, on a disk with room for it");
  CHECK_THAT(write("/dev/full"), ContainsSubstring("No space left on device"));
  const std::string old = folder.file("old", "old");
  // Imitates a full disk: no file of this process may grow beyond a megabyte.
  const FileSizeLimit limit(1 << 20);
  CHECK_THAT(write(old), ContainsSubstring("File too large"));
  CHECK(read(old) == "old");
  CHECK(folder.files() == 1);
}
}  // namespace speedwell::test::solution_files_tests
