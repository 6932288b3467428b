#include "compile/source_tree.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Include {
  std::string spelling;
  bool quoted = false;
};

std::string_view trim_left(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

std::optional<Include> parse_include(std::string_view line) {
  line = trim_left(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trim_left(line.substr(1));
  constexpr std::string_view kInclude = "include";
  if (!line.starts_with(kInclude)) return std::nullopt;
  line = trim_left(line.substr(kInclude.size()));
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const bool quoted = line[0] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  return Include{std::string(line.substr(1, end - 1)), quoted};
}

std::vector<Include> find_includes(std::string_view text) {
  std::vector<Include> includes;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (auto include = parse_include(text.substr(0, end))) includes.push_back(std::move(*include));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return includes;
}

class Reader {
 public:
  Reader(fs::path source_directory, const std::vector<fs::path>& include_directories)
      : source_directory_(std::move(source_directory)), include_directories_(include_directories) {}

  /// Adds what `text`, a file of `directory`, includes.
  void add_includes(const std::string& text, const fs::path& directory, SourceTree& tree) {
    for (const Include& include : find_includes(text)) {
      const std::optional<fs::path> path = resolve(include, directory);
      if (!path) continue;
      const auto [known, is_new] = path_of_.emplace(include.spelling, *path);
      if (!is_new) {
        check_same(include.spelling, known->second, *path);
        continue;
      }
      const auto [first, is_first] = spelling_of_.emplace(*path, include.spelling);
      if (!is_first) {
        // The same file under a second spelling: it forwards to the first, so that `#pragma once`
        // holds.
        tree.headers[include.spelling] = fmt::format("#include \"{}\"\n", first->second);
        continue;
      }
      std::string& header = tree.headers[include.spelling];
      header = read_file(*path);
      add_includes(header, path->parent_path(), tree);
    }
  }

 private:
  std::optional<fs::path> resolve(const Include& include, const fs::path& directory) const {
    const auto found_in = [&include](const fs::path& folder) -> std::optional<fs::path> {
      fs::path path = (folder / include.spelling).lexically_normal();
      std::error_code ignored;
      if (!fs::is_regular_file(path, ignored)) return std::nullopt;
      return path;
    };
    if (include.quoted) {
      if (auto path = found_in(directory)) return path;
      if (auto path = found_in(source_directory_)) return path;
    }
    for (const fs::path& folder : include_directories_) {
      if (auto path = found_in(folder)) return path;
    }
    return std::nullopt;
  }

  // NVRTC knows a header by its spelling alone.
  static void check_same(const std::string& spelling, const fs::path& known, const fs::path& path) {
    std::error_code ignored;
    if (known == path || fs::equivalent(known, path, ignored)) return;
    throw UsageError(
        fmt::format("#include \"{}\" means both {} and {}; spell one of them otherwise", spelling,
                    known.string(), path.string()));
  }

  fs::path source_directory_;
  const std::vector<fs::path>& include_directories_;
  std::map<std::string, fs::path> path_of_;
  std::map<fs::path, std::string> spelling_of_;
};

}  // namespace

SourceTree SourceTree::read(const fs::path& source,
                            const std::vector<fs::path>& include_directories) {
  SourceTree tree{source.filename().string(), read_file(source), {}};
  Reader(source.parent_path(), include_directories)
      .add_includes(tree.text, source.parent_path(), tree);
  return tree;
}

std::string SourceTree::hash() const {
  Hasher hasher;
  hasher.add(name).add(text);
  for (const auto& [spelling, header] : headers) hasher.add(spelling).add(header);
  return hasher.hex();
}

}  // namespace assay
