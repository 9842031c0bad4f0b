#include "frontend/python/edits.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "frontend/python/literal.h"

namespace shardlint::python {
namespace {

// Where a configuration is made: a block, the statement at its end that returns it or hands it on,
// and the variable that holds it there.
struct Workplace {
  const Node* body = nullptr;
  const Node* leave = nullptr;
  std::string_view variable;
};

// The variable that a call of pretrain() or finetune() is given.
const Node* handed_over(const Node& call, const Names& names) {
  const Node* found = nullptr;
  for (std::size_t i = 1; i < call.kids.size(); ++i) {
    const Node* argument = call.kids[i];
    const bool named = argument->tag == Tag::keyword && (names.text(argument->name) == "config" ||
                                                         names.text(argument->name) == "cfg");
    if (named || (i == 1 && argument->tag == Tag::name)) {
      found = named ? argument->kids[0] : argument;
    }
  }
  return found && found->tag == Tag::name ? found : nullptr;
}

std::optional<Workplace> workplace_in_block(const Node& block, const Span& anchor,
                                            const Names& names) {
  for (const Node* node : block.kids) {
    if (anchor.begin < node->begin || node->end < anchor.end) {
      continue;
    }
    const Node* call =
        node->tag == Tag::expression || node->tag == Tag::assign ? node->kids[0] : nullptr;
    if (call && call->tag == Tag::call && call->begin == anchor.begin && call->end == anchor.end) {
      const Node* variable = handed_over(*call, names);
      return variable ? std::optional(Workplace{&block, node, names.text(variable->name)})
                      : std::nullopt;
    }
    for (const Node* kid : node->kids) {
      if (kid && kid->tag == Tag::block) {
        if (auto inner = workplace_in_block(*kid, anchor, names)) {
          return inner;
        }
      }
    }
  }
  return std::nullopt;
}

// The anchor of a function's configuration is the name in `def NAME`, that of a script's the call.
std::optional<Workplace> workplace(const Node& root, const Span& anchor, const Names& names) {
  for (const Node* node : root.kids) {
    const bool named = node->tag == Tag::function && node->begin <= anchor.begin &&
                       anchor.end <= node->end && anchor.text() == names.text(node->name);
    if (!named) {
      continue;
    }
    const Node& body = *node->kids[1];
    const Node* leave = body.kids.empty() ? nullptr : body.kids.back();
    if (!leave || leave->tag != Tag::return_ || !leave->kid(0)) {
      return std::nullopt;
    }
    const Node* value = leave->kids[0];
    return Workplace{&body, leave,
                     value->tag == Tag::name ? names.text(value->name) : std::string_view()};
  }
  return workplace_in_block(root, anchor, names);
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

namespace {

// The last assignment's value, when it is a literal in the block itself.
const Node* literal_of(const Entry* entry, const Node& body, const Source& source) {
  if (!entry) {
    return nullptr;
  }
  const Step& last = entry->chain.back();
  const bool here = holds(body, last.key_span, source) && holds(body, last.value_span, source) &&
                    last.value_span.begin < last.value_span.end;
  const Node* written = here ? value_at(body, last.value_span) : nullptr;
  return written && is_literal(*written) ? written : nullptr;
}

// Whether the object that holds the key is certainly there to be assigned to.
bool has_section(const Config& config, std::string_view key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string_view::npos) {
    return true;
  }
  const Entry* type = config.find(std::string(key.substr(0, dot)) + "._type");
  if (!type || type->value().is_null()) {
    return false;
  }
  const Unknown* unknown = type->value().if_unknown();
  return !unknown || (unknown->not_null && unknown->reason != Reason::branch);
}

// The statement after which an assignment to the key holds until the configuration is handed on;
// null when there is none that is certain.
const Node* statement_before(const Workplace& place, const Entry* entry, std::string_view key,
                             const Syntax& syntax, const Names& names) {
  const std::string section(key.substr(0, key.rfind('.') + 1));
  const Node *same_section = nullptr, *any = nullptr, *call = nullptr;
  for (const Node* node : place.body->kids) {
    if (node == place.leave) {
      break;
    }
    if (node->tag == Tag::expression && node != place.body->kids.front()) {
      call = node;
    }
    for (std::size_t i = 1; node->tag == Tag::assign && i < node->kids.size(); ++i) {
      const auto target = target_parts(syntax.span(*node->kids[i]).text());
      if (node->kids[i]->tag == Tag::name && names.text(node->kids[i]->name) == place.variable) {
        same_section = nullptr;  // another object from here on
        any = node;
      } else if (target && target->first == place.variable) {
        any = node;
        const bool same = target->second.starts_with(section) || target->second + "." == section;
        same_section = same ? node : same_section;
      }
    }
  }
  // Not before the last assignment that decides the key now, which may be in a helper's call.
  const Node* after = same_section ? same_section : any;
  if (!entry) {
    return after;
  }
  const Step* last = &entry->chain.back();
  const auto later = [](const Node* a, const Node* b) {
    return !a || (b && b->begin > a->begin) ? b : a;
  };
  if (holds(*place.body, last->key_span, syntax.source())) {
    const Node* decides = statement_at(*place.body, last->key_span.begin);
    return decides ? later(after, decides) : nullptr;
  }
  return later(any, call);  // set elsewhere: after everything that this block does
}

// A line of its own, with the indentation of the statement before it.
std::vector<Edit> add_line(const Source& source, const Node& after, const std::string& text) {
  const std::uint32_t line = source.line_of(after.begin);
  const std::string_view written = source.line_text(line);
  const std::string_view indent = written.substr(0, written.find_first_not_of(" \t"));
  if (source.line_begin(line) + indent.size() != after.begin) {
    return {};  // several statements on one line
  }
  const std::uint32_t last_line = source.line_of(after.end > 0 ? after.end - 1 : 0);
  const std::string_view rest = source.line_text(last_line);
  const auto end = static_cast<std::uint32_t>(source.line_begin(last_line) + rest.size());
  const bool crlf = end < source.text().size() && source.text()[end] == '\r';
  const std::string newline = crlf ? "\r\n" : "\n";
  return {{locate({&source, end, end}), newline + std::string(indent) + text}};
}

}  // namespace

std::vector<Edit> Editable::set_value(const Config& config, std::string_view key,
                                      const Value& value) {
  const Source& source = syntax_.source();
  const std::string text = spelled(value);
  if (text.empty() || config.anchor.source != &source || key.find('.') == std::string_view::npos ||
      key.starts_with("env.") || key.starts_with("env_vars.")) {
    return {};
  }
  const auto place = workplace(*syntax_.root(), config.anchor, names_);
  if (!place) {
    return {};
  }
  const Entry* entry = config.find(key);
  if (literal_of(entry, *place->body, source)) {
    return {{locate(entry->chain.back().value_span), text}};
  }
  if (place->variable.empty() || !has_section(config, key)) {
    return {};
  }
  const Node* after = statement_before(*place, entry, key, syntax_, names_);
  return after ? add_line(source, *after,
                          std::string(place->variable) + "." + std::string(key) + " = " + text)
               : std::vector<Edit>();
}

}  // namespace shardlint::python
