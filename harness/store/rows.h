#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/recording.h"
#include "store/database.h"
#include "store/store.h"

namespace assay {

/// The row numbers of the parts of a trial's key. 0 means that the database does not have that part
/// yet.
struct KeyIds {
  std::int64_t kernel = 0;
  std::int64_t toolchain = 0;
  std::int64_t protocol = 0;
  std::int64_t problem = 0;
  std::int64_t config = 0;
};

enum class IfNew { leave, add };

std::int64_t device_id(Database& database, const DeviceInfo& device, const std::string& provenance);
std::int64_t toolchain_id(Database& database, const Toolchain& toolchain, IfNew if_new);
std::int64_t protocol_id(Database& database, const Protocol& protocol, IfNew if_new);
std::int64_t problem_id(Database& database, const Problem& problem, IfNew if_new);
KeyIds key_ids(Database& database, const TrialKey& key, IfNew if_new);

/// Where a trial stands, done or not.
struct TrialState {
  std::int64_t id = 0;
  std::string status;  // "running" or the text of a Status
  std::int64_t sweep_id = 0;
  std::int64_t attempts = 0;
  std::int64_t age_seconds = 0;  // since it was claimed

  bool done() const { return status != "running"; }
};

std::optional<TrialState> trial_state(Database& database, std::int64_t device, const KeyIds& ids);

struct StoredDevice {
  DeviceInfo info;
  std::string provenance;
};

/// The small tables that trials refer to, read whole.
struct Dimensions {
  explicit Dimensions(Database& database);
  std::unordered_map<std::int64_t, StoredDevice> devices;
  std::unordered_map<std::int64_t, KernelVersion> kernels;
  std::unordered_map<std::int64_t, Toolchain> toolchains;
  std::unordered_map<std::int64_t, Protocol> protocols;
  std::unordered_map<std::int64_t, Problem> problems;
};

/// A Timing from ten adjacent columns: median, interval, stop reason, clock, state, throttled
/// samples, roofline. Without its samples.
Timing read_timing(const Query& row, int first_column);

}  // namespace assay
