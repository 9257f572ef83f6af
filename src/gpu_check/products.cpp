// SPDX-License-Identifier: BSD-3-Clause
#include "products.hpp"

#include <fmt/format.h>

#include <set>

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

bool is_limited(const ordered_json& one) {
  return one.value("multiprocessors", ordered_json()).is_number();
}

bool is_refused(const ordered_json& one) {
  return one.value("refused", ordered_json()).is_string();
}

ordered_json passes_its_limit(const ordered_json& one) {
  const ordered_json blocks = one.value("blocks", ordered_json());
  if (!is_limited(one)) return nullptr;
  if (one.value("confined", false)) return false;  // whatever it launches, it keeps to the limit
  if (!blocks.is_number()) return nullptr;
  return blocks > one["multiprocessors"];
}

std::string text_of(const ordered_json& one, const char* field) {
  const ordered_json value = one.value(field, ordered_json());
  if (value.is_null()) return "-";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Such as "fp16 180000 x 8192, K = 2048".
std::string words_of_class(const ordered_json& one) {
  std::string words = fmt::format("{} {} x {}, K = {}", text_of(one, "reading"), text_of(one, "m"),
                                  text_of(one, "n"), text_of(one, "k"));
  if (is_limited(one))
    words += fmt::format(", {} multiprocessors", text_of(one, "multiprocessors"));
  return words;
}

/// The algorithms of one run. Those of a class follow each other, the preferred ones first.
void add_products(ordered_json& all, const std::string& run, const ordered_json& of_run) {
  std::string last;
  bool had_first = false;
  for (const ordered_json& one : of_run) {
    const std::string of = words_of_class(one);
    had_first = had_first && of == last;
    last = of;
    ordered_json row = {{"run", run}};
    row.update(one);
    row["first"] = !had_first && !is_refused(one);
    row["over"] = passes_its_limit(one);
    had_first = had_first || row["first"] == true;
    all.push_back(std::move(row));
  }
}

}  // namespace

ordered_json products(const ordered_json& steps) {
  ordered_json all = ordered_json::array();
  for (const ordered_json& step : steps) {
    if ((step["step"] != "mxp" && step["step"] != "hpl") || step["verdict"] != "passed") continue;
    const auto result = step.find("result");
    if (result != step.end() && result->contains("products"))
      add_products(all, step["name"], (*result)["products"]);
  }
  return all;
}

std::string products_text(const ordered_json& all) {
  std::string text =
      "first: the algorithm that its class of products takes; over: more thread blocks than the "
      "limit of multiprocessors\n";
  std::string run;
  for (const ordered_json& one : all) {
    if (one["run"] != run) {
      run = one["run"];
      text += fmt::format("\n{}\n{:>6} {:>7} {:>7} {:>6} {:>6} {:>7} {:>6} {:>6} {:>10}  {}\n", run,
                          "read", "m", "n", "k", "limit", "blocks", "first", "over", "ms",
                          "algorithm, kernel, refused");
    }
    const ordered_json ms = one.value("milliseconds", ordered_json());
    text += fmt::format("{:>6} {:>7} {:>7} {:>6} {:>6} {:>7} {:>6} {:>6} {:>10}  {} {}{}\n",
                        text_of(one, "reading"), text_of(one, "m"), text_of(one, "n"),
                        text_of(one, "k"), text_of(one, "multiprocessors"), text_of(one, "blocks"),
                        one["first"] == true ? "first" : "", one["over"] == true ? "over" : "",
                        ms.is_number() ? fmt::format("{:.4f}", ms.get<double>()) : "-",
                        text_of(one, "algorithm"), text_of(one, "kernel"),
                        is_refused(one) ? " refused " + text_of(one, "refused") : "");
  }
  return text;
}

std::string limits_text(const ordered_json& all) {
  std::set<std::string> classes, over, unknown, refused;
  for (const ordered_json& one : all) {
    const std::string of = words_of_class(one);
    if (is_refused(one))
      refused.insert(fmt::format("refused {}: {}, algorithm {}\n", text_of(one, "refused"), of,
                                 text_of(one, "algorithm")));
    if (!is_limited(one) || one["first"] != true) continue;
    classes.insert(of);
    if (one["over"].is_null()) unknown.insert(of + ": its blocks are not known\n");
    if (one["over"] == true)
      over.insert(
          fmt::format("{}: {} blocks, {}\n", of, text_of(one, "blocks"), text_of(one, "kernel")));
  }
  if (all.empty()) return "";
  std::string text =
      fmt::format("limited products: {} classes, {} launch more blocks than their limit\n",
                  classes.size(), over.size());
  for (const std::set<std::string>* lines : {&over, &unknown, &refused})
    for (const std::string& line : *lines) text += line;
  return text;
}

std::string side_by_side_text(const ordered_json& steps) {
  std::string text;
  for (const ordered_json& step : steps) {
    if (step["step"] != "ceilings" || !step.contains("result")) continue;
    for (const ordered_json& line : step["result"]) {
      if (line.value("part", "") != "diagonal_beside_update") continue;
      if (text.empty())
        text = fmt::format(
            "diagonal block beside an update, ms\n{:>8} {:>11} {:>11} {:>11} {:>11} "
            "{:>11}\n",
            "share", "block", "beside", "update", "beside", "both");
      const auto ms = [&](const char* field) {
        return line.value(fmt::format("{}_milliseconds", field), 0.0);
      };
      text += fmt::format("{:>8} {:>11.3f} {:>11.3f} {:>11.3f} {:>11.3f} {:>11.3f}\n",
                          text_of(line, "reserved"), ms("block_alone"), ms("block_beside"),
                          ms("update_alone"), ms("update_beside"), ms("both"));
    }
  }
  return text;
}

}  // namespace speedwell::gpu_check
