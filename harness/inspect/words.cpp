#include "inspect/words.h"

#include <algorithm>

namespace assay {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> dotted(std::string_view opcode) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    opcode.remove_prefix(dot + 1);
  }
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  int depth = 0;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const std::string_view operand = trimmed(text.substr(begin, end - begin));
    if (!operand.empty()) operands.emplace_back(operand);
    begin = end + 1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth <= 0) add(i);
  }
  add(text.size());
  return operands;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto value = number_of<std::int64_t>(text, base);
  return value && is_negative ? -*value : value;
}

Instruction read_words(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  Instruction instruction;
  if (text.starts_with('@')) {
    const std::size_t blank = std::min(text.find_first_of(kBlanks), text.size());
    instruction.predicate = text.substr(1, blank - 1);
    text = trimmed(text.substr(blank));
  }
  const std::size_t blank = std::min(text.find_first_of(kBlanks), text.size());
  instruction.opcode = text.substr(0, blank);
  instruction.operands = split_operands(text.substr(blank));
  return instruction;
}

KindsByName kinds_by_name(
    std::initializer_list<std::pair<InstructionClass, std::vector<std::string_view>>> rows) {
  KindsByName kinds;
  for (const auto& [kind, names] : rows) {
    for (const std::string_view name : names) kinds.emplace(name, kind);
  }
  return kinds;
}

int access_bits(std::string_view opcode) {
  const std::vector<std::string_view> parts = dotted(opcode);
  const std::string_view type = parts.back();
  const std::size_t letters = type.starts_with("bf") ? 2 : 1;
  if (type.size() <= letters || std::string_view("busf").find(type[0]) == std::string_view::npos) {
    return 0;
  }
  const int bits = number_of<int>(type.substr(letters)).value_or(0);
  for (const std::string_view part : parts) {
    if (part == "v2" || part == "v4" || part == "v8") return bits * (part[1] - '0');
  }
  return bits;
}

}  // namespace assay
