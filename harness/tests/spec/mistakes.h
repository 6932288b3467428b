#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "patched_yaml.h"
#include "spec/spec_files.h"

namespace assay {

/// A mistake in a file that is right without it. In bad/FOLDER/*.txt each begins with the line
/// `# name: message`. The lines below replace lines of bad/FOLDER/base.yaml, and a caret stands
/// under the place that the message must name.
struct Mistake {
  std::string name, message;
  Lines lines;
  std::string source, caret;
};

inline std::vector<Mistake> mistakes_in(const std::filesystem::path& path) {
  std::vector<Mistake> mistakes;
  for (const std::string& line : lines_of(read_file(path))) {
    if (line.starts_with("# ")) {
      const std::size_t colon = line.find(": ");
      mistakes.push_back({line.substr(2, colon - 2), line.substr(colon + 2), {}, "", ""});
      continue;
    }
    Mistake& mistake = mistakes.back();
    if (line.find_first_not_of(" \t") == line.size() - 1 && line.back() == '^') {
      mistake.source = mistake.lines.back();
      mistake.caret = line;
      continue;
    }
    mistake.lines.push_back(line);
  }
  return mistakes;
}

/// The mistakes, each as the lines of a whole file.
inline std::vector<std::pair<Mistake, Lines>> bad_files() {
  std::vector<std::pair<Mistake, Lines>> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(spec_tests() / "bad")) {
    if (entry.path().extension() != ".txt") continue;
    const Lines base = lines_of(read_file(entry.path().parent_path() / "base.yaml"));
    for (Mistake& mistake : mistakes_in(entry.path())) {
      Lines lines = patched(base, patches_of(mistake.lines));
      files.emplace_back(std::move(mistake), std::move(lines));
    }
  }
  return files;
}

}  // namespace assay
