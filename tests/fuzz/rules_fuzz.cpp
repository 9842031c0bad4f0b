// Any text as a rule file and as a program of rewrites. What must hold: faults lie in the text, and
// what loads without one can be packed, read back, run on its own examples and mutated.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "rules/examples.h"
#include "rules/load.h"
#include "rules/pack.h"

using namespace shardlint;

namespace {

void check_faults(const std::vector<rules::Fault>& faults) {
  for (const rules::Fault& fault : faults) {
    ensure(!fault.message.empty(), "a fault without a word");
    ensure(fault.where.begin.offset <= fault.where.end.offset, "a fault ends before it begins");
  }
  rules::fault_text(faults);
}

constexpr const char* stages =
    "schema: shardlint/program@1\nframework: megatron-lm\nstages: [parse, validate]\nsteps: []\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20'000) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool program = text.find("shardlint/program") != std::string::npos;
  MemoryDisk disk;
  disk.write("rules/rewrites/megatron-lm.yaml", program ? text : stages);
  if (!program) {
    disk.write("rules/fsdp/rule.yaml", text);
  }
  rules::Pool pool;
  const rules::Loaded loaded = rules::load_rules(disk, "rules", pool);
  check_faults(loaded.faults);
  if (!loaded.faults.empty()) {
    return 0;
  }
  const std::string packed = rules::pack(loaded.rules);
  rules::Pool blocks;  // 8-byte aligned, as the block in the executable is
  const std::string_view block = blocks.keep(packed);
  if (reinterpret_cast<std::uintptr_t>(block.data()) % 8 == 0) {
    rules::RuleSet back = rules::unpack(block);
    const std::string texts = rules::unpack_examples(block, back);
    ensure(rules::pack(back) == packed, "a packed rule reads back as another");
  }
  for (const rules::Rule& rule : loaded.rules.rules) {
    rules::run_examples(loaded.rules, rule);
    rules::run_mutants(loaded.rules, rule);
  }
  return 0;
}
