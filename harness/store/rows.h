#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "base/rank.h"
#include "ranking/claims.h"
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
  bool is_new = false;  // the configuration was added, so there is no trial of this key
};

enum class IfNew { leave, add };

std::int64_t device_id(Database& database, const DeviceInfo& device, const std::string& provenance);
/// The number of a part in its table. `Part` is a KernelVersion, Toolchain or Protocol.
template <class Part>
std::int64_t id_of(Database& database, const Part& part, IfNew if_new);
std::int64_t id_of(Database& database, const Problem& problem, IfNew if_new);
KeyIds key_ids(Database& database, const TrialKey& key, IfNew if_new);

/// Finds or adds the parts of many trials' keys. Most share all but the configuration with the one
/// before, so the last of each part is remembered.
class KeyWriter {
 public:
  explicit KeyWriter(Database& database) : database_(database) {}
  KeyIds ids(const TrialRecord& trial);

 private:
  template <class Part>
  struct Last {
    Part part;
    std::int64_t id = 0;
  };
  Database& database_;
  Last<KernelVersion> kernel_;
  Last<Toolchain> toolchain_;
  Last<Protocol> protocol_;
  Last<Problem> problem_;
};

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

/// Throws DamagedRow where the record contradicts itself. `what` names it.
template <class Record, class What>
Record supported(Record record, const What& what) {
  if (const std::string wrong = contradiction(record); !wrong.empty()) {
    throw DamagedRow("{}: {}", what(), wrong);
  }
  return record;
}

struct StoredDevice {
  DeviceInfo info;
  std::string provenance;
};

/// The rows of a small table, by number.
template <class Row>
class SmallTable : public std::unordered_map<std::int64_t, Row> {
 public:
  explicit SmallTable(const char* name) : name_(name) {}
  /// Throws DamagedRow when there is no such row.
  const Row& at(std::int64_t id) const {
    const auto found = this->find(id);
    if (found != this->end()) return found->second;
    throw DamagedRow("row {} of table {} is missing", id, name_);
  }

 private:
  const char* name_;
};

/// The small tables that trials refer to, read whole, and the database that they are of. Throws
/// DamagedRow.
struct Dimensions {
  explicit Dimensions(Database& of);
  Database& database;
  SmallTable<StoredDevice> devices{"device"};
  SmallTable<KernelVersion> kernels{"kernel"};
  SmallTable<Toolchain> toolchains{"toolchain"};
  SmallTable<Protocol> protocols{"protocol"};
  SmallTable<Problem> problems{"problem"};

  template <class Part>
  const SmallTable<Part>& of() const {
    if constexpr (std::is_same_v<Part, KernelVersion>) {
      return kernels;
    } else if constexpr (std::is_same_v<Part, Toolchain>) {
      return toolchains;
    } else {
      return protocols;
    }
  }
};

/// A stored text as what it stands for. Throws DamagedRow when it is no such text.
Config stored_config(const std::string& text);
Problem stored_problem(const std::string& text);

/// Adds a row to `timing` and returns its number.
std::int64_t put_timing(Database& database, const Timing& timing);

}  // namespace assay
