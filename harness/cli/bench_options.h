#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/include_path.h"
#include "cli/results.h"

namespace assay {

struct BenchOptions : KernelFolders {
  std::string db = "results/assay.db";
  ResultOptions filter;
  bool replay = false;
  std::vector<std::string> google;  // what Google Benchmark reads
};

/// Adds `bench`, as both programs know it: assay, which starts the other one, and assay_bench.
void add_bench(Command program, const std::function<int(const BenchOptions&)>& run);

}  // namespace assay
