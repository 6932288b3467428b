#include <algorithm>
#include <map>

#include "emulator/decode.h"

// The parts of an opcode, and which function decodes each name.

namespace assay::emulator {

Form::Form(KernelDecoder& decoder, const Frame& frame, const PtxInstruction& instruction, Op& op_of)
    : text(instruction), op(op_of), decoder_(decoder), frame_(frame) {
  const std::string_view opcode = instruction.opcode;
  for (std::size_t begin = 0; begin <= opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, end - begin));
    if (const PtxType found = ptx_type(parts.back()); found != PtxType::none) {
      types.push_back(found);
    }
    begin = end + 1;
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
    if (part == "global" || part == "const") return Window::global;
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
  static const std::map<PtxType, PtxType> kWider{{PtxType::s16, PtxType::s32},
                                                 {PtxType::u16, PtxType::u32},
                                                 {PtxType::s32, PtxType::s64},
                                                 {PtxType::u32, PtxType::u64}};
  std::int32_t* const slots[] = {&op.out, &op.a, &op.b, &op.c, &op.d};
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const PtxOperand& from = operand(i);
    PtxType type_here = type_of;
    if (letters[i] == 'u') type_here = PtxType::u32;
    if (letters[i] == 'x') type_here = PtxType::u64;
    if (letters[i] == 'p') type_here = PtxType::pred;
    if (letters[i] == 'w') {
      const auto wider = kWider.find(type_of);
      type_here = wider == kWider.end() ? throw UnknownForm() : wider->second;
    }
    if (i > 0) {
      *slots[i] = in(from, type_here);
    } else if (from.kind == PtxOperand::Kind::pair) {
      op.out = out(from.parts[0], type_here);
      op.target = out(from.parts[1], PtxType::pred);
    } else {
      op.out = out(from, type_here);
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

FamilyDecoder family(std::string_view name) {
  static const std::map<std::string_view, FamilyDecoder> kFamilies = [] {
    std::map<std::string_view, FamilyDecoder> families;
    const auto add = [&](FamilyDecoder decoder, std::initializer_list<std::string_view> names) {
      for (const std::string_view each : names) families[each] = decoder;
    };
    add(decode_integer, {"add",  "sub", "mul",  "mad",   "mul24", "mad24", "div",  "rem",  "abs",
                         "neg",  "min", "max",  "sad",   "dp4a",  "dp2a",  "addc", "subc", "madc",
                         "and",  "or",  "xor",  "not",   "cnot",  "shl",   "shr",  "shf",  "lop3",
                         "popc", "clz", "brev", "bfind", "bfe",   "bfi",   "prmt"});
    add(decode_float,
        {"fma", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign"});
    add(decode_comparison, {"setp", "set", "selp", "slct", "testp"});
    add(decode_conversion, {"cvt"});
    add(decode_move, {"mov", "cvta", "mapa", "isspacep", "getctarank"});
    add(decode_load_store, {"ld", "ldu", "st"});
    add(decode_atomic, {"atom", "red"});
    add(decode_lanes, {"shfl", "vote", "match", "redux", "activemask", "elect"});
    add(decode_barrier, {"bar", "barrier"});
    add(decode_mbarrier, {"mbarrier"});
    add(decode_copy, {"cp"});
    add(decode_matrix, {"ldmatrix", "stmatrix", "movmatrix", "mma"});
    add(decode_wgmma, {"wgmma"});
    add(decode_fence, {"fence", "membar"});
    add(decode_nothing, {"prefetch", "prefetchu", "griddepcontrol", "setmaxnreg", "nanosleep",
                         "applypriority", "discard", "createpolicy", "pmevent"});
    return families;
  }();
  const auto found = kFamilies.find(name);
  return found == kFamilies.end() ? nullptr : found->second;
}

}  // namespace assay::emulator
