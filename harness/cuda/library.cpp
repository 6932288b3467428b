#include "cuda/library.h"

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

std::vector<std::string> toolkit_directories() {
  std::vector<std::string> directories;
  if (const char* home = std::getenv("CUDA_HOME")) {
    directories.push_back(std::string(home) + "/lib64");
  }
  directories.emplace_back("/usr/local/cuda/lib64");
  return directories;
}

}  // namespace assay
