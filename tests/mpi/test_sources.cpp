#include <sys/resource.h>
#include <lupine/error.hpp>
#include <lupine/solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/agreement.hpp"
#include "device_choice.hpp"
#include "folder.hpp"
#include "io/numpy.hpp"
#include "solve/matrix_file.hpp"
#include "solve/source.hpp"

namespace fs = std::filesystem;
using namespace lupine;

namespace {

using Element = std::function<double(std::int64_t, std::int64_t)>;

Communicator world() {
  return Communicator::duplicate(MPI_COMM_WORLD);
}

/// A folder that rank 0 makes for all, and takes away once all are done with it.
class SharedFolder {
 public:
  explicit SharedFolder(const Communicator& all) : all_(all) {
    if (all.rank() == 0) mine_ = std::make_unique<test::Folder>("sources");
    path_ = text_of_rank_0(all, mine_ ? *mine_ / "" : "");
  }
  ~SharedFolder() {
    if (std::uncaught_exceptions() == 0) all_.barrier();
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  /// Rank 0 writes a file, which all may then read.
  std::string file(const std::string& name, const std::string& content) const {
    all_.barrier();
    if (all_.rank() == 0) std::ofstream(path_ + name, std::ios::binary) << content;
    all_.barrier();
    return path_ + name;
  }
  std::string path(const std::string& name) const { return path_ + name; }
  std::ptrdiff_t files() const {
    all_.barrier();
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  const Communicator& all_;
  std::unique_ptr<test::Folder> mine_;
  std::string path_;
};

/// While it lives, no file grows beyond so many bytes: an error, instead of a signal.
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

/// Every grid of all ranks, in both orders.
std::vector<GridShape> shapes(const Communicator& all) {
  std::vector<GridShape> shapes;
  for (int rows = 1; rows <= all.size(); ++rows)
    if (all.size() % rows == 0)
      for (const GridOrder order : {GridOrder::row, GridOrder::column})
        shapes.push_back({rows, all.size() / rows, order});
  return shapes;
}

constexpr double untouched = 12345.5;

/// A rank's part, filled by a source, between memory that nobody may write to.
struct Part {
  Part(const MatrixSource& source, const ProcessGrid& grid, std::int64_t nb)
      : rows(grid.rows(source.n(), nb)),
        columns(grid.columns(source.n(), nb)),
        ld(rows.local_size() + 3),
        memory(static_cast<std::size_t>(ld * columns.local_size()), untouched) {
    static const auto device = test::make_chosen_device();
    const auto queue = device->make_queue(Priority::normal);
    const Buffer there = device->allocate(std::ssize(memory) * std::int64_t{sizeof(double)});
    device->upload(*queue, memory, there.as<double>());
    PartWriter writer(*device, {there.as<double>(), rows.local_size(), columns.local_size(), ld});
    source.fill(grid, rows, columns, writer);
    device->download(*queue, there.as<double>(), memory);
  }

  bool is(const Element& element) const {
    for (std::int64_t j = 0; j < columns.local_size(); ++j)
      for (std::int64_t i = 0; i < ld; ++i) {
        const double found = memory[static_cast<std::size_t>(i + j * ld)];
        const double expected = i < rows.local_size()
                                    ? element(rows.global({i}).value, columns.global({j}).value)
                                    : untouched;
        if (found != expected) return false;
      }
    return true;
  }

  Distribution rows;
  Distribution columns;
  std::int64_t ld;
  std::vector<double> memory;
};

/// Whether the source is this matrix on every grid, in blocks of several sizes.
void require_matrix(const Communicator& all, const Matrix& a, std::int64_t n,
                    const Element& element) {
  REQUIRE(a.source().n() == n);
  a.source().check(all);
  for (const GridShape& shape : shapes(all)) {
    const ProcessGrid grid(all, shape);
    for (const std::int64_t nb : {std::int64_t{1}, std::int64_t{3}, std::int64_t{8}, n}) {
      CAPTURE(shape.rows, shape.columns, nb, n);
      REQUIRE(Part(a.source(), grid, nb).is(element));
    }
  }
}

void require_right_hand_side(const Communicator& all, const RightHandSide& b, std::int64_t n,
                             std::int64_t count, const Element& element) {
  REQUIRE(b.source().count() == count);
  b.source().check(all, n);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (std::int64_t k = count; k-- > 0;) {
    std::vector<double> column(static_cast<std::size_t>(n));
    b.source().get(grid, k, column);
    for (std::int64_t i = 0; i < n; ++i) {
      CAPTURE(i, k, n, count);
      REQUIRE(column[static_cast<std::size_t>(i)] == element(i, k));
    }
  }
}

/// What the source makes of solutions with these elements, taken in any order.
std::vector<double> solution(const RightHandSide& b, const ProcessGrid& grid, std::int64_t n,
                             std::int64_t count, const Element& element) {
  std::vector<double> x{1, 2, 3};
  b.source().prepare(grid, n, x);
  for (std::int64_t k = count; k-- > 0;) {
    std::vector<double> column;
    for (std::int64_t i = 0; i < n; ++i) column.push_back(element(i, k));
    b.source().put(grid, k, column, x);
  }
  return x;
}

/// n x count numbers, column-major, with ld - n others behind each column.
std::vector<double> dense(std::int64_t n, std::int64_t count, std::int64_t ld,
                          const Element& element) {
  std::vector<double> all(static_cast<std::size_t>(ld * count), untouched);
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i + j * ld)] = element(i, j);
  return all;
}

/// The words that `work` is refused with, which must be the same on every rank; of a file, the path
/// without its folder.
std::string refusal(const Communicator& all, const std::function<void()>& work) {
  std::string words;
  try {
    work();
  } catch (const UsageError& error) {
    words = error.what();
  }
  require_equal_options(all, words);
  CHECK(words.find('\n') == std::string::npos);
  const std::size_t quote = words.find('\'');
  const std::size_t slash = words.substr(0, words.find('\'', quote + 1)).rfind('/');
  if (quote != words.npos && slash != words.npos) words.erase(quote + 1, slash - quote);
  return words;
}

/// Elements that FP32 and few decimals hold.
double simple(std::int64_t i, std::int64_t j) {
  return static_cast<double>(i * 37 % 101) - 0.25 * static_cast<double>(j * 53 % 211) + 1;
}

double fraction(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(i * 131 + j * 7 + 1));
}

}  // namespace

// --- functions

TEST_CASE("a matrix of a function of indices", "[sources]") {
  const Communicator all = world();
  for (const std::int64_t n : {1, 2, 13, 40})
    require_matrix(all, Matrix::from_function(n, fraction), n, fraction);
}

TEST_CASE("right-hand sides of a function", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (const std::int64_t n : {1, 2, 13}) {
    const RightHandSide b = RightHandSide::from_function(3, fraction);
    require_right_hand_side(all, b, n, 3, fraction);
    CHECK(solution(b, grid, n, 3, simple) == dense(n, 3, n, simple));
  }
  const RightHandSide ones = RightHandSide::of_ones();
  ones.source().check(all, 5);
  CHECK(ones.source().count() == 0);
  CHECK(solution(ones, grid, 5, 1, simple) == dense(5, 1, 5, simple));
  std::vector<double> b(5);
  CHECK_THROWS_AS(ones.source().get(grid, 0, b), Fault);
}

TEST_CASE("what a user's function throws leaves every rank", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const int last = all.size() - 1;
  const auto on_last = [&](std::int64_t i, std::int64_t j) {
    if (all.rank() == last && i + j > 3) throw std::out_of_range("no such element");
    return 1.0;
  };
  const Matrix a = Matrix::from_function(40, on_last);
  const RightHandSide b = RightHandSide::from_function(1, on_last);
  std::vector<double> column(40);
  if (all.rank() == last) {
    CHECK_THROWS_AS(Part(a.source(), grid, 3), std::out_of_range);
    CHECK_THROWS_AS(b.source().get(grid, 0, column), std::out_of_range);
  } else {
    CHECK_THROWS_AS(Part(a.source(), grid, 3), AgreedFault);
    CHECK_THROWS_WITH(b.source().get(grid, 0, column), ContainsSubstring("no such element"));
  }
  const Matrix odd =
      Matrix::from_function(40, [](std::int64_t, std::int64_t) -> double { throw 7; });
  CHECK_THROWS_AS(Part(odd.source(), grid, 3), int);
}

TEST_CASE("functions that cannot be used are refused", "[sources]") {
  const Communicator all = world();
  const auto matrix = [&](std::int64_t n, const ElementFunction& element) {
    return refusal(all, [&] { Matrix::from_function(n, element).source().check(all); });
  };
  CHECK(matrix(0, simple) == "A is of order 0; allowed: at least 1");
  CHECK(matrix(3, {}) == "the function of A's elements is empty");
  const auto b = [&](std::int64_t count, const ElementFunction& element) {
    return refusal(all,
                   [&] { RightHandSide::from_function(count, element).source().check(all, 3); });
  };
  CHECK(b(0, simple) == "b has 0 columns; allowed: at least 1");
  CHECK(b(3, {}) == "the function of b's elements is empty");
  if (all.size() > 1) CHECK_THAT(matrix(3 + all.rank(), simple), ContainsSubstring("A of order 4"));
}

// --- arrays on one rank

TEST_CASE("a matrix that lies on one rank", "[sources]") {
  const Communicator all = world();
  for (int root = 0; root < all.size(); ++root)
    for (const std::int64_t n : {1, 2, 13, 40}) {
      const std::int64_t lda = n + root;
      std::vector<double> a;
      if (all.rank() == root) a = dense(n, n, lda, fraction);
      require_matrix(all, Matrix::dense(n, a.data(), lda, root), n, fraction);
    }
}

TEST_CASE("a matrix of many slices", "[sources]") {
  const Communicator all = world();
  constexpr std::int64_t n = 1100;  // 476 columns a slice
  std::vector<double> a;
  if (all.rank() == 0) a = dense(n, n, n, fraction);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (const std::int64_t nb : {256, 700})
    REQUIRE(Part(Matrix::dense(n, a.data(), n).source(), grid, nb).is(fraction));
}

TEST_CASE("one rank's own matrix is read in place", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const std::vector<double> a = dense(5, 5, 7, fraction);
  const auto place =
      Matrix::dense(5, a.data(), 7).source().in_place(grid, grid.rows(5, 2), grid.columns(5, 2));
  REQUIRE(place.has_value() == (all.size() == 1));
  if (place)
    CHECK((place->data == a.data() && place->rows == 5 && place->columns == 5 && place->ld == 7));
}

TEST_CASE("right-hand sides that lie on one rank", "[sources]") {
  const Communicator all = world();
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (int root = 0; root < all.size(); ++root) {
    std::vector<double> b;
    if (all.rank() == root) b = dense(13, 3, 15, fraction);
    const RightHandSide source = RightHandSide::dense(3, b.data(), 15, root);
    require_right_hand_side(all, source, 13, 3, fraction);
    CHECK(solution(source, grid, 13, 3, simple) ==
          (all.rank() == root ? dense(13, 3, 13, simple) : std::vector<double>{}));
  }
}

TEST_CASE("arrays that cannot be used are refused", "[sources]") {
  const Communicator all = world();
  const double a[9] = {};
  const auto matrix = [&](std::int64_t n, const double* data, std::int64_t lda, int root) {
    return refusal(all, [&] { Matrix::dense(n, data, lda, root).source().check(all); });
  };
  const std::string last = std::to_string(all.size() - 1);
  CHECK(matrix(3, a, 3, 0).empty());
  CHECK(matrix(0, a, 3, 0) == "A is of order 0; allowed: at least 1");
  CHECK(matrix(3, a, 2, 0) == "the leading dimension of A is 2; allowed: at least its 3 rows");
  CHECK(matrix(3, nullptr, 3, 0) == "A is null; allowed: the array on rank 0");
  CHECK(matrix(3, all.rank() == 0 ? a : nullptr, all.rank() == 0 ? 3 : 0, 0).empty());
  for (const int root : {-1, all.size()})
    CHECK(matrix(3, a, 3, root) ==
          "A is said to be on rank " + std::to_string(root) + "; allowed: 0 to " + last);
  const auto b = [&](std::int64_t count, const double* data, std::int64_t ldb, int root) {
    return refusal(all,
                   [&] { RightHandSide::dense(count, data, ldb, root).source().check(all, 3); });
  };
  CHECK(b(0, a, 3, 0) == "b has 0 columns; allowed: at least 1");
  CHECK(b(1, a, 1, 0) == "the leading dimension of b is 1; allowed: at least its 3 rows");
  CHECK(b(1, nullptr, 3, 0) == "b is null; allowed: the array on rank 0");
  if (all.size() > 1)
    CHECK_THAT(matrix(3, a, 3, all.rank()), ContainsSubstring("3 columns on rank 1"));
}

// --- block-cyclic parts

namespace {

Descriptor descriptor(std::int64_t m, std::int64_t n, std::int64_t mb, std::int64_t nb, int row,
                      int column, std::int64_t ld) {
  return {1, -1, m, n, mb, nb, row, column, ld};
}

/// Whether process `me` of `processes` has an index, by ScaLAPACK's definition; and where.
std::optional<std::int64_t> place(std::int64_t index, std::int64_t block, int processes, int me,
                                  int first) {
  std::int64_t before = 0;
  for (std::int64_t i = 0; i <= index; ++i) {
    const bool mine = (i / block + first) % processes == me;
    if (i == index) return mine ? std::optional(before) : std::nullopt;
    before += mine ? 1 : 0;
  }
  return std::nullopt;
}

/// A rank's part of a block-cyclic matrix, made element by element.
struct LocalPart {
  LocalPart(const ProcessGrid& grid, std::int64_t m, std::int64_t n, std::int64_t mb,
            std::int64_t nb, int row, int column, const Element& element)
      : ld(m + 2), memory(static_cast<std::size_t>(ld * n), 0.0) {
    std::int64_t columns = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto local_j = place(j, nb, grid.shape().columns, grid.me().column, column);
      columns += local_j ? 1 : 0;
      for (std::int64_t i = 0; local_j && i < m; ++i)
        if (const auto local_i = place(i, mb, grid.shape().rows, grid.me().row, row))
          memory[static_cast<std::size_t>(*local_i + *local_j * ld)] = element(i, j);
    }
    memory.resize(static_cast<std::size_t>(ld * columns));
  }

  std::int64_t ld;
  std::vector<double> memory;
};

}  // namespace

TEST_CASE("a block-cyclic matrix is read where it is", "[sources]") {
  const Communicator all = world();
  for (const GridShape& shape : shapes(all))
    for (const std::int64_t n : {1, 2, 13, 40})
      for (const std::int64_t nb : {1, 4, 64}) {
        CAPTURE(shape.rows, shape.columns, n, nb);
        const ProcessGrid grid(all, shape);
        const LocalPart local(grid, n, n, nb, nb, 0, 0, fraction);
        const Matrix a =
            Matrix::block_cyclic(descriptor(n, n, nb, nb, 0, 0, local.ld), local.memory.data());
        a.source().check(all);
        REQUIRE(a.source().block() == nb);
        const Distribution rows = grid.rows(n, nb);
        const Distribution columns = grid.columns(n, nb);
        const auto view = a.source().in_place(grid, rows, columns);
        REQUIRE(view);
        CHECK((view->data == local.memory.data() && view->ld == local.ld));
        CHECK((view->rows == rows.local_size() && view->columns == columns.local_size()));
        REQUIRE(Part(a.source(), grid, nb).is(fraction));
        const bool other =
            a.source().in_place(grid, grid.rows(n, 3), grid.columns(n, 3)).has_value();
        CHECK(other == (all.size() == 1 || n <= std::min<std::int64_t>(nb, 3)));
        if (!other)
          CHECK(refusal(all, [&] { Part(a.source(), grid, 3); }) ==
                "the block size is " + std::to_string(std::min<std::int64_t>(n, 3)) +
                    ", NB_ of A's descriptor " + std::to_string(nb) + "; allowed: the same");
      }
}

TEST_CASE("block-cyclic right-hand sides lie as they like, and so do their solutions",
          "[sources]") {
  const Communicator all = world();
  for (const GridShape& shape : shapes(all))
    for (const auto& [mb, nb] : {std::pair{1, 1}, {4, 2}, {3, 1}, {64, 64}}) {
      CAPTURE(shape.rows, shape.columns, mb, nb);
      const ProcessGrid grid(all, shape);
      const int row = shape.rows - 1;
      const int column = shape.columns / 2;
      const LocalPart b(grid, 13, 5, mb, nb, row, column, fraction);
      const RightHandSide source = RightHandSide::block_cyclic(
          descriptor(13, 5, mb, nb, row, column, b.ld), b.memory.data());
      source.source().check(all, 13);
      for (std::int64_t k = 0; k < 5; ++k) {
        std::vector<double> values(13, untouched);
        source.source().get(grid, k, values);
        const std::vector<double> whole = dense(13, 5, 13, fraction);
        REQUIRE(std::equal(values.begin(), values.end(), whole.begin() + 13 * k));
      }
      const LocalPart x(grid, 13, 5, mb, nb, row, column, simple);
      CHECK(solution(source, grid, 13, 5, simple) == x.memory);
    }
}

TEST_CASE("descriptors that cannot be used are refused", "[sources]") {
  const Communicator all = world();
  const double local[200] = {};
  const ProcessGrid grid(all, {1, all.size()});
  const auto a = [&](Descriptor d, const double* data) {
    return refusal(all, [&] {
      const Matrix source = Matrix::block_cyclic(d, data);
      source.source().check(all);
      source.source().in_place(grid, grid.rows(d[3], d[5]), grid.columns(d[3], d[5]));
    });
  };
  const auto changed = [](std::size_t entry, std::int64_t value) {
    Descriptor d = descriptor(10, 10, 2, 2, 0, 0, 10);
    d[entry] = value;
    return d;
  };
  CHECK(a(changed(1, 77), local).empty());
  CHECK(a(changed(0, 501), local) == "DTYPE_ of A's descriptor is 501; allowed: 1, a dense matrix");
  CHECK(a(changed(2, 9), local) ==
        "M_ of A's descriptor is 9; allowed: N_, which is 10: a square matrix");
  CHECK(a(changed(2, 0), local) == "M_ of A's descriptor is 0; allowed: at least 1");
  CHECK(a(changed(3, -1), local) == "N_ of A's descriptor is -1; allowed: at least 1");
  CHECK(a(changed(4, 3), local) == "MB_ of A's descriptor is 3; allowed: NB_, which is 2");
  CHECK(a(changed(4, 0), local) == "MB_ of A's descriptor is 0; allowed: at least 1");
  CHECK(a(changed(5, 0), local) == "NB_ of A's descriptor is 0; allowed: at least 1");
  CHECK(a(changed(6, 1), local) == "RSRC_ of A's descriptor is 1; allowed: 0");
  CHECK(a(changed(7, 1), local) == "CSRC_ of A's descriptor is 1; allowed: 0");
  CHECK(a(changed(8, 9), local) ==
        "LLD_ of A's descriptor is 9; allowed: at least 10, the rows of process (0, 0)");
  const int last = all.size() - 1;  // one rank alone: all must know
  const auto place = "process (0, " + std::to_string(last) + ")";
  if (last < 5) {
    CHECK(a(changed(8, all.rank() == last ? 9 : 10), local) ==
          "LLD_ of A's descriptor is 9; allowed: at least 10, the rows of " + place);
    CHECK(a(changed(1, 0), all.rank() == last ? nullptr : local) ==
          "the local part of A is null on " + place + ", which has rows and columns of it");
  }
  if (last > 0)
    CHECK_THAT(a(changed(5, 2 + all.rank()), local), ContainsSubstring("NB_ 3, RSRC_ 0"));

  const auto b = [&](Descriptor d) {
    return refusal(all, [&] {
      const RightHandSide source = RightHandSide::block_cyclic(d, local);
      std::vector<double> x;
      source.source().check(all, 10);
      source.source().prepare(grid, 10, x);
    });
  };
  CHECK(b(descriptor(10, 3, 2, 1, 0, last, 10)).empty());
  CHECK(b(descriptor(9, 3, 2, 1, 0, 0, 10)) ==
        "M_ of b's descriptor is 9; allowed: 10, the rows of A");
  CHECK(b(descriptor(10, 3, 2, 1, 1, 0, 10)) == "RSRC_ of b's descriptor is 1; allowed: 0 to 0");
  CHECK(b(descriptor(10, 3, 2, 1, 0, last + 1, 10)) ==
        "CSRC_ of b's descriptor is " + std::to_string(last + 1) + "; allowed: 0 to " +
            std::to_string(last));
  CHECK(b(descriptor(10, 3, 2, 1, 0, -1, 10)).starts_with("CSRC_ of b's descriptor is -1"));
}

// --- files

namespace {

/// A .npy file of rows x columns elements.
template <class T>
std::string npy(std::int64_t rows, std::int64_t columns, bool fortran, const Element& element,
                bool vector = false) {
  std::vector<std::int64_t> shape{rows};
  if (!vector) shape.push_back(columns);
  std::string text = numpy_header(shape, fortran);
  if (sizeof(T) == 4) text.replace(text.find("<f8"), 3, "<f4");
  for (std::int64_t at = 0; at < rows * columns; ++at) {
    const std::int64_t i = fortran ? at % rows : at / columns;
    const std::int64_t j = fortran ? at / rows : at % columns;
    const T value = static_cast<T>(element(i, j));
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    text.append(bytes, sizeof(T));
  }
  return text;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

enum class Stored { none, symmetric, skew };

const char* symmetry(Stored half) {
  return half == Stored::none ? "general" : half == Stored::skew ? "skew-symmetric" : "symmetric";
}

/// Whether an entry stands in the file.
bool stands(Stored half, std::int64_t i, std::int64_t j) {
  return half == Stored::none || i > j || (i == j && half == Stored::symmetric);
}

double mirrored(Stored half, const Element& element, std::int64_t i, std::int64_t j) {
  if (half == Stored::none || i > j) return element(i, j);
  if (half == Stored::symmetric) return element(j, i);
  return i == j ? 0 : -element(j, i);
}

std::string array(std::int64_t rows, std::int64_t columns, Stored half, const Element& element,
                  const std::string& end = "\n") {
  std::string text = "%%MatrixMarket matrix array real " + std::string(symmetry(half)) + end +
                     "% comment" + end + std::to_string(rows) + " " + std::to_string(columns) + end;
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      if (stands(half, i, j)) text += number(element(i, j)) + end;
  return text;
}

bool is_entry(std::int64_t i, std::int64_t j) {
  return (i * 7 + j * 3) % 5 < 2;
}

/// Some entries, the last ones first, each of them as two that are added.
std::string coordinates(std::int64_t n, Stored half, const Element& element) {
  std::string lines;
  std::int64_t count = 0;
  const auto add = [&](const std::string& place, double value) {
    lines += place + number(value) + "\n";
    ++count;
  };
  for (std::int64_t i = n; i-- > 0;)
    for (std::int64_t j = 0; j < n; ++j) {
      if (!is_entry(i, j) || !stands(half, i, j)) continue;
      const std::string place = std::to_string(i + 1) + " " + std::to_string(j + 1) + " ";
      add(place, element(i, j) - 8);
      add(place, 8);
    }
  return "%%MatrixMarket matrix coordinate real " + std::string(symmetry(half)) + "\n" +
         std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(count) + "\n" + lines;
}

}  // namespace

TEST_CASE("a matrix in a .npy file, of every type and order", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  for (const std::int64_t n : {1, 2, 13, 40})
    for (const bool fortran : {false, true}) {
      CAPTURE(n, fortran);
      require_matrix(all, open_matrix(all, folder.file("a", npy<double>(n, n, fortran, fraction))),
                     n, fraction);
      require_matrix(all, open_matrix(all, folder.file("a", npy<float>(n, n, fortran, simple))), n,
                     simple);
    }
}

TEST_CASE("a matrix in an array file, general or half of it", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  for (const std::int64_t n : {1, 2, 13, 40})
    for (const Stored half : {Stored::none, Stored::symmetric, Stored::skew}) {
      CAPTURE(n, symmetry(half));
      const auto element = [&](std::int64_t i, std::int64_t j) {
        return mirrored(half, fraction, i, j);
      };
      const std::string unix = array(n, n, half, fraction);
      const std::string dos = array(n, n, half, fraction, "\r\n\r\n");
      require_matrix(all, open_matrix(all, folder.file("a", unix)), n, element);
      require_matrix(all, open_matrix(all, folder.file("a", dos)), n, element);
      require_matrix(all, open_matrix(all, folder.file("a", unix.substr(0, unix.size() - 1))), n,
                     element);
    }
}

TEST_CASE("a matrix in a coordinate file, general or half of it", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  for (const std::int64_t n : {1, 2, 13, 40})
    for (const Stored half : {Stored::none, Stored::symmetric, Stored::skew}) {
      CAPTURE(n, symmetry(half));
      const auto lower = [](std::int64_t i, std::int64_t j) {
        return is_entry(i, j) ? simple(i, j) : 0.0;
      };
      require_matrix(all, open_matrix(all, folder.file("a", coordinates(n, half, simple))), n,
                     [&](std::int64_t i, std::int64_t j) { return mirrored(half, lower, i, j); });
    }
  const std::string pattern = folder.file(
      "p", "%%matrixmarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 3\n3 1\n");
  require_matrix(all, open_matrix(all, pattern), 3, [](std::int64_t i, std::int64_t j) {
    return i + j == 1 || i + j == 2 * (i != j ? 1 : 2) ? 1.0 : 0.0;
  });
  const std::string whole =
      folder.file("i", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n2 1 -7\n");
  require_matrix(all, open_matrix(all, whole), 2,
                 [](std::int64_t i, std::int64_t j) { return i == 1 && j == 0 ? -7.0 : 0.0; });
  const std::string none = folder.file("n", "%%MatrixMarket matrix coordinate real general\n2 2 0");
  require_matrix(all, open_matrix(all, none), 2, [](std::int64_t, std::int64_t) { return 0.0; });
}

TEST_CASE("files of many pieces", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const auto check = [&](const std::string& path, const Element& element) {
    const Matrix a = open_matrix(all, path);
    REQUIRE(Part(a.source(), grid, 64).is(element));
  };
  // 8 MB of text; then the tiles of 32 lines of 8192 numbers at most, with few rows of these.
  check(folder.file("array", array(600, 600, Stored::none, fraction)), fraction);
  check(folder.file("half", array(600, 600, Stored::skew, fraction)),
        [](std::int64_t i, std::int64_t j) { return mirrored(Stored::skew, fraction, i, j); });
  check(folder.file("some", coordinates(600, Stored::symmetric, simple)),
        [](std::int64_t i, std::int64_t j) {
          const auto lower = [](std::int64_t k, std::int64_t l) {
            return is_entry(k, l) ? simple(k, l) : 0.0;
          };
          return mirrored(Stored::symmetric, lower, i, j);
        });
  check(folder.file("c", npy<double>(600, 600, false, fraction)), fraction);
  check(folder.file("f", npy<double>(600, 600, true, fraction)), fraction);
  for (const bool fortran : {false, true})
    require_right_hand_side(
        all, open_right_hand_side(all, folder.file("b", npy<double>(20001, 2, fortran, fraction))),
        20001, 2, fraction);
}

TEST_CASE("sums of equal places do not depend on the ranks", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  std::string lines;
  double sum = 0;
  constexpr int count = 150'000;  // some pieces
  for (int k = 0; k < count; ++k) {
    const double value = fraction(k, 0);
    lines += "1 1 " + number(value) + "\n";
    sum += value;
  }
  const std::string path = folder.file("a", "%%MatrixMarket matrix coordinate real general\n1 1 " +
                                                std::to_string(count) + "\n" + lines);
  require_matrix(all, open_matrix(all, path), 1, [&](std::int64_t, std::int64_t) { return sum; });
}

TEST_CASE("right-hand sides in files", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const auto check = [&](const std::string& content, std::int64_t n, std::int64_t count,
                         const Element& element) {
    require_right_hand_side(all, open_right_hand_side(all, folder.file("b", content)), n, count,
                            element);
  };
  for (const std::int64_t n : {1, 5, 40}) {
    check(npy<double>(n, 1, false, fraction, true), n, 1, fraction);
    check(npy<float>(n, 1, true, simple, true), n, 1, simple);
    for (const bool fortran : {false, true})
      check(npy<double>(n, 3, fortran, fraction), n, 3, fraction);
    check(array(n, 1, Stored::none, fraction), n, 1, fraction);
    check(array(n, 3, Stored::none, fraction), n, 3, fraction);
    check(coordinates(n, Stored::none, simple), n, n,
          [](std::int64_t i, std::int64_t j) { return is_entry(i, j) ? simple(i, j) : 0.0; });
  }
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const RightHandSide b =
      open_right_hand_side(all, folder.file("b", npy<double>(13, 3, false, fraction)));
  CHECK(solution(b, grid, 13, 3, simple) ==
        (all.rank() == 0 ? dense(13, 3, 13, simple) : std::vector<double>{}));
}

TEST_CASE("files that are no square matrix are refused", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const auto a = [&](const std::string& content) {
    const std::string path = folder.file("A", content);
    return refusal(all, [&] { open_matrix(all, path); });
  };
  CHECK(a("") ==
        "'A' is empty; allowed: NumPy's .npy, and Matrix Market (%%MatrixMarket in its "
        "first line)");
  for (const std::string text : {"1 2\n3 4\n", "\x93NUMP", "%%MatrixMarke", "\n%%MatrixMarket"})
    CHECK_THAT(a(text),
               ContainsSubstring("'A' is of an unknown kind; allowed: NumPy's .npy, and "));
  CHECK(a(npy<double>(5, 1, false, simple, true)) ==
        "'A' is a vector of 5 numbers; allowed: a square matrix");
  CHECK(a(npy<double>(5, 6, false, simple)) == "'A' is of 5 x 6; allowed: a square matrix");
  CHECK(a(array(6, 5, Stored::none, simple)) == "'A' is of 6 x 5; allowed: a square matrix");
  CHECK_THAT(a(npy<double>(5, 5, false, simple) + "x"),
             ContainsSubstring("'A' has 201 bytes of numbers; shape (5, 5)"));
  CHECK_THAT(refusal(all, [&] { open_matrix(all, folder.path("none")); }),
             ContainsSubstring("cannot read 'none': No such file or directory"));
  CHECK_THAT(refusal(all, [&] { open_matrix(all, folder.path("")); }),
             ContainsSubstring("it is a folder"));
  if (all.size() > 1) {
    const std::string other = folder.file("B", array(2, 2, Stored::none, simple));
    const std::string mine = folder.file("C", array(2, 2, Stored::none, fraction));
    CHECK_THAT(refusal(all, [&] { open_matrix(all, all.rank() == 1 ? other : mine); }),
               ContainsSubstring("rank 1 has other options"));
  }
}

TEST_CASE("ranks that see other files of the same name are refused alike", "[sources]") {
  const Communicator all = world();
  if (all.size() == 1) return;
  const SharedFolder folder(all);
  folder.file("A", array(2, 2, Stored::none, simple));
  if (all.rank() == 0) fs::create_directories(folder.path("other"));
  all.barrier();
  const fs::path before = fs::current_path();
  fs::current_path(folder.path(all.rank() == 1 ? "other" : ""));
  const auto open = [&] { return refusal(all, [&] { open_matrix(all, "A"); }); };
  CHECK_THAT(open(), ContainsSubstring("cannot read 'A': No such file or directory"));
  folder.file("other/A", array(2, 2, Stored::none, fraction));
  CHECK_THAT(open(), ContainsSubstring("on another; allowed: the same file on all"));
  fs::current_path(before);
}

TEST_CASE("what is wrong inside a file is found by all ranks", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const auto fill = [&](const std::string& content) {
    const std::string path = folder.file("A", content);
    return refusal(all, [&] { Part(open_matrix(all, path).source(), grid, 3); });
  };
  std::string text = array(600, 600, Stored::none, fraction);
  CHECK(fill(text + "1\n") == "'A' holds 360001 entries; its header says 360000");
  CHECK(fill(text.substr(0, text.rfind('\n', text.size() - 2) + 1)) ==
        "'A' holds 359999 entries; its header says 360000");
  // Two are wrong: the first is named, wherever the ranks find them.
  std::size_t place = 0;
  for (const int line : {250'000, 350'000}) {
    place = 0;
    for (int i = 1; i < line; ++i) place = text.find('\n', place) + 1;
    text.replace(place, 1, "x");
  }
  CHECK_THAT(fill(text), ContainsSubstring("'A' line 250000: 'x"));
  const std::string few = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 2\n";
  CHECK(fill(few) == "'A' holds 2 entries; its header says 3");
  CHECK(fill(few + "1 2 3\n2 1 4\n") == "'A' holds 4 entries; its header says 3");
  CHECK_THAT(fill(few + "3 1 1\n"), ContainsSubstring("'A' line 5: '3' is not allowed here"));

  const std::string path =
      folder.file("b", "%%MatrixMarket matrix array real general\n2 1\n1\nz\n");
  CHECK(refusal(all, [&] { open_right_hand_side(all, path); }) ==
        "'b' line 4: 'z' is not allowed here; allowed: a number of FP64");
  const std::string five = folder.file("b", array(5, 1, Stored::none, simple));
  CHECK(refusal(all, [&] { open_right_hand_side(all, five).source().check(all, 6); }) ==
        "'b' has 5 rows, A is of 6 x 6; allowed: 6 rows");
}

TEST_CASE("a file that shrinks is found by all ranks", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  for (const std::string& content :
       {npy<double>(40, 40, false, simple), array(40, 40, Stored::none, simple)}) {
    const std::string path = folder.file("A", content);
    const Matrix a = open_matrix(all, path);
    all.barrier();
    if (all.rank() == 0) fs::resize_file(path, content.size() - 9);
    all.barrier();
    CHECK(refusal(all, [&] { Part(a.source(), grid, 3); }) ==
          "'A' has become shorter while it was read");
  }
}

TEST_CASE("a solution has the form of its right-hand side", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const std::string market = folder.file("m", array(3, 3, Stored::none, simple));
  const std::string c_order = folder.file("c", npy<double>(3, 3, false, simple));
  const std::string f_order = folder.file("f", npy<float>(3, 3, true, simple));
  const std::string vector = folder.file("v", npy<double>(3, 1, false, simple, true));
  const auto format = [&](const std::string& a, const std::string& b) {
    const SolutionFormat found = solution_format(all, a, b);
    if (found.kind == FileKind::matrix_market) return std::string("mtx");
    return std::string(found.vector ? "vector" : found.fortran ? "F" : "C");
  };
  CHECK(format(market, "") == "mtx");
  CHECK(format(c_order, "") == "vector");
  CHECK(format(c_order, market) == "mtx");
  CHECK(format(market, vector) == "vector");
  CHECK(format(market, c_order) == "C");
  CHECK(format(market, f_order) == "F");
}

TEST_CASE("a solution that is written is read back the same", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const Element element = [](std::int64_t i, std::int64_t j) {
    constexpr std::array special{0.1, -5e-324, std::numeric_limits<double>::max(), 1.0 / 3, 0.0};
    return i < 5 ? special[static_cast<std::size_t>(i)] : fraction(i, j) * std::pow(10.0, i % 90);
  };
  for (const FileKind kind : {FileKind::numpy, FileKind::matrix_market})
    for (const std::int64_t count : {1, 3})
      for (const bool vector : {false, true})
        for (const bool fortran : {false, true}) {
          const std::int64_t n = 50'001;  // more than a piece
          const std::string path = folder.path("x");
          const SolutionFormat format{kind, vector, fortran};
          std::vector<double> x;
          if (all.rank() == 0) x = dense(n, count, n, element);
          write_solution(all, path, format, n, count, x);
          require_right_hand_side(all, open_right_hand_side(all, path), n, count, element);
          if (kind == FileKind::numpy) {
            const SolutionFormat found = solution_format(all, path, path);
            CHECK(found.vector == (vector && count == 1));
            CHECK((found.vector || found.fortran == fortran));
          }
          CHECK(folder.files() == 1);
          all.barrier();
        }
  write_solution(all, folder.path("x"), {}, 2, 1, {0.1, -2});
  CHECK(test::content(folder.path("x")) ==
        "%%MatrixMarket matrix array real general\n2 1\n0.1\n-2\n");
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
  // As on a full disk: no file of this process may grow beyond a megabyte.
  const FileSizeLimit limit(1 << 20);
  CHECK_THAT(write(old), ContainsSubstring("File too large"));
  CHECK(test::content(old) == "old");
  CHECK(folder.files() == 1);
}
