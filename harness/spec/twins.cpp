#include "spec/twins.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dtype.h"
#include "spec/kernel_parts.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path find_file(const fs::path& folder, const std::string& file) {
  // A kernel that was given by its file has made its folder this one, which may be anybody's home.
  constexpr int kDeepest = 3;
  if (fs::exists(folder / file)) return folder / file;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() == file) return entry->path();
    const bool is_ops = entry->path().filename() == "ops";  // whose files are no kernels'
    if (is_ops || entry.depth() == kDeepest) entry.disable_recursion_pending();
  }
  return {};
}

struct Types {
  std::string word;
  std::vector<std::string> types;
};

std::string twin_name(const fs::path& yaml_path, const std::string& type) {
  return yaml_path.stem().string() + "_" + type;
}

/// Refuses a dim, a trait, a parameter or a let of the name `word`, in which it would be replaced.
void check_word_is_new(const YamlNode& root, const std::string& word) {
  const auto refuse = [&](const Location& where) {
    throw SpecError(where, "expected a new name, found \"{}\", which is a type already", word);
  };
  for (const char* key : {"traits", "params", "let", "dims"}) {
    const YamlNode* const names = root.find(key);
    if (names == nullptr) continue;
    for (const YamlEntry& entry : names->any_entries()) {
      if (entry.key == word) refuse(entry.where);
    }
    for (const YamlPtr& item : names->any_items()) {
      if (item->any_text() == word) refuse(item->where());
    }
  }
}

/// What `types` of a contract says; nothing where there is none.
Types read_types(const YamlNode& root, const fs::path& yaml_path) {
  const YamlNode* const node = root.find("types");
  if (node == nullptr) return {};
  const auto& entries =
      node->map("a map of one name to a list of dtypes, such as {T: [bf16, f16]}");
  if (entries.size() != 1) node->fail("expected one name, found {}", entries.size());
  const auto& [word, where, list] = entries.front();
  YamlNode::scalar(where, word).identifier("the name of a type");
  check_word_is_new(root, word);
  Types types{word, {}};
  for (const YamlPtr& item : list->list("a list of dtypes")) {
    const std::string type(to_text(read_dtype(*item)));
    if (std::ranges::count(types.types, type) > 0) item->fail("duplicate type {}", type);
    const std::string name = twin_name(yaml_path, type);
    if (!types.types.empty() && fs::exists(yaml_path.parent_path() / (name + ".yaml"))) {
      item->fail("expected a type whose kernel {0} has no file of its own, found {0}.yaml", name);
    }
    types.types.push_back(type);
  }
  // What the type decides is a part of each kernel's hash, for its arguments' dtypes are.
  const YamlNode* const args = root.find("args");
  const auto has_type = [&](const YamlPtr& arg) {
    const YamlNode* const dtype = arg->find("dtype");
    return dtype && dtype->any_text() == word;
  };
  if (args && !args->any_items().empty() && std::ranges::none_of(args->any_items(), has_type)) {
    throw SpecError(where, "expected an argument with `dtype: {}`, found none", word);
  }
  return types;
}

}  // namespace

std::vector<KernelSpec> load_twins(const fs::path& yaml_path, const fs::path& op_path) {
  const Contract contract = load_contract(yaml_path, op_path);
  const std::string stem = yaml_path.stem().string();
  const Types types = read_types(*contract.root, yaml_path);
  if (types.types.empty()) return {read_kernel(contract, yaml_path, stem)};
  std::vector<KernelSpec> twins;
  for (const std::string& type : types.types) {
    const std::string name = twins.empty() ? stem : twin_name(yaml_path, type);
    const YamlPtr replaced = with_word(contract.root, types.word, type);
    twins.push_back(read_kernel({replaced, contract.op_path}, yaml_path, name));
  }
  return twins;
}

KernelSpec load_kernel(const fs::path& yaml_path) { return load_twins(yaml_path).front(); }

std::vector<std::string> twin_names(const fs::path& yaml_path) {
  std::vector<std::string> names = {yaml_path.stem().string()};
  try {
    const Types types = read_types(*load_contract(yaml_path).root, yaml_path);
    for (std::size_t i = 1; i < types.types.size(); ++i) {
      names.push_back(twin_name(yaml_path, types.types[i]));
    }
  } catch (const UsageError&) {  // told when the file is loaded
  }
  return names;
}

std::vector<std::string> twin_ops(const fs::path& yaml_path) {
  std::vector<std::string> ops;
  try {
    const YamlPtr root = load_contract(yaml_path).root;
    const YamlNode* const op = root->find("op");
    if (op == nullptr) return ops;
    const Types types = read_types(*root, yaml_path);
    if (types.types.empty()) return {op->identifier("the name of an op")};
    for (const std::string& type : types.types) {
      const YamlPtr twin = with_word(root, types.word, type);
      ops.push_back(twin->find("op")->identifier("the name of an op"));
    }
  } catch (const UsageError&) {  // told when the file is loaded
  }
  return ops;
}

std::string_view contract_of_twin(std::string_view name) {
  const std::size_t at = name.rfind('_');
  if (at == std::string_view::npos || !parse_dtype(name.substr(at + 1))) return {};
  return name.substr(0, at);
}

std::optional<KernelSpec> find_kernel(const fs::path& folder, const std::string& name) {
  fs::path file = find_file(folder, name + ".yaml");
  if (!file.empty()) return load_kernel(file);
  file = find_file(folder, fmt::format("{}.yaml", contract_of_twin(name)));
  return file.empty() ? std::nullopt : find_twin(file, name);
}

std::optional<KernelSpec> find_twin(const fs::path& yaml_path, const std::string& name) {
  for (KernelSpec& kernel : load_twins(yaml_path)) {
    if (kernel.name == name) return std::move(kernel);
  }
  return std::nullopt;
}

}  // namespace assay
