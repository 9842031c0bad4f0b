#include "frontend/yaml/evaluate.h"

#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace shardlint::yaml {
namespace {

constexpr int max_depth = 24;            // references to references
constexpr std::size_t max_steps = 2000;  // of one value: doubling strings are stopped here
constexpr std::size_t max_text = 64 * 1024;

// The } that closes the ${ whose content begins at `at`; npos if there is none.
std::size_t closing_brace(std::string_view text, std::size_t at) {
  int depth = 1;
  for (char quote = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote) {
      quote = c == quote ? '\0' : quote;
    } else if (depth > 1 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at;
    }
  }
  return std::string_view::npos;
}

// At commas that stand outside of quotes and brackets.
std::vector<std::string_view> arguments(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t from = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[' || c == '(') {
      ++depth;
    } else if (c == '}' || c == ']' || c == ')') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.push_back(trim(text.substr(from, i - from)));
      from = i + 1;
    }
  }
  out.push_back(trim(text.substr(from)));
  return out;
}

class Evaluator {
 public:
  explicit Evaluator(const Scope& scope) : scope_(scope) {}

  Evaluated node(const Node& node, const std::string& path, int depth) {
    const Node& real = node.real();
    if (++steps_ > max_steps && depth > 0) {
      return {unknown(Reason::limit, "too many references", node.span), nullptr};
    }
    switch (real.kind) {
      case Node::Kind::null:
      case Node::Kind::alias:
        return {};
      case Node::Kind::scalar:
        return scalar(real, node.span, path, depth);
      case Node::Kind::sequence: {
        List list;
        std::size_t index = 0;
        for (const Node* item : real.items()) {
          list.push_back(this->node(*item, fmt::format("{}.{}", path, index++), depth).value);
        }
        return {list, nullptr};
      }
      case Node::Kind::mapping: {
        Map map;
        for (const Pair& pair : real.entries()) {
          const std::string key(pair.key->is_scalar() ? pair.key->scalar() : pair.key->span.text());
          map.emplace_back(key,
                           this->node(*pair.value, fmt::format("{}.{}", path, key), depth).value);
        }
        return {map, nullptr};
      }
    }
    return {};
  }

 private:
  Evaluated scalar(const Node& real, const Span& where, const std::string& path, int depth) {
    if (scope_.interpolate && real.text.find("${") != std::string::npos) {
      return text(real.text, where, path, depth);
    }
    if (scope_.interpolate && real.text == "???") {
      return {unknown(Reason::absent, "??? stands for a value that must be given", where), nullptr};
    }
    return {resolve_scalar(real.text, real.style, real.tag, scope_.mode), nullptr};
  }

  // A text with references: one alone keeps its type, several are put together.
  Evaluated text(std::string_view text, const Span& where, const std::string& path, int depth) {
    if (depth > max_depth) {
      return {unknown(Reason::limit, "references that go in a circle or too deep", where), nullptr};
    }
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t dollar = text.find("${", at);
      if (dollar == std::string_view::npos) {
        out += text.substr(at);
        break;
      }
      std::size_t slashes = 0;
      while (slashes < dollar - at && text[dollar - 1 - slashes] == '\\') {
        ++slashes;
      }
      out += text.substr(at, dollar - at - (slashes + 1) / 2);
      if (slashes % 2 == 1) {  // \${ is ${ itself
        out += "${";
        at = dollar + 2;
        continue;
      }
      const std::size_t close = closing_brace(text, dollar + 2);
      if (close == std::string_view::npos) {
        return {unknown(Reason::interpolation, "'${' without '}'", where), nullptr};
      }
      const std::string_view inner = text.substr(dollar + 2, close - dollar - 2);
      Evaluated part = reference(inner, where, path, depth + 1);
      if (dollar == 0 && close + 1 == text.size()) {
        return part;
      }
      if (const Unknown* why = part.value.if_unknown()) {
        Unknown whole = *why;
        whole.not_null = true;
        whole.domain.clear();
        return {whole, nullptr};
      }
      out += python_text(part.value);
      at = close + 1;
      if (out.size() > max_text || ++steps_ > max_steps) {
        return {unknown(Reason::limit, "too much text from references", where), nullptr};
      }
    }
    return {out, nullptr};
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

  Evaluated reference(std::string_view inner, const Span& where, const std::string& path,
                      int depth) {
    const std::string shown = fmt::format("${{{}}}", inner);
    const std::size_t colon = inner.substr(0, inner.find('$')).find(':');
    if (colon == std::string_view::npos) {
      const auto key = plain_path(inner, where, path, depth);
      if (!key) {
        return {unknown(Reason::interpolation, shown, where), nullptr};
      }
      if (const Node* target = find(*key)) {
        Evaluated out = node(*target, *key, depth);
        out.from = target;
        return out;
      }
      return {unknown(Reason::interpolation,
                      shown + (scope_.closed ? ": no such key" : ": not set in this file"), where),
              nullptr};
    }
    const std::string_view resolver = trim(inner.substr(0, colon));
    const std::vector<std::string_view> given = arguments(inner.substr(colon + 1));
    if (resolver == "oc.env") {
      std::string detail = fmt::format("environment variable {}", given[0]);
      if (given.size() > 1) {
        detail += fmt::format(" (default {})", given[1]);
      }
      Unknown out{Reason::environment, detail, where, false, {}};
      out.not_null = given.size() == 1 || given[1] != "null";
      return {out, nullptr};
    }
    if (resolver == "oc.select") {
      return select(given, shown, where, path, depth);
    }
    return {unknown(Reason::interpolation, shown, where), nullptr};
  }

  Evaluated select(const std::vector<std::string_view>& given, const std::string& shown,
                   const Span& where, const std::string& path, int depth) {
    const auto key = plain_path(given[0], where, path, depth);
    if (!key) {
      return {unknown(Reason::interpolation, shown, where), nullptr};
    }
    const Node* target = find(*key);
    if (target && target->scalar() != "???") {
      Evaluated out = node(*target, *key, depth);
      out.from = target;
      return out;
    }
    if (!scope_.closed) {
      return {unknown(Reason::interpolation, shown + ": not set in this file", where), nullptr};
    }
    return {given.size() > 1 ? literal(given[1], where, path, depth) : Value(), nullptr};
  }

  // Default arguments: numbers, booleans, null, quoted or bare text, references.
  Value literal(std::string_view text, const Span& where, const std::string& path, int depth) {
    if (text.find("${") != std::string_view::npos) {
      return this->text(text, where, path, depth + 1).value;
    }
    if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0]) {
      return text.substr(1, text.size() - 2);
    }
    if (text.starts_with('[') || text.starts_with('{')) {
      return unknown(Reason::interpolation, std::string(text), where);
    }
    const std::string small = lower(text);
    if (small == "null" || small == "true" || small == "false") {
      return small == "null" ? Value() : Value(small == "true");
    }
    const Value value = resolve_scalar(text, Node::Style::plain, "", Mode::core12);
    return value.is_number() ? value : Value(text);
  }

  // The absolute dotted path that a reference means. References inside of it are put in first.
  std::optional<std::string> plain_path(std::string_view text, const Span& where,
                                        const std::string& path, int depth) {
    std::string key(trim(text));
    if (key.find("${") != std::string::npos) {
      const Value inner = this->text(key, where, path, depth + 1).value;
      if (!inner.if_string()) {
        return std::nullopt;
      }
      key = *inner.if_string();
    }
    std::string base = path;
    bool relative = false;
    while (key.starts_with('.')) {
      key.erase(0, 1);
      base = base.find('.') == std::string::npos ? "" : base.substr(0, base.rfind('.'));
      relative = true;
    }
    for (char& c : key) {
      c = c == '[' ? '.' : c;
    }
    std::erase(key, ']');
    return relative && !base.empty() ? fmt::format("{}.{}", base, key) : key;
  }

  const Node* find(std::string_view path) const {
    const Node* at = scope_.root;
    for (const std::string_view part : split(path, '.')) {
      if (at && at->is_sequence()) {
        const auto index = to_integer(part);
        const auto& items = at->items();
        const bool inside = index && *index >= 0 && *index < static_cast<long long>(items.size());
        at = inside ? items[static_cast<std::size_t>(*index)] : nullptr;
      } else {
        at = at ? at->find(part) : nullptr;
      }
    }
    return at;
  }

  const Scope& scope_;
  std::size_t steps_ = 0;
};

}  // namespace

Evaluated evaluate(const Scope& scope, const Node& node, std::string_view path) {
  return Evaluator(scope).node(node, std::string(path), 0);
}

}  // namespace shardlint::yaml
