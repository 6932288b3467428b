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

inline void to_json(nlohmann::json& target, DType dtype) { target = to_text(dtype); }
inline void from_json(const nlohmann::json& source, DType& dtype) {
  dtype = read_word(source, parse_dtype);
}

void to_json(nlohmann::json& target, const ReferencePlan& plan);
void from_json(const nlohmann::json& source, ReferencePlan& plan);
void to_json(nlohmann::json& target, const Plan& plan);
void from_json(const nlohmann::json& source, Plan& plan);

}  // namespace assay
