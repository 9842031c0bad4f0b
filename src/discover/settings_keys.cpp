#include "discover/settings_keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/error.h"
#include "base/files.h"
#include "base/version.h"

namespace shardlint {
namespace {

// What a reader of one value complains of; the place is added where the key is known.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string text(const toml::node& node) {
  if (const auto value = node.value_exact<std::string>()) {
    return *value;
  }
  throw Wrong("expected a string");
}

// A value as it would be written after KEY= on the command line.
std::string scalar(const toml::node& node) {
  if (const auto value = node.value_exact<std::string>()) {
    return *value;
  }
  if (const auto value = node.value_exact<bool>()) {
    return *value ? "true" : "false";
  }
  if (const auto value = node.value_exact<std::int64_t>()) {
    return std::to_string(*value);
  }
  if (const auto value = node.value_exact<double>()) {
    return fmt::format("{}", *value);
  }
  throw Wrong("expected a string, number or boolean");
}

bool flag(const toml::node& node) {
  if (const auto value = node.value_exact<bool>()) {
    return *value;
  }
  throw Wrong("expected true or false");
}

std::vector<std::string> texts(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (!array) {
    throw Wrong("expected a list of strings");
  }
  std::vector<std::string> out;
  for (const toml::node& item : *array) {
    out.push_back(text(item));
  }
  return out;
}

const toml::table& table(const toml::node& node) {
  if (const toml::table* out = node.as_table()) {
    return *out;
  }
  throw Wrong("expected a table");
}

std::string one_of(const toml::node& node, std::initializer_list<std::string_view> choices) {
  const std::string value = text(node);
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    throw Wrong(fmt::format("expected one of {}, got `{}`", fmt::join(choices, ", "), value));
  }
  return value;
}

std::vector<std::string> pairs(const toml::node& node, std::string_view sign) {
  std::vector<std::string> out;
  for (const auto& [key, value] : table(node)) {
    out.push_back(fmt::format("{}{}{}", key.str(), sign, scalar(value)));
  }
  return out;
}

std::vector<std::string> in_folder(const Settings& settings, std::vector<std::string> paths) {
  for (std::string& path : paths) {
    path = join_path(settings.folder, path);
  }
  return paths;
}

int world_size(const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > 10'000'000) {
    throw Wrong("expected a number of ranks");
  }
  return static_cast<int>(*value);
}

Options::World world(const toml::node& node) {
  const std::string value = one_of(node, {"auto", "open", "closed"});
  return value == "open"     ? Options::World::open
         : value == "closed" ? Options::World::closed
                             : Options::World::automatic;
}

struct JobKey {
  std::string_view name;
  void (*read)(const toml::node& node, JobSettings& job);
};

constexpr JobKey job_keys[] = {
    {"targets", [](const toml::node& n, JobSettings& job) { job.targets = pairs(n, "=="); }},
    {"world-size", [](const toml::node& n, JobSettings& job) { job.world_size = world_size(n); }},
    {"gpu", [](const toml::node& n, JobSettings& job) { job.gpu = text(n); }},
    {"framework",
     [](const toml::node& n, JobSettings& job) {
       job.framework = one_of(n, {"megatron-lm", "megatron-bridge", "verl"});
     }},
    {"world", [](const toml::node& n, JobSettings& job) { job.world = world(n); }},
    {"env", [](const toml::node& n, JobSettings& job) { job.env = pairs(n, "="); }},
    {"set", [](const toml::node& n, JobSettings& job) { job.set = pairs(n, "="); }},
};

const JobKey* find_job_key(std::string_view name) {
  const auto at = std::find_if(std::begin(job_keys), std::end(job_keys),
                               [&](const JobKey& key) { return key.name == name; });
  return at == std::end(job_keys) ? nullptr : at;
}

std::string no_such_key(std::string_view name, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest(name, known);
  return fmt::format("there is no setting `{}`{}", name,
                     near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
}

void read_overrides(const toml::node& node, Settings& settings) {
  const toml::array* array = node.as_array();
  if (!array) {
    throw Wrong("expected [[overrides]] tables");
  }
  for (const toml::node& item : *array) {
    Settings::Override out;
    for (const auto& [key, value] : table(item)) {
      if (key.str() == "paths") {
        out.paths = texts(value);
      } else if (const JobKey* job = find_job_key(key.str())) {
        job->read(value, out.job);
      } else {
        std::vector<std::string_view> known = {"paths"};
        for (const JobKey& one : job_keys) {
          known.push_back(one.name);
        }
        throw Wrong(no_such_key(key.str(), known) + " of [[overrides]]");
      }
    }
    if (out.paths.empty()) {
      throw Wrong("[[overrides]] needs `paths`");
    }
    settings.overrides.push_back(std::move(out));
  }
}

void read_per_file_ignores(const toml::node& node, Settings& settings) {
  for (const auto& [glob, codes] : table(node)) {
    settings.per_file_ignores[std::string(glob.str())] = texts(codes);
  }
}

void read_severity(const toml::node& node, Settings& settings) {
  for (const auto& [rule, level] : table(node)) {
    settings.severity[std::string(rule.str())] = one_of(level, {"error", "warning", "info", "off"});
  }
}

void read_required_version(const toml::node& node, Settings&) {
  const std::optional<VersionRange> range = VersionRange::parse(text(node));
  const std::optional<Version> ours = Version::parse(SHARDLINT_VERSION);
  if (!range || !ours) {
    throw Wrong("expected a version range such as \">=0.1,<1\"");
  }
  if (!range->contains(*ours)) {
    throw Wrong(
        fmt::format("this project wants shardlint {}, this is {}", range->text, ours->text));
  }
}

constexpr SettingsKey keys[] = {
    {"extend", [](const toml::node& n, Settings&) { text(n); }},  // read before the others
    {"required-version", read_required_version},
    {"select", [](const toml::node& n, Settings& s) { s.select = texts(n); }},
    {"ignore", [](const toml::node& n, Settings& s) { s.ignore = texts(n); }},
    {"per-file-ignores", read_per_file_ignores},
    {"severity", read_severity},
    {"rules", [](const toml::node& n, Settings& s) { s.rules = in_folder(s, texts(n)); }},
    {"source-roots",
     [](const toml::node& n, Settings& s) { s.source_roots = in_folder(s, texts(n)); }},
    {"exclude", [](const toml::node& n, Settings& s) { s.exclude = texts(n); }},
    {"force-exclude", [](const toml::node& n, Settings& s) { s.force_exclude = flag(n); }},
    {"not-ignorable", [](const toml::node& n, Settings& s) { s.not_ignorable = texts(n); }},
    {"require-reason", [](const toml::node& n, Settings& s) { s.require_reason = flag(n); }},
    {"baseline",
     [](const toml::node& n, Settings& s) { s.baseline = join_path(s.folder, text(n)); }},
    {"fail-on",
     [](const toml::node& n, Settings& s) {
       s.fail_on = one_of(n, {"error", "warning", "info", "never"});
     }},
    {"output-format", [](const toml::node& n, Settings& s) { s.output_format = text(n); }},
    {"targets", [](const toml::node& n, Settings& s) { find_job_key("targets")->read(n, s.job); }},
    {"world-size",
     [](const toml::node& n, Settings& s) { find_job_key("world-size")->read(n, s.job); }},
    {"gpu", [](const toml::node& n, Settings& s) { find_job_key("gpu")->read(n, s.job); }},
    {"framework",
     [](const toml::node& n, Settings& s) { find_job_key("framework")->read(n, s.job); }},
    {"world", [](const toml::node& n, Settings& s) { find_job_key("world")->read(n, s.job); }},
    {"env", [](const toml::node& n, Settings& s) { find_job_key("env")->read(n, s.job); }},
    {"set", [](const toml::node& n, Settings& s) { find_job_key("set")->read(n, s.job); }},
    {"overrides", read_overrides},
};

}  // namespace

std::span<const SettingsKey> settings_keys() {
  return keys;
}

std::string place_of(const toml::node& node, std::string_view file) {
  return fmt::format("{}:{}", file, node.source().begin.line);
}

void read_table(const toml::table& table, std::string_view file, Settings& settings) {
  for (const auto& [name, node] : table) {
    const auto known = std::find_if(std::begin(keys), std::end(keys),
                                    [&](const SettingsKey& key) { return key.name == name.str(); });
    const std::string place =
        fmt::format("{}:{}:{}", file, name.source().begin.line, name.source().begin.column);
    if (known == std::end(keys)) {
      std::vector<std::string_view> names;
      for (const SettingsKey& key : keys) {
        names.push_back(key.name);
      }
      throw Error(fmt::format("{}: {}", place, no_such_key(name.str(), names)));
    }
    try {
      known->read(node, settings);
    } catch (const Wrong& wrong) {
      throw Error(fmt::format("{}: `{}`: {}", place, name.str(), wrong.what()));
    }
    settings.origins[std::string(name.str())] = place_of(node, file);
  }
}

}  // namespace shardlint
