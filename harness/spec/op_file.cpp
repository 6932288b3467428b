#include "spec/op_file.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/text.h"
#include "spec/keys.h"
#include "spec/like.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool has(const MapKeys& keys, const std::string& name) {
  return has(keys.required, name) || has(keys.optional, name);
}

std::string text_of(const YamlNode* node) { return node ? node->any_text() : ""; }

std::vector<YamlPtr> items_of(const YamlNode* node, const char* what) {
  return node ? node->list(what) : std::vector<YamlPtr>();
}

/// An op's file, checked as far as it can be without a kernel.
class OpFile {
 public:
  explicit OpFile(const fs::path& file) : path_(file), root_(load_whole(file)) {
    const YamlMap map(*root_, kOpKeys);
    const YamlNode& op = map["op"];
    const std::string stem = file.stem().string();
    if (const YamlNode* types = map.find("types")) {
      const auto& entries = types->map("a map of one name to a list of dtypes");
      if (entries.size() != 1) types->fail("expected one name");
      word_ = entries.front().key;
      types_ = entries.front().value->list("a list of dtypes");
    }
    if (op.text("the name of an op") != stem &&
        op.text("the name of an op") != stem + "_" + word_) {
      op.fail_expected("\"{}\", the name of the file{}", stem,
                       word_.empty() ? "" : fmt::format(", or \"{}_{}\"", stem, word_));
    }
    for (const YamlPtr& arg : map["args"].list("a list of arguments")) {
      const YamlNode* const role = arg->find("role");
      const std::string text = text_of(role);
      if (text == "scratch" || text == "prepared") {
        role->fail("expected what a caller passes, found {}, which is a kernel's", text);
      }
      for (const char* key : {"tensor_map", "struct", "symbol", "texture"}) {
        if (const YamlNode* form = arg->find(key)) {
          form->fail("expected what a caller passes, found a {}, which is how a kernel takes it",
                     key);
        }
      }
    }
  }

  const YamlNode* find(std::string_view key) const { return root_->find(key); }
  const YamlNode& root() const { return *root_; }
  const fs::path& path() const { return path_; }

  /// `gemm_T`, and after it one name for each type.
  std::vector<std::string> names() const {
    std::vector<std::string> names = {text_of(find("op"))};
    for (const YamlPtr& type : types_) {
      names.push_back(text_of(with_word(root_, word_, type->text("a dtype"))->find("op")));
    }
    return names;
  }

  /// The types of a kernel whose op is called `name`: all, or the one that it names.
  YamlPtr types_for(const std::string& name) const {
    const YamlNode& types = *find("types");
    const std::vector<std::string> all = names();
    const auto at = std::find(all.begin() + 1, all.end(), name) - all.begin() - 1;
    if (all.front() == name) return find_entry("types").value;
    const YamlPtr one = YamlNode::list_of(types.where(), {types_.at(static_cast<std::size_t>(at))});
    return YamlNode::map_of(types.where(), {{word_, types.map("types").front().where, one}});
  }

  const YamlEntry& find_entry(std::string_view key) const {
    const auto& entries = root_->map("an op");
    return *std::ranges::find_if(entries, [&](const YamlEntry& entry) { return entry.key == key; });
  }

 private:
  fs::path path_;
  YamlPtr root_;
  std::string word_;
  std::vector<YamlPtr> types_;
};

/// The op's lets where the kernel names them without a value, the others of the op first.
YamlPtr merge_lets(const OpFile& op, const YamlNode& kernel) {
  std::vector<YamlEntry> own, of_op, merged;
  const YamlNode* const lets = kernel.find("let");
  if (lets) own = lets->map("a map of names to expressions");
  if (op.find("let")) of_op = op.find("let")->map("a map of names to expressions");
  for (const YamlEntry& let : own) {
    const auto named =
        std::ranges::find_if(of_op, [&](const YamlEntry& each) { return each.key == let.key; });
    const bool is_placed = named != of_op.end() && let.value->kind() == YamlNode::Kind::nothing;
    merged.push_back(is_placed ? *named : let);
    if (is_placed) of_op.erase(named);
  }
  merged.insert(merged.begin(), of_op.begin(), of_op.end());
  if (merged.empty()) return nullptr;
  return YamlNode::map_of(lets ? lets->where() : op.find("let")->where(), std::move(merged));
}

/// `{name: taps, symbol: filter}`: the op's argument, with how the kernel takes it.
YamlPtr taken(const YamlNode& of_op, const YamlNode& item) {
  const YamlMap map(item, kTakenKeys);
  std::vector<YamlEntry> entries = of_op.map("an argument");
  for (const YamlEntry& entry : item.map("an argument")) {
    if (entry.key == "name") continue;
    if (of_op.find(entry.key)) {
      throw SpecError(entry.where, "\"{}\" of {} is the op's", entry.key,
                      text_of(map.find("name")));
    }
    entries.push_back(entry);
  }
  return YamlNode::map_of(item.where(), std::move(entries));
}

/// The op's arguments where the kernel names them, the others of the op first.
YamlPtr merge_args(const OpFile& op, const YamlNode& kernel) {
  const YamlNode* const list = kernel.find("args");
  std::vector<YamlPtr> of_op = items_of(op.find("args"), "a list of arguments"), merged;
  for (const YamlPtr& item : items_of(list, "a list of arguments")) {
    const bool is_map = item->kind() == YamlNode::Kind::map;
    const std::string name = text_of(is_map ? item->find("name") : item.get());
    const auto named = std::ranges::find_if(of_op, [&](const YamlPtr& arg) {
      return !name.empty() && text_of(arg->find("name")) == name;
    });
    if (named != of_op.end()) {
      merged.push_back(is_map ? taken(**named, *item) : *named);
      of_op.erase(named);
      continue;
    }
    const YamlNode* const role = is_map ? item->find("role") : nullptr;
    if (role && !has({"scratch", "prepared"}, text_of(role))) {
      role->fail_expected("scratch or prepared, since the op says what is passed");
    }
    merged.push_back(item);
  }
  merged.insert(merged.begin(), of_op.begin(), of_op.end());
  return YamlNode::list_of(list ? list->where() : op.find("args")->where(), std::move(merged));
}

void check_keys(const OpFile& op, const YamlNode& kernel) {
  for (const YamlEntry& entry : kernel.map("a kernel of an op")) {
    // A kernel may be less exact, and may need other sizes, than the op cares to say.
    const bool may =
        has(kOpKernelKeys, entry.key) && !(entry.key == "deterministic" && op.find(entry.key));
    if (may || !has(kOpKeys, entry.key)) continue;
    throw SpecError(entry.where, "\"{}\" is the op's, whose file {} says it", entry.key,
                    op.path().generic_string());
  }
  const YamlMap checked(kernel, kOpKernelKeys);
}

YamlPtr merge(const OpFile& op, const YamlNode& kernel) {
  check_keys(op, kernel);
  std::vector<YamlEntry> entries;
  for (const YamlEntry& entry : op.root().map("an op")) {
    if (has({"args", "let", "types"}, entry.key)) continue;
    if (has({"smoke", "summary"}, entry.key) && kernel.find(entry.key)) continue;
    entries.push_back(entry);
  }
  for (const YamlEntry& entry : kernel.map("a kernel of an op")) {
    if (!has({"args", "let", "op"}, entry.key)) entries.push_back(entry);
  }
  entries.push_back({"args", kernel.where(), merge_args(op, kernel)});
  if (YamlPtr lets = merge_lets(op, kernel)) entries.push_back({"let", lets->where(), lets});
  if (op.find("types")) {
    YamlPtr types = op.types_for(text_of(kernel.find("op")));
    entries.push_back({"types", op.find_entry("types").where, std::move(types)});
  }
  return YamlNode::map_of(kernel.where(), std::move(entries));
}

/// Whether a contract says anything of what an op's file does.
bool is_whole(const YamlNode& root) {
  const auto& keys = kOpKeys.required;
  return std::ranges::any_of(keys, [&](const std::string& key) {
    return key != "op" && key != "args" && key != "smoke" && root.find(key);
  });
}

/// What `assay new` has guessed is no contract before somebody has read it.
void refuse_guesses(const YamlNode& root) {
  const auto& source = root.where().source;
  std::istringstream lines(source->text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.starts_with("#?")) {
      throw SpecError({source, number, 1},
                      "a guess of a draft: correct the line, and take the \"#?\" away");
    }
  }
}

}  // namespace

fs::path find_op(const fs::path& folder, const std::string& op) {
  for (const std::string& stem : {op, op.substr(0, op.rfind('_'))}) {
    fs::path path = folder / "ops" / (stem + ".yaml");
    if (fs::is_regular_file(path) && has(OpFile(path).names(), op)) return path;
  }
  return {};
}

std::vector<std::string> op_names(const fs::path& op_path) {
  std::vector<std::string> names = OpFile(op_path).names();
  if (names.size() > 1) names.erase(names.begin());
  return names;
}

Contract load_contract(const fs::path& yaml_path, const fs::path& op_path) {
  const YamlPtr root = load_whole(yaml_path);
  refuse_guesses(*root);
  const YamlNode* const op = root->find("op");
  const std::string name = is_identifier(text_of(op)) ? text_of(op) : "";
  fs::path path = op_path;
  const fs::path own = yaml_path.parent_path();
  std::vector<fs::path> folders = {own, (own / "..").lexically_normal()};
  if (!is_whole(*root)) folders.push_back(shipped_folder() / "kernels");
  for (const fs::path& folder : folders) {
    if (path.empty() && !name.empty()) path = find_op(folder, name);
  }
  if (path.empty()) return {root};
  const OpFile file(path);
  if (const auto names = file.names(); !has(names, name)) {
    op->fail("expected the op {}{}", fmt::join(names, " or "), suggestion(name, names));
  }
  return {merge(file, *root), path};
}

}  // namespace assay
