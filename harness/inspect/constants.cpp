#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "inspect/findings.h"
#include "inspect/words.h"

namespace assay {
namespace {

std::string float_text(double value) {
  const std::string text = fmt::format("{:.9g}", value);
  return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
}

/// 0f3F800000 or 0d3FF0000000000000; nothing else.
std::optional<double> ptx_float(std::string_view text) {
  const bool is_single = text.size() == 10 && text.starts_with("0f");
  if (!is_single && !(text.size() == 18 && text.starts_with("0d"))) return std::nullopt;
  const auto bits = number_of<std::uint64_t>(text.substr(2), 16);
  if (!bits) return std::nullopt;
  if (is_single) return std::bit_cast<float>(static_cast<std::uint32_t>(*bits));
  return std::bit_cast<double>(*bits);
}

/// Of "-1.4426950216293335571" or "+INF", as SASS prints a float.
std::optional<double> sass_float(std::string_view text) {
  if (text.ends_with("INF")) {
    return text.starts_with('-') ? -std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::infinity();
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("-0x")) return std::nullopt;
  return number_of<double>(text);
}

}  // namespace

std::vector<Constant> find_constants(const Function& function, InstructionSet set) {
  // Smaller integers are offsets and counts.
  constexpr std::int64_t kMinInteger = 256;
  std::map<std::pair<bool, std::string>, Constant> constants;
  for (const Block& block : function.blocks) {
    for (const Instruction& instruction : block.instructions) {
      if (instruction.kind == InstructionClass::branch) continue;
      const bool is_float_work = instruction.kind == InstructionClass::fma ||
                                 instruction.kind == InstructionClass::other_float;
      for (const std::string& operand : instruction.operands) {
        std::optional<double> real;
        if (set == InstructionSet::ptx) real = ptx_float(operand);
        if (set == InstructionSet::sass && is_float_work) real = sass_float(operand);
        const auto integer = real ? std::nullopt : integer_of(operand);
        if (!real && (!integer || std::abs(*integer) < kMinInteger)) continue;
        const std::string text =
            real ? float_text(*real) : fmt::format("{:#x}", static_cast<std::uint64_t>(*integer));
        Constant& constant = constants[{!real, text}];
        if (constant.count++ == 0) {
          constant.text = text;
          constant.is_float = real.has_value();
          constant.source = instruction.source;
        }
      }
    }
  }
  std::vector<Constant> list;
  for (auto& [key, constant] : constants) list.push_back(std::move(constant));
  std::stable_sort(list.begin(), list.end(), [](const Constant& a, const Constant& b) {
    return a.is_float != b.is_float ? a.is_float : a.count > b.count;
  });
  return list;
}

}  // namespace assay
