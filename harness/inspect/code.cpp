#include "inspect/code.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace assay {
namespace {

/// Blocks in reverse post-order from the first, and of each its place in it, -1: not reached.
struct Order {
  std::vector<int> blocks;
  std::vector<int> place;

  int place_of(int block) const { return place[block]; }
};

Order order_of(const Function& function) {
  const std::size_t count = function.blocks.size();
  Order order{{}, std::vector<int>(count, -1)};
  if (count == 0) return order;
  std::vector<char> seen(count, 0);
  // A stack of its own: a function may have a hundred thousand blocks.
  std::vector<std::pair<int, std::size_t>> stack{{0, 0}};
  seen[0] = 1;
  while (!stack.empty()) {
    auto& [block, at] = stack.back();
    const std::vector<int>& next = block_of(function, block).next;
    if (at == next.size()) {
      order.blocks.push_back(block);
      stack.pop_back();
      continue;
    }
    const int to = next[at++];
    if (!seen[to]) {
      seen[to] = 1;
      stack.emplace_back(to, 0);
    }
  }
  std::reverse(order.blocks.begin(), order.blocks.end());
  for (std::size_t i = 0; i < order.blocks.size(); ++i) {
    order.place[order.blocks[i]] = static_cast<int>(i);
  }
  return order;
}

std::vector<std::vector<int>> predecessors_of(const Function& function) {
  std::vector<std::vector<int>> predecessors(function.blocks.size());
  for (std::size_t from = 0; from < function.blocks.size(); ++from) {
    for (const int to : function.blocks[from].next) {
      predecessors[to].push_back(static_cast<int>(from));
    }
  }
  return predecessors;
}

/// The last place that dominates both `a` and `b`.
int common_dominator(const std::vector<int>& dominator, int a, int b) {
  while (a != b) {
    int& later = a > b ? a : b;
    later = dominator[later];
  }
  return a;
}

/// Of each place in `order`, the place of the block that dominates it directly (Cooper, Harvey and
/// Kennedy, "A simple, fast dominance algorithm", 2001).
std::vector<int> dominators_of(const Order& order,
                               const std::vector<std::vector<int>>& predecessors) {
  std::vector<int> dominator(order.blocks.size(), -1);
  if (dominator.empty()) return dominator;
  dominator[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t place = 1; place < dominator.size(); ++place) {
      int found = -1;
      for (const int block : predecessors[order.blocks[place]]) {
        const int other = order.place_of(block);
        if (other < 0 || dominator[other] < 0) continue;
        found = found < 0 ? other : common_dominator(dominator, found, other);
      }
      if (found != dominator[place]) {
        dominator[place] = found;
        changed = true;
      }
    }
  }
  return dominator;
}

std::vector<int> body_of(int header, const std::vector<int>& tails,
                         const std::vector<std::vector<int>>& predecessors, const Order& order) {
  std::vector<char> inside(predecessors.size(), 0);
  inside[header] = 1;
  std::vector<int> body{header}, open;
  const auto enter = [&](int block) {
    char& is_inside = inside[block];
    if (is_inside || order.place_of(block) < 0) return;
    is_inside = 1;
    body.push_back(block);
    open.push_back(block);
  };
  for (const int tail : tails) enter(tail);
  while (!open.empty()) {
    const int block = open.back();
    open.pop_back();
    for (const int before : predecessors[block]) enter(before);
  }
  std::sort(body.begin(), body.end());
  return body;
}

void find_loops(Function& function) {
  const Order order = order_of(function);
  const auto predecessors = predecessors_of(function);
  const std::vector<int> dominator = dominators_of(order, predecessors);
  const auto dominates = [&](int high, int low) {
    while (low > high) low = dominator[low];
    return low == high;
  };
  std::map<int, std::vector<int>> tails;  // of each header
  for (const int block : order.blocks) {
    for (const int to : block_of(function, block).next) {
      if (dominates(order.place_of(to), order.place_of(block))) tails[to].push_back(block);
    }
  }
  // Each turn goes through what dominates all of its ends.
  const auto always_of = [&](int header, const std::vector<int>& of_header) {
    int common = order.place_of(of_header.front());
    for (const int tail : of_header) {
      common = common_dominator(dominator, common, order.place_of(tail));
    }
    std::vector<int> always{header};
    for (int place = common; place != order.place_of(header); place = dominator[place]) {
      always.push_back(order.blocks[place]);
    }
    std::sort(always.begin(), always.end());
    return always;
  };
  for (const auto& [header, of_header] : tails) {
    function.loops.push_back({header, -1, 1, body_of(header, of_header, predecessors, order),
                              always_of(header, of_header)});
  }
  // From the largest: a loop's parent is the smallest that came before it and holds its header.
  std::stable_sort(function.loops.begin(), function.loops.end(),
                   [](const Loop& a, const Loop& b) { return a.blocks.size() > b.blocks.size(); });
  for (std::size_t i = 0; i < function.loops.size(); ++i) {
    Loop& loop = function.loops[i];
    loop.parent = function.blocks[loop.header].loop;
    if (loop.parent >= 0) {
      loop.depth = function.loops[loop.parent].depth + 1;
    }
    for (const int block : loop.blocks) {
      function.blocks[block].loop = static_cast<int>(i);
      function.blocks[block].depth = loop.depth;
    }
  }
}

void add_classes(const Block& block, double weight, ClassCounts& counts) {
  for (const Instruction& instruction : block.instructions) {
    counts[static_cast<std::size_t>(instruction.kind)] += weight;
  }
}

double memory_accesses(const ClassCounts& counts) {
  return std::accumulate(counts.begin() + static_cast<int>(InstructionClass::global_8),
                         counts.begin() + static_cast<int>(InstructionClass::generic) + 1, 0.0);
}

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

std::string_view to_text(InstructionClass kind) {
  constexpr std::array<std::string_view, kInstructionClasses> kWords{
      "tensor",    "fma",        "other float", "integer",    "conversion", "move",  "global 8",
      "global 16", "global 32",  "global 64",   "global 128", "shared",     "local", "generic",
      "constant",  "async copy", "barrier",     "branch",     "other"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::size_t Function::num_instructions() const {
  return std::accumulate(
      blocks.begin(), blocks.end(), std::size_t{0},
      [](std::size_t sum, const Block& block) { return sum + block.instructions.size(); });
}

void connect(Function& function, const std::vector<Jump>& jumps) {
  std::map<std::string_view, int> by_label;
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    const std::string& label = function.blocks[i].label;
    if (!label.empty()) by_label.emplace(label, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    std::vector<int>& next = function.blocks[i].next;
    if (jumps[i].falls_through && i + 1 < function.blocks.size()) {
      next.push_back(static_cast<int>(i) + 1);
    }
    for (const std::string& label : jumps[i].labels) {
      const auto found = by_label.find(label);
      if (found != by_label.end()) next.push_back(found->second);  // else it leaves the function
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
  }
  find_loops(function);
}

ClassCounts count_classes(const Function& function, double weight) {
  ClassCounts counts{};
  for (const Block& block : function.blocks) {
    double times = 1;
    for (int i = 0; i < block.depth; ++i) times *= weight;
    add_classes(block, times, counts);
  }
  return counts;
}

ClassCounts count_classes(const Function& function, const Loop& loop) {
  ClassCounts counts{};
  for (const int block : loop.blocks) add_classes(block_of(function, block), 1, counts);
  return counts;
}

ClassCounts count_classes(const Block& block) {
  ClassCounts counts{};
  add_classes(block, 1, counts);
  return counts;
}

std::map<std::string, int> unknown_instructions(const Function& function) {
  std::map<std::string, int> names;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      const bool does_nothing = instruction.opcode == "NOP";
      if (instruction.kind == InstructionClass::other && !does_nothing) ++names[instruction.opcode];
    }
  }
  return names;
}

bool Loop::has_always(int block) const {
  return std::binary_search(always.begin(), always.end(), block);
}

const Loop* main_loop(const Function& function) {
  // What is in a loop and in no other within it: a loop that waits may be within the main one.
  std::vector<ClassCounts> own(function.loops.size());
  for (const Block& block : function.blocks) {
    if (block.loop >= 0) add_classes(block, 1, own[block.loop]);
  }
  const Loop* best = nullptr;
  std::tuple<double, double, double, double> most;
  for (std::size_t i = 0; i < function.loops.size(); ++i) {
    const ClassCounts& counts = own[i];
    const std::tuple work(counts[static_cast<std::size_t>(InstructionClass::tensor)],
                          counts[static_cast<std::size_t>(InstructionClass::fma)],
                          memory_accesses(counts),
                          std::accumulate(counts.begin(), counts.end(), 0.0));
    if (best == nullptr || work > most) {
      best = &function.loops[i];
      most = work;
    }
  }
  return best;
}

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
