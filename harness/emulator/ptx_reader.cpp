#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "emulator/ptx_module.h"
#include "emulator/ptx_tokens.h"

namespace assay::emulator {
namespace {

using Kind = PtxOperand::Kind;

// PTX is input: what it may make us allocate is bounded. Real modules have a tenth of each.
constexpr std::size_t kMaxRegisters = 1 << 20;
constexpr std::size_t kMaxVariableBytes = std::size_t{1} << 30;
constexpr int kMaxNesting = 64;

/// Bits of a type such as ".u32"; 0: no type.
int bits_of(std::string_view type) {
  if (type == ".pred") return 1;
  for (const int bits : {8, 16, 32, 64, 128}) {
    for (const char* const kind : {"b", "u", "s", "f"}) {
      if (type == fmt::format(".{}{}", kind, bits)) return bits;
    }
  }
  if (type == ".f16x2" || type == ".bf16x2") return 32;
  if (type == ".bf16") return 16;
  return 0;
}

PtxSpace space_of(std::string_view directive) {
  if (directive == ".param") return PtxSpace::param;
  if (directive == ".global") return PtxSpace::global;
  if (directive == ".const") return PtxSpace::constant;
  if (directive == ".shared") return PtxSpace::shared;
  if (directive == ".local") return PtxSpace::local;
  return PtxSpace::none;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : tokens_(ptx_tokens(text)) {}

  PtxModule read() {
    bool has_version = false;
    while (peek().kind != PtxToken::Kind::end) {
      const PtxToken directive = next();
      if (directive.is(".version")) {
        has_version = true;
        skip_line(directive.line);
      } else if (directive.is(".target")) {
        module_.target = next().text;
        skip_line(directive.line);
      } else if (directive.is(".address_size")) {
        if (!next().is("64")) fail("only .address_size 64 can be run");
      } else if (directive.is(".file")) {
        read_file(directive.line);
      } else if (directive.is(".loc")) {
        skip_line(directive.line);
      } else if (directive.is(".section")) {
        skip_section();
      } else if (directive.is(".extern") || directive.is(".visible") || directive.is(".weak") ||
                 directive.is(".common")) {
        is_extern_ = directive.is(".extern");
        continue;
      } else if (directive.is(".entry") || directive.is(".func")) {
        read_function(directive.is(".entry"));
      } else if (space_of(directive.text) != PtxSpace::none) {
        read_variables(module_.variables, space_of(directive.text));
      } else if (directive.is(".pragma") || directive.is(".alias")) {
        while (!next().is(";")) {
        }
      } else if (!directive.is(";")) {
        fail(fmt::format("expected a directive such as .version, found \"{}\"", directive.text));
      }
      is_extern_ = false;
    }
    if (!has_version) fail("no .version; this is not PTX");
    return std::move(module_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_ptx(tokens_[at_ > 0 ? at_ - 1 : 0].line, what);
  }

  const PtxToken& peek() const { return tokens_[at_]; }
  const PtxToken& next() {
    if (peek().kind == PtxToken::Kind::end) fail("the file ends within a statement");
    return tokens_[at_++];
  }
  bool accept(std::string_view what) {
    if (!peek().is(what)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view what) {
    const PtxToken& token = next();
    if (!token.is(what)) fail(fmt::format("expected \"{}\", found \"{}\"", what, token.text));
  }
  void skip_line(int line) {
    while (peek().kind != PtxToken::Kind::end && peek().line == line) ++at_;
  }
  void skip_section() {
    while (!next().is("{")) {
    }
    while (!next().is("}")) {
    }
  }
  void read_file(int line) {
    const std::int64_t number = integer();
    const PtxToken name = next();
    if (number < 0 || number > 10'000 || name.kind != PtxToken::Kind::text) {
      fail("expected .file NUMBER \"NAME\"");
    }
    const auto index = static_cast<std::size_t>(number);
    if (module_.files.size() <= index) module_.files.resize(index + 1);
    module_.files[index] = name.text;
    skip_line(line);
  }

  /// A number without a sign: decimal, 0x..., 0b..., octal, with or without U.
  static std::optional<std::int64_t> unsigned_of(std::string_view text) {
    if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
    if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
    if (base != 10) {
      text.remove_prefix(2);
    } else if (text.size() > 1 && text.front() == '0') {
      base = 8;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  std::int64_t integer() {
    const bool is_negative = accept("-");
    const auto value = unsigned_of(next().text);
    if (!value) fail(fmt::format("expected an integer, found \"{}\"", tokens_[at_ - 1].text));
    return is_negative ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*value)) : *value;
  }
  /// A number: an integer, 0f and 0d with the bits in hexadecimal, or decimal with a point.
  PtxOperand number() {
    const bool is_negative = accept("-");
    const std::string_view text = next().text;
    PtxOperand operand;
    std::uint64_t bits = 0;
    if (text.size() > 2 && text[0] == '0' && std::string_view("fFdD").find(text[1]) < 4) {
      operand.kind = Kind::real;
      operand.is_single = text[1] == 'f' || text[1] == 'F';
      const char* const end = text.data() + text.size();
      if (std::from_chars(text.data() + 2, end, bits, 16).ptr != end) {
        fail(fmt::format("\"{}\" is no number", text));
      }
      if (is_negative) bits ^= operand.is_single ? 0x80000000u : std::uint64_t{1} << 63;
      operand.value = static_cast<std::int64_t>(bits);
      return operand;
    }
    if (const auto value = unsigned_of(text)) {
      operand.kind = Kind::integer;
      operand.value =
          is_negative ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(*value)) : *value;
      return operand;
    }
    double real = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), real).ptr !=
        text.data() + text.size()) {
      fail(fmt::format("\"{}\" is no number", text));
    }
    operand.kind = Kind::real;
    operand.value = std::bit_cast<std::int64_t>(is_negative ? -real : real);
    return operand;
  }

  // Variables.

  /// What follows the space: alignment, type, names with sizes and initial values, up to ';'. Of a
  /// parameter up to ',' or ')'.
  void read_variables(std::vector<PtxVariable>& into, PtxSpace space, bool is_parameter = false) {
    PtxVariable common;
    common.space = space;
    std::size_t element_bytes = 0;
    while (peek().kind == PtxToken::Kind::word && peek().text.front() == '.') {
      const std::string_view word = next().text;
      if (word == ".align") {
        const std::int64_t align = integer();
        if (align <= 0 || align > 4096 || (align & (align - 1)) != 0) fail("a bad alignment");
        if (element_bytes == 0 || !is_parameter) common.align = static_cast<std::size_t>(align);
      } else if (const int bits = bits_of(word); bits > 0) {
        element_bytes = static_cast<std::size_t>(std::max(bits, 8)) / 8;
      } else if (word == ".v2" || word == ".v4") {
        vector_ = word == ".v2" ? 2 : 4;
      } else if (word != ".ptr" && space_of(word) == PtxSpace::none) {
        fail(fmt::format("{} is unknown in a declaration", word));
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
        if (size < 0 || static_cast<std::uint64_t>(size) > kMaxVariableBytes) fail("a bad size");
        if (count > kMaxVariableBytes / std::max<std::size_t>(1, static_cast<std::size_t>(size))) {
          fail("a bad size");
        }
        count *= static_cast<std::size_t>(size);
        expect("]");
      }
      if (count > (kMaxVariableBytes - total_bytes_) / element_bytes) {
        fail(fmt::format("variables of more than {} bytes", kMaxVariableBytes));
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

  void read_initial(PtxVariable& variable, std::size_t element_bytes, int depth) {
    if (depth > kMaxNesting) fail("initial values nest too deeply");
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
      bits = static_cast<std::uint64_t>(value.value);
      if (value.kind == Kind::real && element_bytes == 4 && !value.is_single) {
        bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value.value)));
      }
    }
    bytes.resize(bytes.size() + element_bytes);
    std::memcpy(bytes.data() + bytes.size() - element_bytes, &bits,
                std::min<std::size_t>(element_bytes, 8));
  }

  // Functions.

  /// What a pair of braces declares.
  struct Scope {
    std::map<std::string, int, std::less<>> registers = {};
    std::map<std::string, int, std::less<>> variables = {};
    std::map<std::string, int, std::less<>> labels = {};
    std::vector<std::pair<int, std::string>> jumps = {};  // labels that are not declared yet
  };

  std::vector<PtxVariable> parameters() {
    std::vector<PtxVariable> result;
    expect("(");
    while (!accept(")")) {
      const std::string_view space = next().text;
      if (space == ".reg") fail("emulator/unsupported: registers as parameters");
      if (space != ".param") fail(fmt::format("expected .param, found \"{}\"", space));
      read_variables(result, PtxSpace::param, true);
      accept(",");
    }
    return result;
  }

  void read_function(bool is_kernel) {
    PtxFunction function;
    function.is_kernel = is_kernel;
    std::vector<PtxVariable> returned;
    if (peek().is("(")) returned = parameters();
    function.name = next().text;
    if (peek().is("(")) function.variables = parameters();
    function.num_parameters = function.variables.size();
    function.num_returned = returned.size();
    function.variables.insert(function.variables.end(), returned.begin(), returned.end());
    while (!peek().is("{") && !peek().is(";")) read_attribute(function);
    if (next().is("{")) {
      function.has_body = true;
      read_body(function);
    }
    // A declaration ahead of its definition.
    for (PtxFunction& known : module_.functions) {
      if (known.name == function.name) {
        if (function.has_body) known = std::move(function);
        return;
      }
    }
    module_.functions.push_back(std::move(function));
  }

  void read_attribute(PtxFunction& function) {
    const std::string_view word = next().text;
    std::array<std::uint32_t, 3> numbers = {1, 1, 1};
    if (peek().kind == PtxToken::Kind::number) {
      std::size_t count = 0;
      do {
        const std::int64_t value = integer();
        if (count < 3)
          numbers[count++] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 65536));
      } while (accept(","));
    }
    if (word == ".maxntid" || word == ".reqntid") {
      function.max_threads = std::min(1024u, numbers[0] * numbers[1] * numbers[2]);
    } else if (word == ".reqnctapercluster") {
      function.cluster = numbers;
    }
  }

  void read_body(PtxFunction& function) {
    function_ = &function;
    scopes_.assign(1, {});
    for (std::size_t i = 0; i < function.variables.size(); ++i) {
      scopes_.back().variables[function.variables[i].name] = static_cast<int>(i);
    }
    source_file_ = source_line_ = 0;
    while (!scopes_.empty()) {
      const PtxToken token = next();
      if (token.is("{")) {
        if (scopes_.size() > kMaxNesting) fail("braces nest too deeply");
        scopes_.emplace_back();
      } else if (token.is("}")) {
        close_scope();
      } else if (token.is(";")) {
        continue;
      } else if (token.is(".loc")) {
        read_location(token.line);
      } else if (token.is(".reg")) {
        read_registers();
      } else if (token.is(".pragma")) {
        while (!next().is(";")) {
        }
      } else if (space_of(token.text) != PtxSpace::none) {
        const std::size_t before = function.variables.size();
        read_variables(function.variables, space_of(token.text));
        for (std::size_t i = before; i < function.variables.size(); ++i) {
          scopes_.back().variables[function.variables[i].name] = static_cast<int>(i);
        }
      } else if (token.kind == PtxToken::Kind::word && peek().is(":")) {
        next();
        read_label(std::string(token.text));
      } else if (token.is("@") || token.kind == PtxToken::Kind::word) {
        --at_;
        read_instruction();
      } else {
        fail(fmt::format("expected an instruction, found \"{}\"", token.text));
      }
    }
    function_ = nullptr;
  }

  void close_scope() {
    Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    for (auto& [label, name] : closed.jumps) {
      const auto found = closed.labels.find(name);
      if (found != closed.labels.end()) {
        function_->labels[static_cast<std::size_t>(label)] =
            function_->labels[static_cast<std::size_t>(found->second)];
        const auto table = function_->tables.find(found->second);
        if (table != function_->tables.end()) {
          const std::vector<PtxOperand> targets = table->second;
          function_->tables[label] = targets;
        }
      } else if (scopes_.empty()) {
        fail(fmt::format("there is no label {}", name));
      } else {
        scopes_.back().jumps.emplace_back(label, name);
      }
    }
  }

  void read_location(int line) {
    const std::int64_t file = integer(), source = integer();
    if (source > 0 && file > 0 && file <= 10'000 && source < (1 << 30)) {
      source_file_ = static_cast<int>(file);
      source_line_ = static_cast<int>(source);
    }
    skip_line(line);
  }

  void read_registers() {
    while (peek().is(".v2") || peek().is(".v4")) fail("emulator/unsupported: registers of vectors");
    const std::string_view type = next().text;
    const int bits = bits_of(type);
    if (bits == 0) fail(fmt::format("{} is no type", type));
    do {
      const std::string name(next().text);
      std::int64_t count = -1;
      if (accept("<")) {
        count = integer();
        expect(">");
      }
      if (count > static_cast<std::int64_t>(kMaxRegisters - function_->registers.size()) ||
          count < -1 || function_->registers.size() >= kMaxRegisters) {
        fail(fmt::format("more than {} registers", kMaxRegisters));
      }
      for (std::int64_t i = count < 0 ? -1 : 0; i < std::max<std::int64_t>(count, 0); ++i) {
        std::string full = i < 0 ? name : fmt::format("{}{}", name, i);
        scopes_.back().registers[full] = static_cast<int>(function_->registers.size());
        function_->registers.push_back({std::move(full), bits});
      }
    } while (accept(","));
    expect(";");
  }

  void read_label(const std::string& name) {
    const auto index = static_cast<int>(function_->labels.size());
    function_->labels.push_back(static_cast<int>(function_->instructions.size()));
    scopes_.back().labels[name] = index;
    if (accept(".branchtargets")) {
      std::vector<PtxOperand>& targets = function_->tables[index];
      do {
        targets.push_back(label(std::string(next().text)));
      } while (accept(","));
      expect(";");
    } else if (accept(".callprototype")) {
      while (!next().is(";")) {
      }
    }
  }

  /// A jump to a name, which is declared before or after, in these braces or around them.
  PtxOperand label(std::string name) {
    PtxOperand operand;
    operand.kind = Kind::label;
    operand.index = static_cast<int>(function_->labels.size());
    function_->labels.push_back(-1);
    scopes_.back().jumps.emplace_back(operand.index, std::move(name));
    return operand;
  }

  void read_instruction() {
    PtxInstruction instruction;
    instruction.file = source_file_;
    instruction.line = source_line_;
    instruction.ptx_line = peek().line;
    if (accept("@")) {
      instruction.is_inverted = accept("!");
      const PtxOperand predicate = named(next().text);
      if (predicate.kind != Kind::reg || bits(predicate) != 1) fail("expected a predicate");
      instruction.predicate = predicate.index;
    }
    instruction.opcode = next().text;
    const std::string_view name =
        std::string_view(instruction.opcode).substr(0, instruction.opcode.find('.'));
    names_are_labels_ = name == "bra" || name == "brx";
    if (!accept(";")) {
      do {
        instruction.operands.push_back(operand(0));
      } while (accept(","));
      expect(";");
    }
    function_->instructions.push_back(std::move(instruction));
  }

  int bits(const PtxOperand& operand) const {
    return function_->registers[static_cast<std::size_t>(operand.index)].bits;
  }

  PtxOperand operand(int depth) {
    if (depth > kMaxNesting) fail("an operand nests too deeply");
    PtxOperand result;
    if (accept("!")) {
      result = operand(depth + 1);
      result.is_negated = !result.is_negated;
      return result;
    }
    if (peek().is("{") || peek().is("(")) {
      const std::string_view close = next().is("{") ? "}" : ")";
      result.kind = Kind::list;
      while (!accept(close)) {
        result.parts.push_back(operand(depth + 1));
        accept(",");
      }
      return result;
    }
    if (accept("[")) {
      result.kind = Kind::address;
      while (!accept("]")) {
        result.parts.push_back(operand(depth + 1));
        accept(",");
      }
      if (result.parts.empty()) fail("an address without a base");
      result.value = std::exchange(result.parts.front().value, 0);
      if (result.parts.front().kind == Kind::integer) {
        std::swap(result.value, result.parts.front().value);
      }
      return result;
    }
    if (peek().kind == PtxToken::Kind::number || peek().is("-")) return number();
    if (peek().kind != PtxToken::Kind::word) {
      fail(fmt::format("expected an operand, found \"{}\"", next().text));
    }
    const PtxToken& token = next();
    result = named(token.text);
    if (accept("+")) {
      result.value = integer();
    } else if (peek().is("-")) {
      result.value = integer();
    } else if (accept("|")) {
      PtxOperand pair;
      pair.kind = Kind::pair;
      pair.parts = {result, operand(depth + 1)};
      return pair;
    }
    return result;
  }

  PtxOperand named(std::string_view name) {
    PtxOperand result;
    if (name == "_") return result;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->registers.find(name); found != scope->registers.end()) {
        result.kind = Kind::reg;
        result.index = found->second;
        return result;
      }
      if (const auto found = scope->variables.find(name); found != scope->variables.end()) {
        result.kind = Kind::variable;
        result.index = found->second;
        return result;
      }
    }
    if (names_are_labels_) return label(std::string(name));
    result.kind = name.front() == '%' ? Kind::special : Kind::name;
    result.name = name;
    return result;
  }

  std::vector<PtxToken> tokens_;
  std::size_t at_ = 0;
  PtxModule module_;
  bool is_extern_ = false;
  std::size_t vector_ = 1;
  std::size_t total_bytes_ = 0;
  PtxFunction* function_ = nullptr;
  std::vector<Scope> scopes_;
  bool names_are_labels_ = false;
  int source_file_ = 0, source_line_ = 0;
};

}  // namespace

const PtxFunction* PtxModule::function(std::string_view name) const {
  for (const PtxFunction& candidate : functions) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

PtxModule read_module(std::string_view text) { return Reader(text).read(); }

}  // namespace assay::emulator
