#pragma once

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

// A PTX module as it is written: names are resolved, calls and instructions are not yet decoded.

namespace assay::emulator {

/// Throws UsageError.
template <class... A>
[[noreturn]] void refuse(fmt::format_string<A...> text, A&&... values) {
  throw UsageError(fmt::format(text, std::forward<A>(values)...));
}

enum class PtxSpace { none, param, global, constant, shared, local };

/// A variable in memory, with the bytes that it has in the beginning.
struct PtxVariable {
  std::string name;
  PtxSpace space = PtxSpace::none;
  std::size_t align = 1;
  std::size_t size_bytes = 0;
  bool is_dynamic = false;  // .extern .shared x[]
  std::vector<std::byte> initial = {};
  /// Addresses of variables of the module: byte offset, name, what is added.
  struct Address {
    std::size_t at;
    std::string name;
    std::int64_t added;
  };
  std::vector<Address> addresses = {};
};

struct PtxRegister {
  std::string name;
  int bits = 0;  // 1: a predicate
};

struct PtxOperand {
  enum class Kind {
    none,      // "_"
    reg,       // index: of the function's registers
    integer,   // value
    real,      // bits of a double in value, or of a float (is_single)
    special,   // name: %tid.x
    variable,  // index of the function's variables; offset
    name,      // of the module: a variable or a function; offset
    label,     // index: of the function's labels
    list,      // parts: {a, b}
    address,   // parts: [base, ...] of which the first is the base; offset
    pair,      // parts: p|q
  };
  Kind kind = Kind::none;
  bool is_negated = false;
  bool is_single = false;
  int index = -1;
  std::int64_t value = 0;  // of a number; the offset of an address or a name
  std::string name = {};
  std::vector<PtxOperand> parts = {};

  /// The bits of a real as a double, or as a float.
  std::uint64_t real_bits(bool as_double) const {
    const auto bits = static_cast<std::uint64_t>(value);
    if (is_single != as_double) return bits;
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (is_single) return std::bit_cast<std::uint64_t>(static_cast<double>(single));
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  }
};

struct PtxInstruction {
  std::string text;  // as it is written, with single spaces
  std::string opcode;
  int predicate = -1;  // a register of the function
  bool is_inverted = false;
  std::vector<PtxOperand> operands = {};
  int file = 0, line = 0;  // of the source; 0: not known
};

struct PtxFunction {
  std::string name;
  bool is_kernel = false;
  std::vector<PtxRegister> registers = {};
  std::vector<PtxVariable> variables = {};  // its parameters first, then what it returns
  std::size_t num_parameters = 0;
  std::size_t num_returned = 0;
  std::vector<PtxInstruction> instructions = {};
  std::vector<int> labels = {};                        // instruction that each is before
  std::map<int, std::vector<PtxOperand>> tables = {};  // of brx.idx, by label
  std::uint32_t max_threads = 1024;
  std::array<std::uint32_t, 3> cluster = {};
  bool has_body = false;
};

struct PtxModule {
  std::vector<std::string> files = {};
  std::vector<PtxVariable> variables = {};
  std::vector<PtxFunction> functions = {};
};

/// Throws UsageError "PTX:LINE: ..." where the text is no PTX.
PtxModule read_module(std::string_view text);

/// Braces, and operands within operands.
inline constexpr int kMaxPtxNesting = 64;

/// Bits of a type such as ".u32"; 0: no type.
int declared_bits(std::string_view type);
/// Of a directive such as ".shared"; none: another directive.
PtxSpace space_of(std::string_view directive);

struct PtxToken {
  enum class Kind { word, number, text, sign, end };  // `text`: what is in quotes
  Kind kind = Kind::end;
  std::string_view text = {};
  int line = 0;

  bool is(std::string_view what) const { return text == what && kind != Kind::text; }
};

/// Goes through the tokens of a module, and reads what stands alone: numbers and variables.
class PtxCursor {
 public:
  explicit PtxCursor(std::string_view text);

  /// Throws UsageError with the line of the token before.
  template <class... A>
  [[noreturn]] void fail(fmt::format_string<A...> what, A&&... values) const {
    refuse("PTX:{}: {}", tokens_[at_ > 0 ? at_ - 1 : 0].line,
           fmt::format(what, std::forward<A>(values)...));
  }
  const PtxToken& peek() const { return tokens_[at_]; }
  const PtxToken& next();
  void back() { --at_; }
  const PtxToken& last() const { return tokens_[at_ - 1]; }
  bool accept(std::string_view what);
  void expect(std::string_view what);
  void skip_line(int line);

  std::int64_t integer();
  /// An integer, 0f and 0d with the bits in hexadecimal, or decimal with a point.
  PtxOperand number();
  /// What follows the space: alignment, type, names with sizes and initial values, up to ';'. Of a
  /// parameter up to ',' or ')'.
  void read_variables(std::vector<PtxVariable>& into, PtxSpace space, bool is_parameter = false);

 private:
  void read_initial(PtxVariable& variable, std::size_t element_bytes, int depth);

  std::vector<PtxToken> tokens_;
  std::size_t at_ = 0;
  std::size_t vector_ = 1;
  std::size_t total_bytes_ = 0;
};

}  // namespace assay::emulator
