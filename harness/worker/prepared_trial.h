#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/launcher.h"
#include "worker/prepared_buffers.h"
#include "worker/worker_state.h"

namespace assay {

/// What other work leaves to a launch, so that other blocks than usual run beside each other: half
/// of the SMs, on which clusters find room, one SM, or room for one block. On one SM, block i + 1
/// may begin before block i ends, however many there are, and so hide a race between the two.
enum class Crowding { half, one_sm, one_block };

inline constexpr std::array kCrowdings = {Crowding::half, Crowding::one_sm, Crowding::one_block};

/// A configuration that is ready to run: its code is loaded, its arguments are set, its buffers
/// have their memory, and its reference is known.
class PreparedTrial {
 public:
  /// Places outputs and scratch at the start of the worker's arena, which must hold
  /// `arena_bytes(request.plan)`. All prepared trials at one time share that memory. Throws
  /// Failure, CudaError, Error (cuBLAS is not there).
  ///
  /// `same_code` is another of the same configuration: the two then share their loaded code.
  PreparedTrial(WorkerState& worker, const TrialRequest& request,
                const PreparedTrial* same_code = nullptr);

  /// Enqueues the memsets and launches that are timed.
  void enqueue() const { enqueue(worker_->stream); }
  void enqueue(CUstream stream) const { launcher_.enqueue(stream); }

  bool has_local_memory() const { return launcher_.has_local_memory(); }

  /// Makes all ready for a launch that is checked, on inputs that `seed` makes.
  void ready(std::uint64_t seed);
  /// Checks what that launch left. Throws Failure, CudaError.
  void check_launched() { judge(); }

  /// The trial as it is timed, so that no launch can tell whether it is checked, nor use what an
  /// earlier one found. Ahead of each, inputs of random numbers are drawn anew, and so is what
  /// outputs and scratch hold: poison, or numbers like the right ones. Now and then, which no
  /// kernel can foresee, what the timed launch left is checked; only then is its reference
  /// computed. So is what a load of launches left. Valid as long as this.
  ///
  /// Of the first few samples one is checked for sure, unless this is but another allocation of
  /// what is timed elsewhere, too.
  TimedWork timed(bool is_another = false);

  /// Poisons outputs and scratch, launches once, and checks everything the launch did. If the
  /// contract says deterministic, the outputs must also equal those of the first check, bit for
  /// bit. Throws Failure, CudaError.
  Validation check();
  /// The same with L2 evicted before the launch. The timing is then different, so races show.
  Validation check_cold();
  /// The same after `launches` others, with numbers like the right ones in outputs and scratch, as
  /// ahead of most timed launches. A kernel that does nothing where its work seems done shows.
  Validation check_over_numbers(int launches);
  /// Checks a launch on inputs of that kind, which `seed` makes. Does nothing where the reference
  /// cannot say what is right: it overflows, or is zero everywhere.
  void check_on(DataKind kind, std::uint64_t seed);
  /// Checks a launch that gets its inputs from `inputs`, and what it writes in memory that a fence
  /// touches at `side`. A read or write outside of them, or a write to an input, is an illegal
  /// address. Throws like check(); the context is then lost.
  void check_fenced(FencedInputs& inputs, FencedMemory::Side side);
  /// Checks a launch beside other work, on inputs that `seed` makes. `time_ns` is that of a launch.
  /// Does nothing where an SM has room for one block anyway and one block is asked for. Throws like
  /// check().
  void check_crowded(Crowding crowding, double time_ns, std::uint64_t seed);
  struct ContractAudit {
    int num_wrong = 0;                  // outputs that were tried and are wrong
    std::vector<std::string> accepted;  // those that the check lets pass: "zeros for C"
  };
  /// Whether the contract's check refuses zeros, a constant, the right output with elements out of
  /// place, and the output of other inputs, for the inputs of `seed`; `seed` + 1 makes the others.
  /// What happens to be right says nothing: where one token is routed, all its rows are row 0.
  /// Throws like check().
  ContractAudit audit_contract(std::uint64_t seed);
  /// The time and the memory of the launches that prepare; nothing where there are none.
  std::optional<Prepared> time_preparation() const;
  /// See unchecked_note(); also whether its inputs were the same in all launches.
  const std::string& reference_note() const { return reference_note_; }

 private:
  Validation check_again(const Work& before);
  CheckReport launch_and_judge(const Work& before);
  void write_right(const CheckedOutput& output) const;
  void make_ready();
  void run_preparing();
  void prepare();
  void prepare_load(bool surely_checked);
  /// Judges the last launch if it is to be.
  void judge_if_due(const char* what);
  bool draw_judged();
  /// Lets the outputs be compared with the reference of what is in the inputs.
  void refer();
  /// What the last launch left.
  CheckReport judge();

  WorkerState* worker_;
  Plan plan_;
  std::filesystem::path cubin_path_;
  PreparedBuffers prepared_;
  std::vector<GuardedBuffer> placed_;  // outputs and scratch, and what is prepared
  std::uint64_t seed_;
  std::shared_ptr<const Reference> reference_;
  bool is_another_ = false;     // see timed()
  bool judged_ = false;         // the launch under way will be
  std::uint64_t launches_ = 0;  // of `launch_of_`, one of which is judged
  std::uint64_t launch_of_ = 0;
  std::uint64_t judged_launch_ = 0;
  std::string reference_note_;
  InputMap inputs_;
  std::optional<Redraw> redraw_;
  CheckedBuffers buffers_;
  std::optional<GuardZones> zones_;
  Launcher launcher_;
  std::optional<std::vector<std::uint64_t>> first_hashes_;
};

/// The plan's inputs by name, with what `seed` makes in them.
InputMap make_inputs(WorkerState& worker, const Plan& plan, std::uint64_t seed);
/// What is checked after a launch on these inputs, with its outputs and its scratch where they were
/// placed. The outputs have no reference yet.
CheckedBuffers checked_buffers(const Plan& plan, const InputMap& inputs,
                               const std::vector<GuardedBuffer>& placed);
/// Lets the outputs be compared with the plan's reference. `rounding` is allowed beside it. Where
/// another accuracy is accepted, `relative`, the norm alone counts. Throws Failure `oracle` for an
/// output that has no reference.
void refer_to(const Reference& reference, const Plan& plan, std::vector<CheckedOutput>& outputs,
              double rounding = 0, std::optional<double> relative = {});

}  // namespace assay
