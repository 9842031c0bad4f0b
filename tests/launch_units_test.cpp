#include <doctest/doctest.h>

#include "lint/judge.h"
#include "lint/units.h"

using namespace shardlint;

namespace {

// What a script at job/run.sh is read as, beside other files.
struct Read {
  MemoryDisk disk;
  Sources sources;
  ReadFile file;
  Options options;
  explicit Read(const std::string& script, const std::map<std::string, std::string>& files = {},
                Options with = {})
      : Read({"job/run.sh", FileKind::shell, true}, script, files, std::move(with)) {}
  Read(const FoundFile& found, const std::string& text,
       const std::map<std::string, std::string>& files, Options with)
      : options(std::move(with)) {
    disk.write(found.path, text);
    for (const auto& [path, other] : files) {
      disk.write(path, other);
    }
    Bench bench(disk, options);
    file = read_file(found, text, sources, bench);
  }
  // "value at file:line", of the last unit.
  std::string key(const std::string& name) const {
    if (file.units.empty()) {
      return "no unit";
    }
    const Config& config = file.units.back().config;
    const Entry* entry = config.find(name);
    if (!entry) {
      return "absent";
    }
    const Step* step = entry->written();
    const Span at = step ? (step->value_span ? step->value_span : step->key_span) : Span{};
    std::string out = entry->value().text();
    if (at) {
      const Location where = locate(at);
      out += " at " + where.file + ":" + std::to_string(where.begin.line);
    }
    return out;
  }
  std::vector<Diagnostic> found() const {
    std::vector<Diagnostic> out = file.diagnostics;
    const RuleBook book(options);
    for (const Unit& unit : file.units) {
      for (Diagnostic& each : judge(unit, book)) {
        out.push_back(std::move(each));
      }
    }
    return out;
  }
  std::string errors() const {
    std::string out;
    for (const Diagnostic& d : found()) {
      if (d.severity == Severity::error) {
        out += (out.empty() ? "" : " ") + d.code + ":" + std::to_string(d.where.begin.line);
      }
    }
    return out;
  }
};

const std::string ppo = "python3 -m verl.trainer.main_ppo ";

}  // namespace

TEST_SUITE("launch-units") {
  TEST_CASE("a value stands where it is used") {
    const Read read("L=30\ntorchrun pretrain_gpt.py \\\n  --num-layers $L\n");
    CHECK(read.key("num_layers") == "30 at job/run.sh:3");
    const Read array("A=(\n  --num-layers 30\n)\ntorchrun pretrain_gpt.py ${A[@]}\n");
    CHECK(array.key("num_layers") == "30 at job/run.sh:2");
    const Read bare("L=30\nA=(\n  --num-layers $L\n)\ntorchrun pretrain_gpt.py ${A[@]}\n");
    CHECK(bare.key("num_layers") == "30 at job/run.sh:3");
    const Read text("F=\"--num-layers 30\"\ntorchrun pretrain_gpt.py $F\n");
    CHECK(text.key("num_layers") == "30 at job/run.sh:1");
    const Read environment("N=1\nexport NCCL_NVLS_ENABLE=$N\ntorchrun pretrain_gpt.py\n");
    CHECK(environment.key("env.NCCL_NVLS_ENABLE") == "1 at job/run.sh:2");
  }

  TEST_CASE("arguments that were not given") {
    const Read read("torchrun pretrain_gpt.py --num-layers 30 \"$@\"\n");
    REQUIRE(read.file.units.size() == 1);
    CHECK(read.file.units[0].config.closed);
    CHECK(read.file.units[0].passed_on.text() == "$@");
    // What hangs on them says so.
    const Read pipeline(
        "torchrun pretrain_gpt.py --num-layers 30 --pipeline-model-parallel-size 4 \"$@\"\n");
    bool told = false;
    for (const Diagnostic& d : pipeline.found()) {
      for (const Note& note : d.related) {
        told = told || (d.code == "PAR126" &&
                        note.text == "assumes that the script is started without arguments");
      }
    }
    CHECK(told);
  }

  TEST_CASE("a blank to be filled in is one word") {
    const Read read("P='<path of the data>/x'\ntorchrun pretrain_gpt.py --data-path $P --bf16\n");
    CHECK(read.errors().find("ARG106") == std::string::npos);
    CHECK(read.key("bf16").starts_with("true"));
  }

  TEST_CASE("what a script leaves for is there afterwards") {
    const std::string end = "torchrun pretrain_gpt.py --load $CKPT\n";
    CHECK(Read("CKPT=${CKPT:-}\nif [[ -z \"${CKPT}\" ]]; then exit 1; fi\n" + end)
              .key("load")
              .starts_with("<unknown"));
    CHECK(Read("CKPT=\n[ -z \"$CKPT\" ] && exit 1\n" + end).key("load").starts_with("<unknown"));
  }

  TEST_CASE("Hydra files of one's own") {
    const std::map<std::string, std::string> files = {
        {"job/conf/mine.yaml",
         "hydra:\n  searchpath: [file://verl/trainer/config]\ndefaults:\n  - ppo_trainer\n  - "
         "_self_\ntrainer:\n  nnodes: 7\nadded: 1\n"},
    };
    const Read read(
        ppo + "--config-path=\"$PWD/conf\" --config-name=mine trainer.n_gpus_per_node=2\n", files);
    CHECK(read.key("trainer.nnodes") == "7 at job/conf/mine.yaml:7");
    CHECK(read.key("trainer.n_gpus_per_node") == "2 at job/run.sh:1");
    CHECK(read.key("added") == "1 at job/conf/mine.yaml:8");
    CHECK(read.key("trainer.save_freq") == "-1");
    // Files of groups of one's own: what they say stands where they say it, until something later
    // in the list, built in or not, says otherwise.
    const Read groups(
        ppo + "--config-path=\"$PWD/conf\" --config-name=mine trainer=small\n",
        {{"job/conf/mine.yaml",
          "defaults:\n  - ppo_trainer\n  - trainer: large\n  - _self_\n"
          "data:\n  seed: 5\n"},
         {"job/conf/trainer/large.yaml", "nnodes: 9\n"},
         {"job/conf/trainer/small.yaml",
          "defaults:\n  - base\n  - _self_\nnnodes: 3\nlogger: [console]\n"},
         {"job/conf/trainer/base.yaml", "nnodes: 2\nn_gpus_per_node: 4\nnested: {a: 1}\n"}});
    CHECK(groups.key("trainer.nnodes") == "3 at job/conf/trainer/small.yaml:4");
    CHECK(groups.key("trainer.logger") == "[console] at job/conf/trainer/small.yaml:5");
    CHECK(groups.key("trainer.n_gpus_per_node") == "4 at job/conf/trainer/base.yaml:2");
    CHECK(groups.key("trainer.nested.a") == "1 at job/conf/trainer/base.yaml:3");
    CHECK(groups.key("data.seed") == "5 at job/conf/mine.yaml:6");
    CHECK(groups.key("trainer.save_freq") == "-1");
    const Read first(ppo + "--config-path=\"$PWD/conf\" --config-name=mine\n",
                     {{"job/conf/mine.yaml",
                       "defaults:\n  - _self_\n  - ppo_trainer\ntrainer:\n  nnodes: 7\n"}});
    CHECK(first.key("trainer.nnodes") == "1");  // the built-in file comes later
    // A group's option that only a tree elsewhere has is no slip.
    CHECK(Read(ppo + "actor@actor_rollout_ref.actor=theirs\n").errors().starts_with("HYD103"));
    CHECK(Read(ppo + "actor@actor_rollout_ref.actor=theirs hydra.searchpath=[pkg://theirs]\n")
              .errors()
              .find("HYD") == std::string::npos);
  }

  TEST_CASE("a key that Hydra refuses is judged as it was meant") {
    const Read read(ppo + "trainer.n_gpus=4\n");
    CHECK(read.errors().starts_with("HYD101"));
    CHECK(read.key("trainer.n_gpus") == "4 at job/run.sh:1");
  }

  TEST_CASE("a recipe leaves to its launch what launches give") {
    const std::string recipe =
        "from megatron.bridge.recipes.llama import llama32_1b_peft_config\n"
        "def mine_peft_config():\n"
        "    cfg = llama32_1b_peft_config()\n"
        "    cfg.model.seq_length = 8192\n"
        "    return cfg\n";
    const auto errors = [&](const std::string& rest, Options with) {
      return Read({"job/mine.py", FileKind::python, true}, recipe + rest, {}, std::move(with))
          .errors();
    };
    CHECK(errors("", {}) == "");
    Options closed;
    closed.world = Options::World::closed;
    CHECK(errors("", closed).find("RUN137") != std::string::npos);
    CHECK(errors("", closed).find("DAT114") != std::string::npos);
    // Nothing comes after pretrain().
    const std::string script =
        "from megatron.bridge.training.pretrain import pretrain\n"
        "pretrain(mine_peft_config(), None)\n";
    CHECK(errors(script, {}).find("RUN137") != std::string::npos);
    // run_recipe.py mends the length and is not given the checkpoint.
    const Read launch(
        "torchrun scripts/training/run_recipe.py --recipe llama32_1b_peft_config "
        "model.seq_length=8192\n");
    CHECK(launch.errors().find("RUN137") != std::string::npos);
    CHECK(launch.errors().find("DAT114") == std::string::npos);
  }

  TEST_CASE("a copy of the framework beside the script is what it runs") {
    const std::string mine = ppo + "data.mine=1 +trainer.there=2 trainer.nnodes=3\n";
    std::map<std::string, std::string> files = {
        {"job/verl/trainer/main_ppo.py", ""},
        {"job/verl/version/version", "0.2.0.dev\n"},
        {"job/verl/trainer/config/ppo_trainer.yaml",
         "data:\n  mine: 0\ntrainer:\n  nnodes: 1\n  n_gpus_per_node: 8\n"}};
    const Read fork(mine, files);
    CHECK(fork.errors() == "");
    CHECK(fork.key("trainer.nnodes") == "3 at job/run.sh:1");
    CHECK(fork.file.units.back().version == "0.2.0.dev");
    CHECK(fork.file.units.back().doubt.find("0.2.0.dev") != std::string::npos);
    CHECK(Read(mine).errors().starts_with("HYD101:1"));
    CHECK(Read(ppo + "data.yours=1\n", files).errors() == "HYD101:1");
    // Named versions are the user's word.
    Options named;
    named.targets = {"verl==0.9.0"};
    CHECK(Read(mine, files, named).errors().starts_with("HYD101:1"));

    const std::string run =
        "torchrun pretrain_gpt.py --num-layers 2 --mine 1 --lr-decay-style odd\n";
    const std::map<std::string, std::string> megatron = {
        {"megatron/core/package_info.py", "MAJOR = 0\nMINOR = 20\nPATCH = 0\nPRE_RELEASE = ''\n"},
        {"megatron/training/arguments.py",
         "    group.add_argument('--mine', type=int)\n    choices=['constant', 'odd']\n"}};
    CHECK(Read(run).errors().find("ARG104") != std::string::npos);
    CHECK(Read(run, megatron).errors().find("ARG10") == std::string::npos);
    CHECK(Read("torchrun pretrain_gpt.py --yours 1\n", megatron).errors().find("ARG101") !=
          std::string::npos);
  }

  TEST_CASE("Megatron-Bridge's launcher") {
    const std::string run = "torchrun scripts/training/run_recipe.py ";
    // A file of overrides comes between the recipe and the words.
    const Read file(run +
                        "--recipe llama32_1b_pretrain_config --config-file conf/o.yaml "
                        "train.micro_batch_size=2\n",
                    {{"job/conf/o.yaml",
                      "train:\n  micro_batch_size: 1\n  global_batch_size: 64\nddp:\n  "
                      "use_megatron_fsdp: true\n"}});
    CHECK(file.key("train.micro_batch_size") == "2 at job/run.sh:1");
    // run_recipe.py sets the model's length to the dataset's.
    const Read length(run + "--recipe llama32_1b_pretrain_config model.seq_length=512\n");
    CHECK(length.errors().find("DAT114") == std::string::npos);
    // Words that are not known may set anything.
    const Read open(run + "--recipe llama32_1b_pretrain_config $(cat words)\n");
    CHECK(open.key("model.num_layers") == "absent");
  }
}
