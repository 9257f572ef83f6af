// SPDX-License-Identifier: BSD-3-Clause
#include "io/hpl_dat.hpp"

#include <unistd.h>
#include <speedwell/error.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "refusal.hpp"

namespace speedwell::test::hpl_dat_tests {
namespace {

using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

using Text = std::vector<std::string>;
template <class T>
using Values = std::vector<T>;

/// A file with several values in every list and a comment on every line, as HPL's own file has
/// them.
const Text many_values{"a first line of whatever",
                       "and a second",
                       "results.txt  where the output goes",
                       "6            to the screen",
                       "4            sizes",
                       "40 41 50 53  orders",
                       "3            blocks",
                       "8 16 32      block sizes",
                       "0            by rows",
                       "3            grids",
                       "2 1 4        rows of each",
                       "2 4 1        columns of each",
                       "16.0         largest residual",
                       "3            ways to factor",
                       "0 1 2        left, Crout, right",
                       "2            ends of recursion",
                       "3 5          columns",
                       "2            ways to divide",
                       "2 3          parts",
                       "3            ways of recursion",
                       "2 0 1        right, left, Crout",
                       "1            broadcast",
                       "0            one ring",
                       "1            depth",
                       "0            none",
                       "2            both",
                       "48           columns",
                       "0            as it is",
                       "1            transposed",
                       "1            yes",
                       "16           words"};

/// A file for one run on one GPU, in the manner of GPU ports of HPL: output to a file, ranks
/// numbered by columns.
const Text one_run{"title", "place", "gpu.out", "0", "1",  "51200", "1", "512", "1", "1", "1",
                   "1",     "16.0",  "1",       "2", "1",  "16",    "1", "2",   "1", "2", "1",
                   "0",     "1",     "1",       "1", "32", "0",     "0", "0",   "8"};

/// A file for one large run on a near-square grid, in the manner of generators in cluster guides.
const Text cluster{"title",    "place",   "HPL.out\tname", "6\tdevice", "1\tNs",    "112896\tN",
                   "1\tNBs",   "224\tNB", "0\tPMAP",       "1\tgrids",  "6\tP",     "8\tQ",
                   "16.0\tt",  "1\tn",    "1\tPFACT",      "1\tn",      "4\tNBMIN", "1\tn",
                   "2\tNDIV",  "1\tn",    "1\tRFACT",      "1\tn",      "1\tBCAST", "1\tn",
                   "1\tDEPTH", "2\tSWAP", "64\tt",         "0\tL1",     "0\tU",     "1\teq",
                   "8\tmem"};

std::string joined(const Text& lines, const std::string& end = "\n") {
  std::string text;
  for (const std::string& line : lines) text += line + end;
  return text;
}

/// `one_run` with line `number`, counted from 1, replaced by `line`.
std::string with_line(std::size_t number, const std::string& line) {
  Text lines = one_run;
  lines.at(number - 1) = line;
  return joined(lines);
}

HplDat parsed(const std::string& text) {
  return parse_hpl_dat(text, "HPL.dat");
}

std::string refusal(const std::string& text, const std::string& path = "HPL.dat") {
  return test::refusal_of([&] { parse_hpl_dat(text, path); });
}

/// A file that the destructor removes.
struct File {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("speedwell-hpl-dat-" + std::to_string(::getpid()));
  explicit File(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("HPL.dat with several values in each list", "[io]") {
  const HplDat dat = parsed(joined(many_values));
  CHECK(dat.path == "HPL.dat");
  CHECK(dat.output_file == "results.txt");
  CHECK(dat.device_out == 6);
  CHECK(dat.n == Values<std::int64_t>{40, 41, 50, 53});
  CHECK(dat.nb == Values<std::int64_t>{8, 16, 32});
  CHECK(dat.order == GridOrder::row);
  CHECK(dat.p == Values<int>{2, 1, 4});
  CHECK(dat.q == Values<int>{2, 4, 1});
  CHECK(dat.threshold == 16);
  CHECK(dat.pfact ==
        Values<PanelFactor>{PanelFactor::left, PanelFactor::crout, PanelFactor::right});
  CHECK(dat.nbmin == Values<int>{3, 5});
  CHECK(dat.ndiv == Values<int>{2, 3});
  CHECK(dat.rfact ==
        Values<PanelFactor>{PanelFactor::right, PanelFactor::left, PanelFactor::crout});
  CHECK(dat.broadcast == Values<BroadcastMethod>{BroadcastMethod::ring});
  CHECK(dat.depth == Values<int>{0});
  CHECK(dat.swap == RowSwap::mixed);
  CHECK(dat.swap_threshold == 48);
  CHECK(dat.l1_transposed);
  CHECK_FALSE(dat.u_transposed);
  CHECK(dat.equilibration);
  CHECK(dat.alignment == 16);
}

TEST_CASE("HPL.dat of one run on a GPU, without comments", "[io]") {
  const HplDat dat = parsed(joined(one_run));
  CHECK(dat.output_file == "gpu.out");
  CHECK(dat.device_out == 0);
  CHECK(dat.order == GridOrder::column);
  CHECK(dat.swap == RowSwap::spread_roll);
  CHECK_FALSE(dat.equilibration);
  REQUIRE(runs(dat).size() == 1);
  CHECK(runs(dat).front() == HplRun{.n = 51200,
                                    .nb = 512,
                                    .order = GridOrder::column,
                                    .p = 1,
                                    .q = 1,
                                    .depth = 1,
                                    .broadcast = BroadcastMethod::ring,
                                    .rfact = PanelFactor::right,
                                    .pfact = PanelFactor::right,
                                    .nbmin = 16,
                                    .ndiv = 2});
}

TEST_CASE("HPL.dat of one run on a cluster, divided by tabs", "[io]") {
  const HplDat dat = parsed(joined(cluster));
  REQUIRE(runs(dat).size() == 1);
  CHECK(runs(dat).front() == HplRun{.n = 112896,
                                    .nb = 224,
                                    .order = GridOrder::row,
                                    .p = 6,
                                    .q = 8,
                                    .depth = 1,
                                    .broadcast = BroadcastMethod::ring_modified,
                                    .rfact = PanelFactor::crout,
                                    .pfact = PanelFactor::crout,
                                    .nbmin = 4,
                                    .ndiv = 2});
}

TEST_CASE("HPL.dat may have any kind of line ends, blanks and lines behind it", "[io]") {
  const std::vector<HplRun> expected = runs(parsed(joined(many_values)));
  const std::string plain = joined(many_values);
  CHECK(runs(parsed(joined(many_values, "\r\n"))) == expected);
  CHECK(runs(parsed("\xef\xbb\xbf" + plain)) == expected);
  CHECK(runs(parsed(plain.substr(0, plain.size() - 1))) == expected);
  // The lines behind HPL's belong to another benchmark that reads the same file.
  CHECK(runs(parsed(plain + "##### a separator\n0 more sizes\nabc")) == expected);
  CHECK(runs(parsed(joined(many_values, " \t\r\n") + "\n\n")) == expected);

  Text shifted = many_values;
  shifted[5] = " \t 40     41\t\t50 53";
  CHECK(runs(parsed(joined(shifted))) == expected);
  CHECK(parsed(joined(one_run, "\r\n")).output_file == "gpu.out");
}

TEST_CASE("values beyond the count and numbers in a comment are ignored", "[io]") {
  const HplDat dat = parsed(with_line(6, "2000 3000 0 -5 (of 64 GB)"));
  CHECK(dat.n == Values<std::int64_t>{2000});
  CHECK(parsed(with_line(13, "-16.0 7")).threshold == -16);
}

TEST_CASE("a list of HPL.dat may be of any length", "[io]") {
  Text lines = one_run;
  lines[4] = "500";
  lines[5].clear();
  for (int n = 1; n <= 500; ++n) lines[5] += std::to_string(n) + " ";
  const HplDat dat = parsed(joined(lines));
  CHECK(dat.n.size() == 500);
  CHECK(dat.n.back() == 500);
}

TEST_CASE("the smallest and largest values that HPL.dat may have", "[io]") {
  CHECK(parsed(with_line(6, "9223372036854775807")).n.front() == 9223372036854775807);
  CHECK(parsed(with_line(11, "2147483647")).p.front() == 2147483647);
  CHECK(parsed(with_line(13, "0")).threshold == 0);
  CHECK(parsed(with_line(13, "1.5e+1")).threshold == 15);
  CHECK(parsed(with_line(27, "-1")).swap_threshold == -1);
  CHECK(parsed(with_line(31, "0")).alignment == 0);
  CHECK(parsed(with_line(4, "7")).device_out == 7);
  CHECK(parsed(with_line(4, "file")).device_out == 0);
  CHECK(parsed(with_line(1, "")).n.size() == 1);
  CHECK(parsed(with_line(3, "a.out b.out")).output_file == "a.out");
}

TEST_CASE("all broadcasts of HPL.dat", "[io]") {
  Text lines = one_run;
  lines[21] = "7";
  lines[22] = "0 1 2 3 4 5 6";
  CHECK(parsed(joined(lines)).broadcast ==
        Values<BroadcastMethod>{BroadcastMethod::ring, BroadcastMethod::ring_modified,
                                BroadcastMethod::two_ring, BroadcastMethod::two_ring_modified,
                                BroadcastMethod::spread_roll, BroadcastMethod::spread_roll_modified,
                                BroadcastMethod::ibcast});
}

TEST_CASE("a wrong line of HPL.dat is refused with its number, its word and what is allowed",
          "[io]") {
  struct Wrong {
    std::size_t line;
    std::string text;
    std::string word;
    std::string allowed;
  };
  const std::string from_one = "1 whole number of at least 1 ";
  const auto wrong = GENERATE_REF(values<Wrong>({
      {4, "screen", "screen", "or the word file (device out)"},
      {4, "6.0", "6.0", "or the word file (device out)"},
      {5, "0 Ns", "0", from_one + "(number of problem sizes N)"},
      {5, "x", "x", from_one + "(number of problem sizes N)"},
      {6, "0", "0", from_one + "(Ns)"},
      {6, "-5", "-5", from_one + "(Ns)"},
      {6, "abc", "abc", from_one + "(Ns)"},
      {6, "1e5", "1e5", from_one + "(Ns)"},
      {6, "1000, 2000", "1000,", from_one + "(Ns)"},
      {6, "Ns", "Ns", from_one + "(Ns)"},
      {6, "9223372036854775808", "9223372036854775808", from_one + "(Ns)"},
      {7, "-1", "-1", from_one + "(number of block sizes NB)"},
      {8, "12.5", "12.5", from_one + "(NBs)"},
      {9, "2", "2", "from 0 to 1 (PMAP: 0 row, 1 column)"},
      {9, "row", "row", "from 0 to 1 (PMAP: 0 row, 1 column)"},
      {10, "none", "none", from_one + "(number of process grids)"},
      {11, "0", "0", "1 whole number from 1 to 2147483647 (Ps)"},
      {12, "2147483648", "2147483648", "1 whole number from 1 to 2147483647 (Qs)"},
      {13, "nan", "nan", "1 finite number (threshold of the residual)"},
      {13, "1e999", "1e999", "1 finite number (threshold of the residual)"},
      {13, "16.0x", "16.0x", "1 finite number (threshold of the residual)"},
      {14, "0", "0", from_one + "(number of PFACTs)"},
      {15, "left", "left", "(PFACTs: 0 left, 1 Crout, 2 right)"},
      {16, "0", "0", from_one + "(number of NBMINs)"},
      {17, "0", "0", "from 1 to 2147483647 (NBMINs)"},
      {18, "?", "?", from_one + "(number of NDIVs)"},
      {19, "1", "1", "from 2 to 2147483647 (NDIVs)"},
      {20, "0", "0", from_one + "(number of RFACTs)"},
      {21, "R", "R", "(RFACTs: 0 left, 1 Crout, 2 right)"},
      {22, "0", "0", from_one + "(number of BCASTs)"},
      {23, "7", "7", "5 long-modified, 6 ibcast)"},
      {23, "-1", "-1", "5 long-modified, 6 ibcast)"},
      {24, "0", "0", from_one + "(number of DEPTHs)"},
      {25, "-1", "-1", "from 0 to 2147483647 (DEPTHs)"},
      {26, "mix", "mix", "(SWAP: 0 binary exchange, 1 long, 2 mix)"},
      {27, "wide", "wide", "(swapping threshold)"},
      {28, "L1", "L1", "(L1: 0 transposed, 1 not)"},
      {29, "1.5", "1.5", "(U: 0 transposed, 1 not)"},
      {30, "yes", "yes", "(equilibration: 0 no, 1 yes)"},
      {31, "8bytes", "8bytes", "(memory alignment)"},
  }));
  CAPTURE(wrong.line, wrong.text);
  const std::string message = refusal(with_line(wrong.line, wrong.text));
  CHECK_THAT(message, StartsWith("HPL.dat line " + std::to_string(wrong.line) + ": '" + wrong.word +
                                 "' is not allowed; allowed: "));
  CHECK_THAT(message, EndsWith(wrong.allowed));
  CHECK(message.find('\n') == message.npos);
}

TEST_CASE("a refusal names the file as it was given", "[io]") {
  CHECK(refusal(with_line(6, "abc"), "in/my.dat") ==
        "in/my.dat line 6: 'abc' is not allowed; allowed: 1 whole number of at least 1 (Ns)");
}

TEST_CASE("a list of HPL.dat with fewer values than its count is refused", "[io]") {
  Text lines = many_values;
  lines[5] = "40 41 50";
  CHECK(refusal(joined(lines)) ==
        "HPL.dat line 6: the line ends after 3 of 4 values; allowed: 4 whole numbers of at least 1 "
        "(Ns)");
  lines[5] = "40 41 50 Ns";
  CHECK(refusal(joined(lines)) ==
        "HPL.dat line 6: 'Ns' is not allowed; allowed: 4 whole numbers of at least 1 (Ns)");
  // A list cannot continue on the next line.
  lines = many_values;
  lines[11] = "2 4";
  lines.insert(lines.begin() + 12, "1");
  CHECK_THAT(refusal(joined(lines)),
             StartsWith("HPL.dat line 12: the line ends after 2 of 3 values; allowed: "));
  CHECK_THAT(refusal(with_line(5, "1000000000000000000")),
             StartsWith("HPL.dat line 6: the line ends after 1 of 1000000000000000000 values"));
}

TEST_CASE("an empty line or a missing one of HPL.dat is refused", "[io]") {
  for (std::size_t line = 4; line < one_run.size(); ++line) {
    const std::string message = refusal(with_line(line, ""));
    CHECK_THAT(message, StartsWith("HPL.dat line " + std::to_string(line) + ": the line "));
  }
  for (std::size_t line = 1; line <= 25; ++line) {
    const Text shorter(one_run.begin(), one_run.begin() + static_cast<std::ptrdiff_t>(line) - 1);
    CHECK_THAT(refusal(joined(shorter)), StartsWith("HPL.dat line " + std::to_string(line) +
                                                    ": the file ends before it; allowed: "));
  }
}

TEST_CASE("lines of HPL.dat that have no meaning here may be missing at its end", "[io]") {
  for (std::size_t lines = 25; lines <= one_run.size(); ++lines)
    for (const std::string end : {"", "\n \n"}) {
      const Text shorter(one_run.begin(), one_run.begin() + static_cast<std::ptrdiff_t>(lines));
      const HplDat dat = parsed(joined(shorter) + end);
      CHECK(dat.depth == parsed(joined(one_run)).depth);
      CHECK(dat.swap == (lines < 26 ? RowSwap::mixed : RowSwap::spread_roll));
      CHECK(dat.swap_threshold == (lines < 27 ? 64 : 32));
      CHECK(dat.equilibration == (lines < 30));
    }
}

TEST_CASE("numbers of HPL.dat without a meaning are HPL's own choice", "[io]") {
  for (const std::string number : {"3", "-1"}) {
    CHECK(parsed(with_line(15, number)).pfact.front() == PanelFactor::right);
    CHECK(parsed(with_line(21, number)).rfact.front() == PanelFactor::right);
    CHECK(parsed(with_line(26, number)).swap == RowSwap::spread_roll);
    CHECK(parsed(with_line(28, number)).l1_transposed);
    CHECK(parsed(with_line(29, number)).u_transposed);
    CHECK(parsed(with_line(30, number)).equilibration);
  }
}

TEST_CASE("a no-break space separates words of HPL.dat", "[io]") {
  CHECK(parsed(with_line(6,
                         "\xc2\xa0"
                         "50\xc2\xa0Ns"))
            .n == Values<std::int64_t>{50});
  CHECK(parsed(with_line(3, "\xc3\xa0.out")).output_file == "\xc3\xa0.out");
}

TEST_CASE("an output file must have a name where one is asked for", "[io]") {
  CHECK(refusal(with_line(3, "")) ==
        "HPL.dat line 3: it is empty, and line 4 sends the output to a file; allowed: a file name "
        "(output file)");
  Text lines = one_run;
  lines[2] = "";
  lines[3] = "7";
  CHECK(parsed(joined(lines)).output_file.empty());
}

TEST_CASE("the file of HPL 1.0, without a line for PMAP, is refused", "[io]") {
  Text lines = many_values;
  lines.erase(lines.begin() + 8);
  CHECK_THAT(refusal(joined(lines)), StartsWith("HPL.dat line 9: '3' is not allowed; "));
  lines = one_run;
  lines.erase(lines.begin() + 8);
  CHECK_THAT(refusal(joined(lines)), StartsWith("HPL.dat line 12: '16.0' is not allowed; "));
}

TEST_CASE("bytes that are not text are refused in one printable line", "[io]") {
  const std::string odd{"\x01\x7f\0z", 4};
  CHECK_THAT(refusal(with_line(6, odd)),
             StartsWith("HPL.dat line 6: '\\x01\\x7f\\x00z' is not allowed"));
  const std::string message = refusal(with_line(6, std::string(1000, 'x')));
  CHECK_THAT(message, StartsWith("HPL.dat line 6: '" + std::string(40, 'x') + "...' is not"));
}

TEST_CASE("an HPL.dat is read from a file", "[io]") {
  const File file(joined(many_values, "\r\n"));
  const HplDat dat = parse_hpl_dat(hpl_dat_text(file.path), file.path);
  CHECK(dat.path == file.path);
  CHECK(runs(dat) == runs(parsed(joined(many_values))));

  CHECK_THROWS_WITH(hpl_dat_text("no/such/HPL.dat"),
                    StartsWith("cannot read 'no/such/HPL.dat' (No such file or directory); "));
  CHECK_THROWS_WITH(hpl_dat_text("/"), StartsWith("cannot read '/' (it is a folder); "));
  CHECK_THROWS_AS(hpl_dat_text("/"), UsageError);
}

TEST_CASE("runs come in HPL's order", "[io]") {
  HplDat dat = parsed(joined(one_run));
  dat.p = {1, 2};
  dat.q = {6, 3};
  dat.n = {100, 50};
  dat.nb = {8, 4};
  dat.depth = {1, 0};
  dat.broadcast = {BroadcastMethod::two_ring, BroadcastMethod::ring};
  dat.rfact = {PanelFactor::crout, PanelFactor::left};
  dat.pfact = {PanelFactor::right, PanelFactor::left};
  dat.nbmin = {4, 2};
  dat.ndiv = {3, 2};
  std::vector<HplRun> expected;
  for (const int grid : {0, 1})
    for (const std::int64_t n : dat.n)
      for (const std::int64_t nb : dat.nb)
        for (const int depth : dat.depth)
          for (const BroadcastMethod broadcast : dat.broadcast)
            for (const PanelFactor rfact : dat.rfact)
              for (const PanelFactor pfact : dat.pfact)
                for (const int nbmin : dat.nbmin)
                  for (const int ndiv : dat.ndiv)
                    expected.push_back({n, nb, GridOrder::column, grid + 1, grid == 0 ? 6 : 3,
                                        depth, broadcast, rfact, pfact, nbmin, ndiv});
  REQUIRE(expected.size() == 512);
  CHECK(runs(dat) == expected);
}

TEST_CASE("lists that are ignored make no runs of their own", "[io]") {
  const HplDat dat = parsed(joined(many_values));
  CHECK(runs(dat).size() == 3 * 4 * 3 * 3 * 3 * 2 * 2);
  CHECK(runs(dat, hpl_ignores()).size() == 3 * 4 * 3 * 2 * 2);
  const std::vector<HplRun> few = runs(dat, mxp_ignores());
  REQUIRE(few.size() == 3 * 4 * 3);
  CHECK(few[0].rfact == PanelFactor::right);
  CHECK(few[1].nb == 16);
  CHECK(few[3].n == 41);
  CHECK(few[12].p == 1);
}

TEST_CASE("too many runs are refused before they are made", "[io]") {
  HplDat dat = parsed(joined(one_run));
  dat.n.assign(1000, 1);
  dat.nb.assign(1000, 1);
  CHECK(runs(dat).size() == 1000000);
  dat.depth = {0, 1};
  CHECK_THROWS_WITH(runs(dat), "HPL.dat: its lists make 2e+06 runs; allowed: at most 1000000");
  dat.nbmin.assign(1000000, 1);
  CHECK_THROWS_AS(runs(dat), UsageError);
}

TEST_CASE("one sentence names the lines that are ignored", "[io]") {
  const HplDat dat = parse_hpl_dat(joined(one_run), "my.dat");
  CHECK(ignored_lines(dat, {}).empty());
  CHECK(ignored_lines(dat, hpl_ignores()) ==
        "lines of my.dat without a meaning here: 14-15 (PFACT), 20-21 (RFACT), 26 (SWAP), "
        "27 (swapping threshold), 28 (L1), 29 (U), 30 (equilibration), 31 (memory alignment)");
  CHECK(ignored_lines(dat, mxp_ignores()) ==
        "lines of my.dat without a meaning here: 14-15 (PFACT), 16-17 (NBMIN), 18-19 (NDIV), "
        "20-21 (RFACT), 26 (SWAP), 27 (swapping threshold), 28 (L1), 29 (U), 30 (equilibration), "
        "31 (memory alignment)");
}
}  // namespace speedwell::test::hpl_dat_tests
