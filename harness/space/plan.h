#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/device_info.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/objective.h"
#include "base/trial.h"
#include "base/value.h"
#include "spec/kernel_spec.h"

namespace assay {

/// How many elements a tensor of this shape has.
std::int64_t element_count(const std::vector<std::int64_t>& shape);

/// A kernel's contract with every expression evaluated for one configuration, problem and device:
/// what a worker needs to run a trial, in plain integers.
struct BufferPlan {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  Role role = Role::in;
  std::string generator;                    // of what is filled: see FillSpec
  std::map<std::string, double> arguments;  // of the generator
  std::int64_t zeroed = 0;                  // so many elements from the start
  std::string copy_of = {};                 // the input that is copied here within the timed region
  std::string symbol = {};                  // the variable that this is copied to
  std::int64_t checked = 0;                 // so many elements from the start; 0: all
  bool check_sorted = false;                // in any order
  bool check_sum = false;                   // the sum alone
  std::string made_of = {};                 // the input that a derivation reads
  std::string file = {};                    // that fills it
  std::optional<TextureSpec> texture = {};  // what is passed is a texture object

  std::int64_t elements() const { return element_count(shape); }
  std::int64_t bytes() const { return size_bytes(dtype, elements()); }
  bool operator==(const BufferPlan&) const = default;
};

struct ScalarPlan {
  std::string name;
  DType dtype = DType::i32;
  Number value = std::int64_t{0};  // real where the dtype is floating
  bool is_seed = false;            // of a kernel that fills an input: differs from draw to draw
  bool operator==(const ScalarPlan&) const = default;
};

struct TensorMapPlan {
  std::string name;
  std::string of;
  std::vector<std::int64_t> box;  // empty: no descriptor, the kernel gets zeros
  int swizzle_bytes = 0;
  bool operator==(const TensorMapPlan&) const = default;
};

struct StructPlan {
  std::string name;
  std::vector<std::size_t> members;  // places in Plan::args, all ahead of its own or scalars
  bool operator==(const StructPlan&) const = default;
};

using ArgPlan = std::variant<BufferPlan, ScalarPlan, TensorMapPlan, StructPlan>;

struct LaunchPlan {
  std::string entry;  // as C++ names it, see spec/entry.h
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{1, 1, 1};
  std::array<std::int64_t, 3> cluster{1, 1, 1};
  std::int64_t smem_bytes = 0;
  bool early = false;                  // may start before the launch ahead ends; its code waits
  int carveout = -1;                   // per cent, see kernels/README.md; -1: the driver chooses
  bool cooperative = false;            // its blocks may wait for each other
  std::vector<std::size_t> args = {};  // what it passes: places in Plan::args
  std::string symbol = {};  // of the entry in machine code, if not the same; from the compiler
  bool operator==(const LaunchPlan&) const = default;
};

/// A kernel of the user's own that is a step of the reference, or fills an input. Its buffers have
/// the role `out` where it writes them. What it reads may have no shape here: it is known when it
/// is made.
struct ReferenceKernelPlan {
  std::string source;      // the name of its file, for messages
  std::string cubin_path;  // filled in by whoever compiles it
  std::vector<ArgPlan> args;
  LaunchPlan launch;
  std::int64_t sum_length = 1;
  /// What each pass of a reference passes: places in `args`. Empty: it is launched once.
  std::vector<std::vector<std::size_t>> passes = {};
  bool operator==(const ReferenceKernelPlan&) const = default;

  /// As Plan::buffers().
  std::vector<const BufferPlan*> buffers() const;
};

struct ReferencePlan {
  std::string operation;
  std::map<std::string, std::string> operands;
  std::map<std::string, OptionValue> options;
  std::optional<ReferenceKernelPlan> kernel = {};
  std::optional<DType> round = {};
  std::string file = {};        // that holds the output
  std::int64_t sum_length = 1;  // of an element in the file
  bool operator==(const ReferencePlan&) const = default;
};

/// What a user would run instead. Its steps are like those of a reference, and `round` is what a
/// result is kept in.
struct BaselinePlan {
  std::string name;
  std::vector<ReferencePlan> steps;
  std::optional<double> relative = {};  // see BaselineSpec
  bool operator==(const BaselinePlan&) const = default;
};

struct Plan {
  std::string kernel;
  Problem problem;
  Config config;
  std::vector<ArgPlan> args;  // the kernel's, then the scalars of structs and single launches
  std::vector<LaunchPlan> launches;  // of each pass those whose `when` holds
  std::vector<ReferencePlan> reference;
  /// Those that fill inputs, each one that it alone writes.
  std::vector<ReferenceKernelPlan> fills = {};
  std::vector<LaunchPlan> prepare = {};  // run ahead of what is timed, whenever inputs are drawn
  std::optional<double> relative_tolerance;
  std::optional<double> element_tolerance;
  std::optional<double> absolute_tolerance = {};
  bool deterministic = true;
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
  /// Those of the kernels of the op that have steps. Filled in for what runs baselines.
  std::vector<BaselinePlan> baselines = {};

  /// The buffers among the arguments, in their order. The pointers are into `args`.
  std::vector<const BufferPlan*> buffers() const;
  /// The argument of this name, or null.
  const ArgPlan* find_arg(std::string_view name) const;
  /// The buffer of this name, or null.
  const BufferPlan* find_buffer(std::string_view name) const;
  /// Of the inputs, whole: a kernel may read a small part of one, and `bytes` counts that.
  std::int64_t input_bytes() const;
  /// Of the memory that is prepared.
  std::int64_t prepared_bytes() const;
  /// Of the shared memory that a launch asks for, the most.
  std::int64_t dynamic_smem_bytes() const;
  bool operator==(const Plan&) const = default;
};

/// The kernels of the user's own, in the order of own_kernels(KernelSpec).
std::vector<ReferenceKernelPlan*> own_kernels(Plan& plan);

/// The contract has no meaning for this configuration: a size is not positive, a launch is larger
/// than any GPU takes, a value does not fit its argument, or arithmetic has no answer. A bad
/// configuration is data: the tuner stores it as status `runtime`, kind `launch`.
struct PlanError : FormattedError {
  using FormattedError::FormattedError;
};

/// The steps of a baseline for the arguments of `plan`, which is the kernel's for this device.
/// Throws PlanError.
BaselinePlan make_baseline_plan(const KernelSpec& kernel, const BaselineSpec& baseline,
                                const Plan& plan, const DeviceInfo& device);

/// Makes the arguments and launches alone, without fills, references and work: what a program needs
/// that launches a tuned kernel. Returns the text of the first constraint that does not hold or has
/// no answer; empty if all hold, and only then is there a plan. Throws as make_plan does.
std::string find_launch_plan(const KernelSpec& kernel, const Problem& problem, const Config& config,
                             const DeviceInfo& device, Plan& plan);

/// Evaluates the contract. Throws PlanError naming kernel, configuration, expression, value and
/// what is allowed; UsageError when `problem` or `config` lacks a name or knows one too many.
Plan make_plan(const KernelSpec& kernel, const Problem& problem, const Config& config,
               const DeviceInfo& device);

/// How much device memory a run of the plan needs: the bytes of the buffers that its launches get,
/// by themselves or by a descriptor. These are inputs, outputs, scratch and what is prepared. What
/// only a reference, a baseline or a launch of `prepare` reads does not count.
std::int64_t memory_bytes(const Plan& plan);

/// Where the scales of a stack of matrices stand. Each block of rows and columns has one; blocks at
/// the edges are smaller.
struct ScaleLayout {
  std::vector<std::int64_t> shape;  // of the values
  std::int64_t block_rows = 1, block_columns = 1;
  bool transpose = false;  // scales of one block of columns follow each other

  /// The matrices of the stack, and of each matrix the blocks down and across.
  std::int64_t batch() const;
  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t blocks_down() const;
  std::int64_t blocks_across() const;
  /// The shape of as many scales as there are blocks.
  std::vector<std::int64_t> least() const;
  /// Whether scales of this shape are enough: their rows may be longer, for padding.
  bool fits(std::vector<std::int64_t> scales) const;
  /// "[8,64], or longer rows"
  std::string text() const;
};

/// Of `values`, which `quantise` made.
ScaleLayout scale_layout(const BufferPlan& values, bool transpose);

/// The names that `objective` reads, with what they stand for in a trial on a device: all but the
/// time and the energy, which a re-rank measures. One that has no answer, such as a counter that
/// nobody read, is left out.
NamedFigures figures_of(const Objective& objective, const KernelSpec& kernel,
                        const TrialRecord& trial, const DeviceInfo& device);

}  // namespace assay
