#include "cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"

namespace shardlint {
namespace {

constexpr std::uint64_t max_argument_file = 16 << 20;

std::vector<std::string> long_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

// names<TAB>takes a value (0/1)<TAB>type<TAB>help
void describe(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    std::vector<std::string> names = long_names(*option);
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
    if (!names.empty()) {
      fmt::print("{}\t{}\t{}\t{}\n", join(names, ","), option->get_items_expected_max() > 0 ? 1 : 0,
                 option->get_type_name(), option->get_description());
    }
  }
}

std::string suggest(const CLI::App& app, Arguments arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (std::string& name : long_names(*option)) {
      known.push_back(std::move(name));
    }
  }
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  for (const std::string& argument : arguments) {
    const std::string word = argument.substr(0, argument.find('='));
    if (word.starts_with("--") && word.size() > 2 &&
        std::find(known.begin(), known.end(), word) == known.end()) {
      if (const std::string_view near = nearest(word, candidates); !near.empty()) {
        return fmt::format("; did you mean `{}`?", near);
      }
    }
  }
  return "";
}

}  // namespace

SplitArguments split_at_dashes(Arguments arguments) {
  const auto at = std::find(arguments.begin(), arguments.end(), "--");
  const bool dashes = at != arguments.end();
  return {{arguments.begin(), at}, {dashes ? at + 1 : at, arguments.end()}, dashes};
}

std::vector<std::string> expand_argument_files(Arguments arguments) {
  std::vector<std::string> out;
  const RealDisk disk;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '@') {
      out.push_back(argument);
      continue;
    }
    const std::string path = argument.substr(1);
    if (disk.size(path).value_or(0) > max_argument_file) {
      throw Error(fmt::format("argument file {} is larger than 16 MiB", path));
    }
    const std::optional<std::string> text = disk.read(path);
    if (!text) {
      throw Error(fmt::format("cannot read the argument file {}", path));
    }
    for (const std::string_view line : split(*text, '\n')) {
      if (const std::string_view word = trim(line); !word.empty()) {
        out.emplace_back(word);
      }
    }
  }
  return out;
}

std::optional<int> parse(CLI::App& app, Arguments arguments) {
  std::vector<std::string> words = expand_argument_files(arguments);
  if (!words.empty() && words.front() == "--describe") {
    describe(app);
    return 0;
  }
  try {
    app.parse(
        std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: {}{}\n", app.get_name(), error.what(), suggest(app, words));
    return 2;
  }
  return std::nullopt;
}

}  // namespace shardlint
