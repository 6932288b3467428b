#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/code.h"

namespace assay {

/// The registers of a PTX function: who writes and who reads each. PTX has as many as one likes and
/// writes most of them once, so that a value can be followed back to where it comes from.
class Registers {
 public:
  explicit Registers(const Function& function);

  /// Numbers of the registers that an instruction writes and reads.
  struct Use {
    std::vector<int> written;
    std::vector<int> read;
  };
  const Use& use(std::size_t block, std::size_t instruction) const {
    return uses_[block][instruction];
  }
  std::size_t count() const { return widths_.size(); }
  /// How many 32-bit registers one takes; 0: a predicate.
  int width(int number) const { return widths_[static_cast<std::size_t>(number)]; }

  /// How many bytes, or whatever the operand counts, it grows from one thread of a row to the next:
  /// its factor of %tid.x, of which it is a sum with what is the same for all. Nothing: not known.
  std::optional<std::int64_t> step_of_thread(const std::string& operand);
  /// The factor is the same for all threads, and not known when compiling.
  static constexpr std::int64_t kSomeStep = std::numeric_limits<std::int64_t>::max();

 private:
  int number_of(std::string_view name);
  std::optional<std::int64_t> step_of_register(int number, int depth);
  std::optional<std::int64_t> step_of_operand(std::string_view operand, int depth);
  std::optional<std::int64_t> step_of_result(const Instruction& writer, int depth);

  std::map<std::string, int, std::less<>> numbers_;
  std::vector<int> widths_;
  std::vector<std::vector<const Instruction*>> writers_;
  std::vector<std::vector<Use>> uses_;
  std::map<int, std::optional<std::int64_t>> steps_;
};

/// The most 32-bit registers that hold a value at once; 0: not known.
struct LiveRegisters {
  int ordinary = 0;
  int uniform = 0;  // those of SASS that a warp has in common
};

/// Those within `loop`. Of SASS they are what the disassembler counted, which knows how wide each
/// operand is. Of PTX, where registers are as many as one likes, they say about what the loop
/// takes: ptxas puts instructions into another order, adds addresses, and computes some values
/// anew.
LiveRegisters live_registers(const Function& function, const Loop& loop, InstructionSet set);

}  // namespace assay
