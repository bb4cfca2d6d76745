// SPDX-License-Identifier: MIT
// YAML text to ConfigNodes. The only file that includes yaml-cpp. It takes the parser's events and
// not the library's own tree, which accepts what should be refused (repeated keys, lists as keys),
// and whose LoadAll never comes back from some texts.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/config/node.h"
#include "core/error.h"

namespace tapemeasure {
namespace {

// Aliases of aliases may double at every level.
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxNodes = 100'000;

size_t count_nodes(const ConfigNode& node) {
  size_t count = 1;
  for (const ConfigNode& item : node.items) count += count_nodes(item);
  for (const ConfigEntry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const ConfigMark& origin) : origin_(origin) { root_.mark = origin; }

  ConfigNode take() {
    if (!problem_.empty()) throw ConfigError(problem_);
    return std::move(root_);
  }
  ConfigMark place(const YAML::Mark& mark) const {
    ConfigMark result = origin_;
    if (origin_.line == 0 || mark.is_null()) return result;
    result.line = mark.line + 1;
    result.column = mark.column + 1;
    return result;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // A line that is indented less than the first one also ends a document for yaml-cpp.
    check<ConfigError>(documents_++ == 0,
                       "{}: a second YAML document begins here: one is wanted (is the "
                       "indentation right?)",
                       place(mark).str());
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) return skip_key(mark);
    ConfigNode node;
    // What is not there has no place of its own.
    const bool in_map = !open_.empty() && open_.back().node.is_map();
    node.mark = in_map ? open_.back().key_mark : place(mark);
    finish(std::move(node), anchor, mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (wants_key()) return skip_key(mark);
    const auto found = anchors_.find(anchor);
    check<ConfigError>(found != anchors_.end(), "{}: an alias inside its own anchor",
                       place(mark).str());
    finish(found->second, 0, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (wants_key()) return value.empty() ? skip_key(mark) : start_entry(value, place(mark));
    ConfigNode node;
    node.type = ConfigNode::Type::kScalar;
    node.mark = place(mark);
    node.text = value;
    node.plain = tag == "?";
    finish(std::move(node), anchor, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(ConfigNode::Type::kList, mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(ConfigNode::Type::kMap, mark, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    ConfigNode node;
    YAML::Mark begin;
    YAML::anchor_t anchor;
    bool is_key;
    bool has_key = false;  // of a map's entry whose value comes next
    std::string key = {};
    ConfigMark key_mark = {};
  };

  bool wants_key() const {
    return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key;
  }
  // The parser also sees odd keys in flow style that is never closed, and complains of that later:
  // the better message.
  void skip_key(const YAML::Mark& mark) {
    if (problem_.empty()) problem_ = place(mark).str() + ": a key must be a word";
    open_.back().has_key = true;
  }

  void start(ConfigNode::Type type, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const bool is_key = wants_key();
    if (is_key) skip_key(mark);
    check<ConfigError>(open_.size() < kMaxDepth, "{}: nested more than {} deep", place(mark).str(),
                       kMaxDepth);
    ConfigNode node;
    node.type = type;
    node.mark = place(mark);
    open_.push_back({std::move(node), mark, anchor, is_key});
  }
  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.is_key) return;
    finish(std::move(done.node), done.anchor, done.begin);
  }

  void start_entry(const std::string& key, const ConfigMark& mark) {
    Open& map = open_.back();
    std::string path;
    for (const Open& outer : open_)
      if (&outer != &map && outer.has_key) path += outer.key + '.';
    check<ConfigError>(key.find('.') == std::string::npos,
                       "{}: key '{}': sections are nested, not written with dots", mark.str(),
                       printable(path + key));
    if (const ConfigEntry* first = map.node.find(key))
      throw ConfigError(fmt::format("{}: key '{}' is given twice (first at {})", mark.str(),
                                    printable(path + key), first->mark.str()));
    map.has_key = true;
    map.key = key;
    map.key_mark = mark;
  }

  // A value is complete: it becomes part of what encloses it.
  void finish(ConfigNode node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    // Parts are counted again with what encloses them, hence a limit on the work too.
    nodes_ += count_nodes(node);
    check<ConfigError>(nodes_ < kMaxNodes, "{}: more than {} values", place(mark).str(), kMaxNodes);
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Open& outer = open_.back(); outer.node.is_map()) {
      outer.node.entries.push_back({outer.key, outer.key_mark, std::move(node)});
      outer.has_key = false;
    } else {
      outer.node.items.push_back(std::move(node));
    }
  }

  const ConfigMark& origin_;
  ConfigNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, ConfigNode> anchors_;
  std::string problem_;
  size_t nodes_ = 0;
  int documents_ = 0;
};

// yaml-cpp's own words for a tab in the indentation ("illegal map value") help nobody.
bool is_indented_with_tab(const std::string& text, int line) {
  size_t begin = 0;
  for (; line > 0; --line) {
    begin = text.find('\n', begin);
    if (begin++ == std::string::npos) return false;
  }
  const size_t first = text.find_first_not_of(' ', begin);
  return first != std::string::npos && text[first] == '\t';
}

}  // namespace

ConfigNode parse_yaml(const std::string& text, const ConfigMark& origin) {
  TreeBuilder builder(origin);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    // The second call finds the end, or a second document, which the builder refuses.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& e) {
    const std::string why = is_indented_with_tab(text, e.mark.line)
                                ? "indented with a tab: use spaces"
                                : printable(e.msg);
    throw ConfigError(fmt::format("{}: not YAML: {}", builder.place(e.mark).str(), why));
  }
  return builder.take();
}

}  // namespace tapemeasure
