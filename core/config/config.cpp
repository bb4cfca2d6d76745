// SPDX-License-Identifier: MIT
// Config as a stack of trees: loading a file and what it extends, `--set`, and looking keys up.
#include "core/config/config.h"

#include <filesystem>
#include <utility>

#include "core/config/node.h"
#include "core/error.h"
#include "core/file/atomic_file.h"

namespace tapemeasure {
namespace {

namespace fs = std::filesystem;

// A corpus given in place of a config should not be read whole.
constexpr uintmax_t kMaxFileBytes = 16 << 20;

ConfigMark file_mark(const std::string& name, int source) {
  return {std::make_shared<const std::string>(name), 1, 1, source};
}

std::string read_config_text(const std::string& path, const std::string& who) {
  std::error_code ignored;
  const bool large =
      fs::is_regular_file(path, ignored) && fs::file_size(path, ignored) > kMaxFileBytes;
  check<ConfigError>(!large, "{}{}: too large for a config", who, path);
  try {
    return read_file(path);
  } catch (const DataError& e) {
    throw ConfigError(who + e.what());
  }
}

std::string identity(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored).string();
}

// Takes "extends" out of a file's map; "" when there is none. `where` is set to its place.
std::string take_extends(ConfigNode& root, std::string& where) {
  for (auto entry = root.entries.begin(); entry != root.entries.end(); ++entry) {
    if (entry->key != "extends") continue;
    where = entry->value.mark.str();
    check<ConfigError>(entry->value.type == ConfigNode::Type::kScalar && !entry->value.text.empty(),
                       "{}: 'extends' wants the name of a file, found {}", where,
                       entry->value.found());
    std::string name = entry->value.text;
    root.entries.erase(entry);
    return name;
  }
  return "";
}

// The file's tree and below it those that it extends, lowest first.
std::vector<ConfigNode> load(std::string text, std::string path) {
  std::vector<ConfigNode> layers;
  std::vector<std::string> seen;
  while (true) {
    seen.push_back(identity(path));
    ConfigNode root = parse_yaml(text, file_mark(path, static_cast<int>(layers.size())));
    check<ConfigError>(root.type != ConfigNode::Type::kNull, "{}: the config is empty", path);
    check<ConfigError>(root.is_map(), "{}: a config is a list of 'key: value' lines, found {}",
                       root.mark.str(), root.found());
    std::string where;
    const std::string base = take_extends(root, where);
    layers.insert(layers.begin(), std::move(root));
    if (base.empty()) return layers;
    path = (fs::path(path).parent_path() / base).string();
    for (const std::string& earlier : seen)
      check<ConfigError>(earlier != identity(path), "{}: 'extends' goes round in a circle: {}",
                         where, path);
    text = read_config_text(path, where + ": extends ");
  }
}

std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> parts(1);
  for (char c : key) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Config::Config() = default;
Config::~Config() = default;
Config::Config(const Config&) = default;
Config& Config::operator=(const Config&) = default;
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;

Config Config::read(const std::string& path) { return parse(read_config_text(path, ""), path); }

Config Config::parse(const std::string& text, const std::string& origin) {
  Config config;
  config.layers_ = load(text, origin);
  return config;
}

void Config::set(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  const ConfigMark mark = {std::make_shared<const std::string>("--set " + printable(assignment)), 0,
                           0, static_cast<int>(layers_.size())};
  check<ConfigError>(equals != std::string::npos, "{}: wanted KEY=VALUE", mark.str());
  const std::vector<std::string> parts = split_key(trimmed(assignment.substr(0, equals)));
  for (const std::string& part : parts)
    check<ConfigError>(!part.empty(), "{}: the key is empty, or a part of it", mark.str());
  ConfigNode node = parse_yaml(assignment.substr(equals + 1), mark);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    ConfigNode map;
    map.type = ConfigNode::Type::kMap;
    map.mark = mark;
    map.entries.push_back({*part, mark, std::move(node)});
    node = std::move(map);
  }
  layers_.push_back(std::move(node));
  places_.clear();
}

std::string Config::given(const std::string& key) const {
  if (!places_.empty()) {
    const auto found = places_.find(key);
    return found == places_.end() ? "" : found->second;
  }
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const ConfigNode* node = &*layer;
    const ConfigEntry* entry = nullptr;
    for (const std::string& part : split_key(key)) {
      entry = node ? node->find(part) : nullptr;
      node = entry ? &entry->value : nullptr;
    }
    if (entry) return entry->mark.str();
  }
  return "";
}

bool Config::has(const std::string& key) const { return !given(key).empty(); }

std::string Config::place(const std::string& key) const {
  for (std::string part = key; !part.empty();) {
    const std::string where = given(part);
    if (!where.empty()) return where;
    const size_t dot = part.rfind('.');
    part.resize(dot == std::string::npos ? 0 : dot);
  }
  // Nothing of it was given: the file as a whole, the highest layer but for `--set`.
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
    if (layer->mark.line > 0) return *layer->mark.origin;
  return layers_.empty() ? "config" : layers_.back().mark.str();
}

}  // namespace tapemeasure
