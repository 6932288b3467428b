#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace assay {

/// The default of --kernels, for the help.
inline constexpr const char* kKernelsHere = "kernels, else those installed";
/// The same where a trial is named.
inline constexpr const char* kFolderOfSweep = "where its sweep found them; else kernels";

/// The folders that a verb's --kernels and --include name.
struct KernelFolders {
  std::string kernels = {};
  std::vector<std::string> include = {};
};

/// Adds --kernels and --include. `place` is where kernels are by default, for the help. `when`,
/// such as "with --rerun: ", says when the options mean something; empty: always.
void add_kernel_folders(Command& verb, KernelFolders& folders,
                        const std::string& place = kKernelsHere, const std::string& when = "");

/// What the store keeps as the command line of a sweep. It ends with the folder of the kernels, so
/// that who asks later, from wherever, finds them.
std::string sweep_command_line(const std::string& file, const std::filesystem::path& kernels);

/// Where kernels are: `given`; else where the sweep of this command line found them, if there is
/// one; else `kernels` here, or else those that the program ships.
std::string kernel_folder(const std::string& given, const std::string& command_line = "");

/// Where the kernels of a file are: `given`. Else those of a sweep are in the folder `kernels`
/// beside the file's, beside the file, in `kernels` here, or among those that the program ships. A
/// kernel's file is in the folder `kernels`, or else in its own. Throws UsageError where the file
/// cannot be read.
std::filesystem::path kernel_folder_of_file(const std::string& given,
                                            const std::filesystem::path& file);

/// The YAML files in a folder and in those below it, but for those of ops. None where the folder
/// cannot be read.
std::vector<std::filesystem::path> yaml_files_below(const std::filesystem::path& folder);

/// `path`, or what the program ships under that name where nothing else is there.
std::filesystem::path here_or_shipped(const std::filesystem::path& path);

/// Where headers are looked for: in the folder of kernels, in those given, and last in what this
/// program ships, as <assay/ptx/tma.cuh>.
std::vector<std::filesystem::path> include_path(const std::filesystem::path& kernels,
                                                const std::vector<std::string>& given);

}  // namespace assay
