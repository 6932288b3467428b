#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/device.h"

namespace assay::test {

inline std::int64_t block_of(const Config& config) {
  return std::get<std::int64_t>(config[0].second);
}

inline Outcome timed(double median_ns) {
  Outcome outcome;
  outcome.timing.emplace();
  outcome.timing->samples_ns.assign(7, median_ns);
  outcome.timing->median_ns = outcome.timing->ci_low_ns = outcome.timing->ci_high_ns = median_ns;
  outcome.timing->stop = StopReason::precision;
  return outcome;
}

/// As without a script: BLOCK=b takes b microseconds.
inline Outcome timed_by_block(const TrialRequest& request) {
  return timed(1e3 * static_cast<double>(block_of(request.plan.config)));
}

inline Outcome failed(Status status, const std::string& kind, const std::string& message = "no") {
  return {status, kind, message, {}, {}, 0};
}

/// A re-rank of eight rounds in which a configuration takes what `time_ns` says of its BLOCK.
inline auto in_turn(std::function<double(std::int64_t block)> time_ns) {
  return [time_ns](const std::vector<TrialRequest>& candidates) {
    RerankResult result;
    for (const TrialRequest& candidate : candidates) {
      RerankEntry& entry = result.candidates.emplace_back();
      entry.name = to_text(candidate.plan.config);
      entry.samples_ns.assign(8, time_ns(block_of(candidate.plan.config)));
    }
    return result;
  };
}

/// A device that answers what the test says: without a script, BLOCK=b takes b microseconds, the
/// baseline one second, and a re-rank of eight rounds says so again.
class ScriptedDevice : public Device {
 public:
  explicit ScriptedDevice(const std::string& uuid = "GPU-1") {
    info_ = {"Scripted GPU", uuid, "580.1", 90, 132, 232448, 62914560, 1 << 30};
  }

  const DeviceInfo& info() const override { return info_; }

  std::string cublas_version() override { return cublas; }

  Outcome run(const TrialRequest& request) override {
    ran.push_back(request);
    return on_run(request);
  }
  std::vector<Config> recorded(const std::string&, const Problem&,
                               const std::string&) const override {
    return known;
  }
  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>& baselines) override {
    ++num_baselines;
    return on_baselines(request, baselines);
  }
  RerankResult rerank(const std::vector<TrialRequest>& candidates, const std::vector<std::string>&,
                      const RerankSpec&) override {
    reranked.push_back(candidates);
    return on_rerank(candidates);
  }
  std::vector<Measurement> count(const TrialRequest& request,
                                 const std::vector<std::string>& names) override {
    counted.push_back(request);
    return on_count(request, names);
  }

  std::vector<std::string> countable(const std::vector<std::string>& names) override {
    return on_countable(names);
  }

  /// From now on `edit` changes what a re-rank says of its candidates.
  void edit_reranks(
      std::function<void(const std::vector<TrialRequest>&, std::vector<RerankEntry>&)> edit) {
    on_rerank = [usual = on_rerank, edit](const std::vector<TrialRequest>& candidates) {
      RerankResult result = usual(candidates);
      edit(candidates, result.candidates);
      return result;
    };
  }

  std::string cublas = "13.1.0";
  std::vector<Config> known;  // that were recorded

  /// What has been asked, in order.
  std::vector<TrialRequest> ran;
  int num_baselines = 0;
  std::vector<std::vector<TrialRequest>> reranked;
  std::vector<TrialRequest> counted;

  std::function<Outcome(const TrialRequest&)> on_run = timed_by_block;
  std::function<std::vector<BaselineTiming>(const TrialRequest&, const std::vector<std::string>&)>
      on_baselines = [](const TrialRequest&, const std::vector<std::string>& names) {
        std::vector<BaselineTiming> timings;
        for (const std::string& name : names) timings.push_back({name, "", *timed(1e9).timing});
        return timings;
      };
  std::function<RerankResult(const std::vector<TrialRequest>&)> on_rerank =
      in_turn([](std::int64_t block) { return 1e3 * static_cast<double>(block); });
  std::function<std::vector<Measurement>(const TrialRequest&, const std::vector<std::string>&)>
      on_count = [](const TrialRequest&, const std::vector<std::string>& names) {
        std::vector<Measurement> values;
        for (const std::string& name : names) values.push_back({name, 64, "B"});
        return values;
      };

  std::function<std::vector<std::string>(const std::vector<std::string>&)> on_countable =
      [](const std::vector<std::string>& names) { return names; };

 private:
  DeviceInfo info_;
};

/// A compiler that is done at once, unless the test says something else.
class ScriptedCompiler : public Compiler {
 public:
  std::future<CompileResult> submit(CompileJob job) override {
    ++num_submitted;
    return on_submit(job);
  }
  void cancel() override { ++num_cancelled; }
  const std::string& nvrtc_version() const override { return version_; }
  const std::string& options() const override { return options_; }
  int num_threads() const override { return threads; }

  static std::future<CompileResult> ready(CompileResult result) {
    std::promise<CompileResult> promise;
    promise.set_value(std::move(result));
    return promise.get_future();
  }
  static CompileResult good(const CompileJob& job) {
    CompileResult result;
    result.ok = true;
    result.cubin_path = to_text(job.config) + ".cubin";
    result.report.registers = 32;
    for (const std::string& entry : job.entries) result.symbols[entry] = entry;
    return result;
  }

  int threads = 1;
  int num_submitted = 0;
  int num_cancelled = 0;
  std::function<std::future<CompileResult>(const CompileJob&)> on_submit =
      [](const CompileJob& job) { return ready(good(job)); };

 private:
  std::string version_ = "13.0";
  std::string options_ = "--std=c++20";
};

}  // namespace assay::test
