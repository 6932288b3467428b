#include "device/sanitizer.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "base/tool.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// A tool makes a launch slower by a factor of ten to a thousand.
constexpr double kTimeoutS = 300;
constexpr std::size_t kMostOutputBytes = 1 << 20;
// What it ends with when it has found something: no exit code of this program's own.
constexpr int kFoundCode = 86;
constexpr std::string_view kMark = "=========";

/// The first lines of what the tool says, behind its name: "Invalid __global__ read of size 4
/// bytes at gemm+0x90".
std::string finding_of(const std::string& output) {
  constexpr std::size_t kLines = 2;
  std::istringstream lines(output);
  std::string finding;
  std::size_t count = 0;
  for (std::string line; count < kLines && std::getline(lines, line);) {
    if (!line.starts_with(kMark) || line.find("COMPUTE-SANITIZER") != std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", kMark.size());
    if (begin == std::string::npos) continue;
    finding += (finding.empty() ? "" : " ") + line.substr(begin);
    ++count;
  }
  return finding;
}

}  // namespace

fs::path find_sanitizer() { return find_tool("compute-sanitizer"); }

VerificationCheck sanitize(const fs::path& sanitizer, std::string_view tool,
                           const fs::path& program, const std::vector<std::string>& words) {
  // The driver's errors that the harness asks for are none: a variable that is not there.
  std::vector<std::string> all = {"--tool",
                                  std::string(tool),
                                  "--error-exitcode",
                                  std::to_string(kFoundCode),
                                  "--report-api-errors",
                                  "no",
                                  program.string()};
  all.insert(all.end(), words.begin(), words.end());
  const ToolRun run = run_tool(sanitizer, std::move(all), kTimeoutS, kMostOutputBytes);

  const std::string name(tool);
  if (run.succeeded()) return {name, CheckResult::passed};
  if (!run.end) {
    return {name, CheckResult::skipped, fmt::format("no answer within {} seconds", kTimeoutS)};
  }
  if (run.end->text == fmt::format("exit code {}", kFoundCode)) {
    return {name, CheckResult::failed, finding_of(run.output)};
  }
  return {
      name, CheckResult::skipped,
      fmt::format("compute-sanitizer cannot work here: {}: {}", run.end->text, run.last_line())};
}

}  // namespace assay
