#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"

namespace assay {

Option& Option::placeholder(const std::string& text) {
  option_->option_text(text);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::between(int low, int high) {
  option_->check(CLI::Range(low, high));
  return *this;
}

Option& Option::existing_folder() {
  option_->check(CLI::ExistingDirectory);
  return *this;
}

Option& Option::check(const std::function<std::string(const std::string&)>& check) {
  option_->check(check);
  return *this;
}

Command Command::add_command(const std::string& name, const std::string& summary) {
  return Command(*app_->add_subcommand(name, summary), *chosen_);
}

template <typename T>
Option Command::add_option(const std::string& name, T& value, const std::string& help) {
  CLI::Option* const option = app_->add_option(name, value, help);
  // One that may be given several times takes one value each time. Else it would take the arguments
  // that follow, too.
  if (name.starts_with("--")) option->allow_extra_args(false);
  return Option(*option);
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::string>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, std::size_t&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::int64_t>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);

Option Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  return Option(*app_->add_flag(name, value, help));
}

void Command::passes_on(const std::string& prefix, std::vector<std::string>& values) {
  app_->allow_extras();
  app_->parse_complete_callback([app = app_, prefix, &values] {
    for (const std::string& word : app->remaining()) {
      if (!word.starts_with(prefix)) {
        throw UsageError(fmt::format("unknown option {}; --help says more", word));
      }
      values.push_back(word);
    }
  });
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::require_command() { app_->require_subcommand(1); }

void Command::runs(const Verb& verb) {
  app_->callback([chosen = chosen_, verb] { *chosen = verb; });
}

std::string Command::name() const { return app_->get_name(); }

std::vector<Command> Command::commands() const {
  std::vector<Command> commands;
  for (CLI::App* app : app_->get_subcommands(nullptr)) commands.emplace_back(*app, *chosen_);
  return commands;
}

std::vector<std::string> Command::long_options() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

CommandLine::CommandLine(const std::string& summary, const std::string& name,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() { return Command(*app_, chosen_); }

Verb CommandLine::parse(int argc, char** argv) {
  // CLI11 alone would say of an unknown verb, or verb of a verb, that a subcommand is required.
  Command command = program();
  for (int i = 1; !command.commands().empty(); ++i) {
    const std::vector<Command> commands = command.commands();
    std::vector<std::string> verbs;
    for (const Command& verb : commands) verbs.push_back(verb.name());
    if (i == argc && i > 1) {
      throw UsageError(fmt::format("{} needs one of {}", command.name(), fmt::join(verbs, ", ")));
    }
    if (i == argc || argv[i][0] == '-') break;
    const auto at = std::find(verbs.begin(), verbs.end(), argv[i]);
    if (at == verbs.end()) {
      throw UsageError(fmt::format("unknown verb \"{}\"{}", argv[i], suggestion(argv[i], verbs)));
    }
    command = commands[static_cast<std::size_t>(at - verbs.begin())];
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      throw UsageError(std::string(error.what()) + "; --help says more");
    const int code = app_->exit(error);  // prints the help or the version
    return [code] { return code; };
  }
  return chosen_;
}

}  // namespace assay
