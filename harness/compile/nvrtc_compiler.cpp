#include "compile/nvrtc_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "base/cubin_info.h"
#include "base/error.h"
#include "base/hash.h"
#include "compile/compile_process.h"
#include "compile/compiler_log.h"
#include "compile/cubin_cache.h"
#include "compile/definitions.h"
#include "compile/nvrtc.h"
#include "compile/precompiled_headers.h"
#include "compile/source_tree.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for any error. A failed template can write megabytes.
constexpr std::size_t kMaxLogBytes = 64 << 10;
// Of its time. A compiler that waits for longer on end is replaced once.
constexpr double kMostWaitRatio = 1.0 / 6;

CompileResult failure(std::string log) {
  CompileResult result;
  result.log = std::move(log);
  return result;
}

int num_threads_of(const CompilerOptions& options) {
  if (options.num_threads > 0) return options.num_threads;
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

CompileProcess::Limits limits_of(const CompilerOptions& options) {
  if (options.memory_bytes > 0) return {options.timeout_s, options.memory_bytes};
  return {options.timeout_s, compile_memory_bytes(machine_memory_bytes(), num_threads_of(options))};
}

void remove_all(std::string& text, std::string_view word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    text.erase(at, word.size());
  }
}

void limit_size(std::string& log) {
  if (log.size() <= kMaxLogBytes) return;
  const std::size_t num_bytes_left_out = log.size() - kMaxLogBytes;
  log.resize(kMaxLogBytes);
  log += fmt::format("\n({} more bytes left out)", num_bytes_left_out);
}

/// What a job is compiled from, and the name of its result in the cache.
struct Work {
  const CompileJob& job;
  SourceTree source;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> headers = {};  // the source's and our own
  std::string key = {};
  std::string leading_includes = {};  // see Nvrtc::Unit
};

Work prepare(const CompileJob& job, const Nvrtc& nvrtc, bool for_emulator) {
  Work work{job, SourceTree::read(job.source, job.include_directories),
            compile_options(job.arch, job.settings)};
  nvrtc.check_arch(job.arch);
  const std::vector<Definition> definitions = definitions_of(job.config, job.settings);
  if (job.for_reading || for_emulator) work.options.push_back("--generate-line-info");
  Hasher hasher;
  hasher.add("cubin 4").add(nvrtc.identity()).add(work.source.hash);
  for (const std::string& option : work.options) hasher.add(option);
  for (const auto& [name, text, is_integer] : definitions) hasher.add("define").add(name).add(text);
  for (const std::string& entry : job.entries) hasher.add("entry").add(entry);
  if (for_emulator) hasher.add("ptx behind");
  work.key = hasher.hex();
  work.headers = definition_headers(definitions, work.source);
  work.headers.insert(work.headers.end(), work.source.headers.begin(), work.source.headers.end());
  work.leading_includes = leading_includes(work.source);
  if (!work.leading_includes.empty() && reach_toolkit(definitions, work.source)) {
    work.leading_includes.clear();
  }
  const auto& toolkit = nvrtc.toolkit_options();
  work.options.insert(work.options.end(), toolkit.begin(), toolkit.end());
  // The tree has what is included in sight. What is not is found here, to be refused.
  for (const auto& folder : job.include_directories) {
    work.options.push_back("-I" + std::filesystem::absolute(folder).lexically_normal().string());
  }
  return work;
}

/// A header that NVRTC read from the disk and that is not the toolkit's. The key does not know of
/// it, and it may be any file at all.
std::optional<std::string> find_foreign(const std::vector<std::string>& headers,
                                        const SourceTree& source, const Nvrtc& nvrtc) {
  for (const std::string& header : headers) {
    if (header == source.name || source.headers.contains(header)) continue;
    if (!nvrtc.owns_header(header)) return header;
  }
  return std::nullopt;
}

/// A job that a thread has taken. Guarded by the pool's mutex.
struct Task {
  std::vector<std::promise<CompileResult>> waiting;  // empty once they are answered
  std::string key;
  CompileProcess* process = nullptr;  // while it compiles
  bool cancelled = false;

  void answer(const CompileResult& result) {
    for (auto& promise : waiting) promise.set_value(result);
    waiting.clear();
  }
  void answer(const std::exception_ptr& error) {
    for (auto& promise : waiting) promise.set_exception(error);
    waiting.clear();
  }
};

}  // namespace

/// The queue and the threads that empty it, each with a process to compile in.
class NvrtcCompiler::Pool {
 public:
  explicit Pool(CompilerOptions options);
  ~Pool();

  std::future<CompileResult> submit(CompileJob job);
  void cancel();

  const Nvrtc& nvrtc() const { return nvrtc_; }
  int num_threads() const { return static_cast<int>(threads_.size()); }

  const std::string common_options = fmt::format("{}", fmt::join(assay::common_options(), " "));

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Queued {
    CompileJob job;
    std::promise<CompileResult> promise;
  };

  void stop();
  void cancel_locked();
  bool may_go_ahead() const;
  void run_thread();
  CompileResult run(const CompileJob& job, Task& task, std::optional<CompileProcess>& process);
  CompileResult compile(const Work& work, Task& task, std::optional<CompileProcess>& process);
  CompileProcess::Result compile_once(const Work& work, Task& task,
                                      std::optional<CompileProcess>& process,
                                      const CompileProcess::Limits& limits);
  CompileResult to_result(CompileProcess::Result compiled, const Work& work) const;
  bool join_same(Task& task, const std::string& key);
  bool has_compiled(const std::string& key);

  const CompilerOptions options_;
  const CompileProcess::Limits limits_;
  const CubinCache cache_;
  const Nvrtc nvrtc_;
  std::mutex mutex_;
  std::condition_variable queue_changed_;
  std::deque<Queued> queue_, ahead_;
  int num_ahead_ = 0;  // of those ahead that are under way
  std::list<Task> tasks_;
  std::set<std::string> compiled_;  // keys of what is in the cache since
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

NvrtcCompiler::Pool::Pool(CompilerOptions options)
    : options_(std::move(options)), limits_(limits_of(options_)), cache_(options_.cache_directory) {
  try {
    for (int i = 0; i < num_threads_of(options_); ++i) {
      threads_.emplace_back([this] { run_thread(); });
    }
  } catch (const std::system_error& error) {
    stop();
    throw Error("cannot start a thread to compile on: {}", error.what());
  }
}

NvrtcCompiler::Pool::~Pool() { stop(); }

void NvrtcCompiler::Pool::stop() {
  {
    const Lock lock(mutex_);
    closing_ = true;
    cancel_locked();
    queue_changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::future<CompileResult> NvrtcCompiler::Pool::submit(CompileJob job) {
  Queued queued{std::move(job), {}};
  std::future<CompileResult> future = queued.promise.get_future();
  const Lock lock(mutex_);
  (queued.job.is_ahead ? ahead_ : queue_).push_back(std::move(queued));
  queue_changed_.notify_one();
  return future;
}

void NvrtcCompiler::Pool::cancel() {
  const Lock lock(mutex_);
  cancel_locked();
}

void NvrtcCompiler::Pool::cancel_locked() {
  const CompileResult cancelled = failure("compile cancelled");
  for (std::deque<Queued>* const queue : {&queue_, &ahead_}) {
    for (Queued& queued : *queue) queued.promise.set_value(cancelled);
    queue->clear();
  }
  for (Task& task : tasks_) {
    task.cancelled = true;
    task.answer(cancelled);
    if (task.process != nullptr) task.process->kill();
  }
}

/// Whether a thread may take a job that nobody waits for. One thread stays free of them: with all
/// threads busy, a re-rank waited 1.2 s for code that was in the cache (16 cores).
bool NvrtcCompiler::Pool::may_go_ahead() const {
  return !ahead_.empty() && num_ahead_ < std::max(num_threads_of(options_) - 1, 1);
}

void NvrtcCompiler::Pool::run_thread() {
  std::optional<CompileProcess> process;  // started when first needed: a cached sweep needs none
  for (;;) {
    CompileJob job;
    std::list<Task>::iterator task;
    {
      Lock lock(mutex_);
      queue_changed_.wait(lock, [this] { return closing_ || !queue_.empty() || may_go_ahead(); });
      if (closing_) return;
      std::deque<Queued>& queue = queue_.empty() ? ahead_ : queue_;
      if (queue_.empty()) ++num_ahead_;
      task = tasks_.emplace(tasks_.end());
      task->waiting.push_back(std::move(queue.front().promise));
      job = std::move(queue.front().job);
      queue.pop_front();
    }
    CompileResult result;
    std::exception_ptr error;
    try {
      result = run(job, *task, process);
    } catch (...) {
      error = std::current_exception();
    }
    // Answer and leave the list in one step. Otherwise a second job could join a task that has
    // already answered.
    const Lock lock(mutex_);
    if (error) {
      task->answer(error);
    } else {
      task->answer(result);
    }
    tasks_.erase(task);
    if (job.is_ahead) --num_ahead_;
  }
}

CompileResult NvrtcCompiler::Pool::run(const CompileJob& job, Task& task,
                                       std::optional<CompileProcess>& process) {
  try {
    const Work work = prepare(job, nvrtc_, options_.for_emulator);
    if (join_same(task, work.key)) return {};
    if (options_.use_cache || has_compiled(work.key)) {
      if (auto cached = cache_.find(work.key)) return *std::move(cached);
    }
    return compile(work, task, process);
  } catch (const UsageError& mistake) {
    return failure(mistake.what());
  }
}

/// If another task compiles the same key, hands over to it whoever waits for `task`, and returns
/// true. Otherwise gives `task` the key.
bool NvrtcCompiler::Pool::join_same(Task& task, const std::string& key) {
  const Lock lock(mutex_);
  for (Task& other : tasks_) {
    if (other.key != key || other.cancelled) continue;
    std::move(task.waiting.begin(), task.waiting.end(), std::back_inserter(other.waiting));
    task.waiting.clear();
    return true;
  }
  task.key = key;
  return false;
}

CompileResult NvrtcCompiler::Pool::compile(const Work& work, Task& task,
                                           std::optional<CompileProcess>& process) {
  const Clock::time_point start = Clock::now();
  const bool is_used = process.has_value();
  CompileProcess::Limits limits = limits_;
  limits.waiting_s = kMostWaitRatio * limits.running_s;
  CompileProcess::Result compiled = compile_once(work, task, process, limits);
  // What it compiled before may have broken it or filled it, and who kills it may do so once. Only
  // what crashes a new one, too, is of this source. Who waits may wait for a slow disk: the new one
  // has all of its time.
  using End = CompileProcess::End;
  const bool died = compiled.end == End::death || compiled.end == End::stuck;
  if (died || (is_used && compiled.end == End::memory)) {
    compiled = compile_once(work, task, process, limits_);
  }
  const std::chrono::duration<double, std::milli> time = Clock::now() - start;

  CompileResult result = to_result(std::move(compiled), work);
  result.report.compile_ms = time.count();
  if (result.ok) {
    const Lock lock(mutex_);
    compiled_.insert(work.key);
  }
  return result;
}

bool NvrtcCompiler::Pool::has_compiled(const std::string& key) {
  const Lock lock(mutex_);
  return compiled_.contains(key);
}

/// Afterwards there is a process only if it is fit for the next job.
CompileProcess::Result NvrtcCompiler::Pool::compile_once(const Work& work, Task& task,
                                                         std::optional<CompileProcess>& process,
                                                         const CompileProcess::Limits& limits) {
  if (!process) process.emplace(nvrtc_);
  {
    const Lock lock(mutex_);
    if (task.cancelled) return {};
    task.process = &*process;
  }
  CompileProcess::Result compiled = process->compile(
      {work.source.name, work.source.text, work.headers, work.options, work.job.entries,
       work.job.for_reading || options_.for_emulator, kDefinitionsHeader, work.leading_includes},
      limits);
  const Lock lock(mutex_);
  task.process = nullptr;
  // cancel() may have killed the process even after it answered, so do not use it again.
  if (compiled.end != CompileProcess::End::done || task.cancelled) process.reset();
  return compiled;
}

CompileResult NvrtcCompiler::Pool::to_result(CompileProcess::Result compiled,
                                             const Work& work) const {
  CompileResult result;
  switch (compiled.end) {
    case CompileProcess::End::timeout:
    case CompileProcess::End::stuck:
      result.kind = "timeout";
      result.log = fmt::format("compile took longer than its limit of {} s", limits_.running_s);
      return result;
    case CompileProcess::End::memory:
      result.kind = "memory";
      result.log = fmt::format(
          "compile took more memory than its limit of {} MiB, a share of the machine's; fewer "
          "--threads have more each",
          limits_.memory_bytes >> 20);
      return result;
    case CompileProcess::End::death:
      result.kind = compiled.killed ? "killed" : "crash";
      result.log = compiled.killed ? fmt::format("the compiler died of {}", compiled.cause_of_death)
                                   : fmt::format("NVRTC crashed on this source, twice: {}",
                                                 compiled.cause_of_death);
      return result;
    case CompileProcess::End::done:
      break;
  }
  if (const auto header = find_foreign(compiled.headers, work.source, nvrtc_)) {
    // The log is left out: it quotes the file.
    result.log = fmt::format(
        "{}: includes {} in a way that hides it; write #include \"...\" on a line of its own, with "
        "a path that is relative to this file or to an include directory",
        work.source.name, *header);
    return result;
  }
  result.log = take_ptxas_report(compiled.output.log, result.report);
  remove_all(result.log, SourceTree::kPrefix);
  limit_size(result.log);
  result.ok = compiled.output.ok;
  if (compiled.output.out_of_memory) result.kind = "out_of_memory";
  result.symbols = std::move(compiled.output.symbols);
  const auto entries = entries_of(compiled.output.cubin);
  for (const auto& [entry, symbol] : result.symbols) {
    if (entries.contains(symbol)) continue;  // else it is a variable
    compiled.output.has_entries = result.ok = false;
    result.log += fmt::format("the contract: error: \"{}\" is no kernel\n", entry);
  }
  if (!compiled.output.has_entries) result.kind = "missing_entry";
  if (!result.ok) {
    const std::string advice = hints(result.log);
    if (!advice.empty() && !result.log.ends_with('\n')) result.log += '\n';
    result.log += advice;
    return result;
  }
  remove_all(compiled.output.ptx, SourceTree::kPrefix);
  if (options_.for_emulator) compiled.output.cubin += compiled.output.ptx;
  if (work.job.for_reading) result.ptx = std::move(compiled.output.ptx);
  try {
    cache_.store(work.key, compiled.output.cubin, result);
  } catch (const Error&) {
    if (!work.job.for_reading) throw;  // a reader has it all in memory
  }
  if (work.job.for_reading) result.cubin = std::move(compiled.output.cubin);
  return result;
}

NvrtcCompiler::NvrtcCompiler(CompilerOptions options)
    : pool_(std::make_unique<Pool>(std::move(options))) {}

NvrtcCompiler::~NvrtcCompiler() = default;

std::future<CompileResult> NvrtcCompiler::submit(CompileJob job) {
  return pool_->submit(std::move(job));
}

void NvrtcCompiler::cancel() { pool_->cancel(); }

const std::string& NvrtcCompiler::nvrtc_version() const { return pool_->nvrtc().version(); }

std::string NvrtcCompiler::warning() const { return pool_->nvrtc().warning(); }

std::string NvrtcCompiler::header_folder() const {
  return pool_->nvrtc().toolkit_include().string();
}

const std::string& NvrtcCompiler::options() const { return pool_->common_options; }

int NvrtcCompiler::num_threads() const { return pool_->num_threads(); }

}  // namespace assay
