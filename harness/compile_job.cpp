#include "compile_job.h"

#include "kernel_version.h"
#include "space/launched.h"

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

}  // namespace assay
