#include "rules/literal.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "rules/expr_eval.h"

namespace shardlint::rules {
namespace {

// A literal reads nothing.
class Nothing final : public Scope {
 public:
  Value key(std::string_view) override { return {}; }
  Value local(std::string_view) override { return {}; }
  Value is_instance(std::string_view, std::string_view) override { return {}; }
  Value written(std::string_view) override { return {}; }
};

std::string quoted(std::string_view text) {
  std::string out = replace_all(std::string(text), "\\", "\\\\");
  return '"' + replace_all(replace_all(out, "\"", "\\\""), "\n", "\\n") + '"';
}

}  // namespace

std::string literal(const Value& value) {
  std::string out;
  if (const std::string* text = value.if_string()) {
    return quoted(*text);
  }
  if (const List* list = value.if_list()) {
    for (const Value& item : *list) {
      out += (out.empty() ? "" : ", ") + literal(item);
    }
    return "[" + out + "]";
  }
  if (const Map* map = value.if_map()) {
    for (const auto& [key, item] : *map) {
      out += (out.empty() ? "" : ", ") + quoted(key) + ": " + literal(item);
    }
    return "{" + out + "}";
  }
  if (const double* real = value.if_double()) {
    out = fmt::format("{}", *real);
    return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
  }
  return value.is_unknown() ? quoted("${" + value.if_unknown()->detail + "}") : value.text();
}

Value from_literal(std::string_view text) {
  Pool pool;
  const Parsed parsed = parse_expr(text, {}, {}, pool);
  if (!parsed.errors.empty()) {
    return unknown(Reason::interpolation, std::string(text));
  }
  Nothing nothing;
  const Value value = evaluate(parsed.expr, nothing);
  if (const std::string* string = value.if_string();
      string && string->find("${") != std::string::npos) {
    return unknown(
        string->find("env:") != std::string::npos ? Reason::environment : Reason::interpolation,
        *string);
  }
  return value;
}

}  // namespace shardlint::rules
