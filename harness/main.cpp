// assay: parses the command line, runs one verb, and turns what the verb throws into a sentence and
// an exit code. `assay worker` is the process that holds the GPU; only the sweep starts it.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/verbs.h"
#include "report/entry_json.h"
#include "worker/worker_main.h"

namespace assay {
namespace {

/// The value after `--name` among the worker's arguments. Only this program writes them.
int worker_argument(int argc, char** argv, std::string_view name) {
  for (int i = 2; i + 1 < argc; ++i) {
    if (argv[i] != name) continue;
    if (const auto value = number_of<int>(argv[i + 1])) return *value;
  }
  throw UsageError("usage: assay worker --fd N --device INDEX (started by the sweep itself)");
}

/// A file that grows beyond `ulimit -f` is a write that fails, with a sentence, and no signal.
void fail_where_files_are_limited() { ::signal(SIGXFSZ, SIG_IGN); }

/// Opens standard streams that were closed, on /dev/null. Otherwise the next file or socket would
/// get the number of a standard stream, and a worker would lose it, since it gets its own streams.
/// To write to stdout still fails then, as it does for whoever closed it: lost output is no
/// success.
void open_closed_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR));
  }
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    if (argc > 3 && std::string_view(argv[2]) == "--launch") {
      return run_launch(argv[3], worker_argument(argc, argv, "--device"));
    }
    return run_worker(worker_argument(argc, argv, "--fd"), worker_argument(argc, argv, "--device"));
  }
  CommandLine command_line(
      "assay tunes and benchmarks CUDA kernels: no wrong kernel and no lucky sample can win,\n"
      "and nothing measured is lost.",
      "assay", "assay " ASSAY_VERSION);
  Command program = command_line.program();
  program.require_command();
  program.footer(
      "exit codes: 0 done; 1 the answer is no; 2 a mistake in the command or a file;\n"
      "3 the machine; 130 interrupted\n"
      "first steps: assay doctor; assay list; assay sweep sweeps/gemm.yaml; assay best");
  for (AddVerb* const add :
       {add_new,    add_list,    add_sweep,   add_judge,   add_check,     add_best,
        add_verify, add_show,    add_inspect, add_explain, add_profile,   add_compare,
        add_gate,   add_history, add_report,  add_export,  add_cover,     add_import,
        add_bench,  add_doctor,  add_db,      add_schema,  add_completion}) {
    add(program);
  }
  const Verb verb = command_line.parse(argc, argv);
  catch_interrupts();
  return verb();
}

/// The sentence that goes with an exception, and the exit code.
struct Failure {
  std::string message;
  ExitCode code;
};

Failure describe(const std::exception& error) {
  if (dynamic_cast<const UsageError*>(&error)) return {error.what(), kExitUsage};
  if (dynamic_cast<const Interrupted*>(&error)) return {error.what(), kExitInterrupted};
  if (dynamic_cast<const std::bad_alloc*>(&error)) return {"out of memory", kExitMachine};
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return {fmt::format("{}: {}", file->path1().string(), file->code().message()),
            is_mistake(file->code()) ? kExitUsage : kExitMachine};
  }
  return {error.what(), kExitMachine};
}

/// The beginning and the end of a message that quotes too much, such as an expression of 200,000
/// names.
std::string shortened(const std::string& message) {
  constexpr std::size_t kBegin = 12'000, kEnd = 4'000;
  if (message.size() <= kBegin + kEnd) return message;
  return fmt::format("{} [{} bytes are left out] {}", message.substr(0, kBegin),
                     message.size() - kBegin - kEnd, message.substr(message.size() - kEnd));
}

/// Says what went wrong. Whoever asked for JSON gets a document also then, where stdout takes one.
int fail(const std::exception& error, bool json) {
  if (dynamic_cast<const Reported*>(&error)) {
    try {
      std::rethrow_if_nested(error);
    } catch (const std::exception& cause) {
      return fail(cause, false);
    }
  }
  const Failure failure = describe(error);
  const std::string message = shortened(failure.message);
  print_err("assay: {}\n", message);
  if (json && std::ferror(stdout) == 0) {
    write_out(document("error", {{"error", message}}));
  }
  return failure.code;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::open_closed_streams();
  assay::fail_where_files_are_limited();
  const bool json =
      std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--json"; });
  try {
    try {
      const int code = assay::run(argc, argv);
      // The library that parses the command line prints its help by itself.
      assay::check_out();
      return code;
    } catch (const std::exception& error) {
      return assay::fail(error, json);
    }
  } catch (const std::exception& error) {
    return assay::fail(error, false);
  }
}
