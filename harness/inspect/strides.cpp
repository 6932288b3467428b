#include "inspect/strides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "inspect/words.h"

namespace assay {
namespace {

using Kind = InstructionClass;

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

}  // namespace

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

}  // namespace assay
