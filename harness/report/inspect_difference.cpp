// What tells two codes apart.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "inspect/difference.h"
#include "inspect/findings.h"
#include "report/entry_json.h"
#include "report/inspect_view.h"
#include "report/table.h"

namespace assay {
namespace {

/// What the names of all functions begin with, as a rule the kernel's name.
std::size_t common_beginning(const Code& code) {
  const std::string& first = code.functions.front().name;
  std::size_t size = first.size();
  for (const Function& function : code.functions) {
    const auto end =
        std::mismatch(first.begin(), first.end(), function.name.begin(), function.name.end());
    size = std::min(size, static_cast<std::size_t>(end.first - first.begin()));
  }
  return size;
}

/// The functions of two codes that belong together: those of one name, else those whose names end
/// alike behind what all names of their code begin with, such as gemm_reduce and norm_reduce.
std::vector<std::pair<const Function*, const Function*>> pairs_of(const Code& before,
                                                                  const Code& after) {
  if (before.functions.empty() || after.functions.empty()) return {};
  const std::size_t begin_a = common_beginning(before), begin_b = common_beginning(after);
  std::vector<std::pair<const Function*, const Function*>> pairs;
  std::set<const Function*> found;
  const auto match = [&](const auto& is_match) -> const Function* {
    for (const Function& candidate : after.functions) {
      if (!found.contains(&candidate) && is_match(candidate)) {
        found.insert(&candidate);
        return &candidate;
      }
    }
    return nullptr;
  };
  for (const Function& function : before.functions) {
    pairs.emplace_back(&function,
                       match([&](const Function& other) { return other.name == function.name; }));
  }
  for (auto& [function, other] : pairs) {
    if (other != nullptr) continue;
    other = match([&, &of = *function](const Function& candidate) {
      return candidate.name.substr(begin_b) == of.name.substr(begin_a);
    });
  }
  for (const Function& function : after.functions) {
    if (!found.contains(&function)) pairs.emplace_back(nullptr, &function);
  }
  return pairs;
}

/// "+4 fma, -2 shared"
std::string change_text(const ClassCounts& before, const ClassCounts& after) {
  std::string text;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double change = after[i] - before[i];
    if (change == 0) continue;
    text += fmt::format("{}{:+.0f} {}", text.empty() ? "" : ", ", change,
                        to_text(static_cast<InstructionClass>(i)));
  }
  return text.empty() ? "other operands or another order" : text;
}

std::string block_cell(const Code& code, const Function& function, int index) {
  if (index < 0) return "-";
  const Block& block = block_of(function, index);
  const std::string source = source_text(code, first_line(block));
  return fmt::format("{}{}{}", label_of(block, index), source.empty() ? "" : " ", source);
}

/// Empty where it is not the same work several times over.
std::string unrolled_text(double times) {
  if (times > 1) return fmt::format("{:g} times the work: unrolled further", times);
  if (times > 0) return fmt::format("1/{:g} of the work: unrolled less", 1 / times);
  return "";
}

std::string pair_change(const Function& before, const Function& after, const BlockPair& pair) {
  if (pair.before < 0) {
    return "only after: " + mix_text(count_classes(block_of(after, pair.after)));
  }
  if (pair.after < 0) {
    return "only before: " + mix_text(count_classes(block_of(before, pair.before)));
  }
  const Block& a = block_of(before, pair.before);
  const Block& b = block_of(after, pair.after);
  const std::string unrolled = unrolled_text(times_unrolled(count_classes(a), count_classes(b)));
  const std::string change = change_text(count_classes(a), count_classes(b));
  return unrolled.empty() ? change : unrolled + "; " + change;
}

/// How many times the work a turn of the main loop does after. 0: it does something else.
double main_loop_times(const Function& before, const Function& after) {
  const Loop* a = main_loop(before);
  const Loop* b = main_loop(after);
  if (a == nullptr || b == nullptr) return 0;
  return times_unrolled(count_classes(before, *a), count_classes(after, *b));
}

/// What a code shows by its name, and how many registers are alive.
std::map<std::string, std::string> shown_by(const Code& code, const Function& function) {
  std::map<std::string, std::string> shown;
  for (const CodeFinding& finding : find_motifs(function, code.set)) {
    std::string& text = shown[finding.name];
    text += (text.empty() ? "" : "; ") + finding.text;
  }
  if (const std::string live = live_text(function, code.set); !live.empty()) {
    shown["registers alive"] = live + " at once in the main loop";
  }
  return shown;
}

/// What only one of the two shows, or both in another way; empty where both show the same.
std::string shown_difference(const Code& code_before, const Function& before,
                             const Code& code_after, const Function& after,
                             const Terminal& terminal) {
  const auto a = shown_by(code_before, before), b = shown_by(code_after, after);
  std::set<std::string> names;
  for (const auto& [name, text] : a) names.insert(name);
  for (const auto& [name, text] : b) names.insert(name);
  Table table({"what the code shows", "before", "after"});
  for (const std::string& name : names) {
    const auto text_in = [&](const auto& shown) {
      const auto found = shown.find(name);
      return found == shown.end() ? std::string("-") : found->second;
    };
    if (text_in(a) != text_in(b)) table.add_row({name, text_in(a), text_in(b)});
  }
  return table.empty() ? "" : table.text(terminal) + "\n";
}

std::string function_difference(const Code& code_before, const Function& before,
                                const Code& code_after, const Function& after,
                                const Terminal& terminal) {
  const Difference difference = difference_of(before, after, code_before.set);
  std::string text = before.name == after.name
                         ? fmt::format("{}: ", before.name)
                         : fmt::format("{} and {}: ", before.name, after.name);
  if (difference.none()) return text + "the same but for the names of registers\n";
  const auto same = std::ranges::count_if(difference.blocks, &BlockPair::same);
  text = folded_text(
             fmt::format("{}{} of {} and {} blocks are the same but for the names of registers",
                         text, same, before.blocks.size(), after.blocks.size()),
             terminal) +
         "\n";
  const ClassCounts counts[] = {count_classes(before), count_classes(after)};
  const Loop* loops[] = {main_loop(before), main_loop(after)};
  const ClassCounts inner[] = {
      loops[0] != nullptr ? count_classes(before, *loops[0]) : ClassCounts{},
      loops[1] != nullptr ? count_classes(after, *loops[1]) : ClassCounts{}};
  Table classes({"instructions", ">before", ">after", ">main loop before", ">after"});
  for (std::size_t i = 0; i < counts[0].size(); ++i) {
    if (counts[0][i] == counts[1][i] && inner[0][i] == inner[1][i]) continue;
    classes.add_row({std::string(to_text(static_cast<InstructionClass>(i))),
                     count_cell(counts[0][i]), count_cell(counts[1][i]), count_cell(inner[0][i]),
                     count_cell(inner[1][i])});
  }
  if (!classes.empty()) text += classes.text(terminal) + "\n";
  if (const std::string unrolled = unrolled_text(main_loop_times(before, after));
      !unrolled.empty()) {
    text += folded_text("a turn of the main loop does " + unrolled, terminal) + "\n";
  }
  text += shown_difference(code_before, before, code_after, after, terminal);
  Table blocks({"block before", "block after", "change"});
  std::size_t shown = 0, changed = 0;
  for (const BlockPair& pair : difference.blocks) {
    if (pair.same) continue;
    ++changed;
    if (shown == 2 * kMostRows) continue;
    ++shown;
    blocks.add_row({block_cell(code_before, before, pair.before),
                    block_cell(code_after, after, pair.after), pair_change(before, after, pair)});
  }
  text += blocks.text(terminal);
  if (changed > shown) text += fmt::format("and {} more; --json has all\n", changed - shown);
  if (!difference.constants.empty()) {
    std::vector<std::string> constants;
    for (const Constant& constant : difference.constants) {
      constants.push_back(fmt::format("{} {:+d}x", constant.text, constant.count));
    }
    text += "\n" + folded_text("constants: " + short_list(constants), terminal);
  }
  return text;
}

}  // namespace

std::string difference_text(const Inspected& before, const Inspected& after,
                            const Terminal& terminal) {
  constexpr std::string_view kBefore = "before: ", kAfter = "after:  ";
  Terminal beside = terminal;
  if (beside.columns > kBefore.size()) beside.columns -= kBefore.size();
  std::string text =
      fmt::format("{}{}{}{}", kBefore, head_text(before, beside), kAfter, head_text(after, beside));
  if (before.code.target != after.code.target) {
    text += folded_text(
        fmt::format("they are for different GPUs, {} and {}; with --arch both can be for one",
                    before.code.target, after.code.target),
        terminal);
  }
  for (const auto& [a, b] : pairs_of(before.code, after.code)) {
    text += "\n";
    if (a != nullptr && b != nullptr) {
      text += function_difference(before.code, *a, after.code, *b, terminal);
    } else {
      text += fmt::format("{}: only {}\n", (a != nullptr ? a : b)->name,
                          a != nullptr ? "before" : "after");
    }
  }
  return text;
}

Json difference_json(const Inspected& before, const Inspected& after) {
  Json functions = Json::array();
  for (const auto& [a, b] : pairs_of(before.code, after.code)) {
    Json json{{"before_function", a != nullptr ? Json(a->name) : Json(nullptr)},
              {"after_function", b != nullptr ? Json(b->name) : Json(nullptr)}};
    if (a != nullptr && b != nullptr) {
      const Difference difference = difference_of(*a, *b, before.code.set);
      json["is_same"] = difference.none();
      if (const double times = main_loop_times(*a, *b); times > 0) json["main_loop_ratio"] = times;
      Json blocks = Json::array();
      for (const BlockPair& pair : difference.blocks) {
        if (pair.same) continue;
        blocks.push_back({{"before_block", pair.before},
                          {"after_block", pair.after},
                          {"change", pair_change(*a, *b, pair)}});
      }
      json["changed_blocks"] = blocks;
      json["constants"] = json_list(difference.constants, [](const Constant& constant) -> Json {
        return {{"constant", constant.text}, {"count_change", constant.count}};
      });
    }
    functions.push_back(std::move(json));
  }
  return {
      {"before", inspect_json(before)}, {"after", inspect_json(after)}, {"differences", functions}};
}

}  // namespace assay
