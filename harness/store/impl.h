#pragma once

#include <cstdint>
#include <string>

#include "store/database.h"
#include "store/store.h"

namespace assay {

/// What a Store holds. `path` is the file that the user named. For a recording, the rows are in
/// memory.
struct Store::Impl {
  Database database;
  std::filesystem::path path;

  /// The device that a sweep runs on. Throws Error when there is no such sweep.
  std::int64_t device_of(std::int64_t sweep_id);
  std::int64_t add_sweep(const std::string& name, const std::string& yaml,
                         const std::string& command_line, std::int64_t device,
                         const std::string& state);
  /// Stores an outcome unless the trial is done already.
  void put_trial(std::int64_t sweep_id, std::int64_t device, const TrialRecord& record);
  void put_baseline(std::int64_t sweep_id, std::int64_t device, const BaselineRecord& record);
  void put_rank(std::int64_t sweep_id, std::int64_t device, const RankRecord& record);
  void link(std::int64_t sweep_id, std::int64_t trial_id);
};

}  // namespace assay
