// SPDX-License-Identifier: BSD-3-Clause
#include "repetition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "child.hpp"

namespace speedwell::gpu_check {

namespace fs = std::filesystem;

namespace {

constexpr std::streamoff most_logged = 1 << 20;  // bytes of one process: its last calls

std::string end_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (!file || size <= 0) return "";
  file.seekg(std::max<std::streamoff>(size - most_logged, 0));
  std::ostringstream text;
  text << file.rdbuf();
  return fmt::format("===== {}, the last of {} bytes\n{}\n", path.filename().string(), size,
                     text.str());
}

}  // namespace

std::vector<std::string> with_variables(std::vector<std::string> variables,
                                        const std::vector<std::string>& command) {
  const std::string env = find_program("env");
  variables.insert(variables.begin(), env.empty() ? "env" : env);
  variables.insert(variables.end(), command.begin(), command.end());
  return variables;
}

std::vector<std::string> traced(const std::vector<std::string>& command,
                                const std::string& folder) {
  std::error_code ignored;  // without the folder there is no log, and the run is still worth it
  fs::create_directories(folder, ignored);
  // Level 5 logs every call; %i is the process, since ranks share the variable.
  return with_variables({"CUDA_LAUNCH_BLOCKING=1", "CUBLASLT_LOG_LEVEL=5",
                         "CUBLASLT_LOG_FILE=" + folder + "/process-%i.log"},
                        command);
}

std::string logged_calls(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  for (const fs::path& file : files) text += end_of(file);
  return text;
}

}  // namespace speedwell::gpu_check
