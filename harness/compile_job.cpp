#include "compile_job.h"

#include "kernel_version.h"
#include "space/launched.h"
#include "spec/entry.h"

namespace assay {

CompileJob compile_job(const KernelSpec& kernel, const Config& config, const DeviceInfo& info,
                       const std::string& arch,
                       const std::vector<std::filesystem::path>& include_directories) {
  return {kernel.source_path,
          include_path(kernel, include_directories),
          macros_of(kernel, config),
          arch,
          launched_entries(kernel, config, info),
          {kernel.compile.define, kernel.compile.std, kernel.compile.fast_math,
           max_registers(kernel, config, info)}};
}

CompileJob own_compile_job(const KernelSpec& kernel, const ReferenceKernelSpec& own,
                           const Problem& problem, const std::string& arch,
                           const std::vector<std::filesystem::path>& include_directories,
                           bool fast_math) {
  CompileSettings settings{kernel.compile.define, kernel.compile.std, fast_math};
  for (const auto& [name, value] : own.define) settings.defines[name] = value;
  return {own.source,
          include_path(kernel, include_directories),
          reference_macros(kernel, own, problem),
          arch,
          {instantiate(own.entry, sizes_of(kernel, problem))},
          settings};
}

}  // namespace assay
