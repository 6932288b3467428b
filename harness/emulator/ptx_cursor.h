#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/ptx_module.h"

namespace assay::emulator {

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
  [[noreturn]] void fail(const std::string& what) const;
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
