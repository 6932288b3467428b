#include "report/inspect_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "inspect/constants.h"
#include "inspect/difference.h"
#include "inspect/findings.h"
#include "inspect/registers.h"
#include "report/table.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

// A loop is taken to turn ten times: what is in two loops counts a hundred times.
constexpr double kLoopWeight = 10;
// The text shows so many constants and loops; JSON has all.
constexpr std::size_t kMostRows = 12;

const Block& block_of(const Function& function, int index) {
  return function.blocks[static_cast<std::size_t>(index)];
}

std::string_view set_text(InstructionSet set) {
  return set == InstructionSet::ptx ? "PTX" : "SASS";
}

/// "sgemm.cu:45"; empty when it is not known.
std::string source_text(const Code& code, const SourceLine& source) {
  const auto file = static_cast<std::size_t>(source.file);
  if (source.line <= 0 || file >= code.files.size()) return "";
  const std::string& path = code.files[file];
  return fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), source.line);
}

SourceLine first_line(const Block& block) {
  for (const Instruction& instruction : block.instructions) {
    if (instruction.source.line > 0) return instruction.source;
  }
  return {};
}

std::size_t size_of(const Function& function, const Loop& loop) {
  std::size_t count = 0;
  for (const int block : loop.blocks) count += block_of(function, block).instructions.size();
  return count;
}

/// "32 fma, 6 shared, 4 integer": the largest first.
std::string mix_text(const ClassCounts& counts, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) order.emplace_back(-counts[i], i);
  }
  std::sort(order.begin(), order.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), most); ++i) {
    text += fmt::format("{}{:.0f} {}", i == 0 ? "" : ", ", -order[i].first,
                        to_text(static_cast<InstructionClass>(order[i].second)));
  }
  return text + (order.size() > most ? ", ..." : "");
}

ClassCounts counts_of(const Block& block) {
  ClassCounts counts{};
  for (const Instruction& instruction : block.instructions) {
    counts[static_cast<std::size_t>(instruction.kind)] += 1;
  }
  return counts;
}

std::string count_cell(double count) { return count == 0 ? "-" : fmt::format("{:.0f}", count); }

std::string classes_table(const Function& function) {
  const ClassCounts once = count_classes(function), weighted = count_classes(function, kLoopWeight);
  const Loop* main = main_loop(function);
  const ClassCounts inner = main != nullptr ? count_classes(function, *main) : ClassCounts{};
  Table table({"instructions", ">in all", ">weighted", ">main loop"});
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (once[i] == 0) continue;
    table.add_row({std::string(to_text(static_cast<InstructionClass>(i))), count_cell(once[i]),
                   count_cell(weighted[i]), count_cell(inner[i])});
  }
  return table.text();
}

std::string label_of(const Block& block, int index) {
  return block.label.empty() ? fmt::format("block {}", index) : block.label;
}

std::string loops_table(const Code& code, const Function& function) {
  const Loop* main = main_loop(function);
  std::vector<const Loop*> loops;
  for (const Loop& loop : function.loops) loops.push_back(&loop);
  std::sort(loops.begin(), loops.end(),
            [](const Loop* a, const Loop* b) { return a->header < b->header; });
  if (loops.size() > kMostRows) {
    // The longest, in the order of the code.
    std::stable_sort(loops.begin(), loops.end(), [&](const Loop* a, const Loop* b) {
      return size_of(function, *a) > size_of(function, *b);
    });
    loops.resize(kMostRows);
    if (std::find(loops.begin(), loops.end(), main) == loops.end()) loops.back() = main;
    std::sort(loops.begin(), loops.end(),
              [](const Loop* a, const Loop* b) { return a->header < b->header; });
  }
  Table table({"loop", "source", ">blocks", ">instructions", "most of them"});
  for (const Loop* loop : loops) {
    const Block& header = block_of(function, loop->header);
    const std::string name = label_of(header, loop->header);
    table.add_row({std::string(static_cast<std::size_t>(loop->depth - 1) * 2, ' ') + name +
                       (loop == main ? " (main)" : ""),
                   source_text(code, first_line(header)), std::to_string(loop->blocks.size()),
                   std::to_string(size_of(function, *loop)),
                   mix_text(count_classes(function, *loop), 4)});
  }
  std::string text = table.text();
  if (function.loops.size() > loops.size()) {
    text += fmt::format("{} shorter loops are left out; --json has all\n",
                        function.loops.size() - loops.size());
  }
  return text;
}

/// The main loop's own blocks and those of loops within it.
std::string main_loop_table(const Code& code, const Function& function, const Loop& loop) {
  Table table({"main loop", "source", "every turn", ">instructions", "most of them"});
  for (std::size_t i = 0; i < std::min(loop.blocks.size(), kMostRows); ++i) {
    const Block& block = block_of(function, loop.blocks[i]);
    table.add_row({label_of(block, loop.blocks[i]), source_text(code, first_line(block)),
                   loop.has_always(loop.blocks[i]) ? "yes" : "no",
                   std::to_string(block.instructions.size()), mix_text(counts_of(block), 4)});
  }
  std::string text = table.text();
  if (loop.blocks.size() > kMostRows) {
    text += fmt::format("and {} blocks more; --json has all\n", loop.blocks.size() - kMostRows);
  }
  return text;
}

std::string findings_table(const Code& code, const std::vector<CodeFinding>& findings) {
  Table table({"what the code shows", "source", ""});
  for (const CodeFinding& finding : findings) {
    table.add_row({finding.name, source_text(code, finding.source), finding.text});
  }
  return table.text();
}

std::string constants_text(const Code& code, const std::vector<Constant>& constants) {
  std::string text = "constants: ";
  for (std::size_t i = 0; i < std::min(constants.size(), kMostRows); ++i) {
    const Constant& constant = constants[i];
    text += fmt::format("{}{}", i == 0 ? "" : ", ", constant.text);
    if (constant.count > 1) text += fmt::format(" ({}x)", constant.count);
    const std::string source = source_text(code, constant.source);
    if (!source.empty()) text += " " + source;
  }
  if (constants.size() > kMostRows) {
    text += fmt::format(", and {} more", constants.size() - kMostRows);
  }
  return text + "\n";
}

std::string function_text(const Code& code, const Function& function) {
  std::string text = fmt::format(
      "{} {}: {} instructions in {} blocks, {} loops\n", function.is_kernel ? "kernel" : "function",
      function.name, function.num_instructions(), function.blocks.size(), function.loops.size());
  const Loop* main = main_loop(function);
  if (main != nullptr && code.set == InstructionSet::ptx) {
    if (const int live = live_registers(function, *main); live > 0) {
      text += fmt::format("values of {} registers are alive at once in the main loop\n", live);
    }
  }
  text += "\n" + classes_table(function);
  if (!function.loops.empty()) text += "\n" + loops_table(code, function);
  if (main != nullptr && main->blocks.size() > 1) {
    text += "\n" + main_loop_table(code, function, *main);
  }
  const std::vector<CodeFinding> findings = find_motifs(function, code.set);
  if (!findings.empty()) text += "\n" + findings_table(code, findings);
  const std::vector<Constant> constants = find_constants(function, code.set);
  if (!constants.empty()) text += "\n" + constants_text(code, constants);
  return text;
}

std::string head_text(const Inspected& inspected) {
  std::string text = fmt::format("{}: {}", inspected.title, set_text(inspected.code.set));
  if (!inspected.code.target.empty()) text += " for " + inspected.code.target;
  text += "\n";
  if (inspected.report) {
    text += fmt::format("ptxas: {} registers a thread, {} bytes spilled, {} of shared memory\n",
                        inspected.report->registers, inspected.report->spill_bytes,
                        format_bytes(static_cast<double>(inspected.report->static_smem_bytes)));
    if (inspected.report->spill_bytes > 0 && inspected.code.set == InstructionSet::ptx) {
      text += "PTX knows no spills; with --sass their lines are shown\n";
    }
  }
  for (const LaunchOccupancy& launch : inspected.launches) {
    text +=
        fmt::format("{}: blocks an SM: {}, of {} threads each ({} of its threads); limited by {}\n",
                    launch.entry, launch.occupancy.blocks, launch.threads,
                    format_percent(launch.occupancy.ratio), launch.occupancy.limit);
  }
  return text;
}

Json counts_json(const ClassCounts& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) json[std::string(to_text(static_cast<InstructionClass>(i)))] = counts[i];
  }
  return json;
}

Json source_json(const Code& code, const SourceLine& source) {
  const std::string text = source_text(code, source);
  return text.empty() ? Json(nullptr) : Json(text);
}

Json function_json(const Code& code, const Function& function) {
  const Loop* main = main_loop(function);
  Json loops = Json::array(), findings = Json::array(), constants = Json::array();
  for (const Loop& loop : function.loops) {
    const Block& header = block_of(function, loop.header);
    loops.push_back({{"label", header.label},
                     {"source", source_json(code, first_line(header))},
                     {"depth", loop.depth},
                     {"main", &loop == main},
                     {"blocks", loop.blocks.size()},
                     {"instructions", counts_json(count_classes(function, loop))}});
  }
  for (const CodeFinding& finding : find_motifs(function, code.set)) {
    findings.push_back({{"name", finding.name},
                        {"text", finding.text},
                        {"source", source_json(code, finding.source)}});
  }
  for (const Constant& constant : find_constants(function, code.set)) {
    constants.push_back({{"value", constant.text},
                         {"float", constant.is_float},
                         {"count", constant.count},
                         {"source", source_json(code, constant.source)}});
  }
  Json json{{"name", function.name},
            {"kernel", function.is_kernel},
            {"blocks", function.blocks.size()},
            {"instructions", counts_json(count_classes(function))},
            {"weighted", counts_json(count_classes(function, kLoopWeight))},
            {"loops", loops},
            {"findings", findings},
            {"constants", constants}};
  if (main != nullptr && code.set == InstructionSet::ptx) {
    json["live_registers"] = live_registers(function, *main);
  }
  if (main != nullptr) {
    for (const int index : main->blocks) {
      const Block& block = block_of(function, index);
      json["main_loop"].push_back({{"label", block.label},
                                   {"source", source_json(code, first_line(block))},
                                   {"every_turn", main->has_always(index)},
                                   {"instructions", counts_json(counts_of(block))}});
    }
  }
  return json;
}

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

std::string pair_change(const Function& before, const Function& after, const BlockPair& pair) {
  if (pair.before < 0) {
    return "only after: " + mix_text(counts_of(block_of(after, pair.after)), 4);
  }
  if (pair.after < 0) {
    return "only before: " + mix_text(counts_of(block_of(before, pair.before)), 4);
  }
  const Block& a = block_of(before, pair.before);
  const Block& b = block_of(after, pair.after);
  const double times = times_unrolled(a, b);
  const std::string change = change_text(counts_of(a), counts_of(b));
  if (times > 1) return fmt::format("{:g} times the work: unrolled further; {}", times, change);
  if (times > 0) return fmt::format("1/{:g} of the work: unrolled less; {}", 1 / times, change);
  return change;
}

/// What a code shows by its name, and how many registers are alive.
std::map<std::string, std::string> shown_by(const Code& code, const Function& function) {
  std::map<std::string, std::string> shown;
  for (const CodeFinding& finding : find_motifs(function, code.set)) {
    std::string& text = shown[finding.name];
    text += (text.empty() ? "" : "; ") + finding.text;
  }
  const Loop* main = main_loop(function);
  if (main != nullptr && code.set == InstructionSet::ptx) {
    if (const int live = live_registers(function, *main); live > 0) {
      shown["registers alive"] = fmt::format("{} at once in the main loop", live);
    }
  }
  return shown;
}

/// What only one of the two shows, or both in another way; empty where both show the same.
std::string shown_difference(const Code& code_before, const Function& before,
                             const Code& code_after, const Function& after) {
  const auto a = shown_by(code_before, before), b = shown_by(code_after, after);
  std::set<std::string> names;
  for (const auto& [name, text] : a) names.insert(name);
  for (const auto& [name, text] : b) names.insert(name);
  Table table({"what the code shows", "before", "after"});
  bool differs = false;
  for (const std::string& name : names) {
    const auto text_in = [&](const auto& shown) {
      const auto found = shown.find(name);
      return found == shown.end() ? std::string("-") : found->second;
    };
    if (text_in(a) == text_in(b)) continue;
    differs = true;
    table.add_row({name, text_in(a), text_in(b)});
  }
  return differs ? table.text() + "\n" : "";
}

std::string function_difference(const Code& code_before, const Function& before,
                                const Code& code_after, const Function& after) {
  const Difference difference = difference_of(before, after, code_before.set);
  std::string text = before.name == after.name
                         ? fmt::format("{}: ", before.name)
                         : fmt::format("{} and {}: ", before.name, after.name);
  if (difference.none()) return text + "the same but for the names of registers\n";
  const auto same = std::count_if(difference.blocks.begin(), difference.blocks.end(),
                                  [](const BlockPair& pair) { return pair.same; });
  text += fmt::format("{} of {} and {} blocks are the same but for the names of registers\n\n",
                      same, before.blocks.size(), after.blocks.size());
  const ClassCounts counts[] = {count_classes(before), count_classes(after)};
  const Loop* loops[] = {main_loop(before), main_loop(after)};
  const ClassCounts inner[] = {
      loops[0] != nullptr ? count_classes(before, *loops[0]) : ClassCounts{},
      loops[1] != nullptr ? count_classes(after, *loops[1]) : ClassCounts{}};
  Table classes({"instructions", ">before", ">after", ">main loop before", ">after"});
  bool differs = false;
  for (std::size_t i = 0; i < counts[0].size(); ++i) {
    if (counts[0][i] == counts[1][i] && inner[0][i] == inner[1][i]) continue;
    differs = true;
    classes.add_row({std::string(to_text(static_cast<InstructionClass>(i))),
                     count_cell(counts[0][i]), count_cell(counts[1][i]), count_cell(inner[0][i]),
                     count_cell(inner[1][i])});
  }
  if (differs) text += classes.text() + "\n";
  text += shown_difference(code_before, before, code_after, after);
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
  text += blocks.text();
  if (changed > shown) text += fmt::format("and {} more; --json has all\n", changed - shown);
  if (!difference.constants.empty()) {
    text += "\nconstants:";
    for (std::size_t i = 0; i < std::min(difference.constants.size(), kMostRows); ++i) {
      const Constant& constant = difference.constants[i];
      text += fmt::format("{} {} {:+d}x", i == 0 ? "" : ",", constant.text, constant.count);
    }
    if (difference.constants.size() > kMostRows) {
      text += fmt::format(", and {} more", difference.constants.size() - kMostRows);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

void add_counts(CodeCounts& counts, const Inspected& inspected) {
  counts.set = inspected.code.set;
  const std::vector<std::string>& launched = inspected.launched;
  for (const Function& function : inspected.code.functions) {
    const bool is_left_out =
        function.is_kernel && !launched.empty() &&
        std::find(launched.begin(), launched.end(), function.name) == launched.end();
    if (is_left_out) continue;
    const ClassCounts once = count_classes(function);
    const ClassCounts weighted = count_classes(function, kLoopWeight);
    for (std::size_t i = 0; i < once.size(); ++i) {
      counts.once[i] += once[i];
      counts.weighted[i] += weighted[i];
    }
  }
}

std::string inspect_text(const Inspected& inspected) {
  std::string text = head_text(inspected);
  for (const Function& function : inspected.code.functions) {
    text += "\n" + function_text(inspected.code, function);
  }
  text +=
      fmt::format("\nweighted: each instruction counts {:.0f} times for each loop that it is in\n",
                  kLoopWeight);
  return text;
}

Json inspect_json(const Inspected& inspected) {
  Json functions = Json::array();
  for (const Function& function : inspected.code.functions) {
    functions.push_back(function_json(inspected.code, function));
  }
  Json json{{"title", inspected.title},
            {"set", inspected.code.set == InstructionSet::ptx ? "ptx" : "sass"},
            {"target", inspected.code.target}};
  if (inspected.report) {
    json["registers"] = inspected.report->registers;
    json["spill_bytes"] = inspected.report->spill_bytes;
    json["static_smem_bytes"] = inspected.report->static_smem_bytes;
  }
  Json launches = Json::array();
  for (const LaunchOccupancy& launch : inspected.launches) {
    launches.push_back({{"entry", launch.entry},
                        {"threads", launch.threads},
                        {"smem_bytes", launch.smem_bytes},
                        {"blocks_per_sm", launch.occupancy.blocks},
                        {"limit", launch.occupancy.limit},
                        {"ratio", launch.occupancy.ratio}});
  }
  json["launches"] = launches;
  json["functions"] = functions;
  return json;
}

std::string listing_text(const Inspected& inspected) {
  std::string text = head_text(inspected);
  for (const Function& function : inspected.code.functions) {
    text += fmt::format("\n{}:\n", function.name);
    const Loop* main = main_loop(function);
    for (std::size_t i = 0; i < function.blocks.size(); ++i) {
      const Block& block = function.blocks[i];
      const bool is_main =
          main != nullptr && block.loop == static_cast<int>(main - function.loops.data());
      text += fmt::format("{}:{}\n", label_of(block, static_cast<int>(i)),
                          is_main           ? "  // main loop"
                          : block.depth > 0 ? fmt::format("  // in {} loops", block.depth)
                                            : "");
      for (const Instruction& instruction : block.instructions) {
        const std::string predicate =
            instruction.predicate.empty() ? "" : "@" + instruction.predicate + " ";
        const std::string words = fmt::format("{}{} {}", predicate, instruction.opcode,
                                              fmt::join(instruction.operands, ", "));
        text +=
            fmt::format("    {:<72}  {}\n", words, source_text(inspected.code, instruction.source));
      }
    }
  }
  return text;
}

std::string difference_text(const Inspected& before, const Inspected& after) {
  std::string text = fmt::format("before: {}after:  {}", head_text(before), head_text(after));
  for (const auto& [a, b] : pairs_of(before.code, after.code)) {
    text += "\n";
    if (a != nullptr && b != nullptr) {
      text += function_difference(before.code, *a, after.code, *b);
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
    Json json{{"before", a != nullptr ? Json(a->name) : Json(nullptr)},
              {"after", b != nullptr ? Json(b->name) : Json(nullptr)}};
    if (a != nullptr && b != nullptr) {
      const Difference difference = difference_of(*a, *b, before.code.set);
      json["same"] = difference.none();
      Json blocks = Json::array(), constants = Json::array();
      for (const BlockPair& pair : difference.blocks) {
        if (pair.same) continue;
        blocks.push_back({{"before", pair.before},
                          {"after", pair.after},
                          {"change", pair_change(*a, *b, pair)}});
      }
      for (const Constant& constant : difference.constants) {
        constants.push_back({{"value", constant.text}, {"change", constant.count}});
      }
      json["changed_blocks"] = blocks;
      json["constants"] = constants;
    }
    functions.push_back(std::move(json));
  }
  return {
      {"before", inspect_json(before)}, {"after", inspect_json(after)}, {"differences", functions}};
}

}  // namespace assay
