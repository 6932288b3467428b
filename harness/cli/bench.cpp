// `assay bench` is a program of its own, assay_bench: Google Benchmark is a shared library in
// Debian, and assay has to start also where there is none.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "cli/bench_options.h"
#include "cli/include_path.h"
#include "cli/verbs.h"

namespace assay {
namespace {

/// This process's own arguments, without the first, which is the program.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.erase(words.begin());
  return words;
}

int start_bench() {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "assay_bench";
  std::vector<std::string> words = own_arguments();
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  throw Error("cannot start {}: {}; ninja -C build assay_bench makes it", program.string(),
              std::generic_category().message(errno));
}

}  // namespace

void add_bench(Command program, const std::function<int(const BenchOptions&)>& run) {
  auto [verb, options] = program.add_verb<BenchOptions>(
      "bench", "run the winners and their baselines under Google Benchmark", run);
  verb.add_option("--db PATH[#SWEEP]", options->db,
                  "database, recording (.jsonl), or one sweep of it by name or number; default: "
                  "results/assay.db");
  add_run_filter(verb, options->filter);
  verb.add_flag("--replay", options->replay,
                "answer with the stored times also where there is a GPU");
  add_kernel_folders(verb, *options);
  verb.passes_on("--benchmark_", options->google);
  verb.footer(
      "Options of Google Benchmark's own, such as --benchmark_filter=REGEX,\n"
      "--benchmark_repetitions=N, --benchmark_format=json and --benchmark_out=FILE, are passed "
      "on.\n"
      "Without a GPU the stored times are replayed, and the context says so.\n"
      "example: assay bench --benchmark_filter='best/M:16/' --benchmark_repetitions=5");
}

void add_bench(Command program) {
  add_bench(program, [](const BenchOptions&) { return start_bench(); });
}

}  // namespace assay
