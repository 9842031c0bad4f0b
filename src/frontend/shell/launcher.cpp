#include "frontend/shell/launcher.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "frontend/shell/peel.h"
#include "frontend/shell/program.h"

namespace shardlint::shell {
namespace {

std::optional<std::int64_t> count_of(const std::optional<Word>& word) {
  if (!word || !word->known()) {
    return std::nullopt;
  }
  const std::optional<long long> value = to_integer(word->text());
  return value && *value > 0 && *value < 10000000 ? std::optional<std::int64_t>(*value)
                                                  : std::nullopt;
}

Fact count_fact(std::string key, const Word& word) {
  Fact fact;
  fact.key = std::move(key);
  fact.value_span = fact.key_span = word.place();
  fact.origin = Origin::set;
  if (const auto count = count_of(word)) {
    fact.value = *count;
  } else if (!word.known()) {
    fact.value = word.value();
  } else {  // gpu, auto, 1:4
    fact.value = unknown(Reason::machine, word.text(), word.span());
  }
  if (word.env_default) {
    fact.note = "a default: the environment may say otherwise";
  }
  return fact;
}

void add_world(const World& world, Launch& out) {
  const Span at = out.span;
  const auto plain = [&](const char* key, std::int64_t value) {
    Fact fact;
    fact.key = key;
    fact.value = value;
    fact.key_span = fact.value_span = at;
    fact.origin = Origin::default_value;
    return fact;
  };
  std::optional<Fact> nodes, per_node, size;
  if (world.nodes) {
    nodes = count_fact("nnodes", *world.nodes);
  }
  if (world.launcher) {
    if (!nodes && !world.uncertain) {
      nodes = plain("nnodes", 1);
    }
    if (world.per_node) {
      per_node = count_fact("nproc_per_node", *world.per_node);
    } else if (world.tasks) {
      size = count_fact("world_size", *world.tasks);
    } else if (!world.uncertain) {
      per_node = plain("nproc_per_node", 1);
    }
  } else if (world.slurm) {
    if (world.tasks_per_node) {
      per_node = count_fact("nproc_per_node", *world.tasks_per_node);
    }
    if (world.tasks) {
      size = count_fact("world_size", *world.tasks);
    }
  } else if (!world.uncertain && out.framework == "megatron-lm") {
    // No launcher: one process, unless the environment was prepared by hand.
    size = plain("world_size", 1);
    for (const Environment& each : out.environment) {
      if (each.name == "WORLD_SIZE" && each.exported && !each.unset) {
        size = count_fact("world_size", each.value);
      }
    }
  }
  if (!size && nodes && per_node) {
    const std::int64_t* a = nodes->value.if_integer();
    const std::int64_t* b = per_node->value.if_integer();
    Fact fact;
    fact.key = "world_size";
    fact.key_span = fact.value_span = per_node->value_span;
    fact.origin = Origin::computed;
    fact.note = !nodes->note.empty() ? nodes->note : per_node->note;
    fact.value = a && b ? Value(*a * *b) : !a ? nodes->value : per_node->value;
    if (!a || !b) {
      Unknown why = *fact.value.if_unknown();
      why.domain.clear();
      why.not_null = true;
      fact.value = why;
    }
    size = std::move(fact);
  }
  for (std::optional<Fact>* fact : {&nodes, &per_node, &size}) {
    if (*fact) {
      out.facts.push_back(std::move(**fact));
    }
  }
}

void add_environment(World& world, const Command& command, Launch& out) {
  if (command.environment) {
    out.environment = *command.environment;
  }
  for (Environment& each : world.environment) {
    const auto at = std::find_if(out.environment.begin(), out.environment.end(),
                                 [&](const Environment& e) { return e.name == each.name; });
    if (at != out.environment.end()) {
      *at = std::move(each);
    } else {
      out.environment.push_back(std::move(each));
    }
  }
  std::sort(out.environment.begin(), out.environment.end(),
            [](const Environment& a, const Environment& b) { return a.name < b.name; });
  for (const Environment& each : out.environment) {
    if (!each.exported) {
      continue;
    }
    Fact fact;
    fact.key = "env." + each.name;
    fact.value = each.unset ? Value() : each.value.value();
    fact.key_span = each.set_at;
    fact.value_span = each.unset ? each.set_at : each.value.place();
    fact.origin = Origin::environment;
    if (each.value.env_default) {
      fact.note = "a default: the environment may say otherwise";
    }
    out.facts.push_back(std::move(fact));
  }
}

// "$@", "${@:2}" or an array that holds it, of arguments that were not given.
bool is_passed_on(const Word& word) {
  return word.open && !word.pieces.empty() &&
         std::all_of(word.pieces.begin(), word.pieces.end(), [](const Piece& piece) {
           if (!piece.unknown || piece.unknown->reason != Reason::argument) {
             return false;
           }
           const std::string_view name = piece.unknown->detail;
           return name.starts_with("$@") || name.starts_with("$*") || name.starts_with("${@") ||
                  name.starts_with("${*");
         });
}

std::optional<Launch> launch_of(const Command& command) {
  World world;
  Launch out;
  for (const std::vector<Word>& around : command.around) {
    Peeler(around).wrappers_only(world);
    out.launcher.insert(out.launcher.end(), around.begin(), around.end());
  }
  out.span = command.span;
  out.chain = command.chain;
  out.conditional = command.conditional;
  out.condition = command.condition;
  out.piped_to = command.piped_to;
  if (!Peeler(command.words).run(0, world, out)) {
    return std::nullopt;
  }
  if (command.headers && world.slurm && !world.launcher) {
    for (const Header& header : *command.headers) {
      const std::string option = header.option.text();
      std::optional<Word>* const slot = option == "--nodes" || option == "-N" ? &world.nodes
                                        : option == "--ntasks-per-node" ? &world.tasks_per_node
                                        : option == "--ntasks" || option == "-n" ? &world.tasks
                                                                                 : nullptr;
      if (slot && !*slot) {
        *slot = header.value;
      }
    }
  }
  std::erase_if(out.arguments, [&](const Word& word) {
    const bool nothing = is_passed_on(word);
    out.passed_on = nothing ? word.place() : out.passed_on;
    return nothing;
  });
  out.framework = framework_of(out);
  add_environment(world, command, out);
  add_world(world, out);
  return out;
}

}  // namespace

bool is_launch(const Command& command) {
  World world;
  Launch out;
  return !command.words.empty() && Peeler(command.words).run(0, world, out) &&
         is_training(out.program, out.module);
}

std::vector<Launch> launches(const Evaluation& evaluation, bool all) {
  std::vector<Launch> out;
  for (const Command& command : evaluation.commands) {
    std::optional<Launch> launch = launch_of(command);
    if (launch && (all || !launch->framework.empty())) {
      out.push_back(std::move(*launch));
    }
  }
  if (out.size() > 1) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].instance = "command " + std::to_string(i + 1);
    }
  }
  return out;
}

}  // namespace shardlint::shell
