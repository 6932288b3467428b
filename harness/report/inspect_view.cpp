#include "report/inspect_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "inspect/code.h"
#include "inspect/findings.h"
#include "inspect/registers.h"
#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

constexpr std::size_t kMostRuns = 3;

// A loop is taken to turn ten times: what is in two loops counts a hundred times.
constexpr double kLoopWeight = 10;

std::size_t size_of(const Function& function, const Loop& loop) {
  std::size_t count = 0;
  for (const int block : loop.blocks) count += block_of(function, block).instructions.size();
  return count;
}

std::string classes_table(const Function& function, const Terminal& terminal) {
  const ClassCounts once = count_classes(function), weighted = count_classes(function, kLoopWeight);
  const Loop* main = main_loop(function);
  const ClassCounts inner = main != nullptr ? count_classes(function, *main) : ClassCounts{};
  Table table({"instructions", ">in all", ">weighted", ">main loop"});
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (once[i] == 0) continue;
    table.add_row({std::string(to_text(static_cast<InstructionClass>(i))), count_cell(once[i]),
                   count_cell(weighted[i]), count_cell(inner[i])});
  }
  return table.text(terminal);
}

std::string loops_table(const Code& code, const Function& function, const Terminal& terminal) {
  const Loop* main = main_loop(function);
  std::vector<const Loop*> loops;
  for (const Loop& loop : function.loops) loops.push_back(&loop);
  std::ranges::sort(loops, {}, &Loop::header);
  if (loops.size() > kMostRows) {
    // The longest, in the order of the code.
    std::ranges::stable_sort(loops, std::ranges::greater(),
                             [&](const Loop* loop) { return size_of(function, *loop); });
    loops.resize(kMostRows);
    if (std::ranges::find(loops, main) == loops.end()) loops.back() = main;
    std::ranges::sort(loops, {}, &Loop::header);
  }
  Table table({"loop", "source", ">blocks", ">instructions", "most of them"});
  for (const Loop* loop : loops) {
    const Block& header = block_of(function, loop->header);
    const std::string name = label_of(header, loop->header);
    table.add_row({std::string(static_cast<std::size_t>(loop->depth - 1) * 2, ' ') + name +
                       (loop == main ? " (main)" : ""),
                   source_text(code, first_line(header)), std::to_string(loop->blocks.size()),
                   std::to_string(size_of(function, *loop)),
                   mix_text(count_classes(function, *loop))});
  }
  std::string text = table.text(terminal);
  if (function.loops.size() > loops.size()) {
    text += fmt::format("{} shorter loops are left out; --json has all\n",
                        function.loops.size() - loops.size());
  }
  return text;
}

/// The main loop's own blocks and those of loops within it.
std::string main_loop_table(const Code& code, const Function& function, const Loop& loop,
                            const Terminal& terminal) {
  Table table({"main loop", "source", "every turn", ">instructions", "most of them"});
  for (std::size_t i = 0; i < std::min(loop.blocks.size(), kMostRows); ++i) {
    const Block& block = block_of(function, loop.blocks[i]);
    table.add_row({label_of(block, loop.blocks[i]), source_text(code, first_line(block)),
                   loop.has_always(loop.blocks[i]) ? "yes" : "no",
                   std::to_string(block.instructions.size()), mix_text(count_classes(block))});
  }
  std::string text = table.text(terminal);
  if (loop.blocks.size() > kMostRows) {
    text += fmt::format("and {} blocks more; --json has all\n", loop.blocks.size() - kMostRows);
  }
  return text;
}

std::string findings_table(const Code& code, const std::vector<CodeFinding>& findings,
                           const Terminal& terminal) {
  Table table({"what the code shows", "source", ""});
  for (const CodeFinding& finding : findings) {
    table.add_row({finding.name, source_text(code, finding.source), finding.text});
    if (finding.lines.size() < 2) continue;
    std::size_t left = kMostRows;
    for (const auto& [source, count] : finding.lines) {
      if (left-- == 0) {
        table.add_row({"", "", "and further lines; --json has all"});
        break;
      }
      const std::string line = source_text(code, source);
      table.add_row({"", line.empty() ? "no line" : line, fmt::format("{} of them", count)});
    }
  }
  return table.text(terminal);
}

std::string constants_text(const Code& code, const std::vector<Constant>& constants,
                           const Terminal& terminal) {
  std::vector<std::string> items;
  for (const Constant& constant : constants) {
    std::string& item = items.emplace_back(constant.text);
    if (constant.count > 1) item += fmt::format(" ({}x)", constant.count);
    const std::string source = source_text(code, constant.source);
    if (!source.empty()) item += " " + source;
  }
  return folded_text("constants: " + short_list(items), terminal);
}

/// "opcodes: 120 mov, 97 add, and 12 more".
std::string opcodes_text(const Function& function, const Terminal& terminal) {
  std::vector<std::string> opcodes;
  for (const OpcodeCount& opcode : count_opcodes(function)) {
    opcodes.push_back(fmt::format("{} {}", opcode.count, opcode.opcodes[0]));
  }
  std::string text = folded_text("opcodes: " + short_list(opcodes), terminal);
  const std::vector<OpcodeCount> runs = find_runs(function, kMostRuns);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += folded_text(fmt::format("{}{}x {}", i == 0 ? "repeated: " : "          ", runs[i].count,
                                    fmt::join(runs[i].opcodes, " ")),
                        terminal);
  }
  return text;
}

std::string function_text(const Code& code, const Function& function, const Terminal& terminal) {
  std::string text;
  const auto say = [&](const std::string& line) { text += folded_text(line, terminal); };
  say(fmt::format("{} {}: {} instructions in {} blocks, {} loops",
                  function.is_kernel ? "kernel" : "function", function.name,
                  function.num_instructions(), function.blocks.size(), function.loops.size()));
  const Loop* main = main_loop(function);
  if (const std::string live = live_text(function, code.set); !live.empty()) {
    say(fmt::format("values of {} are alive at once in the main loop{}", live,
                    code.set == InstructionSet::ptx ? ", before ptxas reorders it" : ""));
  } else if (main != nullptr && code.set == InstructionSet::sass) {
    say("how many registers are alive is not known; nvdisasm --life-range-mode count prints it");
  }
  for (const auto& [name, count] : unknown_instructions(function)) {
    say(fmt::format("an instruction that is not known: {} ({}x)", name, count));
  }
  text += "\n" + classes_table(function, terminal);
  if (!function.loops.empty()) text += "\n" + loops_table(code, function, terminal);
  if (main != nullptr && main->blocks.size() > 1) {
    text += "\n" + main_loop_table(code, function, *main, terminal);
  }
  const std::vector<CodeFinding> findings = find_motifs(function, code.set);
  if (!findings.empty()) text += "\n" + findings_table(code, findings, terminal);
  const std::vector<Constant> constants = find_constants(function, code.set);
  if (!constants.empty()) text += "\n" + constants_text(code, constants, terminal);
  if (function.num_instructions() > 0) text += "\n" + opcodes_text(function, terminal);
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

Json loop_json(const Code& code, const Function& function, const Loop& loop, bool is_main) {
  const Block& header = block_of(function, loop.header);
  return {{"label", header.label},
          {"source", source_json(code, first_line(header))},
          {"depth", loop.depth},
          {"is_main", is_main},
          {"num_blocks", loop.blocks.size()},
          {"instructions", counts_json(count_classes(function, loop))}};
}

Json finding_json(const Code& code, const CodeFinding& finding) {
  Json json{{"name", finding.name},
            {"text", finding.text},
            {"source", source_json(code, finding.source)}};
  for (const auto& [source, count] : finding.lines) {
    json["lines"].push_back({{"source", source_json(code, source)}, {"count", count}});
  }
  return json;
}

Json function_json(const Code& code, const Function& function) {
  const Loop* main = main_loop(function);
  const auto block_json = [&](const Block& block) -> Json {
    return {{"label", block.label},
            {"source", source_json(code, first_line(block))},
            {"depth", block.depth},
            {"instructions", counts_json(count_classes(block))}};
  };
  const auto constant_json = [&](const Constant& constant) -> Json {
    return {{"constant", constant.text},
            {"is_float", constant.is_float},
            {"count", constant.count},
            {"source", source_json(code, constant.source)}};
  };
  const auto opcode_json = [](const OpcodeCount& opcode) -> Json {
    return {{"opcode", opcode.opcodes[0]}, {"count", opcode.count}};
  };
  const auto run_json = [](const OpcodeCount& run) -> Json {
    return {{"opcodes", run.opcodes}, {"count", run.count}};
  };
  Json json{
      {"name", function.name},
      {"is_kernel", function.is_kernel},
      {"num_blocks", function.blocks.size()},
      {"instructions", counts_json(count_classes(function))},
      {"weighted_instructions", counts_json(count_classes(function, kLoopWeight))},
      {"basic_blocks", json_list(function.blocks, block_json)},
      {"loops",
       json_list(function.loops,
                 [&](const Loop& loop) { return loop_json(code, function, loop, &loop == main); })},
      {"findings", json_list(find_motifs(function, code.set),
                             [&](const auto& finding) { return finding_json(code, finding); })},
      {"constants", json_list(find_constants(function, code.set), constant_json)},
      {"opcodes", json_list(count_opcodes(function), opcode_json)},
      {"runs", json_list(find_runs(function, kMostRuns), run_json)},
      {"unknown_instructions", unknown_instructions(function)}};
  if (main != nullptr) {
    const LiveRegisters live = live_registers(function, *main, code.set);
    if (live.ordinary > 0) json["live_registers"] = live.ordinary;
    if (live.uniform > 0) json["live_uniform_registers"] = live.uniform;
    for (const int index : main->blocks) {
      const Block& block = block_of(function, index);
      json["main_loop"].push_back({{"label", block.label},
                                   {"source", source_json(code, first_line(block))},
                                   {"is_unconditional", main->has_always(index)},
                                   {"instructions", counts_json(count_classes(block))}});
    }
  }
  return json;
}

}  // namespace

void add_counts(CodeCounts& counts, const Inspected& inspected) {
  counts.set = inspected.code.set;
  const std::map<std::string, std::string>& launched = inspected.entries.symbols;
  for (const Function& function : inspected.code.functions) {
    const bool is_left_out = function.is_kernel && !launched.empty() &&
                             std::ranges::none_of(launched, [&](const auto& entry) {
                               return entry.second == function.name;
                             });
    if (is_left_out) continue;
    const ClassCounts once = count_classes(function);
    const ClassCounts weighted = count_classes(function, kLoopWeight);
    for (std::size_t i = 0; i < once.size(); ++i) {
      counts.once[i] += once[i];
      counts.weighted[i] += weighted[i];
    }
  }
}

std::string inspect_text(const Inspected& inspected, const Terminal& terminal) {
  std::string text = head_text(inspected, terminal);
  for (const Function& function : inspected.code.functions) {
    text += "\n" + function_text(inspected.code, function, terminal);
  }
  if (inspected.code.set == InstructionSet::sass) {
    text += "\n" + folded_text(
                       "strides, dependent loads and conversions there and back are looked "
                       "for in PTX only",
                       terminal);
  }
  return text + "\n" +
         folded_text(
             fmt::format("weighted: each instruction counts {:.0f} times for each loop that "
                         "it is in",
                         kLoopWeight),
             terminal);
}

Json inspect_json(const Inspected& inspected) {
  Json json{{"title", inspected.title},
            {"set", inspected.code.set == InstructionSet::ptx ? "ptx" : "sass"},
            {"target", inspected.code.target}};
  if (inspected.report) {
    json["registers"] = inspected.report->registers;
    json["spill_bytes"] = inspected.report->spill_bytes;
    json["static_smem_bytes"] = inspected.report->static_smem_bytes;
  }
  json["launches"] = launches_json(inspected.launches);
  json["functions"] = json_list(inspected.code.functions, [&](const Function& function) {
    return function_json(inspected.code, function);
  });
  return json;
}

std::string listing_text(const Inspected& inspected) {
  std::string text = head_text(inspected, {});
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

std::string source_text(const Code& code, const SourceLine& source) {
  const auto file = static_cast<std::size_t>(source.file);
  if (source.line <= 0 || file >= code.files.size()) return "";
  const std::string& path = code.files[file];
  return fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), source.line);
}

std::string short_list(const std::vector<std::string>& items) {
  const auto shown = std::span(items).first(std::min(items.size(), kMostRows));
  const std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (shown.size() == items.size()) return text;
  return text + fmt::format(", and {} more", items.size() - shown.size());
}

SourceLine first_line(const Block& block) {
  for (const Instruction& instruction : block.instructions) {
    if (instruction.source.line > 0) return instruction.source;
  }
  return {};
}

std::string mix_text(const ClassCounts& counts) {
  constexpr std::size_t kMost = 4;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) order.emplace_back(-counts[i], i);
  }
  std::ranges::sort(order);
  std::string text;
  for (std::size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    text += fmt::format("{}{:.0f} {}", i == 0 ? "" : ", ", -order[i].first,
                        to_text(static_cast<InstructionClass>(order[i].second)));
  }
  return text + (order.size() > kMost ? ", ..." : "");
}

std::string count_cell(double count) { return count == 0 ? "-" : fmt::format("{:.0f}", count); }

std::string live_text(const Function& function, InstructionSet set) {
  const Loop* main = main_loop(function);
  const LiveRegisters live =
      main != nullptr ? live_registers(function, *main, set) : LiveRegisters{};
  if (live.ordinary == 0) return "";
  std::string text = fmt::format("{} registers", live.ordinary);
  if (live.uniform > 0) text += fmt::format(" and {} uniform ones", live.uniform);
  return text;
}

std::string label_of(const Block& block, int index) {
  return block.label.empty() ? fmt::format("block {}", index) : block.label;
}

std::string head_text(const Inspected& inspected, const Terminal& terminal) {
  std::string text;
  const auto say = [&](const std::string& line) { text += folded_text(line, terminal); };
  const bool is_ptx = inspected.code.set == InstructionSet::ptx;
  say(fmt::format("{}: {}{}{}", inspected.title, is_ptx ? "PTX" : "SASS",
                  inspected.code.target.empty() ? "" : " for ", inspected.code.target));
  if (inspected.report) {
    say(fmt::format("ptxas: {} registers a thread, {} bytes spilled, {} of shared memory",
                    inspected.report->registers, inspected.report->spill_bytes,
                    format_bytes(inspected.report->static_smem_bytes)));
    if (inspected.report->spill_bytes > 0 && is_ptx) {
      say("PTX knows no spills; with --sass their lines are shown");
    }
  }
  for (const LaunchFigures& launch : inspected.launches) {
    if (!launch.occupancy) continue;
    say(fmt::format("{}: blocks an SM: {}, of {} threads each ({} of its threads); limited by {}",
                    launch.entry, launch.occupancy->blocks, launch.threads,
                    format_percent(launch.occupancy->ratio), launch.occupancy->limit));
  }
  return text;
}

}  // namespace assay
