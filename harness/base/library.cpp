#include "base/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <utility>

namespace assay {

Library::Library(std::string_view what, const std::vector<std::string>& names,
                 const std::vector<std::string>& directories, std::string_view advice) {
  std::vector<std::string> paths = names;
  for (const std::string& directory : directories) {
    for (const std::string& name : names) paths.push_back(directory + "/" + name);
  }
  for (const std::string& path : paths) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = path;
      return;
    }
  }
  throw Error(
      fmt::format("cannot load {}: looked for {}; {}", what, fmt::join(paths, ", "), advice));
}

// Never closed: CUDA's libraries keep threads and exit handlers whose code must stay mapped.
Library::~Library() = default;

Library::Library(Library&& other) noexcept
    : path_(std::move(other.path_)), handle_(std::exchange(other.handle_, nullptr)) {}

void* Library::symbol(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    throw Error(fmt::format("{} has no function {}; install a newer version", path_, name));
  }
  return address;
}

std::vector<std::string> toolkit_roots() {
  std::vector<std::string> roots;
  const char* home = std::getenv("CUDA_HOME");
  if (home != nullptr && *home != '\0') roots.emplace_back(home);
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

std::vector<std::string> toolkit_directories() {
  std::vector<std::string> directories = toolkit_roots();
  for (std::string& directory : directories) directory += "/lib64";
  return directories;
}

}  // namespace assay
