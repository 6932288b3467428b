#include "tuner/compile_job.h"

#include "space/launched.h"
#include "spec/entry.h"
#include "tuner/kernel_version.h"

namespace assay {

CompileJob compile_job(const KernelSpec& kernel, const Problem& problem, const Config& config,
                       const DeviceInfo& info, const std::string& arch,
                       const std::vector<std::filesystem::path>& include_directories) {
  return {kernel.source_path,
          include_path(kernel, include_directories),
          macros_of(kernel, config),
          arch,
          launched_entries(kernel, config, info),
          {defines(kernel, problem, config, info), kernel.compile.std,
           is_fast_math(kernel, config, info), max_registers(kernel, config, info),
           compiler_options(kernel, config, info)}};
}

CompileJob own_compile_job(const KernelSpec& kernel, const ReferenceKernelSpec& own,
                           const Problem& problem, const DeviceInfo& info, const std::string& arch,
                           const std::vector<std::filesystem::path>& include_directories,
                           bool fast_math) {
  const bool is_of_op = !kernel.op_path.empty();
  const CompileSettings settings{own_defines(kernel, own, problem, info),
                                 is_of_op ? CompileSpec().std : kernel.compile.std,
                                 fast_math && !is_of_op};
  return {own.source,
          own_include_path(kernel, include_directories),
          reference_macros(kernel, own, problem),
          arch,
          {instantiate(own.entry, sizes_of(kernel, problem))},
          settings};
}

}  // namespace assay
