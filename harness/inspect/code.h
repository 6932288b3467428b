#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// What a compiler made of a kernel, read from PTX or from a disassembler's SASS: functions of basic
// blocks of instructions. Both instruction sets come to the same form, so that all that looks at
// code (loops, counts, motifs, differences) is written once.

namespace assay {

/// What an instruction keeps busy. to_text() has the words.
enum class InstructionClass {
  tensor,       // products of matrices
  fma,          // fused multiply and add, of any float type
  other_float,  // adds, comparisons, special functions
  integer,      // arithmetic, logic, addresses
  conversion,   // between types
  move,         // copies between registers, special registers, shuffles
  global_8,     // global memory by the bytes that a thread moves: up to 8 bits,
  global_16,    // 16,
  global_32,    // 32,
  global_64,    // 64,
  global_128,   // 128 and more
  shared,       // shared memory, with ldmatrix and stmatrix
  local,        // a thread's own memory: spills, arrays that are indexed
  generic,      // memory whose space the compiler does not know
  constant,     // constant memory and parameters
  copy,         // copies that do not pass registers: cp.async, TMA
  barrier,      // waiting, fences
  branch,       // control flow
  other,
};
inline constexpr std::size_t kInstructionClasses =
    static_cast<std::size_t>(InstructionClass::other) + 1;
std::string_view to_text(InstructionClass kind);

/// Of each class, how many instructions.
using ClassCounts = std::array<double, kInstructionClasses>;

/// Where a source line is; line 0: not known.
struct SourceLine {
  int file = 0;  // an index of Code::files
  int line = 0;

  auto operator<=>(const SourceLine&) const = default;
};

struct Instruction {
  std::string opcode;     // with what qualifies it: "ld.global.v4.f32", "LDG.E.128"
  std::string predicate;  // "%p1", "!P0"; empty: always carried out
  std::vector<std::string> operands;
  InstructionClass kind = InstructionClass::other;
  SourceLine source = {};
  // SASS: how many registers hold a value here, and how many of those that a warp has in common.
  int live = -1;  // -1: not said
  int live_uniform = -1;
};

/// Instructions that are carried out one after the other.
struct Block {
  std::string label;  // of the first instruction; empty if nothing jumps here by name
  std::vector<Instruction> instructions = {};
  std::vector<int> next = {};  // blocks that may follow
  int loop = -1;               // the innermost loop that it is in
  int depth = 0;               // how many loops it is in
};

/// A natural loop: the blocks from which its header is reached without leaving it.
struct Loop {
  int header = 0;
  int parent = -1;  // the loop around it
  int depth = 1;    // 1: in no other loop
  std::vector<int> blocks = {};
  std::vector<int> always = {};  // those of them that every turn goes through; sorted

  bool has_always(int block) const;
};

struct Function {
  std::string name;
  bool is_kernel = false;
  std::vector<Block> blocks = {};
  std::vector<Loop> loops = {};

  std::size_t num_instructions() const;
};

inline const Block& block_of(const Function& function, int index) {
  return function.blocks[static_cast<std::size_t>(index)];
}

enum class InstructionSet { ptx, sass };

struct Code {
  InstructionSet set = InstructionSet::ptx;
  std::string target;  // "sm_90a"; empty: not said
  std::vector<std::string> files = {};
  std::vector<Function> functions = {};
};

/// Reads a PTX module. Throws UsageError "NAME:LINE: ..." where it is not one.
Code read_ptx(std::string_view text, const std::string& name);

/// Reads what `nvdisasm` or `cuobjdump -sass` prints. Throws UsageError likewise. `life_ranges` is
/// what nvdisasm prints of the same code with `--life-range-mode count`; with it it leaves out the
/// source lines.
Code read_sass(std::string_view text, const std::string& name, std::string_view life_ranges = "");

/// What a PTX instruction keeps busy, by its name.
InstructionClass class_of_ptx(std::string_view opcode);
/// The same of a SASS instruction.
InstructionClass class_of_sass(std::string_view opcode);

/// Sets `next`, `loops`, `loop` and `depth` of a function whose blocks end where control may leave.
/// `jumps` has, for each block, the labels that its last instruction names, and whether the block
/// behind it may follow.
struct Jump {
  std::vector<std::string> labels;
  bool falls_through = true;
};
void connect(Function& function, const std::vector<Jump>& jumps);

/// How many instructions of each class, each counted `weight` times for every loop that it is in.
ClassCounts count_classes(const Function& function, double weight = 1);
ClassCounts count_classes(const Function& function, const Loop& loop);
ClassCounts count_classes(const Block& block);

/// The names of instructions of which it is not known what they keep busy, and how many of each.
std::map<std::string, int> unknown_instructions(const Function& function);

/// The loop that does the work: that with most tensor instructions outside of loops within it;
/// without these with most fused multiply-adds, then with most accesses to memory, then the
/// longest.
const Loop* main_loop(const Function& function);

/// One opcode, or several in a row, by the names ahead of what qualifies them: "ld", "IMAD".
struct OpcodeCount {
  std::vector<std::string> opcodes;
  int count = 0;
};

/// The histogram of a function's opcodes, the most frequent first.
std::vector<OpcodeCount> count_opcodes(const Function& function);

/// The runs of 2 to 8 opcodes that are in the function's blocks three times or more, and that cover
/// most instructions; `most` runs, none of which is a part or a rotation of another. A run of one
/// opcode is none: the histogram has it.
std::vector<OpcodeCount> find_runs(const Function& function, std::size_t most);

}  // namespace assay
