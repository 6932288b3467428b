#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/limits.h"
#include "spec/yaml.h"

// yaml-cpp's own tree keeps duplicate keys, converts `on` and `010` and forgets where an alias
// stands, so a tree of our own is built from its parser's events.

namespace assay {
namespace {

// Stand for what YAML must not see; no control character is in a checked source.
constexpr char kMaskedComma = '\x01';
constexpr char kMaskedBang = '\x02';

/// Hides from YAML what belongs to expressions: the commas of `f(a, b)`, and each `!`, which YAML
/// takes for a tag. Each byte is replaced by one byte, so that positions stay true. The search for
/// a `)` ends at what opens a list, a map or a quoted text, because that cannot stand in a call.
std::string mask(std::string text) {
  std::size_t open = 0;
  std::vector<std::size_t> commas;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '(':
        ++open;
        break;
      case ')':
        if (open > 0 && --open == 0) {
          for (const std::size_t comma : commas) text[comma] = kMaskedComma;
          commas.clear();
        }
        break;
      case ',':
        if (open > 0) commas.push_back(at);
        break;
      case '!':
        text[at] = kMaskedBang;
        break;
      case '#':
        at = std::min(text.find('\n', at), text.size());
        [[fallthrough]];
      case '[':
      case ']':
      case '{':
      case '}':
      case '"':
      case '\'':
        open = 0;
        commas.clear();
        break;
      default:
        break;
    }
  }
  return text;
}

std::string unmask(std::string text) {
  std::ranges::replace(text, kMaskedComma, ',');
  std::ranges::replace(text, kMaskedBang, '!');
  return text;
}

Location location_of(const std::shared_ptr<const SourceText>& source, const YAML::Mark& mark) {
  if (mark.is_null()) return {source, 1, 1};
  return {source, mark.line + 1, mark.column + 1};
}

/// What mends a line that is no YAML. In an expression with `?:` that is not in quotes YAML takes
/// the colon for that of a map.
std::string_view advice(std::string_view line) {
  const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != indent.npos) return "; indent by spaces, as YAML forbids tabs there";
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && c == '?') return "; put an expression with ?: in quotes";
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
  }
  return "";
}

}  // namespace

class YamlBuilder : public YAML::EventHandler {
 public:
  explicit YamlBuilder(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {}

  YamlPtr root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // YAML reports a missing value where the next thing starts, so name its key instead.
    const YamlPtr key = open_.empty() ? nullptr : open_.back().key;
    const Location where = key ? key->where() : location_of(source_, mark);
    add(std::make_shared<YamlNode>(YamlNode::Kind::nothing, where), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const auto node = make(YamlNode::Kind::scalar, mark);
    node->quoted_ = tag == "!";  // a plain scalar has "?"
    node->text_ = unmask(value);
    node->num_bytes_ = value.size() + 1;
    add(node, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) {
      throw SpecError(location_of(source_, mark),
                      "expected an alias of something complete, found one of what it stands in");
    }
    add(target->second, YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({make(YamlNode::Kind::list, mark), anchor, {}, {}});
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({make(YamlNode::Kind::map, mark), anchor, {}, {}});
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map whose end has not come.
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    YamlPtr key;                                // of a map: the key whose value comes next
    std::unordered_map<std::string, int> keys;  // of a map: its keys with their lines
  };

  std::shared_ptr<YamlNode> make(YamlNode::Kind kind, const YAML::Mark& mark) const {
    return std::make_shared<YamlNode>(kind, location_of(source_, mark));
  }

  void close() {
    const Open done = std::move(open_.back());
    open_.pop_back();
    add(done.node, done.anchor);
  }

  void add(const YamlPtr& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    if (!open_.empty()) count_bytes(*node);
    if (open_.empty()) {
      root_ = node;
    } else if (Open& parent = open_.back(); parent.node->kind() == YamlNode::Kind::list) {
      parent.node->items_.push_back(node);
    } else if (!parent.key) {
      check_key(parent, *node);
      parent.key = node;
    } else {
      parent.node->entries_.push_back({parent.key->text_, parent.key->where(), node});
      parent.key = nullptr;
    }
  }

  /// Adds a node to the size of what it stands in. An alias of aliases costs a few bytes in the
  /// file and may stand for billions.
  void count_bytes(const YamlNode& node) {
    std::size_t& total = open_.back().node->num_bytes_;
    total += node.num_bytes_;
    if (total > kMaxYamlBytes) {
      node.fail("expected at most {} bytes with every alias written out, found more",
                kMaxYamlBytes);
    }
  }

  static void check_key(Open& map, const YamlNode& key) {
    const std::string& name = key.text("a name as key");
    const auto [first, added] = map.keys.try_emplace(name, key.where().line);
    if (!added) key.fail("duplicate key \"{}\", first given in line {}", name, first->second);
  }

  std::shared_ptr<const SourceText> source_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlPtr> anchors_;
  YamlPtr root_;
};

YamlPtr load_yaml(const std::filesystem::path& path) {
  const auto source = load_source(path);
  std::istringstream input(mask(source->text));
  YamlBuilder builder(source);
  try {
    YAML::Parser parser(input);
    if (!parser.HandleNextDocument(builder) || !builder.root()) {
      throw SpecError({source, 1, 1}, "expected a kernel or a sweep, found an empty file");
    }
    const YamlPtr root = builder.root();
    if (parser.HandleNextDocument(builder)) {
      throw SpecError(builder.root()->where(), "expected one document, found a second");
    }
    return root;
  } catch (const YAML::DeepRecursion& error) {
    // The library says "bad file".
    throw SpecError(location_of(source, error.mark),
                    fmt::format("nested more than {} levels deep", error.depth()));
  } catch (const YAML::Exception& error) {
    const Location where = location_of(source, error.mark);
    throw SpecError(where, "malformed YAML: {}{}", error.msg, advice(line_of(*source, where.line)));
  }
}

}  // namespace assay
