#include <algorithm>
#include <map>

#include "emulator/decode.h"

// The parts of an opcode, and which function decodes each name.

namespace assay::emulator {

PtxType ptx_type(std::string_view part) {
  static const std::map<std::string_view, PtxType> kTypes{
      {"pred", PtxType::pred},     {"b8", PtxType::b8},         {"b16", PtxType::b16},
      {"b32", PtxType::b32},       {"b64", PtxType::b64},       {"b128", PtxType::b128},
      {"u8", PtxType::u8},         {"u16", PtxType::u16},       {"u32", PtxType::u32},
      {"u64", PtxType::u64},       {"s8", PtxType::s8},         {"s16", PtxType::s16},
      {"s32", PtxType::s32},       {"s64", PtxType::s64},       {"f16", PtxType::f16},
      {"f16x2", PtxType::f16x2},   {"bf16", PtxType::bf16},     {"bf16x2", PtxType::bf16x2},
      {"tf32", PtxType::tf32},     {"f32", PtxType::f32},       {"f64", PtxType::f64},
      {"e4m3x2", PtxType::e4m3x2}, {"e5m2x2", PtxType::e5m2x2}, {"e4m3", PtxType::e4m3},
      {"e5m2", PtxType::e5m2}};
  const auto found = kTypes.find(part);
  return found == kTypes.end() ? PtxType::none : found->second;
}

int bits_of(PtxType type) {
  switch (type) {
    case PtxType::none:
      return 0;
    case PtxType::pred:
      return 1;
    case PtxType::b8:
    case PtxType::u8:
    case PtxType::s8:
    case PtxType::e4m3:
    case PtxType::e5m2:
      return 8;
    case PtxType::b16:
    case PtxType::u16:
    case PtxType::s16:
    case PtxType::f16:
    case PtxType::bf16:
    case PtxType::e4m3x2:
    case PtxType::e5m2x2:
      return 16;
    case PtxType::b64:
    case PtxType::u64:
    case PtxType::s64:
    case PtxType::f64:
      return 64;
    case PtxType::b128:
      return 128;
    default:
      return 32;
  }
}

bool is_signed(PtxType type) {
  return type == PtxType::s8 || type == PtxType::s16 || type == PtxType::s32 ||
         type == PtxType::s64;
}

bool is_float(PtxType type) { return type >= PtxType::f16; }

Form::Form(const PtxInstruction& instruction, Op& op_of) : text(instruction), op(op_of) {
  const std::string_view opcode = instruction.opcode;
  for (std::size_t begin = 0; begin <= opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, end - begin));
    if (const PtxType found = ptx_type(parts.back()); found != PtxType::none) {
      types.push_back(found);
    }
    begin = end + 1;
  }
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

void Form::address(const PtxOperand& operand_of) {
  const Address found = address_of(operand_of);
  op.a = found.slot;
  op.offset = found.offset;
  op.is_narrow = found.is_narrow;
  op.to_window = found.window;
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
