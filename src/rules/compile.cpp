// Build-time program: rule files in, the compiled block and an assembler file that includes it out.
// A fault in a rule file fails the build with its place.
//
//   compile-rules FOLDER BLOCK ASSEMBLER DEPFILE

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "rules/load.h"
#include "rules/pack.h"

namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) {
    throw shardlint::Error("cannot write " + path);
  }
}

int compile(const std::string& folder, const std::string& block, const std::string& assembler,
            const std::string& depfile) {
  using namespace shardlint;
  rules::Pool pool;
  const rules::Loaded loaded = rules::load_rules(RealDisk(), folder, pool);
  if (!loaded.faults.empty()) {
    std::fputs(rules::fault_text(loaded.faults).c_str(), stderr);
    return 1;
  }
  write(block, rules::pack(loaded.rules));
  write(assembler,
        ".section .rodata\n.balign 8\n"
        ".globl shardlint_rules_begin\nshardlint_rules_begin:\n.incbin \"" +
            std::filesystem::absolute(block).string() +
            "\"\n.globl shardlint_rules_end\nshardlint_rules_end:\n"
            ".section .note.GNU-stack,\"\",%progbits\n");
  std::string dependencies = assembler + ":";
  for (const std::string& file : loaded.files) {
    dependencies += " \\\n  " + file;
  }
  write(depfile, dependencies + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: compile-rules FOLDER BLOCK ASSEMBLER DEPFILE\n", stderr);
    return 2;
  }
  try {
    return compile(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile-rules: %s\n", error.what());
    return 1;
  }
}
