#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/trial.h"
#include "compile/compiler.h"
#include "ranking/verdict.h"
#include "spec/kernel_spec.h"

namespace assay {

/// Where the kernel's headers are looked for: first in its own folders, then in those of all.
/// Throws SpecError at one of its own that lies neither in the contract's folder nor in one of all.
std::vector<std::filesystem::path> include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

/// The same of the kernels of its reference, its fills and its baselines. Those of an op's file do
/// not look into the kernel's folders, where a header could change what is right.
std::vector<std::filesystem::path> own_include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

/// What a result of the kernel as it is now belongs to: its source, and with it the sources of its
/// reference's own kernels, with every header; and its contract. Throws UsageError when one cannot
/// be read.
KernelVersion version_of(const KernelSpec& kernel,
                         const std::vector<std::filesystem::path>& include_directories);

/// What a verdict knows a baseline of the kernel by: its name and, if it has steps, a hash of these
/// and of the sources of its kernels. Throws like version_of.
std::string identity_of(const KernelSpec& kernel, const BaselineSpec& baseline,
                        const std::vector<std::filesystem::path>& include_directories);

/// What a configuration is compiled from, for `arch` and a device such as `info`. Only macros of
/// the contract may differ from problem to problem.
CompileJob compile_job(const KernelSpec& kernel, const Problem& problem, const Config& config,
                       const DeviceInfo& info, const std::string& arch,
                       const std::vector<std::filesystem::path>& include_directories);

/// What a kernel of a reference or a baseline, or one that fills an input, is compiled from, for
/// the sizes of a problem, which are macros. The ones that it takes as arguments are none.
CompileJob own_compile_job(const KernelSpec& kernel, const ReferenceKernelSpec& own,
                           const Problem& problem, const DeviceInfo& info, const std::string& arch,
                           const std::vector<std::filesystem::path>& include_directories,
                           bool fast_math = false);

/// Whether a worker would be asked for the same trial: the configurations, which are both of
/// `kernel`, have the same machine code, and it is launched alike, on the same arguments. Nothing
/// but the configuration's text may differ in their plans.
bool is_same_code(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device,
                  const Config& a, const std::string& cubin_hash_a, const Config& b,
                  const std::string& cubin_hash_b);

/// Of the candidates that are the same code one stays: one that was run before those that took its
/// times over, else the fastest. Two names of one kernel are no two winners.
void keep_one_of_each_code(std::vector<Candidate>& correct, const Problem& problem,
                           const DeviceInfo& device);

}  // namespace assay
