#include "compile/source_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Include {
  std::string spelling;
  bool quoted = false;
  int line = 0;
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
  return Include{std::string(line.substr(1, end - 1)), quoted, 0};
}

std::vector<Include> find_includes(std::string_view text) {
  std::vector<Include> includes;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    if (auto include = parse_include(text.substr(0, end))) {
      include->line = line;
      includes.push_back(std::move(*include));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return includes;
}

/// What stands at `path`. NVRTC would take the text for done at its first NUL.
std::string read_text(const fs::path& path) {
  std::string text = read_file(path, kMaxSourceBytes);
  const std::size_t nul = text.find('\0');
  if (nul == std::string::npos) return text;
  const std::string_view before = std::string_view(text).substr(0, nul);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw UsageError(fmt::format("{}:{}:{}: found a NUL byte; expected text", path.string(),
                               std::count(before.begin(), before.end(), '\n') + 1,
                               nul - line_start + 1));
}

class Reader {
 public:
  Reader(const fs::path& source, const std::vector<fs::path>& include_directories)
      : source_(source), include_directories_(include_directories) {
    add_root(source.parent_path());
    for (const fs::path& folder : include_directories) add_root(folder);
  }

  SourceTree read() {
    check_inside(source_, source_.string());
    SourceTree tree{source_.filename().string(), read_text(source_), {}};
    add_headers(tree);
    return tree;
  }

 private:
  /// A file whose includes are being followed.
  struct File {
    fs::path path;
    std::vector<Include> includes;
    std::size_t num_done = 0;
  };

  /// Adds what the source, and all that it includes, includes. It goes depth first, and keeps on
  /// `open` the files that it is in the middle of.
  void add_headers(SourceTree& tree) {
    std::vector<File> open;
    open.push_back({source_, find_includes(tree.text)});
    std::size_t num_bytes = tree.text.size();
    while (!open.empty()) {
      File& file = open.back();
      if (file.num_done == file.includes.size()) {
        open.pop_back();
        continue;
      }
      const Include include = std::move(file.includes[file.num_done++]);
      const std::optional<fs::path> path = resolve(include, file.path.parent_path());
      if (!path) continue;
      const auto [known, is_new] = path_of_.emplace(include.spelling, *path);
      if (!is_new) {
        check_same(file, include, known->second, *path);
        continue;
      }
      check_inside(*path, fmt::format("{}: #include \"{}\"", at(file, include), include.spelling));
      if (tree.headers.size() == kMaxHeaders) {
        throw UsageError(fmt::format("{}: {} includes more than {} headers", at(file, include),
                                     tree.name, kMaxHeaders));
      }
      const auto [first, is_first] = spelling_of_.emplace(*path, include.spelling);
      if (!is_first) {
        // The same file under a second spelling: it forwards to the first, so that `#pragma once`
        // holds.
        tree.headers[include.spelling] = fmt::format("#include \"{}\"\n", first->second);
        continue;
      }
      std::string& header = tree.headers[include.spelling];
      header = read_text(*path);
      num_bytes += header.size();
      if (num_bytes > kMaxSourceBytes) {
        throw UsageError(fmt::format("{}: {} and its headers have more than {} bytes",
                                     at(file, include), tree.name, kMaxSourceBytes));
      }
      open.push_back({*path, find_includes(header)});
    }
  }

  static std::string at(const File& file, const Include& include) {
    return fmt::format("{}:{}", file.path.string(), include.line);
  }

  std::optional<fs::path> resolve(const Include& include, const fs::path& directory) const {
    const auto found_in = [&include](const fs::path& folder) -> std::optional<fs::path> {
      fs::path path = (folder / include.spelling).lexically_normal();
      std::error_code ignored;
      if (!fs::is_regular_file(path, ignored)) return std::nullopt;
      return path;
    };
    if (include.quoted) {
      if (auto path = found_in(directory)) return path;
      if (auto path = found_in(source_.parent_path())) return path;
    }
    for (const fs::path& folder : include_directories_) {
      if (auto path = found_in(folder)) return path;
    }
    return std::nullopt;
  }

  void add_root(const fs::path& folder) {
    std::error_code ignored;
    const fs::path root = fs::canonical(folder.empty() ? "." : folder, ignored);
    if (root.empty() || std::find(roots_.begin(), roots_.end(), root) != roots_.end()) return;
    roots_.push_back(root);
  }

  // The compiler quotes what it reads in its log, which people show to each other. A kernel of
  // somebody else must not put there what it is not given.
  void check_inside(const fs::path& path, const std::string& what) const {
    std::error_code ignored;
    const fs::path target = fs::canonical(path, ignored);
    for (const fs::path& root : roots_) {
      if (target.empty() || is_inside(target, root)) return;
    }
    std::string folders;
    for (const fs::path& root : roots_) folders += (folders.empty() ? "" : ", ") + root.string();
    throw UsageError(fmt::format("{} leads to {}, outside of {}; name its folder with --include",
                                 what, target.string(), folders));
  }

  // NVRTC knows a header by its spelling alone.
  static void check_same(const File& file, const Include& include, const fs::path& known,
                         const fs::path& path) {
    std::error_code ignored;
    if (known == path || fs::equivalent(known, path, ignored)) return;
    throw UsageError(
        fmt::format("{}: #include \"{}\" means both {} and {}; spell one of them otherwise",
                    at(file, include), include.spelling, known.string(), path.string()));
  }

  const fs::path& source_;
  const std::vector<fs::path>& include_directories_;
  std::vector<fs::path> roots_;
  std::map<std::string, fs::path> path_of_;
  std::map<fs::path, std::string> spelling_of_;
};

}  // namespace

SourceTree SourceTree::read(const fs::path& source,
                            const std::vector<fs::path>& include_directories) {
  return Reader(source, include_directories).read();
}

std::string SourceTree::hash() const {
  Hasher hasher;
  hasher.add(name).add(text);
  for (const auto& [spelling, header] : headers) hasher.add(spelling).add(header);
  return hasher.hex();
}

}  // namespace assay
