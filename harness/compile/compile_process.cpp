// A request is a unit to compile, a reply NVRTC's output or {"unfit": why}, each in CBOR in a
// frame.
//
// NVRTC does not say which headers it read, but its front end can list them on stderr, which in the
// child is a file in memory.

#include "compile/compile_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/bounded_json.h"
#include "base/elapsed.h"
#include "base/error.h"
#include "base/limits.h"
#include "compile/precompiled_headers.h"

namespace assay {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Nvrtc::Unit, name, text, headers, options, entries, wants_ptx,
                                   pre_include, leading_includes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Nvrtc::Output, ok, log, cubin, ptx, symbols, has_entries,
                                   out_of_memory, precompiled)

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// A child that has closed its socket is about to end.
constexpr double kEndPatienceS = 5;
// How often a child is looked at. It fills at most a gigabyte in a second.
constexpr double kLookPeriodS = 0.05;

// A reply has to fit into a frame. The list names a header as often as it is included, and twenty
// headers that each include the next one twice do that a million times. The file of the list ends a
// little later, in the middle of a line.
constexpr std::size_t kMaxListBytes = 4 << 20;
constexpr off_t kListFileBytes = (4 << 20) + (64 << 10);
// NVRTC keeps at most 256 MiB of headers in a file.
constexpr rlim_t kMaxPrecompiledBytes = 300 << 20;
constexpr std::size_t kMaxChildLogBytes = 8 << 20;

[[noreturn]] void fail(const char* what) {
  throw Error("cannot start a process to compile in: {}: {}", what,
              std::generic_category().message(errno));
}

/// Reads what stands on stderr. The next list overwrites it.
std::string take_list() {
  std::string list(static_cast<std::size_t>(::lseek(STDERR_FILENO, 0, SEEK_CUR)), '\0');
  const ssize_t size = ::pread(STDERR_FILENO, list.data(), list.size(), 0);
  list.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  ::lseek(STDERR_FILENO, 0, SEEK_SET);
  return list;
}

/// The list has a line for each header, behind a space for each header that it is inside of.
std::vector<std::string> parse_list(const std::string& list) {
  std::set<std::string> headers;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    headers.insert(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  }
  return {headers.begin(), headers.end()};
}

json compile_in_child(const Nvrtc& nvrtc, Nvrtc::Unit unit, PrecompiledHeaders& precompiled) {
  unit.options.insert(unit.options.end(), {"-Xcudafe", "--trace_includes"});
  Nvrtc::Output output;
  std::vector<std::string> headers;
  if (PrecompiledHeaders::File* const file = precompiled.find(unit)) {
    if (file->headers.empty()) file->headers = parse_list(take_list());
    headers = file->headers;
    output = precompiled.compile(unit, *file);
  }
  // An error must be the source's own and name the source's own lines. So a source that fails is
  // compiled once more, as it was written.
  if (!output.ok) output = nvrtc.compile(unit);
  if (!output.knows_options) {
    // NVRTC 13.0 knows the two, which are in no manual. Another may not, and then lists nothing.
    unit.options.resize(unit.options.size() - 2);
    output = nvrtc.compile(unit);
  }
  const std::string list = take_list();
  if (list.size() >= kMaxListBytes) {
    output = {false,
              fmt::format("{}: headers are included too often: their list has more than {} bytes",
                          unit.name, kMaxListBytes),
              {}};
  } else if (output.cubin.size() > kMaxCubinBytes) {
    output = {false,
              fmt::format("{}: expected at most {} bytes of machine code, found {}", unit.name,
                          kMaxCubinBytes, output.cubin.size()),
              {}};
  } else if (output.log.size() > kMaxChildLogBytes) {
    // The report of resources stands at the end.
    output.log.replace(kMaxChildLogBytes / 2, output.log.size() - kMaxChildLogBytes, "\n...\n");
  }
  json reply = output;
  const std::vector<std::string> others = parse_list(list);
  headers.insert(headers.end(), others.begin(), others.end());
  reply["headers"] = headers;
  return reply;
}

std::string pack(const json& message) {
  std::string bytes;
  json::to_cbor(message, bytes);
  return bytes;
}

void set_limit(__rlimit_resource resource, rlim_t value) {
  const rlimit limit{value, value};
  ::setrlimit(resource, &limit);
}

/// The compiler looks for "x.h" there, too. In a folder that is no more there is none. Where none
/// can be made, because disks are full or read-only, one does whose files are called by numbers.
void leave_working_directory() {
  const char* const given = std::getenv("TMPDIR");
  for (const std::string parent : {given != nullptr ? given : "/tmp", "/tmp", "/dev/shm"}) {
    std::string folder = parent + "/assay-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) continue;
    const bool is_left = ::chdir(folder.c_str()) == 0;
    ::rmdir(folder.c_str());
    if (is_left) return;
  }
  if (::chdir("/proc/self/fdinfo") != 0) ::_exit(kExitMachine);
}

/// The folder in which a child makes files of headers. The child can be killed at any time, so its
/// parent removes the folder.
std::filesystem::path folder_of(pid_t child) {
  std::error_code none;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(none);
  return none ? "" : absolute(parent / fmt::format("assay-headers-{}", child));
}

/// Signals by which the parent is ended. Ctrl-C reaches every process of the terminal, and the
/// parent decides when this one ends. They are blocked, for NVRTC's front end handles some itself
/// from its first compile on, whatever was to become of them before.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

[[noreturn]] void run_child(const Nvrtc& nvrtc, int fd, int list, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Compilers on every core must not hold up the processes that feed the GPU. Without this, sweeps
  // of short kernels ran at 31 to 50 configurations/s from a cold cache on 16 cores.
  static_cast<void>(::nice(10));
  if (::getppid() != parent) ::_exit(0);
  if (::dup2(list, STDERR_FILENO) < 0) ::_exit(kExitMachine);
  const std::filesystem::path folder = folder_of(::getpid());
  leave_working_directory();
  // Close the parent's other descriptors, above all the socket of the GPU's worker. They must be
  // closed when the parent closes them.
  const auto own = static_cast<unsigned>(fd);
  if (own > 3) ::close_range(3, own - 1, 0);
  ::close_range(own + 1, ~0u, 0);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, kMaxPrecompiledBytes);
  ::signal(SIGXFSZ, SIG_IGN);
  // When memory runs out, this is the process to kill.
  if (const UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score) {
    [[maybe_unused]] const ssize_t count = ::write(score.get(), "1000", 4);
  }
  static_cast<void>(forbid_network_and_programs());  // an older system, too, must compile
  try {
    PrecompiledHeaders precompiled(nvrtc, folder);
    FrameReader reader;
    while (const std::optional<std::string> request = receive_frame(fd, reader)) {
      json reply;
      try {
        reply = compile_in_child(nvrtc, json::from_cbor(*request).get<Nvrtc::Unit>(), precompiled);
      } catch (const std::bad_alloc&) {
        ::_exit(kExitMachine);
      } catch (const std::exception& error) {
        reply = {{"unfit", error.what()}};
      }
      if (!send_frame(fd, pack(reply))) break;
    }
  } catch (const std::exception&) {
    // The parent died in the middle of a request, or the reply is too large. An exception that left
    // this function would go on in a copy of the parent.
    ::_exit(kExitMachine);
  }
  ::_exit(kExitDone);
}

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;
#endif

// A ring of io_uring makes calls that no filter sees. The 32-bit numbers of x86 begin at kX32.
constexpr unsigned kForbidden[] = {SYS_socket,
                                   SYS_connect,
                                   SYS_bind,
                                   SYS_listen,
                                   SYS_execve,
                                   SYS_execveat,
                                   SYS_ptrace,
                                   SYS_process_vm_readv,
                                   SYS_process_vm_writev,
                                   425 /* io_uring_setup */,
                                   438 /* pidfd_getfd */};
constexpr unsigned kX32 = 0x40000000;

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset));
}

}  // namespace

CompileProcess::CompileProcess(const Nvrtc& nvrtc) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  socket_ = UniqueFd(ends[0]);
  const UniqueFd child_end(ends[1]);
  const UniqueFd list(::memfd_create("headers", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!list || ::ftruncate(list.get(), kListFileBytes) != 0 ||
      ::fcntl(list.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    fail("memfd_create");
  }
  const pid_t parent = ::getpid();
  const BlockedSignals blocked;  // ahead of the fork: the child must never be without
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) run_child(nvrtc, child_end.get(), list.get(), parent);
  child_.emplace(pid);
  folder_ = folder_of(pid);
  shared_bytes_ = child_->usage().value_or(ChildProcess::Usage{}).memory_bytes;
}

CompileProcess::~CompileProcess() {
  child_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void CompileProcess::kill() const { child_->kill(); }

CompileProcess::Result CompileProcess::compile(const Nvrtc::Unit& unit, const Limits& limits) {
  Result result;
  std::string reply;
  result.end = send_frame(socket_.get(), pack(unit)) ? receive(limits, reply) : End::death;
  if (result.end == End::done) {
    json message;
    try {
      check_cbor(reply, "the compiler's reply");
      message = json::from_cbor(reply);
      if (!message.contains("unfit")) {
        message.get_to(result.output);
        message.at("headers").get_to(result.headers);
      }
    } catch (const std::exception&) {
      result.end = End::death;  // what it compiled broke it
    }
    if (message.contains("unfit")) throw Error(message["unfit"].get<std::string>());
  }
  if (result.end == End::death) {
    const auto end = child_->end(kEndPatienceS);
    result.cause_of_death = end ? end->text : "it closed its connection";
    result.killed = end && end->killed;
  }
  return result;
}

/// The time of a child that computes is that of the processor: it lies idle for minutes where many
/// others compute, or after Ctrl-Z. A child that waits is charged for the time that passes.
CompileProcess::End CompileProcess::receive(const Limits& limits, std::string& reply) {
  double left_s = limits.running_s, waited_s = 0;  // the latter on end
  double cpu_s = child_->usage().value_or(ChildProcess::Usage{}).cpu_s;
  std::array<char, 65536> buffer;
  for (;;) {
    try {
      if (std::optional<std::string> text = reader_.next()) {
        reply = std::move(*text);
        return End::done;
      }
    } catch (const Error&) {
      return End::death;  // garbage
    }
    const Clock::time_point start = Clock::now();
    pollfd socket{socket_.get(), POLLIN, 0};
    if (poll_until({&socket, 1}, deadline_after(std::min(left_s, kLookPeriodS))) == 0) {
      const auto usage = child_->usage().value_or(ChildProcess::Usage{true, false, cpu_s, 0});
      // Only if this process was stopped, too, is it more than a period.
      const double computed_s = usage.cpu_s - cpu_s;
      const double passed_s =
          usage.waiting ? std::min(seconds_since(start), kLookPeriodS) : computed_s;
      waited_s = usage.waiting && computed_s == 0 ? waited_s + passed_s : 0;
      left_s -= passed_s;
      cpu_s = usage.cpu_s;
      if (left_s <= 0) return End::timeout;
      if (waited_s > limits.waiting_s) return End::stuck;
      if (usage.memory_bytes > shared_bytes_ + limits.memory_bytes) return End::memory;
      continue;
    }
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return End::death;
    reader_.append({buffer.data(), static_cast<std::size_t>(count)});
  }
}

std::uint64_t machine_memory_bytes(const std::filesystem::path& cgroup) {
  std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // The two versions of control groups. Without a limit there is no such file, or no number in it,
  // or an enormous one.
  for (const char* name : {"memory.max", "memory/memory.limit_in_bytes"}) {
    std::uint64_t limit_bytes = 0;
    if (std::ifstream(cgroup / name) >> limit_bytes) bytes = std::min(bytes, limit_bytes);
  }
  return bytes;
}

std::uint64_t compile_memory_bytes(std::uint64_t machine_bytes, int num_compiles) {
  const double share_bytes = kCompileMemoryRatio * static_cast<double>(machine_bytes) /
                             static_cast<double>(std::max(num_compiles, 1));
  return std::max(static_cast<std::uint64_t>(share_bytes), kMinCompileBytes);
}

bool forbid_network_and_programs() {
  if (kArchitecture == 0) return false;
  constexpr sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  // A jump skips so many statements where its condition holds, and where it does not.
  std::vector<sock_filter> program = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      refuse,
      load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1),
      refuse,
  };
  for (const unsigned call : kForbidden) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(refuse);
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

}  // namespace assay
