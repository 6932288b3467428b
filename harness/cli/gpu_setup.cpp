#include "cli/gpu_setup.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/terminal.h"
#include "cli/ceilings_cache.h"
#include "support/support_source.h"

namespace assay {

namespace fs = std::filesystem;

Ceilings set_up_gpu(GpuDevice& gpu, Compiler& compiler) {
  const fs::path source = cache_directory() / ("support-" + hash_hex(support_source()) + ".cu");
  if (!fs::exists(source)) {
    std::error_code ignored;  // if this fails, writing says why
    fs::create_directories(source.parent_path(), ignored);
    write_file_atomic(source, support_source());
  }
  const CompileResult support = compiler.submit({source, {}, {}, native_arch(gpu.info().cc)}).get();
  if (!support.ok) throw Error("the worker's own kernels do not compile: " + support.log);
  gpu.setup(support.cubin_path, std::nullopt);
  const Vitals vitals = gpu.vitals();
  if (vitals.num_processes.value_or(1) > 1) {
    print_err(
        "warning: other processes ({}) use {}: times may be too long, and nothing else will "
        "say so; see nvidia-smi\n",
        *vitals.num_processes - 1, gpu.info().name);
  }
  if (vitals.mps) {
    print_err(
        "warning: {} is shared by CUDA's multi-process service (MPS): other programs may run "
        "beside "
        "what is timed; stop it with: echo quit | nvidia-cuda-mps-control\n",
        gpu.info().name);
  }
  if (gpu.info().is_slice()) {
    print_err(
        "warning: {} is a slice of a GPU (MIG): its results are kept under this name, and other "
        "slices may disturb them\n",
        gpu.info().name);
  }
  const Ceilings ceilings = ensure_ceilings(gpu, vitals);
  gpu.setup(support.cubin_path, ceilings);
  return ceilings;
}

}  // namespace assay
