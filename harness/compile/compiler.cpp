#include "compile/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "compile/cubin_cache.h"
#include "compile/nvrtc.h"
#include "compile/options.h"
#include "compile/ptxas_report.h"
#include "compile/source_tree.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// How long a compile that was told to stop may take to notice. NVRTC looks between its phases, and
// one in its front end (templates without end) never does: its thread is left behind and replaced.
constexpr auto kGrace = std::chrono::milliseconds(150);

// Enough of any error; a failed template can write megabytes.
constexpr std::size_t kMaxLogBytes = 64 << 10;

CompileResult failure(std::string log) {
  CompileResult result;
  result.log = std::move(log);
  return result;
}

void limit_size(std::string& log) {
  if (log.size() <= kMaxLogBytes) return;
  const std::size_t num_bytes_left_out = log.size() - kMaxLogBytes;
  log.resize(kMaxLogBytes);
  log += fmt::format("\n({} more bytes left out)", num_bytes_left_out);
}

/// What one job is compiled from, and the name of its result in the cache.
struct Work {
  SourceTree source;
  std::vector<std::string> options;
  std::string key;
};

Work prepare(const CompileJob& job, const Nvrtc& nvrtc) {
  Work work{SourceTree::read(job.source, job.include_directories),
            compile_options(job.config, job.arch),
            {}};
  Hasher hasher;
  hasher.add("cubin 1").add(nvrtc.identity()).add(work.source.hash());
  for (const std::string& option : work.options) hasher.add(option);
  work.key = hasher.hex();
  const auto& toolkit = nvrtc.toolkit_options();
  work.options.insert(work.options.end(), toolkit.begin(), toolkit.end());
  return work;
}

/// A job that a thread has taken. Everything but `stop` is guarded by the pool's mutex.
struct Task {
  CompileJob job;
  std::vector<std::promise<CompileResult>> waiting;  // empty once they are answered
  std::thread::id thread;
  std::string key;
  Clock::time_point deadline = Clock::time_point::max();
  std::atomic<bool> stop = false;
  bool abandoned = false;

  void answer(const CompileResult& result) {
    for (auto& promise : waiting) promise.set_value(result);
    waiting.clear();
  }
  void answer(const std::exception_ptr& error) {
    for (auto& promise : waiting) promise.set_exception(error);
    waiting.clear();
  }
};

/// Queue, threads and watchdog. Shared by its threads: one that never comes back from NVRTC must
/// find it alive.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  explicit Pool(CompilerOptions options)
      : options_(std::move(options)), cache_(options_.cache_directory) {
    if (options_.num_threads <= 0) {
      options_.num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    }
  }

  void start();
  void stop();
  std::future<CompileResult> submit(CompileJob job);
  void cancel();

  const Nvrtc& nvrtc() const { return nvrtc_; }
  int num_threads() const { return options_.num_threads; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Queued {
    CompileJob job;
    std::promise<CompileResult> promise;
  };

  void start_worker();
  void run_worker();
  void run_watchdog();
  CompileResult run(Task& task);
  CompileResult compile(Task& task, const Work& work);
  bool join_same(Task& task, const std::string& key);
  void cancel_locked();
  void replace_worker(const std::shared_ptr<Task>& task);
  void abandon(const std::shared_ptr<Task>& task);

  CompilerOptions options_;
  const CubinCache cache_;
  const Nvrtc nvrtc_;
  std::mutex mutex_;
  std::condition_variable queue_changed_, tasks_changed_;
  std::deque<Queued> queue_;
  std::list<std::shared_ptr<Task>> tasks_;
  std::map<std::thread::id, std::thread> workers_;
  std::thread watchdog_;
  bool closing_ = false;
};

void Pool::start() {
  const Lock lock(mutex_);
  for (int i = 0; i < options_.num_threads; ++i) start_worker();
  watchdog_ = std::thread([this] { run_watchdog(); });
}

void Pool::start_worker() {
  std::thread worker([pool = shared_from_this()] { pool->run_worker(); });
  const std::thread::id id = worker.get_id();
  workers_.emplace(id, std::move(worker));
}

void Pool::stop() {
  std::map<std::thread::id, std::thread> workers;
  {
    Lock lock(mutex_);
    closing_ = true;
    cancel_locked();
    tasks_changed_.wait_for(lock, kGrace, [this] { return tasks_.empty(); });
    while (!tasks_.empty()) abandon(tasks_.front());
    workers.swap(workers_);
    queue_changed_.notify_all();
    tasks_changed_.notify_all();
  }
  for (auto& [id, worker] : workers) worker.join();
  if (watchdog_.joinable()) watchdog_.join();
}

std::future<CompileResult> Pool::submit(CompileJob job) {
  Queued queued{std::move(job), {}};
  std::future<CompileResult> future = queued.promise.get_future();
  const Lock lock(mutex_);
  queue_.push_back(std::move(queued));
  queue_changed_.notify_one();
  return future;
}

void Pool::cancel() {
  const Lock lock(mutex_);
  cancel_locked();
}

void Pool::cancel_locked() {
  const CompileResult cancelled = failure("compile cancelled");
  for (Queued& queued : queue_) queued.promise.set_value(cancelled);
  queue_.clear();
  for (const auto& task : tasks_) {
    task->answer(cancelled);
    task->stop = true;
    task->deadline = Clock::now() + kGrace;
  }
  tasks_changed_.notify_all();
}

void Pool::run_worker() {
  for (;;) {
    const auto task = std::make_shared<Task>();
    {
      Lock lock(mutex_);
      queue_changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (closing_) return;
      task->job = std::move(queue_.front().job);
      task->waiting.push_back(std::move(queue_.front().promise));
      task->thread = std::this_thread::get_id();
      queue_.pop_front();
      tasks_.push_back(task);
    }
    CompileResult result;
    std::exception_ptr error;
    try {
      result = run(*task);
    } catch (...) {
      error = std::current_exception();
    }
    // Answering and leaving the list are one step, so that nobody joins a task that has answered.
    const Lock lock(mutex_);
    if (task->abandoned) return;
    if (error) {
      task->answer(error);
    } else {
      task->answer(result);
    }
    tasks_.remove(task);
    tasks_changed_.notify_all();
  }
}

CompileResult Pool::run(Task& task) {
  try {
    const Work work = prepare(task.job, nvrtc_);
    if (join_same(task, work.key)) return {};
    if (options_.use_cache) {
      if (auto cached = cache_.find(work.key)) return *std::move(cached);
    }
    return compile(task, work);
  } catch (const UsageError& mistake) {
    return failure(mistake.what());
  }
}

/// Hands whoever waits for `task` to a task that has the same key already, or gives it the key.
bool Pool::join_same(Task& task, const std::string& key) {
  const Lock lock(mutex_);
  for (const auto& other : tasks_) {
    // One that was told to stop has answered already, or is about to fail.
    if (other->key != key || other->stop) continue;
    std::move(task.waiting.begin(), task.waiting.end(), std::back_inserter(other->waiting));
    task.waiting.clear();
    return true;
  }
  task.key = key;
  return false;
}

CompileResult Pool::compile(Task& task, const Work& work) {
  const Clock::time_point start = Clock::now();
  {
    const Lock lock(mutex_);
    if (!task.stop) {
      // Capped: a clock counts nanoseconds in 64 bits.
      const std::chrono::duration<double> timeout(std::min(options_.timeout_s, 1e9));
      task.deadline = start + std::chrono::duration_cast<Clock::duration>(timeout);
      tasks_changed_.notify_all();
    }
  }
  Nvrtc::Output output = nvrtc_.compile({work.source.name,
                                         work.source.text,
                                         {work.source.headers.begin(), work.source.headers.end()},
                                         work.options},
                                        task.stop);
  CompileResult result;
  result.report.compile_ms =
      std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  result.log = take_ptxas_report(output.log, result.report);
  limit_size(result.log);
  result.ok = output.ok;
  if (result.ok) cache_.store(work.key, output.cubin, result);
  return result;
}

/// Stops a compile at its deadline; one that does not stop within the grace is abandoned.
void Pool::run_watchdog() {
  Lock lock(mutex_);
  while (!closing_) {
    const auto now = Clock::now();
    Clock::time_point next = Clock::time_point::max();
    std::vector<std::shared_ptr<Task>> stuck;
    for (const auto& task : tasks_) {
      if (task->deadline <= now) {
        if (task->stop) {
          stuck.push_back(task);
          continue;
        }
        CompileResult result =
            failure(fmt::format("compile took longer than its limit of {} s", options_.timeout_s));
        result.timed_out = true;
        task->answer(result);
        task->stop = true;
        task->deadline = now + kGrace;
      }
      next = std::min(next, task->deadline);
    }
    for (const auto& task : stuck) replace_worker(task);
    if (next == Clock::time_point::max()) {
      tasks_changed_.wait(lock);
    } else {
      tasks_changed_.wait_until(lock, next);
    }
  }
}

void Pool::replace_worker(const std::shared_ptr<Task>& task) {
  try {
    start_worker();
    abandon(task);
  } catch (const std::system_error&) {
    task->deadline = Clock::now() + std::chrono::seconds(1);  // no thread to be had; tried again
  }
}

void Pool::abandon(const std::shared_ptr<Task>& task) {
  task->abandoned = true;
  const auto worker = workers_.find(task->thread);
  worker->second.detach();
  workers_.erase(worker);
  tasks_.remove(task);
}

}  // namespace

struct Compiler::Impl {
  std::shared_ptr<Pool> pool;
};

Compiler::Compiler(CompilerOptions options)
    : impl_(std::make_unique<Impl>(Impl{std::make_shared<Pool>(std::move(options))})) {
  try {
    impl_->pool->start();
  } catch (const std::system_error& error) {
    impl_->pool->stop();
    throw Error(fmt::format("cannot start a thread to compile on: {}", error.what()));
  }
}

Compiler::~Compiler() { impl_->pool->stop(); }

std::future<CompileResult> Compiler::submit(CompileJob job) {
  return impl_->pool->submit(std::move(job));
}

void Compiler::cancel() { impl_->pool->cancel(); }

const std::string& Compiler::nvrtc_version() const { return impl_->pool->nvrtc().version(); }

int Compiler::num_threads() const { return impl_->pool->num_threads(); }

std::string Compiler::source_hash(const std::filesystem::path& source,
                                  const std::vector<std::filesystem::path>& include_directories) {
  return SourceTree::read(source, include_directories).hash();
}

}  // namespace assay
