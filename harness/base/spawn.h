#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Starts a program with `words` for its arguments, the first its name. It gets nothing on its
/// standard input, and of the descriptors `first` each as `second`; those above the last are
/// closed. It is a process group of its own, so that Ctrl-C in a terminal reaches only this
/// process, which decides. Throws Error "cannot start WHAT: ...".
pid_t spawn(std::string_view what, const std::filesystem::path& program,
            std::vector<std::string> words, std::span<const std::pair<int, int>> descriptors);

}  // namespace assay
