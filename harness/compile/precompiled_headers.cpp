#include "compile/precompiled_headers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace assay {
namespace {

// Of all files of a process, but for the last one. Kernels of one sweep mostly share one file.
constexpr std::size_t kMaxBytes = 128 << 20;

/// Reads a text's directives up to the first that is none of #include and #pragma once.
class Beginning {
 public:
  explicit Beginning(const SourceTree& source) : source_(source) {}

  /// Whether the whole text was read.
  bool read(std::string_view text) {
    while (skip_space(text)) {
      if (!take(text, "#")) return false;
      if (take(text, "pragma")) {
        if (!take(text, "once")) return false;
      } else if (!take(text, "include") || !include(text)) {
        return false;
      }
    }
    return true;
  }

  std::string includes;

 private:
  /// Reads on behind the name of a header. Returns whether what follows may still be a beginning.
  bool include(std::string_view& text) {
    if (!take(text, "\"")) return false;  // SourceTree has put all into quotes
    const std::string name(text.substr(0, text.find('"')));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    if (const auto header = source_.headers.find(name); header != source_.headers.end()) {
      return !known_.insert(name).second || read(header->second);
    }
    if (!name.starts_with(SourceTree::kOutsidePrefix)) return false;
    const std::string_view number = std::string_view(name).substr(kOutside.size());
    const std::string& spelling = source_.outside.at(*number_of<std::size_t>(number)).spelling;
    if (!spelling.starts_with('<')) return false;
    includes += fmt::format("#include {}\n", spelling);
    return true;
  }

  /// Skips blanks and comments. Returns whether something is left.
  static bool skip_space(std::string_view& text) {
    for (;;) {
      text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
      std::size_t end = text.size();
      if (text.starts_with("//")) {
        end = text.find('\n');
      } else if (text.starts_with("/*")) {
        end = text.find("*/", 2);
        if (end != std::string_view::npos) end += 2;
      } else {
        return !text.empty();
      }
      text.remove_prefix(std::min(end, text.size()));
    }
  }

  static bool take(std::string_view& text, std::string_view word) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
  }

  static constexpr std::string_view kOutside = SourceTree::kOutsidePrefix;
  const SourceTree& source_;
  std::set<std::string> known_;
};

}  // namespace

std::string leading_includes(const SourceTree& source) {
  Beginning beginning(source);
  beginning.read(source.text);
  return beginning.includes;
}

PrecompiledHeaders::File* PrecompiledHeaders::find(const Nvrtc::Unit& unit) {
  if (unit.leading_includes.empty() || folder_.empty()) return nullptr;
  File& file = files_[fmt::format("{}{}", unit.leading_includes, fmt::join(unit.options, " "))];
  if (++file.num_asked == 2 && num_bytes_ < kMaxBytes) file.fd = make(unit);
  return file.fd ? &file : nullptr;
}

UniqueFd PrecompiledHeaders::make(const Nvrtc::Unit& unit) {
  if (::mkdir(folder_.c_str(), 0700) != 0) return {};
  const std::string path = folder_ / "headers";
  Nvrtc::Unit beginning{unit.name, unit.leading_includes, {}, unit.options};
  beginning.options.push_back("--create-pch=" + path);
  const Nvrtc::Output output = nvrtc_.compile(beginning);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::unlink(path.c_str());
  ::rmdir(folder_.c_str());
  if (fd) num_bytes_ += static_cast<std::size_t>(::lseek(fd.get(), 0, SEEK_END));
  return output.ok ? std::move(fd) : UniqueFd();
}

Nvrtc::Output PrecompiledHeaders::compile(const Nvrtc::Unit& unit, const File& file) const {
  const std::string path = fmt::format("/proc/self/fd/{}", file.fd.get());
  // What the file has must be what the text begins with, so that the definitions come later. The
  // headers do not see them either way.
  Nvrtc::Unit begun = unit;
  begun.text = fmt::format("{}#include \"{}\"\n#line 1 \"{}\"\n{}", unit.leading_includes,
                           unit.pre_include, unit.name, unit.text);
  begun.pre_include.clear();
  begun.options.push_back("--use-pch=" + path);
  Nvrtc::Output output = nvrtc_.compile(begun);
  output.precompiled = true;
  // NVRTC says so even if it is asked not to.
  const std::string remark =
      fmt::format("\"{}\": using precompiled header file \"{}\"\n", unit.name, path);
  if (const auto at = output.log.find(remark); at != std::string::npos) {
    output.log.erase(at, remark.size());
  }
  return output;
}

}  // namespace assay
