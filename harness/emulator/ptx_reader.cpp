#include <algorithm>
#include <tuple>

#include "base/find_named.h"
#include "emulator/ptx_module.h"

namespace assay::emulator {
namespace {

using Kind = PtxOperand::Kind;

// PTX is input: what it may make us allocate is bounded. Real modules have a tenth.
constexpr std::size_t kMaxRegisters = 1 << 20;

class Reader : private PtxCursor {
 public:
  explicit Reader(std::string_view text) : PtxCursor(text) {}

  PtxModule read() {
    bool has_version = false;
    while (peek().kind != PtxToken::Kind::end) {
      const PtxToken directive = next();
      has_version = has_version || directive.is(".version");
      if (directive.is(".address_size")) {
        if (!next().is("64")) fail("only .address_size 64 can be run");
      } else if (directive.is(".file")) {
        read_file(directive.line);
      } else if (directive.is(".version") || directive.is(".loc") || directive.is(".target")) {
        skip_line(directive.line);
      } else if (directive.is(".section")) {
        skip_to("}");
      } else if (directive.is(".extern") || directive.is(".visible") || directive.is(".weak") ||
                 directive.is(".common")) {
        continue;
      } else if (directive.is(".entry") || directive.is(".func")) {
        read_function(directive.is(".entry"));
      } else if (space_of(directive.text) != PtxSpace::none) {
        read_variables(module_.variables, space_of(directive.text));
      } else if (directive.is(".pragma") || directive.is(".alias")) {
        skip_to(";");
      } else if (!directive.is(";")) {
        fail("expected a directive such as .version, found \"{}\"", directive.text);
      }
    }
    if (!has_version) fail("no .version; this is not PTX");
    return std::move(module_);
  }

 private:
  void skip_to(std::string_view sign) {
    while (!next().is(sign)) {
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

  // Functions.

  /// What a pair of braces declares.
  struct Scope {
    /// Of a register or a variable: its kind and index.
    std::map<std::string, std::pair<Kind, int>, std::less<>> names = {};
    std::map<std::string, int, std::less<>> labels = {};
    std::vector<std::pair<int, std::string>> jumps = {};  // labels that are not declared yet
  };

  std::vector<PtxVariable> parameters() {
    std::vector<PtxVariable> result;
    expect("(");
    while (!accept(")")) {
      const std::string_view space = next().text;
      if (space == ".reg") fail("emulator/unsupported: registers as parameters");
      if (space != ".param") fail("expected .param, found \"{}\"", space);
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
    PtxFunction* const known = find_named(module_.functions, function.name);
    if (known == nullptr) {
      module_.functions.push_back(std::move(function));
    } else if (function.has_body) {
      *known = std::move(function);
    }
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
    name_variables(function, 0);
    source_file_ = source_line_ = 0;
    while (!scopes_.empty()) {
      const PtxToken token = next();
      if (token.is("{")) {
        if (scopes_.size() > kMaxPtxNesting) fail("braces nest too deeply");
        scopes_.emplace_back();
      } else if (token.is("}")) {
        close_scope();
      } else if (token.is(";")) {
        continue;
      } else if (token.is(".loc")) {
        read_location(token.line);
      } else if (token.text.starts_with(".reg")) {  // ".reg .b32" or ".reg.b32"
        read_registers(token.text.size() > 4 ? token.text.substr(4) : "");
      } else if (token.is(".pragma")) {
        skip_to(";");
      } else if (space_of(token.text) != PtxSpace::none) {
        const std::size_t before = function.variables.size();
        read_variables(function.variables, space_of(token.text));
        name_variables(function, before);
      } else if (token.kind == PtxToken::Kind::word && peek().is(":")) {
        next();
        read_label(std::string(token.text));
      } else if (token.is("@") || token.kind == PtxToken::Kind::word) {
        back();
        read_instruction();
      } else {
        fail("expected an instruction, found \"{}\"", token.text);
      }
    }
    function_ = nullptr;
  }

  void name_variables(const PtxFunction& function, std::size_t first) {
    for (std::size_t i = first; i < function.variables.size(); ++i) {
      scopes_.back().names[function.variables[i].name] = {Kind::variable, static_cast<int>(i)};
    }
  }

  void close_scope() {
    Scope closed = std::move(scopes_.back());
    scopes_.pop_back();
    for (auto& [label, name] : closed.jumps) {
      const auto found = closed.labels.find(name);
      if (found != closed.labels.end()) {
        function_->labels[label] = function_->labels[found->second];
        const auto table = function_->tables.find(found->second);
        if (table != function_->tables.end()) {
          const std::vector<PtxOperand> targets = table->second;
          function_->tables[label] = targets;
        }
      } else if (scopes_.empty()) {
        fail("there is no label {}", name);
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

  void read_registers(std::string_view type) {
    while (peek().is(".v2") || peek().is(".v4")) fail("emulator/unsupported: registers of vectors");
    if (type.empty()) type = next().text;
    const int bits = declared_bits(type);
    if (bits == 0) fail("{} is no type", type);
    do {
      const std::string name(next().text);
      std::int64_t count = -1;
      if (accept("<")) {
        count = integer();
        expect(">");
      }
      if (count > static_cast<std::int64_t>(kMaxRegisters - function_->registers.size()) ||
          count < -1 || function_->registers.size() >= kMaxRegisters) {
        fail("more than {} registers", kMaxRegisters);
      }
      for (std::int64_t i = count < 0 ? -1 : 0; i < std::max<std::int64_t>(count, 0); ++i) {
        std::string full = i < 0 ? name : fmt::format("{}{}", name, i);
        scopes_.back().names[full] = {Kind::reg, static_cast<int>(function_->registers.size())};
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
      skip_to(";");
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
    if (accept("@")) {
      instruction.is_inverted = accept("!");
      const PtxOperand predicate = named(next().text);
      if (predicate.kind != Kind::reg || bits(predicate) != 1) fail("expected a predicate");
      instruction.predicate = predicate.index;
    }
    instruction.opcode = next().text;
    const char* const begin = last().text.data();
    const std::string_view name =
        std::string_view(instruction.opcode).substr(0, instruction.opcode.find('.'));
    names_are_labels_ = name == "bra" || name == "brx";
    if (!accept(";")) {
      do {
        instruction.operands.push_back(operand(0));
      } while (accept(","));
      expect(";");
    }
    for (const char c : std::string_view(begin, last().text.data())) {
      const bool is_space = static_cast<unsigned char>(c) <= ' ';
      if (!is_space || instruction.text.back() != ' ') instruction.text += is_space ? ' ' : c;
    }
    function_->instructions.push_back(std::move(instruction));
  }

  int bits(const PtxOperand& operand) const { return function_->registers[operand.index].bits; }

  PtxOperand operand(int depth) {
    if (depth > kMaxPtxNesting) fail("an operand nests too deeply");
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
      fail("expected an operand, found \"{}\"", next().text);
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
      if (const auto found = scope->names.find(name); found != scope->names.end()) {
        std::tie(result.kind, result.index) = found->second;
        return result;
      }
    }
    if (names_are_labels_) return label(std::string(name));
    result.kind = name.front() == '%' || name == "WARP_SZ" ? Kind::special : Kind::name;
    result.name = name;
    return result;
  }

  PtxModule module_;
  PtxFunction* function_ = nullptr;
  std::vector<Scope> scopes_;
  bool names_are_labels_ = false;
  int source_file_ = 0, source_line_ = 0;
};

}  // namespace

PtxModule read_module(std::string_view text) { return Reader(text).read(); }

}  // namespace assay::emulator
