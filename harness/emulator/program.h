#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emulator/float_formats.h"
#include "emulator/ptx_module.h"
#include "emulator/tensor_product.h"

// A kernel as it is carried out: its calls are written out in place, its operands are slots. A slot
// has 32 lanes of 32 bits; a value of 64 bits takes two slots, a predicate the first word of one.

namespace assay::emulator {

struct Warp;
struct Fragment;
struct Op;

/// Carries out an instruction for some lanes.
using Handler = void (*)(Warp&, const Op&, std::uint32_t lanes);
/// Likewise; false: the lanes must wait, and ask again.
using Waiter = bool (*)(Warp&, Fragment&, const Op&, std::uint32_t lanes);

/// What an instruction does with the flow of control.
enum class Control : std::uint8_t { none, branch, table, exit, meet, wait };

inline constexpr std::int32_t kNoSlot = INT32_MIN;

/// Where an address lies.
enum class Window : std::uint8_t { generic, global, shared, cluster, local, param, constant };

/// An operand [x + n].
struct Address {
  std::int32_t slot = kNoSlot;
  std::int64_t offset = 0;
  bool is_narrow = false;  // the slot has 32 bits
  Window window = Window::generic;
};

struct Op {
  Handler run = nullptr;
  Waiter wait = nullptr;
  Control control = Control::none;
  bool touches_wgmma = false;  // registers of a wgmma.mma_async
  // Slots of operands. Below 0: constants, and predicates that are negated: all bits changed.
  std::int32_t guard = kNoSlot;
  std::int32_t out = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot, d = kNoSlot;
  std::vector<std::int32_t> list = {};  // of {a, b, ...}: the first
  std::vector<std::int32_t> more = {};  // the second
  // Slots of registers, and of the guard: what follows values and products needs no more.
  std::vector<std::int32_t> reads = {}, writes = {};
  Address at = {}, from = {}, barrier = {};
  std::int32_t target = -1;  // of a branch
  std::int32_t join = -1;    // where lanes meet again that part here
  PtxType type = PtxType::none, from_type = PtxType::none;
  Window window = Window::generic;
  Modifiers modifiers = {};
  FloatFunction function = nullptr;
  FragmentProduct product = {};
  FragmentLayout layout = {};
  bool releases = false;
  bool is_guess = false;              // a load whose value an atom.cas compares
  bool is_wide = false;               // registers of 64 bits
  bool meets_anywhere = false;        // with lanes at another such instruction: bar.warp.sync
  std::uint32_t mode = 0, bytes = 0;  // of the family
  std::uint64_t mask = 0;
  const PtxInstruction* source = nullptr;
};

/// A value that differs from thread to thread or from block to block, in a slot from the beginning.
struct SpecialValue {
  std::string name;  // "%tid.x"; empty: an address in shared memory
  std::int32_t slot = 0;
  std::uint32_t offset = 0;  // in shared memory
  bool is_wide = false;
};

struct Program {
  const PtxFunction* kernel = nullptr;
  std::vector<std::size_t> parameter_offsets;
  std::size_t parameter_bytes = 0;
  std::vector<Op> ops;
  std::vector<std::uint32_t> constants;
  std::vector<std::uint8_t> register_slots;  // for each slot: how many its register takes
  std::vector<SpecialValue> specials;
  std::size_t shared_bytes = 0;  // static, from kSharedBegin on
  std::size_t dynamic_align = 16;
  std::size_t local_bytes = 0;
};

/// Shared memory begins here in its window. The bytes below are the system's.
inline constexpr std::uint32_t kSharedBegin = 1024;
/// An address of shared memory has its block's rank in the cluster above these bits.
inline constexpr int kRankShift = 24;
inline constexpr std::uint32_t kOffsetMask = (1u << kRankShift) - 1;
// Generic addresses: no address of this process has these bits.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{1} << 57;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{1} << 58;

/// A variable in global or constant memory, with its bytes.
struct ModuleVariable {
  std::vector<std::byte> storage;
  std::byte* bytes = nullptr;  // in `storage`, aligned
  std::size_t size_bytes = 0;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes); }
};
using ModuleVariables = std::map<std::string, ModuleVariable, std::less<>>;

/// Decodes a kernel of a module.
Program decode_kernel(const PtxModule& module, const PtxFunction& kernel,
                      const ModuleVariables& variables);

}  // namespace assay::emulator
