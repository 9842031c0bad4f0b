// Fixes in rule files: what a rule may name, which role's key that is, and the edit that comes of
// it.
#include <doctest/doctest.h>

#include "base/files.h"
#include "rules/load.h"
#include "rules/pack.h"

using namespace shardlint;
using namespace shardlint::rules;

namespace {

// A verl rule with one case, bound to roles, and what stands behind it.
std::string rule_text(const std::string& end, const std::string& bind = "[actor, critic]") {
  return "schema: shardlint/rule@1\nid: ABC101\nname: a-rule\ncategory: c\nsummary: s\n"
         "rationale: r\nlet: {kept: trainer.device, sum: trainer.nnodes + 1}\ncases:\n"
         "  - id: one\n    for: {verl: \"\"}\n    stage: validate\n    bind: " +
         bind +
         "\n    when: E.use_megatron_fsdp\n    require: E.param_offload == false\n    evidence:\n"
         "      - {repo: r, commit: c, path: p, lines: 1}\n"
         "message: m\nlabels: {primary: []}\n" +
         end;
}

Loaded load(const std::string& text) {
  static Pool pool;
  MemoryDisk disk;
  disk.write("rules/a.yaml", text);
  const auto program = RealDisk().read(std::string(std::getenv("SHARDLINT_SOURCE_ROOT")) +
                                       "/rules/rewrites/verl.yaml");
  REQUIRE(program);
  disk.write("rules/rewrites/verl.yaml", *program);
  return load_rules(disk, "rules", pool, RuleSet{});
}

std::string fix(const std::string& edit, const std::string& more = "") {
  return "fixes:\n  - {title: t, edit: {" + edit + "}" + more + "}\n";
}

}  // namespace

TEST_SUITE("rule-fixes") {
  TEST_CASE("a fix names what the case's conditions name") {
    struct Row {
      std::string edit, actor, critic;
    };
    for (const Row& row : {
             Row{"set: {E.param_offload: false}", "actor_rollout_ref.actor.megatron.param_offload",
                 "critic.megatron.param_offload"},
             Row{"remove: [E.param_offload]", "actor_rollout_ref.actor.megatron.param_offload",
                 "critic.megatron.param_offload"},
             Row{"set: {C.async_save: false}", "actor_rollout_ref.actor.checkpoint.async_save",
                 "critic.checkpoint.async_save"},
             Row{"set: {trainer.device: kept}", "trainer.device", "trainer.device"},
             Row{"set: {kept: \"\\\"cuda\\\"\"}", "kept", "kept"},
             Row{"set: {env.NAME: \"\\\"1\\\"\"}", "env.NAME", "env.NAME"},
         }) {
      CAPTURE(row.edit);
      const Loaded loaded = load(rule_text(fix(row.edit)));
      CHECK(fault_text(loaded.faults) == "");
      REQUIRE(loaded.rules.rules.size() == 1);
      const auto& cases = loaded.rules.rules.front().cases;
      REQUIRE(cases.size() == 2);
      CHECK(cases[0].fixes.at(0).edits.at(0).target == row.actor);
      CHECK(cases[1].fixes.at(0).edits.at(0).target == row.critic);
    }
  }

  TEST_CASE("what it cannot name is a fault with its place, told once") {
    struct Row {
      std::string end, fault;
    };
    for (const Row& row : {
             Row{fix("set: {E.param_offlaod: false}"),
                 "rules/a.yaml:20:29: `E.param_offlaod` (`actor_rollout_ref.actor.megatron."
                 "param_offlaod`) is no key of verl and no name of case one\n"
                 "rules/a.yaml:20:29: `E.param_offlaod` (`critic.megatron.param_offlaod`) is no "
                 "key of verl and no name of case one\n"},
             Row{fix("set: {keptt: 1}"),
                 "rules/a.yaml:20:29: `keptt` is no key of verl and no name of case one\n"},
             Row{fix("set: {sum: 1}"),
                 "rules/a.yaml:20:29: `sum` names an expression, which nothing can set\n"},
             Row{fix("remove: [Z.key]"),
                 "rules/a.yaml:20:22: `Z.key` is no key of verl and no name of case one\n"},
             Row{fix("set: {kept: 1 +}"),
                 "rules/a.yaml:20:38: in `1 +`: expected a value, got the end\n"},
             Row{fix(""),
                 "rules/a.yaml:20:22: expected `set` with keys and their values, or "
                 "`remove` with keys\n"},
             Row{fix("set: {kept: 1}", ", only: two"),
                 "rules/a.yaml:20:5: no case is called `two`\n"},
             Row{fix("set: {kept: 1}", ", onyl: one"),
                 "rules/a.yaml:20:40: a fix has no field `onyl`; did you mean `only`?\n"},
             Row{fix("set: {kept: 1}", ", safety: sure"),
                 "rules/a.yaml:20:48: `safety` must be one of safe, unsafe, display; got `sure`\n"},
             Row{"fixes: []\n", "rules/a.yaml:19:8: expected a list of fixes\n"},
             Row{"no_fix: nothing\n",
                 "rules/a.yaml:19:9: `no_fix` must be one of number, name, path, model, layout, "
                 "package, hardware, file, group, command, upstream, note; got `nothing`\n"},
             Row{fix("set: {kept: 1}") + "no_fix: path\n",
                 "rules/a.yaml:21:9: a rule has `fixes` or `no_fix`, not both\n"},
         }) {
      CAPTURE(row.end);
      CHECK(fault_text(load(rule_text(row.end)).faults) == row.fault);
    }
  }

  TEST_CASE("a fix is for the cases that it names") {
    const Loaded loaded = load(rule_text(fix("set: {kept: 1}", ", only: [one]") +
                                         "  - {title: u, edit: {remove: [kept]}, safety: safe}\n"));
    CHECK(fault_text(loaded.faults) == "");
    for (const Case& check : loaded.rules.rules.front().cases) {
      REQUIRE(check.fixes.size() == 2);
      CHECK(check.fixes[0].otherwise == Safety::unsafe);
      CHECK(check.fixes[1].otherwise == Safety::safe);
      CHECK(check.fixes[1].edits.front().value.empty());
    }
  }

  TEST_CASE("a rule without a fix says why, and keeps it in the compiled block") {
    const Loaded loaded = load(rule_text("no_fix: path\n"));
    CHECK(fault_text(loaded.faults) == "");
    const std::string block = pack(loaded.rules);
    CHECK(unpack(block).rules.front().no_fix == "path");
    for (const NoFixReason& reason : no_fix_reasons()) {
      CHECK(!reason.text.empty());
    }
  }
}
