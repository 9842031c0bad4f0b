#include "frontend/shell/shell.h"

#include <functional>

#include <doctest/doctest.h>

#include "diagnostics/edits.h"
#include "frontend/shell/argv.h"
#include "frontend/shell/edits.h"
#include "frontend/shell/findings.h"
#include "frontend/shell/launcher.h"

using namespace shardlint;

namespace {

// One line a command: words between |, ?word unknown, (word) conditional, ... open; {} around the
// line of a command that runs under a condition.
std::string shown(const shell::Command& command) {
  std::string out;
  for (const Word& word : command.words) {
    std::string text = word.known() ? word.text() : "?" + word.shown();
    text += word.open ? "..." : "";
    out += (out.empty() ? "" : "|") + (word.conditional ? "(" + text + ")" : text);
  }
  return command.conditional ? "{" + out + "}" : out;
}

struct Run {
  MemoryDisk disk;
  Sources sources;
  shell::Evaluation result;
  Run(const std::string& script, std::map<std::string, std::string> files = {},
      shell::Options options = {}) {
    for (auto& [path, text] : files) {
      disk.write(path, text);
    }
    result = shell::evaluate(sources.add("job/run.sh", script), sources, disk, options);
  }
  std::string commands() const {
    std::string out;
    for (const shell::Command& command : result.commands) {
      out += (out.empty() ? "" : "\n") + shown(command);
    }
    return out;
  }
};

struct Row {
  const char* name;
  const char* script;
  const char* expected;
};

}  // namespace

TEST_SUITE("shell") {
  TEST_CASE("words") {
    const Row rows[] = {
        {"the grammar's silent splits", "A=1 B=2\nx=$A/y/$B\nrun $A/x/$B $x --d=$A/$B",
         "run|1/x/2|1/y/2|--d=1/2"},
        {"a word over two lines", "Q=a\\\nb\nrun $Q c\\\nd \\\n e", "run|ab|cd|e"},
        {"arithmetic in a default", "run ${v:-$(((1+2)*3))} \"${w:-$((2**3))}\"", "run|9|8"},
        {"offset without braces", "A=abcdef N=2\nrun \"${A:$N+1}\" ${A:1:2} ${A: -2}",
         "run|def|bc|ef"},
        {"quotes", "run 'a b' \"c $((1+1))\" d\\ e $'f\\tg' \"\" ''", "run|a b|c 2|d e|f\tg||"},
        {"splitting", "O='--a 1  --b'\nrun $O \"$O\" x$O", "run|--a|1|--b|--a 1  --b|x--a|1|--b"},
        {"an unquoted element with inner quotes", "A=(--x \"'q r'\")\nrun ${A[@]} \"${A[@]}\"",
         "run|--x|'q|r'|--x|'q r'"},
        {"arrays",
         "A=(1 '2 3')\nA+=(4)\nA[0]=9\nrun \"${A[@]}\" ${#A[@]} \"${A[*]}\" ${A[-1]} \"x${A[@]}y\"",
         "run|9|2 3|4|3|9 2 3 4|4|x9|2 3|4y"},
        {"array with comments", "A=(\n --a 1 # one\n # --b 2\n --c\n)\nrun \"${A[@]}\"",
         "run|--a|1|--c"},
        {"joined by IFS",
         "A=(1 2 3)\nB=$(IFS=', '; echo \"${A[*]}\")\nIFS=:\nrun \"${A[*]}\"\nunset IFS\nrun $B",
         "run|1:2:3\nrun|1,2,3"},
        {"cut by IFS", "T=a:b::c\nIFS=:\nrun $T \"$T\"", "run|a|b||c|a:b::c"},
        {"empty array leaves no word", "A=()\nrun \"${A[@]}\" x", "run|x"},
        {"keys", "declare -A M=([k]=v [l]=w)\nM[n]=z\nrun ${M[l]} ${M[n]} \"${!M[@]}\"",
         "run|w|z|k|l|n"},
        {"slices", "A=(a b c d)\nrun \"${A[@]:1:2}\" \"${A[@]: 2}\"", "run|b|c|c|d"},
        {"operators",
         "V=/m/Qwen3-8B.tar.gz\nrun ${V##*/} ${V%%.*} ${V#*-} ${V%.gz} ${V/Qwen/Q} ${V//\\//_} "
         "${#V}",
         "run|Qwen3-8B.tar.gz|/m/Qwen3-8B|8B.tar.gz|/m/Qwen3-8B.tar|/m/"
         "Q3-8B.tar.gz|_m_Qwen3-8B.tar.gz|18"},
        {"the known end of an unknown path",
         "M=$HOME/models/Qwen3-8B\nrun ${M##*/} $(basename \"$M\") ${M%/*}",
         "run|Qwen3-8B|Qwen3-8B|?$HOME/models"},
        {"case", "v=aB\nrun ${v^^} ${v,,} ${v^}", "run|AB|ab|AB"},
        {"indirect", "N=V V=7\nrun ${!N}", "run|7"},
        {"braces", "run y={1,2} {1..3} +k={a:1,b:2} '{a,b}' z={q}",
         "run|y=1|y=2|1|2|3|+k=a:1|+k=b:2|{a,b}|z={q}"},
        {"unknown", "run $HOME/x \"$1\" $U \"$@\" ~/y", "run|?$HOME/x|?$1|?$U...|?$@...|?~/y"},
        {"defaults", "run ${A:-8} ${B:=9} $B \"${C:+x}\" ${D-d}", "run|8|9|9||d"},
        {"copied argument with a default", "N=$1\nrun ${N:-4} ${2:-5}", "run|4|5"},
        {"arithmetic", "N=3\n((N++))\nrun $((N*2%5)) $((N>3?1:0)) $((0x10)) $((N<<2)) $[1]",
         "run|3|1|16|16|$[1]"},
        {"unknown arithmetic", "run $((SLURM_NNODES*8))", "run|?$((SLURM_NNODES*8))"},
        {"printed text", "run $(echo a b) \"$(printf '%s,' 1 2)\" $(seq 1 3) `echo q`",
         "run|a|b|1,2,|1|2|3|q"},
        {"files that match", "run /d/*.bin '/d/*' x=/d/* M-*M \"/e/*\"",
         "run|?/d/*.bin...|/d/*|x=/d/*|M-*M|/e/*"},
        {"unknown output", "run \"$(date +%s)\" $(cat /x)",
         "cat|/x\nrun|?$(date +%s)|?$(cat /x)..."},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      CHECK(Run(row.script).commands() == row.expected);
    }
  }

  TEST_CASE("statements") {
    const Row rows[] = {
        {"guards are not taken",
         "[ -z \"$M\" ] && exit 1\nif [ $# -lt 2 ]; then echo usage; exit 1; fi\nrun $M",
         "run|?$M..."},
        {"argument loop",
         "while [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; *) exit 1;; esac; done\nrun "
         "${N:-1}",
         "run|1"},
        {"known arguments",
         "f() { while [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; --x) X=1; shift;; *) "
         "break;; esac; done; run $N $X \"$@\"; }\nf -n 4 --x a 'b c'",
         "run|4|1|a|b c"},
        {"an unknown condition",
         "A=(--a)\nif probe; then A+=(--b); else A+=(--c 1); fi\nA+=(--d)\nrun \"${A[@]}\"",
         "probe\nrun|--a|(--b)|(--c)|(1)|--d"},
        {"a string of flags under one", "O='--a'\nif probe; then O=\"$O --b\"; fi\nrun $O",
         "probe\nrun|--a|(--b)"},
        {"a value under one", "N=4\nif probe; then N=8; fi\nrun $N",
         "probe\nrun|?8 or 4, by a condition..."},
        {"a command under one", "if probe; then run a; else run b; fi", "probe\n{run|a}\n{run|b}"},
        {"a known condition",
         "N=2\nif [ $N -gt 1 ] && [[ $N == [2-4] ]]; then run big; else run small; fi", "run|big"},
        {"unset variables are empty in tests", "if [ -n \"$DEBUG\" ]; then X=--debug; fi\nrun $X x",
         "run|?$X...|x"},
        {"case", "T=gpt-7b\ncase $T in llama*) S=1;; gpt-*|x) S=2;; *) S=3;; esac\nrun $S",
         "run|2"},
        {"loops",
         "for i in a b; do for j in 1 2; do [ $i$j = a2 ] && continue 2; run $i $j; done; done",
         "run|a|1\nrun|b|1\nrun|b|2"},
        {"a loop over files", "for f in conf/*.yaml; do run $f; done", "{run|?$f...}"},
        {"arithmetic loop", "for ((i=0; i<3; i++)); do run $i; done", "run|0\nrun|1\nrun|2"},
        {"endless loop", "while true; do run x; sleep 1; done\nlater", "run|x\nsleep|1\nlater"},
        {"read",
         "read -r a b <<< 'x y z'\nIFS=, read -ra L <<< '1,2,3'\nrun $a \"$b\" ${#L[@]} ${L[1]}",
         "run|x|y z|3|2"},
        {"lines", "while read -r l; do run $l; done <<EOF\na 1\nb\nEOF", "run|a|1\nrun|b"},
        {"functions", "n=1\nf() { local n=$1; shift; run $n \"$@\"; g=2; }\nf q \"r s\"\nrun $n $g",
         "run|q|r s\nrun|1|2"},
        {"subshell", "N=1\n(N=2; run $N)\nrun $N", "run|2\nrun|1"},
        {"pipe", "run x 2>&1 | tee log &", "run|x\ntee|log"},
        {"eval", "C=\"run --n ${N:-8}\"\neval $C \"'a b'\"\neval \"$C \\$V\"",
         "run|--n|8|a b\nrun|--n|8|?$V..."},
        {"bash -c", "export E=1\nL=2\nbash -c 'run $E $L $0 \"$1\"' zero one",
         "run|1|?$L...|?$0|one"},
        {"exec", "exec run x\nnever", "run|x"},
        {"set --", "set -- a 'b c'\nshift\nrun \"$@\" $# $1", "run|b c|1|b|c"},
        {"here-document to a batch system",
         "N=4\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=$N\nCMD=\"run --n $N\"\nsrun bash -c "
         "\"\\$CMD\"\nEOF",
         "run|--n|4"},
        {"a script written and submitted", "cat > job.sh <<'EOF'\nrun $1\nEOF\nsbatch job.sh a",
         "run|a"},
        {"output on either side", "X=$([ -d /x ] && echo a || echo b)\nrun $X",
         "run|?$([ -d /x ] && echo a || echo b)..."},
        {"one device", "D=$(python3 -c 'import torch_npu' && echo npu || echo gpu)\nrun $D",
         "run|gpu"},
        {"a function called with what was not given", "f() { run \"$@\"; }\nf \"$@\"",
         "run|?$@..."},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      CHECK(Run(row.script).commands() == row.expected);
    }
  }

  TEST_CASE("here-document, then bash -c with a command that is a variable of the document") {
    const Run run(
        "TP=2\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=3\nCMD=\"torchrun --nnodes 3 x.py --tp "
        "$TP\"\n"
        "srun -N 3 bash -c \"\n  cd /w\n  \\$CMD\n\"\nexport CMD\nsrun bash -c \"\\$CMD "
        "--last\"\nEOF\n");
    CHECK(run.commands() ==
          "torchrun|--nnodes|3|x.py|--tp|2\ntorchrun|--nnodes|3|x.py|--tp|2|--last");
  }

  TEST_CASE("other scripts") {
    const std::map<std::string, std::string> files = {
        {"job/env.sh", "export CUDA_DEVICE_MAX_CONNECTIONS=1\nN=${N:-4}\n"},
        {"job/inner.sh", "run inner \"$@\" $N $X\n"},
        {"conf/model.sh", "ARGS=(--layers 8)\n"},
        {"job/loop.sh", "source loop.sh\n"},
    };
    const Row rows[] = {
        {"source", "source env.sh\nrun $N", "run|4"},
        {"source by its own folder",
         "D=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n. \"$D/env.sh\"\nrun $N", "run|4"},
        {"source from a folder above", "source conf/model.sh\nrun \"${ARGS[@]}\"",
         "run|--layers|8"},
        {"call", "export N=2\nX=1\nbash job/inner.sh a 'b c'", "run|inner|a|b c|2|?$X..."},
        {"call with a wrapper", "srun -N 2 ./inner.sh \"$@\"", "run|inner|?$@...|?$N...|?$X..."},
        {"absent", "source nowhere.sh\nrun $Q", "run|?$Q..."},
        {"an array of an absent file", "source nowhere.sh\nrun x \"${A[@]}\"",
         "run|x|?source nowhere.sh..."},
        {"added to an array of an absent file", "source $D/x.sh\nA+=(y)\nrun \"${A[@]}\"",
         "run|?source $D/x.sh...|y"},
        {"added to a text of an absent file", "source nowhere.sh\nA+=\" y\"\nrun $A",
         "run|?source nowhere.sh...|y"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      CHECK(Run(row.script, files).commands() == row.expected);
    }
    const Run chain("source env.sh\nbash inner.sh", files);
    REQUIRE(chain.result.commands.size() == 1);
    REQUIRE(chain.result.commands[0].chain.size() == 1);
    CHECK(chain.result.commands[0].chain[0].what == "bash inner.sh");
    CHECK(locate(chain.result.commands[0].span).file == "job/inner.sh");
    const Run absent("source nowhere.sh", files);
    REQUIRE(absent.result.diagnostics.size() == 1);
    CHECK(absent.result.diagnostics[0].code == "SHL103");
    CHECK(absent.result.diagnostics[0].where.begin.column == 8);
    const Run endless("source loop.sh", files);
    CHECK_FALSE(endless.result.complete);
  }

  TEST_CASE("places survive every way a text can go") {
    const std::string script = "N=16\nO=\"--nodes $N --x\"\nC=\"run $O\"\neval $C\n";
    const Run run(script);
    REQUIRE(run.result.commands.size() == 1);
    const std::vector<Word>& words = run.result.commands[0].words;
    REQUIRE(words.size() == 4);
    CHECK(words[2].text() == "16");
    CHECK(locate(words[2].span()).begin.line == 1);
    CHECK(locate(words[2].span()).begin.column == 3);
    CHECK(words[1].span().begin == script.find("--nodes"));
    const Run document("sbatch <<EOF\nrun --a=${V:-12}\nEOF\n");
    REQUIRE(document.result.commands.size() == 1);
    const Word value = document.result.commands[0].words[1].slice(4);
    CHECK(value.text() == "12");
    CHECK(value.env_default);
    CHECK(locate(value.span()).begin.line == 2);
    CHECK(locate(value.span()).begin.column == 14);
  }

  TEST_CASE("environment in force") {
    const Run run(
        "export A=1 B=2\nC=3\nD=4 first\nexport C\nunset A\nsecond\nenv E=5 "
        "third\nNCCL_X=1\nfourth");
    const auto seen = [&](std::size_t i) {
      std::string out;
      for (const shell::Environment& each : *run.result.commands[i].environment) {
        out += (out.empty() ? "" : " ") + each.name + "=" + (each.unset ? "-" : each.value.text()) +
               (each.exported ? "" : "!");
      }
      return out;
    };
    REQUIRE(run.result.commands.size() == 4);
    CHECK(seen(0) == "A=1 B=2 D=4");
    CHECK(seen(1) == "A=- B=2 C=3");
    CHECK(seen(3) == "A=- B=2 C=3 NCCL_X=1!");
    CHECK(locate((*run.result.commands[0].environment)[1].set_at).begin.column == 12);
  }

  TEST_CASE("given environment and arguments") {
    shell::Options options;
    options.environment = {{"N", "2"}};
    options.arguments = {"a", "b c"};
    options.arguments_known = true;
    CHECK(Run("run ${N:-1} \"$@\" $#", {}, options).commands() == "run|2|a|b c|2");
  }

  TEST_CASE("guards") {
    std::string deep, brackets, loops;
    for (int i = 0; i < 5000; ++i) {
      deep += "$(";
      brackets += "if x; then ";
    }
    std::string comments;
    for (int i = 0; i < 70000; ++i) {
      comments += "# comment\n";
    }
    CHECK(Run(comments + "run x").commands() == "run|x");
    CHECK_FALSE(Run("x=" + deep).result.diagnostics.empty());
    // What is assigned while it is read, and input that is read while it is consumed.
    CHECK(Run("A+=${A:=5}\nrun $A").commands() == "run|55");
    CHECK(Run("declare -A M=([x]=1)\nrun ${M[${M:=x}]}").result.complete);
    CHECK(Run("echo run x | bash").commands() == "run|x");
    Run(brackets + "y");
    Run(std::string(65534, '('));
    Run("f() { f; f; }\nf");
    Run("x=aaaaaaaaaaaaaaaa\nfor i in {1..60}; do x=$x$x; done\nrun $x");
    CHECK_FALSE(Run("f() { f; f; }\nf").result.complete);
    CHECK_FALSE(
        Run("for i in {1..99}; do for j in {1..99}; do for k in {1..99}; do run; done; done; done")
            .result.complete);
    CHECK(Run("run x\r\nrun y\r\n").commands() == "run|x\nrun|y");
    CHECK(Run("run x\r\n").result.diagnostics[0].code == "SHL105");
    CHECK(Run("run 'open").result.diagnostics[0].code == "SHL101");
    CHECK(Run("if then fi )(").result.diagnostics[0].code == "SHL101");
  }
}

TEST_SUITE("launcher") {
  TEST_CASE("programs and the world around them") {
    const Row rows[] = {
        {"torchrun", "torchrun --nproc_per_node=8 --nnodes 2 pretrain_gpt.py --a 1",
         "megatron-lm pretrain_gpt.py 2 nnodes=2 nproc_per_node=8 world_size=16"},
        {"torchrun alone", "torchrun --standalone -m verl.trainer.sft_trainer a=b",
         "verl verl.trainer.sft_trainer 1 nnodes=1 nproc_per_node=1 world_size=1"},
        {"run module", "python -m torch.distributed.run --nproc-per-node gpu --nnodes=1 train.py",
         " train.py 0 nnodes=1 nproc_per_node=<unknown: machine: gpu> world_size=<unknown: "
         "machine: gpu>"},
        {"launch module",
         "python3 -m torch.distributed.launch --use_env --nproc_per_node 4 pretrain_bert.py",
         "megatron-lm pretrain_bert.py 0 nnodes=1 nproc_per_node=4 world_size=4"},
        {"srun", "srun -N2 --ntasks-per-node=4 python pretrain_gpt.py x",
         "megatron-lm pretrain_gpt.py 1 nnodes=2 nproc_per_node=4 world_size=8"},
        {"headers",
         "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node 8\nsrun -l python -u "
         "pretrain_gpt.py",
         "megatron-lm pretrain_gpt.py 0 nnodes=4 nproc_per_node=8 world_size=32"},
        {"mpirun", "mpirun -np 16 -x NCCL_DEBUG=INFO python pretrain_t5.py",
         "megatron-lm pretrain_t5.py 0 env.NCCL_DEBUG=INFO world_size=16"},
        {"accelerate", "accelerate launch --num_processes 8 --use_fsdp train.py q",
         " train.py 1 nnodes=1 world_size=8"},
        {"deepspeed", "deepspeed --num_gpus 4 --num_nodes=2 pretrain_gpt.py q",
         "megatron-lm pretrain_gpt.py 1 nnodes=2 nproc_per_node=4 world_size=8"},
        {"ray",
         "ray job submit --runtime-env-json='{\"env_vars\": {\"A\": \"1\"}}' --no-wait -- python3 "
         "-m verl.trainer.main_ppo x=1",
         "verl verl.trainer.main_ppo 1 env.A=1"},
        {"uv",
         "uv run --no-sync --python 3.12 python -m torch.distributed.run --nproc_per_node=2 "
         "scripts/training/run_recipe.py --recipe r",
         "megatron-bridge scripts/training/run_recipe.py 2 nnodes=1 nproc_per_node=2 world_size=2"},
        {"docker", "docker run --gpus all -e B=2 -v /a:/b img torchrun pretrain_gpt.py",
         "megatron-lm pretrain_gpt.py 0 env.B=2 nnodes=1 nproc_per_node=1 world_size=1"},
        {"wrappers",
         "nohup env -u C D=1 numactl --cpunodebind=0 python pretrain_gpt.py > log 2>&1 &",
         "megatron-lm pretrain_gpt.py 0 env.C=null env.D=1 world_size=1"},
        {"two ways to start",
         "L=(python3)\nif probe; then L=(uv run python3); fi\n\"${L[@]}\" -m verl.trainer.main_ppo "
         "a=1 b=2",
         "verl verl.trainer.main_ppo 2"},
        {"unknown nodes", "torchrun --nnodes $NNODES --nproc_per_node 8 pretrain_gpt.py",
         "megatron-lm pretrain_gpt.py 0 nnodes=<unknown: env: $NNODES> nproc_per_node=8 "
         "world_size=<unknown: env: $NNODES>"},
        {"unknown options", "torchrun $DIST pretrain_gpt.py --x", "megatron-lm pretrain_gpt.py 1"},
        {"told by its flags", "python train.py --num-layers 2 --hidden-size 8 --micro-batch-size 1",
         "megatron-lm train.py 6 world_size=1"},
        {"no program", "python -c 'import x'\nls", ""},
        {"outer launcher",
         "srun -N 2 bash -c 'torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py'",
         "megatron-lm pretrain_gpt.py 0 nnodes=2 nproc_per_node=8 world_size=16"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      const Run run(row.script);
      std::string out;
      for (const shell::Launch& launch : shell::launches(run.result, true)) {
        out +=
            launch.framework + " " + launch.program + " " + std::to_string(launch.arguments.size());
        for (const Fact& fact : launch.facts) {
          out += " " + fact.key + "=" + fact.value.text();
        }
      }
      CHECK(out == row.expected);
    }
  }

  TEST_CASE("several commands are numbered") {
    const Run run("python pretrain_gpt.py\nls\npython pretrain_t5.py\n");
    const std::vector<shell::Launch> found = shell::launches(run.result);
    REQUIRE(found.size() == 2);
    CHECK(found[0].instance == "command 1");
    CHECK(found[1].instance == "command 2");
    CHECK(locate(found[1].span).begin.line == 3);
  }
}

namespace {

// The script after the first launch's edits, or "-" when there are none.
std::string edited(const std::string& script,
                   const std::function<shell::Edits(const shell::Launch&)>& make) {
  const Run run(script);
  const std::vector<shell::Launch> found = shell::launches(run.result, true);
  REQUIRE(found.size() >= 1);
  const shell::Edits edits = make(found[0]);
  return edits.empty() ? "-" : apply_edits(script, edits).text;
}

}  // namespace

TEST_SUITE("shell-edits") {
  TEST_CASE("flags") {
    struct {
      const char *script, *flag, *value, *expected;
    } const rows[] = {
        {"python p.py --a 1 --b 2 # c", "--a", "3", "python p.py --a 3 --b 2 # c"},
        {"python p.py --a=1 --b", "--a", "3", "python p.py --a=3 --b"},
        {"N=1\npython p.py --a $N --b", "--a", "3", "N=3\npython p.py --a $N --b"},
        {"python p.py --a ${N:-1}", "--a", "3", "python p.py --a ${N:-3}"},
        {"python p.py --a \"1\"", "--a", "3", "python p.py --a \"3\""},
        {"python p.py --a \"$HOME/x\"", "--a", "3", "python p.py --a 3"},
        {"O=\"--a 1 --b\"\npython p.py $O", "--a", "3", "O=\"--a 3 --b\"\npython p.py $O"},
        {"python p.py --a 1", "--ab", "3", "python p.py --a 1 --ab 3"},
        {"A=(\n  --x 1  # one\n  --y\n)\npython p.py \"${A[@]}\"", "--xy", "3",
         "A=(\n  --x 1  # one\n  --xy 3\n  --y\n)\npython p.py \"${A[@]}\""},
        {"python p.py \\\n    --x 1 \\\n    --y 2\n", "--xy", "3",
         "python p.py \\\n    --x 1 \\\n    --xy 3 \\\n    --y 2\n"},
        {"python p.py \\\n    --x 1 \\\n    --y 2\n", "--yy", "3",
         "python p.py \\\n    --x 1 \\\n    --y 2 \\\n    --yy 3\n"},
        {"O=\"\n --x 1\n --y 2\n\"\npython p.py $O", "--xy", "3",
         "O=\"\n --x 1\n --xy 3\n --y 2\n\"\npython p.py $O"},
        {"if q; then A=(--a 1); fi\npython p.py \"${A[@]}\"", "--a", "2", "-"},
        {"python p.py --a 1 2", "--a", "3", "-"},
    };
    for (const auto& row : rows) {
      CAPTURE(row.script);
      CHECK(edited(row.script, [&](const shell::Launch& launch) {
              return shell::set_flag(launch, row.flag, row.value);
            }) == row.expected);
    }
    CHECK(edited("python p.py --a 1", [](const shell::Launch& launch) {
            return shell::set_flag(launch, "--s", std::nullopt);
          }) == "python p.py --a 1 --s");
  }

  TEST_CASE("taking flags out") {
    struct {
      const char *script, *expected;
    } const rows[] = {
        {"python p.py --a 1 --b 2", "python p.py --b 2"},
        {"A=(\n  --a 1  # one\n  --b\n)\npython p.py \"${A[@]}\"",
         "A=(\n  # one\n  --b\n)\npython p.py \"${A[@]}\""},
        {"A=(\n  --a 1\n  --b\n)\npython p.py \"${A[@]}\"",
         "A=(\n  --b\n)\npython p.py \"${A[@]}\""},
        {"A=(--a 1 --b)\npython p.py \"${A[@]}\"", "A=(--b)\npython p.py \"${A[@]}\""},
        {"python p.py \\\n  --a 1 \\\n  --b\n", "python p.py \\\n  --b\n"},
        {"python p.py --b", "-"},
    };
    for (const auto& row : rows) {
      CAPTURE(row.script);
      CHECK(edited(row.script, [](const shell::Launch& launch) {
              return shell::remove_flag(launch, "--a");
            }) == row.expected);
    }
  }

  TEST_CASE("overrides") {
    const auto set = [](std::string key, std::string value) {
      return [=](const shell::Launch& launch) { return shell::set_override(launch, key, value); };
    };
    CHECK(edited("python -m m.n a.b=1 c.d=2", set("a.b", "5")) == "python -m m.n a.b=5 c.d=2");
    CHECK(edited("python -m m.n +a.b=1", set("a.b", "5")) == "python -m m.n +a.b=5");
    CHECK(edited("python -m m.n 'a.b=[1,2]'", set("a.b", "5")) == "python -m m.n 'a.b=5'");
    CHECK(edited("python -m m.n \\\n    a.b=1 \\\n    c.d=2 \\\n    \"$@\"\n", set("a.bc", "x")) ==
          "python -m m.n \\\n    a.b=1 \\\n    a.bc=x \\\n    c.d=2 \\\n    \"$@\"\n");
    CHECK(edited("A=(\n    a.b=1\n    c.d=2\n)\npython -m m.n \"${A[@]}\"", set("+c.e", "x y")) ==
          "A=(\n    a.b=1\n    c.d=2\n    +c.e='x y'\n)\npython -m m.n \"${A[@]}\"");
    CHECK(edited("A=(\n    a.b=1\n    c.d=2\n)\npython -m m.n \"${A[@]}\"",
                 [](const shell::Launch& launch) {
                   return shell::remove_override(launch, "a.b");
                 }) == "A=(\n    c.d=2\n)\npython -m m.n \"${A[@]}\"");
  }

  TEST_CASE("environment") {
    struct {
      const char *script, *value, *expected;
    } const rows[] = {
        {"export X=1  # why\npython p.py", "8", "export X=8  # why\npython p.py"},
        {"X=1 python p.py", "8", "X=8 python p.py"},
        {"export Y=1\necho\npython p.py", "8", "export Y=1\nexport X=8\necho\npython p.py"},
        {"f() {\n  python p.py\n}\nf", "8", "f() {\n  export X=8\n  python p.py\n}\nf"},
        {"export X=1  # why\npython p.py", nullptr, "python p.py"},
        {"export X=1 Y=2\npython p.py", nullptr, "export Y=2\npython p.py"},
        {"X=1 python p.py", nullptr, "python p.py"},
        {"python p.py", nullptr, "-"},
    };
    for (const auto& row : rows) {
      CAPTURE(row.script);
      CHECK(edited(row.script, [&](const shell::Launch& launch) {
              return row.value ? shell::set_environment(launch, "X", row.value)
                               : shell::remove_environment(launch, "X");
            }) == row.expected);
    }
  }
}

TEST_SUITE("shell-findings") {
  TEST_CASE("of the script itself") {
    const Row rows[] = {
        {"placeholder", "D=/path/to/data\npython pretrain_gpt.py --data-path $D", "SHL201 1:3"},
        {"placeholder in an override",
         "python -m verl.trainer.main_ppo data.train_files='<your data>'", "SHL201 1:51"},
        {"empty", "python pretrain_gpt.py --load ''", "SHL202 1:31"},
        {"empty only while not given", "python pretrain_gpt.py --load \"${L:-}\"", ""},
        {"nodes", "#SBATCH --nodes=2\nsrun torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py",
         "SHL203 2:24"},
        {"gpus",
         "#SBATCH --nodes=2 --gres=gpu:4\nsrun torchrun --nnodes 2 --nproc_per_node 8 "
         "pretrain_gpt.py",
         "SHL203 2:43"},
        {"a step of one node", "#SBATCH -N 2\nsrun -N 1 python pretrain_gpt.py", ""},
        {"agreeing",
         "#SBATCH -N 2\n#SBATCH --gpus-per-node=8\nsrun torchrun --nnodes $SLURM_NNODES "
         "--nproc_per_node 8 pretrain_gpt.py",
         ""},
        {"not exported", "CUDA_DEVICE_MAX_CONNECTIONS=1\npython pretrain_gpt.py", "SHL204 1:1"},
        {"the script's own", "NCCL_X=1\nexport Y=$NCCL_X\npython pretrain_gpt.py", ""},
        {"exported later", "NCCL_X=1\nexport NCCL_X\npython pretrain_gpt.py", ""},
        {"for another", "NCCL_DEBUG=INFO check\npython pretrain_gpt.py", "SHL205 1:1"},
        {"quotes", "A=\"--split '99,1,0'\"\npython pretrain_gpt.py $A", "SHL206 1:12"},
        {"half a pair", "A=\"data.x='a b'\"\npython -m verl.trainer.main_ppo $A", "SHL206 1:4"},
        {"quotes that eval takes", "A=\"--split '99,1,0'\"\neval python pretrain_gpt.py $A", ""},
        {"comment among the lines", "python pretrain_gpt.py \\\n  --a 1 \\\n  # --b 2 \\\n  --c 3",
         "SHL207 4:3"},
        {"status lost in a pipe", "python pretrain_gpt.py 2>&1 |\n  tee log", "SHL208 2:3"},
        {"pipefail", "set -euo pipefail\npython pretrain_gpt.py | tee log", ""},
        {"pipefail is not inherited", "set -o pipefail\nbash -c 'python pretrain_gpt.py | tee log'",
         "SHL208 2:35"},
        {"pipefail on one way", "[ -z \"$A\" ] && set -o pipefail\npython pretrain_gpt.py | tee l",
         ""},
        {"PIPESTATUS", "python pretrain_gpt.py | tee log\nexit ${PIPESTATUS[0]}", ""},
        {"at the pipe's end", "cat log | python pretrain_gpt.py", ""},
        {"a blank to be filled in",
         "V=<path of the vocabulary>\npython pretrain_gpt.py --vocab-file $V", ""},
        {"clean", "export NCCL_DEBUG=INFO\npython pretrain_gpt.py --load /ckpt \"$@\"", ""},
    };
    for (const Row& row : rows) {
      CAPTURE(row.name);
      const Run run(row.script);
      std::string out;
      for (const Diagnostic& each :
           shell::script_findings(run.result, shell::launches(run.result))) {
        out += (out.empty() ? "" : " ") + each.code + " " + std::to_string(each.where.begin.line) +
               ":" + std::to_string(each.where.begin.column);
        break;  // the first
      }
      CHECK(out == row.expected);
    }
  }

  TEST_CASE("what was understood, as text") {
    const Run run(
        "export E=1\nsource gone.sh\ntorchrun --nproc_per_node ${N:-8} pretrain_gpt.py --load "
        "$HOME/x\n");
    const std::string text = shell::explain(run.result);
    for (const char* part : {"command 1 at job/run.sh:3:1", "launches pretrain_gpt.py",
                             "framework megatron-lm", "world_size = 8", "env.E = 1",
                             "job/run.sh:3:32; a default", "not known: $HOME (env)", "SHL103"}) {
      CAPTURE(part);
      CHECK(text.find(part) != std::string::npos);
    }
    MemoryDisk disk;
    Sources sources;
    const std::vector<std::string> words = {"srun", "bash", "-c", "python x.py 'a b'"};
    CHECK(shell::explain_words(words, sources, disk).find("a b") != std::string::npos);
  }
}
