#include "spec/like.h"

#include <algorithm>
#include <ranges>

namespace assay {
namespace {

namespace fs = std::filesystem;
using Entries = std::vector<YamlEntry>;

/// The entries of both maps, in the order of `base`. An entry of `own` alone stands ahead of the
/// next entry of `own` that `base` has too, else last.
Entries merged(Entries base, const Entries& own) {
  std::size_t at = base.size();
  for (const YamlEntry& entry : std::views::reverse(own)) {
    const auto same = std::ranges::find(base, entry.key, &YamlEntry::key);
    if (same == base.end()) {
      base.insert(base.begin() + static_cast<std::ptrdiff_t>(at), entry);
    } else {
      *same = entry;
      at = static_cast<std::size_t>(same - base.begin());
    }
  }
  return base;
}

YamlPtr merged(const YamlEntry& own, const YamlNode& base) {
  const YamlNode& node = *own.value;
  if (own.key == "constraints") {
    std::vector<YamlPtr> all = base.list("a list of constraints");
    const auto& more = node.list("a list of constraints");
    all.insert(all.end(), more.begin(), more.end());
    return YamlNode::list_of(node.where(), std::move(all));
  }
  if (own.key != "params" && own.key != "let") return own.value;
  return YamlNode::map_of(node.where(), merged(base.map("a map"), node.map("a map")));
}

fs::path beside(const fs::path& path, const YamlNode& like) {
  return path.parent_path() / (like.identifier("the name of a kernel") + ".yaml");
}

}  // namespace

YamlPtr load_whole(const fs::path& path) {
  const YamlPtr root = load_yaml(path);
  const YamlNode* const like = root->find("like");
  if (like == nullptr) return root;
  const fs::path file = beside(path, *like);
  if (!fs::is_regular_file(file)) {
    like->fail("expected a file beside this one, found no {}", file.filename().string());
  }
  const YamlPtr base = load_yaml(file);
  if (base->find("like")) like->fail_expected("a file that is not like another");
  Entries own = root->map("a kernel");
  std::erase_if(own, [](const YamlEntry& entry) { return entry.key == "like"; });
  for (YamlEntry& entry : own) {
    if (const YamlNode* const value = base->find(entry.key)) entry.value = merged(entry, *value);
  }
  Entries taken = base->map("a kernel");
  // The file's name is its own. A default fulfils the constraints of its own contract, whatever the
  // problem.
  const std::string_view name = base->find("kernel") ? "kernel" : "op";
  std::erase_if(taken, [&](const YamlEntry& entry) {
    return entry.key == name || entry.key == "summary" || entry.key == "default";
  });
  return YamlNode::map_of(root->where(), merged(std::move(taken), own));
}

fs::path file_it_is_like(const fs::path& path) {
  const YamlPtr root = load_yaml(path);
  const YamlNode* const like = root->find("like");
  return like ? beside(path, *like) : fs::path();
}

}  // namespace assay
