#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "patched_yaml.h"
#include "temp_folder.h"

namespace assay {

/// The contract of a broken kernel: contracts/add.yaml, or what the comment above its source says:
/// `// Contract: norm.yaml with`, and then what differs.
inline std::string broken_contract(const std::filesystem::path& source) {
  std::string base = "add";
  Lines differences;
  for (const std::string& line : lines_of(read_file(source))) {
    if (!line.starts_with("//")) break;
    const std::string mark = "// Contract: ";
    if (line.starts_with(mark)) base = line.substr(mark.size(), line.find(".yaml") - mark.size());
    if (line.starts_with("//   ")) differences.push_back(line.substr(5));
  }
  differences.push_back("kernel: " + source.stem().string());
  const std::string text = read_file(source.parent_path() / "contracts" / (base + ".yaml"));
  return fmt::format("{}\n", fmt::join(patched(lines_of(text), patches_of(differences)), "\n"));
}

/// A folder of the broken kernels, each with its contract beside its source. Those that the
/// program's own tests name as files have it there already.
class BrokenKernelFolder {
 public:
  BrokenKernelFolder() {
    namespace fs = std::filesystem;
    const fs::path sources = fs::path(ASSAY_SOURCE_DIR) / "harness/tests/kernels/broken";
    for (const auto& entry : fs::directory_iterator(sources)) {
      const fs::path& path = entry.path();
      if (!entry.is_regular_file()) continue;
      fs::copy_file(path, folder_ / path.filename());
      if (path.extension() != ".cu" || fs::exists(fs::path(path).replace_extension(".yaml")) ||
          read_file(path).find(" end as ") == std::string::npos) {
        continue;
      }
      folder_.write(path.stem().string() + ".yaml", broken_contract(path));
    }
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

inline const std::filesystem::path& broken_kernels() {
  static const BrokenKernelFolder folder;
  return folder.path();
}

}  // namespace assay
