#include "frontend/shell/evaluator.h"

#include <algorithm>

#include "frontend/grammars/grammars.h"

namespace shardlint::shell {

constexpr std::size_t max_steps = 400000;
constexpr std::size_t max_scripts = 2000;

Evaluator::Evaluator(Sources& sources, const Disk& disk, const Options& options)
    : sources_(sources), disk_(disk), options_(options) {}

Span token_span(const Script& script, const Token& token) {
  return script.source ? Span{script.source, token.begin, token.end} : Span{};
}

Span Evaluator::span(std::uint32_t begin, std::uint32_t end) const {
  if (script_->origin.empty()) {
    return {script_->source, begin, end};
  }
  // In a text that was put together the first and last character that stand somewhere count.
  Span out;
  for (std::uint32_t i = begin; i < end && i < script_->origin.size(); ++i) {
    const Span at = notes_.place(script_->origin.chars[i]);
    if (!at) {
      continue;
    }
    if (!out) {
      out = at;
    } else if (at.source == out.source && at.begin >= out.begin) {
      out.end = std::max(out.end, at.end);
    }
  }
  return out || chain_.empty() ? out : chain_.back().at;
}

Text Evaluator::unknown(Reason reason, std::uint32_t begin, std::uint32_t end, std::string path) {
  return notes_.unknown(reason, std::string(script_->view(begin, end)), span(begin, end),
                        std::move(path));
}

void Evaluator::report(const char* code, const char* name, Severity severity, Verdict verdict,
                       std::string message, const Span& where, std::string help) {
  Diagnostic found;
  found.code = code;
  found.name = name;
  found.severity = severity;
  found.verdict = verdict;
  found.message = std::move(message);
  found.help = std::move(help);
  found.where = where ? locate(where) : Location{};
  for (const Diagnostic& other : out_.diagnostics) {
    if (other.code == found.code && other.where == found.where) {
      return;
    }
  }
  if (out_.diagnostics.size() < 200) {
    out_.diagnostics.push_back(std::move(found));
  }
}

void Evaluator::limit(std::string_view what, const Span& where) {
  out_.complete = false;
  report("SHL104", "script-not-followed-to-the-end", Severity::warning, Verdict::unknown,
         std::string(what), where, "what comes after this point is not checked");
}

bool Evaluator::step(std::size_t cost) {
  steps_ += cost;
  if (steps_ > max_steps && !stopped_) {
    stopped_ = true;
    limit("the script does too much to be followed", chain_.empty() ? span(0, 0) : chain_[0].at);
  }
  return !stopped_;
}

Script& Evaluator::new_script(std::string text, Text origin, const Source* source,
                              std::string path) {
  auto script = std::make_unique<Script>();
  script->text = std::move(text);
  script->origin = std::move(origin);
  script->source = source;
  if (source) {
    script->source_id = notes_.source_id(*source);
  }
  script->path = std::move(path);
  scripts_.push_back(std::move(script));
  Script& out = *scripts_.back();
  const Span whole = {source, 0, 0};
  if (scripts_.size() > max_scripts || out.text.size() > max_parsed_bytes) {
    limit(out.text.size() > max_parsed_bytes ? "the script is too large to be read"
                                             : "too many texts are run as scripts",
          whole);
    out.text.clear();
    out.origin = {};
    return out;
  }
  parse_statements(out);
  for (const Fault& fault : out.tokens.faults) {
    if (source) {
      const std::uint32_t at =
          std::min<std::uint32_t>(fault.at, static_cast<std::uint32_t>(out.text.size()));
      report("SHL101", "script-syntax", Severity::warning, Verdict::unknown, fault.what,
             {source, at, at}, "bash would not read the script like this either");
    }
  }
  if (!out.tokens.complete || out.too_deep) {
    limit(out.too_deep ? "statements are nested too deeply to be followed"
                       : "the script has too many words to be read",
          whole);
  }
  return out;
}

Truth Evaluator::run_script(Script& script) {
  Script* outer = script_;
  script_ = &script;
  const Truth status = run(script.program);
  script_ = outer;
  return status;
}

Evaluation Evaluator::run(const Source& source) {
  Script& script = new_script(std::string(source.text()), {}, &source, normal_path(source.name()));
  files_[script.path] = &script;
  if (const std::size_t at = source.text().find("\r\n"); at != std::string_view::npos) {
    const std::uint32_t begin = static_cast<std::uint32_t>(at);
    report("SHL105", "carriage-returns", Severity::warning, Verdict::violation,
           "lines end in carriage return and newline: bash takes the carriage return for a part of "
           "the last word",
           {&source, begin, begin + 1}, "save the script with plain newlines");
  }
  headers_ = std::make_shared<const std::vector<Header>>(headers_of(source));
  state_.positional_known = options_.arguments_known;
  for (const std::string& argument : options_.arguments) {
    Field field;
    field.text = notes_.computed(argument, {});
    state_.positional.push_back(std::move(field));
  }
  run_script(script);
  return std::move(out_);
}

Evaluation evaluate(const Source& source, Sources& sources, const Disk& disk,
                    const Options& options) {
  return Evaluator(sources, disk, options).run(source);
}

}  // namespace shardlint::shell
