#pragma once

#include <functional>
#include <map>
#include <string>

#include "judge/reference.h"
#include "launch/launcher.h"

namespace assay {

/// Runs a reference's own kernel, whose cubin is in `kernel.cubin_path`, and returns what it wrote,
/// by name, without rms and hash. It runs twice, on memory that held something else before. After
/// the first time `check_inputs` may throw. Throws Failure `oracle` for an element that it did not
/// write, for one that came out otherwise the second time, and for a write beside its buffers.
std::map<std::string, ReferenceOutput> run_reference_kernel(
    const SupportKernels& support, const ReferenceKernelPlan& kernel, const AddressOf& address_of,
    const std::function<void()>& check_inputs);

/// Runs it once more, on other inputs. What it writes is at `output_of`.
void rerun_reference_kernel(const SupportKernels& support, const ReferenceKernelPlan& kernel,
                            const AddressOf& address_of, const AddressOf& output_of);

}  // namespace assay
