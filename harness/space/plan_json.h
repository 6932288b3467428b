#pragma once

#include "base/json.h"
#include "space/plan.h"

// A plan as JSON, from the parent to its worker. Both are the same program, so there is no version.
// from_json throws Error, or what the JSON library throws, for anything that to_json did not write.

template <>
struct nlohmann::adl_serializer<assay::Value> {
  static void to_json(json& target, const assay::Value& value) {
    std::visit([&](const auto& v) { target = v; }, value);
  }
  static void from_json(const json& source, assay::Value& value) {
    if (source.is_string()) {
      value = source.get<std::string>();
    } else {
      value = source.get<std::int64_t>();
    }
  }
};

template <>
struct nlohmann::adl_serializer<assay::OptionValue> {
  static void to_json(json& target, const assay::OptionValue& value) {
    std::visit([&](auto v) { target = v; }, value);
  }
  static void from_json(const json& source, assay::OptionValue& value) {
    if (source.is_boolean()) {
      value = source.get<bool>();
    } else {
      value = source.get<double>();
    }
  }
};

namespace assay {

inline void to_json(nlohmann::json& target, Role role) { target = name_of(roles(), role); }
inline void from_json(const nlohmann::json& source, Role& role) {
  role = row_of(roles(), "role", source.get_ref<const std::string&>()).id;
}
inline void to_json(nlohmann::json& target, DType dtype) { target = to_text(dtype); }
inline void from_json(const nlohmann::json& source, DType& dtype) {
  dtype = read_word(source, parse_dtype);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BufferPlan, name, dtype, shape, role, generator, arguments,
                                   zeroed, copy_of, symbol, checked, check_sorted, check_sum,
                                   made_of, file)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScalarPlan, name, dtype, value, is_seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorMapPlan, name, of, box, swizzle_bytes)

inline void to_json(nlohmann::json& target, const ArgPlan& arg) {
  std::visit([&](const auto& form) { target = form; }, arg);
  target["form"] = arg.index();
}

inline void from_json(const nlohmann::json& source, ArgPlan& arg) {
  switch (source.at("form").get<int>()) {
    case 0:
      arg = source.get<BufferPlan>();
      return;
    case 1:
      arg = source.get<ScalarPlan>();
      return;
    case 2:
      arg = source.get<TensorMapPlan>();
      return;
  }
  throw Error(fmt::format("a plan's argument has no form {}", source["form"].dump()));
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchPlan, entry, grid, block, cluster, smem_bytes, early, args,
                                   symbol)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferenceKernelPlan, source, cubin_path, args, launch,
                                   sum_length)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReferencePlan, operation, operands, options, kernel, round, file,
                                   sum_length)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BaselinePlan, name, steps)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, kernel, problem, config, args, launches, reference, fills,
                                   prepare, relative_tolerance, element_tolerance,
                                   absolute_tolerance, deterministic, flops, bytes, baselines)

}  // namespace assay
