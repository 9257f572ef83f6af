// SPDX-License-Identifier: BSD-3-Clause
#include "source/matrix_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "core/random.hpp"
#include "device/checksum_keys.hpp"
#include "io/text.hpp"
#include "source/file_part.hpp"
#include "source/source_parts.hpp"

namespace speedwell {

namespace {

/// A matrix in a .npy, a .npz or a Matrix Market file.
class MatrixFile {
 public:
  /// @param name path of the file, with ":NAME" behind it for an array of a .npz file
  explicit MatrixFile(const std::string& name)
      : name_(name),
        file_(split_array_path(name).path),
        header_(read_header(file_, split_array_path(name).array)) {}

  /// The size of the file in bytes, and a hash of its beginning and of blocks drawn at random.
  std::string identity() const {
    constexpr std::int64_t block = 4096;
    constexpr std::uint64_t blocks = 64;
    const std::int64_t size = file_.size();
    const auto seed = static_cast<std::uint64_t>(size);
    std::uint64_t hash = 0;
    for (std::uint64_t k = 0; k <= blocks && size > 0; ++k) {
      const auto begin = static_cast<std::int64_t>(k == 0 ? 0 : random_bits(seed, k) % seed);
      for (const char c : file_.text(begin, block))
        hash = mixed_bits(hash + static_cast<unsigned char>(c) + 1);
    }
    return fmt::format("{} bytes, hash {:016x} of a sample", size, hash);
  }
  std::int64_t rows() const {
    return std::visit([](const auto& header) { return rows_of(header); }, header_);
  }
  std::int64_t columns() const {
    return std::visit([](const auto& header) { return columns_of(header); }, header_);
  }
  Field field() const {
    return std::visit([](const auto& header) { return field_of_file(header); }, header_);
  }
  std::string description() const {
    return fmt::format("the file '{}' of {} x {}{}", name_, rows(), columns(),
                       field() == Field::real ? "" : ", complex");
  }
  const NumpyHeader* numpy() const { return std::get_if<NumpyHeader>(&header_); }
  UsageError error(const std::string& words) const {
    return UsageError(fmt::format("'{}' {}", name_, words), file_.path());
  }

  /// Checks what no part shows, before parts are read. Collective. @throws UsageError
  void check(const Communicator& all) const {
    if (const NumpyHeader* header = numpy(); header && header->archived)
      check_stored(all, file_, *header->archived);
  }

  /// a <- this rank's part. Collective.
  void read(const Communicator& all, const MatrixPart& part, PartWriter& a) const {
    if (const NumpyHeader* header = numpy())
      agree_on_shares(all, [&] { read_numpy_part(file_, *header, part, a); });
    else
      read_market_part(all, file_, std::get<MarketHeader>(header_), part, a);
  }

 private:
  using Header = std::variant<NumpyHeader, MarketHeader>;

  static std::int64_t rows_of(const NumpyHeader& header) { return header.rows(); }
  static std::int64_t rows_of(const MarketHeader& header) { return header.rows; }
  static Field field_of_file(const NumpyHeader& header) { return header.type.field; }
  static Field field_of_file(const MarketHeader& header) {
    return header.field == MarketField::complex ? Field::complex : Field::real;
  }
  static std::int64_t columns_of(const NumpyHeader& header) { return header.columns(); }
  static std::int64_t columns_of(const MarketHeader& header) { return header.columns; }
  static Header read_header(const InputFile& file, const std::optional<std::string>& array) {
    constexpr std::int64_t most_blanks = 4096;  // before the word of a Matrix Market file
    const std::string start = file.text(0, most_blanks);
    if (is_zip(start)) return read_numpy_header(file, find_array(file, array));
    if (array)
      throw file.error(
          fmt::format("is no .npz file and has no array '{}'; allowed: the file's name alone",
                      printable(*array)));
    if (start.starts_with(numpy_magic)) return read_numpy_header(file);
    if (begins_as_market(start)) return read_market_header(file);
    for (const auto& [magic, program] : {std::pair{"\x1f\x8b", "gunzip"}, {"BZh", "bunzip2"}})
      if (start.starts_with(magic))
        throw file.error(fmt::format(
            "is compressed, and ranks read parts of a file; allowed: the file that {} makes of it",
            program));
    throw file.error(
        fmt::format("{}; allowed: NumPy's .npy and .npz, and Matrix Market ({} in its first line)",
                    start.empty() ? "is empty" : "is of an unknown kind", market_magic));
  }

  std::string name_;
  InputFile file_;
  Header header_;
};

using SharedFile = std::shared_ptr<const MatrixFile>;

/// Opens the file on all ranks. A rank may see another file of this name: on a disk of its node.
SharedFile open(const Communicator& all, const std::string& path) {
  require_equal_options(all, {{"file", path}});
  std::string identity;
  SharedFile file = agreed(all, [&] {
    auto opened = std::make_shared<const MatrixFile>(path);
    identity = opened->identity();
    return opened;
  });
  const std::vector<std::string> seen = all.all_gather(identity);
  const auto other = std::ranges::find_if(seen, [&](const auto& one) { return one != seen[0]; });
  if (other != seen.end())
    throw file->error(
        fmt::format("is another file on rank {} ({}) than on rank 0 ({}); allowed: "
                    "the same file on all",
                    other - seen.begin(), *other, seen[0]));
  return file;
}

class FileMatrix : public MatrixSource {
 public:
  explicit FileMatrix(SharedFile file) : file_(std::move(file)) {
    const NumpyHeader* numpy = file_->numpy();
    if (numpy != nullptr && numpy->shape.size() == 1)
      throw file_->error(
          fmt::format("is a vector of {} numbers; allowed: a square matrix", file_->rows()));
    if (file_->rows() != file_->columns())
      throw file_->error(
          fmt::format("is of {} x {}; allowed: a square matrix", file_->rows(), file_->columns()));
  }

  std::int64_t n() const override { return file_->rows(); }
  Field field() const override { return file_->field(); }
  std::string description() const override { return file_->description(); }
  void check(const Communicator& all) const override { file_->check(all); }
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    const std::int64_t parts = parts_of(field());
    const Distribution elements(rows.size() / parts, rows.block() / parts, rows.processes(),
                                rows.me());
    file_->read(grid.all(), {grid.shape(), elements, columns}, a);
  }

 private:
  SharedFile file_;
};

class FileRightHandSide : public SolvedOnRank {
 public:
  /// @param n rows of A @param field that of A; a real b of a complex A is taken for a complex one
  FileRightHandSide(const Communicator& all, SharedFile file, std::int64_t n, Field field)
      : SolvedOnRank(0),
        file_(std::move(file)),
        field_(file_->field() == Field::complex ? Field::complex : field),
        shares_(file_->rows(), all) {
    check(all, parts_of(field_) * n);  // before memory is taken for as many numbers as it says
    file_->check(all);
    for (std::int64_t& count : shares_.counts) count *= parts_of(file_->field());
    read(all);
  }

  std::int64_t count() const override { return file_->columns(); }
  Field field() const override { return field_; }
  std::string description() const override { return file_->description(); }
  void check(const Communicator& /*all*/, std::int64_t numbers) const final {
    const std::int64_t n = numbers / parts_of(field_);
    if (file_->rows() != n)
      throw file_->error(
          fmt::format("has {} rows, A is of {} x {}; allowed: {} rows", file_->rows(), n, n, n));
  }
  void get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const override {
    SPEEDWELL_EXPECTS(std::ssize(b) == parts_of(field_) * file_->rows());
    const bool changed = checksum_of(column(k)) != read_[static_cast<std::size_t>(k)];
    if (grid.all().all_reduce(std::int64_t{changed}, Reduction::max) != 0) read(grid.all());
    if (field_ == file_->field()) return grid.all().all_gather(column(k), b, shares_.counts);
    std::vector<double> real_parts(b.size() / 2);
    grid.all().all_gather(column(k), real_parts, shares_.counts);
    for (std::size_t i = 0; i < real_parts.size(); ++i) {
      b[2 * i] = real_parts[i];
      b[2 * i + 1] = 0;
    }
  }

 private:
  // Reads the rank's rows; again where one of all ranks' numbers has changed on the way.
  void read(const Communicator& all) const {
    constexpr int most_reads = 3;
    const std::int64_t rows = shares_.mine.local_size() * parts_of(file_->field());
    agree(all, [&] { mine_.assign(static_cast<std::size_t>(rows * count()), 0.0); });
    const MatrixPart part{{all.size(), 1}, shares_.mine, Distribution(count(), count(), 1, 0)};
    bool changed = true;
    for (int reads = 0; changed; ++reads) {
      if (reads == most_reads)
        throw Fault(description() + " changes in memory each time that it is read");
      PartWriter mine({mine_.data(), rows, count(), std::max<std::int64_t>(rows, 1)});
      file_->read(all, part, mine);
      const std::vector<std::uint64_t> written = mine.checksums();
      read_.clear();
      std::vector<std::uint64_t> found;
      std::uint64_t bits = 0;
      for (std::int64_t k = 0; k < count(); ++k) {
        read_.push_back(checksum_of(column(k)));
        found.push_back(read_.back().places);
        bits += read_.back().bits;
      }
      found.push_back(bits);
      changed = all.all_reduce(std::int64_t{found != written}, Reduction::max) != 0;
    }
  }
  std::span<const double> column(std::int64_t k) const {
    const auto rows =
        static_cast<std::size_t>(parts_of(file_->field()) * shares_.mine.local_size());
    return std::span(mine_).subspan(static_cast<std::size_t>(k) * rows, rows);
  }

  SharedFile file_;
  Field field_;
  RowShares shares_;
  mutable std::vector<double> mine_;
  mutable std::vector<MatrixChecksum> read_;  // of its columns
};

}  // namespace

Matrix open_matrix(const Communicator& all, const std::string& path) {
  return Matrix(std::make_shared<FileMatrix>(open(all, path)));
}

RightHandSide open_right_hand_side(const Communicator& all, const std::string& path, std::int64_t n,
                                   Field field) {
  return RightHandSide(std::make_shared<FileRightHandSide>(all, open(all, path), n, field));
}

std::optional<FileKind> kind_by_name(const std::string& path) {
  const std::string name = lower(path);
  if (name.ends_with(".npy")) return FileKind::numpy;
  if (name.ends_with(".npz")) return FileKind::npz;
  if (name.ends_with(".mtx")) return FileKind::matrix_market;
  return std::nullopt;
}

SolutionFormat solution_format(const Communicator& all, const std::string& matrix,
                               const std::string& right_hand_side, const std::string& x) {
  const bool given = !right_hand_side.empty();
  const SharedFile file = open(all, given ? right_hand_side : matrix);
  SolutionFormat format;
  if (const NumpyHeader* numpy = file->numpy())
    format = {FileKind::numpy, !given || numpy->shape.size() == 1, numpy->fortran};
  format.kind = kind_by_name(x).value_or(format.kind);
  return format;
}

}  // namespace speedwell
