#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/fenced_memory.h"
#include "judge/check.h"
#include "judge/reference.h"
#include "space/plan.h"
#include "support/arena.h"
#include "worker/worker_state.h"

namespace assay {

/// What the launches of `prepare` write, in memory of its own: between two launches of an entry,
/// those of others run, and each must find there what it prepared.
class PreparedBuffers {
 public:
  /// Enqueues the poison. Throws CudaError.
  PreparedBuffers(WorkerState& worker, const Plan& plan);

  const std::vector<SealedBuffer>& all() const { return buffers_; }
  /// Enqueues the hashes of what was prepared, so that a check can tell whether a launch changed
  /// it.
  void seal() const;

 private:
  WorkerState* worker_;
  DeviceMemory memory_, seals_;
  std::vector<SealedBuffer> buffers_;
};

/// Copies of inputs in memory that can only be read and that a fence touches.
class FencedInputs {
 public:
  FencedInputs(WorkerState& worker, FencedMemory::Side side) : worker_(&worker), side_(side) {}

  /// The address of the copy of what was in `input` when first asked for. Waits for the stream
  /// then. Throws CudaError.
  CUdeviceptr of(const Input& input);

 private:
  WorkerState* worker_;
  FencedMemory::Side side_;
  std::map<const Input*, FencedMemory> copies_;
};

/// Gives a plan's memory other contents ahead of each launch that is timed, a candidate's and a
/// baseline's alike. So no launch finds its work done, nor anything that an earlier one found, and
/// none can tell whether it is checked.
class Redraw {
 public:
  /// Of the plan's inputs, and of its outputs and scratch at the start of the arena. `reference` is
  /// the plan's. `zones` are of all of them.
  Redraw(WorkerState& worker, const Plan& plan, const InputMap& inputs, const Reference& reference,
         const GuardZones& zones);

  /// Enqueues other numbers for inputs that are drawn at random, and what is made of them, such
  /// that the amount of work stays the same: of routing, tokens change places. Others stay, such as
  /// files and the places where rows begin.
  /// Makes data of `kind` of those for which the contract sets no range.
  void draw_inputs(std::uint64_t seed, DataKind kind = DataKind::as_drawn) const;
  /// Enqueues what makes all inputs anew that a check can have made anew: see Inputs::remake.
  void remake_inputs() const;
  /// Enqueues the poison of outputs, scratch and all guard zones. In-out arguments get what their
  /// inputs hold.
  void poison() const;
  /// Enqueues numbers like the right ones for outputs and scratch.
  void draw_numbers() const;
  /// Enqueues the poison of the guard zones alone, where another plan's buffers may have been.
  void poison_guards() const { zones_->poison(); }
  /// Enqueues a number for one element of an output or of scratch, for a launch that follows
  /// another and is not timed. What it finds looks done and is not. A stretch of neighbours would
  /// be seen by who looks at one element in sixteen.
  void spoil() const;
  /// The same, now and then.
  void spoil_sometimes() const;
  /// Whether an argument is an input and an output.
  bool updates() const { return !updated_.empty(); }
  /// Enqueues other inputs for a launch that is timed. Now and then a few large values are among
  /// them, so that such data is no sign of a check.
  void draw_timed_inputs() const;
  /// Enqueues what a timed launch finds elsewhere: numbers mostly, and sometimes poison.
  void fill_rest() const;
  /// Both, for a launch that has nothing to prepare.
  void operator()() const;
  /// Now and then draws those inputs anew that the host has a part in: lists, and what they are
  /// made of. Waits for the stream then, so it comes behind a sample.
  void draw_lists_sometimes() const;
  /// Whether any input is another in each launch.
  bool changes_inputs() const { return !random_inputs_.empty() || !lists_.empty(); }

 private:
  struct Buffer {
    CUdeviceptr data = 0;
    DType dtype = DType::f32;
    std::int64_t elements = 0;
    double rms = 1;
  };

  void draw_numbers(const Buffer& buffer, std::int64_t begin, std::int64_t elements) const;
  void sort_inputs(const InputMap& inputs);
  void draw(const std::vector<std::shared_ptr<Input>>& inputs, std::uint64_t seed,
            DataKind kind) const;

  WorkerState* worker_;
  // Each behind what it is made of.
  std::vector<std::shared_ptr<Input>> all_inputs_;
  std::vector<std::shared_ptr<Input>> random_inputs_;  // drawn anew ahead of each timed launch
  std::vector<std::shared_ptr<Input>> lists_;          // drawn anew now and then
  std::uint64_t launches_per_list_ = 1;
  CUdeviceptr arena_begin_;
  std::size_t arena_bytes_;
  std::vector<Buffer> buffers_;
  const GuardZones* zones_;
  std::vector<std::pair<GuardedBuffer, std::shared_ptr<Input>>> updated_;
};

/// Where the outputs and scratch of a plan are in the arena, in the order of the arguments.
std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin);

/// The memory that they take.
std::size_t arena_bytes(const Plan& plan);

}  // namespace assay
