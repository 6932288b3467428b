#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/program.h"
#include "emulator/warp.h"

// How a family of instructions is decoded: each has a function that fills an Op out of a Form.

namespace assay::emulator {

struct FragmentProduct;

/// Thrown where a form is not known: the instruction becomes one that reports itself.
struct UnknownForm {};

class KernelDecoder;
struct Frame;

/// An instruction as it is written, with its operands as slots. Sets op.modifiers.
class Form {
 public:
  Form(KernelDecoder& decoder, const Frame& frame, const PtxInstruction& instruction, Op& op_of);

  const PtxInstruction& text;
  Op& op;
  std::vector<std::string_view> parts;  // of the opcode, between dots
  std::vector<PtxType> types;           // those of the parts that are types

  bool has(std::string_view part) const;
  PtxType type() const { return types.empty() ? throw UnknownForm() : types.front(); }
  std::size_t num_operands() const { return text.operands.size(); }
  const PtxOperand& operand(std::size_t index) const;
  /// Those of {a, b}, or the one operand.
  static std::span<const PtxOperand> elements(const PtxOperand& operand_of);
  /// An integer that is written out, of at least 0.
  std::uint32_t number(std::size_t index) const;
  /// Refuses a form with other parts than these, its name and its types.
  void allow(std::initializer_list<std::string_view> known) const;

  /// A slot to read or to write a value of a type. Notes a register in op.reads or op.writes.
  std::int32_t in(const PtxOperand& operand_of, PtxType type_of);
  std::int32_t out(const PtxOperand& operand_of, PtxType type_of);
  /// Bits of a register; 0: something else.
  int bits(const PtxOperand& operand_of) const;
  /// An operand [x + n], in the window of its variable or of the opcode.
  Address address(const PtxOperand& operand_of);
  /// Where the opcode says that addresses lie.
  Window window() const;

  /// Likewise of each of {a, b}, or of the one operand.
  std::vector<std::int32_t> in_each(std::size_t index, PtxType type_of);
  std::vector<std::int32_t> out_each(std::size_t index, PtxType type_of);
  /// Sets op.out, a, b, c and d to the first operands, a letter for each: t: of the type, w: twice
  /// as wide, u: 32 bits, x: 64, p: a predicate. What follows a result behind | is op.target.
  void take(std::string_view letters, PtxType type_of);

  std::int32_t in(std::size_t index, PtxType type_of) { return in(operand(index), type_of); }
  std::int32_t out(std::size_t index, PtxType type_of) { return out(operand(index), type_of); }

 private:
  std::int32_t slot_of(const PtxOperand& operand_of, PtxType type_of) const;

  KernelDecoder& decoder_;
  const Frame& frame_;
};

using FamilyDecoder = void (*)(Form&);
/// Null: no such family.
FamilyDecoder family(std::string_view name);

void decode_integer(Form& form);     // add ... mad, dp4a, and ... shl, popc, bfe, prmt, lop3
void decode_float(Form& form);       // add ... tanh, of floats
void decode_comparison(Form& form);  // setp set selp slct testp
void decode_conversion(Form& form);  // cvt
void decode_move(Form& form);        // mov, cvta, mapa, isspacep
void decode_load_store(Form& form);  // ld, st, ldu, prefetch
void decode_atomic(Form& form);      // atom, red
void decode_lanes(Form& form);       // shfl vote match redux activemask elect bar.warp
void decode_barrier(Form& form);     // bar, barrier
void decode_mbarrier(Form& form);
void decode_copy(Form& form);    // cp.async, cp.async.bulk, st.async, red.async
void decode_matrix(Form& form);  // ldmatrix stmatrix movmatrix mma
void decode_wgmma(Form& form);
/// Of mma and wgmma: sets op.type, from, mode and bytes to what product_of() needs.
void decode_product(Form& form);
FragmentProduct product_of(const Op& op);
void decode_fence(Form& form);    // fence, membar
void decode_nothing(Form& form);  // hints

/// Sets touches_wgmma.
void mark_wgmma_registers(std::vector<Op>& ops);

}  // namespace assay::emulator
