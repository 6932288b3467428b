#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/expr_code.h"
#include "base/find_named.h"
#include "base/text.h"

// Recursive descent that emits code as it reads; binary operators by precedence climbing.

namespace assay {
namespace {

using Code = Expr::Op::Code;

// Bounds the recursion; no contract comes near.
constexpr int kMaxNesting = 100;

struct Binary {
  std::string_view text;
  int level;  // binds tighter the higher
  Code code;
};

constexpr int kOrLevel = 1, kAndLevel = 2, kEqualityLevel = 3, kOrderLevel = 4;

// The longer of two operators with the same beginning comes first.
constexpr Binary kBinary[] = {
    {"||", kOrLevel, Code::or_jump},
    {"&&", kAndLevel, Code::and_jump},
    {"==", kEqualityLevel, Code::equal},
    {"!=", kEqualityLevel, Code::not_equal},
    {"<=", kOrderLevel, Code::less_equal},
    {">=", kOrderLevel, Code::greater_equal},
    {"<", kOrderLevel, Code::less},
    {">", kOrderLevel, Code::greater},
    {"+", 5, Code::add},
    {"-", 5, Code::subtract},
    {"*", 6, Code::multiply},
    {"/", 6, Code::divide},
    {"%", 6, Code::remainder},
};

struct Function {
  std::string_view name;
  Code code;
  bool takes_more_than_two;
};

constexpr Function kFunctions[] = {
    {"cdiv", Code::ceil_divide, false},
    {"min", Code::minimum, true},
    {"max", Code::maximum, true},
};

/// Of one real number.
struct RealFunction {
  std::string_view name;
  Code code;
};

constexpr RealFunction kRealFunctions[] = {
    {"floor", Code::round_down},
    {"ceil", Code::round_up},
    {"round", Code::round_nearest},
    {"sqrt", Code::square_root},  // of real expressions alone
};

bool is_name_part(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

class Parser {
 public:
  Parser(std::string_view text, const Symbols& symbols, bool real)
      : text_(text), symbols_(symbols), real_(real) {}

  std::vector<Expr::Op> parse() {
    conditional();
    skip_space();
    if (at_ < text_.size()) fail_expected("an operator");
    return std::move(code_);
  }

 private:
  void conditional() {
    const Nesting nesting(*this);
    binary(kOrLevel);
    if (!accept("?")) return;
    const std::size_t to_else = emit_jump(Code::jump_if_zero);
    --depth_;
    conditional();
    if (!accept(":")) fail_expected("\":\"");
    const std::size_t to_end = emit_jump(Code::jump);
    --depth_;
    land(to_else);
    conditional();
    land(to_end);
  }

  void binary(int lowest_level) {
    unary();
    int compared_level = 0;
    while (const Binary* op = peek_binary()) {
      if (op->level < lowest_level) return;
      const bool compares = op->level == kEqualityLevel || op->level == kOrderLevel;
      if (compares && op->level == compared_level) {
        fail("comparisons do not chain; join two with &&");
      }
      compared_level = compares ? op->level : 0;
      at_ += op->text.size();
      if (op->code == Code::and_jump || op->code == Code::or_jump) {
        const std::size_t to_end = emit_jump(op->code);
        binary(op->level + 1);
        emit_binary(Code::truth);  // may_hold() keeps the first operand meanwhile
        land(to_end);
      } else {
        binary(op->level + 1);
        emit_binary(op->code);
      }
    }
  }

  void unary() {
    const Nesting nesting(*this);
    if (accept("-")) {
      unary();
      emit(Code::negate);
    } else if (peek() == '!' && peek(1) != '=') {
      ++at_;
      unary();
      emit(Code::logical_not);
    } else {
      primary();
    }
  }

  void primary() {
    const char c = peek();
    if (c == '(') {
      ++at_;
      conditional();
      expect_close();
    } else if (is_digit(c)) {
      number();
    } else if (is_letter(c)) {
      name();
    } else {
      fail_expected("a number, a name or \"(\"");
    }
  }

  void number() {
    if (real_) {
      real_number();
      return;
    }
    const std::string_view digits = take_while(is_name_part);
    const std::size_t column = at_ - digits.size();
    if (!std::ranges::all_of(digits, is_digit) || (digits.size() > 1 && digits[0] == '0')) {
      throw ExprError(column, fmt::format("expected a decimal integer, found \"{}\"", digits));
    }
    const auto value = number_of<std::int64_t>(digits);
    if (!value) throw ExprError(column, fmt::format("{} does not fit in 64 bits", digits));
    push({Code::constant, 0, *value});
  }

  void real_number() {
    const std::size_t column = at_;
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto read = std::from_chars(begin, text_.data() + text_.size(), value);
    at_ += static_cast<std::size_t>(read.ptr - begin);
    const std::string_view rest = take_while(is_name_part);
    if (read.ec != std::errc() || !rest.empty()) {
      throw ExprError(column, fmt::format("expected a decimal number, found \"{}\"",
                                          text_.substr(column, at_ - column)));
    }
    push({Code::constant, 0, std::bit_cast<std::int64_t>(value)});
  }

  void name() {
    const std::string_view word = take_while(is_name_part);
    const std::size_t column = at_ - word.size();
    if (peek() == '(') {
      call(word, column);
      return;
    }
    const int slot = symbols_.find(word);
    if (slot < 0) {
      const std::string near = symbols_.nearest(word);
      throw ExprError(column,
                      fmt::format("unknown name \"{}\"{}", word,
                                  near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    if (symbols_.is_real(slot) && !real_) {
      throw ExprError(column, fmt::format("expected an integer, found \"{0}\", which is a real "
                                          "number; write such as round({0} * 8)",
                                          word));
    }
    push({symbols_.is_real(slot) ? Code::load_real : Code::load, slot, 0});
  }

  /// Its argument is real. In an expression of integers its result is an integer.
  void call_real(Code code) {
    ++at_;
    const bool was_real = std::exchange(real_, true);
    const std::size_t to_end = was_real ? 0 : emit_jump(Code::from_real);
    conditional();
    expect_close();
    emit(code);
    if (!was_real) land(to_end);
    real_ = was_real;
  }

  void call(std::string_view word, std::size_t column) {
    const RealFunction* const of_real = find_named(kRealFunctions, word);
    if (of_real && (real_ || of_real->code != Code::square_root)) return call_real(of_real->code);
    const Function* const function = find_named(kFunctions, word);
    if (function == nullptr) {
      throw ExprError(
          column,
          fmt::format("unknown function \"{}\"; known are cdiv, min, max, floor, ceil, round{}",
                      word, real_ ? ", sqrt" : ""));
    }
    ++at_;
    conditional();
    int arguments = 1;
    while (accept(",")) {
      conditional();
      emit_binary(function->code);
      ++arguments;
    }
    expect_close();
    if (arguments < 2 || (arguments > 2 && !function->takes_more_than_two)) {
      throw ExprError(column,
                      fmt::format("{} takes {}2 arguments, found {}", word,
                                  function->takes_more_than_two ? "at least " : "", arguments));
    }
  }

  /// The next character after spaces (plus `ahead`), or 0 at the end.
  char peek(std::size_t ahead = 0) {
    skip_space();
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool accept(std::string_view symbol) {
    skip_space();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }

  void expect_close() {
    if (!accept(")")) fail_expected("\")\"");
  }

  const Binary* peek_binary() {
    skip_space();
    for (const Binary& op : kBinary) {
      if (text_.substr(at_).starts_with(op.text)) return &op;
    }
    return nullptr;
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  template <typename Predicate>
  std::string_view take_while(Predicate predicate) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && predicate(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  [[noreturn]] void fail(const std::string& message) const { throw ExprError(at_, message); }

  [[noreturn]] void fail_expected(std::string_view what) {
    skip_space();
    if (at_ == text_.size()) fail(fmt::format("expected {}, found the end", what));
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    std::size_t end = at_ + 1;
    if (is_name_part(text_[at_])) {
      while (end < text_.size() && is_name_part(text_[end])) ++end;
    } else if (!is_ascii(text_[at_])) {  // not a part of a UTF-8 character
      while (end < text_.size() && !is_ascii(text_[end])) ++end;
    }
    fail(fmt::format("expected {}, found \"{}\"", what, text_.substr(at_, end - at_)));
  }

  void emit(Code code) { code_.push_back({code, 0, 0}); }

  void emit_binary(Code code) {
    emit(code);
    --depth_;
  }

  void push(Expr::Op op) {
    if (++depth_ > kMaxExprDepth)
      fail(fmt::format("more than {} operands wait here", kMaxExprDepth));
    code_.push_back(op);
  }

  std::size_t emit_jump(Code code) {
    emit(code);
    return code_.size() - 1;
  }

  void land(std::size_t jump) { code_[jump].target = static_cast<int>(code_.size()); }

  struct Nesting {
    explicit Nesting(Parser& owner) : parser(owner) {
      if (++parser.nesting_ > kMaxNesting) {
        parser.fail(fmt::format("nested more than {} levels deep", kMaxNesting));
      }
    }
    ~Nesting() { --parser.nesting_; }
    Parser& parser;
  };

  std::string_view text_;
  const Symbols& symbols_;
  bool real_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  int depth_ = 0;  // operands on the evaluator's stack at this point of the code
  std::vector<Expr::Op> code_;
};

}  // namespace

std::vector<Expr::Op> compile_expr(std::string_view text, const Symbols& symbols, bool real) {
  return Parser(text, symbols, real).parse();
}

}  // namespace assay
