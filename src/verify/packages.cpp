#include "verify/packages.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/version.h"

namespace shardlint::verify {
namespace {
namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// What pyenv's stand-in of a program would start; the path itself when it is none.
std::string behind_shim(const std::string& path) {
  const std::string folder = parent_path(path);
  if (file_name(folder) != "shims") {
    return path;
  }
  const std::string root = parent_path(folder);
  std::string chosen = variable("PYENV_VERSION");
  if (chosen.empty()) {
    chosen = RealDisk().read(root + "/version").value_or("");
  }
  const std::string_view first = trim(std::string_view(chosen).substr(0, chosen.find('\n')));
  const std::string real =
      join_path(join_path(root, "versions"), std::string(first) + "/bin/" + file_name(path));
  return !first.empty() && RealDisk().is_file(real) ? real : std::string();
}

std::string in_path(const std::string& name) {
  const std::string path = variable("PATH");
  for (const std::string_view folder : split(path, ':')) {
    const std::string candidate = join_path(folder.empty() ? "." : folder, name);
    if (::access(candidate.c_str(), X_OK) == 0 && RealDisk().is_file(candidate)) {
      if (std::string real = behind_shim(candidate); !real.empty()) {
        return real;
      }
    }
  }
  return {};
}

// "python3.11" below a lib folder; there is usually one.
void add_libraries(const std::string& prefix, std::vector<std::string>& out) {
  const RealDisk disk;
  for (const char* lib : {"lib", "lib64"}) {
    const std::string base = join_path(prefix, lib);
    for (const std::string& name : disk.list(base)) {
      if (!glob_match("python3*", name)) {
        continue;
      }
      for (const char* last : {"site-packages", "dist-packages"}) {
        const std::string folder = join_path(join_path(base, name), last);
        std::error_code error;
        const std::string real = fs::canonical(folder, error).string();
        if (!error && disk.is_directory(real) &&
            std::find(out.begin(), out.end(), real) == out.end()) {
          out.push_back(real);
        }
      }
    }
  }
}

// Folders that .pth files add; lines that are code are not looked at.
void add_path_files(std::vector<std::string>& out) {
  const RealDisk disk;
  const std::size_t count = out.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& name : disk.list(out[i])) {
      const std::string path = join_path(out[i], name);
      if (!name.ends_with(".pth") || disk.size(path).value_or(1 << 20) >= (1 << 16)) {
        continue;
      }
      const std::string text = disk.read(path).value_or("");
      for (const std::string_view line : split(text, '\n')) {
        const std::string folder = join_path(out[i], trim(line));
        if (!trim(line).empty() && line.front() != '#' && !line.starts_with("import") &&
            disk.is_directory(folder) && out.size() < 100) {
          out.push_back(folder);
        }
      }
    }
  }
}

}  // namespace

Python find_python(const std::string& program) {
  Python out;
  const std::string environment =
      !variable("VIRTUAL_ENV").empty() ? variable("VIRTUAL_ENV") : variable("CONDA_PREFIX");
  if (!program.empty()) {
    out.program = program.find('/') != std::string::npos ? program : in_path(program);
  } else if (!environment.empty() && RealDisk().is_file(environment + "/bin/python3")) {
    out.program = environment + "/bin/python3";
  } else {
    out.program = in_path("python3");
  }
  const std::string path = variable("PYTHONPATH");
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.empty() && RealDisk().is_directory(std::string(folder))) {
      out.site_packages.emplace_back(folder);
    }
  }
  if (out.program.empty()) {
    return out;
  }
  const std::string prefix = parent_path(parent_path(out.program));
  add_libraries(prefix, out.site_packages);
  const auto settings = RealDisk().read(prefix + "/pyvenv.cfg");
  const bool isolated =
      settings && settings->find("include-system-site-packages = true") == std::string::npos;
  if (!isolated) {
    std::error_code error;  // a venv that sees the system's, or the system's own
    const fs::path real = fs::canonical(out.program, error);
    if (!error) {
      add_libraries(real.parent_path().parent_path().string(), out.site_packages);
    }
    for (const char* root : {"/usr/local", "/usr"}) {
      add_libraries(root, out.site_packages);
      if (const std::string debian = std::string(root) + "/lib/python3/dist-packages";
          RealDisk().is_directory(debian)) {
        out.site_packages.push_back(debian);
      }
    }
  }
  add_path_files(out.site_packages);
  return out;
}

std::map<std::string, Package> installed(const std::vector<std::string>& site_packages) {
  std::map<std::string, Package> out;
  const RealDisk disk;
  for (const std::string& folder : site_packages) {
    for (const std::string& entry : disk.list(folder)) {
      // NAME-VERSION.dist-info; NAME-VERSION[-pyX].egg-info
      const bool wheel = entry.ends_with(".dist-info");
      if (!wheel && !entry.ends_with(".egg-info")) {
        continue;
      }
      const std::string_view stem = std::string_view(entry).substr(0, entry.rfind('.'));
      const auto dash = stem.find('-');
      if (dash == std::string_view::npos) {
        continue;
      }
      const std::string_view rest = stem.substr(dash + 1);
      out.try_emplace(package_name(stem.substr(0, dash)),
                      Package{std::string(wheel ? rest : rest.substr(0, rest.find('-'))), folder});
    }
  }
  return out;
}

std::string find_program(const std::string& name, const Python& python) {
  if (!python.program.empty()) {
    const std::string beside = join_path(parent_path(python.program), name);
    if (::access(beside.c_str(), X_OK) == 0) {
      return beside;
    }
  }
  return in_path(name);
}

}  // namespace shardlint::verify
