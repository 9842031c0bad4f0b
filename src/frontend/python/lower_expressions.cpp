#include <unordered_map>

#include "frontend/python/literal.h"
#include "frontend/python/lower.h"

namespace shardlint::python {
namespace {

constexpr int max_depth = 100;
constexpr std::size_t max_nodes = 400'000;

Op operator_of(std::string_view text) {
  static const std::unordered_map<std::string_view, Op> table = {{"+", Op::add},
                                                                 {"-", Op::subtract},
                                                                 {"*", Op::multiply},
                                                                 {"/", Op::divide},
                                                                 {"//", Op::floor_divide},
                                                                 {"%", Op::modulo},
                                                                 {"**", Op::power},
                                                                 {"@", Op::matrix},
                                                                 {"&", Op::bit_and},
                                                                 {"|", Op::bit_or},
                                                                 {"^", Op::bit_xor},
                                                                 {"<<", Op::shift_left},
                                                                 {">>", Op::shift_right},
                                                                 {"==", Op::equal},
                                                                 {"!=", Op::not_equal},
                                                                 {"<", Op::less},
                                                                 {"<=", Op::less_equal},
                                                                 {">", Op::greater},
                                                                 {">=", Op::greater_equal},
                                                                 {"is", Op::is},
                                                                 {"is not", Op::is_not},
                                                                 {"in", Op::in},
                                                                 {"not in", Op::not_in},
                                                                 {"and", Op::and_},
                                                                 {"or", Op::or_},
                                                                 {"<>", Op::not_equal}};
  const auto found = table.find(text);
  return found == table.end() ? Op::none : found->second;
}

}  // namespace

std::vector<Lowering::Child> Lowering::children(TSNode node) {
  std::vector<Child> all;
  TSTreeCursor cursor = ts_tree_cursor_new(node);
  if (ts_tree_cursor_goto_first_child(&cursor)) {
    do {
      const TSNode child = ts_tree_cursor_current_node(&cursor);
      const std::string_view type = ts_node_type(child);
      if (type == "comment" || type == "line_continuation") {
        continue;
      }
      const char* field = ts_tree_cursor_current_field_name(&cursor);
      all.push_back({child, type, field ? field : "", ts_node_is_named(child)});
    } while (ts_tree_cursor_goto_next_sibling(&cursor));
  }
  ts_tree_cursor_delete(&cursor);
  return all;
}

std::string_view Lowering::text(TSNode node) const {
  return syntax_.source().text(ts_node_start_byte(node), ts_node_end_byte(node));
}

Node* Lowering::make(Tag tag, TSNode node) {
  if (++made_ > max_nodes) {
    too_many = true;
  }
  return syntax_.make(tag, ts_node_start_byte(node), ts_node_end_byte(node));
}

const Node* Lowering::give_up(TSNode node, Tag tag) {
  if (!trouble) {
    trouble = {&syntax_.source(), ts_node_start_byte(node), ts_node_end_byte(node)};
  }
  return make(tag, node);
}

const Node* Lowering::constant(TSNode node, Value value) {
  Node* made = make(Tag::constant, node);
  made->value = syntax_.keep(std::move(value));
  return made;
}

const Node* Lowering::expression(TSNode node) {
  if (ts_node_is_null(node) || ts_node_is_missing(node)) {
    return ts_node_is_null(node) ? nullptr : give_up(node, Tag::opaque);
  }
  if (depth_ >= max_depth || too_many) {
    too_deep = too_deep || depth_ >= max_depth;
    return give_up(node, Tag::opaque);
  }
  ++depth_;
  const Node* made = expression_of(ts_node_type(node), node);
  --depth_;
  return made;
}

const Node* Lowering::expression_of(std::string_view type, TSNode node) {
  using Make = const Node* (*)(Lowering&, TSNode);
  static const std::unordered_map<std::string_view, Make> table = {
      {"identifier",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::name, n);
         made->name = l.names_.intern(l.text(n));
         return made;
       }},
      {"true", [](Lowering& l, TSNode n) { return l.constant(n, true); }},
      {"false", [](Lowering& l, TSNode n) { return l.constant(n, false); }},
      {"none", [](Lowering& l, TSNode n) { return l.constant(n, {}); }},
      {"integer",
       [](Lowering& l, TSNode n) -> const Node* {
         auto value = integer_literal(l.text(n));
         return value ? l.constant(n, *value) : l.make(Tag::opaque, n);
       }},
      {"float",
       [](Lowering& l, TSNode n) -> const Node* {
         auto value = float_literal(l.text(n));
         return value ? l.constant(n, *value) : l.make(Tag::opaque, n);
       }},
      {"string", [](Lowering& l, TSNode n) { return l.string(n); }},
      {"concatenated_string", [](Lowering& l, TSNode n) { return l.concatenated(n); }},
      {"parenthesized_expression",
       [](Lowering& l, TSNode n) -> const Node* {
         for (const Child& child : l.children(n)) {
           if (child.named) {
             return l.expression(child.node);
           }
         }
         return l.give_up(n, Tag::opaque);
       }},
      {"type",
       [](Lowering& l, TSNode n) -> const Node* {
         return l.expression(ts_node_named_child(n, 0));
       }},
      {"attribute",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::attribute, n);
         for (const Child& child : l.children(n)) {
           if (child.field == "object") {
             made->kids.push_back(l.expression(child.node));
           } else if (child.field == "attribute") {
             made->name = l.names_.intern(l.text(child.node));
           }
         }
         return made->kids.size() == 1 && made->kids[0] ? made : l.give_up(n, Tag::opaque);
       }},
      {"call", [](Lowering& l, TSNode n) { return l.call(n); }},
      {"subscript", [](Lowering& l, TSNode n) { return l.subscript(n); }},
      {"slice", [](Lowering& l, TSNode n) { return l.slice(n); }},
      {"tuple", [](Lowering& l, TSNode n) { return l.items(Tag::tuple, n); }},
      {"expression_list", [](Lowering& l, TSNode n) { return l.items(Tag::tuple, n); }},
      {"pattern_list", [](Lowering& l, TSNode n) { return l.items(Tag::tuple, n); }},
      {"tuple_pattern", [](Lowering& l, TSNode n) { return l.items(Tag::tuple, n); }},
      {"list_pattern", [](Lowering& l, TSNode n) { return l.items(Tag::list, n); }},
      {"list", [](Lowering& l, TSNode n) { return l.items(Tag::list, n); }},
      {"set", [](Lowering& l, TSNode n) { return l.items(Tag::set, n); }},
      {"dictionary", [](Lowering& l, TSNode n) { return l.items(Tag::dict, n); }},
      {"pair",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::pair, n);
         for (const Child& child : l.children(n)) {
           if (child.named) {
             made->kids.push_back(l.expression(child.node));
           }
         }
         return made->kids.size() == 2 ? made : l.give_up(n, Tag::opaque);
       }},
      {"list_splat", [](Lowering& l, TSNode n) { return l.items(Tag::star, n); }},
      {"list_splat_pattern", [](Lowering& l, TSNode n) { return l.items(Tag::star, n); }},
      {"dictionary_splat", [](Lowering& l, TSNode n) { return l.items(Tag::double_star, n); }},
      {"unary_operator",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::unary, n);
         for (const Child& child : l.children(n)) {
           if (child.named) {
             made->kids.push_back(l.expression(child.node));
           } else {
             made->op = child.type == "-" ? Op::negate : child.type == "+" ? Op::plus : Op::invert;
           }
         }
         return made->kids.size() == 1 ? made : l.give_up(n, Tag::opaque);
       }},
      {"not_operator",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::unary, n);
         made->op = Op::not_;
         for (const Child& child : l.children(n)) {
           if (child.named) {
             made->kids.push_back(l.expression(child.node));
           }
         }
         return made->kids.size() == 1 ? made : l.give_up(n, Tag::opaque);
       }},
      {"binary_operator",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::binary, n);
         for (const Child& child : l.children(n)) {
           if (child.field == "operator") {
             made->op = operator_of(child.type);
           } else if (child.named) {
             made->kids.push_back(l.expression(child.node));
           }
         }
         return made->kids.size() == 2 ? made : l.give_up(n, Tag::opaque);
       }},
      {"boolean_operator",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::boolean, n);
         for (const Child& child : l.children(n)) {
           if (child.field == "operator") {
             made->op = operator_of(child.type);
           } else if (child.named) {
             made->kids.push_back(l.expression(child.node));
           }
         }
         return made->kids.size() == 2 ? made : l.give_up(n, Tag::opaque);
       }},
      {"comparison_operator", [](Lowering& l, TSNode n) { return l.compare(n); }},
      {"conditional_expression",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::conditional, n);
         for (const Child& child : l.children(n)) {
           if (child.named) {
             made->kids.push_back(l.expression(child.node));
           }
         }
         return made->kids.size() == 3 ? made : l.give_up(n, Tag::opaque);
       }},
      {"lambda",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::lambda, n);
         const Node *parameters = l.make(Tag::parameters, n), *body = nullptr;
         for (const Child& child : l.children(n)) {
           if (child.field == "parameters") {
             parameters = l.parameters(child.node);
           } else if (child.field == "body") {
             body = l.expression(child.node);
           }
         }
         made->kids = {parameters, body};
         return body ? made : l.give_up(n, Tag::opaque);
       }},
      {"list_comprehension", [](Lowering& l, TSNode n) { return l.comprehension(Op::list, n); }},
      {"set_comprehension", [](Lowering& l, TSNode n) { return l.comprehension(Op::set, n); }},
      {"dictionary_comprehension",
       [](Lowering& l, TSNode n) { return l.comprehension(Op::dict, n); }},
      {"generator_expression",
       [](Lowering& l, TSNode n) { return l.comprehension(Op::generator, n); }},
      {"named_expression",
       [](Lowering& l, TSNode n) -> const Node* {
         Node* made = l.make(Tag::named, n);
         for (const Child& child : l.children(n)) {
           if (child.field == "name") {
             made->name = l.names_.intern(l.text(child.node));
           } else if (child.field == "value") {
             made->kids.push_back(l.expression(child.node));
           }
         }
         return made->kids.size() == 1 ? made : l.give_up(n, Tag::opaque);
       }},
  };
  if (const auto found = table.find(type); found != table.end()) {
    return found->second(*this, node);
  }
  if (type == "yield" || type == "await") {
    yields_ = true;
  } else if (type == "ERROR") {
    return give_up(node, Tag::opaque);
  }
  Node* made = make(Tag::opaque, node);
  for (const Child& child : children(node)) {
    if (child.named) {
      made->kids.push_back(expression(child.node));
    }
  }
  return made;
}

const Node* Lowering::items(Tag tag, TSNode node) {
  Node* made = make(tag, node);
  for (const Child& child : children(node)) {
    if (child.named) {
      made->kids.push_back(expression(child.node));
    }
  }
  return made;
}

const Node* Lowering::call(TSNode node) {
  Node* made = make(Tag::call, node);
  for (const Child& child : children(node)) {
    if (child.field == "function") {
      made->kids.insert(made->kids.begin(), expression(child.node));
    } else if (child.type == "generator_expression") {
      made->kids.push_back(expression(child.node));
    } else if (child.field == "arguments") {
      for (const Child& argument : children(child.node)) {
        if (!argument.named) {
          continue;
        }
        if (argument.type != "keyword_argument") {
          made->kids.push_back(expression(argument.node));
          continue;
        }
        Node* keyword = make(Tag::keyword, argument.node);
        for (const Child& part : children(argument.node)) {
          if (part.field == "name") {
            keyword->name = names_.intern(text(part.node));
            keyword->text = text(part.node);
          } else if (part.field == "value") {
            keyword->kids.push_back(expression(part.node));
          }
        }
        made->kids.push_back(keyword->kids.size() == 1 ? keyword
                                                       : give_up(argument.node, Tag::opaque));
      }
    }
  }
  return !made->kids.empty() && made->kids[0] ? made : give_up(node, Tag::opaque);
}

const Node* Lowering::string(TSNode node) {
  std::string value;
  bool raw = false, formatted = false, bytes = false, known = true;
  std::uint32_t piece_begin = 0;
  Node* parts = make(Tag::fstring, node);
  std::string_view content;
  std::vector<Child> all = children(node);
  if (all.empty()) {
    return give_up(node, Tag::opaque);
  }
  for (char c : text(all.front().node)) {
    raw = raw || c == 'r' || c == 'R';
    formatted = formatted || c == 'f' || c == 'F';
    bytes = bytes || c == 'b' || c == 'B' || c == 't' || c == 'T';
  }
  // Characters lie between the pieces that tree-sitter names, so they are read from the source.
  std::uint32_t at = ts_node_end_byte(all.front().node);
  const auto flush = [&](std::uint32_t end) {
    content = syntax_.source().text(at, end);
    std::optional<std::string> plain = unescape(content, raw);
    known = known && plain.has_value();
    std::string piece = plain.value_or("");
    if (formatted) {  // doubled braces
      std::string single;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        single += piece[i];
        if ((piece[i] == '{' || piece[i] == '}') && i + 1 < piece.size() &&
            piece[i + 1] == piece[i]) {
          ++i;
        }
      }
      piece = std::move(single);
    }
    piece_begin = at;
    return piece;
  };
  for (std::size_t i = 1; i < all.size(); ++i) {
    const bool interpolation = all[i].type == "interpolation";
    if (!interpolation && all[i].type != "string_end") {
      continue;
    }
    std::string piece = flush(ts_node_start_byte(all[i].node));
    if (!piece.empty()) {
      Node* constant = syntax_.make(Tag::constant, piece_begin, ts_node_start_byte(all[i].node));
      constant->value = syntax_.keep(Value(piece));
      parts->kids.push_back(constant);
    }
    value += piece;
    at = ts_node_end_byte(all[i].node);
    if (interpolation) {
      Node* inner = make(Tag::interpolation, all[i].node);
      for (const Child& child : children(all[i].node)) {
        if (child.field == "expression" && inner->kids.empty()) {
          inner->kids.push_back(expression(child.node));
        } else if (child.named || child.type == "=") {
          inner->text = text(child.node);  // a conversion, a format or "="
        }
      }
      parts->kids.push_back(inner->kids.size() == 1 ? inner : give_up(all[i].node, Tag::opaque));
    }
  }
  if (!known || bytes) {
    return make(Tag::opaque, node);
  }
  return formatted ? parts : constant(node, Value(value));
}

const Node* Lowering::concatenated(TSNode node) {
  Node* parts = make(Tag::fstring, node);
  std::string whole;
  bool plain = true;
  for (const Child& child : children(node)) {
    if (!child.named) {
      continue;
    }
    const Node* part = expression(child.node);
    plain = plain && part->tag == Tag::constant;
    if (part->tag == Tag::constant && part->value->if_string()) {
      whole += *part->value->if_string();
      parts->kids.push_back(part);
    } else if (part->tag == Tag::fstring) {
      parts->kids.insert(parts->kids.end(), part->kids.begin(), part->kids.end());
    } else {
      return make(Tag::opaque, node);
    }
  }
  return plain ? constant(node, Value(whole)) : parts;
}

const Node* Lowering::compare(TSNode node) {
  Node* made = make(Tag::compare, node);
  std::string operators;
  for (const Child& child : children(node)) {
    if (child.named && child.field != "operators") {
      made->kids.push_back(expression(child.node));
    } else {
      std::string spelled;  // "is not", "not in" with single blanks
      for (char c : child.type) {
        spelled += c;
      }
      operators += static_cast<char>(operator_of(spelled));
    }
  }
  if (made->kids.size() != operators.size() + 1) {
    return give_up(node, Tag::opaque);
  }
  made->text = syntax_.keep_text(std::move(operators));
  return made;
}

const Node* Lowering::comprehension(Op made_of, TSNode node) {
  Node* made = make(Tag::comprehension, node);
  made->op = made_of;
  for (const Child& child : children(node)) {
    if (child.field == "body") {
      made->kids.push_back(expression(child.node));
    } else if (child.type == "for_in_clause") {
      Node* clause = make(Tag::comp_for, child.node);
      const Node* iterable = nullptr;
      for (const Child& part : children(child.node)) {
        if (part.field == "left") {
          clause->kids.push_back(expression(part.node));
        } else if (part.field == "right" && part.named) {
          iterable = expression(part.node);
        }
      }
      clause->kids.push_back(iterable);
      if (clause->kids.size() != 2 || !iterable) {
        return give_up(node, Tag::opaque);
      }
      made->kids.push_back(clause);
    } else if (child.type == "if_clause") {
      Node* clause = make(Tag::comp_if, child.node);
      for (const Child& part : children(child.node)) {
        if (part.named) {
          clause->kids.push_back(expression(part.node));
        }
      }
      if (clause->kids.size() != 1) {
        return give_up(node, Tag::opaque);
      }
      made->kids.push_back(clause);
    }
  }
  return made->kids.size() >= 2 && made->kids[1]->tag == Tag::comp_for ? made
                                                                       : give_up(node, Tag::opaque);
}

const Node* Lowering::subscript(TSNode node) {
  Node* made = make(Tag::subscript, node);
  std::vector<const Node*> indices;
  const Node* value = nullptr;
  bool comma = false;
  for (const Child& child : children(node)) {
    if (child.field == "value") {
      value = expression(child.node);
    } else if (child.field == "subscript" && child.named) {
      indices.push_back(expression(child.node));
    } else if (child.type == ",") {
      comma = true;
    }
  }
  if (!value || indices.empty()) {
    return give_up(node, Tag::opaque);
  }
  made->kids.push_back(value);
  if (indices.size() == 1 && !comma) {
    made->kids.push_back(indices[0]);
  } else {
    Node* tuple = syntax_.make(Tag::tuple, indices.front()->begin, indices.back()->end);
    tuple->kids.assign(indices.begin(), indices.end());
    made->kids.push_back(tuple);
  }
  return made;
}

const Node* Lowering::slice(TSNode node) {
  Node* made = make(Tag::slice, node);
  made->kids.assign(3, nullptr);
  std::size_t at = 0;
  for (const Child& child : children(node)) {
    if (child.type == ":") {
      ++at;
    } else if (child.named && at < 3) {
      made->kids[at] = expression(child.node);
    }
  }
  return made;
}

}  // namespace shardlint::python
