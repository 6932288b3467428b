#pragma once

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace assay {

using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// What a line gives a value to: a key (`dims:`), one inside (`  BLOCK_M:`) or an argument
/// (`  - {name: A,`).
inline std::string subject_of(const std::string& line) {
  static const std::regex form("(  - \\{name: [^,]*,|  [^ ][^:,]*:|[^ ][^:]*).*");
  std::smatch found;
  return std::regex_match(line, found, form) ? found[1].str() : "";
}

/// Splits lines into patches: each begins with a key or an argument and has what stands inside.
inline std::vector<Lines> patches_of(const Lines& lines) {
  std::vector<Lines> patches;
  for (const std::string& line : lines) {
    const bool argument = line.starts_with("  - {name: ");
    const bool inside = line.find_first_of(" \t") == 0 && !patches.empty() &&
                        !(argument && patches.back()[0].starts_with(' '));
    if (!inside) patches.emplace_back();
    patches.back().push_back(line);
  }
  return patches;
}

/// Puts each patch in the place of what has the same subject: `-key` takes the key out. A new key
/// goes to the end, a new argument to the end of the arguments.
inline Lines patched(Lines lines, const std::vector<Lines>& patches) {
  const auto find = [&](const std::string& subject) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const auto& line) { return subject_of(line) == subject; });
  };
  // What begins at a line ends where a line is indented no further.
  const auto end_of = [&](Lines::iterator at) {
    const std::size_t indent = at->find_first_not_of(" \t");
    return std::find_if(at + 1, lines.end(),
                        [&](const auto& line) { return line.find_first_not_of(" \t") <= indent; });
  };
  for (const Lines& patch : patches) {
    const bool removes = patch[0].starts_with('-');
    auto at = find(removes ? patch[0].substr(1) : subject_of(patch[0]));
    if (at != lines.end()) {
      at = lines.erase(at, end_of(at));
    } else if (patch[0].starts_with(' ')) {
      at = end_of(find("args"));
    }
    if (!removes) lines.insert(at, patch.begin(), patch.end());
  }
  return lines;
}

}  // namespace assay
