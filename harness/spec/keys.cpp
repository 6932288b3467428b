#include "spec/keys.h"

#include "base/counters.h"
#include "spec/choices.h"

namespace assay {

MapKeys keys_of(const OperationRow& row) {
  MapKeys keys{fmt::format("the operation {}", row.name), {}, names_of(row.options)};
  for (const OperandRow& input : row.inputs) {
    (input.optional ? keys.optional : keys.required).emplace_back(input.name);
  }
  for (const OperandRow& output : row.outputs) keys.required.emplace_back(output.name);
  keys.optional.emplace_back("round");
  return keys;
}

MapKeys keys_of(const GeneratorRow& row) {
  MapKeys keys{fmt::format("the generator {}", row.name), {}, {}};
  for (const auto& argument : row.arguments) {
    (argument.value ? keys.optional : keys.required).push_back(argument.name);
  }
  keys.required.emplace_back("name");
  return keys;
}

MapKeys keys_of(const DerivationRow& row) {
  MapKeys keys{fmt::format("the {} of an input", row.name), {"of"}, {}};
  for (const std::string_view key : row.required) keys.required.emplace_back(key);
  for (const std::string_view key : row.optional) keys.optional.emplace_back(key);
  return keys;
}

std::vector<std::string> counter_words() {
  std::vector<std::string> words = counter_sets();
  for (const CounterRow& row : counters()) words.emplace_back(row.name);
  return words;
}

std::vector<std::string> fill_words() {
  std::vector<std::string> words = names_of(derivations());
  for (const std::string_view word : {kFillKernel, kFillFile, kFillChoices}) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace assay
