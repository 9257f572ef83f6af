// SPDX-License-Identifier: BSD-3-Clause
// Checks on a machine with a GPU whether Speedwell is correct there, and how fast it is. It starts
// other programs, each with a limit in time, and records their results in one JSON file.
// run/gpu-check calls it.
#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "conclusions.hpp"
#include "products.hpp"
#include "session.hpp"
#include "steps.hpp"

namespace speedwell::gpu_check {

namespace {

constexpr const char* usage =
    "usage: gpu-check [--only STEP,...] [--budget SECONDS] [--output DIR] [--device cuda]\n"
    "  --only     runs these steps alone; they share the budget. In their order: device,\n"
    "             kernels, sanitizer, big, mpi, accuracy, systems, mxp, ceilings, hpl, first_steps "
    "(after\n"
    "             mxp), cusolver, profile, machine\n"
    "  --budget   for everything together (default 560); what does not fit is left out\n"
    "  --limit    seconds that no program may exceed, whatever its step allows\n"
    "  --output   folder for everything that is found: GPU-DATE.json, log.txt, clocks.csv,\n"
    "             machine.json for `speedwell predict`, products.txt with the algorithms of all\n"
    "             products, and traces;\n"
    "             default: a new one in the current folder, whose name is printed first\n"
    "  --device   cuda (default), or cpu to try the check itself\n"
    "  --trial    tiny sizes, to see that everything runs\n"
    "exit status: 0 all that ran passed, 1 something failed, 2 bad usage, 3 no GPU\n";

enum Status { passed = 0, something_failed = 1, bad_usage = 2, no_gpu = 3 };

double seconds(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0 && value < 1e6))
    throw UsageError(fmt::format("{} takes seconds above 0, not '{}'", option, text));
  return value;
}

std::vector<std::string> steps_of(const std::string& text) {
  const std::vector<std::string_view> known = step_names();
  std::vector<std::string> all;
  std::istringstream words(text + ",");
  for (std::string word; std::getline(words, word, ',');) {
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw UsageError(fmt::format("--only: there is no step '{}'; the steps are {}", word,
                                   fmt::join(known, ", ")));
    all.push_back(word);
  }
  return all;
}

void take(Options& options, const std::string& name, const std::string& value) {
  if (name == "--budget") {
    options.budget = seconds(name, value);
  } else if (name == "--limit") {
    options.limit = seconds(name, value);
  } else if (name == "--device") {
    if (value != "cuda" && value != "cpu")
      throw UsageError(fmt::format("--device takes cuda or cpu, not '{}'", value));
    options.device = value;
  } else if (name == "--only") {
    options.only = steps_of(value);
  } else if (name == "--output") {
    if (value.empty()) throw UsageError("--output takes a folder");
    options.output = value;
  } else if (name == "--programs") {
    options.programs = value;
  } else if (name == "--mpirun") {
    options.mpirun = value;
  } else {
    throw UsageError(fmt::format("unknown option '{}'; see --help", name));
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 0; i < argc; ++i) {
    if (i > 0) options.command_line += ' ';
    options.command_line += argv[i];
  }
  std::error_code error;
  options.programs = std::filesystem::canonical("/proc/self/exe", error).parent_path();
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--trial") {
      options.trial = true;
      continue;
    }
    const std::size_t equals = name.find('=');
    if (equals != std::string::npos) {
      take(options, name.substr(0, equals), name.substr(equals + 1));
    } else {
      take(options, name, i + 1 < argc ? argv[i + 1] : "");
      ++i;
    }
  }
  return options;
}

/// The name of the JSON file: for "NVIDIA H200" on 2026-12-01, nvidia-h200-2026-12-01.json.
std::string file_name(const std::string& gpu) {
  std::string name;
  for (const char c : gpu) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name + utc_now("-%Y-%m-%d.json");
}

void prepare_environment() {
  // All ranks share one GPU, the first that this program may see.
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string all = visible == nullptr ? "0" : visible;
  setenv("CUDA_VISIBLE_DEVICES", all.substr(0, all.find(',')).c_str(), 1);
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
    setenv(name, "1", 0);
  // Open MPI's shared memory fails where ranks may not read each other's memory.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  // The check measures Speedwell's own choices, so it ignores the user's profile.
  setenv("SPEEDWELL_PROFILE", "none", 0);
  setenv("SPEEDWELL_PROBE_SEED", "1", 0);
}

std::string summary(const Session& session, const nlohmann::ordered_json& document) {
  std::string text;
  for (const char* verdict : {"not run", "cut off"}) {
    std::string names;
    for (const nlohmann::ordered_json& step : session.steps())
      if (step["verdict"] == verdict)
        names += (names.empty() ? "" : "; ") + step["name"].get<std::string>();
    if (!names.empty()) text += fmt::format("{}: {}\n", verdict, names);
  }
  return fmt::format("\n{}\n{}\n{}\n{}\n{}{}{}", table_text(document["table"]),
                     phases_text(document["phases"]), side_by_side_text(session.steps()),
                     limits_text(document["products"]), goals_text(document["goals"]),
                     text.empty() ? "\n" : "\n" + text, session.failed() ? "FAILED" : "PASSED");
}

Status check(const Options& options) {
  Session session(options);
  session.say(session.folder());
  session.conclude_by(conclusions);
  Gpu gpu;
  try {
    gpu = find_gpu(session);
  } catch (const Fault& fault) {
    gpu.why = fault.what();
  }
  if (options.device == "cpu") gpu.name = "cpu";
  session.keep_in(file_name(gpu.name.empty() ? "no-gpu" : gpu.name));
  session.watch(gpu.uuid);
  note_facts(session);
  if (gpu.name.empty()) {
    std::fprintf(stderr, "gpu-check: no GPU to check (%s)\n", gpu.why.c_str());
    return no_gpu;
  }
  session.say(fmt::format("{}; {:.0f} s", options.device == "cpu" ? "CPU" : gpu.description,
                          options.budget));
  run_steps(session);
  const nlohmann::ordered_json& all = session.document()["products"];
  if (!all.empty()) session.keep_text("products.txt", products_text(all));
  session.document()["finished"] = true;
  session.save();
  session.say(summary(session, session.document()));
  return session.failed() ? something_failed : passed;
}

}  // namespace

}  // namespace speedwell::gpu_check

int main(int argc, char** argv) {
  namespace check = speedwell::gpu_check;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help" || std::string_view(argv[i]) == "-h")
      return std::fputs(check::usage, stdout) < 0 ? 1 : 0;
  try {
    check::prepare_environment();
    check::guard_children();
    return check::check(check::parse(argc, argv));
  } catch (const speedwell::UsageError& error) {
    std::fprintf(stderr, "gpu-check: %s\n", error.what());
    return check::bad_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu-check: %s\n", error.what());
    return check::something_failed;
  }
}
