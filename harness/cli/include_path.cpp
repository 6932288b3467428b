#include "cli/include_path.h"
#include "base/file.h"

#include <fmt/format.h>

#include "spec/sweep_spec.h"
#include "spec/twins.h"
#include "spec/yaml.h"

namespace assay {

namespace fs = std::filesystem;

void add_kernel_folders(Command& verb, KernelFolders& folders, const std::string& place,
                        const std::string& when) {
  verb.add_option("--kernels DIR", folders.kernels,
                  when + "where the kernels are; default: " + place)
      .existing_folder();
  verb.add_option("--include DIR", folders.include,
                  when + "a further folder that kernels may include headers from; may be repeated")
      .existing_folder();
}

std::vector<fs::path> include_path(const fs::path& kernels, const std::vector<std::string>& given) {
  std::vector<fs::path> folders{kernels};
  folders.insert(folders.end(), given.begin(), given.end());
  if (const fs::path shipped = shipped_folder(); !shipped.empty()) {
    // The headers include each other from their own root.
    folders.insert(folders.end(), {shipped / "kernels/include", shipped / "kernels"});
  }
  return folders;
}

namespace {

constexpr std::string_view kKernelsOption = " --kernels ";

/// The name of the first kernel of a sweep's file; empty for another file.
std::string first_kernel(const fs::path& file) {
  const YamlPtr root = load_yaml(file);
  const YamlNode* const kernels = root->find("kernels");
  if (!kernels || kernels->any_items().empty()) return "";
  return kernels->any_items().front()->any_text();
}

bool has_kernel(const fs::path& folder, const std::string& name) {
  const auto is_contract = [&](std::string_view stem) {
    return fs::is_regular_file(folder / fmt::format("{}.yaml", stem));
  };
  return is_contract(name) || is_contract(contract_of_twin(name));
}

fs::path kernel_folder_of_sweep(const fs::path& file) {
  const fs::path own = fs::absolute(file).lexically_normal().parent_path();
  const std::string name = first_kernel(file);
  for (const fs::path& folder : {own.parent_path() / "kernels", own, here_or_shipped("kernels")}) {
    if (has_kernel(folder, name)) return folder;
  }
  return own.parent_path() / "kernels";
}

}  // namespace

std::string sweep_command_line(const std::string& file, const fs::path& kernels) {
  return fmt::format("assay sweep {}{}{}", file, kKernelsOption,
                     fs::absolute(kernels).lexically_normal().string());
}

std::string kernel_folder(const std::string& given, const std::string& command_line) {
  if (!given.empty()) return given;
  const std::size_t at = command_line.rfind(kKernelsOption);
  if (at != std::string::npos) {
    const std::string folder = command_line.substr(at + kKernelsOption.size());
    if (fs::is_directory(folder)) return folder;
  }
  return here_or_shipped("kernels").string();
}

fs::path kernel_folder_of_file(const std::string& given, const fs::path& file) {
  if (!given.empty()) return given;
  if (!is_kernel_file(file)) return kernel_folder_of_sweep(file);
  const fs::path own = fs::absolute(file).lexically_normal().parent_path();
  for (fs::path folder = own; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "kernels") return folder;
  }
  return own;
}

std::vector<fs::path> yaml_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    const bool is_op = entry.path().parent_path().filename() == "ops";
    if (entry.path().extension() == ".yaml" && !is_op) files.push_back(entry.path());
  }
  return files;
}

fs::path here_or_shipped(const fs::path& path) {
  if (fs::exists(path) || path.is_absolute()) return path;
  const fs::path shipped = shipped_folder() / path;
  return fs::exists(shipped) ? shipped : path;
}

}  // namespace assay
