#include "frontend/overrides/argument_errors.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/edit_distance.h"
#include "base/files.h"
#include "base/strings.h"
#include "frontend/overrides/convert.h"

namespace shardlint {
namespace {

std::string quoted_list(std::span<const std::string_view> items) {
  std::string out;
  for (std::string_view item : items) {
    out += (out.empty() ? "`" : ", `") + std::string(item) + "`";
  }
  return out;
}

Fix replace(std::string title, Safety safety, const Span& where, std::string text) {
  Fix fix{std::move(title), safety, {}};
  if (where)
    fix.edits.push_back({locate(where), std::move(text)});
  return fix;
}

// What the user most likely meant, and how sure that is.
struct Meant {
  std::string flag, why;
  Safety safety = Safety::unsafe;
};

Meant meant(const Schema& schema, std::string_view flag) {
  const std::string dashed = replace_all(std::string(flag), "_", "-");
  if (dashed != flag && schema.find_flag(dashed)) {
    return {dashed, "flags are written with dashes", Safety::safe};
  }
  if (!flag.starts_with("--")) {
    const std::string doubled = "-" + std::string(flag);
    if (schema.find_flag(doubled))
      return {doubled, "it takes two dashes", Safety::safe};
  }
  std::string only;
  for (const Option& option : schema.options()) {
    for (std::string_view candidate : option.flags) {
      if (!candidate.starts_with(dashed))
        continue;
      if (!only.empty())
        return {};
      only = candidate;
    }
  }
  if (flag.size() > 4 && !only.empty())
    return {only, "flags cannot be abbreviated here"};
  return {std::string(schema.nearest_flag(dashed)), ""};
}

}  // namespace

Diagnostic& ArgumentErrors::add(const char* code, const char* name, const Word& at,
                                std::string message, const Option* option) {
  Diagnostic d;
  d.code = code;
  d.name = name;
  d.message = std::move(message);
  d.where = locate(at.place());
  d.framework = schema_.framework();
  d.framework_version = schema_.version();
  if (option) {
    d.key.path = option->dest;
    d.key.canonical = schema_.canonical(option->dest);
    const std::size_t colon = option->anchor.rfind(':');
    if (colon != std::string_view::npos) {
      d.evidence.push_back({std::string(schema_.repository()), std::string(schema_.commit()),
                            std::string(option->anchor.substr(0, colon)),
                            std::string(option->anchor.substr(colon + 1)), "argparse"});
    }
  }
  if (at.conditional) {  // refused on some paths only
    d.severity = Severity::warning;
    d.verdict = Verdict::unknown;
    d.unknowns.push_back({at.shown(), "branch", "it is there under a condition that is not known",
                          locate(at.condition)});
  }
  return out_.emplace_back(std::move(d));
}

bool ArgumentErrors::foreign(const Word& word, std::string_view flag) {
  const std::string version = "Megatron-LM " + std::string(schema_.version());
  const std::string_view owner = schema_.flag_owner(flag);
  const std::optional<Lifetime> life =
      owner.empty() ? schema_.history(flag) : std::optional<Lifetime>();
  if (declared_ && !life && declared_(flag)) {
    return true;  // a flag of the copy's own
  }
  std::string message = fmt::format("`{}` is not a flag of {}", flag, version);
  Meant better;
  const std::string_view negative =
      flag.starts_with("--")
          ? schema_.flag_of(replace_all(std::string(flag.substr(2)), "-", "_"), true)
          : std::string_view();
  if (!owner.empty()) {
    message = fmt::format("only {} has the flag `{}`", owner, flag);
  } else if (life && life->old_name) {
    message = life->until.empty() ? fmt::format("`{}` is now called `{}`", flag, life->replacement)
                                  : fmt::format("`{}` is called `{}` since Megatron-LM {}", flag,
                                                life->replacement, life->until);
    better = {std::string(life->replacement), "", Safety::safe};
  } else if (life && !life->until.empty()) {
    message = fmt::format("`{}` was removed in Megatron-LM {}", flag, life->until);
    if (!life->note.empty())
      message += fmt::format(": {}", life->note);
  } else if (life && !life->since.empty()) {
    message = fmt::format("`{}` needs Megatron-LM {} or later, this is {}", flag, life->since,
                          schema_.version());
  } else if (!negative.empty()) {
    message = fmt::format("`{}` does not exist: it is on by default, and `{}` turns it off", flag,
                          negative);
  } else if (suggestions_-- > 0) {
    better = meant(schema_, flag);
    if (!better.flag.empty())
      message += fmt::format("; did you mean `{}`?", better.flag);
  }
  Diagnostic& d = add("ARG101", "unknown-flag", word, message, nullptr);
  if (!better.why.empty())
    d.help = better.why;
  if (!better.flag.empty()) {
    Span where = word.span();
    const bool exact = where && where.text().starts_with(flag);
    if (exact)
      where.end = static_cast<std::uint32_t>(where.begin + flag.size());
    if (exact) {
      d.fixes.push_back(
          replace(fmt::format("Write `{}`", better.flag), better.safety, where, better.flag));
    }
  } else if (!negative.empty() && !life) {
    d.fixes.push_back(replace(fmt::format("Remove `{}`", flag), Safety::display, word.span(), ""));
  }
  if (!Schema::known_script(script_)) {
    d.severity = Severity::warning;
    d.verdict = Verdict::unknown;
    d.unknowns.push_back({std::string(flag), "script",
                          fmt::format("{} may add flags of its own", file_name(script_)), d.where});
    return true;
  }
  return word.conditional;
}

void ArgumentErrors::count(const Word& flag, const Option& option, std::size_t given) {
  std::string due = "a value";
  if (option.nargs == Nargs::some)
    due = "at least one value";
  if (option.nargs == Nargs::exactly)
    due = fmt::format("{} values", option.count);
  std::string message = fmt::format("`{}` needs {}", flag.shown(), due);
  if (given > 0)
    message += fmt::format(", got {}", given);
  add("ARG102", "flag-without-value", flag, message, &option);
}

void ArgumentErrors::type(const Word& flag, const Word& value, const Option& option) {
  add("ARG103", "flag-value-type", value,
      fmt::format("`{}` takes {}, got `{}`", flag.shown(), expected_of(option.convert),
                  value.shown()),
      &option)
      .key.value = value.shown();
}

void ArgumentErrors::choice(const Word& flag, const Word& value, const Option& option) {
  const std::string text = value.text();
  if (declared_ && declared_(text)) {
    return;
  }
  Diagnostic& d =
      add("ARG104", "flag-value-choice", value,
          fmt::format("`{}` takes {}, got `{}`", flag.shown(), quoted_list(option.choices), text),
          &option);
  d.key.value = text;
  const std::string_view better = nearest(text, option.choices);
  if (better.empty())
    return;
  d.help = fmt::format("did you mean `{}`?", better);
  const Span where = value.span();
  if (where && where.text() == text) {
    d.fixes.push_back(
        replace(fmt::format("Write `{}`", better), Safety::unsafe, where, std::string(better)));
  }
}

void ArgumentErrors::switch_with_value(const Word& whole, const Word& flag, const Word& value,
                                       const Option& option) {
  Diagnostic& d =
      add("ARG105", "switch-with-value", whole,
          fmt::format("`{}` is a switch and takes no value, got `{}`", flag.shown(), value.shown()),
          &option);
  const std::string word = lower(value.text());
  if (word == "true" || word == "1") {
    d.fixes.push_back(
        replace(fmt::format("Write `{}`", flag.shown()), Safety::safe, whole.span(), flag.text()));
  } else if (word == "false" || word == "0") {
    const std::string_view off = schema_.flag_of(option.dest, option.action != Action::store_false);
    d.help = off.empty() ? "leave the flag out to turn it off" : fmt::format("use `{}`", off);
  }
}

void ArgumentErrors::stray(const Word& word, std::size_t count) {
  const std::string text = word.shown();
  std::string message = fmt::format("`{}` belongs to no flag", text);
  if (count > 1)
    message += fmt::format(", nor do the {} words after it", count - 1);
  Diagnostic& d = add("ARG106", "stray-argument", word, message, nullptr);
  const std::size_t space = text.find(' ');
  if (text.starts_with("--") && space != std::string::npos &&
      schema_.find_flag(text.substr(0, space))) {
    d.help = "flag and value arrive as one word here; leave the quotes out";
  } else if (schema_.find_flag("--" + text)) {
    d.help = fmt::format("did you mean `--{}`?", text);
  } else if (text == "true" || text == "false" || text == "True" || text == "False") {
    d.help = "switches take no value: leave the flag out to turn it off";
  }
}

void ArgumentErrors::yaml_cfg(const Word& flag, std::size_t others) {
  if (others == 0)
    return;
  Diagnostic& d = add("ARG110", "yaml-cfg-discards-flags", flag,
                      fmt::format("the file of `--yaml-cfg` replaces every flag: the other {} "
                                  "here have no effect",
                                  others),
                      schema_.find_flag("--yaml-cfg"));
  d.severity = Severity::warning;
}

}  // namespace shardlint
