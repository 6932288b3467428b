#pragma once

#include "base/value.h"
#include "spec/kernel_spec.h"

namespace assay {

/// The configuration that the contract's `default` gives, for a program that has no tuned one for a
/// problem; empty if the contract has none. Reads the file again. Throws like load_kernel.
Config load_default_config(const KernelSpec& kernel);

}  // namespace assay
