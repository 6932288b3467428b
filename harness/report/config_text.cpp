#include "report/config_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/text.h"

namespace assay {
namespace {

/// Initials of the words of `name`, the first word with up to `letters` letters.
std::string initials(const std::string& name, std::size_t letters) {
  std::string out = name.substr(0, std::min(letters, name.find('_')));
  for (std::size_t at = name.find('_'); at != std::string::npos; at = name.find('_', at + 1)) {
    // A number is kept whole, so that WARPS_16 and WARPS_1 stay apart.
    for (std::size_t i = at + 1; i < name.size() && name[i] != '_'; ++i) {
      if (i > at + 1 && !is_digit(name[i])) break;
      out += name[i];
    }
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> abbreviate(const std::vector<std::string>& names) {
  std::map<std::string, std::string> result;
  std::set<std::string> pending(names.begin(), names.end());
  std::set<std::string> taken;
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  for (std::size_t letters = 1; letters <= longest && !pending.empty(); ++letters) {
    std::map<std::string, std::vector<std::string>> groups;
    for (const std::string& name : pending) groups[initials(name, letters)].push_back(name);
    for (const auto& [text, members] : groups) {
      if (members.size() > 1 || taken.contains(text)) continue;
      result[members.front()] = text;
      taken.insert(text);
      pending.erase(members.front());
    }
  }
  for (const std::string& name : pending) result[name] = name;
  return result;
}

ConfigText::ConfigText(std::string kernel, const std::vector<Config>& configs, bool wide)
    : kernel_(std::move(kernel)) {
  std::map<std::string, std::size_t> counts;
  std::set<std::string> varying;
  for (const Config& config : configs) {
    for (const auto& [name, value] : config) {
      if (counts[name]++ == 0) {
        order_.push_back(name);
        shared_[name] = value;
      } else if (shared_[name] != value) {
        varying.insert(name);
      }
    }
  }
  for (const std::string& name : order_) {
    if (wide || configs.size() < 2 || counts[name] != configs.size() || varying.contains(name)) {
      shared_.erase(name);
    }
  }
  // If no parameter varies, show them all: lines that are all empty say nothing.
  if (shared_.size() == order_.size()) shared_.clear();
  if (wide) {
    for (const std::string& name : order_) short_names_[name] = name;
  } else {
    short_names_ = abbreviate(order_);
  }
}

std::string ConfigText::line(const Config& config) const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : config) {
    if (shared_.contains(name)) continue;
    const auto found = short_names_.find(name);
    parts.push_back((found == short_names_.end() ? name : found->second) + '=' + to_text(value));
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string ConfigText::note() const {
  std::vector<std::string> names, shared;
  for (const std::string& name : order_) {
    const auto value = shared_.find(name);
    if (value != shared_.end()) {
      shared.push_back(name + '=' + to_text(value->second));
    } else if (short_names_.at(name) != name) {
      names.push_back(short_names_.at(name) + " = " + name);
    }
  }
  if (names.empty() && shared.empty()) return "";
  std::string out = kernel_ + ": " + fmt::format("{}", fmt::join(names, ", "));
  if (!shared.empty()) {
    out += fmt::format("{}all: {}", names.empty() ? "" : "; ", fmt::join(shared, " "));
  }
  return out;
}

ConfigTexts::ConfigTexts(const std::vector<KernelConfig>& shown, bool wide) {
  std::map<std::string, std::vector<Config>> configs;
  for (const auto& [kernel, config] : shown) configs[kernel].push_back(config);
  for (const auto& [kernel, list] : configs) texts_.emplace(kernel, ConfigText(kernel, list, wide));
}

std::string ConfigTexts::line(const KernelConfig& choice) const {
  return texts_.at(choice.kernel).line(choice.config);
}

std::string ConfigTexts::notes(const Terminal& terminal) const {
  std::string out;
  for (const auto& [kernel, text] : texts_) {
    if (const std::string note = text.note(); !note.empty()) out += folded_text(note, terminal);
  }
  return out;
}

bool problem_less(const Problem& a, const Problem& b) {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.first != y.first ? x.first < y.first : to_real(x.second) < to_real(y.second);
      });
}

std::string measured_text(const std::string& provenance, const std::string& finished_at) {
  return provenance.empty() ? "here, " + finished_at.substr(0, 10) : provenance;
}

}  // namespace assay
