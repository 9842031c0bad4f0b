#include "frontend/overrides/interpolation.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "frontend/overrides/hydra_grammar.h"

namespace shardlint {
namespace {

constexpr int most_steps = 40;  // references that follow one another

class Resolver {
 public:
  Resolver(const HydraNode& root) : root_(root) {}

  Resolved value(const Value& value, std::string_view path, int depth) {
    if (const List* list = value.if_list()) {
      List out;
      for (const Value& item : *list) {
        Resolved inner = this->value(item, path, depth + 1);
        out.push_back(inner.map ? value_of(*inner.map) : inner.value);
      }
      return {Value(std::move(out)), nullptr, ""};
    }
    const std::string* text = value.if_string();
    if (!text || text->find("${") == std::string::npos) {
      return {value, nullptr, ""};
    }
    if (depth > most_steps) {
      return {unknown(Reason::limit, *text), nullptr, ""};
    }
    return string(*text, path, depth);
  }

 private:
  Resolved string(std::string_view text, std::string_view path, int depth) {
    const std::size_t whole = end_of(text, 0);
    if (text.starts_with("${") && whole == text.size()) {
      return reference(text.substr(2, text.size() - 3), path, depth);
    }
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '\\' && text.substr(at + 1).starts_with("${")) {
        const std::size_t end = end_of(text, at + 1);
        out += text.substr(at + 1, end - at - 1);
        at = end;
        continue;
      }
      if (!text.substr(at).starts_with("${")) {
        out += text[at++];
        continue;
      }
      const std::size_t end = end_of(text, at);
      const Resolved part = reference(text.substr(at + 2, end - at - 3), path, depth);
      if (part.value.is_unknown()) {
        Unknown why = *part.value.if_unknown();
        why.not_null = true;
        why.domain.clear();
        return {why, nullptr, ""};
      }
      out += python_text(part.value);
      at = end;
    }
    return {Value(std::move(out)), nullptr, ""};
  }

  Resolved reference(std::string_view inside, std::string_view path, int depth) {
    const std::size_t colon = colon_of(inside);
    if (colon == std::string_view::npos) {
      const Resolved name = value(Value(inside), path, depth + 1);  // ${a.${b}}
      const std::string* key = name.value.if_string();
      if (!key) {
        return {name.value, nullptr, ""};
      }
      return follow(absolute(trim(*key), path), inside, depth);
    }
    const std::string_view resolver = trim(inside.substr(0, colon));
    const std::vector<std::string_view> arguments = split_arguments(inside.substr(colon + 1));
    if (resolver == "oc.select" && !arguments.empty()) {
      const bool plain = arguments[0].find("${") == std::string_view::npos;
      const Resolved key = plain ? Resolved{Value(trim(arguments[0])), nullptr, ""}
                                 : argument(arguments[0], path, depth);
      if (const std::string* name = key.value.if_string()) {
        const std::string target = absolute(*name, path);
        const HydraNode* node = find_node(root_, target);
        const std::string* text = node ? node->value.if_string() : nullptr;
        if (node && !(text && *text == "???")) {
          return follow(target, inside, depth);  // null too: the default is for missing keys
        }
        return arguments.size() > 1 ? argument(arguments[1], path, depth)
                                    : Resolved{Value(), nullptr, ""};
      }
      return {key.value, nullptr, ""};
    }
    if (resolver == "oc.env") {
      const std::string name(arguments.empty() ? std::string_view() : arguments[0]);
      return {unknown(Reason::environment, "$" + name), nullptr, ""};
    }
    return {unknown(Reason::interpolation, fmt::format("${{{}}}", inside)), nullptr, ""};
  }

  Resolved argument(std::string_view text, std::string_view path, int depth) {
    text = trim(text);
    if (text.find("${") != std::string_view::npos) {
      return value(Value(text), path, depth + 1);
    }
    const OverrideValue parsed = parse_override_value(literal_word(std::string(text)));
    if (!parsed.error.empty()) {
      return {Value(text), nullptr, ""};
    }
    return {parsed.value, nullptr, ""};
  }

  Resolved follow(const std::string& target, std::string_view inside, int depth) {
    // References along the path are followed too.
    const HydraNode* node = &root_;
    std::string at;
    for (std::string_view part : split(target, '.')) {
      if (node && !node->is_map) {
        node = value(node->value, at, depth + 1).map;
      }
      node = node ? node->child(part) : nullptr;
      at += (at.empty() ? "" : ".") + std::string(part);
    }
    if (!node) {
      return {unknown(Reason::interpolation, fmt::format("${{{}}}", inside)), nullptr, ""};
    }
    if (node->is_map) {
      return {Value(Map{}), node, target};
    }
    Resolved out = value(node->value, target, depth + 1);
    if (out.followed.empty()) {
      out.followed = target;
    }
    return out;
  }

  // ${.x} is a sibling, ${..x} a sibling of the parent.
  static std::string absolute(std::string_view key, std::string_view path) {
    if (!key.starts_with('.')) {
      return std::string(key);
    }
    std::string base(path);
    while (key.starts_with('.')) {
      const std::size_t dot = base.rfind('.');
      base = dot == std::string::npos ? "" : base.substr(0, dot);
      key.remove_prefix(1);
    }
    return base.empty() ? std::string(key) : base + "." + std::string(key);
  }

  static std::size_t end_of(std::string_view text, std::size_t from) {
    int depth = 0;
    for (std::size_t i = from; i < text.size(); ++i) {
      if (text[i] == '{') {
        ++depth;
      } else if (text[i] == '}' && --depth == 0) {
        return i + 1;
      }
    }
    return text.size();
  }

  static std::size_t colon_of(std::string_view inside) {
    int depth = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      depth += inside[i] == '{';
      depth -= inside[i] == '}';
      if (inside[i] == ':' && depth == 0) {
        return i;
      }
    }
    return std::string_view::npos;
  }

  static std::vector<std::string_view> split_arguments(std::string_view text) {
    std::vector<std::string_view> out;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const char c = i < text.size() ? text[i] : ',';
      depth += c == '{' || c == '[' || c == '(';
      depth -= c == '}' || c == ']' || c == ')';
      if (c == ',' && (depth == 0 || i == text.size())) {
        out.push_back(trim(text.substr(begin, i - begin)));
        begin = i + 1;
      }
    }
    return out;
  }

  static std::string python_text(const Value& value) {
    if (value.is_null()) {
      return "None";
    }
    if (const bool* flag = value.if_bool()) {
      return *flag ? "True" : "False";
    }
    return value.text();
  }

  const HydraNode& root_;
};

}  // namespace

Resolved resolve_at(const HydraNode& root, const Value& value, std::string_view path) {
  return Resolver(root).value(value, path, 0);
}

}  // namespace shardlint
