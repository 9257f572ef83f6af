// SPDX-License-Identifier: BSD-3-Clause
// Tests of matrices and right-hand sides in files.
#include <filesystem>
#include <string>
#include <vector>

#include "mpi/source_files.hpp"

namespace speedwell::test::source_files_tests {
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

namespace {

/// Whole numbers that every type of integers holds; with `low` 0 none is negative.
Element whole(std::int64_t low) {
  return [=](std::int64_t i, std::int64_t j) {
    return static_cast<double>(low + (7 * i + 11 * j) % (100 - low));
  };
}

/// Checks a matrix in .npy files of type T.
template <class T>
void require_type(const Communicator& all, const SharedFolder& folder, const Element& element) {
  CAPTURE(numpy_type<T>());
  for (const std::int64_t n : {1, 13})
    for (const bool fortran : {false, true})
      for (const bool big_endian : {false, true}) {
        const std::string path =
            folder.file("a", npy<T>(n, n, fortran, element, false, big_endian));
        require_matrix(all, open_matrix(all, path), n, element);
      }
}

}  // namespace

TEST_CASE("a matrix in a .npy file of each type and order of bytes", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  require_type<std::int8_t>(all, folder, whole(-100));
  require_type<std::int16_t>(all, folder, whole(-100));
  require_type<std::int32_t>(all, folder, whole(-100));
  require_type<std::int64_t>(all, folder, whole(-100));
  require_type<std::uint8_t>(all, folder, whole(0));
  require_type<std::uint16_t>(all, folder, whole(0));
  require_type<std::uint32_t>(all, folder, whole(0));
  require_type<std::uint64_t>(all, folder, whole(0));
  require_type<float>(all, folder, simple);
  require_type<double>(all, folder, fraction);
  require_type<bool>(all, folder, [](std::int64_t i, std::int64_t j) { return (i + j) % 2; });
}

TEST_CASE("arrays in .npz files, stored and compressed", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  for (const int method : {0, 8}) {
    for (const std::int64_t n : {1, 2, 13, 40})
      for (const bool fortran : {false, true}) {
        CAPTURE(method, n, fortran);
        const std::string path = folder.file(
            "a", archive({{"A.npy", npy<double>(n, n, fortran, fraction), method},
                          {"i.npy", npy<std::int16_t>(n, n, fortran, whole(-9)), method},
                          {"b.npy", npy<float>(n, 3, fortran, simple), method}}));
        require_matrix(all, open_matrix(all, path + ":A"), n, fraction);
        require_matrix(all, open_matrix(all, path + ":i.npy"), n, whole(-9));
        require_right_hand_side(all, open_right_hand_side(all, path + ":b", n), n, 3, simple);
      }
    // More than one tile of lines, and more than one read of the archive.
    const std::string path =
        folder.file("A", archive({{"A.npy", npy<double>(300, 300, true, fraction), method}}));
    const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
    REQUIRE(Part(open_matrix(all, path).source(), grid, 64).is(fraction));
  }
}

TEST_CASE("all ranks report a .npz file that is refused", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const auto a = [&](const std::string& content, const std::string& name = "") {
    const std::string path = folder.file("A", content) + name;
    return refusal(all, [&] { open_matrix(all, path); });
  };
  const std::string four = npy<double>(4, 4, false, simple);
  CHECK(a(archive({{"x.npy", four}, {"y.npy", four}})) ==
        "'A' holds 2 arrays; allowed: ':NAME' behind the path, with one of the names x, y");
  CHECK(a(archive({{"x.npy", npy<double>(4, 5, false, simple)}}), ":x") ==
        "'A:x' is of 4 x 5; allowed: a square matrix");
  CHECK(a(four, ":x") ==
        "'A' is no .npz file and has no array 'x'; allowed: the file's name alone");
  // What only the last bytes of a compressed array show is found by all ranks together.
  const std::string path =
      folder.file("A", archive({{"x.npy", four, 8, 0, 1}, {"b.npy", four, 8, 0, 1}}));
  const ProcessGrid grid(all, squarest(all.size(), GridOrder::row));
  const std::string damaged =
      " cannot be unpacked: CRC error; allowed: a whole array, as numpy.savez and "
      "numpy.savez_compressed write it";
  CHECK(refusal(all, [&] { Part(open_matrix(all, path + ":x").source(), grid, 3); }) ==
        "'A:x'" + damaged);
  CHECK(refusal(all, [&] { open_right_hand_side(all, path + ":b", 4); }) == "'A:b'" + damaged);
  // Without compression too, where a rank reads only its part.
  const std::string stored =
      folder.file("A", archive({{"x.npy", four, 0, 0, 1}, {"b.npy", four, 0, 0, 1}}));
  CHECK(refusal(all, [&] { open_matrix(all, stored + ":x").source().check(all); }) ==
        "'A:x'" + damaged);
  CHECK(refusal(all, [&] { open_right_hand_side(all, stored + ":b", 4); }) == "'A:b'" + damaged);
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
  // The array file has 8 MB of text. NumPy's files are read in tiles of at most 32 lines of 8192
  // numbers.
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
        all,
        open_right_hand_side(all, folder.file("b", npy<double>(20001, 2, fortran, fraction)),
                             20001),
        20001, 2, fraction);
}

TEST_CASE("the sum of entries of one place does not depend on the ranks", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  std::string lines;
  double sum = 0;
  // Several pieces; a GPU adds the entries of one place in as many kernels.
  const int count = device_choice().device == DeviceKind::cuda ? 20'000 : 150'000;
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
    require_right_hand_side(all, open_right_hand_side(all, folder.file("b", content), n), n, count,
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
      open_right_hand_side(all, folder.file("b", npy<double>(13, 3, false, fraction)), 13);
  CHECK(solution(b, grid, 13, 3, simple) ==
        (all.rank() == 0 ? dense(13, 3, 13, simple) : std::vector<double>{}));
}

TEST_CASE("files without a square matrix are refused", "[sources]") {
  const Communicator all = world();
  const SharedFolder folder(all);
  const auto a = [&](const std::string& content) {
    const std::string path = folder.file("A", content);
    return refusal(all, [&] { open_matrix(all, path); });
  };
  CHECK(a("") ==
        "'A' is empty; allowed: NumPy's .npy and .npz, and Matrix Market (%%MatrixMarket in its "
        "first line)");
  for (const std::string text : {"1 2\n3 4\n", "\x93NUMP", "%%MatrixMarke", "\n%MatrixMarke"})
    CHECK_THAT(a(text), ContainsSubstring(
                            "'A' is of an unknown kind; allowed: NumPy's .npy and .npz, and "));
  CHECK(a("\x1f\x8b\x08") ==
        "'A' is compressed, and ranks read parts of a file; allowed: the file that gunzip makes of "
        "it");
  CHECK_THAT(a("BZh9"), ContainsSubstring("that bunzip2 makes of it"));
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

TEST_CASE("ranks that see different files of the same name are refused on all ranks", "[sources]") {
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
  CHECK_THAT(open(), ContainsSubstring("allowed: the same file on all"));
  fs::current_path(before);
}

TEST_CASE("all ranks report an error inside of a file", "[sources]") {
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
  // Of two wrong lines the first is named, whichever ranks read them.
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
  CHECK(refusal(all, [&] { open_right_hand_side(all, path, 2); }) ==
        "'b' line 4: 'z' is not allowed here; allowed: a number of FP64");
  const std::string five = folder.file("b", array(5, 1, Stored::none, simple));
  CHECK(refusal(all, [&] { open_right_hand_side(all, five, 6); }) ==
        "'b' has 5 rows, A is of 6 x 6; allowed: 6 rows");
}

TEST_CASE("all ranks report a file that has become shorter", "[sources]") {
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
}  // namespace speedwell::test::source_files_tests
