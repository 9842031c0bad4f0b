#include "cli/effective.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "base/strings.h"
#include "report/escape.h"

namespace shardlint {
namespace {

using json = nlohmann::ordered_json;

std::string place(const Location& where) {
  return where.file == "<arguments>" ? "the arguments"
                                     : fmt::format("{}:{}", where.file, where.begin.line);
}

// "rewritten by STEP (arguments.py:448)"
std::string with_anchor(std::string text, const EffectiveStep& step) {
  if (!step.upstream.empty()) {
    text += fmt::format(" ({})", step.upstream.substr(step.upstream.rfind('/') + 1));
  }
  return text;
}

std::string step_text(const EffectiveStep& step) {
  const bool written = !step.where.file.empty();
  switch (step.origin) {
    case Origin::default_value:
      return step.by.empty() ? "default" : fmt::format("default of {}", step.by);
    case Origin::rewritten:
      return with_anchor(fmt::format("rewritten by {}", step.by), step);
    case Origin::computed:
      if (written) {
        return fmt::format("worked out from {}{}", place(step.where),
                           step.by.empty() ? "" : fmt::format(" ({})", step.by));
      }
      return with_anchor(fmt::format("worked out{}{}", step.upstream.empty() ? ": " : " by ",
                                     step.by.empty() ? "when it is constructed" : step.by),
                         step);
    case Origin::set:
    case Origin::override_value:
    case Origin::environment:
      break;
  }
  std::string out = written ? place(step.where) : step.by.empty() ? "set" : step.by;
  if (written && !step.by.empty()) {
    out += fmt::format(" ({})", step.by);
  }
  return out;
}

json value_json(const Value& value) {
  if (value.is_null() || value.is_unknown()) {
    return nullptr;
  }
  if (const bool* flag = value.if_bool()) {
    return *flag;
  }
  if (const std::int64_t* integer = value.if_integer()) {
    return *integer;
  }
  if (const double* number = value.if_double()) {
    return *number;
  }
  if (const std::string* text = value.if_string()) {
    return valid_utf8(*text);
  }
  if (const List* list = value.if_list()) {
    json out = json::array();
    for (const Value& item : *list) {
      out.push_back(value_json(item));
    }
    return out;
  }
  json out = json::object();
  for (const auto& [key, item] : *value.if_map()) {
    out[valid_utf8(key)] = value_json(item);
  }
  return out;
}

json place_json(const Location& where) {
  return where.file.empty() ? json(nullptr)
                            : json{{"filename", valid_utf8(where.file)},
                                   {"row", where.begin.line},
                                   {"column", where.begin.column},
                                   {"offset", where.begin.offset}};
}

json or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(valid_utf8(text));
}

json step_json(const EffectiveStep& step) {
  return {{"value", value_json(step.value)},
          {"known", !step.value.is_unknown()},
          {"origin", step.origin == Origin::rewritten ? "rewritten" : origin_name(step.origin)},
          {"by", or_null(step.by)},
          {"upstream", or_null(step.upstream)},
          {"place", place_json(step.where)}};
}

}  // namespace

std::vector<Effective> resolve_named(const std::string& what, Project& project) {
  const std::size_t colons = what.rfind("::");
  const bool one = colons != std::string::npos && colons > 0 && !RealDisk().is_file(what);
  const std::string path = one ? what.substr(0, colons) : what;
  std::vector<Effective> all = resolve_file(path, project.options_of(path));
  if (!one) {
    return all;
  }
  const std::string instance = what.substr(colons + 2);
  std::vector<std::string> names;
  for (const Effective& each : all) {
    names.push_back(each.instance);
  }
  std::erase_if(all, [&](const Effective& each) { return each.instance != instance; });
  if (all.empty()) {
    throw Error(fmt::format("{} holds no `{}`; it holds {}", path, instance, join(names, ", ")));
  }
  return all;
}

std::string title(const Effective& effective) {
  const std::string& place = effective.version_place;
  return fmt::format("{}{}{} ({} {}{})", effective.file, effective.instance.empty() ? "" : ", ",
                     printable(effective.instance), effective.framework, effective.version,
                     !effective.measured ? ", the newest known"
                     : place.empty()     ? ""
                                         : fmt::format(", named by {}", printable(place)));
}

bool key_wanted(const std::vector<std::string>& patterns, const EffectiveKey& key) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           const std::string glob =
               pattern.find('*') == std::string::npos ? fmt::format("*{}*", pattern) : pattern;
           return glob_match(glob, key.key) || glob_match(glob, key.canonical);
         });
}

std::string value_text(const EffectiveKey& key) {
  const Value& value = key.value();
  if (!value.is_unknown()) {
    const std::string* text = value.if_string();
    return text && text->empty() ? "''" : printable(value.text());
  }
  if (key.unknown && key.unknown->reason == "fragment") {
    return "unknown";  // its type says no more than that
  }
  std::vector<std::string> domain;
  for (const Value& each : value.if_unknown()->domain) {
    domain.push_back(printable(each.text()));
  }
  return domain.empty() || domain.size() > 6 ? "unknown"
                                             : fmt::format("unknown: {}", join(domain, " or "));
}

std::string origin_text(const EffectiveKey& key) {
  const EffectiveStep& last = key.chain.back();
  std::string out = step_text(last);
  const EffectiveStep* written = key.written();
  if (written && written != &last) {
    out += fmt::format("; {} says `{}`", place(written->where), written->value.text());
  } else if (last.origin == Origin::rewritten && key.chain.size() > 1) {
    out += fmt::format("; it was `{}`, {}", key.chain[key.chain.size() - 2].value.text(),
                       step_text(key.chain[key.chain.size() - 2]));
  }
  if (key.unknown) {
    const bool absent = key.unknown->reason == "fragment" && key.chain.size() == 1 && !written;
    out = absent ? key.unknown->detail
                 : fmt::format("{}: {}{}{}", out, key.unknown->reason,
                               key.unknown->detail.empty() ? "" : ", ", key.unknown->detail);
  }
  return printable(out);
}

json configuration_json(const Effective& effective) {
  return {{"filename", valid_utf8(effective.file)},
          {"instance", or_null(effective.instance)},
          {"framework", effective.framework},
          {"framework_version", effective.version},
          {"version_assumed", !effective.measured},
          {"version_place", or_null(effective.version_place)},
          {"closed", effective.closed},
          {"refused", effective.refused}};
}

json key_json(const EffectiveKey& key) {
  json chain = json::array();
  for (const EffectiveStep& step : key.chain) {
    chain.push_back(step_json(step));
  }
  json out = {{"key", valid_utf8(key.key)}, {"canonical", or_null(key.canonical)}};
  out.update(step_json(key.chain.back()));
  out["changed"] = key.changed();
  out["unknown"] = nullptr;
  if (key.unknown) {
    json domain = json::array();
    for (const Value& each : key.value().if_unknown()->domain) {
      domain.push_back(value_json(each));
    }
    out["unknown"] = {{"reason", key.unknown->reason},
                      {"message", valid_utf8(key.unknown->detail)},
                      {"one_of", std::move(domain)},
                      {"place", place_json(key.unknown->where)}};
  }
  out["chain"] = std::move(chain);
  return out;
}

}  // namespace shardlint
