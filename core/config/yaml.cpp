// SPDX-License-Identifier: MIT
// YAML text to ConfigNodes. The only file that includes yaml-cpp, because that library merges what
// it should refuse: repeated keys, several documents, lists as keys.
#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "core/config/node.h"
#include "core/error.h"

namespace tapemeasure {
namespace {

// An alias may stand inside its own anchor, or double at every level; both end here.
constexpr int kMaxDepth = 64;
constexpr size_t kMaxNodes = 100'000;

class Converter {
 public:
  explicit Converter(const ConfigMark& origin) : origin_(origin) {}

  ConfigNode convert(const YAML::Node& yaml, const std::string& path, const ConfigMark& mark,
                     int depth) {
    check<ConfigError>(depth < kMaxDepth, "{}: nested more than {} deep", mark.str(), kMaxDepth);
    check<ConfigError>(++nodes_ < kMaxNodes, "{}: more than {} values", mark.str(), kMaxNodes);
    ConfigNode node;
    node.mark = yaml.IsNull() ? mark : place(yaml.Mark());
    if (yaml.IsMap()) {
      node.type = ConfigNode::Type::kMap;
      for (const auto& entry : yaml) add(node, entry.first, entry.second, path, depth);
    } else if (yaml.IsSequence()) {
      node.type = ConfigNode::Type::kList;
      for (const YAML::Node& item : yaml)
        node.items.push_back(convert(item, path, node.mark, depth + 1));
    } else if (yaml.IsScalar()) {
      node.type = ConfigNode::Type::kScalar;
      node.text = yaml.Scalar();
      node.plain = yaml.Tag() == "?";
    }
    return node;
  }

  ConfigMark place(const YAML::Mark& mark) const {
    ConfigMark result = origin_;
    if (origin_.line == 0 || mark.is_null()) return result;
    result.line = mark.line + 1;
    result.column = mark.column + 1;
    return result;
  }

 private:
  void add(ConfigNode& map, const YAML::Node& key, const YAML::Node& value, const std::string& path,
           int depth) {
    const ConfigMark mark = key.IsNull() ? map.mark : place(key.Mark());
    check<ConfigError>(key.IsScalar() && !key.Scalar().empty(), "{}: a key must be a word",
                       mark.str());
    const std::string& name = key.Scalar();
    const std::string full = path.empty() ? name : path + "." + name;
    check<ConfigError>(name.find('.') == std::string::npos,
                       "{}: key '{}': sections are nested, not written with dots", mark.str(),
                       printable(name));
    if (const ConfigEntry* first = map.find(name))
      throw ConfigError(fmt::format("{}: key '{}' is given twice (first at {})", mark.str(),
                                    printable(full), first->mark.str()));
    ConfigNode node = convert(value, full, mark, depth + 1);
    map.entries.push_back({name, mark, std::move(node)});
  }

  const ConfigMark& origin_;
  size_t nodes_ = 0;
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
  Converter converter(origin);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty()) {
      ConfigNode empty;
      empty.mark = origin;
      return empty;
    }
    // A line that is indented less than the first one also ends a document for yaml-cpp.
    if (documents.size() > 1)
      throw ConfigError(
          fmt::format("{}: a second YAML document begins here: one is wanted (is the indentation "
                      "right?)",
                      converter.place(documents[1].Mark()).str()));
    return converter.convert(documents[0], "", origin, 0);
  } catch (const YAML::Exception& e) {
    const std::string why = is_indented_with_tab(text, e.mark.line)
                                ? "indented with a tab: use spaces"
                                : printable(e.msg);
    throw ConfigError(fmt::format("{}: not YAML: {}", converter.place(e.mark).str(), why));
  }
}

}  // namespace tapemeasure
