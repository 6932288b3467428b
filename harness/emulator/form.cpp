#include <algorithm>
#include <map>

#include "emulator/decode.h"

// The parts of an opcode, and the rules that it follows.

namespace assay::emulator {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Form::Form(KernelDecoder& decoder, const Frame& frame, const PtxInstruction& instruction, Op& op_of)
    : text(instruction),
      op(op_of),
      parts(split(instruction.opcode, '.')),
      decoder_(decoder),
      frame_(frame) {
  for (const std::string_view part : parts) {
    if (const PtxType found = ptx_type(part); found != PtxType::none) types.push_back(found);
  }
  op.modifiers = {has("rz") || has("rzi")   ? Rounding::to_zero
                  : has("rm") || has("rmi") ? Rounding::down
                  : has("rp") || has("rpi") ? Rounding::up
                  : has("rna")              ? Rounding::nearest_away
                                            : Rounding::nearest_even,
                  has("satfinite"),
                  has("relu"),
                  has("sat"),
                  has("ftz"),
                  has("NaN"),
                  has("xorsign")};
}

bool Form::has(std::string_view part) const {
  return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
}

const PtxOperand& Form::operand(std::size_t index) const {
  if (index >= text.operands.size()) throw UnknownForm();
  return text.operands[index];
}

std::span<const PtxOperand> Form::elements(const PtxOperand& operand_of) {
  if (operand_of.kind == PtxOperand::Kind::list) return operand_of.parts;
  return {&operand_of, 1};
}

std::uint32_t Form::number(std::size_t index) const {
  if (operand(index).kind != PtxOperand::Kind::integer) throw UnknownForm();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(operand(index).value, 0, 1 << 20));
}

Window Form::window() const {
  for (const std::string_view part : parts) {
    if (part == "shared" || part == "shared::cta") return Window::shared;
    if (part == "shared::cluster") return Window::cluster;
    if (part == "local") return Window::local;
    if (part == "global") return Window::global;
    if (part == "const") return Window::constant;
    if (part.starts_with("param")) return Window::param;
  }
  return Window::generic;
}

std::vector<std::int32_t> Form::in_each(std::size_t index, PtxType type_of) {
  std::vector<std::int32_t> slots;
  for (const PtxOperand& each : elements(operand(index))) slots.push_back(in(each, type_of));
  return slots;
}

std::vector<std::int32_t> Form::out_each(std::size_t index, PtxType type_of) {
  std::vector<std::int32_t> slots;
  for (const PtxOperand& each : elements(operand(index))) slots.push_back(out(each, type_of));
  return slots;
}

void Form::take(std::string_view letters, PtxType type_of) {
  const bool can_widen = type_of >= PtxType::u16 && type_of <= PtxType::s32 &&
                         (bits_of(type_of) == 16 || bits_of(type_of) == 32);
  std::int32_t* const slots[] = {&op.out, &op.a, &op.b, &op.c, &op.d};
  std::size_t at = 0, slot = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool may_miss = letters[i] == '?';
    if (may_miss) ++i;
    if (letters[i] == '&') op.control = Control::meet;
    std::size_t behind = 0;  // operands that must follow
    for (std::size_t j = i + 1; may_miss && j < letters.size(); ++j) {
      letters[j] == '?' ? ++j : ++behind;
    }
    const bool is_missing = may_miss && (num_operands() <= at + behind ||
                                         operand(at).kind == PtxOperand::Kind::address);
    if (letters[i] == '-' || is_missing) ++slot;
    if (letters[i] == '-' || letters[i] == '&' || is_missing) continue;
    const PtxOperand& from = operand(at++);
    if (letters[i] == '@') {
      op.at = address(from);
    } else if (letters[i] == '#') {
      op.mode = number(at - 1);
    } else if (letters[i] == 'm') {
      op.control = Control::meet;
      op.d = in(from, PtxType::b32);
    } else {
      const PtxType type_here = letters[i] == 'u'   ? PtxType::u32
                                : letters[i] == 'x' ? PtxType::u64
                                : letters[i] == 'p' ? PtxType::pred
                                : letters[i] != 'w' ? type_of
                                : can_widen ? static_cast<PtxType>(static_cast<int>(type_of) + 1)
                                            : throw UnknownForm();
      const bool is_pair = from.kind == PtxOperand::Kind::pair;
      *slots[slot] =
          slot > 0 ? in(from, type_here) : out(is_pair ? from.parts[0] : from, type_here);
      if (is_pair && slot == 0) op.target = out(from.parts[1], PtxType::pred);
      ++slot;
    }
  }
}

void Form::allow(std::initializer_list<std::string_view> known) const {
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
    if (ptx_type(*part) == PtxType::none &&
        std::find(known.begin(), known.end(), *part) == known.end()) {
      throw UnknownForm();
    }
  }
}

bool Form::follow(const Rule& rule) {
  std::vector<std::string_view> known{
      "sync",        "aligned",         "cta",     "cluster", "gpu",    "sys", "shared",
      "shared::cta", "shared::cluster", "release", "acquire", "relaxed"};
  const std::size_t num_known = known.size();
  op.mode = rule.mode;
  for (const std::string_view word : split(rule.parts, ' ')) {
    const std::vector<std::string_view> ways = split(word, '|');
    const auto found = std::ranges::find_if(ways, [&](std::string_view way) {
      return way == "*" || std::ranges::find(parts, way) != parts.end();
    });
    if (found == ways.end()) return false;
    if (ways.size() > 1 && known.size() > num_known) {
      op.mode = rule.mode + static_cast<std::uint32_t>(found - ways.begin());
    }
    known.push_back(*found);
  }
  const auto is_known = [&](std::string_view part) {
    return ptx_type(part) != PtxType::none || std::ranges::find(known, part) != known.end();
  };
  if (known.back() != "*" && !std::ranges::all_of(parts, is_known)) return false;
  if (const auto* const decoder = std::get_if<Decoder>(&rule.what)) {
    (*decoder)(*this);
    return true;
  }
  op.type = types.empty() ? PtxType::none : types.front();
  op.from_type = types.empty() ? PtxType::none : types.back();
  op.window = window();
  if (const auto* const waiter = std::get_if<Waiter>(&rule.what)) {
    op.wait = *waiter;
    op.control = Control::wait;
  } else {
    op.run =
        rule.wide != nullptr && bits_of(op.type) == 64 ? rule.wide : std::get<Handler>(rule.what);
  }
  take(rule.operands, op.type);
  return true;
}

void Form::decode() {
  static const std::multimap<std::string_view, Rule> kRules = [] {
    std::multimap<std::string_view, Rule> by_name;
    for (const auto rules : {integer_rules, comparison_rules, move_rules, copy_rules, memory_rules,
                             barrier_rules, tensor_rules}) {
      for (const Rule& rule : rules()) {
        for (const auto name : split(split(rule.parts, ' ').front(), '|')) {
          by_name.emplace(name, rule);
        }
      }
    }
    return by_name;
  }();
  const auto [begin, end] = kRules.equal_range(parts[0]);
  if (std::none_of(begin, end, [&](const auto& rule) { return follow(rule.second); })) {
    op.mode = 0;
    decode_arithmetic(*this);
  }
}

}  // namespace assay::emulator
