#pragma once
// Which Python packages are installed, read from their metadata folders. No Python is run.

#include <map>
#include <string>
#include <vector>

namespace shardlint::verify {

struct Python {
  std::string program;                     // empty: none was found
  std::vector<std::string> site_packages;  // existing folders, in sys.path's order
};
// The interpreter that `python3` means here: $VIRTUAL_ENV, $CONDA_PREFIX, PATH; or the one given.
Python find_python(const std::string& program);

struct Package {
  std::string version, folder;  // folder: where its metadata lies
};
// By normalised name (transformer-engine). The first folder that has a package wins.
std::map<std::string, Package> installed(const std::vector<std::string>& site_packages);

// A program in PATH or beside the interpreter; empty when there is none.
std::string find_program(const std::string& name, const Python& python);

}  // namespace shardlint::verify
