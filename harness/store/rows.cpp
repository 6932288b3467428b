#include "store/rows.h"

#include "ranking/claims.h"
#include "store/row_fields.h"

namespace assay {
namespace {

/// The number of a row that is known by its text. `select` and `table` are literals.
std::int64_t id_of_text(Database& database, std::string_view select, std::string_view table,
                        const std::string& text, IfNew if_new) {
  if (const auto id = database.find(select, text)) return *id;
  return if_new == IfNew::leave ? 0 : database.insert(table, {{"text", text}});
}

std::int64_t config_id(Database& database, const std::string& text, IfNew if_new) {
  return id_of_text(database, "SELECT id FROM config WHERE text = ?", "config", text, if_new);
}

template <class Row>
void read_table(Database& database, SmallTable<Row>& rows) {
  const char* const table = kTable<Row>.data();
  static const std::string sql = fmt::format("SELECT id, {} FROM {}", column_list<Row>(), table);
  for (Query row = database.query(sql); row.step();) {
    const std::int64_t id = row.integer();
    rows[id] = supported(read_record<Row>(row),
                         [&] { return fmt::format("row {} of table {}", id, table); });
  }
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
  const auto id = database.find(
      "SELECT id FROM device WHERE uuid = ? AND name = ? AND driver = ? AND provenance = ?",
      device.uuid, device.name, device.driver, provenance);
  if (id) return *id;
  return database.insert("device", Cells().add(device).set({"provenance", provenance}));
}

template <class Part>
std::int64_t id_of(Database& database, const Part& part, IfNew if_new) {
  Cells row;
  const std::span<const Cell> cells = row.add(part);
  static const std::string select = [&] {
    std::string sql = fmt::format("SELECT id FROM {} WHERE ", kTable<Part>);
    for (const Cell& cell : cells) {
      sql += fmt::format("{}{} = ?", &cell == cells.data() ? "" : " AND ", cell.column);
    }
    return sql;
  }();
  if (const auto id = database.find(select, cells)) return *id;
  return if_new == IfNew::leave ? 0 : database.insert(kTable<Part>, cells);
}
template std::int64_t id_of(Database&, const KernelVersion&, IfNew);
template std::int64_t id_of(Database&, const Toolchain&, IfNew);
template std::int64_t id_of(Database&, const Protocol&, IfNew);

std::int64_t id_of(Database& database, const Problem& problem, IfNew if_new) {
  return id_of_text(database, "SELECT id FROM problem WHERE text = ?", "problem", to_text(problem),
                    if_new);
}

KeyIds key_ids(Database& database, const TrialKey& key, IfNew if_new) {
  return {id_of(database, key.kernel, if_new), id_of(database, key.toolchain, if_new),
          id_of(database, key.protocol, if_new), id_of(database, key.problem, if_new),
          config_id(database, to_text(key.config), if_new)};
}

KeyIds KeyWriter::ids(const TrialRecord& key) {
  const auto id = [this](auto& last, const auto& part) {
    if (last.id == 0 || last.part != part) last = {part, id_of(database_, part, IfNew::add)};
    return last.id;
  };
  KeyIds ids = {id(kernel_, key.kernel), id(toolchain_, key.toolchain), id(protocol_, key.protocol),
                id(problem_, key.problem)};
  const std::string text = to_text(key.config);
  database_.run("INSERT OR IGNORE INTO config(text) VALUES(?)", text);
  ids.is_new = database_.handle().getChanges() > 0;
  ids.config = ids.is_new ? database_.handle().getLastInsertRowid()
                          : config_id(database_, text, IfNew::leave);
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

Dimensions::Dimensions(Database& of) : database(of) {
  static const std::string sql =
      fmt::format("SELECT id, provenance, {} FROM device", column_list<DeviceInfo>());
  for (Query row = database.query(sql); row.step();) {
    const std::int64_t id = row.integer();
    std::string provenance = row.text();
    if (!is_one_line(provenance)) {
      throw DamagedRow("row {} of table device: its provenance has control characters", id);
    }
    devices[id] = {supported(read_record<DeviceInfo>(row),
                             [&] { return fmt::format("row {} of table device", id); }),
                   std::move(provenance)};
  }
  read_table(database, kernels);
  read_table(database, toolchains);
  read_table(database, protocols);
  for (Query row = database.query("SELECT id, text FROM problem"); row.step();) {
    problems[row.integer(0)] = stored_problem(row.text(1));
  }
}

Config stored_config(const std::string& text) { return stored(text, parse_config); }
Problem stored_problem(const std::string& text) { return stored(text, parse_problem); }

std::int64_t put_timing(Database& database, const Timing& timing) {
  return database.insert("timing", Cells().add(timing));
}

}  // namespace assay
