#include "worker/prepared_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/file.h"
#include "base/find_named.h"
#include "support/device_word.h"

namespace assay {
namespace {

// One sample of so many is checked: a check takes about as long as a short sample. Which one, is
// drawn for each so many. A kernel that cheats over numbers in all timed launches gets through 64
// rounds of a re-rank with a probability of (1/4)^16.
constexpr std::uint64_t kSamplesPerCheck = 4;
// Where a reference takes long, as one of the user's own may, fewer are checked, so that it takes
// so long a sample.
constexpr double kCheckSecondsPerSample = 0.5e-3;
constexpr std::uint64_t kMostSamplesPerCheck = 16;
// The fewest samples of a trial; one of them is checked, whatever it costs.
constexpr std::uint64_t kFirstSamples = 3;
// One load is checked for so many samples that are: the GPU cools while it is. A trial has a
// hundred loads or more.
constexpr std::uint64_t kLoadsPerCheck = 4;

std::string read_cubin(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const UsageError& error) {  // someone emptied the cache while the sweep ran
    throw Failure(Status::runtime, "launch", error.what());
  }
}

std::vector<GuardedBuffer> place_all(const Plan& plan, CUdeviceptr begin,
                                     const PreparedBuffers& prepared) {
  std::vector<GuardedBuffer> placed = lay_out(plan, begin);
  for (const SealedBuffer& each : prepared.all()) placed.push_back(each.buffer);
  return placed;
}

/// A limit that accepts zeros where they are wrong is none.
void refuse_zeros(const Plan& plan, const CheckedOutput& output) {
  const double rms = output.reference->rms;
  if (!plan.absolute_tolerance || rms == 0 || *plan.absolute_tolerance < rms) return;
  throw Failure(Status::runtime, "oracle",
                "the tolerance accepts zeros for {}, whose root mean square is {:.2g}; state a "
                "smaller one than tolerance: {{absolute: {:.2g}}}",
                output.buffer.name, rms, *plan.absolute_tolerance);
}

/// A limit that accepts a copy of an input, which needs no kernel, is none. A copy that is as near
/// as rounding is right.
void refuse_copies(WorkerState& worker, const InputMap& inputs, const CheckedOutput& output) {
  const Tolerance& tolerance = output.tolerance;
  const double rounding = 2 * unit_roundoff(output.dtype) + std::ldexp(1.0, -14);
  if (!is_floating(output.dtype) || output.part.sum || tolerance.relative_limit <= rounding) return;
  const Operand& reference = output.reference->operand;
  for (const auto& [name, input] : inputs) {
    const BufferPlan& plan = input->plan;
    if (!is_floating(plan.dtype) || plan.elements() != reference.elements()) continue;
    if (plan.dtype == DType::e2m1) continue;  // no output is
    DeviceWord<Comparison> word(worker.support);
    worker.support.compare(plan.dtype, input->buffer.data, reference.dtype, reference.data,
                           output.terms(), plan.elements(), tolerance.element, word.pointer());
    const Comparison found = word.read();
    const double error = relative_error(found);
    if (found.bad > 0 || error > tolerance.relative_limit || error <= rounding ||
        error_across(found) > tolerance.across_limit) {
      continue;
    }
    throw Failure(Status::runtime, "oracle",
                  "the tolerance accepts a copy of {} for {}, which is off by {:.2g}; state one "
                  "that does not, such as tolerance: {{relative: {:.1g}}}, or other inputs",
                  name, output.buffer.name, error, error / 4);
  }
}

}  // namespace

InputMap make_inputs(WorkerState& worker, const Plan& plan, std::uint64_t seed) {
  InputMap inputs;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (!is_filled(buffer->role)) continue;
    inputs[buffer->name] = worker.inputs.get(plan, *buffer, seed);
  }
  return inputs;
}

CheckedBuffers checked_buffers(const Plan& plan, const InputMap& inputs,
                               const std::vector<GuardedBuffer>& placed) {
  CheckedBuffers buffers;
  for (const auto& [name, input] : inputs) buffers.inputs.push_back(input);
  for (const BufferPlan* buffer : plan.buffers()) {
    if (!is_shared(buffer->role)) continue;
    const GuardedBuffer& place = *find_named(placed, buffer->name);
    if (is_output(buffer->role)) {
      buffers.outputs.push_back(
          {place, buffer->dtype, buffer->shape, nullptr, {}, part_of(*buffer)});
    } else {
      buffers.scratch.push_back(place);
    }
  }
  return buffers;
}

void refer_to(const Reference& reference, const Plan& plan, std::vector<CheckedOutput>& outputs,
              double rounding, std::optional<double> relative) {
  for (CheckedOutput& output : outputs) {
    const std::string& name = output.buffer.name;
    const auto found = reference.outputs.find(name);
    if (found == reference.outputs.end()) {
      throw Failure(Status::runtime, "oracle",
                    "output {} has no reference, so nothing could say whether it is right", name);
    }
    const ReferenceOutput& expected = found->second;
    Arithmetic arithmetic = expected.arithmetic;
    arithmetic.rounding += rounding;
    output.reference = &expected;
    output.tolerance =
        derive_tolerance(output.dtype, arithmetic, expected.magnitude(), plan.relative_tolerance,
                         plan.element_tolerance, plan.absolute_tolerance);
    if (relative) {
      output.tolerance = {
          *relative, kNoLimit, {.of_value = kNoLimit, .of_terms = kNoLimit, .floor = kNoLimit}};
    }
    output.tolerance =
        part_tolerance(output.part, output.tolerance, expected.rms, element_count(output.shape));
  }
}

PreparedTrial::PreparedTrial(WorkerState& worker, const TrialRequest& request,
                             const PreparedTrial* same_code)
    : worker_(&worker),
      plan_(request.plan),
      cubin_path_(request.cubin_path),
      prepared_(worker, plan_),
      placed_(place_all(plan_, worker.arena.begin(), prepared_)),
      seed_(request.seed),
      inputs_(make_inputs(worker, request.plan, request.seed)),
      launcher_(
          worker.driver, plan_, read_cubin(cubin_path_),
          [this](const std::string& name) {
            const GuardedBuffer* const place = find_named(placed_, name);
            return place != nullptr ? place->data : inputs_.at(name)->buffer.data;
          },
          same_code != nullptr ? same_code->launcher_.module() : nullptr) {
  buffers_ = checked_buffers(plan_, inputs_, placed_);
  buffers_.prepared = prepared_.all();
  for (const ModuleMemory& memory :
       module_memory(worker.driver, launcher_, read_cubin(cubin_path_))) {
    buffers_.variables.push_back({memory, worker.support.hash_of(memory.data, memory.bytes)});
  }
  zones_.emplace(worker.support, buffers_.guarded());
  refer();
  redraw_.emplace(worker, plan_, inputs_, *reference_, *zones_);
  reference_note_ = unchecked_note(*reference_);
  if (!inputs_.empty() && !redraw_->changes_inputs()) {
    if (!reference_note_.empty()) reference_note_ += "; ";
    reference_note_ +=
        "its inputs were the same in all launches, so nothing could tell whether it kept its "
        "result";
  }
  for (const CheckedOutput& output : buffers_.outputs) {
    refuse_zeros(plan_, output);
    refuse_copies(worker, inputs_, output);
  }
  launcher_.prepare(worker.stream);  // before whatever launch comes first
}

void PreparedTrial::refer() {
  reference_ = worker_->references.get(plan_, inputs_);
  refer_to(*reference_, plan_, buffers_.outputs);
}

Validation PreparedTrial::check() {
  return check_again([] {});
}

Validation PreparedTrial::check_cold() {
  return check_again([this] { worker_->timer.flush(); });
}

Validation PreparedTrial::check_over_numbers(int launches) {
  make_ready();
  for (int i = 0; i < launches; ++i) enqueue();
  return check_again([this] {
    redraw_->draw_numbers();
    worker_->timer.flush();
  });
}

void PreparedTrial::check_on(DataKind kind, std::uint64_t seed) {
  redraw_->draw_inputs(seed, kind);
  try {
    refer();
  } catch (const Failure& failure) {
    if (failure.outcome().kind != "oracle") throw;
    return;
  }
  for (const CheckedOutput& output : buffers_.outputs) {
    if (output.reference->rms == 0) return;
  }
  try {
    launch_and_judge([] {});
  } catch (const Failure& failure) {
    failure.add_note(fmt::format("its inputs were {}", describe(kind)));
  }
}

void PreparedTrial::check_fenced(FencedInputs& inputs, FencedMemory::Side side) {
  redraw_->draw_inputs(seed_);
  std::map<std::string, FencedMemory> fenced;  // what the launch writes
  for (const GuardedBuffer& buffer : placed_) {
    fenced.try_emplace(buffer.name, worker_->driver, buffer.bytes, side);
  }
  const Launcher launcher(
      worker_->driver, plan_, read_cubin(cubin_path_),
      [&](const std::string& name) {
        const auto written = fenced.find(name);
        return written != fenced.end() ? written->second.data() : inputs.of(*inputs_.at(name));
      },
      launcher_.module());
  launcher.write_symbols(worker_->stream);
  launcher.prepare(worker_->stream);
  redraw_->poison();
  const auto copy_written = [&](bool back) {
    for (const GuardedBuffer& buffer : placed_) {
      const CUdeviceptr there = fenced.at(buffer.name).data();
      worker_->support.copy(back ? buffer.data : there, back ? there : buffer.data, buffer.bytes);
    }
  };
  for (const SealedBuffer& prepared : prepared_.all()) {
    worker_->support.copy(prepared.buffer.data, fenced.at(prepared.buffer.name).data(),
                          prepared.buffer.bytes);
  }
  prepared_.seal();
  copy_written(false);
  launcher.enqueue(worker_->stream);
  copy_written(true);
  try {
    worker_->synchronise();
  } catch (const CudaError& error) {
    Outcome outcome = runtime_outcome(error);
    outcome.message +=
        "; its inputs could only be read, and nothing lay beside them or what it writes";
    throw Failure(std::move(outcome));
  }
  judge();
}

void PreparedTrial::check_crowded(Crowding crowding, double time_ns, std::uint64_t seed) {
  // Enough time for most launches to end on the free SMs. After this time a launch has all SMs, as
  // it may need where its blocks wait for each other.
  constexpr double kLaunches = 32, kLeastNs = 3e6, kMostNs = 20e6;
  const auto busy_ns =
      static_cast<std::uint64_t>(std::clamp(kLaunches * time_ns, kLeastNs, kMostNs));
  const int free_threads = crowding == Crowding::one_block ? launcher_.shared_sm_threads() : 0;
  if (crowding == Crowding::one_block && free_threads == 0) return;
  const Driver& driver = worker_->driver;
  const Stream beside = make_stream(driver), on_last_sm = make_stream(driver);
  const Event last_sm_known = make_event(driver);
  const int sms = worker_->info.sm_count;
  const int busy_sms = crowding == Crowding::half ? sms / 2 : sms - 1;
  redraw_->draw_inputs(seed);
  make_ready();
  worker_->timer.flush();
  const DeviceWord<SupportKernels::Crowd> crowd(worker_->support);
  const DeviceWord<std::uint32_t> timed_out(worker_->support);
  const auto wait_for = [&](int blocks) {
    worker_->support.hold(crowd.pointer() + offsetof(SupportKernels::Crowd, arrived),
                          static_cast<std::uint32_t>(blocks), timed_out.pointer());
  };
  worker_->synchronise();
  worker_->support.occupy(beside.get(), busy_sms, busy_ns, crowd.pointer());
  wait_for(busy_sms);
  if (free_threads > 0) {
    driver.check(driver.cuEventRecordWithFlags.result(last_sm_known.get(), worker_->stream, 0),
                 "cuEventRecord");
    driver.cuStreamWaitEvent(on_last_sm.get(), last_sm_known.get(), 0);
    wait_for(busy_sms +
             worker_->support.narrow(on_last_sm.get(), free_threads, busy_ns, crowd.pointer()));
  }
  enqueue();
  driver.cuMemsetD8Async(crowd.pointer() + offsetof(SupportKernels::Crowd, over), 1, 1,
                         worker_->stream);
  for (const Stream* crowded : {&beside, &on_last_sm}) {
    driver.check(driver.cuStreamSynchronize.result(crowded->get()),
                 "cuStreamSynchronize of a kernel that keeps SMs busy");
  }
  try {
    judge();
  } catch (const Failure& failure) {
    failure.add_note(fmt::format("other work kept {} of {} SMs busy{}", busy_sms, sms,
                                 free_threads > 0 ? " and left one block room on the last" : ""));
  }
}

Validation PreparedTrial::check_again(const Work& before) {
  redraw_->draw_inputs(seed_);
  CheckReport report = launch_and_judge(before);
  if (!first_hashes_) {
    first_hashes_ = std::move(report.output_hashes);
  } else if (plan_.deterministic && report.output_hashes != *first_hashes_) {
    throw Failure(Status::correctness, "nondeterministic",
                  "two launches on the same inputs gave outputs that differ in some bit");
  }
  return report.validation.value_or(Validation{});
}

CheckReport PreparedTrial::launch_and_judge(const Work& before) {
  make_ready();
  before();
  enqueue();
  return judge();
}

void PreparedTrial::ready(std::uint64_t seed) {
  redraw_->draw_inputs(seed);
  make_ready();
}

/// What prepares comes first: it may have left something where the launch will find it.
void PreparedTrial::make_ready() {
  run_preparing();
  redraw_->poison();
}

void PreparedTrial::run_preparing() {
  launcher_.write_symbols(worker_->stream);
  launcher_.prepare(worker_->stream);
  prepared_.seal();
}

TimedWork PreparedTrial::timed(bool is_another) {
  is_another_ = is_another;
  return {[this] { enqueue(); },
          [this] { prepare(); },
          [this] {
            judge_if_due("this was a timed launch");
            redraw_->draw_lists_sometimes();
          },
          !plan_.prepare.empty(),
          [this](bool surely_checked) { prepare_load(surely_checked); },
          [this] { redraw_->spoil_sometimes(); },
          [this] { judge_if_due("it followed others like it and was not timed"); }};
}

void PreparedTrial::judge_if_due(const char* what) {
  if (!judged_) return;
  try {
    judge();
  } catch (const Failure& failure) {
    failure.add_note(what);
  }
}

/// Draws whether a launch is judged: one of each so many, which nobody can foresee.
bool PreparedTrial::draw_judged() {
  if (launch_of_ == launches_) {
    const double samples = std::ceil(reference_->cost_s / kCheckSecondsPerSample);
    const bool is_first = launches_ == 0 && !is_another_;
    launch_of_ = is_first ? kFirstSamples
                          : std::clamp(static_cast<std::uint64_t>(samples), kSamplesPerCheck,
                                       kMostSamplesPerCheck);
    launches_ = 0;
    judged_launch_ = worker_->secret() % launch_of_;
  }
  return launches_++ == judged_launch_;
}

/// The inputs stay as they are, so the reference of the launch before would be right. What was
/// prepared, and the guard zones, may be another's. Where an input is an output, too, each launch
/// finds another, and nothing says what is right.
void PreparedTrial::prepare_load(bool surely_checked) {
  judged_ = false;
  worker_->references.hide(worker_->secret() | 1);
  if (redraw_->updates()) return;
  run_preparing();
  redraw_->poison_guards();
  redraw_->spoil();  // long work may have no launch of the load but the first
  judged_ = surely_checked || worker_->secret() % (kSamplesPerCheck * kLoadsPerCheck) == 0;
}

void PreparedTrial::prepare() {
  judged_ = draw_judged();
  redraw_->draw_timed_inputs();
  run_preparing();
  redraw_->fill_rest();
}

std::optional<Prepared> PreparedTrial::time_preparation() const {
  constexpr int kSamples = 5;
  if (plan_.prepare.empty()) return std::nullopt;
  const Work work = [this] { launcher_.prepare(worker_->stream); };
  return Prepared{worker_->timer.quick_median_ns({work}, kSamples), plan_.prepared_bytes()};
}

CheckReport PreparedTrial::judge() {
  // A fault here is the candidate's, and behind this it would be the reference's.
  worker_->driver.check(worker_->driver.cuStreamSynchronize.result(worker_->stream),
                        "cuStreamSynchronize after a launch");
  CheckReport report = worker_->checker.check(buffers_, *zones_, [this] {
    redraw_->remake_inputs();
    refer();
  });
  if (report.validation) report.validation->reference = reference_->text;
  for (const auto& input : report.damaged_inputs) worker_->inputs.restore(*input);
  // What was not made anew was read as the launch left it.
  if (report.damaged_reference || !report.damaged_inputs.empty()) worker_->references.clear();
  if (report.failure) {
    Outcome outcome = report.failure->outcome();
    outcome.validation = report.validation;
    if (!reference_note_.empty()) outcome.message += "; " + reference_note_;
    throw Failure(std::move(outcome));
  }
  return report;
}

}  // namespace assay
