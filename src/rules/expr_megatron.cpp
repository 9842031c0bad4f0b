#include "rules/expr_megatron.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "rules/expr_builtins.h"

namespace shardlint::rules {
namespace {

constexpr std::size_t expansion_limit = 100'000;

// The count after a `*` at `at`, which moves past it; 1 when there is none, nothing for a bad one.
std::optional<std::size_t> repetitions(std::string_view text, std::size_t& at, std::size_t unit) {
  if (at >= text.size() || text[at] != '*') {
    return 1;
  }
  const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
  const auto count = to_integer(text.substr(at + 1, end - at - 1));
  if (!count || *count < 0 || *count > static_cast<long long>(expansion_limit) ||
      unit * static_cast<std::size_t>(*count) > expansion_limit) {
    return {};
  }
  at = end;
  return static_cast<std::size_t>(*count);
}

// One pass: brackets (which may hold `x*3`) first, single symbols afterwards, as upstream does.
std::optional<std::string> expand(std::string_view text, bool brackets) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t size = 1;
    std::string_view unit = text.substr(at, 1);
    if (brackets && unit == "(") {
      const std::size_t close = text.find(')', at);
      if (close == std::string_view::npos) {
        return {};
      }
      unit = text.substr(at + 1, close - at - 1);
      size = close + 1 - at;
    }
    const bool repeats = !brackets || size > 1;
    at += size;
    const auto times = repeats ? repetitions(text, at, unit.size()) : std::optional<std::size_t>(1);
    if (!times || out.size() > expansion_limit) {
      return {};
    }
    for (std::size_t i = 0; i < *times; ++i) {
      out += unit;
    }
  }
  return out;
}

// `x*3` and `(xy|)*2` written out; commas dropped.
Value expand_layout(const Value& argument) {
  const std::string* given = argument.if_string();
  if (!given) {
    return argument.is_null() ? undefined() : bad_type("not a layout");
  }
  const auto flat = expand(replace_all(*given, ",", ""), true);
  const auto text = flat ? expand(*flat, false) : std::nullopt;
  return text ? Value(*text) : bad_type("a layout that cannot be written out");
}

// Stages of a layout, pipeline times virtual ones; a list of lists has one item a stage.
Value layout_stage_count(const Value& argument) {
  if (const List* list = argument.if_list()) {
    return static_cast<std::int64_t>(list->size());
  }
  const Value text = expand_layout(argument);
  return text.if_string() ? Value(static_cast<std::int64_t>(split(*text.if_string(), '|').size()))
                          : text;
}

std::string layer_name(char symbol) {
  switch (symbol) {
    case 'E':
      return "embedding";
    case 'L':
      return "loss";
    case 't':
      return "decoder";
    case 'm':
      return "mtp";
    default:
      return std::string("?") + symbol;
  }
}

// The layers of each stage by name; what is no layer symbol shows as "?x".
Value layout_rows(const Value& argument) {
  if (argument.if_list()) {
    return argument;
  }
  const Value text = expand_layout(argument);
  if (!text.if_string()) {
    return text;
  }
  List rows;
  for (const std::string_view stage : split(*text.if_string(), '|')) {
    List row;
    for (const char symbol : stage) {
      row.push_back(layer_name(symbol));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// All layers in order.
Value layout_layers(const Value& argument) {
  const Value rows = layout_rows(argument);
  if (!rows.if_list()) {
    return rows;
  }
  List out;
  for (const Value& row : *rows.if_list()) {
    const List* layers = row.if_list();
    if (!layers) {
      return bad_type("a stage of the layout is no list");
    }
    out.insert(out.end(), layers->begin(), layers->end());
  }
  return out;
}

// Those that are given by name.
Value layout_names(const Value& argument) {
  const Value layers = layout_layers(argument);
  if (!layers.if_list()) {
    return layers;
  }
  List out;
  for (const Value& layer : *layers.if_list()) {
    if (layer.if_string()) {
      out.push_back(layer);
    }
  }
  return out;
}

// The main part of a hybrid pattern: what stands before the first `/`.
Value main_pattern(const Value& argument) {
  if (!argument.if_string()) {
    return argument.is_null() ? undefined() : bad_type("not a pattern");
  }
  return argument.if_string()->substr(0, argument.if_string()->find('/'));
}

Value hybrid_layer_count(const Value& argument) {
  const Value main = main_pattern(argument);
  if (!main.if_string()) {
    return main;
  }
  const std::string& text = *main.if_string();
  return static_cast<std::int64_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return c != '[' && c != ']' && c != '|'; }));
}

Value hybrid_segment_count(const Value& argument) {
  const Value main = main_pattern(argument);
  return main.if_string() ? Value(static_cast<std::int64_t>(split(*main.if_string(), '|').size()))
                          : main;
}

constexpr MegatronFunction functions[] = {
    {"hybrid_layer_count", hybrid_layer_count},
    {"hybrid_segment_count", hybrid_segment_count},
    {"layout_layers", layout_layers},
    {"layout_names", layout_names},
    {"layout_rows", layout_rows},
    {"layout_stage_count", layout_stage_count},
    {"layout_text", expand_layout},
};

}  // namespace

std::span<const MegatronFunction> megatron_functions() {
  return functions;
}

}  // namespace shardlint::rules
