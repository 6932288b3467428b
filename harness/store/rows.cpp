#include "store/rows.h"

#include "ranking/claims.h"

namespace assay {
namespace {

template <class... Values>
std::int64_t id_of(Database& database, IfNew if_new, std::string_view select,
                   std::string_view insert, const Values&... values) {
  {
    Query row = database.query(select, values...);
    if (row.step()) return row.integer(0);
  }
  return if_new == IfNew::leave ? 0 : database.add(insert, values...);
}

std::int64_t kernel_id(Database& database, const KernelVersion& kernel, IfNew if_new) {
  return id_of(database, if_new,
               "SELECT id FROM kernel WHERE name = ? AND op = ? AND source_hash = ? AND "
               "contract_hash = ?",
               "INSERT INTO kernel(name, op, source_hash, contract_hash) VALUES(?, ?, ?, ?)",
               kernel.name, kernel.op, kernel.source_hash, kernel.contract_hash);
}

std::int64_t config_id(Database& database, const Config& config, IfNew if_new) {
  return id_of(database, if_new, "SELECT id FROM config WHERE text = ?",
               "INSERT INTO config(text) VALUES(?)", to_text(config));
}

/// A row of a small table, whose names are names.
template <class Row>
Row supported(const char* table, std::int64_t id, Row row) {
  const std::string wrong = contradiction(row);
  if (wrong.empty()) return row;
  throw DamagedRow(fmt::format("row {} of table {}: {}", id, table, wrong));
}

template <class Parse>
auto stored(const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const UsageError& error) {
    throw DamagedRow(error.what());
  }
}

}  // namespace

std::int64_t device_id(Database& database, const DeviceInfo& device,
                       const std::string& provenance) {
  // Only the identity is compared: the other columns follow from it.
  {
    Query row = database.query(
        "SELECT id FROM device WHERE uuid = ? AND name = ? AND driver = ? AND provenance = ?",
        device.uuid, device.name, device.driver, provenance);
    if (row.step()) return row.integer(0);
  }
  return database.add(
      "INSERT INTO device(uuid, name, driver, provenance, cc, sm_count, smem_optin_bytes, "
      "l2_bytes, memory_bytes) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
      device.uuid, device.name, device.driver, provenance, device.cc, device.sm_count,
      device.smem_optin_bytes, device.l2_bytes, device.memory_bytes);
}

std::int64_t toolchain_id(Database& database, const Toolchain& toolchain, IfNew if_new) {
  return id_of(database, if_new,
               "SELECT id FROM toolchain WHERE nvrtc = ? AND arch = ? AND options = ? AND "
               "driver = ?",
               "INSERT INTO toolchain(nvrtc, arch, options, driver) VALUES(?, ?, ?, ?)",
               toolchain.nvrtc, toolchain.arch, toolchain.options, toolchain.driver);
}

std::int64_t protocol_id(Database& database, const Protocol& protocol, IfNew if_new) {
  return id_of(database, if_new, "SELECT id FROM protocol WHERE name = ? AND precision_ratio = ?",
               "INSERT INTO protocol(name, precision_ratio) VALUES(?, ?)", protocol.name,
               protocol.precision_ratio);
}

std::int64_t problem_id(Database& database, const Problem& problem, IfNew if_new) {
  return id_of(database, if_new, "SELECT id FROM problem WHERE text = ?",
               "INSERT INTO problem(text) VALUES(?)", to_text(problem));
}

KeyIds key_ids(Database& database, const TrialKey& key, IfNew if_new) {
  return {kernel_id(database, key.kernel, if_new), toolchain_id(database, key.toolchain, if_new),
          protocol_id(database, key.protocol, if_new), problem_id(database, key.problem, if_new),
          config_id(database, key.config, if_new)};
}

KeyIds KeyWriter::ids(const TrialRecord& record) {
  const auto id = [this](auto& last, const auto& part, auto find_or_add) {
    if (last.id == 0 || last.part != part) last = {part, find_or_add(database_, part, IfNew::add)};
    return last.id;
  };
  KeyIds ids = {
      id(kernel_, record.kernel, kernel_id), id(toolchain_, record.toolchain, toolchain_id),
      id(protocol_, record.protocol, protocol_id), id(problem_, record.problem, problem_id)};
  const std::string text = to_text(record.config);
  database_.query("INSERT OR IGNORE INTO config(text) VALUES(?)", text).run();
  ids.is_new = database_.handle().getChanges() > 0;
  ids.config = ids.is_new ? database_.handle().getLastInsertRowid()
                          : config_id(database_, record.config, IfNew::leave);
  return ids;
}

std::optional<TrialState> trial_state(Database& database, std::int64_t device, const KeyIds& ids) {
  Query row = database.query(
      "SELECT id, status, sweep_id, attempts, unixepoch() - claimed_at FROM trial WHERE "
      "device_id = ? AND kernel_id = ? AND toolchain_id = ? AND protocol_id = ? AND "
      "problem_id = ? AND config_id = ?",
      device, ids.kernel, ids.toolchain, ids.protocol, ids.problem, ids.config);
  if (!row.step()) return std::nullopt;
  return TrialState{row.integer(0), row.text(1), row.integer(2), row.integer(3), row.integer(4)};
}

Dimensions::Dimensions(Database& database) {
  for (Query row = database.query("SELECT id, name, uuid, driver, cc, sm_count, smem_optin_bytes, "
                                  "l2_bytes, memory_bytes, provenance FROM device");
       row.step();) {
    const std::int64_t id = row.integer(0);
    const DeviceInfo device{.name = row.text(1),
                            .uuid = row.text(2),
                            .driver = row.text(3),
                            .cc = row.small(4),
                            .sm_count = row.small(5),
                            .smem_optin_bytes = row.integer(6),
                            .l2_bytes = row.integer(7),
                            .memory_bytes = row.integer(8)};
    devices[id] = {supported("device", id, device), row.text(9)};
    if (!is_one_line(row.text(9))) {
      throw DamagedRow(
          fmt::format("row {} of table device: its provenance has control characters", id));
    }
  }
  for (Query row = database.query("SELECT id, name, op, source_hash, contract_hash FROM kernel");
       row.step();) {
    const std::int64_t id = row.integer(0);
    kernels[id] =
        supported("kernel", id, KernelVersion{row.text(1), row.text(2), row.text(3), row.text(4)});
  }
  for (Query row = database.query("SELECT id, nvrtc, arch, options, driver FROM toolchain");
       row.step();) {
    const std::int64_t id = row.integer(0);
    toolchains[id] =
        supported("toolchain", id, Toolchain{row.text(1), row.text(2), row.text(3), row.text(4)});
  }
  for (Query row = database.query("SELECT id, name, precision_ratio FROM protocol"); row.step();) {
    const std::int64_t id = row.integer(0);
    protocols[id] = supported("protocol", id, Protocol{row.text(1), row.real(2)});
  }
  for (Query row = database.query("SELECT id, text FROM problem"); row.step();) {
    problems[row.integer(0)] = stored_problem(row.text(1));
  }
}

Config stored_config(const std::string& text) { return stored(text, parse_config); }
Problem stored_problem(const std::string& text) { return stored(text, parse_problem); }

Timing read_timing(RowReader& row) {
  Timing timing;
  timing.median_ns = row.real();
  timing.ci_low_ns = row.real();
  timing.ci_high_ns = row.real();
  timing.stop = parse_stop_reason(row.text()).value_or(StopReason::sample_limit);
  timing.clock_mhz = row.real_or_zero();
  if (row.is_null()) {
    row.skip(3);
  } else {
    timing.state = {static_cast<std::uint64_t>(row.integer()), row.real(), row.real()};
  }
  timing.num_throttled = row.small();
  timing.roofline_ns = row.real_or_zero();
  timing.time_limit_s = row.real_or_zero();
  return timing;
}

void read_samples(RowReader& row, Timing& timing) {
  timing.samples_ns = row.reals();
  timing.clocks_mhz = row.reals();
}

std::int64_t put_timing(Database& database, const Timing& timing) {
  const auto of_state = [&](auto member) {
    return timing.state ? std::optional((*timing.state).*member) : std::nullopt;
  };
  const auto reasons = of_state(&GpuState::throttle_reasons);
  return database.insert(
      "timing", {{"median_ns", timing.median_ns},
                 {"ci_low_ns", timing.ci_low_ns},
                 {"ci_high_ns", timing.ci_high_ns},
                 {"stop", to_text(timing.stop)},
                 {"clock_mhz", timing.clock_mhz},
                 {"throttle_reasons",
                  reasons ? std::optional(static_cast<std::int64_t>(*reasons)) : std::nullopt},
                 {"power_w", of_state(&GpuState::power_w)},
                 {"temperature_c", of_state(&GpuState::temperature_c)},
                 {"num_throttled", timing.num_throttled},
                 {"roofline_ns", known(timing.roofline_ns)},
                 {"time_limit_s", known(timing.time_limit_s)},
                 {"times_ns", timing.samples_ns},
                 {"clocks_mhz", timing.clocks_mhz}});
}

std::optional<double> known(double value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace assay
