#include "report/inspect_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "inspect/registers.h"
#include "report/table.h"

namespace assay {
namespace {

std::string_view set_text(InstructionSet set) {
  return set == InstructionSet::ptx ? "PTX" : "SASS";
}

}  // namespace

const Block& block_of(const Function& function, int index) {
  return function.blocks[static_cast<std::size_t>(index)];
}

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
  say(fmt::format("{}: {}{}{}", inspected.title, set_text(inspected.code.set),
                  inspected.code.target.empty() ? "" : " for ", inspected.code.target));
  if (inspected.report) {
    say(fmt::format("ptxas: {} registers a thread, {} bytes spilled, {} of shared memory",
                    inspected.report->registers, inspected.report->spill_bytes,
                    format_bytes(static_cast<double>(inspected.report->static_smem_bytes))));
    if (inspected.report->spill_bytes > 0 && inspected.code.set == InstructionSet::ptx) {
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
