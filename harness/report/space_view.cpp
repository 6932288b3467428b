#include "report/space_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <ranges>

#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

/// Counts stop at the largest number.
std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return std::max(a, a + b < a ? std::numeric_limits<std::uint64_t>::max() : a + b);
}

/// Sums over kernels and problems: how many trials a sweep has at most.
SpaceRow total(const SweepRow& sweep) {
  SpaceRow sum;
  for (const KernelRow& kernel : sweep.kernels) {
    for (const SpaceRow& space : kernel.spaces) {
      sum.raw = add(sum.raw, space.raw);
      sum.valid = add(sum.valid, space.valid);
      sum.whole = sum.whole && space.whole;
    }
  }
  return sum;
}

std::string valid_text(const SpaceRow& space) {
  return fmt::format("{}{}", space.whole ? "" : "over ", format_count(space.valid));
}

Json space_json(const SpaceRow& space) {
  const auto removed_json = [](const auto& removed) -> Json {
    return {{"constraint", removed.first}, {"num_configs", removed.second}};
  };
  return {{"problem", problem_json(space.problem)},
          {"num_raw", space.raw},
          {"num_valid", space.valid},
          {"is_whole", space.whole},
          {"removed", json_list(space.removed, removed_json)}};
}

Json kernel_json(const KernelRow& kernel) {
  return {{"kernel", kernel.name},
          {"op", kernel.op},
          {"summary", kernel.summary},
          {"arch", kernel.arch},
          {"spaces", json_list(kernel.spaces, space_json)}};
}

Json sweep_json(const SweepRow& sweep) {
  const SpaceRow sum = total(sweep);
  return {{"sweep", sweep.name},
          {"file", sweep.file},
          {"strategy", sweep.strategy},
          {"protocol", sweep.protocol},
          {"num_problems", sweep.num_problems},
          {"num_raw", sum.raw},
          {"num_valid", sum.valid},
          {"is_whole", sum.whole},
          {"kernels", json_list(sweep.kernels, kernel_json)}};
}

}  // namespace

std::string list_text(const std::vector<KernelRow>& kernels, const std::vector<SweepRow>& sweeps,
                      const std::string& device, const Terminal& terminal) {
  std::string text;
  bool any_partly = false;
  if (!kernels.empty()) {
    Table table({"kernel", "op", "arch", ">raw", ">valid", "for", "summary"});
    for (const KernelRow& kernel : kernels) {
      const SpaceRow& space = kernel.spaces.front();
      any_partly = any_partly || !space.whole;
      table.add_row({kernel.name, kernel.op, fmt::format("{}", fmt::join(kernel.arch, " ")),
                     format_count(space.raw), valid_text(space), to_text(space.problem),
                     kernel.summary});
    }
    text += table.text(terminal);
  }
  if (!sweeps.empty()) {
    Table table({"sweep", "kernels", ">problems", ">raw", ">valid", "search", "protocol", "file"});
    for (const SweepRow& sweep : sweeps) {
      const SpaceRow sum = total(sweep);
      any_partly = any_partly || !sum.whole;
      const auto names = std::views::transform(sweep.kernels, &KernelRow::name);
      table.add_row({sweep.name, fmt::format("{}", fmt::join(names, " ")),
                     std::to_string(sweep.num_problems), format_count(sum.raw), valid_text(sum),
                     sweep.strategy, sweep.protocol, sweep.file});
    }
    text += (text.empty() ? "" : "\n") + table.text(terminal);
  }
  text += fmt::format("\nconfigurations, before and after the constraints, on {}\n", device);
  if (any_partly) text += "over: not counted to the end; `assay list FILE` counts further\n";
  return text;
}

std::string spaces_text(const std::vector<KernelRow>& kernels, const std::string& device,
                        const Terminal& terminal) {
  std::string text;
  for (const KernelRow& kernel : kernels) {
    for (const SpaceRow& space : kernel.spaces) {
      if (!text.empty()) text += '\n';
      text += fmt::format("{} ({}), {}, on {}\n", kernel.name, kernel.op, to_text(space.problem),
                          device);
      Table table({">configurations", ""});
      table.add_row({format_count(space.raw), "in all"});
      std::size_t num_idle = 0;
      for (const auto& [constraint, points] : space.removed) {
        if (points == 0) {
          ++num_idle;
        } else {
          table.add_row({"-" + format_count(points), constraint});
        }
      }
      table.add_row({valid_text(space), "valid"});
      text += table.text(terminal);
      if (num_idle > 0) text += fmt::format("{} constraints removed none\n", num_idle);
      if (!space.whole) {
        text += "over: not counted to the end; a search with a budget draws configurations\n";
      }
    }
  }
  return text;
}

std::string list_json(const std::vector<KernelRow>& kernels, const std::vector<SweepRow>& sweeps,
                      const std::string& device, const std::vector<std::string>& mistakes) {
  return document("list", {{"error", text_or_null(fmt::format("{}", fmt::join(mistakes, "\n")))},
                           {"device", device},
                           {"kernels", json_list(kernels, kernel_json)},
                           {"sweeps", json_list(sweeps, sweep_json)}});
}

}  // namespace assay
