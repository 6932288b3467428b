#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "judge/reference.h"
#include "support/arena.h"
#include "worker/worker_state.h"

namespace assay {

/// Gives a plan's memory other contents ahead of each launch that is timed, a candidate's and a
/// baseline's alike. So no launch finds its work done, nor anything that an earlier one found, and
/// none can tell whether it is checked.
class Redraw {
 public:
  /// Of the plan's inputs, and of its outputs and scratch at the start of the arena. `reference` is
  /// the plan's.
  Redraw(WorkerState& worker, const Plan& plan, const InputMap& inputs, const Reference& reference);

  /// Enqueues other numbers for inputs that hold nothing but random numbers, and what is made of
  /// them. Others, such as indices, may decide how much work there is: they stay, and so does what
  /// they are made of.
  void draw_inputs(std::uint64_t seed) const { draw_inputs(seed, DataKind::as_drawn); }
  /// The same, and makes data of `kind` of those for which the contract sets no range.
  void draw_inputs(std::uint64_t seed, DataKind kind) const;
  /// Enqueues the poison of outputs, scratch and guard zones. In-out arguments get what their
  /// inputs hold.
  void poison() const;
  /// Enqueues numbers like the right ones for outputs and scratch.
  void draw_numbers() const;
  /// Enqueues the poison of the guard zones alone, where another plan's buffers may have been.
  void poison_guards() const;
  /// Enqueues a number for one element of an output or of scratch, for a launch that follows
  /// another and is not timed. What it finds looks done and is not. A stretch of neighbours would
  /// be seen by who looks at one element in sixteen.
  void spoil() const;
  /// The same, now and then.
  void spoil_sometimes() const;
  /// Whether an argument is an input and an output.
  bool updates() const { return !updated_.empty(); }
  /// All of it, for a launch that is timed: numbers mostly, and sometimes poison.
  void operator()() const;

 private:
  struct Buffer {
    CUdeviceptr data = 0;
    DType dtype = DType::f32;
    std::int64_t elements = 0;
    double rms = 1;
  };

  void draw_numbers(const Buffer& buffer, std::int64_t begin, std::int64_t elements) const;
  bool add_input(const std::shared_ptr<Input>& input, const std::set<const Input*>& fixed,
                 std::set<const Input*>& seen);

  WorkerState* worker_;
  std::vector<std::shared_ptr<Input>> random_inputs_;  // each behind what it is made of
  CUdeviceptr arena_begin_;
  std::size_t arena_bytes_;
  std::vector<Buffer> buffers_;
  std::vector<GuardedBuffer> placed_;
  std::vector<std::pair<GuardedBuffer, std::shared_ptr<Input>>> updated_;
};

/// Where the outputs and scratch of a plan are in the arena, in the order of the arguments.
std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin);

/// The memory that they take.
std::size_t arena_bytes(const Plan& plan);

}  // namespace assay
