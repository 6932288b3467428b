#include "cli/include_path.h"

#include <system_error>

namespace assay {

namespace fs = std::filesystem;

void add_kernel_folders(Command& verb, std::string& kernels, std::vector<std::string>& include,
                        const std::string& place, const std::string& when) {
  verb.add_option("--kernels", kernels, when + "where the kernels are; default: " + place)
      .placeholder("DIR")
      .existing_folder();
  verb.add_option("--include", include,
                  when + "a further folder that kernels may include headers from; may be repeated")
      .placeholder("DIR")
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

fs::path shipped_folder() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../share/assay", ".."}) {  // where it is installed, and built
    const fs::path folder = (program / place).lexically_normal();
    if (fs::is_directory(folder / "kernels/include/assay", ignored)) return folder;
  }
  return {};
}

}  // namespace assay
