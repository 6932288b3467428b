#include "inspect/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "inspect/registers.h"
#include "inspect/strides.h"
#include "inspect/words.h"

namespace assay {
namespace {

using Kind = InstructionClass;

bool is_load(const Instruction& instruction) {
  const std::string_view name = dotted(instruction.opcode).front();
  return name == "ld" || name == "ldmatrix" || name == "LDG" || name == "LDS" || name == "LDSM" ||
         name == "LD" || name == "LDL";
}

bool is_access(Kind kind) {
  return (kind >= Kind::global_8 && kind <= Kind::shared) || kind == Kind::generic;
}

/// Instructions whose name begins so, in the main loop, or in all of the function without one.
struct Scope {
  std::vector<const Block*> blocks;
  bool is_loop = false;

  static Scope all(const Function& function) {
    Scope scope;
    for (const Block& block : function.blocks) scope.blocks.push_back(&block);
    return scope;
  }

  explicit Scope(const Function& function) {
    if (const Loop* loop = main_loop(function)) {
      is_loop = true;
      for (const int block : loop->blocks) {
        blocks.push_back(&function.blocks[static_cast<std::size_t>(block)]);
      }
    } else {
      *this = all(function);
    }
  }
  std::string_view where() const { return is_loop ? "a turn of the main loop" : "in the kernel"; }

 private:
  Scope() = default;
};

template <typename Visit>
void each_instruction(const std::vector<const Block*>& blocks, const Visit& visit) {
  for (const Block* block : blocks) {
    for (const Instruction& instruction : block->instructions) visit(instruction);
  }
}

int count_of(const Scope& scope, std::initializer_list<std::string_view> beginnings) {
  int count = 0;
  each_instruction(scope.blocks, [&](const Instruction& instruction) {
    for (const std::string_view beginning : beginnings) {
      if (instruction.opcode.starts_with(beginning)) {
        ++count;
        return;
      }
    }
  });
  return count;
}

/// The largest number that an instruction of this name waits for, over the whole function: a loop's
/// own wait is the largest, those behind it end with 0.
std::optional<std::int64_t> largest_wait(const Function& function,
                                         std::initializer_list<std::string_view> beginnings) {
  std::optional<std::int64_t> largest;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      for (const std::string_view beginning : beginnings) {
        if (!instruction.opcode.starts_with(beginning)) continue;
        if (instruction.operands.empty()) continue;
        if (const auto value = integer_of(instruction.operands.back())) {
          largest = std::max(largest.value_or(0), *value);
        }
      }
    }
  }
  return largest;
}

void find_products(const Function& function, const Scope& scope,
                   std::vector<CodeFinding>& findings) {
  const int groups = count_of(scope, {"wgmma.mma_async", "HGMMA", "IGMMA", "QGMMA"});
  if (groups > 0) {
    std::string text = fmt::format("{} wgmma {}", groups, scope.where());
    const auto wait = largest_wait(function, {"wgmma.wait_group", "WARPGROUP.DEPBAR"});
    if (wait) text += fmt::format("; waits until the groups in flight are at most {}", *wait);
    findings.push_back({"products", text});
  }
  const int newer = count_of(scope, {"tcgen05.mma", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA"});
  if (newer > 0) {
    findings.push_back({"products", fmt::format("{} tcgen05.mma {}", newer, scope.where())});
  }
  const int products = count_of(scope, {"mma.", "wmma.mma", "HMMA", "IMMA", "DMMA", "QMMA"});
  if (products > 0) {
    const int matrices = count_of(scope, {"ldmatrix", "wmma.load", "LDSM"});
    std::string text = fmt::format("{} mma {}", products, scope.where());
    if (matrices > 0) {
      text += fmt::format(", fed by {} ldmatrix: {:.3g} mma each", matrices,
                          static_cast<double>(products) / matrices);
    }
    findings.push_back({"products", text});
  }
}

int count_bulk_copies(const Scope& scope) {
  return count_of(scope, {"cp.async.bulk.tensor", "cp.async.bulk.shared", "UTMALDG", "UBLKCP"});
}

void find_copies(const Function& function, const Scope& scope, std::vector<CodeFinding>& findings) {
  if (const int copies = count_bulk_copies(scope); copies > 0) {
    findings.push_back({"copies", fmt::format("{} TMA copies {}", copies, scope.where())});
  } else if (const int others = count_bulk_copies(Scope::all(function)); others > 0) {
    // Some warps copy, and others compute, each in a loop of their own.
    findings.push_back({"copies", fmt::format("{} TMA copies outside the main loop", others)});
  }
  const int small = count_of(scope, {"cp.async.ca", "cp.async.cg", "LDGSTS"});
  if (small == 0) return;
  std::string text = fmt::format("{} cp.async {}", small, scope.where());
  // SASS waits by a general instruction, which has nothing else to wait for in such a number.
  if (const auto wait = largest_wait(function, {"cp.async.wait_group", "DEPBAR.LE"})) {
    text += fmt::format("; waits until the groups in flight are at most {}", *wait);
  }
  findings.push_back({"copies", text});
}

/// In all of the function: what is counted in a loop is often added up behind it.
void find_atomics(const Function& function, std::vector<CodeFinding>& findings) {
  int shared = 0, global = 0;
  SourceLine first;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      const std::string_view name = dotted(instruction.opcode).front();
      const bool is_ptx = name == "atom" || name == "red";
      const bool is_shared =
          name == "ATOMS" || name == "REDS" || (is_ptx && instruction.kind == Kind::shared);
      const bool is_global = (is_ptx && !is_shared) || name == "ATOM" || name == "ATOMG" ||
                             name == "RED" || name == "REDG";
      if (!is_shared && !is_global) continue;
      if (shared + global == 0) first = instruction.source;
      (is_shared ? shared : global) += 1;
    }
  }
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
      const Block& block = function.blocks[static_cast<std::size_t>(index)];
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
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      if (instruction.kind != Kind::local) continue;
      ++count;
      ++lines[instruction.source];
    }
  }
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
