#include "discover/discover.h"

#include <doctest/doctest.h>

#include "discover/ignore.h"

using namespace shardlint;

namespace {

std::string found(const MemoryDisk& disk, const std::vector<std::string>& paths) {
  std::string out;
  const Discovery discovery = discover(paths, disk);
  for (const FoundFile& file : discovery.files) {
    const char* kinds[] = {"yaml", "shell", "python"};
    out += file.path + ":" + kinds[static_cast<int>(file.kind)] + (file.named ? "! " : " ");
  }
  for (const auto& failure : discovery.failures) {
    out += failure.path + "? ";
  }
  return out;
}

}  // namespace

TEST_SUITE("discover") {
  TEST_CASE("directories are walked in order, files are sorted to their front ends") {
    MemoryDisk disk;
    for (const char* path :
         {"w/b.yaml", "w/a.yml", "w/run.sh", "w/x/recipe.py", "w/x/notes.txt", "w/.hidden/c.yaml",
          "w/build/d.yaml", "w/node_modules/e.yaml", "w/job.sbatch", "w/.f.yaml"}) {
      disk.write(path, "");
    }
    disk.write("w/launch", "#!/usr/bin/env bash\n");
    disk.write("w/binary",
               "\x7f"
               "ELF");
    disk.write("odd", "export A=1\n");
    CHECK(found(disk, {"w"}) ==
          "w/a.yml:yaml w/b.yaml:yaml w/job.sbatch:shell w/launch:shell w/run.sh:shell "
          "w/x/recipe.py:python ");
    CHECK(found(disk, {"w/b.yaml", "w/x", "w/b.yaml", "w/.f.yaml", "odd", "none"}) ==
          "odd:shell! w/.f.yaml:yaml! w/b.yaml:yaml! w/x/recipe.py:python none? ");
  }

  TEST_CASE(".gitignore: nearest folder and last pattern decide, named files are read anyway") {
    MemoryDisk disk;
    disk.write("r/.git/HEAD", "");
    disk.write("r/.gitignore",
               "# made\n*.gen.yaml\n!keep.gen.yaml\n/top.yaml\nout/\nd/**/z.yaml\n");
    disk.write("r/d/.gitignore", "!a.gen.yaml\n");
    for (const char* path :
         {"r/a.gen.yaml", "r/keep.gen.yaml", "r/top.yaml", "r/out/x.yaml", "r/d/top.yaml",
          "r/d/a.gen.yaml", "r/d/b.gen.yaml", "r/d/e/f/z.yaml", "r/d/z.yaml"}) {
      disk.write(path, "");
    }
    CHECK(found(disk, {"r"}) == "r/d/a.gen.yaml:yaml r/d/top.yaml:yaml r/keep.gen.yaml:yaml ");
    CHECK(found(disk, {"r/d"}) == "r/d/a.gen.yaml:yaml r/d/top.yaml:yaml ");
    CHECK(found(disk, {"r/top.yaml"}) == "r/top.yaml:yaml! ");
  }

  TEST_CASE("globs of paths") {
    struct Row {
      const char *pattern, *path;
      bool match;
    };
    const Row rows[] = {
        {"*.yaml", "a.yaml", true},
        {"*.yaml", "d/a.yaml", false},
        {"**/a", "a", true},
        {"**/a", "x/y/a", true},
        {"**/a", "xa", false},
        {"a/**", "a/b/c", true},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"?.c", "x.c", true},
        {"?", "/", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[]]", "]", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a*b*c*d*e*", "abcde", true},
        {"[", "[", true},
        {"*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };
    for (const Row& row : rows) {
      CAPTURE(row.pattern);
      CAPTURE(row.path);
      CHECK(path_glob_match(row.pattern, row.path) == row.match);
    }
  }
}
