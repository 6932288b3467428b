#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/terminal.h"
#include "base/text.h"

namespace assay {

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
  state_->words[option_] = words;
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
  return Command(*app_->add_subcommand(name, summary), *state_);
}

template <typename T>
Option Command::add_option(const std::string& name, T& value, const std::string& help) {
  const std::size_t blank = std::min(name.find(' '), name.size());
  CLI::Option* const option = app_->add_option(name.substr(0, blank), value, help);
  if (blank < name.size()) option->option_text(name.substr(blank + 1));
  // One that may be given several times takes one value each time. Else it would take the arguments
  // that follow, too.
  if (name.starts_with("--")) option->allow_extra_args(false);
  return Option(*option, *state_);
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
  return Option(*app_->add_flag(name, value, help), *state_);
}

void Command::passes_on(const std::string& prefix, std::vector<std::string>& values) {
  app_->allow_extras();
  app_->parse_complete_callback([app = app_, prefix, &values] {
    for (const std::string& word : app->remaining()) {
      if (!word.starts_with(prefix)) throw UsageError("unknown option {}; --help says more", word);
      values.push_back(word);
    }
  });
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::require_command() { app_->require_subcommand(1); }

void Command::runs(const Verb& verb) {
  app_->callback([state = state_, verb] { state->chosen = verb; });
}

std::string Command::name() const { return app_->get_name(); }

std::vector<Command> Command::commands() const {
  std::vector<Command> commands;
  for (CLI::App* app : app_->get_subcommands(nullptr)) commands.emplace_back(*app, *state_);
  return commands;
}

std::vector<std::string> Command::long_options() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Completion Command::completion(const std::vector<std::string>& before,
                               bool begins_with_dash) const {
  Command command = *this;
  const CLI::Option* pending = nullptr;  // the option whose value is next
  std::size_t num_arguments = 0;
  for (const std::string& word : before) {
    if (word == "=") continue;  // where the shell takes it for a word
    if (pending != nullptr) {
      pending = nullptr;
      continue;
    }
    if (word.starts_with('-')) {
      const CLI::Option* const option = command.app_->get_option_no_throw(word);
      if (option != nullptr && option->get_items_expected_max() > 0) pending = option;
      continue;
    }
    const std::vector<Command> verbs = command.commands();
    const auto verb =
        std::ranges::find_if(verbs, [&](const Command& each) { return each.name() == word; });
    if (verb == verbs.end()) ++num_arguments;
    if (verb != verbs.end()) command = *verb;
  }
  const auto words_of = [&](const CLI::Option* option) {
    const auto found = state_->words.find(option);
    return found == state_->words.end() ? std::vector<std::string>() : found->second;
  };
  if (pending != nullptr) return {pending->get_name(), words_of(pending)};
  if (begins_with_dash) return {"", command.long_options()};
  const auto arguments =
      command.app_->get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (!arguments.empty()) {
    const CLI::Option* const next = arguments[std::min(num_arguments, arguments.size() - 1)];
    return {command.name() + ' ' + next->get_name(), words_of(next)};
  }
  Completion completion;
  for (const Command& verb : command.commands()) completion.words.push_back(verb.name());
  if (completion.words.empty()) completion.words = command.long_options();
  return completion;
}

CommandLine::CommandLine(const std::string& summary, const std::string& name,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->set_version_flag("--version", version);
  app_->add_option("--color", color_, "colors: always, never or on a terminal; default: auto")
      ->option_text("always|never|auto")
      ->check(CLI::IsMember({"always", "never", "auto"}));
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() { return Command(*app_, state_); }

Verb CommandLine::parse(int argc, char** argv) {
  // --color is the program's, and may stand behind a verb.
  std::vector<std::string> color, words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool is_color = word == "--color" || word.starts_with("--color=");
    (is_color ? color : words).push_back(word);
    if (word == "--color" && i + 1 < argc) color.emplace_back(argv[++i]);
  }
  if (words.empty()) words.emplace_back("--help");
  // CLI11 alone would say of an unknown verb, or verb of a verb, that a subcommand is required.
  Command command = program();
  for (std::size_t i = 0; !command.commands().empty(); ++i) {
    const std::vector<Command> commands = command.commands();
    std::vector<std::string> verbs;
    for (const Command& verb : commands) verbs.push_back(verb.name());
    if (i == words.size() && i > 0) {
      throw UsageError("{} needs one of {}", command.name(), fmt::join(verbs, ", "));
    }
    if (i == words.size() || words[i].starts_with('-')) break;
    const auto at = std::ranges::find(verbs, words[i]);
    if (at == verbs.end()) {
      throw UsageError("unknown verb \"{}\"{}", words[i], suggestion(words[i], verbs));
    }
    command = commands[static_cast<std::size_t>(at - verbs.begin())];
  }
  words.insert(words.begin(), color.begin(), color.end());
  std::reverse(words.begin(), words.end());  // as CLI11 reads a list
  try {
    app_->parse(words);
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> known = command.long_options();
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
      const std::string option = word->substr(0, word->find('='));
      if (!option.starts_with("--") || std::ranges::count(known, option) > 0) continue;
      const std::string near = nearest(option, known);
      throw UsageError("{} knows no option {}{}; --help says more", command.name(), option,
                       near.empty() ? "" : "; did you mean " + near + "?");
    }
    throw UsageError(std::string(error.what()) + "; --help says more");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      throw UsageError(std::string(error.what()) + "; --help says more");
    const int code = app_->exit(error);  // prints the help or the version
    return [code] { return code; };
  }
  if (color_ != "auto") set_color(color_ == "always");
  return state_.chosen;
}

}  // namespace assay
