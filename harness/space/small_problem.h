#pragma once

#include <optional>
#include <string>

#include "base/device_info.h"
#include "base/value.h"
#include "spec/kernel_spec.h"

namespace assay {

/// Why a configuration cannot run on a problem; empty if it can. The parameters of `kernel` have
/// the values of `config`.
std::string obstacle(const KernelSpec& kernel, const Problem& problem, const Config& config,
                     const DeviceInfo& device);

/// A small problem that `config` can run, of sizes that tiles do not divide: the kernel's smoke
/// problem. Where a constraint rules that out, a size may be doubled as long as it is below that of
/// `problem`, or be that of `problem`. Of those that can run, the one with the fewest doublings in
/// all. Nothing where only `problem` itself can run, or where it lacks a name of the kernel's.
/// Throws Interrupted after a signal.
std::optional<Problem> small_problem(const KernelSpec& kernel, const Problem& problem,
                                     const Config& config, const DeviceInfo& device);

}  // namespace assay
