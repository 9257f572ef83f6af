// SPDX-License-Identifier: BSD-3-Clause
#include "report/submission.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "report/json_fields.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

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
  const auto precision = name_at<Precision>(mxp, {"precision"});
  const bool pivots = name_at<Pivoting>(mxp, {"pivoting"}) == Pivoting::partial;
  return fmt::format(
      "LU {} pivoting; products of {} numbers, sums and stored factors in FP32; then {} in FP64 "
      "with "
      "these factors ({} iterations), until the scaled residual is small. A is generated in FP32 "
      "storage, outside of the time; residuals take its entries in FP64",
      pivots ? "with partial" : "without", name(precision),
      text_of(at(mxp, {"refinement", "method"})) == "gmres" ? "GMRES" : "iterative refinement",
      text_of(at(mxp, {"refinement", "iterations"})));
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

std::string verdict_of(const JudgedRun& run) {
  for (const RuleVerdict& one : rules_of(run))
    if (!one.broken.empty()) return "admissible: no; " + one.broken;
  return "admissible: yes";
}

JudgedRun judged_run(const ordered_json& run) {
  JudgedRun judged;
  judged.benchmark = name_at<Benchmark>(run, {"benchmark"});
  judged.matrix = name_at<MatrixKind>(run, {"matrix"});
  judged.fp64 = name_at<Fp64Products>(run, {"fp64"});
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

}  // namespace speedwell
