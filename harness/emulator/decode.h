#pragma once

#include <set>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "emulator/program.h"
#include "emulator/warp.h"

// How instructions are decoded: rules fill an Op out of a Form.

namespace assay::emulator {

/// Thrown where a form is not known: the instruction becomes one that reports itself.
struct UnknownForm {};

class KernelDecoder;
class Form;
struct Frame;

using Decoder = void (*)(Form&);

/// How instructions of a form are decoded.
struct Rule {
  /// What the opcode has, or one of several: "bar|barrier red and|or". The last such choice behind
  /// the name is added to op.mode. Types and what decides nothing may be there, with a * anything.
  std::string_view parts;
  std::string_view operands;  // the letters of Form::take(); of a Decoder none
  std::variant<Handler, Waiter, Decoder> what;
  std::uint32_t mode = 0;
  Handler wide = nullptr;  // instead of the handler, of types of 64 bits
};

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
  /// as wide, u: 32 bits, x: 64, p: a predicate, -: no result. What follows a result behind | is
  /// op.target. @: op.at; #: a number, op.mode; m: the lanes that meet; &: all of the warp meet.
  /// The operand behind a ? may be missing.
  void take(std::string_view letters, PtxType type_of);
  /// Fills the Op by the first rule that the opcode fits.
  void decode();

  std::int32_t in(std::size_t index, PtxType type_of) { return in(operand(index), type_of); }
  std::int32_t out(std::size_t index, PtxType type_of) { return out(operand(index), type_of); }

 private:
  std::int32_t slot_of(const PtxOperand& operand_of, PtxType type_of) const;
  /// False: the opcode does not fit.
  bool follow(const Rule& rule);

  KernelDecoder& decoder_;
  const Frame& frame_;
};

void decode_arithmetic(Form& form);  // what no rule fits: add ... bfi, fma ... tanh
void decode_float(Form& form);
std::vector<Rule> integer_rules();
std::vector<Rule> comparison_rules();
std::vector<Rule> move_rules();
std::vector<Rule> memory_rules();
std::vector<Rule> barrier_rules();
std::vector<Rule> copy_rules();
std::vector<Rule> tensor_rules();

inline void do_nothing(Warp&, const Op&, std::uint32_t) {}

/// Adds the registers that are copied into one of `slots`.
void add_copied(const std::vector<Op>& ops, std::set<std::int32_t>& slots);
bool touches(const std::vector<std::int32_t>& of_op, const std::set<std::int32_t>& slots);

/// Sets touches_wgmma.
void mark_wgmma_registers(std::vector<Op>& ops);
/// Sets is_guess.
void mark_guesses(std::vector<Op>& ops);

}  // namespace assay::emulator
