#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"

namespace assay {

/// A program of the CUDA toolkit, in one of its folders or in PATH; empty where it is missing.
std::filesystem::path find_tool(const std::string& name);

struct ToolRun {
  std::string output;                    // what it wrote to stdout and stderr
  std::optional<ChildProcess::End> end;  // nothing: it was killed, after `timeout_s`

  bool succeeded() const { return end && end->text == "exit code 0"; }
  /// The last line that it wrote.
  std::string last_line() const;
};

/// Runs `program` with `words` behind its name until it ends. Throws Interrupted on Ctrl-C, when it
/// is killed, too; Error when it cannot be started. Keeps at most `max_bytes` of its output.
ToolRun run_tool(const std::filesystem::path& program, std::vector<std::string> words,
                 double timeout_s, std::size_t max_bytes);

}  // namespace assay
