#include "emulator/ptx_module.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "emulator/program.h"

namespace assay::emulator {
namespace {

using Kind = PtxOperand::Kind;

// Variables of a module; real ones have a tenth.
constexpr std::size_t kMaxVariableBytes = std::size_t{1} << 30;

/// A number without a sign: decimal, 0x..., 0b..., octal, with or without U.
std::optional<std::int64_t> unsigned_of(std::string_view text) {
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
  if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
  if (base != 10) {
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  return number_of<std::uint64_t>(text, base);
}

bool is_word(char c) { return is_identifier_part(c) || c == '$' || c == '%' || c == '.'; }

/// The tokens without comments, and a last one of kind `end`. They point into the text.
std::vector<PtxToken> ptx_tokens(std::string_view text) {
  std::vector<PtxToken> tokens;
  int line = 1;
  std::size_t at = 0;
  const auto peek = [&](std::size_t ahead) {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  };
  const auto skip_to = [&](std::size_t end) {
    line += static_cast<int>(std::ranges::count(text.substr(at, end - at), '\n'));
    at = end;
  };
  while (at < text.size()) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) <= ' ') {
      skip_to(at + 1);
    } else if (c == '/' && peek(1) == '/') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = text.find("*/", at + 2);
      skip_to(end == std::string_view::npos ? text.size() : end + 2);
    } else if (c == '"') {
      const std::size_t end = text.find('"', at + 1);
      if (end == std::string_view::npos) refuse("PTX:{}: the file ends within quotes", line);
      tokens.push_back({PtxToken::Kind::text, text.substr(at + 1, end - at - 1), line});
      skip_to(end + 1);
    } else if (is_word(c)) {
      const std::size_t begin = at;
      const bool is_number = is_digit(c);
      while (is_word(peek(0)) || (!is_number && peek(0) == ':' && peek(1) == ':')) {
        at += peek(0) == ':' ? 2 : 1;
      }
      tokens.push_back({is_number ? PtxToken::Kind::number : PtxToken::Kind::word,
                        text.substr(begin, at - begin), line});
    } else {
      tokens.push_back({PtxToken::Kind::sign, text.substr(at, 1), line});
      ++at;
    }
  }
  tokens.push_back({PtxToken::Kind::end, {}, line});
  return tokens;
}

}  // namespace

int declared_bits(std::string_view type) {
  return type.starts_with('.') ? bits_of(ptx_type(type.substr(1))) : 0;
}

PtxSpace space_of(std::string_view directive) {
  constexpr std::string_view kSpaces[] = {"", ".param", ".global", ".const", ".shared", ".local"};
  const auto* const found = std::ranges::find(kSpaces, directive);
  return found == std::end(kSpaces) ? PtxSpace::none : static_cast<PtxSpace>(found - kSpaces);
}

PtxCursor::PtxCursor(std::string_view text) : tokens_(ptx_tokens(text)) {}

const PtxToken& PtxCursor::next() {
  if (peek().kind == PtxToken::Kind::end) fail("the file ends within a statement");
  return tokens_[at_++];
}

bool PtxCursor::accept(std::string_view what) {
  if (!peek().is(what)) return false;
  ++at_;
  return true;
}

void PtxCursor::expect(std::string_view what) {
  const PtxToken& token = next();
  if (!token.is(what)) fail("expected \"{}\", found \"{}\"", what, token.text);
}

void PtxCursor::skip_line(int line) {
  while (peek().kind != PtxToken::Kind::end && peek().line == line) ++at_;
}

std::int64_t PtxCursor::integer() {
  const bool is_negative = accept("-");
  const auto value = unsigned_of(next().text);
  if (!value) fail("expected an integer, found \"{}\"", last().text);
  return is_negative ? 0 - static_cast<std::uint64_t>(*value) : *value;
}

PtxOperand PtxCursor::number() {
  const bool is_negative = accept("-");
  const std::string_view text = next().text;
  const char* const end = text.data() + text.size();
  PtxOperand operand;
  operand.kind = Kind::real;
  if (text.size() > 2 && text[0] == '0' && std::string_view("fFdD").find(text[1]) < 4) {
    operand.is_single = text[1] == 'f' || text[1] == 'F';
    std::uint64_t bits = 0;
    if (std::from_chars(text.data() + 2, end, bits, 16).ptr != end) {
      fail("\"{}\" is no number", text);
    }
    if (is_negative) bits ^= operand.is_single ? 0x80000000u : std::uint64_t{1} << 63;
    operand.value = bits;
  } else if (const auto value = unsigned_of(text)) {
    operand.kind = Kind::integer;
    operand.value = is_negative ? 0 - static_cast<std::uint64_t>(*value) : *value;
  } else {
    double real = 0;
    if (std::from_chars(text.data(), end, real).ptr != end) fail("\"{}\" is no number", text);
    operand.value = std::bit_cast<std::int64_t>(is_negative ? -real : real);
  }
  return operand;
}

void PtxCursor::read_variables(std::vector<PtxVariable>& into, PtxSpace space, bool is_parameter) {
  PtxVariable common;
  common.space = space;
  std::size_t element_bytes = 0;
  while (peek().kind == PtxToken::Kind::word && peek().text.front() == '.') {
    const std::string_view word = next().text;
    if (word == ".align") {
      const std::int64_t align = integer();
      if (align <= 0 || align > 4096 || (align & (align - 1)) != 0) fail("a bad alignment");
      if (element_bytes == 0 || !is_parameter) common.align = align;
    } else if (const int bits = declared_bits(word); bits > 0) {
      element_bytes = std::max(bits, 8) / 8;
    } else if (word == ".v2" || word == ".v4") {
      vector_ = word == ".v2" ? 2 : 4;
    } else if (word != ".ptr" && space_of(word) == PtxSpace::none) {
      fail("{} is unknown in a declaration", word);
    }
  }
  if (element_bytes == 0) fail("a variable without a type");
  element_bytes *= std::exchange(vector_, 1);
  common.align = std::max(common.align, element_bytes);
  do {
    PtxVariable variable = common;
    variable.name = next().text;
    std::size_t count = 1;
    if (accept("<")) fail("expected one variable, found a range of names");
    while (accept("[")) {
      if (accept("]")) {
        count = 0;
        continue;
      }
      const std::int64_t size = integer();
      if (size < 0 || count > kMaxVariableBytes / std::max<std::size_t>(1, size)) {
        fail("a bad size");
      }
      count *= size;
      expect("]");
    }
    if (count > (kMaxVariableBytes - total_bytes_) / element_bytes) {
      fail("variables of more than {} bytes", kMaxVariableBytes);
    }
    variable.size_bytes = count * element_bytes;
    variable.is_dynamic = count == 0 && space == PtxSpace::shared;
    if (accept("=")) {
      read_initial(variable, element_bytes, 0);
      if (variable.size_bytes == 0) variable.size_bytes = variable.initial.size();
      if (variable.initial.size() > variable.size_bytes) fail("too many initial values");
    }
    total_bytes_ += variable.size_bytes;
    into.push_back(std::move(variable));
  } while (!is_parameter && accept(","));
  if (!is_parameter) expect(";");
}

void PtxCursor::read_initial(PtxVariable& variable, std::size_t element_bytes, int depth) {
  if (depth > kMaxPtxNesting) fail("initial values nest too deeply");
  if (accept("{")) {
    while (!accept("}")) {
      read_initial(variable, element_bytes, depth + 1);
      accept(",");
    }
    return;
  }
  std::vector<std::byte>& bytes = variable.initial;
  std::uint64_t bits = 0;
  if (peek().kind == PtxToken::Kind::word) {  // an address
    std::string_view name = next().text;
    const bool has_parenthesis = accept("(");
    if (has_parenthesis) name = next().text;  // generic(x)
    std::int64_t added = 0;
    if (accept("+")) added = integer();
    if (has_parenthesis) expect(")");
    variable.addresses.push_back({bytes.size(), std::string(name), added});
  } else {
    const PtxOperand value = number();
    if (accept("(")) fail("emulator/unsupported: parts of addresses as initial values");
    bits = value.kind == Kind::real ? value.real_bits(element_bytes == 8) : value.value;
  }
  bytes.resize(bytes.size() + element_bytes);
  std::memcpy(bytes.data() + bytes.size() - element_bytes, &bits,
              std::min<std::size_t>(element_bytes, 8));
}

}  // namespace assay::emulator
