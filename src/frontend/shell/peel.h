#pragma once
// From a command's words to the program behind its launchers and wrappers.

#include <optional>
#include <vector>

#include "frontend/shell/launcher.h"

namespace shardlint::shell {

// What the launchers say; later ones (nearer to the program) win.
struct World {
  std::optional<Word> nodes, per_node, tasks, tasks_per_node, gpus;
  bool launcher = false;  // torchrun and the like: one process a GPU
  bool slurm = false;
  bool uncertain = false;  // words that are not known stand where options may be
  std::vector<Environment> environment;
};

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
  bool accelerate(std::size_t i, World& world, Launch& out);
  void wrapper_options(std::size_t begin, std::size_t end, std::string_view name, World& world);
  std::optional<std::size_t> next_program(std::size_t from) const;
  static void set_environment(World& world, const Word& assignment);
  static void set_environment_json(World& world, const Word& json);

  const std::vector<Word>& words_;
};

}  // namespace shardlint::shell
