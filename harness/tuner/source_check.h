#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "spec/kernel_spec.h"

namespace assay {

/// What a contract and its source say differently, as far as can be seen without a compiler: a
/// parameter that nothing reads, arguments of other types than the entry point's parameters or in
/// another order than their names, and a launch that does not say that its blocks wait for each
/// other. Each is a sentence with its place. Nothing where the source cannot be read: whoever
/// compiles it says so.
std::vector<std::string> source_warnings(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories);

/// Arguments of other types than the parameters of the templates that a configuration launches.
/// `symbols` are the entries' names in machine code, which say what the template's types are.
std::vector<std::string> template_warnings(const KernelSpec& kernel, const Config& config,
                                           const std::map<std::string, std::string>& symbols);

}  // namespace assay
