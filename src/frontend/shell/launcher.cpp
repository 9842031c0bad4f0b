#include "frontend/shell/launcher.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/strings.h"
#include "frontend/shell/program.h"

namespace shardlint::shell {
namespace {

using Names = std::initializer_list<std::string_view>;

bool one_of(std::string_view word, Names all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::string base_name(const Word& word) {
  return file_name(word.text());
}

bool is_python(std::string_view name) {
  if (name.substr(0, 6) != "python") {
    return name == "pypy" || name == "pypy3";
  }
  return name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

// Programs that run the words after them. What they take as options is only partly of interest;
// the program is found by its name.
bool is_wrapper(std::string_view name) {
  return one_of(
      name,
      {"srun",   "mpirun", "mpiexec", "nohup",   "docker",   "podman",   "apptainer", "singularity",
       "env",    "sudo",   "timeout", "numactl", "ssh",      "ray",      "uv",        "kubectl",
       "setsid", "stdbuf", "nice",    "taskset", "pdsh",     "enroot",   "xargs",     "salloc",
       "nsys",   "time",   "sbatch",  "exec",    "coverage", "ncu",      "bash",      "sh",
       "pixi",   "poetry", "conda",   "hatch",   "script",   "unbuffer", "command"});
}

bool is_launcher(std::string_view name) {
  return one_of(name, {"torchrun", "torchrun_main", "accelerate", "deepspeed"});
}

// Options that consume the next word, spelled with hyphens.
constexpr std::array torchrun_values = {"nnodes",
                                        "nproc-per-node",
                                        "rdzv-backend",
                                        "rdzv-endpoint",
                                        "rdzv-id",
                                        "rdzv-conf",
                                        "max-restarts",
                                        "monitor-interval",
                                        "start-method",
                                        "event-log-handler",
                                        "role",
                                        "log-dir",
                                        "logs-specs",
                                        "redirects",
                                        "tee",
                                        "local-ranks-filter",
                                        "node-rank",
                                        "master-addr",
                                        "master-port",
                                        "local-addr",
                                        "numa-binding",
                                        "signals-to-handle",
                                        "duplicate-stdout-filters",
                                        "duplicate-stderr-filters"};
constexpr std::array torchrun_flags = {"standalone",         "module", "no-python", "run-path",
                                       "virtual-local-rank", "use-env"};
constexpr std::array deepspeed_values = {
    "hostfile",          "include",       "exclude",     "num-nodes",      "min-elastic-nodes",
    "max-elastic-nodes", "num-gpus",      "master-port", "master-addr",    "node-rank",
    "launcher",          "launcher-args", "autotuning",  "bind-core-list", "ssh-port",
    "venv-script",       "save-pid"};
constexpr std::array accelerate_flags = {"cpu",
                                         "multi-gpu",
                                         "tpu",
                                         "ipex",
                                         "quiet",
                                         "module",
                                         "no-python",
                                         "debug",
                                         "use-fsdp",
                                         "use-deepspeed",
                                         "use-megatron-lm",
                                         "use-xpu",
                                         "same-network",
                                         "rdzv-conf-flag",
                                         "monitor",
                                         "enable-cpu-affinity",
                                         "use-parallelism-config",
                                         "mixed-precision-flag"};

struct Option {
  std::string name;  // hyphens, without the leading ones
  Word value;
  bool has_value = false;
  Word word;
};

// What the launchers say; later ones (nearer to the program) win.
struct World {
  std::optional<Word> nodes, per_node, tasks, tasks_per_node, gpus;
  bool launcher = false;  // torchrun and the like: one process a GPU
  bool slurm = false;
  bool uncertain = false;  // words that are not known stand where options may be
  std::vector<Environment> environment;
};

std::string hyphenated(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

class Peeler {
 public:
  explicit Peeler(const std::vector<Word>& words) : words_(words) {}
  // From `i`: fills the program. False when there is none.
  bool run(std::size_t i, World& world, Launch& out, int depth = 0);
  void wrappers_only(World& world);

 private:
  bool script_or_module(std::size_t i, bool module, Launch& out);
  bool python(std::size_t i, World& world, Launch& out, int depth);
  bool torchrun(std::size_t i, World& world, Launch& out, int depth, bool deepspeed);
  bool accelerate(std::size_t i, World& world, Launch& out, int depth);
  void wrapper_options(std::size_t begin, std::size_t end, std::string_view name, World& world);
  std::optional<std::size_t> next_program(std::size_t from) const;
  static void set_environment(World& world, const Word& assignment);
  static void set_environment_json(World& world, const Word& json);

  const std::vector<Word>& words_;
};

void Peeler::set_environment(World& world, const Word& assignment) {
  const std::string text = assignment.text();
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || assignment.conditional) {
    return;
  }
  Environment entry;
  entry.name = text.substr(0, equals);
  entry.value = assignment.slice(equals + 1);
  entry.set_at = assignment.span();
  entry.prefix = true;
  world.environment.push_back(std::move(entry));
}

// ray job submit --runtime-env-json '{"env_vars": {"NAME": "value"}}'
void Peeler::set_environment_json(World& world, const Word& json) {
  const std::string text = json.text();
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("env_vars") || !parsed["env_vars"].is_object()) {
    return;
  }
  for (const auto& [name, value] : parsed["env_vars"].items()) {
    if (!value.is_string()) {
      continue;
    }
    const std::string plain = value.get<std::string>();
    std::size_t at = text.find('"' + name + '"');
    at = at == std::string::npos ? at : text.find('"' + plain + '"', at + name.size() + 2);
    Environment entry;
    entry.name = name;
    entry.value = at == std::string::npos ? json : json.slice(at + 1, at + 1 + plain.size());
    entry.set_at = entry.value.span();
    entry.prefix = true;
    if (entry.value.text() == plain) {
      world.environment.push_back(std::move(entry));
    }
  }
}

std::optional<std::size_t> Peeler::next_program(std::size_t from) const {
  for (std::size_t i = from; i < words_.size(); ++i) {
    const std::string name = base_name(words_[i]);
    if (i > 0 && one_of(words_[i - 1].text(), {"--python", "-p"})) {
      continue;  // which interpreter uv is to use
    }
    if (is_python(name) || is_launcher(name) ||
        (name.ends_with(".py") && words_[i].text()[0] != '-' &&
         name.find_first_of("=:") == std::string::npos)) {
      return i;
    }
    if (is_wrapper(name) && words_[i].text().find('=') == std::string::npos && name != "script" &&
        name != "time") {
      return i;
    }
    if (i > 0 && (words_[i].text() == "-m" || words_[i].text() == "--module") &&
        i + 1 < words_.size() && words_[i + 1].text().find('.') != std::string::npos) {
      return i;  // uv run -m package.module
    }
  }
  return std::nullopt;
}

void Peeler::wrapper_options(std::size_t begin, std::size_t end, std::string_view name,
                             World& world) {
  world.slurm = world.slurm || name == "srun" || name == "mpirun" || name == "mpiexec";
  for (std::size_t i = begin; i < end; ++i) {
    const std::string text = words_[i].text();
    std::string option = text;
    std::optional<Word> value;
    const std::size_t equals = text.find('=');
    if (text.substr(0, 2) == "--" && equals != std::string::npos) {
      option = text.substr(0, equals);
      value = words_[i].slice(equals + 1);
    } else if (text.size() > 2 && text[0] == '-' && text[1] != '-' &&
               one_of(name, {"srun", "sbatch", "salloc"}) &&
               std::isdigit(static_cast<unsigned char>(text[2]))) {
      option = text.substr(0, 2);  // -N4
      value = words_[i].slice(2);
    } else if (i + 1 < end) {
      value = words_[i + 1];
    }
    if (one_of(name, {"srun", "sbatch", "salloc"}) && value) {
      if (option == "--nodes" || option == "-N") {
        world.nodes = value;
      } else if (option == "--ntasks" || option == "-n") {
        world.tasks = value;
      } else if (option == "--ntasks-per-node") {
        world.tasks_per_node = value;
      } else if (option == "--gpus-per-node") {
        world.gpus = value;
      } else if (option == "--export") {  // ALL,NAME=value,...
        const std::string whole = value->text();
        for (const std::string_view part : split(whole, ',')) {
          if (part.find('=') != std::string_view::npos) {
            const std::size_t at = static_cast<std::size_t>(part.data() - whole.data());
            set_environment(world, value->slice(at, at + part.size()));
          }
        }
      }
    } else if (one_of(name, {"mpirun", "mpiexec"}) && value) {
      if (one_of(option, {"-np", "-n", "--np", "-c"})) {
        world.tasks = value;
      } else if (option == "-x" || option == "--x") {
        set_environment(world, *value);
      }
    } else if (one_of(name, {"docker", "podman"}) && value) {
      if (option == "-e" || option == "--env") {
        set_environment(world, *value);
      }
    } else if (name == "env") {
      if (text == "-u" && value) {
        Environment gone;
        gone.name = value->text();
        gone.set_at = value->span();
        gone.unset = true;
        world.environment.push_back(std::move(gone));
        ++i;
      } else if (equals != std::string::npos && text[0] != '-') {
        set_environment(world, words_[i]);
      }
    } else if (name == "ray" && option == "--runtime-env-json" && value) {
      set_environment_json(world, *value);
    }
  }
}

bool Peeler::script_or_module(std::size_t i, bool module, Launch& out) {
  if (i >= words_.size()) {
    return false;
  }
  out.module = module;
  out.program = words_[i].known() ? words_[i].text() : words_[i].shown();
  out.program_span = words_[i].span();
  out.arguments.assign(words_.begin() + static_cast<std::ptrdiff_t>(i) + 1, words_.end());
  out.launcher.insert(out.launcher.end(), words_.begin(),
                      words_.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

bool Peeler::python(std::size_t i, World& world, Launch& out, int depth) {
  for (++i; i < words_.size(); ++i) {
    const std::string text = words_[i].text();
    if (text == "-c" || text == "-") {
      return false;
    }
    if (text == "-W" || text == "-X") {
      ++i;
      continue;
    }
    if (text == "-m" || (text.size() > 2 && text[0] == '-' && text[1] != '-' &&
                         text.back() == 'm' && text.size() < 5)) {
      if (i + 1 >= words_.size()) {
        return false;
      }
      const std::string module = words_[i + 1].text();
      if (one_of(module, {"torch.distributed.run", "torch.distributed.launch"})) {
        return torchrun(i + 1, world, out, depth, false);
      }
      if (module == "accelerate.commands.launch") {
        return accelerate(i + 1, world, out, depth);
      }
      if (module == "deepspeed.launcher.runner") {
        return torchrun(i + 1, world, out, depth, true);
      }
      if (module == "coverage") {
        const auto next = next_program(i + 2);
        return next && run(*next, world, out, depth + 1);
      }
      return script_or_module(i + 1, true, out);
    }
    if (text.size() > 1 && text[0] == '-') {
      continue;
    }
    if (words_[i].open) {
      world.uncertain = true;
      continue;
    }
    // LAUNCH=(python3), or under some condition LAUNCH=(uv run python3): the other way to start.
    const std::string name = base_name(words_[i]);
    if (words_[i].conditional && depth < 12 &&
        (is_python(name) || is_launcher(name) || is_wrapper(name))) {
      return run(i, world, out, depth + 1);
    }
    return script_or_module(i, false, out);
  }
  return false;
}

template <std::size_t N>
bool has_prefix_of(const std::array<const char*, N>& table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](std::string_view row) {
    return row == name || (name.size() > 4 && row.substr(0, name.size()) == name);
  });
}

bool Peeler::torchrun(std::size_t i, World& world, Launch& out, int depth, bool deepspeed) {
  world.launcher = true;
  if (!deepspeed) {
    world.nodes.reset();  // torchrun's own word counts, its default is one
  }
  bool module = false;
  for (++i; i < words_.size(); ++i) {
    const std::string text = words_[i].text();
    if (text == "-m") {
      module = true;
      continue;
    }
    if (text.size() < 2 || text[0] != '-') {
      if (words_[i].open) {
        world.uncertain = true;  // may hold options
        continue;
      }
      break;
    }
    if (text == "--") {
      ++i;
      break;
    }
    const std::size_t equals = text.find('=');
    const std::string name = hyphenated(text.substr(
        text.find_first_not_of('-'),
        equals == std::string::npos ? std::string::npos : equals - text.find_first_not_of('-')));
    if (name == "module") {
      module = true;
      continue;
    }
    if (name == "no-python") {
      const auto next = next_program(i + 1);
      return next && run(*next, world, out, depth + 1);
    }
    std::optional<Word> value;
    if (equals != std::string::npos) {
      value = words_[i].slice(equals + 1);
    } else if (deepspeed ? has_prefix_of(deepspeed_values, name)
                         : (text[1] != '-' ? one_of(text, {"-r", "-t"})
                                           : has_prefix_of(torchrun_values, name) &&
                                                 !has_prefix_of(torchrun_flags, name))) {
      if (i + 1 >= words_.size()) {
        return false;
      }
      value = words_[++i];
    }
    if (!value) {
      continue;
    }
    if (words_[i].conditional) {
      world.uncertain = true;
    }
    if (name == "nnodes" || name == "num-nodes") {
      world.nodes = value;
    } else if (name.substr(0, 10) == "nproc-per-" || name == "nproc-per-node" ||
               name == "num-gpus") {
      world.per_node = value;
    }
  }
  if (i >= words_.size()) {
    return false;
  }
  if (module && words_[i].text() == "coverage") {
    const auto next = next_program(i + 1);
    return next && run(*next, world, out, depth + 1);
  }
  return script_or_module(i, module, out);
}

bool Peeler::accelerate(std::size_t i, World& world, Launch& out, int depth) {
  (void)depth;
  world.launcher = true;
  for (++i; i < words_.size(); ++i) {
    const std::string text = words_[i].text();
    if (text == "launch" || text.empty()) {
      continue;
    }
    if (text == "-m") {
      return script_or_module(i + 1, true, out);
    }
    if (text[0] != '-') {
      if (words_[i].open) {
        world.uncertain = true;
        continue;
      }
      return script_or_module(i, false, out);
    }
    const std::size_t equals = text.find('=');
    const std::size_t start = text.find_first_not_of('-');
    if (start == std::string::npos) {
      continue;
    }
    const std::string name = hyphenated(
        text.substr(start, equals == std::string::npos ? std::string::npos : equals - start));
    if (name == "module") {
      return script_or_module(i + 1, true, out);
    }
    std::optional<Word> value;
    if (equals != std::string::npos) {
      value = words_[i].slice(equals + 1);
    } else if (!has_prefix_of(accelerate_flags, name) && i + 1 < words_.size()) {
      value = words_[++i];
    }
    if (value && name == "num-processes") {
      world.tasks = value;
    } else if (value && name == "num-machines") {
      world.nodes = value;
    }
  }
  return false;
}

bool Peeler::run(std::size_t i, World& world, Launch& out, int depth) {
  if (i >= words_.size() || depth > 12) {
    return false;
  }
  const Word& word = words_[i];
  const std::string text = word.text(), name = base_name(word);
  if (is_python(name)) {
    return python(i, world, out, depth);
  }
  if (name == "torchrun" || name == "torchrun_main") {
    return torchrun(i, world, out, depth, false);
  }
  if (name == "deepspeed") {
    return torchrun(i, world, out, depth, true);
  }
  if (name == "accelerate") {
    return accelerate(i, world, out, depth);
  }
  if ((text == "-m" || text == "--module") && i > 0) {
    return python(i - 1, world, out, depth);
  }
  if (name.ends_with(".py")) {
    return script_or_module(i, false, out);
  }
  if (is_wrapper(name)) {
    std::optional<std::size_t> next = next_program(i + 1);
    wrapper_options(i + 1, next ? *next : words_.size(), name, world);
    return next && run(*next, world, out, depth + 1);
  }
  if (!word.known()) {  // $LAUNCHER python x.py
    world.uncertain = true;
    const std::optional<std::size_t> next = next_program(i + 1);
    return next && run(*next, world, out, depth + 1);
  }
  return false;
}

void Peeler::wrappers_only(World& world) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::string name = base_name(words_[i]);
    if (!is_wrapper(name)) {
      continue;
    }
    std::size_t end = i + 1;
    while (end < words_.size() && !is_wrapper(base_name(words_[end]))) {
      ++end;
    }
    wrapper_options(i + 1, end, name, world);
    i = end - 1;
  }
}

std::optional<std::int64_t> count_of(const std::optional<Word>& word) {
  if (!word || !word->known()) {
    return std::nullopt;
  }
  const std::optional<long long> value = to_integer(word->text());
  return value && *value > 0 && *value < 10000000 ? std::optional<std::int64_t>(*value)
                                                  : std::nullopt;
}

Fact count_fact(std::string key, const Word& word, std::int64_t fallback_never) {
  (void)fallback_never;
  Fact fact;
  fact.key = std::move(key);
  fact.value_span = fact.key_span = word.span();
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
    nodes = count_fact("nnodes", *world.nodes, 0);
  }
  if (world.launcher) {
    if (!nodes && !world.uncertain) {
      nodes = plain("nnodes", 1);
    }
    if (world.per_node) {
      per_node = count_fact("nproc_per_node", *world.per_node, 0);
    } else if (world.tasks) {
      size = count_fact("world_size", *world.tasks, 0);
    } else if (!world.uncertain) {
      per_node = plain("nproc_per_node", 1);
    }
  } else if (world.slurm) {
    if (world.tasks_per_node) {
      per_node = count_fact("nproc_per_node", *world.tasks_per_node, 0);
    }
    if (world.tasks) {
      size = count_fact("world_size", *world.tasks, 0);
    }
  } else if (!world.uncertain && out.framework == "megatron-lm") {
    // No launcher: one process, unless the environment was prepared by hand.
    size = plain("world_size", 1);
    for (const Environment& each : out.environment) {
      if (each.name == "WORLD_SIZE" && each.exported && !each.unset) {
        size = count_fact("world_size", each.value, 0);
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
    fact.value_span = each.unset ? each.set_at : each.value.span();
    fact.origin = Origin::environment;
    if (each.value.env_default) {
      fact.note = "a default: the environment may say otherwise";
    }
    out.facts.push_back(std::move(fact));
  }
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
