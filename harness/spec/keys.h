#pragma once

#include <string>
#include <vector>

#include "spec/vocabulary.h"
#include "spec/yaml.h"

// The maps of kernel and sweep files, and the words that some of their keys take. The loaders read
// by these tables, and schema.cpp makes the JSON Schemas of them; nothing else includes this.

namespace assay {

inline const MapKeys kKernelKeys{
    "a kernel",
    {"kernel", "op", "arch", "dims", "args", "launches", "work", "reference", "smoke"},
    {"summary", "types", "traits", "compile", "params", "let", "constraints", "default", "prepare",
     "baseline", "tolerance", "deterministic"}};
inline const MapKeys kOpKeys{"an op",
                             {"op", "dims", "args", "work", "reference", "smoke"},
                             {"summary", "types", "traits", "let", "baseline", "tolerance",
                              "deterministic", "may_prepare", "problems"}};
/// Of a contract that leaves the rest to its op's file.
inline const MapKeys kOpKernelKeys{"a kernel of an op",
                                   {"kernel", "op", "arch", "launches"},
                                   {"summary", "compile", "params", "let", "constraints", "default",
                                    "args", "prepare", "deterministic", "smoke"}};
/// How a kernel takes an argument of its op.
inline const MapKeys kTakenKeys{"an argument of the op", {"name"}, {"init", "symbol", "texture"}};
inline const MapKeys kRangeKeys{"a range", {"from", "to"}, {"step", "times"}};
inline const MapKeys kCompileKeys{"compile",
                                  {},
                                  {"include", "define", "std", "fast_math", "maxrregcount", "fmad",
                                   "lineinfo", "options", "ptxas"}};
inline const MapKeys kWorkKeys{"the work", {"flops", "bytes"}};
inline const MapKeys kToleranceKeys{"the tolerance", {}, {"relative", "element", "absolute"}};

inline const MapKeys kBufferKeys{
    "a buffer", {"name", "dtype", "shape", "role"}, {"fill", "init", "symbol", "texture", "check"}};
inline const MapKeys kScalarKeys{"a scalar", {"name", "dtype", "value"}};
inline const MapKeys kTensorMapArgKeys{"an argument with a tensor_map", {"name", "tensor_map"}};
inline const MapKeys kTensorMapKeys{"a tensor_map", {"of", "box"}, {"swizzle_bytes", "when"}};
inline const MapKeys kStructKeys{"an argument with a struct", {"name", "struct"}};
inline const MapKeys kMemberKeys{"a scalar of a struct", {"dtype", "value"}};
inline const MapKeys kInitKeys{"an init", {}, {"zero", "copy"}};
inline const MapKeys kCheckKeys{"a check", {}, {"first", "sorted", "sum"}};
inline const MapKeys kTextureKeys{"a texture", {}, {"filter", "address", "normalized", "channels"}};

inline const MapKeys kChoicesKeys{"choices", {"file", "of"}};
inline const MapKeys kFillKernelKeys{"a kernel that fills an input",
                                     {"source", "entry", "args", "grid", "block"}};

inline const MapKeys kLaunchKeys{"a launch",
                                 {"grid", "block"},
                                 {"entry", "when", "early", "cluster", "smem_bytes", "carveout",
                                  "cooperative", "args", "repeat"}};
inline const MapKeys kGroupKeys{"a group of launches", {"repeat", "launches"}};
inline const MapKeys kGroupLaunchKeys{
    "a launch of a group",
    {"grid", "block"},
    {"entry", "when", "early", "cluster", "smem_bytes", "carveout", "cooperative", "args"}};
inline const MapKeys kPrepareKeys{
    "a launch that prepares",
    {"grid", "block"},
    {"entry", "when", "cluster", "smem_bytes", "carveout", "cooperative", "args"}};
inline const MapKeys kLaunchScalarKeys{"a scalar of a launch", {"dtype", "value"}};
inline const MapKeys kToKeys{"an argument", {"to"}}, kFromKeys{"an argument", {"from"}};

inline const MapKeys kReferenceKernelKeys{
    "a reference kernel", {"source", "entry", "args", "grid", "block"}, {"sum_length", "repeat"}};
inline const MapKeys kBaselineKernelKeys{
    "a baseline's kernel", {"source", "entry", "args", "grid", "block"}, {"define", "smem_bytes"}};
/// Stands beside a baseline's name.
inline constexpr std::string_view kBaselineRelative = "relative";
inline const MapKeys kReferenceArgKeys{
    "an argument of a reference kernel", {"name"}, {"dtype", "shape", "init"}};
inline const MapKeys kReferenceScratchKeys{
    "scratch of a reference kernel", {"name", "shape", "role"}, {"dtype"}};
inline const MapKeys kReferenceFileKeys{
    "a recorded output", {std::string(kReferenceFile), "out"}, {"sum_length"}};

inline const MapKeys kSweepKeys{"a sweep",
                                {"sweep", "kernels", "problems"},
                                {"params", "constraints", "search", "measure", "rerank"}};
inline const MapKeys kSearchKeys{"search", {}, {"strategy", "seed", "budget"}};
inline const MapKeys kBudgetKeys{"the budget", {}, {"configs", "seconds", "until"}};
inline const MapKeys kMeasureKeys{
    "measure", {}, {"protocol", "precision", "max_seconds_per_config", "counters"}};
inline const MapKeys kRerankKeys{"rerank", {}, {"top", "rounds", "precision", "objective"}};

/// What an operation of a reference or a baseline takes.
MapKeys keys_of(const OperationRow& row);
/// What a generator takes where it stands as a map.
MapKeys keys_of(const GeneratorRow& row);
/// What a derivation takes where it stands as a map.
MapKeys keys_of(const DerivationRow& row);

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
/// The words that `fill` may have for a key, beside `name`.
std::vector<std::string> fill_words();

}  // namespace assay
