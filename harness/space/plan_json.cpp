// A plan as JSON, from the parent to its worker. Both are the same program, so there is no version;
// the keys are the fields' names.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "space/plan.h"

namespace assay {
namespace {

using nlohmann::json;

std::string_view role_text(Role role) {
  switch (role) {
    case Role::in:
      return "in";
    case Role::out:
      return "out";
    case Role::scratch:
      return "scratch";
  }
  return "";
}

Role role_of(const json& value) {
  for (const Role role : {Role::in, Role::out, Role::scratch}) {
    if (value == role_text(role)) return role;
  }
  throw Error(fmt::format("{} is no role of a plan's buffer", value.dump()));
}

DType dtype_of(const json& value) {
  const auto dtype = parse_dtype(value.get<std::string>());
  if (!dtype) throw Error(fmt::format("{} is no dtype of a plan's argument", value.dump()));
  return *dtype;
}

json config_json(const Config& config) {
  json result = json::array();
  for (const auto& [name, value] : config) {
    result.push_back({name, std::visit([](const auto& v) { return json(v); }, value)});
  }
  return result;
}

Config config_of(const json& value) {
  Config config;
  for (const json& pair : value) {
    const json& part = pair.at(1);
    config.emplace_back(pair.at(0).get<std::string>(), part.is_string()
                                                           ? Value(part.get<std::string>())
                                                           : Value(part.get<std::int64_t>()));
  }
  return config;
}

json form_json(const BufferPlan& plan) {
  return {{"form", "buffer"},
          {"name", plan.name},
          {"dtype", to_text(plan.dtype)},
          {"shape", plan.shape},
          {"role", role_text(plan.role)},
          {"generator", plan.generator},
          {"arguments", plan.arguments},
          {"zeroed", plan.zeroed}};
}

json form_json(const ScalarPlan& plan) {
  return {{"form", "scalar"},
          {"name", plan.name},
          {"dtype", to_text(plan.dtype)},
          {"value", plan.value}};
}

json form_json(const TensorMapPlan& plan) {
  return {{"form", "tensor_map"},
          {"name", plan.name},
          {"of", plan.of},
          {"box", plan.box},
          {"swizzle_bytes", plan.swizzle_bytes}};
}

ArgPlan arg_of(const json& value) {
  const auto form = value.at("form").get<std::string>();
  const auto name = value.at("name").get<std::string>();
  if (form == "buffer") {
    BufferPlan plan;
    plan.name = name;
    plan.dtype = dtype_of(value.at("dtype"));
    value.at("shape").get_to(plan.shape);
    plan.role = role_of(value.at("role"));
    value.at("generator").get_to(plan.generator);
    value.at("arguments").get_to(plan.arguments);
    value.at("zeroed").get_to(plan.zeroed);
    return plan;
  }
  if (form == "scalar") {
    return ScalarPlan{name, dtype_of(value.at("dtype")), value.at("value").get<std::int64_t>()};
  }
  if (form == "tensor_map") {
    return TensorMapPlan{name, value.at("of").get<std::string>(),
                         value.at("box").get<std::vector<std::int64_t>>(),
                         value.at("swizzle_bytes").get<int>()};
  }
  throw Error(fmt::format("\"{}\" is no form of a plan's argument", form));
}

json launch_json(const LaunchPlan& plan) {
  return {{"entry", plan.entry},           {"grid", plan.grid},
          {"block", plan.block},           {"cluster", plan.cluster},
          {"smem_bytes", plan.smem_bytes}, {"early", plan.early}};
}

LaunchPlan launch_of(const json& value) {
  LaunchPlan plan;
  value.at("entry").get_to(plan.entry);
  value.at("grid").get_to(plan.grid);
  value.at("block").get_to(plan.block);
  value.at("cluster").get_to(plan.cluster);
  value.at("smem_bytes").get_to(plan.smem_bytes);
  value.at("early").get_to(plan.early);
  return plan;
}

json reference_json(const ReferencePlan& plan) {
  json result = {{"operation", plan.operation}, {"operands", plan.operands}};
  json& options = result["options"] = json::object();
  for (const auto& [name, value] : plan.options) {
    options[name] = std::visit([](const auto& v) { return json(v); }, value);
  }
  return result;
}

ReferencePlan reference_of(const json& value) {
  ReferencePlan plan;
  value.at("operation").get_to(plan.operation);
  value.at("operands").get_to(plan.operands);
  for (const auto& [name, option] : value.at("options").items()) {
    plan.options[name] =
        option.is_boolean() ? OptionValue(option.get<bool>()) : OptionValue(option.get<double>());
  }
  return plan;
}

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

std::optional<double> optional_of(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

template <typename T, typename Convert>
json list_json(const std::vector<T>& items, Convert convert) {
  json list = json::array();
  for (const T& item : items) list.push_back(convert(item));
  return list;
}

template <typename T, typename Convert>
void read_list(const json& list, std::vector<T>& items, Convert convert) {
  items.clear();
  for (const json& item : list) items.push_back(convert(item));
}

}  // namespace

void to_json(json& result, const Plan& plan) {
  result = {
      {"kernel", plan.kernel},
      {"config", config_json(plan.config)},
      {"args", list_json(plan.args,
                         [](const ArgPlan& arg) {
                           return std::visit([](const auto& form) { return form_json(form); }, arg);
                         })},
      {"launches", list_json(plan.launches, launch_json)},
      {"reference", list_json(plan.reference, reference_json)},
      {"relative_tolerance", optional_json(plan.relative_tolerance)},
      {"element_tolerance", optional_json(plan.element_tolerance)},
      {"deterministic", plan.deterministic},
      {"flops", plan.flops},
      {"bytes", plan.bytes},
  };
  json& problem = result["problem"] = json::array();
  for (const auto& [name, value] : plan.problem) problem.push_back({name, value});
}

void from_json(const json& value, Plan& plan) {
  value.at("kernel").get_to(plan.kernel);
  value.at("problem").get_to(plan.problem);
  plan.config = config_of(value.at("config"));
  read_list(value.at("args"), plan.args, arg_of);
  read_list(value.at("launches"), plan.launches, launch_of);
  read_list(value.at("reference"), plan.reference, reference_of);
  plan.relative_tolerance = optional_of(value.at("relative_tolerance"));
  plan.element_tolerance = optional_of(value.at("element_tolerance"));
  value.at("deterministic").get_to(plan.deterministic);
  value.at("flops").get_to(plan.flops);
  value.at("bytes").get_to(plan.bytes);
}

}  // namespace assay
