// Other scripts and strings that are run: source, bash FILE, bash -c, eval, sbatch, here-documents,
// functions. The way in is kept in the chain; how far it may go is limited.

#include <algorithm>

#include "frontend/grammars/grammars.h"
#include "frontend/shell/evaluator.h"

namespace shardlint::shell {
namespace {

constexpr std::size_t max_chain = 24;

bool one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

bool is_shell(std::string_view name) {
  return one_of(name, {"bash", "sh", "zsh", "dash", "ksh"});
}

// Programs that run the rest of their words.
bool is_wrapper(std::string_view name) {
  return one_of(name,
                {"srun",      "mpirun",      "mpiexec", "nohup",   "docker",   "podman",
                 "apptainer", "singularity", "env",     "sudo",    "timeout",  "numactl",
                 "ssh",       "ray",         "uv",      "kubectl", "setsid",   "stdbuf",
                 "nice",      "taskset",     "pdsh",    "enroot",  "xargs",    "salloc",
                 "nsys",      "parallel",    "su",      "script",  "unbuffer", "mpirun.real"});
}

std::string base_name(const Text& text) {
  return file_name(text.plain());
}

}  // namespace

bool looks_like_script(std::string_view word) {
  return word.size() > 3 && word[0] != '-' && word.find_first_of(":=,") == std::string_view::npos &&
         (word.ends_with(".sh") || word.ends_with(".slurm") || word.ends_with(".sbatch") ||
          word.ends_with(".bash"));
}

std::optional<std::string> Evaluator::resolve(const Text& path, bool& reachable) const {
  reachable = false;
  if (path.known()) {
    const std::string plain = path.plain();
    if (plain.empty() || plain[0] == '/') {
      return std::nullopt;  // a path of the machine that runs the job
    }
    reachable = true;
    if (!state_.directory.empty()) {
      const std::string there = normal_path(join_path(state_.directory, plain));
      if (disk_.is_file(there) || disk_.is_directory(there)) {
        return there;
      }
    }
    // Where it is started is not known: the script's folder, and those above it.
    return find_upwards(disk_, script_->path.empty() ? "." : parent_path(script_->path), plain);
  }
  const std::string there = notes_.path_of(path);
  if (there.empty()) {
    return std::nullopt;
  }
  reachable = true;
  return there;
}

Script* Evaluator::script_of(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) {
    return known->second;
  }
  const std::optional<std::uint64_t> size = disk_.size(path);
  if (!size || *size > max_parsed_bytes) {
    return nullptr;
  }
  std::optional<std::string> text = disk_.read(path);
  if (!text) {
    return nullptr;
  }
  const Source* source = sources_.find(path);
  if (!source) {
    source = &sources_.add(path, std::move(*text));
  }
  Script& script = new_script(std::string(source->text()), {}, source, path);
  files_[path] = &script;
  return &script;
}

// Runs something in a shell of its own, which sees what is exported.
bool Evaluator::child(const std::function<void()>& body) {
  if (chain_.size() > max_chain || depth_ > 120) {
    limit("scripts call each other too deeply to be followed",
          chain_.empty() ? Span{} : chain_.front().at);
    return false;
  }
  State outer = state_;
  const Flow flow = flow_;
  const auto prefix = prefix_;
  state_.pipefail = false;  // options are not inherited
  for (auto at = state_.variables.begin(); at != state_.variables.end();) {
    at = at->second->exported || at->second->unset ? std::next(at) : state_.variables.erase(at);
  }
  for (const Environment& each : prefix) {
    // Text that went through a word keeps its history only in the word; here it is read afresh.
    Variable variable;
    Field field;
    for (const Piece& piece : each.value.pieces) {
      if (piece.unknown) {
        field.text.append(notes_.unknown(piece.unknown->reason, piece.unknown->detail, piece.span));
        continue;
      }
      for (std::size_t i = 0; i < piece.text.size(); ++i) {
        Char c;
        c.c = piece.text[i];
        if (piece.verbatim && piece.span) {
          c.flags = 0;
          c.source = notes_.source_id(*piece.span.source);
          c.offset = piece.span.begin + static_cast<std::uint32_t>(i);
        }
        c.flags |= piece.env_default ? Char::env_default : 0;
        field.text.chars.push_back(c);
      }
    }
    variable.values = {std::move(field)};
    variable.exported = true;
    variable.set_at = each.set_at;
    state_.variables[each.name] = std::make_shared<const Variable>(std::move(variable));
  }
  prefix_.clear();
  state_.functions.clear();
  state_.hidden.clear();
  environment_changed_ = true;
  flow_ = Flow::none;
  ++depth_;
  body();
  --depth_;
  prefix_ = prefix;
  flow_ = flow;
  state_ = std::move(outer);
  environment_changed_ = true;
  return true;
}

bool Evaluator::run_string(const Text& text, const Span& where, std::string what) {
  if (chain_.size() > max_chain || depth_ > 120) {
    limit("texts are run within texts too deeply to be followed", where);
    return false;
  }
  Text origin = text;
  for (Char& c : origin.chars) {
    c.flags &= static_cast<std::uint8_t>(~Char::quoted);
  }
  std::string plain = origin.plain();
  if (!step(plain.size() / 16)) {
    return false;
  }
  Script& script = new_script(std::move(plain), std::move(origin), nullptr,
                              script_ ? script_->path : std::string());
  chain_.push_back({where, std::move(what)});
  ++depth_;
  run_script(script);
  --depth_;
  chain_.pop_back();
  return true;
}

bool Evaluator::run_file(const Field& word, std::vector<Field> arguments, const Span& where,
                         std::string_view how, std::vector<Field> around) {
  const std::string shown = to_word(word, notes_).shown();
  std::vector<Word> outside;
  for (const Field& field : around) {
    outside.push_back(to_word(field, notes_));
  }
  const auto in_child = [&](const std::function<void()>& body) {
    if (!outside.empty()) {
      around_.push_back(outside);
    }
    const bool done = child([&] {
      // "$@" of a script without arguments hands on none.
      const bool passed_on = arguments.size() == 1 && arguments[0].open;
      state_.positional = passed_on ? std::vector<Field>{} : std::move(arguments);
      state_.positional_known = !passed_on || options_.arguments_known;
      body();
    });
    if (!outside.empty()) {
      around_.pop_back();
    }
    return done;
  };
  if (word.text.known()) {
    const auto written = state_.files.find(word.text.plain());
    if (written != state_.files.end()) {
      const Text text = written->second;
      return in_child([&] { run_string(text, where, std::string(how) + " " + shown); });
    }
  }
  bool reachable = false;
  const std::optional<std::string> path = resolve(word.text, reachable);
  Script* script = path && disk_.is_file(*path) ? script_of(*path) : nullptr;
  if (!script) {
    return false;
  }
  const auto outer_headers = headers_;
  if (script->source && how == "sbatch") {
    headers_ = std::make_shared<const std::vector<Header>>(headers_of(*script->source));
  }
  chain_.push_back({where, std::string(how) + " " + shown});
  const bool done = in_child([&] {
    state_.directory.clear();
    run_script(*script);
  });
  chain_.pop_back();
  headers_ = outer_headers;
  return done;
}

bool Evaluator::source_file(const std::vector<Field>& words, const Span& where) {
  if (words.size() < 2) {
    return false;
  }
  const std::string shown = to_word(words[1], notes_).shown();
  const auto written =
      words[1].text.known() ? state_.files.find(words[1].text.plain()) : state_.files.end();
  if (written != state_.files.end()) {
    const Text text = written->second;
    return run_string(text, where, "source " + shown);
  }
  bool reachable = false;
  const std::optional<std::string> path = resolve(words[1].text, reachable);
  Script* script = path && disk_.is_file(*path) ? script_of(*path) : nullptr;
  if (!script) {
    last_status_ = Truth::unknown;
    const std::string file = file_name(words[1].text.plain());
    if (file != "activate" && file != "activate.sh" && file != "conda.sh" && file != ".bashrc" &&
        file != "set_env.sh" && file != "setvars.sh") {
      absent_source_ = "source " + shown;
      report("SHL103", "sourced-file-absent", Severity::info, Verdict::unknown,
             "source " + shown + ": this file is not here, what it sets is not known",
             words[1].written ? words[1].written : where,
             "check the script where the file is, or state the variables with --env");
    }
    return false;
  }
  if (chain_.size() > max_chain || depth_ > 120) {
    limit("scripts source each other too deeply to be followed", where);
    return false;
  }
  const std::vector<Field> outer = state_.positional;
  const bool outer_known = state_.positional_known;
  if (words.size() > 2) {
    state_.positional.assign(words.begin() + 2, words.end());
    state_.positional_known = true;
  }
  chain_.push_back({where, "source " + shown});
  ++depth_;
  last_status_ = run_script(*script);
  --depth_;
  chain_.pop_back();
  if (flow_ == Flow::returned) {
    flow_ = Flow::none;
  }
  if (words.size() > 2) {
    state_.positional = outer;
    state_.positional_known = outer_known;
  }
  return true;
}

Truth Evaluator::call_function(const std::string& name, const std::vector<Field>& words,
                               const Span& where) {
  if (chain_.size() > max_chain || depth_ > 120) {
    limit("functions call each other too deeply to be followed", where);
    return Truth::unknown;
  }
  const auto [script, body] = state_.functions.at(name);
  const std::vector<Field> outer = state_.positional;
  const bool outer_known = state_.positional_known;
  const bool passed_on = words.size() == 2 && words[1].open && !outer_known;
  state_.positional.assign(words.begin() + 1, words.end());
  state_.positional_known = !passed_on;
  if (passed_on) {
    state_.positional.clear();
  }
  state_.hidden.emplace_back();
  chain_.push_back({where, "function " + name});
  Script* const outer_script = script_;
  script_ = script;
  const Truth status = run(*body);
  script_ = outer_script;
  chain_.pop_back();
  if (!state_.hidden.empty()) {
    for (const auto& [variable, value] : state_.hidden.back()) {
      if (value) {
        state_.variables[variable] = value;
      } else {
        state_.variables.erase(variable);
      }
    }
    state_.hidden.pop_back();
    environment_changed_ = true;
  }
  state_.positional = outer;
  state_.positional_known = outer_known;
  if (flow_ == Flow::returned) {
    flow_ = Flow::none;
  }
  return status;
}

// True when the words were a script, or a text to run, and have been followed.
bool Evaluator::follow(std::vector<Field>& words, const Span& where) {
  const std::string first = base_name(words[0].text);
  if (first == "sbatch") {
    return batch(words, where);
  }
  const bool wrapped = is_wrapper(first);
  for (std::size_t i = 0; i < words.size() && (i == 0 || wrapped); ++i) {
    if (!words[i].text.known() && i > 0) {
      continue;
    }
    const std::string word = words[i].text.plain();
    if (word.empty() || word[0] == '-') {
      continue;
    }
    const std::vector<Field> around(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<Word> outside;
    if (is_shell(file_name(word))) {
      std::size_t next = i + 1;
      bool string = false;
      while (next < words.size()) {
        const std::string option = words[next].text.plain();
        if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) {
          break;
        }
        string = string || (option[1] != '-' && option.find('c') != std::string::npos);
        ++next;
        if (option == "-o" || option == "--rcfile") {
          ++next;
        }
        if (option == "--") {
          break;
        }
      }
      for (const Field& field : around) {
        outside.push_back(to_word(field, notes_));
      }
      // The text by value: it may be the very input that is taken away below.
      const auto run_text = [&](Text text, std::size_t rest, const char* what) {
        if (!outside.empty()) {
          around_.push_back(outside);
        }
        child([&] {
          input_.reset();
          state_.positional.clear();
          if (rest < words.size()) {
            state_.positional.assign(words.begin() + static_cast<std::ptrdiff_t>(rest),
                                     words.end());
          }
          state_.positional_known = true;
          run_string(text, where, what);
        });
        if (!outside.empty()) {
          around_.pop_back();
        }
        return true;
      };
      if (string) {
        return next < words.size() && run_text(words[next].text, next + 2, "bash -c");
      }
      if (next >= words.size()) {
        return input_ && !input_->empty() && run_text(*input_, next, "here-document to bash");
      }
      if (words[next].open) {
        return false;
      }
      return run_file(words[next],
                      {words.begin() + static_cast<std::ptrdiff_t>(next) + 1, words.end()}, where,
                      "bash", around);
    }
    if (first == "ssh" && i > 0 && word.find(' ') != std::string::npos) {
      const Text text = joined(words, i);
      around_.push_back({});
      for (const Field& field : around) {
        around_.back().push_back(to_word(field, notes_));
      }
      child([&] {
        state_.variables.clear();  // nothing goes over but the text
        run_string(text, where, "ssh");
      });
      around_.pop_back();
      return true;
    }
    const bool path = i == 0 && word.find('/') != std::string::npos && !word.ends_with(".py");
    if (looks_like_script(word) || path) {
      if (run_file(words[i], {words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()},
                   where, "run", around)) {
        return true;
      }
      if (i == 0) {
        return false;
      }
    }
  }
  if (first == "ssh" && input_ && !input_->empty()) {
    const Text text = *input_;
    return child([&] {
      input_.reset();
      state_.variables.clear();
      run_string(text, where, "here-document to ssh");
    });
  }
  return false;
}

}  // namespace shardlint::shell
