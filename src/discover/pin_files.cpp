// Reading pins from the text of the four kinds of file.
#include <cctype>
#include <optional>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/version.h"
#include "discover/pins.h"

namespace shardlint {
namespace {

// Packages by their normal name. Megatron-LM's scripts go with the core of the same version.
std::string_view framework_of(std::string_view package) {
  return package == "megatron-core"     ? "megatron-lm"
         : package == "megatron-bridge" ? "megatron-bridge"
         : package == "verl"            ? "verl"
                                        : "";
}

bool mentions_frameworks(std::string_view text) {
  const std::string small = lower(text);
  return small.find("megatron") != std::string::npos || small.find("verl") != std::string::npos;
}

// Collects what the lines of one file say, and judges it when all are read.
class Collector {
 public:
  explicit Collector(std::string path) : path_(std::move(path)) {}

  void version(std::string_view framework, std::string_view version, std::size_t line) {
    if (!Version::parse(version)) {
      note(line, fmt::format("`{}` is no version of {}", version, framework));
      return;
    }
    for (Pin& pin : made_.pins) {
      if (pin.framework == framework) {
        if (!(Version::parse(pin.version) == Version::parse(version))) {
          pin.framework = "";  // which one holds depends on markers and extras
          note(line,
               fmt::format("{} and {} are both pinned for {}", pin.version, version, framework));
          unclear_.emplace_back(framework);
        }
        return;
      }
    }
    for (const std::string& unclear : unclear_) {
      if (unclear == framework) {
        return;
      }
    }
    made_.pins.push_back({std::string(framework), std::string(version), place(line)});
  }

  void note(std::size_t line, std::string_view what) {
    made_.notes.push_back(fmt::format("{}: {}; left out", place(line), what));
  }

  // PEP 508: name [extras] (==version | @ url) ; marker
  void requirement(std::string_view text, std::size_t line) {
    text = trim(text.substr(0, text.find(';')));
    std::size_t end = 0;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                 text[end] == '-' || text[end] == '_' || text[end] == '.')) {
      ++end;
    }
    const std::string_view framework = framework_of(package_name(text.substr(0, end)));
    std::string_view rest = trim(text.substr(end));
    if (framework.empty()) {
      return;
    }
    if (rest.starts_with('[')) {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) {
        note(line, fmt::format("`{}` cannot be read", text));
        return;
      }
      rest = trim(rest.substr(close + 1));
    }
    if (rest.starts_with('@')) {
      address(framework, trim(rest.substr(1)), line);
    } else {
      comparisons(framework, rest, line);
    }
  }

  // What follows the name: "==0.8.0", ">=0.7,<0.9", "(==0.8.0)". A range pins nothing.
  void comparisons(std::string_view framework, std::string_view text, std::size_t line) {
    if (text.starts_with('(') && text.ends_with(')')) {
      text = text.substr(1, text.size() - 2);
    }
    for (std::string_view each : split(text, ',')) {
      each = trim(each);
      if (each.starts_with("===") || each.starts_with("==")) {
        const std::string_view named = trim(each.substr(each.starts_with("===") ? 3 : 2));
        if (named.ends_with(".*")) {
          note(line, fmt::format("`{}` is no single version of {}", each, framework));
        } else {
          version(framework, named, line);
        }
      }
    }
  }

  // git+https://host/name@core_v0.17.0: the tags of releases name one.
  void address(std::string_view framework, std::string_view url, std::size_t line) {
    url = url.substr(0, url.find_first_of("# \t"));
    const std::size_t at = url.rfind('@');
    std::string_view tag =
        at == std::string_view::npos || url.find('/', at) != std::string_view::npos
            ? std::string_view()
            : url.substr(at + 1);
    tag.remove_prefix(tag.starts_with("core_") ? 5 : 0);
    if (tag.starts_with('v') && Version::parse(tag)) {
      version(framework, tag.substr(1), line);
    } else {
      note(line,
           fmt::format("{} comes from `{}`, which names no released version", framework, url));
    }
  }

  Pins done() {
    std::erase_if(made_.pins, [](const Pin& pin) { return pin.framework.empty(); });
    return std::move(made_);
  }

 private:
  std::string place(std::size_t line) const { return fmt::format("{}:{}", path_, line); }
  std::string path_;
  Pins made_;
  std::vector<std::string> unclear_;
};

// One requirement a line; # begins a comment at the start or after a blank, \ goes on.
void read_requirements(std::string_view text, Collector& into) {
  std::size_t number = 0, first = 0;
  std::string whole;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (whole.empty()) {
      first = number;
    }
    line = trim(line);
    std::size_t comment = line.starts_with('#') ? 0 : line.find(" #");
    line = trim(line.substr(0, comment));
    const bool goes_on = line.ends_with('\\');
    whole += goes_on ? line.substr(0, line.size() - 1) : line;
    if (goes_on) {
      whole += ' ';
      continue;
    }
    const std::size_t options = whole.find(" --");  // hashes
    if (!whole.starts_with('-')) {
      into.requirement(std::string_view(whole).substr(0, options), first);
    }
    whole.clear();
  }
}

// What stands between the quotes of `key = "..."`.
std::optional<std::string_view> quoted(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) {
    return std::nullopt;
  }
  line = trim(line.substr(key.size()));
  if (!line.starts_with('=')) {
    return std::nullopt;
  }
  line = trim(line.substr(1));
  const std::size_t end = line.starts_with('"') ? line.find('"', 1) : std::string_view::npos;
  return end == std::string_view::npos ? std::nullopt : std::optional(line.substr(1, end - 1));
}

// uv.lock and poetry.lock are written by programs, a key a line, and may have megabytes: their
// [[package]] tables are read line by line. A package that is taken from a folder has the version
// of whatever lies there.
void read_lock(std::string_view text, Collector& into) {
  std::size_t number = 0, version_line = 0;
  std::string_view name, version;
  bool in_package = false, in_table = false, from_folder = false;  // in_table: not in [package.x]
  const auto end = [&] {
    const std::string_view framework = framework_of(package_name(name));
    if (!framework.empty() && !from_folder) {
      if (version.empty()) {
        into.note(version_line, fmt::format("{} has no version", framework));
      } else {
        into.version(framework, version, version_line);
      }
    }
    name = version = {};
    in_package = in_table = from_folder = false;
  };
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line == "[[package]]") {
      end();
      in_package = in_table = true;
    } else if (line.starts_with("[package.")) {
      in_table = false;
    } else if (line.starts_with('[')) {
      end();
    } else if (!in_package) {
      continue;
    } else if (quoted(line, "type") == "directory") {
      from_folder = true;
    } else if (!in_table) {
      continue;
    } else if (const auto named = quoted(line, "name")) {
      name = *named;
      version_line = number;
    } else if (const auto given = quoted(line, "version")) {
      version = *given;
      version_line = number;
    } else if (line.starts_with("source =")) {
      for (const std::string_view kind : {"editable =", "virtual =", "directory =", "path ="}) {
        from_folder = from_folder || line.find(kind) != std::string_view::npos;
      }
    }
  }
  end();
}

std::size_t line_of(const toml::node& node) {
  return node.source().begin.line;
}

void read_array(const toml::node* node, Collector& into) {
  const toml::array* array = node != nullptr ? node->as_array() : nullptr;
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (const auto text = (*array)[i].value<std::string>()) {
      into.requirement(*text, line_of((*array)[i]));
    }
  }
}

void read_arrays(const toml::node* node, Collector& into) {
  const toml::table* table = node != nullptr ? node->as_table() : nullptr;
  if (table != nullptr) {
    for (const auto& [name, array] : *table) {
      read_array(&array, into);
    }
  }
}

// Poetry's own table: name = "0.8.0" means exactly that one.
void read_poetry(const toml::node* node, Collector& into) {
  const toml::table* table = node != nullptr ? node->as_table() : nullptr;
  if (table == nullptr) {
    return;
  }
  for (const auto& [name, value] : *table) {
    const std::string_view framework = framework_of(package_name(name.str()));
    const toml::table* detail = value.as_table();
    const toml::node* said = detail != nullptr ? detail->get("version") : &value;
    const auto text = said != nullptr ? said->value<std::string>() : std::nullopt;
    if (framework.empty() || !text) {
      continue;
    }
    if (!text->empty() && std::isdigit(static_cast<unsigned char>(text->front())) != 0 &&
        text->find_first_of("*,") == std::string::npos) {
      into.version(framework, *text, line_of(*said));
    } else {
      into.comparisons(framework, *text, line_of(*said));
    }
  }
}

void read_project(std::string_view text, Collector& into) {
  if (!mentions_frameworks(text) || text.find('=') == std::string_view::npos) {
    return;
  }
  try {
    const toml::table root = toml::parse(text);
    read_array(root["project"]["dependencies"].node(), into);
    read_arrays(root["project"]["optional-dependencies"].node(), into);
    read_arrays(root["dependency-groups"].node(), into);
    read_poetry(root["tool"]["poetry"]["dependencies"].node(), into);
    const toml::table* groups = root["tool"]["poetry"]["group"].as_table();
    if (groups != nullptr) {
      for (const auto& [name, group] : *groups) {
        const toml::table* table = group.as_table();
        read_poetry(table != nullptr ? table->get("dependencies") : nullptr, into);
      }
    }
  } catch (const toml::parse_error& error) {
    into.note(error.source().begin.line, "no TOML");
  }
}

}  // namespace

Pins read_pins(const std::string& path, std::string_view text) {
  Collector into(path);
  const std::string name = file_name(path);
  if (name == "pyproject.toml") {
    read_project(text, into);
  } else if (name.ends_with(".lock")) {
    read_lock(text, into);
  } else {
    read_requirements(text, into);
  }
  return into.done();
}

}  // namespace shardlint
