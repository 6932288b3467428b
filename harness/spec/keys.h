#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "spec/vocabulary.h"
#include "spec/yaml.h"

// The maps of kernel and sweep files, and the words that some of their keys take. The loaders read
// by these tables, and the JSON Schemas are made of them.

namespace assay {

/// The keys of a map and what each takes, as a JSON Schema says it.
struct MapForm : MapKeys {
  using Json = nlohmann::ordered_json;
  using Values = std::vector<std::pair<std::string, Json>>;
  MapForm(std::string what, const Values& required, const Values& optional = {});
  /// Of a map that has the values of some of `known`.
  MapForm(MapKeys keys, const Values& known);

  Json form;
};

extern const MapKeys kKernelKeys, kOpKeys;
/// Of a contract that leaves the rest to its op's file.
extern const MapKeys kOpKernelKeys;
/// How a kernel takes an argument of its op.
extern const MapForm kTakenKeys;
extern const MapForm kRangeKeys, kCompileKeys, kWorkKeys, kToleranceKeys;
extern const MapForm kBufferKeys, kInitKeys, kCheckKeys, kTextureKeys, kChoicesKeys,
    kFillKernelKeys;
extern const MapForm kScalarKeys, kTensorMapArgKeys, kTensorMapKeys, kStructKeys, kMemberKeys;
extern const MapForm kLaunchKeys, kGroupLaunchKeys, kGroupKeys, kPrepareKeys;
extern const MapForm kLaunchScalarKeys, kToKeys, kFromKeys;
extern const MapForm kReferenceKernelKeys, kBaselineKernelKeys, kReferenceFileKeys;
extern const MapForm kReferenceArgKeys, kReferenceScratchKeys;
extern const MapForm kSweepKeys, kSearchKeys, kBudgetKeys, kMeasureKeys, kRerankKeys;

/// What an operation of a reference or a baseline takes.
MapForm keys_of(const OperationRow& row);
/// What a generator takes where it stands as a map.
MapForm keys_of(const GeneratorRow& row);
/// What a derivation takes where it stands as a map.
MapForm keys_of(const DerivationRow& row);

/// Stands beside a baseline's name.
inline constexpr std::string_view kBaselineRelative = "relative";
inline const std::vector<std::string> kSwizzleBytes = {"0", "32", "64", "128"};
inline const std::vector<std::string> kTextureFilters = {"point", "linear"};
inline const std::vector<std::string> kTextureChannels = {"1", "2", "4"};
inline const std::vector<std::string> kStandards = {"17", "20"};
inline const std::vector<std::string> kRoundings = {"bf16", "f16"};
/// In the order of the enumerators of Strategy.
inline const std::vector<std::string> kStrategies = {"auto", "exhaustive", "random", "model"};
/// What `top` and `rounds` of a re-rank may be at most: more would take days.
inline constexpr std::int64_t kMostTop = 10000;
/// The counters and the sets of them that a sweep may name.
std::vector<std::string> counter_words();

/// The JSON Schemas (draft 7) of kernel files, of op files and of sweep files, for editors. They
/// know every key and every word that the loaders take. What an expression or a name means they do
/// not know.
MapForm::Json kernel_schema();
MapForm::Json op_schema();
MapForm::Json sweep_schema();

}  // namespace assay
