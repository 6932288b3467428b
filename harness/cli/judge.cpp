// `assay judge OP SUBMISSION...`: what a kernel of an op is worth. Each problem is a sweep of the
// submission, beside the best kernel that the database knows.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/board.h"
#include "cli/figure_source.h"
#include "cli/include_path.h"
#include "cli/results.h"
#include "cli/sweep_target.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "device/gpu_device.h"
#include "report/entry_json.h"
#include "report/judged_kernel.h"
#include "report/tuned_table.h"
#include "space/space.h"
#include "spec/op_file.h"
#include "spec/twins.h"
#include "tuner/kernel_version.h"
#include "tuner/sweep_run.h"
#include "tuner/tuner.h"
#include "tuner/verifier.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// A sweep may not lose a minute on each of its configurations; a submission is one, or few. A
// kernel of CuTe took 58 s of a 2.5 GHz processor.
constexpr double kCompileTimeoutS = 300;

struct JudgeOptions : KernelFolders {
  std::string op;
  std::vector<std::string> submissions;
  std::string hidden;
  std::string db = "results/assay.db";
  std::string board;
  std::string device;
  std::string arch;
  bool full = false;
  bool json = false;
  bool trace = false;
};

Target target_of(const JudgeOptions& options, Compiler& compiler) {
  std::string why;
  const std::vector<int> gpus = choose_gpus(options.device, why);
  if (gpus.size() == 1) return gpu_target(gpus.front(), compiler);
  if (options.device == "none") return target_without_gpu("none", options.arch, {}, {}, {}, "");
  throw Error(why.empty() ? "--device: expected one GPU, or none"
                          : why +
                                "; --device none only compiles, and assay check runs kernels on "
                                "the CPU");
}

class Judge {
 public:
  /// `board` may be null.
  Judge(const JudgeOptions& options, fs::path kernels, fs::path op_path, Compiler& compiler,
        const Target& target, const Board* board)
      : options_(options),
        kernels_(std::move(kernels)),
        op_path_(std::move(op_path)),
        compiler_(compiler),
        target_(target),
        board_(board) {}

  /// A mistake in what was handed in makes it wrong. Throws UsageError for one in the hidden
  /// problems.
  std::vector<JudgedKernel> judge(const std::string& submission) const {
    const WorkFolder work;
    try {
      const fs::path contract = fs::absolute(contract_of(submission, op_path_, work.path()));
      std::vector<JudgedKernel> judged;
      for (const KernelSpec& kernel : load_twins(contract, op_path_)) {
        if (options_.op != op_path_.stem() && options_.op != kernel.op) continue;
        judged.push_back({submission, kernel.op, kernel.name});
        judged.back().device = target_.device->info().name;
        judged.back().nvrtc_version = compiler_.nvrtc_version();
        if (board_) {
          judge_for_board(kernel, judged.back());
        } else {
          Store store = Store::in_memory();
          judge(kernel, store, {}, judged.back());
        }
      }
      if (judged.empty()) throw UsageError("expected a kernel of " + options_.op);
      return judged;
    } catch (const HiddenMistake& mistake) {
      throw UsageError(mistake.message);
    } catch (const UsageError& error) {
      JudgedKernel judged{submission, options_.op};
      fail(judged, "contract", "", error.what());
      return {judged};
    }
  }

 private:
  static void fail(JudgedKernel& judged, std::string_view status, const std::string& kind,
                   const std::string& message) {
    judged.verdict = Verdict::wrong;
    judged.status = status;
    judged.kind = kind;
    judged.message = message;
  }

  /// What a trial says of a problem may name its sizes: elements, launches, lines of the compiler.
  static void fail_on(const JudgedProblem& problem, JudgedKernel& judged, std::string_view status,
                      const std::string& kind, const std::string& message) {
    judged.failed = problem;
    fail(judged, status, kind,
         problem.hidden == 0 ? message : "no more is told of a hidden problem");
  }

  /// A correct one stays on the board. One whose code is there already is not judged again.
  void judge_for_board(KernelSpec kernel, JudgedKernel& judged) const {
    const std::vector<fs::path> include = include_of(kernel);
    Store store = board_->open();
    board_->forget_unkept(store, kernel.op);
    const std::string code = code_of(kernel, target_, compiler_, include);
    if (!code.empty()) kernel.name = judged.board = board_->name_of(kernel, code);
    const Filter filter{.op = kernel.op, .kernel = kernel.name, .status = Status::correct};
    const std::vector<TrialRow> trials = store.results(filter).trials;
    judged.is_known = std::ranges::any_of(trials, [&](const TrialRow& row) {
      return row.device == target_.device->info() &&
             row.record.toolchain.nvrtc == compiler_.nvrtc_version();
    });
    if (judged.is_known) return;
    judge(kernel, store, board_->kernels(kernel.op, op_path_), judged);
    if (judged.verdict == Verdict::correct) {
      board_->keep(kernel, include);
    } else {
      store.forget_kernel(kernel.name);
      judged.board.clear();
    }
  }

  void judge(const KernelSpec& kernel, Store& store, const std::vector<KernelSpec>& others,
             JudgedKernel& judged) const {
    for (const ArgSpec& arg : kernel.args) {
      const auto* const buffer = std::get_if<BufferSpec>(&arg.form);
      if (buffer && buffer->role == Role::in) judged.inputs.push_back(arg.name);
    }
    if (target_.compile_only) judged.verdict = Verdict::compiled;
    for (JudgedProblem& problem : problems_of(kernel, options_.hidden)) {
      try {
        sweep(kernel, problem, store, others, judged);
      } catch (const UsageError&) {
        if (problem.hidden == 0) throw;
        fail_on(problem, judged, "contract", "", "");
      }
      if (judged.verdict == Verdict::wrong) return;
      judged.problems.push_back(std::move(problem));
    }
    if (!target_.compile_only) verify(kernel, store, judged);
  }

  SweepRun::Options run_options(const std::vector<fs::path>& include) const {
    return {include, target_.arch, "assay judge", kernels_, "", target_.compile_only, false, true};
  }

  std::vector<fs::path> include_of(const KernelSpec& kernel) const {
    std::vector<fs::path> include = include_path(kernels_, options_.include);
    include.insert(include.begin(), kernel.yaml_path.parent_path());
    return include;
  }

  /// One problem: all configurations of the submission, then the re-rank.
  void sweep(const KernelSpec& kernel, JudgedProblem& problem, Store& store,
             const std::vector<KernelSpec>& others, JudgedKernel& judged) const {
    SweepSpec sweep;
    sweep.name = "judge";
    sweep.yaml_path = kernel.yaml_path;
    sweep.kernels.push_back(kernel);
    if (auto known = best_known(kernel, problem.problem)) {
      sweep.kernels.push_back(*std::move(known));
    }
    sweep.problems.push_back(problem.problem);
    Progress progress(Progress::Mode::silent);
    SweepRun::Options run = run_options(include_of(kernel));
    run.others = others;
    Tuner(sweep, *target_.device, compiler_, store, progress, std::move(run)).run();
    Filter filter = SweepRun::filter(kernel.op, problem.problem);
    filter.kernel = kernel.name;
    const TrialRow* best = nullptr;
    const std::vector<TrialRow> trials = store.trials(filter);
    for (const TrialRow& row : trials) {
      if (row.record.problem != problem.problem || row.device != target_.device->info()) continue;
      ++judged.num_configs;
      const Outcome& outcome = row.record.outcome;
      if (is_failure(outcome.status)) {
        ++judged.num_failed;
      } else if (!best || (outcome.timing &&
                           outcome.timing->median_ns < best->record.outcome.timing->median_ns)) {
        best = &row;
      }
    }
    if (!best) {
      if (trials.empty()) {
        fail_on(problem, judged, to_text(Status::constraints), "",
                "the constraints leave no configuration");
        return;
      }
      problem.config = trials.back().record.config;
      const Outcome outcome = store.trial(trials.back().id)->record.outcome;
      fail_on(problem, judged, to_text(outcome.status), outcome.kind, outcome.message);
      return;
    }
    problem.config = best->record.config;
    if (const auto& validation = best->record.outcome.validation) {
      problem.relative_error = validation->relative_error;
    }
    if (target_.compile_only) return;
    compare(kernel, store, problem);
    if (problem.hidden > 0) return;
    explain_time(kernel, *best, judged.kernel, problem);
  }

  /// The times of the last re-rank that the submission took part in.
  void compare(const KernelSpec& kernel, const Store& store, JudgedProblem& problem) const {
    const std::vector<RankRow> ranks = store.ranks(SweepRun::filter(kernel.op, problem.problem));
    for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank) {
      if (rank->record.problem != problem.problem || rank->device != target_.device->info())
        continue;
      if (add_times(problem, rank->record, kernel.name)) return;
    }
  }

  /// What the time is made of, where the contract is found again by the kernel's name.
  void explain_time(const KernelSpec& kernel, TrialRow row, const std::string& name,
                    JudgedProblem& problem) const {
    row.record.kernel.name = name;  // on a board it has another one
    try {
      FigureSource source(kernel.yaml_path.parent_path().string(), options_.include);
      problem.explanation = explain(source.of_trial(row, FigureSource::Code::leave)).headline;
    } catch (const UsageError&) {  // its op's file lies elsewhere
    }
  }

  void verify(const KernelSpec& kernel, Store& store, JudgedKernel& judged) const {
    const std::vector<fs::path> include = include_of(kernel);
    auto& gpu = static_cast<GpuDevice&>(*target_.device);  // no other device runs kernels here
    LoneRun lone(gpu, compiler_, store, run_options(include));
    lone.run.versions[kernel.name] = version_of(kernel, include);
    const Verifier::Counts quick{2, 20, false};
    Verifier verifier(lone.run, gpu, options_.full ? Verifier::Counts() : quick);
    for (const JudgedProblem& problem : judged.problems) {
      const Verification found =
          verifier.verify(kernel, problem.problem, problem.config, [](const auto&) {});
      for (VerificationCheck check : found.checks) {
        if (problem.hidden > 0) check.message.clear();
        judged.checks.push_back(std::move(check));
      }
      if (const VerificationCheck* failure = found.failure()) {
        fail_on(problem, judged, to_text(Status::correctness), failure->name, failure->message);
        return;
      }
      if (!options_.full) return;
    }
  }

  /// The best kernel that the database knows for the problem on this device, with its parameters
  /// as they won.
  std::optional<KernelSpec> best_known(const KernelSpec& kernel, const Problem& problem) const {
    if (target_.compile_only || !fs::exists(options_.db)) return std::nullopt;
    const Store store = Store::open_readonly(options_.db);
    Filter filter = SweepRun::filter(kernel.op, problem);
    filter.status = Status::correct;
    for (const TunedTable& table :
         tuned_tables(store.results(filter, TunedTrials()), Screened::show)) {
      if (table.device != target_.device->info()) continue;
      for (const TunedRow& row : table.entries) {
        if (row.problem != problem || row.best.kernel == kernel.name) continue;
        std::optional<KernelSpec> found = find_kernel(kernels_, row.best.kernel);
        if (!found || found->params.size() != row.best.config.size()) continue;
        return with_values_of(row.best.config, *std::move(found));
      }
    }
    return std::nullopt;
  }

  const JudgeOptions& options_;
  fs::path kernels_;
  fs::path op_path_;
  Compiler& compiler_;
  const Target& target_;
  const Board* board_;
};

std::string told(const JudgedKernel& judged, const JudgeOptions& options) {
  if (options.trace) return trace_lines(judged, now_utc());
  return options.json ? document("judge", judged_json(judged)) : judged_text(judged);
}

/// How kernels of the op, or of all its types, stand on the board.
std::string told_standings(const JudgeOptions& options, const fs::path& op_path) {
  const Store store = Board(options.board).read();
  const std::vector<std::string> ops =
      options.op == op_path.stem() ? op_names(op_path) : std::vector<std::string>{options.op};
  std::vector<Standing> standings;
  for (const std::string& op : ops) {
    std::ranges::move(standings_of(store.results({.op = op})), std::back_inserter(standings));
  }
  return options.json ? document("board", {{"standings", standings_json(standings)}})
                      : standings_text(standings, stdout_terminal());
}

int run_judge(const JudgeOptions& options) {
  if (options.submissions.empty() && options.board.empty()) {
    throw UsageError("judge: expected a SUBMISSION, or --board DIR for what it holds; found none");
  }
  if (options.trace && options.device == "none") {
    throw UsageError("--trace: expected a GPU, for a trace tells of a run; found --device none");
  }
  const fs::path kernels = kernel_folder(options.kernels);
  const fs::path op_path = op_file(options.op, kernels);
  if (options.submissions.empty()) {
    write_out(told_standings(options, op_path));
    return kExitDone;
  }
  if (!options.board.empty() && options.device == "none") {
    throw UsageError("--board: expected a GPU, for a board has times; found --device none");
  }
  NvrtcCompiler compiler({cache_directory(), 0, kCompileTimeoutS, true});
  const Target target = target_of(options, compiler);
  std::optional<Board> board;
  if (!options.board.empty()) board = Board::for_judging(options.board);
  const Judge judge(options, kernels, op_path, compiler, target, board ? &*board : nullptr);
  int code = kExitDone;
  for (const std::string& submission : options.submissions) {
    for (const JudgedKernel& judged : judge.judge(submission)) {
      if (judged.verdict == Verdict::wrong) code = kExitNo;
      write_out(told(judged, options));
    }
  }
  if (board && !options.trace) {
    if (!options.json) write_out("\n");
    write_out(told_standings(options, op_path));
  }
  return code;
}

}  // namespace

void add_judge(Command program) {
  auto [verb, options] = program.add_verb<JudgeOptions>(
      "judge", "whether kernels of an op are right, and how fast beside its baselines", run_judge);
  verb.add_option("OP", options->op, "the op, such as gemm_bf16, or gemm for all of its types")
      .required();
  verb.add_option("SUBMISSION", options->submissions,
                  "a contract or the .cu beside it, a folder with one, or a Solution (.json)");
  const Option board =
      verb.add_option("--board DIR", options->board,
                      "keep correct kernels here and print how they stand; without SUBMISSION, "
                      "only print it");
  verb.add_option("--hidden FILE", options->hidden, "a file with further problems, told to nobody")
      .excludes(board);
  verb.add_option("--db PATH", options->db,
                  "a database whose best kernels take part; default: results/assay.db");
  verb.add_option("--device 0|none", options->device,
                  "a GPU by index, or none, to compile only; default: 0");
  verb.add_option("--arch " + known_archs("|"), options->arch,
                  "with --device none: what to compile for; default: 90a");
  add_kernel_folders(verb, *options);
  verb.add_flag("--full", options->full,
                "verify all problems as assay verify does; default: a quick look at the smallest");
  verb.add_flag("--json", options->json, "print a JSON document for each submission");
  verb.add_flag("--trace", options->trace,
                "print a Trace of flashinfer-bench for each public problem, a line of JSON each");
  verb.footer(
      "example: assay judge gemm_f32 my_gemm.cu\n"
      "exit code 0 when all are correct, 1 when one is wrong");
}

}  // namespace assay
