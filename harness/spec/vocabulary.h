#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The words a contract may use, one row each. A new reference operation is a row here and a
// function of the device; nothing else in spec/ knows the operations by name.

namespace assay {

/// An operation of the reference: `{name: {INPUT: buffer, .., out: buffer, OPTION: true}}`.
struct OperationRow {
  std::string_view name;
  std::vector<std::string> inputs;
  std::vector<std::string> options;  // flags, false unless given
  std::size_t rank;                  // dimensions of each operand; 0: any, but all the same
};
const std::vector<OperationRow>& operations();

/// A generator of inputs: `{name: uniform, low: 0, high: 7}`.
struct GeneratorRow {
  enum class Makes { any, floating, integer };
  struct Argument {
    std::string name;
    std::optional<std::int64_t> value;  // when the contract gives none; nothing: it must
  };
  std::string_view name;
  Makes makes;
  std::vector<Argument> arguments;
};
const std::vector<GeneratorRow>& generators();

/// A baseline: what a user would run instead. `only` is the operation that it computes. The
/// reference must have exactly one of it.
struct BaselineEntry {
  std::string_view name;
  std::string_view only;
};
const std::vector<BaselineEntry>& baselines();

/// A way of timing; times of different ones are never compared.
struct ProtocolRow {
  std::string_view name;
};
const std::vector<ProtocolRow>& protocols();

/// A property of the device that expressions read; DeviceInfo has the same names.
inline constexpr std::array<std::string_view, 4> kDeviceNames = {
    "device.cc", "device.sm_count", "device.smem_optin_bytes", "device.l2_bytes"};

/// The names of a table's rows, for messages.
template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

/// The row called `name`, which the table has.
template <typename Rows>
const auto& row_of(const Rows& rows, std::string_view name) {
  auto row = rows.begin();
  while (row->name != name) ++row;
  return *row;
}

}  // namespace assay
