#include "frontend/python/edits.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "frontend/python/literal.h"
#include "frontend/python/tree.h"

namespace shardlint::python {
namespace {

// The function that the configuration comes from: its anchor is the name in `def NAME`.
const Node* function_of(const Node& root, const Span& anchor) {
  for (const Node* node : root.kids) {
    if (node->tag == Tag::function && node->begin <= anchor.begin && anchor.end <= node->end) {
      return node;
    }
  }
  return nullptr;
}

bool holds(const Node& outer, const Span& span, const Source& source) {
  return span.source == &source && outer.begin <= span.begin && span.end <= outer.end;
}

// cfg.checkpoint.save -> {cfg, checkpoint.save}; nothing for other shapes.
std::optional<std::pair<std::string, std::string>> target_parts(std::string_view text) {
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.';
    if (!plain) {
      return std::nullopt;
    }
  }
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(std::string(text.substr(0, dot)), std::string(text.substr(dot + 1)));
}

const Node* value_at(const Node& node, const Span& span) {
  if (node.begin == span.begin && node.end == span.end && node.tag != Tag::keyword) {
    return &node;
  }
  for (const Node* kid : node.kids) {
    if (kid && kid->begin <= span.begin && span.end <= kid->end) {
      if (const Node* found = value_at(*kid, span)) {
        return found;
      }
    }
  }
  return nullptr;
}

bool is_literal(const Node& node) {
  if (node.tag == Tag::constant) {
    return true;
  }
  if (node.tag == Tag::unary && node.op == Op::negate) {
    return node.kids[0]->tag == Tag::constant;
  }
  if (node.tag == Tag::list || node.tag == Tag::tuple) {
    return std::all_of(node.kids.begin(), node.kids.end(),
                       [](const Node* kid) { return is_literal(*kid); });
  }
  return false;
}

// The statement of the function's own block that holds a place; null inside an if or a loop.
const Node* statement_at(const Node& block, std::uint32_t at) {
  for (const Node* node : block.kids) {
    if (node->begin <= at && at < node->end) {
      return node->tag == Tag::assign || node->tag == Tag::annotated ||
                     node->tag == Tag::augmented || node->tag == Tag::expression
                 ? node
                 : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

std::string spelled(const Value& value) {
  if (value.is_null()) {
    return "None";
  }
  if (const bool* b = value.if_bool()) {
    return *b ? "True" : "False";
  }
  if (const std::int64_t* i = value.if_integer()) {
    return std::to_string(*i);
  }
  if (const double* d = value.if_double()) {
    return float_repr(*d);
  }
  if (const std::string* s = value.if_string()) {
    return s->find('"') == std::string::npos && s->find('\\') == std::string::npos &&
                   s->find('\n') == std::string::npos
               ? "\"" + *s + "\""
               : string_repr(*s);
  }
  if (const List* list = value.if_list()) {
    std::string out = "[";
    for (const Value& one : *list) {
      const std::string piece = spelled(one);
      if (piece.empty()) {
        return {};
      }
      out += (out.size() > 1 ? ", " : "") + piece;
    }
    return out + "]";
  }
  return {};
}

std::vector<Edit> set_value(const Config& config, const Source& source, std::string_view key,
                            const Value& value) {
  const std::string text = spelled(value);
  if (text.empty() || config.anchor.source != &source || key.find('.') == std::string_view::npos ||
      key.starts_with("env.") || key.starts_with("env_vars.")) {
    return {};
  }
  Names names;
  const Parsed parsed = read_syntax(source, names);
  const Node* function =
      parsed.syntax ? function_of(*parsed.syntax->root(), config.anchor) : nullptr;
  if (!function) {
    return {};
  }
  const Node& body = *function->kids[1];
  if (const Entry* entry = config.find(key)) {
    const Step& last = entry->chain.back();
    if (holds(body, last.key_span, source) && holds(body, last.value_span, source) &&
        last.value_span.begin < last.value_span.end) {
      const Node* written = value_at(body, last.value_span);
      if (written && is_literal(*written)) {
        return {{locate(last.value_span), text}};
      }
    }
  }
  // The variable that is returned, and where it or the same section was last assigned to.
  const Node* leave = body.kids.empty() ? nullptr : body.kids.back();
  if (!leave || leave->tag != Tag::return_ || !leave->kid(0) || leave->kids[0]->tag != Tag::name) {
    return {};
  }
  const std::string variable(names.text(leave->kids[0]->name));
  const std::string section(key.substr(0, key.rfind('.') + 1));
  const Node *same_section = nullptr, *any = nullptr;
  for (const Node* node : body.kids) {
    if (node->tag != Tag::assign) {
      continue;
    }
    for (std::size_t i = 1; i < node->kids.size(); ++i) {
      const auto target = target_parts(parsed.syntax->span(*node->kids[i]).text());
      if (node->kids[i]->tag == Tag::name && node->kids[i]->name == leave->kids[0]->name) {
        same_section = nullptr;  // another object from here on
        any = node;
      } else if (target && target->first == variable) {
        any = node;
        if (target->second.starts_with(section) || target->second + "." == section) {
          same_section = node;
        }
      }
    }
  }
  // Not before the last assignment that decides the key now, which may be in a helper's call.
  const Node* after = same_section ? same_section : any;
  if (const Entry* entry = config.find(key)) {
    const Step* last = &entry->chain.back();
    if (holds(body, last->key_span, source)) {
      const Node* decides = statement_at(body, last->key_span.begin);
      if (!decides) {
        return {};
      }
      if (!after || decides->begin > after->begin) {
        after = decides;
      }
    } else {
      after = any;  // set elsewhere: after everything that this function does
      for (const Node* node : body.kids) {
        if (node->tag == Tag::expression && node != body.kids.front()) {
          after = !after || node->begin > after->begin ? node : after;
        }
      }
    }
  }
  if (!after) {
    return {};
  }
  // On a line of its own, with the indentation of the statement before it.
  const std::uint32_t line = source.line_of(after->begin);
  const std::string_view written = source.line_text(line);
  const std::string_view indent = written.substr(0, written.find_first_not_of(" \t"));
  if (source.line_begin(line) + indent.size() != after->begin) {
    return {};  // several statements on one line
  }
  const std::uint32_t last_line = source.line_of(after->end > 0 ? after->end - 1 : 0);
  const std::string_view rest = source.line_text(last_line);
  const auto end = static_cast<std::uint32_t>(source.line_begin(last_line) + rest.size());
  const bool crlf = end < source.text().size() && source.text()[end] == '\r';
  const std::string newline = crlf ? "\r\n" : "\n";
  const std::string added =
      newline + std::string(indent) + variable + "." + std::string(key) + " = " + text;
  return {{locate({&source, end, end}), added}};
}

}  // namespace shardlint::python
