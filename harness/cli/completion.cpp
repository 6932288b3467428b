// `assay completion SHELL`: what a shell runs at a Tab. The shell's script asks this program, which
// reads what may follow off its own parser, and names off the files of the current folder.

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/include_path.h"
#include "cli/verbs.h"
#include "spec/twins.h"
#include "spec/yaml.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Each asks `assay completion words` for the words that may stand at the cursor, and offers files
// where there are none.
constexpr std::pair<const char*, std::string_view> kScripts[] = {{"bash", R"sh(_assay() {
  local word=${COMP_WORDS[COMP_CWORD]}
  local words=$("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${word#=}")
}
complete -o default -F _assay assay
)sh"},
                                                                 {"zsh", R"sh(#compdef assay
_assay() {
  local -a offers
  offers=(${(f)"$($words[1] completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a offers || _files
}
if [[ $funcstack[1] == _assay ]]; then _assay; else compdef _assay assay; fi
)sh"},
                                                                 {"fish", R"sh(function _assay
  set -l words (commandline -opc)
  set -l program $words[1]
  set -e words[1]
  $program completion words -- $words (commandline -ct) 2>/dev/null
end
complete -c assay -a '(_assay)'
)sh"}};

/// The folder of the project where the shell is, or else the one that the program ships.
fs::path folder_of(const char* name) {
  return fs::is_directory(name) ? fs::path(name) : shipped_folder() / name;
}

/// What stands behind `sweep:`.
std::vector<std::string> sweep_names(const fs::path& file) {
  try {
    const YamlPtr root = load_yaml(file);
    const YamlNode* const name = root->find("sweep");
    if (name != nullptr) return {name->identifier("the name of a sweep")};
  } catch (const UsageError&) {  // told when the file is loaded
  }
  return {};
}

/// The values of an option or an argument that files give.
std::set<std::string> names_for(const std::string& value_of) {
  std::set<std::string> names;
  const auto add = [&](const char* folder, std::vector<std::string> (*names_of)(const fs::path&)) {
    for (const fs::path& file : yaml_files_below(folder_of(folder))) {
      for (std::string& name : names_of(file)) names.insert(std::move(name));
    }
  };
  if (value_of == "--op") add("kernels", twin_ops);
  if (value_of == "--kernel") add("kernels", twin_names);
  if (value_of == "--sweep") add("sweeps", sweep_names);
  if (value_of == "sweep FILE") {
    for (const fs::path& file : yaml_files_below(folder_of("sweeps"))) names.insert(file.string());
  }
  return names;
}

/// What may stand in the place of the last word.
int print_words(const Command& program, std::vector<std::string> words) {
  const std::string word = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  const Completion next = program.completion(words, word.starts_with('-'));
  for (const std::string& each : next.words) print_out("{}\n", each);
  for (const std::string& each : names_for(next.value_of)) print_out("{}\n", each);
  return kExitDone;
}

}  // namespace

void add_completion(Command program) {
  Command verb =
      program.add_command("completion", "print what makes a shell complete assay's words");
  auto shell = std::make_shared<std::string>();
  auto words = std::make_shared<std::vector<std::string>>();
  verb.add_option("SHELL", *shell,
                  "of which shell; words: print what may stand in the place of the last of WORDS")
      .required()
      .one_of({"bash", "zsh", "fish", "words"});
  verb.add_option("WORDS", *words, "with words: the command line behind assay, up to the cursor");
  verb.footer(
      "bash: source <(assay completion bash)\n"
      "zsh:  source <(assay completion zsh), behind compinit\n"
      "fish: assay completion fish | source\n"
      "example: assay completion words -- best --op ''");
  verb.runs([shell, words, program]() -> int {
    if (*shell == "words") return print_words(program, *words);
    for (const auto& [name, script] : kScripts) {
      if (*shell == name) print_out("{}", script);
    }
    return kExitDone;
  });
}

}  // namespace assay
