#include "inspect/opcodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace assay {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kShortestRun = 2, kLongestRun = 8;
constexpr int kLeastOften = 3;

std::string name_of(const Instruction& instruction) {
  return instruction.opcode.substr(0, instruction.opcode.find('.'));
}

/// How often each run of `length` names is in a block, those that overlap counted once.
std::map<Names, int> count_runs(const std::vector<Names>& blocks, std::size_t length) {
  std::map<Names, int> counts;
  for (const Names& names : blocks) {
    std::map<Names, std::size_t> ends;  // of the last of these that was counted
    for (std::size_t begin = 0; begin + length <= names.size(); ++begin) {
      const auto first = names.begin() + static_cast<std::ptrdiff_t>(begin);
      const Names run(first, first + static_cast<std::ptrdiff_t>(length));
      const auto [end, is_new] = ends.try_emplace(run, begin + length);
      if (!is_new && begin < end->second) continue;
      end->second = begin + length;
      ++counts[run];
    }
  }
  return counts;
}

/// Whether `run` is in `names` once these are repeated: a rotation of them, or a part.
bool is_part_of(const Names& run, const Names& names) {
  Names twice = names;
  while (twice.size() < run.size() + names.size()) {
    twice.insert(twice.end(), names.begin(), names.end());
  }
  return std::search(twice.begin(), twice.end(), run.begin(), run.end()) != twice.end();
}

}  // namespace

std::vector<OpcodeCount> count_opcodes(const Function& function) {
  std::map<std::string, int> counts;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) ++counts[name_of(instruction)];
  }
  std::vector<OpcodeCount> list;
  for (const auto& [opcode, count] : counts) list.push_back({{opcode}, count});
  std::ranges::stable_sort(list, std::ranges::greater{}, &OpcodeCount::count);
  return list;
}

std::vector<OpcodeCount> find_runs(const Function& function, std::size_t most) {
  std::vector<Names> blocks;
  for (const Block& block : function.blocks) {
    Names& names = blocks.emplace_back();
    for (const Instruction& instruction : block.instructions) names.push_back(name_of(instruction));
  }
  std::vector<OpcodeCount> runs;
  for (std::size_t length = kShortestRun; length <= kLongestRun; ++length) {
    for (auto& [names, count] : count_runs(blocks, length)) {
      const bool is_uniform = std::set(names.begin(), names.end()).size() == 1;
      if (count >= kLeastOften && !is_uniform) runs.push_back({names, count});
    }
  }
  const auto covered = [](const OpcodeCount& run) {
    return run.count * static_cast<int>(run.opcodes.size());
  };
  std::ranges::stable_sort(runs, std::ranges::greater{}, covered);
  std::vector<OpcodeCount> chosen;
  for (OpcodeCount& run : runs) {
    if (chosen.size() == most) break;
    const bool is_told = std::ranges::any_of(chosen, [&](const OpcodeCount& other) {
      return is_part_of(run.opcodes, other.opcodes) || is_part_of(other.opcodes, run.opcodes);
    });
    if (!is_told) chosen.push_back(std::move(run));
  }
  return chosen;
}

}  // namespace assay
