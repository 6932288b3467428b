#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "inspect/code.h"
#include "inspect/words.h"

namespace assay {
namespace {

using Kind = InstructionClass;

Kind global_of(const std::vector<std::string_view>& parts) {
  Kind kind = Kind::global_32;
  for (const std::string_view part : parts) {
    if (part == "U8" || part == "S8") kind = Kind::global_8;
    if (part == "U16" || part == "S16") kind = Kind::global_16;
    if (part == "64" || part == "F64") kind = Kind::global_64;
    if (part == "128" || part == "256") kind = Kind::global_128;
  }
  return kind;
}

/// Registers that hold a value where an instruction stands.
struct Live {
  int ordinary = -1;
  int uniform = -1;
};

/// Of each function and address.
using LifeRanges = std::map<std::pair<std::string, std::uint64_t>, Live>;

/// What stands behind an instruction in a table of life ranges: `FADD R0, R1, R2 ; // | 12 | 1 | 4
/// |`. A column may have marks behind its number, and none where nothing is alive.
class LifeTable {
 public:
  /// Whether it is the line with the names of the columns: `// |  GPR  | PRED | UGPR |`.
  bool read_names(std::string_view line) {
    if (!line.starts_with("//") || line.find("GPR") == std::string_view::npos) return false;
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.empty()) return false;
    names_ = {cells.begin(), cells.end()};
    return true;
  }

  Live read(std::string_view line) const {
    Live live;
    const std::size_t begin = line.find("// |", std::min(line.find(';'), line.size()));
    if (begin == std::string_view::npos) return live;
    const std::vector<std::string_view> cells = cells_of(line.substr(begin));
    for (std::size_t i = 0; i < std::min(cells.size(), names_.size()); ++i) {
      int count = 0;
      std::from_chars(cells[i].data(), cells[i].data() + cells[i].size(), count);
      if (names_[i] == "GPR") live.ordinary = count;
      if (names_[i] == "UGPR") live.uniform = count;
    }
    return live;
  }

 private:
  /// What stands between one | and the next.
  static std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    for (std::size_t bar = line.find('|'); bar != std::string_view::npos;) {
      const std::size_t next = line.find('|', bar + 1);
      if (next == std::string_view::npos) break;
      cells.push_back(trimmed(line.substr(bar + 1, next - bar - 1)));
      bar = next;
    }
    return cells;
  }

  std::vector<std::string> names_{"GPR", "PRED", "UGPR", "UPRED"};
};

/// The address in `/*0090*/ FADD ...`; nothing for an encoding, or anything else.
std::optional<std::uint64_t> address_of(std::string_view text) {
  const std::size_t close = text.find("*/");
  if (!text.starts_with("/*") || close == std::string_view::npos) return std::nullopt;
  return number_of<std::uint64_t>(text.substr(2, close - 2), 16);
}

template <typename Visit>
void each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

LifeRanges read_life_ranges(std::string_view text) {
  LifeRanges ranges;
  LifeTable table;
  std::string function;
  each_line(text, [&](std::string_view line) {
    const std::string_view words = trimmed(line);
    if (words.starts_with(".text.")) function = words.substr(6, words.find(':') - 6);
    if (table.read_names(words)) return;
    const auto address = address_of(words);
    if (!address) return;
    const Live live = table.read(words);
    if (live.ordinary >= 0) ranges[{function, *address}] = live;
  });
  return ranges;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name, LifeRanges life_ranges)
      : text_(text), name_(name), life_ranges_(std::move(life_ranges)) {
    code_.set = InstructionSet::sass;
  }

  Code read() {
    each_line(text_, [&](std::string_view line) {
      read_line(line);
      ++line_;
    });
    end_function();
    if (code_.functions.empty()) {
      throw UsageError("{}: no function; expected what nvdisasm or cuobjdump -sass prints", name_);
    }
    return std::move(code_);
  }

 private:
  struct Raw {
    std::string label, address;  // the label that stands before it; "0x90"
    Instruction instruction;
  };

  void read_line(std::string_view line) {
    const std::string_view text = trimmed(line);
    const std::string_view label = trimmed(text.substr(0, text.find("//")));  // life ranges follow
    if (label.starts_with(".text.") && label.ends_with(":")) {
      begin_function(label.substr(6, label.size() - 7));
    } else if (text.starts_with("Function : ")) {
      begin_function(text.substr(11));
    } else if (const std::size_t at = text.find("EF_CUDA_SM"); at != std::string_view::npos) {
      if (code_.target.empty()) code_.target = "sm_" + digits(text.substr(at + 10));
    } else if (text.starts_with("arch = ")) {
      code_.target = trimmed(text.substr(7));
    } else if (text.starts_with(".target") && !in_function_) {
      code_.target = trimmed(text.substr(7));
    } else if (text.starts_with("//## File \"")) {
      read_location(text.substr(11));
    } else if ((label.starts_with(".L_") || label.starts_with("$")) && label.ends_with(":")) {
      const std::string name(label.substr(0, label.size() - 1));
      if (label_.empty()) {
        label_ = name;
      } else {
        aliases_[name] = label_;  // two names of one place
      }
    } else if (text.starts_with("/*") && in_function_) {
      read_instruction(text);
    } else {
      life_table_.read_names(text);
    }
  }

  static std::string digits(std::string_view text) {
    return std::string(text.substr(0, text.find_first_not_of("0123456789")));
  }

  void begin_function(std::string_view name) {
    end_function();
    in_function_ = true;
    source_ = {};
    label_.clear();
    code_.functions.push_back({std::string(name), true});
  }

  /// `/tmp/k.cu", line 12`, or `.. inlined at ...`: of the innermost.
  void read_location(std::string_view text) {
    const std::size_t close = text.find('"');
    if (close == std::string_view::npos) return;
    const std::string file(text.substr(0, close));
    // Several follow each other where functions are inlined; the first is where the text stands.
    const std::string_view after = text.substr(close);
    constexpr std::string_view kLine = "\", line ";
    if (!after.starts_with(kLine)) return;
    const auto [at, is_new] = files_.try_emplace(file, static_cast<int>(code_.files.size()));
    if (is_new) code_.files.push_back(file);
    if (has_location_) return;
    const std::string_view number = after.substr(kLine.size());
    source_.file = at->second;
    std::from_chars(number.data(), number.data() + number.size(), source_.line);
    has_location_ = true;
  }

  /// `/*0090*/ @!P0 BRA `(.L_x_0) ; /* encoding */`
  void read_instruction(std::string_view text) {
    const auto address = address_of(text);
    if (!address) return;
    Live live = life_table_.read(text);
    if (live.ordinary < 0) {
      const auto found = life_ranges_.find({code_.functions.back().name, *address});
      if (found != life_ranges_.end()) live = found->second;
    }
    text.remove_prefix(text.find("*/") + 2);
    const std::size_t semicolon = text.find(';');
    if (semicolon == std::string_view::npos) return;
    std::string_view words = trimmed(text.substr(0, semicolon));
    if (words.starts_with("{")) words = trimmed(words.substr(1));  // issued together with another
    if (words.empty()) return;
    Instruction instruction = read_words(words);
    instruction.kind = class_of_sass(instruction.opcode);
    // A constant that is put into a register: 0 times 0 and the constant.
    if (instruction.kind == Kind::fma && instruction.operands.size() > 2 &&
        instruction.operands[1].ends_with("RZ") && instruction.operands[2].ends_with("RZ")) {
      instruction.kind = Kind::move;
    }
    instruction.source = source_;
    instruction.live = live.ordinary;
    instruction.live_uniform = live.uniform;
    has_location_ = false;
    raw_.push_back({std::move(label_), fmt::format("{:#x}", *address), std::move(instruction)});
    label_.clear();
  }

  /// The labels that an instruction may jump to, and whether what follows may be next. BSYNC waits
  /// for a warp's other threads, and goes on with what follows.
  static Jump jump_of(const Instruction& instruction) {
    const std::string_view name = dotted(instruction.opcode).front();
    const bool always = instruction.predicate.empty() || instruction.predicate == "PT";
    const std::string target =
        instruction.operands.empty() ? std::string() : label_in(instruction.operands.back());
    if (name == "BRA" || name == "JMP") {
      // With a second operand it is carried out where that predicate holds.
      const bool is_conditional = !always || instruction.operands.size() > 1;
      return {{target}, is_conditional};
    }
    // What is called stands behind the kernel, as $__internal_0_...; its RET names no label.
    if (name == "CALL") return {{target}, true};
    if (name == "BRX" || name == "BRXU" || name == "JMX") return {{target}, false};
    if (name == "RET" || name == "EXIT" || name == "KILL") return {{}, !always};
    return {};
  }

  /// `(.L_x_0) or 0x90.
  static std::string label_in(const std::string& operand) {
    const std::size_t open = operand.find('(');
    if (open == std::string::npos) return operand;
    return operand.substr(open + 1, operand.find(')', open) - open - 1);
  }

  void end_function() {
    if (code_.functions.empty() || !in_function_) return;
    in_function_ = false;
    Function& function = code_.functions.back();
    // What fills up the last line of the instruction cache.
    while (!raw_.empty() && raw_.back().instruction.opcode == "NOP") raw_.pop_back();
    std::vector<Jump> jumps;
    std::set<std::string> targets;
    for (const Raw& raw : raw_) {
      jumps.push_back(jump_of(raw.instruction));
      for (std::string& label : jumps.back().labels) {
        if (const auto alias = aliases_.find(label); alias != aliases_.end()) label = alias->second;
      }
      targets.insert(jumps.back().labels.begin(), jumps.back().labels.end());
    }
    std::vector<Jump> of_blocks;
    bool ended = true;
    for (std::size_t i = 0; i < raw_.size(); ++i) {
      std::string label = raw_[i].label;
      if (label.empty() && targets.contains(raw_[i].address)) label = raw_[i].address;
      if (ended || !label.empty()) {
        if (function.blocks.size() >= kMaxBlocks) {
          throw UsageError("{}:{}: {} has more than {} basic blocks", name_, line_, function.name,
                           kMaxBlocks);
        }
        function.blocks.push_back({std::move(label)});
        of_blocks.emplace_back();
      }
      function.blocks.back().instructions.push_back(std::move(raw_[i].instruction));
      ended = !jumps[i].falls_through || !jumps[i].labels.empty();
      if (ended) of_blocks.back() = std::move(jumps[i]);
    }
    connect(function, of_blocks);
    raw_.clear();
    aliases_.clear();
  }

  std::string_view text_;
  const std::string& name_;
  LifeRanges life_ranges_;
  LifeTable life_table_;
  int line_ = 1;
  bool in_function_ = false;
  bool has_location_ = false;
  SourceLine source_;
  std::string label_;
  std::map<std::string, std::string> aliases_;  // of labels
  std::vector<Raw> raw_;
  std::map<std::string, int> files_;
  Code code_;
};

}  // namespace

InstructionClass class_of_sass(std::string_view opcode) {
  // Of integers most have a twin for all threads of a warp, whose name begins with U.
  static const KindsByName kByName = kinds_by_name(
      {{Kind::fma, {"FFMA", "FFMA2", "FFMA32I", "DFMA", "HFMA2", "HFMA2_MMA"}},
       {Kind::other_float,
        {"FADD",  "FADD2", "FMUL",   "FMUL2",  "FMNMX",   "FMNMX3",  "FSET",    "FSETP",
         "FSEL",  "FCHK",  "MUFU",   "DADD",   "DMUL",    "DSETP",   "DMNMX",   "HADD2",
         "HMUL2", "HSET2", "HSETP2", "HMNMX2", "FSWZADD", "FADD32I", "FMUL32I", "FRND"}},
       {Kind::conversion, {"F2F", "F2I", "I2F", "F2FP", "I2FP", "F2IP", "I2I", "I2IP"}},
       {Kind::shared,
        {"LDS", "STS", "LDSM", "STSM", "ATOMS", "REDS", "STAS", "LDTM", "STTM", "UTCCP",
         "UTCSHIFT"}},
       {Kind::local, {"LDL", "STL"}},
       {Kind::generic, {"LD", "ST"}},
       {Kind::constant, {"LDC", "LDCU", "ULDC", "TEX", "TLD", "TLD4", "TXQ", "SULD", "SUST"}},
       {Kind::copy,
        {"LDGSTS", "UBLKCP", "UBLKPF", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF",
         "UTMACCTL"}},
       {Kind::barrier,
        {"BAR",       "UCGABAR_ARV",  "UCGABAR_WAIT", "MEMBAR",       "SYNCS",   "DEPBAR",
         "LDGDEPBAR", "UTMACMDFLUSH", "ARRIVES",      "WARPSYNC",     "ERRBAR",  "FENCE",
         "WARPGROUP", "WARPGROUPSET", "NANOSLEEP",    "ACQBULK",      "PREEXIT", "USETMAXREG",
         "CCTL",      "CCTLL",        "CCTLT",        "UTCBAR",       "YIELD",   "CGAERRBAR",
         "UCGABAR",   "B2R",          "R2B",          "ENDCOLLECTIVE"}},
       {Kind::branch,
        {"BRA", "BRX", "BRXU", "JMP", "JMX", "CALL", "RET", "EXIT", "BSSY", "BSYNC", "BREAK",
         "BMOV", "BPT", "KILL", "RPCMOV", "WARPSYNC_ALL"}},
       {Kind::move,
        {"MOV", "MOV32I", "UMOV", "S2R", "S2UR", "CS2R", "R2UR", "R2P", "P2R", "UP2UR", "UR2UP",
         "SHFL", "PRMT", "UPRMT", "ELECT", "MOVM"}},
       {Kind::other, {"NOP"}},
       {Kind::integer,
        {"BMSK",   "BREV",    "FLO",   "IABS",     "IADD",      "IADD3",   "IADD32I",
         "IDP",    "IDP4A",   "IMAD",  "IMNMX",    "IMUL",      "IMUL32I", "ISCADD",
         "ISETP",  "LEA",     "LEPC",  "LOP",      "LOP3",      "LOP32I",  "MATCH",
         "PLOP3",  "POPC",    "PSETP", "REDUX",    "CREDUX",    "SEL",     "SGXT",
         "SHF",    "SHL",     "SHR",   "VABSDIFF", "VABSDIFF4", "VIADD",   "VIADDMNMX",
         "VIMNMX", "VIMNMX3", "VOTE",  "VOTEU",    "CSMTEST",   "IADD2",   "VHMNMX"}}});
  const std::vector<std::string_view> parts = dotted(opcode);
  const std::string_view name = parts.front();
  // How a register is copied that another unit has no time for.
  if (name == "IMAD" && parts.size() > 1 && parts[1] == "MOV") return Kind::move;
  if (const auto found = kByName.find(name); found != kByName.end()) return found->second;
  static const std::set<std::string_view> kGlobal{"LDG", "STG", "ATOM", "ATOMG", "RED", "REDG"};
  if (kGlobal.contains(name)) return global_of(parts);
  // HMMA, IMMA, DMMA, QMMA, BMMA, HGMMA, IGMMA, QGMMA, UTCHMMA, ...
  if (name.ends_with("MMA")) return Kind::tensor;
  if (name.starts_with('U')) {
    if (const auto found = kByName.find(name.substr(1)); found != kByName.end()) {
      return found->second;
    }
  }
  return Kind::other;
}

Code read_sass(std::string_view text, const std::string& name, std::string_view life_ranges) {
  return Reader(text, name, read_life_ranges(life_ranges)).read();
}

}  // namespace assay
