// Made of the loaders' own tables (keys.h, vocabulary.h). A key of a table that has no value here
// throws, and so does a value without its key: neither can be forgotten.
#include "spec/schema.h"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/objective.h"
#include "spec/choices.h"
#include "spec/keys.h"
#include "spec/sweep_spec.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::map<std::string, Json>;

const char* const kIdentifier = "^[A-Za-z_][A-Za-z0-9_]*$";

Json type(const char* name) { return {{"type", name}}; }
Json any_of(Json forms) { return {{"anyOf", std::move(forms)}}; }
Json matching(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }
Json list_of(Json item) { return {{"type", "array"}, {"items", std::move(item)}, {"minItems", 1}}; }
Json list_of(Json item, std::size_t count) {
  Json list = list_of(std::move(item));
  list["minItems"] = list["maxItems"] = count;
  return list;
}

Json integer(std::int64_t low, std::int64_t high = INT64_MAX) {
  Json form{{"type", "integer"}, {"minimum", low}};
  if (high != INT64_MAX) form["maximum"] = high;
  return form;
}

/// YAML takes a word of digits for a number.
Json one_of(const std::vector<std::string>& words) {
  Json values = Json::array();
  for (const std::string& word : words) {
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    values.push_back(is_number ? Json(std::stoi(word)) : Json(word));
  }
  return {{"enum", std::move(values)}};
}

/// A map with the keys of a table.
Json object(const MapKeys& keys, const Values& values) {
  Json properties = Json::object();
  for (const auto* names : {&keys.required, &keys.optional}) {
    for (const std::string& name : *names) properties[name] = values.at(name);
  }
  if (properties.size() != values.size()) {
    throw std::logic_error(keys.what + ": a value without its key");
  }
  Json form{{"type", "object"}, {"properties", std::move(properties)}};
  if (!keys.required.empty()) form["required"] = keys.required;
  form["additionalProperties"] = false;
  return form;
}

/// The values of the keys that a table has.
Values only(Values values, const MapKeys& keys) {
  std::erase_if(values, [&](const auto& value) {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, value.first) != names.end();
    };
    return !has(keys.required) && !has(keys.optional);
  });
  return values;
}

/// A map of names that the file chooses.
Json map_of(Json value) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", kIdentifier}}},
          {"additionalProperties", std::move(value)}};
}

/// A map with one of these keys, and no other.
Json choice_of(const Json& properties) {
  return {{"type", "object"},
          {"properties", properties},
          {"additionalProperties", false},
          {"minProperties", 1},
          {"maxProperties", 1}};
}

Json name() { return matching(kIdentifier); }
Json text() { return type("string"); }
Json scalar() { return {{"type", {"string", "number", "boolean"}}}; }
Json expression() { return {{"type", {"integer", "string"}}}; }
Json real_expression() { return {{"type", {"number", "string"}}}; }
Json expressions() { return list_of(expression()); }
/// Readers of YAML differ in whether 1e-5 is a number; 0.5% is none for all.
Json number() { return any_of({type("number"), matching("^-?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?%?$")}); }
/// `true`, `false` or an expression.
Json switch_form() { return {{"type", {"boolean", "integer", "string"}}}; }
/// One of these, or what `types` calls it: with a capital letter, so that a slip is refused.
Json dtype(const std::vector<std::string>& names = dtype_names()) {
  return any_of({one_of(names), matching("^[A-Z][A-Za-z0-9_]*$")});
}

Json param_values() {
  const Values range{{"from", type("integer")},
                     {"to", type("integer")},
                     {"step", integer(1)},
                     {"times", integer(2)}};
  return any_of({list_of(expression()), object(kRangeKeys, range)});
}

Json generator_forms() {
  std::vector<std::string> words;
  Json forms = Json::array();
  for (const GeneratorRow& row : generators()) {
    Values values{{"name", {{"const", row.name}}}};
    bool needs_map = false;
    for (const auto& argument : row.arguments) {
      const bool is_integer = argument.numbers == GeneratorRow::Numbers::integer;
      values[argument.name] = is_integer ? expression() : real_expression();
      needs_map = needs_map || !argument.value;
    }
    if (!needs_map) words.emplace_back(row.name);
    forms.push_back(object(keys_of(row), values));
  }
  forms.insert(forms.begin(), one_of(words));
  return forms;
}

Json derivation_value(const std::string& key) {
  if (key == "of") return name();
  if (key == "block") return list_of(expression(), 2);
  return key == "index" ? expression() : type("boolean");
}

Json fill_form() {
  Values ways;
  for (const DerivationRow& row : derivations()) {
    const MapKeys keys = keys_of(row);
    Values values;
    for (const auto* words : {&keys.required, &keys.optional}) {
      for (const std::string& word : *words) values[word] = derivation_value(word);
    }
    const Json map = object(keys, values);
    ways[std::string(row.name)] = row.required.empty() && row.optional.empty() ? name()
                                  : row.required.empty() ? any_of({name(), map})
                                                         : map;
  }
  ways[std::string(kFillFile)] = text();
  ways[std::string(kFillChoices)] = object(kChoicesKeys, {{"file", text()}, {"of", expression()}});
  ways[std::string(kFillKernel)] = object(kFillKernelKeys, {{"source", text()},
                                                            {"entry", text()},
                                                            {"args", list_of(name())},
                                                            {"grid", expressions()},
                                                            {"block", expressions()}});
  Json properties = Json::object();
  for (const std::string& word : fill_words()) properties[word] = ways.at(word);
  Json forms = generator_forms();
  forms.push_back(choice_of(properties));
  return any_of(std::move(forms));
}

Json argument_form() {
  const Json init =
      any_of({one_of({"zero"}), object(kInitKeys, {{"zero", expression()}, {"copy", name()}})});
  const Json filter = one_of(kTextureFilters);
  const Json texture =
      any_of({filter, object(kTextureKeys, {{"filter", filter},
                                            {"address", one_of(names_of(address_modes()))},
                                            {"normalized", type("boolean")},
                                            {"channels", one_of(kTextureChannels)}})});
  const Json check = object(
      kCheckKeys, {{"first", expression()}, {"sorted", type("boolean")}, {"sum", type("boolean")}});
  const Json map = object(kTensorMapKeys, {{"of", name()},
                                           {"box", expressions()},
                                           {"swizzle_bytes", one_of(kSwizzleBytes)},
                                           {"when", expression()}});
  const Json member =
      any_of({name(), object(kMemberKeys, {{"dtype", dtype()}, {"value", real_expression()}})});
  return any_of(
      {name(),
       object(kTakenKeys,
              {{"name", name()}, {"init", init}, {"symbol", text()}, {"texture", texture}}),
       object(kBufferKeys, {{"name", name()},
                            {"dtype", dtype()},
                            {"shape", expressions()},
                            {"role", one_of(names_of(roles()))},
                            {"fill", fill_form()},
                            {"init", init},
                            {"symbol", text()},
                            {"texture", texture},
                            {"check", check}}),
       object(kScalarKeys, {{"name", name()}, {"dtype", dtype()}, {"value", real_expression()}}),
       object(kTensorMapArgKeys, {{"name", name()}, {"tensor_map", map}}),
       object(kStructKeys, {{"name", name()}, {"struct", list_of(member)}})});
}

Json launch_form(const MapKeys& keys) {
  const Json turns =
      any_of({name(), object(kToKeys, {{"to", list_of(name(), 2)}}),
              object(kFromKeys, {{"from", list_of(name(), 3)}}),
              object(kLaunchScalarKeys, {{"dtype", dtype()}, {"value", real_expression()}})});
  Values values{{"grid", expressions()},
                {"block", expressions()},
                {"entry", text()},
                {"when", expression()},
                {"early", expression()},
                {"cluster", {{"type", "array"}, {"items", expression()}}},
                {"smem_bytes", expression()},
                {"carveout", expression()},
                {"cooperative", type("boolean")},
                {"args", list_of(turns)},
                {"repeat", expression()}};
  return object(keys, only(std::move(values), keys));
}

Json launches_form() {
  return list_of(
      any_of({launch_form(kLaunchKeys),
              object(kGroupKeys, {{"repeat", expression()},
                                  {"launches", list_of(launch_form(kGroupLaunchKeys))}})}));
}

Json own_kernel_form(bool of_reference) {
  const Json arg = any_of({name(),
                           object(kReferenceArgKeys, {{"name", name()},
                                                      {"dtype", dtype()},
                                                      {"shape", expressions()},
                                                      {"init", one_of({"zero"})}}),
                           object(kReferenceScratchKeys, {{"name", name()},
                                                          {"shape", expressions()},
                                                          {"role", one_of({"scratch"})},
                                                          {"dtype", dtype()}})});
  const Json turns = any_of({arg, object(kToKeys, {{"to", list_of(arg, 2)}}),
                             object(kFromKeys, {{"from", list_of(arg, 3)}})});
  Values values{{"source", text()},
                {"entry", text()},
                {"args", list_of(turns)},
                {"grid", expressions()},
                {"block", expressions()}};
  if (of_reference) {
    values.insert({{"sum_length", expression()}, {"repeat", expression()}});
    return object(kReferenceKernelKeys, values);
  }
  values.insert({{"define", map_of(scalar())}, {"smem_bytes", expression()}});
  return object(kBaselineKernelKeys, values);
}

Json step_form(const std::vector<OperationRow>& rows, bool of_reference) {
  Json properties = Json::object();
  for (const OperationRow& row : rows) {
    Values values{{"round", dtype(kRoundings)}};
    for (const auto* operands : {&row.inputs, &row.outputs}) {
      for (const OperandRow& operand : *operands) values[std::string(operand.name)] = name();
    }
    for (const OptionRow& option : row.options) {
      const bool is_flag = std::holds_alternative<bool>(option.otherwise);
      values[std::string(option.name)] = is_flag ? type("boolean") : real_expression();
    }
    properties[std::string(row.name)] = object(keys_of(row), values);
  }
  properties[std::string(kReferenceKernel)] = own_kernel_form(of_reference);
  return choice_of(properties);
}

Json reference_form() {
  const Json file = object(
      kReferenceFileKeys,
      {{std::string(kReferenceFile), text()}, {"out", name()}, {"sum_length", expression()}});
  return list_of(any_of({step_form(operations(), true), file}));
}

Json baseline_form() {
  Json named = map_of(list_of(step_form(baseline_operations(), false)));
  Json of_other_accuracy = named;
  named["minProperties"] = named["maxProperties"] = 1;
  of_other_accuracy["properties"] = {{std::string(kBaselineRelative), number()}};
  of_other_accuracy["required"] = {kBaselineRelative};
  of_other_accuracy["minProperties"] = of_other_accuracy["maxProperties"] = 2;
  return {
      {"type", "array"},
      {"items", any_of({{{"const", kCublasLt}}, std::move(named), std::move(of_other_accuracy)})}};
}

Json compile_form() {
  Json with_condition{{"type", "object"}, {"additionalProperties", expression()}};
  with_condition["minProperties"] = with_condition["maxProperties"] = 1;
  const Json options = list_of(any_of({text(), std::move(with_condition)}));
  return object(kCompileKeys, {{"include", list_of(text())},
                               {"define", map_of(scalar())},
                               {"std", one_of(kStandards)},
                               {"fast_math", switch_form()},
                               {"maxrregcount", expression()},
                               {"fmad", switch_form()},
                               {"lineinfo", switch_form()},
                               {"options", options},
                               {"ptxas", options}});
}

Json problems_form() { return list_of(map_of(any_of({number(), list_of(number())}))); }

/// The document: what `form` says, with a title.
Json document(const char* title, const Json& form) {
  Json made{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  made.update(form);
  return made;
}

/// What the keys of kernels and of ops take.
Values contract_values() {
  const Json arch = any_of({integer(10, 999), matching("^[1-9][0-9]{1,2}[af]?$")});
  Json types = map_of(list_of(one_of(dtype_names())));
  types["minProperties"] = types["maxProperties"] = 1;
  const Json tolerance = object(
      kToleranceKeys, {{"relative", number()}, {"element", number()}, {"absolute", number()}});
  return {{"kernel", name()},
          {"op", name()},
          {"summary", text()},
          {"arch", list_of(arch)},
          {"types", types},
          {"dims", list_of(name())},
          {"traits", map_of(number())},
          {"compile", compile_form()},
          {"params", map_of(param_values())},
          {"let", map_of({{"type", {"integer", "string", "null"}}})},
          {"constraints", expressions()},
          {"args", list_of(argument_form())},
          {"may_prepare", list_of(name())},
          {"launches", launches_form()},
          {"prepare", list_of(launch_form(kPrepareKeys))},
          {"work", object(kWorkKeys, {{"flops", expression()}, {"bytes", expression()}})},
          {"reference", reference_form()},
          {"baseline", baseline_form()},
          {"tolerance", tolerance},
          {"deterministic", type("boolean")},
          {"smoke", map_of(number())},
          {"problems", problems_form()},
          {"default", map_of(expression())}};
}

Json contract_form(const MapKeys& keys) { return object(keys, only(contract_values(), keys)); }

}  // namespace

Json kernel_schema() {
  return document("a kernel of assay",
                  any_of({contract_form(kKernelKeys), contract_form(kOpKernelKeys)}));
}

Json op_schema() { return document("an op of assay", contract_form(kOpKeys)); }

Json sweep_schema() {
  const Json objective = any_of({one_of(objective_words()), matching("^(minimize|maximize) ")});
  const Json budget =
      object(kBudgetKeys, {{"configs", integer(1)}, {"seconds", number()}, {"until", number()}});
  const Json search = object(
      kSearchKeys, {{"strategy", one_of(kStrategies)}, {"seed", integer(0)}, {"budget", budget}});
  const Json measure = object(kMeasureKeys, {{"protocol", one_of(names_of(protocols()))},
                                             {"precision", number()},
                                             {"max_seconds_per_config", number()},
                                             {"counters", list_of(one_of(counter_words()))}});
  const Json rerank = object(kRerankKeys, {{"top", integer(1, kMostTop)},
                                           {"rounds", integer(1, RerankSpec::kMostRounds)},
                                           {"precision", number()},
                                           {"objective", any_of({objective, list_of(objective)})}});
  return document("a sweep of assay", object(kSweepKeys, {{"sweep", name()},
                                                          {"kernels", list_of(text())},
                                                          {"problems", problems_form()},
                                                          {"params", map_of(param_values())},
                                                          {"constraints", expressions()},
                                                          {"search", search},
                                                          {"measure", measure},
                                                          {"rerank", rerank}}));
}

}  // namespace assay
