#include "frontend/shell/findings.h"

#include <algorithm>
#include <set>

#include "base/strings.h"

namespace shardlint::shell {
namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

class Findings {
 public:
  Findings(const Evaluation& evaluation, const std::vector<Launch>& launches)
      : evaluation_(evaluation), launches_(launches) {}

  std::vector<Diagnostic> run() {
    for (const Launch& launch : launches_) {
      paths(launch);
      batch(launch);
      not_exported(launch);
      quotes(launch);
      exit_status(launch);
    }
    other_commands();
    cut_off();
    return std::move(out_);
  }

 private:
  Diagnostic& add(const char* code, const char* name, Severity severity, const Span& where,
                  std::string message, std::string help, const Launch* launch);
  void paths(const Launch& launch);
  void path(const Launch& launch, std::string_view key, const Word& value);
  void batch(const Launch& launch);
  void not_exported(const Launch& launch);
  void quotes(const Launch& launch);
  void exit_status(const Launch& launch);
  void other_commands();
  void cut_off();

  const Evaluation& evaluation_;
  const std::vector<Launch>& launches_;
  std::vector<Diagnostic> out_;
  std::set<std::pair<std::string, Location>> seen_;
  Diagnostic dropped_;  // what a repeat is written to
};

Diagnostic& Findings::add(const char* code, const char* name, Severity severity, const Span& where,
                          std::string message, std::string help, const Launch* launch) {
  const Location place = where ? locate(where) : Location{};
  if (!seen_.emplace(code, place).second) {
    dropped_ = {};
    return dropped_;
  }
  Diagnostic found;
  found.code = code;
  found.name = name;
  found.severity = severity;
  found.message = std::move(message);
  found.help = std::move(help);
  found.where = place;
  if (launch) {
    found.framework = launch->framework;
    found.instance = launch->instance;
  }
  out_.push_back(std::move(found));
  return out_.back();
}

// Flags and overrides that name a file or folder which must be there, or will be written.
bool names_path(std::string_view key) {
  static constexpr std::string_view flags[] = {"--data-path",
                                               "--train-data-path",
                                               "--valid-data-path",
                                               "--test-data-path",
                                               "--load",
                                               "--save",
                                               "--vocab-file",
                                               "--merge-file",
                                               "--tokenizer-model",
                                               "--data-cache-path",
                                               "--tensorboard-dir",
                                               "--pretrained-checkpoint",
                                               "--save_dir",
                                               "--load_dir",
                                               "--pretrained_checkpoint",
                                               "--hf-path",
                                               "--hf_path"};
  if (std::find(std::begin(flags), std::end(flags), key) != std::end(flags)) {
    return true;
  }
  return key.ends_with("model.path") || key.ends_with("train_files") ||
         key.ends_with("val_files") || key.ends_with("default_local_dir") ||
         key == "checkpoint.save" || key == "checkpoint.load" ||
         key == "checkpoint.pretrained_checkpoint" || key.ends_with("tokenizer_path");
}

// <path>, <specify ...>, /path/to/x, your_model_path, ...
bool is_placeholder(std::string_view value) {
  const std::string text = lower(value);
  const std::size_t open = text.find('<');
  if (open != std::string::npos && text.find('>', open) != std::string::npos) {
    return true;
  }
  for (const std::string_view sign :
       {"/path/to/", "path/to/your", "your_own_", "your_path", "/your/", "path_to_your", "your-",
        "todo", "changeme", "fixme", "xxx/", "specify_path", "<your"}) {
    if (text.find(sign) != std::string::npos) {
      return true;
    }
  }
  return text.starts_with("path/to/") || text.starts_with("your_") || text == "/path/to" ||
         text == "..." || text == "xxx";
}

void Findings::path(const Launch& launch, std::string_view key, const Word& value) {
  if (value.conditional || !names_path(key)) {
    return;
  }
  const std::string text = value.text();
  if (value.known() && text.empty() && !value.env_default) {
    add("SHL202", "empty-path", Severity::warning, value.span(),
        std::string(key) + " is an empty text", "give the path, or leave the word out", &launch);
    return;
  }
  // <path with blanks>, cut at them because it is expanded without quotes, starts like this.
  const bool open = text.size() > 1 && text[0] == '<' && text.find('>') == std::string::npos;
  if (open || is_placeholder(text)) {
    Diagnostic& found = add("SHL201", "placeholder-path", Severity::warning, value.span(),
                            std::string(key) + " is still the placeholder " + value.shown(),
                            "put the real path here", &launch);
    if (value.env_default) {
      found.help = "put the real path here, or set the variable that it is the default of";
    }
  }
}

void Findings::paths(const Launch& launch) {
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const Word& word = launch.arguments[i];
    const std::string text = word.text();
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      std::string key = text.substr(0, equals);
      while (!key.empty() && key[0] == '+') {
        key.erase(0, 1);
      }
      path(launch, key, word.slice(equals + 1));
    } else if (text.size() > 2 && text[0] == '-' && i + 1 < launch.arguments.size()) {
      path(launch, text, launch.arguments[i + 1]);
    }
  }
  if (!launch.module && is_placeholder(launch.program)) {
    add("SHL201", "placeholder-path", Severity::warning, launch.program_span,
        "the program's path is still the placeholder " + launch.program, "put the real path here",
        &launch);
  }
}

std::optional<std::int64_t> count_in(const Word& word) {
  if (!word.known()) {
    return std::nullopt;
  }
  // 8, or gpu:8, gpu:h100:8
  const std::string text = word.text();
  const std::size_t colon = text.rfind(':');
  const std::string number = colon == std::string::npos ? text : text.substr(colon + 1);
  const std::optional<long long> value = to_integer(number);
  return value ? std::optional<std::int64_t>(*value) : std::nullopt;
}

void Findings::batch(const Launch& launch) {
  const Command* command = nullptr;
  for (const Command& each : evaluation_.commands) {
    if (each.span == launch.span) {
      command = &each;
    }
  }
  // A step of srun alone may well take fewer nodes than were asked for.
  const bool torchrun =
      std::any_of(launch.launcher.begin(), launch.launcher.end(), [](const Word& word) {
        const std::string text = word.text();
        return text.ends_with("torchrun") || text.starts_with("torch.distributed.");
      });
  if (!command || !command->headers || !torchrun) {
    return;
  }
  const auto fact = [&](std::string_view key) -> const Fact* {
    for (const Fact& each : launch.facts) {
      if (each.key == key && each.value.if_integer() && each.origin == Origin::set) {
        return &each;
      }
    }
    return nullptr;
  };
  const auto compare = [&](const Header& header, const Fact* launcher, std::string_view what,
                           bool only_more) {
    const std::optional<std::int64_t> asked = count_in(header.value);
    if (!asked || !launcher) {
      return;
    }
    const std::int64_t started = *launcher->value.if_integer();
    if (only_more ? started <= *asked : started == *asked) {
      return;
    }
    Diagnostic& found =
        add("SHL203", "gpus-disagree-with-batch", Severity::warning, launcher->value_span,
            "the launcher counts on " + std::to_string(started) + " " + std::string(what) +
                ", the batch system is asked for " + std::to_string(*asked),
            "say the same number in both places", &launch);
    if (!found.code.empty()) {
      found.related.push_back({locate(header.span), "asked for here"});
    }
  };
  for (const Header& header : *command->headers) {
    const std::string option = header.option.text();
    if (option == "--nodes" || option == "-N") {
      compare(header, fact("nnodes"), "nodes", false);
    } else if (option == "--gpus-per-node" || option == "--gres") {
      compare(header, fact("nproc_per_node"), "processes a node", true);
    }
  }
}

// Variables that only a program reads; no script uses them for itself.
bool for_programs(std::string_view name) {
  for (const std::string_view prefix :
       {"NCCL_", "NVTE_", "TORCH_NCCL_", "VLLM_", "UB_", "NVSHMEM_"}) {
    if (name.substr(0, prefix.size()) == prefix) {
      return true;
    }
  }
  return one_of(name,
                {"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF",
                 "TOKENIZERS_PARALLELISM", "OMP_NUM_THREADS", "HYDRA_FULL_ERROR"});
}

// Whether the script reads the variable, so that it may be one of its own.
bool is_read(const Source& source, std::string_view name) {
  const std::string_view text = source.text();
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const char before = at > 0 ? text[at - 1] : ' ';
    if (before == '$' || before == '{' || before == '!') {
      return true;
    }
  }
  return false;
}

void Findings::not_exported(const Launch& launch) {
  for (const Environment& each : launch.environment) {
    if (each.exported || each.unset || !each.set_at || !for_programs(each.name) ||
        is_read(*each.set_at.source, each.name)) {
      continue;
    }
    Diagnostic& found = add("SHL204", "variable-not-exported", Severity::warning, each.set_at,
                            each.name + " is set but not exported: the program does not see it",
                            "write export " + each.name + "=...", &launch);
    if (!found.code.empty()) {
      found.related.push_back({locate(launch.span), "the program is started here"});
      Fix fix;
      fix.title = "export " + each.name;
      fix.safety = Safety::unsafe;
      fix.edits.push_back(
          {locate({each.set_at.source, each.set_at.begin, each.set_at.begin}), "export "});
      found.fixes.push_back(std::move(fix));
    }
  }
}

void Findings::quotes(const Launch& launch) {
  for (const Word& word : launch.arguments) {
    const std::string text = word.text();
    for (const char quote : {'\'', '"'}) {
      std::size_t count = 0, at = 0, offset = 0;
      for (const Piece& piece : word.pieces) {
        for (std::size_t i = 0; i < piece.text.size() && !piece.quoted; ++i) {
          if (piece.text[i] == quote) {
            at = count++ == 0 ? offset + i : at;
          }
        }
        offset += piece.text.size();
      }
      // In an override a pair of quotes is the program's to read; half a pair never is.
      const bool pair_counts = launch.framework == "megatron-lm";
      if (count == 0 || (count % 2 == 0 && !pair_counts)) {
        continue;
      }
      add("SHL206", "literal-quotes", Severity::warning, word.span(),
          "the program receives the quotes in " + word.shown() +
              ": a text that is expanded without quotes is cut at blanks, and quotes in it are "
              "plain characters",
          "keep the words in an array and expand it as \"${ARGS[@]}\"", &launch);
    }
  }
}

// Without pipefail a pipe has the status of its last command: a scheduler, a retry loop or `set -e`
// takes a failed run for a good one. A script that reads PIPESTATUS knows.
void Findings::exit_status(const Launch& launch) {
  const Span& to = launch.piped_to;
  if (!to || to.source->text().find("PIPESTATUS") != std::string_view::npos) {
    return;
  }
  const std::string_view tool = to.text().substr(0, to.text().find_first_of(" \t\n"));
  Diagnostic& found =
      add("SHL208", "exit-status-lost", Severity::warning, to,
          "the exit status is that of " + std::string(tool) +
              ": the pipe hides that the training program failed, since pipefail is not set",
          "put set -o pipefail before the pipe", &launch);
  if (found.code.empty()) {
    return;
  }
  found.related.push_back({locate(launch.span), "the program is started here"});
  const std::string_view text = to.source->text();
  if (launch.span.source != to.source) {
    return;
  }
  const std::size_t newline = text.rfind('\n', launch.span.begin);
  const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  const std::string_view indent = text.substr(line, launch.span.begin - line);
  if (indent.find_first_not_of(" \t") == std::string_view::npos) {
    Fix fix;
    fix.title = "set -o pipefail";
    fix.safety = Safety::unsafe;
    fix.edits.push_back({locate({to.source, launch.span.begin, launch.span.begin}),
                         "set -o pipefail\n" + std::string(indent)});
    found.fixes.push_back(std::move(fix));
  }
}

void Findings::other_commands() {
  if (launches_.empty()) {
    return;
  }
  for (const Command& command : evaluation_.commands) {
    if (!command.environment || command.words.empty() || is_launch(command) ||
        one_of(command.words[0].text(), {"ray", "srun", "docker", "bash", "sh", "uv"})) {
      continue;
    }
    for (const Environment& each : *command.environment) {
      if (!each.prefix || !for_programs(each.name)) {
        continue;
      }
      const bool seen = std::any_of(launches_.begin(), launches_.end(), [&](const Launch& launch) {
        return std::any_of(launch.environment.begin(), launch.environment.end(),
                           [&](const Environment& e) { return e.name == each.name && e.exported; });
      });
      if (!seen) {
        add("SHL205", "variable-for-another-command", Severity::warning, each.set_at,
            each.name + " is set for " + command.words[0].text() +
                " alone: the training program does not see it",
            "export it before the program is started", &launches_.front());
      }
    }
  }
}

// A command that begins with a flag or an override: the lines before it lack a backslash, or a
// comment or blank stands behind one.
void Findings::cut_off() {
  for (std::size_t i = 1; i < evaluation_.commands.size(); ++i) {
    const Command& command = evaluation_.commands[i];
    const Command& before = evaluation_.commands[i - 1];
    if (command.words.empty() || !command.words[0].known() || command.words[0].conditional ||
        command.words[0].open) {
      continue;
    }
    const std::string text = command.words[0].text();
    const bool flag = text.size() > 2 && text[0] == '-' && text[1] == '-' && text[2] != '-';
    const std::size_t equals = text.find('=');
    const std::string_view key = std::string_view(text).substr(0, equals);
    const bool override_word = equals != std::string::npos &&
                               key.find('.') != std::string_view::npos &&
                               key.find('/') == std::string_view::npos;
    const bool program = !launches_.empty() &&
                         std::any_of(launches_.begin(), launches_.end(), [&](const Launch& launch) {
                           return launch.span == before.span;
                         });
    if ((!flag && !override_word) || !program) {
      continue;
    }
    Diagnostic& found =
        add("SHL207", "flags-run-as-command", Severity::warning, command.words[0].span(),
            "the program does not receive " + text +
                " and what follows: the command above ends before it",
            "end every line but the last with a backslash and nothing behind it; a comment ends "
            "the command too",
            &launches_.front());
    if (!found.code.empty()) {
      found.related.push_back({locate(before.span), "this command ends too early"});
    }
  }
}

}  // namespace

std::vector<Diagnostic> script_findings(const Evaluation& evaluation,
                                        const std::vector<Launch>& launches) {
  return Findings(evaluation, launches).run();
}

}  // namespace shardlint::shell
