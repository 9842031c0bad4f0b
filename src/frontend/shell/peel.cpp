#include "frontend/shell/peel.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/strings.h"

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

std::string hyphenated(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

template <std::size_t N>
bool has_prefix_of(const std::array<const char*, N>& table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](std::string_view row) {
    return row == name || (name.size() > 4 && row.substr(0, name.size()) == name);
  });
}

}  // namespace

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
  if (module && words_[i].text() == "verl_mlite.launch" && i + 1 < words_.size()) {
    return script_or_module(i + 1, true, out);  // registers its files, then runs the module
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
        return accelerate(i + 1, world, out);
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

bool Peeler::accelerate(std::size_t i, World& world, Launch& out) {
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
    return accelerate(i, world, out);
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

}  // namespace shardlint::shell
