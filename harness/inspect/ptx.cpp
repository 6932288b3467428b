#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/error.h"
#include "base/limits.h"
#include "inspect/code.h"
#include "inspect/words.h"

namespace assay {
namespace {

using Kind = InstructionClass;

/// The text without comments; what is in quotes stays. Line ends stay, so that lines can be
/// counted.
std::string without_comments(std::string_view text) {
  std::string kept(text);
  enum class In { code, line, block, quotes } in = In::code;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const char c = kept[i];
    const char next = i + 1 < kept.size() ? kept[i + 1] : '\0';
    if (in == In::code && c == '/' && (next == '/' || next == '*')) {
      in = next == '/' ? In::line : In::block;
      kept[i] = kept[i + 1] = ' ';
      ++i;
    } else if (in == In::block && c == '*' && next == '/') {
      kept[i] = kept[i + 1] = ' ';
      in = In::code;
      ++i;
    } else if (c == '\n') {
      if (in != In::block) in = In::code;
    } else if (in == In::code || in == In::quotes) {
      if (c == '"') in = in == In::code ? In::quotes : In::code;
    } else {
      kept[i] = ' ';
    }
  }
  return kept;
}

bool is_float(std::string_view part) {
  static const std::set<std::string_view> kTypes{"f16", "f16x2", "bf16", "bf16x2",
                                                 "f32", "f32x2", "f64",  "tf32"};
  return kTypes.contains(part);
}

/// Of an access to global memory: by the bits that a thread moves.
Kind global_of(std::string_view opcode) {
  const int bits = access_bits(opcode);
  return bits <= 8    ? Kind::global_8
         : bits <= 16 ? Kind::global_16
         : bits <= 32 ? Kind::global_32
         : bits <= 64 ? Kind::global_64
                      : Kind::global_128;
}

Kind memory_of(std::string_view opcode) {
  for (const std::string_view part : dotted(opcode)) {
    if (part == "global") return global_of(opcode);
    if (part.starts_with("shared")) return Kind::shared;
    if (part == "local") return Kind::local;
    if (part == "const" || part.starts_with("param")) return Kind::constant;
  }
  return Kind::generic;
}

class PtxReader {
 public:
  PtxReader(std::string_view text, const std::string& name)
      : text_(without_comments(text)), name_(name) {}

  Code read() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) read_directive();
    if (!has_version_) fail("no .version; this is not PTX");
    return std::move(code_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const auto line =
        std::count(text_.begin(),
                   text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n') +
        1;
    throw UsageError("{}:{}: {}", name_, line, what);
  }

  void skip_blanks() {
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ') ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string_view(text_).substr(begin, at_ - begin);
  }
  std::string_view rest_of_line() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = std::string_view(text_).substr(at_, end - at_);
    at_ = end;
    return trimmed(line);
  }
  /// Up to a ';' that is in no braces and no quotes, or to a '{' when `stops_at_body`.
  std::string_view statement(bool stops_at_body = false) {
    const std::size_t begin = at_;
    int depth = 0;
    for (bool in_quotes = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') in_quotes = !in_quotes;
      if (in_quotes) continue;
      if (c == '{' && stops_at_body) break;
      if (c == '{') ++depth;
      if (c == '}') --depth;
      if (c == ';' && depth <= 0) break;
    }
    if (at_ >= text_.size()) fail("the file ends within a statement; expected ';'");
    return trimmed(std::string_view(text_).substr(begin, at_ - begin));
  }

  void read_directive() {
    if (peek() == '}' || peek() == ';') {
      ++at_;
      return;
    }
    const std::size_t begin = at_;
    const std::string_view directive = word();
    if (directive.empty() || directive.front() != '.') {
      at_ = begin;
      fail(fmt::format("expected a directive such as .version, found \"{}\"",
                       text_.substr(begin, std::min<std::size_t>(20, text_.size() - begin))));
    }
    if (directive == ".version" || directive == ".address_size" || directive == ".loc") {
      has_version_ = has_version_ || directive == ".version";
      rest_of_line();
    } else if (directive == ".target") {
      const std::string_view target = rest_of_line();
      code_.target = target.substr(0, target.find(','));
    } else if (directive == ".file") {
      read_file_name(rest_of_line());
    } else if (directive == ".section") {  // of the debugger
      statement_of_section();
    } else if (directive == ".visible" || directive == ".extern" || directive == ".weak" ||
               directive == ".common") {
      return;  // what follows is what it is of
    } else if (directive == ".entry" || directive == ".func") {
      read_function(directive == ".entry");
    } else {
      statement();
      ++at_;
    }
  }

  void statement_of_section() {
    statement(true);
    if (peek() != '{') {
      ++at_;
      return;
    }
    at_ = std::min(text_.find('}', at_), text_.size());
    if (at_ >= text_.size()) fail("the file ends within a section; expected '}'");
    ++at_;
  }

  /// `1 "/path/x.cu", 123, 456`: of a number that .loc uses.
  void read_file_name(std::string_view line) {
    int number = 0;
    std::from_chars(line.data(), line.data() + line.size(), number);
    const std::size_t open = line.find('"'), close = line.find('"', open + 1);
    if (number <= 0 || number > 10'000 || close == std::string_view::npos) {
      fail("expected .file NUMBER \"NAME\"");
    }
    const auto index = static_cast<std::size_t>(number);
    if (code_.files.size() <= index) code_.files.resize(index + 1);
    code_.files[index] = line.substr(open + 1, close - open - 1);
  }

  void read_function(bool is_kernel) {
    const std::string_view head = statement(true);
    const bool has_body = peek() == '{';
    ++at_;
    if (!has_body) return;  // a declaration
    Function function;
    function.is_kernel = is_kernel;
    std::string_view rest = head;
    if (!rest.empty() && rest.front() == '(') {  // what a function returns
      rest = trimmed(rest.substr(std::min(rest.find(')') + 1, rest.size())));
    }
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_name);
    function.name.assign(rest.begin(), end);
    if (function.name.empty()) fail("a function without a name");
    read_body(function);
    code_.functions.push_back(std::move(function));
  }

  void read_body(Function& function) {
    std::vector<Jump> jumps;
    tables_.clear();
    source_ = {};
    function.blocks.emplace_back();
    jumps.emplace_back();
    const auto begin_block = [&](std::string label) {
      if (function.blocks.back().instructions.empty() && function.blocks.back().label.empty()) {
        function.blocks.back().label = std::move(label);
        return;
      }
      if (function.blocks.size() >= kMaxBlocks) {
        fail(fmt::format("{} has more than {} basic blocks", function.name, kMaxBlocks));
      }
      function.blocks.push_back({std::move(label)});
      jumps.emplace_back();
    };
    for (int depth = 1;;) {
      skip_blanks();
      if (at_ >= text_.size()) fail(fmt::format("the file ends within {}", function.name));
      if (peek() == '{' || peek() == '}') {
        depth += peek() == '{' ? 1 : -1;
        ++at_;
        if (depth == 0) break;
        continue;
      }
      if (peek() == ';') {
        ++at_;
        continue;
      }
      const std::size_t begin = at_;
      const std::string label(word());
      if (label == ".loc") {
        read_location(rest_of_line());
        continue;
      }
      skip_blanks();
      // A qualifier such as .shared::cluster is no label.
      if (!label.empty() && peek() == ':' &&
          !std::string_view(text_).substr(at_).starts_with("::")) {
        ++at_;
        skip_blanks();
        if (peek() == '.' && std::string_view(text_).substr(at_).starts_with(".branchtargets")) {
          const std::string_view targets = statement();
          ++at_;
          tables_[label] =
              split_operands(targets.substr(std::string_view(".branchtargets").size()));
        } else if (peek() == '.' && std::string_view(text_).substr(at_).starts_with(".callproto")) {
          statement();
          ++at_;
        } else {
          begin_block(label);
        }
        continue;
      }
      at_ = begin;
      const std::string_view text = statement();
      ++at_;
      if (text.empty() || text.front() == '.') continue;  // .reg, .pragma
      Instruction instruction = read_instruction(text);
      Jump jump = jump_of(instruction);
      const bool ends = !jump.falls_through || !jump.labels.empty();
      function.blocks.back().instructions.push_back(std::move(instruction));
      if (!ends) continue;
      jumps.back() = std::move(jump);
      begin_block("");
    }
    if (function.blocks.back().instructions.empty() && function.blocks.back().label.empty()) {
      function.blocks.pop_back();  // behind the last return
      jumps.pop_back();
    }
    for (Jump& jump : jumps) {
      std::vector<std::string> labels;
      for (const std::string& label : jump.labels) {
        const auto table = tables_.find(label);
        if (table == tables_.end()) {
          labels.push_back(label);
        } else {
          labels.insert(labels.end(), table->second.begin(), table->second.end());
        }
      }
      jump.labels = std::move(labels);
    }
    connect(function, jumps);
  }

  /// `1 25 3, function_name ..., inlined_at ...`
  void read_location(std::string_view line) {
    const char* end = line.data() + line.size();
    auto [after, error] = std::from_chars(line.data(), end, source_.file);
    while (after != end && *after == ' ') ++after;
    if (error != std::errc() || std::from_chars(after, end, source_.line).ec != std::errc()) {
      fail("expected .loc FILE LINE COLUMN");
    }
  }

  Instruction read_instruction(std::string_view text) const {
    Instruction instruction = read_words(text);
    instruction.source = source_;
    if (instruction.opcode.empty()) fail("an instruction without a name");
    instruction.kind = class_of_ptx(instruction.opcode);
    return instruction;
  }

  static Jump jump_of(const Instruction& instruction) {
    const std::string_view name = dotted(instruction.opcode).front();
    const bool always = instruction.predicate.empty();
    if (name == "bra" && !instruction.operands.empty()) {
      return {{instruction.operands.back()}, !always};
    }
    if (name == "brx" && !instruction.operands.empty()) {
      return {{instruction.operands.back()}, false};
    }
    if (name == "ret" || name == "exit" || name == "trap") return {{}, !always};
    return {};
  }

  std::string text_;
  const std::string& name_;
  std::size_t at_ = 0;
  bool has_version_ = false;
  SourceLine source_;
  std::map<std::string, std::vector<std::string>> tables_;  // of brx.idx
  Code code_;
};

}  // namespace

InstructionClass class_of_ptx(std::string_view opcode) {
  static const KindsByName kByName = kinds_by_name(
      {{Kind::tensor, {"mma"}},
       {Kind::barrier,
        {"bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol", "nanosleep",
         "setmaxnreg"}},
       {Kind::branch, {"bra", "brx", "call", "ret", "exit", "trap", "brkpt"}},
       {Kind::conversion, {"cvt"}},
       {Kind::move, {"mov", "shfl", "movmatrix", "elect", "activemask"}},
       {Kind::integer, {"vote", "match", "redux", "cvta", "mapa", "isspacep"}},
       {Kind::shared, {"ldmatrix", "stmatrix"}},
       {Kind::constant, {"tex", "tld4"}},
       {Kind::copy, {"prefetch", "prefetchu", "applypriority", "discard", "createpolicy"}},
       {Kind::other, {"pmevent", "alloca", "stacksave", "stackrestore"}}});
  static const std::set<std::string_view> kMemory{"ld",  "ldu",      "st",   "atom",
                                                  "red", "st_async", "suld", "sust"};
  static const std::set<std::string_view> kMath{"ex2", "lg2",  "sin",   "cos",      "tanh",
                                                "rcp", "sqrt", "rsqrt", "copysign", "testp"};
  const std::vector<std::string_view> parts = dotted(opcode);
  const std::string_view name = parts.front();
  const std::string_view second = parts.size() > 1 ? parts[1] : std::string_view();
  const bool has_float = std::any_of(parts.begin(), parts.end(), is_float);
  if (name == "wmma") return second == "mma" ? Kind::tensor : memory_of(opcode);
  if (name == "wgmma" || name == "tcgen05") {
    return second.starts_with("mma") ? Kind::tensor
           : second == "ld" || second == "st" || second == "cp" || second == "shift"
               ? Kind::shared
               : Kind::barrier;
  }
  if (name == "cp") {
    const bool waits = parts.size() > 2 && (parts[2].starts_with("wait") ||
                                            parts[2] == "mbarrier" || parts[2] == "commit_group");
    const bool bulk_waits = parts.size() > 3 && parts[2] == "bulk" &&
                            (parts[3].starts_with("wait") || parts[3] == "commit_group");
    return waits || bulk_waits ? Kind::barrier : Kind::copy;
  }
  if (kMemory.contains(name)) return memory_of(opcode);
  if (const auto found = kByName.find(name); found != kByName.end()) return found->second;
  if (name == "fma" || (name == "mad" && has_float)) return Kind::fma;
  if (has_float || kMath.contains(name)) return Kind::other_float;
  return Kind::integer;
}

Code read_ptx(std::string_view text, const std::string& name) {
  return PtxReader(text, name).read();
}

}  // namespace assay
