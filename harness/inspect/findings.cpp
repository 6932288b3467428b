#include "inspect/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>

#include "inspect/registers.h"
#include "inspect/words.h"

namespace assay {
namespace {

using Kind = InstructionClass;

// Of liveness: the registers of all blocks, as bits.
constexpr std::size_t kMaxLiveBits = std::size_t{1} << 27;

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

  explicit Scope(const Function& function) {
    if (const Loop* loop = main_loop(function)) {
      is_loop = true;
      for (const int block : loop->blocks) {
        blocks.push_back(&function.blocks[static_cast<std::size_t>(block)]);
      }
    } else {
      for (const Block& block : function.blocks) blocks.push_back(&block);
    }
  }
  std::string_view where() const { return is_loop ? "a turn of the main loop" : "in the kernel"; }
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

std::optional<std::int64_t> last_integer(const Instruction& instruction) {
  if (instruction.operands.empty()) return std::nullopt;
  std::string_view text = instruction.operands.back();
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
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
        if (const auto value = last_integer(instruction)) {
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

void find_copies(const Function& function, const Scope& scope, std::vector<CodeFinding>& findings) {
  if (const int copies = count_of(scope, {"cp.async.bulk", "UTMALDG", "UBLKCP"}); copies > 0) {
    findings.push_back({"copies", fmt::format("{} TMA copies {}", copies, scope.where())});
  }
  const int small = count_of(scope, {"cp.async.ca", "cp.async.cg", "LDGSTS"});
  if (small == 0) return;
  std::string text = fmt::format("{} cp.async {}", small, scope.where());
  // SASS waits by a general instruction, of which others are for other things.
  if (const auto wait = largest_wait(function, {"cp.async.wait_group"})) {
    text += fmt::format("; waits until the groups in flight are at most {}", *wait);
  }
  findings.push_back({"copies", text});
}

void find_predicated(const Scope& scope, std::vector<CodeFinding>& findings) {
  int all = 0, predicated = 0;
  SourceLine first;
  each_instruction(scope.blocks, [&](const Instruction& instruction) {
    if (!is_access(instruction.kind)) return;
    ++all;
    if (instruction.predicate.empty()) return;
    if (predicated++ == 0) first = instruction.source;
  });
  if (predicated == 0) return;
  findings.push_back({"predicated accesses",
                      fmt::format("{} of {} accesses to memory {} are under a predicate",
                                  predicated, all, scope.where()),
                      first});
}

void find_local(const Function& function, std::vector<CodeFinding>& findings) {
  int count = 0;
  SourceLine first;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      if (instruction.kind != Kind::local) continue;
      if (count++ == 0) first = instruction.source;
    }
  }
  if (count == 0) return;
  findings.push_back(
      {"local memory",
       fmt::format(
           "{} accesses: registers that were spilled, or an array with an index that is not "
           "known when compiling",
           count),
       first});
}

/// How many times a bank is asked for another word, of 32 threads `step` bytes apart that each take
/// `bytes`: 1 is without conflict. 128 bytes are served at a time.
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

int access_bytes(const Instruction& instruction) {
  int bits = 0, lanes = 1;
  for (const std::string_view part : dotted(instruction.opcode)) {
    if (part == "v2") lanes = 2;
    if (part == "v4") lanes = 4;
    if (part == "v8") lanes = 8;
    if (part.size() >= 2 && std::string_view("busf").find(part[0]) != std::string_view::npos) {
      int value = 0;
      const char* end = part.data() + part.size();
      if (std::from_chars(part.data() + 1, end, value).ptr == end) bits = value;
    }
  }
  return bits * lanes / 8;
}

void find_strides(const Scope& scope, Registers& registers, std::vector<CodeFinding>& findings) {
  std::set<std::pair<std::string, SourceLine>> seen;
  each_instruction(scope.blocks, [&](const Instruction& instruction) {
    const std::string_view name = dotted(instruction.opcode).front();
    if (name != "ld" && name != "st") return;
    const auto address =
        std::find_if(instruction.operands.begin(), instruction.operands.end(),
                     [](const std::string& text) { return text.starts_with('['); });
    if (address == instruction.operands.end()) return;
    const auto step = registers.step_of_thread(*address);
    const int bytes = access_bytes(instruction);
    if (!step || *step == 0 || bytes == 0) return;
    std::string title, text;
    if (instruction.kind == Kind::shared) {
      const int ways = bank_conflicts(*step, bytes);
      if (ways < 2) return;
      title = "bank conflicts";
      text = fmt::format("{}: threads are {} bytes apart, so {} of them meet in one bank",
                         instruction.opcode, *step, ways);
    } else if (instruction.kind >= Kind::global_8 && instruction.kind <= Kind::global_128) {
      if (std::abs(*step) <= bytes) return;
      title = "strided access";
      text = fmt::format("{}: threads are {} bytes apart and take {} each", instruction.opcode,
                         *step, bytes);
    } else {
      return;
    }
    if (seen.emplace(title + text, instruction.source).second) {
      findings.push_back({title, text, instruction.source});
    }
  });
}

/// Of each value in a block, how many loads it comes after, one waiting for the other.
void find_dependent_loads(const Function& function, const Registers& registers,
                          std::vector<CodeFinding>& findings) {
  int longest = 1;
  SourceLine where;
  std::map<int, int> loads_before;  // of each register
  for (std::size_t b = 0; b < function.blocks.size(); ++b) {
    loads_before.clear();
    const auto& instructions = function.blocks[b].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Registers::Use& use = registers.use(b, i);
      int before = 0;
      for (const int number : use.read) {
        const auto found = loads_before.find(number);
        if (found != loads_before.end()) before = std::max(before, found->second);
      }
      const bool loads = is_load(instructions[i]) && instructions[i].kind != Kind::constant;
      if (loads && before + 1 > longest) {
        longest = before + 1;
        where = instructions[i].source;
      }
      for (const int number : use.written) loads_before[number] = before + (loads ? 1 : 0);
    }
  }
  if (longest > 1) {
    findings.push_back(
        {"dependent loads",
         fmt::format("{} loads in a row, each of an address that the one before it brings",
                     longest),
         where});
  }
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

std::string float_text(double value) {
  const std::string text = fmt::format("{:.9g}", value);
  return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
}

/// 0f3F800000 or 0d3FF0000000000000; nothing else.
std::optional<double> ptx_float(std::string_view text) {
  const bool is_single = text.size() == 10 && text.starts_with("0f");
  if (!is_single && !(text.size() == 18 && text.starts_with("0d"))) return std::nullopt;
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data() + 2, end, bits, 16).ptr != end) return std::nullopt;
  if (is_single) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

/// Of "-1.4426950216293335571" or "+INF", as SASS prints a float.
std::optional<double> sass_float(std::string_view text) {
  if (text.ends_with("INF")) {
    return text.starts_with('-') ? -std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::infinity();
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("-0x")) return std::nullopt;
  double value = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value).ptr != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || at != end) return std::nullopt;
  return is_negative ? -value : value;
}

}  // namespace

std::vector<CodeFinding> find_motifs(const Function& function, InstructionSet set) {
  const Scope scope(function);
  std::vector<CodeFinding> findings;
  find_products(function, scope, findings);
  find_copies(function, scope, findings);
  if (set == InstructionSet::ptx) {
    Registers registers(function);
    find_strides(scope, registers, findings);
    find_dependent_loads(function, registers, findings);
    find_conversions(function, registers, findings);
  }
  find_predicated(scope, findings);
  find_local(function, findings);
  return findings;
}

std::vector<Constant> find_constants(const Function& function, InstructionSet set) {
  // Smaller integers are offsets and counts.
  constexpr std::int64_t kMinInteger = 256;
  std::map<std::pair<bool, std::string>, Constant> constants;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      if (instruction.kind == Kind::branch) continue;
      const bool is_float_work =
          instruction.kind == Kind::fma || instruction.kind == Kind::other_float;
      for (const std::string& operand : instruction.operands) {
        std::optional<double> real;
        if (set == InstructionSet::ptx) real = ptx_float(operand);
        if (set == InstructionSet::sass && is_float_work) real = sass_float(operand);
        const auto integer = real ? std::nullopt : integer_of(operand);
        if (!real && (!integer || std::abs(*integer) < kMinInteger)) continue;
        const std::string text =
            real ? float_text(*real) : fmt::format("{:#x}", static_cast<std::uint64_t>(*integer));
        Constant& constant = constants[{!real, text}];
        if (constant.count++ == 0) {
          constant.text = text;
          constant.is_float = real.has_value();
          constant.source = instruction.source;
        }
      }
    }
  }
  std::vector<Constant> list;
  for (auto& [key, constant] : constants) list.push_back(std::move(constant));
  std::stable_sort(list.begin(), list.end(), [](const Constant& a, const Constant& b) {
    return a.is_float != b.is_float ? a.is_float : a.count > b.count;
  });
  return list;
}

int live_registers(const Function& function, const Loop& loop) {
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
      const Set& of_next = live[static_cast<std::size_t>(next)];
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
      if (set != live[b]) {
        live[b] = std::move(set);
        changed = true;
      }
    }
  }
  int most = 0;
  for (const int block : loop.blocks) {
    const auto b = static_cast<std::size_t>(block);
    Set set = behind(b);
    int count = 0;
    const auto recount = [&] {
      count = 0;
      for (std::size_t i = 0; i < words; ++i) {
        for (std::uint64_t left = set[i]; left != 0; left &= left - 1) {
          count += registers.width(static_cast<int>(i * 64) + std::countr_zero(left));
        }
      }
    };
    recount();
    most = std::max(most, count);
    for (std::size_t i = function.blocks[b].instructions.size(); i-- > 0;) {
      step_back(set, b, i);
      recount();
      most = std::max(most, count);
    }
  }
  return most;
}

}  // namespace assay
