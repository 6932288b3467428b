#include "base/identifier.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view kReserved[] = {
    "alignas",    "alignof",       "and",         "and_eq",    "asm",          "auto",
    "bitand",     "bitor",         "bool",        "break",     "case",         "catch",
    "cdiv",       "char",          "char16_t",    "char32_t",  "char8_t",      "class",
    "co_await",   "co_return",     "co_yield",    "compl",     "concept",      "const",
    "const_cast", "consteval",     "constexpr",   "constinit", "continue",     "decltype",
    "default",    "delete",        "do",          "double",    "dynamic_cast", "else",
    "enum",       "explicit",      "export",      "extern",    "false",        "float",
    "for",        "friend",        "goto",        "if",        "inline",       "int",
    "long",       "max",           "min",         "mutable",   "namespace",    "new",
    "noexcept",   "not",           "not_eq",      "nullptr",   "operator",     "or",
    "or_eq",      "private",       "protected",   "public",    "register",     "reinterpret_cast",
    "requires",   "return",        "short",       "signed",    "sizeof",       "sqrt",
    "static",     "static_assert", "static_cast", "struct",    "switch",       "template",
    "this",       "thread_local",  "throw",       "true",      "try",          "typedef",
    "typeid",     "typename",      "union",       "unsigned",  "using",        "virtual",
    "void",       "volatile",      "wchar_t",     "while",     "xor",          "xor_eq",
};
static_assert(std::ranges::is_sorted(kReserved));

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_reserved(std::string_view text) { return std::ranges::binary_search(kReserved, text); }

}  // namespace assay
