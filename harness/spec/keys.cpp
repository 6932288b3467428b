#include "spec/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counters.h"
#include "base/objective.h"
#include "spec/choices.h"
#include "spec/sweep_spec.h"

namespace assay {
namespace {

using Json = MapForm::Json;
using Values = MapForm::Values;
using Forms = std::map<std::string, Json>;

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

/// The map with these keys, each of which takes what `forms` says.
MapForm form_of(const MapKeys& keys, const Forms& forms) {
  const auto values_of = [&](const std::vector<std::string>& names) {
    Values values;
    for (const std::string& name : names) values.emplace_back(name, forms.at(name));
    return values;
  };
  return {keys.what, values_of(keys.required), values_of(keys.optional)};
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

Json param_values() { return any_of({list_of(expression()), kRangeKeys.form}); }

Json generator_forms() {
  std::vector<std::string> words;
  Json forms = Json::array();
  for (const GeneratorRow& row : generators()) {
    const auto has_value = [](const auto& argument) { return argument.value.has_value(); };
    if (std::ranges::all_of(row.arguments, has_value)) words.emplace_back(row.name);
    forms.push_back(keys_of(row).form);
  }
  forms.insert(forms.begin(), one_of(words));
  return forms;
}

Json derivation_value(std::string_view key) {
  if (key == "of") return name();
  if (key == "block") return list_of(expression(), 2);
  return key == "index" ? expression() : type("boolean");
}

Json fill_form() {
  Json ways = Json::object();
  for (const DerivationRow& row : derivations()) {
    const Json map = keys_of(row).form;
    ways[row.name] = row.required.empty() && row.optional.empty() ? name()
                     : row.required.empty()                       ? any_of({name(), map})
                                                                  : map;
  }
  ways[kFillKernel] = kFillKernelKeys.form;
  ways[kFillFile] = text();
  ways[kFillChoices] = kChoicesKeys.form;
  Json forms = generator_forms();
  forms.push_back(choice_of(ways));
  return any_of(std::move(forms));
}

Json init_form() { return any_of({one_of({"zero"}), kInitKeys.form}); }
Json texture_form() { return any_of({one_of(kTextureFilters), kTextureKeys.form}); }

Json argument_form() {
  return any_of({name(), kTakenKeys.form, kBufferKeys.form, kScalarKeys.form,
                 kTensorMapArgKeys.form, kStructKeys.form});
}

/// `x`, or what passes take in turn of such.
Json turns(const Json& argument, Json more = Json::array()) {
  Json forms{argument, MapForm("", {{"to", list_of(argument, 2)}}).form,
             MapForm("", {{"from", list_of(argument, 3)}}).form};
  for (Json& form : more) forms.push_back(std::move(form));
  return any_of(std::move(forms));
}

/// What each key of a launch takes.
Forms launch_forms() {
  return {{"grid", expressions()},
          {"block", expressions()},
          {"entry", text()},
          {"when", expression()},
          {"early", expression()},
          {"cluster", {{"type", "array"}, {"items", expression()}}},
          {"smem_bytes", expression()},
          {"carveout", expression()},
          {"cooperative", type("boolean")},
          {"args", list_of(turns(name(), Json::array({kLaunchScalarKeys.form})))},
          {"repeat", expression()}};
}

Json step_form(const std::vector<OperationRow>& rows, const MapForm& kernel) {
  Json properties = Json::object();
  for (const OperationRow& row : rows) properties[row.name] = keys_of(row).form;
  properties[kReferenceKernel] = kernel.form;
  return choice_of(properties);
}

Json reference_form() {
  return list_of(any_of({step_form(operations(), kReferenceKernelKeys), kReferenceFileKeys.form}));
}

Json baseline_form() {
  Json named = map_of(list_of(step_form(baseline_operations(), kBaselineKernelKeys)));
  Json of_other_accuracy = named;
  named["minProperties"] = named["maxProperties"] = 1;
  of_other_accuracy["properties"] = {{kBaselineRelative, number()}};
  of_other_accuracy["required"] = {kBaselineRelative};
  of_other_accuracy["minProperties"] = of_other_accuracy["maxProperties"] = 2;
  return {
      {"type", "array"},
      {"items", any_of({{{"const", kCublasLt}}, std::move(named), std::move(of_other_accuracy)})}};
}

Json options_form() {
  Json with_condition{{"type", "object"}, {"additionalProperties", expression()}};
  with_condition["minProperties"] = with_condition["maxProperties"] = 1;
  return list_of(any_of({text(), std::move(with_condition)}));
}

Json launches_form() { return list_of(any_of({kLaunchKeys.form, kGroupKeys.form})); }
Json problems_form() { return list_of(map_of(any_of({number(), list_of(number())}))); }

/// The document: what `form` says, with a title.
Json document(const char* title, const Json& form) {
  Json made{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  made.update(form);
  return made;
}

/// What the keys of kernels and of ops take.
Json contract_form(const MapKeys& keys) {
  const Json arch = any_of({integer(10, 999), matching("^[1-9][0-9]{1,2}[af]?$")});
  Json types = map_of(list_of(one_of(dtype_names())));
  types["minProperties"] = types["maxProperties"] = 1;
  const Forms forms{{"kernel", name()},
                    {"like", name()},
                    {"op", name()},
                    {"summary", text()},
                    {"arch", list_of(arch)},
                    {"types", types},
                    {"dims", list_of(name())},
                    {"traits", map_of(number())},
                    {"compile", kCompileKeys.form},
                    {"params", map_of(param_values())},
                    {"let", map_of({{"type", {"integer", "string", "null"}}})},
                    {"constraints", expressions()},
                    {"args", list_of(argument_form())},
                    {"may_prepare", list_of(name())},
                    {"launches", launches_form()},
                    {"prepare", list_of(kPrepareKeys.form)},
                    {"work", kWorkKeys.form},
                    {"reference", reference_form()},
                    {"baseline", baseline_form()},
                    {"tolerance", kToleranceKeys.form},
                    {"deterministic", type("boolean")},
                    {"smoke", map_of(number())},
                    {"problems", problems_form()},
                    {"default", map_of(expression())}};
  return form_of(keys, forms).form;
}

/// The same of a file that is like another, which has the rest.
Json like_form(MapKeys keys) {
  keys.optional.insert(keys.optional.end(), keys.required.begin() + 1, keys.required.end());
  keys.required = {keys.required.front(), "like"};
  return contract_form(keys);
}

Values own_kernel_values() {
  const Json argument = any_of({name(), kReferenceArgKeys.form, kReferenceScratchKeys.form});
  return {{"source", text()},
          {"entry", text()},
          {"args", list_of(turns(argument))},
          {"grid", expressions()},
          {"block", expressions()}};
}

Json objective_form() {
  return any_of({one_of(objective_words()), matching("^(minimize|maximize) ")});
}

}  // namespace

MapForm::MapForm(std::string map_what, const Values& of_required, const Values& of_optional)
    : MapKeys{std::move(map_what), {}} {
  Json properties = Json::object();
  for (const auto& [name, value] : of_required) required.push_back(name), properties[name] = value;
  for (const auto& [name, value] : of_optional) optional.push_back(name), properties[name] = value;
  form = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) form["required"] = required;
  form["additionalProperties"] = false;
}

const MapKeys kKernelKeys{
    "a kernel",
    {"kernel", "op", "arch", "dims", "args", "launches", "work", "reference", "smoke"},
    {"summary", "types", "traits", "compile", "params", "let", "constraints", "default", "prepare",
     "baseline", "tolerance", "deterministic"}};
const MapKeys kOpKeys{"an op",
                      {"op", "dims", "args", "work", "reference", "smoke"},
                      {"summary", "types", "traits", "let", "baseline", "tolerance",
                       "deterministic", "may_prepare", "problems"}};
const MapKeys kOpKernelKeys{"a kernel of an op",
                            {"kernel", "op", "arch", "launches"},
                            {"summary", "compile", "params", "let", "constraints", "default",
                             "args", "prepare", "deterministic", "smoke"}};
const MapForm kRangeKeys{"a range",
                         {{"from", type("integer")}, {"to", type("integer")}},
                         {{"step", integer(1)}, {"times", integer(2)}}};
const MapForm kCompileKeys{"compile",
                           {},
                           {{"include", list_of(text())},
                            {"define", map_of(scalar())},
                            {"std", one_of(kStandards)},
                            {"fast_math", switch_form()},
                            {"maxrregcount", expression()},
                            {"fmad", switch_form()},
                            {"lineinfo", switch_form()},
                            {"options", options_form()},
                            {"ptxas", options_form()}}};
const MapForm kWorkKeys{"the work", {{"flops", expression()}, {"bytes", expression()}}};
const MapForm kToleranceKeys{
    "the tolerance", {}, {{"relative", number()}, {"element", number()}, {"absolute", number()}}};
const MapForm kInitKeys{"an init", {}, {{"zero", expression()}, {"copy", name()}}};
const MapForm kCheckKeys{
    "a check",
    {},
    {{"first", expression()}, {"sorted", type("boolean")}, {"sum", type("boolean")}}};
const MapForm kTextureKeys{"a texture",
                           {},
                           {{"filter", one_of(kTextureFilters)},
                            {"address", one_of(names_of(kAddressModes))},
                            {"normalized", type("boolean")},
                            {"channels", one_of(kTextureChannels)}}};
const MapForm kChoicesKeys{"choices", {{"file", text()}, {"of", expression()}}};
const MapForm kFillKernelKeys{"a kernel that fills an input",
                              {{"source", text()},
                               {"entry", text()},
                               {"args", list_of(name())},
                               {"grid", expressions()},
                               {"block", expressions()}}};
const MapForm kBufferKeys{"a buffer",
                          {{"name", name()},
                           {"dtype", dtype()},
                           {"shape", expressions()},
                           {"role", one_of(names_of(kRoles))}},
                          {{"fill", fill_form()},
                           {"init", init_form()},
                           {"symbol", text()},
                           {"texture", texture_form()},
                           {"check", kCheckKeys.form}}};
const MapForm kTakenKeys{"an argument of the op",
                         {{"name", name()}},
                         {{"init", init_form()}, {"symbol", text()}, {"texture", texture_form()}}};
const MapForm kScalarKeys{"a scalar",
                          {{"name", name()}, {"dtype", dtype()}, {"value", real_expression()}}};
const MapForm kTensorMapKeys{"a tensor_map",
                             {{"of", name()}, {"box", expressions()}},
                             {{"swizzle_bytes", one_of(kSwizzleBytes)}, {"when", expression()}}};
const MapForm kTensorMapArgKeys{"an argument with a tensor_map",
                                {{"name", name()}, {"tensor_map", kTensorMapKeys.form}}};
const MapForm kMemberKeys{"a scalar of a struct",
                          {{"dtype", dtype()}, {"value", real_expression()}}};
const MapForm kStructKeys{
    "an argument with a struct",
    {{"name", name()}, {"struct", list_of(any_of({name(), kMemberKeys.form}))}}};

const MapForm kToKeys{"an argument", {{"to", list_of(name(), 2)}}};
const MapForm kFromKeys{"an argument", {{"from", list_of(name(), 3)}}};
const MapForm kLaunchScalarKeys{"a scalar of a launch",
                                {{"dtype", dtype()}, {"value", real_expression()}}};
const MapForm kLaunchKeys = form_of({"a launch",
                                     {"grid", "block"},
                                     {"entry", "when", "early", "cluster", "smem_bytes", "carveout",
                                      "cooperative", "args", "repeat"}},
                                    launch_forms());
const MapForm kGroupLaunchKeys = form_of(
    {"a launch of a group",
     {"grid", "block"},
     {"entry", "when", "early", "cluster", "smem_bytes", "carveout", "cooperative", "args"}},
    launch_forms());
const MapForm kGroupKeys{"a group of launches",
                         {{"repeat", expression()}, {"launches", list_of(kGroupLaunchKeys.form)}}};
const MapForm kPrepareKeys =
    form_of({"a launch that prepares",
             {"grid", "block", "args"},
             {"entry", "when", "cluster", "smem_bytes", "carveout", "cooperative"}},
            launch_forms());

const MapForm kReferenceArgKeys{
    "an argument of a reference kernel",
    {{"name", name()}},
    {{"dtype", dtype()}, {"shape", expressions()}, {"init", one_of({"zero"})}}};
const MapForm kReferenceScratchKeys{
    "scratch of a reference kernel",
    {{"name", name()}, {"shape", expressions()}, {"role", one_of({"scratch"})}},
    {{"dtype", dtype()}}};
const MapForm kReferenceKernelKeys{"a reference kernel",
                                   own_kernel_values(),
                                   {{"sum_length", expression()}, {"repeat", expression()}}};
const MapForm kBaselineKernelKeys{"a baseline's kernel",
                                  own_kernel_values(),
                                  {{"define", map_of(scalar())}, {"smem_bytes", expression()}}};
const MapForm kReferenceFileKeys{"a recorded output",
                                 {{std::string(kReferenceFile), text()}, {"out", name()}},
                                 {{"sum_length", expression()}}};

const MapForm kBudgetKeys{
    "the budget", {}, {{"configs", integer(1)}, {"seconds", number()}, {"until", number()}}};
const MapForm kSearchKeys{
    "search",
    {},
    {{"strategy", one_of(kStrategies)}, {"seed", integer(0)}, {"budget", kBudgetKeys.form}}};
const MapForm kMeasureKeys{"measure",
                           {},
                           {{"protocol", one_of(names_of(kProtocols))},
                            {"precision", number()},
                            {"max_seconds_per_config", number()},
                            {"counters", list_of(one_of(counter_words()))}}};
const MapForm kRerankKeys{"rerank",
                          {},
                          {{"top", integer(1, kMostTop)},
                           {"rounds", integer(1, RerankSpec::kMostRounds)},
                           {"precision", number()},
                           {"objective", any_of({objective_form(), list_of(objective_form())})}}};
const MapForm kSweepKeys{
    "a sweep",
    {{"sweep", name()}, {"kernels", list_of(text())}, {"problems", problems_form()}},
    {{"params", map_of(param_values())},
     {"constraints", expressions()},
     {"search", kSearchKeys.form},
     {"measure", kMeasureKeys.form},
     {"rerank", kRerankKeys.form}}};

MapForm keys_of(const OperationRow& row) {
  Values required, optional;
  for (const OptionRow& option : row.options) {
    const bool is_flag = std::holds_alternative<bool>(option.otherwise);
    optional.emplace_back(option.name, is_flag ? type("boolean") : real_expression());
  }
  for (const OperandRow& input : row.inputs) {
    (input.optional ? optional : required).emplace_back(input.name, name());
  }
  for (const OperandRow& output : row.outputs) required.emplace_back(output.name, name());
  optional.emplace_back("round", dtype(kRoundings));
  return {fmt::format("the operation {}", row.name), required, optional};
}

MapForm keys_of(const GeneratorRow& row) {
  Values required, optional;
  for (const auto& argument : row.arguments) {
    const bool is_integer = argument.numbers == GeneratorRow::Numbers::integer;
    (argument.value ? optional : required)
        .emplace_back(argument.name, is_integer ? expression() : real_expression());
  }
  required.emplace_back("name", Json{{"const", row.name}});
  return {fmt::format("the generator {}", row.name), required, optional};
}

MapForm keys_of(const DerivationRow& row) {
  Values required{{"of", name()}}, optional;
  for (const std::string_view key : row.required) required.emplace_back(key, derivation_value(key));
  for (const std::string_view key : row.optional) optional.emplace_back(key, derivation_value(key));
  return {fmt::format("the {} of an input", row.name), required, optional};
}

std::vector<std::string> counter_words() {
  std::vector<std::string> words = counter_sets();
  for (const CounterRow& row : counters()) words.emplace_back(row.name);
  return words;
}

Json kernel_schema() {
  return document(
      "a kernel of assay",
      any_of({contract_form(kKernelKeys), contract_form(kOpKernelKeys), like_form(kKernelKeys)}));
}

Json op_schema() {
  return document("an op of assay", any_of({contract_form(kOpKeys), like_form(kOpKeys)}));
}

Json sweep_schema() { return document("a sweep of assay", kSweepKeys.form); }

}  // namespace assay
