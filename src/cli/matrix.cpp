// shardlint matrix: which features go with which way of sharding data parallelism, found by asking
// the rules. A cell names the errors that appear only when both are there.
#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/lint_flags.h"
#include "cli/parse.h"
#include "report/report.h"

namespace shardlint {
namespace {

struct Part {
  std::string_view name, flags;
};

// A job that is sound by itself, so that whatever is found comes from what is added.
constexpr std::string_view base =
    "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 "
    "--max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --bf16 "
    "--train-iters 10 --lr 1e-4 --tokenizer-type NullTokenizer --vocab-size 1000 --mock-data";

constexpr Part modes[] = {
    {"DDP", ""},
    {"distributed optimizer", "--use-distributed-optimizer"},
    {"Megatron-FSDP v1",
     "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy "
     "optim_grads_params --ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion"},
    {"Megatron-FSDP v2",
     "--use-megatron-fsdp --megatron-fsdp-version 2 --data-parallel-sharding-strategy "
     "optim_grads_params --ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion"},
    {"Torch FSDP2",
     "--use-torch-fsdp2 --ckpt-format torch_dist --no-gradient-accumulation-fusion "
     "--untie-embeddings-and-output-weights"},
};

constexpr Part features[] = {
    {"tensor parallel", "--tensor-model-parallel-size 2"},
    {"sequence parallel", "--tensor-model-parallel-size 2 --sequence-parallel"},
    {"pipeline parallel", "--pipeline-model-parallel-size 2"},
    {"virtual pipeline",
     "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2"},
    {"context parallel", "--context-parallel-size 2"},
    {"expert parallel", "--num-experts 8 --expert-model-parallel-size 2"},
    {"activation offload", "--cpu-offloading-num-layers 2 --transformer-impl transformer_engine"},
    {"optimizer offload", "--optimizer-cpu-offload --use-precision-aware-optimizer"},
    {"full recompute",
     "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"},
    {"selective recompute", "--recompute-granularity selective"},
    {"CUDA graphs", "--cuda-graph-impl local"},
    {"FP8", "--fp8-format hybrid --transformer-impl transformer_engine"},
    {"FP8 parameters",
     "--fp8-format hybrid --fp8-param-gather --transformer-impl transformer_engine"},
    {"gradient overlap", "--overlap-grad-reduce"},
    {"parameter overlap", "--overlap-grad-reduce --overlap-param-gather"},
    {"asynchronous save", "--async-save --save /ckpt"},
};

struct Found {
  std::string code, message, anchor;
  bool operator<(const Found& other) const { return code < other.code; }
};

std::set<Found> errors(const Options& options, std::initializer_list<std::string_view> parts) {
  std::vector<std::string> words;
  for (const std::string_view part : parts) {
    for (const std::string_view word : split(part, ' ')) {
      if (!word.empty()) {
        words.emplace_back(word);
      }
    }
  }
  std::set<Found> out;
  for (const Diagnostic& d : lint_arguments(words, options).diagnostics) {
    if (d.severity == Severity::error && d.verdict == Verdict::violation) {
      out.insert({d.code, d.message,
                  d.evidence.empty()
                      ? ""
                      : fmt::format("{}:{}", d.evidence[0].path, d.evidence[0].lines)});
    }
  }
  return out;
}

struct Cell {
  std::string feature, mode;
  std::vector<Found> refused;
};

std::vector<Cell> ask(const Options& options) {
  std::vector<Cell> out;
  for (const Part& feature : features) {
    const std::set<Found> alone = errors(options, {base, feature.flags});
    for (const Part& mode : modes) {
      const std::set<Found> mode_alone = errors(options, {base, mode.flags});
      Cell cell{std::string(feature.name), std::string(mode.name), {}};
      for (const Found& found : errors(options, {base, mode.flags, feature.flags})) {
        if (!alone.count(found) && !mode_alone.count(found)) {
          cell.refused.push_back(found);
        }
      }
      out.push_back(std::move(cell));
    }
  }
  return out;
}

std::string codes(const Cell& cell) {
  std::vector<std::string> out;
  for (const Found& found : cell.refused) {
    out.push_back(found.code);
  }
  return out.empty() ? "yes" : join(out, ", ");
}

std::string as_json(const std::vector<Cell>& cells) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Cell& cell : cells) {
    nlohmann::ordered_json refused = nlohmann::ordered_json::array();
    for (const Found& found : cell.refused) {
      refused.push_back(
          {{"code", found.code}, {"message", found.message}, {"anchor", found.anchor}});
    }
    out.push_back({{"feature", cell.feature}, {"mode", cell.mode}, {"refused_by", refused}});
  }
  return out.dump(2) + "\n";
}

// A table, then one line a rule with the upstream statement behind it.
std::string as_markdown(const std::vector<Cell>& cells) {
  std::string out = "| |", rule = "| --- |";
  for (const Part& mode : modes) {
    out += fmt::format(" {} |", mode.name);
    rule += " --- |";
  }
  out += '\n' + rule;
  std::map<std::string, Found> notes;
  std::string_view feature;
  for (const Cell& cell : cells) {
    out += cell.feature == feature ? "" : fmt::format("\n| {} |", cell.feature);
    feature = cell.feature;
    out += fmt::format(" {} |", codes(cell));
    for (const Found& found : cell.refused) {
      notes.emplace(found.code, found);
    }
  }
  out += "\n\n";
  for (const auto& [code, found] : notes) {
    out += fmt::format("- {}: {} ({})\n", code, found.message, found.anchor);
  }
  return out;
}

}  // namespace

int run_matrix(Arguments arguments) {
  Options options;
  std::string format = "markdown";
  CLI::App app("Which features go with DDP, the distributed optimizer, Megatron-FSDP and FSDP2.",
               "shardlint matrix");
  app.add_option("--output-format", format, "markdown or json")
      ->check(CLI::IsMember({"markdown", "json"}));
  add_lint_flags(app, options);
  if (const std::optional<int> code = parse(app, arguments)) {
    return *code;
  }
  if (!options.world_size) {
    options.world_size = 64;
  }
  if (options.gpu.empty()) {
    options.gpu = "H100";
  }
  if (options.env.empty()) {
    options.env = {"CUDA_DEVICE_MAX_CONNECTIONS=8"};
  }
  const std::vector<Cell> cells = ask(options);
  fmt::print("{}", format == "json" ? as_json(cells) : as_markdown(cells));
  return 0;
}

}  // namespace shardlint
