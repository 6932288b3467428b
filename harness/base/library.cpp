#include "base/library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/error.h"

namespace assay {

Library::Library(std::string_view what, const std::vector<std::string>& names,
                 const LibraryFolders& folders, std::string_view advice) {
  std::vector<std::string> paths;
  const auto add = [&](const std::vector<std::string>& in) {
    for (const std::string& folder : in) {
      for (const std::string& name : names) paths.push_back(folder + "/" + name);
    }
  };
  add(folders.first);
  paths.insert(paths.end(), names.begin(), names.end());
  add(folders.last);
  for (const std::string& path : paths) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = path;
      return;
    }
  }
  throw Error("cannot load {}: looked for {}; {}", what, fmt::join(paths, ", "), advice);
}

void* Library::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    throw Error("{} has no function {}; install a newer version", path_, name);
  }
  return address;
}

std::string named_toolkit() {
  const char* home = std::getenv("CUDA_HOME");
  return home == nullptr ? "" : home;
}

std::vector<std::string> toolkit_roots() {
  std::vector<std::string> roots;
  if (const std::string named = named_toolkit(); !named.empty()) roots.push_back(named);
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

LibraryFolders toolkit_libraries(const std::string& subfolder) {
  const auto below = [&](const std::string& root) {
    std::vector<std::string> folders;
    if (!subfolder.empty()) folders.push_back(root + "/" + subfolder);
    // Packages for Python have a folder lib.
    for (const char* name : {"/lib64", "/lib"}) folders.push_back(root + name);
    return folders;
  };
  const std::string named = named_toolkit();
  return {named.empty() ? std::vector<std::string>{} : below(named), below("/usr/local/cuda")};
}

}  // namespace assay
