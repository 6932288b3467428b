#include "inspect/registers.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>

#include "inspect/words.h"

namespace assay {
namespace {

// Of liveness: the registers of all blocks, as bits.
constexpr std::size_t kMaxLiveBits = std::size_t{1} << 27;

// A chain of definitions that is followed back. Addresses take a dozen.
constexpr int kMaxDepth = 200;
// Beyond it no address is meant.
constexpr std::int64_t kMaxStep = std::int64_t{1} << 40;

/// Calls `found` with each register in an operand: %r12, but not %tid.x.
template <typename Found>
void each_register(std::string_view operand, const Found& found) {
  for (std::size_t at = operand.find('%'); at != std::string_view::npos;
       at = operand.find('%', at + 1)) {
    std::size_t end = at + 1;
    while (end < operand.size() && is_letter(operand[end])) ++end;
    const std::size_t digits = end;
    while (end < operand.size() && is_digit(operand[end])) ++end;
    const bool goes_on = end < operand.size() && (is_letter(operand[end]) || operand[end] == '.');
    if (digits > at + 1 && end > digits && !goes_on) found(operand.substr(at, end - at));
  }
}

int width_of(std::string_view name) {
  const std::string_view letters =
      name.substr(1, std::find_if(name.begin() + 1, name.end(), is_digit) - name.begin() - 1);
  if (letters == "p") return 0;
  if (letters == "rd" || letters == "fd" || letters == "d") return 2;
  if (letters == "rq") return 4;
  return 1;
}

/// Whether the first operand is read and not written.
bool writes_nothing(const Instruction& instruction) {
  static const std::set<std::string_view> kNames{
      "st",        "red",           "bra",      "brx",        "bar",       "barrier",
      "fence",     "membar",        "cp",       "prefetch",   "prefetchu", "ret",
      "exit",      "trap",          "stmatrix", "setmaxnreg", "discard",   "griddepcontrol",
      "nanosleep", "applypriority", "tcgen05",  "sust",       "call"};
  return kNames.contains(dotted(instruction.opcode).front()) ||
         (!instruction.operands.empty() && instruction.operands.front().starts_with('['));
}

/// Of two steps. Two that are not known may cancel out.
std::optional<std::int64_t> sum_of(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kSome = Registers::kSomeStep;
  if (a == kSome || b == kSome) return a == b ? std::nullopt : std::optional(kSome);
  const std::int64_t sum = a + b;  // both are below kMaxStep in size
  return sum > -kMaxStep && sum < kMaxStep ? std::optional(sum) : std::nullopt;
}

LiveRegisters counted_registers(const Function& function, const Loop& loop) {
  LiveRegisters most;
  for (const int block : loop.blocks) {
    for (const Instruction& instruction : block_of(function, block).instructions) {
      most.ordinary = std::max(most.ordinary, instruction.live);
      most.uniform = std::max(most.uniform, instruction.live_uniform);
    }
  }
  return most;
}

int live_ptx_registers(const Function& function, const Loop& loop) {
  const Registers registers(function);
  const std::size_t words = registers.count() / 64 + 1, blocks = function.blocks.size();
  if (words * 64 * blocks > kMaxLiveBits) return 0;
  using Set = std::vector<std::uint64_t>;
  const auto bit = [](int number) { return std::uint64_t{1} << (number % 64); };
  const auto word = [](int number) { return static_cast<std::size_t>(number) / 64; };
  std::vector<Set> live(blocks, Set(words));  // where each block begins
  const auto behind = [&](std::size_t b) {
    Set set(words);
    for (const int next : function.blocks[b].next) {
      const Set& of_next = live[next];
      for (std::size_t i = 0; i < words; ++i) set[i] |= of_next[i];
    }
    return set;
  };
  const auto step_back = [&](Set& set, std::size_t b, std::size_t i) {
    const Registers::Use& use = registers.use(b, i);
    // What is written under a predicate may keep what was there.
    if (function.blocks[b].instructions[i].predicate.empty()) {
      for (const int number : use.written) set[word(number)] &= ~bit(number);
    }
    for (const int number : use.read) set[word(number)] |= bit(number);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks; b-- > 0;) {
      Set set = behind(b);
      for (std::size_t i = function.blocks[b].instructions.size(); i-- > 0;) step_back(set, b, i);
      changed = changed || set != live[b];
      live[b] = std::move(set);
    }
  }
  int most = 0;
  for (const int block : loop.blocks) {
    const auto b = static_cast<std::size_t>(block);
    Set set = behind(b);
    for (std::size_t left = function.blocks[b].instructions.size();; --left) {
      int count = 0;
      for (std::size_t i = 0; i < words; ++i) {
        for (std::uint64_t bits = set[i]; bits != 0; bits &= bits - 1) {
          count += registers.width(static_cast<int>(i * 64) + std::countr_zero(bits));
        }
      }
      most = std::max(most, count);
      if (left == 0) break;
      step_back(set, b, left - 1);
    }
  }
  return most;
}

}  // namespace

Registers::Registers(const Function& function) {
  uses_.resize(function.blocks.size());
  for (std::size_t b = 0; b < function.blocks.size(); ++b) {
    const Block& block = function.blocks[b];
    uses_[b].resize(block.instructions.size());
    for (std::size_t i = 0; i < block.instructions.size(); ++i) {
      const Instruction& instruction = block.instructions[i];
      Use& use = uses_[b][i];
      const bool has_result = !writes_nothing(instruction);
      const bool accumulates = instruction.opcode.starts_with("wgmma.mma_async");
      for (std::size_t o = 0; o < instruction.operands.size(); ++o) {
        each_register(instruction.operands[o], [&](std::string_view name) {
          const int number = number_of(name);
          const bool is_result = has_result && o == 0;
          if (is_result) use.written.push_back(number);
          if (!is_result || accumulates) use.read.push_back(number);
        });
      }
      each_register(instruction.predicate,
                    [&](std::string_view name) { use.read.push_back(number_of(name)); });
      for (const int number : use.written) {
        writers_[number].push_back(&instruction);
      }
    }
  }
}

int Registers::number_of(std::string_view name) {
  const auto [at, is_new] =
      numbers_.try_emplace(std::string(name), static_cast<int>(widths_.size()));
  if (is_new) {
    widths_.push_back(width_of(name));
    writers_.emplace_back();
  }
  return at->second;
}

std::optional<std::int64_t> Registers::step_of_thread(const std::string& operand) {
  return step_of_operand(operand, 0);
}

std::optional<std::int64_t> Registers::step_of_operand(std::string_view operand, int depth) {
  if (operand.find("%tid.x") != std::string_view::npos) return 1;
  if (operand.find("%tid") != std::string_view::npos || operand.starts_with("%laneid")) {
    return std::nullopt;
  }
  std::optional<std::int64_t> step = 0;
  each_register(operand, [&](std::string_view name) {
    const auto number = numbers_.find(name);
    const auto of_register = number == numbers_.end() ? std::optional<std::int64_t>(0)
                                                      : step_of_register(number->second, depth);
    step = step && of_register ? sum_of(*step, *of_register) : std::nullopt;
  });
  return step;
}

std::optional<std::int64_t> Registers::step_of_register(int number, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  if (const auto known = steps_.find(number); known != steps_.end()) return known->second;
  const auto& writers = writers_[number];
  if (writers.empty()) return 0;
  steps_[number] = std::nullopt;  // of itself, until it is known
  std::optional<std::int64_t> step = step_of_result(*writers.front(), depth + 1);
  steps_[number] = step;
  // Of a loop's variable the first writer sets it and another adds to it.
  for (std::size_t i = 1; i < writers.size() && step; ++i) {
    if (step_of_result(*writers[i], depth + 1) != step) step.reset();
  }
  steps_[number] = step;
  return step;
}

std::optional<std::int64_t> Registers::step_of_result(const Instruction& writer, int depth) {
  const std::vector<std::string_view> parts = dotted(writer.opcode);
  const std::string_view name = parts.front();
  std::vector<std::optional<std::int64_t>> steps;
  for (std::size_t i = 1; i < writer.operands.size(); ++i) {
    steps.push_back(step_of_operand(writer.operands[i], depth));
  }
  const bool is_uniform =
      std::all_of(steps.begin(), steps.end(), [](const auto& step) { return step == 0; });
  if (is_uniform) return 0;
  // A register that is the same for all threads is a factor that is not known.
  const auto times = [&](std::size_t i, std::size_t factor) -> std::optional<std::int64_t> {
    if (!steps[i]) return std::nullopt;
    if (*steps[i] == 0) return steps[factor] == 0 ? steps[i] : std::nullopt;
    const auto by = integer_of(writer.operands[factor + 1]);
    if (!by) return steps[factor] == 0 ? std::optional(kSomeStep) : std::nullopt;
    if (*by == 0) return 0;
    if (*steps[i] == kSomeStep) return kSomeStep;
    if (*by <= -kMaxStep || *by >= kMaxStep) return std::nullopt;
    // Both are below 2^40 in size; most products of such are no stride.
    const auto product = static_cast<__int128>(*steps[i]) * *by;
    if (product <= -kMaxStep || product >= kMaxStep) return std::nullopt;
    return static_cast<std::int64_t>(product);
  };
  if ((name == "mov" || name == "cvta" || name == "cvt") && steps.size() == 1) return steps[0];
  if ((name == "add" || name == "sub") && steps.size() == 2 && steps[0] && steps[1]) {
    const bool is_some = *steps[1] == kSomeStep;
    return sum_of(*steps[0], name == "add" || is_some ? *steps[1] : -*steps[1]);
  }
  if (name == "shl" && steps.size() == 2 && steps[0]) {
    const auto by = integer_of(writer.operands[2]);
    if (!by || *by < 0 || *by > 20) return std::nullopt;
    if (*steps[0] == kSomeStep) return kSomeStep;
    if (std::abs(*steps[0]) >= (std::int64_t{1} << 20)) return std::nullopt;
    return *steps[0] * (std::int64_t{1} << *by);
  }
  const bool is_high = std::find(parts.begin(), parts.end(), "hi") != parts.end();
  if ((name == "mul" || name == "mad") && steps.size() >= 2 && !is_high) {
    const auto product = steps[0] == 0 ? times(1, 0) : times(0, 1);
    if (name == "mul" || !product) return product;
    if (steps.size() < 3 || !steps[2]) return std::nullopt;
    return sum_of(*product, *steps[2]);
  }
  return std::nullopt;
}

LiveRegisters live_registers(const Function& function, const Loop& loop, InstructionSet set) {
  if (set == InstructionSet::sass) return counted_registers(function, loop);
  return {live_ptx_registers(function, loop), 0};
}

}  // namespace assay
