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
  const auto columns = static_cast<std::size_t>(num_after) + 1;
  std::vector<float> best((static_cast<std::size_t>(num_before) + 1) * columns, 0);
  const auto at = [&](int i, int j) -> float& {
    return best[static_cast<std::size_t>(i) * columns + static_cast<std::size_t>(j)];
  };
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
  // The same at the beginning and at the end first: what is between is small.
  std::size_t first = 0, end[2] = {signatures[0].size(), signatures[1].size()};
  while (first < end[0] && first < end[1] && signatures[0][first] == signatures[1][first]) ++first;
  while (end[0] > first && end[1] > first &&
         signatures[0][end[0] - 1] == signatures[1][end[1] - 1]) {
    --end[0];
    --end[1];
  }
  std::vector<BlockPair>& pairs = difference.blocks;
  for (std::size_t i = 0; i < first; ++i) {
    pairs.push_back({static_cast<int>(i), static_cast<int>(i), true});
  }
  const auto count = [&](int side) { return static_cast<int>(end[side] - first); };
  std::vector<std::pair<int, int>> aligned;
  if (static_cast<std::size_t>(count(0)) * static_cast<std::size_t>(count(1)) <= kMaxPairs) {
    std::vector<std::map<std::string_view, int>> opcodes[2];
    for (std::size_t i = first; i < end[0]; ++i) opcodes[0].push_back(opcodes_of(before.blocks[i]));
    for (std::size_t i = first; i < end[1]; ++i) opcodes[1].push_back(opcodes_of(after.blocks[i]));
    std::map<std::pair<int, int>, double> known;
    aligned = align(count(0), count(1), [&](int i, int j) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
      if (signatures[0][first + a] == signatures[1][first + b]) return 2.0;
      const auto [at, is_new] = known.try_emplace({i, j}, 0);
      if (is_new) {
        const double like = likeness(opcodes[0][a], opcodes[1][b]);
        at->second = like < kMinLikeness ? 0 : like;
      }
      return at->second;
    });
  }
  int next[2] = {0, 0};
  const auto add_alone = [&](int to_before, int to_after) {
    for (; next[0] < to_before; ++next[0]) {
      pairs.push_back({static_cast<int>(first) + next[0], -1, false});
    }
    for (; next[1] < to_after; ++next[1]) {
      pairs.push_back({-1, static_cast<int>(first) + next[1], false});
    }
  };
  for (const auto& [i, j] : aligned) {
    add_alone(i, j);
    const auto a = static_cast<int>(first) + i, b = static_cast<int>(first) + j;
    pairs.push_back(
        {a, b,
         signatures[0][static_cast<std::size_t>(a)] == signatures[1][static_cast<std::size_t>(b)]});
    next[0] = i + 1;
    next[1] = j + 1;
  }
  add_alone(count(0), count(1));
  for (std::size_t i = 0; end[0] + i < signatures[0].size(); ++i) {
    pairs.push_back({static_cast<int>(end[0] + i), static_cast<int>(end[1] + i), true});
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
