#include "emulator/decode.h"

#include <algorithm>
#include <bit>

#include "base/find_named.h"

namespace assay::emulator {
namespace {

using Kind = PtxOperand::Kind;

// Calls are written out in place. Real kernels have a tenth of each.
constexpr std::size_t kMaxOps = 2'000'000;
constexpr int kMaxCallDepth = 24;
constexpr int kMaxCalls = 100'000;
constexpr std::size_t kMaxLocalBytes = 512 << 10;  // as the hardware's
constexpr std::size_t kMaxConstants = 1 << 18;

std::size_t aligned(std::size_t at, std::size_t align) { return (at + align - 1) / align * align; }

void report_unknown(Warp& warp, const Op& op, std::uint32_t) {
  warp.report(FindingKind::unsupported, fmt::format("emulator/unsupported: {}", op.source->opcode));
}

void trap(Warp& warp, const Op& op, std::uint32_t lanes) {
  const bool is_call = op.source->opcode.starts_with("call");
  warp.report(FindingKind::trap, is_call ? "an assertion failed" : "the kernel trapped",
              std::countr_zero(lanes));
}

/// Sets `join` of every branch: lanes that part there meet at its immediate post-dominator, by the
/// iteration of Cooper, Harvey and Kennedy on the reversed graph of instructions.
void find_joins(std::vector<Op>& ops) {
  const std::size_t exit = ops.size();  // beside the instructions
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::vector<std::size_t>> after(exit + 1), before(exit + 1);
  for (std::size_t at = 0; at < exit; ++at) {
    const Op& op = ops[at];
    const auto go = [&](std::int64_t to) {
      after[at].push_back(to >= 0 ? std::min(static_cast<std::size_t>(to), exit) : exit);
      before[after[at].back()].push_back(at);
    };
    const bool is_jump = op.control == Control::branch || op.control == Control::exit;
    if (is_jump) go(op.control == Control::branch ? op.target : -1);
    if (op.control == Control::table) std::for_each(op.list.begin(), op.list.end(), go);
    if (is_jump ? op.guard != kNoSlot : op.control != Control::table) {
      go(static_cast<std::int64_t>(at) + 1);
    }
  }
  // A post-order of the reversed graph, from the exit.
  std::vector<std::size_t> order, number(exit + 1, kNone);
  std::vector<std::pair<std::size_t, std::size_t>> path{{exit, 0}};
  std::vector<char> seen(exit + 1, 0);
  seen[exit] = 1;
  while (!path.empty()) {
    auto& [at, child] = path.back();
    if (child < before[at].size()) {
      const std::size_t to = before[at][child++];
      if (!std::exchange(seen[to], 1)) path.emplace_back(to, 0);
    } else {
      number[at] = order.size();
      order.push_back(at);
      path.pop_back();
    }
  }
  std::vector<std::size_t> join(exit + 1, kNone);
  join[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = order.rbegin() + 1; at != order.rend(); ++at) {
      std::size_t found = kNone;
      for (std::size_t other : after[*at]) {
        if (join[other] == kNone) continue;
        if (found == kNone) found = other;
        while (found != other) {
          std::size_t& lower = number[found] < number[other] ? found : other;
          lower = join[lower];
        }
      }
      if (found != std::exchange(join[*at], found)) changed = true;
    }
  }
  for (std::size_t at = 0; at < exit; ++at) {
    Op& op = ops[at];
    if (op.control != Control::branch && op.control != Control::table) continue;
    if (join[at] >= exit) continue;
    // Lanes that end do not wait for others, who may wait for them at a barrier.
    const Op& there = ops[join[at]];
    if (there.control == Control::exit && there.guard == kNoSlot) continue;
    op.join = static_cast<std::int32_t>(join[at]);
  }
}

/// Where a variable of a function is.
struct Place {
  Window window = Window::local;
  std::uint64_t at = 0;
};

}  // namespace

/// A function that is written out.
struct Frame {
  const PtxFunction& function;
  std::vector<std::int32_t> registers = {};  // slots
  std::vector<Place> variables = {};
};

class KernelDecoder {
 public:
  KernelDecoder(const PtxModule& module, const ModuleVariables& variables)
      : module_(module), variables_(variables) {}

  Program decode(const PtxFunction& kernel) {
    program_.kernel = &kernel;
    std::vector<Place> parameters;
    for (std::size_t i = 0; i < kernel.num_parameters; ++i) {
      const PtxVariable& parameter = kernel.variables[i];
      const std::size_t offset = aligned(program_.parameter_bytes, parameter.align);
      program_.parameter_offsets.push_back(offset);
      program_.parameter_bytes = offset + parameter.size_bytes;
      parameters.push_back({Window::param, offset});
    }
    call(kernel, parameters, 0);
    Op end;
    end.control = Control::exit;
    program_.ops.push_back(end);
    place_dynamic();
    find_joins(program_.ops);
    mark_wgmma_registers(program_.ops);
    mark_guesses(program_.ops);
    return std::move(program_);
  }

 private:
  friend class Form;

  void call(const PtxFunction& function, const std::vector<Place>& bound, int depth);
  void decode_call(Frame& frame, const PtxInstruction& instruction, int depth);
  void place_dynamic() {
    const std::size_t begin = kSharedBegin + aligned(program_.shared_bytes, program_.dynamic_align);
    for (SpecialValue& value : program_.specials) {
      if (value.name.empty() && value.offset >= kDynamic / 2) {
        value.offset = static_cast<std::uint32_t>(value.offset - kDynamic + begin);
      }
    }
  }

  Place place(const PtxVariable& variable) {
    if (variable.space == PtxSpace::shared) return {Window::shared, shared(variable)};
    if (variable.space == PtxSpace::global || variable.space == PtxSpace::constant) {
      refuse("PTX: emulator/unsupported: {} within a function", variable.name);
    }
    program_.local_bytes = aligned(program_.local_bytes, variable.align);
    const Place result{Window::local, program_.local_bytes};
    program_.local_bytes += variable.size_bytes;
    if (program_.local_bytes > kMaxLocalBytes) {
      refuse("PTX: a thread has more than {} bytes of local memory", kMaxLocalBytes);
    }
    return result;
  }

  Place place(const Frame& frame, const PtxOperand& operand) {
    if (operand.kind == Kind::variable) {
      return frame.variables[operand.index];
    }
    const PtxVariable* const variable = find_named(module_.variables, operand.name);
    if (variable != nullptr && variable->space == PtxSpace::shared) {
      return {Window::shared, shared(*variable)};
    }
    const auto found = variables_.find(operand.name);
    if (found == variables_.end()) throw UnknownForm();
    return {Window::global, found->second.address()};
  }

  /// The address of a variable in shared memory; of a dynamic one it is mended in the end.
  std::uint64_t shared(const PtxVariable& variable) {
    if (variable.is_dynamic) {
      program_.dynamic_align = std::max(program_.dynamic_align, variable.align);
      return kDynamic;
    }
    const auto [found, is_new] = shared_.try_emplace(&variable, 0);
    if (is_new) {
      program_.shared_bytes = aligned(program_.shared_bytes, variable.align);
      found->second = kSharedBegin + program_.shared_bytes;
      program_.shared_bytes += variable.size_bytes;
    }
    return found->second;
  }

  std::int32_t constant(std::uint64_t value, bool is_wide) {
    if (!is_wide) value = static_cast<std::uint32_t>(value);
    const auto [found, is_new] = constants_.try_emplace({value, is_wide}, 0);
    if (is_new) {
      if (constants_.size() > kMaxConstants) refuse("PTX: too many constants");
      found->second = ~static_cast<std::int32_t>(program_.constants.size() / 32);
      for (std::size_t lane = 0; lane < 32; ++lane) {
        program_.constants.push_back(static_cast<std::uint32_t>(value));
        if (is_wide) program_.constants.push_back(static_cast<std::uint32_t>(value >> 32));
      }
    }
    return found->second;
  }

  std::int32_t new_slot(int bits) {
    const std::uint8_t slots = bits == 128 ? 4 : bits == 64 ? 2 : 1;
    program_.register_slots.resize(program_.register_slots.size() + slots, slots);
    return static_cast<std::int32_t>(program_.register_slots.size()) - slots;
  }

  std::int32_t special(const std::string& name, std::uint64_t offset, bool is_wide) {
    const auto [found, is_new] = specials_.try_emplace({name, offset, is_wide}, 0);
    if (is_new) {
      found->second = new_slot(is_wide ? 64 : 32);
      program_.specials.push_back(
          {name, found->second, static_cast<std::uint32_t>(offset), is_wide});
    }
    return found->second;
  }

  static constexpr std::uint64_t kDynamic = 1u << 30;  // what a dynamic variable's address has

  const PtxModule& module_;
  const ModuleVariables& variables_;
  Program program_;
  const std::int32_t sink_ = new_slot(128);  // where goes what "_" takes
  const std::int32_t never_ = new_slot(32);  // a predicate that nothing writes
  int num_calls_ = 0;
  std::map<const PtxVariable*, std::uint64_t> shared_;
  std::map<std::pair<std::uint64_t, bool>, std::int32_t> constants_;
  std::map<std::tuple<std::string, std::uint64_t, bool>, std::int32_t> specials_;
};

int Form::bits(const PtxOperand& operand_of) const {
  if (operand_of.kind != Kind::reg) return 0;
  return frame_.function.registers[operand_of.index].bits;
}

std::int32_t Form::out(const PtxOperand& operand_of, PtxType type_of) {
  if (operand_of.kind == Kind::none) return decoder_.sink_;
  op.writes.push_back(slot_of(operand_of, type_of));
  return op.writes.back();
}

std::int32_t Form::in(const PtxOperand& operand_of, PtxType type_of) {
  const bool is_wide = bits_of(type_of) == 64;
  const bool is_predicate = type_of == PtxType::pred;
  if (is_predicate && operand_of.kind == Kind::integer) {  // xor.pred %p1, %p2, -1
    return operand_of.value != 0 ? ~decoder_.never_ : decoder_.never_;
  }
  if (is_predicate ? operand_of.kind != Kind::reg : operand_of.is_negated) throw UnknownForm();
  switch (operand_of.kind) {
    case Kind::reg:
      if (operand_of.value != 0) throw UnknownForm();
      op.reads.push_back(slot_of(operand_of, type_of));
      return operand_of.is_negated ? ~op.reads.back() : op.reads.back();
    case Kind::integer:
      if (type_of == PtxType::f32 || type_of == PtxType::f64) throw UnknownForm();
      return decoder_.constant(operand_of.value, is_wide);
    case Kind::real:
      return decoder_.constant(operand_of.real_bits(is_wide), is_wide);
    case Kind::special:
      return decoder_.special(operand_of.name, 0, is_wide);
    case Kind::variable:
    case Kind::name: {
      const Place where = decoder_.place(frame_, operand_of);
      const std::uint64_t at = where.at + operand_of.value;
      if (where.window == Window::shared) return decoder_.special("", at, is_wide);
      return decoder_.constant(at, is_wide);
    }
    default:
      throw UnknownForm();
  }
}

Address Form::address(const PtxOperand& operand_of) {
  if (operand_of.kind != Kind::address) throw UnknownForm();
  const PtxOperand& base = operand_of.parts.front();
  if (base.kind == Kind::variable || base.kind == Kind::name) {
    // The window of a parameter: the kernel's, or a function's, in local memory.
    const Place where = decoder_.place(frame_, base);
    return {where.window == Window::shared ? decoder_.special("", where.at, true)
                                           : decoder_.constant(where.at, true),
            operand_of.value, false,
            window() == Window::generic || where.window == Window::local ? where.window : window()};
  }
  const bool is_wide = bits(base) == 64 || base.kind == Kind::integer;
  return {in(base, is_wide ? PtxType::b64 : PtxType::b32), operand_of.value, bits(base) == 32,
          window()};
}

std::int32_t Form::slot_of(const PtxOperand& operand_of, PtxType type_of) const {
  const int have = bits(operand_of), want = bits_of(type_of);
  const bool fits = have <= 1 || want == 1 ? have == 1 && want == 1
                    : have >= 64           ? have == want
                                           : want < 64;
  if (!fits) throw UnknownForm();
  return frame_.registers[operand_of.index];
}

void KernelDecoder::call(const PtxFunction& function, const std::vector<Place>& bound, int depth) {
  if (++num_calls_ > kMaxCalls) {
    refuse("PTX: {} has more than {} calls", function.name, kMaxCalls);
  }
  Frame frame{function};
  for (const PtxRegister& reg : function.registers) {
    frame.registers.push_back(new_slot(reg.bits));
  }
  frame.variables = bound;
  for (std::size_t i = bound.size(); i < function.variables.size(); ++i) {
    frame.variables.push_back(place(function.variables[i]));
  }
  std::vector<std::int32_t> begins;         // of each instruction
  std::vector<std::size_t> jumps, returns;  // ops to mend
  const std::size_t first = program_.ops.size();
  for (const PtxInstruction& instruction : function.instructions) {
    if (program_.ops.size() > kMaxOps) {
      refuse("PTX: {} has more than {} instructions", function.name, kMaxOps);
    }
    begins.push_back(static_cast<std::int32_t>(program_.ops.size()));
    const std::string_view name =
        std::string_view(instruction.opcode).substr(0, instruction.opcode.find('.'));
    Op op;
    op.source = &instruction;
    if (instruction.predicate >= 0) {
      op.guard = frame.registers[instruction.predicate];
      op.reads.push_back(op.guard);
      if (instruction.is_inverted) op.guard = ~op.guard;
    }
    Form form(*this, frame, instruction, op);
    try {
      if (name == "call") {
        const std::size_t around = program_.ops.size();
        if (op.guard != kNoSlot) {  // a jump around the call
          op.control = Control::branch;
          op.guard = ~op.guard;
          program_.ops.push_back(op);
        }
        decode_call(frame, instruction, depth);
        if (op.guard != kNoSlot) {
          program_.ops[around].target = static_cast<std::int32_t>(program_.ops.size());
        }
        continue;
      } else if (name == "bra") {
        op.control = Control::branch;
        if (form.operand(0).kind != Kind::label) throw UnknownForm();
        op.target = form.operand(0).index;
        jumps.push_back(program_.ops.size());
      } else if (name == "brx") {
        op.control = Control::table;
        op.a = form.in(0, PtxType::u32);
        if (form.operand(1).kind != Kind::label) throw UnknownForm();
        const auto table = function.tables.find(form.operand(1).index);
        if (table == function.tables.end()) throw UnknownForm();
        for (const PtxOperand& target : table->second) op.list.push_back(target.index);
        jumps.push_back(program_.ops.size());
      } else if (name == "ret" && depth > 0) {
        op.control = Control::branch;
        returns.push_back(program_.ops.size());
      } else if (name == "ret" || name == "exit") {
        op.control = Control::exit;
      } else if (name == "trap" || name == "brkpt") {
        op.run = trap;
      } else {
        form.decode();
      }
    } catch (const UnknownForm&) {
      const std::int32_t guard = op.guard;
      op = Op{};
      op.run = report_unknown;
      op.guard = guard;
      op.source = &instruction;
    }
    program_.ops.push_back(std::move(op));
  }
  const auto end = static_cast<std::int32_t>(program_.ops.size());
  const auto pc_of = [&](int label) {
    const int at = function.labels[label];
    return at >= 0 && static_cast<std::size_t>(at) < begins.size() ? begins[at] : end;
  };
  for (const std::size_t at : jumps) {
    Op& op = program_.ops[at];
    if (op.control == Control::branch) op.target = pc_of(op.target);
    for (std::int32_t& target : op.list) {
      if (op.control == Control::table) target = pc_of(target);
    }
  }
  for (const std::size_t at : returns) program_.ops[at].target = end;
  if (depth == 0 || first == program_.ops.size()) return;
  // What follows a call begins with an instruction of its own, so that returns have a place.
  Op nothing;
  nothing.run = do_nothing;
  nothing.source = &function.instructions.back();
  program_.ops.push_back(nothing);
}

void KernelDecoder::decode_call(Frame& frame, const PtxInstruction& instruction, int depth) {
  const std::vector<PtxOperand>& operands = instruction.operands;
  std::size_t at = 0;
  const bool returns = !operands.empty() && operands[0].kind == Kind::list;
  if (returns) ++at;
  if (at >= operands.size() || operands[at].kind != Kind::name) throw UnknownForm();
  const std::string& name = operands[at].name;
  const auto place_of = [&](const PtxOperand& operand) {
    if (operand.kind != Kind::variable) throw UnknownForm();
    return frame.variables[operand.index];
  };
  if (name == "vprintf" || name == "__assertfail") {
    Op op;
    op.source = &instruction;
    op.run = name == "vprintf" ? do_nothing : trap;
    program_.ops.push_back(op);
    return;
  }
  const PtxFunction* const callee = find_named(module_.functions, name);
  if (callee == nullptr || !callee->has_body || depth >= kMaxCallDepth) throw UnknownForm();
  std::vector<Place> bound;
  if (at + 1 < operands.size()) {
    for (const PtxOperand& argument : operands[at + 1].parts) bound.push_back(place_of(argument));
  }
  if (returns) {
    for (const PtxOperand& result : operands[0].parts) bound.push_back(place_of(result));
  }
  if (bound.size() != callee->num_parameters + callee->num_returned) throw UnknownForm();
  call(*callee, bound, depth + 1);
}

Program decode_kernel(const PtxModule& module, const PtxFunction& kernel,
                      const ModuleVariables& variables) {
  return KernelDecoder(module, variables).decode(kernel);
}

}  // namespace assay::emulator
