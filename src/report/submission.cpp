// SPDX-License-Identifier: BSD-3-Clause
#include "report/submission.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/numbers.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr double exact = 1e-9;  // relative: what the same formula gives again

/// A value of the document, by a path of names. @throws UsageError
const ordered_json& at(const ordered_json& document, std::initializer_list<const char*> path) {
  const ordered_json* here = &document;
  std::string name;
  for (const char* key : path) {
    name += (name.empty() ? "" : ".") + std::string(key);
    if (!here->is_object() || !here->contains(key))
      throw UsageError(fmt::format("the report has no '{}'", name));
    here = &(*here)[key];
  }
  return *here;
}

double number_at(const ordered_json& document, std::initializer_list<const char*> path) {
  const ordered_json& found = at(document, path);
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

template <class Enum>
Enum name_at(const ordered_json& document, const char* key) {
  const ordered_json& found = at(document, {key});
  const auto value = found.is_string() ? parse<Enum>(found.get<std::string>()) : std::nullopt;
  if (!value)
    throw UsageError(
        fmt::format("'{}' is {}; allowed: {}", key, found.dump(), allowed_names<Enum>()));
  return *value;
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

std::string text_of(const ordered_json& value) {
  if (value.is_null()) return missing_field;
  if (value.is_array()) {
    std::vector<std::string> texts;
    for (const ordered_json& one : value) texts.push_back(text_of(one));
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "2 x AMD EPYC" of equal values of all nodes; different ones with commas.
std::string of_nodes(const ordered_json& system,
                     const std::function<std::string(const ordered_json&)>& say) {
  std::vector<std::pair<std::string, int>> counts;
  for (const ordered_json& node : at(system, {"nodes"})) {
    const std::string said = say(node);
    const auto same = std::ranges::find(counts, said, &std::pair<std::string, int>::first);
    if (same == counts.end())
      counts.emplace_back(said, 1);
    else
      ++same->second;
  }
  std::vector<std::string> all;
  all.reserve(counts.size());
  for (const auto& [said, count] : counts)
    all.push_back(counts.size() == 1 ? said : fmt::format("{} x {}", count, said));
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string algorithm_of(const ordered_json& mxp) {
  const auto precision = name_at<Precision>(mxp, "precision");
  const bool pivots = name_at<Pivoting>(mxp, "pivoting") == Pivoting::partial;
  return fmt::format(
      "LU {} pivoting; products of {} numbers, sums and stored factors in FP32; then {} in FP64 "
      "with "
      "these factors ({} iterations), until the scaled residual is small. A is generated in FP32 "
      "storage, outside of the time; residuals take its entries in FP64",
      pivots ? "with partial" : "without", name(precision),
      text_of(at(mxp, {"refinement", "method"})) == "gmres" ? "GMRES" : "iterative refinement",
      text_of(at(mxp, {"refinement", "iterations"})));
}

std::string verdict_of(const JudgedRun& run) {
  for (const RuleVerdict& one : rules_of(run))
    if (!one.broken.empty()) return "admissible: no; " + one.broken;
  return "admissible: yes";
}

std::string rules_text(const char* title, const ordered_json& document) {
  const JudgedRun run = judged_run(document);
  std::string text =
      fmt::format("\n## Rules: {}\n\n{}\n\n| rule | this run | kept |\n|---|---|---|\n", title,
                  verdict_of(run));
  for (const RuleVerdict& one : rules_of(run))
    text += fmt::format("| {} | {} | {} |\n", one.rule, one.found,
                        one.broken.empty() ? "yes" : "no: " + one.broken);
  text += fmt::format(
      "| the score counts 2/3 n^3 + 3/2 n^2 operations, whatever was computed | n = {} | yes |\n"
      "| the time includes factorization and {}, not the generation of A | {} s | yes |\n",
      text_of(at(document, {"n"})), run.benchmark == Benchmark::mxp ? "refinement" : "solve",
      text_of(at(document, {"time_seconds"})));
  return text;
}

std::string score_text(const ordered_json& run) {
  return fmt::format("{:.4g} GFLOP/s (n = {}, NB = {}, P x Q = {} x {}, {:.4g} s, residual {:.4g})",
                     number_at(run, {"gflops"}), text_of(at(run, {"n"})), text_of(at(run, {"nb"})),
                     text_of(at(run, {"nprow"})), text_of(at(run, {"npcol"})),
                     number_at(run, {"time_seconds"}), number_at(run, {"scaled_residual"}));
}

}  // namespace

std::string submission_text(const ordered_json& document, const ordered_json& system) {
  const ordered_json& mxp = at(document, {"mxp"});
  const ordered_json& hpl = at(document, {"hpl"});
  std::string text = "# Submission: HPL-MxP and HPL\n\n| field | value |\n|---|---|\n";
  const auto row = [&](const char* field, const std::string& value) {
    text += fmt::format("| {} | {} |\n", field, value);
  };
  for (const char* field :
       {"name of the system", "site", "manufacturer", "submitted by, and address"})
    row(field, missing_field);
  row("date", text_of(at(document, {"date"})));
  row("HPL-MxP score", score_text(mxp));
  row("HPL score (TOP500: Rmax)", score_text(hpl));
  row("speedup", fmt::format("{:.3g}", number_at(document, {"speedup"})));
  row("implementation", text_of(at(system, {"implementation"})));
  row("algorithm of HPL-MxP", algorithm_of(mxp));
  row("algorithm of HPL", "LU with partial pivoting in FP64, and one solve");
  row("command", fmt::format("`{}`", text_of(at(document, {"command_line"}))));
  row("nodes, ranks",
      fmt::format("{}, {}", at(system, {"nodes"}).size(), text_of(at(mxp, {"ranks"}))));
  row("processors of a node", of_nodes(system, [](const ordered_json& node) {
        return fmt::format("{}, {} cores", text_of(at(node, {"processor"})),
                           text_of(at(node, {"cores"})));
      }));
  row("accelerators", mxp.contains("gpus") ? text_of(mxp["gpus"]) : "none used");
  row("memory of a node", of_nodes(system, [](const ordered_json& node) {
        return gibibytes(number_at(node, {"memory_bytes"}));
      }));
  row("interconnect", of_nodes(system, [](const ordered_json& node) {
        return text_of(at(node, {"interconnect"}));
      }));
  row("operating system", of_nodes(system, [](const ordered_json& node) {
        return text_of(at(node, {"operating_system"}));
      }));
  row("compiler", text_of(at(system, {"compiler"})));
  row("MPI", text_of(at(system, {"mpi"})));
  row("math libraries",
      fmt::format("{}; oneDNN: {}; device: {}", text_of(at(system, {"blas"})),
                  text_of(at(system, {"onednn"})), text_of(at(mxp, {"device_description"}))));
  for (const char* field :
       {"theoretical peak (TOP500: Rpeak)", "power of the whole system, and how it was measured"})
    row(field, missing_field);
  return text + rules_text("HPL-MxP", mxp) + rules_text("HPL", hpl);
}

JudgedRun judged_run(const ordered_json& run) {
  JudgedRun judged;
  judged.benchmark = name_at<Benchmark>(run, "benchmark");
  judged.matrix = name_at<MatrixKind>(run, "matrix");
  judged.fp64 = name_at<Fp64Products>(run, "fp64");
  judged.threshold = number_at(run, {"threshold"});
  judged.scaled_residual = number_at(run, {"scaled_residual"});
  judged.factored = std::isfinite(judged.scaled_residual) || judged.threshold <= 0;
  judged.passed = at(run, {"passed"}) == true;
  if (judged.benchmark == Benchmark::mxp) {
    const double iterations = number_at(run, {"refinement", "iterations"});
    if (!(iterations >= 0 && iterations <= 1e9))
      throw UsageError("'refinement.iterations' is no number");
    judged.iterations = static_cast<int>(iterations);
  }
  return judged;
}

std::vector<SubmissionCheck> check_document(const ordered_json& document) {
  std::vector<SubmissionCheck> all;
  const auto check = [&](std::string what, bool right, std::string wrong) {
    all.push_back({std::move(what), right ? "" : std::move(wrong)});
  };
  for (const char* which : {"mxp", "hpl"}) {
    const ordered_json& run = at(document, {which});
    const JudgedRun judged = judged_run(run);
    const double n = number_at(run, {"n"});
    const double seconds = number_at(run, {"time_seconds"});
    const double gflops = number_at(run, {"gflops"});
    const bool sized = n >= 1 && n < 1e15;
    const double again = sized ? score(static_cast<std::int64_t>(n), seconds) : 0;
    check(fmt::format("{}: the score is (2/3 n^3 + 3/2 n^2) / time", which),
          near(gflops, again, exact),
          fmt::format("{:.6g} GFLOP/s, but the formula gives {:.6g}", gflops, again));
    const double parts =
        number_at(run, {"lu", "seconds"}) +
        number_at(run, {judged.benchmark == Benchmark::mxp ? "refinement" : "solve", "seconds"});
    // Each is the time of the rank that was slowest in it.
    check(fmt::format("{}: the time holds the factorization and what follows", which),
          parts >= 0.5 * seconds && number_at(run, {"lu", "seconds"}) <= seconds * (1 + exact),
          fmt::format("{:.6g} s, but its parts are {:.6g} s", seconds, parts));
    const double residual =
        number_at(run, {"norms", "residual_inf"}) /
        (eps *
         (number_at(run, {"norms", "A_inf"}) * number_at(run, {"norms", "x_inf"}) +
          number_at(run, {"norms", "b_inf"})) *
         n);
    check(fmt::format("{}: the scaled residual is that of the norms", which),
          near(judged.scaled_residual, residual, exact),
          fmt::format("{:.6g}, but the norms give {:.6g}", judged.scaled_residual, residual));
    check(fmt::format("{}: the residual is below the threshold", which),
          judged.scaled_residual < judged.threshold,
          fmt::format("{:.4g}, not below {:g}", judged.scaled_residual, judged.threshold));
    const std::string verdict = verdict_of(judged);
    check(fmt::format("{}: every rule is kept", which), verdict == "admissible: yes", verdict);
    check(fmt::format("{}: the report says the same of the rules", which),
          at(run, {"admissible"}) == (verdict == "admissible: yes"),
          fmt::format("it says admissible: {}", at(run, {"admissible"}).dump()));
  }
  const double speedup =
      number_at(document, {"mxp", "gflops"}) / number_at(document, {"hpl", "gflops"});
  check(
      "the speedup is the quotient of the scores",
      near(number_at(document, {"speedup"}), speedup, exact),
      fmt::format("{:.6g}, but the scores give {:.6g}", number_at(document, {"speedup"}), speedup));
  return all;
}

std::string score_in_report(const ordered_json& run) {
  const double gflops = number_at(run, {"gflops"});
  return name_at<Benchmark>(run, "benchmark") == Benchmark::mxp
             ? fmt::format("       GFLOPS = {:.4e},", gflops)
             : fmt::format("{:18.2f}     {:18.3e}", number_at(run, {"time_seconds"}), gflops);
}

}  // namespace speedwell
