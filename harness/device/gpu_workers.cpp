#include "device/gpu_workers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/terminal.h"
#include "messages/messages.h"

namespace assay {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Event = WorkerProcess::Event;

// cuInit takes seconds on a host with several GPUs and no persistence daemon.
constexpr double kStartTimeoutS = 60;
// So many workers that die in a row without an answer mean that the GPU is lost.
constexpr int kMaxFailedStarts = 3;
// A worker that rests need not start again, nor load cuBLAS again, which takes 0.45 s (H200). A
// resting worker holds up to a gigabyte of the GPU's memory.
constexpr std::size_t kMostResting = 2;
constexpr std::int64_t kLeastMemoryForResting = std::int64_t{16} << 30;
// The kind of a trial whose workers were killed from outside, see is_machine_fault.
constexpr const char* kKilled = "killed";
constexpr const char* kCrash = "crash";  // of one whose workers died of themselves, both of them

/// An answer's result. Throws what the worker threw.
json result_of(json answer) {
  if (answer.contains("error")) {
    const std::string sentence = answer["error"];
    if (answer.value("usage", false)) throw UsageError(sentence);
    throw Error(sentence);
  }
  return std::move(answer.at("result"));
}

// How long to sleep between two tries: flock cannot be waited for together with a signal. A sweep
// needs longer than this to store a trial, so the other sweeps get their turns.
constexpr int kRetryMs = 1;

// Turns last as long as a trial: whoever waits longer than most trials take should know why.
constexpr int kSilentMs = 2000;

/// "process 4711 (assay)", which has the lock of this file, as far as the system tells.
std::string holder_of(int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return "another process";
  // 1: FLOCK  ADVISORY  WRITE 4711 08:01:1311 0 EOF
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, how, mode, file;
    long pid = 0;
    if (!(words >> number >> kind >> how >> mode >> pid >> file)) continue;
    if (kind != "FLOCK" || !file.ends_with(fmt::format(":{}", info.st_ino))) continue;
    std::ifstream status(fmt::format("/proc/{}/comm", pid));
    std::string name;
    std::getline(status, name);
    if (pid > 0) return fmt::format("process {} ({})", pid, name);
  }
  return "another process";
}

}  // namespace

GpuWorkers::GpuWorkers(GpuOptions options) : options_(std::move(options)) {
  // Use the link and not its target: it finds the program even after a rebuild has replaced the
  // file.
  if (options_.worker_program.empty()) options_.worker_program = "/proc/self/exe";
  launch();
  await_ready();
}

void GpuWorkers::set_up(nlohmann::json request) {
  demand(request, kStartTimeoutS, [](const json&) {});
  setup_ = std::move(request);
  resting_.clear();  // they know the setup of before
}

GpuTurns::Turn GpuWorkers::wait_for_turn() {
  await_ready();
  constexpr int kNoFile = -1;
  if (options_.index == kEmulatorIndex) return GpuTurns::Turn(kNoFile);  // no time is disturbed
  if (!turns_) turns_.emplace(info_.uuid);
  return turns_->wait();
}

/// Starts a worker and queues its first requests. So the driver starts up while the parent stores
/// the last trial. await_ready() reads the answers.
void GpuWorkers::launch() {
  dying_ = std::move(worker_);
  if (dying_) dying_->kill();
  ready_ = false;
  ++num_started_;
  try {
    worker_ = std::make_unique<WorkerProcess>(options_.worker_program, options_.index);
  } catch (const Error& error) {
    start_failure_ = error.what();
    return;
  }
  worker_->send(message::pack({{"verb", "hello"}}));
  if (setup_) worker_->send(message::pack(*setup_));
}

void GpuWorkers::take_next() {
  if (!ready_) return;
  if (info_.memory_bytes < kLeastMemoryForResting) return launch();
  resting_.push_back(std::move(worker_));
  if (resting_.size() <= kMostResting) return launch();
  worker_ = std::move(resting_.front());
  resting_.pop_front();
}

void GpuWorkers::await_ready() {
  if (ready_ && !worker_->connected()) launch();  // it died while idle: the fault of no trial
  int failed_starts = 0;
  while (!ready_) {
    dying_.reset();
    if (worker_ && started()) {
      ready_ = true;
      return;
    }
    // If the first worker itself refused (no driver, no such GPU), another would refuse too.
    if (refused_ && info_.name.empty()) throw Error(start_failure_);
    if (++failed_starts >= kMaxFailedStarts) throw lost();
    resting_.clear();  // the GPU may take one process at a time
    launch();
  }
}

/// Reads the answers to hello and setup. False, with start_failure set, when this worker cannot
/// be used.
bool GpuWorkers::started() {
  refused_ = false;
  try {
    DeviceInfo found = message::decode<DeviceInfo>(receive_start());
    if (!info_.uuid.empty() && found.uuid != info_.uuid) {
      // Where a GPU drops out, those behind it move up.
      start_failure_ = fmt::format("it was {}, and is another one now: {} {}", info_.uuid,
                                   found.name, found.uuid);
      return false;
    }
    info_ = std::move(found);
    if (setup_) receive_start();
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    start_failure_ = error.what();
    return false;
  }
}

nlohmann::json GpuWorkers::receive_start() {
  const auto [event, text] = worker_->receive(kStartTimeoutS);
  if (event == Event::interrupted) {
    worker_->kill();
    throw Interrupted();
  }
  if (event == Event::timed_out) {
    throw Error("worker did not start within {} seconds", kStartTimeoutS);
  }
  if (event != Event::answer) throw Error(text);
  json answer = message::unpack(text);
  refused_ = answer.contains("error");
  return result_of(std::move(answer));
}

Error GpuWorkers::lost() const {
  if (info_.name.empty()) return Error("GPU {} cannot be used: {}", options_.index, start_failure_);
  return Error("GPU {} ({}) is lost: {}; everything measured so far is stored", options_.index,
               info_.name, start_failure_);
}

std::optional<Outcome> GpuWorkers::ask(const json& request, double timeout_s, const Take& take) {
  std::optional<Outcome> failed = ask_once(request, timeout_s, take);
  const std::string kind = failed ? failed->kind : "";
  if (kind != kKilled && kind != kCrash) return failed;
  try {
    await_ready();
  } catch (const Error&) {
    return failed;  // that the GPU is lost is said of the next request
  }
  failed = ask_once(request, timeout_s, take);
  if (failed && failed->kind == kind) failed->message += ", as did the one before it";
  return failed;
}

std::optional<Outcome> GpuWorkers::ask_once(const json& request, double timeout_s,
                                            const Take& take) {
  const GpuTurns::Turn turn = wait_for_turn();
  const Clock::time_point start = Clock::now();
  context_lost_ = false;
  worker_->send(message::pack(request));
  const WorkerProcess::Received received = worker_->receive(timeout_s);
  std::optional<Outcome> failed;
  switch (received.event) {
    case Event::interrupted:
      worker_->kill();
      throw Interrupted();
    case Event::answer:
      failed = read_answer(received.text, take);
      break;
    case Event::timed_out:
      failed = {Status::timeout, "hang",
                fmt::format("no answer within {:.3g} seconds; the worker was killed", timeout_s)};
      break;
    case Event::ended:
      failed = {Status::runtime, kCrash, received.text};
      break;
    case Event::killed:
      failed = {Status::runtime, kKilled, received.text};
      break;
    case Event::garbage:
      failed = {Status::runtime, kCrash, "worker sent garbage: " + received.text};
      break;
  }
  if (failed) {
    failed->device_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    launch();
  }
  return failed;
}

std::optional<Outcome> GpuWorkers::read_answer(const std::string& text, const Take& take) {
  json answer;
  try {
    answer = message::unpack(text);
    if (answer.contains("failed")) return message::decode<Outcome>(answer["failed"]);
    if (!answer.contains("error")) take(answer.at("result"));
  } catch (const std::exception& error) {
    return Outcome{Status::runtime, kCrash, std::string("worker sent garbage: ") + error.what()};
  }
  context_lost_ = answer.value("context_lost", false);
  if (answer.contains("error")) {
    if (context_lost_) return Outcome{Status::runtime, "sticky", answer["error"]};
    result_of(std::move(answer));
  }
  if (context_lost_) launch();
  return std::nullopt;
}

void GpuWorkers::demand(const json& request, double timeout_s, const Take& take) {
  if (const std::optional<Outcome> failed = ask(request, timeout_s, take)) {
    throw Error("GPU {} ({}): {}", options_.index, info_.name, failed->message);
  }
}

GpuTurns::GpuTurns(const std::string& uuid) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  if (folder.empty()) folder = "/tmp";
  path_ = (folder / fmt::format("assay-turn-{}.lock", uuid)).string();
  // Open it for reading: that is enough for a lock, and all that another user's file in a sticky
  // folder allows. A link could name any file, and a pipe would wait for a writer.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fd_ = UniqueFd(::open(path_.c_str(), kFlags));
  if (!fd_ && errno == ENOENT) {
    fd_ = UniqueFd(::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    if (!fd_ && errno == EEXIST) fd_ = UniqueFd(::open(path_.c_str(), kFlags));
    // Whatever this user's umask is, the next user has to open the file.
    if (fd_) ::fchmod(fd_.get(), 0666);
  }
  if (!fd_) warn_of("open", errno);
}

void GpuTurns::warn_of(const char* what, int code) {
  print_err(
      "warning: cannot {} {}: {}; sweeps of other processes on this GPU are not waited for, and "
      "times may be too long\n",
      what, path_, std::generic_category().message(code));
  fd_.reset();
}

GpuTurns::Turn::~Turn() { ::flock(fd_, LOCK_UN); }

GpuTurns::Turn GpuTurns::wait() {
  for (int waited_ms = 0; fd_ && ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      warn_of("lock", errno);
      break;
    }
    pollfd signal{interrupt_fd(), POLLIN, 0};
    if (::poll(&signal, 1, kRetryMs) > 0) throw Interrupted();
    waited_ms += kRetryMs;
    if (waited_ms >= kSilentMs && !has_said_that_it_waits_) {
      has_said_that_it_waits_ = true;
      print_err("waiting for the GPU: {} has its turn ({})\n", holder_of(fd_.get()), path_);
    }
  }
  return Turn(fd_.get());
}

}  // namespace assay
