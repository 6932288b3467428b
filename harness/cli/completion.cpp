// `assay completion bash`: what a shell offers behind a Tab, read off the parser itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/verbs.h"

namespace assay {
namespace {

/// The verbs below `app`, and its long options.
std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) words += verb->get_name() + ' ';
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + ' ';
  }
  words.pop_back();
  return words;
}

int print_bash(const CLI::App& app) {
  print_out("_assay() {{\n  local words\n  case \"${{COMP_WORDS[1]}}\" in\n");
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    print_out("    {}) words='{}' ;;\n", verb->get_name(), words_of(*verb));
  }
  print_out(
      "  esac\n"
      "  [[ $COMP_CWORD -eq 1 ]] && words='{}'\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\")\n"
      "}}\n"
      "complete -o default -F _assay assay\n",
      words_of(app));
  return kExitDone;
}

}  // namespace

void add_completion(CLI::App& app, Verb& run) {
  CLI::App* verb =
      app.add_subcommand("completion", "print what makes a shell complete assay's words");
  auto shell = std::make_shared<std::string>();
  verb->add_option("SHELL", *shell, "bash")->required()->check(CLI::IsMember({"bash"}));
  verb->footer("example: source <(assay completion bash)");
  verb->callback([shell, &app, &run] { run = [shell, &app] { return print_bash(app); }; });
}

}  // namespace assay
