#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/expr.h"
#include "base/value.h"
#include "spec/source_text.h"
#include "spec/vocabulary.h"

namespace assay {

/// An expression and where it stands.
struct ExprSpec {
  Expr expr;
  Location where;
};

/// A tunable: every value it may take, in the order written. Those that are expressions of
/// kDeviceNames, and of nothing else, come last: see with_device_values().
struct ParamSpec {
  std::string name;
  std::vector<Value> values;
  Location where;
  std::vector<ExprSpec> device_values = {};
};

/// The value of a macro: a text, or the integer that the text is where that is an expression of the
/// contract's names.
struct MacroSpec {
  std::string text;  // as written
  std::optional<ExprSpec> value = {};
};

struct LetSpec {
  std::string name;
  ExprSpec value;
};

/// A kernel of the user's own that computes a part of the reference, or fills an input. Its source
/// is compiled without parameters. Only expressions of a reference may read them.
struct ReferenceKernelSpec {
  /// An argument: an argument of the contract, a result that only later steps read, or scratch.
  struct Arg {
    std::string name;
    /// `in`: read; `out`: written; `inout`: written over what it held, an in-out argument of the
    /// contract; `scratch`: memory of its own, which no other step sees.
    Role role = Role::in;
    DType dtype = DType::f32;     // of a buffer, as this kernel sees it
    std::vector<ExprSpec> shape;  // of a result that is no argument of the contract
    bool zeroed = false;
    bool seed = false;  // of a fill: no argument of the contract, but a number to draw from
  };

  std::filesystem::path source;
  std::string entry;
  std::vector<Arg> args;
  std::vector<ExprSpec> grid;   // 1 to 3
  std::vector<ExprSpec> block;  // 1 to 3
  /// How many passes a reference makes, and what each parameter of the entry is in turn, as in
  /// LaunchArgSpec. Without passes the parameters are `args`.
  std::optional<ExprSpec> repeat = {};
  std::vector<std::vector<std::string>> turns = {};
  std::optional<ExprSpec> sum_length = {};  // how many terms an element sums; 1 otherwise
  Location source_where = {}, entry_where = {}, args_where = {};
  std::optional<ExprSpec> smem_bytes = {};       // of a baseline's kernel
  std::map<std::string, MacroSpec> define = {};  // likewise: its macros
};

/// A file of raw elements.
struct DataFileSpec {
  std::filesystem::path path;
  std::string hash;  // of what is in it
  std::int64_t bytes = 0;
  Location where = {};
};

/// How an input is made: by a generator ({name: uniform, low: 0}), of another input
/// ({starts: ids}), by a kernel, or from a file.
struct FillSpec {
  std::string generator = "normal";           // or a derivation, kFillKernel or kFillFile
  std::map<std::string, ExprSpec> arguments;  // all of them, with the defaults filled in
  std::string of = {};                        // the input that a derivation reads
  std::optional<ReferenceKernelSpec> kernel = {};
  std::optional<DataFileSpec> file = {};
  Location where = {};
};

/// What of an output must be right.
struct CheckSpec {
  std::optional<ExprSpec> first = {};  // so many elements from the start; all otherwise
  bool sorted = false;                 // the elements, in any order
  bool sum = false;                    // the sum of the elements alone
};

/// How an input is read as a texture. One of one dimension is read by its index.
struct TextureSpec {
  int channels = 1;     // of a texel; 2 and 4 are the buffer's last dimension
  bool linear = false;  // what is read between texels is interpolated
  AddressMode address = AddressMode::clamp;
  bool normalized = false;  // coordinates go from 0 to 1
  bool operator==(const TextureSpec&) const = default;
};

struct BufferSpec {
  DType dtype = DType::f32;
  std::vector<ExprSpec> shape;
  Role role = Role::in;
  FillSpec fill;                                 // of what is filled: see is_filled
  bool zeroed = false;                           // `init: zero`: a memset inside the timed region
  std::optional<ExprSpec> zeroed_elements = {};  // of so many from the start; all otherwise
  std::string copy_of = {};  // `init: {copy: x}`: a copy of that input inside the timed region
  /// The `__constant__` or `__device__` variable that it is copied to, as C++ names it; it is no
  /// parameter.
  std::string symbol = {};
  CheckSpec check = {};                     // of outputs
  std::optional<TextureSpec> texture = {};  // it is passed as a texture object, not as a pointer
};

struct ScalarSpec {
  DType dtype = DType::i32;
  ExprSpec value;  // of real numbers where the dtype is floating
};

/// A TMA descriptor passed by value as a __grid_constant__ parameter.
struct TensorMapSpec {
  std::string of;  // a buffer of the same kernel; its last dimension is the contiguous one
  std::vector<ExprSpec> box;
  int swizzle_bytes = 0;  // 0, 32, 64 or 128
  /// Where this is 0, there is no descriptor and the kernel gets zeros. It is for a buffer that TMA
  /// may refuse.
  std::optional<ExprSpec> when = {};
};

/// A struct passed by value. Its members lie as C lays them out.
struct StructSpec {
  struct Member {
    std::string name;  // of an argument ahead of it; none: a scalar of the struct's own
    ScalarSpec scalar = {};
  };
  std::vector<Member> members;
};

struct ArgSpec {
  std::string name;
  std::variant<BufferSpec, ScalarSpec, TensorMapSpec, StructSpec> form;
  Location where;
};

/// What a launch passes for one parameter of its entry.
struct LaunchArgSpec {
  /// One name is that argument. The others are buffers that passes of a launch take in turn. Two
  /// are `to`: the last pass writes the second one, the pass before it the first one, and so on.
  /// Three are `from`: the first pass reads the first one, each other what the pass before it
  /// wrote. No name is a scalar of the launch's own.
  std::vector<std::string> names;
  ScalarSpec scalar = {};
};

struct LaunchSpec {
  std::string entry;  // see spec/entry.h
  std::optional<ExprSpec> when;
  std::vector<ExprSpec> grid;     // 1 to 3
  std::vector<ExprSpec> block;    // 1 to 3
  std::vector<ExprSpec> cluster;  // 0 to 3
  std::optional<ExprSpec> smem_bytes;
  std::optional<ExprSpec> early = {};     // may it begin before the launch ahead has ended
  std::optional<ExprSpec> carveout = {};  // per cent of an SM's L1 and shared memory
  bool cooperative = false;  // all its blocks are resident at once and may wait for each other
  std::optional<std::vector<LaunchArgSpec>> args = {};  // nothing: every argument of the kernel
  std::optional<ExprSpec> repeat = {};                  // how many passes
  int group = 0;             // the launches of a group are repeated together
  Location args_where = {};  // what says its arguments
};

/// One step of the reference: a named operation with all of its options, or the user's own kernel.
/// An operation's operands are the kernel's buffers, or results that only later steps read, which
/// have names of their own.
struct ReferenceSpec {
  std::string operation;                        // "gemm"; "kernel" for the user's own
  std::map<std::string, std::string> operands;  // {"a": "A", "b": "B", "out": "C"}
  std::map<std::string, OptionValue> options;   // {"transpose_b": true}
  Location where;
  std::optional<ReferenceKernelSpec> kernel = {};
  std::optional<DType> round = {};  // what a chain of kernels would keep the result in
  std::map<std::string, ExprSpec> real_options = {};  // positive numbers that traits decide
  std::optional<DataFileSpec> file = {};  // that holds the output; the operation is kReferenceFile
  std::optional<ExprSpec> sum_length = {};  // how many terms an element of the file sums
};

/// What a user would run instead.
struct BaselineSpec {
  std::string name;
  std::vector<ReferenceSpec> steps = {};  // none: cuBLASLt's product, which is the whole reference
  /// Where its accuracy is another one: how far its output may be in the norm. No kernel has to be
  /// faster than it.
  std::optional<double> relative = {};
  std::string hash = {};  // of the steps, but for what their sources hold
};

/// Overrides of the limits that are otherwise derived from the output's dtype and the sum's length.
struct ToleranceSpec {
  std::optional<double> relative;       // on the relative Frobenius norm
  std::optional<double> element;        // factor on the per-element bound
  std::optional<double> absolute = {};  // an error of an element that is always accepted
};

/// A folder that a contract has headers looked for in.
struct IncludeSpec {
  std::filesystem::path folder;
  Location where = {};
};

/// An option of NVRTC. See spec/compile_options.h.
struct OptionSpec {
  std::string text;  // "--fmad={FMAD}": the value of a parameter in the place of its name
  std::optional<ExprSpec> when = {};  // it is given only where this is not 0
  Location where = {};
};

/// How a kernel is compiled. Its reference's kernels get the folders, the macros and the standard.
/// No expression reads a dim, but for those of macros.
struct CompileSpec {
  std::vector<IncludeSpec> include;         // before all other folders
  std::map<std::string, MacroSpec> define;  // those that read a dim differ from problem to problem
  int std = 20;                             // of C++: 17 or 20
  std::optional<ExprSpec> fast_math = {};   // where it is not 0
  std::optional<ExprSpec> maxrregcount = {};  // the most registers of a thread
  std::vector<OptionSpec> options = {};
};

/// kernels/x.yaml as plain data, every name checked.
struct KernelSpec {
  std::string name;
  std::string op;
  std::string summary;
  std::vector<std::string> arch;  // "80", "90a": as NVRTC's sm_ suffix
  std::vector<std::string> dims;
  Problem traits;  // the numbers of a problem that are no sizes, with their defaults
  std::vector<ParamSpec> params;
  CompileSpec compile;
  std::vector<LetSpec> lets;  // in order; each may use the ones before
  std::vector<ExprSpec> constraints;
  std::vector<ArgSpec> args;
  std::vector<LaunchSpec> prepare;  // run ahead of what is timed, whenever inputs are drawn
  std::vector<LaunchSpec> launches;
  ExprSpec flops;
  ExprSpec bytes;
  std::vector<ReferenceSpec> reference;
  std::vector<BaselineSpec> baseline;
  ToleranceSpec tolerance;
  bool deterministic = true;
  Problem smoke;
  std::vector<Problem> problems;         // on which the op is judged
  std::vector<std::string> may_prepare;  // the inputs of the op that `prepare` may read

  std::filesystem::path yaml_path;
  std::filesystem::path op_path;      // the op's file; empty where the contract has it all
  std::filesystem::path source_path;  // x.cu beside x.yaml
  /// Hash of the part of the contract that changes what a trial means: args, launches, let,
  /// prepare, reference, tolerance, deterministic, work.
  /// The part that only changes which trials there are is left out: params, constraints, arch,
  /// summary, smoke. So a sweep with one more value keeps its old results.
  std::string contract_hash;
  /// The names that the expressions above read, each with a slot. To evaluate an expression, fill
  /// one value per slot:
  /// - a dim: its size;
  /// - a trait: the bits of the double that it is;
  /// - a word: its own slot, which is symbols.find(word);
  /// - a parameter: its integer or, if it is a word, the slot of that word;
  /// - device.*: the figures of DeviceInfo;
  /// - last, each let in order. It reads the slots filled before.
  /// Launches that are repeated know one more name, `pass`. Its slot is behind all of these.
  Symbols symbols;
};

/// Whether an argument is copied to a variable, and whether a struct has the member.
bool is_symbol(const ArgSpec& arg);
bool has_member(const ArgSpec& arg, const std::string& name);

/// The folder that a file's name at `where` is seen from: that of the contract or, for what the op
/// says, the one that holds the folder `ops`.
std::filesystem::path folder_at(const KernelSpec& kernel, const Location& where);

/// The launches, then those that prepare. The pointers are into `kernel`.
std::vector<const LaunchSpec*> all_launches(const KernelSpec& kernel);

/// Which arguments a launch passes that names none: all but those that are copied to a variable and
/// those that a struct holds.
std::vector<std::size_t> passed_args(const KernelSpec& kernel);

/// Whether the kernel is written for a compute capability, such as 90: "80" runs on it and on all
/// later ones, "90a" on 90 alone, "100f" on 100 and later ones of its family.
bool runs_on(const KernelSpec& kernel, int cc);

/// The slots of `names`, and of the lets that depend on them, each with one of the names.
std::map<int, std::string> dependents(const KernelSpec& spec,
                                      const std::vector<std::string>& names);
/// The name that a slot of the expression has among `varying`, or null: the expression is fixed.
const std::string* find_dependence(const Expr& expr, const std::map<int, std::string>& varying);
const std::string* find_dependence(const Expr& expr, std::map<int, std::string>&& gone) = delete;

/// Whether a dim or a trait decides what is compiled, so that each problem has code of its own.
bool is_compiled_per_problem(const KernelSpec& kernel);

/// The kernels of the user's own beside the one that is tuned: the reference's, then those that
/// fill inputs, in the order of the arguments.
std::vector<const ReferenceKernelSpec*> own_kernels(const KernelSpec& kernel);

/// Loads and checks kernels/x.yaml. Throws SpecError, also when there is no x.cu beside it;
/// UsageError when the file cannot be read.
KernelSpec load_kernel(const std::filesystem::path& yaml_path);

/// The configuration that the contract's `default` gives, for a program that has no tuned one for a
/// problem; empty if the contract has none. Reads the file again. Throws like load_kernel.
Config load_default_config(const KernelSpec& kernel);

}  // namespace assay
