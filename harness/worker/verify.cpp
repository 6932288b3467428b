#include "worker/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <map>
#include <vector>

#include "base/elapsed.h"
#include "base/file.h"
#include "judge/check.h"
#include "worker/prepared_trial.h"

namespace assay {
namespace {

constexpr std::array kKinds = {DataKind::as_drawn, DataKind::shifted,  DataKind::scaled_rows,
                               DataKind::sparse,   DataKind::constant, DataKind::large,
                               DataKind::planted};

/// Calls `step` with 0, 1, ... until the spec's count or its seconds are reached. Returns how
/// often, as "16 seeds".
template <class Step>
std::string repeat(const VerifySpec& spec, const char* what, Step step) {
  const auto begin = std::chrono::steady_clock::now();
  int done = 0;
  while (done < spec.count && (done == 0 || seconds_since(begin) < spec.max_seconds)) step(done++);
  return done == spec.count ? fmt::format("{} {}", done, what)
                            : fmt::format("{} of {} {}, in {:.3g} s", done, spec.count, what,
                                          seconds_since(begin));
}

std::string check_data(WorkerState& worker, const TrialRequest& request, const VerifySpec& spec) {
  std::vector<Validation> found;
  const std::string done = repeat(spec, "seeds", [&](int step) {
    TrialRequest seeded = request;
    seeded.seed += static_cast<std::uint64_t>(step) + 1;
    worker.inputs.clear();  // also what is not drawn anew, such as indices, is another
    try {
      PreparedTrial trial(worker, seeded);
      found.push_back(trial.check());
      for (const DataKind kind : kKinds) trial.check_on(kind, worker.secret());
    } catch (const Failure& failure) {
      failure.add_note(fmt::format("seed {}", seeded.seed));
    }
  });
  const std::string errors = errors_text(found);
  return errors.empty() ? done : done + "; " + errors;
}

std::string check_launches(WorkerState& worker, const TrialRequest& request,
                           const VerifySpec& spec) {
  constexpr int kLaunchesPerCrowd = 50;
  PreparedTrial trial(worker, request);
  trial.check();
  const double time_ns = worker.timer.quick_median_ns(trial.timed(), 5);
  return repeat(spec, "launches", [&](int step) {
    try {
      step % 2 == 0 ? trial.check() : trial.check_cold();
      if (step % kLaunchesPerCrowd != 0) return;
      for (const Crowding crowding : kCrowdings) {
        trial.check_crowded(crowding, time_ns, worker.secret());
      }
    } catch (const Failure& failure) {
      failure.add_note(fmt::format("launch {}", step + 1));
    }
  });
}

// The sum of 4,194,304 numbers of 0 to 1 is within its bound of another such sum two times in five.
// A kernel that always returns one sum is then refused soon, as each launch has other inputs. With
// a chance of two in five, 18 of 24 are accepted once in 2,000 times.
constexpr int kAudits = 24, kMostAccepted = 17;

/// A check that lets the same wrong output pass for most inputs says little of the kernel. One that
/// is accepted is tried on new inputs: one number may be near another by chance.
std::string check_contract(WorkerState& worker, const TrialRequest& request) {
  PreparedTrial trial(worker, request);
  PreparedTrial::ContractAudit audit = trial.audit_contract(request.seed);
  if (!audit.accepted.empty()) {
    std::map<std::string, int> num_accepted;
    for (const std::string& output : audit.accepted) num_accepted[output] = 1;
    for (int draw = 1; draw < kAudits; ++draw) {
      const auto seed = request.seed + 2 * static_cast<std::uint64_t>(draw);
      for (const std::string& output : trial.audit_contract(seed).accepted) ++num_accepted[output];
    }
    std::erase_if(audit.accepted,
                  [&](const std::string& output) { return num_accepted[output] <= kMostAccepted; });
  }
  if (audit.num_wrong == 0) {
    throw Failure(Status::correctness, "vacuous",
                  "the right output is the same for other inputs, zero or a constant, so a check "
                  "of it says nothing");
  }
  if (audit.accepted.empty())
    return "zeros, a constant, other inputs' output and shifted ones are refused";
  throw Failure(Status::correctness, "vacuous",
                "the contract's check accepts {}; state a smaller tolerance, or inputs on which "
                "the output depends",
                fmt::join(audit.accepted, ", "));
}

std::string check_streams(WorkerState& worker, const TrialRequest& request,
                          const VerifySpec& spec) {
  const std::array<Stream, 2> streams = {make_stream(worker.driver), make_stream(worker.driver)};
  PreparedTrial one(worker, request);
  const DeviceMemory memory_of_one = worker.arena.take();
  worker.arena.reserve(arena_bytes(request.plan));
  worker.inputs.clear();
  PreparedTrial other(worker, request, &one);
  return repeat(spec, "pairs of launches", [&](int step) {
    for (PreparedTrial* trial : {&one, &other}) {
      trial->ready(request.seed + static_cast<std::uint64_t>(step));
    }
    worker.synchronise();
    one.enqueue(streams[0].get());
    other.enqueue(streams[1].get());
    for (const Stream& stream : streams) {
      worker.driver.check(worker.driver.cuStreamSynchronize.result(stream.get()),
                          "cuStreamSynchronize after two launches at once");
    }
    try {
      one.check_launched();
      other.check_launched();
    } catch (const Failure& failure) {
      failure.add_note("two launches ran at once");
    }
  });
}

}  // namespace

void launch_alone(WorkerState& worker, const TrialRequest& request) {
  std::map<std::string, DeviceMemory> memory;
  for (const BufferPlan* buffer : request.plan.buffers()) {
    const auto bytes = static_cast<std::size_t>(buffer->bytes());
    DeviceMemory& own = memory[buffer->name] = allocate(worker.driver, bytes);
    if (!is_filled(buffer->role)) continue;
    const auto input = worker.inputs.get(request.plan, *buffer, request.seed);
    worker.driver.cuMemcpyDtoDAsync(own.get(), input->buffer.data, bytes, worker.stream);
  }
  const Launcher launcher(worker.driver, request.plan, read_file(request.cubin_path),
                          [&](const std::string& name) { return memory.at(name).get(); });
  launcher.write_symbols(worker.stream);
  launcher.prepare(worker.stream);
  launcher.enqueue(worker.stream);
  worker.synchronise();
}

Outcome run_check(WorkerState& worker, const TrialRequest& request, const VerifySpec& spec) {
  worker.arena.reserve(arena_bytes(request.plan));
  Outcome outcome;
  if (spec.name == "data") {
    outcome.message = check_data(worker, request, spec);
  } else if (spec.name == "launches") {
    outcome.message = check_launches(worker, request, spec);
  } else if (spec.name == "contract") {
    outcome.message = check_contract(worker, request);
  } else if (spec.name == "streams") {
    outcome.message = check_streams(worker, request, spec);
  } else {
    throw Error("there is no check \"{}\"", spec.name);
  }
  return outcome;
}

}  // namespace assay
