// BAT's table: a line for each result, whose columns are called config.NAME, times.NAME or NAME. A
// field with commas, such as times.runtimes, stands between quotes, and a quote in it is doubled.
#include <fmt/format.h>

#include <charconv>

#include "store/tuner_rows.h"

namespace assay::tuner_rows {
namespace {

class Table {
 public:
  explicit Table(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }

  /// The fields of the next line, without quotes.
  std::vector<std::string> take_line() {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        const bool doubled = quoted && text_.substr(at_ + 1, 1) == "\"";
        if (doubled) {
          fields.back() += text_[++at_];
        } else {
          quoted = !quoted;
        }
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else if (c == '\n' && !quoted) {
        break;
      } else if (c != '\r' || quoted) {
        fields.back() += c;
      }
    }
    if (quoted) throw Damage("the end of a quoted field is missing");
    ++at_;
    return fields;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      json += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      json += c;
    }
  }
  return json + '"';
}

/// A list and a number as they are, Python's words as JSON's, and all else as a string.
std::string json_of(const std::string& field) {
  if (field.empty() || field == "nan") return "null";
  if (field == "True") return "true";
  if (field == "False") return "false";
  if (field[0] == '[') return field;
  double number = 0;
  const char* end = field.data() + field.size();
  const bool begins_as_one = field.find_first_of("0123456789") <= 1;
  const bool is_number = begins_as_one && std::from_chars(field.data(), end, number).ptr == end;
  return is_number ? field : json_string(field);
}

}  // namespace

std::string json_of_table(std::string_view text) {
  Table table(text);
  const std::vector<std::string> names = table.take_line();
  std::string json = "[";
  while (!table.at_end()) {
    const std::vector<std::string> fields = table.take_line();
    if (fields.size() == 1 && fields[0].empty()) continue;
    // Too few or too many: the row's reader says what is missing.
    std::string config, times, others;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      std::string_view name = names[i];
      std::string& part = name.starts_with("config.")  ? config
                          : name.starts_with("times.") ? times
                                                       : others;
      if (&part != &others) name.remove_prefix(name.find('.') + 1);
      part +=
          fmt::format("{}{}:{}", part.empty() ? "" : ",", json_string(name), json_of(fields[i]));
    }
    json += fmt::format("{}{{\"config\":{{{}}},\"times\":{{{}}}{}{}}}", json.size() > 1 ? "," : "",
                        config, times, others.empty() ? "" : ",", others);
  }
  return json + ']';
}

}  // namespace assay::tuner_rows
