// No parser of C++: comments and strings are blanked, the rest is cut into tokens, and what stands
// around `__global__` is understood. What this gets wrong, its reader sees in the draft.
#include "spec/cuda_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/find_named.h"
#include "base/text.h"

namespace assay {
namespace {

struct Token {
  std::string text;
  std::size_t offset = 0;

  bool is_name() const { return is_letter(text[0]); }
};

using Tokens = std::vector<Token>;

using Words = std::set<std::string>;

/// The text with spaces in place of comments and of what is in quotes.
std::string blanked(std::string text) {
  const auto blank = [&](std::size_t begin, std::size_t end) {
    end = std::min(end, text.size());
    for (std::size_t i = begin; i < end; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
    return end;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest.starts_with("//")) {
      at = blank(at, text.find('\n', at));
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text.find("*/", at + 2);
      at = blank(at, end == std::string::npos ? end : end + 2);
    } else if (rest.starts_with("R\"")) {
      const std::string close = ")" + text.substr(at + 2, text.find('(', at) - at - 2) + "\"";
      const std::size_t end = text.find(close, at);
      at = blank(at, end == std::string::npos ? end : end + close.size());
    } else if (text[at] == '"' || (text[at] == '\'' && (at == 0 || !is_digit(text[at - 1])))) {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != text[at] && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      at = blank(at, end + 1);
    } else {
      ++at;
    }
  }
  return text;
}

Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (is_identifier_part(text[at])) {
      while (at < text.size() && is_identifier_part(text[at])) ++at;
    } else {
      at += text.compare(at, 2, "::") == 0 ? 2 : 1;
    }
    if (static_cast<unsigned char>(text[begin]) > ' ') {
      tokens.push_back({text.substr(begin, at - begin), begin});
    }
  }
  return tokens;
}

/// Behind the bracket that closes the one at `at`; the end if there is none.
std::size_t skip_brackets(const Tokens& tokens, std::size_t at) {
  const std::map<std::string, int> depths = {{"(", 1},  {"[", 1},  {"<", 1},  {"{", 1},
                                             {")", -1}, {"]", -1}, {">", -1}, {"}", -1}};
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    const auto found = depths.find(tokens[at].text);
    if (found != depths.end()) depth += found->second;
    if (depth == 0) return at + 1;
  }
  return at;
}

/// What stands between the brackets that open at `at`, cut at its commas.
std::vector<Tokens> parts_of(const Tokens& tokens, std::size_t at) {
  const std::size_t end = skip_brackets(tokens, at);
  std::vector<Tokens> parts(1);
  for (std::size_t i = at + 1; i + 1 < end;) {
    if (tokens[i].text == ",") {
      parts.emplace_back();
      ++i;
      continue;
    }
    const bool opens = Words{"(", "[", "<", "{"}.contains(tokens[i].text);
    for (const std::size_t next = opens ? skip_brackets(tokens, i) : i + 1; i < next; ++i) {
      parts.back().push_back(tokens[i]);
    }
  }
  std::erase_if(parts, [](const Tokens& part) { return part.empty(); });
  return parts;
}

class Reader {
 public:
  explicit Reader(std::shared_ptr<const SourceText> source)
      : source_(std::move(source)), tokens_(tokens_of(blanked(source_->text))) {}

  CudaSource read() {
    std::vector<CudaSource::TemplateParam> template_params;
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const std::string& text = tokens_[at_].text;
      if (text == "#") {
        read_directive();
      } else if (text == "namespace") {
        pending_scope_ = scope_name();
      } else if (text == "{") {
        scopes_.push_back(std::exchange(pending_scope_, ""));
      } else if (text == "}") {
        if (!scopes_.empty()) scopes_.pop_back();
        template_params.clear();
      } else if (text == ";") {
        template_params.clear();
      } else if (text == "template" && next() == "<") {
        template_params = read_template(at_ + 1);
      } else if (text == "__global__") {
        read_kernel(std::exchange(template_params, {}));
      } else if (text == "enum") {
        read_enumerators();
      } else if (text == "typedef" || text == "using") {
        read_alias();
      } else if (text == "extern" && next() == "__shared__") {
        found_.has_dynamic_smem = true;
      }
    }
    find_macros();
    for (const Token& token : tokens_) {
      if (token.is_name()) found_.names.insert(token.text);
    }
    return std::move(found_);
  }

 private:
  const std::string& text(std::size_t at) const {
    static const std::string kNone;
    return at < tokens_.size() ? tokens_[at].text : kNone;
  }
  const std::string& next() const { return text(at_ + 1); }

  Location where(const Token& token) const { return location_at(source_, token.offset); }

  /// `a::b` of `namespace a::b {`.
  std::string scope_name() const {
    std::string name;
    for (std::size_t at = at_ + 1; at < tokens_.size(); ++at) {
      if (!tokens_[at].is_name() && tokens_[at].text != "::") break;
      name += tokens_[at].text;
    }
    return name;
  }

  /// The last token of a directive, which a backslash continues.
  std::size_t end_of_line(std::size_t at) const {
    const std::string& text = source_->text;
    std::size_t end = text.find('\n', tokens_[at].offset);
    while (end != std::string::npos && end > 0 && text[end - 1] == '\\') {
      end = text.find('\n', end + 1);
    }
    while (at + 1 < tokens_.size() && tokens_[at + 1].offset < end) ++at;
    return at;
  }

  /// `#if X`, `#elif !X`, `#if X == 1`: X is 0 or 1.
  void read_switch() {
    std::size_t at = at_ + 2;
    if (text(at) == "!" || text(at) == "(") ++at;
    if (at >= tokens_.size() || !tokens_[at].is_name() || text(at) == "defined") return;
    const std::size_t last = end_of_line(at_);
    const bool is_alone = at == last || (at + 1 == last && text(last) == ")");
    const bool is_compared = at + 3 == last && text(at + 1) == "=" && text(at + 2) == "=" &&
                             (text(last) == "0" || text(last) == "1");
    if (is_alone || is_compared) switches_.insert(text(at));
  }

  /// `typedef unsigned int uint;` or `using uint = unsigned int;`: types without brackets.
  void read_alias() {
    std::vector<std::string> words;
    std::size_t at = at_ + 1;
    for (; at < tokens_.size() && text(at) != ";"; ++at) words.push_back(text(at));
    const bool is_using = text(at_) == "using";
    if (words.size() < (is_using ? 3u : 2u) || (is_using && words[1] != "=")) return;
    const std::string name = is_using ? words[0] : words.back();
    words.erase(words.begin(), words.begin() + (is_using ? 2 : 0));
    if (!is_using) words.pop_back();
    std::string type;
    for (const std::string& word : words) {
      if (!is_letter(word[0]) && word != "::") return;
      const bool joins = type.empty() || word == "::" || type.ends_with("::");
      if (word != "const") type += (joins ? "" : " ") + word;
    }
    const auto known = aliases_.find(type);
    if (known != aliases_.end()) type = known->second;
    const auto [alias, is_first] = aliases_.try_emplace(name, type);
    if (!is_first && alias->second != type) alias->second = name;  // an #if decides: not known
  }

  /// `#define X` is a macro of the source's own, but for `#ifndef X`, `#define X value`.
  void read_directive() {
    const std::string& name = text(at_ + 2);
    if (next() == "ifndef") unless_defined_ = name;
    if (next() == "if" || next() == "elif") read_switch();
    if (next() == "include") {  // of <cuda/x.h>, which is not in quotes
      at_ = end_of_line(at_);
      return;
    }
    if (next() != "define" || name.empty()) return;
    if (name != unless_defined_) {
      declared_.insert(name);
    } else {
      const std::size_t begin = tokens_[at_ + 2].offset + name.size();
      std::string value = source_->text.substr(begin, source_->text.find('\n', begin) - begin);
      value = value.substr(0, value.find("//"));
      value.erase(0, value.find_first_not_of(" \t"));
      value.erase(value.find_last_not_of(" \t\r") + 1);
      if (value.empty()) declared_.insert(name);  // a guard of includes
      values_[name] = value;
    }
    unless_defined_.clear();
  }

  std::vector<CudaSource::TemplateParam> read_template(std::size_t at) {
    std::vector<CudaSource::TemplateParam> params;
    for (Tokens part : parts_of(tokens_, at)) {
      const auto value =
          std::ranges::find_if(part, [](const Token& token) { return token.text == "="; });
      part.erase(value, part.end());
      if (part.empty()) continue;
      params.push_back({part.back().text, part[0].text});
      declared_.insert(part.back().text);
    }
    return params;
  }

  void read_kernel(std::vector<CudaSource::TemplateParam> template_params) {
    const std::set<std::string> attributes = {"__launch_bounds__", "__attribute__",  "alignas",
                                              "__cluster_dims__",  "__block_size__", "__maxnreg__"};
    for (std::size_t at = at_ + 1; at < tokens_.size(); ++at) {
      const Token& token = tokens_[at];
      if (Words{"{", "}", ";"}.contains(token.text)) return;
      if (token.text == "#") {  // `#if` ahead of `__launch_bounds__`
        at = end_of_line(at);
        continue;
      }
      if (!token.is_name() || text(at + 1) != "(") continue;
      if (attributes.contains(token.text)) {
        at = skip_brackets(tokens_, at + 1) - 1;
        continue;
      }
      CudaSource::Kernel kernel{token.text, std::move(template_params), {}, where(token)};
      for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (!scope->empty()) kernel.name = *scope + "::" + kernel.name;
      }
      for (const Tokens& part : parts_of(tokens_, at + 1)) {
        if (part.size() > 1 || part[0].text != "void") kernel.params.push_back(read_param(part));
      }
      if (!find_named(found_.kernels, kernel.name)) found_.kernels.push_back(std::move(kernel));
      return;
    }
  }

  CudaSource::Param read_param(const Tokens& part) const {
    CudaSource::Param param;
    param.where = where(part[0]);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::string& word = part[i].text;
      if (word == "const" && !param.is_pointer) param.is_const = true;
      if (word == "*" || word == "[") param.is_pointer = true;
      if (word == "[" || word == "=") break;
      if (Words{"const", "volatile", "__restrict__", "__restrict", "restrict", "*",
                "__grid_constant__", "struct", "typename"}
              .contains(word)) {
        continue;
      }
      if (!words.empty() && (word == "::" || words.back().ends_with("::") || !part[i].is_name())) {
        words.back() += word;
      } else {
        words.push_back(word);
      }
    }
    const std::set<std::string> of_types = {"unsigned", "signed", "long", "short", "int", "char"};
    if (words.size() > 1 && !of_types.contains(words.back())) {
      param.name = words.back();
      words.pop_back();
    }
    for (const std::string& word : words) param.type += (param.type.empty() ? "" : " ") + word;
    const auto alias = aliases_.find(param.type);
    if (alias != aliases_.end()) param.type = alias->second;
    return param;
  }

  void read_enumerators() {
    std::size_t at = at_ + 1;
    while (at < tokens_.size() && !Words{"{", ";"}.contains(tokens_[at].text)) ++at;
    if (text(at) != "{") return;
    for (const Tokens& part : parts_of(tokens_, at)) declared_.insert(part[0].text);
  }

  /// A name that looks like a macro's, unless it is declared somewhere: behind a type, or as a
  /// member.
  void find_macros() {
    const std::set<std::string> before = {"return", "else",   "case",    "if",     "elif",  "ifdef",
                                          "ifndef", "sizeof", "defined", "unroll", "define"};
    const auto is_size = [](const std::string& name) {
      return name.find("block_size") != std::string::npos ||
             name.find("tile_size") != std::string::npos ||
             name.find("unroll_factor") != std::string::npos;
    };
    const auto is_macro = [&](const std::string& name) {
      const auto value = values_.find(name);
      if (is_size(name) || (value != values_.end() && !value->second.empty())) return true;
      return name.size() > 1 && name[0] >= 'A' && name[0] <= 'Z' &&
             std::ranges::all_of(name, [](char c) { return c < 'a' || c > 'z'; }) &&
             !name.ends_with("_MAX") && !name.ends_with("_MIN") && !name.starts_with("CU") &&
             !Words{"INFINITY", "NAN", "NULL", "FLT_EPSILON", "DBL_EPSILON"}.contains(name);
    };
    std::vector<std::string> names;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string& name = tokens_[i].text;
      if (!is_macro(name)) continue;
      const bool behind_type = i > 0 && tokens_[i - 1].is_name() && !before.contains(text(i - 1));
      const bool is_member = i > 0 && Words{"::", "."}.contains(text(i - 1));
      if (behind_type || is_member || Words{"::", "("}.contains(text(i + 1)))
        declared_.insert(name);
      add_once(names, name);
    }
    for (const std::string& name : names) {
      if (declared_.contains(name)) continue;
      const std::string& value = values_[name];
      const bool is_bit = value.empty() || value == "0" || value == "1";
      found_.macros.push_back({name, value, value == "0" || (is_bit && switches_.contains(name))});
    }
  }

  const std::shared_ptr<const SourceText> source_;
  const Tokens tokens_;
  CudaSource found_;
  std::size_t at_ = 0;
  std::vector<std::string> scopes_;  // a name for each open namespace, nothing for other braces
  std::string pending_scope_, unless_defined_;
  std::set<std::string> declared_;             // what is no macro to set
  std::map<std::string, std::string> values_;  // of macros that the source sets unless they are set
  std::set<std::string> switches_;             // names that `#if` asks for
  std::map<std::string, std::string> aliases_;  // of types
};

}  // namespace

CudaSource read_cuda_source(const std::filesystem::path& path) {
  return read_cuda_source(load_source(path));
}

CudaSource read_cuda_source(std::shared_ptr<const SourceText> source) {
  return Reader(std::move(source)).read();
}

std::optional<DType> dtype_of(const std::string& type) {
  static const std::vector<std::pair<DType, std::vector<std::string_view>>> names = {
      {DType::f32, {"float", "float2", "float4"}},
      {DType::f64, {"double"}},
      {DType::f16, {"half", "__half", "half2", "__half2"}},
      {DType::bf16, {"__nv_bfloat16", "__nv_bfloat162"}},
      {DType::e4m3, {"__nv_fp8_e4m3", "__nv_fp8x2_e4m3", "__nv_fp8x4_e4m3"}},
      {DType::e5m2, {"__nv_fp8_e5m2", "__nv_fp8x2_e5m2", "__nv_fp8x4_e5m2"}},
      {DType::ue8m0, {"__nv_fp8_e8m0"}},
      {DType::e2m1, {"__nv_fp4x2_e2m1"}},
      {DType::u8, {"bool", "unsigned char", "uint8_t"}},
      {DType::i8, {"char", "signed char", "int8_t"}},
      {DType::i16, {"short", "int16_t"}},
      {DType::u16, {"unsigned short", "ushort", "uint16_t"}},
      {DType::i32, {"int", "int32_t"}},
      {DType::u32, {"unsigned", "unsigned int", "uint", "uint32_t"}},
      {DType::i64, {"long", "long long", "long int", "long long int", "ptrdiff_t", "int64_t"}},
      {DType::u64, {"unsigned long", "size_t", "unsigned long long", "ulong", "uint64_t"}},
  };
  const std::string_view name =
      std::string_view(type).substr(type.rfind(':') + 1);  // npos + 1 is 0
  for (const auto& [dtype, of_dtype] : names) {
    if (std::ranges::find(of_dtype, name) != of_dtype.end()) return dtype;
  }
  return std::nullopt;
}

}  // namespace assay
