#include "inspect/difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "inspect/words.h"

namespace assay {
namespace {

/// Whether a word of an operand names a register whose number means nothing: %r12, R12, UR4, P0.
bool is_register(std::string_view word) {
  if (word.starts_with('%')) return word.back() >= '0' && word.back() <= '9';
  const std::size_t digits = word.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0) return false;
  const std::string_view letters = word.substr(0, digits);
  if (letters != "R" && letters != "UR" && letters != "P" && letters != "UP" && letters != "B") {
    return false;
  }
  return word.substr(digits).find_first_of("_$%") == std::string_view::npos;
}

/// What a block does: its instructions with each register named by the order in which they occur,
/// and no label. Parameters are named by their place: PTX puts the function's name before it.
std::string signature_of(const Block& block) {
  std::string signature;
  std::map<std::string, int, std::less<>> names;
  const auto add = [&](std::string_view operand) {
    for (std::size_t at = 0; at < operand.size();) {
      if (!is_name(operand[at])) {
        signature += operand[at++];
        continue;
      }
      std::size_t end = at;
      while (end < operand.size() && is_name(operand[end])) ++end;
      const std::string_view word = operand.substr(at, end - at);
      at = end;
      if (word.starts_with("$L") || word.starts_with(".L_")) {
        signature += "label";
      } else if (is_register(word)) {
        // "R4.H0" and "R4.reuse" are the register R4.
        const std::string_view name = word.substr(0, word.find('.', 1));
        const auto [found, is_new] =
            names.try_emplace(std::string(name), static_cast<int>(names.size()));
        signature += '#' + std::to_string(found->second);
      } else if (const std::size_t place = word.rfind("_param_"); place != word.npos) {
        signature += word.substr(place);
      } else {
        signature += word;
      }
    }
  };
  for (const Instruction& instruction : block.instructions) {
    add(instruction.predicate);
    signature += '@' + instruction.opcode;
    const bool jumps = instruction.kind == InstructionClass::branch;
    for (const std::string& operand : instruction.operands) {
      signature += ' ';
      if (!jumps || operand.find_first_of("%R") == 0) add(operand);
    }
    signature += '\n';
  }
  return signature;
}

std::map<std::string_view, int> opcodes_of(const Block& block) {
  std::map<std::string_view, int> opcodes;
  for (const Instruction& instruction : block.instructions) ++opcodes[instruction.opcode];
  return opcodes;
}

/// 0 to 1: which share of both blocks' instructions the two have in common.
double likeness(const std::map<std::string_view, int>& a,
                const std::map<std::string_view, int>& b) {
  int common = 0, all = 0;
  for (const auto& [opcode, count] : a) {
    const auto found = b.find(opcode);
    const int other = found == b.end() ? 0 : found->second;
    common += std::min(count, other);
    all += std::max(count, other);
  }
  for (const auto& [opcode, count] : b) all += a.contains(opcode) ? 0 : count;
  return all == 0 ? 1 : static_cast<double>(common) / all;
}

/// Pairs of places in two ranges, ascending in both, with the largest sum of weights.
template <typename Weight>
std::vector<std::pair<int, int>> align(int num_before, int num_after, const Weight& weight) {
  std::vector<std::vector<float>> best(num_before + 1, std::vector<float>(num_after + 1, 0));
  const auto at = [&](int i, int j) -> float& { return best[i][j]; };
  for (int i = num_before; i-- > 0;) {
    for (int j = num_after; j-- > 0;) {
      const auto both = static_cast<float>(weight(i, j));
      at(i, j) = std::max({at(i + 1, j), at(i, j + 1), both > 0 ? both + at(i + 1, j + 1) : 0.0f});
    }
  }
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0, j = 0; i < num_before && j < num_after;) {
    const auto both = static_cast<float>(weight(i, j));
    if (both > 0 && at(i, j) == both + at(i + 1, j + 1)) {
      pairs.emplace_back(i++, j++);
    } else if (at(i, j) == at(i + 1, j)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

std::vector<Constant> changed_constants(const Function& before, const Function& after,
                                        InstructionSet set) {
  std::map<std::pair<bool, std::string>, Constant> changes;
  for (Constant& constant : find_constants(after, set)) {
    changes[{!constant.is_float, constant.text}] = std::move(constant);
  }
  for (Constant& constant : find_constants(before, set)) {
    Constant& change = changes[{!constant.is_float, constant.text}];
    const int count = change.count - constant.count;
    if (change.text.empty()) change = std::move(constant);
    change.count = count;
  }
  std::vector<Constant> list;
  for (auto& [key, constant] : changes) {
    if (constant.count != 0) list.push_back(std::move(constant));
  }
  return list;
}

}  // namespace

bool Difference::none() const {
  return constants.empty() &&
         std::all_of(blocks.begin(), blocks.end(), [](const BlockPair& pair) { return pair.same; });
}

Difference difference_of(const Function& before, const Function& after, InstructionSet set) {
  // Below it two blocks have nothing to do with each other.
  constexpr double kMinLikeness = 0.3;
  // An alignment of all against all takes time and memory with the product.
  constexpr std::size_t kMaxPairs = 4'000'000;
  Difference difference;
  difference.constants = changed_constants(before, after, set);

  std::vector<std::string> signatures[2];
  for (const Block& block : before.blocks) signatures[0].push_back(signature_of(block));
  for (const Block& block : after.blocks) signatures[1].push_back(signature_of(block));
  const auto same = [&](int i, int j) { return signatures[0][i] == signatures[1][j]; };
  // The same at the beginning and at the end first: what is between is small.
  const auto num_before = static_cast<int>(signatures[0].size());
  const auto num_after = static_cast<int>(signatures[1].size());
  int first = 0, end_before = num_before, end_after = num_after;
  while (first < end_before && first < end_after && same(first, first)) ++first;
  while (end_before > first && end_after > first && same(end_before - 1, end_after - 1)) {
    --end_before;
    --end_after;
  }
  std::vector<std::pair<int, int>> aligned;
  for (int i = 0; i < first; ++i) aligned.emplace_back(i, i);
  const int rows = end_before - first, columns = end_after - first;
  if (static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) <= kMaxPairs) {
    std::vector<std::map<std::string_view, int>> opcodes[2];
    for (int i = first; i < end_before; ++i) opcodes[0].push_back(opcodes_of(before.blocks[i]));
    for (int j = first; j < end_after; ++j) opcodes[1].push_back(opcodes_of(after.blocks[j]));
    std::map<std::pair<int, int>, double> known;
    const auto weight = [&](int i, int j) {
      if (same(first + i, first + j)) return 2.0;
      const auto [at, is_new] = known.try_emplace({i, j}, 0);
      if (is_new) {
        const double like = likeness(opcodes[0][i], opcodes[1][j]);
        at->second = like < kMinLikeness ? 0 : like;
      }
      return at->second;
    };
    for (const auto& [i, j] : align(rows, columns, weight)) {
      aligned.emplace_back(first + i, first + j);
    }
  }
  for (int i = end_before; i < num_before; ++i) aligned.emplace_back(i, end_after + i - end_before);
  aligned.emplace_back(num_before, num_after);  // behind the last
  int i = 0, j = 0;
  for (const auto& [to_before, to_after] : aligned) {
    for (; i < to_before; ++i) difference.blocks.push_back({i, -1, false});
    for (; j < to_after; ++j) difference.blocks.push_back({-1, j, false});
    if (i < num_before && j < num_after) difference.blocks.push_back({i, j, same(i, j)});
    ++i;
    ++j;
  }
  return difference;
}

double times_unrolled(const ClassCounts& before, const ClassCounts& after) {
  // The work of a loop's body. What counts and jumps is there once however often it is unrolled.
  constexpr InstructionClass kWork[] = {
      InstructionClass::tensor,    InstructionClass::fma,        InstructionClass::other_float,
      InstructionClass::global_8,  InstructionClass::global_16,  InstructionClass::global_32,
      InstructionClass::global_64, InstructionClass::global_128, InstructionClass::shared};
  double times = 0;
  for (const InstructionClass kind : kWork) {
    const double a = before[static_cast<std::size_t>(kind)];
    const double b = after[static_cast<std::size_t>(kind)];
    if (a == 0 && b == 0) continue;
    if (a == 0 || b == 0) return 0;
    if (times != 0 && b / a != times) return 0;
    times = b / a;
  }
  const double factor = std::max(times, times == 0 ? 0 : 1 / times);
  return factor == std::floor(factor) && factor != 1 ? times : 0;
}

}  // namespace assay
