#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay {

// The command line. CLI11 parses it, and only command.cpp includes CLI11: each file that does takes
// five seconds longer to compile.

/// What a verb does once its arguments have been read. Returns the exit code.
using Verb = std::function<int()>;

/// What the parts of a command line share.
struct CommandState {
  Verb chosen;
  std::map<const CLI::Option*, std::vector<std::string>> words;  // that a value must be one of
};

/// An option, or an argument that is known by its place. All it can do is say more about itself.
class Option {
 public:
  Option(CLI::Option& option, CommandState& state) : option_(&option), state_(&state) {}

  Option& required();
  Option& excludes(const Option& other);

  // What a value must be.
  Option& one_of(const std::vector<std::string>& words);
  Option& between(int low, int high = std::numeric_limits<int>::max());
  Option& existing_folder();
  /// `check` returns what is wrong with a value, or nothing.
  Option& check(const std::function<std::string(const std::string&)>& check);

 private:
  CLI::Option* option_;
  CommandState* state_;
};

/// What may follow on a command line.
struct Completion {
  /// The option, as "--op", or the argument of a verb, as "sweep FILE", whose value is next; empty:
  /// none.
  std::string value_of;
  std::vector<std::string> words;  // all that the parser knows
};

/// The program, a verb or a verb's verb. A copy is the same command.
class Command {
 public:
  Command(CLI::App& app, CommandState& state) : app_(&app), state_(&state) {}

  Command add_command(const std::string& name, const std::string& summary);
  /// The same of a verb with options, which `run` gets: the command, and the options to bind.
  template <class Options, class Run>
  std::pair<Command, Options*> add_verb(const std::string& name, const std::string& summary,
                                        const Run& run) {
    auto options = std::make_shared<Options>();
    Command verb = add_command(name, summary);
    verb.runs([options, run] { return run(*options); });
    return {verb, options.get()};
  }
  /// A name begins with -- or is that of an argument by its place. Behind a blank stands what
  /// stands for the value in the help, with its unit: "--timeout SECONDS". `value` keeps its
  /// default where the option is not given. command.cpp lists the types that a value may have.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& help);
  Option add_flag(const std::string& name, bool& value, const std::string& help);
  /// Further options whose names begin with `prefix` are put into `values` as they are.
  void passes_on(const std::string& prefix, std::vector<std::string>& values);
  /// Ends the help.
  void footer(const std::string& text);
  void require_command();
  /// What to do when the command line names this command.
  void runs(const Verb& verb);

  std::string name() const;
  std::vector<Command> commands() const;
  std::vector<std::string> long_options() const;  // "--db"
  /// What may follow behind these words: an option, if the next word begins with a dash.
  Completion completion(const std::vector<std::string>& before, bool begins_with_dash) const;

 private:
  CLI::App* app_;
  CommandState* state_;
};

/// The program's command line.
class CommandLine {
 public:
  CommandLine(const std::string& summary, const std::string& name, const std::string& version);
  ~CommandLine();

  Command program();
  /// Returns what the arguments ask for. Help and version it prints itself. What a verb throws
  /// never passes through the parser, since whoever calls this runs the verb. Sets the colors that
  /// --color asks for, which may stand anywhere. Throws UsageError.
  Verb parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  CommandState state_;
  std::string color_ = "auto";
};

}  // namespace assay
