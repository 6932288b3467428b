// Tables that other software looks a configuration up in. Such a table is an order: launch this
// with these values. So a kernel must have exactly the parameters that the reader knows, with the
// meaning that the reader gives them; where it does not, the format is refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/find_named.h"
#include "base/terminal.h"
#include "report/entry_json.h"
#include "report/export.h"

namespace assay {
namespace {

/// The one table of one kernel. Throws UsageError when there is more.
const TunedTable& table_of_one_kernel(const std::vector<TunedTable>& tables,
                                      std::string_view format) {
  if (tables.size() != 1) {
    throw UsageError(
        "{} holds one table, and there are {}: {} on {}, {}, and {} on {}, {}, ...; choose with "
        "--op, --device, --protocol or --objective",
        format, tables.size(), tables[0].op, tables[0].device.name, conditions_text(tables[0]),
        tables[1].op, tables[1].device.name, conditions_text(tables[1]));
  }
  const std::string& kernel = tables[0].entries[0].best.kernel;
  for (const TunedRow& entry : tables[0].entries) {
    if (entry.best.kernel == kernel) continue;
    throw UsageError(
        "{} is of one kernel, and the winners of {} are of {} and {}; choose the "
        "problems that one won with --kernel",
        format, tables[0].op, kernel, entry.best.kernel);
  }
  return tables[0];
}

/// What a parameter may be called.
using Names = std::vector<std::string>;

const Value* find(const Config& config, const Names& names) {
  for (const auto& [name, value] : config) {
    if (std::ranges::find(names, name) != names.end()) return &value;
  }
  return nullptr;
}

/// A Python literal.
std::string python(const std::string& text) { return line_of(text); }

std::string python(const Value& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word ? python(*word) : to_text(value);
}

const Names kWarps = {"num_warps", "NUM_WARPS", "WARPS"};
const Names kStages = {"num_stages", "NUM_STAGES", "STAGES"};

/// A parameter that a reader cannot do without. Throws UsageError when the kernel has none.
std::int64_t needed(const TunedRow& entry, const Names& names, std::string_view format) {
  const Value* value = find(entry.best.config, names);
  const auto* number = value ? std::get_if<std::int64_t>(value) : nullptr;
  if (number) return *number;
  throw UsageError(
      "{} has no meaning for kernel {}: it has no integer parameter {}, which says to the reader "
      "how to launch",
      format, entry.best.kernel, names.back());
}

/// "NVIDIA_H200", as vLLM names devices in file names: whitespace and slashes become one '_', and
/// every kind of H200 is one.
std::string vllm_device(const std::string& name) {
  std::string text;
  for (const char c : printable_line(name)) {
    const bool parts = std::string_view(" /?\\").find(c) != std::string_view::npos;
    if (!parts || !text.ends_with('_')) text += parts ? '_' : c;
  }
  const bool is_h200 = ('_' + text + '_').find("_H200_") != std::string::npos;
  return is_h200 ? "NVIDIA_H200" : text;
}

/// ",dtype=fp8_w8a8", or nothing for fp16 and bf16. The op's name ends in its type.
std::string vllm_dtype(const std::string& op) {
  for (const char* type : {"_bf16", "_f16", "_fp16"}) {
    if (op.ends_with(type)) return "";
  }
  for (const char* type : {"fp8_w8a8", "int8_w8a8", "int8_w8a16", "int4_w4a16", "mxfp4_w4a4"}) {
    if (op.ends_with(std::string("_") + type)) return std::string(",dtype=") + type;
  }
  if (op.ends_with("_f32")) return ",dtype=float32";
  throw UsageError(
      "vllm-moe names the type of the weights, and op {} does not end in one, such as _bf16 or "
      "_fp8_w8a8",
      op);
}

/// A whole number of the problem; null where it has none of that name.
const std::int64_t* find_size(const TunedRow& entry, std::string_view name) {
  const Number* const value = find_value(entry.problem, name);
  return value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
}

std::int64_t size_of(const TunedRow& entry, const std::string& name) {
  if (const std::int64_t* size = find_size(entry, name)) return *size;
  throw UsageError(
      "vllm-moe is for mixtures of experts: it looks up E experts, a width N and M tokens, and "
      "problem {} has no {}",
      to_text(entry.problem), name);
}

/// ",block_shape=[128,128]" of a problem whose scales are of blocks, else nothing. Throws
/// UsageError where the problem has a number that the reader does not ask for: it would take the
/// table for another problem's.
std::string vllm_block_shape(const TunedRow& entry) {
  for (const auto& [name, value] : entry.problem) {
    // K is the width of the tokens, which vLLM leaves out: a model has one.
    constexpr std::array<std::string_view, 6> kKnown = {"E", "N", "M", "K", "block_n", "block_k"};
    if (std::ranges::find(kKnown, name) != kKnown.end()) continue;
    throw UsageError(
        "vllm-moe looks up E, N, M, the type and the block of the scales (block_n, "
        "block_k), and has no place for the {} of {}",
        name, to_text(entry.problem));
  }
  const std::int64_t* n = find_size(entry, "block_n");
  const std::int64_t* k = find_size(entry, "block_k");
  if ((n == nullptr) != (k == nullptr)) {
    throw UsageError("vllm-moe names a block by block_n and block_k; {} has one of them",
                     to_text(entry.problem));
  }
  return n == nullptr ? "" : fmt::format(",block_shape=[{},{}]", *n, *k);
}

}  // namespace

std::string export_wisdom(const std::vector<TunedTable>& tables) {
  const TunedTable& table = table_of_one_kernel(tables, "wisdom");
  std::vector<std::string> names;
  for (const auto& [name, value] : table.entries[0].best.config) names.push_back(name);
  std::string text = line_of({{"version", "1.0"},
                              {"objective", "time"},
                              {"tunable_parameters", names},
                              {"key", table.entries[0].best.kernel}}) +
                     '\n';
  for (const TunedRow& entry : table.entries) {
    Json problem = Json::array();
    for (const auto& [dim, value] : entry.problem) {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (!number || *number < 0 || problem.size() == 3) {
        throw UsageError("a problem of wisdom is up to three sizes, x, y and z; {} has {}",
                         table.op, to_text(entry.problem));
      }
      problem.push_back(*number);
    }
    Json config = Json::array();
    for (const std::string& name : names) {
      const Value* value = find_value(entry.best.config, name);
      if (!value || entry.best.config.size() != names.size()) {
        throw UsageError("the configurations of {} have different parameters: {}",
                         entry.best.kernel, to_text(entry.best.config));
      }
      config.push_back(value_json(*value));
    }
    text += line_of({{"config", config},
                     {"problem_size", problem},
                     {"time", entry.time_ns.value / 1e6},
                     {"environment",
                      {{"device_name", table.device.name},
                       {"compute_capability", table.device.cc},
                       {"date", entry.finished_at},
                       {"cuda_driver_version", entry.toolchain.driver},
                       {"cuda_version", entry.toolchain.nvrtc}}}}) +
            '\n';
  }
  return text;
}

std::string export_triton(const std::vector<TunedTable>& tables) {
  const TunedTable& table = table_of_one_kernel(tables, "triton");
  std::string text = fmt::format(
      "# Written by assay export --format triton: {}, {} on {}, {}.\n"
      "import triton\n\nCONFIGS = [\n",
      python(table.entries[0].best.kernel), python(table.op), python(table.device.name),
      python(conditions_text(table)));
  for (const TunedRow& entry : table.entries) {
    const std::int64_t warps = needed(entry, kWarps, "triton.Config");
    const std::int64_t stages = needed(entry, kStages, "triton.Config");
    if (warps <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(warps))) {
      throw UsageError("triton.Config takes a power of two of warps; {} won with {}",
                       entry.best.kernel, to_text(entry.best.config));
    }
    std::string problem, kwargs;
    for (const auto& [dim, value] : entry.problem) {
      problem += fmt::format("{}{}: {}", problem.empty() ? "" : ", ", python(dim), to_text(value));
    }
    for (const auto& [name, value] : entry.best.config) {
      if (&value == find(entry.best.config, kWarps) || &value == find(entry.best.config, kStages)) {
        continue;
      }
      kwargs += fmt::format("{}{}: {}", kwargs.empty() ? "" : ", ", python(name), python(value));
    }
    text += fmt::format("    ({{{}}},\n     triton.Config({{{}}}, num_warps={}, num_stages={})),\n",
                        problem, kwargs, warps, stages);
  }
  return text + "]\n";
}

std::vector<NamedText> export_vllm_moe(const std::vector<TunedTable>& tables) {
  const TunedTable& table = table_of_one_kernel(tables, "vllm-moe");
  // By experts, width and block.
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::map<std::int64_t, Json>> files;
  for (const TunedRow& entry : table.entries) {
    const std::tuple file(size_of(entry, "E"), size_of(entry, "N"), vllm_block_shape(entry));
    const std::int64_t tokens = size_of(entry, "M");
    Json config;
    for (const std::string name :
         {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M"}) {
      config[name] = needed(entry, Names{name}, "vllm-moe");
    }
    config["num_warps"] = needed(entry, kWarps, "vllm-moe");
    config["num_stages"] = needed(entry, kStages, "vllm-moe");
    if (entry.best.config.size() != config.size()) {
      throw UsageError(
          "vllm-moe has six parameters, and kernel {} has others, without which its table would "
          "say something else: {}",
          entry.best.kernel, to_text(entry.best.config));
    }
    // The reader takes the nearest key, so keys ascend; two problems may not have one key.
    if (!files[file].emplace(tokens, config).second) {
      throw UsageError("vllm-moe knows E, N and M; several problems agree in these, such as {}",
                       to_text(entry.problem));
    }
  }
  const std::string middle =
      fmt::format(",device_name={}{}", vllm_device(table.device.name), vllm_dtype(table.op));
  std::vector<NamedText> texts;
  for (const auto& [file, rows] : files) {
    Json body = Json::object();
    for (const auto& [tokens, config] : rows) body[std::to_string(tokens)] = config;
    const auto& [experts, width, block] = file;
    texts.push_back({fmt::format("E={},N={}{}{}.json", experts, width, middle, block),
                     body.dump(4, ' ', true) + '\n'});
  }
  return texts;
}

}  // namespace assay
