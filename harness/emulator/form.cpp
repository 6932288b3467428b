#include <algorithm>
#include <map>

#include "emulator/decode.h"

// The parts of an opcode, and which function decodes each name.

namespace assay::emulator {

namespace {

struct TypeName {
  std::string_view name;
  int bits;
};
/// By PtxType.
constexpr TypeName kTypes[] = {
    {"", 0},        {"pred", 1},  {"b8", 8},   {"b16", 16}, {"b32", 32},    {"b64", 64},
    {"b128", 128},  {"u8", 8},    {"u16", 16}, {"u32", 32}, {"u64", 64},    {"s8", 8},
    {"s16", 16},    {"s32", 32},  {"s64", 64}, {"f16", 16}, {"f16x2", 32},  {"bf16", 16},
    {"bf16x2", 32}, {"tf32", 32}, {"f32", 32}, {"f64", 64}, {"e4m3x2", 16}, {"e5m2x2", 16},
    {"e4m3", 8},    {"e5m2", 8}};

}  // namespace

PtxType ptx_type(std::string_view part) {
  const auto* const found = std::ranges::find(kTypes, part, &TypeName::name);
  return found == std::end(kTypes) ? PtxType::none : static_cast<PtxType>(found - kTypes);
}

int bits_of(PtxType type) { return kTypes[static_cast<std::size_t>(type)].bits; }

bool is_signed(PtxType type) { return type >= PtxType::s8 && type <= PtxType::s64; }

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
