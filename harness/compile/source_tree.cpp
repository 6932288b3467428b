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

/// The name of a header in a text: `"x"` or `<x>`, from `begin` to `end`.
struct Include {
  std::string spelling;
  bool quoted = false;
  int line = 0;
  std::size_t begin = 0, end = 0;
  bool is_asked = false;                  // by __has_include; nothing is included
  std::optional<std::string> found = {};  // the header's name in the tree
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r", at), text.size());
}

/// The name of a header that stands at `at`.
std::optional<Include> parse_name(std::string_view line, std::size_t at) {
  if (at >= line.size() || (line[at] != '"' && line[at] != '<')) return std::nullopt;
  const bool quoted = line[at] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', at + 1);
  if (end == std::string_view::npos || end == at + 1) return std::nullopt;
  return Include{std::string(line.substr(at + 1, end - at - 1)), quoted, 0, at, end + 1};
}

/// Skips `word`, which stands behind blanks. Beyond the end if something else does.
std::size_t skip(std::string_view line, std::size_t at, std::string_view word) {
  at = skip_blanks(line, at);
  return line.substr(at).starts_with(word) ? at + word.size() : line.size();
}

/// What a line includes, or asks for: `__has_include(<x>)`.
void find_in_line(std::string_view line, std::vector<Include>& includes) {
  constexpr std::string_view kAsk = "__has_include";
  const auto add = [&](std::size_t at, bool is_asked) {
    auto name = parse_name(line, skip_blanks(line, at));
    if (!name) return;
    name->is_asked = is_asked;
    includes.push_back(*std::move(name));
  };
  add(skip(line, skip(line, 0, "#"), "include"), false);
  for (std::size_t at = line.find(kAsk); at < line.size(); at = line.find(kAsk, at + 1)) {
    const std::size_t known = includes.size();
    const std::size_t next = skip_blanks(line, at + kAsk.size());
    add(skip(line, next, "("), true);
    // A name that a macro, a comment or the next line holds is not to be seen here.
    const bool asks =
        next < line.size() && (line[next] == '(' || line[next] == '/' || line[next] == '\\');
    if (asks && includes.size() == known && line.find("//") > at) {
      includes.push_back({"", false, 0, at, at + kAsk.size(), true});
    }
  }
}

std::vector<Include> find_includes(std::string_view text) {
  std::vector<Include> includes;
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::size_t known = includes.size();
    find_in_line(text.substr(begin, end - begin), includes);
    for (; known < includes.size(); ++known) {
      includes[known].line = line;
      includes[known].begin += begin;
      includes[known].end += begin;
    }
    begin = end + 1;
  }
  return includes;
}

/// What stands at `path`, without a byte order mark. NVRTC would take the text for done at its
/// first NUL.
std::string read_text(const fs::path& path) {
  std::string text = read_file(path, kMaxSourceBytes);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const std::size_t nul = text.find('\0');
  if (nul == std::string::npos) return text;
  const std::string_view before = std::string_view(text).substr(0, nul);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw UsageError("{}:{}:{}: found a NUL byte; expected text", path.string(),
                   std::ranges::count(before, '\n') + 1, nul - line_start + 1);
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
    SourceTree& tree = tree_;
    tree.name = source_.filename().string();
    std::string text = read_text(source_);
    Hasher hasher;
    hasher.add(tree.name).add(text);
    num_bytes_ = text.size();
    open(source_, "", std::move(text));
    while (!open_.empty()) {
      File& file = open_.back();
      if (file.num_done < file.includes.size()) {
        follow(file, file.includes[file.num_done++]);
        continue;
      }
      (file.name.empty() ? tree.text : tree.headers[SourceTree::kPrefix + file.name]) = named(file);
      open_.pop_back();
    }
    for (const auto& [name, header] : texts_) hasher.add(name).add(header);
    for (const std::string& meaning : meanings_) hasher.add(meaning);
    tree.hash = hasher.hex();
    for (const auto& [path, name] : names_) tree.paths.push_back(path);
    return std::move(tree);
  }

 private:
  /// A file whose includes are being followed.
  struct File {
    fs::path path;
    std::string name;  // in the tree; empty for the source
    std::string text;
    std::vector<Include> includes;
    std::size_t num_done = 0;
  };

  void open(fs::path path, std::string name, std::string text) {
    std::vector<Include> includes = find_includes(text);
    open_.push_back({std::move(path), std::move(name), std::move(text), std::move(includes)});
  }

  /// The text with the tree's names for the headers that it includes.
  std::string named(const File& file) {
    std::string text;
    std::size_t done = 0;
    for (const Include& include : file.includes) {
      if (!include.found && include.is_asked) continue;
      text.append(file.text, done, include.begin - done);
      text.append(include.found ? fmt::format("\"{}{}\"", SourceTree::kPrefix, *include.found)
                                : left(file, include));
      done = include.end;
    }
    return text.append(file.text, done);
  }

  /// The name of an include that is left to the compiler.
  std::string left(const File& file, const Include& include) {
    tree_.outside.push_back({file.text.substr(include.begin, include.end - include.begin),
                             file.name.empty() ? tree_.name : SourceTree::kPrefix + file.name,
                             include.line});
    return fmt::format("\"{}{}\"", SourceTree::kOutsidePrefix, tree_.outside.size() - 1);
  }

  /// Finds the header, and opens it if it is a new one. May end the life of `file`.
  void follow(const File& file, Include& include) {
    if (include.spelling.empty()) {
      throw UsageError(
          "{}: __has_include asks in a way that hides its header; write the header's name in "
          "quotes or brackets",
          at(file, include));
    }
    const fs::path folder = file.path.parent_path();
    const auto [known, is_new] =
        found_.try_emplace({include.quoted ? folder.string() : "<>", include.spelling});
    std::optional<std::string>& found = known->second;
    const std::optional<fs::path> path = is_new ? resolve(file, include) : std::nullopt;
    if (!path) {
      include.found = found;
      return;
    }
    const std::string& spelling = include.spelling;
    const std::string place = at(file, include);
    const fs::path target =
        check_inside(*path, fmt::format("{}: #include \"{}\"", place, spelling));
    const auto [name, is_first] = names_.try_emplace(target, spelling);
    if (is_first) {
      for (int i = 2; texts_.contains(name->second); ++i) {
        name->second = fmt::format("{}#{}", spelling, i);
      }
      if (names_.size() > kMaxHeaders) {
        throw UsageError("{}: {} includes more than {} headers", place, source_.filename().string(),
                         kMaxHeaders);
      }
      std::string& text = texts_[name->second];
      text = read_text(*path);
      num_bytes_ += text.size();
      if (num_bytes_ > kMaxSourceBytes) {
        throw UsageError("{}: {} and its headers have more than {} bytes", place,
                         source_.filename().string(), kMaxSourceBytes);
      }
    }
    found = include.found = name->second;
    // What a spelling means is a part of the hash, too.
    const std::string meaning = fmt::format("#include \"{}\"\n", *found);
    if (*found != spelling && texts_.try_emplace(spelling, meaning).first->second != meaning) {
      meanings_.push_back(fmt::format("{}: {} is {}", file.name, spelling, *found));
    }
    if (is_first) open(*path, *found, texts_[*found]);
  }

  static std::string at(const File& file, const Include& include) {
    return fmt::format("{}:{}", file.path.string(), include.line);
  }

  std::optional<fs::path> resolve(const File& file, const Include& include) const {
    std::vector<fs::path> folders;
    if (include.quoted) folders.push_back(file.path.parent_path());
    folders.insert(folders.end(), include_directories_.begin(), include_directories_.end());
    if (include.quoted) folders.push_back(source_.parent_path());
    for (const fs::path& folder : folders) {
      fs::path path = (folder / include.spelling).lexically_normal();
      std::error_code ignored;
      const fs::file_status status = fs::status(path, ignored);
      if (fs::is_regular_file(status)) return path;
      if (fs::is_fifo(status)) {  // the compiler would wait for it until its time is over
        throw UsageError("{}: #include \"{}\" is a pipe: expected a file", at(file, include),
                         include.spelling);
      }
    }
    return std::nullopt;
  }

  void add_root(const fs::path& folder) {
    std::error_code ignored;
    const fs::path root = fs::canonical(folder.empty() ? "." : folder, ignored);
    if (root.empty() || std::ranges::find(roots_, root) != roots_.end()) return;
    roots_.push_back(root);
  }

  // The compiler quotes what it reads in its log, which people show to each other. A kernel of
  // somebody else must not put there what it is not given.
  fs::path check_inside(const fs::path& path, const std::string& what) const {
    std::error_code ignored;
    fs::path target = fs::canonical(path, ignored);
    for (const fs::path& root : roots_) {
      if (target.empty() || is_inside(target, root)) return target;
    }
    std::string folders;
    for (const fs::path& root : roots_) folders += (folders.empty() ? "" : ", ") + root.string();
    throw UsageError("{} leads to {}, outside of {}; name its folder with --include", what,
                     target.string(), folders);
  }

  const fs::path& source_;
  const std::vector<fs::path>& include_directories_;
  SourceTree tree_;
  std::vector<fs::path> roots_;
  std::vector<File> open_;                    // the innermost is the last
  std::map<fs::path, std::string> names_;     // of the headers, in the tree: as first spelled
  std::map<std::string, std::string> texts_;  // by name, as read; or what another spelling means
  std::vector<std::string> meanings_;         // of spellings that mean several headers
  /// What was found for a spelling: for those in quotes by the folder of who includes it.
  std::map<std::pair<std::string, std::string>, std::optional<std::string>> found_;
  std::size_t num_bytes_ = 0;
};

}  // namespace

SourceTree SourceTree::read(const fs::path& source,
                            const std::vector<fs::path>& include_directories) {
  return Reader(source, include_directories).read();
}

}  // namespace assay
