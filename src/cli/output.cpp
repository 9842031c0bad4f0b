#include "cli/output.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace shardlint {
namespace {

namespace fs = std::filesystem;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value && *value;
}

void write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) {
    fs::create_directories(folder, ignored);
  }
  if (!fs::exists(path, ignored) || fs::is_regular_file(path, ignored)) {
    write_atomically(path, text);
    return;
  }
  std::ofstream out(path, std::ios::binary);  // a pipe or a device
  if (!(out << text << std::flush)) {
    throw Error(fmt::format("cannot write {}", path));
  }
}

}  // namespace

Output parse_output(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw Error(fmt::format("--output wants FORMAT=PATH, got `{}`", text));
  }
  Output out{text.substr(0, equals), text.substr(equals + 1)};
  find_format(out.format);
  if (out.file == "-") {
    out.file.clear();
  }
  return out;
}

bool use_color(Color color, int descriptor) {
  switch (color) {
    case Color::always:
      return true;
    case Color::never:
      return false;
    case Color::automatic:
      break;
  }
  if (is_set("NO_COLOR")) {
    return false;
  }
  const char* term = std::getenv("TERM");
  return is_set("FORCE_COLOR") || (isatty(descriptor) && term && std::string_view(term) != "dumb");
}

void write_outputs(const std::vector<Output>& outputs, const Report& report, Look look,
                   Color color) {
  for (const Output& output : outputs) {
    look.color = output.file.empty() && use_color(color, STDOUT_FILENO);
    const std::string text = find_format(output.format).render(report, look);
    if (output.file.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      write_file(output.file, text);
    }
  }
}

}  // namespace shardlint
