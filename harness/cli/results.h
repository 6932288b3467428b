#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "store/store.h"

namespace assay {

/// Which results a verb looks at. These are the options that best, show and export share.
struct ResultOptions {
  std::optional<std::string> db;
  std::string op;
  std::string kernel;
  std::string problem;
  std::string device;
  std::string sweep;

  /// Throws UsageError when the problem is not NAME=value,...
  Filter filter() const;
};

/// Adds --db, --op, --kernel, --problem, --device and --sweep. `db` says which files it may name.
void add_result_options(
    Command verb, ResultOptions& options,
    const char* db =
        "database, recording (.jsonl) or another tuner's results (.json, .csv)\n"
        "Default: results/assay.db. Files may be packed (.gz).");

/// Opens what --db names, by default results/assay.db. Throws UsageError, which says what to run
/// when there is no default database yet.
Store open_results(const ResultOptions& options);

/// "op gemm_bf16, problem M=16": what the user asked for, `further` options too, for a message that
/// there is none.
std::string asked_for(const ResultOptions& options,
                      const std::vector<std::pair<const char*, std::string>>& further = {});

}  // namespace assay
