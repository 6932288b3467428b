// `assay completion bash`: what a shell offers behind a Tab, read off the parser itself.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/verbs.h"

namespace assay {
namespace {

/// The verbs of a command, and its long options.
std::string words_of(const Command& command) {
  std::string words;
  for (const Command& verb : command.commands()) words += verb.name() + ' ';
  for (const std::string& option : command.long_options()) words += option + ' ';
  words.pop_back();
  return words;
}

int print_bash(const Command& program) {
  print_out("_assay() {{\n  local words\n  case \"${{COMP_WORDS[1]}}\" in\n");
  for (const Command& verb : program.commands()) {
    print_out("    {}) words='{}' ;;\n", verb.name(), words_of(verb));
  }
  print_out(
      "  esac\n"
      "  [[ $COMP_CWORD -eq 1 ]] && words='{}'\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\")\n"
      "}}\n"
      "complete -o default -F _assay assay\n",
      words_of(program));
  return kExitDone;
}

}  // namespace

void add_completion(Command program) {
  Command verb =
      program.add_command("completion", "print what makes a shell complete assay's words");
  auto shell = std::make_shared<std::string>();
  verb.add_option("SHELL", *shell, "bash").required().one_of({"bash"});
  verb.footer("example: source <(assay completion bash)");
  verb.runs([shell, program] { return print_bash(program); });
}

}  // namespace assay
