#include "compile/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/library.h"

namespace assay {

namespace fs = std::filesystem;

#define ASSAY_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                \
  X(nvrtcGetNumSupportedArchs)   \
  X(nvrtcGetSupportedArchs)      \
  X(nvrtcGetErrorString)         \
  X(nvrtcCreateProgram)          \
  X(nvrtcDestroyProgram)         \
  X(nvrtcAddNameExpression)      \
  X(nvrtcCompileProgram)         \
  X(nvrtcGetLoweredName)         \
  X(nvrtcGetProgramLogSize)      \
  X(nvrtcGetProgramLog)          \
  X(nvrtcGetCUBINSize)           \
  X(nvrtcGetCUBIN)               \
  X(nvrtcGetPTXSize)             \
  X(nvrtcGetPTX)

struct Nvrtc::Api {
  using Self = Api;
  explicit Api(const Library& library_) { ASSAY_NVRTC_FUNCTIONS(ASSAY_LOAD) }

  void check(nvrtcResult result, const char* call) const {
    if (result != NVRTC_SUCCESS) throw Error("{}: {}", call, nvrtcGetErrorString(result));
  }

  ASSAY_NVRTC_FUNCTIONS(ASSAY_MEMBER)
};

namespace {

fs::path path_of_library(void* symbol) {
  Dl_info info = {};
  if (::dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored);
}

const std::vector<std::string> kLibraryNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/// Whether CUDA_HOME names the toolkit of this library, be it by links.
bool is_of_named_toolkit(const fs::path& library) {
  for (const std::string& folder : toolkit_libraries().first) {
    for (const std::string& name : kLibraryNames) {
      std::error_code ignored;
      if (fs::equivalent(fs::path(folder) / name, library, ignored)) return true;
    }
  }
  return false;
}

/// "13.0", as cuda.h says it.
std::string version_of_headers(const fs::path& include) {
  constexpr std::string_view kDefine = "#define CUDA_VERSION ";
  const std::string text = read_file(include / "cuda.h");
  const std::size_t at = text.find(kDefine);
  int version = 0;  // 1000 x major + 10 x minor
  if (at != std::string::npos) {
    const char* const begin = text.data() + at + kDefine.size();
    std::from_chars(begin, text.data() + text.size(), version);
  }
  return version == 0 ? "an unknown version"
                      : fmt::format("{}.{}", version / 1000, version / 10 % 100);
}

// NVRTC looks names of entries up in a file of its own, which has a line for each.
constexpr std::string_view kNamesFile = "__nv_name_map(", kNameLine = "#pragma nv_mangled_name ";

/// Lets the log say where those names come from. Returns whether it has no other errors.
bool take_entry_errors(std::string& log) {
  bool has_found = false, has_others = false;
  std::string text;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kNamesFile)) {
      has_found = true;
      line = "the contract" + line.substr(std::min(line.find(':'), line.size()));
    } else if (const std::size_t at = line.find(kNameLine); has_found && at == 2) {
      line.replace(at, kNameLine.size(), fmt::format("{:>{}}", "entry: ", kNameLine.size()));
    } else if (line.find("): error: ") != std::string::npos) {
      has_others = true;
    }
    text += line + '\n';
  }
  log = std::move(text);
  return has_found && !has_others;
}

}  // namespace

Nvrtc::Nvrtc() {
  api_ = std::make_unique<Api>(Library(
      "NVRTC", kLibraryNames, toolkit_libraries(),
      "install the CUDA toolkit 12.8 or later (or its cuda-nvrtc package), or set CUDA_HOME"));
  int major = 0, minor = 0, num_archs = 0;
  api_->nvrtcVersion(&major, &minor);
  api_->nvrtcGetNumSupportedArchs(&num_archs);
  archs_.resize(static_cast<std::size_t>(std::max(num_archs, 0)));
  api_->nvrtcGetSupportedArchs(archs_.data());
  version_ = fmt::format("{}.{}", major, minor);

  const fs::path file = path_of_library(reinterpret_cast<void*>(api_->nvrtcVersion.address));
  std::error_code ignored;
  // An update within 13.0 changes the machine code but not the version. The size of the library
  // tells.
  identity_ =
      fmt::format("nvrtc {} archs {} bytes {}", version_, num_archs, fs::file_size(file, ignored));
  find_toolkit(file);
}

Nvrtc::~Nvrtc() = default;

void Nvrtc::find_toolkit(const fs::path& library) {
  const fs::path root = library.parent_path().parent_path();
  // Packages for Python may have the headers in a package of their own.
  std::vector<fs::path> candidates{root / "include",
                                   root.parent_path() / "cuda_runtime" / "include"};
  for (const std::string& other : toolkit_roots())
    candidates.push_back(fs::path(other) / "include");
  std::string of_headers;
  for (const fs::path& include : candidates) {
    std::error_code ignored;
    if (!fs::is_regular_file(include / "cuda.h", ignored)) continue;
    const std::string found = version_of_headers(include);
    // The first of NVRTC's own version, else the first.
    if (!toolkit_include_.empty() && (of_headers == version_ || found != version_)) continue;
    toolkit_include_ = fs::absolute(include).lexically_normal();
    of_headers = found;
  }
  const std::string named = named_toolkit();
  if (!named.empty() && !is_of_named_toolkit(library)) {
    warning_ =
        fmt::format("CUDA_HOME is {}, which has no NVRTC; {} is used", named, library.string());
  }
  if (toolkit_include_.empty()) return;
  toolkit_options_ = {"-I" + toolkit_include_.string(),
                      "-I" + (toolkit_include_ / "cccl").string()};
  identity_ += " headers " + hash_hex(read_file(toolkit_include_ / "cuda.h"));
  if (of_headers == version_) return;
  if (!warning_.empty()) warning_ += "; ";
  warning_ += fmt::format("NVRTC is of CUDA {}, and the headers in {} are of {}", version_,
                          toolkit_include_.string(), of_headers);
}

void Nvrtc::check_arch(const std::string& arch) const {
  int number = 0;
  std::from_chars(arch.data(), arch.data() + arch.size(), number);
  if (std::ranges::find(archs_, number) != archs_.end()) return;
  throw UsageError("NVRTC {} does not compile for architecture {}; it does for {}", version_, arch,
                   fmt::join(archs_, ", "));
}

bool Nvrtc::owns_header(const std::string& name) const {
  const fs::path path = fs::path(name).lexically_normal();
  // The working directory is empty, see CompileProcess. Other headers are in NVRTC itself.
  return (path.is_relative() && *path.begin() != "..") ||
         (!toolkit_include_.empty() && is_inside(path, toolkit_include_));
}

Nvrtc::Output Nvrtc::compile(const Unit& unit) const {
  std::vector<const char*> texts, names, options;
  for (const auto& [name, text] : unit.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  for (const std::string& option : unit.options) options.push_back(option.c_str());
  const std::string pre_include = "--pre-include=" + unit.pre_include;
  if (!unit.pre_include.empty()) options.push_back(pre_include.c_str());

  nvrtcProgram handle = nullptr;
  api_->nvrtcCreateProgram(&handle, unit.text.c_str(), unit.name.c_str(),
                           static_cast<int>(texts.size()), texts.data(), names.data());
  const auto destroy = [this](nvrtcProgram program) {
    static_cast<void>(api_->nvrtcDestroyProgram.result(&program));
  };
  const std::unique_ptr<_nvrtcProgram, decltype(destroy)> program(handle, destroy);

  for (const std::string& entry : unit.entries) {
    api_->nvrtcAddNameExpression(handle, entry.c_str());
  }
  const nvrtcResult result =
      api_->nvrtcCompileProgram.result(handle, static_cast<int>(options.size()), options.data());
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    throw Error("NVRTC cannot load its builtins library; install the whole CUDA toolkit");
  }
  Output output;
  output.ok = result == NVRTC_SUCCESS;
  output.knows_options = result != NVRTC_ERROR_INVALID_OPTION;
  std::size_t size = 0;
  api_->nvrtcGetProgramLogSize(handle, &size);
  output.log.resize(size);
  api_->nvrtcGetProgramLog(handle, output.log.data());
  while (!output.log.empty() && output.log.back() == '\0') output.log.pop_back();
  if (!output.ok) {
    // A mistake in the source is in the log, so without one it is something else.
    output.out_of_memory =
        result == NVRTC_ERROR_OUT_OF_MEMORY ||
        (result == NVRTC_ERROR_COMPILATION && output.log.empty()) ||
        output.log.find("catastrophic error: out of memory") != std::string::npos;
    if (output.log.empty()) output.log = api_->nvrtcGetErrorString(result);
    output.has_entries = !take_entry_errors(output.log);
    return output;
  }
  for (const std::string& entry : unit.entries) {
    const char* symbol = nullptr;
    api_->nvrtcGetLoweredName(handle, entry.c_str(), &symbol);
    output.symbols[entry] = symbol;
  }
  api_->nvrtcGetCUBINSize(handle, &size);
  output.cubin.resize(size);
  api_->nvrtcGetCUBIN(handle, output.cubin.data());
  if (unit.wants_ptx) {
    api_->nvrtcGetPTXSize(handle, &size);
    output.ptx.resize(size);
    api_->nvrtcGetPTX(handle, output.ptx.data());
    while (!output.ptx.empty() && output.ptx.back() == '\0') output.ptx.pop_back();
  }
  return output;
}

}  // namespace assay
