#include "inspect/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "inspect/registers.h"
#include "inspect/words.h"

namespace assay {
namespace {

using Kind = InstructionClass;

bool is_load(const Instruction& instruction) {
  static const std::set<std::string_view> kLoads{"ld",   "ldmatrix", "LDG", "LDS",
                                                 "LDSM", "LD",       "LDL"};
  return kLoads.contains(dotted(instruction.opcode).front());
}

bool is_access(Kind kind) {
  return (kind >= Kind::global_8 && kind <= Kind::shared) || kind == Kind::generic;
}

using Blocks = std::vector<const Block*>;

Blocks all_blocks(const Function& function) {
  Blocks blocks;
  for (const Block& block : function.blocks) blocks.push_back(&block);
  return blocks;
}

/// The main loop, or all of the function without one.
struct Scope {
  Blocks blocks;
  bool is_loop = false;

  explicit Scope(const Function& function) {
    const Loop* const loop = main_loop(function);
    is_loop = loop != nullptr;
    if (!is_loop) {
      blocks = all_blocks(function);
      return;
    }
    for (const int block : loop->blocks) blocks.push_back(&block_of(function, block));
  }
  std::string_view where() const { return is_loop ? "a turn of the main loop" : "in the kernel"; }
};

template <typename Visit>
void each_instruction(const Blocks& blocks, const Visit& visit) {
  for (const Block* block : blocks) {
    for (const Instruction& instruction : block->instructions) visit(instruction);
  }
}

using Beginnings = std::initializer_list<std::string_view>;

/// Whether an instruction's name begins as one of these.
bool begins(const Instruction& instruction, Beginnings beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
    return instruction.opcode.starts_with(beginning);
  });
}

int count_of(const Blocks& blocks, Beginnings beginnings) {
  int count = 0;
  each_instruction(blocks, [&](const Instruction& instruction) {
    count += begins(instruction, beginnings) ? 1 : 0;
  });
  return count;
}

/// "; waits until the groups in flight are at most 1": the largest number that an instruction of
/// this name waits for, over the whole function, since a loop's own wait is the largest, and those
/// behind it end with 0. Empty where none waits.
std::string wait_text(const Function& function, Beginnings beginnings) {
  std::optional<std::int64_t> largest;
  each_instruction(all_blocks(function), [&](const Instruction& instruction) {
    if (!begins(instruction, beginnings) || instruction.operands.empty()) return;
    if (const auto value = integer_of(instruction.operands.back())) {
      largest = std::max(largest.value_or(0), *value);
    }
  });
  return largest ? fmt::format("; waits until the groups in flight are at most {}", *largest) : "";
}

void find_products(const Function& function, const Scope& scope,
                   std::vector<CodeFinding>& findings) {
  const int groups = count_of(scope.blocks, {"wgmma.mma_async", "HGMMA", "IGMMA", "QGMMA"});
  if (groups > 0) {
    findings.push_back(
        {"products", fmt::format("{} wgmma {}{}", groups, scope.where(),
                                 wait_text(function, {"wgmma.wait_group", "WARPGROUP.DEPBAR"}))});
  }
  const int newer =
      count_of(scope.blocks, {"tcgen05.mma", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"});
  if (newer > 0) {
    findings.push_back({"products", fmt::format("{} tcgen05.mma {}", newer, scope.where())});
  }
  const int products = count_of(scope.blocks, {"mma.", "wmma.mma", "HMMA", "IMMA", "DMMA", "QMMA"});
  if (products > 0) {
    const int matrices = count_of(scope.blocks, {"ldmatrix", "wmma.load", "LDSM"});
    std::string text = fmt::format("{} mma {}", products, scope.where());
    if (matrices > 0) {
      text += fmt::format(", fed by {} ldmatrix: {:.3g} mma each", matrices,
                          static_cast<double>(products) / matrices);
    }
    findings.push_back({"products", text});
  }
}

int count_bulk_copies(const Blocks& blocks) {
  return count_of(blocks, {"cp.async.bulk.tensor", "cp.async.bulk.shared", "UTMALDG", "UBLKCP"});
}

void find_copies(const Function& function, const Scope& scope, std::vector<CodeFinding>& findings) {
  if (const int copies = count_bulk_copies(scope.blocks); copies > 0) {
    findings.push_back({"copies", fmt::format("{} TMA copies {}", copies, scope.where())});
  } else if (const int others = count_bulk_copies(all_blocks(function)); others > 0) {
    // Some warps copy, and others compute, each in a loop of their own.
    findings.push_back({"copies", fmt::format("{} TMA copies outside the main loop", others)});
  }
  const int small = count_of(scope.blocks, {"cp.async.ca", "cp.async.cg", "LDGSTS"});
  if (small == 0) return;
  // SASS waits by a general instruction, which has nothing else to wait for in such a number.
  findings.push_back(
      {"copies", fmt::format("{} cp.async {}{}", small, scope.where(),
                             wait_text(function, {"cp.async.wait_group", "DEPBAR.LE"}))});
}

/// In all of the function: what is counted in a loop is often added up behind it.
void find_atomics(const Function& function, std::vector<CodeFinding>& findings) {
  int shared = 0, global = 0;
  SourceLine first;
  each_instruction(all_blocks(function), [&](const Instruction& instruction) {
    const std::string_view name = dotted(instruction.opcode).front();
    const bool is_ptx = name == "atom" || name == "red";
    const bool is_shared =
        name == "ATOMS" || name == "REDS" || (is_ptx && instruction.kind == Kind::shared);
    const bool is_global = (is_ptx && !is_shared) || name == "ATOM" || name == "ATOMG" ||
                           name == "RED" || name == "REDG";
    if (!is_shared && !is_global) return;
    if (shared + global == 0) first = instruction.source;
    (is_shared ? shared : global) += 1;
  });
  if (shared + global == 0) return;
  std::string text;
  if (global > 0) text = fmt::format("{} on global memory", global);
  if (shared > 0) text += fmt::format("{}{} on shared memory", global > 0 ? ", " : "", shared);
  findings.push_back({"atomics", text, first});
}

/// Accesses that a predicate switches off, or that a turn of the main loop may jump over: tails,
/// and edges of a tile.
void find_conditional(const Function& function, const Scope& scope,
                      std::vector<CodeFinding>& findings) {
  std::set<const Block*> skipped;
  if (const Loop* loop = main_loop(function)) {
    for (const int index : loop->blocks) {
      const Block& block = block_of(function, index);
      // Of loops within it, each turn has a condition.
      if (!loop->has_always(index) && block.depth == loop->depth) skipped.insert(&block);
    }
  }
  int all = 0, predicated = 0, jumped_over = 0;
  SourceLine first;
  for (const Block* block : scope.blocks) {
    for (const Instruction& instruction : block->instructions) {
      if (!is_access(instruction.kind)) continue;
      ++all;
      const bool is_predicated = !instruction.predicate.empty();
      if (!is_predicated && !skipped.contains(block)) continue;
      if (predicated + jumped_over == 0) first = instruction.source;
      (is_predicated ? predicated : jumped_over) += 1;
    }
  }
  if (predicated + jumped_over == 0) return;
  std::string text = fmt::format("of {} accesses to memory {}", all, scope.where());
  if (predicated > 0) text += fmt::format(" {} are under a predicate", predicated);
  if (jumped_over > 0) {
    text += fmt::format("{} {} may be skipped", predicated > 0 ? " and" : "", jumped_over);
  }
  findings.push_back({"conditional accesses", text, first});
}

void find_local(const Function& function, std::vector<CodeFinding>& findings) {
  int count = 0;
  std::map<SourceLine, int> lines;
  each_instruction(all_blocks(function), [&](const Instruction& instruction) {
    if (instruction.kind != Kind::local) return;
    ++count;
    ++lines[instruction.source];
  });
  if (count == 0) return;
  findings.push_back(
      {"local memory",
       fmt::format(
           "{} accesses: registers that were spilled, or an array with an index that is not "
           "known when compiling",
           count),
       lines.size() == 1 ? lines.begin()->first : SourceLine{}, std::move(lines)});
}

/// Of each value in a block, how many loads it comes after, one waiting for the other. A block that
/// is a loop is gone through twice: a turn may wait for the one before.
void find_dependent_loads(const Function& function, const Registers& registers,
                          std::vector<CodeFinding>& findings) {
  int longest = 1;
  bool is_loop = false;
  SourceLine where;
  for (std::size_t b = 0; b < function.blocks.size(); ++b) {
    const Block& block = function.blocks[b];
    const bool repeats =
        std::find(block.next.begin(), block.next.end(), static_cast<int>(b)) != block.next.end();
    std::map<int, int> loads_before;  // of each register
    for (const bool again : {false, true}) {
      if (again && !repeats) break;
      for (std::size_t i = 0; i < block.instructions.size(); ++i) {
        const Instruction& instruction = block.instructions[i];
        const Registers::Use& use = registers.use(b, i);
        int before = 0;
        for (const int number : use.read) {
          const auto found = loads_before.find(number);
          if (found != loads_before.end()) before = std::max(before, found->second);
        }
        const bool loads = is_load(instruction) && instruction.kind != Kind::constant;
        if (loads && before + 1 > longest) {
          longest = before + 1;
          is_loop = again;
          where = instruction.source;
        }
        for (const int number : use.written) loads_before[number] = before + (loads ? 1 : 0);
      }
    }
  }
  if (longest == 1) return;
  std::string text =
      is_loop
          ? "loads of a loop's turn wait for those of the turn before, which bring their address"
          : fmt::format("{} loads in a row, each of an address that the one before it brings",
                        longest);
  findings.push_back({"dependent loads", std::move(text), where});
}

/// A value that is made narrower and wide again within a block.
void find_conversions(const Function& function, const Registers& registers,
                      std::vector<CodeFinding>& findings) {
  int count = 0;
  SourceLine first;
  for (std::size_t b = 0; b < function.blocks.size(); ++b) {
    std::map<int, std::pair<std::string, std::string>> made;  // of each register: to, from
    const auto& instructions = function.blocks[b].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Registers::Use& use = registers.use(b, i);
      for (const int number : use.written) made.erase(number);
      const std::vector<std::string_view> parts = dotted(instructions[i].opcode);
      if (parts.front() != "cvt" || parts.size() < 3 || use.written.size() != 1 ||
          use.read.size() != 1) {
        continue;
      }
      const std::string to(parts[parts.size() - 2]), from(parts.back());
      const auto source = made.find(use.read.front());
      if (source != made.end() && source->second.first == from && source->second.second == to) {
        if (count++ == 0) first = instructions[i].source;
      }
      made[use.written.front()] = {to, from};
    }
  }
  if (count == 0) return;
  findings.push_back({"conversions",
                      fmt::format("{} values are converted and at once converted back", count),
                      first});
}

/// How many times a bank is asked for another word, of a warp that lies along x: 32 threads `step`
/// bytes apart that each take `bytes`: 1 is without conflict. 128 bytes are served at a time.
int bank_conflicts(std::int64_t step, int bytes) {
  const int threads = 32 * 4 / std::max(bytes, 4);
  int worst = 1;
  for (int begin = 0; begin < 32; begin += threads) {
    std::map<std::int64_t, std::set<std::int64_t>> words;  // of each bank
    for (int thread = begin; thread < begin + threads; ++thread) {
      for (int word = 0; word < std::max(bytes / 4, 1); ++word) {
        const std::int64_t at = (step * thread + 4 * word) >> 2;
        words[at & 31].insert(at);
      }
    }
    for (const auto& [bank, of_bank] : words) {
      worst = std::max(worst, static_cast<int>(of_bank.size()));
    }
  }
  return worst;
}

// Beyond it no offset of neighbours is meant.
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 40;

/// The "[%rd2+16]" of a load or a store; null for anything else.
const std::string* address_of(const Instruction& instruction) {
  const std::string_view name = dotted(instruction.opcode).front();
  if (name != "ld" && name != "st") return nullptr;
  const auto address = std::find_if(instruction.operands.begin(), instruction.operands.end(),
                                    [](const std::string& text) { return text.starts_with('['); });
  return address == instruction.operands.end() ? nullptr : &*address;
}

/// "ld.global.f32 [%rd2" and 16.
std::pair<std::string, std::int64_t> base_and_offset(const Instruction& instruction,
                                                     const std::string& address) {
  const std::size_t plus = address.find('+');
  const std::string base = address.substr(0, std::min(plus, address.find(']')));
  std::optional<std::int64_t> offset;
  if (plus != std::string::npos) {
    offset = integer_of(std::string_view(address).substr(plus + 1, address.size() - plus - 2));
  }
  return {instruction.opcode + " " + base, offset.value_or(0)};
}

/// Whether accesses of so many bytes at these offsets are all that lies between two threads.
bool fill(const std::set<std::int64_t>& offsets, std::int64_t step, int bytes) {
  std::set<std::int64_t> places;
  for (const std::int64_t offset : offsets) {
    const std::int64_t place = (offset - *offsets.begin()) % step;
    if (place % bytes == 0) places.insert(place);
  }
  return static_cast<std::int64_t>(places.size()) * bytes >= step;
}

void find_strides(const std::vector<const Block*>& blocks, Registers& registers,
                  std::vector<CodeFinding>& findings) {
  std::vector<std::pair<const Instruction*, const std::string*>> accesses;  // with their addresses
  std::map<std::string, std::set<std::int64_t>> offsets;  // of what differs in no more
  for (const Block* block : blocks) {
    for (const Instruction& instruction : block->instructions) {
      const std::string* const address = address_of(instruction);
      if (address == nullptr) continue;
      accesses.emplace_back(&instruction, address);
      const auto [base, offset] = base_and_offset(instruction, *address);
      if (offset > -kMaxOffset && offset < kMaxOffset) offsets[base].insert(offset);
    }
  }
  std::set<std::pair<std::string, SourceLine>> seen;
  for (const auto& [access, address] : accesses) {
    const Instruction& instruction = *access;
    const auto step = registers.step_of_thread(*address);
    const int bytes = access_bits(instruction.opcode) / 8;
    // A text that says so of an access of more than a bank's row is damaged.
    if (!step || *step == 0 || bytes == 0 || bytes > 128) continue;
    const bool is_global =
        instruction.kind >= Kind::global_8 && instruction.kind <= Kind::global_128;
    std::string title, text;
    if (instruction.kind == Kind::shared) {
      if (*step == Registers::kSomeStep) continue;
      const int ways = bank_conflicts(*step, bytes);
      if (ways < 2) continue;
      title = "bank conflicts";
      text = fmt::format(
          "{}: along x, threads are {} bytes apart, so up to {} of them meet in one bank",
          instruction.opcode, *step, ways);
    } else if (is_global && *step == Registers::kSomeStep) {
      title = "strided access";
      text = fmt::format(
          "{}: along x, threads that take {} bytes each are apart by a number that is not known "
          "when compiling",
          instruction.opcode, bytes);
    } else if (is_global) {
      if (std::abs(*step) <= bytes) continue;
      const auto& of_base = offsets[base_and_offset(instruction, *address).first];
      if (!of_base.empty() && fill(of_base, std::abs(*step), bytes)) {
        title = "narrow accesses";
        text = fmt::format(
            "{}: along x, threads are {} bytes apart and take all of them, {} at a time",
            instruction.opcode, *step, bytes);
      } else {
        title = "strided access";
        text = fmt::format("{}: along x, threads are {} bytes apart and take {} each",
                           instruction.opcode, *step, bytes);
      }
    } else {
      continue;
    }
    if (seen.emplace(title + text, instruction.source).second) {
      findings.push_back({title, text, instruction.source});
    }
  }
}

}  // namespace

std::vector<CodeFinding> find_motifs(const Function& function, InstructionSet set) {
  const Scope scope(function);
  std::vector<CodeFinding> findings;
  find_products(function, scope, findings);
  find_copies(function, scope, findings);
  if (set == InstructionSet::ptx) {
    Registers registers(function);
    find_strides(scope.blocks, registers, findings);
    find_dependent_loads(function, registers, findings);
    find_conversions(function, registers, findings);
  }
  find_atomics(function, findings);
  find_conditional(function, scope, findings);
  find_local(function, findings);
  return findings;
}

}  // namespace assay
