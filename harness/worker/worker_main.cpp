#include "worker/worker_main.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/frames.h"
#include "base/terminal.h"
#include "launch/failure.h"
#include "messages/messages.h"
#include "worker/trial_runner.h"

namespace assay {
namespace {

using nlohmann::json;

/// Ends the process when the parent has closed its end of the socket, for example because it died.
/// The main thread cannot see to that: it may be in a kernel that never returns.
///
/// PR_SET_PDEATHSIG would not do. It follows the thread that started the worker, and if that thread
/// ended before the process, an innocent trial would be lost.
void watch_parent(int fd) {
  pollfd socket{fd, POLLRDHUP, 0};
  while (::poll(&socket, 1, -1) < 0) {
  }
  // If it is no descriptor at all, receive_frame says so.
  if ((socket.revents & POLLNVAL) == 0) ::_exit(kExitDone);
}

/// Handles requests. The runner exists from the first `hello` on.
class Server {
 public:
  explicit Server(int index) : index_(index) {}

  /// The answer to a request. If anything goes wrong, that is an answer, too.
  json answer(const json& request) {
    try {
      json result = serve(request);
      return {{"result", std::move(result)}, {"context_lost", context_lost()}};
    } catch (const UsageError& error) {
      return {{"error", error.what()}, {"usage", true}};
    } catch (const CudaError& error) {
      return failed(runtime_outcome(error));
    } catch (const Failure& failure) {
      return failed(failure.outcome());
    } catch (const std::exception& error) {
      return {{"error", error.what()}, {"usage", false}, {"context_lost", context_lost()}};
    }
  }

  bool context_lost() const { return runner_ && runner_->context_lost(); }

 private:
  /// What went wrong may be due to the configurations of the request, which need not end the sweep.
  json failed(const Outcome& outcome) const {
    return {{"error", outcome.message},
            {"failed", message::encode(outcome)},
            {"context_lost", context_lost()}};
  }

  json serve(const json& request) {
    const auto& verb = request.at("verb").get_ref<const std::string&>();
    if (verb == "hello") {
      runner_.emplace(index_);
      return message::encode(runner_->info());
    }
    if (!runner_) throw Error("the worker has no GPU");
    if (verb == "setup") return setup(request);
    if (verb == "run") {
      return message::encode(runner_->run(message::decode<TrialRequest>(request.at("trial"))));
    }
    if (verb == "verify") {
      return message::encode(runner_->verify(message::decode<TrialRequest>(request.at("trial")),
                                             message::decode<VerifySpec>(request.at("check"))));
    }
    if (verb == "count") return count(request);
    if (verb == "countable") {
      return runner_->countable(request.at("counters").get<std::vector<std::string>>());
    }
    if (verb == "baselines") return baselines(request);
    if (verb == "cublas_version") return runner_->cublas_version();
    if (verb == "rerank") return rerank(request);
    if (verb == "ceilings") return message::encode(runner_->measure_ceilings());
    if (verb == "vitals") return message::encode(runner_->vitals());
    if (verb == "self_test") return message::encode(runner_->self_test());
    throw Error("the worker does not know the request \"{}\"", verb);
  }

  json setup(const json& request) {
    std::optional<Ceilings> ceilings;
    if (request.contains("ceilings")) ceilings = message::decode<Ceilings>(request["ceilings"]);
    runner_->setup(request.at("support_cubin").get<std::string>(), ceilings);
    return nullptr;
  }

  json count(const json& request) {
    json result = json::array();
    for (const Measurement& counted :
         runner_->count(message::decode<TrialRequest>(request.at("trial")),
                        request.at("counters").get<std::vector<std::string>>())) {
      result.push_back({{"name", counted.name}, {"value", counted.value}, {"unit", counted.unit}});
    }
    return result;
  }

  json baselines(const json& request) {
    json result = json::array();
    for (const BaselineTiming& baseline :
         runner_->run_baselines(message::decode<TrialRequest>(request.at("trial")),
                                request.at("baselines").get<std::vector<std::string>>())) {
      result.push_back(message::encode(baseline));
    }
    return result;
  }

  json rerank(const json& request) {
    std::vector<TrialRequest> candidates;
    for (const json& candidate : request.at("candidates")) {
      candidates.push_back(message::decode<TrialRequest>(candidate));
    }
    return message::encode(runner_->rerank(
        candidates, request.at("baselines").get<std::vector<std::string>>(),
        message::decode<RerankSpec>(request.at("spec")), request.at("num_workers").get<int>()));
  }

  int index_;
  std::optional<TrialRunner> runner_;
};

}  // namespace

int run_launch(const char* file, int index) try {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const json request = message::unpack(read_file(file));
  TrialRunner runner(index);
  runner.setup(request.at("support_cubin").get<std::string>(), std::nullopt);
  runner.launch(message::decode<TrialRequest>(request.at("trial")));
  return kExitDone;
} catch (const Failure& failure) {
  print_err("{}\n", failure.outcome().message);
  return kExitMachine;
} catch (const std::exception& error) {
  print_err("{}\n", error.what());
  return kExitMachine;
}

int run_worker(int fd, int index) {
  const UniqueFd socket(fd);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  // A crash is an ordinary result here. To write a core of all the driver's mappings would only
  // delay the sweep.
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::thread(watch_parent, fd).detach();

  Server server(index);
  FrameReader reader;
  while (const std::optional<std::string> request = receive_frame(fd, reader)) {
    if (!send_frame(fd, message::pack(server.answer(message::unpack(*request))))) break;
    // Run no destructors: every call on a lost context fails, and the driver frees it anyway.
    if (server.context_lost()) ::_exit(kExitMachine);
  }
  return kExitDone;
}

}  // namespace assay
